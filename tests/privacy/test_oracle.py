"""The only door to rows: it charges first, adds the noise it charged for, and does not leak."""

import copy
import dataclasses
import pickle
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pytest

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, PrivateOracle, SeededNoise, SystemNoise, inflated
from skdp.privacy.accounting import Ledger, Spend
from skdp.privacy.mechanisms import spacing
from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientNormQuery,
    GradientQuery,
    GradientSizesQuery,
    HistogramQuery,
)
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic, Squared

N, D = 40, 3
PROBLEM = Problem(Logistic(), N, D, RowBounds(1.0, 1.0))
W = np.array([0.5, -1.0, 2.0, 0.1])
EDGES = np.array([0.5, 1.0, 2.0])
WEIGHT = 0.6


def ask_gradient_and_share(oracle, spend):
    """With the parts of the spend for which the share has the weight above."""
    of_gradient = oracle.adjacency.of_sum(0.3)
    of_share = WEIGHT**2 / (of_gradient**2 + WEIGHT**2)
    gradient, share = oracle.gradient_and_share(W, spend=spend, clip_norm=0.3, of_share=of_share)
    return np.append(gradient.value, WEIGHT * share.value)


# Query: (how it is asked, the query it stands for).
QUESTIONS = {
    "gradient": (
        lambda oracle, spend: oracle.gradient(W, spend=spend, clip_norm=0.3),
        GradientQuery(PROBLEM, W, 0.3),
    ),
    "gradient without a clip": (
        lambda oracle, spend: oracle.gradient(W, spend=spend),
        GradientQuery(PROBLEM, W, None),
    ),
    "gradient_norm": (
        lambda oracle, spend: oracle.gradient_norm(W, spend=spend, clip_norm=0.3),
        GradientNormQuery(GradientQuery(PROBLEM, W, 0.3)),
    ),
    "gradient_and_share": (
        ask_gradient_and_share,
        GradientAndShareQuery(GradientQuery(PROBLEM, W, 0.3), WEIGHT),
    ),
    "gradient_sizes": (
        lambda oracle, spend: oracle.gradient_sizes(W, EDGES, spend=spend).value,
        GradientSizesQuery(PROBLEM, W, EDGES),
    ),
    "histogram": (
        lambda oracle, spend: oracle.histogram("row_norm", EDGES, spend=spend),
        HistogramQuery("row_norm", EDGES),
    ),
}
every_query = pytest.mark.parametrize(("ask", "query"), QUESTIONS.values(), ids=QUESTIONS)
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


class Stop(Exception):
    """Raised by rows that break."""


class BreakingRows(DenseRows):
    """Rows that break when they are read for the first time."""

    def blocks(self):
        raise Stop


def rows(kind=DenseRows):
    rng = np.random.default_rng(0)
    return kind(rng.normal(size=(N, D)), rng.integers(0, 2, N).astype(float))


def setup(epsilon=1.0, adjacency=Adjacency.REPLACE_ONE, kind=DenseRows, noise=None):
    ledger = Ledger(epsilon, 1e-5)
    oracle = PrivateOracle(rows(kind), ledger, adjacency, noise or SystemNoise())
    return SimpleNamespace(ledger=ledger, oracle=oracle, asked=oracle.for_problem(PROBLEM))


@every_query
def test_a_failure_after_the_charge_leaves_the_charge(ask, query):
    s = setup(kind=BreakingRows)
    spend = Spend(0.3 * s.ledger.limit)
    for times in (1, 2, 3):
        with pytest.raises(Stop):
            ask(s.asked, spend)
        assert s.ledger.total == pytest.approx(times * spend.amount, rel=1e-9)
    with pytest.raises(BudgetExceededError):
        ask(s.asked, spend)


@every_query
@both_adjacencies
def test_the_event_states_sensitivity_and_noise_of_the_query(ask, query, adjacency):
    s = setup(adjacency=adjacency)
    spend = Spend(0.3 * s.ledger.limit)
    ask(s.asked, spend)
    (event,) = s.ledger.receipt()
    assert event.query == query.name
    assert event.mechanism == "gaussian"
    assert event.sensitivity == inflated(query.sensitivity(adjacency), query.rounding)
    assert event.noise_scale == pytest.approx(event.sensitivity / sqrt(spend.amount), rel=1e-11)


@every_query
@both_adjacencies
def test_an_answer_is_the_exact_one_plus_the_noise_on_the_receipt(ask, query, adjacency):
    s = setup(adjacency=adjacency, noise=SeededNoise(np.random.default_rng(5)))
    again = np.random.default_rng(5)
    for _ in range(3):
        answer = ask(s.asked, Spend(0.1 * s.ledger.limit))
        exact = query.evaluate(rows())
        event = s.ledger.receipt()[-1]
        noise = event.noise_scale * again.standard_normal(exact.shape)
        assert np.shape(answer) == exact.shape
        # Both are rounded to the grid.
        grid = spacing(event.sensitivity, event.noise_scale, exact.size)
        np.testing.assert_allclose(answer, exact + noise, rtol=0, atol=1.001 * grid)


def test_a_query_without_a_finite_sensitivity_costs_nothing():
    unbounded = dataclasses.replace(PROBLEM, loss=Squared())
    s = setup(kind=BreakingRows)
    with pytest.raises(ValueError, match="clip"):
        s.oracle.for_problem(unbounded).gradient(W, spend=Spend(0.01))
    assert s.ledger.receipt() == ()


def test_gradients_need_a_problem_and_histograms_do_not():
    s = setup()
    spend = Spend(0.1 * s.ledger.limit)
    for request in (s.oracle.gradient, s.oracle.gradient_norm):
        with pytest.raises(RuntimeError, match="for_problem"):
            request(W, spend=spend)
    assert s.ledger.receipt() == ()
    assert s.oracle.histogram("target", EDGES, spend=spend).shape == (4,)


def test_for_problem_shares_the_account_and_leaves_the_original_without_a_problem():
    s = setup()
    other = s.oracle.for_problem(dataclasses.replace(PROBLEM, bounds=RowBounds(5.0, 1.0)))
    spend = Spend(0.1 * s.ledger.limit)
    s.asked.gradient(W, spend=spend)
    other.gradient(W, spend=spend)
    assert s.oracle.budget == s.asked.budget == other.budget
    assert s.ledger.total == pytest.approx(2 * spend.amount, rel=1e-9)
    small, large = (event.sensitivity for event in s.ledger.receipt())
    assert large == pytest.approx(small * sqrt(26 / 2))
    with pytest.raises(RuntimeError):
        s.oracle.gradient(W, spend=spend)


def test_the_budget_is_a_view_that_cannot_be_refilled():
    s = setup()
    before = s.oracle.budget
    assert before.amount == s.ledger.limit
    s.asked.gradient(W, spend=before.fraction(0.25).whole())
    assert s.oracle.budget.amount == pytest.approx(0.75 * s.ledger.limit, rel=1e-9)
    assert before.amount == s.ledger.limit
    with pytest.raises(AttributeError):
        s.oracle.budget = before
    with pytest.raises(dataclasses.FrozenInstanceError):
        s.oracle.budget.amount = 1.0
    with pytest.raises(BudgetExceededError):
        s.asked.gradient(W, spend=before.whole())


def test_the_query_is_frozen_when_it_is_asked():
    """A caller that changes w or the edges later does not change what was answered."""

    class Changing(DenseRows):
        def sum(self, kernel):
            edges[:] = 0.0
            return super().sum(kernel)

    edges = EDGES.copy()
    s = setup(noise=SeededNoise(np.random.default_rng(0)), kind=Changing)
    still = setup(noise=SeededNoise(np.random.default_rng(0)))
    spend = Spend(0.1 * s.ledger.limit)
    np.testing.assert_array_equal(
        s.oracle.histogram("row_norm", edges, spend=spend),
        still.oracle.histogram("row_norm", EDGES, spend=spend),
    )
    np.testing.assert_array_equal(edges, 0.0)


@pytest.mark.parametrize(
    "w",
    [
        W[:, None],
        W[None],
        W[:-1],
        np.append(W, 0.0),
        0.0,
        W + 0j,
        W.astype(object),
        W.astype(str),
        W > 0,
        [None] * 4,
    ],
    ids=lambda w: f"{np.asarray(w).dtype}{np.shape(w)}",
)
def test_points_of_another_kind_or_shape_are_refused_before_anything_is_charged(w):
    s = setup(kind=BreakingRows)
    for request in (s.asked.gradient, s.asked.gradient_norm):
        with pytest.raises(ValueError, match=r"needs a w of real numbers and of shape \(4,\), got"):
            request(w, spend=Spend(0.01), clip_norm=0.3)
    assert s.ledger.receipt() == ()


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.longdouble, list, np.ma.array])
def test_points_are_brought_to_plain_double_precision(kind):
    given = np.array([1, -1, 2, 0])
    w = kind(given) if kind in (list, np.ma.array) else given.astype(kind)
    query = GradientQuery(PROBLEM, w, np.float32(0.5))
    assert type(query.w) is np.ndarray
    assert query.w.dtype == np.float64
    assert type(query.clip_norm) is float
    np.testing.assert_array_equal(query.w, given)
    if isinstance(w, np.ndarray):
        assert not np.shares_memory(w, query.w)


@pytest.mark.parametrize(
    "ride",
    [
        lambda g: g + 1j * g,
        lambda g: g.astype(np.float32),
        lambda g: g.astype(object),
        lambda g: g.tolist(),
        lambda g: g.view(np.recarray),
        lambda g: np.ma.array(g),
    ],
)
def test_an_exact_answer_that_is_no_plain_array_gets_no_noise_and_does_not_leave(ride, monkeypatch):
    honest = GradientQuery.evaluate
    monkeypatch.setattr(GradientQuery, "evaluate", lambda self, rows: ride(honest(self, rows)))
    s = setup()
    with pytest.raises(TypeError, match="plain arrays of float64"):
        s.asked.gradient(W, spend=Spend(0.01))
    assert len(s.ledger.receipt()) == 1


@pytest.mark.parametrize("copier", [copy.deepcopy, pickle.dumps])
def test_it_can_be_neither_pickled_nor_deep_copied(copier):
    for oracle in (setup().oracle, setup().asked):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            copier(oracle)
