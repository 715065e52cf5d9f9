"""Buffers: their rates, their error, and their recursion over a long stream."""

import numpy as np
import pytest
from by_night import by_night
from factors_of_prefix_sums import (
    landau,
    largest_column,
    lower,
    max_error,
    quotient,
    rms_error,
    strategy,
)
from scipy.signal import fftconvolve

from skdp.privacy import SeededNoise
from skdp.privacy.mechanisms import BLT, Toeplitz, decay_rates


@pytest.mark.parametrize("n", [1, 2, 7, 16, 50, 1000, 12_345, 10**6, 10**9, 10**12])
def test_rates_interlace_for_every_length(n):
    a, b = decay_rates(n)
    rates = np.ravel([a, b], order="F")
    assert rates.shape == (8,)
    assert np.all(np.diff(rates) > 0)
    assert rates[0] > 0
    assert rates[-1] < 1


@pytest.mark.parametrize("n", [4000, 20_000])
def test_geometric_sums_are_the_sums_of_squares(n):
    a, b = decay_rates(n)
    entries = quotient(1 - b, 1 - a, n)
    mechanism = BLT(n)
    assert np.all(np.diff(entries) <= 0)
    assert entries[-1] > 0
    assert mechanism.column_norm == pytest.approx(np.linalg.norm(entries), rel=1.001e-9)
    assert mechanism.column_norm > np.linalg.norm(entries)
    left = np.cumsum(entries**2)[::-1]
    np.testing.assert_allclose(
        mechanism.scales(np.arange(1, n + 1)), np.sqrt(left / left[0]), rtol=1e-10
    )


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


def test_normalised_columns_never_add_noise_and_take_most_off_the_end():
    n = 1000
    a, b = decay_rates(n)
    plain = np.sqrt(np.cumsum(np.cumsum(quotient(1 - a, 1 - b, n)) ** 2))
    ours = np.sqrt(BLT(n).variances(np.arange(1, n + 1)))
    assert np.all(ours <= plain * (1 + 1e-12))
    assert ours[-1] < 0.81 * plain[-1]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 16, 17, 100, 777, 5000])
def test_it_is_never_worse_than_the_square_root(n):
    assert max_error(BLT(n)) <= max_error(Toeplitz(n)) * (1 + 1e-8)


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


def test_the_square_root_is_the_limit_of_many_buffers():
    """Entries of the two matrices T are near each other where most of their squares are."""
    n = 256
    a, b = decay_rates(n)
    np.testing.assert_allclose(quotient(1 - b, 1 - a, n), landau(n), rtol=0.06)


def test_brute_force_and_closed_form_agree_on_all_columns():
    n = 600
    norms = np.linalg.norm(strategy(BLT(n)), axis=0)
    np.testing.assert_allclose(norms, largest_column(BLT(n)), rtol=1e-12)
    a, b = decay_rates(n)
    plain = np.linalg.norm(lower(quotient(1 - b, 1 - a, n)), axis=0)
    assert np.argmax(plain) == 0
