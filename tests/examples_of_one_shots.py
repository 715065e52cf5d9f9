"""Examples of the queries that answer a problem in one shot."""

from dataclasses import dataclass, replace
from math import isfinite, sqrt
from typing import ClassVar

import numpy as np
from example_of_a_query import Example, data_of, rows_of_all_sizes

from skdp.privacy.queries import NormalEquationsQuery, PerturbedMinimumQuery, Query
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Huber, HuberisedHinge, Logistic, Squared, SquaredHinge

N, D = 4, 3
# Too weak for the rounding of its part in a slope to be seen.
WEAK = 1e-30


@dataclass(frozen=True, eq=False)
class SlopeAt(Query):
    """The slope for which a point is the minimiser: what the mechanism's noise has to hide."""

    name: ClassVar[str] = "slope"

    query: PerturbedMinimumQuery
    w: np.ndarray

    def sensitivity(self, adjacency):
        return self.query.sensitivity(adjacency)

    def mechanism(self, adjacency, spend):
        raise NotImplementedError

    def evaluate(self, rows):
        return self.query.slope_at(rows, self.w)

    def public(self):
        return (self.w,)


@dataclass(frozen=True)
class SlopeExample(Example):
    """Noise enters the slope, so the sensitivity is that of the slope, at any one point."""

    w: np.ndarray

    @property
    def asked(self):
        return SlopeAt(self.query, self.w)


def slope_problems():
    """Every loss, with and without intercept, weights and a map."""
    rng = np.random.default_rng(9)
    stretched = RowMap(5 * rng.normal(size=D), None, rng.normal(size=D), 3.0)
    for loss in (Logistic(), HuberisedHinge(0.3), SquaredHinge()):
        for bounds in (RowBounds(2.0), RowBounds(2.0, 1.5), RowBounds(2.0, row_map=stretched)):
            for weights in (None, (0.2, 7.0)):
                yield Problem(loss, N, D, bounds, class_weight=weights)


def slopes():
    for problem in slope_problems():
        for clip in (None, 0.3 * problem.row_norm, 1e-6):
            if isfinite(problem.lipschitz if clip is None else clip):
                yield problem, clip


def random_slopes():
    rng = np.random.default_rng(10)
    for problem, clip in slopes():
        w = rng.normal(size=problem.shape) * 10.0 ** rng.uniform(-2, 3)
        query = PerturbedMinimumQuery(problem, clip, WEAK, 1.0)
        yield SlopeExample(query, *data_of(problem.loss, rng), w)


def residual_slopes():
    """Problems of residuals, which are for pure epsilon, with a clip."""
    for bounds in (RowBounds(2.0), RowBounds(2.0, 1.5)):
        bounds = replace(bounds, target=TargetBounds(-1.0, 1.0))
        for loss in (Squared(), Huber(0.3)):
            problem = Problem(loss, N, D, bounds)
            for clip in (0.3, 1e-6):
                yield (
                    problem,
                    PerturbedMinimumQuery(problem, clip * problem.row_norm, WEAK, 1.0, pure=True),
                )


def random_residual_slopes():
    rng = np.random.default_rng(12)
    for problem, query in residual_slopes():
        w = rng.normal(size=problem.shape) * 10.0 ** rng.uniform(-2, 1)
        parts = [
            part for _ in range(2) for part in (rows_of_all_sizes(rng), 3 * rng.normal(size=N))
        ]
        yield SlopeExample(query, *parts, w)


def crafted_residual_slopes():
    """The same row with one target and the other."""
    for problem, query in residual_slopes():
        X = np.tile([0.0, 9.0, 0.0], (N, 1))
        yield SlopeExample(query, X, np.ones(N), X, -np.ones(N), np.zeros(problem.shape))


def random_slopes_of_a_class():
    """One of three classes against the others."""
    rng = np.random.default_rng(13)
    for loss in (Logistic(), HuberisedHinge(0.3)):
        problem = Problem(loss, N, D, RowBounds(2.0, 1.5))
        w = rng.normal(size=problem.shape) * 10.0 ** rng.uniform(-2, 1)
        query = PerturbedMinimumQuery(
            problem, 0.3 * problem.row_norm, WEAK, 1.0, pure=True, label=1
        )
        parts = [
            part for _ in range(2) for part in (rows_of_all_sizes(rng), rng.integers(0, 3, N) * 1.0)
        ]
        yield SlopeExample(query, *parts, w)


def crafted_slopes():
    """Rows on either side of a hyperplane, nearly parallel to it, and on the wrong side of it."""
    for problem, clip in slopes():
        if problem.class_weight or problem.bounds.row_map is not None:
            continue
        norm, tilt = problem.bounds.data_norm, 1e-3
        w = np.zeros(problem.shape)
        w[0] = 1e4 / (norm * tilt)
        row = np.array([tilt, sqrt(1 - tilt**2), 0.0]) * norm * 3
        X, other_X = np.tile(row, (N, 1)), np.tile(row * [-1, 1, 1], (N, 1))
        query = PerturbedMinimumQuery(problem, clip, WEAK, 1.0)
        yield SlopeExample(query, X, np.zeros(N), other_X, np.ones(N), w)


def equations(bounds, balance):
    k = D if bounds.row_map is None else bounds.row_map.n_features
    return NormalEquationsQuery(Problem(Squared(), N, k, bounds), balance)


def random_equations():
    rng = np.random.default_rng(11)
    stretched = RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0)
    uncentred = TargetBounds(1.0, 6.0, centred=False)
    for target in (TargetBounds(-1.0, 1.0), uncentred):
        for bounds in (
            RowBounds(2.0, 0.0, target),
            RowBounds(2.0, 1.5, target),
            RowBounds(2.0, 0.0, target, stretched),
        ):
            for balance in (0.01, 0.4, 1.0):
                parts = [
                    part
                    for _ in range(2)
                    for part in (rows_of_all_sizes(rng), rng.normal(size=N) * 5)
                ]
                yield Example(equations(bounds, balance), *parts)


def crafted_equations():
    """Rows at the angle for which the proof says that the bound is attained."""
    target = TargetBounds(-1.0, 1.0)
    for balance in (0.01, 0.4, 1.0):
        one, other = [1.0, 0.0, 0.0], [balance, sqrt(1 - balance**2), 0.0]
        X, other_X = np.tile(one, (N, 1)) * 9, np.tile(other, (N, 1)) * 9
        query = equations(RowBounds(2.0, 0.0, target), balance)
        yield Example(query, X, np.full(N, 5.0), other_X, np.full(N, -5.0))


EXAMPLES = {
    NormalEquationsQuery: (list(random_equations()), list(crafted_equations())),
    PerturbedMinimumQuery: (
        [*random_slopes(), *random_residual_slopes(), *random_slopes_of_a_class()],
        [*crafted_slopes(), *crafted_residual_slopes()],
    ),
}
