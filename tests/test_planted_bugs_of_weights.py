"""Bugs in the weights of rows, planted one by one, as in test_planted_bugs."""

from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest
from examples_of_queries import EXAMPLES
from examples_of_weights import weighted
from sklearn.linear_model import Ridge

from skdp import DPLinearRegression
from skdp.estimators.base import PrivateLinearModel
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.oracle import Oracle
from skdp.privacy.queries.gradient import GradientQuery
from skdp.privacy.queries.gradient_difference import GradientDifferenceQuery
from skdp.privacy.queries.gradient_sizes import GradientAndShareQuery
from skdp.privacy.queries.site_gradients import SiteRequest
from skdp.privacy.queries.total_weight import TotalWeightQuery
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.privacy.rows.row_blocks import Block, RawBlock
from skdp.privacy.rows.site_rows import SiteBlock
from skdp.problem.bounds import RowBounds, TargetBounds
from skdp.problem.losses import Logistic
from skdp.problem.problem import Problem
from skdp.problem.sites import Sites
from skdp.solvers import GD
from skdp.testing import check_pays_before_looking, exact_fit, record_fit, replay_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 60, 3
RNG = np.random.default_rng(0)
X, WEIGHTS = RNG.normal(size=(N, D)) / 2, RNG.uniform(size=N)
Y, LABELS = X @ [1.0, -2.0, 0.5], (X[:, 0] > 0).astype(float)
# Of the weights, not the number of rows.
PROBLEM = Problem(Logistic(), 25, D, RowBounds(2.0), actual_rows=N)
W, W0 = np.array([2.0, -1.0, 0.5]), np.array([1.5, -1.0, 0.5])
LONGEST = float(np.linalg.norm(X, axis=1).max())
BOUNDS = {"data_norm": LONGEST, "target_bounds": (-4.0, 4.0), "max_weight": 2.0}
PRECISE = GD(steps=500, total_step_size=3000.0, clip=10.0, momentum=0.9, average=0.05)


@pytest.fixture
def caught(monkeypatch):
    """Run a check on the code as it is, then with an attribute set to its buggy version."""

    def plant(owner, name, bug, check, match=None):
        check()
        monkeypatch.setattr(owner, name, bug)
        with pytest.raises(AssertionError, match=match):
            check()

    return plant


def rows(weights=WEIGHTS):
    return DenseRows(X, LABELS, weights)


def apart(query):
    """Within the declared sensitivity, whatever weights rows come with; crafted rows attain it."""
    for example, *_ in weighted(EXAMPLES[query][1][:2], seed=0):
        n = len(example.X)
        example.check(Adjacency.REPLACE_ONE, np.full(n, 7.0), np.full(n, 7.0))


# Those that count weights, or add up rows times weights.
WITH_ROWS = [query for query in EXAMPLES if "column" not in query.name]


@pytest.mark.parametrize("query", WITH_ROWS, ids=lambda query: query.name)
def test_weights_that_are_not_cut_off_at_the_bound(caught, query):
    unbounded = cached_property(lambda block: block.weights)
    unbounded.__set_name__(RawBlock, "bounded_weights")
    # Weights within [0, 1] of total_weight are 1 and 0, so that its rows differ by one of 7.
    if query is TotalWeightQuery:

        def check():
            (example,) = EXAMPLES[query][0]
            example.check(Adjacency.REPLACE_ONE, np.full(6, 7.0), np.zeros(6))
    else:

        def check():
            apart(query)

    caught(RawBlock, "bounded_weights", unbounded, check, "times its declared sensitivity|moved by")


def the_difference_is_one():
    gradients = [GradientQuery(PROBLEM, w, 0.3).evaluate(rows()) for w in (W, W0)]
    query = GradientDifferenceQuery(GradientQuery(PROBLEM, W, 0.3), W0)
    difference = query.evaluate(rows())
    np.testing.assert_allclose(difference, gradients[0] - gradients[1], atol=1e-12)


def test_weights_that_are_applied_twice_in_a_difference(caught):
    def bug(self, block):
        squared = block.taken(np.arange(block.y.size))
        squared.weights = block.weights**2
        return honest(self, squared)

    honest = GradientDifferenceQuery._of_block
    caught(GradientDifferenceQuery, "_of_block", bug, the_difference_is_one)


def test_a_public_centre_that_is_not_counted_by_rows(caught):
    # Their number is 60, what they weigh about 25.
    caught(Problem, "n_actual", property(lambda self: self.n_samples), the_difference_is_one)


def the_optimum():
    model = DPLinearRegression(1e4, alpha=1.0, solver=PRECISE, **BOUNDS)
    exact_fit(model, X, Y, sample_weight=2 * WEIGHTS)
    best = Ridge(alpha=1.0).fit(X, Y, 2 * WEIGHTS)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-3)


def test_a_penalty_that_is_not_divided_by_the_bound_on_weights(caught):
    def bug(self, n_samples, bounds, *, sparse, weighted):
        return replace(self._problem(n_samples, bounds), sparse=sparse)

    caught(PrivateLinearModel, "_stated", bug, the_optimum)


def test_weights_that_a_query_forgets(caught):
    def bug(self, block, r):
        return r

    caught(GradientQuery, "weighted", bug, the_optimum)


def replays():
    """The same answers give the same model, whatever rows weigh."""
    options = {**BOUNDS, "epsilon": 20.0, "random_state": 0, "solver": GD(steps=3)}
    model, again = (DPLinearRegression(**options, precondition=None) for _ in range(2))
    transcript = record_fit(model, X, Y, sample_weight=2 * WEIGHTS)
    replay_fit(again, X, Y, transcript, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_a_total_that_is_read_off_the_rows(caught, monkeypatch):
    opened = PrivateLinearModel._open

    def peek(self, *data):
        found = opened(self, *data)
        self._peeked = found[0]
        return found

    monkeypatch.setattr(PrivateLinearModel, "_open", peek)

    def bug(self, oracle, n_samples, share):
        return max(1, round(float(self._peeked.weights.sum())))

    caught(PrivateLinearModel, "_total_weight", bug, replays)


def pays():
    def ask(oracle, spend):
        oracle.total_weight(spend=spend)

    check_pays_before_looking(ask, PROBLEM, Adjacency.REPLACE_ONE)


def test_a_total_that_is_asked_for_half_its_price(caught):
    def bug(self, *, spend):
        return honest(self, spend=type(spend)(spend.amount / 2))

    honest = Oracle.total_weight
    caught(Oracle, "total_weight", bug, pays, "times the spend")


def the_share_moves_with_the_weight_of_clipped_rows():
    """Rows of no weight say nothing about how many are left whole."""
    query = GradientAndShareQuery(GradientQuery(PROBLEM, W, 0.3), 1.0, 0.9)
    light = np.where(np.arange(N) < 30, WEIGHTS, 0.0)
    alone = DenseRows(X[:30], LABELS[:30], WEIGHTS[:30])
    np.testing.assert_allclose(query.evaluate(rows(light)), query.evaluate(alone), atol=1e-12)


def test_a_share_that_counts_rows_whatever_they_weigh(caught):
    def bug(self, block):
        plain = block.taken(np.arange(block.y.size))
        plain.weights = None
        return honest(self, plain)

    honest = GradientAndShareQuery._of_block
    check = the_share_moves_with_the_weight_of_clipped_rows
    caught(GradientAndShareQuery, "_of_block", bug, check)


def sites_add_up():
    """Messages of two sites in any order are the gradient of all rows."""
    order = np.random.default_rng(1).permutation(N)
    sites = Sites(("a", "b"), np.array([20, 40]), order)
    problem = replace(PROBLEM, n_samples=N, actual_rows=None)
    request = SiteRequest(problem, sites, np.arange(2), np.stack([W, W]), 0.3)
    mean = request.messages(rows()).mean(axis=0)
    np.testing.assert_allclose(mean, GradientQuery(problem, W, 0.3).evaluate(rows()), atol=1e-12)


def test_sites_that_leave_weights_behind(caught):
    def bug(cls, block):
        return cls(block.y, block.norms)

    caught(SiteBlock, "of", classmethod(bug), sites_add_up)


def parts_add_up():
    """A query about all rows, and the sum of two about marked ones."""
    query = GradientDifferenceQuery(GradientQuery(PROBLEM, W, 0.3), W0)
    marked = np.arange(N) % 3 == 0
    parts = [query.about_centre(rows(), 25, mark) for mark in (marked, ~marked)]
    centre = query.about_centre(rows(), 25, np.zeros(N, dtype=bool))
    np.testing.assert_allclose(sum(parts) - centre, query.evaluate(rows()), atol=1e-12)


def test_rows_that_are_taken_out_of_a_block_without_their_weights(caught):
    def bug(self, chosen):
        other = honest(self, chosen)
        other.weights = np.ones(chosen.size)
        return other

    honest = Block.taken
    caught(Block, "taken", bug, parts_add_up)


def test_weights_beyond_the_bound_and_of_no_number_count_as_the_nearest():
    given = np.array([-1.0, np.nan, 0.0, 0.25, 1.0, 7.0, np.inf])
    block = RawBlock(np.zeros((7, 1)), np.zeros(7), given)
    np.testing.assert_array_equal(block.bounded_weights, [0, 0, 0, 0.25, 1, 1, 1])
    target = TargetBounds(-1.0, 1.0)
    np.testing.assert_array_equal(
        Block(block, RowBounds(1.0, target=target)).weights, block.bounded_weights
    )
