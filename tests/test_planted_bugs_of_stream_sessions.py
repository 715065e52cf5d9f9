"""Bugs planted into streams, each of which a check has to notice.

What a stream loses is measured end to end where that is possible: noise from what is released for
rows that say nothing, odds of choices from neighbours that differ as much as they can.
"""

from collections import Counter

import numpy as np
import pytest
from examples_of_queries import EXAMPLES

from skdp.estimators import Stream
from skdp.privacy.accounting.calculus import ZeroConcentratedDP
from skdp.privacy.accounting.events import PrefixSumEvent
from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.gumbel import GumbelMechanism
from skdp.privacy.mechanisms.prefix_sums import PrefixNoise
from skdp.privacy.queries import stream_terms
from skdp.privacy.queries.stream_terms import StreamScoresQuery, StreamTerm, StreamTermQuery
from skdp.privacy.randomness import SeededNoise
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.privacy.streams.stream_plan import StreamPlan, StreamRequest
from skdp.privacy.streams.stream_session import StreamOpening, StreamSession
from skdp.problem.bounds import RowBounds
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Logistic
from skdp.problem.problem import Problem
from skdp.solvers import FTRL

D = 2000
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


def assert_battery_complains(query, adjacency):
    with pytest.raises(AssertionError, match=f"{query.name} moved by"):
        check_all(query, adjacency)


def check_all(query, adjacency):
    for examples in EXAMPLES[query]:
        for example in examples:
            example.check(adjacency)


@both_adjacencies
def test_recursive_terms_without_their_bound_are_caught(adjacency, monkeypatch):
    def bug(d, limit):
        return np.nan_to_num(d, posinf=0.0, neginf=0.0)

    monkeypatch.setattr(stream_terms, "_clipped", bug)
    assert_battery_complains(StreamTermQuery, adjacency)


@both_adjacencies
@pytest.mark.parametrize("query", [StreamTermQuery, StreamScoresQuery], ids=lambda q: q.name)
def test_a_bound_on_gradients_before_they_are_weighted_is_caught(adjacency, query, monkeypatch):
    """The weights are i + 1 and i, so bounds on the gradients themselves are not enough."""
    honest = StreamTerm.derivatives

    def bug(self, block):
        if self.before is None:
            return honest(self, block)
        limit = self.clip * self.problem.row_norm / block.norms
        loss = self.problem.loss
        r = (self.index + 1) * loss.clipped_derivative(block.y, block.scores(self.w), limit)
        r -= self.index * loss.clipped_derivative(block.y, block.scores(self.before), limit)
        return r

    monkeypatch.setattr(StreamTerm, "derivatives", bug)
    monkeypatch.setattr(stream_terms, "_clipped", lambda d, limit: np.nan_to_num(d))
    if query is StreamScoresQuery:
        monkeypatch.setattr(stream_terms.np, "clip", lambda d, low, high: d)
    assert_battery_complains(query, adjacency)


@both_adjacencies
def test_class_weights_after_the_bound_are_caught(adjacency, monkeypatch):
    def bug(self, block, r):
        weights = self.problem.class_weight
        return r if weights is None else (3.0 * r)

    monkeypatch.setattr(StreamTerm, "weighted", bug)
    assert_battery_complains(StreamTermQuery, adjacency)


# Rows that say nothing: what is released is the noise.


def silent_releases(length, adjacency, mechanism="toeplitz"):
    """All releases of a stream of zero rows, (length, D), and the ledger that paid for it."""
    problem = Problem(Logistic(), length, D, RowBounds(1.0))
    ledger, noise = Ledger(1.0, 1e-5), SeededNoise(np.random.default_rng(0))
    plan = StreamPlan(length, 0.3, mechanism)
    opening = StreamOpening(problem, plan, adjacency, Spend(ledger.remaining))
    session, out = StreamSession(opening, ledger, noise), []
    for _ in range(length):
        session.ask(StreamRequest(1, np.zeros(D)))
        session.read(DenseRows(np.zeros((1, D)), np.zeros(1)))
        out.append(session.release())
    return np.array(out), ledger


def price_of(releases, adjacency):
    """What a stream costs in mu^2, from the covariance of what is released.

    A row of the first batch moves all sums alike by at most the sensitivity of a term, so this is
    the squared length of that move in the metric of the noise.
    """
    covariance = releases @ releases.T / releases.shape[1]
    move = np.ones(len(releases)) * adjacency.of_sum(1.0)
    return move @ np.linalg.solve(covariance + 1e-12 * np.eye(len(releases)), move)


@both_adjacencies
@pytest.mark.parametrize("mechanism", ["blt", "toeplitz", "tree"])
def test_a_stream_costs_what_was_paid_for(adjacency, mechanism):
    releases, ledger = silent_releases(8, adjacency, mechanism)
    # The inverse of a sample covariance of D = 2000 has a relative error of about sqrt(2 / D).
    assert price_of(releases, adjacency) <= ledger.total * (1 + 6 * np.sqrt(2 / D))


@both_adjacencies
def test_noise_that_is_drawn_once_and_reused_is_caught(adjacency, monkeypatch):
    honest, drawn = PrefixNoise.next, {}

    def bug(self):
        return drawn.setdefault(id(self), honest(self)).copy()

    monkeypatch.setattr(PrefixNoise, "next", bug)
    releases, ledger = silent_releases(8, adjacency)
    # All sums have the same noise, so a row that comes second stands out from the first sum.
    late = np.arange(8) >= 1
    covariance = releases @ releases.T / D + 1e-6 * np.eye(8)
    assert late @ np.linalg.solve(covariance, late) > 10 * ledger.total


@both_adjacencies
def test_charging_for_one_release_instead_of_all_is_caught(adjacency, monkeypatch):
    honest = StreamOpening.noise_scale.func

    def bug(self):
        return honest(self) / self.sums.column_norm

    def event(self):
        return PrefixSumEvent(
            query="stream_term",
            sensitivity=self.sensitivity,
            noise_scale=self.noise_scale,
            factorization="toeplitz",
            length=1,
            column_norm=1.0,
        )

    monkeypatch.setattr(StreamOpening, "noise_scale", property(bug))
    monkeypatch.setattr(StreamOpening, "event", property(event))
    releases, ledger = silent_releases(8, adjacency)
    assert price_of(releases, adjacency) > ledger.total * (1 + 6 * np.sqrt(2 / D))


# Two vertices, and neighbours whose scores differ as much as they can.

DRAWS, ETA = 3000, 1.2
MARGIN = 5 * np.sqrt(2 * 4 / DRAWS) * 1.1


def odds(x, adjacency, seed):
    """Log odds of the first vertex of a segment, and what one choice was charged."""
    problem = Problem(Logistic(), 1, 1, RowBounds(1.0), constraint=L1Ball(1.0))
    noise, first = SeededNoise(np.random.default_rng(seed)), 0
    plan = StreamPlan(1, 0.3, "gumbel")
    for _ in range(DRAWS):
        ledger = Ledger(1e6, 1e-5, calculus=ZeroConcentratedDP())
        opening = StreamOpening(problem, plan, adjacency, Spend(ETA**2 / 4))
        session = StreamSession(opening, ledger, noise)
        session.ask(StreamRequest(1, np.zeros(1)))
        session.read(DenseRows(np.array([[x]]), np.zeros(1)))
        first += int(session.release()[0] == 0)
    return np.log(first / (DRAWS - first)), ledger.total


def loss_of_choices(adjacency):
    """The measured privacy loss, and the one that was paid for."""
    other = -1.0 if adjacency is Adjacency.REPLACE_ONE else 0.0
    (before, price), (after, _) = odds(1.0, adjacency, 0), odds(other, adjacency, 1)
    return abs(before - after), 2 * np.sqrt(price)


@both_adjacencies
def test_choices_lose_what_was_paid_for_and_no_more(adjacency):
    measured, paid = loss_of_choices(adjacency)
    assert paid == pytest.approx(ETA)
    assert abs(measured - paid) <= MARGIN


@both_adjacencies
def test_gumbel_noise_of_half_the_scale_is_caught(adjacency, monkeypatch):
    honest = GumbelMechanism.randomize

    def bug(self, value, noise):
        half = GumbelMechanism(self.sensitivity, self.noise_scale / 2, self.choices)
        return honest(half, value, noise)

    monkeypatch.setattr(GumbelMechanism, "randomize", bug)
    measured, paid = loss_of_choices(adjacency)
    assert measured > paid + MARGIN


def test_choices_that_are_charged_once_are_caught(monkeypatch):
    def price_of_choices(length):
        problem = Problem(Logistic(), 9, 1, RowBounds(1.0), constraint=L1Ball(1.0))
        ledger = Ledger(1e6, 1e-5, calculus=ZeroConcentratedDP())
        plan = StreamPlan(length, 0.3, "gumbel")
        opening = StreamOpening(problem, plan, Adjacency.REPLACE_ONE, Spend(1.0))
        StreamSession(opening, ledger, SeededNoise(np.random.default_rng(0)))
        eta = opening.sensitivity / opening.noise_scale
        return ledger.total, length * eta**2 / 4

    charged, owed = price_of_choices(9)
    assert charged == pytest.approx(owed)

    honest = GumbelMechanism.event

    def bug(self, query):
        return honest(GumbelMechanism(self.sensitivity, self.noise_scale, 1), query)

    monkeypatch.setattr(GumbelMechanism, "event", bug)
    charged, owed = price_of_choices(9)
    assert charged < owed / 8


# Whose rows are where.


def check_streams_read_each_row_once(monkeypatch, n=500):
    """Every row is read by one session, which was paid for by a ledger that nothing else used."""
    read, paying, honest = Counter(), [], StreamTermQuery.evaluate
    opening = StreamSession.__init__

    def noted(self, rows):
        read.update(np.rint(rows.X[:, 0] * n).astype(int).tolist())
        return honest(self, rows)

    def opened(self, declared, ledger, noise):
        assert ledger.total == 0, "a ledger pays for two parts"
        opening(self, declared, ledger, noise)
        assert ledger.total >= 0.999 * declared.spend.amount, "a part is not paid for"
        paying.append(ledger)

    with monkeypatch.context() as patch:
        patch.setattr(StreamTermQuery, "evaluate", noted)
        patch.setattr(StreamSession, "__init__", opened)
        problem = Problem(Logistic(), n, 1, RowBounds(2.0))
        noise, public_rng = SeededNoise(np.random.default_rng(0)), np.random.default_rng(0)
        arguments = (Ledger(1.0, 1e-5), Adjacency.REPLACE_ONE, noise, public_rng, None)
        stream = Stream(problem, FTRL(batches=20), *arguments)
        X = np.arange(n)[:, None] / n
        for start in range(0, n, 7):
            part = slice(start, min(n, start + 7))
            stream.feed(DenseRows(X[part], np.zeros(X[part].shape[0])))
        assert len(paying) > 2
        assert [ledger for _, ledger in stream.receipts] == paying, "a receipt is missing"
        assert len(set(map(id, paying))) == len(paying), "a ledger pays for two parts"
    assert read == Counter(range(n)), "a row was read twice, or not at all"


def test_streams_read_each_row_once(monkeypatch):
    check_streams_read_each_row_once(monkeypatch)


def test_a_row_that_is_added_to_two_batches_is_caught(monkeypatch):
    honest, latest = StreamSession.ask, {}

    def bug(self, request):
        honest(self, request)
        if self in latest:
            self._total += self._query.evaluate(latest[self])

    reading = StreamSession.read

    def read(self, rows):
        latest[self] = rows
        reading(self, rows)

    monkeypatch.setattr(StreamSession, "ask", bug)
    monkeypatch.setattr(StreamSession, "read", read)
    with pytest.raises(AssertionError, match="a row was read twice"):
        check_streams_read_each_row_once(monkeypatch)


def test_a_restart_that_goes_through_the_same_rows_again_is_caught(monkeypatch):
    """Each part is charged as if its rows were new, which is too little for rows that are not."""
    honest, seen = Stream._open_part, []
    feeding = Stream.feed

    def bug(self, length, ledger, noise):
        honest(self, length, ledger, noise)
        for rows in list(seen):
            if rows.n_samples <= self._session.missing:
                self._session.read(rows)

    def feed(self, rows):
        seen.append(rows)
        feeding(self, rows)

    monkeypatch.setattr(Stream, "_open_part", bug)
    monkeypatch.setattr(Stream, "feed", feed)
    with pytest.raises((AssertionError, RuntimeError)):
        check_streams_read_each_row_once(monkeypatch)


def test_parts_that_share_a_ledger_are_caught(monkeypatch):
    """A stream that forgets what it spent: the same ledger, emptied, pays once more."""

    def bug(self):
        self._events.clear()
        self._prices.clear()
        self._settled = []
        return self

    monkeypatch.setattr(Ledger, "anew", bug)
    with pytest.raises(AssertionError, match="a ledger pays for two parts"):
        check_streams_read_each_row_once(monkeypatch)


def test_parts_that_are_not_charged_are_caught(monkeypatch):
    honest = Ledger.charge
    monkeypatch.setattr(
        Ledger, "charge", lambda self, event: None if event.length < 20 else honest(self, event)
    )
    monkeypatch.setattr(FTRL, "plan", lambda self, problem, mu: StreamPlan(19, 0.3))
    with pytest.raises(AssertionError, match="a part is not paid for"):
        check_streams_read_each_row_once(monkeypatch)
