"""Features come into the range, whatever their sizes and tails."""

import numpy as np
import pytest

from skdp import BudgetWarning, PrivacySpent
from skdp.preprocessing import DPMinMaxScaler

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N = 20_000


def make_rows(seed=0):
    """Heavy tails, tiny and huge features, mostly zeros."""
    rng = np.random.default_rng(seed)
    amounts = np.where(rng.random(N) < 0.9, 0.0, rng.lognormal(8, 1.5, N))
    return np.column_stack(
        [rng.pareto(1.0, N), 1e-9 * rng.normal(size=N), 1e12 * rng.random(N), amounts]
    )


@pytest.mark.parametrize("feature_range", [(0.0, 1.0), (-1, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_rows_come_into_the_range_and_use_it(seed, feature_range):
    X, (low, high) = make_rows(seed), feature_range
    used = []
    # One fit in 1,500 finds a bound far beyond the rows.
    for _ in range(2):
        scaler = DPMinMaxScaler(epsilon=1.0, feature_range=feature_range)
        scaled = scaler.fit_transform(X)
        assert scaled.min() >= low
        assert scaled.max() <= high
        assert np.all((scaler.data_max_ < X).mean(axis=0) < 0.06)
        assert np.all((scaler.data_min_ > X).mean(axis=0) < 0.06)
        # Not all in one corner.
        near = scaler.data_max_ <= 2 * np.quantile(X, 0.995, axis=0)
        used.append(near & (np.quantile(scaled, 0.999, axis=0) > low + 0.5 * (high - low)))
    assert np.all(np.any(used, axis=0))


def test_attributes_are_those_of_the_min_max_scaler():
    X = make_rows()
    scaler = DPMinMaxScaler(epsilon=1.0, clip=False).fit(X)
    np.testing.assert_allclose(scaler.data_range_, scaler.data_max_ - scaler.data_min_)
    np.testing.assert_allclose(scaler.scale_, 1 / scaler.data_range_)
    np.testing.assert_allclose(scaler.transform(X), X * scaler.scale_ + scaler.min_, atol=1e-9)
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(X)), X, rtol=1e-6)
    assert scaler.n_samples_seen_ == N


def test_where_noise_hides_all_nothing_is_spent_and_that_is_said():
    scaler = DPMinMaxScaler(epsilon=0.5)
    with pytest.warns(BudgetWarning, match="will not be found in 50 rows"):
        scaler.fit(np.ones((50, 2)))
    assert scaler.privacy_spent_ == PrivacySpent(0.0, 0.0)
    assert scaler.privacy_ledger_ == ()


@pytest.mark.parametrize("given", [(1, 0), (0, 0), (0, 1, 2), (0, np.inf), ("a", 1), (0.0, np.nan)])
def test_a_range_that_is_none_is_refused(given):
    with pytest.raises(ValueError, match="feature_range"):
        DPMinMaxScaler(feature_range=given).fit(make_rows())
