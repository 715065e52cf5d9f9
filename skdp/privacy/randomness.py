"""Secret noise and public coins, two streams that never meet.

Secret noise comes from the operating system by default. It lives in the oracle only, is never
pickled, and is not shared with a forked child. Public coins drive choices that an observer may
see (a random starting direction, say); solvers hold them.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from math import prod
from typing import NoReturn

import numpy as np
from scipy.special import ndtri

from ..exceptions import SeededNoiseWarning

__all__ = ["SecretNoise", "SeededNoise", "SystemNoise", "public_coins", "secret_noise"]

type_of_random_state = int | np.random.RandomState | np.random.Generator | None

_BUFFER = 1 << 15
_NOISE_STREAM, _COIN_STREAM = 0, 1


class SecretNoise(ABC):
    """A source of independent standard normal variables that must not be copied."""

    @abstractmethod
    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Fresh standard normals, an array of float64 of this shape."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} cannot be copied or pickled: a copy would repeat secret noise."
        )


class SystemNoise(SecretNoise):
    """Normals from ``os.urandom``: 52-bit uniforms through the inverse normal CDF.

    Uniforms are (m + 1/2) 2^-52 for m uniform in 0..2^52 - 1. All of them are exact in double
    precision, so that none is 0 or 1; the normals reach +-8.2. Bytes are drawn in blocks to pay
    for few system calls.

    Guarantees
    ----------
    - No state from which earlier or later noise could be computed, besides the few normals
      drawn ahead, which a forked child throws away. What was handed out is wiped.
    """

    def __init__(self) -> None:
        self._ahead = np.empty(0)
        self._process = os.getpid()

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Fresh standard normals, an array of float64 of this shape."""
        size = shape if isinstance(shape, int) else prod(shape)
        if self._process != os.getpid():
            self._ahead = np.empty(0)
            self._process = os.getpid()
        if size > _BUFFER:
            return self._draw(size).reshape(shape)
        if size > self._ahead.size:
            self._ahead = self._draw(_BUFFER)
        out = self._ahead[:size].copy()
        self._ahead[:size] = 0.0
        self._ahead = self._ahead[size:]
        return out.reshape(shape)

    @staticmethod
    def _draw(size: int) -> np.ndarray:
        return _normals_of(np.frombuffer(os.urandom(8 * size), dtype=np.uint64))


class SeededNoise(SecretNoise):
    """Reproducible normals, for tests only.

    Parameters
    ----------
    generator : numpy.random.Generator
        Where the normals come from.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Standard normals, an array of float64 of this shape."""
        return self._generator.standard_normal(shape)


def secret_noise(random_state: type_of_random_state) -> SecretNoise:
    """The noise source for a fit.

    Parameters
    ----------
    random_state : None, int, RandomState or Generator
        None (default everywhere) draws from the operating system. Anything else is reproducible
        and warns, because whoever can repeat the stream can subtract the noise.

    Warns
    -----
    SeededNoiseWarning
        If ``random_state`` is not None.
    """
    if random_state is None:
        return SystemNoise()
    warnings.warn(
        "random_state is set: the noise can be recomputed, so the privacy guarantee does not hold "
        "against anyone who knows the seed. Use random_state=None outside tests.",
        SeededNoiseWarning,
        stacklevel=2,
    )
    return SeededNoise(_stream(random_state, _NOISE_STREAM))


def public_coins(random_state: type_of_random_state) -> np.random.Generator:
    """The generator for a solver's public choices, independent of the secret noise."""
    if random_state is None:
        return np.random.default_rng()
    return _stream(random_state, _COIN_STREAM)


def _normals_of(words: np.ndarray) -> np.ndarray:
    # With one more bit the largest word would round up to a uniform of 1, an infinite normal.
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return ndtri(uniform, out=uniform)


def _stream(random_state: type_of_random_state, stream: int) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(1)[0]
    if isinstance(random_state, np.random.RandomState):
        seed = [int(word) for word in random_state.randint(0, 2**32, size=4, dtype=np.uint32)]
    else:
        seed = [int(random_state)]  # type: ignore[arg-type]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
