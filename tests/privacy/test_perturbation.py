"""The calculus of one objective perturbation: against its formula, and against integration."""

from math import erf, exp, inf, log, sqrt

import pytest
from by_night import by_night, with_names
from divergence_of_minimisers import asked, cells, delta, delta_with_a_release

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency
from skdp.privacy.accounting import (
    Ledger,
    ObjectivePerturbationEvent,
    PerturbedGaussianDP,
    perturbation,
)
from skdp.problem.losses import HuberisedHinge, Logistic, SquaredHinge

PAIRS = [(0.01, 1e-9), (0.1, 1e-5), (1.0, 1e-5), (4.0, 1e-6), (30.0, 0.1), (1e4, 1e-5)]


def profile(mu, epsilon):
    def normal(x):
        return (1 + erf(x / sqrt(2))) / 2

    return normal(mu / 2 - epsilon / mu) - exp(epsilon) * normal(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("epsilon", [1.0, 2.5])
def test_delta_is_the_sum_over_the_vertices(mu, epsilon):
    offset = epsilon - perturbation.KAPPA * mu
    shares = {1.0: 1, 5 / 8: 2, 1 / 2: 1}
    expected = sum(k * profile(sqrt(share) * mu, offset) for share, k in shares.items())
    assert exp(perturbation.log_delta(mu, epsilon)) == pytest.approx(min(1.0, expected), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_mu_and_epsilon_are_inverse_and_round_towards_privacy(epsilon, delta):
    level = perturbation.mu(epsilon, delta)
    assert perturbation.log_delta(level, epsilon) <= log(delta)
    assert perturbation.log_delta(level * (1 + 1e-9), epsilon) > log(delta)
    back = perturbation.epsilon(level, delta)
    assert back == pytest.approx(epsilon, rel=1e-9)
    assert perturbation.log_delta(level, back) <= log(delta) + 1e-12


def event(**facts):
    plain = {
        "query": "q",
        "sensitivity": 2.0,
        "noise_scale": 4.0,
        "jacobian": 1e-9,
        "output_sensitivity": 1e-9,
        "output_noise_scale": 1.0,
    }
    return ObjectivePerturbationEvent(**plain | facts)


@pytest.mark.parametrize(
    ("facts", "price"),
    [
        ({}, 0.25 / (1 - perturbation.OUTPUT_SHARE)),
        ({"jacobian": perturbation.KAPPA}, 1 / (1 - perturbation.OUTPUT_SHARE)),
        ({"output_sensitivity": 0.5}, 0.25 / perturbation.OUTPUT_SHARE),
    ],
)
def test_the_price_covers_each_of_its_parts(facts, price):
    assert PerturbedGaussianDP().cost(event(**facts)) == pytest.approx(price, rel=1e-12)


@pytest.mark.parametrize("part", ["", "output_"])
def test_what_no_noise_can_hide_has_no_price(part):
    endless = event(**{f"{part}sensitivity": inf, f"{part}noise_scale": inf})
    with pytest.raises(BudgetExceededError):
        Ledger(10.0, 1e-5, calculus=PerturbedGaussianDP()).charge(endless)


HINGE = HuberisedHinge(0.5)
OTHERS = ([0.9, -0.8, 0.3, 1.0], [0, 1, 1, 1])
# Loss, clip, strength, and two data sets: rows in [-1, 1] and labels.
CASES = {
    "opposite rows": (HINGE, None, 40.0, ([1.0], [0]), ([-1.0], [0])),
    "opposite labels": (HINGE, None, 40.0, ([1.0], [0]), ([1.0], [1])),
    "a clip": (Logistic(), 0.25, 20.0, ([1.0], [0]), ([1.0], [1])),
    "a clip, weak": (Logistic(), 0.25, 0.0, ([1.0], [0]), ([-1.0], [0])),
    "logistic": (Logistic(), None, 0.0, ([1.0], [0]), ([0.5], [1])),
    "logistic, more rows": (
        Logistic(),
        None,
        0.0,
        ([1.0, *OTHERS[0]], [0, *OTHERS[1]]),
        ([-1.0, *OTHERS[0]], [0, *OTHERS[1]]),
    ),
    "squared hinge": (SquaredHinge(), 0.5, 1.0, ([1.0], [0]), ([1.0], [1])),
    "a sharp corner": (HuberisedHinge(0.01), None, 1.0, ([1.0], [0]), ([0.0], [0])),
}


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(
    "name", with_names({n: n for n in CASES}, {"a sharp corner", "squared hinge", "opposite rows"})
)
@pytest.mark.by_day(1)
def test_minimisers_are_no_further_apart_than_claimed(name, mu):
    loss, clip, strength, data, other = CASES[name]
    query, mechanism = asked(loss, len(data[0]), mu, clip=clip, strength=strength)
    p, q = cells(query, mechanism.noise_scale, data, other)
    for epsilon in (0.5 * mu, mu, 2 * mu, 4 * mu):
        claimed = exp(perturbation.log_delta(mu, epsilon)) + 1e-12
        assert max(delta(p, q, epsilon), delta(q, p, epsilon)) <= claimed * (1 + 1e-6)


@pytest.mark.parametrize("name", ["opposite rows", *by_night("opposite labels"), "a clip"])
@pytest.mark.parametrize("mu", [0.3, 1.0])
@pytest.mark.nightly
def test_the_claim_is_nearly_attained(name, mu):
    loss, clip, strength, data, other = CASES[name]
    strength *= max(1.0, 1 / mu)
    query, mechanism = asked(loss, len(data[0]), mu, clip=clip, strength=strength)
    epsilon = 2 * mu
    found = delta(*cells(query, mechanism.noise_scale, data, other), epsilon)
    # The first vertex is attained; what is left of the claim is room for the Jacobian.
    moved = mu * sqrt(1 - perturbation.OUTPUT_SHARE)
    assert found == pytest.approx(profile(moved, epsilon), rel=0.01)
    assert found >= 0.2 * exp(perturbation.log_delta(mu, epsilon))


@pytest.mark.parametrize(
    "name", with_names({n: n for n in CASES}, {*CASES} - {"logistic", "opposite rows", "a clip"})
)
@pytest.mark.by_day(1)
def test_a_row_that_is_zeroed_out_is_no_further_than_claimed(name):
    loss, clip, strength, data, _ = CASES[name]
    out = ([0.0, *data[0][1:]], data[1])
    zero = Adjacency.ZERO_OUT
    query, mechanism = asked(loss, len(data[0]), 1.0, clip=clip, strength=strength, adjacency=zero)
    p, q = cells(query, mechanism.noise_scale, data, out)
    for epsilon in (0.5, 1.0, 3.0):
        claimed = exp(perturbation.log_delta(1.0, epsilon))
        assert max(delta(p, q, epsilon), delta(q, p, epsilon)) <= claimed * (1 + 1e-6)


MOVES = {
    "always": lambda d, L: d,
    "when it looks bad": lambda d, L: d if L > 0.5 else 0.0,
    "when it looks good": lambda d, L: d if L < 0.5 else 0.0,
}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["a clip, weak", *by_night("opposite rows", "logistic, more rows")]
)
@pytest.mark.parametrize("share", [0.2, *by_night(0.48)])
def test_releases_chosen_with_the_minimiser_in_view_stay_within_the_claim(name, share):
    loss, clip, strength, data, other = CASES[name]
    mu = 1.5
    query, mechanism = asked(loss, len(data[0]), mu * sqrt(1 - share), clip=clip, strength=strength)
    d = mu * sqrt(share)
    p, q = cells(query, mechanism.noise_scale, data, other)
    for epsilon in (1.0, 2.0, 4.0):
        claimed = exp(perturbation.log_delta(mu, epsilon)) * (1 + 1e-6)
        for move in MOVES.values():
            assert delta_with_a_release(p, q, epsilon, lambda L, m=move: m(d, L)) <= claimed
