"""The session of a stream: pays first, adds each row once, releases each sum once."""

import copy
import pickle

import numpy as np
import pytest
from known_noise import seeded

from skdp import BudgetExceededError
from skdp.privacy import Adjacency
from skdp.privacy.accounting import Ledger, Spend, ZeroConcentratedDP
from skdp.privacy.mechanisms import PREFIX_SUMS, spacing
from skdp.privacy.rows import BlockStore, DenseRows
from skdp.privacy.streams import (
    StreamedRows,
    StreamOpening,
    StreamPlan,
    StreamRequest,
    StreamSession,
)
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Logistic

N, D = 40, 3
PROBLEM = Problem(Logistic(), N, D, RowBounds(1.0))
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)
every_mechanism = pytest.mark.parametrize("mechanism", sorted(PREFIX_SUMS))


class Unreadable(BlockStore):
    """Rows that must not be looked at."""

    resident = False
    n_samples, n_features, sparse = N, D, False

    def blocks(self):
        raise AssertionError("rows were read")


def opening(plan=None, problem=PROBLEM, adjacency=Adjacency.REPLACE_ONE, amount=0.5):
    return StreamOpening(problem, plan or StreamPlan(4, 0.3), adjacency, Spend(amount))


def session(seed=0, **declared):
    ledger = Ledger(1e6, 1e-5, calculus=ZeroConcentratedDP())
    return StreamSession(opening(**declared), ledger, seeded(seed))


def rows(seed=1, n=N):
    rng = np.random.default_rng(seed)
    return DenseRows(rng.normal(size=(n, D)), rng.integers(0, 2, n).astype(float))


def request(size, k=0):
    rng = np.random.default_rng(k)
    w, before = rng.normal(size=(2, D))
    return StreamRequest(size, w, before, k)


def exact(store, start, stop, k=0):
    """The sum of one batch, written from the definitions."""
    asked, total = request(stop - start, k), np.zeros(D)
    for x, y in zip(store.X[start:stop], store.y[start:stop], strict=True):
        x = x / max(1.0, np.linalg.norm(x))
        slope = (k + 1) * (1 / (1 + np.exp(-x @ asked.w)) - y)
        slope -= k * (1 / (1 + np.exp(-x @ asked.before)) - y)
        vector = slope * x / 0.3
        total += vector / max(1.0, np.linalg.norm(vector))
    return total


def test_all_choices_of_vertices_are_paid_for_at_the_start():
    problem = Problem(Logistic(), N, D, RowBounds(1.0), constraint=L1Ball(1.0))
    ledger = Ledger(1.0, 1e-5, calculus=ZeroConcentratedDP())
    plan = StreamPlan(70, 0.3, "gumbel")
    declared = StreamOpening(problem, plan, Adjacency.ZERO_OUT, Spend(ledger.remaining))
    StreamSession(declared, ledger, seeded())
    (event,) = ledger.receipt()
    assert event.count == 70
    # eta^2 / 8 in zCDP for each, which is eta^2 / 4 in units of mu^2.
    eta = event.sensitivity / event.noise_scale
    assert 70 * eta**2 / 4 == pytest.approx(ledger.limit)


def test_refuses_what_it_cannot_pay_for():
    ledger = Ledger(1.0, 1e-5)
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        StreamSession(opening(amount=1.0), ledger, seeded())
    assert ledger.receipt() == ()


@every_mechanism
@both_adjacencies
def test_releases_are_exact_sums_with_the_noise_of_the_mechanism(mechanism, adjacency):
    store, declared = rows(), opening(StreamPlan(4, 0.3, mechanism), adjacency=adjacency)
    open_session = StreamSession(declared, Ledger(1e6, 1e-5), seeded(5))
    alike = PREFIX_SUMS[mechanism](4)
    assert declared.sensitivity == pytest.approx(adjacency.of_sum(1.0), rel=1e-4)
    scale = alike.noise_scale(declared.sensitivity, Spend(0.5))
    other, total = alike.open(D, scale, seeded(5)), np.zeros(D)
    for k in range(4):
        open_session.ask(request(10, k))
        open_session.read(store.part(10 * k, 10 * k + 10))
        total += exact(store, 10 * k, 10 * k + 10, k)
        # But for the grid: of the noise, and of a term for each release so far.
        grid = spacing(declared.sensitivity, scale, D)
        expected = total + other.next()
        np.testing.assert_allclose(open_session.release(), expected, rtol=0, atol=(k + 2) * grid)


@every_mechanism
def test_releases_lie_on_a_public_grid_whatever_the_rows(mechanism):
    for seed in (1, 2):
        declared, store = opening(StreamPlan(4, 0.3, mechanism)), rows(seed)
        open_session = StreamSession(declared, Ledger(1e6, 1e-5), seeded(seed))
        grid = spacing(declared.sensitivity, declared.noise_scale, D)
        for k in range(4):
            open_session.ask(request(10, k))
            # In pieces, too.
            open_session.read(store.part(10 * k, 10 * k + 3))
            open_session.read(store.part(10 * k + 3, 10 * k + 10))
            np.testing.assert_array_equal(open_session.release() % grid, 0)


@both_adjacencies
def test_rounding_a_term_to_the_grid_is_within_the_margin(adjacency):
    declared = opening(adjacency=adjacency)
    apart = np.sqrt(D) * spacing(declared.sensitivity, declared.noise_scale, D)
    asked = declared.query(request(1))
    assert asked.sensitivity(adjacency) + apart < declared.sensitivity
    # The worst that rounding can do to two terms, which lie half a grid point off on either side.
    grid = apart / np.sqrt(D)
    ends = np.array([np.full(D, 0.4999 * grid), np.full(D, 0.5001 * grid)])
    moved = declared.on_grid(ends[1]) - declared.on_grid(ends[0])
    assert 0.99 * apart < np.linalg.norm(moved) <= apart * (1 + 1e-12)


def test_a_batch_may_come_in_pieces():
    store, whole, pieces = rows(), session(), session()
    for each in (whole, pieces):
        each.ask(request(N))
    whole.read(store)
    for start, stop in ((0, 1), (1, 15), (15, 16), (16, N)):
        assert pieces.missing == N - start
        pieces.read(store.part(start, stop))
    np.testing.assert_allclose(pieces.release(), whole.release(), rtol=1e-12)


def test_more_rows_than_the_batch_waits_for_are_not_read():
    open_session = session()
    with pytest.raises(RuntimeError, match="a row is part of one batch"):
        open_session.read(Unreadable())
    open_session.ask(request(N - 1))
    with pytest.raises(RuntimeError, match=f"at most the {N - 1} rows"):
        open_session.read(Unreadable())


def test_a_batch_is_released_once_and_only_when_it_is_complete():
    open_session, store = session(), rows()
    open_session.ask(request(N))
    open_session.read(store.part(0, N - 1))
    with pytest.raises(RuntimeError, match="waits for 1 rows"):
        open_session.release()
    open_session.read(store.part(N - 1, N))
    open_session.release()
    with pytest.raises(RuntimeError, match="needs a complete batch"):
        open_session.release()


@pytest.mark.parametrize("mechanism", ["blt", "gumbel"])
def test_asks_beyond_the_declared_number_are_refused(mechanism):
    problem = Problem(Logistic(), N, D, RowBounds(1.0), constraint=L1Ball(1.0))
    open_session = session(plan=StreamPlan(2, 0.3, mechanism), problem=problem)
    for _ in range(2):
        open_session.ask(request(5))
        with pytest.raises(RuntimeError, match="needs the batch before released"):
            open_session.ask(request(5))
        open_session.read(rows(n=5))
        open_session.release()
    with pytest.raises(RuntimeError, match="0 releases left"):
        open_session.ask(request(5))


def test_a_failure_while_reading_closes_the_session():
    open_session = session()
    open_session.ask(request(N))
    with pytest.raises(AssertionError, match="rows were read"):
        open_session.read(Unreadable())
    with pytest.raises(RuntimeError, match="a row is part of one batch"):
        open_session.read(rows())
    with pytest.raises(RuntimeError, match="needs a complete batch"):
        open_session.release()


@pytest.mark.parametrize("leave", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_session_is_not_copied(leave):
    open_session = session()
    open_session.ask(request(N))
    open_session.read(rows())
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        leave(open_session)


def test_rows_that_are_no_numbers_neither_raise_nor_warn():
    open_session = session()
    open_session.ask(request(3))
    X = np.array([[np.nan, 1.0, 0.0], [np.inf, 0.0, 0.0], [1e300, 1e300, -1e300]])
    open_session.read(DenseRows(X, np.zeros(3)))
    assert np.isfinite(open_session.release()).all()


def test_unknown_mechanisms_and_sets_without_vertices_are_refused():
    with pytest.raises(ValueError, match="got 'none'"):
        session(plan=StreamPlan(4, 0.3, "none"))
    with pytest.raises(ValueError, match="needs an l1 ball or a simplex"):
        session(plan=StreamPlan(4, 0.3, "gumbel"))
    with pytest.raises(ValueError, match="at least 1 release"):
        StreamPlan(0, 0.3)


def test_rows_of_another_process_have_no_order():
    with pytest.raises(ValueError, match="choose a solver for whole data sets"):
        StreamedRows(session(), object())
