"""What every loss has to keep: its declared constants, its range, and the bound on its clip.

Add a loss to ``EXAMPLES``, with valid and invalid targets, and it is tested.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isfinite

import numpy as np
import pytest

from skdp.problem.losses import (
    Hazard,
    Hinge,
    Huber,
    HuberisedHinge,
    Logistic,
    Loss,
    MultiTarget,
    OneVsRest,
    Pinball,
    Poisson,
    Sigmoid,
    Softmax,
    Squared,
    SquaredHinge,
    Tukey,
)

RNG_SEED = 20


@dataclass(frozen=True)
class Example:
    loss: Loss
    # Numbers, or vectors of them.
    targets: tuple
    invalid: tuple

    def __str__(self):
        return str(self.loss)


NOT_FINITE = (np.nan, np.inf, -np.inf)
TWO, THREE = (0.0, 1.0), (0.0, 1.0, 2.0)
NO_CLASS = (73.25, 4.0, 0.5, -1.0, *NOT_FINITE)
# Events and last sights within, at ends of and beyond periods.
TIMES = (0.5, 1.0, 1.01, 1.6, 4.0, -0.4, -1.0, -1.3, -2.0, -9.0)
EXAMPLES = [
    Example(Hazard((1.0, 1.1, 2.0), (1.0, 0.05, 0.3)), TIMES, NOT_FINITE),
    Example(Hinge(), TWO, NO_CLASS),
    Example(Huber(), (-1.5, 0.0, 2.0), NOT_FINITE),
    Example(Huber(0.25), (-1.5, 0.0, 2.0), NOT_FINITE),
    Example(HuberisedHinge(), TWO, NO_CLASS),
    Example(HuberisedHinge(0.1), TWO, NO_CLASS),
    Example(Logistic(), TWO, (2.0, *NO_CLASS)),
    Example(MultiTarget(Squared(), 2), ((-1.5, 2.0), (0.0, 0.0)), ((0.0, np.nan), (np.inf, 0.0))),
    Example(MultiTarget(Huber(0.25), 3), ((-1.5, 0.0, 2.0), (1.0, 1.0, 0.0)), ((0, np.nan, 1),)),
    Example(MultiTarget(Tukey(), 2), ((-1.5, 2.0), (0.0, 0.0)), ((-np.inf, 0.0),)),
    Example(OneVsRest(Hinge(), 3), THREE, NO_CLASS),
    Example(OneVsRest(Logistic(), 2), TWO, (2.0, *NO_CLASS)),
    Example(OneVsRest(Sigmoid(), 3), THREE, (3.0, *NO_CLASS)),
    Example(OneVsRest(SquaredHinge(), 3), THREE, NO_CLASS),
    Example(Poisson(), (0.0, 0.3, 1.0), (73.25, 1.5, -0.1, *NOT_FINITE)),
    Example(Pinball(), (-1.5, 0.01, 2.0), NOT_FINITE),
    Example(Pinball((0.1, 0.5, 0.9)), (-1.5, 0.01, 2.0), NOT_FINITE),
    Example(Sigmoid(), TWO, NO_CLASS),
    Example(Softmax(2), TWO, (2.0, *NO_CLASS)),
    Example(Softmax(4), (*THREE, 3.0), NO_CLASS),
    Example(Squared(), (-1.5, 0.0, 2.0), NOT_FINITE),
    Example(SquaredHinge(), TWO, (2.0, *NO_CLASS)),
    Example(Tukey(), (-1.5, 0.0, 2.0), NOT_FINITE),
    Example(Tukey(4.0), (-1.5, 0.0, 2.0), NOT_FINITE),
]
SCALAR = [e for e in EXAMPLES if e.loss.n_scores == 1]
every_loss = pytest.mark.parametrize("example", EXAMPLES, ids=str)


def pairs(example, levels, extra=0):
    """Every target with every score whose entries are levels, and with random scores."""
    k = example.loss.n_scores
    grid = np.array(list(product(levels, repeat=k)))
    rng = np.random.default_rng(RNG_SEED)
    spread = 10 ** rng.uniform(-2, 2, size=(extra, 1))
    grid = np.concatenate([grid, spread * rng.normal(size=(extra, k))])
    y = np.repeat(example.targets, len(grid), axis=0)
    z = np.tile(grid, (len(example.targets), 1))
    return y, z[:, 0] if k == 1 else z


def norms(d):
    return np.abs(d) if d.ndim == 1 else np.linalg.norm(d, axis=1)


def directions(loss):
    """Unit changes of the scores, shaped to be added to z."""
    return [1.0] if loss.n_scores == 1 else list(np.eye(loss.n_scores))


def exact_square(row):
    """Squared norm without rounding."""
    return sum(Fraction(x) ** 2 for x in np.atleast_1d(row).tolist())


def check_lipschitz(example):
    y, z = pairs(example, (-1e4, -40.0, -1.0, 0.0, 1.0, 40.0, 1e4), extra=500)
    largest = norms(example.loss.derivative(y, z)).max()
    if isfinite(example.loss.lipschitz):
        assert largest <= example.loss.lipschitz * (1 + 1e-12)
        assert largest >= 0.99 * example.loss.lipschitz
    else:
        assert largest > 1e3


def check_smoothness(example):
    loss, h = example.loss, 1e-5
    y, z = pairs(example, (-40.0, -1.0, 0.0, 0.01, 1.0, 40.0), extra=500)
    columns = [
        (loss.derivative(y, z + h * e) - loss.derivative(y, z - h * e)) / (2 * h)
        for e in directions(loss)
    ]
    hessians = np.stack(columns, axis=-1).reshape(len(y), loss.n_scores, loss.n_scores)
    np.testing.assert_allclose(hessians, hessians.transpose(0, 2, 1), atol=1e-8)
    largest = np.linalg.norm(hessians, ord=2, axis=(1, 2)).max()
    if isfinite(loss.smoothness):
        assert largest <= loss.smoothness * (1 + 1e-6)
        assert largest >= 0.99 * loss.smoothness
    else:
        # Across a jump of the derivative, the steeper the closer.
        assert largest >= 0.1 / h


def check_convexity(example):
    y, a = pairs(example, (-40.0, -1.0, 0.0, 1.0, 40.0), extra=300)
    b = np.random.default_rng(RNG_SEED).permutation(a)
    va, vb = example.loss.value(y, a), example.loss.value(y, b)
    for t in (0.1, 0.5, 0.8):
        chord = (1 - t) * va + t * vb
        on_chord = example.loss.value(y, (1 - t) * a + t * b)
        assert np.all(on_chord <= chord + 1e-12 * (1 + np.abs(chord)))


def check_derivative(example):
    loss = example.loss
    y, z = pairs(example, (-300.0, -3.0, 0.0, 0.7, 20.0), extra=200)
    d = loss.derivative(y, z)
    for j, e in enumerate(directions(loss)):
        h = 1e-5
        slope = (loss.value(y, z + h * e) - loss.value(y, z - h * e)) / (2 * h)
        np.testing.assert_allclose(d if d.ndim == 1 else d[:, j], slope, rtol=1e-5, atol=1e-5)


def check_pointwise(example):
    """Other rows, more rows and fewer rows leave the derivative of a row as it is, to the bit."""
    loss, rng = example.loss, np.random.default_rng(RNG_SEED)
    y, z = pairs(example, (-40.0, -1.0, 0.0, 0.3), extra=50)
    d = loss.derivative(y, z.copy())
    order = rng.permutation(len(y))
    np.testing.assert_array_equal(loss.derivative(y[order], z[order]), d[order])
    for i in range(0, len(y), 7):
        others_y, others_z = y[order], 1e3 * z[order]
        others_y[i], others_z[i] = y[i], z[i]
        np.testing.assert_array_equal(loss.derivative(others_y, others_z)[i], d[i])
        np.testing.assert_array_equal(loss.derivative(y[i : i + 1], z[i : i + 1])[0], d[i])


def check_declared(example):
    """What solvers and estimators rely on holds."""
    loss = example.loss
    y, z = pairs(example, (-3.0, -0.5, 0.0, 0.2, 4.0), extra=20)
    d = loss.derivative(y, z)
    assert loss.family in ("logistic", "counts", "hinge", "squared_hinge", "residuals")
    if loss.of_residuals or loss.squared:
        np.testing.assert_allclose(loss.derivative(y + 1.5, z + 1.5), d, atol=1e-12)
    if loss.squared:
        np.testing.assert_array_equal(d, z - y)
    if loss.log_odds:
        # With targets as frequent as the scores say, gradients cancel out.
        k = max(2, loss.n_scores)
        scores = np.array([-0.7, 1.3]) if loss.n_scores == 1 else np.linspace(-1.0, 1.0, k)[None]
        odds = np.stack([0 * scores, scores], axis=1) if loss.n_scores == 1 else scores
        shares = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        gradients = [loss.derivative(np.full(len(odds), float(c)), scores) for c in range(k)]
        mean = sum((shares[:, c] * g.T).T for c, g in enumerate(gradients))
        np.testing.assert_allclose(mean, 0.0, atol=1e-12)


@every_loss
def test_declarations_hold(example):
    check_declared(example)


@every_loss
def test_derivative_is_that_of_the_value(example):
    check_derivative(example)


@every_loss
def test_lipschitz_is_the_supremum_of_the_derivative(example):
    check_lipschitz(example)


def derivatives_of_all_targets(example, scores):
    """Norms (targets, m) of the derivative at scores for each target in turn."""
    k = example.loss.n_scores
    everywhere = (np.array([np.asarray(t, float)] * len(scores)) for t in example.targets)
    all_of = (example.loss.derivative(y, scores) for y in everywhere)
    return np.array([np.linalg.norm(d.reshape(len(scores), k), axis=1) for d in all_of])


def check_worst_derivative(example):
    """It bounds the derivative of every target, and is attained where targets are classes."""
    loss = example.loss
    _, z = pairs(example, (-40.0, -1.0, 0.0, 0.3, 2.0), extra=100)
    norms = derivatives_of_all_targets(example, z).max(axis=0)
    worst = loss.worst_derivative(z)
    assert worst.shape == (len(z),)
    assert np.all(worst >= norms * (1 - 1e-12))
    if not (loss.of_residuals or isinstance(loss, Hinge)):
        np.testing.assert_allclose(worst, norms, rtol=1e-12)


@every_loss
def test_worst_derivative_is_that_of_the_worst_target(example):
    check_worst_derivative(example)


@every_loss
def test_label_blind_bounds_weigh_all_targets_of_a_score_alike(example):
    loss = example.loss
    _, z = pairs(example, (-40.0, -1.0, 0.0, 0.3, 2.0), extra=100)
    bound = 10 ** np.random.default_rng(RNG_SEED).uniform(-2, 1, len(z))
    weights = np.minimum(1, bound / loss.worst_derivative(z))
    for target in example.targets:
        y = np.array([np.asarray(target, float)] * len(z))
        bounded = loss.label_blind_derivative(y, z, bound)
        expected = (loss.derivative(y, z).T * weights).T
        np.testing.assert_allclose(bounded, expected, rtol=1e-9, atol=1e-300)
        norms = np.linalg.norm(bounded.reshape(len(z), -1), axis=1)
        assert np.all(norms <= bound)


@every_loss
def test_a_label_blind_bound_holds_whatever_a_loss_says_of_its_worst(example, monkeypatch):
    kind = type(example.loss)
    for lie in (0.0, 1e-3, np.nan, np.inf):
        monkeypatch.setattr(kind, "worst_derivative", lambda _, z, lie=lie: np.full(len(z), lie))
        monkeypatch.setattr(kind, "_derivative_and_worst", Loss._derivative_and_worst)
        y, z = pairs(example, (-1e9, -1.0, 0.0, 2.0, 1e9))
        bounded = example.loss.label_blind_derivative(y, z, 0.01)
        assert np.all(np.linalg.norm(bounded.reshape(len(z), -1), axis=1) <= 0.01)


@every_loss
def test_smoothness_is_the_supremum_of_the_curvature(example):
    check_smoothness(example)


@every_loss
def test_declared_convexity_holds(example):
    if example.loss.convex:
        check_convexity(example)
    else:
        with pytest.raises(AssertionError):
            check_convexity(example)


@every_loss
def test_value_has_one_entry_a_row_and_derivative_the_shape_of_the_scores(example):
    y, z = pairs(example, (-1.0, 2.0))
    assert example.loss.value(y, z).shape == (len(y),)
    assert example.loss.derivative(y, z).shape == z.shape


@every_loss
def test_no_row_is_also_a_number_of_rows(example):
    y, z = pairs(example, (-1.0, 2.0))
    assert example.loss.value(y[:0], z[:0]).shape == (0,)
    assert example.loss.clipped_derivative(y[:0], z[:0], 0.1).shape == z[:0].shape


@every_loss
def test_results_are_fresh_arrays_and_arguments_stay(example):
    y, z = pairs(example, (-1.0, 0.0, 2.0))
    kept_y, kept_z = y.copy(), z.copy()
    for method in (
        example.loss.derivative,
        lambda y, z: example.loss.clipped_derivative(y, z, np.inf),
        lambda y, z: example.loss.clipped_derivative(y, z, np.full(len(y), 0.1)),
    ):
        first = method(y, z)
        kept = first.copy()
        first *= 0.0
        np.testing.assert_array_equal(method(y, z), kept)
        np.testing.assert_array_equal(y, kept_y)
        np.testing.assert_array_equal(z, kept_z)


@every_loss
def test_storage_order_and_type_of_targets_change_nothing(example):
    y, z = pairs(example, (-1.0, 0.0, 2.0))
    expected = example.loss.derivative(y, z)
    np.testing.assert_array_equal(example.loss.derivative(y, np.asfortranarray(z)), expected)
    whole = (y == np.floor(y)).reshape(len(y), -1).all(axis=1)
    ints = y[whole].astype(np.int64)
    np.testing.assert_array_equal(example.loss.derivative(ints, z[whole]), expected[whole])


@every_loss
def test_extreme_scores_give_finite_derivatives_without_warnings(example):
    y, z = pairs(example, (-1e308, -1e300, -800.0, 0.0, 800.0, 1e300, 1e308))
    assert np.isfinite(example.loss.derivative(y, z)).all()
    assert not np.isnan(example.loss.value(y, z)).any()


@pytest.mark.parametrize("bound", [0.0, 1e-9, 0.1, 1.0, 3.0])
@every_loss
def test_clip_keeps_every_row_within_the_bound_without_any_tolerance(example, bound):
    y, z = pairs(example, (-1e308, 0.0, 1.0, 1e308), extra=100)
    clipped = example.loss.clipped_derivative(y, z, bound)
    square = Fraction(bound) ** 2
    assert all(exact_square(row) <= square for row in clipped)


@every_loss
def test_clip_keeps_rows_within_their_own_bounds(example):
    y, z = pairs(example, (-800.0, 0.0, 1.0), extra=100)
    bounds = np.random.default_rng(RNG_SEED).uniform(0, 1.5, size=len(y))
    bounds[::7] = np.inf
    clipped = example.loss.clipped_derivative(y, z, bounds)
    for row, bound in zip(clipped, bounds.tolist(), strict=True):
        assert bound == np.inf or exact_square(row) <= Fraction(bound) ** 2
    one_by_one = [
        example.loss.clipped_derivative(y[[i]], z[[i]], b)[0] for i, b in enumerate(bounds.tolist())
    ]
    np.testing.assert_allclose(clipped, one_by_one, rtol=1e-14, atol=1e-15)


@every_loss
def test_clip_shrinks_to_the_bound_and_keeps_the_direction(example):
    y, z = pairs(example, (-30.0, -1.0, 0.0, 1.0, 30.0), extra=200)
    d, bound = example.loss.derivative(y, z), 0.2
    clipped = example.loss.clipped_derivative(y, z, bound)
    # Where derivatives are weighed, only those that are longer than usual are clipped besides.
    weighed = isfinite(example.loss.weighed_from)
    d *= min(1.0, bound / example.loss.weighed_from) if weighed else 1.0
    size = norms(d)
    long = size > bound * (1 + 1e-12)
    assert long.any() or weighed
    np.testing.assert_allclose(norms(clipped)[long], bound, rtol=1e-14)
    unit = (d.T / np.where(size > 0, size, 1)).T
    expected = (unit.T * np.minimum(size, bound)).T
    np.testing.assert_allclose(clipped, expected, rtol=1e-13, atol=1e-15)


@every_loss
def test_clip_leaves_short_rows_as_they_are(example):
    y, z = pairs(example, (-30.0, -1.0, 0.0, 1.0, 30.0), extra=200)
    d = example.loss.derivative(y, z)
    np.testing.assert_array_equal(example.loss.clipped_derivative(y, z, np.inf), d)
    above = norms(d).max() * (1 + 1e-12)
    np.testing.assert_array_equal(example.loss.clipped_derivative(y, z, above), d)
    weighed_from = example.loss.weighed_from
    least = weighed_from if isfinite(weighed_from) else 0.5
    bounds = np.where(norms(d) <= least, least * (1 + 1e-12), 0.0)
    short = bounds > 0
    assert short.any()
    clipped = example.loss.clipped_derivative(y, z, bounds)
    np.testing.assert_array_equal(clipped[short], d[short])
    assert not clipped[~short].any()


@every_loss
def test_clip_holds_for_scores_that_are_not_finite(example):
    y, z = pairs(example, (np.nan, np.inf, -np.inf, 0.0))
    assert (norms(example.loss.clipped_derivative(y, z, 0.5)) <= 0.5).all()


@pytest.mark.parametrize("bound", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("example", [e for e in SCALAR if e.loss.convex], ids=str)
def test_clipped_convex_loss_with_one_score_is_convex_and_no_less_smooth(example, bound):
    z = np.linspace(-10, 10, 4001)
    for target in example.targets:
        slope = example.loss.clipped_derivative(np.full(len(z), target), z, bound)
        steps = np.diff(slope)
        assert steps.min() >= 0
        assert steps.max() <= example.loss.smoothness * np.diff(z).max() * (1 + 1e-9)


@every_loss
def test_derivative_of_a_row_depends_on_that_row_alone(example):
    check_pointwise(example)


@every_loss
def test_valid_targets_are_accepted(example):
    y = np.array(example.targets)
    example.loss.check_targets(y)
    example.loss.check_targets(y.astype(np.int64) if (y == np.floor(y)).all() else y)


@every_loss
def test_invalid_targets_are_refused_without_quoting_them(example):
    for bad in example.invalid:
        with pytest.raises(ValueError, match=type(example.loss).__name__) as caught:
            example.loss.check_targets(np.array([*example.targets, bad]))
        assert str(bad) not in str(caught.value)
        assert caught.value.__cause__ is None


@every_loss
def test_other_targets_stop_no_kernel(example):
    """An error of an index would quote the target of a row."""
    y, z = pairs(example, (0.0, 1.0))
    for bad in (1e300, -1e300, np.inf, np.nan):
        y.flat[0] = bad
        for function in (example.loss.value, example.loss.derivative):
            with np.errstate(all="ignore"):
                assert len(function(y.astype(float), z)) == len(y)


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (np.zeros((3, 1)), "2 dimensions"),
        (np.array(["spam", "eggs"]), "numeric"),
        (np.array([0, "spam"], dtype=object), "numeric"),
        (np.array([0j]), "numeric"),
    ],
)
@every_loss
def test_other_arrays_are_refused_as_targets(example, y, what):
    if example.loss.vector_targets and y.ndim == 1:
        y = np.repeat(y[:, None], example.loss.n_scores, axis=1)
    with pytest.raises(ValueError, match=what) as caught:
        example.loss.check_targets(y)
    assert "spam" not in str(caught.value)
