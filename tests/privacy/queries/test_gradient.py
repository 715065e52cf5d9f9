"""Clipped derivatives are never larger than what margins for rounding presume."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skdp import DPLinearRegression
from skdp.privacy import Adjacency, PrivateOracle, of_sum, spread
from skdp.privacy.accounting import Spend
from skdp.privacy.queries import GradientDifferenceQuery, GradientQuery
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Huber, Squared, Tukey
from skdp.solvers import GD, SVRG

N, D = 40, 3
LOSSES = [Squared(), Huber(0.1), Huber(2.0), Tukey(0.5)]
TARGETS = [TargetBounds(-2.0, 6.0), TargetBounds(1.0, 6.0, centred=False), TargetBounds(-1.0, 1.0)]
powers = st.integers(-6, 6).map(lambda k: 10.0**k)


def problem_for(loss, bounds, *, max_weight=1.0):
    weights = None if max_weight == 1.0 else (1.0, max_weight)
    return Problem(loss, N, D, bounds, class_weight=weights)


def rows_for(rng, w, bounds, meeting):
    """Rows of all lengths and directions, many along w and about as long as is worst."""
    along = w[:D] / (np.linalg.norm(w[:D]) or 1.0)
    X = rng.normal(size=(N, D))
    X[::2] = along * rng.choice([-1.0, 1.0], size=(N // 2, 1))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X *= 10.0 ** rng.uniform(-8, 8, size=(N, 1))
    X[::4] *= meeting / np.linalg.norm(X[::4], axis=1, keepdims=True)
    y = rng.uniform(-10, 10, size=N)
    y[::4] = rng.choice([bounds.low, bounds.high], size=y[::4].size)
    return DenseRows(X, y, rng.uniform(0, 1, size=N) if rng.random() < 0.3 else None)


def longest_derivative(query, rows, monkeypatch):
    """Of any row, after clipping and weights, where it enters the sum."""
    largest, honest = [0.0], GradientQuery.weighted

    def weighted(self, block, r):
        out = honest(self, block, r)
        largest.append(float(np.abs(out).max(initial=0.0)))
        return out

    with monkeypatch.context() as patch:
        patch.setattr(GradientQuery, "weighted", weighted)
        query.evaluate(rows)
    return max(largest)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("target", TARGETS, ids=str)
@given(
    size=powers,
    clip=powers,
    norm=powers,
    intercept=st.sampled_from([0.0, 1.5]),
    seed=st.integers(0),
)
@example(size=1e6, clip=1e-6, norm=1e6, intercept=0.0, seed=0)
@example(size=1.0, clip=1.0, norm=1e3, intercept=0.0, seed=1)
@settings(max_examples=25, deadline=None)
def test_no_derivative_of_a_smooth_loss_exceeds_its_bound(
    loss, target, size, clip, norm, intercept, seed
):
    rng = np.random.default_rng(seed)
    problem = problem_for(loss, RowBounds(norm, intercept, target))
    w = rng.normal(size=problem.shape) * size
    query = GradientQuery(problem, w, clip)
    bound = query._steepest_of_smooth
    assert bound < math.inf
    rows = rows_for(rng, w, target, query.bound / bound)
    with pytest.MonkeyPatch.context() as patch:
        assert longest_derivative(query, rows, patch) <= bound * (1 + 1e-9)


def test_a_query_at_another_point_has_the_margin_and_the_noise_that_it_needs_there():
    """In other coordinates, as derivatives of a smooth loss are larger where weights are."""
    row_map = RowMap(np.ones(D), None, np.full(D, 1e3), norm=1e-2)
    problem = problem_for(Squared(), RowBounds(1e3, 0.0, TargetBounds(-1.0, 1.0), row_map))
    near, far = GradientQuery(problem, np.zeros(D), 1.0), np.full(D, 1e9)
    least = near.mechanism(Adjacency.REPLACE_ONE, Spend(1.0))
    moved, made = near.at(far), GradientQuery(problem, far, 1.0)
    assert moved.rounding == made.rounding > 2 * near.rounding
    noise = moved.mechanism(Adjacency.REPLACE_ONE, Spend(1.0))
    assert noise == made.mechanism(Adjacency.REPLACE_ONE, Spend(1.0)) != least
    assert moved.at(np.zeros(D)).rounding == near.rounding


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_some_row_attains_the_bound(size, monkeypatch):
    target = TargetBounds(-1.0, 1.0)
    problem = problem_for(Squared(), RowBounds(1e6, 0.0, target))
    w = np.array([0.0, size, 0.0])
    query = GradientQuery(problem, w, 1.0)
    bound = query._steepest_of_smooth
    X, y = np.tile(w / size * (query.bound / bound), (N, 1)), np.full(N, -1.0)
    assert longest_derivative(query, DenseRows(X, y), monkeypatch) == pytest.approx(bound)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(size=powers, step=powers, clip=powers, norm=powers, seed=st.integers(0))
@settings(max_examples=40, deadline=None)
@pytest.mark.by_day(2)
def test_no_difference_of_derivatives_exceeds_its_bound(loss, size, step, clip, norm, seed):
    rng = np.random.default_rng(seed)
    target = TARGETS[2]
    problem = problem_for(loss, RowBounds(norm, 0.0, target))
    w = rng.normal(size=problem.shape) * size
    w0 = w + rng.normal(size=problem.shape) * step
    if np.array_equal(w, w0):
        return
    gradient = GradientQuery(problem, w, clip)
    query = GradientDifferenceQuery(gradient, w0)
    apart = np.linalg.norm(w - w0)
    # Where smoothness times length and twice the radius over the length meet.
    worst = math.sqrt(2.0 * query.radius / (loss.smoothness * apart))
    bound = min(2.0 * loss.lipschitz, math.sqrt(2 * loss.smoothness * apart * query.radius))
    rows = rows_for(rng, w - w0, target, min(worst, norm))
    with pytest.MonkeyPatch.context() as patch:
        # Scores far beyond the step have lost its last digits.
        slack = 1e-9 + 1e-15 * np.linalg.norm(w) / apart
        assert longest_derivative(query, rows, patch) <= bound * (1 + slack)


def test_the_margin_of_whole_units_is_for_rows_and_for_the_sum_of_their_clipped_means():
    row_map = RowMap(np.ones(D), None, np.full(D, 1e3), norm=1e-2)
    problem = problem_for(Squared(), RowBounds(1e3, 0.0, TargetBounds(-1.0, 1.0), row_map))
    for w in (np.zeros(D), np.full(D, 1e9)):
        of_rows = GradientQuery(problem, w, 1.0)
        whole = GradientQuery(problem, w, 1.0, whole_units=True)
        assert whole.rounding >= (of_rows.rounding + of_sum(N)) * (1 - 1e-9)


def test_the_margin_of_a_difference_is_for_sums_of_rows_as_long_as_before_the_map():
    """Derivatives are as large as the test above says; the centre is added up besides."""
    row_map = RowMap(np.ones(D), None, np.full(D, 1e3 / math.sqrt(D)), norm=1e-2)
    problem = problem_for(Squared(), RowBounds(1e3, 0.0, TargetBounds(-1.0, 1.0), row_map))
    for step in (1e-3, 1.0, 1e3):
        query = GradientDifferenceQuery(
            GradientQuery(problem, np.array([step, 0.0, 0.0]), 1.0), np.zeros(D)
        )
        longer = spread(problem.bounds, math.sqrt(2 * step * query.radius), query.radius)
        assert longer > 10
        assert query.rounding == pytest.approx(of_sum(N, 3 * longer))


@pytest.mark.parametrize("solver", [GD(steps=6), SVRG()], ids=str)
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_margins_of_conditioned_regressions_without_an_intercept_are_small(
    solver, loss, monkeypatch
):
    rng, n = np.random.default_rng(0), 4000
    X = rng.normal(size=(n, 5)) * [0.4, 0.3, 0.2, 0.1, 0.02] + 0.1
    y = np.clip(X @ [1.0, -1.0, 0.5, 0.2, 3.0], -1, 1)
    honest, found = PrivateOracle._release, []

    def release(self, query, spend):
        if isinstance(query, GradientQuery | GradientDifferenceQuery):
            inner = getattr(query, "gradient", query)
            found.append((inner.problem.bounds.row_map is not None, query.rounding))
        return honest(self, query, spend)

    monkeypatch.setattr(PrivateOracle, "_release", release)
    DPLinearRegression(
        epsilon=4.0,
        data_norm=1.5,
        target_bounds=(-1, 1),
        fit_intercept=False,
        solver=solver,
        loss=loss,
        precondition="full",
    ).fit(X, y)
    mapped = [rounding for is_mapped, rounding in found if is_mapped]
    assert mapped
    assert of_sum(n) <= min(mapped)
    assert max(mapped) < 2e-6
