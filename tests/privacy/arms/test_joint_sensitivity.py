"""Streams that differ in one user: what moves, in how many arms, and how far.

Answers that were given before, and with them the queries and everybody else's arms, are the same
for both streams: that is what the proofs condition on. The user who is replaced may be given
another arm.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from known_noise import Silence
from sessions_of_bandits import (
    CUBE,
    NORM,
    PLANS,
    D,
    K,
    T,
    at_the_bound,
    changed_arms,
    moves,
    opened,
    price,
    replaced,
    stream,
    worst,
    zeroed_out,
)

from skdp.privacy import Adjacency
from skdp.privacy.accounting import GaussianDP, Ledger
from skdp.privacy.bandit_sessions import ArmSession, Plan, joint_sensitivity

ROUNDING = 1 + 1e-12
# Answers to gradients lie on a grid, which moves them by this, at most.
GRID = 2.0**-15
entries = arrays(np.float64, D, elements=st.floats(-2, 2))


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=15)
@given(
    i=st.integers(0, T - 1),
    x=entries,
    arm=st.integers(0, K - 1),
    y=st.floats(-3, 3),
    seed=st.integers(0, 5),
)
@pytest.mark.by_day(2)
def test_one_user_moves_two_arms_at_most_and_costs_what_was_charged(name, i, x, arm, y, seed):
    rows = stream(seed)
    moved = moves(name, rows, i, x, arm, y)
    touched = set().union(*map(changed_arms, moved))
    assert touched <= {int(rows[1][i]), arm}
    assert price(name, moved) <= ROUNDING + 2 * GRID


@pytest.mark.parametrize("name", PLANS)
def test_the_bound_is_attained_when_the_arm_stays(name, monkeypatch):
    at_the_bound(monkeypatch)
    # For steps: the first user who is asked about at all steps of the arm.
    assert worst(name, 0, (0, 0)) == pytest.approx(1.0, rel=2 * GRID)


@pytest.mark.parametrize(
    ("name", "share"),
    [("moments", 8 / 9), *((name, 1 / 2) for name in ("gradients", "selections", "sums", "steps"))],
)
def test_a_user_whose_arm_changes_costs_less(name, share, monkeypatch):
    at_the_bound(monkeypatch)
    i = 3
    # Of the steps, that many are left at user 3.
    left = (T - 3) / T if name == "steps" else 1
    assert worst(name, i, (0, 1)) == pytest.approx(share * left, rel=2 * GRID)


@pytest.mark.parametrize("name", PLANS)
def test_zeroing_out_costs_what_zero_out_charges(name, monkeypatch):
    """Under zero-out sensitivities are half as large, and for moments sqrt(2) instead of 2.12."""
    at_the_bound(monkeypatch)
    halved = zeroed_out(name)
    declared = joint_sensitivity(Adjacency.ZERO_OUT) / joint_sensitivity(Adjacency.REPLACE_ONE)
    assert halved == pytest.approx(declared**2 if name == "moments" else 1 / 4, rel=2 * GRID)


@pytest.mark.parametrize("name", ["moments", "gradients", "sums"])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_rows_in_the_cube_move_sums_as_far_as_was_charged(name, adjacency, monkeypatch):
    """A policy may ask for any sums of contexts that are bounded entry by entry."""
    at_the_bound(monkeypatch)
    plan = PLANS[name][1]
    monkeypatch.setitem(PLANS, name, (CUBE, plan))
    v = np.ones(D)
    u = v * [1, 1, -1, -1] if name == "moments" else -v
    rows = replaced(stream(), 0, v, 0, 1.0)
    other = (u, 0, -1.0) if adjacency is Adjacency.REPLACE_ONE else (np.zeros(D), 0, 0.0)
    ledger = Ledger(1.0, 1e-5, calculus=plan.calculus)
    opened(name, adjacency, ledger=ledger)
    (event,) = ledger.receipt()
    moved = max(np.linalg.norm(m) for m in moves(name, rows, 0, *other))
    assert 0.99 * event.sensitivity <= moved <= event.sensitivity


def test_the_name_of_a_relation_is_not_taken_for_the_weaker_one():
    assert joint_sensitivity("replace_one") == joint_sensitivity(Adjacency.REPLACE_ONE)
    with pytest.raises(ValueError, match="replace"):
        joint_sensitivity("replace")


@pytest.mark.parametrize("horizon", [10**4, 10**6, 10**8])
def test_moments_have_a_margin_for_all_parts_of_a_block_that_are_added_up(horizon):
    """256 users at a time, one part after the other: theorem N5."""
    problem, plan = NORM, Plan("moments", (horizon,), GaussianDP())
    ledger = Ledger(1.0, 1e-5)
    ArmSession(plan, replace(problem, horizon=horizon), ledger, Adjacency.REPLACE_ONE, Silence())
    (event,) = ledger.receipt()
    margin = event.sensitivity / joint_sensitivity(Adjacency.REPLACE_ONE) - 1
    assert margin >= 2 * horizon * (256 + horizon // 256 + 1) * 2.0**-53


def test_random_search_finds_no_pair_of_users_that_moves_moments_further():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200_000, 2, 3))
    rows /= np.maximum(
        np.linalg.norm(rows, axis=2, keepdims=True), rng.uniform(0, 1, (200_000, 2, 1))
    )
    v, u = rows[:, 0], rows[:, 1]
    y, s = rng.choice([-1.0, 1.0], (2, 200_000))
    a, b, c = (np.einsum("ij,ij->i", p, q) for p, q in ((v, v), (u, u), (v, u)))
    same = a**2 + b**2 - 2 * c**2 + y**2 * a + s**2 * b - 2 * y * s * c
    different = a**2 + b**2 + y**2 * a + s**2 * b
    bound = joint_sensitivity(Adjacency.REPLACE_ONE) ** 2
    assert 0.98 * bound < same.max() <= bound
    assert different.max() <= 4 * ROUNDING
