"""Gumbel variables: their law far into both tails, their words, their freshness."""

import os

import numpy as np
import pytest
from scipy import stats

from skdp.privacy import SeededNoise, SystemNoise, randomness

SOURCES = {"system": SystemNoise, "seeded": lambda: SeededNoise(np.random.default_rng(5))}
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def gumbels_of(monkeypatch, words, continued=2**63):
    monkeypatch.setattr(
        os, "urandom", lambda size: np.full(size // 8, continued, dtype=np.uint64).tobytes()
    )
    return randomness._gumbels_of(np.array(words, dtype=np.uint64))


@every_source
def test_samples_follow_the_law(source):
    assert stats.kstest(source().gumbel(100_000), "gumbel_r").pvalue > 1e-9


@pytest.mark.parametrize("continued", [0, 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("word", [0, 1, 2, 3, 2**53, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])
def test_extreme_words_give_finite_variables(monkeypatch, word, continued):
    variable = gumbels_of(monkeypatch, [word], continued)
    assert -4.51 < variable < 89.5


@pytest.mark.parametrize("continued", [0, 2**62, 2**63, 2**64 - 1])
def test_a_word_is_the_share_of_variables_beyond(monkeypatch, continued):
    """The law in both tails, where samples do not reach."""
    leading = np.array([1, 7, 2**20, 2**43, 2**51, 2**52, 3 * 2**55, 2**62, 2**63 - 2**50])
    share = (leading + np.where(leading < 2**52, continued / 2**64, 0.0)) / 2.0**64
    words = 2 * leading.astype(np.uint64)
    below = gumbels_of(monkeypatch, words, continued)
    above = gumbels_of(monkeypatch, words + np.uint64(1), continued)
    # P(G < g) = exp(-exp(-g)), P(G > g) = 1 - exp(-exp(-g)).
    np.testing.assert_allclose(np.exp(-np.exp(-below)), share, rtol=1e-12)
    np.testing.assert_allclose(-np.expm1(-np.exp(-above)), share, rtol=1e-12)


@pytest.mark.parametrize("far", [5.0, 20.0, 40.0])
def test_the_upper_tail_is_resolved_to_double_precision(monkeypatch, far):
    """Continuations tell apart variables that share their first word."""
    leading = int(np.exp(-far) * 2.0**64)
    word = 2 * leading + 1
    fine = np.concatenate([gumbels_of(monkeypatch, [word], c) for c in range(0, 2**64, 2**58)])
    coarse = gumbels_of(monkeypatch, [word], 0) - gumbels_of(monkeypatch, [word + 2], 0)
    assert np.abs(np.diff(fine)).max() <= max(float(coarse[0]) / 32, 8 * np.spacing(far))


def test_all_words_come_from_the_operating_system(monkeypatch):
    drawn = []
    monkeypatch.setattr(os, "urandom", lambda size: drawn.append(size) or b"\x55" * size)
    assert np.unique(SystemNoise().gumbel(10)).size == 1
    assert drawn == [80]
