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
from threading import Lock
from typing import NoReturn
from weakref import WeakSet

import numpy as np
from scipy.special import ndtri

from ..exceptions import SeededNoiseWarning

__all__ = ["SecretNoise", "SeededNoise", "SystemNoise", "public_coins", "secret_noise"]

type_of_random_state = int | np.random.RandomState | np.random.Generator | None

_BUFFER = 1 << 15
# Integers from here on fill the mantissa of a double.
_RESOLVED = 1 << 52
# The double before 2^63.
_LARGEST = 2.0**63 - 2.0**10
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
    """Normals from ``os.urandom`` through the inverse normal CDF.

    One bit of a word of 64 is the sign, the others a magnitude u in (0, 1) with
    ``|z| = -ndtri(u / 2)``. Where 63 bits resolve u less finely than double precision can, which
    happens to one word in 2048, another word continues the binary expansion of u. So |z| has the
    resolution of double precision far out in the tails, where a coarse grid would tell apart
    answers that must look alike; it is cut off at 13, where the normal law has a tail of 2^-128.
    Bytes are drawn in blocks to pay for few system calls.

    Guarantees
    ----------
    - No normal is zero or infinite.
    - Threads that share a source, and a forked child and its parent, never draw the same normals.
    - No state from which earlier or later noise could be computed, besides the few normals
      drawn ahead, which a forked child throws away at once. What was handed out is wiped.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._ahead = np.empty(0)
        self._process = os.getpid()
        _alive.add(self)

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Fresh standard normals, an array of float64 of this shape."""
        size = shape if isinstance(shape, int) else prod(shape)
        if size > _BUFFER:
            return _normals_of(_fresh_words(size)).reshape(shape)
        with self._lock:
            # Notices forks that bypass Python's hook as well.
            if self._process != os.getpid():
                self._start_afresh()
            if size > self._ahead.size:
                self._ahead = _normals_of(_fresh_words(_BUFFER))
            out = self._ahead[:size].copy()
            self._ahead[:size] = 0.0
            self._ahead = self._ahead[size:]
        return out.reshape(shape)

    def _start_afresh(self) -> None:
        self._ahead = np.empty(0)
        self._process = os.getpid()


_alive: WeakSet[SystemNoise] = WeakSet()


def _start_all_afresh() -> None:
    for noise in _alive:
        # A thread that held the lock does not live on in the child to release it.
        noise._lock = Lock()
        noise._start_afresh()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_all_afresh)


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
        # To the caller of fit, which calls this.
        stacklevel=3,
    )
    return SeededNoise(_stream(random_state, _NOISE_STREAM))


def public_coins(random_state: type_of_random_state) -> np.random.Generator:
    """The generator for a solver's public choices, independent of the secret noise."""
    if random_state is None:
        return np.random.default_rng()
    return _stream(random_state, _COIN_STREAM)


def _fresh_words(size: int) -> np.ndarray:
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


def _normals_of(words: np.ndarray) -> np.ndarray:
    leading = (words >> np.uint64(1)).view(np.int64)
    scaled = leading.astype(np.float64)
    coarse = np.flatnonzero(leading < _RESOLVED)
    if coarse.size:
        scaled[coarse] += (_fresh_words(coarse.size).astype(np.float64) + 0.5) * 2.0**-64
    # The largest words round up to a magnitude of 1, a normal of zero.
    np.minimum(scaled, _LARGEST, out=scaled)
    scaled *= 2.0**-64
    z = ndtri(scaled, out=scaled)
    bits = z.view(np.uint64)
    bits ^= words << np.uint64(63)
    return z


def _stream(random_state: type_of_random_state, stream: int) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(1)[0]
    if isinstance(random_state, np.random.RandomState):
        seed = [int(word) for word in random_state.randint(0, 2**32, size=4, dtype=np.uint32)]
    else:
        seed = [int(random_state)]  # type: ignore[arg-type]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
