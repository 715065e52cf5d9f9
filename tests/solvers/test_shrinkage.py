"""Noise that is left in the mean of the last iterates, and what is taken back for it."""

from dataclasses import replace

import numpy as np
import pytest

from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Logistic, MultiTarget, Softmax, Squared
from skdp.solvers import Course, at_honest_scale, direction_of_constant, towards_start

CURVATURES = np.array([0.0, 0.3, 1.0])


def by_definition(course, curvature):
    """Descent on a quadratic from its minimum, with a unit of noise in one gradient at a time."""
    n, total = len(course.steps), 0.0
    kept = max(1, int(np.ceil(course.average * n)))
    for noisy in range(n):
        w = pace = 0.0
        iterates = []
        for k in range(n):
            pace = course.momentum * pace - course.steps[k] * (curvature * w + (k == noisy))
            w += pace
            iterates.append(w)
        total += (course.scales[noisy] * np.mean(iterates[-kept:])) ** 2
    return total


@pytest.mark.parametrize("average", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("momentum", [0.0, 0.6])
def test_variance_is_that_of_descent_with_noise_in_one_gradient_at_a_time(momentum, average):
    rng = np.random.default_rng(0)
    course = Course(rng.uniform(0.1, 0.5, 12), momentum, rng.uniform(1, 2, 12), average)
    expected = [by_definition(course, curvature) for curvature in CURVATURES]
    np.testing.assert_allclose(course.variance(CURVATURES), expected, rtol=1e-10)


def problem_of(p=40, n_targets=1, **fields):
    bounds = RowBounds(1.0, 0.0, TargetBounds.joined([TargetBounds(-1.0, 1.0)] * n_targets))
    loss = Squared() if n_targets == 1 else MultiTarget(Squared(), n_targets)
    return Problem(loss, 1000, p, bounds, **fields)


COURSE = Course([0.5] * 10, 0.0, [0.1] * 10, 0.5)
FACTS = {"length": 1.0, "whole": 0.5, "noise_ratio": 1.0}


@pytest.mark.parametrize("n_targets", [1, 3])
def test_of_noise_alone_next_to_nothing_is_left_and_of_a_signal_all(n_targets):
    problem = problem_of(n_targets=n_targets)
    sd = np.sqrt(COURSE.variance(np.array([0.5 / 40]))[0])
    noise = sd * np.random.default_rng(0).normal(size=problem.shape)
    assert np.linalg.norm(towards_start(problem, noise, COURSE, **FACTS)) < 0.3 * sd * 40**0.5
    signal = noise + 100 * sd
    np.testing.assert_allclose(towards_start(problem, signal, COURSE, **FACTS), signal, rtol=1e-3)


def test_what_is_taken_back_goes_to_the_start_and_stays_on_the_way():
    start = np.linspace(-1, 1, 40)
    problem = problem_of(initial=start)
    np.testing.assert_array_equal(towards_start(problem, start, COURSE, **FACTS), start)
    w = start + 0.5 * np.random.default_rng(0).normal(size=40)
    factors = (towards_start(problem, w, COURSE, **FACTS) - start) / (w - start)
    assert 0 < factors[0] < 1
    np.testing.assert_allclose(factors, factors[0])


def test_without_noise_nothing_is_taken_back():
    problem, w = problem_of(), np.full(40, 1e-9)
    exact = COURSE._replace(scales=[0.0] * 10)
    np.testing.assert_allclose(towards_start(problem, w, exact, **FACTS), w)


def test_an_offset_of_the_targets_neither_hides_noise_nor_is_taken_back():
    p = 41
    matrix, shift = np.eye(p)[:40], -np.eye(p)[40]
    row_map = RowMap(np.ones(40), matrix, shift, 2.0, moments=np.ones(p))
    problem = problem_of(p)
    problem = replace(problem, bounds=replace(problem.bounds, row_map=row_map))
    along, length = direction_of_constant(problem, row_map)
    assert length == pytest.approx(1.0)
    sd = np.sqrt(COURSE.variance(np.array([0.5]))[0])
    w = sd * np.random.default_rng(0).normal(size=p) + 1e3 * sd * along
    moved = towards_start(problem, w, COURSE, **FACTS)
    assert along @ moved == pytest.approx(along @ w)
    slopes = moved - (along @ moved) * along
    assert np.linalg.norm(slopes) < 0.3 * sd * p**0.5


@pytest.mark.parametrize("loss", [Logistic(), Softmax(4)])
def test_scores_that_are_longer_than_noise_explains_are_kept_though_most_of_them_is_noise(loss):
    """Rows may lie along the signal, and then noise in other directions does no harm."""
    problem = Problem(loss, 1000, 400, RowBounds(1.0))
    course = COURSE._replace(scales=[10.0] * 10)
    size = int(np.prod(problem.shape))
    of_noise = np.sqrt(course.variance(np.zeros(1))[0])
    direction = np.random.default_rng(0).normal(size=problem.shape)
    direction *= of_noise * np.sqrt(size) / np.linalg.norm(direction)
    kept = []
    for ratio in (0.5, 1.0, 1.2, 1.5, 3.0):
        w = np.sqrt(ratio) * direction
        found = at_honest_scale(problem, w, course)
        factor = np.linalg.norm(found) / np.linalg.norm(w)
        np.testing.assert_allclose(found, factor * w)
        kept.append(factor)
    # Of what noise explains the least is left, and the same whatever its length.
    assert kept[0] == pytest.approx(kept[1])
    assert kept[0] < 0.5
    for factor, ratio in zip(kept[2:], (1.2, 1.5, 3.0), strict=True):
        z = np.sqrt(size) * (ratio - 1) / np.sqrt(ratio)
        assert factor >= z**2 / (z**2 + 3) - 1e-9
    assert np.all(np.diff(kept) > -1e-9)
    assert kept[-1] <= 1


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_the_unit_of_rows_does_not_matter(unit):
    """Coefficients are as large as rows are short, and their squares need not be numbers."""
    direction = np.random.default_rng(0).normal(size=400)
    direction *= 1.5 / np.linalg.norm(direction)
    kept = []
    for u in (1.0, unit):
        problem = Problem(Logistic(), 1000, 400, RowBounds(u))
        course = COURSE._replace(steps=[0.5 / u**2] * 10, scales=[0.1 * u] * 10)
        kept.append(at_honest_scale(problem, direction / u, course) * u)
    np.testing.assert_allclose(kept[1], kept[0], rtol=1e-6)
