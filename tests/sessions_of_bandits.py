"""Sessions without noise, and streams that differ in one user; for several test files."""

from dataclasses import replace

import numpy as np
import pytest
from planted_bugs.noise import Silence

from skdp.privacy import Adjacency
from skdp.privacy.accounting import GaussianDP, Ledger, ZeroConcentratedDP
from skdp.privacy.bandit_sessions import SESSIONS, ArmStreams, Plan, joint_sensitivity
from skdp.privacy.streams import Stream
from skdp.problem import BanditProblem, CubeBounds, NormBounds
from skdp.problem.losses import Squared

T, K, D, CLIP = 12, 3, 4, 0.4
NORM = BanditProblem(K, D, T, Squared(), NormBounds(1.0, 0.0), 1.0, 1e-5)
CUBE = replace(NORM, contexts=CubeBounds(1.0, 0.0))
GAUSSIAN, CHOICES, ENDS = GaussianDP(), ZeroConcentratedDP(), (3, 6, T)
PLANS = {
    "moments": (NORM, Plan("moments", ENDS, GAUSSIAN)),
    "gradients": (NORM, Plan("gradients", ENDS, GAUSSIAN, CLIP, (2, 2, 2))),
    "vertices": (CUBE, Plan("vertices", ENDS, CHOICES, CLIP, (1, 2, 3))),
    "steps": (CUBE, Plan("steps", range(1, T + 1), CHOICES, CLIP, forced=1)),
}


def opened(name, adjacency=Adjacency.REPLACE_ONE, noise=None, ledger=None):
    problem, plan = PLANS[name]
    ledger = ledger or Ledger(1.0, 1e-5, calculus=plan.calculus)
    return SESSIONS[plan.releases](plan, problem, ledger, adjacency, noise or Silence())


def stream(seed=0):
    """Contexts of norm 1 or of entries of size 1, arms and rewards at the ends of their range."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, rng.integers(K, size=T), rng.choice([-1.0, 1.0], T)


def weights(n):
    """What a policy may ask at: public, the same for neighbours."""
    return np.random.default_rng(n).uniform(-1, 1, size=(K, D))


def asked_at(name, end, query=0):
    """What a policy may ask at after so many users."""
    if name == "moments":
        return ()
    at = weights(end - 1 + 100 * query)
    return (at, weights(end + 99)) if name == "steps" else (at,)


def exact(name, rows):
    """What noise would be added to at each release, as arrays with one row an arm."""
    session, sums, out, plan = opened(name), [], [], PLANS[name][1]
    honest = session._release
    session._release = lambda exact: sums.append(exact.copy()) or honest(exact)
    X, arms, y = rows
    for i in range(len(X)):
        session.add(X[i : i + 1], arms[i : i + 1], y[i : i + 1])
        if session.room:
            continue
        for query in range(plan.answers[plan.ends.index(i + 1)]):
            answer = session.ask(*asked_at(name, i + 1, query))
            out.append(sums[-1] * (answer >= 0)[:, np.newaxis] if name == "steps" else sums[-1])
        session.close()
    return out


def replaced(rows, i, x, arm, y):
    """The stream in which user i is another one."""
    X, arms, ys = (part.copy() for part in rows)
    X[i], arms[i], ys[i] = x, arm, y
    return X, arms, ys


def moves(name, rows, i, x, arm, y):
    """Differences of the exact statistics, one (K, m) array a release."""
    before, after = exact(name, rows), exact(name, replaced(rows, i, x, arm, y))
    return [b - a for a, b in zip(before, after, strict=True)]


def changed_arms(move):
    return set(np.flatnonzero(np.abs(move).max(axis=1) > 1e-12))


def price(name, moved):
    """Cost of a run in units of what is charged for it, from the exact moves of its statistics."""
    if name == "moments":
        # All of a user's terms are in one block: the first move is the term, later ones repeat it.
        norms = [np.linalg.norm(m) for m in moved]
        largest = max(norms)
        assert all(n == pytest.approx(largest) or n == 0 for n in norms)
        return (largest / joint_sensitivity(Adjacency.REPLACE_ONE)) ** 2
    if name == "gradients":
        # Two answers a block, each charged half.
        return sum((np.linalg.norm(m) / (2 * CLIP)) ** 2 for m in moved) / 2
    # Signed coordinates: the range of an arm's scores is twice its largest entry.
    ranges = [(2 * np.abs(m).max(axis=1) / (4 * CLIP)) ** 2 for m in moved]
    if name == "steps":
        updates = PLANS[name][1].updates(K)
        return sum(r.sum() for r in ranges) / updates
    rounds = [k for k in PLANS[name][1].answers for _ in range(k)]
    return sum(r.sum() / k for r, k in zip(ranges, rounds, strict=True))


def fed_to_streams(plan, problem, rows, adjacency=Adjacency.REPLACE_ONE):
    """Rows and targets that each arm's stream was fed, in order, as arrays (n, D + 1)."""
    ledger = Ledger(1.0, 1e-5, calculus=plan.calculus)
    session, seen, honest = ArmStreams(plan, problem, ledger, adjacency, Silence()), {}, Stream.feed

    def feed(self, some):
        seen.setdefault(id(self), []).extend(np.c_[some.X, some.y])
        honest(self, some)

    X, arms, y = rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stream, "feed", feed)
        for i in range(len(X)):
            session.add(X[i : i + 1], arms[i : i + 1], y[i : i + 1])
            if session.room == 0:
                session.ask()
                session.close()
    return [np.array(seen.get(id(s), np.empty((0, D + 1)))) for s in session._streams]


def price_of_streams(plan, problem, rows, i, x, arm, y):
    """Cost of a replaced user in units of what is charged, where derivatives are at their bound.

    With targets at the ends of their range a row moves its term by the row itself, in units of the
    bound; what is charged is a move of 2.
    """
    before = fed_to_streams(plan, problem, rows)
    after = fed_to_streams(plan, problem, replaced(rows, i, x, arm, y))
    cost = 0.0
    for a, b in zip(before, after, strict=True):
        n = max(len(a), len(b))
        terms = [np.zeros((n, D)), np.zeros((n, D))]
        for term, part in zip(terms, (a, b), strict=True):
            term[: len(part)] = part[:, :D] * np.sign(part[:, D:])
        cost += float(((terms[0] - terms[1]) ** 2).sum()) / 4
    return cost


def axis(j):
    return np.eye(D)[j]


WORST_SAME = {
    # Cosine 1/2, rewards that point apart.
    "moments": ((axis(0), 1.0), (0.5 * axis(0) + np.sqrt(0.75) * axis(1), -1.0)),
    "gradients": ((axis(0), 3.0), (-axis(0), 3.0)),
    "vertices": ((np.ones(D), 3.0), (-np.ones(D), 3.0)),
    "steps": ((np.ones(D), 3.0), (-np.ones(D), 3.0)),
}


def at_the_bound(monkeypatch):
    """Let all derivatives, and so all recursive ones, be at their bound."""
    monkeypatch.setattr(
        "skdp.problem.bandit_problem.BanditProblem.derivative",
        lambda self, y, z, clip=np.inf: np.full(len(y), CLIP),
    )


def worst(name, i, arms):
    """Price of the worst pair of users, given these arms."""
    (x, y), (other, other_y) = WORST_SAME[name]
    rows = replaced(stream(), i, x, arms[0], y)
    return price(name, moves(name, rows, i, other, arms[1], other_y))


def zeroed_out(name):
    """Price of the first user's leaving, which is that of a row of zeros."""
    x, y = WORST_SAME[name][0]
    rows = replaced(stream(), 0, x, 0, y)
    return price(name, moves(name, rows, 0, np.zeros(D), 0, 0.0))
