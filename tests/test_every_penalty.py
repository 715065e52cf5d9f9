"""What every penalty has to keep: its proximal map, its strong convexity, its scaling.

Add a penalty to ``EXAMPLES`` and it is tested. ``Tikhonov`` takes weights of one size only, and is
tested where that is the one of ``points``.
"""

import numpy as np
import pytest

from skdp.problem.penalties import L1, L2, ElasticNet, NoPenalty, Tikhonov

RNG_SEED = 40
EXAMPLES = [
    ElasticNet(0.0),
    ElasticNet(0.7),
    ElasticNet(2.0, l1_ratio=0.9),
    ElasticNet(0.5, l1_ratio=0.0),
    ElasticNet(0.5, l1_ratio=1.0),
    L1(0.0),
    L1(0.4),
    L2(0.0),
    L2(1.5),
    NoPenalty(),
]
every_penalty = pytest.mark.parametrize("penalty", EXAMPLES, ids=str)
# Penalties of zero stay zero: a wrong step or a negative factor changes nothing in them.
every_positive_penalty = pytest.mark.parametrize(
    "penalty", [r for r in EXAMPLES if r.value(np.ones(1)) > 0], ids=str
)


def points(count=60, shape=(4,)):
    rng = np.random.default_rng(RNG_SEED)
    spread = 10 ** rng.uniform(-2, 1.5, size=count)
    return [np.zeros(shape), *(s * rng.normal(size=shape) for s in spread)]


def check_declared(penalty):
    """What solvers and estimators rely on holds."""
    for w in points():
        squares = 0.5 * penalty.strong_convexity * np.vdot(w, w)
        absolute = penalty.l1 * np.abs(w).sum()
        if penalty.isotropic:
            assert penalty.value(w) == pytest.approx(squares)
        if penalty.quadratic:
            root = np.asarray(penalty.root)
            moved = root @ w if root.ndim == 2 else root * w
            assert penalty.value(w) == pytest.approx(0.5 * np.vdot(moved, moved))
        if penalty.separable:
            entries = [penalty.prox(w[k : k + 1], 0.7)[0] for k in range(w.size)]
            np.testing.assert_allclose(penalty.prox(w, 0.7), entries)
            assert penalty.value(w) == pytest.approx(squares + absolute)
        if penalty.selects:
            assert penalty.value(w) == pytest.approx(absolute)


RIDGES = [
    Tikhonov(np.diag([1.0, 2.0, 3.0, 4.0])),
    Tikhonov(np.arange(4.0)),
    Tikhonov(np.random.default_rng(0).normal(size=(3, 4))),
]
every_penalty_of_four = pytest.mark.parametrize("penalty", [*EXAMPLES, *RIDGES], ids=str)


@every_penalty_of_four
def test_declarations_hold(penalty):
    check_declared(penalty)


def check_prox(penalty):
    """The objective grows from its minimiser at least like its strong convexity says.

    ``||v - w||^2 / 2 + step * value(v)`` is (1 + step * m)-strongly convex, so v* minimises it if
    and only if it exceeds its value at v* by ``(1 + step m) / 2 ||v - v*||^2`` at every v.
    """
    rng = np.random.default_rng(RNG_SEED)
    for w in points():
        for step in (0.1, 1.0, 3.0):

            def objective(v, w=w, step=step):
                return 0.5 * np.sum((v - w) ** 2) + step * penalty.value(v)

            best = penalty.prox(w, step)
            curvature = 1 + step * penalty.strong_convexity
            near = [best + 10.0**-k * rng.normal(size=w.shape) for k in range(5)]
            for v in (w, 0 * w, *near):
                growth = 0.5 * curvature * np.sum((v - best) ** 2)
                slack = 1e-13 * (1 + objective(v))
                assert objective(v) >= objective(best) + growth - slack


def check_strong_convexity(penalty):
    """The declared constant holds on every segment and is not exceeded on all of them."""
    m = penalty.strong_convexity
    spare = []
    for a, b in zip(points(), points()[::-1], strict=True):
        for one, other in ((a, b), (np.abs(a), np.abs(b))):
            square = np.sum((one - other) ** 2)
            for t in (0.2, 0.5):
                chord = (1 - t) * penalty.value(one) + t * penalty.value(other)
                bend = chord - penalty.value((1 - t) * one + t * other)
                assert bend >= 0.5 * m * t * (1 - t) * square - 1e-12 * (1 + chord)
                if square > 1:
                    spare.append(bend / (0.5 * t * (1 - t) * square) - m)
    assert min(spare) <= 1e-9


@every_penalty_of_four
def test_prox_minimises_its_objective(penalty):
    check_prox(penalty)


@every_penalty
def test_strong_convexity_is_the_largest_that_holds(penalty):
    check_strong_convexity(penalty)


@every_penalty
def test_prox_without_a_step_is_the_identity(penalty):
    for w in points():
        np.testing.assert_array_equal(penalty.prox(w, 0.0), w)


@every_penalty
def test_value_is_zero_at_zero_and_nowhere_negative(penalty):
    assert penalty.value(np.zeros((3, 2))) == 0
    assert all(penalty.value(w) >= 0 for w in points())


@every_penalty
def test_matrix_is_treated_as_the_vector_of_its_entries(penalty):
    for w in points(20, (12,)):
        for matrix in (w.reshape(4, 3), np.asfortranarray(w.reshape(4, 3))):
            np.testing.assert_allclose(penalty.value(matrix), penalty.value(w), rtol=1e-14)
            np.testing.assert_array_equal(penalty.prox(matrix, 0.5).ravel(), penalty.prox(w, 0.5))


@every_penalty_of_four
def test_prox_is_a_fresh_array_and_its_argument_stays(penalty):
    for step in (0.0, 0.5):
        w = np.array([1.0, -0.01, 3.0, 0.0])
        result = penalty.prox(w, step)
        assert not np.shares_memory(result, w)
        result += 1
        np.testing.assert_array_equal(w, [1.0, -0.01, 3.0, 0.0])


@pytest.mark.parametrize("factor", [0.0, 0.5, 3.0])
@every_penalty_of_four
def test_scaled_multiplies_the_penalty(penalty, factor):
    scaled = penalty.scaled(factor)
    assert type(scaled) is type(penalty)
    assert scaled.strong_convexity == pytest.approx(factor * penalty.strong_convexity)
    for w in points():
        np.testing.assert_allclose(scaled.value(w), factor * penalty.value(w), rtol=1e-13)
        np.testing.assert_allclose(
            scaled.prox(w, 0.7), penalty.prox(w, 0.7 * factor), rtol=1e-12, atol=1e-14
        )


@every_positive_penalty
def test_negative_factor_is_refused(penalty):
    with pytest.raises(ValueError, match="needs an alpha"):
        penalty.scaled(-1.0)
