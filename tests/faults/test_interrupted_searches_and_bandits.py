"""Searches and bandits that are interrupted at any line never under-report what they have spent."""

import tempfile
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Thread

import numpy as np
import pytest
from interruptions import (
    Lines,
    interrupted_everywhere,
    lines_to_try,
    most_charged,
    noted_ledgers,
    spent,
)
from sklearn.base import clone

from skdp import DPContextualBandit, DPLogisticRegression, PrivacyBudget
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.reporting import open_budgets
from skdp.solvers import GD

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(40, 2))
Y, R = (X[:, 1] > 0).astype(int), X[:, 1].copy()
EPSILON = 1.0
_MODEL = DPLogisticRegression(classes=[0, 1], data_norm=2.0, precondition=None, solver=GD(steps=2))
SEARCHES = {
    "all points": DPGridSearchCV(_MODEL, {"C": [0.1, 1.0]}, epsilon=EPSILON, exhaustive=True),
    "some points": DPGridSearchCV(_MODEL, {"C": [0.1, 1.0]}, epsilon=EPSILON, n_iter=2),
    "drawn": DPRandomizedSearchCV(_MODEL, {"C": [0.1, 1.0]}, epsilon=EPSILON, n_iter=2),
}


def check_interrupted_searches(name, count, earlier=False):
    made = SEARCHES[name]
    for line in lines_to_try(lambda: clone(made).fit(X, Y), 1, count, count):
        search = clone(made)
        if earlier:
            search.fit(X, Y)
        with PrivacyBudget(50.0, 1e-5) as budget, noted_ledgers() as ledgers:
            with suppress(KeyboardInterrupt), Lines(line):
                search.fit(X, Y)
            counted = budget.spent.epsilon
        if ledgers:
            # Whatever runs there were, the whole search is paid.
            assert spent(search) == EPSILON, f"line {line}: no receipt"
            assert counted >= EPSILON * (1 - 1e-9), f"line {line}: not in the store"
            assert all(ledger.spent().epsilon <= EPSILON for ledger in ledgers)
        if "best_estimator_" in vars(search):
            best = search.best_estimator_
            assert spent(search) == spent(best) == EPSILON, f"line {line}: a run's own receipt"
        search.fit(X, Y)
        assert spent(search) == spent(search.best_estimator_) == EPSILON


def check_fits_after_covered_ones():
    """Fail unless fits count against a budget after covered ones were interrupted anywhere."""
    covered, model = open_budgets.covered, clone(_MODEL)
    with PrivacyBudget(1e3, 0.1) as budget:
        for line in interrupted_everywhere(lambda: covered(lambda: covered(lambda: None))):
            before = len(budget.receipts)
            model.fit(X, Y)
            assert len(budget.receipts) == before + 1, f"line {line}: not in the store"


def test_fits_after_an_interrupted_trial_count_against_a_budget():
    # In a context of its own, which an interruption may leave covered.
    copy_context().run(check_fits_after_covered_ones)


@pytest.mark.filterwarnings("ignore:DP.* compares:UserWarning")
@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("count", [3, pytest.param(15, marks=pytest.mark.nightly)])
@pytest.mark.by_day(2)
def test_a_search_may_be_interrupted_at_any_line(name, count):
    check_interrupted_searches(name, count)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:DP.* compares:UserWarning")
def test_a_search_after_a_search_may_be_interrupted_at_any_line():
    check_interrupted_searches("all points", 20, earlier=True)


def test_opening_and_closing_a_budget_may_be_interrupted_at_any_line(tmp_path, monkeypatch):
    """And nobody waits for ever for what the interrupted call held."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(open_budgets, "_open", type(open_budgets._open)())
    # What was interrupted may stay open. Workers of later tests must not inherit it.
    monkeypatch.setenv("SKDP_OPEN_BUDGETS", "[]")

    def once():
        with PrivacyBudget(1.0, 1e-5):
            list(open_budgets._open.values())

    with Lines() as lines:
        once()
    for line in range(1, lines.count + 1):
        with suppress(KeyboardInterrupt), Lines(line):
            once()
        other = Thread(target=once, daemon=True)
        other.start()
        other.join(20)
        assert not other.is_alive(), f"line {line}: locked out"


BANDITS = {
    policy: DPContextualBandit(
        [0, 1], epsilon=EPSILON, data_norm=2.0, reward_bounds=(-1, 1), policy=policy, horizon=80
    )
    for policy in ("sparse", "gd", "blocks", "hdb", "ftrl")
}


def go_on(model):
    """Or be told that it cannot."""
    said = ""
    try:
        model.partial_fit(X[:5], Y[:5], R[:5])
    except (RuntimeError, ValueError) as refusal:
        said = str(refusal)
    assert not said or "interrupted" in said


@pytest.mark.parametrize("policy", BANDITS)
@pytest.mark.parametrize("count", [5, pytest.param(40, marks=pytest.mark.nightly)])
@pytest.mark.by_day(2)
def test_learning_of_a_bandit_may_be_interrupted_at_any_line(policy, count, monkeypatch):
    def start():
        return clone(BANDITS[policy]).partial_fit(X[:15], Y[:15], R[:15])

    seen = []
    feed = partial(start().partial_fit, X[15:], Y[15:], R[15:])
    for line in lines_to_try(feed, 2, count, count):
        with noted_ledgers() as ledgers:
            model = start()
            before = spent(model)
            with suppress(KeyboardInterrupt), Lines(line):
                model.partial_fit(X[15:], Y[15:], R[15:])
            # The session and what it has been charged outlive the interruption.
            for _ in range(2):
                charged = most_charged(ledgers)
                assert spent(model) >= max(charged, before), f"line {line}: under-reported"
                go_on(model)
        assert spent(model) <= EPSILON
        seen.append(charged)
        model.fit(X, Y, R)
        assert 0 < spent(model) <= EPSILON
    assert max(seen) > 0
