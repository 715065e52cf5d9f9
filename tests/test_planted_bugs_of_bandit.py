"""Bugs planted into the sessions of bandits, each of which the tests of neighbours have to notice.

The measure is what a replaced user costs, in units of what was charged: 1 is the most there may be.
"""

import numpy as np
import pytest
import sessions_of_bandits
from sessions_of_bandits import (
    CLIP,
    PLANS,
    D,
    K,
    T,
    at_the_bound,
    moves,
    opened,
    price,
    replaced,
    stream,
    worst,
)

from skdp.privacy.adjacency import Adjacency
from skdp.privacy.bandit_sessions import arm_moments as moments
from skdp.privacy.bandit_sessions import block_rows
from skdp.privacy.bandit_sessions.arm_moments import MomentSession
from skdp.privacy.bandit_sessions.block_rows import GradientSession, SelectionSession
from skdp.privacy.bandit_sessions.noisy_steps import StepSession
from skdp.privacy.mechanisms.prefix_sums import PrefixNoise
from skdp.privacy.mechanisms.toeplitz import Toeplitz
from skdp.privacy.randomness import SystemNoise
from skdp.testing import check_noise

# Noise has a margin for finite precision, and answers lie on a grid.
MARGIN = 1e-4
BAD = 1 + MARGIN


def price_of_a_changed_arm(monkeypatch, i=3):
    """A user after the forced ones is replaced by one who is given another arm.

    Everybody else is given the arm that the user leaves. Weights are such that a term of that arm
    is at one end of its range with the right index, and at the other end with the one before.
    """
    forced = 1

    def weights(n):
        # Asked for at n and, for the former weights, at n + 100.
        index = n % 100 - (K - 1) * forced
        now = CLIP - 2 * CLIP * index
        return np.full((K, D), now if n < 100 else now - 2 * CLIP)

    monkeypatch.setattr(sessions_of_bandits, "weights", weights)
    X, y = np.tile(np.eye(D)[0], (T, 1)), np.zeros(T)
    arms = np.where(np.arange(T) < K, np.arange(T), 0)
    return price("steps", moves("steps", (X, arms, y), i, X[i], 1, 0.0))


def test_without_synthetic_rows_a_changed_arm_costs_more_than_was_paid(monkeypatch):
    assert price_of_a_changed_arm(monkeypatch) <= 1
    honest = StepSession.step

    def without(self, w, before):
        arm, steps = self._row[1], self._steps.copy()
        out = honest(self, w, before)
        # Arms that were not pulled take no step: their count stays where it was.
        self._steps[:] = steps
        self._steps[arm] += 1
        return out

    monkeypatch.setattr(StepSession, "step", without)
    assert price_of_a_changed_arm(monkeypatch) > 10


@pytest.mark.parametrize("name", ["gradients", "moments", "selections", "steps"])
def test_the_sensitivity_of_one_side_only_is_caught(name, monkeypatch):
    """What the arm that a user leaves loses, without what another one gains."""
    at_the_bound(monkeypatch)
    monkeypatch.setattr(Adjacency, "of_sum", lambda self, bound: bound)
    assert charged_for(name) == pytest.approx(0.25 if name != "moments" else 1, rel=MARGIN)
    if name == "moments":
        monkeypatch.setattr(moments, "joint_sensitivity", lambda adjacency: np.sqrt(2.0))
        assert charged_for(name) == pytest.approx(4 / 9, rel=MARGIN)


def charged_for(name):
    """Square of the noise over that which the worst pair of users needs at this budget."""
    session = opened(name)
    _, plan = PLANS[name]
    amount = plan.calculus.limit(1.0, 1e-5)
    if name == "moments":
        mechanism = Toeplitz(len(plan.ends))
        needed = 3 / np.sqrt(2) * mechanism.column_norm / np.sqrt(amount)
        return float(session._scales[0] / needed) ** 2
    if name == "gradients":
        return (session._mechanism.noise_scale / (2 * CLIP)) ** 2 * amount / plan.answers
    if name == "selections":
        return (session._mechanisms[0].noise_scale / (4 * CLIP)) ** 2 * 4 * amount
    return (session._scale / (4 * CLIP)) ** 2 * 4 * amount / plan.updates


@pytest.mark.parametrize("name", PLANS)
def test_honest_noise_is_what_the_worst_pair_needs(name):
    assert charged_for(name) == pytest.approx(1.0, rel=MARGIN)


@pytest.mark.parametrize("name", PLANS)
def test_noise_without_the_margin_for_finite_precision_is_caught(name, monkeypatch):
    least = (1 + 2.0**-15) ** 2
    assert charged_for(name) >= least
    monkeypatch.setattr(
        "skdp.privacy.bandit_sessions.base.inflated", lambda sensitivity, rounding: sensitivity
    )
    assert charged_for(name) < least


def noise_of_moments():
    session = opened("moments", noise=SystemNoise())
    X, arms, y = stream()
    session.add(X[:3], arms[:3], y[:3])
    exact = np.einsum("ni,nj,nk->kij", X[:3], X[:3], np.eye(K)[arms[:3]])
    answer = session.moments()
    diagonal = np.einsum("kii->ki", answer.matrices - exact)
    off = (answer.matrices - exact)[:, *np.triu_indices(D, 1)]
    vectors = answer.vectors - np.einsum("ni,n,nk->ki", X[:3], y[:3], np.eye(K)[arms[:3]])
    parts = [diagonal.ravel(), np.sqrt(2) * off.ravel(), vectors.ravel()]
    return np.concatenate(parts) / answer.scale


def test_half_the_noise_on_moments_is_caught(monkeypatch):
    check_noise(noise_of_moments, 1.0, repeats=300)
    honest = PrefixNoise.next
    monkeypatch.setattr(PrefixNoise, "next", lambda self: honest(self) / 2)
    with pytest.raises(AssertionError, match=r"standard deviation 0\.(4[6-9]|5)"):
        check_noise(noise_of_moments, 1.0, repeats=300)


def noise_of_a_gradient():
    session = opened("gradients", noise=SystemNoise())
    X, arms, _ = stream()
    session.add(X[:3], arms[:3], np.zeros(3))
    # Zero weights and zero rewards have no gradient.
    return 3 * session.gradient(np.zeros((K, D))) / session._mechanism.noise_scale


def test_half_the_noise_on_gradients_is_caught(monkeypatch):
    check_noise(noise_of_a_gradient, 1.0, repeats=300)
    honest = GradientSession.gradient
    monkeypatch.setattr(GradientSession, "gradient", lambda self, w: honest(self, w) / 2)
    with pytest.raises(AssertionError, match=r"standard deviation 0\.(4[6-9]|5)"):
        check_noise(noise_of_a_gradient, 1.0, repeats=300)


@pytest.mark.parametrize(
    ("session", "name"),
    [(MomentSession, "moments"), (GradientSession, "gradients"), (SelectionSession, "selections")],
)
def test_a_row_that_is_counted_twice_is_caught(session, name, monkeypatch):
    at_the_bound(monkeypatch)
    assert worst(name, 0, (0, 0)) <= BAD
    honest = session._keep

    def twice(self, V, arms, y):
        honest(self, np.repeat(V, 2, axis=0), np.repeat(arms, 2), np.repeat(y, 2))

    monkeypatch.setattr(session, "_keep", twice)
    assert worst(name, 0, (0, 0)) == pytest.approx(4.0, rel=MARGIN)


def test_rows_that_stay_for_the_next_block_are_caught(monkeypatch):
    at_the_bound(monkeypatch)
    assert worst("gradients", 0, (0, 0)) <= BAD

    def keep(self):
        self._asked = 0

    monkeypatch.setattr(block_rows._BlockSession, "_forget_block", keep)
    assert worst("gradients", 0, (0, 0)) == pytest.approx(3.0, rel=MARGIN)


def test_rewards_that_are_not_clipped_are_caught(monkeypatch):
    rows = replaced(stream(), 0, np.eye(D)[0], 0, 50.0)
    assert price("moments", moves("moments", rows, 0, -np.eye(D)[0], 0, 50.0)) <= BAD
    monkeypatch.setattr(np, "clip", lambda values, low, high, out=None: values)
    assert price("moments", moves("moments", rows, 0, -np.eye(D)[0], 0, 50.0)) > 100
