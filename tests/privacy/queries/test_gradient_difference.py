"""The difference of two gradients: its value, and bounds that hold whatever a loss declares."""

from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
import pytest
from by_night import by_night
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy import Adjacency
from skdp.privacy.queries import GradientDifferenceQuery, GradientQuery, around_both
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Huber, Logistic, Softmax, Squared
from skdp.testing import check_sensitivity, row_stores

N, D = 12, 3
LOSSES = [Logistic(), Softmax(3), Squared(), Huber(0.25)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)


def problem_for(loss, row_map=None, **fields):
    target = TargetBounds(-1.0, 1.0) if isinstance(loss, Squared | Huber) else None
    return Problem(loss, N, D, RowBounds(2.0, 0.5, target, row_map), **fields)


def difference(problem, w, w0, clip=None):
    return GradientDifferenceQuery(GradientQuery(problem, w, clip), w0)


def parts(problem, seed=0, size=1.0):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(2):
        y = rng.integers(0, max(2, problem.loss.n_scores), N).astype(float)
        out += [size * rng.normal(size=(N, D)), y]
    return out


def points(problem, seed=0, length=1.0):
    w0, delta = np.random.default_rng(seed).normal(size=(2, *problem.shape))
    return w0 + length * delta, w0


@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("weights", [False, True])
@every_loss
def test_it_is_the_difference_of_two_gradients(loss, weights, clip):
    if isinstance(loss, Squared) and clip is None:
        clip = 1e6
    if isinstance(loss, Softmax) and clip:
        pytest.skip("several scores and a clip are the subject of the next test")
    k = max(2, loss.n_scores)
    weighted = weights and not isinstance(loss, Squared | Huber)
    problem = problem_for(loss, class_weight=tuple(range(1, k + 1)) if weighted else None)
    for seed, length in enumerate((1e-3, 1.0, 100.0)):
        w, w0 = points(problem, seed, length)
        query = difference(problem, w, w0, clip)
        X, y, *_ = parts(problem, seed)
        for layout, rows in row_stores(X, y).items():
            two = GradientQuery(problem, w, clip).evaluate(rows)
            two -= GradientQuery(problem, w0, clip).evaluate(rows)
            np.testing.assert_allclose(query.evaluate(rows), two, atol=1e-11, err_msg=layout)


@pytest.mark.parametrize("clip", [None, 0.3])
def test_of_weighted_rows_it_is_that_too_over_what_they_weigh(clip):
    problem = replace(problem_for(Logistic()), n_samples=5, actual_rows=N)
    (X, y, *_), (w, w0) = parts(problem), points(problem)
    rows = DenseRows(X, y, np.random.default_rng(2).uniform(size=N))
    two = GradientQuery(problem, w, clip).evaluate(rows)
    two -= GradientQuery(problem, w0, clip).evaluate(rows)
    np.testing.assert_allclose(difference(problem, w, w0, clip).evaluate(rows), two, atol=1e-12)


@pytest.mark.parametrize(("clip", "leaves"), [(0.2, False), (1.0, True)])
def test_bounds_that_labels_do_not_enter_stay_in_their_ball_where_the_clip_is_small(clip, leaves):
    """Up to a quarter of the derivative they bend no more than the logistic loss does."""
    problem = problem_for(Logistic())
    w, w0 = points(problem, length=1e-3)
    gradient = GradientQuery(problem, w, clip, label_blind=True)
    query = GradientDifferenceQuery(gradient, w0)
    assert query.public()[-1] != difference(problem, w, w0, clip).public()[-1]
    X, y, *_ = parts(problem, size=100.0)
    for rows in row_stores(X, y).values():
        two = gradient.evaluate(rows) - replace(gradient, w=w0).evaluate(rows)
        apart = np.abs(query.evaluate(rows) - two).max()
        assert (apart > 1e-6) if leaves else (apart < 1e-11)


def test_several_scores_that_are_clipped_hardly_leave_their_ball():
    """At a clip of 0.3 of the norm of a row projecting changes less than 2 % of the distance."""
    problem = problem_for(Softmax(3))
    clip, changed = 0.3 * problem.row_norm, 0.0
    for seed in range(30):
        w, w0 = points(problem, seed, 10.0 ** (seed % 4 - 2))
        X, y, *_ = parts(problem, seed, size=3.0)
        rows = row_stores(X, y)["dense"]
        two = GradientQuery(problem, w, clip).evaluate(rows)
        two -= GradientQuery(problem, w0, clip).evaluate(rows)
        query = difference(problem, w, w0, clip)
        off = np.linalg.norm(query.evaluate(rows) - two)
        changed = max(changed, off)
        assert off <= 0.02 * problem.smoothness * np.linalg.norm(w - w0)
    assert changed > 0


def test_sensitivity_of_short_steps_is_smoothness_times_distance():
    problem = problem_for(Logistic())
    w, w0 = points(problem, length=1e-2)
    bound = problem.smoothness * np.linalg.norm(w - w0) / N
    query = difference(problem, w, w0)
    assert query.sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(bound)
    assert query.sensitivity(Adjacency.ZERO_OUT) == pytest.approx(bound / 2)


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Huber()], ids=str)
@settings(max_examples=30)
@given(length=st.floats(1e-8, 1e8), clip=st.floats(1e-6, 10.0))
def test_never_more_than_two_gradients(loss, length, clip):
    problem = problem_for(loss)
    w, w0 = points(problem, length=length)
    gradient = GradientQuery(problem, w, clip).sensitivity(Adjacency.REPLACE_ONE)
    assert difference(problem, w, w0, clip).sensitivity(Adjacency.REPLACE_ONE) <= 2 * gradient


def test_a_loss_without_a_lipschitz_constant_has_a_price_without_a_clip():
    problem = problem_for(Squared())
    w, w0 = points(problem)
    query = difference(problem, w, w0)
    bound = problem.smoothness * np.linalg.norm(w - w0) / N
    assert query.sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(bound)
    check_sensitivity(query, *parts(problem, size=1e3), Adjacency.REPLACE_ONE)


@dataclass(frozen=True)
class Sudden(Huber):
    """A loss that is not smooth, and says so or does not."""

    declared: float = inf

    @property
    def smoothness(self):
        return self.declared

    def derivative(self, y, z):
        return np.sign(z - y)


@dataclass(frozen=True)
class Flattered(Logistic):
    """Claims to be much smoother than it is."""

    smoothness = 1e-3


@dataclass(frozen=True)
class Wavy(Huber):
    """Claims to be convex and is not."""

    def derivative(self, y, z):
        return np.sin(z - y)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(
    "loss", [Sudden(), Sudden(declared=1.0), Flattered(), Wavy()], ids=lambda x: type(x).__name__
)
@pytest.mark.by_day(1)
def test_the_bound_holds_whatever_the_loss_declares(loss, adjacency):
    problem = problem_for(loss)
    for seed in range(4):
        w, w0 = points(problem, seed, 10.0 ** (seed - 2))
        check_sensitivity(difference(problem, w, w0, 0.3), *parts(problem, seed), adjacency)


def test_without_smoothness_the_clip_is_the_bound():
    problem = problem_for(Sudden(delta=1.0))
    assert difference(problem, *points(problem), 0.3).radius == pytest.approx(0.6)


@pytest.mark.parametrize("length", [1e7, 1e19, 1e138, *by_night(1e13, 1e100)])
@pytest.mark.parametrize("adjacency", Adjacency)
@every_loss
@pytest.mark.by_day(1)
def test_steps_so_long_that_derivatives_are_lost_in_scores_keep_the_bound(loss, adjacency, length):
    problem = problem_for(loss)
    for seed in range(3):
        query = difference(problem, *points(problem, seed, length), 1e-3)
        assert query.radius == pytest.approx(2e-3)
        check_sensitivity(query, *parts(problem, seed), adjacency)


def test_later_changes_of_the_arrays_do_not_change_the_query():
    problem = problem_for(Logistic())
    w, w0 = points(problem)
    query = difference(problem, w, w0)
    before = query.radius
    w += 1.0
    w0 -= 1.0
    assert difference(problem, query.gradient.w, query.w0).radius == before
    assert not np.array_equal(query.w0, w0)


@settings(max_examples=50)
@given(
    centre=st.floats(0, 2),
    radius=st.floats(0.01, 2),
    reach=st.floats(0.01, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_smallest_ball_holds_what_both_balls_hold(centre, radius, reach, seed):
    if centre > radius:
        centre = radius
    middle, least = around_both(centre, radius, reach)
    assert least <= min(radius, reach) * (1 + 1e-12)
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 4000)
    size = radius * np.sqrt(rng.uniform(0, 1, 4000))
    x, y = centre + size * np.cos(angle), size * np.sin(angle)
    inside = np.hypot(x, y) <= reach
    assert np.all(np.hypot(x[inside] - middle, y[inside]) <= least * (1 + 1e-9))


@settings(max_examples=300)
@given(size=st.floats(1e3, 1e30), reach=st.floats(0.01, 5))
@pytest.mark.nightly
def test_the_smallest_ball_within_a_short_reach_keeps_all_digits(size, reach):
    middle, least = around_both(size, size, reach)
    assert middle == pytest.approx(reach**2 / (2 * size), rel=1e-12)
    assert least == pytest.approx(reach * sqrt(1 - (reach / (2 * size)) ** 2), rel=1e-12)
