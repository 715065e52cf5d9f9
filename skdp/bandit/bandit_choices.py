"""Choices of a bandit from its parameters and public sizes, before there is a row."""

from __future__ import annotations

from math import inf, isfinite, sqrt
from numbers import Real
from typing import Any

from ..exceptions import warn_user
from ..privacy.accounting import gdp
from ..privacy.accounting.default_delta import nominal
from ..problem.bandit_problem import BanditProblem, ContextBounds
from ..solvers import SOLVERS
from ..solvers.streaming import StreamingSolver
from ..validation import shown
from .policies import (
    POLICIES,
    BlocksPolicy,
    FTRLPolicy,
    GDPolicy,
    HDBPolicy,
    Policy,
    SparsePolicy,
)

STREAMING = {name for name, kind in SOLVERS.items() if issubclass(kind, StreamingSolver)}
# Below this, noise leaves nothing of dense contexts for any policy to learn.
_HOPELESS = 0.15
# Moments of every arm are worth their noise in a stream where there are at most this many features
# for an arm, three arms at least, and more than so much can be learned; by experience.
_FEW_FEATURES, _ENOUGH = 4 / 3, 12.0
# Users an arm in the first epoch of a stream without a horizon, and most users there.
_SHORTEST, _LONGEST = 512, 10_000
# With more moments than these another policy is chosen, for memory and time.
_MOST_MOMENTS = 4_000_000


def choose_policy(bandit: Any, horizon: int, epsilon: float, *, at_once: bool) -> Policy:
    """The policy that ``policy`` stands for, with so many users, who come one by one or at once."""
    policy, solver, (n_arms, n_features) = bandit.policy, bandit.solver, bandit._sizes
    if isinstance(policy, Policy):
        return policy
    if policy == HDBPolicy.option():
        if solver == "frank_wolfe":
            return HDBPolicy()
        return HDBPolicy(solver=SOLVERS[solver]() if isinstance(solver, str) else solver)
    if policy != "auto":
        return POLICIES[policy]()
    if bandit.data_norm is None:
        return SparsePolicy()
    fits = n_arms * (n_features + 1) ** 2 <= _MOST_MOMENTS
    if at_once or horizon < n_arms:
        return BlocksPolicy() if fits else GDPolicy()
    learnable = learnability(horizon, n_arms, n_features, epsilon, bandit.delta_)
    few = n_arms > 2 and n_features <= _FEW_FEATURES * n_arms and learnable > _ENOUGH
    return BlocksPolicy() if few and fits else FTRLPolicy()


def learnability(horizon: int, n_arms: int, n_features: int, epsilon: float, delta: float) -> float:
    """Users per arm, times mu, over ``2 d^1.5``: how much dense contexts can teach; public.

    mu is the Gaussian-DP parameter of the whole budget.
    """
    return horizon / n_arms * gdp.mu(epsilon, delta) / (2 * n_features**1.5)


def first_epoch(bandit: Any) -> int:
    """Number of users of the first epoch of a stream without a horizon, from public facts."""
    n_arms, n_features = bandit._sizes
    # Shorter ones are over before they have learned anything, and there would be more of them.
    teaches = learnability(1, n_arms, n_features, nominal(bandit.epsilon), bandit.delta_)
    return max(n_arms, int(min(max(_HOPELESS / teaches, _SHORTEST * n_arms), _LONGEST)))


def choose_bounds(bandit: Any, policy: Policy) -> ContextBounds:
    """Bounds on contexts in the geometry of the policy; a bound of either kind implies both."""
    norm, entry = bandit.data_norm, bandit.feature_bound
    if policy.contexts == "entries":
        # The constant entry is as large as the others.
        return ContextBounds(float(entry or norm), float(bandit.fit_intercept), entries=True)
    norm = norm or entry * sqrt(bandit.n_features_in_)
    return ContextBounds(float(norm), bandit.intercept_scaling * bandit.fit_intercept)


def given_bounds(reward_bounds: Any) -> tuple[float, float]:
    """Bounds (low, high) on rewards in double precision.

    Raises
    ------
    ValueError
        If they are not two finite numbers in order, or too close together or far apart.
    """
    try:
        low, high = (float(bound) for bound in reward_bounds if isinstance(bound, Real))
    except (ValueError, OverflowError):
        low = high = inf
    if not (isfinite(low) and isfinite(high) and 1e-100 < high - low < 1e100):
        raise ValueError(
            "DPContextualBandit needs reward_bounds=(low, high), two finite numbers with low < "
            f"high, and 1e-100 to 1e100 between them, got {shown(reward_bounds)}; choose bounds "
            "that are known without looking at rewards."
        )
    return low, high


def warn_if_hopeless(problem: BanditProblem) -> None:
    """Say so if dense contexts teach nothing at this budget."""
    sizes = problem.horizon, problem.n_arms, problem.n_features
    learnable = learnability(*sizes, problem.epsilon, problem.delta)
    if learnable < _HOPELESS:
        warn_user(
            f"DPContextualBandit has {problem.horizon} users for {problem.n_arms} arms and "
            f"{problem.n_features} features at epsilon={problem.epsilon:g}: users per arm, times "
            f"mu, over 2 d^1.5 is {learnable:.2g}, and below {_HOPELESS} no policy for dense "
            "contexts does much better than chance. Use fewer features or arms, more users, a "
            "larger epsilon, or policy='sparse' if few features matter.",
            UserWarning,
        )
