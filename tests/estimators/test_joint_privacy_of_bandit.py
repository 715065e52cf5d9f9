"""What others are given depends on a user through what was released, and on nothing else."""

import numpy as np
import pytest
from simulated_users import Users, play

from skdp import DPContextualBandit
from skdp.bandit.policies import POLICIES, HDBPolicy
from skdp.solvers import FTRL, FrankWolfe
from skdp.testing import record, replay

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore:DPContextualBandit has .* users for:UserWarning"),
    pytest.mark.filterwarnings("ignore:DPContextualBandit was given rewards:UserWarning"),
]

N, D, K = 200, 3, 3
STREAMED = {
    "hdb by ftrl": HDBPolicy(solver=FTRL()),
    "hdb by frank_wolfe": HDBPolicy(solver=FrankWolfe(batch=5, noise="gumbel")),
}
every_policy = pytest.mark.parametrize("policy", [*sorted(POLICIES), *STREAMED])


def users(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    # Each arm suits users in one direction.
    rewards = np.clip(0.5 + 0.5 * X + 0.1 * rng.normal(size=(N, K)), 0, 1)
    return Users(X, rewards, rewards)


def bandit(policy):
    return DPContextualBandit(
        range(K),
        epsilon=1e3,
        data_norm=1.0,
        horizon=N,
        policy=STREAMED.get(policy, policy),
        fit_intercept=False,
        random_state=0,
    )


def replayed(policy, some, exchanges):
    model, out = bandit(policy), []
    replay(lambda: out.append(play(model, some)), exchanges)
    return out[0].actions


def recorded(policy, some):
    model, out = bandit(policy), []
    exchanges = record(lambda: out.append(play(model, some)))
    return out[0].actions, exchanges


@every_policy
@pytest.mark.by_day(3)
def test_given_the_releases_a_user_changes_nobody_elses_action(policy):
    """One user's context is replaced so that the action flips; rewards change with it."""
    some = users()
    actions, exchanges = recorded(policy, some)
    flipped = 0
    for i in range(104, N, 24):
        other = Users(some.X.copy(), some.rewards.copy(), some.means)
        other.X[i], other.rewards[i] = -some.X[i], -5.0
        after = replayed(policy, other, exchanges)
        np.testing.assert_array_equal(np.delete(after, i), np.delete(actions, i))
        flipped += int(after[i] != actions[i])
    assert flipped


@every_policy
@pytest.mark.by_day(3)
def test_garbage_rows_and_recorded_releases_give_users_with_their_own_contexts_the_same(policy):
    """All rewards, and every other context, are garbage; the rest get the actions they got."""
    some = users()
    actions, exchanges = recorded(policy, some)
    garbage = users(seed=7)
    mixed = Users(some.X.copy(), 1e9 * garbage.rewards, some.means)
    mixed.X[::2] = 1e6 * garbage.X[::2]
    after = replayed(policy, mixed, exchanges)
    np.testing.assert_array_equal(after[1::2], actions[1::2])
