"""Secret noise: its law, its freshness, and that it cannot be copied."""

import copy
import gc
import os
import pickle
import signal
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import known_noise
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from skdp.exceptions import SeededNoiseWarning
from skdp.privacy import SeededNoise, SystemNoise, public_generator, randomness, secret_noise
from skdp.testing import check_fork, check_noise

DRAWS = 200_000
WORDS = 1 << 12  # Normals that are drawn ahead.
# Chance that a test of true randomness fails although all is well.
FALSE_ALARM = 1e-9
SCALE = 2.0**40  # So wide that rounded normals are hardly ever equal.
STATES = {
    "int": lambda: 7,
    "RandomState": lambda: np.random.RandomState(7),
    "Generator": lambda: np.random.default_rng(7),
}
every_state = pytest.mark.parametrize("state", STATES.values(), ids=STATES)


def seeded(state):
    with pytest.warns(SeededNoiseWarning, match="random_state=None"):
        return secret_noise(state)


@pytest.mark.parametrize("size", [DRAWS, (7, 1000), 1000])
def test_system_noise_is_standard_normal(size):
    noise = SystemNoise()
    repeats = DRAWS // int(np.prod(size)) + 1
    check_noise(lambda: noise.normal(size), 1.0, repeats=repeats, false_alarm=FALSE_ALARM)


@pytest.mark.parametrize("source", [SystemNoise(), known_noise.seeded(5)], ids=["system", "seeded"])
def test_gumbel_noise_follows_its_law(source):
    assert stats.kstest(source.gumbel(100_000), "gumbel_r").pvalue > FALSE_ALARM


@pytest.mark.parametrize("actual", [0.9, 1.1])
def test_the_same_check_rejects_a_scale_that_is_off_by_a_tenth(actual):
    noise = SystemNoise()
    with pytest.raises(AssertionError, match="standard deviation"):
        check_noise(lambda: actual * noise.normal(DRAWS), 1.0, false_alarm=FALSE_ALARM)


@pytest.mark.nightly
def test_the_false_alarm_rate_is_as_stated():
    """300 true samples at a rate of 0.1: more than 60 or fewer than 8 has a chance below 1e-6."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(300):
        try:
            check_noise(lambda: rng.standard_normal(400), 1.0, false_alarm=0.1)
        except AssertionError:
            alarms += 1
    assert 8 <= alarms <= 60


def normals_of(monkeypatch, words, *, continued=2**63, of=randomness._drawn_of):
    """Normals of given words; ``continued`` are the words that continue those close to zero."""

    def urandom(size):
        assert size % 8 == 0
        return np.full(size // 8, continued, dtype=np.uint64).tobytes()

    monkeypatch.setattr(os, "urandom", urandom)
    return np.atleast_2d(of(np.array(words, dtype=np.uint64)))[0].view(np.float64)


def gumbels_of(monkeypatch, words, continued):
    return normals_of(monkeypatch, words, continued=continued, of=randomness._gumbels_of)


@pytest.mark.parametrize("continued", [0, 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("word", [0, 1, 2, 3, 2**53, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])
def test_extreme_words_give_finite_numbers_and_normals_other_than_zero(
    monkeypatch, word, continued
):
    z = normals_of(monkeypatch, [word], continued=continued)
    assert 0 < np.abs(z) < 13.5
    assert -4.51 < gumbels_of(monkeypatch, [word], continued) < 89.5


def test_words_that_differ_in_the_last_bit_give_opposite_normals(monkeypatch):
    words = np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64) >> np.arange(
        1000, dtype=np.uint64
    ) % np.uint64(64)
    z = normals_of(monkeypatch, words)
    np.testing.assert_array_equal(z, -normals_of(monkeypatch, words ^ np.uint64(1)))
    assert np.abs(z).max() > 9


def magnitudes(monkeypatch, leading, continued):
    words = 2 * np.array(leading, dtype=np.uint64)
    return np.abs(normals_of(monkeypatch, words, continued=continued))


@pytest.mark.parametrize("power", [1, 5, 20, 40, 51, 52, 53, 54, 60, 62])
def test_magnitudes_fall_with_the_word_and_leave_no_gap(monkeypatch, power):
    """Up to rounding, the last continuation of a word meets the first one of the next word."""
    leading = 2**power + np.arange(-min(2**power, 50), 50)
    smallest, largest = (magnitudes(monkeypatch, leading, c) for c in (0, 2**64 - 1))
    assert np.all(np.diff(smallest) <= 4e-15 * smallest[1:])
    assert np.all(largest <= smallest * (1 + 4e-15))
    np.testing.assert_allclose(largest[:-1], smallest[1:], rtol=4e-15 + 2.0**-53)


@pytest.mark.parametrize("continued", [0, 2**62, 2**63, 2**64 - 1])
def test_a_word_is_the_share_of_larger_magnitudes(monkeypatch, continued):
    """The laws, far into the tails, where samples do not reach."""
    leading = np.array([1, 7, 2**20, 2**43, 2**51, 2**52, 3 * 2**55, 2**62, 2**63 - 2**50])
    share = leading.astype(float) + np.where(leading < 2**52, continued / 2**64, 0.0)
    z = magnitudes(monkeypatch, leading, continued)
    np.testing.assert_allclose(2 * ndtr(-z), share / 2.0**63, rtol=1e-13)
    words = 2 * leading.astype(np.uint64)
    below, above = (gumbels_of(monkeypatch, words + np.uint64(k), continued) for k in (0, 1))
    # P(G < g) = exp(-exp(-g)), P(G > g) = 1 - exp(-exp(-g)).
    np.testing.assert_allclose(np.exp(-np.exp(-below)), share / 2.0**64, rtol=1e-12)
    np.testing.assert_allclose(-np.expm1(-np.exp(-above)), share / 2.0**64, rtol=1e-12)


def gumbels_above(monkeypatch, leading, continued):
    return gumbels_of(monkeypatch, [2 * k + 1 for k in leading], continued)


@pytest.mark.parametrize(
    ("numbers", "leading", "far"),
    [
        *((magnitudes, int(2 * ndtr(-far) * 2.0**63), far) for far in (2.0, 5.0, 6.5, 8.5)),
        *((gumbels_above, int(np.exp(-far) * 2.0**64), far) for far in (5.0, 20.0, 40.0)),
    ],
)
def test_tails_are_resolved_to_double_precision(monkeypatch, numbers, leading, far):
    """Continuations tell apart numbers that share their first word."""
    fine = [numbers(monkeypatch, [leading], c) for c in range(0, 2**64, 2**58)]
    coarse = numbers(monkeypatch, [leading], 0) - numbers(monkeypatch, [leading + 1], 0)
    steps = np.abs(np.diff(np.concatenate(fine)))
    assert steps.max() <= max(float(coarse[0]) / 32, 8 * np.spacing(far))


@pytest.mark.parametrize(("draw", "words"), [(SystemNoise.normal, WORDS), (SystemNoise.gumbel, 10)])
def test_all_words_come_from_the_operating_system(monkeypatch, draw, words):
    drawn = []
    monkeypatch.setattr(os, "urandom", lambda size: drawn.append(size) or b"\x55" * size)
    assert np.unique(draw(SystemNoise(), 10)).size == 1
    assert drawn == [8 * words]


def test_small_words_are_continued_with_fresh_ones(monkeypatch):
    drawn = []
    monkeypatch.setattr(os, "urandom", lambda size: drawn.append(size) or bytes(size))
    SystemNoise().normal(10)
    assert drawn == [8 * WORDS, 8 * WORDS]


@pytest.mark.parametrize("noise", [SystemNoise(), seeded(0)], ids=["system", "seeded"])
@pytest.mark.parametrize("rate", [0.0, 1e-5, 0.3, 1 - 1e-4, 1.0])
def test_rows_are_chosen_at_the_rate(noise, rate):
    n = 400_000
    chosen = noise.chosen(n, rate)
    assert chosen.dtype == bool
    assert chosen.shape == (n,)
    # Exact at both ends, elsewhere wrong by chance once in 1e9.
    assert abs(chosen.sum() - n * rate) <= 6.2 * np.sqrt(n * rate * (1 - rate)) + 20 * (
        0 < rate < 1
    )


@pytest.mark.parametrize("rate", [0.3, 1e-5, 2.0**-16, 2.0**-40, 1 - 2.0**-53])
def test_choices_compare_all_bits_of_the_rate(monkeypatch, rate):
    """Words just below the rate are chosen, words just above are not."""
    exact = int(Fraction(rate) * 2**72)
    for number, chosen in ((exact - 1, True), (exact, False)):
        leading, rest = divmod(max(number, 0), 2**64)
        parts = [leading.to_bytes(1, sys.byteorder), rest.to_bytes(8, sys.byteorder)]
        monkeypatch.setattr(os, "urandom", lambda size, parts=parts: parts.pop(0)[:size])
        assert SystemNoise().chosen(1, rate).tolist() == [chosen]


def ahead(noise):
    """All that a source has in store, rounded or not, with what was there before it."""
    bits = noise._ahead if noise._ahead.base is None else noise._ahead.base
    whole = noise._rounded if noise._rounded.base is None else noise._rounded.base
    return np.concatenate([bits[0].view(np.float64), whole])


def test_used_normals_are_wiped():
    noise = SystemNoise()
    used = noise.normal(1000)
    memory = noise._ahead.base[0].view(np.float64)
    assert memory.size == WORDS
    assert np.intersect1d(memory, used).size == 0


def test_answers_are_fresh_arrays_of_the_asked_shape():
    for noise in (SystemNoise(), seeded(0)):
        for shape in ((), (0,), 3, (3, 2), (WORDS + 1,)):
            z = noise.normal(shape)
            assert np.shape(z) == (shape if isinstance(shape, tuple) else (shape,))
            assert np.asarray(z).dtype == np.float64
        first = noise.normal(4)
        kept = first.copy()
        noise.normal(4)
        np.testing.assert_array_equal(first, kept)


def test_a_forked_child_draws_other_normals():
    check_fork(SystemNoise())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_a_forked_child_drops_what_was_drawn_ahead_before_it_asks():
    noise = SystemNoise()
    noise.normal(1)
    for _ in range(2):
        noise.rounded(1, SCALE)
    assert left_after_a_fork(noise) == 0
    assert noise._ahead.shape[1] == WORDS - 2
    assert noise._rounded.size == WORDS - 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_a_forked_child_does_not_wait_for_a_thread_it_does_not_have():
    noise = SystemNoise()
    noise.normal(1)
    with noise._lock:
        left = left_after_a_fork(noise, draw=True)
    assert left == WORDS - 1


def left_after_a_fork(noise, draw=False):
    """How many normals a child holds; -1 if it hangs."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(20)
            if draw:
                noise.normal(1)
            os.write(writing, str(noise._ahead.shape[1] + noise._rounded.size).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return int(answer or -1)


def test_a_process_that_was_forked_unnoticed_draws_afresh(monkeypatch):
    noise = SystemNoise()
    noise.normal(1)
    for _ in range(2):
        noise.rounded(1, SCALE)
    before = ahead(noise)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert np.intersect1d(noise.rounded(500, SCALE), before).size == 0
    assert np.intersect1d(noise.normal(1000), before).size == 0


def test_sources_are_not_kept_alive():
    noise = SystemNoise()
    alive = weakref.ref(noise)
    del noise
    gc.collect()
    assert alive() is None


def test_threads_that_share_a_source_never_draw_the_same_normals():
    noise, interval = SystemNoise(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            drawn = list(threads.map(noise.normal, [7] * 10_000))
    finally:
        sys.setswitchinterval(interval)
    drawn = np.concatenate(drawn)
    assert np.unique(drawn).size == drawn.size
    assert np.all(drawn != 0)


@pytest.mark.parametrize(
    "noise",
    [SystemNoise(), SeededNoise(np.random.default_rng(0))],
    ids=lambda noise: type(noise).__name__,
)
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_noise_cannot_be_copied(noise, copier):
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        copier(noise)


def test_no_seed_means_system_noise_without_a_warning():
    assert type(secret_noise(None)) is SystemNoise


@every_state
def test_seeded_streams_are_reproducible_and_warn(state):
    np.testing.assert_array_equal(seeded(state()).normal(100), seeded(state()).normal(100))
    public_rng = [public_generator(state()).standard_normal(100) for _ in range(2)]
    np.testing.assert_array_equal(*public_rng)


@every_state
def test_public_generator_tell_nothing_of_the_noise(state):
    """Also when one stateful generator serves both, in either order."""
    for order in ((seeded, public_generator), (public_generator, seeded)):
        shared = state()
        streams = [make(shared) for make in order]
        draws = [
            s.normal(1000) if isinstance(s, SeededNoise) else s.standard_normal(1000)
            for s in streams
        ]
        assert np.intersect1d(*draws).size == 0


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_noise_differs_from_data_that_were_made_with_the_same_seed(seed):
    noise = seeded(seed).normal(1000)
    for data in (
        np.random.default_rng(seed).standard_normal(1000),
        np.random.default_rng([seed]).standard_normal(1000),
        np.random.RandomState(seed).standard_normal(1000),
    ):
        assert np.intersect1d(noise, data).size == 0


@pytest.mark.parametrize("state", ["RandomState", "Generator"])
def test_a_generator_gives_new_noise_at_each_use(state):
    shared = STATES[state]()
    assert np.intersect1d(seeded(shared).normal(100), seeded(shared).normal(100)).size == 0
