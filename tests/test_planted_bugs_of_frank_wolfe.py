"""Bugs planted into Frank-Wolfe, each of which a check has to notice.

The privacy loss of a choice is measured end to end: the same query is asked many times of two
neighbours that were made so that the difference of two scores moves by the whole range.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from examples_of_vertices import EXAMPLES

from skdp.privacy.accounting.calculus import ZeroConcentratedDP
from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.gumbel import GumbelMechanism
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.queries.intercept_gradient import InterceptGradientQuery
from skdp.privacy.queries.vertex import VertexQuery
from skdp.privacy.randomness import SeededNoise
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.privacy.rows.row_blocks import Block
from skdp.problem.bounds import RowBounds
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Logistic, Loss
from skdp.problem.problem import Problem
from skdp.solvers import FrankWolfe
from skdp.testing import RecordingOracle, Transcript, check_pays_before_looking

N, B, C, ETA = 5, 0.5, 0.1, 1.2
PROBLEM = Problem(Logistic(), N, 1, RowBounds(100.0), constraint=L1Ball(1.0))
DRAWS = 3000
# Five standard errors of a difference of two log odds near even ones.
MARGIN = 5 * np.sqrt(2 * 4 / DRAWS) * 1.1
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


@dataclass(frozen=True)
class UpOrDown:
    """One feature, up or down, from neighbours that move the scores as far as they can."""

    adjacency: Adjacency
    size: float = B

    def data(self):
        """A row of one sign, then of the other or of none; the others cancel."""
        rows = np.array([[self.size], [B], [-B], [B], [-B]])
        other = rows.copy()
        other[0] = -self.size if self.adjacency is Adjacency.REPLACE_ONE else 0.0
        return rows, other

    def odds(self, X, seed):
        """Log odds of up against down, and what an answer was charged."""
        ledger = Ledger(1e9, 1e-5, calculus=ZeroConcentratedDP())
        noise = SeededNoise(np.random.default_rng(seed))
        oracle = PrivateOracle(DenseRows(X, np.ones(N)), ledger, self.adjacency, noise)
        oracle = oracle.for_problem(PROBLEM)
        spend, up = Spend(ETA**2 / 4), 0
        for _ in range(DRAWS):
            up += oracle.vertex(np.zeros(1), clip=C, entry=B, two_sided=True, spend=spend) == 0
        return np.log(up / (DRAWS - up)), ledger.total / DRAWS

    def loss(self):
        """The measured privacy loss, and the one that was paid for."""
        one, other = self.data()
        (before, price), (after, _) = self.odds(one, 0), self.odds(other, 1)
        return abs(before - after), 2 * np.sqrt(price)


def check_all(kind, adjacency):
    for examples in EXAMPLES[kind]:
        for example in examples:
            example.check(adjacency)


@both_adjacencies
def test_the_loss_is_as_large_as_paid_for_and_no_larger(adjacency):
    for size in (B, 4 * B):
        measured, paid = UpOrDown(adjacency, size).loss()
        assert paid == pytest.approx(ETA)
        assert abs(measured - paid) <= MARGIN


@both_adjacencies
def test_half_the_noise_is_caught(adjacency, monkeypatch):
    honest = GumbelMechanism.randomize

    def half(self, value, noise):
        return honest(replace(self, noise_scale=self.noise_scale / 2), value, noise)

    monkeypatch.setattr(GumbelMechanism, "randomize", half)
    measured, paid = UpOrDown(adjacency).loss()
    assert measured > paid + MARGIN


@both_adjacencies
def test_a_missing_factor_of_two_is_caught(adjacency, monkeypatch):
    honest = VertexQuery.sensitivity
    monkeypatch.setattr(VertexQuery, "sensitivity", lambda self, a: honest(self, a) / 2)
    measured, paid = UpOrDown(adjacency).loss()
    assert measured > paid + MARGIN
    with pytest.raises(AssertionError, match="vertex moved by"):
        check_all(VertexQuery, adjacency)


@both_adjacencies
def test_entries_that_are_not_clipped_are_caught(adjacency, monkeypatch):
    honest = Block.combine_within
    monkeypatch.setattr(Block, "combine_within", lambda self, r, bound: honest(self, r, np.inf))
    measured, paid = UpOrDown(adjacency, 4 * B).loss()
    assert measured > paid + MARGIN
    with pytest.raises(AssertionError, match="vertex moved by"):
        check_all(VertexQuery, adjacency)


@both_adjacencies
def test_slopes_that_are_not_clipped_are_caught(adjacency, monkeypatch):
    honest = Loss.clipped_derivative
    monkeypatch.setattr(
        Loss, "clipped_derivative", lambda self, y, z, bound: honest(self, y, z, np.inf)
    )
    with pytest.raises(AssertionError, match="intercept_gradient moved by"):
        check_all(InterceptGradientQuery, adjacency)


@both_adjacencies
def test_derivatives_with_twice_their_bound_are_caught(adjacency, monkeypatch):
    honest = VertexQuery._of_block
    monkeypatch.setattr(
        VertexQuery,
        "_of_block",
        lambda self, block: honest(replace(self, clip=2 * self.clip), block),
    )
    with pytest.raises(AssertionError, match="vertex moved by"):
        check_all(VertexQuery, adjacency)


def ask(oracle, spend):
    oracle.for_problem(PROBLEM).vertex(np.zeros(1), clip=C, entry=B, two_sided=True, spend=spend)


def check_pays(adjacency):
    check_pays_before_looking(ask, PROBLEM, adjacency, calculus=ZeroConcentratedDP())


@both_adjacencies
def test_a_charge_that_is_forgotten_is_caught(adjacency, monkeypatch):
    check_pays(adjacency)
    honest = PrivateOracle._release

    def free(self, query, spend):
        if query.name != "vertex":
            return honest(self, query, spend)
        mechanism = query.mechanism(self._adjacency, spend)
        return mechanism.randomize(query.evaluate(self._rows), self._noise)

    monkeypatch.setattr(PrivateOracle, "_release", free)
    with pytest.raises(AssertionError):
        check_pays(adjacency)


def receipt_of_a_solution():
    rng = np.random.default_rng(0)
    problem = Problem(Logistic(), 200, 3, RowBounds(1.0, 0.3), constraint=L1Ball(2.0))
    ledger, transcript = Ledger(1.0, 1e-5, calculus=ZeroConcentratedDP()), Transcript()
    rows = DenseRows(rng.normal(size=(200, 3)), rng.integers(0, 2, 200).astype(float))
    noise = SeededNoise(np.random.default_rng(1))
    oracle = RecordingOracle(rows, ledger, Adjacency.REPLACE_ONE, noise, transcript)
    solver = FrankWolfe(steps=7, noise="gumbel")
    solution = solver.solve(problem, oracle.for_problem(problem), rng)
    return solution, ledger, transcript


def check_every_step_is_paid_for():
    solution, ledger, transcript = receipt_of_a_solution()
    names = [name for name, *_ in transcript.entries]
    assert names == ["intercept_gradient", "vertex"] * solution.n_iter
    charged = [event.query for event in ledger.receipt() for _ in range(event.count)]
    assert sorted(charged) == sorted(names)
    assert ledger.total == pytest.approx(ledger.limit, rel=1e-9)


def test_a_step_that_is_not_charged_is_caught(monkeypatch):
    check_every_step_is_paid_for()
    honest, seen = Ledger.charge, []

    def once(self, event):
        if event.query == "vertex" and seen:
            return
        seen.append(event)
        honest(self, event)

    monkeypatch.setattr(Ledger, "charge", once)
    with pytest.raises(AssertionError):
        check_every_step_is_paid_for()


def check_index_only():
    _, _, transcript = receipt_of_a_solution()
    for name, _, _, answer in transcript.entries:
        if name == "vertex":
            assert answer.shape == (1,)
            assert answer.dtype.kind == "i"


def test_scores_that_are_published_are_caught(monkeypatch):
    check_index_only()
    honest = GumbelMechanism.randomize

    def with_score(self, value, noise):
        index = honest(self, value, noise)
        return np.append(index, value[index])

    monkeypatch.setattr(GumbelMechanism, "randomize", with_score)
    with pytest.raises(AssertionError):
        check_index_only()
