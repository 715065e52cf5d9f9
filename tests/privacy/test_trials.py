"""The price of a search: never below what explicit selections cost, and hardly above."""

from math import exp, inf, log, log1p, sqrt

import numpy as np
import pytest
from selections_at_their_worst import (
    exact_delta,
    larger_is_better,
    smaller_is_better,
    worst_delta,
)

from skdp.privacy.accounting import gdp, zcdp
from skdp.reporting import NumberOfTrials
from skdp.reporting import number_of_trials as trials

MEANS = [2.0, 20.0, 1000.0]
every_number = pytest.mark.parametrize("number", [NumberOfTrials(m) for m in MEANS], ids=str)
DELTA = 1e-6
MU = gdp.mu(1.0, DELTA)
ORDERS = 1 + np.geomspace(0.01, 1000, 1500)


def renyi_epsilon(mu, number, delta=DELTA):
    """By Renyi divergences, as Papernot and Steinke do it."""

    return min(
        number.renyi(a, mu * mu / 2) + log1p(-1 / a) - log(delta * a) / (a - 1) for a in ORDERS
    )


@every_number
@pytest.mark.parametrize("mu", [0.05, 0.27, 1.0, 3.0])
@pytest.mark.parametrize("times", [0.3, 1.0, 1.7])
@pytest.mark.by_day(2)
def test_no_explicit_selection_costs_more(number, mu, times):
    epsilon = times * trials.epsilon(mu, 1e-4, number)
    assert worst_delta(epsilon, mu, number) <= trials.delta(mu, epsilon, number) * (1 + 1e-6)


@every_number
@pytest.mark.parametrize(("mu", "more"), [(0.2, 0.04), (0.3, 1.0), (1.0, 0.01)])
@pytest.mark.by_day(1)
def test_no_explicit_selection_beside_other_releases_costs_more(number, mu, more):
    for times in (0.5, 1.0):
        epsilon = times * trials.epsilon(mu, 1e-4, number, more)
        bound = trials.delta(mu, epsilon, number, more)
        assert worst_delta(epsilon, mu, number, more) <= bound * (1 + 1e-6)


@every_number
def test_some_selection_comes_close(number):
    epsilon = trials.epsilon(MU, DELTA, number)
    # At 98 % of the epsilon there is a selection that exceeds the delta.
    assert worst_delta(0.98 * epsilon, MU, number) > DELTA


@pytest.mark.parametrize("order", [larger_is_better, smaller_is_better])
def test_a_single_trial_leaves_the_trial_as_it_is(order):
    number = NumberOfTrials(1.0)
    for epsilon in (0.0, 0.5, 2.0):
        alone = gdp.delta(0.7, epsilon)
        assert exact_delta(epsilon, 0.7, number, order) == pytest.approx(alone, rel=1e-5)
        assert trials.delta(0.7, epsilon, number) == pytest.approx(alone, rel=1e-9)
    assert trials.epsilon(0.7, 1e-5, number) == pytest.approx(gdp.epsilon(0.7, 1e-5), rel=1e-6)


@every_number
def test_other_releases_compose_exactly_where_there_is_no_choice(number):
    once = NumberOfTrials(1.0)
    together = trials.delta(0.5, 1.0, once, 0.3)
    assert together == pytest.approx(gdp.delta(sqrt(0.55), 1.0), rel=1e-6)
    assert trials.delta(0.0, 3.0, number, 0.3) == pytest.approx(
        number.mean * gdp.delta(sqrt(0.3), 3.0), rel=1e-2
    )


@every_number
@pytest.mark.by_day(1)
def test_answers_are_monotone(number):
    mus, epsilons = np.geomspace(0.01, 5, 4), np.linspace(0, 5, 4)
    table = np.array([[trials.delta(m, e, number) for e in epsilons] for m in mus])
    assert np.all(np.diff(table, axis=0) >= -1e-12)
    assert np.all(np.diff(table, axis=1) <= 1e-12)
    more = [trials.delta(0.5, 1.0, number, s) for s in (0.0, 0.1, 1.0)]
    assert sorted(more) == more
    assert np.all(np.diff([trials.epsilon(m, 1e-5, number) for m in mus]) > 0)


@every_number
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-6), (1.0, 1e-5), (8.0, 1e-10)])
@pytest.mark.by_day(1)
def test_mu_and_epsilon_are_inverse_and_err_on_the_safe_side(number, epsilon, delta):
    mu = trials.mu(epsilon, delta, number)
    assert trials.delta(mu, epsilon, number) <= delta
    assert trials.delta(mu * (1 + 1e-6), epsilon, number) > delta
    assert trials.epsilon(mu, delta, number) == pytest.approx(epsilon, rel=1e-6)
    for more in (0.0, mu * mu, 1.0):
        assert trials.delta(mu, trials.epsilon(mu, delta, number, more), number, more) <= delta


@pytest.mark.parametrize("mean", [2.0, 10.0, 200.0])
def test_renyi_divergences_are_those_of_dp_accounting_and_never_above(mean):
    dp_event = pytest.importorskip("dp_accounting").dp_event
    from dp_accounting import rdp

    # Theirs takes its second order from the list of orders, ours the best of all.
    orders = 1 + np.geomspace(0.1, 100, 60)
    theirs = rdp.RdpAccountant(orders)
    theirs.compose(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(4.0), mean, 0.0))
    number = NumberOfTrials(mean)
    for order, other in zip(theirs._orders, theirs._rdp, strict=True):
        mine = number.renyi(order, 1 / 32)
        assert mine <= other * (1 + 1e-9)
        assert mine == pytest.approx(other, rel=3e-3)


@every_number
@pytest.mark.parametrize("order", [1.5, 4.0, 30.0])
def test_renyi_divergences_bound_those_of_explicit_selections(number, order):
    mu, step = 0.4, 1e-3
    x = np.arange(-14, 14, step)
    bound = number.renyi(order, mu * mu / 2)
    for beaten in (larger_is_better, smaller_is_better):
        here = -((x - mu) ** 2) / 2 + np.log(number.slope(beaten(x, mu)))
        there = -(x**2) / 2 + np.log(number.slope(beaten(x, 0.0)))
        powers = np.exp(order * here + (1 - order) * there)
        exact = log(powers.sum() * step / sqrt(2 * np.pi)) / (order - 1)
        assert exact <= bound


def best_of(shares, number):
    """Distribution of the best of K trials over outcomes, the best first; ties are random."""
    above = np.cumsum(shares) - shares
    # The integral of f' over the outcome's stretch of quantiles.
    fine = (np.arange(2000) + 0.5) / 2000
    slopes = number.slope(np.minimum(above[:, None] + shares[:, None] * fine, 1.0))
    return shares * slopes.mean(axis=1)


@every_number
def test_the_split_form_covers_every_order_of_few_outcomes(number):
    from itertools import permutations

    base, slack = 0.6, 0.01
    top, rest = exp(base), 1 - slack
    # The pair that is (base, slack)-DP and no better, with a rare outcome of the same ratio.
    here = np.array([slack, rest * 0.1 * top / (1 + top), rest * 0.9 * top / (1 + top), 0, 0])
    here[3] = rest / (1 + top)
    there = np.array([0, rest * 0.1 / (1 + top), rest * 0.9 / (1 + top), 0, slack])
    there[3] = rest * top / (1 + top)

    def trial(x):
        return slack if x >= base else max(0.0, float(np.sum(np.maximum(here - exp(x) * there, 0))))

    for epsilon in (0.7, 1.0, 1.5):
        bound = trials.split_delta(epsilon, number, trial)
        for order in permutations(range(5)):
            a, b = best_of(here[[*order]], number), best_of(there[[*order]], number)
            for one, other in ((a, b), (b, a)):
                exact = np.sum(np.maximum(one - exp(epsilon) * other, 0))
                assert exact <= bound * (1 + 1e-9)


@every_number
def test_the_split_form_is_above_the_exact_one_and_below_renyi(number):
    epsilon = renyi_epsilon(MU, number)

    def trial(x):
        return gdp.delta(MU, x)

    assert trials.delta(MU, epsilon, number) <= trials.split_delta(epsilon, number, trial) < DELTA


def test_concentrated_trials_cost_more_than_gaussian_ones():
    number, rho = NumberOfTrials(5.0), MU * MU / 2

    def trial(x):
        return zcdp.delta(rho, x)

    assert trials.split_delta(1.4, number, trial) > trials.delta(MU, 1.4, number)


@pytest.mark.parametrize(
    "delta", [0.0028, *(pytest.param(d, marks=pytest.mark.nightly) for d in (1e-300, 0.9))]
)
def test_prices_of_the_largest_means_are_numbers_that_grow_with_mu(delta):
    number = NumberOfTrials(1e6)
    mus = [1e-12, 0.3, 2.611236576641302, 2e3, 1e9, 1e160]
    prices = [trials.epsilon(mu, delta, number) for mu in mus]
    assert np.all(np.diff(prices[:-1]) >= 0)
    assert prices[0] >= 0
    assert np.isfinite(prices[:-1]).all()
    assert prices[-1] == inf
    for mu, price in zip(mus[:-1], prices[:-1], strict=True):
        assert price >= gdp.epsilon(mu, delta)
        assert trials.delta(mu, price, number) <= delta * (1 + 1e-9)


def test_levels_that_are_too_large_for_floats_have_the_price_of_the_split_form():
    # A trial is at least f'(0) and at most f'(1) times as likely to win as any other.
    number, delta, far = NumberOfTrials(1e6), 0.0028, 1e5
    ratio = log(number.mean / number.once)
    assert trials.epsilon(far, delta, number) == pytest.approx(
        ratio + gdp.epsilon(far, delta / number.mean), rel=1e-6
    )


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("rho", [1e-12, 0.1, 1e6])
def test_the_split_form_is_a_probability(mean, rho):
    for epsilon in (0.0, 1.0, 1e6):
        found = trials.split_delta(epsilon, NumberOfTrials(mean), lambda x: zcdp.delta(rho, x))
        assert 0 <= found <= 1


def test_limits():
    number = NumberOfTrials(5.0)
    assert trials.delta(0.0, 0.0, number) == 0
    assert trials.delta(inf, 1.0, number) == 1
    assert trials.delta(1.0, inf, number) == 0
    assert trials.epsilon(inf, 1e-5, number) == inf
    assert trials.epsilon(0.0, 1e-5, number) == 0
    assert trials.epsilon(1e-9, 1e-5, number) < 1e-3
    assert trials.mu(inf, 1e-5, number) == inf
    # Also where no model is private any more.
    assert trials.delta(trials.mu(1e6, 1e-5, number), 1e6, number) <= 1e-5


@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
def test_impossible_arguments_are_refused(wrong):
    number = NumberOfTrials(5.0)
    for call in (
        lambda: trials.delta(wrong, 1.0, number),
        lambda: trials.delta(1.0, wrong, number),
        lambda: trials.delta(1.0, 1.0, number, wrong),
        lambda: trials.epsilon(wrong, 1e-5, number),
        lambda: trials.epsilon(1.0, 1e-5, number, wrong),
        lambda: trials.epsilon(1.0, wrong, number),
        lambda: trials.mu(wrong, 1e-5, number),
        lambda: trials.mu(1.0, wrong, number),
    ):
        with pytest.raises(ValueError, match=r"^trials\.\w+ needs"):
            call()


# The distribution itself.

SOME = [1.0, 1.0001, 1.5, 10.0, 100.0]
some_means = pytest.mark.parametrize("mean", SOME)


def probabilities(number, most=20000):
    """P[K = k] for k = 1, 2, ..., from the definition."""
    if number.log_gamma == 0:
        return np.array([1.0])
    k = np.arange(1, most)
    weights = (-np.expm1(number.log_gamma)) ** k / k
    return weights / weights.sum()


@some_means
def test_the_mean_is_the_one_asked_for(mean):
    p = probabilities(NumberOfTrials(mean))
    assert p @ np.arange(1, p.size + 1) == pytest.approx(mean, rel=1e-8)


@some_means
@pytest.mark.parametrize("beaten", [0.0, 1e-9, 0.01, 0.3, 0.9, 1.0])
def test_the_slope_is_that_of_the_generating_function(mean, beaten):
    number = NumberOfTrials(mean)
    p = probabilities(number)
    k = np.arange(1, p.size + 1)
    slope = np.sum(p * k * (1 - beaten) ** (k - 1))
    assert number.slope(np.array(beaten)) == pytest.approx(slope, rel=1e-8, abs=1e-12)


@some_means
def test_draws_from_all_uniform_numbers_have_the_distribution(mean):
    number = NumberOfTrials(mean)
    uniform = (np.arange(4000) + 0.5) / 4000
    drawn = np.bincount([number.draw(float(u)) for u in uniform])[1:] / uniform.size
    p = probabilities(number)
    assert number.once == pytest.approx(p[0], rel=1e-8)
    n = min(p.size, drawn.size)
    assert np.abs(drawn[:n] - p[:n]).max() < 1.01 / uniform.size
    assert np.abs(np.cumsum(drawn[:n]) - np.cumsum(p[:n])).max() < 1.01 / uniform.size


@some_means
def test_the_most_extreme_uniform_numbers_end(mean):
    assert NumberOfTrials(mean).draw(0.0) == 1
    assert NumberOfTrials(mean).draw(1.0) < 1e6


def test_it_is_the_logarithmic_distribution():
    number = NumberOfTrials(10.0)
    gamma = np.exp(number.log_gamma)
    assert (1 / gamma - 1) / np.log(1 / gamma) == pytest.approx(10)
    assert number.once == pytest.approx((1 - gamma) / np.log(1 / gamma))


@pytest.mark.parametrize("mean", [1 + 1e-6, 1.001, 10.0, 1e6])
def test_curvatures_hardly_change_within_a_cell(mean):
    """Cells of width h, as in the bound, which takes a fifth more than at their middle."""
    number, (z, h) = NumberOfTrials(mean), np.linspace(-10, 10, 6000, retstep=True)
    around = number.curvature(z[:, np.newaxis] + h * np.linspace(-0.5, 0.5, 21)).max(axis=1)
    assert np.all(around <= 1.05 * number.curvature(z, apart=h))


@pytest.mark.parametrize("mean", [*SOME, 1e6])
def test_curvatures_bound_those_of_differences(mean):
    number, z, h = NumberOfTrials(mean), np.linspace(-6, 6, 400), 1e-4
    F = number.at(np.stack([z - h, z, z + h]))
    size = np.maximum(np.abs(F[0] - 2 * F[1] + F[2]) / h**2, ((F[2] - F[0]) / (2 * h)) ** 2 / F[1])
    assert np.all(size <= F[1] * (number.curvature(z) * (1 + 1e-3) + 1e-5))
