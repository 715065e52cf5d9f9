"""Bugs planted into secret draws of rows and into walks of weights, each seen by a check."""

import os
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy import randomness
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.queries import gradient_difference
from skdp.privacy.queries.gradient import GradientQuery
from skdp.privacy.queries.gradient_difference import GradientDifferenceQuery
from skdp.privacy.queries.vertex import VertexQuery
from skdp.privacy.randomness import SystemNoise
from skdp.privacy.rows.row_blocks import Block
from skdp.privacy.rows.score_cache import ScoreCache
from skdp.privacy.rows.sparse_rows import SparseRows
from skdp.problem.bounds import RowBounds, RowMap
from skdp.problem.losses import Logistic, Softmax
from skdp.problem.problem import Problem
from skdp.testing import check_sensitivity

SIZE, RATE = 4000, 0.3
LEADING = int(RATE * 2**16)
REST = RATE * 2**16 - LEADING


def check_that_ties_are_decided_one_by_one(monkeypatch):
    """Where the first 16 bits of all rows are those of the rate, the others draw afresh."""
    honest = os.urandom

    def tied(size):
        first = LEADING.to_bytes(2, sys.byteorder) * SIZE
        return first if size == len(first) else honest(size)

    monkeypatch.setattr(os, "urandom", tied)
    chosen = SystemNoise().chosen(SIZE, RATE)
    # Six standard deviations.
    assert abs(chosen.mean() - REST) <= 6 * np.sqrt(REST * (1 - REST) / SIZE)
    assert abs((chosen[1:] & chosen[:-1]).mean() - REST**2) <= 6 * np.sqrt(1 / SIZE)


def test_ties_are_decided_one_by_one(monkeypatch):
    assert 0.1 < REST < 0.9
    check_that_ties_are_decided_one_by_one(monkeypatch)


def test_ties_that_share_a_word_are_caught(monkeypatch):
    honest = randomness._fresh_words
    monkeypatch.setattr(randomness, "_fresh_words", lambda size: np.repeat(honest(1), size))
    with pytest.raises(AssertionError):
        check_that_ties_are_decided_one_by_one(monkeypatch)


def check_columns_held(bounds=(0.05, 10.0, 0.2)):
    """Sums of clipped entries after a walk are those before it, for one bound after another."""
    rng = np.random.default_rng(0)
    X = 5 * rng.normal(size=(40, 30)) * (rng.random((40, 30)) < 0.2)
    fresh, walked = (
        SparseRows(sp.csr_array(X), np.zeros(40)).bounded(RowBounds(2.0)) for _ in range(2)
    )
    w = np.zeros(30)
    for j in range(3):
        w = w.copy()
        w[j] = 1.0
        walked.sum(lambda block, w=w: np.atleast_1d(block.scores_along(w, 1.0).sum()))
    r = rng.normal(size=40)
    for bound in bounds:
        sums = [rows.sum(lambda b, c=bound: b.combine_within(r, c)) for rows in (walked, fresh)]
        np.testing.assert_allclose(*sums, rtol=0, atol=1e-12)


def test_columns_that_are_held_are_those_of_the_bounded_rows():
    check_columns_held()


def test_columns_clipped_to_an_earlier_bound_are_caught(monkeypatch):
    honest = ScoreCache.combine_within

    def stale(self, r, bound):
        return honest(self, r, bound if self._clipped is None else self._clipped[0])

    monkeypatch.setattr(ScoreCache, "combine_within", stale)
    with pytest.raises(AssertionError):
        check_columns_held()


def test_columns_of_rows_that_are_not_bounded_are_caught(monkeypatch):
    honest = ScoreCache.scores
    monkeypatch.setattr(
        ScoreCache, "scores", lambda self, X, factor, w, shrunk: honest(self, X, None, w, shrunk)
    )
    with pytest.raises(AssertionError):
        check_columns_held()


def check_margins_of_others():
    """Another row in place of one, huge or not, leaves all other scores as they are, bit by bit."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 20)) * (rng.random((50, 20)) < 0.5)
    scores = []
    for first in (X[0], np.full(20, 1e300), np.zeros(20), np.full(20, np.inf)):
        X[0] = first
        view = SparseRows(sp.csr_array(X), np.zeros(50)).bounded(RowBounds(1.0, 0.3))
        w, seen = np.zeros(21), []
        for j in (3, 7, 3, 20, 11):
            w = 0.9 * w
            w[j] += 1.0
            view.sum(lambda b, w=w, z=seen: z.append(b.scores_along(w, 0.9)) or np.zeros(1))
        scores.append(np.array(seen)[:, 1:])
    for other in scores[1:]:
        np.testing.assert_array_equal(other, scores[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_margins_do_not_depend_on_other_rows():
    check_margins_of_others()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_margins_that_depend_on_the_size_of_other_rows_are_caught(monkeypatch):
    honest = Block.scores_along

    def centred(self, w, shrunk):
        z = honest(self, w, shrunk)
        return z + 2.0**-40 * z.mean()

    monkeypatch.setattr(Block, "scores_along", centred)
    with pytest.raises(AssertionError):
        check_margins_of_others()


def check_far_points():
    """A step so long that derivatives are lost in the scores does not loosen the bound."""
    rng = np.random.default_rng(2)
    problem = Problem(Softmax(3), 4, 3, RowBounds(1.0, 0.5))
    w, w0 = 1e18 * rng.normal(size=(2, *problem.shape))
    query = GradientDifferenceQuery(GradientQuery(problem, w, 1e-3), w0)
    X, other = rng.normal(size=(2, 4, 3))
    y, other_y = rng.integers(0, 3, size=(2, 4)).astype(float)
    check_sensitivity(query, X, y, other, other_y, Adjacency.REPLACE_ONE)


def test_far_points_keep_the_bound():
    check_far_points()


def test_projections_in_units_of_the_centre_are_caught(monkeypatch):
    def lossy(a, t, smoothness, kind):
        a -= kind[0] * smoothness * t
        length, most = np.linalg.norm(a, axis=1), kind[1] * smoothness * np.linalg.norm(t, axis=1)
        # Rounded down, as it should be.
        a *= np.minimum(1.0, most / length * (1 - 2.0**-52))[:, None]
        a += kind[0] * smoothness * t

    monkeypatch.setattr(gradient_difference, "_project", lossy)
    with pytest.raises(AssertionError, match="gradient_difference moved by"):
        check_far_points()


def check_stretched_rows():
    """Rows that a map makes longer than the data may be count as long as they are then."""
    stretching = RowMap(np.full(2, 10.0), None, np.zeros(2), 5.0)
    problem = Problem(Logistic(), 4, 2, RowBounds(1.0, row_map=stretching))
    X, y = np.tile([1.0, 0.0], (4, 1)), np.zeros(4)
    moved = [
        check_sensitivity(
            VertexQuery(problem, np.zeros(2), 0.1, entry, True), X, y, -X, y, adjacency
        )
        for adjacency in Adjacency
        for entry in (0.5, 3.0, 1e3)
    ]
    assert min(moved) > 1 - 1e-9


def test_stretched_rows_keep_the_bound_and_attain_it():
    check_stretched_rows()


def test_the_norm_of_the_data_in_place_of_that_of_the_map_is_caught(monkeypatch):
    honest = VertexQuery.sensitivity

    def before_the_map(self, adjacency):
        bounds = replace(self.problem.bounds, row_map=None)
        return honest(replace(self, problem=replace(self.problem, bounds=bounds)), adjacency)

    monkeypatch.setattr(VertexQuery, "sensitivity", before_the_map)
    with pytest.raises(AssertionError, match="vertex moved by"):
        check_stretched_rows()
