"""The pinball loss: its minimum, its bounds in order, and rows that are weighed."""

from itertools import product

import numpy as np
import pytest
from example_of_a_query import Example
from sklearn.metrics import mean_pinball_loss

from skdp.privacy import Adjacency
from skdp.privacy.queries import GradientQuery, InterceptGradientQuery
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Pinball

N, D = 4, 3
LISTS = [(0.5,), (0.9,), (0.05, 0.95), (0.1, 0.5, 0.9), (0.6, 0.7, 0.8, 0.99)]
every_list = pytest.mark.parametrize("quantiles", LISTS, ids=str)


def shaped(loss, z):
    return z[:, 0] if loss.n_scores == 1 else z


@every_list
def test_value_is_that_of_scikit_learn(quantiles):
    rng = np.random.default_rng(0)
    loss, y, z = Pinball(quantiles), rng.normal(size=50), rng.normal(size=(50, len(quantiles)))
    each = [mean_pinball_loss(y, z[:, k], alpha=q) for k, q in enumerate(quantiles)]
    assert np.isclose(loss.value(y, shaped(loss, z)).mean(), sum(each))


@every_list
def test_weighed_from_is_the_largest_norm_of_scores_in_order(quantiles):
    loss = Pinball(quantiles)
    z = np.array(list(product((-1.0, 1.0), repeat=len(quantiles))))
    d = loss.derivative(np.zeros(len(z)), shaped(loss, z)).reshape(len(z), -1)
    norms = np.linalg.norm(d, axis=1)
    ordered = np.all(np.diff(z, axis=1) >= 0, axis=1)
    assert np.isclose(norms[ordered].max(), loss.weighed_from)
    assert np.isclose(norms.max(), loss.lipschitz)


@every_list
@pytest.mark.parametrize("bound", [0.01, 0.3, 0.8])
def test_a_bound_leaves_quantiles_where_they_are(quantiles, bound):
    """At the quantiles bounded derivatives sum to zero, whatever the bound; a clip's would not."""
    loss, y = Pinball(quantiles), np.arange(20_000) / 20_000
    z = np.tile(quantiles, (len(y), 1))
    mean = loss.clipped_derivative(y, shaped(loss, z), bound).reshape(len(y), -1).mean(axis=0)
    assert np.abs(mean).max() < 1e-3 * bound
    bounds = np.random.default_rng(0).uniform(0, 1, len(y))
    some = loss.clipped_derivative(y, shaped(loss, z), bounds).reshape(len(y), -1)
    assert np.all(np.linalg.norm(some, axis=1) <= bounds)


def problem_for(loss, intercept=0.5):
    bounds = RowBounds(2.0, intercept, TargetBounds(-1.0, 1.0))
    return Problem(loss, N, D, bounds)


def data(rng):
    return 10.0 ** rng.uniform(-2, 2) * rng.normal(size=(N, D)), rng.normal(size=N)


@pytest.mark.parametrize("adjacency", Adjacency)
@every_list
def test_no_neighbour_moves_an_answer_beyond_its_sensitivity(quantiles, adjacency):
    rng, problem = np.random.default_rng(1), problem_for(Pinball(quantiles))
    for clip in (None, 0.2, 1e-6) * 3:
        w = rng.normal(size=problem.shape) * 10.0 ** rng.uniform(-2, 2)
        for query in (
            GradientQuery(problem, w, clip),
            InterceptGradientQuery(problem, w, clip or problem.loss.weighed_from),
        ):
            assert Example(query, *data(rng), *data(rng)).check(adjacency) < 1 + 1e-9


@every_list
def test_crafted_neighbours_attain_the_sensitivity(quantiles):
    """Scores that cross as far as they can, and rows that point away from each other."""
    loss = Pinball(quantiles)
    problem = problem_for(loss, intercept=0.0)
    high = np.array(quantiles) < 0.5
    w = np.zeros((D, len(quantiles)))
    w[0] = np.where(high, 9.0, -9.0)
    X = np.tile([0.02, 2.0, 0.0], (N, 1))
    other, y = X * [1, -1, 1], np.zeros(N)
    for clip in (None, 0.3):
        query = GradientQuery(problem, w.reshape(problem.shape), clip)
        assert 0.98 < Example(query, X, y, other, y).check(Adjacency.REPLACE_ONE) < 1 + 1e-9


@pytest.mark.parametrize("quantiles", [(), (0.0,), (1.0,), (0.5, 0.5), (0.9, 0.1), (np.nan,), "a"])
def test_other_quantiles_are_refused(quantiles):
    with pytest.raises(ValueError, match="between 0 and 1, in increasing order"):
        Pinball(quantiles)
