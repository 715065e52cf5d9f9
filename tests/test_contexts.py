"""Bounds on contexts hold whatever comes, and coefficients in the user's units act alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skdp.problem import ContextBounds

finite = st.floats(allow_nan=False, allow_infinity=False)
BOUNDS = [
    ContextBounds(2.0, 0.0),
    ContextBounds(2.0, 0.3),
    ContextBounds(2.0, 0.0, entries=True),
    ContextBounds(2.0, 1.0, entries=True),
]


@pytest.mark.parametrize("bounds", BOUNDS)
@given(X=arrays(np.float64, (3, 2), elements=finite))
def test_rows_are_in_the_unit_ball_or_cube(bounds, X):
    V = bounds.rows(X)
    assert V.shape == (3, bounds.n_rows(2))
    size = np.linalg.norm(V, axis=1) if not bounds.entries else np.abs(V).max(axis=1)
    assert np.all(size <= 1 + 1e-15)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_row_does_not_depend_on_others(bounds):
    X = np.random.default_rng(0).normal(size=(50, 3)) * 3
    together = bounds.rows(X)
    for i in range(50):
        np.testing.assert_array_equal(bounds.rows(X[i : i + 1])[0], together[i])


@pytest.mark.parametrize("bounds", BOUNDS)
def test_weights_in_user_units_give_the_same_scores_within_the_bounds(bounds):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(20, 3))
    w = rng.normal(size=(4, bounds.n_rows(3)))
    coef, intercept = bounds.in_user_units(w)
    np.testing.assert_allclose(X @ coef.T + intercept, bounds.rows(X) @ w.T, atol=1e-14)


def test_long_contexts_are_scaled_and_large_entries_clipped():
    X = np.array([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(ContextBounds(1.0, 0.0).rows(X), [[0.6, 0.8], [0.3, 0.4]])
    np.testing.assert_allclose(
        ContextBounds(1.0, 0.0, entries=True).rows(X), [[1.0, 1.0], [0.3, 0.4]]
    )
