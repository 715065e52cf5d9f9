"""What every constraint has to keep: nearest points, least linear values and diameters.

Add a set to ``EXAMPLES``, with its definition and a way to draw from it, and it is tested.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import numpy as np
import pytest

from skdp.problem import AxisVertices
from skdp.problem.constraints import (
    Box,
    Constraint,
    L1Ball,
    L2Ball,
    LpBall,
    NonNegative,
    Simplex,
    Unconstrained,
)

RNG_SEED = 30
SIZES = (1, 2, 7)
TOL = 1e-12


@dataclass(frozen=True)
class Example:
    constraint: Constraint
    defined: Callable  # w -> how far w violates the definition
    draw: Callable  # rng, d -> a feasible point

    def __str__(self):
        return str(self.constraint)


def in_l2_ball(radius):
    def draw(rng, d):
        v = rng.normal(size=d)
        return radius * rng.uniform() ** (1 / d) * v / np.linalg.norm(v)

    return Example(L2Ball(radius), lambda w: np.linalg.norm(w) - radius, draw)


def in_l1_ball(radius):
    def draw(rng, d):
        return radius * rng.uniform() * rng.choice([-1, 1], size=d) * rng.dirichlet(np.ones(d))

    return Example(L1Ball(radius), lambda w: np.abs(w).sum() - radius, draw)


def in_lp_ball(radius, p):
    def draw(rng, d):
        v = rng.normal(size=d)
        return radius * rng.uniform() * v / np.sum(np.abs(v) ** p) ** (1 / p)

    return Example(LpBall(radius, p), lambda w: np.sum(np.abs(w) ** p) ** (1 / p) - radius, draw)


def in_simplex(radius):
    return Example(
        Simplex(radius),
        lambda w: max(abs(w.sum() - radius), -w.min()),
        lambda rng, d: radius * rng.dirichlet(np.ones(d)),
    )


def in_box(low, high):
    return Example(
        Box(low, high),
        lambda w: max(low - w.min(), w.max() - high),
        lambda rng, d: rng.uniform(low, high, size=d),
    )


EXAMPLES = [
    in_box(-1.0, 2.0),
    in_box(0.5, 0.75),
    in_box(-3, -3),
    in_l1_ball(1.0),
    in_l1_ball(0.3),
    in_l2_ball(1.0),
    in_l2_ball(2.5),
    in_lp_ball(1.0, 1.5),
    in_lp_ball(0.7, 1.01),
    in_lp_ball(1.0, 60.0),
    in_lp_ball(2.0, 3.0),
    in_simplex(1.0),
    in_simplex(4.0),
    Example(NonNegative(), lambda w: -w.min(), lambda rng, d: 10 * rng.exponential(size=d)),
    Example(Unconstrained(), lambda w: 0.0, lambda rng, d: 10 * rng.normal(size=d)),
]
every_constraint = pytest.mark.parametrize("example", EXAMPLES, ids=str)
every_bounded = pytest.mark.parametrize(
    "example", [e for e in EXAMPLES if isfinite(e.constraint.diameter(2))], ids=str
)
every_polytope = pytest.mark.parametrize(
    "example", [e for e in EXAMPLES if e.constraint.axis_vertices], ids=str
)
every_size = pytest.mark.parametrize("d", SIZES)


def check_declared(constraint):
    """What solvers and estimators rely on holds."""
    rng = np.random.default_rng(RNG_SEED)
    for _ in range(20):
        w = 3 * rng.normal(size=5)
        nearest = constraint.project(w)
        if constraint.whole_space:
            np.testing.assert_array_equal(nearest, w)
        if constraint.cone:
            np.testing.assert_allclose(constraint.project(2.5 * w), 2.5 * nearest)
        if constraint.separable:
            entries = [constraint.project(w[k : k + 1])[0] for k in range(5)]
            np.testing.assert_array_equal(nearest, entries)
        if constraint.axis_vertices:
            found = constraint.linear_minimizer(w)
            alone = constraint.linear_minimizer(np.ones(1))
            assert np.count_nonzero(found) == 1
            assert np.abs(found).max() == np.abs(alone[0])
        if constraint.symmetric:
            np.testing.assert_allclose(constraint.project(-w), -nearest, atol=1e-12)


@every_constraint
def test_declarations_hold(example):
    check_declared(example.constraint)


def points(d, count=100):
    """Points of the space: of all sizes, with ties and with zeros."""
    rng = np.random.default_rng(RNG_SEED + d)
    spread = 10 ** rng.uniform(-3, 3, size=(count, 1)) * rng.normal(size=(count, d))
    ties = rng.integers(-3, 4, size=(count, d)).astype(float)
    return [np.zeros(d), *spread, *ties]


def feasible(example, d, count=200):
    rng = np.random.default_rng(RNG_SEED - d)
    return [example.draw(rng, d) for _ in range(count)]


def check_projection(example, d):
    """Nearest points are those with ``<w - Pw, v - Pw> <= 0`` for all feasible v."""
    constraint = example.constraint
    inside = np.array(feasible(example, d))
    for w in points(d):
        nearest = constraint.project(w)
        scale = 1 + np.abs(w).max()
        assert example.defined(nearest) <= TOL * scale
        towards = np.inner(inside - nearest, w - nearest)
        assert towards.max() <= TOL * scale**2
        if isfinite(constraint.diameter(d)):
            # The feasible point that goes furthest in this direction decides for all others.
            furthest = constraint.linear_minimizer(nearest - w)
            assert np.inner(furthest - nearest, w - nearest) <= TOL * scale**2


def check_linear_minimizer(example, d):
    inside = np.array(feasible(example, d))
    for g in points(d):
        v = example.constraint.linear_minimizer(g)
        assert v.shape == g.shape
        assert example.defined(v) <= TOL * 10
        others = inside
        if example.constraint.axis_vertices:
            others = np.concatenate([inside, vertices(example.constraint, d)])
        assert np.inner(g, v) <= np.inner(others, g).min() + TOL * (1 + np.abs(g).max())


def check_diameter(example, d):
    """No two feasible points are further apart, and two extreme points are that far."""
    declared = example.constraint.diameter(d)
    extreme = [
        example.constraint.linear_minimizer(sign * g)
        for g in [*points(d, 20), *np.eye(d)]
        for sign in (1, -1)
    ]
    found = np.array([*extreme, *feasible(example, d, 50)])
    largest = np.linalg.norm(found[:, None] - found[None], axis=-1).max()
    assert largest <= declared * (1 + 1e-9) + TOL
    assert largest >= declared * (1 - 1e-9) - TOL


def vertices(constraint, d):
    found = AxisVertices.of(constraint)
    corners = np.zeros((d * (1 + found.two_sided), d))
    for index, corner in enumerate(corners):
        j, corner[j] = found.point(index, (d,))
    return corners


@every_size
@every_constraint
def test_projection_is_the_nearest_feasible_point(example, d):
    check_projection(example, d)


@every_size
@every_constraint
def test_projection_leaves_feasible_points(example, d):
    for v in feasible(example, d):
        np.testing.assert_allclose(example.constraint.project(v), v, rtol=0, atol=1e-14)


@every_size
@every_constraint
@pytest.mark.by_day(7)
def test_projection_is_idempotent(example, d):
    for w in points(d):
        once = example.constraint.project(w)
        np.testing.assert_allclose(example.constraint.project(once), once, rtol=0, atol=1e-14)


@every_size
@every_bounded
def test_linear_minimizer_is_feasible_and_beaten_by_no_feasible_point(example, d):
    check_linear_minimizer(example, d)


@every_size
@every_bounded
def test_diameter_is_attained_and_not_exceeded(example, d):
    check_diameter(example, d)


@every_constraint
@pytest.mark.by_day(7)
def test_matrix_is_treated_as_the_vector_of_its_entries(example):
    constraint = example.constraint
    for w in points(12, 20):
        for matrix in (w.reshape(4, 3), np.asfortranarray(w.reshape(4, 3))):
            np.testing.assert_allclose(constraint.project(matrix).ravel(), constraint.project(w))
            if isfinite(constraint.diameter(12)):
                np.testing.assert_allclose(
                    constraint.linear_minimizer(matrix).ravel(), constraint.linear_minimizer(w)
                )


@every_constraint
def test_results_are_fresh_arrays_and_arguments_stay(example):
    for w in [*points(5, 10), *feasible(example, 5, 10)]:
        kept = w.copy()
        results = [example.constraint.project(w)]
        if isfinite(example.constraint.diameter(5)):
            results.append(example.constraint.linear_minimizer(w))
        for result in results:
            assert not np.shares_memory(result, w)
            result += 1
        np.testing.assert_array_equal(w, kept)


@pytest.mark.parametrize("shape", [(1,), (5,), (4, 3)])
@every_constraint
def test_start_is_feasible_and_zero_if_that_is(example, shape):
    start = example.constraint.start(shape)
    assert start.shape == shape
    assert example.defined(start) <= TOL
    if example.defined(np.zeros(shape)) <= 0:
        assert not start.any()
    start += 1
    assert example.defined(example.constraint.start(shape)) <= TOL


@every_size
@every_constraint
@pytest.mark.by_day(7)
def test_contains_agrees_with_the_definition(example, d):
    for v in feasible(example, d):
        assert example.constraint.contains(v)
    for w in points(d):
        violation = example.defined(w)
        # Entries, norms and sums move by at most sqrt(d) times the l2 distance.
        if violation > 1e-6:
            assert not example.constraint.contains(w)
            assert not example.constraint.contains(w, tol=0.99 * violation / np.sqrt(d))
    away = np.full(d, 0.01 / np.sqrt(d))
    for v in feasible(example, d):
        assert example.constraint.contains(v + away, tol=0.01 + 1e-9)


@every_size
@every_polytope
def test_vertices_are_feasible_and_distinct(example, d):
    corners = vertices(example.constraint, d)
    assert all(example.defined(v) <= TOL for v in corners)
    assert len(np.unique(corners, axis=0)) == len(corners)


@every_size
@every_polytope
def test_set_is_the_hull_of_its_vertices(example, d):
    """The support function of the set is that of its vertices."""
    corners = vertices(example.constraint, d)
    for g in points(d):
        least = np.inner(example.constraint.linear_minimizer(g), g)
        np.testing.assert_allclose(np.inner(corners, g).min(), least, rtol=1e-14)
