"""Private quantiles agree with exact ones up to the noise that was paid for, in any units."""

import numpy as np
import pytest
from sklearn.preprocessing import QuantileTransformer, RobustScaler

from skdp.preprocessing import (
    DPKBinsDiscretizer,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSplineTransformer,
    DPStandardScaler,
)
from skdp.privacy.accounting import gdp
from skdp.testing import exact_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N = 20_000
LOW, HIGH = np.array([0.0, 0.0, 0.0]), np.array([120.0, 30.0, 1e-6])
SHARES = np.linspace(0.05, 0.95, 19)


def make_rows(seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.normal(40, 10, N), rng.lognormal(0, 1, N), 1e-6 * rng.beta(2, 5, N)]
    )


def shares_below(X, quantiles):
    """Shares of the values of each column below its quantiles, (k, d)."""
    return np.stack([(row > X).sum(axis=0) for row in quantiles]) / (~np.isnan(X)).sum(axis=0)


def found(X, **options):
    ranks = DPQuantileTransformer(bounds=(LOW, HIGH), n_quantiles=101, **options).fit(X)
    return ranks.quantiles_[np.rint(100 * SHARES).astype(int)]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_quantiles_are_right_up_to_noise(missing):
    X = make_rows()
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    far = np.abs(shares_below(X, found(X, epsilon=1.0)) - SHARES[:, None])
    # Noise has a standard deviation of about 3 sqrt(3) / mu rows; values within a cell are not
    # spread evenly.
    assert far.max() < 8 * 3 * 3**0.5 / (0.7 * N * gdp.mu(1.0, 1e-5)) + 0.015


def test_all_quantiles_of_all_columns_are_one_release():
    ranks = DPQuantileTransformer(bounds=(LOW, HIGH)).fit(make_rows())
    assert [(event.query, event.count) for event in ranks.privacy_ledger_] == [("column_tree", 1)]


def test_a_public_number_of_rows_and_consistency_leave_less_noise_than_the_cells_have():
    """A quantile from cells alone would add up the noise of half of them."""
    X, spread = make_rows(), []
    for _ in range(40):
        spread.append(shares_below(X, found(X, epsilon=0.5)) * N)
    noise = (2 * 4 * 3) ** 0.5 / gdp.mu(0.5, 1e-5)
    assert np.std(spread, axis=0).mean() < 2.5 * noise < 128**0.5 * noise


def test_without_noise_ranks_are_those_of_scikit_learn_up_to_cells():
    X = make_rows()
    ours = DPQuantileTransformer(epsilon=1e3, bounds=(LOW, HIGH))
    exact_fit(ours, X, None)
    theirs = QuantileTransformer(n_quantiles=1000, subsample=None).fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=0.015)
    back = ours.inverse_transform(ours.transform(X))
    np.testing.assert_allclose(back, np.clip(X, LOW, HIGH), atol=0.001 * HIGH.max())


def test_without_noise_bins_are_those_of_scikit_learn_up_to_cells():
    X = make_rows()
    ours = DPKBinsDiscretizer(n_bins=4, epsilon=1e3, bounds=(LOW, HIGH))
    exact_fit(ours, X, None)
    exact = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    for edges, quartiles, width in zip(ours.bin_edges_, exact.T, HIGH / 256, strict=True):
        np.testing.assert_allclose(edges[1:-1], quartiles, atol=width)
    assert ours.get_feature_names_out().tolist()[:5] == [
        "x0_0.0",
        "x0_1.0",
        "x0_2.0",
        "x0_3.0",
        "x1_0.0",
    ]


def test_without_noise_the_robust_scaler_is_that_of_scikit_learn_up_to_cells():
    X = make_rows()
    for options in ({}, {"quantile_range": (60.0, 90.0)}, {"unit_variance": True}):
        ours = DPRobustScaler(epsilon=1e3, bounds=(LOW, HIGH), clip=False, **options)
        exact_fit(ours, X, None)
        theirs = RobustScaler(**options).fit(X)
        np.testing.assert_allclose(ours.center_, theirs.center_, atol=HIGH.max() / 256)
        np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=0.03)


def test_quartiles_that_are_the_same_number_blow_nothing_up():
    X = np.where(np.random.default_rng(0).random((N, 1)) < 0.9, 0.0, 50.0)
    scaled = DPRobustScaler(bounds=(-100, 100)).fit_transform(X)
    assert np.abs(scaled).max() < 2


def test_bins_of_values_that_many_rows_share_are_merged_and_tell_them_apart():
    X = (np.random.default_rng(0).random((N, 1)) < 0.3).astype(float)
    bins = DPKBinsDiscretizer(n_bins=8, bounds=(0, 1), encode="ordinal").fit(X)
    assert bins.transform([[0.0]]) != bins.transform([[1.0]])
    assert np.all(np.diff(bins.bin_edges_[0]) > 0)


def test_knots_increase_also_where_all_rows_have_one_value():
    splines = DPSplineTransformer(bounds=(-1, 1)).fit(np.zeros((N, 1)))
    assert np.diff(splines.knots_[:, 0]).min() > 0.1
    np.testing.assert_allclose(splines.transform([[0.3]]).sum(), 1)


@pytest.mark.parametrize(
    "free",
    [
        DPKBinsDiscretizer(strategy="uniform", bounds=(0, 1)),
        DPSplineTransformer(knots="uniform", bounds=(0, 1)),
    ],
)
def test_what_follows_from_known_bounds_is_free(free):
    free.fit(make_rows())
    assert free.privacy_spent_.epsilon == 0
    assert free.privacy_ledger_ == ()


def test_quantiles_are_those_of_people():
    rng = np.random.default_rng(0)
    sizes, values = rng.integers(1, 30, 500), rng.normal(size=500)
    X = np.repeat(values, sizes)[:, None]
    scaler = DPRobustScaler(bounds=(-4, 4), epsilon=1e3)
    exact_fit(scaler, X, None, privacy_unit=np.repeat(np.arange(500), sizes))
    np.testing.assert_allclose(scaler.center_, np.median(values), atol=8 / 256)


def test_moments_leave_missing_values_out():
    X = make_rows()
    X[np.random.default_rng(1).random(X.shape) < 0.4] = np.nan
    scaler = DPStandardScaler(epsilon=1e3, bounds=(LOW, HIGH))
    exact_fit(scaler, X, None)
    held = np.clip(X, LOW, HIGH)
    np.testing.assert_allclose(scaler.mean_, np.nanmean(held, axis=0), rtol=1e-4)
    np.testing.assert_allclose(scaler.var_, np.nanvar(held, axis=0), rtol=1e-3)
    assert np.isnan(scaler.transform(X)[np.isnan(X)]).all()


@pytest.mark.parametrize(
    ("transformer", "complaint"),
    [
        (DPKBinsDiscretizer(n_bins=[2, 3]), "n_bins of at least 2"),
        (DPKBinsDiscretizer(n_bins=[2, 1, 3]), "n_bins of at least 2"),
        (DPKBinsDiscretizer(n_bins=[2, 1e300, 3]), "n_bins of at least 2"),
        (DPKBinsDiscretizer(strategy="kmeans"), "use 'quantile'"),
        (DPSplineTransformer(n_knots=3, extrapolation="periodic"), "more knots than the degree"),
        (DPRobustScaler(quantile_range=(75.0, 25.0)), "0 < first < last < 100"),
        (DPQuantileTransformer(output_distribution="beta"), "output_distribution"),
    ],
)
def test_what_makes_no_sense_is_refused(transformer, complaint):
    with pytest.raises(ValueError, match=complaint):
        transformer.fit(make_rows())
    assert not hasattr(transformer, "privacy_spent_")
