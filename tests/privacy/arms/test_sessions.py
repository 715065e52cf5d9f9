"""Sessions are paid before they are given rows, answer what was planned, and stay secret."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from sessions_of_bandits import (
    CHOICES,
    CLIP,
    PLANS,
    D,
    K,
    Silence,
    T,
    asked_at,
    exact,
    opened,
    stream,
    weights,
)

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, SeededNoise, SystemNoise, secret_pickle
from skdp.privacy.accounting import Budget, Ledger
from skdp.privacy.bandit_sessions import SESSIONS, ArmMoments, Plan, best_vertices
from skdp.privacy.mechanisms import spacing
from skdp.problem import BanditProblem, CubeBounds
from skdp.problem.losses import Squared

every_session = pytest.mark.parametrize("name", PLANS)


def seeded():
    return SeededNoise(np.random.default_rng(0))


def ask(session, name, end):
    """All that is due of a session after so many users, as one array."""
    plan = PLANS[name][1]
    answers = [
        session.ask(*asked_at(name, end, q)) for q in range(plan.answers[plan.ends.index(end)])
    ]
    return np.stack([a.packed if isinstance(a, ArmMoments) else a for a in answers])


def run(session, name, rows, size=T, start=0, stop=T):
    """Answers to a part of a stream, in calls of at most this size."""
    out = []
    while start < stop:
        until = min(stop, start + min(size, session.room))
        session.add(*(part[start:until] for part in rows))
        start = until
        if session.room == 0:
            out.append(ask(session, name, start))
            session.close()
    return out


@every_session
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_whole_plan_is_charged_before_there_is_a_row(name, adjacency):
    ledger = Ledger(1.0, 1e-5, calculus=PLANS[name][1].calculus)
    session = opened(name, adjacency, seeded(), ledger)
    assert ledger.total == pytest.approx(ledger.limit, rel=1e-9)
    assert ledger.total <= ledger.limit
    receipt = ledger.receipt()
    run(session, name, stream())
    assert ledger.receipt() == receipt


@every_session
def test_a_session_that_cannot_be_paid_is_not_opened(name):
    problem, plan = PLANS[name]
    ledger = Ledger(1.0, 1e-5, calculus=plan.calculus)

    class Costlier(SESSIONS[name]):
        def _opening(self, adjacency, spend):
            return super()._opening(adjacency, Budget(2 * ledger.limit).whole())

    with pytest.raises(BudgetExceededError):
        Costlier(plan, problem, ledger, Adjacency.REPLACE_ONE, Silence())
    assert ledger.total == 0


@every_session
def test_answers_do_not_depend_on_how_rows_are_cut(name):
    rows = stream()
    one, many = (run(opened(name, noise=seeded()), name, rows, size) for size in (1, T))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@every_session
def test_rows_beyond_the_next_end_are_refused(name):
    session, rows = opened(name), stream()
    with pytest.raises(RuntimeError, match="more users before the next release"):
        session.add(*(part[: session.room + 1] for part in rows))
    assert session.seen == 0
    session.add(*(part[: session.room] for part in rows))
    with pytest.raises(RuntimeError, match="more users before the next release"):
        session.add(*(part[:1] for part in rows))


@every_session
def test_nothing_is_answered_twice_or_too_early(name):
    session, rows = opened(name), stream()
    end = session.room

    def refused():
        with pytest.raises(RuntimeError, match="answers as often as its plan says"):
            session.ask(*asked_at(name, end))

    session.add(*(part[: end - 1] for part in rows))
    refused()
    session.add(*(part[end - 1 : end] for part in rows))
    ask(session, name, end)
    refused()
    session.close()
    refused()


@every_session
@pytest.mark.parametrize("at", [0, 2, 3, 5, 7])
def test_a_secret_pickle_goes_on_where_it_stopped(name, at):
    rows = stream()
    session = opened(name, noise=seeded())
    run(session, name, rows, stop=at)
    again = pickle.loads(secret_pickle(session))
    first, second = (run(s, name, rows, start=at) for s in (session, again))
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_moments_are_those_of_all_users_so_far():
    X, arms, y = stream()
    released = exact("moments", (X, arms, y))
    for answer, end in zip(released, PLANS["moments"][1].ends, strict=True):
        for k in range(K):
            V, r = X[:end][arms[:end] == k], y[:end][arms[:end] == k]
            # The sums of each block are rounded to the grid.
            np.testing.assert_allclose(answer[k, :D], np.diag(V.T @ V), atol=1e-5)
            np.testing.assert_allclose(answer[k, -D:], V.T @ r, atol=1e-5)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e6])
def test_moments_lie_on_a_public_grid_whatever_the_rows(epsilon):
    for seed in (1, 2):
        ledger = Ledger(epsilon, 1e-5)
        session = opened("moments", noise=SystemNoise(), ledger=ledger)
        (event,) = ledger.receipt()
        grid = spacing(event.sensitivity, event.noise_scale, K * (D * (D + 1) // 2 + D))
        X, arms, y = stream(seed)
        for start, stop in pairwise((0, *PLANS["moments"][1].ends)):
            session.add(X[start:stop], arms[start:stop], y[start:stop])
            answer = session.ask()
            session.close()
            np.testing.assert_array_equal(answer.vectors % grid, 0)
            np.testing.assert_array_equal(np.einsum("kii->ki", answer.matrices) % grid, 0)
            off = np.sqrt(2) * answer.matrices / grid
            off[:, np.arange(D), np.arange(D)] = 0
            np.testing.assert_allclose(off, np.rint(off), rtol=1e-14)


def test_gradients_and_steps_are_those_of_the_loss():
    X, arms, y = stream()
    first = exact("gradients", (X, arms, y))[0]
    w, expected = weights(2), np.zeros((K, D))
    for x, k, r in zip(X[:3], arms[:3], y[:3], strict=True):
        expected[k] += np.clip(w[k] @ x - r, -CLIP, CLIP) * x
    np.testing.assert_allclose(first, expected, atol=1e-5)

    steps, sums = exact("steps", (X, arms, y)), np.zeros((K, D))
    for i, (x, k, r) in enumerate(zip(X, arms, y, strict=True)):
        forced = i < K
        index = i - (K - 1) if not forced else 0
        if not forced or k == i:
            now, then = weights(i)[k] @ x - r, weights(i + 100)[k] @ x - r
            sums[k] += np.clip((index + 1) * now - index * then, -CLIP, CLIP) * x
        shown = sums if not forced else sums * (np.arange(K) == i)[:, None]
        np.testing.assert_allclose(steps[i], shown, atol=1e-12)


def test_vertices_follow_the_exponential_mechanism():
    sums = np.tile([0.3, -0.4], (200_000, 1))
    chosen = best_vertices(sums, 0.5, seeded().gumbel)
    scores = np.exp(np.array([-0.3, 0.4, 0.3, -0.4]) / 0.5)
    shares = np.bincount(chosen, minlength=4) / len(sums)
    np.testing.assert_allclose(shares, scores / scores.sum(), atol=5 * 0.5 / np.sqrt(200_000))


def test_many_candidates_are_chosen_among_by_the_same_law_in_two_stages():
    """150 signed coordinates in 12 blocks of 13, of which the last is short."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=75)
    # Among them the last vertex, beside which the block is filled up.
    one[[3, 40, 74]] = -3.0, 2.5, 3.0
    source = seeded()
    drawn = np.concatenate(
        [best_vertices(np.tile(one, (2000, 1)), 0.7, source.gumbel) for _ in range(20)]
    )
    assert drawn.max() < 150
    weights = np.exp(np.concatenate([-one, one]) / 0.7)
    counts = np.bincount(drawn, minlength=150)
    likely = np.argsort(weights)[-8:]
    seen = np.append(counts[likely], counts.sum() - counts[likely].sum())
    share = np.append(weights[likely], weights.sum() - weights[likely].sum()) / weights.sum()
    assert stats.chisquare(seen, share * counts.sum()).pvalue > 1e-6
    wrong = np.append(share[:-2][::-1], share[-2:])
    assert stats.chisquare(seen, wrong * counts.sum()).pvalue < 1e-6


@pytest.mark.parametrize("forced", [1, 5])
def test_steps_choose_by_the_present_sums_of_all_arms(forced):
    """Scores are kept from step to step, and brought up to date for the arm that was pulled."""
    p, n = 40, 30
    problem = BanditProblem(K, p, n, Squared(), CubeBounds(1.0, 0.0), 1.0, 1e-5)
    plan = Plan("steps", range(1, n + 1), CHOICES, CLIP, forced=forced)
    ledger = Ledger(1.0, 1e-5, calculus=plan.calculus)
    session = SESSIONS["steps"](plan, problem, ledger, Adjacency.REPLACE_ONE, Silence())
    rng = np.random.default_rng(0)
    w = rng.uniform(-1, 1, size=(K, p))
    for i in range(n):
        session.add(rng.uniform(-1, 1, (1, p)), np.array([i % K]), np.array([0.5]))
        given = session.ask(w, w)
        stepped = given >= 0
        expected = best_vertices(session._running, session.scale, Silence().gumbel)
        np.testing.assert_array_equal(given[stepped], expected[stepped])
        session.close()
    assert np.abs(session._running).max() > 0.1


def test_no_entry_of_a_symmetric_matrix_is_released_with_the_noise_of_another():
    """Products may round differently on both sides of the diagonal, by the processor."""
    problem, plan = PLANS["moments"]
    ledger = Ledger(1.0, 1e-5, calculus=plan.calculus)
    session = SESSIONS[plan.releases](plan, problem, ledger, Adjacency.REPLACE_ONE, seeded())
    rows, end = stream(), plan.ends[0]
    session.add(*(part[:end] for part in rows))
    session._fold()
    session._products[:, 0, 1] += 1e-9
    matrices = session.ask().matrices
    np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))
