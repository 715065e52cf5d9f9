"""Bugs planted into noisy selection, each of which a check has to notice.

The privacy loss is measured end to end: the same query is asked many times of two neighbours
that were made so that the difference of two scores moves by the whole range.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from examples_of_queries import EXAMPLES

from skdp.privacy.accounting.calculus import ZeroConcentratedDP
from skdp.privacy.accounting.events import ExponentialEvent
from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.gumbel import GumbelMechanism
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.queries.selection import SelectionQuery
from skdp.privacy.randomness import SeededNoise
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.privacy.rows.row_blocks import Block
from skdp.problem.bounds import RowBounds, TargetBounds
from skdp.problem.losses import Squared
from skdp.problem.problem import Problem
from skdp.testing import check_pays_before_looking

N, B, C, ETA = 5, 0.5, 0.1, 1.2
PROBLEM = Problem(
    Squared(), N, 3, RowBounds(100.0, target=TargetBounds(-1.0, 1.0), feature_bound=B)
)
DRAWS = 3000
# Five standard errors of a difference of two log odds near even ones.
MARGIN = 5 * np.sqrt(2 * 4 / DRAWS) * 1.1


@dataclass(frozen=True)
class Choice:
    """One of two features is chosen, from neighbours that move the scores as far as they can."""

    adjacency: Adjacency
    size: float = B

    def data(self):
        """The two scores differ by half the range, in favour of the one or the other."""
        pushing = np.array([self.size, -self.size, 0.0])
        rows = np.array([pushing] + [[self.size, self.size, 0.0]] * (N - 1))
        other = rows.copy()
        if self.adjacency is Adjacency.REPLACE_ONE:
            other[0] = -pushing
        else:
            other[0] = 0.0
        return rows, other

    def odds(self, X, seed):
        """Log odds of the first feature against the second, and what an answer was charged."""
        ledger = Ledger(1e9, 1e-5, calculus=ZeroConcentratedDP())
        noise = SeededNoise(np.random.default_rng(seed))
        oracle = PrivateOracle(DenseRows(X, np.ones(N)), ledger, self.adjacency, noise)
        oracle = oracle.for_problem(PROBLEM)
        spend, first = Spend(ETA**2 / 4), 0
        for _ in range(DRAWS):
            answer = oracle.select(np.zeros(3), np.arange(2), 1, clip=C, spend=spend)
            first += int(answer[0] == 0)
        return np.log(first / (DRAWS - first)), ledger.total / DRAWS

    def loss(self):
        """The measured privacy loss, and the one that was paid for."""
        one, other = self.data()
        (before, price), (after, _) = self.odds(one, 0), self.odds(other, 1)
        return abs(before - after), 2 * np.sqrt(price)


both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


@both_adjacencies
def test_the_loss_is_as_large_as_paid_for_and_no_larger(adjacency):
    measured, paid = Choice(adjacency).loss()
    assert paid == pytest.approx(ETA)
    assert abs(measured - paid) <= MARGIN


@both_adjacencies
def test_half_the_noise_is_caught(adjacency, monkeypatch):
    honest = GumbelMechanism.randomize

    def half(self, value, noise):
        return honest(
            GumbelMechanism(self.sensitivity, self.noise_scale / 2, self.choices), value, noise
        )

    monkeypatch.setattr(GumbelMechanism, "randomize", half)
    measured, paid = Choice(adjacency).loss()
    assert measured > paid + MARGIN


@both_adjacencies
def test_half_the_range_is_caught_by_the_loss_and_by_the_battery(adjacency, monkeypatch):
    honest = SelectionQuery.sensitivity
    monkeypatch.setattr(SelectionQuery, "sensitivity", lambda self, a: honest(self, a) / 2)
    measured, paid = Choice(adjacency).loss()
    assert measured > paid + MARGIN
    assert_battery_complains(adjacency)


@both_adjacencies
def test_entries_that_are_not_clipped_are_caught(adjacency, monkeypatch):
    honest = Block.combine_within
    monkeypatch.setattr(Block, "combine_within", lambda self, r, bound: honest(self, r, np.inf))
    measured, paid = Choice(adjacency, size=4 * B).loss()
    assert measured > paid + MARGIN
    assert_battery_complains(adjacency)


@both_adjacencies
def test_entries_beyond_the_bound_lose_nothing_more(adjacency):
    measured, paid = Choice(adjacency, size=4 * B).loss()
    assert abs(measured - paid) <= MARGIN


@both_adjacencies
def test_residuals_that_are_not_clipped_are_caught(adjacency, monkeypatch):
    def bug(self, block):
        return block.combine_within(block.y - block.scores(self.w), B)

    monkeypatch.setattr(SelectionQuery, "_of_block", bug)
    assert_battery_complains(adjacency)


def assert_battery_complains(adjacency):
    with pytest.raises(AssertionError, match="selection moved by"):
        check_all(adjacency)


def check_all(adjacency):
    for examples in EXAMPLES[SelectionQuery]:
        for example in examples:
            example.check(adjacency)


def ask_for_three(oracle, spend):
    oracle.for_problem(PROBLEM).select(np.zeros(3), np.arange(3), 3, clip=C, spend=spend)


@both_adjacencies
def test_choices_that_are_not_charged_are_caught(adjacency, monkeypatch):
    check_pays_in_zcdp(ask_for_three, adjacency)

    def once(self, query):
        return ExponentialEvent(
            query=query, sensitivity=self.sensitivity, noise_scale=self.noise_scale
        )

    monkeypatch.setattr(GumbelMechanism, "event", once)
    with pytest.raises(AssertionError, match=r"the charge was 0\.333"):
        check_pays_in_zcdp(ask_for_three, adjacency)


@both_adjacencies
def test_the_order_of_several_choices_loses_no_more_than_was_paid(adjacency):
    """Each prefix of the order is at most its number of choices times eta from the neighbour."""
    one, other = Choice(adjacency).data()
    counts = []
    for seed, X in enumerate((one, other)):
        ledger = Ledger(1e9, 1e-5, calculus=ZeroConcentratedDP())
        noise = SeededNoise(np.random.default_rng(seed))
        oracle = PrivateOracle(DenseRows(X, np.ones(N)), ledger, adjacency, noise)
        oracle = oracle.for_problem(PROBLEM)
        orders = {}
        for _ in range(DRAWS):
            spend = Spend(2 * ETA**2 / 4)
            order = tuple(oracle.select(np.zeros(3), np.arange(3), 2, clip=C, spend=spend))
            orders[order] = orders.get(order, 0) + 1
        counts.append(orders)
        assert ledger.total == pytest.approx(DRAWS * 2 * ETA**2 / 4)
    for order in counts[0]:
        pair = [c.get(order, 0) for c in counts]
        if min(pair) > 50:
            error = 5 * np.sqrt(1 / pair[0] + 1 / pair[1])
            assert abs(np.log(pair[0] / pair[1])) <= 2 * ETA + error


def check_pays_in_zcdp(ask, adjacency):
    check_pays_before_looking(ask, PROBLEM, adjacency, calculus=ZeroConcentratedDP())
