"""Bugs in queries, their sensitivities and the bounds on rows that these rest on."""

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import inf, sqrt
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from examples_of_gradient_differences import Bent
from examples_of_queries import EXAMPLES
from examples_of_scores import timed, torn
from planted_bugs.bug import REPLACE_ONE, TOO_FAR, ZERO_OUT, Bug, Value, after, gives, sets, times
from privacy.queries import test_columns as of_columns
from privacy.queries import test_extreme_gradients as extreme_gradients
from privacy.queries import test_limits as of_limits
from privacy.queries import test_scores as of_scores

from skdp.privacy import Adjacency
from skdp.privacy.accounting import Spend
from skdp.privacy.mechanisms import noise_grid
from skdp.privacy.queries import (
    ColumnCellsQuery,
    ColumnMomentsQuery,
    ColumnTreeQuery,
    GradientAndShareQuery,
    GradientDifferenceQuery,
    GradientNormQuery,
    GradientQuery,
    GradientSizesQuery,
    HistogramQuery,
    InterceptGradientQuery,
    MagnitudeVotesQuery,
    MomentsQuery,
    NormalEquationsQuery,
    RowMeansQuery,
    ScoreAndCurvatureQuery,
    ScoreMomentsQuery,
    ScoreScaleQuery,
    SelectionQuery,
    StreamScoresQuery,
    StreamTermQuery,
    VertexQuery,
)
from skdp.privacy.queries import score_and_curvature as scores
from skdp.privacy.rows import BoundedBlock, DenseRows, Lengths, RawBlock, SparseRows
from skdp.problem import ColumnScaling, Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Hinge, Huber, Logistic, Loss, Softmax, Squared
from skdp.testing import check_sensitivity, row_stores

N, D = 4, 3
TILT = 1e-3
ZEROS, ONES = np.zeros(N), np.ones(N)
TENTHS = np.linspace(0.1, 0.9, 9)
ALONG, ACROSS, NOTHING = (
    np.tile(np.eye(D)[0], (N, 1)),
    np.tile(np.eye(D)[1], (N, 1)),
    np.zeros((N, D)),
)
LOGISTIC = Problem(Logistic(), N, D, RowBounds(2.0))
SQUARED = replace(LOGISTIC, loss=Squared())
FAR = np.array([1e6, 0.0, 0.0])


@dataclass(frozen=True)
class HalvedLogistic(Logistic):
    """Claims half of the Lipschitz constant that it has."""

    lipschitz: ClassVar[float] = 0.5


@dataclass(frozen=True)
class Mixing(Huber):
    """Pointwise as it stands; a bug makes it mix the rows at hand."""

    def derivative(self, y, z):
        return Huber.derivative(self, y, self._at(z))

    def _at(self, z):
        return z


@dataclass(frozen=True)
class OwnClip(Squared):
    """Brings a clip of its own, which clips nothing."""

    def clipped_derivative(self, y, z, bound):
        return self.derivative(y, z)


# Cases: a query, rows with targets, and the rows with targets that take their places.


def opposite(problem=LOGISTIC, size=3.0, clip=None):
    """Gradients at the bound and nearly opposite."""
    w = np.zeros(problem.shape)
    steep = 1e4 / TILT
    if w.ndim == 1:
        w[0] = steep
    else:
        w[0, :2] = -steep, steep
    row = size * np.array([TILT, sqrt(1 - TILT**2), 0.0])
    other = np.tile(row * [-1, 1, 1], (N, 1))
    return GradientQuery(problem, w, clip), np.tile(row, (N, 1)), ZEROS, other, ONES


def huge():
    """Without taming, a row of 1e200 has norm inf and factor 0, but its scores are not finite."""
    query, X, y, other, other_y = opposite()
    return query, X, y, np.where(other == 0, 0.0, np.copysign(1e200, other)), other_y


def rounded_up(size):
    return opposite(size=size)


def differences_along():
    gradient = GradientQuery(SQUARED, np.array([1e-3, 0.0, 0.0]))
    return GradientDifferenceQuery(gradient, np.zeros(D)), 2 * ALONG, ZEROS, 2 * ALONG, ZEROS


def of_one_score(honest, a, *others):
    if a.ndim == 1:
        honest(a, *others)


def far_points():
    """A step so long that derivatives are lost in the scores."""
    rng = np.random.default_rng(2)
    problem = Problem(Softmax(3), 4, 3, RowBounds(1.0, 0.5))
    w, w0 = 1e18 * rng.normal(size=(2, *problem.shape))
    X, other = rng.normal(size=(2, 4, 3))
    y, other_y = rng.integers(0, 3, size=(2, 4)).astype(float)
    return GradientDifferenceQuery(GradientQuery(problem, w, 1e-3), w0), X, y, other, other_y


def mean_scores():
    """Scores that nearly cancel, so that one row turns the sign of their mean."""
    n = 20
    X = np.tile([1.0, 1.0, 0.0], (n, 1))
    X[1::2, 0], X[1, 0] = -1.0, -0.5
    query = GradientQuery(Problem(Mixing(), n, D, RowBounds(2.0)), FAR, 0.5)
    return query, X, np.zeros(n), np.tile([-1.0, 1.0, 0.0], (n, 1)), np.zeros(n)


def sides(query, size=1.0):
    """Two directions from the same side of the hyperplane of w."""
    row = size * np.array([0.01, 1.0, 0.0])
    return query, np.tile(row, (N, 1)), ONES, np.tile(row * [1, -1, 1], (N, 1)), ONES


def own_clip():
    return sides(GradientQuery(replace(SQUARED, loss=OwnClip()), FAR, 0.1))


def tiny_rows():
    """A bound over a norm is infinite, and so are scores."""
    return sides(GradientQuery(SQUARED, np.array([inf, 0.0, 0.0]), 1e200), 1e-200)


def shifted():
    """Rows that a map's shift makes longer, with derivatives that the clip leaves whole."""
    damped = RowMap(np.array([1.0, 0.5, 0.5]), None, np.array([0.0, 0.8, 0.0]), 0.5)
    problem = Problem(Logistic(), N, D, RowBounds(1.0, row_map=damped))
    return GradientQuery(problem, np.array([0.0, 100.0, 0.0]), None), NOTHING, ONES, ALONG, ONES


def stretched():
    bounds = RowBounds(1.0, row_map=RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0))
    query = GradientQuery(Problem(Logistic(), N, D, bounds), np.array([-100.0, -100.0, 0.0]), None)
    return query, ALONG, ONES, ACROSS, ONES


def sketched():
    """Rows whose features go together in one coordinate, where they are longer than before."""
    together = RowMap(np.ones(D), None, np.zeros(1), 1.0, sketch=np.zeros(D, int))
    problem = Problem(Logistic(), N, 1, RowBounds(1.0, row_map=together))
    query = GradientQuery(problem, np.full(1, -100.0), None)
    return query, np.ones((N, D)), ONES, NOTHING, ONES


def means(bounds, X, y, other, other_y):
    return RowMeansQuery(replace(LOGISTIC, bounds=bounds), 2), X, y, other, other_y


def one_sided_means():
    """Rows that are opposite until negative features count as zero."""
    return means(RowBounds(1.0, nonnegative=True), ALONG, ZEROS, -ALONG, ZEROS)


def scaled_rows():
    """Rows that are short as they come and long on the scale that they are brought to."""
    scaling = ColumnScaling(np.full(D, 1e3))
    problem = Problem(Logistic(), N, D, RowBounds(1.0, scaling=scaling))
    X = np.full((N, D), 1e-2)
    return GradientQuery(problem, np.zeros(D), None), X, ZEROS, -X, ZEROS


def stretched_vertices():
    """A feature as large as may be, up or down, that a map makes longer than the data."""
    row_map = RowMap(np.full(2, 10.0), None, np.zeros(2), 5.0)
    problem = Problem(Logistic(), 4, 2, RowBounds(1.0, row_map=row_map))
    X = 10 * np.tile([1.0, 0.0], (4, 1))
    return VertexQuery(problem, np.zeros(2), 0.1, 3.0, True), X, ZEROS, -X, ZEROS


def stream_terms(query=StreamTermQuery):
    """A term as long as may be against none."""
    bounds = RowBounds(1.0)
    problem = Problem(Logistic(), 1, D, bounds, constraint=L1Ball(1.0))
    w = np.array([1e4, 0.0, 0.0])
    asked = query(problem, w, -w, 5, 0.1)
    return asked, ALONG[:1], ZEROS[:1], NOTHING[:1], ZEROS[:1]


def stream_scores():
    return stream_terms(StreamScoresQuery)


def moves_within_its_sensitivity(case, adjacency=REPLACE_ONE, weights=()):
    """Another row in place of one moves the answer by at most the sensitivity, in any row store."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        check_sensitivity(*case(), Adjacency(adjacency), *weights)


within = partial(partial, moves_within_its_sensitivity)


def keep_to_their_sensitivity(bounds, array):
    """Rows that were measured once, and are asked again after an array has grown."""
    query = GradientQuery(Problem(Logistic(), N, D, bounds), np.zeros(D), None)
    X = np.full((N, D), 1e-2)
    stores = [SparseRows(sp.csr_array(rows), ZEROS) for rows in (X, np.vstack([-X[:1], X[1:]]))]
    for _ in range(2):
        here, there = (query.evaluate(rows) for rows in stores)
        move = np.linalg.norm(here - there) / query.sensitivity(Adjacency.REPLACE_ONE)
        assert move <= 1 + 1e-11, f"moved by {move} times what is declared"
        array *= 1e4


def maps_stay_as_they_were():
    matrix = np.eye(D)
    bounds = RowBounds(1.0, row_map=RowMap(np.ones(D), matrix, np.zeros(D), 1.0))
    keep_to_their_sensitivity(bounds, matrix)


def scales_stay_as_they_were():
    factor = np.ones(D)
    # Sparse rows that are no longer sparse on the scale are brought to it whenever they are used.
    scaling = ColumnScaling(factor, np.full(D, 1e-3))
    keep_to_their_sensitivity(RowBounds(1.0, scaling=scaling), factor)


def examples_move_within_their_sensitivity(query):
    """Those of the battery over all queries that were made to attain it."""
    for example in EXAMPLES[query][1]:
        example.check(Adjacency.REPLACE_ONE)


def sensitivity_is_attained(case, adjacency=REPLACE_ONE):
    """A sensitivity is no larger than rows can move the answer, so that no noise is wasted."""
    assert check_sensitivity(*case(), Adjacency(adjacency)) > 0.99, "more noise than is needed"


def norms_are_in_double_precision():
    """The overshoot is a few parts in 10^8; whether a norm is rounded up depends on its bits."""
    for size in (2.1, 2.3, 2.9, 3.1, 3.7, 4.3):
        check_sensitivity(*opposite(size=size), Adjacency.ZERO_OUT)


def bent_gradients_are_as_declared():
    """The projection leaves differences as they are that are as smooth as the loss says."""
    w0 = np.array([np.pi / 2, 0.0, 0.0])
    w = w0 + np.array([1e-3, 0.0, 0.0])
    problem, rows = replace(LOGISTIC, loss=Bent()), row_stores(2 * ALONG, ZEROS)["dense"]
    gradients = [GradientQuery(problem, at).evaluate(rows) for at in (w, w0)]
    found = GradientDifferenceQuery(GradientQuery(problem, w), w0).evaluate(rows)
    np.testing.assert_allclose(found, gradients[0] - gradients[1], atol=1e-6)


def norm_is_within_the_bound():
    """Also where the square of a gradient's norm overflows."""
    query = GradientNormQuery(GradientQuery(SQUARED, np.array([1e160, 0.0, 0.0]), 1e200))
    rows = row_stores(np.random.default_rng(0).normal(size=(N, D)), ZEROS)["dense"]
    with np.errstate(all="ignore"):
        assert 0 < query.evaluate(rows) <= query.gradient.bound


def label_blind(query=opposite):
    """The same rows, whose labels are the worst, within bounds that labels do not enter."""
    gradient, *rows = query(clip=0.5)
    return replace(gradient, label_blind=True), *rows


def label_blind_gradients_vanish_at_the_truth():
    """With labels as frequent as scores say, and bounds that leave no gradient whole."""
    problem = Problem(Logistic(), N, 1, RowBounds(1.0))
    query = GradientQuery(problem, np.array([np.log(3.0)]), 0.3, label_blind=True)
    rows = row_stores(np.ones((N, 1)), np.array([1.0, 1.0, 1.0, 0.0]))["dense"]
    np.testing.assert_allclose(query.evaluate(rows), 0.0, atol=1e-15)


def largest_entry(honest, self, y, z, bound):
    """Of several scores, in place of the length."""
    d = self.derivative(y, z)
    return (d.T * np.minimum(1, bound / np.abs(self.derivative(y, z)).max(axis=1))).T


def margins_do_not_depend_on_other_rows():
    """Another row in place of one, huge or not, leaves all other scores as they are, bit by bit."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 20)) * (rng.random((50, 20)) < 0.5)
    scores = []
    for first in (X[0], np.full(20, 1e300), np.zeros(20), np.full(20, np.inf)):
        X[0] = first
        view = SparseRows(sp.csr_array(X), np.zeros(50)).bounded(RowBounds(1.0, 0.3))
        w, seen = np.zeros(21), []
        for j in (3, 7, 3, 20, 11):
            w = 0.9 * w
            w[j] += 1.0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                view.sum(lambda b, w=w, z=seen: z.append(b.scores_along(w, 0.9)) or np.zeros(1))
        scores.append(np.array(seen)[:, 1:])
    for other in scores[1:]:
        np.testing.assert_array_equal(other, scores[0])


def kept_columns_are_those_of_the_bounded_rows():
    """Sums of clipped entries after scores were kept are those before, for one bound after another."""
    rng = np.random.default_rng(0)
    X = 5 * rng.normal(size=(40, 30)) * (rng.random((40, 30)) < 0.2)
    fresh, kept = (
        SparseRows(sp.csr_array(X), np.zeros(40)).bounded(RowBounds(2.0)) for _ in range(2)
    )
    w = np.zeros(30)
    for j in range(3):
        w = w.copy()
        w[j] = 1.0
        kept.sum(lambda block, w=w: np.atleast_1d(block.scores_along(w, 1.0).sum()))
    r = rng.normal(size=40)
    for bound in (0.05, 10.0, 0.2):
        sums = [rows.sum(lambda b, c=bound: b.combine_within(r, c)) for rows in (kept, fresh)]
        np.testing.assert_allclose(*sums, rtol=0, atol=1e-12)


def rows_keep_their_bound_in_exact_arithmetic():
    rng = np.random.default_rng(1)
    V = (3 * rng.normal(size=(300, D))).astype(np.float32)
    for i in range(300):
        block = BoundedBlock(RawBlock(V[i : i + 1], np.zeros(1)), RowBounds(1.0)).loaded()
        square = sum(Fraction(float(v)) ** 2 for v in block.rows().ravel())
        assert max(square, Fraction(float(np.trace(block.gram())))) <= 1 + Fraction(1, 10**14)


def targets_keep_their_bounds():
    block = RawBlock(np.zeros((3, 1)), np.array([-7.0, 0.5, 1e9]))
    bounded = BoundedBlock(block, RowBounds(1.0, target=TargetBounds(-1.0, 1.0)))
    assert np.abs(bounded.y).max() <= 1, "a target beyond its bounds"


def rounded_answers_move_within_the_sensitivity():
    """Two answers as far apart as they can be, between points of the grid that answers lie on."""
    n = 9_000
    bounds = RowBounds(1.0, 0.0, TargetBounds(-1.0, 1.0))
    query = GradientQuery(Problem(Squared(), n, D, bounds), np.ones(D), 0.3)
    mechanism = query.mechanism(Adjacency.REPLACE_ONE, Spend(0.1))
    exact = query.sensitivity(Adjacency.REPLACE_ONE)
    g = noise_grid.spacing(mechanism.sensitivity, mechanism.noise_scale, D)
    a = g * (np.arange(D) + 0.5 - 1e-3)
    b = a + exact / np.sqrt(D)
    b += g * np.ceil(b / g - np.rint(b / g) - 0.5 + 1e-9)
    b = g * (np.rint(b / g) + 0.5 - 1e-3) + 2e-3 * g
    rounded = [np.rint(v / g) * g for v in (a, b)]
    slack = np.linalg.norm(b - a) - exact
    assert np.linalg.norm(rounded[1] - rounded[0]) - max(0.0, slack) <= mechanism.sensitivity


def answers_to_rows_that_overflow_are_zero(query):
    """Differences of two infinite derivatives are no numbers, and would say that the row is there."""
    if query is StreamScoresQuery:
        bounds = RowBounds(1.0, target=TargetBounds(-1.0, 1.0))
        problem = Problem(Squared(), 2, 2, bounds, constraint=L1Ball(1.0))
        far, rows = np.full(2, 1e300), DenseRows(np.array([[1.0, 0.0], [0.0, 0.0]]), np.zeros(2))
        term = problem, far, far, 1e10, 0.5
    else:
        problem = Problem(Softmax(3), 1, 4, RowBounds(1.0))
        rows = DenseRows(np.full((1, 4), 0.5), np.zeros(1, dtype=np.intp))
        term = problem, np.full(problem.shape, 1.7e308), None, 0, 0.5
    with np.errstate(all="ignore"):
        assert not query(*term).evaluate(rows).any()


# Bugs.


def unclipped(sparse):
    def effect(self, raw, bounds):
        self._factor = None if sp.issparse(raw.X) == sparse else self._factor

    return after(effect)


def single_precision(sparse):
    def bug(honest, self):
        if sp.issparse(self.X) != sparse or self.X.dtype != np.float32:
            return honest(self)
        X = self.X.toarray() if sparse else self.X
        return np.sqrt(np.einsum("ij,ij->i", X, X)).astype(np.float64)

    return bug


def intercept_outside(self, raw, bounds):
    self.lengths = Lengths(np.minimum(raw.norms, bounds.data_norm))


def weight_outside(honest, self, block):
    z = block.scores(self.w)
    weight = np.take(self.problem.class_weight, block.y.astype(np.intp))
    slope = self.problem.loss.clipped_derivative(block.y, z, self.bound / block.norms)
    return block.combine(slope * weight)


def any_clip(honest, self, block):
    loss, z = self.problem.loss, block.scores(self.w)
    return block.combine(loss.clipped_derivative(block.y, z, self.bound / block.norms))


def infinite_limit(honest, self, block):
    limit, z = self.bound / block.norms, block.scores(self.w)
    r = Loss.clipped_derivative(self.problem.loss, block.y, z, limit)
    return np.nan_to_num(block.combine(r))


def by_class(honest, self, y, z, bound):
    return np.clip(self.derivative(y, z), -np.asarray(bound)[:, None], bound[:, None])


def first_class_missing(honest, self, y, z, bound):
    d = self.derivative(y, z)
    norms = np.sqrt(np.einsum("ij,ij->i", d[:, 1:], d[:, 1:]))
    return d * np.minimum(1, bound / np.maximum(norms, 1e-300))[:, None]


def lossy(honest, a, t, smoothness, kind):
    a -= kind[0] * smoothness * t
    length, most = np.linalg.norm(a, axis=1), kind[1] * smoothness * np.linalg.norm(t, axis=1)
    a *= np.minimum(1.0, most / length * (1 - 2.0**-52))[:, None]
    a += kind[0] * smoothness * t


def without_map(honest, self, adjacency):
    bounds = replace(self.problem.bounds, row_map=None)
    return honest(replace(self, problem=replace(self.problem, bounds=bounds)), adjacency)


def bounds_before_weighting(honest, self, block):
    limit = self.clip * self.problem.row_norm / block.norms
    loss = self.problem.loss
    r = (self.index + 1) * loss.clipped_derivative(block.y, block.scores(self.w), limit)
    r -= self.index * loss.clipped_derivative(block.y, block.scores(self.before), limit)
    return r


def centred_scores(honest, self, w, shrunk):
    z = honest(self, w, shrunk)
    return z + 2.0**-40 * z.mean()


THREE_TARGETS = RowBounds(2.0, 0.0, TargetBounds((-1.0, -1.0, 0.0), (1.0, 3.0, 2.0)))


def opposite_targets(query):
    """All three residuals of a row at their bounds, and then at the others."""
    low, high = (np.tile(end, (N, 1)) for end in THREE_TARGETS.target.ends)
    return query, 5 * ALONG, low, 5 * ALONG, high


def counts_of_a_target():
    return opposite_targets(HistogramQuery("target", np.array([0.5]), column=1))


def targets_far_apart():
    """From the first of many cells to the last."""
    return HistogramQuery("target", TENTHS), 2 * ALONG, ZEROS, 2 * ALONG, ONES


def sizes_far_apart():
    return GradientSizesQuery(SQUARED, np.zeros(D), TENTHS), 2 * ALONG, ZEROS, 2 * ALONG, ONES


def of_all_targets(honest, self, block):
    return sum(honest(replace(self, column=k), block) for k in range(block.y.shape[1]))


AGAINST = partial(
    extreme_gradients.test_sensitivity_against_the_rest_holds_and_is_attained,
    Hinge(),
    0.5,
    Adjacency.REPLACE_ONE,
)
crafted = partial(partial, examples_move_within_their_sensitivity)
FINITE = {"Loss.shrunk": lambda honest, d, limit: np.nan_to_num(d, posinf=0, neginf=0)}
WITH_INTERCEPT = partial(opposite, replace(LOGISTIC, bounds=RowBounds(2.0, 2.0)), clip=0.5)
WITH_WEIGHTS = partial(opposite, replace(LOGISTIC, class_weight=(3.0, 3.0)), clip=0.5)


def of_loss(loss, clip=0.5):
    return partial(opposite, replace(LOGISTIC, loss=loss), clip=clip)


CLIPPED = "Loss.clipped_derivative"
UNCLIPPED = {CLIPPED: lambda _, self, y, z, bound: self.derivative(y, z)}


def unweighed(honest, problem, influence, block):
    rows = honest(problem, influence, block)
    return rows._replace(weight=np.ones(len(rows.weight)))


def unweighed_classes(honest, problem, influence, block):
    for rows in honest(problem, influence, block):
        yield rows._replace(weight=np.ones(len(rows.weight)))


def unweighed_targets(honest, self, block):
    """The score of rows that only the curvature weighs."""
    answer, rows = honest(self, block), scores.weighed_block(*_asked(self), block)
    r = scores.residuals(*_asked(self), block, self.influence.w)
    k = rows.coordinates.shape[1]
    start = k * (k + 1) // 2
    r = np.clip(r, -rows.largest, rows.largest)
    answer[start : start + k] = self.weight * (rows.coordinates.T @ r)
    return answer


def _asked(query):
    return query.problem, query.influence


def unbounded_scores(honest, self, block):
    """Scores bounded where rows are weighed, and not where they are taken."""
    rows = scores.weighed_block(*_asked(self), block)
    r = scores.residuals(*_asked(self), block, self.w)
    q = rows.coordinates * (rows.weight * r)[:, None]
    for scored in honest(self, block):
        yield np.column_stack([q, scored[:, -2:]])


def rows_do_not_move_others_to_another_bin():
    """Unless edges are refused, among which a search goes on from where the last one ended."""
    edges = np.array([7.0, 4.0, 6.0, 2.0, 5.0, 3.0, 9.0, 8.0, 1.0])
    X, other, y = np.full((20, 1), 3.5), np.full((20, 1), 0.5), np.zeros(20)
    X[0] = 6.5
    with suppress(ValueError):
        query = HistogramQuery("row_norm", edges)
        check_sensitivity(query, X, y, other, y, Adjacency.REPLACE_ONE)


def with_a(name, bounds):
    """True of rows without negative features whose map has this."""
    row_map = bounds.row_map
    found = None if row_map is None else getattr(row_map, name)
    return bounds.nonnegative and found is not None and bool(np.any(found))


def votes_for_missing(honest, self, block):
    return honest(self, replace(block, X=np.nan_to_num(block.X, nan=5.0)))


def counted_everywhere(honest, self, block):
    missing = np.isnan(block.X).sum(axis=0)
    return honest(self, block) + missing[:, None]


BUGS = (
    # Sensitivities.
    Bug("sums without the factor of two", {"GradientQuery.extents": lambda honest, self: (honest(self)[1],) * 2}, within(opposite), TOO_FAR),
    Bug("counts without the root of two", {"Adjacency.of_histogram": gives(1.0)}, crafted(HistogramQuery), TOO_FAR),
    Bug("gradient norms of half their sensitivity", {"GradientNormQuery.sensitivity": times(0.5)}, crafted(GradientNormQuery), TOO_FAR),
    Bug("a mean over one row too many", {"GradientQuery.sensitivity": times(N / (N + 1))}, within(opposite), TOO_FAR),
    Bug("counts between edges that do not increase", {"counts.check_edges": gives(None)}, rows_do_not_move_others_to_another_bin, TOO_FAR),
    Bug("a share of weighted rows less any number", {"GradientAndShareQuery.__post_init__": gives(None)}, partial(of_limits.test_what_it_is_not_proved_for_is_refused, *of_limits.REFUSED["usual share 1000000.0"]), "DID NOT RAISE"),
    Bug("a range of scores whose square is lost", {"score_scale.kept": lambda _, bound, n: bound}, partial(of_limits.test_bounds_that_double_precision_does_not_keep_have_no_price, of_limits.WITHOUT_PRICE["score scale, 1e-162"]), "DID NOT RAISE"),
    Bug("labels priced as if a row were in one count only", {"CountQuery.sensitivity": gives(1.0)}, crafted(HistogramQuery), TOO_FAR),
    *(Bug(f"a row that counts in all cells from its own on ({case.__name__})", {f"{query.__name__}._of_block": lambda honest, self, block: honest(self, block).cumsum()}, within(case), TOO_FAR) for query, case in ((HistogramQuery, targets_far_apart), (GradientSizesQuery, sizes_far_apart))),
    Bug("moments priced as if a row could only vanish", {"MomentsQuery.sensitivity": times(sqrt(0.5))}, crafted(MomentsQuery), TOO_FAR),
    Bug("sizes of gradients without the root of two", {"CountQuery.sensitivity": gives(1.0)}, crafted(GradientSizesQuery), TOO_FAR),
    Bug("a share that is not counted beside its gradient", {"GradientAndShareQuery.sensitivity": lambda _, self, a: self.gradient.sensitivity(a)}, crafted(GradientAndShareQuery), TOO_FAR),
    Bug("sums by class without the root of two", {"RowMeansQuery.sensitivity": lambda _, self, a: self.problem.bounds.row_norm / N}, crafted(RowMeansQuery), TOO_FAR),
    Bug("column moments without the factor of two", {"ColumnMomentsQuery.sensitivity": times(0.5)}, crafted(ColumnMomentsQuery), TOO_FAR),
    Bug("features that share one sensitivity", {"ColumnMomentsQuery.sensitivity": times(sqrt(1 / 3))}, crafted(ColumnMomentsQuery), TOO_FAR),
    Bug("squares of columns of too much weight", {"columns._WEIGHT": Value(2.0)}, partial(of_columns.test_sensitivities_are_attained_and_missing_entries_cost_nothing_beside, *of_columns.MOMENTS)),
    Bug("missing entries of too much weight", {"columns._MISSING": Value(sqrt(3.0))}, partial(of_columns.test_sensitivities_are_attained_and_missing_entries_cost_nothing_beside, *of_columns.MOMENTS)),
    Bug("edges that are rounded to the type of what is counted", {"queries.reached": lambda honest, edges, values: honest(edges.astype(values.dtype), values)}, partial(of_columns.test_the_type_in_which_targets_are_kept_moves_no_row_to_another_bin, 3)),
    Bug("votes of a row that are not divided among its entries", {"columns.divided_votes": lambda _, entries, weights: np.ones(entries.size) if weights is None else weights}, crafted(MagnitudeVotesQuery), TOO_FAR),
    Bug("votes of a row that are divided as if lengths were sums of entries", {"MagnitudeVotesQuery.sensitivity": gives(1.0)}, crafted(MagnitudeVotesQuery), TOO_FAR),
    Bug("votes for what is missing", {"MagnitudeVotesQuery._of_block": votes_for_missing}, of_columns.test_entries_that_are_not_numbers_count_in_no_moment_vote_for_nothing_and_are_counted),
    Bug("cells of columns that share one sensitivity", {"ColumnCellsQuery.sensitivity": gives(sqrt(2.0))}, crafted(ColumnCellsQuery), TOO_FAR),
    Bug("a tree of counts priced by one of its levels", {"ColumnTreeQuery.sensitivity": lambda _, self, a: sqrt(2.0 * self.bounds.low.size)}, crafted(ColumnTreeQuery), TOO_FAR),
    Bug("trees of counts of columns that share one sensitivity", {"ColumnTreeQuery.sensitivity": lambda _, self, a: sqrt(2.0 * self.levels)}, crafted(ColumnTreeQuery), TOO_FAR),
    Bug("a missing value that is counted in every node of a tree", {"ColumnTreeQuery._of_block": counted_everywhere}, partial(of_columns.test_sensitivities_are_attained_and_missing_entries_cost_nothing_beside, *of_columns.TREE)),
    Bug("normal equations without their targets", {"NormalEquationsQuery.sensitivity": lambda _, self, a: sqrt(2.0) * self.problem.bounds.row_norm**2 / self.problem.n_samples}, crafted(NormalEquationsQuery), TOO_FAR),
    Bug("a mean of two parts in the normal equations", {"NormalEquationsQuery.sensitivity": lambda _, self, a: self.problem.bounds.row_norm**2 * sqrt(2 + 4 * self.balance) / self.problem.n_samples}, crafted(NormalEquationsQuery), TOO_FAR),
    Bug("a curvature whose score is not counted", {"ScoreAndCurvatureQuery.sensitivity": lambda _, self, a: sqrt(2.0) * self.influence.curvature / N}, crafted(ScoreAndCurvatureQuery), TOO_FAR),
    Bug("labels priced as if their scores followed from curvatures", {"ScoreAndCurvatureQuery.sensitivity": lambda _, self, a: sqrt(2.0) * (1 + self.balance) * self.influence.curvature / N}, crafted(ScoreAndCurvatureQuery), TOO_FAR),
    Bug("several classes priced as two", {"ScoreAndCurvatureQuery.sensitivity": lambda _, self, a: sqrt(max(2 * (1 + self.balance) ** 2, 1 + 8 * self.balance)) * self.influence.curvature / N}, crafted(ScoreAndCurvatureQuery), TOO_FAR),
    Bug("rows of several classes of any influence", {"score_and_curvature.weighed_classes": unweighed_classes}, crafted(ScoreAndCurvatureQuery), TOO_FAR),
    Bug("rows of several classes weighed for their scores alone", {"score_and_curvature.weighed_classes": lambda honest, problem, influence, block: honest(problem, replace(influence, curvature=1e300), block)}, lambda: torn(5.0, 3.0).check(Adjacency.REPLACE_ONE), TOO_FAR),
    Bug("moments of several classes that keep no bound", {"score_and_curvature._shorten": lambda _, q, bound: np.zeros(len(q), dtype=bool)}, crafted(ScoreMomentsQuery), TOO_FAR),
    Bug("times priced as if a row could only vanish", {"ScoreAndCurvatureQuery.sensitivity": times(sqrt(0.5))}, lambda: timed(1.0).check(Adjacency.REPLACE_ONE), TOO_FAR),
    Bug("rows with times of any influence", {"score_and_curvature.timed_rows": unweighed}, lambda: timed(3.0).check(Adjacency.REPLACE_ONE), TOO_FAR),
    Bug("rows with times weighed for their curvatures alone", {"score_and_curvature.timed_rows": lambda honest, problem, influence, block: honest(problem, replace(influence, score=1e300), block)}, lambda: timed(3.0).check(Adjacency.REPLACE_ONE), TOO_FAR),
    Bug("rows with times weighed for their scores alone", {"score_and_curvature.timed_rows": lambda honest, problem, influence, block: honest(problem, replace(influence, curvature=1e300), block)}, lambda: timed(3.0).check(Adjacency.REPLACE_ONE), TOO_FAR),
    Bug("places and times that may cancel as far as they like", {"score_and_curvature._LEAST_PART": Value(1e-12)}, of_scores.test_parts_of_a_curvature_that_cancel_are_within_its_bound_and_margin),
    Bug("rows of any influence on a score", {"score_and_curvature.weighed_block": unweighed}, crafted(ScoreAndCurvatureQuery), TOO_FAR),
    Bug("rows weighed for their curvature alone", {"score_and_curvature.weighed_block": lambda honest, problem, influence, block: honest(problem, influence if problem.loss.squared else replace(influence, score=1e300), block)}, crafted(ScoreAndCurvatureQuery), TOO_FAR),
    Bug("residuals of a score that are not clipped", {"score_and_curvature.np.clip": lambda _, r, *args, **options: r}, crafted(ScoreAndCurvatureQuery), TOO_FAR),
    Bug("targets that are not weighed with their rows", {"ScoreAndCurvatureQuery._of_block": unweighed_targets}, crafted(ScoreAndCurvatureQuery), TOO_FAR),
    Bug("moments of scores priced as if a row could only vanish", {"ScoreMomentsQuery.sensitivity": times(sqrt(0.5))}, crafted(ScoreMomentsQuery), TOO_FAR),
    Bug("one share of bounded rows that is not counted", {"ScoreMomentsQuery.sensitivity": lambda _, self, a: np.hypot(sqrt(2.0) * self.influence.score**2, self.of_shares) / N}, crafted(ScoreMomentsQuery), TOO_FAR),
    Bug("scores at another model that keep no bound", {"ScoreMomentsQuery._scored": unbounded_scores}, crafted(ScoreMomentsQuery), TOO_FAR),
    Bug("vertices priced without the factor of two", {"VertexQuery.sensitivity": times(0.5)}, crafted(VertexQuery), TOO_FAR),
    Bug("vertices priced by the norm of the data before a map", {"VertexQuery.sensitivity": without_map}, within(stretched_vertices), TOO_FAR),
    Bug("selections priced for half their range", {"SelectionQuery.sensitivity": times(0.5)}, crafted(SelectionQuery), TOO_FAR),
    Bug("vertices priced twice", {"VertexQuery.sensitivity": times(2.0)}, partial(sensitivity_is_attained, stretched_vertices), "more noise"),
    Bug("one-sided rows priced as two-sided ones", {"RowMeansQuery.one_sided": Value(False)}, partial(sensitivity_is_attained, lambda: means(RowBounds(1.0, nonnegative=True), ALONG, ZEROS, ACROSS, ZEROS)), "more noise"),
    Bug("two-sided rows priced as one-sided ones", {"RowMeansQuery.one_sided": Value(True)}, crafted(RowMeansQuery), TOO_FAR),
    *(Bug(f"a map with a {name} that turns signs taken for one-sided", {"RowMeansQuery.one_sided": lambda honest, self, name=name: honest(self) or with_a(name, self.problem.bounds)}, crafted(RowMeansQuery), TOO_FAR) for name in ("shift", "matrix")),
    # Differences of gradients.
    Bug("a difference of half its radius", {"GradientDifferenceQuery.sensitivity": times(0.5)}, crafted(GradientDifferenceQuery), TOO_FAR),
    Bug("a difference whose public centre is forgotten", {"GradientDifferenceQuery._ball": lambda honest, self: (0.0, honest(self)[1])}, within(differences_along, ZERO_OUT), TOO_FAR),
    Bug("a distance from another point than the origin of the difference", {"GradientDifferenceQuery.sensitivity": times(0.1)}, crafted(GradientDifferenceQuery), TOO_FAR),
    Bug("no factor of two for a loss that is not convex", {"GradientDifferenceQuery._kind": Value((0.5, 0.5))}, bent_gradients_are_as_declared),
    Bug("a difference of gradients without its projection", {"gradient_difference._project": gives(None)}, crafted(GradientDifferenceQuery), TOO_FAR),
    Bug("a difference of label-blind gradients without its projection", {"gradient_difference._project": gives(None)}, crafted(GradientDifferenceQuery), TOO_FAR),
    Bug("a difference of gradients of several classes without its projection", {"gradient_difference._project": of_one_score}, crafted(GradientDifferenceQuery), TOO_FAR),
    Bug("projections in units of the centre", {"gradient_difference._project": lossy}, within(far_points), TOO_FAR),
    # Bounds on rows.
    Bug("dense rows that are not clipped", {"BoundedBlock.__init__": unclipped(False)}, within(opposite), TOO_FAR),
    Bug("sparse rows that are not clipped", {"BoundedBlock.__init__": unclipped(True)}, within(opposite), TOO_FAR),
    Bug("rows that are clipped in their scores alone", {"BoundedBlock.combine": lambda _, self, r: self._X.T @ r}, within(opposite), TOO_FAR),
    Bug("an intercept outside the bound on rows", {"BoundedBlock.__init__": after(intercept_outside)}, within(WITH_INTERCEPT), TOO_FAR),
    Bug("norms of dense float32 rows in single precision", {"RawBlock.norms": single_precision(False)}, norms_are_in_double_precision, f"({TOO_FAR}).*dense, single"),
    Bug("norms of sparse float32 rows in single precision", {"RawBlock.norms": single_precision(True)}, norms_are_in_double_precision, f"({TOO_FAR}).*csr, single"),
    Bug("duplicate entries of sparse rows that are not added up", {"SparseRows._usable": lambda _, self, X: X}, within(opposite), "entries in parts"),
    Bug("norms of rows as they came in place of those on the scale", {"RawBlock.norms_on": lambda _, self, scaling: self.norms}, within(scaled_rows), TOO_FAR),
    Bug("norms on the scale of an earlier question", {"RawBlock.norms_on": lambda honest, self, scaling: honest(self, ColumnScaling(scaling.factor / 10))}, within(scaled_rows), TOO_FAR),
    Bug("a map that changes with the array that it was made of", {"RowMap.__post_init__": lambda _, self: None}, maps_stay_as_they_were, TOO_FAR),
    Bug("a scale that changes with the array that it was made of", {"ColumnScaling.__post_init__": lambda _, self: None}, scales_stay_as_they_were, TOO_FAR),
    Bug("norms that overflow", {"bounded_rows._tamed": lambda _, X, huge, limit: X}, within(huge), TOO_FAR),
    Bug("products of rows in single precision", {"bounded_rows._copied_in_double": lambda _, X, *room: X.copy()}, rows_keep_their_bound_in_exact_arithmetic),
    Bug("targets that are not brought to their bounds", {"BoundedBlock.__init__": sets("y", lambda self, raw, bounds: raw.y)}, targets_keep_their_bounds),
    Bug("a clip that is forgotten after a change of coordinates", {"MappedBlock._lengths_of": times(1e-3)}, crafted(MomentsQuery), TOO_FAR),
    Bug("a clip that is skipped for mapped sparse rows", {"MappedBlock.lengths": lambda honest, self: Lengths(honest(self).norms) if sp.issparse(self._X) else honest(self)}, within(shifted, ZERO_OUT), TOO_FAR),
    Bug("a shift that is forgotten in norms", {"mapped.sparse_lengths": lambda honest, block, m: honest(block, replace(m, shift=np.zeros(D)))}, within(shifted, ZERO_OUT), TOO_FAR),
    Bug("a sketch that is forgotten in norms of sparse rows", {"RowMap.mixes": Value(False)}, within(sketched, ZERO_OUT), TOO_FAR),
    Bug("a scale that is forgotten in norms", {"mapped.sparse_lengths": lambda honest, block, m: honest(block, replace(m, scale=np.full(D, 1e-3)))}, within(stretched), TOO_FAR),
    Bug("negative features that stay in one-sided rows", {"bounded_rows._without_negatives": lambda _, X: X}, within(one_sided_means), TOO_FAR),
    Bug("scores that depend on the size of other rows", {"BoundedBlock.scores_along": centred_scores}, margins_do_not_depend_on_other_rows),
    Bug("columns that were clipped to an earlier bound", {"ScoreCache.combine_within": lambda honest, self, r, bound: honest(self, r, bound if self._clipped is None else self._clipped[0])}, kept_columns_are_those_of_the_bounded_rows),
    Bug("kept columns of rows that are not bounded", {"ScoreCache.scores": lambda honest, self, X, factor, w, shrunk: honest(self, X, None, w, shrunk)}, kept_columns_are_those_of_the_bounded_rows),
    Bug("column values that are not clipped", {"columns.np.clip": lambda _, values, *args, **options: values}, crafted(ColumnMomentsQuery), TOO_FAR),
    Bug("entries that are not clipped for vertices", {"BoundedBlock.combine_within": lambda honest, self, r, bound: honest(self, r, np.inf)}, crafted(VertexQuery), TOO_FAR),
    Bug("entries that are not clipped for selections", {"BoundedBlock.combine_within": lambda honest, self, r, bound: honest(self, r, np.inf)}, crafted(SelectionQuery), TOO_FAR),
    # Clips of derivatives.
    *(
        Bug(f"derivatives of {type(loss).__name__} without their clip", UNCLIPPED, within(of_loss(loss)), TOO_FAR)
        for loss in (Logistic(), Softmax(3), Squared())
    ),
    Bug("a wrong Lipschitz constant that is trusted", UNCLIPPED, within(of_loss(HalvedLogistic(), None)), TOO_FAR),
    Bug("derivatives that are not clipped from below", {CLIPPED: lambda honest, self, y, z, b: np.minimum(self.derivative(y, z), b)}, within(of_loss(Squared())), TOO_FAR),
    Bug("each class clipped by itself", {CLIPPED: by_class}, AGAINST, TOO_FAR),
    Bug("a class that is missing from the joint clip", {CLIPPED: first_class_missing}, AGAINST, TOO_FAR),
    Bug("each target clipped by itself", {CLIPPED: by_class}, crafted(GradientQuery), TOO_FAR),
    Bug("normal equations of several targets as if of one", {"NormalEquationsQuery._of_block": lambda honest, self, block: np.column_stack([(m := honest(self, block))[:, :D], sqrt(3.0) * m[:, D:]])}, crafted(NormalEquationsQuery), TOO_FAR),
    Bug("a histogram of one target that counts them all", {"HistogramQuery._of_block": of_all_targets}, within(counts_of_a_target), TOO_FAR),
    Bug("a class weight outside the clip", {"GradientQuery.of_block": weight_outside}, within(WITH_WEIGHTS), TOO_FAR),
    Bug("a heavier class that is not counted in the clip", {"GradientQuery.of_block": weight_outside}, partial(extreme_gradients.test_weights_of_either_sign_stay_within_the_bound, (1.0, 5.0)), TOO_FAR),
    Bug("a loss that mixes rows", {"Mixing._at": lambda _, self, z: np.full_like(z, z.mean())}, within(mean_scores), TOO_FAR),
    Bug("bounds that labels enter in spite of all", {"Loss.label_blind_derivative": lambda _, self, y, z, b: Loss.clipped_derivative(self, y, z, b)}, label_blind_gradients_vanish_at_the_truth),
    Bug("a label-blind bound on the largest entry", {"Loss.label_blind_derivative": largest_entry}, within(partial(label_blind, partial(opposite, replace(LOGISTIC, loss=Softmax(3))))), TOO_FAR),
    Bug("a label-blind bound by half of the worst, and no clip behind it", {"Logistic._derivative_and_worst": lambda honest, self, y, z: (honest(self, y, z)[0], 0.5 * honest(self, y, z)[1]), "Loss.shrunk": lambda _, d, bound: d}, within(label_blind), TOO_FAR),
    Bug("a clip that a loss brings itself", {"GradientQuery.of_block": any_clip}, within(own_clip), TOO_FAR),
    Bug("infinite derivatives within an infinite bound", {"GradientQuery.of_block": infinite_limit}, within(tiny_rows), TOO_FAR),
    Bug("a norm whose square overflows", {"GradientNormQuery.evaluate": lambda _, self, rows: np.asarray(np.linalg.norm(self.gradient.evaluate(rows)))}, norm_is_within_the_bound),
    Bug("derivatives of another shape than scores", {"Loss._checked": lambda _, self, d, z: d}, extreme_gradients.test_a_column_as_w_would_mix_rows_and_is_refused),
    Bug("half the box of residuals at a scale", {"ScoreScaleQuery.sensitivity": times(0.5)}, crafted(ScoreScaleQuery), TOO_FAR),
    Bug("the radius of the box of residuals", {"ScoreScaleQuery.sensitivity": lambda _, self, adjacency: self.reach / self.problem.n_samples}, crafted(ScoreScaleQuery), TOO_FAR),
    Bug("a sum of residuals over the largest weight", {"ScoreScaleQuery._of_block": times(1.2)}, crafted(ScoreScaleQuery), TOO_FAR),
    Bug("slopes that are not clipped", {CLIPPED: lambda honest, self, y, z, b: honest(self, y, z, np.inf)}, crafted(InterceptGradientQuery), TOO_FAR),
    Bug("vertices from derivatives with twice their bound", {"VertexQuery._of_block": lambda honest, self, block: honest(replace(self, clip=2 * self.clip), block)}, crafted(VertexQuery), TOO_FAR),
    Bug("residuals of selections that are not clipped", {"SelectionQuery._of_block": lambda _, self, block: block.combine_within(block.y - block.scores(self.w), 0.5)}, crafted(SelectionQuery), TOO_FAR),
    Bug("terms of a stream without their bound", FINITE, within(stream_terms), TOO_FAR),
    Bug("a bound on gradients before a stream weighs them", FINITE | {"StreamTerm.derivatives": bounds_before_weighting}, within(stream_terms), TOO_FAR),
    Bug("scores of a stream that are bounded before they are weighed", FINITE | {"StreamTerm.derivatives": bounds_before_weighting, "stream_terms.np.clip": lambda _, d, low, high: d}, within(stream_scores), TOO_FAR),
    Bug("class weights of a stream after the bound", {"StreamTerm.weighted": lambda _, self, block, r: 3.0 * r}, crafted(StreamTermQuery), TOO_FAR),
    Bug("derivatives in a stream that are no numbers", {"Loss.shrunk": lambda _, d, limit: d}, partial(answers_to_rows_that_overflow_are_zero, StreamTermQuery)),
    Bug("scores in a stream that are no numbers", {"stream_terms.np.copyto": gives(None)}, partial(answers_to_rows_that_overflow_are_zero, StreamScoresQuery)),
    # Rounding.
    Bug("a sensitivity without the margin for rounding", {"queries.inflated": lambda _, sensitivity, rounding: sensitivity}, rounded_answers_move_within_the_sensitivity),
)  # fmt: skip
