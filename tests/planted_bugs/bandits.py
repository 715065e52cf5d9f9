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
    NORM,
    PLANS,
    D,
    K,
    T,
    moves,
    opened,
    price,
    price_of_streams,
    replaced,
    stream,
)

from skdp.bandit.policies import FTRLPolicy
from skdp.privacy import SystemNoise
from skdp.privacy.bandit_sessions import ArmMoments
from skdp.privacy.mechanisms import Toeplitz
from skdp.privacy.rows import DenseRows
from skdp.testing import check_noise

# Noise has a margin for finite precision, and answers lie on a grid.
MARGIN = 1e-4


def a_changed_arm_costs_no_more_than_was_paid(i=3):
    """A user after the forced ones is replaced by one who is given another arm.

    Everybody else is given the arm that the user leaves. Weights are such that a term of that arm
    is at one end of its range with the right index, and at the other end with the one before.
    """

    def weights(n):
        # Asked for at n and, for the former weights, at n + 100; one user of each arm is forced.
        now = CLIP - 2 * CLIP * (n % 100 - (K - 1))
        return np.full((K, D), now if n < 100 else now - 2 * CLIP)

    X, y = np.tile(np.eye(D)[0], (T, 1)), np.zeros(T)
    arms = np.where(np.arange(T) < K, np.arange(T), 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions_of_bandits, "weights", weights)
        moved = moves("steps", (X, arms, y), i, X[i], 1, 0.0)
        assert price("steps", moved) <= 1, "a changed arm costs more"


def wild_rewards_cost_no_more_than_was_paid():
    rows = replaced(stream(), 0, np.eye(D)[0], 0, 50.0)
    moved = moves("moments", rows, 0, -np.eye(D)[0], 0, 50.0)
    assert price("moments", moved) <= 1 + MARGIN, "a replaced user costs more"


def a_user_of_streams_costs_no_more_than_was_paid():
    """The worst pair with one arm, and pairs with two arms, of the default policy."""
    plan, (x, y) = FTRLPolicy().plan(NORM), (np.eye(D)[0], 1.0)
    prices = [
        price_of_streams(plan, NORM, replaced(stream(), i, x, 0, y), i, -x, arm, y)
        for i in (0, T // 2, T - 1)
        for arm in range(K)
    ]
    assert max(prices) <= 1 + MARGIN, "a replaced user costs more"
    assert max(prices) >= 1 - MARGIN


def fed_alone(honest, self):
    """Each stream gets the rows of its own arm."""
    V, arms, y = self._users()
    for k, each in enumerate(self._streams):
        own = arms == k
        if own.any():
            each.feed(DenseRows(V[own], y[own]))
    return np.zeros((K, D))


def fed_to_all(honest, self):
    V, _, y = self._users()
    for each in self._streams if self._turn is None else [self._streams[self._turn]]:
        each.feed(DenseRows(V, y))
    return np.zeros((K, D))


def noise_is_what_the_worst_pair_needs(name):
    """With the margin for finite precision, and no more."""
    session, (_, plan) = opened(name), PLANS[name]
    amount = plan.calculus.limit(1.0, 1e-5)
    if name == "moments":
        needed = 3 / np.sqrt(2) * Toeplitz(len(plan.ends)).column_norm / np.sqrt(amount)
        share = float(session._scales[0] / needed) ** 2
    elif name == "gradients":
        share = (session._mechanism.noise_scale / (2 * CLIP)) ** 2 * amount / plan.answers[0]
    elif name == "vertices":
        share = (session._scales[0] / (4 * CLIP)) ** 2 * 4 * amount
    else:
        share = (session.scale / (4 * CLIP)) ** 2 * 4 * amount / plan.updates(K)
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
    return 3 * session.ask(np.zeros((K, D))) / session._mechanism.noise_scale


def answers_have_the_noise_of_their_mechanism(request):
    check_noise(request, 1.0, repeats=60, false_alarm=1e-9)


def without_synthetic_rows(honest, self, sums):
    arm, steps = int(self._users()[1][0]), self._steps.copy()
    out = honest(self, sums)
    # Arms that were not pulled take no step: their count stays where it was.
    self._steps[:] = steps
    self._steps[arm] += 1
    return out


def twice(honest, self, V, arms, y):
    honest(self, np.repeat(V, 2, axis=0), np.repeat(arms, 2), np.repeat(y, 2))


def kept(honest, self):
    """Their rows stay."""


ONE_SIDE = {"Adjacency.of_sum": lambda _, self, bound: bound}
NEEDED = noise_is_what_the_worst_pair_needs
COSTS = partial(patching, joint.test_the_bound_is_attained_when_the_arm_stays)
HALF = r"standard deviation 0\.(4[4-9]|5)"
BUGS = (
    Bug("the synthetic row of an arm that is not pulled forgotten", {"StepSession._release": without_synthetic_rows}, a_changed_arm_costs_no_more_than_was_paid, "costs more"),
    *(Bug(f"the sensitivity of one of two arms ({name})", ONE_SIDE, partial(NEEDED, name), "is needed") for name in ("gradients", "vertices", "steps")),
    Bug("users of two arms counted as users of one (moments)", {"arm_moments.joint_sensitivity": gives(1.0)}, partial(NEEDED, "moments"), "is needed"),
    Bug("users of two arms counted as rows that vanish (moments)", {"arm_moments.joint_sensitivity": gives(np.sqrt(2.0))}, partial(NEEDED, "moments"), "is needed"),
    *(Bug(f"noise without the margin for finite precision ({name})", {"bandit_sessions.inflated": lambda _, sensitivity, rounding: sensitivity}, partial(NEEDED, name), "is needed") for name in PLANS),
    Bug("streams of arms that are fed the users of their arm alone", {"ArmStreams._sums": fed_alone}, a_user_of_streams_costs_no_more_than_was_paid, "costs more"),
    Bug("a user who is a row in the streams of all arms", {"ArmStreams._sums": fed_to_all}, a_user_of_streams_costs_no_more_than_was_paid, "costs more"),
    Bug("half the noise on moments", {"PrefixNoise.next": lambda honest, self: honest(self) / 2}, partial(answers_have_the_noise_of_their_mechanism, moments_have_the_noise_that_is_named), HALF),
    Bug("half the noise on gradients of arms", {"GradientSession._release": lambda honest, self, sums: honest(self, sums) / 2}, partial(answers_have_the_noise_of_their_mechanism, gradients_have_the_noise_that_is_named), HALF),
    *(Bug(f"a user who is counted twice ({name})", {f"{session}._keep": twice}, partial(COSTS, name)) for session, name in (("MomentSession", "moments"), ("GradientSession", "gradients"), ("SelectionSession", "vertices"))),
    Bug("users who stay for the next block", {"ArmSession._forget_block": kept}, partial(COSTS, "gradients")),
    Bug("rewards that are not clipped", {"numpy.clip": lambda _, values, low, high, out=None: values}, wild_rewards_cost_no_more_than_was_paid, "costs more"),
)  # fmt: skip
