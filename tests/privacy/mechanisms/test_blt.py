"""Buffers: their rates, their error, and their recursion over a long stream."""

import numpy as np
import pytest
from by_night import by_night
from factors_of_prefix_sums import largest_column, lower, max_error, quotient, rms_error, strategy
from scipy.signal import fftconvolve

from skdp.privacy import SeededNoise
from skdp.privacy.mechanisms import BLT, decay_rates

# n: largest and root mean square error of a BLT without normalised columns, from a
# search over its rates for each length, to three digits.
WITHOUT_NORMALISATION = {
    1000: (3.27, 3.10),
    10_000: (4.00, 3.84),
}


@pytest.mark.parametrize("n", WITHOUT_NORMALISATION)
def test_the_table_is_as_good_as_a_search_and_normalised_columns_are_better(n):
    a, b = decay_rates(n)
    column = quotient(1 - b, 1 - a, n)
    row = np.cumsum(quotient(1 - a, 1 - b, n))
    errors = np.linalg.norm(column) * np.sqrt(np.cumsum(row**2))
    largest, typical = WITHOUT_NORMALISATION[n]
    assert errors.max() == pytest.approx(largest, abs=0.01)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(typical, abs=0.01)
    mechanism = BLT(n)
    assert max_error(mechanism) < 0.965 * largest
    assert rms_error(mechanism) < 0.977 * typical


def test_the_error_is_near_the_least_that_any_factors_have():
    """Root mean square of any factorisation: 0.701 + log(n) / pi for large n.

    Henzinger, Kalinin and Upadhyay (2026).
    """
    n = 10_000
    least = 0.701 + np.log(n) / np.pi
    assert least < rms_error(BLT(n)) < 1.03 * least


@pytest.mark.by_day(1)
def test_variances_of_a_long_stream_are_sums_of_squares_of_single_rows():
    """Steps on both sides of where a computation in pieces is cut, in any order."""
    n = 70_000
    a, b = decay_rates(n)
    inverse = quotient(1 - a, 1 - b, n)
    scales = np.sqrt(np.cumsum(quotient(1 - b, 1 - a, n) ** 2)[::-1])
    scales /= scales[0]
    steps = np.array([n, 1, 32_768, 32_769, 65_537, 300])
    rows = [fftconvolve(scales[:t][::-1], inverse[:t])[:t] for t in steps]
    expected = [row @ row for row in rows]
    np.testing.assert_allclose(BLT(n).variances(steps), expected, rtol=1e-9)


def along(n, size=1):
    """The noise of a stream, and the same by a convolution with all coefficients."""
    z = np.random.default_rng(5).standard_normal((n, size))
    noise = BLT(n).open(size, 1.0, SeededNoise(np.random.default_rng(5)))
    found = np.array([noise.next() for _ in range(n)])
    a, b = decay_rates(n)
    term = quotient(1 - a, 1 - b, n)[:, np.newaxis]
    terms = fftconvolve(z, term, axes=0)[:n]
    scales = np.sqrt(np.cumsum(quotient(1 - b, 1 - a, n) ** 2)[::-1])
    return found, np.cumsum(terms * (scales / scales[0])[:, np.newaxis], axis=0)


@pytest.mark.parametrize("steps", [20_000, *by_night(300_000)])
def test_the_recursion_stays_exact_over_very_many_steps(steps):
    found, expected = along(steps)
    assert np.abs(found - expected).max() < 1e-9


def test_sums_of_squares_of_a_stream_of_a_billion_terms():
    """Where 1 - a has half its digits: many entries one by one, then bounds of what decreases."""
    n, head = 10**9, 100_000
    a, b = decay_rates(n)
    weights = [np.prod(b - r) / np.prod(a[a != r] - r) for r in a]

    def squares(k):
        return sum(w * (1 - r) ** (k - 1.0) for w, r in zip(weights, a, strict=True)) ** 2

    first = 1 + squares(np.arange(1, head)).sum()
    edges = np.unique(np.geomspace(head, n, 100_000).astype(np.int64))
    values, widths = squares(edges), np.diff(edges)
    upper, under = first + values[:-1] @ widths, first + values[1:] @ widths
    assert under <= BLT(n).column_norm ** 2 <= upper
    assert upper < 1.0001 * under


def test_brute_force_and_closed_form_agree_on_all_columns():
    n = 600
    norms = np.linalg.norm(strategy(BLT(n)), axis=0)
    np.testing.assert_allclose(norms, largest_column(BLT(n)), rtol=1e-12)
    a, b = decay_rates(n)
    plain = np.linalg.norm(lower(quotient(1 - b, 1 - a, n)), axis=0)
    assert np.argmax(plain) == 0
