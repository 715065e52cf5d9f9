"""Fuzzing of how bandits are judged: off-policy values, simulated users, and games with them."""

from functools import partial

import numpy as np
import pandas as pd
from fuzzing.inputs import NONSENSE, SECRET, ordinary_targets
from fuzzing.properties import attempt, check_amount, check_numbers, require
from hypothesis import strategies as st

from skdp import DPContextualBandit
from skdp.evaluation import (
    classified_users,
    doubly_robust,
    inverse_propensity,
    linear_users,
    logistic_users,
    play,
    self_normalised,
    sparse_users,
)

_VALUES = [inverse_propensity, self_normalised, doubly_robust]


def _propensities(n, kind, coins):
    p = coins.uniform(0.05, 1, size=n)
    return {
        "sound": lambda: p,
        "ones": lambda: np.ones(n),
        "tiny": lambda: p * 1e-300,
        "subnormal": lambda: np.full(n, 5e-324),
        "zero": lambda: p * 0,
        "beyond": lambda: p + 1,
        "nan": lambda: p * np.nan,
        "list": p.tolist,
        "series": lambda: pd.Series(p, index=np.arange(n)[::-1]),
        "words": lambda: [f"word{SECRET}"] * n,
        "short": lambda: p[:-1],
        "number": lambda: 0.5,
        "nothing": lambda: None,
        "complex": lambda: p + 1j,
        "nullable": lambda: pd.Series(p).astype("Float64").mask(p > 0.5),
    }[kind]()


_KINDS = [
    "ones", "tiny", "subnormal", "zero", "beyond", "nan", "list", "series", "words", "short",
    "number", "nothing", "complex", "nullable",
]  # fmt: skip


@st.composite
def value_cases(draw):
    """An estimate of the value of a rule, and a log."""
    coins = np.random.default_rng(draw(st.integers(0, 2**16)))
    n = draw(st.sampled_from([20, 7, 3, 2, 1, 0]))
    estimate = draw(st.sampled_from(_VALUES))
    kind = draw(st.sampled_from(["sound"] * 14 + _KINDS))
    log = [draw(ordinary_targets(n, usual)) for usual in ("two", "two", "real")]
    named = {}
    if estimate is doubly_robust:
        for name in ("estimated_chosen", "estimated_logged"):
            named[name] = draw(ordinary_targets(n, "real"))
    return partial(estimate, *log, _propensities(n, kind, coins), **named)


def check_value(case):
    """A value is a number with an error, or the log is refused in words of its own."""
    made, refusal = attempt(case)
    if refusal is not None:
        require("need" in str(refusal), f"says {refusal}")
        return
    require(not np.isnan(made.value), f"a value of {made.value}")
    check_amount(made.error, "the error")
    n = len(case.args[2])
    check_amount(made.effective_size, "the effective size", n * (1 + 1e-9))


@st.composite
def game_cases(draw):
    """Users, and a bandit for them."""
    counts = st.one_of(st.integers(1, 60), st.integers(-1, 3), st.sampled_from(NONSENSE[2:8]))
    n, d, k = draw(st.integers(1, 60)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    if not draw(st.integers(0, 5)):
        n, d, k = draw(counts), draw(counts), draw(counts)
    simulator = draw(st.sampled_from([linear_users, logistic_users, sparse_users]))
    name = {linear_users: "noise", logistic_users: "strength", sparse_users: "relevant"}[simulator]
    values = [1, 2, 0, 5, -1] if name == "relevant" else [0.1, 0.0, 1e3, -1.0, np.nan, np.inf]
    named = {name: draw(st.sampled_from(values))} if draw(st.booleans()) else {}
    make = partial(simulator, n, d, k, np.random.default_rng(draw(st.integers(0, 99))), **named)
    if not draw(st.integers(0, 3)):
        coins = np.random.default_rng(0)
        X, labels = coins.uniform(-1, 1, size=(20, 3)), draw(ordinary_targets(20, "two"))
        make = partial(classified_users, X, labels, draw(st.sampled_from([2, 3, 1, 0])))
    policy = draw(st.sampled_from(["auto", "gd", "sparse", "blocks"]))
    batch = draw(st.integers(1, 30))
    if not draw(st.integers(0, 9)):
        batch = draw(st.sampled_from([0, -1, 2.5, None, "a", 2**70]))
    return make, policy, batch


def check_game(case):
    """Rewards of chosen arms, and a regret that only grows."""
    make, policy, batch = case
    users, refusal = attempt(make)
    if refusal is not None:
        require("need" in str(refusal), f"says {refusal}")
        return
    for values, what in ((users.X, "contexts"), (users.rewards, "rewards"), (users.means, "means")):
        check_numbers(values, what)
    n = len(users.X)
    require(users.rewards.shape == users.means.shape == (n, users.n_arms), "shapes differ")
    check_amount(users.uniform_regret, "the regret of chance")
    bounds = {"data_norm": 2.0, "feature_bound": 1.0, "reward_bounds": (-1, 1), "horizon": 100}
    bandit = DPContextualBandit(list(range(users.n_arms)), policy=policy, **bounds)
    made, refusal = attempt(play, bandit, users, batch=batch)
    if refusal is not None:
        return
    require(len(made.actions) == len(made.rewards) == len(made.regret) == n, "users are lost")
    require(bool((np.diff(made.regret, prepend=0.0) >= 0).all()), "the regret falls")
    require(bool(np.isin(made.rewards, users.rewards).all()), "rewards of nobody")
    require(not n or np.isfinite(made.mean_reward), "no mean reward")
