"""Streams under ceilings: charged once, wherever they began."""

import numpy as np
import pytest
from budget_tasks import DELTA, Untouchable, X, Y, budget, charged, model, share

from skdp import BudgetExceededError, DPContextualBandit, load_checkpoint, save_checkpoint


def calls():
    """Calls of one stream, whose rows are all new."""
    rng = np.random.default_rng(1)
    while True:
        rows = rng.uniform(-1, 1, size=X.shape)
        yield rows, (rows[:, 0] > 0).astype(int)


@pytest.mark.parametrize("solver", ["blocks", "gd", "ftrl"])
def test_a_stream_is_charged_once_for_all_of_its_parts(solver):
    new = calls()
    with budget() as ceiling:
        stream = model(2, solver=solver)
        for _ in range(4):
            stream.partial_fit(*next(new))
        assert charged(ceiling) == pytest.approx(0.5)
        model(2, solver=solver).partial_fit(X, Y)
        with pytest.raises(BudgetExceededError):
            model(2, solver=solver).partial_fit(Untouchable(), Untouchable())
        stream.partial_fit(*next(new))
        assert charged(ceiling) == pytest.approx(1.0)


@pytest.mark.parametrize("solver", ["blocks", "gd", "ftrl"])
def test_a_budget_that_opens_in_the_middle_of_a_stream_is_charged(solver):
    new = calls()
    stream = model(2, solver=solver).partial_fit(*next(new))
    with budget() as ceiling:
        stream.partial_fit(*next(new))
        assert charged(ceiling) == pytest.approx(0.5)
        model(2).fit(X, Y)
    with budget(epsilon=share(4)), pytest.raises(BudgetExceededError):
        stream.partial_fit(Untouchable(), Untouchable())
    seen = stream.n_samples_seen_
    assert stream.partial_fit(*next(new)).n_samples_seen_ == seen + len(X)


def test_a_fit_and_a_stream_of_rows_that_are_declared_others_are_one_run():
    with budget() as ceiling:
        estimator = model(1, warm_start="disjoint").fit(X, Y)
        estimator.partial_fit(*next(calls()))
        assert charged(ceiling) == pytest.approx(1.0)
        assert len(ceiling.receipts) == 1


def test_a_stream_that_moves_through_a_checkpoint_is_the_same_run(tmp_path):
    with budget() as ceiling:
        stream = model(2, solver="ftrl").partial_fit(X, Y)
        save_checkpoint(stream, tmp_path / "stream")
        stream = load_checkpoint(tmp_path / "stream").partial_fit(*next(calls()))
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


@pytest.mark.parametrize("solver", ["blocks", "gd", "ftrl"])
def test_a_call_that_is_refused_gives_nothing_back_of_what_earlier_ones_have_cost(solver):
    with budget() as ceiling:
        stream = model(2, solver=solver).partial_fit(X, Y)
        with pytest.raises(ValueError, match="features"):
            stream.partial_fit(X[:, :1], Y)
        assert charged(ceiling) == pytest.approx(0.5)


@pytest.mark.parametrize("solver", ["blocks", "gd"])
def test_as_much_is_set_aside_for_a_stream_of_persons_as_all_their_visits_may_cost(solver):
    with budget(privacy_unit=True) as ceiling:
        stream = model(2, solver=solver, max_visits=3)
        for _ in range(2):
            stream.partial_fit(X, Y, privacy_unit=np.arange(len(X)))
        assert charged(ceiling) == pytest.approx(0.5)
