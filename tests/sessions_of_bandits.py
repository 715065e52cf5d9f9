"""Sessions without noise, and streams that differ in one user; for several test files."""

from dataclasses import replace

import numpy as np
import pytest
from known_noise import Silence

from skdp.privacy import Adjacency
from skdp.privacy.accounting import GaussianDP, Ledger, ZeroConcentratedDP
from skdp.privacy.bandit_sessions import ArmSession, Plan, joint_sensitivity
from skdp.problem import BanditProblem, ContextBounds
from skdp.problem.losses import Squared

T, K, D, CLIP = 12, 3, 4, 0.4
NORM = BanditProblem(K, D, T, Squared(), ContextBounds(1.0, 0.0), 1.0, 1e-5)
CUBE = replace(NORM, contexts=ContextBounds(1.0, 0.0, entries=True))
GAUSSIAN, CHOICES, ENDS = GaussianDP(), ZeroConcentratedDP(), (3, 6, T)
PLANS = {
    "moments": (NORM, Plan("moments", ENDS, GAUSSIAN)),
    "gradients": (NORM, Plan("gradients", ENDS, GAUSSIAN, CLIP, (2, 2, 2))),
    "selections": (CUBE, Plan("selections", ENDS, CHOICES, CLIP, (1, 2, 3))),
    "sums": (NORM, Plan("sums", ENDS, GAUSSIAN, CLIP, mechanism="blt")),
    "steps": (CUBE, Plan("steps", range(1, T + 1), CHOICES, CLIP)),
}


def opened(name, adjacency=Adjacency.REPLACE_ONE, noise=None, ledger=None):
    problem, plan = PLANS[name]
    ledger = ledger or Ledger(1.0, 1e-5, calculus=plan.calculus)
    return ArmSession(plan, problem, ledger, adjacency, noise or Silence())


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
    return (at, weights(end + 99)) if PLANS[name][1].running else (at,)


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
            session.ask(*asked_at(name, i + 1, query))
            out.append(sums[-1])
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
    if name in ("moments", "sums"):
        # All of a user's terms are in one block: the first move is the term, later ones repeat it.
        norms = [np.linalg.norm(m) for m in moved]
        largest = max(norms)
        assert all(n == pytest.approx(largest, rel=1e-4) or n == 0 for n in norms)
        charged = joint_sensitivity(Adjacency.REPLACE_ONE) if name == "moments" else 2 * CLIP
        return (largest / charged) ** 2
    if name == "gradients":
        # Two answers a block, each charged half.
        return sum((np.linalg.norm(m) / (2 * CLIP)) ** 2 for m in moved) / 2
    # Signed coordinates: the range of an arm's scores is twice its largest entry.
    ranges = [(2 * np.abs(m).max(axis=1) / (4 * CLIP)) ** 2 for m in moved]
    if name == "steps":
        return sum(r.sum() for r in ranges) / T
    rounds = [k for k in PLANS[name][1].answers for _ in range(k)]
    return sum(r.sum() / k for r, k in zip(ranges, rounds, strict=True))


def axis(j):
    return np.eye(D)[j]


WORST_SAME = {
    # Cosine 1/2, rewards that point apart.
    "moments": ((axis(0), 1.0), (0.5 * axis(0) + np.sqrt(0.75) * axis(1), -1.0)),
    "gradients": ((axis(0), 3.0), (-axis(0), 3.0)),
    "sums": ((axis(0), 3.0), (-axis(0), 3.0)),
    "selections": ((np.ones(D), 3.0), (-np.ones(D), 3.0)),
    "steps": ((np.ones(D), 3.0), (-np.ones(D), 3.0)),
}


def at_the_bound(monkeypatch):
    """Let all derivatives, and so all recursive ones, be at their bound."""
    monkeypatch.setattr(
        "skdp.problem.bandit_problem.BanditProblem.derivative",
        lambda self, y, z: np.full(len(y), CLIP),
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
