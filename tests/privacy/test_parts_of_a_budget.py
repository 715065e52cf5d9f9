"""An oracle that shows a part of the budget, and choices asked through oracles of all kinds."""

import numpy as np
import pytest

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Budget, Ledger, Spend, ZeroConcentratedDP
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Squared

N, D = 50, 6
PROBLEM = Problem(
    Squared(), N, D, RowBounds(10.0, target=TargetBounds(-1.0, 1.0), feature_bound=1.0)
)


def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, D))
    return X, X @ [0.0, 0.5, 0.0, -0.4, 0.1, 0.0]


def opened(epsilon=1.0):
    ledger = Ledger(epsilon, 1e-5, calculus=ZeroConcentratedDP())
    oracle = PrivateOracle(DenseRows(*data()), ledger, Adjacency.REPLACE_ONE, SystemNoise())
    return oracle.for_problem(PROBLEM), ledger


def ask(oracle, spend):
    oracle.gradient(np.zeros(D), clip_norm=1.0, spend=spend)


def test_a_part_shows_what_is_left_of_it():
    oracle, ledger = opened()
    part = oracle.within(oracle.budget.fraction(0.4))
    assert part.budget.amount == pytest.approx(0.4 * ledger.limit)
    ask(part, part.budget.fraction(0.5).whole())
    assert part.budget.amount == pytest.approx(0.2 * ledger.limit)
    # The same problem is asked about, and what another asks counts against the part as well.
    ask(oracle, part.budget.fraction(0.5).whole())
    assert part.for_problem(PROBLEM).budget.amount == pytest.approx(0.1 * ledger.limit)
    assert oracle.budget.amount == pytest.approx(0.7 * ledger.limit)
    ask(part, part.budget.whole())
    assert part.budget.amount == pytest.approx(0.0, abs=1e-9)
    assert ledger.total == pytest.approx(0.4 * ledger.limit)


def test_a_part_cannot_show_more_than_there_is():
    oracle, ledger = opened()
    part = oracle.within(oracle.budget.fraction(1.0))
    ask(oracle, oracle.budget.fraction(0.9).whole())
    larger = oracle.within(Budget(5 * ledger.limit))
    for of in (part, larger):
        assert of.budget.amount == pytest.approx(0.1 * ledger.limit)
        with pytest.raises(BudgetExceededError):
            ask(of, Spend(ledger.limit))


def test_noise_of_the_choices_falls_with_their_price():
    """At a huge price the choice is the best; at a tiny one any."""
    wrong = []
    for epsilon in (1e6, 1e-3):
        oracle, _ = opened(epsilon)
        spends = oracle.budget.split(200)
        firsts = [oracle.select(np.zeros(D), np.arange(D), 1, clip=1.0, spend=s)[0] for s in spends]
        wrong.append(np.mean(np.array(firsts) != 1))
    assert wrong[0] == 0
    assert 0.6 < wrong[1] < 0.99


def test_a_part_of_a_part_shows_no_more_than_the_part():
    oracle, ledger = opened()
    part = oracle.within(oracle.budget.fraction(0.4))
    wider = part.within(Budget(0.9 * ledger.limit))
    assert wider.budget.amount == pytest.approx(0.4 * ledger.limit)
