"""Steps of descent: their length, their fixed points, and what is averaged."""

import numpy as np
import pytest

from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L1Ball, Simplex
from skdp.problem.losses import Logistic
from skdp.problem.penalties import L1, L2
from skdp.solvers import Descent, DescentRule

D = 3
RULE = DescentRule(steps=10, total_step_size=20.0, clip=1.0, momentum=0.5)


def descent_of(rule=RULE, average=0.5, **fields):
    problem = Problem(Logistic(), 100, D, RowBounds(2.0), **fields)
    return problem, Descent(problem, rule, average)


def test_constants_are_in_units_of_the_rows():
    _, descent = descent_of()
    assert descent.clip_norm == 2.0
    assert descent.step == pytest.approx(0.5 * 20.0 / 10 / 2.0**2)
    assert descent.stride == pytest.approx(20.0 / 10 / 2.0**2)


def test_momentum_adds_up_to_the_stride():
    _, descent = descent_of()
    v = np.array([1.0, -2.0, 0.0])
    for _ in range(60):
        before = descent.w
        descent.move(v)
    np.testing.assert_allclose(descent.w - before, -descent.stride * v)
    assert descent.n_steps == 60


@pytest.mark.parametrize("longest", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize(
    "fields",
    [{}, {"penalty": L2(5.0)}, {"penalty": L1(0.3)}, {"constraint": Simplex(2.0)}],
    ids=str,
)
def test_no_step_is_longer_than_allowed_whatever_the_penalty(fields, longest):
    problem, descent = descent_of(**fields)
    rng = np.random.default_rng(0)
    for _ in range(20):
        before = descent.w
        descent.move(rng.normal(size=D), longest)
        assert np.linalg.norm(descent.w - before) <= longest * (1 + 1e-12)
        assert problem.constraint.contains(descent.w)


def test_short_steps_do_not_stand_still_against_a_penalty():
    """Cutting the step before the penalty acts would balance the two away from the optimum."""
    _, descent = descent_of(DescentRule(10, 40.0, 1.0, 0.0), penalty=L2(0.5))
    v = np.array([1.0, 0.0, 0.0])
    for _ in range(2000):
        descent.move(v, 0.01)
    # The minimiser of <v, w> + ||w||^2 / 4.
    np.testing.assert_allclose(descent.w, -v / 0.5, atol=1e-6)


def test_the_gradient_map_is_the_gradient_or_zero_at_the_optimum():
    _, free = descent_of()
    v = np.array([3.0, 4.0, 0.0])
    assert free.gradient_map(v) == pytest.approx(5.0)
    _, held = descent_of(constraint=L1Ball(1.0))
    for _ in range(100):
        held.move(v)
    np.testing.assert_allclose(held.w, [0.0, -1.0, 0.0], atol=1e-12)
    assert held.gradient_map(v) == pytest.approx(0.0, abs=1e-12)


def test_the_last_planned_share_of_iterates_is_averaged():
    _, descent = descent_of(average=0.3)
    ends = []
    for k in range(RULE.steps):
        descent.move(np.full(D, float(k)))
        ends.append(descent.w)
    np.testing.assert_allclose(descent.mean(), np.mean(ends[-3:], axis=0))
    _, last = descent_of(average=0.0)
    last.move(np.ones(D))
    np.testing.assert_array_equal(last.mean(), last.w)


def test_a_restart_is_at_rest():
    _, descent = descent_of()
    descent.move(np.ones(D))
    descent.restart(np.zeros(D))
    descent.move(np.zeros(D))
    np.testing.assert_array_equal(descent.w, np.zeros(D))
