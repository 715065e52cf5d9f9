"""Bugs planted in what streams promise between their calls, each caught by a check."""

import numpy as np
import pytest

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.estimators import progress
from skdp.privacy.accounting.calculus import ZeroConcentratedDP
from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.gumbel import GumbelMechanism
from skdp.privacy.queries import stream_terms
from skdp.privacy.queries.stream_terms import StreamScoresQuery, StreamTerm, StreamTermQuery
from skdp.privacy.randomness import SecretNoise, SeededNoise
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.privacy.streams.stream_plan import StreamPlan, StreamRequest
from skdp.privacy.streams.stream_session import StreamOpening, StreamSession
from skdp.problem.bounds import RowBounds, TargetBounds
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Logistic, Softmax, Squared
from skdp.problem.problem import Problem
from skdp.solvers import Blocks

N = 60
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
CHANGES = [
    {"epsilon": 2.0},
    {"delta": 1e-4},
    {"adjacency": "zero_out"},
    {"data_norm": 1.0},
    {"target_bounds": (-2, 2)},
    {"fit_intercept": False},
    {"intercept_scaling": 2.0},
    {"precondition": None},
]
of_changes = pytest.mark.parametrize("change", CHANGES, ids=str)


def check_what_a_fit_promised(change):
    """A stream goes on from a fit with what was promised then, and says so."""
    model = DPLinearRegression(data_norm=2.0, target_bounds=(-1, 1)).fit(X, X[:, 0])
    before = model.privacy_spent_
    with pytest.raises(ValueError, match=f"got other values of {next(iter(change))}"):
        model.set_params(**change).partial_fit(X, X[:, 0])
    assert model.privacy_spent_ == before
    assert model.n_samples_seen_ == N


@of_changes
def test_parameters_cannot_change_between_a_fit_and_a_stream(change):
    check_what_a_fit_promised(change)


@of_changes
def test_a_parameter_that_may_change_is_caught(change, monkeypatch):
    monkeypatch.setattr(progress, "_OF_STREAMS", progress._OF_STREAMS | {*change})
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_what_a_fit_promised(change)


@pytest.mark.parametrize(
    "options",
    [
        {"classes": [0, 1]},
        {"classes": [0, 1], "class_weight": {0: 1.0, 1: 2.0}},
        {"classes": np.array([0, 1])},
    ],
    ids=str,
)
def test_what_is_changed_within_a_parameter_is_noticed(options):
    """Parameters are noted as they were, not as the objects that they are."""
    model = DPLogisticRegression(data_norm=2.0, solver=Blocks(first=40), **options)
    model.partial_fit(X[:20], X[:20, 0] > 0)
    name = list(options)[-1]
    options[name][0] = 5
    with pytest.raises(ValueError, match=f"got other values of {name}"):
        model.partial_fit(X[20:], X[20:, 0] > 0)
    assert model.n_samples_seen_ == 20


# Bounds and clips beyond which quotients round to zero or sums overflow.
EXTREMES = [(1e-100, 1e-45), (1e-150, 1.0), (1e100, 1e-45), (1.0, 1e299), (1.0, 1e-145)]


def check_extremes_are_refused(mechanism, data_norm, clip):
    """Nothing is charged where double precision could not keep a bound."""
    problem = Problem(Logistic(), 100, 2, RowBounds(data_norm), constraint=L1Ball(1.0))
    ledger = Ledger(1.0, 1e-5, calculus=ZeroConcentratedDP())
    noise = SeededNoise(np.random.default_rng(0))
    plan = StreamPlan(3, clip, mechanism)
    opening = StreamOpening(problem, plan, Adjacency.REPLACE_ONE, Spend(ledger.remaining))
    with pytest.raises(ValueError, match="needs a positive finite sensitivity"):
        StreamSession(opening, ledger, noise)
    assert ledger.total == 0


@pytest.mark.parametrize(("data_norm", "clip"), EXTREMES)
@pytest.mark.parametrize("mechanism", ["blt", "gumbel"])
def test_bounds_that_double_precision_cannot_keep_are_refused(mechanism, data_norm, clip):
    check_extremes_are_refused(mechanism, data_norm, clip)


def test_extremes_that_are_taken_are_caught(monkeypatch):
    monkeypatch.setattr(stream_terms, "_kept", lambda problem, clip: True)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_extremes_are_refused("blt", 1.0, 1e-145)


def answer_of_a_row_that_overflows(query):
    """Differences of two infinite derivatives are no numbers."""
    bounds = RowBounds(1.0, target=TargetBounds(-1.0, 1.0))
    problem = Problem(Squared(), 2, 2, bounds, constraint=L1Ball(1.0))
    far = np.full(problem.shape, 1e300)
    asked = query(StreamTerm(problem, far, far, 1e10, 0.5))
    X, y = np.array([[1.0, 0.0], [0.0, 0.0]]), np.zeros(2)
    with np.errstate(all="ignore"):
        return asked.evaluate(DenseRows(X, y))


@pytest.mark.parametrize("query", [StreamTermQuery, StreamScoresQuery], ids=lambda q: q.name)
def test_a_row_that_overflows_counts_as_zero(query):
    """Else all scores would be no numbers, and the choice would say that it is there."""
    assert not answer_of_a_row_that_overflows(query).any()


def test_scores_that_are_no_numbers_are_caught(monkeypatch):
    monkeypatch.setattr(stream_terms.np, "copyto", lambda *_, **options: None)
    assert not np.isfinite(answer_of_a_row_that_overflows(StreamScoresQuery)).all()


def answer_with_scores_beyond_double_precision():
    """Scores of several classes are infinite, so derivatives are no numbers."""
    problem = Problem(Softmax(3), 1, 4, RowBounds(1.0))
    asked = StreamTermQuery(StreamTerm(problem, np.full(problem.shape, 1.7e308), None, 0, 0.5))
    with np.errstate(all="ignore"):
        return asked.evaluate(DenseRows(np.full((1, 4), 0.5), np.zeros(1, dtype=np.intp)))


def test_rows_whose_derivatives_are_no_numbers_count_as_zero():
    assert not answer_with_scores_beyond_double_precision().any()


def test_derivatives_that_are_no_numbers_are_caught(monkeypatch):
    monkeypatch.setattr(stream_terms, "_clipped", lambda d, limit: d)
    assert np.isnan(answer_with_scores_beyond_double_precision()).any()


class Prepared(SecretNoise):
    """Gumbel variables that are told beforehand."""

    def __init__(self):
        self.ahead = 0.0

    def gumbel(self, shape):
        return np.array([self.ahead, 0.0]).reshape(shape)

    def normal(self, shape):
        raise NotImplementedError

    def chosen(self, size, rate):
        raise NotImplementedError


def check_noise_of_choices(adjacency, releases, amount=0.7):
    """Each of several choices has the noise that all of them were paid with, within 1 percent.

    The two scores are minus and plus the number of rows so far, in units in which a row is 1, and
    the first gets a head start of a little more or less than their distance over the scale that
    follows from the price: ``releases eta^2 / 4``.
    """
    scale = adjacency.of_sum(2.0) / np.sqrt(4 * amount / releases)
    problem = Problem(Logistic(), releases, 1, RowBounds(1.0), constraint=L1Ball(1.0))
    opening = StreamOpening(problem, StreamPlan(releases, 0.1, "gumbel"), adjacency, Spend(amount))
    for share, winner in ((0.99, 1), (1.01, 0)):
        ledger, noise = Ledger(1e6, 1e-5, calculus=ZeroConcentratedDP()), Prepared()
        session = StreamSession(opening, ledger, noise)
        for k in range(1, releases + 1):
            session.ask(StreamRequest(1, np.zeros(1)))
            # At w = 0 the derivative for label 0 is 1/2, which is clipped to 0.1.
            session.read(DenseRows(np.ones((1, 1)), np.zeros(1)))
            noise.ahead = share * 2 * k / scale
            assert session.release()[0] == winner, f"noise of choice {k} is not what was paid"


@pytest.mark.parametrize("releases", [1, 9])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_each_choice_has_the_noise_that_was_paid_for(adjacency, releases):
    check_noise_of_choices(adjacency, releases)


@pytest.mark.parametrize("factor", [1 / 3, 0.9])
def test_choices_with_less_noise_where_there_are_several_are_caught(factor, monkeypatch):
    honest = GumbelMechanism.randomize

    def bug(self, value, noise):
        less = GumbelMechanism(self.sensitivity, factor * self.noise_scale, self.choices)
        return honest(less, value, noise)

    monkeypatch.setattr(GumbelMechanism, "randomize", bug)
    with pytest.raises(AssertionError, match="is not what was paid"):
        check_noise_of_choices(Adjacency.REPLACE_ONE, 9)
