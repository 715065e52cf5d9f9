"""Missing values that are filled in by private statistics; the battery of numbers is elsewhere."""

import warnings
from copy import copy

import numpy as np
import pandas as pd
import pytest
from frames import polars
from sklearn.impute import SimpleImputer
from sklearn.utils.estimator_checks import check_estimator

from skdp import BudgetWarning, PrivacyBudget, PrivacySpent
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPSimpleImputer, DPStandardScaler
from skdp.privacy import gdp

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
N, DELTA = 4000, 1e-5
BOUNDS = ([0.0, 0.0], [100.0, 50.0])


def numbers(seed=0):
    """Ages and skewed waits, with gaps that have nothing to do with either."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(40, 10, N), rng.exponential(5, N)])
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


def entries(seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((N, 2), dtype=object)
    X[:, 0] = rng.choice(["yes", "no", None], N, p=[0.4, 0.3, 0.3])
    X[:, 1] = rng.choice([1, 2, np.nan], N, p=[0.2, 0.5, 0.3])
    return X


def imputer(**options):
    return DPSimpleImputer(**{"random_state": 0, "delta": DELTA} | options)


@pytest.mark.parametrize("strategy", ["mean", "median"])
@pytest.mark.parametrize("bounds", [BOUNDS, None])
def test_statistics_are_those_of_what_is_not_missing(strategy, bounds):
    X = numbers()
    fitted = imputer(strategy=strategy, bounds=bounds, epsilon=2.0).fit(X)
    exact = SimpleImputer(strategy=strategy).fit(X).statistics_
    np.testing.assert_allclose(fitted.statistics_, exact, atol=1.0)
    assert fitted.privacy_spent_ == PrivacySpent(2.0, DELTA)
    out = fitted.transform(X)
    gaps = np.isnan(X)
    np.testing.assert_array_equal(out[~gaps], X[~gaps])
    np.testing.assert_array_equal(out[gaps], np.broadcast_to(fitted.statistics_, X.shape)[gaps])


@pytest.mark.parametrize("strategy", ["mean", "median"])
@pytest.mark.parametrize("add_indicator", [False, True])
def test_columns_may_go_on_in_units_of_the_ranges_that_were_found(strategy, add_indicator):
    X, options = numbers(), {"strategy": strategy, "add_indicator": add_indicator}
    fitted = imputer(scale=True, epsilon=2.0, **options).fit(X)
    assert fitted.privacy_spent_ == PrivacySpent(2.0, DELTA)
    plain = copy(fitted).set_params(scale=False)
    filled, out = plain.transform(X), fitted.transform(X)
    scaler = BoundsScaler(fitted.bounds_, feature_range="auto")
    np.testing.assert_array_equal(out[:, :2], scaler.fit_transform(filled[:, :2]))
    np.testing.assert_array_equal(out[:, 2:], filled[:, 2:])
    assert np.abs(out).max() <= 1
    np.testing.assert_allclose(fitted.to_sklearn().transform(X), out, atol=1e-12)


@pytest.mark.parametrize("kind", [DPSimpleImputer, DPStandardScaler, DPMinMaxScaler])
def test_ranges_are_sought_of_those_columns_alone_that_have_none(kind):
    X = pd.DataFrame(numbers(), columns=["age", "wait"])
    for bounds in ({"age": (0, 100)}, {0: (0, 100), 1: None}):
        fitted = kind(bounds=bounds, epsilon=2.0).fit(X)
        votes = [e for e in fitted.privacy_ledger_ if e.query == "magnitude_votes"]
        assert len(votes) == 1
        if kind is not DPMinMaxScaler:
            low, high = fitted.bounds_
            assert (low[0], high[0]) == (0, 100)
            assert 10 < high[1] < 100
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "DPSimpleImputer sees no value")
        said = pytest.warns(BudgetWarning, match=r"ranges of 1 columns.*in 20 rows.*of: wait\.")
        with said:
            kind(bounds={"age": (0, 100)}, epsilon=0.5).fit(X.fillna(0)[:20])
    with pytest.raises(ValueError, match="Did you mean 'wait'"):
        kind(bounds={"waits": (0, 100)}).fit(X)


def test_categories_have_no_units():
    with pytest.raises(ValueError, match="needs strategy='mean' or 'median' to scale"):
        imputer(strategy="most_frequent", scale=True).fit(numbers())


def test_the_commonest_categories_are_filled_in():
    X = entries()
    fitted = imputer(strategy="most_frequent").fit(X)
    assert fitted.statistics_.tolist() == ["yes", 2]
    out = fitted.transform(X)
    missing = [row is None or row != row for row in X[:, 0]]
    assert (out[missing, 0] == "yes").all()
    assert not (out == None).any()  # noqa: E711
    (event,) = fitted.privacy_ledger_
    mu = event.sensitivity / event.noise_scale
    assert gdp.epsilon(mu, DELTA - event.threshold_delta) == pytest.approx(1.0, rel=1e-9)
    # What is missing most of all is no category to fill in.
    X[: N // 2, 0] = None
    assert imputer(strategy="most_frequent").fit(X).statistics_[0] == "yes"
    of_numbers = np.round(np.nan_to_num(numbers(), nan=7.0) / 40)
    of_numbers[::5] = np.nan
    out = imputer(strategy="most_frequent").fit_transform(of_numbers)
    assert out.dtype == np.float64


def test_a_constant_spends_nothing():
    X = entries()
    fitted = imputer(strategy="constant").fit(X)
    assert fitted.statistics_.tolist() == ["missing_value"] * 2
    assert imputer(strategy="constant").fit(numbers()).statistics_.tolist() == [0.0, 0.0]
    assert imputer(strategy="constant", fill_value="?").fit_transform(X)[4, 0] in {"yes", "no", "?"}
    assert fitted.privacy_spent_ == PrivacySpent(0.0, 0.0)
    assert fitted.privacy_ledger_ == ()
    with PrivacyBudget(1.0, DELTA) as budget:
        imputer(strategy="constant").fit(X)
        assert budget.spent.epsilon == 0


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
def test_indicators_come_of_every_column_with_gaps_or_not(strategy):
    X = numbers().round(-1)
    X[:, 1] = 3.0
    bounds = BOUNDS if strategy in ("mean", "median") else None
    fitted = imputer(strategy=strategy, bounds=bounds, add_indicator=True).fit(X)
    out = fitted.transform(X)
    assert [*fitted.get_feature_names_out()] == [
        *("x0", "x1", "missingindicator_x0", "missingindicator_x1")
    ]
    np.testing.assert_array_equal(out[:, 2:], np.isnan(X))
    np.testing.assert_allclose(fitted.to_sklearn().transform(X).astype(float), out.astype(float))


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_a_column_without_values_gets_the_middle_of_its_bounds(strategy):
    X = numbers()
    X[:, 1] = np.nan
    with pytest.warns(UserWarning, match="no value beside the noise in column 1, where the middle"):
        fitted = imputer(strategy=strategy, bounds=BOUNDS).fit(X)
    assert fitted.statistics_[1] == 25.0


def test_a_column_without_categories_gets_what_was_given():
    X = entries()
    X[:, 0] = None
    for value, filled in ((None, "missing_value"), ("unknown", "unknown")):
        with pytest.warns(UserWarning, match="in column 0, where fill_value is filled in"):
            fitted = imputer(strategy="most_frequent", fill_value=value).fit(X)
        assert fitted.statistics_[0] == filled


def test_too_few_rows_for_categories_are_filled_with_a_constant_for_nothing():
    chosen = imputer(strategy="most_frequent", epsilon=0.1, fill_value=7.0)
    with pytest.warns(BudgetWarning, match=r"DPSimpleImputer finds .* Use strategy='constant'"):
        chosen.fit(entries()[:50])
    assert (chosen.statistics_ == 7.0).all()
    assert chosen.privacy_ledger_ == ()
    assert chosen.privacy_spent_ == PrivacySpent(0.0, 0.0)


def test_frames_come_in_and_out():
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    frame = pd.DataFrame(entries(), columns=["answer", "size"])
    fitted = imputer(strategy="most_frequent").set_output(transform="pandas").fit(frame)
    out = fitted.transform(frame)
    assert [*out.columns] == ["answer", "size"]
    assert not out.isna().any().any()
    pl = polars()
    frame = pl.DataFrame(numbers(), schema=["age", "wait"])
    out = imputer(bounds=BOUNDS).set_output(transform="polars").fit_transform(frame)
    assert out.columns == ["age", "wait"]


@pytest.mark.parametrize("strategy", ["most_frequent", "constant"])
@pytest.mark.parametrize("made", ["list", "frame"])
def test_types_tell_of_no_single_entry(strategy, made):
    """Of rows in a list, or of truth values in a frame, one that is missing shows in no type."""
    whole = [[0.5, True], [0.5, True]] * 500
    neighbours = [whole, [*whole[1:], [0.5, None]]]
    if made == "frame":
        pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
        neighbours = [pd.DataFrame(rows, columns=["a", "b"]) for rows in neighbours]
    fits = [imputer(strategy=strategy).fit(rows) for rows in neighbours]
    one, other = (fitted.statistics_ for fitted in fits)
    assert one.dtype == other.dtype
    assert [repr(value) for value in one] == [repr(value) for value in other]
    one, other = (fit.transform(rows) for fit, rows in zip(fits, neighbours, strict=True))
    assert one.dtype == other.dtype


def test_people_count_once():
    X = entries()
    X[:1500, 0] = "many rows"
    people = np.array([0] * 1500 + [*range(1, N - 1500 + 1)])
    assert imputer(strategy="most_frequent").fit(X).statistics_[0] == "many rows"
    by_people = imputer(strategy="most_frequent").fit(X, privacy_unit=people)
    assert by_people.statistics_[0] == "yes"
    ages = np.where(np.arange(N) < 1500, 90.0, 30.0)[:, None]
    by_people = imputer(bounds=(0, 100)).fit(ages, privacy_unit=people)
    assert by_people.statistics_[0] == pytest.approx(30, abs=1.5)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_checks_of_scikit_learn_pass():
    """Few rows of numbers, each a category of its own."""
    estimator = DPSimpleImputer(strategy="most_frequent", epsilon=1e6, random_state=0)
    # It compares arrays of objects, which rows in a list come back as, as if they were numbers.
    objects = {"check_transformer_data_not_an_array": "types of entries of a list are no facts"}
    found = check_estimator(estimator, on_fail=None, expected_failed_checks=objects)
    assert [r["check_name"] for r in found if r["status"] == "failed"] == []
