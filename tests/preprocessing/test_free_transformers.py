"""Transformers that learn nothing do what their formulas say, for rows of any size."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from skdp import DPLogisticRegression
from skdp.preprocessing import BoundsScaler, RowNormClipper


@pytest.mark.parametrize("feature_range", [(-1.0, 1.0), (0, 1), (2, 5.5)])
def test_bounds_scaler_is_a_min_max_scaler_that_was_told_its_range(feature_range):
    low, high = np.array([-3.0, 0.0, 100.0]), np.array([5.0, 1e-6, 1e6])
    X = np.random.default_rng(0).uniform(low - 1, high + 1, size=(50, 3))
    theirs = MinMaxScaler(feature_range=feature_range, clip=True).fit([low, high])
    ours = BoundsScaler((low, high), feature_range=feature_range).fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-9)
    inside = np.clip(X, low, high)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), inside, rtol=1e-9)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("free", [BoundsScaler((-1, 1)), RowNormClipper()])
def test_labels_of_people_are_ignored_alone_and_in_a_pipeline(free, routing):
    X, person = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) // 2
    expected = clone(free).fit(X).transform(X)
    with sklearn.config_context(enable_metadata_routing=routing):
        np.testing.assert_array_equal(
            clone(free).fit(X, privacy_unit=person).transform(X), expected
        )
        model = DPLogisticRegression(data_norm=2.0, classes=[False, True])
        model = model.set_fit_request(privacy_unit=True) if routing else model
        name = "" if routing else "dplogisticregression__"
        pipeline = make_pipeline(clone(free), model)
        pipeline.fit(X, X[:, 0] > 0, **{f"{name}privacy_unit": person})
    assert pipeline[-1].plan_.unit == "privacy_unit"


def test_no_entry_leaves_the_range():
    X = np.array([[1e308, -1e308], [0.1, 0.3], [-0.0, 1e-320]])
    for kind in (np.float64, np.float32):
        with np.errstate(over="ignore"):
            rows = np.clip(X, -3e38, 3e38).astype(kind)
        scaled = BoundsScaler((0.1, 0.3)).fit_transform(rows)
        assert scaled.min() >= -1
        assert scaled.max() <= 1
        np.testing.assert_allclose(scaled[1], [-1, 1], atol=1e-6)


@pytest.mark.parametrize(
    ("bounds", "complaint"),
    [((1.0, 0.0), "low < high"), (([0, 0], [1, 1]), "2 for the low ends of 3 features")],
)
def test_bounds_that_do_not_fit_are_refused(bounds, complaint):
    with pytest.raises(ValueError, match=complaint):
        BoundsScaler(bounds).fit(np.ones((4, 3)))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_only_long_rows_are_shortened_and_keep_their_direction(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * 10.0 ** rng.uniform(-3, 3, size=(40, 1))
    X[0] = 0.0
    X[1] = [1e308, -1e308, 1e308]
    X[2] = [1e-320, 0.0, 0.0]
    out = RowNormClipper(2.0).fit_transform(kind(X))
    out = out.toarray() if sp.issparse(out) else out
    for before, after in zip(X, out, strict=True):
        largest = np.abs(before).max()
        norm = largest * math.hypot(*(before / largest)) if largest else 0.0
        if norm <= 2:
            np.testing.assert_array_equal(after, before)
        else:
            expected = before / largest / math.hypot(*(before / largest)) * 2
            np.testing.assert_allclose(after, expected, rtol=1e-12)


def test_single_precision_rows_whose_squares_overflow_are_shortened():
    out = RowNormClipper(1.0).fit_transform(np.array([[3e30, 4e30]], dtype=np.float32))
    np.testing.assert_allclose(out, [[0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize("max_norm", [0.0, -1.0, math.inf, "long"])
def test_a_length_that_is_none_is_refused(max_norm):
    with pytest.raises(ValueError, match="max_norm"):
        RowNormClipper(max_norm).fit(np.ones((2, 2)))


def test_a_range_that_the_scaler_chooses_is_that_of_a_model_with_such_bounds():
    bounds = [0.0, -4.0, 10.0], [8.0, 4.0, 20.0]
    X = np.array([[0.0, 0.0, 10.0], [4.0, 2.0, 15.0], [9.0, -9.0, 30.0]])
    scaled = BoundsScaler(bounds, feature_range="auto").fit_transform(X)
    np.testing.assert_array_equal(scaled, [[0, 0, -1], [0.5, 0.5, 0], [1, -1, 1]])
    sparse = BoundsScaler(([0, -4], [8, 4]), feature_range="auto").fit(sp.csr_array(X[:, :2]))
    np.testing.assert_array_equal(sparse.transform(sp.csr_array(X[:, :2])).toarray(), scaled[:, :2])
