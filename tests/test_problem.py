"""Constants of a whole problem follow from its parts, and the intercept stays out of penalties."""

from dataclasses import FrozenInstanceError, replace
from math import hypot, inf, sqrt

import numpy as np
import pytest

from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.constraints import Box, L2Ball, Simplex
from skdp.problem.losses import Huber, Logistic, Softmax, Squared
from skdp.problem.penalties import L1, L2


def make(loss=None, n_features=3, intercept_value=2.0, **options):
    bounds = RowBounds(1.5, intercept_value)
    return Problem(loss or Logistic(), 10, n_features, bounds, **options)


@pytest.mark.parametrize(
    ("loss", "intercept_value", "shape"),
    [
        (Logistic(), 0.0, (3,)),
        (Logistic(), 2.0, (4,)),
        (Softmax(5), 0.0, (3, 5)),
        (Softmax(5), 2.0, (4, 5)),
    ],
)
def test_weights_have_a_row_a_feature_one_for_the_intercept_and_a_column_a_score(
    loss, intercept_value, shape
):
    problem = make(loss, intercept_value=intercept_value)
    assert problem.shape == shape
    assert problem.n_rows == shape[0]
    assert problem.n_parameters == np.prod(shape)
    assert problem.start().shape == shape


def largest_gradient(problem, spread):
    """Norm of the gradient of extreme rows: full norm, largest weight, scores of all sizes."""
    loss, row = problem.loss, np.append([1.5, 0.0, 0.0], 2.0)
    z = np.linspace(-spread, spread, 201)
    y = np.zeros(201)
    if loss.n_scores > 1:
        z, y = np.stack([-z, z, *[-z] * (loss.n_scores - 2)], axis=1), y.astype(int)
    slopes = loss.derivative(y, z).reshape(201, -1)
    return problem.max_weight * np.linalg.norm(slopes, axis=1).max() * np.linalg.norm(row)


@pytest.mark.parametrize("class_weight", [None, (0.5, 3.0, 2.0), (4.0, 1.0, 0.0)])
@pytest.mark.parametrize("loss", [Logistic(), Huber(0.5), Softmax(3)], ids=str)
def test_lipschitz_is_the_norm_of_the_largest_gradient_of_a_row(loss, class_weight):
    weights = class_weight and class_weight[: max(2, loss.n_scores)]
    problem = make(loss, class_weight=weights)
    largest = largest_gradient(problem, 50.0)
    assert 0.99 * problem.lipschitz <= largest <= problem.lipschitz * (1 + 1e-12)


def test_constants_scale_with_rows_and_weights():
    problem = make(class_weight=(0.5, 3.0))
    assert problem.row_norm == hypot(1.5, 2.0)
    assert problem.max_weight == 3.0
    assert problem.lipschitz == pytest.approx(3.0 * 2.5)
    assert problem.smoothness == pytest.approx(3.0 * 0.25 * 2.5**2)
    assert make().max_weight == 1.0
    assert make(intercept_value=0.0).row_norm == 1.5


def test_unbounded_derivative_makes_an_infinite_constant():
    problem = make(Squared())
    assert problem.lipschitz == inf
    assert problem.smoothness == pytest.approx(2.5**2)


def test_strong_convexity_is_that_of_the_penalty():
    assert make(penalty=L2(0.3)).strong_convexity == 0.3
    assert make(penalty=L1(0.3)).strong_convexity == 0.0
    assert make().strong_convexity == 0.0


def test_diameter_is_that_of_the_constrained_entries():
    assert make().diameter == inf
    assert make(constraint=L2Ball(2.0)).diameter == 4.0
    assert make(constraint=Box(0.0, 1.0)).diameter == pytest.approx(sqrt(3))
    assert make(Softmax(5), constraint=Box(0.0, 1.0)).diameter == pytest.approx(sqrt(15))


@pytest.mark.parametrize("loss", [Logistic(), Softmax(4)], ids=str)
@pytest.mark.parametrize("constraint", [Box(0.5, 1.0), L2Ball(1.0), Simplex(2.0)], ids=str)
def test_start_is_feasible_and_its_intercept_zero(loss, constraint):
    problem = make(loss, constraint=constraint)
    w = problem.start()
    assert constraint.contains(w[:3])
    assert not np.any(w[3])
    np.testing.assert_array_equal(problem.project(w), w)


@pytest.mark.parametrize("intercept_value", [0.0, 2.0])
@pytest.mark.parametrize("loss", [Logistic(), Softmax(4)], ids=str)
def test_prox_and_projection_are_those_of_the_parts_and_leave_the_intercept(loss, intercept_value):
    penalty, constraint = L1(0.5), L2Ball(0.7)
    problem = make(loss, intercept_value=intercept_value, penalty=penalty, constraint=constraint)
    w = np.random.default_rng(0).normal(size=problem.shape)
    kept = w.copy()
    near, feasible = problem.prox(w, 0.4), problem.project(w)
    np.testing.assert_array_equal(near[:3], penalty.prox(w[:3], 0.4))
    np.testing.assert_array_equal(feasible[:3], constraint.project(w[:3]))
    np.testing.assert_array_equal(near[3:], w[3:])
    np.testing.assert_array_equal(feasible[3:], w[3:])
    np.testing.assert_array_equal(w, kept)
    near[:] = feasible[:] = 0.0
    np.testing.assert_array_equal(w, kept)


def test_problem_is_immutable_and_compares_by_value():
    assert make() == make()
    assert make() != make(penalty=L2(1.0))
    with pytest.raises(FrozenInstanceError):
        make().n_samples = 5


@pytest.mark.parametrize("name", ["n_samples", "n_features"])
@pytest.mark.parametrize("number", [0, -1, 2.0, np.nan, "3", None])
def test_a_problem_without_rows_or_features_is_refused(name, number):
    with pytest.raises(ValueError, match=f"Problem needs a whole number of at least 1 as {name}"):
        replace(make(), **{name: number})


@pytest.mark.parametrize(
    "weights",
    [
        (-1000.0, 1.0),
        (0.0, 0.0),
        (-0.5, -0.5),
        (np.nan, 1.0),
        (1.0, np.nan),
        (1.0, np.inf),
        (1.0, 1e51),
        (0.0, 1e-51),
    ],
)
def test_class_weights_that_are_no_weights_are_refused(weights):
    with pytest.raises(ValueError, match="Problem needs finite non-negative class weights"):
        make(class_weight=weights)


@pytest.mark.parametrize(
    ("loss", "n_classes"), [(Logistic(), 2), (Huber(), 2), (Softmax(2), 2), (Softmax(3), 3)]
)
def test_each_class_needs_a_weight(loss, n_classes):
    for given in {0, 1, 2, 3, 4} - {n_classes}:
        with pytest.raises(ValueError, match=f"Problem needs {n_classes} class weights"):
            make(loss, class_weight=(1.0,) * given)


def test_class_weights_are_kept_as_numbers_that_nobody_can_change():
    given = [1, 3]
    problem = make(class_weight=given)
    given[0] = 100
    assert problem == make(class_weight=(1.0, 3.0))
    assert {type(c) for c in problem.class_weight} == {float}
    assert make(class_weight=(1e50, 0.0)).max_weight == 1e50


def test_target_bounds_map_their_ends_to_one():
    bounds = TargetBounds(2.0, 10.0)
    assert (bounds.centre, bounds.half_width) == (6.0, 4.0)
    through_zero = TargetBounds(2.0, 10.0, centred=False)
    assert (through_zero.centre, through_zero.half_width) == (0.0, 10.0)
    huge = TargetBounds(-1e308, 1e308)
    assert (huge.centre, huge.half_width) == (0.0, 1e308)


def test_a_given_initial_point_is_where_solvers_start_once_it_is_feasible():
    shared = {"loss": Logistic(), "n_samples": 9, "n_features": 2, "bounds": RowBounds(1.0, 1.0)}
    given = np.array([3.0, 4.0, 7.0])
    np.testing.assert_array_equal(Problem(**shared, initial=given).start(), given)
    inside = Problem(**shared, initial=given, constraint=L2Ball(1.0)).start()
    np.testing.assert_allclose(inside, [0.6, 0.8, 7.0])
    with pytest.raises(ValueError, match=r"initial point of shape \(3,\), got \(2,\)"):
        Problem(**shared, initial=given[:2])


@pytest.mark.parametrize("norm", [0.0, -1.0, float("nan")])
def test_rows_are_brought_to_no_norm_that_is_not_positive(norm):
    """Lengths of vectors with such an entry are positive, and rows would not be within them."""
    with pytest.raises(ValueError, match="RowBounds needs a positive data_norm"):
        RowBounds(norm)
