"""Rules act as they say, and one user's public randomness does not depend on other users'
contexts."""

import numpy as np
import pytest

from skdp.bandit.policies import Greedy, HDBPolicy, Preselecting, RoundRobin, Thompson
from skdp.problem import BanditProblem, ContextBounds
from skdp.problem.losses import Squared
from skdp.solvers import FTRL, FrankWolfe

RNG = np.random.default_rng(0)
K, P, N = 3, 4, 500
W = RNG.normal(size=(K, P))
V = RNG.normal(size=(N, P))
FACTORS = RNG.normal(size=(P, K, 2))


def public_rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("each", [1, 4])
def test_turns_go_on_from_call_to_call(each):
    rule = RoundRobin(W, each)
    together = rule.actions(V, 0, public_rng())
    np.testing.assert_array_equal(together, np.arange(N) // each % K)
    parts = [rule.actions(V[i : i + 7], i, public_rng()) for i in range(0, N, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), together)


def test_thompson_moves_scores_by_their_uncertainty():
    """For one context, frequencies are those of normal scores with the stated variances."""
    v = np.tile(V[:1], (40_000, 1))
    rule = Thompson(W, FACTORS, 0.5)
    shares = np.bincount(rule.actions(v, 0, public_rng()), minlength=K) / len(v)
    spread = np.linalg.norm(np.einsum("p,pkq->kq", V[0], FACTORS), axis=1)
    scores = W @ V[0] + 0.5 * spread * np.random.default_rng(2).normal(size=(400_000, K))
    expected = np.bincount(scores.argmax(axis=1), minlength=K) / len(scores)
    assert np.abs(shares - expected).max() < 5 * 0.5 / 200
    assert expected.min() > 0


def test_coins_of_a_user_do_not_depend_on_the_contexts_of_others():
    rule = Thompson(W, FACTORS, 1.0)
    other = V.copy()
    other[10] = -100 * V[10]
    same = rule.actions(V, 0, public_rng()) == rule.actions(other, 0, public_rng())
    assert np.all(np.delete(same, 10))


def test_large_batches_are_cut_without_a_trace(monkeypatch):
    rule = Thompson(W, FACTORS, 1.0)
    whole = rule.actions(V, 0, public_rng())
    monkeypatch.setattr("skdp.bandit.policies.choices._ENTRIES", 7 * K * 2)
    np.testing.assert_array_equal(rule.actions(V, 0, public_rng()), whole)


def test_preselection_keeps_arms_near_the_best_first_estimate():
    first = RNG.normal(size=(K, P))
    chosen = Preselecting(W, first, 0.3).actions(V, 0, public_rng())
    estimates = V @ first.T
    assert np.all(estimates[np.arange(N), chosen] >= estimates.max(axis=1) - 0.3)
    assert not np.array_equal(chosen, Greedy(W).actions(V, 0, public_rng()))
    everything = Preselecting(W, first, np.inf).actions(V, 0, public_rng())
    np.testing.assert_array_equal(everything, Greedy(W).actions(V, 0, public_rng()))


@pytest.mark.parametrize("solver", [None, FTRL(batches=10), FrankWolfe(batch=10)], ids=str)
def test_arms_are_ruled_out_by_what_is_released_once_all_have_been_forced(solver):
    """15 users are forced; the batches of solvers end at 10 users, at 20 and so on."""
    contexts = ContextBounds(1.0, 0.0, entries=True)
    problem = BanditProblem(K, P, 100, Squared(), contexts, 1.0, 1e-5)
    policy = HDBPolicy(forced=5, margin=0.1, solver=solver)
    plan, memory, rules = policy.plan(problem), None, {}
    for count, end in enumerate(plan.ends, start=1):
        answer = np.full(K, count % P) if plan.chooses else (np.full((K, P), -count), 1.0)
        rules[end], memory = policy.learn(problem, lambda *at, a=answer: a, end, memory)
    forced = [end for end, rule in rules.items() if isinstance(rule, RoundRobin)]
    first, *others = [rule for rule in rules.values() if isinstance(rule, Preselecting)]
    assert forced == [end for end in plan.ends if end < 15]
    assert np.any(first.w)
    for rule in (first, *others):
        np.testing.assert_array_equal(rule.first, first.w)
