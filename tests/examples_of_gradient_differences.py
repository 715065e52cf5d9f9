"""Examples of gradient differences with neighbouring data sets."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from example_of_a_query import Example

from skdp.privacy.queries import GradientDifferenceQuery, GradientQuery
from skdp.problem import CountBounds, Problem, RowBounds, TargetBounds
from skdp.problem.losses import Huber, Logistic, Loss, Poisson, Softmax, Squared

N, D = 4, 3
# Far below the curvature's own scale, far above the rounding of derivatives.
SHORT = 1e-5


@dataclass(frozen=True)
class Bent(Loss):
    """``1 - cos(z)``: smooth and not convex."""

    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = 1.0
    convex: ClassVar[bool] = False
    targets: ClassVar[str] = "anything"

    def value(self, y, z):
        return 1 - np.cos(z)

    def derivative(self, y, z):
        return np.sin(z)

    def _valid(self, y):
        return np.isfinite(y)


@dataclass(frozen=True)
class Flattered(Softmax):
    """Claims to be smoother than it is: rows are brought to what it declares."""

    smoothness: ClassVar[float] = 1e-3


def problem_for(loss, intercept=0.0, weights=None, norm=2.0):
    target = TargetBounds(-2.0, 6.0) if isinstance(loss, Squared | Huber) else None
    target = CountBounds(0.0, 2.0) if loss.log_means else target
    return Problem(loss, N, D, RowBounds(norm, intercept, target), class_weight=weights)


def problems():
    for loss in (Logistic(), Softmax(2), Softmax(3), Squared(), Huber(0.25), Poisson(), Bent()):
        for intercept in (0.0, 1.5):
            yield problem_for(loss, intercept)
    yield problem_for(Logistic(), weights=(0.2, 7.0))
    yield problem_for(Softmax(3), intercept=0.1, weights=(5.0, 1e-200, 3.0), norm=1e-3)


def difference(problem, w0, delta, clip=None, blind=False):
    gradient = GradientQuery(problem, w0 + delta, clip, label_blind=blind)
    return GradientDifferenceQuery(gradient, w0)


def tile(row):
    return np.tile(np.asarray(row, dtype=float), (N, 1))


def random_part(problem, rng):
    """Rows of all sizes, zero, tiny and huge ones among them, and their targets."""
    X = rng.normal(size=(N, D)) * 10.0 ** rng.uniform(-3, 3, size=(N, 1))
    X[rng.random(N) < 0.2] *= rng.choice([0.0, 1e300, 1e-300])
    loss = problem.loss
    if isinstance(loss, Squared | Huber | Bent):
        return X, 10.0 ** rng.uniform(-2, 2, N) * rng.choice([-1.0, 1.0], N)
    return X, rng.integers(0, max(2, loss.n_scores), N).astype(float)


def random_differences():
    rng = np.random.default_rng(11)
    for problem in problems():
        for clip in (None, 0.3 * problem.row_norm, 1e-6, math.inf):
            w0, delta = rng.normal(size=(2, *problem.shape)) * 10.0 ** rng.uniform(-2, 2)
            query = difference(problem, w0, rng.choice([1e-6, 1.0, 1e4]) * delta, clip)
            yield Example(query, *random_part(problem, rng), *random_part(problem, rng))


def label_blind():
    """Bounds that labels do not enter: at random, and where these bend more than the loss does."""
    rng = np.random.default_rng(12)
    for problem in problems():
        if not problem.loss.of_residuals:
            w0, delta = rng.normal(size=(2, *problem.shape))
            query = difference(problem, w0, delta, 0.3 * problem.row_norm, blind=True)
            yield Example(query, *random_part(problem, rng), *random_part(problem, rng))
    problem = problem_for(Logistic())
    X = tile([problem.bounds.data_norm, 0.0, 0.0])
    delta = np.array([SHORT, 0.0, 0.0])
    query = difference(problem, np.zeros(D), delta, 0.5 * problem.row_norm, blind=True)
    yield Example(query, X, np.ones(N), X, np.zeros(N))


def across(problem):
    """Rows at half a right angle on either side of delta: antipodes of the ball."""
    half = math.sqrt(0.5) * problem.bounds.data_norm
    return tile([half, half, 0.0]), tile([half, -half, 0.0])


def within_reach(losses=(Logistic(), Softmax(2), Softmax(3), Squared(), Huber(0.25))):  # noqa: B008
    """Short steps where the loss has its full curvature, without a clip and with a loose one."""
    for loss in losses:
        weights = (7.0, 7.0) if isinstance(loss, Logistic) else None
        problem = problem_for(loss, weights=weights)
        w0 = np.zeros(problem.shape)
        delta = np.zeros(problem.shape)
        delta[0] = SHORT if loss.n_scores == 1 else [SHORT, -SHORT, 0.0][: loss.n_scores]
        if loss.n_scores == 3:
            # The first two classes alone, evenly: there is an intercept to say so.
            problem = problem_for(loss, intercept=1e-3)
            w0, delta = np.zeros(problem.shape), np.zeros(problem.shape)
            w0[-1] = [0.0, 0.0, -1e6]
            delta[0] = SHORT, -SHORT, 0.0
        X, other_X = across(problem)
        y = np.full(N, 2.0 if isinstance(loss, Squared | Huber) else 0.0)
        for clip in (None, math.inf):
            yield Example(difference(problem, w0, delta, clip), X, y, other_X, y)


def beyond_reach():
    """Steps over the whole range of clipped derivatives, forwards and backwards."""
    for loss in (Squared(), Huber(0.25)):
        for intercept in (0.0, 1.5):
            problem = problem_for(loss, intercept)
            row = problem.bounds.data_norm * np.array([1e-3, 1.0, 0.0])
            w0, delta = np.zeros((2, *problem.shape))
            w0[0], delta[0] = -1e7, 2e7
            query = difference(problem, w0, delta, 0.1)
            y = np.full(N, 2.0)
            yield Example(query, tile(row), y, tile(row * [-1, 1, 1]), y)


def between():
    """Steps at which the ball of smoothness and the one of the clip cut each other."""
    for share in (0.1, 0.3, 0.5, 0.65):
        problem = problem_for(Squared())
        R, clip = problem.bounds.data_norm, 0.4
        # The clip as a share of the radius of smoothness.
        length = 2 * clip / (share * R**2)
        cosine = share
        row = R * np.array([cosine, math.sqrt(1 - cosine**2), 0.0])
        w0, delta = np.array([-length / 2, 0.0, 0.0]), np.array([length, 0.0, 0.0])
        y = np.full(N, 2.0)
        yield Example(difference(problem, w0, delta, clip), tile(row), y, tile(row * [1, -1, 1]), y)


def bent():
    """Curvature 1 for one row and -1 for the other, both along delta."""
    problem = problem_for(Bent(), intercept=1e-6)
    R = problem.bounds.data_norm
    # The small constant takes the second row, which points backwards, to the top of the cosine.
    w0, delta = np.zeros((2, *problem.shape))
    w0[0], w0[-1] = math.pi / (2 * R), math.pi / 2 / 1e-6
    delta[0] = SHORT
    X, other_X, y = tile([9.0, 0.0, 0.0]), tile([-9.0, 0.0, 0.0]), np.zeros(N)
    yield Example(difference(problem, w0, delta), X, y, other_X, y)


EXAMPLES = {
    GradientDifferenceQuery: (
        [*random_differences(), *label_blind()],
        [
            *(e for kind in (within_reach, beyond_reach, between, bent) for e in kind()),
            *within_reach([Flattered(3)]),
        ],
    )
}
