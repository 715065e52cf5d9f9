"""Scores of features: their plain formula, in every layout, and their price."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy import Adjacency, PrivateOracle, SeededNoise
from skdp.privacy.accounting import Ledger, Spend, ZeroConcentratedDP
from skdp.privacy.queries import ResidualQuantileQuery, SelectionQuery
from skdp.privacy.rows import DenseRows, SparseRows
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Squared
from skdp.testing import row_stores

N, D = 30, 5
TARGET = TargetBounds(-1.0, 3.0)
BOUNDS = {
    "norm alone": RowBounds(2.0, target=TARGET),
    "feature bound": RowBounds(2.0, target=TARGET, feature_bound=0.4),
    "intercept": RowBounds(2.0, 0.7, TARGET, feature_bound=0.4),
}
every_bounds = pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * 10.0 ** rng.uniform(-1, 1, size=(N, 1))
    X[rng.random((N, D)) < 0.3] = 0.0
    # Numbers that single precision holds as well.
    return X.astype(np.float32).astype(float), rng.uniform(-2, 4, size=N)


def residuals(problem, w, X, y):
    bounds = problem.bounds
    lengths = np.maximum(np.linalg.norm(X, axis=1), bounds.data_norm)
    X = X * (bounds.data_norm / lengths)[:, None]
    y = (np.clip(y, TARGET.low, TARGET.high) - 1.0) / 2.0
    return X, y - X @ w[:D] - (bounds.intercept_value * w[D] if bounds.intercept_value else 0.0)


@every_bounds
@pytest.mark.parametrize("signed", [False, True])
def test_scores_are_clipped_correlations_in_every_layout(bounds, signed):
    problem, (X, y) = Problem(Squared(), N, D, bounds), data()
    w = 0.2 * np.random.default_rng(1).normal(size=problem.n_rows)
    candidates = np.array([4, 0, 2])
    query = SelectionQuery(problem, w, 0.3, candidates, 2, signed)
    rows, r = residuals(problem, w, X, y)
    b = bounds.feature_bound or inf
    expected = (np.clip(rows, -b, b).T @ np.clip(r, -0.3, 0.3) / N)[candidates]
    expected = expected if signed else np.abs(expected)
    for layout, store in row_stores(X, y).items():
        np.testing.assert_allclose(query.evaluate(store), expected, atol=1e-14, err_msg=layout)


def test_sparse_rows_stay_sparse(monkeypatch):
    X, y = data()
    store = SparseRows(sp.csr_array(X), y)

    def refuse(self, *args, **kwargs):
        raise AssertionError("made dense")

    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    problem = Problem(Squared(), N, D, BOUNDS["feature bound"], sparse=True)
    query = SelectionQuery(problem, np.zeros(D), 0.3, np.arange(D), 1)
    assert query.evaluate(store).shape == (D,)


@pytest.mark.parametrize(
    ("norm", "feature_bound", "entry"),
    [(2.0, None, sqrt(2.0)), (2.0, 0.5, 0.5), (1.0, 5.0, sqrt(0.5))],
)
def test_the_range_follows_the_tighter_of_the_two_bounds(norm, feature_bound, entry):
    problem = Problem(Squared(), N, D, RowBounds(norm, feature_bound=feature_bound))
    query = SelectionQuery(problem, np.zeros(D), 0.1, np.arange(D), 1)
    assert query.sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(4 * 0.1 * entry / N)
    assert query.sensitivity(Adjacency.ZERO_OUT) == pytest.approx(2 * 0.1 * entry / N)


@every_bounds
@pytest.mark.parametrize("share", [0.25, 0.5])
@pytest.mark.parametrize("sizes", [False, True])
def test_the_best_edge_is_the_quantile(bounds, share, sizes):
    problem, (X, y) = Problem(Squared(), N, D, bounds), data(3)
    w = 0.1 * np.random.default_rng(2).normal(size=problem.n_rows)
    edges = np.linspace(-1.5, 1.5, 601)
    query = ResidualQuantileQuery(problem, w, edges, share, sizes)
    _, r = residuals(problem, w, X, y)
    v = np.abs(r) if sizes else r
    below = (v[:, None] < edges).sum(axis=0)
    for layout, store in row_stores(X, y).items():
        answer = query.evaluate(store)
        np.testing.assert_allclose(answer, -np.abs(below - share * N), err_msg=layout, atol=1e-12)


def test_all_candidates_are_chosen_if_there_are_fewer_than_asked_for():
    problem = Problem(Squared(), N, D, RowBounds(1.0))
    query = SelectionQuery(problem, np.zeros(D), 0.3, np.arange(3), 10)
    assert query.choices == 3
    assert replace(query, k=2).choices == 2


CHOICE = Problem(
    Squared(), 5, 3, RowBounds(100.0, target=TargetBounds(-1.0, 1.0), feature_bound=0.5)
)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.by_day(1)
def test_the_order_of_several_choices_loses_no_more_than_was_paid(adjacency):
    """Each prefix of the order is at most its number of choices times eta from the neighbour."""
    pushing, problem, draws, eta = np.array([0.5, -0.5, 0.0]), CHOICE, 3000, 1.2
    one = np.array([pushing] + [[0.5, 0.5, 0.0]] * 4)
    other = one.copy()
    other[0] = -pushing if adjacency is Adjacency.REPLACE_ONE else 0.0
    counts = []
    for seed, X in enumerate((one, other)):
        ledger = Ledger(1e9, 1e-5, calculus=ZeroConcentratedDP())
        noise = SeededNoise(np.random.default_rng(seed))
        oracle = PrivateOracle(DenseRows(X, np.ones(5)), ledger, adjacency, noise)
        oracle = oracle.for_problem(problem)
        orders = {}
        for _ in range(draws):
            spend = Spend(2 * eta**2 / 4)
            order = tuple(oracle.select(np.zeros(3), np.arange(3), 2, clip=0.1, spend=spend))
            orders[order] = orders.get(order, 0) + 1
        counts.append(orders)
        assert ledger.total == pytest.approx(draws * 2 * eta**2 / 4)
    for order in counts[0]:
        pair = [c.get(order, 0) for c in counts]
        if min(pair) > 50:
            error = 5 * np.sqrt(1 / pair[0] + 1 / pair[1])
            assert abs(np.log(pair[0] / pair[1])) <= 2 * eta + error
