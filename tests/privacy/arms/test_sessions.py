"""Sessions are paid before they are given rows, answer what was planned, and stay secret."""

import pickle
from contextlib import suppress
from dataclasses import replace
from itertools import count, pairwise, product

import numpy as np
import pytest
from interruptions import Lines
from known_noise import Prepared, seeded
from scipy import stats
from sessions_of_bandits import (
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

from skdp.bandit.policies import HDBPolicy
from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, SystemNoise, secret_pickle
from skdp.privacy.accounting import Budget, Ledger
from skdp.privacy.bandit_sessions import ArmSession, best_vertices
from skdp.privacy.mechanisms import prefix_sums_by, spacing
from skdp.privacy.rows import bounded_rows
from skdp.problem import BanditProblem, ContextBounds
from skdp.problem.losses import Logistic, Squared
from skdp.solvers import FTRL, FrankWolfe

every_session = pytest.mark.parametrize("name", PLANS)


def ask(session, name, end):
    """All that is due of a session after so many users, as one array."""
    plan = PLANS[name][1]
    answers = [
        session.ask(*asked_at(name, end, q)) for q in range(plan.answers[plan.ends.index(end)])
    ]
    of_kind = {"moments": lambda a: a.packed, "sums": lambda a: a[0]}.get(name, np.asarray)
    return np.stack([of_kind(a) for a in answers])


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

    class Costlier(ArmSession):
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
def test_rows_of_an_interrupted_call_are_not_taken_twice(name):
    """Who passes them in again is refused, or none of them was taken."""
    end = PLANS[name][1].ends[0]
    rows = [part[:end] for part in stream()]
    refused = 0
    for at in count(1):
        session, lines = opened(name), Lines(at)
        with suppress(KeyboardInterrupt), lines:
            session.add(*rows)
        if lines.count < at:
            break
        try:
            session.add(*rows)
        except RuntimeError:
            refused += 1
        assert sum(len(part[0]) for part in session._rows) <= end
    assert 0 < refused < at - 1


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


class Drawn(Silence):
    """Ones at one of the draws, zeros at all others."""

    def __init__(self, at):
        self._left = at

    def normal(self, shape):
        self._left -= 1
        return np.full(shape, float(self._left == -1))


@pytest.mark.parametrize("name", ["moments", "sums"])
@pytest.mark.parametrize("mechanism", ["blt", "toeplitz", "tree"])
def test_noise_of_running_sums_is_drawn_anew_and_correlated_as_the_price_assumes(
    name, mechanism, monkeypatch
):
    problem, plan = PLANS[name]
    plan = replace(plan, mechanism=mechanism)
    monkeypatch.setitem(PLANS, name, (problem, plan))
    releases = range(len(plan.ends))
    for draw in releases:
        ledger = Ledger(1.0, 1e-5, calculus=plan.calculus)
        session = opened(name, noise=Drawn(draw), ledger=ledger)
        (event,) = ledger.receipt()
        correlator = prefix_sums_by(mechanism, len(plan.ends)).correlator(1)
        rows = np.zeros((T, D)), np.zeros(T, dtype=int), np.zeros(T)
        for t, answer in zip(releases, run(session, name, rows), strict=True):
            expected = event.noise_scale * correlator.step(np.ones(1) * (t == draw))
            np.testing.assert_allclose(answer - expected, 0.0, atol=1e-3 * event.noise_scale)


@pytest.mark.parametrize("rounds", [(3, 1, 2), (1, 2, 3)])
def test_the_block_that_is_asked_most_decides_about_the_noise_of_gradients(rounds, monkeypatch):
    problem, plan = PLANS["gradients"]
    plan = replace(plan, answers=rounds)
    monkeypatch.setitem(PLANS, "gradients", (problem, plan))
    session = opened("gradients", noise=Drawn(0))
    answers = run(session, "gradients", (np.zeros((T, D)), np.zeros(T, dtype=int), np.zeros(T)))
    noise = (answers[0][0] * plan.ends[0]).max()
    amount = plan.calculus.limit(1.0, 1e-5)
    assert noise == pytest.approx(2 * CLIP * np.sqrt(max(rounds) / amount), rel=2e-3)


def test_choices_of_each_block_have_the_noise_that_its_rounds_need(monkeypatch):
    """A candidate with a head start beats the best one if the noise is large enough."""
    problem, plan = PLANS["selections"]
    for rounds, faster in product([(1, 2, 3), (3, 2, 1)], [True, False]):
        monkeypatch.setitem(PLANS, "selections", (problem, replace(plan, answers=rounds)))
        source = Prepared()
        session, users = opened("selections", noise=source), 0
        for end, most in zip(plan.ends, rounds, strict=True):
            n, users = end - users, end
            session.add(np.ones((n, D)), np.zeros(n, dtype=int), np.ones(n))
            scale = 4 * CLIP / np.sqrt(4 * plan.calculus.limit(1.0, 1e-5) / most)
            source.place = 0, D + 1
            # Each user raises the score of a direction by the clip and lowers that of the other.
            source.ahead = 2 * n * CLIP / scale * (1.001 if faster else 0.999)
            answer = session.ask(np.zeros((K, D)))
            assert (answer[0] == D + 1) == faster
            session.close()


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
        now, then = weights(i)[k] @ x - r, weights(i + 100)[k] @ x - r
        sums[k] += np.clip((i + 1) * now - i * then, -CLIP, CLIP) * x
        np.testing.assert_allclose(steps[i], sums, atol=1e-12)


def test_running_sums_have_a_bounded_vector_of_each_user():
    """Short rows may have steep derivatives; what is bounded is the vector."""
    X, arms, y = stream()
    X = X * np.linspace(0.1, 1.0, T)[:, None]
    found, sums = exact("sums", (X, arms, y)), np.zeros((K, D))
    for block, (start, stop) in enumerate(pairwise((0, *PLANS["sums"][1].ends))):
        for x, k, r in zip(X[start:stop], arms[start:stop], y[start:stop], strict=True):
            now, then = (weights(stop - 1 + at)[k] @ x - r for at in (0, 100))
            vector = ((block + 1) * now - block * then) * x
            sums[k] += vector * min(1.0, CLIP / np.linalg.norm(vector))
        np.testing.assert_allclose(found[block], sums, atol=1e-5)


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


@pytest.mark.parametrize(
    "solver", [FTRL(), FrankWolfe(batch=1, noise="gumbel"), FrankWolfe(batch=2)]
)
@pytest.mark.parametrize("loss", [Squared(), Logistic()])
def test_synthetic_rows_add_nothing(solver, loss):
    """Without noise, arms that were never pulled stay where they began, but for chosen vertices."""
    problem = BanditProblem(K, D, T, loss, ContextBounds(1.0, 0.0, entries=True), 1.0, 1e-5)
    policy = HDBPolicy(solver=solver)
    plan = policy.plan(problem)
    ledger = Ledger(1.0, 1e-5, calculus=plan.calculus)
    session = ArmSession(plan, problem, ledger, Adjacency.REPLACE_ONE, Silence())
    assert ledger.limit * (1 - 1e-9) <= ledger.total <= ledger.limit
    memory, (X, _, y), start = None, stream(), 0
    while session.room is not None:
        stop = start + session.room
        session.add(X[start:stop], np.zeros(stop - start, dtype=int), y[start:stop])
        rule, memory = policy.learn(problem, session.ask, stop, memory)
        start = stop
        assert np.any(session._total[0])
        np.testing.assert_array_equal(session._total[1:], 0.0)
        session.close()
    assert np.any(rule.w[0])
    if not plan.chooses and isinstance(solver, FTRL):
        np.testing.assert_array_equal(rule.w[1:], 0.0)


def test_no_entry_of_a_symmetric_matrix_is_released_with_the_noise_of_another(monkeypatch):
    """Products may round differently on both sides of the diagonal, by the processor."""
    problem, plan = PLANS["moments"]
    ledger = Ledger(1.0, 1e-5, calculus=plan.calculus)
    session = ArmSession(plan, problem, ledger, Adjacency.REPLACE_ONE, seeded())
    rows, end = stream(), plan.ends[0]
    session.add(*(part[:end] for part in rows))
    honest = bounded_rows.product_over_rows
    monkeypatch.setattr(
        "skdp.privacy.bandit_sessions.arm_session.product_over_rows",
        lambda U, V: honest(U, V) + 1e-9 * (np.arange(D)[:, None] < np.arange(D + 1)),
    )
    matrices = session.ask().matrices
    np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))
