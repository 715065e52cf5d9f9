"""Bounds on epsilon from counts: their coverage is computed, not sampled."""

from itertools import product
from math import log

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from skdp.audit import Counts, best_threshold, count, upper_limit
from skdp.privacy.accounting import gdp

FAILURE = 0.05


@pytest.mark.parametrize("n", [1, 7, 40])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.2, 0.5, 0.9, 1.0])
def test_an_upper_limit_is_too_low_at_most_as_often_as_said(n, p):
    limits = np.array([upper_limit(k, n, FAILURE) for k in range(n + 1)])
    assert binom.pmf(np.arange(n + 1), n, p)[limits < p].sum() <= FAILURE


def test_the_upper_limit_is_that_of_clopper_and_pearson():
    # Nothing in 10 trials: (1 - p)^10 = 0.05.
    assert upper_limit(0, 10, 0.05) == pytest.approx(1 - 0.05**0.1)
    assert upper_limit(10, 10, 0.05) == 1.0


@pytest.mark.parametrize("alpha", [0.02, 0.3, 0.5])
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.5])
def test_bounds_exceed_the_truth_at_most_as_often_as_said(alpha, mu):
    n, delta = 11, 0.01
    beta = float(ndtr(-ndtri(alpha) - mu))
    epsilon = gdp.epsilon(mu, delta) if mu else 0.0
    wrong = {"mu": 0.0, "epsilon": 0.0}
    for a, b in product(range(n + 1), repeat=2):
        chance = binom.pmf(a, n, alpha) * binom.pmf(b, n, beta)
        counts = Counts(a, n, b, n)
        wrong["mu"] += chance * (counts.mu(FAILURE) > mu + 1e-12)
        wrong["epsilon"] += chance * (counts.epsilon(delta, FAILURE) > epsilon + 1e-12)
    assert max(wrong.values()) <= FAILURE


def test_bounds_tend_to_the_truth():
    n, alpha, mu = 10**9, 0.2, 1.0
    beta = float(ndtr(-ndtri(alpha) - mu))
    counts = Counts(round(alpha * n), n, round(beta * n), n)
    middle = round(float(ndtr(-mu / 2)) * n)
    assert Counts(middle, n, middle, n).mu(FAILURE) == pytest.approx(mu, rel=1e-3)
    # Another threshold gives less.
    assert 0 < counts.mu(FAILURE) < mu
    assert counts.epsilon(0.01, FAILURE) == pytest.approx(
        max(log((1 - beta - 0.01) / alpha), log((1 - alpha - 0.01) / beta)), rel=1e-3
    )


def test_what_is_no_number_is_called_the_same_on_both_sides():
    nothing = np.full(5, np.nan)
    assert count(nothing, nothing, 0.0) == Counts(0, 5, 5, 5)
    assert count(nothing, nothing, 0.0).mu(FAILURE) == 0.0


def test_the_best_threshold_separates_what_can_be_separated():
    first, second = np.linspace(0, 1, 50), np.linspace(2, 3, 50)
    threshold = best_threshold(first, second, "clopper_pearson", 1e-5, FAILURE)
    assert 1 <= threshold < 2
