"""Streams under ceilings: charged once, wherever they began."""

import copy
import pickle

import numpy as np
import pytest
from budget_tasks import (
    DELTA,
    Untouchable,
    X,
    Y,
    budget,
    charged,
    model,
    share,
)

from skdp import (
    BudgetExceededError,
    DPContextualBandit,
    load_checkpoint,
    save_checkpoint,
)


@pytest.mark.parametrize("solver", ["blocks", "gd", "ftrl"])
def test_a_stream_is_charged_once_for_all_of_its_parts(solver):
    with budget() as ceiling:
        stream = model(2, solver=solver)
        for _ in range(4):
            stream.partial_fit(X, Y)
        assert charged(ceiling) == pytest.approx(0.5)
        model(2, solver=solver).partial_fit(X, Y)
        with pytest.raises(BudgetExceededError):
            model(2, solver=solver).partial_fit(Untouchable(), Untouchable())
        stream.partial_fit(X, Y)
        assert charged(ceiling) == pytest.approx(1.0)


@pytest.mark.parametrize("solver", ["blocks", "gd", "ftrl"])
def test_a_budget_that_opens_in_the_middle_of_a_stream_is_charged(solver):
    stream = model(2, solver=solver).partial_fit(X, Y)
    with budget() as ceiling:
        stream.partial_fit(X, Y)
        assert charged(ceiling) == pytest.approx(0.5)
        model(2).fit(X, Y)
    with budget(epsilon=share(4)), pytest.raises(BudgetExceededError):
        stream.partial_fit(Untouchable(), Untouchable())
    seen = stream.n_samples_seen_
    assert stream.partial_fit(X, Y).n_samples_seen_ == seen + len(X)


def test_a_fit_and_the_stream_that_follows_are_about_different_rows():
    with budget() as ceiling:
        estimator = model(1).fit(X, Y)
        estimator.partial_fit(X, Y)
        assert charged(ceiling) == pytest.approx(1.0)


def test_a_copy_that_goes_on_with_a_stream_is_another_run():
    with budget() as ceiling:
        stream = model(3).partial_fit(X, Y)
        for other in (copy.copy(stream), pickle.loads(pickle.dumps(stream))):
            other.partial_fit(X, Y)
        assert charged(ceiling) == pytest.approx(1.0)


def test_a_stream_that_moves_through_a_checkpoint_is_the_same_run(tmp_path):
    with budget() as ceiling:
        stream = model(2, solver="ftrl").partial_fit(X, Y)
        save_checkpoint(stream, tmp_path / "stream")
        load_checkpoint(tmp_path / "stream").partial_fit(X, Y)
        assert charged(ceiling) == pytest.approx(0.5)


def test_a_bandit_is_refused_before_it_learns_and_can_go_on():
    rewards = np.zeros(len(X))
    bandit = DPContextualBandit(
        [0, 1], epsilon=share(2), delta=DELTA, data_norm=2.0, horizon=1000, policy="gd"
    ).partial_fit(X, Y, rewards)
    with budget(epsilon=share(4)), pytest.raises(BudgetExceededError):
        bandit.partial_fit(Untouchable(), Untouchable(), Untouchable())
    with budget() as ceiling:
        assert bandit.partial_fit(X, Y, rewards).n_seen_ == 2 * len(X)
        assert charged(ceiling) == pytest.approx(0.5)
