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
from skdp.privacy.mechanisms import BLT, BUFFERS, Toeplitz, decay_rates

every_number = pytest.mark.parametrize("buffers", BUFFERS)


@every_number
@pytest.mark.parametrize("n", [1, 2, 7, 16, 50, 1000, 12_345, 10**6, 10**9, 10**12])
def test_rates_interlace_for_every_length(buffers, n):
    a, b = decay_rates(buffers, n)
    rates = np.ravel([a, b], order="F")
    assert rates.shape == (2 * buffers,)
    assert np.all(np.diff(rates) > 0)
    assert rates[0] > 0
    assert rates[-1] < 1


@pytest.mark.parametrize("buffers", [1, 5, 0])
def test_other_numbers_of_buffers_are_refused(buffers):
    with pytest.raises(ValueError, match=r"needs a number of buffers in \(2, 3, 4\), got"):
        BLT(10, buffers)


@every_number
@pytest.mark.parametrize("n", [4000, 20_000])
def test_geometric_sums_are_the_sums_of_squares(buffers, n):
    a, b = decay_rates(buffers, n)
    entries = quotient(1 - b, 1 - a, n)
    mechanism = BLT(n, buffers)
    assert np.all(np.diff(entries) <= 0)
    assert entries[-1] > 0
    assert mechanism.column_norm == pytest.approx(np.linalg.norm(entries), rel=1.001e-9)
    assert mechanism.column_norm > np.linalg.norm(entries)
    left = np.cumsum(entries**2)[::-1]
    np.testing.assert_allclose(
        mechanism.scales(np.arange(1, n + 1)), np.sqrt(left / left[0]), rtol=1e-10
    )


# (n, buffers): largest and root mean square error of a BLT without normalised columns, from a
# search over its rates for each length, to three digits.
WITHOUT_NORMALISATION = {
    (1000, 2): (3.32, 3.13),
    (1000, 3): (3.27, 3.11),
    (1000, 4): (3.27, 3.10),
    (10_000, 2): (4.22, 3.99),
    (10_000, 3): (4.03, 3.86),
    (10_000, 4): (4.00, 3.84),
}


@pytest.mark.parametrize(("n", "buffers"), WITHOUT_NORMALISATION)
def test_the_table_is_as_good_as_a_search_and_normalised_columns_are_better(n, buffers):
    a, b = decay_rates(buffers, n)
    column = quotient(1 - b, 1 - a, n)
    row = np.cumsum(quotient(1 - a, 1 - b, n))
    errors = np.linalg.norm(column) * np.sqrt(np.cumsum(row**2))
    largest, typical = WITHOUT_NORMALISATION[n, buffers]
    assert errors.max() == pytest.approx(largest, abs=0.01)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(typical, abs=0.01)
    mechanism = BLT(n, buffers)
    assert max_error(mechanism) < 0.965 * largest
    assert rms_error(mechanism) < 0.977 * typical


@every_number
def test_normalised_columns_never_add_noise_and_take_most_off_the_end(buffers):
    n = 1000
    a, b = decay_rates(buffers, n)
    plain = np.sqrt(np.cumsum(np.cumsum(quotient(1 - a, 1 - b, n)) ** 2))
    ours = np.sqrt(BLT(n, buffers).variances(np.arange(1, n + 1)))
    assert np.all(ours <= plain * (1 + 1e-12))
    assert ours[-1] < 0.81 * plain[-1]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 16, 17, 100, 777, 5000])
def test_it_is_never_worse_than_the_square_root_from_two_buffers_on(n):
    for buffers in BUFFERS:
        if n <= 2000 or buffers > 2:
            assert max_error(BLT(n, buffers)) <= max_error(Toeplitz(n)) * (1 + 1e-8)


def test_more_buffers_are_better_on_long_streams():
    errors = [rms_error(BLT(100_000, buffers)) for buffers in BUFFERS]
    assert errors == sorted(errors, reverse=True)


def test_the_error_is_near_the_least_that_any_factors_have():
    """Root mean square of any factorisation: 0.701 + log(n) / pi for large n.

    Henzinger, Kalinin and Upadhyay (2026).
    """
    n = 10_000
    least = 0.701 + np.log(n) / np.pi
    assert least < rms_error(BLT(n)) < 1.03 * least


@every_number
@pytest.mark.by_day(1)
def test_variances_of_a_long_stream_are_sums_of_squares_of_single_rows(buffers):
    """Steps on both sides of where a computation in pieces is cut, in any order."""
    n = 70_000
    a, b = decay_rates(buffers, n)
    inverse = quotient(1 - a, 1 - b, n)
    scales = np.sqrt(np.cumsum(quotient(1 - b, 1 - a, n) ** 2)[::-1])
    scales /= scales[0]
    steps = np.array([n, 1, 32_768, 32_769, 65_537, 300])
    rows = [fftconvolve(scales[:t][::-1], inverse[:t])[:t] for t in steps]
    expected = [row @ row for row in rows]
    np.testing.assert_allclose(BLT(n, buffers).variances(steps), expected, rtol=1e-9)


def along(n, buffers, size=1):
    """The noise of a stream, and the same by a convolution with all coefficients."""
    z = np.random.default_rng(5).standard_normal((n, size))
    noise = BLT(n, buffers).open(size, 1.0, SeededNoise(np.random.default_rng(5)))
    found = np.array([noise.next() for _ in range(n)])
    a, b = decay_rates(buffers, n)
    term = quotient(1 - a, 1 - b, n)[:, np.newaxis]
    terms = fftconvolve(z, term, axes=0)[:n]
    scales = np.sqrt(np.cumsum(quotient(1 - b, 1 - a, n) ** 2)[::-1])
    return found, np.cumsum(terms * (scales / scales[0])[:, np.newaxis], axis=0)


@pytest.mark.parametrize(("steps", "buffers"), [(20_000, 2), *by_night((100_000, 2), (100_000, 4))])
def test_the_recursion_stays_exact_over_very_many_steps(steps, buffers):
    found, expected = along(steps, buffers)
    assert np.abs(found - expected).max() < 1e-9


@pytest.mark.nightly
@every_number
def test_the_recursion_stays_exact_over_a_million_steps(buffers):
    found, expected = along(1_000_000, buffers)
    assert np.abs(found - expected).max() < 1e-8


@pytest.mark.nightly
def test_the_first_normal_is_forgotten_at_the_computed_rate_over_a_long_stream():
    """An impulse and then silence: what is left of it is the first column of B."""
    n = 10_000

    class Impulse(SeededNoise):
        def normal(self, shape):
            out = np.full(shape, self.value)
            self.value = 0.0
            return out

    source = Impulse(np.random.default_rng(0))
    source.value = 1.0
    noise = BLT(n).open(1, 1.0, source)
    found = np.array([noise.next()[0] for _ in range(n)])
    a, b = decay_rates(4, n)
    scales = np.sqrt(np.cumsum(quotient(1 - b, 1 - a, n) ** 2)[::-1])
    expected = np.cumsum(quotient(1 - a, 1 - b, n) * scales / scales[0])
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_sums_of_squares_of_a_stream_of_a_billion_terms():
    """Where 1 - a has half its digits: many entries one by one, then bounds of what decreases."""
    n, head = 10**9, 100_000
    a, b = decay_rates(4, n)
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
    a, b = decay_rates(4, n)
    np.testing.assert_allclose(quotient(1 - b, 1 - a, n), landau(n), rtol=0.06)


def test_brute_force_and_closed_form_agree_on_all_columns():
    n = 600
    norms = np.linalg.norm(strategy(BLT(n)), axis=0)
    np.testing.assert_allclose(norms, largest_column(BLT(n)), rtol=1e-12)
    a, b = decay_rates(4, n)
    plain = np.linalg.norm(lower(quotient(1 - b, 1 - a, n)), axis=0)
    assert np.argmax(plain) == 0
