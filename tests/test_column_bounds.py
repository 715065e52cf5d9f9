"""Bounds of features are what was given, or refused in one sentence."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from skdp import DPLogisticRegression
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler
from skdp.problem import ColumnBounds


@pytest.mark.parametrize(
    ("given", "low", "high"),
    [
        ((0, 1), [0, 0], [1, 1]),
        (([0, -5], 7), [0, -5], [7, 7]),
        ([np.array([1.0, 2.0]), np.array([3.0, 4.0])], [1, 2], [3, 4]),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), [1, 2], [3, 4]),
        ((np.float32(0.5), np.int8(2)), [0.5, 0.5], [2, 2]),
    ],
)
def test_numbers_stand_for_all_features_and_sequences_for_each(given, low, high):
    bounds = ColumnBounds.of("Scaler", given, 2)
    np.testing.assert_array_equal(bounds.low, low)
    np.testing.assert_array_equal(bounds.high, high)
    np.testing.assert_array_equal(bounds.centre, (np.array(low) + high) / 2)
    np.testing.assert_array_equal(bounds.half_width, (np.array(high) - low) / 2)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (5.0, r"Scaler needs bounds=\(low, high\).*got 5\.0"),
        ((0, 1, 2), r"got \(0, 1, 2\); pass a pair"),
        (("a", "b"), "Scaler needs a number for the low end of bounds, got a str"),
        ((0, None), "Scaler needs a number for the high end of bounds, got a NoneType"),
        ((False, True), "needs a number for the low end"),
        (([0, 0, 0], 1), "got 3 for the low ends of 2 features"),
        ((0, [[1, 1]]), "got 2 for the high ends of 2 features"),
        ((1, 1), "low < high"),
        ((1, 0), "low < high"),
        (([0, 1], [1, 1]), "low < high"),
        ((0, np.nan), "low < high"),
        ((0, np.inf), "low < high"),
        ((-1e300, 1e300), "finite, with low < high"),
        ((0, 1e-200), "finite, with low < high"),
    ],
)
def test_what_is_no_bound_is_refused(given, complaint):
    with pytest.raises(ValueError, match=complaint):
        ColumnBounds.of("Scaler", given, 2)


@pytest.mark.parametrize(
    "given",
    [
        [(0, 1), (5, 20)],
        [[0, 1], [5, 20]],
        [(0, 1), [5, 20]],
        ((0, 1), (5, 20)),
    ],
)
def test_pairs_that_may_go_by_feature_are_refused(given):
    # Read as (low, high), the features would be in [0, 5] and [1, 20].
    with pytest.raises(ValueError, match=r"got 2 pairs, which may mean one for each.*pass all low"):
        ColumnBounds.of("Scaler", given, 2)
    with pytest.raises(ValueError, match="got 3 pairs, which may mean one for each feature"):
        ColumnBounds.of("Scaler", [*given, given[0]], 3)


SCALERS = [BoundsScaler, DPStandardScaler, DPMinMaxScaler]


def fitted(kind, bounds, X):
    options = {} if kind is BoundsScaler else {"random_state": 0}
    return kind(bounds=bounds, **options).fit(X)


@pytest.mark.parametrize("kind", SCALERS)
@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
def test_bounds_by_column_name_are_those_of_the_columns(kind):
    rows = np.random.default_rng(0).uniform([0, 5], [1, 20], size=(2000, 2))
    frame = pd.DataFrame(rows, columns=["share", "age"])
    by_name = fitted(kind, {"age": (5, 20), "share": (0, 1)}, frame)
    by_place = fitted(kind, ([0, 5], [1, 20]), frame)
    np.testing.assert_array_equal(by_name.transform(frame), by_place.transform(frame))
    # Frames are told apart by the names that they are fitted on.
    other = frame.rename(columns={"age": "years"})
    with pytest.raises(ValueError, match=r"'age'.* no column has|no column has, such as 'age'"):
        by_name.fit(other)
    with pytest.raises(ValueError, match="features have no names"):
        by_name.fit(rows)
    np.testing.assert_array_equal(by_name.transform(frame), by_place.transform(frame))


@pytest.mark.parametrize("kind", SCALERS)
def test_scalers_refuse_pairs_that_may_go_by_feature(kind):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs bounds=.*got 2 pairs"):
        kind(bounds=[(0, 1), (5, 20)]).fit(np.ones((50, 2)))


@pytest.mark.parametrize(("low", "stay"), [(-2, True), (0, False)])
def test_whether_zeros_stay_zeros_is_read_off_bounds_by_name(low, stay):
    scaler = BoundsScaler(bounds={"a": (-1, 1), "b": (low, 2)})
    complaint = "features have no names" if stay else "needs dense rows"
    with pytest.raises(ValueError if stay else TypeError, match=complaint):
        scaler.fit(sp.csr_array(np.eye(2)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"income": (9, 0)}, r"got \(9, 0\) for 'income'; swap the ends"),
        ({"income": (0, np.nan)}, r"got \(0, nan\) for 'income'"),
        (([0, 0], [9, -1]), r"got \(0, -1\) for 'income'"),
        ({"income": ("low", "high")}, "the low end of data_bounds for 'income', got a str"),
        ({"income": (0, 1, 2)}, r"got \(0, 1, 2\) for 'income'"),
        ({"incme": (0, 1)}, "such as 'incme'.* Did you mean 'income'"),
        ({"Age": (0, 1)}, "Did you mean 'age'"),
    ],
)
def test_messages_name_the_column_whose_bounds_are_wrong(given, said):
    frame = pd.DataFrame(np.ones((50, 2)), columns=["age", "income"])
    model = DPLogisticRegression(classes=[0, 1], data_bounds=given)
    with pytest.raises(ValueError, match=said):
        model.fit(frame, np.arange(50) % 2)


def test_bounds_by_name_behind_a_step_without_names_say_how_to_keep_them():
    frame = pd.DataFrame({"age": np.ones(50)})
    columns = ColumnTransformer([("numbers", "passthrough", ["age"])])
    model = DPLogisticRegression(classes=[0, 1], data_bounds={"age": (0, 1)})
    chain = make_pipeline(columns, model)
    with pytest.raises(ValueError, match=r"set_output\(transform='pandas'\)"):
        chain.fit(frame, np.arange(50) % 2)
    columns.set_output(transform="pandas")
    with pytest.raises(ValueError, match="Did you mean 'numbers__age'"):
        chain.fit(frame, np.arange(50) % 2)
