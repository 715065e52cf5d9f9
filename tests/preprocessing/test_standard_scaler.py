"""Private moments agree with exact ones up to the noise that was paid for, in any units."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from skdp import BudgetWarning
from skdp.preprocessing import DPStandardScaler
from skdp.privacy.accounting import gdp
from skdp.testing import check_noise, exact_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N = 2000
LOW, HIGH = np.array([-10.0, 0.0, 1e5]), np.array([10.0, 1e-3, 3e6])


def make_rows(seed=0):
    rng = np.random.default_rng(seed)
    return LOW + (HIGH - LOW) * rng.beta(2, 5, size=(N, 3))


def test_without_noise_it_is_the_standard_scaler():
    X = make_rows()
    ours, theirs = DPStandardScaler(epsilon=1e3, bounds=(LOW, HIGH)), StandardScaler().fit(X)
    exact_fit(ours, X, None)
    # Answers lie on a grid of a 2^16th of their sensitivity, which is 5e-8 of the bounds here.
    for name in ("mean_", "var_", "scale_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-5)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, rtol=1e-10)


@pytest.mark.parametrize(("adjacency", "of_one"), [("replace_one", 2.0), ("zero_out", 1.125**0.5)])
def test_noise_of_means_is_the_least_for_the_budget(adjacency, of_one):
    X = make_rows()
    exact = X.mean(axis=0)
    half = (HIGH - LOW) / 2

    def draw():
        fitted = DPStandardScaler(epsilon=2.0, bounds=(LOW, HIGH), adjacency=adjacency).fit(X)
        return (fitted.mean_ - exact) / half

    # The margin for finite precision is 3e-5 of it, which this many draws cannot see.
    check_noise(draw, of_one * np.sqrt(3) / (N * gdp.mu(2.0, 1e-5)), repeats=100)


def test_units_do_not_matter():
    X, factor = make_rows(), np.array([1e-6, 1e9, 7.0])
    first = DPStandardScaler(bounds=(LOW, HIGH), random_state=0).fit(X)
    second = DPStandardScaler(bounds=(factor * LOW, factor * HIGH), random_state=0).fit(X * factor)
    np.testing.assert_allclose(second.mean_, factor * first.mean_)
    np.testing.assert_allclose(second.transform(X * factor), first.transform(X), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_without_bounds_features_of_any_size_come_out_standardised(seed):
    rng = np.random.default_rng(seed)
    size = 10.0 ** np.array([-12, -3, 0, 3, 12])
    X = size * rng.normal(rng.normal(size=5), 1.0, size=(40_000, 5))
    scaled = DPStandardScaler(epsilon=1.0).fit_transform(X)
    assert np.abs(scaled.mean(axis=0)).max() < 0.05
    assert np.abs(scaled.std(axis=0) - 1).max() < 0.1


def test_a_feature_that_does_not_vary_is_not_blown_up():
    X = np.column_stack([np.full(N, 4.0), np.zeros(N), make_rows()[:, 0]])
    for bounds in ((-10.0, 10.0), None):
        fitted = DPStandardScaler(bounds=bounds, epsilon=3.0).fit(X)
        assert np.abs(fitted.transform(X)[:, :2]).max() < 5
        assert np.all(fitted.scale_ > 0)


def test_what_lies_beyond_the_bounds_is_clipped_unless_told_otherwise():
    fitted = DPStandardScaler(bounds=(LOW, HIGH), random_state=0).fit(make_rows())
    far = np.array([[1e9, 1e9, 1e9]])
    np.testing.assert_allclose(fitted.transform(far), fitted.transform(HIGH[None]))
    free = DPStandardScaler(bounds=(LOW, HIGH), clip=False, random_state=0).fit(make_rows())
    np.testing.assert_allclose(free.transform(far), (far - free.mean_) / free.scale_)


def test_options_of_the_standard_scaler():
    X = make_rows()
    centred = DPStandardScaler(bounds=(LOW, HIGH), with_std=False, random_state=0).fit(X)
    assert centred.scale_ is None is centred.var_
    np.testing.assert_allclose(centred.transform(X), X - centred.mean_)
    neither = DPStandardScaler(bounds=(LOW, HIGH), with_mean=False, with_std=False).fit(X)
    assert neither.mean_ is None
    assert neither.privacy_ledger_ == ()
    np.testing.assert_allclose(neither.transform(X), X)


def test_where_noise_hides_the_ranges_the_budget_goes_to_the_moments():
    X = np.random.default_rng(0).normal(size=(50, 2)) / 10
    scaler = DPStandardScaler(epsilon=0.5)
    with pytest.warns(BudgetWarning, match="will not be found in 50 rows"):
        scaler.fit(X)
    assert [event.query for event in scaler.privacy_ledger_] == ["column_moments"]
    assert scaler.privacy_spent_.epsilon == 0.5
    np.testing.assert_array_equal(scaler.bounds_, [[-1, -1], [1, 1]])


@pytest.mark.parametrize("made", ["float64", "Float64", "object", "category"])
def test_frames_whose_columns_are_handed_on_read_only_are_transformed_and_left_alone(made):
    frame = pd.DataFrame(np.linspace(-1, 1, 12).reshape(6, 2), columns=["a", "b"]).astype(made)
    before = frame.copy()
    scaler = DPStandardScaler(bounds=(-1, 1)).fit(frame)
    out = scaler.transform(frame)
    np.testing.assert_array_equal(out, scaler.transform(frame.astype(float)))
    pd.testing.assert_frame_equal(frame, before)
