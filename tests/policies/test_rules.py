"""Rules act as they say, and one user's public randomness does not depend on other users'
contexts."""

import numpy as np
import pytest

from skdp.bandit.policies import Greedy, Preselecting, RoundRobin, Thompson

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
