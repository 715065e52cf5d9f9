"""What Frank-Wolfe does with a stream: the recursion, its steps, and the choice of noise."""

from dataclasses import replace

import numpy as np
import pytest
from tasks_for_solvers import TASKS

from skdp.privacy import Adjacency
from skdp.privacy.accounting import GaussianDP, Spend, ZeroConcentratedDP
from skdp.privacy.streams import StreamOpening
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.constraints import (
    Box,
    L1Ball,
    L2Ball,
    LpBall,
    NonNegative,
    Simplex,
    Unconstrained,
)
from skdp.problem.losses import Logistic, Squared
from skdp.problem.penalties import L1, L2
from skdp.solvers import FrankWolfe

BALLS = [LpBall(0.8, 1.5), L2Ball(0.6), Box(-0.5, 0.4), L1Ball(1.0), Simplex(0.7)]
every_ball = pytest.mark.parametrize("ball", BALLS, ids=lambda b: type(b).__name__)


def least_squares(ball, n=200, d=5, **bounds):
    bound = RowBounds(3.0, target=TargetBounds(-4.0, 4.0, centred=False), **bounds)
    return Problem(Squared(), n, d, bound, constraint=ball)


def rows(n, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, X @ rng.normal(size=d) + 0.1 * rng.normal(size=n)


def gradient(X, y, w):
    """Of the mean squared loss in units of targets of size 1."""
    return X.T @ (X @ w - y / 4) / len(X)


class Exact:
    """Answers without noise, straight from the query."""

    def __init__(self, problem, plan, X, y):
        from skdp.privacy.rows import DenseRows

        self.opening = StreamOpening(problem, plan, Adjacency.REPLACE_ONE, Spend(1.0))
        self.rows, self.used, self.total = DenseRows(X, y), 0, 0.0

    def __call__(self, asked):
        part = self.rows.part(self.used, self.used + asked.rows)
        self.used += asked.rows
        self.total = self.total + self.opening.query(asked).evaluate(part)
        if self.opening.plan.chooses_vertices:
            return np.array([self.total.argmax()])
        return self.total.copy()


def models(solver, problem, X, y, before=None):
    """Every model of a stream without noise, and its learner."""
    plan = solver.plan(problem, 1.0)
    learner = solver.learner(problem, plan, 0.0, before)
    answer, found = Exact(problem, plan, X, y), [learner.solution.w]
    for _ in range(plan.releases):
        learner.learn(answer(learner.request()))
        found.append(learner.solution.w)
    return found, learner


@every_ball
@pytest.mark.parametrize("noise", ["gaussian", "gumbel"])
def test_on_equal_batches_the_recursion_is_the_gradient(ball, noise):
    """Then every correction undoes exactly what the batch before said of the earlier model."""
    if noise == "gumbel" and not isinstance(ball, L1Ball | Simplex):
        pytest.skip("has no vertices to choose from")
    X, y = rows(10)
    problem = least_squares(ball)
    solver = FrankWolfe(batch=10, stream_clip=1e3, noise=noise)
    found, _ = models(solver, problem, np.tile(X, (20, 1)), np.tile(y, 20))
    w = problem.start()
    for i, model in enumerate(found):
        np.testing.assert_allclose(model, w, atol=1e-9)
        w = w + (ball.linear_minimizer(gradient(X, y, w)) - w) / (i + 1)


def test_the_penalty_takes_part_with_its_gradient():
    X, y = rows(10)
    problem = replace(least_squares(L2Ball(0.6)), penalty=L2(0.7))
    solver = FrankWolfe(batch=10, stream_clip=1e3)
    found, _ = models(solver, problem, np.tile(X, (20, 1)), np.tile(y, 20))
    w = problem.start()
    for i, model in enumerate(found):
        np.testing.assert_allclose(model, w, atol=1e-9)
        slope = gradient(X, y, w) + 0.7 * w
        w = w + (problem.constraint.linear_minimizer(slope) - w) / (i + 1)


@every_ball
def test_models_move_by_less_and_less_also_after_a_restart(ball):
    """``i ||w_i - w_{i-1}|| <= D``, i from the start of each stream: the premise of the bound."""
    X, y = rows(200)
    problem, before = least_squares(ball), None
    for _ in range(2):
        found, before = models(FrankWolfe(batch=2), problem, X, y, before)
        for i, (one, other) in enumerate(zip(found[1:], found, strict=False), 1):
            assert i * np.linalg.norm(one - other) <= problem.diameter * (1 + 1e-12)
            assert ball.contains(one)


def test_a_restart_keeps_the_model():
    X, y = rows(200)
    problem = least_squares(L2Ball(0.6))
    found, learner = models(FrankWolfe(batch=2), problem, X, y)
    again, _ = models(FrankWolfe(batch=2), problem, X, y, learner)
    np.testing.assert_allclose(again[0], found[-1], rtol=1e-12)
    assert np.linalg.norm(again[1] - again[0]) <= problem.diameter / 100


def test_the_clip_of_recursive_terms_is_not_reached_by_what_theory_bounds():
    """At L + beta D nothing is clipped, so half of it clips some, and twice of it none."""
    X, y = rows(400)
    problem = least_squares(L2Ball(0.6), n=400)
    # |x'w - y| <= .6 + 1 and |x'(w - w')| i <= 1.2, for rows of norm 1 in a ball of 3.
    theory = (1.6 + 1.2) / 3.0
    plain, _ = models(FrankWolfe(batch=1, stream_clip=1e3), problem, X, y)
    bound, _ = models(FrankWolfe(batch=1, stream_clip=theory), problem, X, y)
    np.testing.assert_allclose(bound, plain, atol=1e-9)
    tight, _ = models(FrankWolfe(batch=1, stream_clip=0.05), problem, X, y)
    assert not np.allclose(tight[-1], plain[-1], atol=1e-3)


def test_the_intercept_finds_the_class_prior():
    rng = np.random.default_rng(0)
    X, y = np.zeros((1000, 2)), (rng.random(1000) < 0.8).astype(float)
    problem = Problem(Logistic(), 1000, 2, RowBounds(1.0, 1.0), constraint=L2Ball(1.0))
    found, _ = models(FrankWolfe(stream_clip=10.0), problem, X, y)
    assert found[-1][-1] == pytest.approx(np.log(y.mean() / (1 - y.mean())), abs=0.2)


def test_rows_of_a_batch_are_as_given_and_the_last_batch_is_shorter():
    problem = least_squares(L2Ball(1.0), n=103)
    solver = FrankWolfe(batch=10)
    plan = solver.plan(problem, 1.0)
    learner = solver.learner(problem, plan, 1.0, None)
    sizes = []
    for _ in range(plan.releases):
        sizes.append(learner.request().rows)
        learner.learn(np.ones(5))
    assert sizes == [10] * 10 + [3]


def mechanism(problem, solver=None):
    return (solver or FrankWolfe()).plan(problem, 1.0).mechanism


def test_noise_follows_from_public_facts():
    """Choices pay for many features whose entries are bounded one by one, and only there."""
    for ball in (L1Ball(1.0), Simplex(1.0)):
        wide = Problem(
            Logistic(), 10_000, 1000, RowBounds(1000**0.5, feature_bound=1.0), constraint=ball
        )
        assert mechanism(wide) == "gumbel"
        few = Problem(
            Logistic(), 10_000, 20, RowBounds(20**0.5, feature_bound=1.0), constraint=ball
        )
        assert mechanism(few) == "blt"
        assert mechanism(replace(wide, bounds=RowBounds(1.0))) == "blt"
        assert mechanism(replace(wide, penalty=L2(0.1))) == "blt"
        assert mechanism(replace(wide, constraint=L2Ball(1.0))) == "blt"
        # Row by row there are too many choices.
        assert mechanism(wide, FrankWolfe(batch=1)) == "blt"
        constant = replace(wide.bounds, intercept_value=1.0)
        assert mechanism(replace(wide, bounds=constant)) == "blt"
        assert mechanism(few, FrankWolfe(noise="gumbel")) == "gumbel"
        assert mechanism(wide, FrankWolfe(noise="gaussian", mechanism="tree")) == "tree"


def test_the_calculus_prices_what_may_be_asked():
    problem = least_squares(L1Ball(1.0))

    def calculus(solver, problem):
        return solver.calculus_for_stream(problem, 1.0, 1e-5, Adjacency.REPLACE_ONE)

    assert calculus(FrankWolfe(), problem) == ZeroConcentratedDP()
    assert calculus(FrankWolfe(noise="gaussian"), problem) == GaussianDP()
    assert calculus(FrankWolfe(), least_squares(L2Ball(1.0))) == GaussianDP()


def test_an_unbounded_set_is_refused_and_none_is_a_ball():
    problem = TASKS["logistic"].problem
    with pytest.raises(ValueError, match="FrankWolfe needs a bounded constraint"):
        FrankWolfe().check_stream(replace(problem, constraint=NonNegative()))
    FrankWolfe().check_stream(replace(problem, constraint=Unconstrained()))


def test_penalties_with_edges_and_vertices_that_are_not_there_are_refused():
    problem = replace(TASKS["logistic"].problem, constraint=L1Ball(1.0))
    with pytest.raises(ValueError, match="needs a smooth penalty for streams, got L1"):
        FrankWolfe().check_stream(replace(problem, penalty=L1(0.1)))
    with pytest.raises(ValueError, match="no intercept and no penalty"):
        FrankWolfe(noise="gumbel").check_stream(problem)
