"""Secret noise: its law, its freshness, and that it cannot be copied."""

import copy
import os
import pickle
import warnings

import numpy as np
import pytest

from skdp.exceptions import SeededNoiseWarning
from skdp.privacy import randomness
from skdp.privacy.randomness import SeededNoise, SystemNoise, public_coins, secret_noise
from skdp.testing import check_fork, check_noise

DRAWS = 200_000
WORDS = 1 << 15  # Normals that are drawn ahead.
# Chance that a test of true randomness fails although all is well.
FALSE_ALARM = 1e-9
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


@pytest.mark.parametrize("actual", [0.9, 1.1])
def test_the_same_check_rejects_a_scale_that_is_off_by_a_tenth(actual):
    noise = SystemNoise()
    with pytest.raises(AssertionError, match="standard deviation"):
        check_noise(lambda: actual * noise.normal(DRAWS), 1.0, false_alarm=FALSE_ALARM)


def test_the_same_check_rejects_a_wrong_centre_and_a_wrong_shape():
    noise, uniform = SystemNoise(), np.random.default_rng(0)
    with pytest.raises(AssertionError, match="not normal"):
        check_noise(lambda: np.sqrt(0.99) * noise.normal(DRAWS) + 0.1, 1.0)
    with pytest.raises(AssertionError, match="not normal"):
        check_noise(lambda: uniform.uniform(-1, 1, DRAWS) * np.sqrt(3), 1.0)


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


def test_neighbouring_normals_are_uncorrelated():
    z = SystemNoise().normal(DRAWS)
    for lag in (1, 2, 100):
        assert abs(z[lag:] @ z[:-lag]) / np.sqrt(DRAWS) < 6.5


@pytest.mark.parametrize("word", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_extreme_words_give_finite_normals(word):
    z = randomness._normals_of(np.array([word], dtype=np.uint64))
    assert np.abs(z) < 8.3


def test_words_and_their_complements_give_opposite_normals():
    words = np.array([0, 1 << 12, 12345 << 40, 2**63 - 1], dtype=np.uint64)
    z, mirrored = randomness._normals_of(words), randomness._normals_of(~words)
    np.testing.assert_allclose(z, -mirrored, rtol=1e-12)
    assert z[0] == pytest.approx(-8.2095, abs=1e-3)


def test_all_words_come_from_the_operating_system(monkeypatch):
    drawn = []
    monkeypatch.setattr(os, "urandom", lambda size: drawn.append(size) or b"\x55" * size)
    z = SystemNoise().normal(10)
    assert drawn == [8 * WORDS]
    assert np.unique(z).size == 1


def test_no_normal_is_handed_out_twice():
    one, other = SystemNoise(), SystemNoise()
    sizes = [1, 5, WORDS - 7, WORDS, WORDS + 1, 3, 0, WORDS // 2, WORDS // 2, 10]
    drawn = np.concatenate([noise.normal(size) for size in sizes for noise in (one, other)])
    # Among n draws from 2^52 values about n^2 / 2^53 pairs coincide: here 1e-5.
    assert np.unique(drawn).size == drawn.size


def test_used_normals_are_wiped():
    noise = SystemNoise()
    used = noise.normal(1000)
    memory = noise._ahead.base
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


@pytest.mark.parametrize("noise", [SystemNoise(), SeededNoise(np.random.default_rng(0))], ids=repr)
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_noise_cannot_be_copied(noise, copier):
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        copier(noise)


def test_no_seed_means_system_noise_without_a_warning():
    assert type(secret_noise(None)) is SystemNoise


@every_state
def test_seeded_streams_are_reproducible_and_warn(state):
    np.testing.assert_array_equal(seeded(state()).normal(100), seeded(state()).normal(100))
    coins = [public_coins(state()).standard_normal(100) for _ in range(2)]
    np.testing.assert_array_equal(*coins)


def test_only_seeded_noise_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        public_coins(7)
        public_coins(None)


@every_state
def test_public_coins_tell_nothing_of_the_noise(state):
    """Also when one stateful generator serves both, in either order."""
    for order in ((seeded, public_coins), (public_coins, seeded)):
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


def test_different_seeds_give_different_noise():
    draws = [seeded(seed).normal(100) for seed in range(20)]
    assert np.unique(draws).size == 2000


@pytest.mark.parametrize("state", ["RandomState", "Generator"])
def test_a_generator_gives_new_noise_at_each_use(state):
    shared = STATES[state]()
    assert np.intersect1d(seeded(shared).normal(100), seeded(shared).normal(100)).size == 0


def test_unseeded_coins_differ():
    assert public_coins(None).random() != public_coins(None).random()


def test_seeded_noise_is_standard_normal():
    noise = seeded(3)
    check_noise(lambda: noise.normal(DRAWS), 1.0)
