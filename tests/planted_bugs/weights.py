"""Bugs in the weights of rows."""

from dataclasses import replace
from functools import partial

import numpy as np
from examples_of_queries import EXAMPLES
from planted_bugs.bug import TOO_FAR, Bug

from skdp import DPLinearRegression
from skdp.privacy import Adjacency
from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientDifferenceQuery,
    GradientQuery,
    TotalWeightQuery,
)
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic
from skdp.solvers import GD
from skdp.testing import record_fit, replay_fit

N, D = 60, 3
RNG = np.random.default_rng(0)
X, WEIGHTS = RNG.normal(size=(N, D)) / 2, RNG.uniform(size=N)
Y, LABELS = X @ [1.0, -2.0, 0.5], (X[:, 0] > 0).astype(float)
# Of the weights, not the number of rows.
PROBLEM = Problem(Logistic(), 25, D, RowBounds(2.0), actual_rows=N)
W, W0 = np.array([2.0, -1.0, 0.5]), np.array([1.5, -1.0, 0.5])
# Moments of columns, and means of scores, read no weights.
WITHOUT = ("column_moments", "metric_means")
BY_NAME = {query.name: query for query in EXAMPLES if query.name not in WITHOUT}


def rows(weights=WEIGHTS):
    return DenseRows(X, LABELS, weights)


def difference():
    return GradientDifferenceQuery(GradientQuery(PROBLEM, W, 0.3), W0)


def heavy_rows_move_within_the_sensitivity(query):
    """Whatever weights rows come with."""
    query = BY_NAME[query]
    for example in EXAMPLES[query][1][:2]:
        heavy = np.full(len(example.X), 7.0)
        # Of weights alone a total tells.
        others = 0 * heavy if query is TotalWeightQuery else heavy
        replace(example, weights=heavy, other_weights=others).check(Adjacency.REPLACE_ONE)


def a_difference_is_that_of_gradients():
    first, second = (GradientQuery(PROBLEM, w, 0.3).evaluate(rows()) for w in (W, W0))
    np.testing.assert_allclose(difference().evaluate(rows()), first - second, atol=1e-12)


def parts_of_rows_add_up():
    """A query about all rows, and the sum of two about marked ones."""
    marked = np.arange(N) % 3 == 0
    nobody = np.zeros(N, dtype=bool)
    *parts, centre = (difference().of_drawn(rows(), m, 1.0) for m in (marked, ~marked, nobody))
    np.testing.assert_allclose(sum(parts) - centre, difference().evaluate(rows()), atol=1e-12)


def rows_of_no_weight_say_nothing_about_shares():
    query = GradientAndShareQuery(GradientQuery(PROBLEM, W, 0.3), 1.0, 0.9)
    light = np.where(np.arange(N) < 30, WEIGHTS, 0.0)
    alone = DenseRows(X[:30], LABELS[:30], WEIGHTS[:30])
    np.testing.assert_allclose(query.evaluate(rows(light)), query.evaluate(alone), atol=1e-12)


def weighted_fits_follow_from_answers():
    """The same answers give the same model, whatever rows weigh."""
    longest = float(np.linalg.norm(X, axis=1).max())
    options = {"data_norm": longest, "target_bounds": (-4.0, 4.0), "max_weight": 2.0}
    options |= {"epsilon": 20.0, "random_state": 0, "solver": GD(steps=3), "precondition": None}
    model, again = DPLinearRegression(**options), DPLinearRegression(**options)
    transcript = record_fit(model, X, Y, sample_weight=2 * WEIGHTS)
    replay_fit(again, X, Y, transcript, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(model.coef_, again.coef_)


def squared(honest, self, block):
    heavy = block.taken(np.arange(block.y.size))
    heavy.weights = block.weights**2
    return honest(self, heavy)


def unweighted(honest, self, block):
    plain = block.taken(np.arange(block.y.size))
    plain.weights = None
    return honest(self, plain)


def taken_without(honest, self, chosen):
    other = honest(self, chosen)
    other.weights = np.ones(chosen.size)
    return other


def peeks(honest, self, *data):
    found = honest(self, *data)
    self._peeked = found[0]
    return found


def as_seen(honest, self, fit, oracle):
    fit.n_samples = max(1, round(float(fit.model._peeked.weights.sum())))


BUGS = (
    *(Bug(f"weights that count for more than the largest ({name})", {"RawBlock.bounded_weights": lambda _, self: self.weights}, partial(heavy_rows_move_within_the_sensitivity, name), TOO_FAR, nightly=name not in ("gradient", "total_weight", "second_moments")) for name in BY_NAME),
    Bug("weights that are applied twice in a difference", {"GradientDifferenceQuery._of_block": squared}, a_difference_is_that_of_gradients),
    Bug("a public centre that is not counted by rows", {"Problem.n_actual": lambda _, self: self.n_samples}, a_difference_is_that_of_gradients),
    Bug("rows that are taken out of a block without their weights", {"BoundedBlock.taken": taken_without}, parts_of_rows_add_up),
    Bug("a share that counts rows whatever they weigh", {"GradientAndShareQuery._of_block": unweighted}, rows_of_no_weight_say_nothing_about_shares),
    Bug("a total of weights that is read off the rows", {"PrivateLinearModel._open": peeks, "TotalWeight.run": as_seen}, weighted_fits_follow_from_answers),
)  # fmt: skip
