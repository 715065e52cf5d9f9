"""The price of a search: never below what explicit selections cost, and below Renyi divergences."""

from functools import partial
from math import exp, hypot, inf, log, log1p, sqrt

import numpy as np
import pytest
from selections_at_their_worst import larger_is_better, smaller_is_better, worst_delta

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


def gaussian_price(mu, delta, number, more=0.0):
    """Epsilon of a search over mu-GDP trials beside Gaussian releases of this mu^2."""
    together = partial(gdp.epsilon, hypot(mu, sqrt(more)))
    return trials.epsilon(delta, number, partial(gdp.delta, mu), together)


@every_number
@pytest.mark.parametrize("mu", [0.05, 0.27, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-4, 1e-2])
@pytest.mark.by_day(2)
def test_no_explicit_selection_costs_more(number, mu, delta):
    assert worst_delta(gaussian_price(mu, delta, number), mu, number) <= delta * (1 + 1e-6)


@every_number
@pytest.mark.parametrize(("mu", "more"), [(0.2, 0.04), (0.3, 1.0), (1.0, 0.01)])
@pytest.mark.by_day(1)
def test_no_explicit_selection_beside_other_releases_costs_more(number, mu, more):
    for delta in (1e-4, 1e-2):
        epsilon = gaussian_price(mu, delta, number, more)
        assert worst_delta(epsilon, mu, number, more) <= delta * (1 + 1e-6)


@every_number
def test_some_selection_comes_near(number):
    # At 90 % of the epsilon there is a selection that exceeds the delta.
    assert worst_delta(0.9 * gaussian_price(MU, DELTA, number), MU, number) > DELTA


@pytest.mark.parametrize("more", [0.0, 0.3])
def test_a_single_trial_leaves_the_trial_as_it_is(more):
    price = gaussian_price(0.5, 1e-5, NumberOfTrials(1.0), more)
    assert price == pytest.approx(gdp.epsilon(sqrt(0.25 + more), 1e-5), rel=1e-6)


@every_number
def test_prices_grow_with_trials_and_with_what_is_besides(number):
    mus = np.geomspace(1e-6, 1e4, 8)
    assert np.all(np.diff([gaussian_price(m, 1e-5, number) for m in mus]) > 0)
    more = [gaussian_price(0.5, 1e-5, number, s) for s in (0.0, 0.1, 1.0)]
    assert sorted(more) == more
    assert gaussian_price(inf, 1e-5, number) == inf
    # Of a delta that no accountant takes once it is divided nothing is promised.
    assert gaussian_price(0.5, 1e-300, number) == inf


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
def test_the_price_covers_every_order_of_few_outcomes(number):
    from itertools import permutations

    base, slack = 0.6, 0.02 / number.mean
    top, rest = exp(base), 1 - slack
    # The pair that is (base, slack)-DP and no better, with a rare outcome of the same ratio.
    here = np.array([slack, rest * 0.1 * top / (1 + top), rest * 0.9 * top / (1 + top), 0, 0])
    here[3] = rest / (1 + top)
    there = np.array([0, rest * 0.1 / (1 + top), rest * 0.9 / (1 + top), 0, slack])
    there[3] = rest * top / (1 + top)

    def trial(x):
        return slack if x >= base else max(0.0, float(np.sum(np.maximum(here - exp(x) * there, 0))))

    for delta in (0.3, 0.1, 0.03):

        def alone(at):
            # The least epsilon of the pair at a delta, on a grid, rounded up.
            fits = [x for x in np.linspace(0, base, 2000) if trial(x) <= at]
            return fits[0] if fits else inf

        bound = trials.epsilon(delta, number, trial, alone)
        for order in permutations(range(5)):
            a, b = best_of(here[[*order]], number), best_of(there[[*order]], number)
            for one, other in ((a, b), (b, a)):
                exact = np.sum(np.maximum(one - exp(bound) * other, 0))
                assert exact <= delta * (1 + 1e-9)


@every_number
def test_the_price_is_below_that_by_renyi_divergences(number):
    assert gaussian_price(MU, DELTA, number) < renyi_epsilon(MU, number)


def test_concentrated_trials_cost_more_than_gaussian_ones():
    number, rho = NumberOfTrials(5.0), MU * MU / 2
    profile, alone = partial(zcdp.delta, rho), partial(zcdp.epsilon, rho)
    price = trials.epsilon(DELTA, number, profile, alone)
    assert price > gaussian_price(MU, DELTA, number)


def test_levels_that_are_too_large_for_floats_have_the_largest_ratio():
    # A trial is at least f'(0) and at most f'(1) times as likely to win as any other.
    number, delta, far = NumberOfTrials(1e6), 0.0028, 1e5
    ratio = log(number.mean / number.once)
    assert gaussian_price(far, delta, number) == pytest.approx(
        ratio + gdp.epsilon(far, delta / number.mean), rel=1e-6
    )


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
