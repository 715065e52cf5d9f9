"""A statistical audit of objective perturbation, end to end, through the estimator.

Two data sets differ in one row of the largest norm whose gradient turns around. The published
coefficient is thresholded where the two distributions differ most for the claimed epsilon, and the
share of fits beyond it is compared with what (epsilon, delta) allows.
"""

import warnings
from math import exp, sqrt

import numpy as np
import pytest
from scipy.stats import beta

from skdp import DPLogisticRegression
from skdp.privacy.accounting import perturbation
from skdp.privacy.mechanisms import ObjectivePerturbation as Mechanism
from skdp.solvers import ObjectivePerturbation

pytestmark = pytest.mark.nightly

FITS, FALSE_ALARM = 3000, 1e-6
EPSILON, DELTA = 1.0, 0.02
DATA = (np.array([[1.0], [0.2], [-0.2]]), np.array([0, 0, 1]))
OTHER = (DATA[0], np.array([1, 0, 1]))


def published(X, y, first_seed):
    # The strength keeps minimisers where the derivative of the row is at its clip.
    solver = ObjectivePerturbation(clip=0.25, strength=40.0)
    model = DPLogisticRegression(
        epsilon=EPSILON,
        delta=DELTA,
        data_norm=1.0,
        classes=[0, 1],
        fit_intercept=False,
        solver=solver,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array(
            [
                model.set_params(random_state=first_seed + k).fit(X, y).coef_[0, 0]
                for k in range(FITS)
            ]
        )


def delta_at_least(one, other, epsilon):
    """A lower bound on delta: the threshold is chosen on one half and tested on the other."""
    half = FITS // 2
    candidates = np.quantile(
        np.concatenate([one[:half], other[:half]]), np.linspace(0.01, 0.99, 99)
    )
    sign = np.sign(one[:half].mean() - other[:half].mean())

    def beyond(sample, threshold):
        return int(np.sum(sign * (sample - threshold) > 0))

    best = max(
        candidates, key=lambda c: beyond(one[:half], c) - exp(epsilon) * beyond(other[:half], c)
    )
    k, m = beyond(one[half:], best), beyond(other[half:], best)
    least = beta.ppf(FALSE_ALARM / 2, k, half - k + 1) if k else 0.0
    most = beta.ppf(1 - FALSE_ALARM / 2, m + 1, half - m)
    return least - exp(epsilon) * most


def samples():
    return published(*DATA, 0), published(*OTHER, FITS)


def test_neighbours_are_told_apart_as_well_as_claimed_and_no_better():
    one, other = samples()
    found = max(delta_at_least(one, other, EPSILON), delta_at_least(other, one, EPSILON))
    assert found <= DELTA
    # Here both are normal, and as far apart as the price of the slope says: no noise is wasted.
    claimed = perturbation.mu(EPSILON, DELTA) * sqrt(1 - perturbation.OUTPUT_SHARE)
    spread = sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2)
    # Five standard errors: a false alarm in about 3 million audits.
    margin = 5 * sqrt((2 + claimed**2 / 4) / FITS)
    assert abs(one.mean() - other.mean()) / spread == pytest.approx(claimed, abs=margin)


def test_a_third_of_the_noise_is_caught(monkeypatch):
    honest = Mechanism.perturbation
    monkeypatch.setattr(Mechanism, "perturbation", lambda self, noise: honest(self, noise) / 3)
    one, other = samples()
    assert max(delta_at_least(one, other, EPSILON), delta_at_least(other, one, EPSILON)) > DELTA
