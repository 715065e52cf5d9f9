"""Ceilings over several fits: what they count and what they refuse."""

import pickle
import stat
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from budget_tasks import DELTA, EPSILON, X, Y, budget, charged, folders, model, share
from interruptions import Lines
from sklearn.base import clone

from skdp import BudgetExceededError, DPContextualBandit, DPLassoRegressor, DPLogisticRegression
from skdp.model_selection import DPRandomizedSearchCV
from skdp.preprocessing import DPStandardScaler
from skdp.privacy.accounting import gdp
from skdp.reporting import TOKENS


def test_what_is_left_can_be_spent_to_the_last():
    with budget() as ceiling:
        model(3).fit(X, Y)
        left = ceiling.remaining
        estimator = model().set_params(epsilon=left.epsilon, delta=left.delta)
        estimator.fit(X, Y)
        assert ceiling.spent.epsilon == pytest.approx(EPSILON)
        assert ceiling.spent.epsilon <= EPSILON
        assert [entry.who for entry in ceiling.receipts] == ["DPLogisticRegression"] * 2
        assert ceiling.receipts[0].spent == (pytest.approx(share(3)), DELTA)
        assert all(entry.settled for entry in ceiling.receipts)


def test_outside_of_a_budget_nothing_is_counted_or_carried():
    estimator = model().fit(X, Y)
    assert TOKENS not in vars(clone(estimator))
    assert TOKENS not in pickle.loads(pickle.dumps(estimator)).__dict__
    with budget() as ceiling:
        pass
    model().fit(X, Y)
    assert ceiling.receipts == ()
    assert ceiling.spent == (0.0, 0.0)


def test_budgets_nest_and_a_fit_has_to_fit_under_all():
    with budget() as outer:
        with budget(epsilon=share(2)) as inner:
            model(2).fit(X, Y)
            with pytest.raises(BudgetExceededError):
                model(2).fit(X, Y)
            assert len(inner.receipts) == len(outer.receipts) == 1
        model(2).fit(X, Y)
        assert len(outer.receipts) == 2
        with pytest.raises(BudgetExceededError), budget() as inner:
            model(2).fit(X, Y)
        # What one refuses is charged to none.
        assert inner.receipts == ()


def test_an_exception_inside_closes_the_budget_and_removes_its_file():
    before = folders()

    def fail():
        model(2).fit(X, Y)
        (folder,) = folders() - before
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert all(stat.S_IMODE(f.stat().st_mode) & 0o077 == 0 for f in folder.glob("*.sqlite"))
        raise KeyError

    with pytest.raises(KeyError), budget() as ceiling:
        fail()
    assert folders() == before
    assert charged(ceiling) == pytest.approx(0.5)
    model(1).fit(X, Y)


def test_who_is_interrupted_at_any_line_leaves_the_file_to_others(monkeypatch):
    monkeypatch.setattr("skdp.reporting.budget_store._PATIENCE", 0.01)
    kept = []
    with budget() as ceiling:
        model(3).fit(X, Y)
        before = ceiling.spent
        for line in count(1):
            with Lines(line) as lines:
                try:
                    _ = ceiling.spent
                except KeyboardInterrupt as failure:
                    # As a notebook keeps the latest.
                    kept.append(failure)
            if lines.count < line:
                break
            assert ceiling.spent == before
    assert len(kept) > 5


def test_a_budget_whose_file_is_gone_refuses_everything():
    with budget() as ceiling:
        Path(ceiling._store.path).unlink()
        with pytest.raises(BudgetExceededError, match="file is gone"):
            model(2).fit(X, Y)
        for act in (ceiling.close, lambda: ceiling.spent, lambda: repr(ceiling)):
            with pytest.raises(RuntimeError, match="is gone"):
                act()


@pytest.mark.filterwarnings("ignore:DPRandomizedSearchCV compares:UserWarning")
def test_bandits_transformers_and_searches_are_charged():
    rng = np.random.default_rng(0)
    arms, rewards = rng.integers(0, 2, len(X)), rng.random(len(X))
    with budget(epsilon=20.0, accounting="sums", delta=1e-3) as ceiling:
        bandit = DPContextualBandit(
            [0, 1], epsilon=1.0, data_norm=2.0, horizon=10 * len(X), policy="gd"
        )
        for _ in range(2):
            bandit.partial_fit(X, arms, rewards)
        ceiling.fit(clone(bandit), X, arms, r=rewards)
        assert [e.spent.epsilon for e in ceiling.receipts] == [1.0, pytest.approx(1.0)]
        DPStandardScaler(epsilon=0.5, bounds=(-1, 1)).fit(X)
        DPRandomizedSearchCV(model(), {"C": [0.5, 1.0]}, epsilon=1.0).fit(X, Y)
        kinds = [entry.who for entry in ceiling.receipts]
        assert kinds[2:] == ["DPStandardScaler", "DPRandomizedSearchCV"]
        assert ceiling.spent.epsilon == pytest.approx(3.5)


def perturbed(epsilon, delta=DELTA):
    return model(solver="objective_perturbation").set_params(epsilon=epsilon, delta=delta)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:DPRandomizedSearchCV compares:UserWarning")
def test_divergences_of_one_order_add_up_fits_of_all_kinds():
    with budget(accounting="renyi") as ceiling:
        perturbed(0.3, 1e-6).fit(X, Y)
        model(10).fit(X, Y)
        DPLassoRegressor(epsilon=0.3, delta=DELTA, data_norm=2.0, target_bounds=(0, 1)).fit(
            np.repeat(X, 12, axis=1), Y
        )
        DPRandomizedSearchCV(model(), {"C": [0.5, 1.0]}, epsilon=0.2).fit(X, Y)
        assert len(ceiling.receipts) == 4
        spent = ceiling.spent.epsilon
        assert spent < EPSILON
        left = ceiling.remaining
        model().set_params(epsilon=left.epsilon, delta=left.delta).fit(X, Y)
        assert ceiling.spent.epsilon == pytest.approx(EPSILON)
        with pytest.raises(BudgetExceededError):
            model(1000).fit(X, Y)


def test_it_says_what_it_is_and_cannot_begin_twice():
    ceiling = budget()
    assert repr(ceiling).endswith("not open yet")
    with pytest.raises(RuntimeError, match="needs to be opened"):
        _ = ceiling.spent
    ceiling.open()
    model(2).fit(X, Y)
    assert "open, 1 run, spent epsilon=1.36" in repr(ceiling)
    ceiling.close()
    ceiling.close()
    assert "closed, 1 run," in repr(ceiling)
    with pytest.raises(RuntimeError, match="opened before"), ceiling:
        pass
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        pickle.dumps(ceiling)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0},
        {"epsilon": float("inf")},
        {"epsilon": 1.1e9},
        {"epsilon": "1"},
        {"delta": -0.1},
        {"delta": 1.0},
        {"adjacency": "add_remove"},
        {"accounting": "best"},
    ],
    ids=str,
)
def test_impossible_ceilings_are_refused(wrong):
    with pytest.raises(ValueError, match="parameter of PrivacyBudget must be"):
        budget(**wrong)


@pytest.mark.parametrize("name", ["auto", "gd", "tracked_gd", "screening", "frank_wolfe"])
def test_what_is_reserved_before_rows_are_looked_at_is_what_ledgers_accept(name):
    """Or less, where that depends on the data set's shape."""
    for estimator in (DPLogisticRegression(), DPLassoRegressor(data_norm=1.0)):
        if name == "screening" and isinstance(estimator, DPLogisticRegression):
            continue
        claim = estimator.set_params(solver=name)._claim()
        assert claim.limit <= gdp.mu(1.0, 1e-5) ** 2
        if name == "auto" and isinstance(estimator, DPLogisticRegression):
            assert claim.calculus is not None
        if name in ("gd", "screening", "tracked_gd"):
            assert claim.calculus == type(claim.calculus)()
