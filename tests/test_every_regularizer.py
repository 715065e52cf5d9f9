"""What every regularizer has to keep: its proximal map, its strong convexity, its scaling.

Add a penalty to ``EXAMPLES`` and it is tested. ``Tikhonov`` takes weights of one size only and has
tests of its own.
"""

import importlib
import inspect
import pkgutil
from dataclasses import fields

import numpy as np
import pytest

from skdp.problem import penalties as regularizers
from skdp.problem.penalties import L1, L2, ElasticNet, NoRegularizer, Regularizer, Tikhonov

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
    NoRegularizer(),
]
every_regularizer = pytest.mark.parametrize("regularizer", EXAMPLES, ids=str)
every_penalty = pytest.mark.parametrize(
    "regularizer", [r for r in EXAMPLES if r.value(np.ones(1)) > 0], ids=str
)


def points(count=60, shape=(4,)):
    rng = np.random.default_rng(RNG_SEED)
    spread = 10 ** rng.uniform(-2, 1.5, size=count)
    return [np.zeros(shape), *(s * rng.normal(size=shape) for s in spread)]


def check_prox(regularizer):
    """The objective grows from its minimiser at least like its strong convexity says.

    ``||v - w||^2 / 2 + step * value(v)`` is (1 + step * m)-strongly convex, so v* minimises it if
    and only if it exceeds its value at v* by ``(1 + step m) / 2 ||v - v*||^2`` at every v.
    """
    rng = np.random.default_rng(RNG_SEED)
    for w in points():
        for step in (0.1, 1.0, 3.0):

            def objective(v, w=w, step=step):
                return 0.5 * np.sum((v - w) ** 2) + step * regularizer.value(v)

            best = regularizer.prox(w, step)
            curvature = 1 + step * regularizer.strong_convexity
            near = [best + 10.0**-k * rng.normal(size=w.shape) for k in range(5)]
            for v in (w, 0 * w, *near):
                growth = 0.5 * curvature * np.sum((v - best) ** 2)
                slack = 1e-13 * (1 + objective(v))
                assert objective(v) >= objective(best) + growth - slack


def check_strong_convexity(regularizer):
    """The declared constant holds on every segment and is not exceeded on all of them."""
    m = regularizer.strong_convexity
    spare = []
    for a, b in zip(points(), points()[::-1], strict=True):
        for one, other in ((a, b), (np.abs(a), np.abs(b))):
            square = np.sum((one - other) ** 2)
            for t in (0.2, 0.5):
                chord = (1 - t) * regularizer.value(one) + t * regularizer.value(other)
                bend = chord - regularizer.value((1 - t) * one + t * other)
                assert bend >= 0.5 * m * t * (1 - t) * square - 1e-12 * (1 + chord)
                if square > 1:
                    spare.append(bend / (0.5 * t * (1 - t) * square) - m)
    assert min(spare) <= 1e-9


def altered(regularizer, **attributes):
    """The same penalty, lying about itself."""
    other = object.__new__(type("Altered", (type(regularizer),), attributes))
    other.__dict__.update(vars(regularizer))
    return other


def test_examples_cover_every_exported_regularizer():
    exported = {getattr(regularizers, name) for name in regularizers.__all__} - {Regularizer}
    assert {type(r) for r in EXAMPLES} | {Tikhonov} == exported


def test_exported_list_equals_the_folder():
    found = set()
    for info in pkgutil.iter_modules(regularizers.__path__):
        module = importlib.import_module(f"{regularizers.__name__}.{info.name}")
        found |= {
            name
            for name, thing in inspect.getmembers(module, inspect.isclass)
            if issubclass(thing, Regularizer) and thing.__module__ == module.__name__
        }
    assert sorted(regularizers.__all__) == sorted(found)


@every_regularizer
def test_prox_minimises_its_objective(regularizer):
    check_prox(regularizer)


@every_regularizer
def test_strong_convexity_is_the_largest_that_holds(regularizer):
    check_strong_convexity(regularizer)


@every_penalty
def test_wrong_prox_is_caught(regularizer):
    right = type(regularizer).prox
    for wrong in (
        lambda self, w, step: right(self, w, 1.1 * step),
        lambda self, w, step: right(self, w, 0.9 * step),
        lambda self, w, step: w.copy(),
    ):
        with pytest.raises(AssertionError):
            check_prox(altered(regularizer, prox=wrong))


@pytest.mark.parametrize("error", [-0.01, 0.01])
@every_regularizer
def test_wrong_strong_convexity_is_caught(regularizer, error):
    declared = regularizer.strong_convexity
    with pytest.raises(AssertionError):
        check_strong_convexity(altered(regularizer, strong_convexity=declared + error))


@every_regularizer
def test_prox_without_a_step_is_the_identity(regularizer):
    for w in points():
        np.testing.assert_array_equal(regularizer.prox(w, 0.0), w)


@every_regularizer
def test_value_is_zero_at_zero_and_nowhere_negative(regularizer):
    assert regularizer.value(np.zeros((3, 2))) == 0
    assert all(regularizer.value(w) >= 0 for w in points())


@every_regularizer
def test_matrix_is_treated_as_the_vector_of_its_entries(regularizer):
    for w in points(20, (12,)):
        for matrix in (w.reshape(4, 3), np.asfortranarray(w.reshape(4, 3))):
            np.testing.assert_allclose(regularizer.value(matrix), regularizer.value(w), rtol=1e-14)
            np.testing.assert_array_equal(
                regularizer.prox(matrix, 0.5).ravel(), regularizer.prox(w, 0.5)
            )


@every_regularizer
def test_prox_is_a_fresh_array_and_its_argument_stays(regularizer):
    for step in (0.0, 0.5):
        w = np.array([1.0, -0.01, 3.0])
        result = regularizer.prox(w, step)
        assert not np.shares_memory(result, w)
        result += 1
        np.testing.assert_array_equal(w, [1.0, -0.01, 3.0])


@pytest.mark.parametrize("factor", [0.0, 0.5, 3.0])
@every_regularizer
def test_scaled_multiplies_the_penalty(regularizer, factor):
    scaled = regularizer.scaled(factor)
    assert type(scaled) is type(regularizer)
    assert scaled.strong_convexity == pytest.approx(factor * regularizer.strong_convexity)
    for w in points():
        np.testing.assert_allclose(scaled.value(w), factor * regularizer.value(w), rtol=1e-13)
        np.testing.assert_allclose(
            scaled.prox(w, 0.7), regularizer.prox(w, 0.7 * factor), rtol=1e-12, atol=1e-14
        )


@every_penalty
def test_negative_factor_is_refused(regularizer):
    with pytest.raises(ValueError, match="needs an alpha"):
        regularizer.scaled(-1.0)


@every_regularizer
def test_regularizers_are_values(regularizer):
    twin = type(regularizer)(*(getattr(regularizer, f.name) for f in fields(regularizer)))
    assert twin == regularizer
    assert hash(twin) == hash(regularizer)
