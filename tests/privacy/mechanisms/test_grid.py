"""Noise on a grid: the answer is a function of the ideal one, and attacks on the bits fail."""

from fractions import Fraction
from math import frexp, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest

from skdp.privacy import BITS, GRID, SystemNoise, randomness, refined
from skdp.privacy.accounting import Spend
from skdp.privacy.mechanisms import GaussianMechanism, noisy_on_grid, spacing

RNG = np.random.default_rng(0)
TRIALS = 3000


class Given:
    """Hands out the same normals, rounded as the mechanism asks."""

    def __init__(self, z):
        self.z = z

    def rounded(self, shape, scale):
        return np.rint(self.z * scale).reshape(shape)


@settings(max_examples=50)
@given(st.floats(1e-140, 1e140), st.floats(1e-140, 1e140), st.integers(1, 10**7))
def test_the_grid_is_a_power_of_two_finer_than_its_share(sensitivity, scale, entries):
    g = spacing(sensitivity, scale, entries)
    assert frexp(g)[0] == 0.5
    assert g * sqrt(entries) <= GRID * sensitivity * (1 + 1e-12)
    assert g <= scale / 2**10
    assert 2.01 * g > min(GRID * sensitivity / sqrt(entries), scale / 2**10)


@settings(max_examples=50)
@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e6), st.integers(0, 2**32 - 1))
def test_an_answer_is_the_ideal_one_rounded_to_the_grid(value, scale, seed):
    """In exact arithmetic, with the answer on the grid and the very noise."""
    z = np.random.default_rng(seed).standard_normal(1)
    g = Fraction(spacing(1.0, scale, 1))
    k, m = round(Fraction(value) / g), round(Fraction(float(z[0] * (scale / float(g)))))
    (found,) = noisy_on_grid(np.array([value]), 1.0, scale, Given(z))
    assert Fraction(float(found)) == Fraction(float(k + m)) * g


def test_rounding_moves_neighbours_no_further_than_the_margin():
    mechanism = GaussianMechanism.calibrated(1.0, Spend(0.1))
    g = spacing(mechanism.sensitivity, mechanism.noise_scale, 64)
    still = Given(np.zeros(64))
    for _ in range(50):
        a = RNG.normal(size=64)
        b = a + RNG.choice([-0.49, 0.49], 64) * g
        moved = [noisy_on_grid(v, 1.0, mechanism.noise_scale, still) for v in (a, b)]
        apart = np.linalg.norm(np.subtract(*moved)) - np.linalg.norm(a - b)
        assert apart <= GRID


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5])
def test_rounded_normals_have_the_law_of_rounded_normals(scale):
    drawn = SystemNoise().rounded(200_000, scale)
    assert np.array_equal(drawn, np.rint(drawn))
    for k in range(-4, 5):
        p = float(ndtr((k + 0.5) / scale) - ndtr((k - 0.5) / scale))
        assert binomtest(int(np.sum(drawn == k)), drawn.size, p).pvalue > 1e-10


KNOWN = {
    # Tails of the standard normal law, from tables to 30 digits.
    1.0: "0.158655253931457051414767454368",
    2.0: "0.0227501319481792072002826371665",
    1.95996398454005423552: "0.0250000000000000000000000000000",
}


@pytest.mark.parametrize(("x", "tail"), KNOWN.items())
def test_quantiles_in_integer_arithmetic_agree_with_tables(x, tail):
    fixed = int(Fraction(tail) * 2**BITS)
    found = Fraction(refined(x * (1 + 1e-13), fixed), 2**BITS)
    exact = Fraction("1.959963984540054235524594430520551") if x not in (1.0, 2.0) else Fraction(x)
    assert abs(found - exact) < Fraction(1, 10**25)


def test_quantiles_in_double_precision_err_by_less_than_is_assumed():
    tails = np.concatenate(
        [
            RNG.random(300) / 2,
            2.0 ** -RNG.uniform(1, 127, 300),
            0.5 - 2.0 ** -RNG.uniform(2, 50, 99),
        ]
    )
    for tail in tails[tails < 0.5].tolist():
        z = -float(ndtri(tail))
        exact = Fraction(refined(z, int(Fraction(tail) * 2**BITS)), 2**BITS)
        assert abs(exact - Fraction(z)) <= Fraction(randomness._RELATIVE * z) / 8


def test_draws_close_to_the_middle_are_decided_by_more_bits(monkeypatch):
    """A word whose normal is half a unit by double precision, and its neighbours."""
    scale, middle = 2.0**30, 12345.5
    half = float(ndtr(-middle / scale))
    word = round(half * 2.0**64) << 1
    near = [randomness._decided(middle / scale, word + 2 * k, 0, scale) for k in (-(2**20), 2**20)]
    # Larger words are larger shares, hence smaller normals.
    assert near == [12346.0, 12345.0]
    asked = []
    honest = randomness._decided
    monkeypatch.setattr(randomness, "_decided", lambda *a: asked.append(a) or honest(*a))
    noise = SystemNoise()
    noise._ahead = randomness._drawn_of(np.array([word], dtype=np.uint64))
    noise.rounded(1, scale)
    assert len(asked) == 1
    noise.rounded(1000, 2.0**12)
    assert len(asked) == 1


def test_decided_quantiles_are_so_close_that_next_to_no_decision_is_wrong(monkeypatch):
    """At the largest scale that is claimed, from the worst quantile that is allowed for."""
    found, scale = [], 2.0**32
    monkeypatch.setattr(
        randomness,
        "refined",
        lambda z, tail: found.append((refined(z, tail), tail)) or found[-1][0],
    )
    for word in RNG.integers(2**54, 2**63, 30).tolist():
        z = -float(ndtri((word >> 1) * 2.0**-64)) * (1 + randomness._RELATIVE)
        randomness._decided(z, word, 0, scale)
        x, tail = found[-1]
        off = Fraction(abs(refined(Fraction(x, 2**BITS), tail) - x), 2**BITS)
        # Wrong are draws that close to the middle between two whole numbers, on either side.
        assert 2 * off * Fraction(scale) <= Fraction(2) ** -100


def naive(value, scale, size):
    """The usual way: inverse CDF of 53-bit uniforms, added in floating point."""
    u = (RNG.integers(0, 2**53, size) + 0.5) * 2.0**-53
    return value + scale * ndtri(u)


def ours(value, scale, size):
    noise = SystemNoise()
    mechanism = GaussianMechanism(1.0, scale)
    return np.array([mechanism.randomize(np.array([value]), noise)[0] for _ in range(size)])


def reachable(outputs, value, scale):
    """Whether the naive sampler can bring the value to these outputs, by the last bits."""
    m = np.rint(ndtr((outputs - value) / scale) * 2.0**53 - 0.5)
    found = np.zeros(outputs.shape, dtype=bool)
    for step in range(-8, 9):
        u = (m + step + 0.5) * 2.0**-53
        with np.errstate(invalid="ignore"):
            found |= value + scale * ndtri(u) == outputs
    return found


def advantage(sampler, tells):
    """How much more often a test says 'one' of outputs from the one value than from the other."""
    return np.mean(tells(sampler(1.0))) - np.mean(tells(sampler(0.0)))


def test_last_bits_tell_naive_answers_apart_and_not_ours():
    """Mironov (2012), for normals: only one of two candidates can have brought the output about."""
    scale = 1.0

    def tells(outputs):
        # Far out, few doubles are values of the sampler.
        far = np.abs(outputs - 0.5) > 3.0
        one, zero = reachable(outputs, 1.0, scale), reachable(outputs, 0.0, scale)
        return far & one & ~zero

    attacked = advantage(lambda value: naive(value, scale, 100_000), tells)
    # Nearly all that lie so far out: a share of 0.007 of outputs.
    assert attacked > 0.003
    outputs = [ours(value, scale, TRIALS) for value in (0.0, 1.0)]
    # All of our outputs lie on one grid, whichever the value.
    for found in outputs:
        g = spacing(1.0, scale, 1)
        assert np.array_equal(np.rint(found / g) * g, found)
        assert np.mean(tells(found)) < 0.002


@pytest.mark.parametrize("large", [2.0**40, 2.0**52])
def test_large_values_do_not_show_in_the_bits_of_what_is_left(large):
    """The last bits of a large output are those of the grid, or of the double nearest to it."""
    g, size = spacing(1.0, 8.0, 1), 300
    found = [
        noisy_on_grid(np.full(size, value), 1.0, 8.0, SystemNoise()) for value in (large, large + 1)
    ]
    coarse = max(g, np.spacing(large) / 2)
    for outputs in found:
        assert np.array_equal(np.rint(outputs / coarse) * coarse, outputs)
    # As far apart as the values are.
    assert abs(np.mean(found[1] - found[0]) - 1) < 6 * 8 * sqrt(2 / size)


class Far:
    """Whole numbers that doubles do not hold."""

    def __init__(self, *whole):
        self.whole = np.array(whole, dtype=object)

    def rounded(self, shape, scale):
        return self.whole.reshape(shape)


def test_noise_that_doubles_do_not_hold_is_added_exactly_and_rounded_once():
    """Else the last bits, which noise of even numbers alone leaves as they are, tell the answer."""
    wide, g = 2.0**58, spacing(1.0, 2.0**58, 2)
    first, second = 2**54 + 5, -(2**56) - 7
    found = noisy_on_grid(np.array([g, -3 * g]), 1.0, wide, Far(first, second))
    np.testing.assert_array_equal(found, [float(first + 1) * g, float(second - 3) * g])
    assert float(first + 1) != float(first) + 1


def test_an_answer_beyond_all_doubles_raises_nothing_beside_such_noise():
    """Whether a call fails must not depend on rows."""
    found = noisy_on_grid(np.array([1e300, 1.0]), 1.0, 2.0**58, Far(2**54, 2**54))
    assert np.isfinite(found).all()
    with np.errstate(over="ignore"):
        found = noisy_on_grid(np.array([1e308, 1.0]), 1.0, 2.0**58, Far(2**54, 2**54))
    assert found[0] == np.inf


def test_noise_far_wider_than_the_grid_is_whole_numbers_of_both_parities():
    drawn = SystemNoise().rounded((4, 25), 2.0**60)
    assert drawn.shape == (4, 25)
    assert {type(m) for m in drawn.ravel()} == {int}
    assert 10 < sum(m % 2 for m in drawn.ravel()) < 90
    assert np.abs(drawn.astype(float)).max() < 14 * 2.0**60
