"""Statistical audits: can neighbouring data sets be told apart better than was claimed?

The pair is the worst case: one label differs, and the derivative of that row stays at the clip
with opposite signs, so every gradient moves by its full sensitivity. All gradients are summed into
the last iterate, which is then normal with means that are mu standard deviations apart, no more
and no less.
"""

import numpy as np
import pytest

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.privacy.accounting import gdp
from skdp.privacy.mechanisms import GaussianMechanism
from skdp.solvers import GD

pytestmark = pytest.mark.nightly

FITS = 3000
EPSILON, DELTA = 4.0, 1e-5
# Five standard errors of the estimated mu: a false alarm in about 3 million audits.
MARGIN = 5 * np.sqrt((2 + gdp.mu(EPSILON, DELTA) ** 2 / 4) / FITS)


def solver(steps, schedule="uniform"):
    """Steps so short that all gradients are taken at zero, and added up with equal weight."""
    return GD(
        steps=steps, total_step_size=1e-9, clip=0.25, momentum=0.0, average=0.0, schedule=schedule
    )


def separation(model, first, second, statistic):
    """How many standard deviations lie between what the model publishes on two data sets."""
    samples = [
        np.array([statistic(model.fit(*data)) for _ in range(FITS)]) for data in (first, second)
    ]
    spread = np.sqrt(np.mean([s.var(ddof=1) for s in samples]))
    return abs(samples[0].mean() - samples[1].mean()) / spread


def logistic(steps):
    model = DPLogisticRegression(
        epsilon=EPSILON,
        delta=DELTA,
        data_norm=1.0,
        classes=[0, 1],
        fit_intercept=False,
        solver=solver(steps),
    )
    X = np.ones((3, 1))
    return model, (X, np.array([0, 1, 1])), (X, np.array([1, 1, 1])), lambda m: m.coef_[0, 0]


def softmax(steps):
    model = DPLogisticRegression(
        epsilon=EPSILON,
        delta=DELTA,
        data_norm=1.0,
        classes=[0, 1, 2],
        fit_intercept=False,
        solver=solver(steps),
    )
    X = np.array([[1.0], [1.0], [1.0]]), np.array([[-1.0], [1.0], [1.0]])
    y = np.array([0, 1, 2])

    def along_the_difference(m):
        return m.coef_[:, 0] @ [-2.0, 1.0, 1.0]

    return model, (X[0], y), (X[1], y), along_the_difference


def regression(steps):
    model = DPLinearRegression(
        epsilon=EPSILON,
        delta=DELTA,
        data_norm=1.0,
        target_bounds=(-1, 1),
        fit_intercept=False,
        solver=solver(steps),
    )
    X = np.ones((3, 1))
    return model, (X, np.array([1.0, 0, 0])), (X, np.array([-1.0, 0, 0])), lambda m: m.coef_[0]


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("case", [logistic, softmax, regression])
def test_neighbours_are_as_far_apart_as_claimed_and_no_further(case, steps):
    claimed, observed = gdp.mu(EPSILON, DELTA), separation(*case(steps))
    assert observed <= claimed + MARGIN
    # Less would mean that noise is wasted.
    assert observed >= claimed - MARGIN


def test_half_the_noise_is_caught(monkeypatch):
    honest = GaussianMechanism.randomize

    def half(self, value, noise):
        return 0.5 * (value + honest(self, value, noise))

    monkeypatch.setattr(GaussianMechanism, "randomize", half)
    assert separation(*logistic(1)) > gdp.mu(EPSILON, DELTA) + MARGIN
