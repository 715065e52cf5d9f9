"""Bounds of features are what was given, or refused in one sentence."""

import numpy as np
import pytest

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
        (5.0, r"Scaler needs bounds=\(low, high\).*got a float"),
        ((0, 1, 2), "got a tuple; pass a pair"),
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


def test_what_was_given_may_change_afterwards():
    low = np.zeros(2)
    bounds = ColumnBounds.of("Scaler", (low, 1), 2)
    low[0] = 5
    assert bounds.low[0] == 0
