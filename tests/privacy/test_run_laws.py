"""Laws of the number of runs: generating functions, means and draws agree with the definitions."""

from math import factorial, prod

import numpy as np
import pytest
from by_night import by_night
from scipy.stats import poisson

from skdp.privacy.accounting.run_laws import NegativeBinomial, Poisson, law_of

LAWS = [
    NegativeBinomial(1.0),
    NegativeBinomial(1.5),
    NegativeBinomial(10.0),
    NegativeBinomial(10.0, -0.5),
    NegativeBinomial(10.0, 1e-13),
    NegativeBinomial(10.0, 0.7),
    NegativeBinomial(10.0, 1.0),
    NegativeBinomial(10.0, 30.0),
    NegativeBinomial(1.5, -0.9),
    Poisson(1.0),
    Poisson(1.3),
    Poisson(8.0),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=str)


def shares(law, most=6000):
    """P[K = k] for k = 1, 2, ..., from the definitions."""
    if isinstance(law, Poisson):
        m = law.rate
        if m == 0:
            return np.array([1.0])
        weights = [m**k / factorial(k) for k in range(1, 60)]
        return np.array(weights) / np.expm1(m)
    if law.mean == 1:
        return np.array([1.0])
    rest = -np.expm1(law.log_gamma)
    k = np.arange(1, most)
    if law.eta > -1 and abs(law.eta) < 1e-12:
        weights = rest**k / k
    else:
        factors = [(ell + law.eta) / (ell + 1) for ell in range(most - 1)]
        weights = rest**k * np.cumprod(factors)
    return weights / weights.sum()


@every_law
def test_the_mean_is_the_one_asked_for(law):
    p = shares(law)
    assert p @ np.arange(1, p.size + 1) == pytest.approx(law.mean, rel=1e-8)


@every_law
@pytest.mark.parametrize("beaten", [0.0, 1e-9, 0.01, 0.3, 0.9, 1.0])
def test_the_slope_is_that_of_the_generating_function(law, beaten):
    p = shares(law)
    k = np.arange(1, p.size + 1)
    slope = np.sum(p * k * (1 - beaten) ** (k - 1))
    assert law.slope(np.array(beaten)) == pytest.approx(slope, rel=1e-8, abs=1e-12)


@every_law
def test_a_single_run_has_the_probability_of_the_definition(law):
    assert law.once == pytest.approx(shares(law)[0], rel=1e-8)


@every_law
def test_draws_from_all_uniform_numbers_have_the_law(law):
    uniform = (np.arange(4000) + 0.5) / 4000
    drawn = np.bincount([law.draw(float(u)) for u in uniform])[1:] / uniform.size
    p = shares(law)
    n = min(p.size, drawn.size)
    assert np.abs(drawn[:n] - p[:n]).max() < 1.01 / uniform.size
    assert np.abs(np.cumsum(drawn[:n]) - np.cumsum(p[:n])).max() < 1.01 / uniform.size


@every_law
def test_the_most_extreme_uniform_numbers_end(law):
    assert law.draw(0.0) == 1
    assert law.draw(1.0) < 1e6


@pytest.mark.parametrize("mean", [700.0, 740.0, 1000.0, *by_night(9000.0)])
def test_draws_of_many_runs_are_random_although_a_single_run_is_out_of_reach_of_floats(mean):
    law = Poisson(mean)
    uniform = (np.arange(400) + 0.5) / 400
    drawn = np.array([law.draw(float(u)) for u in uniform])
    assert abs(drawn - poisson.ppf(uniform, law.rate)).max() <= 1
    assert drawn.std() == pytest.approx(np.sqrt(mean), rel=0.02)


def test_log_and_geometric_laws_are_the_known_ones():
    p = shares(NegativeBinomial(10.0))
    gamma = np.exp(NegativeBinomial(10.0).log_gamma)
    assert (1 / gamma - 1) / np.log(1 / gamma) == pytest.approx(10)
    assert p[0] == pytest.approx((1 - gamma) / np.log(1 / gamma))
    assert np.exp(NegativeBinomial(10.0, 1.0).log_gamma) == pytest.approx(0.1)


def test_products_of_the_definition_are_those_of_gamma_functions():
    from scipy.special import gammaln

    eta, k = 0.7, 5
    by_product = prod((ell + eta) / (ell + 1) for ell in range(k))
    assert by_product == pytest.approx(np.exp(gammaln(k + eta) - gammaln(eta) - gammaln(k + 1)))


@pytest.mark.parametrize("mean", [0.0, 0.99, float("nan"), float("inf"), 1e7])
@pytest.mark.parametrize("name", ["negative_binomial", "poisson"])
def test_impossible_means_are_refused(name, mean):
    with pytest.raises(ValueError, match="needs a mean number of runs"):
        law_of(name, mean, 0.0)


@pytest.mark.parametrize("eta", [-1.0, -2.0, 101.0, float("nan")])
def test_impossible_shapes_are_refused(eta):
    with pytest.raises(ValueError, match="needs an eta"):
        NegativeBinomial(10.0, eta)


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("mean", [2.0, 1e3, 1e6])
def test_laws_of_the_smallest_shapes_are_computed_in_logarithms(mean, distance):
    """As eta falls to -1, E[K] gamma^(eta + 1) tends to 1 / |eta|: nearly all have one run."""
    law = NegativeBinomial(mean, -1 + distance)
    assert law.log_once == pytest.approx(np.log1p(-distance), rel=1e-3)
    assert law.slope(np.array(0.0)) == pytest.approx(mean, rel=1e-12)
    assert law.slope(np.array(1.0)) == pytest.approx(law.once, rel=1e-12)
    p = np.geomspace(1e-300, 1, 50)
    assert np.all(np.diff(law.slope(p)) <= 0)
    assert law.draw(0.5) == 1


@every_law
def test_curvatures_bound_those_of_differences(law):
    z, h = np.linspace(-6, 6, 400), 1e-4
    F = law.at(np.stack([z - h, z, z + h]))
    size = np.maximum(np.abs(F[0] - 2 * F[1] + F[2]) / h**2, ((F[2] - F[0]) / (2 * h)) ** 2 / F[1])
    assert np.all(size <= F[1] * (law.curvature(z) * (1 + 1e-3) + 1e-5))
