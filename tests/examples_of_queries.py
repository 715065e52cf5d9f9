"""Examples of queries with neighbouring data sets, for the battery in ``test_every_query.py``.

An example is a query together with two data sets of the same shape: neighbours are made of the
first by rows of the second. A query's examples are either here or in a module of their own whose
dictionary ``EXAMPLES`` below takes in.
"""

import math
from dataclasses import replace

import numpy as np
from example_of_a_query import Example, data_of, rows_of_all_sizes
from examples_of_columns import EXAMPLES as COLUMNS
from examples_of_coordinates import EXAMPLES as COORDINATES
from examples_of_gradient_differences import EXAMPLES as DIFFERENCES
from examples_of_one_shots import EXAMPLES as ONE_SHOTS
from examples_of_predictions import EXAMPLES as PREDICTIONS
from examples_of_row_means import EXAMPLES as ROW_MEANS
from examples_of_sampled_gradients import examples_from as samples_from
from examples_of_scores import EXAMPLES as SCORES
from examples_of_selections import EXAMPLES as SELECTIONS
from examples_of_several_targets import EXAMPLES as SEVERAL_TARGETS
from examples_of_sites import examples_from as sites_from
from examples_of_stream_terms import EXAMPLES as STREAM_TERMS
from examples_of_vertices import EXAMPLES as VERTICES
from examples_of_weights import EXAMPLES as WEIGHTS
from scipy.special import lambertw

from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientNormQuery,
    GradientQuery,
    GradientSizesQuery,
    HistogramQuery,
    MomentsQuery,
    ScoreScaleQuery,
)
from skdp.problem import (
    ColumnBounds,
    ColumnScaling,
    CountBounds,
    Problem,
    RowBounds,
    RowMap,
    TargetBounds,
)
from skdp.problem.losses import Huber, Logistic, Poisson, Softmax, Squared

N, D = 4, 3
REGRESSION = {Squared, Huber}
LOSSES = [Logistic(), Softmax(2), Softmax(3), Squared(), Huber(0.25), Poisson()]
TARGETS = [TargetBounds(-2.0, 6.0), TargetBounds(1.0, 6.0, centred=False)]
# Features of very different units, brought to one scale and to rows within a box.
SCALING = ColumnScaling.of_bounds(
    ColumnBounds(np.array([-1.0, 0.0, -2e3]), np.array([2.0, 1e-3, 1e3])), sparse=False
)


def problem_for(loss, *, intercept=0.0, weights=None, norm=2.0, target=TARGETS[0]):
    target = CountBounds(0.0, 1.0) if loss.log_means else target
    target = target if type(loss) in REGRESSION or loss.log_means else None
    bounds = RowBounds(norm, intercept, target)
    return Problem(loss, N, D, bounds, class_weight=weights)


def gradient_problems():
    """Every loss, with and without an intercept; every way of weighting classes."""
    for loss in LOSSES:
        for intercept in (0.0, 1.5):
            yield problem_for(loss, intercept=intercept)
    yield problem_for(Squared(), intercept=0.7, target=TARGETS[1])
    yield problem_for(Logistic(), weights=(0.2, 7.0))
    yield problem_for(Logistic(), weights=(3.0, 0.0), intercept=1.0)
    yield problem_for(Softmax(3), weights=(5.0, 1e-200, 5.0), intercept=0.1, norm=1e-3)
    for problem in (problem_for(Logistic(), intercept=0.5), problem_for(Softmax(3))):
        yield replace(problem, bounds=replace(problem.bounds, scaling=SCALING))


def gradients():
    for problem in gradient_problems():
        for clip in (None, 0.3 * problem.row_norm, 1e-6, math.inf):
            if math.isfinite(min(math.inf if clip is None else clip, problem.lipschitz)):
                yield problem, clip


def random_gradients(seed=0):
    rng = np.random.default_rng(seed)
    for problem, clip in gradients():
        w = rng.normal(size=problem.shape) * 10.0 ** rng.uniform(-2, 3)
        yield Example(GradientQuery(problem, w, clip), *data_of(problem.loss, rng))


def crafted_gradients():
    """Rows on either side of the hyperplane of w, nearly parallel to it, and on the wrong side.

    Their derivatives are at the bound with opposite signs and their directions nearly the same, so
    swapping one for another moves the sum by the diameter of the ball. If one class alone is the
    heaviest, its derivatives have one sign, and rows of opposite directions are swapped instead.
    """
    for problem, clip in gradients():
        query = GradientQuery(problem, np.zeros(problem.shape), clip)
        # Only the heaviest classes reach the bound.
        weights = problem.class_weight or (1.0, 1.0)
        labels = [float(k) for k, c in enumerate(weights) if c == max(weights)][:2]
        alone = len(labels) == 1
        if alone and problem.bounds.intercept_value:
            continue
        # Rows within a box are shorter than the bound on their norm.
        if problem.bounds.scaling is not None:
            continue
        norm, tilt = problem.bounds.data_norm, 1e-3
        # Large scores of the right sign, also where the row norm is small.
        steep = 1e4 / (norm * tilt)
        if query.w.ndim == 1:
            query.w[0] = -steep if alone and labels == [1.0] else steep
        else:
            query.w[0, [int(k) for k in labels]] = -steep, steep
        row = np.array([tilt, math.sqrt(1 - tilt**2), 0.0]) * norm * 3
        other_row = row * ([1, -1, 1] if alone else [-1, 1, 1])
        X, other_X = np.tile(row, (N, 1)), np.tile(other_row, (N, 1))
        y, other_y = np.full(N, labels[0]), np.full(N, labels[-1])
        yield Example(query, X, y, other_X, other_y)


def of_whole_units(examples):
    """The same where means of privacy units are clipped: where each row is one, nothing else."""
    for e in examples:
        if isinstance(e.query, GradientAndShareQuery):
            gradient = replace(e.query.gradient, whole_units=True)
            yield replace(e, query=replace(e.query, gradient=gradient))
        else:
            yield replace(e, query=replace(e.query, whole_units=True))


def label_blind(examples):
    """The same with bounds that labels do not enter; at the bound, where scores are far, alike."""
    for e in examples:
        if not isinstance(e.query.problem.loss, Squared):
            yield replace(e, query=replace(e.query, label_blind=True))


def of_norms(examples):
    for e in examples:
        yield Example(GradientNormQuery(e.query), e.X, e.y, e.other_X, e.other_y)


def random_histograms():
    rng = np.random.default_rng(1)
    edges = [np.array([0.5]), np.geomspace(1e-3, 1e3, 9), np.linspace(-20, 20, 5), np.empty(0)]
    for of in ("row_norm", "target", "events"):
        for e in edges:
            rows = [(rows_of_all_sizes(rng), rng.normal(scale=10.0, size=N)) for _ in range(2)]
            yield Example(HistogramQuery(of, e), *rows[0], *rows[1])
            if of == "row_norm":
                yield Example(HistogramQuery(of, e, SCALING), *rows[0], *rows[1])


def crafted_histograms():
    below, above = np.full((N, D), 0.5), np.full((N, D), 5.0)
    for of in ("row_norm", "target"):
        query = HistogramQuery(of, np.array([1.0, 2.0]))
        yield Example(query, below, below[:, 0], above, above[:, 0])


def random_sizes():
    rng = np.random.default_rng(4)
    for example in random_gradients(5):
        query = GradientSizesQuery(example.query.problem, example.query.w, np.geomspace(0.1, 10, 7))
        yield Example(query, rows_of_all_sizes(rng), example.y, example.other_X, example.other_y)


def crafted_sizes():
    """Zero rows, whose gradients are zero, against rows whose gradients are not."""
    for problem in gradient_problems():
        plain = not problem.bounds.intercept_value and problem.bounds.scaling is None
        if plain and problem.class_weight is None:
            query = GradientSizesQuery(problem, np.zeros(problem.shape), np.array([1e-3]))
            X, y = np.zeros((N, D)), np.zeros(N)
            yield Example(query, X, y, np.ones((N, D)), y)


def random_shares(seed=6):
    for k, e in enumerate(random_gradients(seed)):
        query = GradientAndShareQuery(e.query, e.query.bound * 10.0 ** (k % 3 - 1))
        yield Example(query, e.X, e.y, e.other_X, e.other_y)


def crafted_shares():
    """A row just below the clip against one beyond it, on the other side of the ball."""
    for intercept in (0.0, 0.5):
        problem = Problem(Squared(), N, D, RowBounds(2.0, intercept, TargetBounds(-1.0, 1.0)))
        tilted = np.array([math.sqrt(4 - 1e-6), 1e-3, 0.0])
        X, y = np.tile(tilted, (N, 1)), np.full(N, 0.5 * (1 - 1e-9))
        query = GradientQuery(problem, np.zeros(problem.shape), 0.5 * problem.row_norm)
        for weight in (0.1, 1.0, 10.0):
            yield Example(GradientAndShareQuery(query, weight), X, y, X, -np.ones(N))


def moments_bounds():
    """With and without an intercept, as they come and mapped; a map that lengthens rows."""
    rng = np.random.default_rng(7)
    matrix, shift = 10 * rng.normal(size=(D, D + 1)), rng.normal(size=D + 1)
    yield RowBounds(2.0)
    yield RowBounds(2.0, 1.5)
    yield RowBounds(1.2, 0.5, scaling=SCALING)
    yield RowBounds(1.2, row_map=RowMap(np.ones(D), matrix, shift, 3.0), scaling=SCALING)
    for constant in (0.0, 0.7):
        yield RowBounds(2.0, constant, row_map=RowMap(np.ones(D), matrix, shift, 3.0))
        yield RowBounds(2.0, constant, row_map=RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0))
        sketched = RowMap(np.array([1.0, -1.0, 1.0]), None, shift[:2], 3.0, sketch=np.arange(D) % 2)
        yield RowBounds(2.0, constant, row_map=sketched)


def moments(bounds, full):
    k = D if bounds.row_map is None else bounds.row_map.n_features
    return MomentsQuery(Problem(Logistic(), N, k, bounds), full)


def random_moments():
    rng = np.random.default_rng(8)
    for bounds in moments_bounds():
        for full in (True, False):
            query, y = moments(bounds, full), np.zeros(N)
            yield Example(query, rows_of_all_sizes(rng), y, rows_of_all_sizes(rng), y)


def crafted_moments():
    """Rows along one axis against rows along another, without an intercept."""
    along, across = 9 * np.eye(D)[np.zeros(N, int)], 9 * np.eye(D)[np.ones(N, int)]
    stretched = RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0)
    for bounds in (RowBounds(2.0), RowBounds(2.0, row_map=stretched)):
        for full in (True, False):
            yield Example(moments(bounds, full), along, np.zeros(N), across, np.zeros(N))


def score_scales():
    """Two and several classes, with weights and mapped coordinates."""
    mapped = RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0)
    for loss in (Logistic(), Softmax(2), Softmax(5)):
        yield problem_for(loss, intercept=1.5)
    yield problem_for(Logistic(), weights=(0.2, 7.0))
    yield Problem(Softmax(3), N, D, RowBounds(2.0, 0.7, row_map=mapped))


def random_score_scales():
    rng = np.random.default_rng(9)
    for problem in score_scales():
        for scales, reach in (([0.3, 0.55, 1.0, 1.8, 3.3], 2.5), ([1.0, 2.0], 8.0)):
            w = rng.normal(size=problem.shape) * 10.0 ** rng.uniform(-1, 2)
            query = ScoreScaleQuery(problem, w, np.array(scales), reach)
            yield Example(query, *data_of(problem.loss, rng))


def crafted_score_scales():
    """One scale: a sure row with the wrong label against the right one at its least value.

    With several scales no row is at the least value of all of them, so that the diameter of the
    box is a bound and no more.
    """
    for problem in score_scales():
        k, reach = max(2, problem.loss.n_scores), 2.0
        query = ScoreScaleQuery(problem, np.zeros(problem.shape), np.ones(1), reach)
        heaviest = int(np.argmax(problem.class_weight or (1.0,) * k))
        # Along the first feature the heaviest class has the largest score, all others the same.
        if query.w.ndim == 1:
            query.w[0] = 40.0 if heaviest else -40.0
        else:
            query.w[0] = np.where(np.arange(k) == heaviest, 40.0, 0.0)
        margin = float(lambertw((k - 1) / math.e).real) + 1.0
        stretch = 1.0 if problem.bounds.row_map is None else 5.0
        X, other_X = np.zeros((N, D)), np.zeros((N, D))
        X[:, 0], other_X[:, 0] = margin / 40.0 / stretch, -2.0
        labels = np.full(N, float(heaviest))
        yield Example(query, other_X, labels, X, labels)


# Query: (random examples, examples that attain the declared sensitivity).
EXAMPLES = {
    GradientQuery: (
        [
            *random_gradients(),
            *of_whole_units(random_gradients(4)),
            *label_blind(random_gradients(6)),
        ],
        [
            *crafted_gradients(),
            *of_whole_units(crafted_gradients()),
            *label_blind(crafted_gradients()),
        ],
    ),
    GradientNormQuery: (list(of_norms(random_gradients(2))), list(of_norms(crafted_gradients()))),
    GradientAndShareQuery: (
        [*random_shares(), *of_whole_units(random_shares(8))],
        [*crafted_shares(), *of_whole_units(crafted_shares())],
    ),
    GradientSizesQuery: (
        [*random_sizes(), *of_whole_units(random_sizes())],
        [*crafted_sizes(), *of_whole_units(crafted_sizes())],
    ),
    HistogramQuery: (list(random_histograms()), list(crafted_histograms())),
    MomentsQuery: (list(random_moments()), list(crafted_moments())),
    ScoreScaleQuery: (list(random_score_scales()), list(crafted_score_scales())),
    **COLUMNS,
    **DIFFERENCES,
    **ONE_SHOTS,
    **PREDICTIONS,
    **ROW_MEANS,
    **samples_from(random_gradients(5), crafted_gradients()),
    **SCORES,
    **SELECTIONS,
    **sites_from(random_gradients(4), crafted_gradients()),
    **STREAM_TERMS,
    **VERTICES,
    **WEIGHTS,
}
# Of queries that are above, behind what is there.
for kind, (random, crafted) in (*COORDINATES.items(), *SEVERAL_TARGETS.items()):
    EXAMPLES[kind] = [*EXAMPLES[kind][0], *random], [*EXAMPLES[kind][1], *crafted]
