"""Streams of arms: what a user is in each of them, and what a changed arm changes."""

import numpy as np
import pytest
from sessions_of_bandits import D, K, Silence, T, fed_to_streams, replaced, stream

from skdp.bandit.policies import HDBPolicy
from skdp.privacy import Adjacency
from skdp.privacy.accounting import Ledger
from skdp.privacy.bandit_sessions import ArmStreams
from skdp.privacy.streams import Stream
from skdp.problem import BanditProblem, CubeBounds
from skdp.problem.losses import Logistic, Squared
from skdp.solvers import FTRL, FrankWolfe

SOLVERS = [FTRL(), FrankWolfe(batch=1, noise="gumbel"), FrankWolfe(batch=2)]


def planned(solver, loss=None, adjacency=Adjacency.REPLACE_ONE):
    problem = BanditProblem(K, D, T, loss or Squared(), CubeBounds(1.0, 0.0), 1.0, 1e-5, adjacency)
    return HDBPolicy(solver=solver, forced=2).plan(problem), problem


def opened(solver, loss=None, adjacency=Adjacency.REPLACE_ONE):
    plan, problem = planned(solver, loss, adjacency)
    ledger = Ledger(1.0, 1e-5, calculus=plan.calculus)
    return ArmStreams(plan, problem, ledger, adjacency, Silence()), ledger


def fed(rows):
    return fed_to_streams(*planned(SOLVERS[0]), rows)


def test_every_arm_takes_a_step_at_every_user_after_the_forced_ones():
    X, arms, y = stream()
    seen = fed((X, arms, y))
    for k in range(K):
        own = (arms == k)[:, None] * np.c_[X, y]
        expected = np.concatenate([own[2 * k : 2 * k + 2], own[2 * K :]])
        np.testing.assert_array_equal(seen[k], expected)


@pytest.mark.parametrize("i", range(T))
@pytest.mark.parametrize("arm", range(K))
def test_a_replaced_user_is_one_row_of_two_streams_at_most(i, arm):
    rows = stream()
    other = replaced(rows, i, -rows[0][i], arm, -rows[2][i])
    before, after = fed(rows), fed(other)
    changed = [k for k in range(K) if not np.array_equal(before[k], after[k])]
    assert set(changed) <= {rows[1][i], arm}
    for k in changed:
        (place,) = np.flatnonzero(np.any(before[k] != after[k], axis=1))
        # A stream whose arm the user leaves or comes to has zeros in one of the two.
        assert rows[1][i] == arm or not before[k][place].any() or not after[k][place].any()


def test_streams_are_fed_once_a_block_however_users_come(monkeypatch):
    """No row before the end of its block is due, and then all of the block at once."""
    X, arms, y = stream()
    session, _ = opened(SOLVERS[0])
    session.add(X[:2], arms[:2], y[:2])
    session.ask()
    sizes, honest = [], Stream.feed
    monkeypatch.setattr(
        Stream, "feed", lambda self, rows: sizes.append(rows.n_samples) or honest(self, rows)
    )
    session.close()
    session.add(X[2:3], arms[2:3], y[2:3])
    assert not sizes
    session.add(X[3:4], arms[3:4], y[3:4])
    session.ask()
    assert sizes == [2]


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
@pytest.mark.parametrize("solver", SOLVERS[::2], ids=str)
def test_synthetic_rows_add_nothing(loss, solver):
    """Without noise, arms that were never pulled stay where they began."""
    session, _ = opened(solver, loss)
    X, _, y = stream()
    start = 0
    while session.room:
        stop = start + session.room
        session.add(X[start:stop], np.zeros(stop - start, dtype=int), y[start:stop])
        first = session.ask()[0]
        session.close()
        start = stop
    assert np.any(first)
    np.testing.assert_array_equal([s._session._total for s in session._streams[1:]], 0.0)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_all_streams_are_paid_as_one(solver, adjacency):
    session, ledger = opened(solver, adjacency=adjacency)
    assert ledger.limit * (1 - 1e-9) <= ledger.total <= ledger.limit
    for one in session._streams:
        ((_, own),) = one.receipts
        assert own.receipt() == ledger.receipt()
