"""Bugs in the sessions of bandits.

The measure is what a replaced user costs, in units of what was charged: 1 is the most there may be.
"""

from functools import partial

import numpy as np
import pytest
import sessions_of_bandits
from planted_bugs.bug import Bug, gives, patching
from privacy.arms import test_joint_sensitivity as joint
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

from skdp.privacy import SystemNoise
from skdp.privacy.bandit_sessions import ArmMoments
from skdp.privacy.mechanisms import prefix_sums_by
from skdp.problem import BanditProblem
from skdp.testing import check_noise

# Noise has a margin for finite precision, and answers lie on a grid.
MARGIN = 1e-4


def a_changed_arm_costs_no_more_than_was_paid(i=3):
    """A user is replaced by one who is given another arm.

    Everybody else is given the arm that the user leaves. Weights are such that a term of that arm
    is at one end of its range with the right index, and at the other end with the one before.
    """

    def weights(n):
        # Asked for at n and, for the former weights, at n + 100.
        now = CLIP - 2 * CLIP * (n % 100)
        return np.full((K, D), now if n < 100 else now - 2 * CLIP)

    X, y, arms = np.tile(np.eye(D)[0], (T, 1)), np.zeros(T), np.zeros(T, dtype=int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions_of_bandits, "weights", weights)
        moved = moves("steps", (X, arms, y), i, X[i], 1, 0.0)
        assert price("steps", moved) <= 1, "a changed arm costs more"


def wild_rewards_cost_no_more_than_was_paid():
    rows = replaced(stream(), 0, np.eye(D)[0], 0, 50.0)
    moved = moves("moments", rows, 0, -np.eye(D)[0], 0, 50.0)
    assert price("moments", moved) <= 1 + MARGIN, "a replaced user costs more"


def a_user_of_sums_costs_no_more_than_was_paid():
    """The worst pair with one arm, and pairs with two arms."""
    with pytest.MonkeyPatch.context() as patch:
        at_the_bound(patch)
        prices = [worst("sums", i, (0, arm)) for i in (0, T // 2, T - 1) for arm in range(K)]
    assert max(prices) <= 1 + MARGIN, "a replaced user costs more"
    assert max(prices) >= 1 - MARGIN


def steep_derivatives_cost_no_more_than_was_paid():
    """Beside a user whose row is short, and may have a steeper derivative."""
    x = np.eye(D)[0]
    rows = replaced(replaced(stream(), 1, 0.1 * x, 0, 1.0), 0, x, 0, 1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BanditProblem, "derivative", lambda self, y, z: np.full(len(y), 100.0))
        moved = moves("sums", rows, 0, -x, 0, 1.0)
    assert price("sums", moved) <= 1 + MARGIN, "a replaced user costs more"


def to_all_arms(honest, self, w, before=None):
    """Sums in which each user adds the row to all arms."""
    return np.tile(honest(self, w, before).sum(axis=0), (K, 1))


def noise_is_what_the_worst_pair_needs(name):
    """With the margin for finite precision, and no more."""
    session, (_, plan) = opened(name), PLANS[name]
    amount = plan.calculus.limit(1.0, 1e-5)
    if name in ("moments", "sums"):
        mechanism = prefix_sums_by(plan.mechanism, len(plan.ends))
        moved = 3 / np.sqrt(2) if name == "moments" else 2 * CLIP
        needed = moved * mechanism.column_norm / np.sqrt(amount)
        first = float(np.sqrt(mechanism.variances(np.array([1]))[0]))
        share = float(session.scale / first / needed) ** 2
    elif name == "gradients":
        share = (session.scale / (2 * CLIP)) ** 2 * amount / plan.answers[0]
    else:
        choices = T if name == "steps" else plan.answers[0]
        share = (session.scale / (4 * CLIP)) ** 2 * 4 * amount / choices
    assert (1 + 2.0**-15) ** 2 <= share <= 1 + MARGIN, f"{share} of the noise that is needed"


def moments_have_the_noise_that_is_named():
    session = opened("moments", noise=SystemNoise())
    X, arms, y = stream()
    session.add(X[:3], arms[:3], y[:3])
    exact = np.einsum("ni,nj,nk->kij", X[:3], X[:3], np.eye(K)[arms[:3]])
    vectors = np.einsum("ni,n,nk->ki", X[:3], y[:3], np.eye(K)[arms[:3]])
    answer = session.ask()
    return (answer.packed - ArmMoments.of(exact, vectors, 0.0, 3).packed).ravel() / answer.scale


def gradients_have_the_noise_that_is_named():
    session = opened("gradients", noise=SystemNoise())
    X, arms, _ = stream()
    session.add(X[:3], arms[:3], np.zeros(3))
    # Zero weights and zero rewards have no gradient.
    return 3 * session.ask(np.zeros((K, D))) / session.scale


def answers_have_the_noise_of_their_mechanism(request):
    check_noise(request, 1.0, repeats=60, false_alarm=1e-9)


def without_synthetic_rows(honest, self, w, before=None):
    """An arm that is not pulled takes no step: its index stays where it was."""
    block, arm = self._block, int(self._users()[1][0])
    counts = vars(self).setdefault("_counts", np.zeros(K, dtype=int))
    self._block = int(counts[arm])
    counts[arm] += 1
    try:
        return honest(self, w, before)
    finally:
        self._block = block


def twice(honest, self, V, arms, y):
    honest(self, np.repeat(V, 2, axis=0), np.repeat(arms, 2), np.repeat(y, 2))


def kept(honest, self):
    """Their rows stay."""


ONE_SIDE = {"Adjacency.of_sum": lambda _, self, bound: bound}
NEEDED = noise_is_what_the_worst_pair_needs
COSTS = partial(patching, joint.test_the_bound_is_attained_when_the_arm_stays)
HALF = r"standard deviation 0\.(4[4-9]|5)"
BUGS = (
    Bug("the synthetic row of an arm that is not pulled forgotten", {"ArmSession._gradients": without_synthetic_rows}, a_changed_arm_costs_no_more_than_was_paid, "costs more"),
    *(Bug(f"the sensitivity of one of two arms ({name})", ONE_SIDE, partial(NEEDED, name), "is needed") for name in ("gradients", "selections", "sums", "steps")),
    Bug("users of two arms counted as users of one (moments)", {"arm_session.joint_sensitivity": gives(1.0)}, partial(NEEDED, "moments"), "is needed"),
    Bug("users of two arms counted as rows that vanish (moments)", {"arm_session.joint_sensitivity": gives(np.sqrt(2.0))}, partial(NEEDED, "moments"), "is needed"),
    *(Bug(f"noise without the margin for finite precision ({name})", {"arm_session.inflated": lambda _, sensitivity, rounding: sensitivity}, partial(NEEDED, name), "is needed") for name in PLANS),
    Bug("a user who is a row in the sums of all arms", {"ArmSession._gradients": to_all_arms}, a_user_of_sums_costs_no_more_than_was_paid, "costs more"),
    Bug("bounds on derivatives that are those of the shortest row", {"Loss.shrunk": lambda honest, d, bound: honest(d, np.max(bound))}, steep_derivatives_cost_no_more_than_was_paid, "costs more"),
    Bug("half the noise on moments", {"PrefixNoise.next": lambda honest, self: honest(self) / 2}, partial(answers_have_the_noise_of_their_mechanism, moments_have_the_noise_that_is_named), HALF),
    Bug("half the noise on gradients of arms", {"GaussianMechanism.randomize": lambda honest, self, sums, noise: honest(self, sums, noise) / 2}, partial(answers_have_the_noise_of_their_mechanism, gradients_have_the_noise_that_is_named), HALF),
    *(Bug(f"a user who is counted twice ({name})", {"ArmSession._keep": twice}, partial(COSTS, name)) for name in ("moments", "gradients", "selections", "sums")),
    Bug("users who stay for the next block", {"ArmSession._forget_block": kept}, partial(COSTS, "gradients")),
    Bug("rewards that are not clipped", {"numpy.clip": lambda _, values, low, high, out=None: values}, wild_rewards_cost_no_more_than_was_paid, "costs more"),
)  # fmt: skip
