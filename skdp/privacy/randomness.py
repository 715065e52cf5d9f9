"""Secret noise and public randomness, two streams that never meet.

Secret noise comes from the operating system by default. It lives in the oracle only, is never
pickled, and is not shared with a forked child. Public randomness drives choices that an observer
may see (a random starting direction, say); solvers hold it.
"""

from __future__ import annotations

import os
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from copyreg import __newobj__  # type: ignore[attr-defined]
from fractions import Fraction
from io import BytesIO
from math import copysign, prod
from threading import Lock
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np
from scipy.special import ndtr, ndtri

from ..exceptions import SeededNoiseWarning, warn_user
from .fine_normal import BITS, refined

type_of_random_state = int | np.random.RandomState | np.random.Generator | None

_BUFFER = 1 << 12
# Up to so many are rounded ahead, so that little of a buffer is thrown away.
_FEW = _BUFFER // 8
# Integers from here on fill the mantissa of a double.
_RESOLVED = 1 << 52
# The double before 2^63.
_LARGEST = 2.0**63 - 2.0**10
# Normals times more than this are whole numbers that a double may not hold.
_COARSE = 2.0**44
# How far a normal may be from what its bits say: relatively, which is 14 times the largest error
# of ndtri among thousands of arguments, and absolutely, 3 times the share of the bits that are cut.
_RELATIVE, _ABSOLUTE = 2.0**-47, 2.0**-49
# No normal that a source draws is longer: they end at 13, and those with a seed before 13.8.
LONGEST = 14.0
# Further bits that decide about what is close to half a unit.
_MORE_BITS = 256
_NOISE_STREAM, _COIN_STREAM = 0, 1


class SecretState:
    """Secret state of which there may be one copy only: noise, its sources, sums before noise.

    It refuses to be copied or pickled, but for :func:`secret_pickle`.
    """

    def taken_along(self) -> tuple[Any, ...]:
        """Parts by which pickle restores it, as of ``__reduce__``, for :func:`secret_pickle`."""
        return __newobj__, (type(self),), vars(self).copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} cannot be copied or pickled: a copy would repeat secret noise, "
            "or take it off what was published. skdp.save_checkpoint takes a stream along."
        )


class SecretNoise(SecretState, ABC):
    """A source of independent standard random variables that must not be copied."""

    @abstractmethod
    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Fresh standard normals, an array of float64 of this shape."""

    def rounded(self, shape: int | tuple[int, ...], scale: float) -> np.ndarray:
        """Fresh standard normals times ``scale``, rounded to whole numbers.

        An array of float64, or of Python's integers where doubles might not hold them.
        """
        return np.rint(self.normal(shape) * scale)

    @abstractmethod
    def gumbel(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Fresh standard Gumbel variables ``-log(E)``, E exponential; an array of this shape."""

    @abstractmethod
    def chosen(self, size: int, rate: float) -> np.ndarray:
        """Fresh independent booleans (size,), each true with probability ``rate`` in [0, 1]."""

    def taken_along(self) -> tuple[Any, ...]:
        """Noise of the operating system, which has no state worth keeping."""
        return SystemNoise, ()


class SystemNoise(SecretNoise):
    """Normals and Gumbel variables from ``os.urandom`` through their inverse CDF.

    One bit of a word of 64 is the sign, the others a magnitude u in (0, 1) with
    ``|z| = -ndtri(u / 2)``. Where 63 bits resolve u less finely than double precision can, which
    happens to one word in 2048, another word continues the binary expansion of u. So ``|z|`` has
    the resolution of double precision far out in the tails, where a coarse grid would tell apart
    answers that must look alike; it is cut off at 13, where the normal law has a tail of 2^-128.
    Gumbel variables take both tails of a uniform from the same magnitudes: the bit that is a sign
    there says here which tail u / 2 is, so that the upper one, which decides what noisy selection
    selects, has the same resolution; it is cut off at 88, the other at -4.5.
    Rounded normals have the exact law of ``round(scale N)``: where the rounding error of ndtri
    could reach the middle between two whole numbers, more bits are drawn and the quantile is
    computed again in integer arithmetic.
    Booleans compare the binary expansion of a uniform number with that of the rate: the first 8
    bits decide nearly all of them, another 64 the ties.
    Bytes are drawn in blocks to pay for few system calls, and what is rounded to the same scale as
    before in blocks to pay for few calls of numpy.

    Guarantees
    ----------
    - No normal is zero or infinite.
    - The law of a rounded normal is that of a real one to within a total variation of 2^-73, for
      scales up to 2^44, given that ndtri errs by less than 2^-47 of its value. Beyond that it is
      handed out as an integer, so that its last bits are not lost.
    - A boolean is true with a probability of at most the rate, and of at least it less 2^-80.
    - Threads that share a source, and a forked child and its parent, never draw the same normals.
    - No state from which earlier or later noise could be computed, besides the few normals
      drawn ahead, rounded or not, which a forked child throws away at once. What was handed out is
      wiped. A draw that is interrupted, at whatever point, loses noise and repeats none.
    """

    _process: int
    _scale: float
    _ahead: np.ndarray
    _rounded: np.ndarray

    def __init__(self) -> None:
        self._lock = Lock()
        self._start_afresh()
        _alive.add(self)

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Fresh standard normals, an array of float64 of this shape."""
        drawn = self._drawn(shape if isinstance(shape, int) else prod(shape))
        return drawn[0].view(np.float64).reshape(shape)

    def rounded(self, shape: int | tuple[int, ...], scale: float) -> np.ndarray:
        """Fresh standard normals times ``scale``, rounded to whole numbers."""
        size = shape if isinstance(shape, int) else prod(shape)
        if size > _BUFFER:
            return _rounded(_drawn_of(_fresh_words(size)), scale).reshape(shape)
        return self._alone(lambda: self._rounded_ahead(size, scale)).reshape(shape)

    def _drawn(self, size: int) -> np.ndarray:
        if size > _BUFFER:
            return _drawn_of(_fresh_words(size))
        return self._alone(lambda: self._drawn_ahead(size))

    def _alone(self, draw: Callable[[], np.ndarray]) -> np.ndarray:
        # In one line: what interrupts at the beginning of a line, as debuggers do, could come
        # between the draw and the release of the lock otherwise, and leave it locked.
        # fmt: off
        with self._lock: return self._in_process(draw)  # noqa: E701
        # fmt: on

    def _in_process(self, draw: Callable[[], np.ndarray]) -> np.ndarray:
        # Notices forks that bypass Python's hook as well.
        if self._process != os.getpid():
            self._start_afresh()
        return draw()

    def _rounded_ahead(self, size: int, scale: float) -> np.ndarray:
        if scale != self._scale or size > _FEW or scale > _COARSE:
            # What comes once need not come again, and rounding ahead costs more than once.
            self._scale, self._rounded = scale, np.empty(0)
            return _rounded(self._drawn_ahead(size), scale)
        if size > self._rounded.size:
            self._rounded = _rounded(_drawn_of(_fresh_words(_BUFFER)), scale)
        # Taken away before it is used: an interruption loses noise, and never leaves what was wiped
        # or handed out for the next draw.
        taken, self._rounded = self._rounded[:size], self._rounded[size:]
        out = taken.copy()
        taken[:] = 0
        return out

    def _drawn_ahead(self, size: int) -> np.ndarray:
        if size > self._ahead.shape[1]:
            self._ahead = _drawn_of(_fresh_words(_BUFFER))
        taken, self._ahead = self._ahead[:, :size], self._ahead[:, size:]
        out = taken.copy()
        taken[:] = 0
        return out

    def gumbel(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Fresh standard Gumbel variables, an array of float64 of this shape."""
        size = shape if isinstance(shape, int) else prod(shape)
        return _gumbels_of(_fresh_words(size)).reshape(shape)

    def chosen(self, size: int, rate: float) -> np.ndarray:
        """Fresh independent booleans (size,), each true with probability ``rate`` in [0, 1]."""
        if rate >= 1:
            return np.ones(size, dtype=bool)
        # Multiplying by powers of two and taking off whole parts is exact.
        leading = int(rate * 2.0**8)
        rest = rate * 2.0**8 - leading
        first = np.frombuffer(os.urandom(size), dtype=np.uint8)
        out = first < leading
        ties = np.flatnonzero(first == leading)
        out[ties] = _fresh_words(ties.size) < np.uint64(int(rest * 2.0**64))
        return out

    def _start_afresh(self) -> None:
        self._ahead = np.empty((3, 0), np.uint64)
        self._scale, self._rounded = 0.0, np.empty(0)
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
    """Reproducible noise, for tests only.

    Parameters
    ----------
    generator : numpy.random.Generator
        Where it comes from.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def taken_along(self) -> tuple[Any, ...]:
        """Seeded noise that goes on where it was."""
        return SeededNoise, (self._generator,)

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Standard normals, an array of float64 of this shape."""
        return self._generator.standard_normal(shape)

    def gumbel(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Standard Gumbel variables, an array of float64 of this shape."""
        return self._generator.gumbel(size=shape)

    def chosen(self, size: int, rate: float) -> np.ndarray:
        """Independent booleans (size,), each true with probability ``rate`` in [0, 1]."""
        return self._generator.random(size) < rate


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
    warn_user(
        "random_state is set: the noise can be recomputed, so the privacy guarantee does not hold "
        "against anyone who knows the seed. Use random_state=None outside tests.",
        SeededNoiseWarning,
    )
    return SeededNoise(_stream(random_state, _NOISE_STREAM))


class _SecretPickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        return obj.taken_along() if isinstance(obj, SecretState) else NotImplemented


def secret_pickle(state: object) -> bytes:
    """Pickle for a checkpoint that is kept as secret as rows, with noise and sums.

    It is to be loaded at most once: two streams with one past would reveal its rows twice.
    """
    content = BytesIO()
    _SecretPickler(content, protocol=pickle.HIGHEST_PROTOCOL).dump(state)
    return content.getvalue()


def secret_uniform(noise: SecretNoise) -> float:
    """A secret number, uniform in (0, 1), that depends on no rows."""
    return float(ndtr(noise.normal(1)[0]))


def secret_generator(noise: SecretNoise) -> np.random.RandomState:
    """A secret generator for choices that depend on no rows, such as candidates of a search."""
    if isinstance(noise, SystemNoise):
        entropy = int.from_bytes(os.urandom(32), "little")
    else:
        entropy = int(abs(noise.normal(1)[0]) * 2**52)
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(entropy)))


def public_generator(random_state: type_of_random_state) -> np.random.Generator:
    """The generator for a solver's public choices, independent of the secret noise."""
    if random_state is None:
        return np.random.default_rng()
    return _stream(random_state, _COIN_STREAM)


def _fresh_words(size: int) -> np.ndarray:
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


def _halves_of(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half of the magnitude u of each word: uniform in (0, 1/2), finely resolved near 0.

    Then the words that continue the magnitudes below 2^52, and zeros for the others.
    """
    leading = (words >> np.uint64(1)).view(np.int64)
    scaled, finer = leading.astype(np.float64), np.zeros_like(words)
    coarse = np.flatnonzero(leading < _RESOLVED)
    if coarse.size:
        finer[coarse] = _fresh_words(coarse.size)
        scaled[coarse] += (finer[coarse].astype(np.float64) + 0.5) * 2.0**-64
    # The largest words round up to a magnitude of 1, a normal of zero.
    np.minimum(scaled, _LARGEST, out=scaled)
    scaled *= 2.0**-64
    return scaled, finer


def _drawn_of(words: np.ndarray) -> np.ndarray:
    """The bits of normals, the words they are made of, and those that continue some of them."""
    halves, finer = _halves_of(words)
    bits = ndtri(halves, out=halves).view(np.uint64)
    bits ^= words << np.uint64(63)
    return np.stack([bits, words, finer])


def _rounded(drawn: np.ndarray, scale: float) -> np.ndarray:
    """The normals of these draws times ``scale``, rounded to whole numbers."""
    z = drawn[0].view(np.float64)
    if scale > _COARSE:
        bits = zip(z.tolist(), drawn[1].tolist(), drawn[2].tolist(), strict=True)
        sizes = [(x, _decided(abs(x), word, finer, scale)) for x, word, finer in bits]
        return np.array([-size if x < 0 else size for x, size in sizes], dtype=object)
    scaled = z * scale
    out = np.rint(scaled)
    scaled -= out
    off = np.abs(scaled, out=scaled)
    close = off >= 0.5 - scale * (LONGEST * _RELATIVE + _ABSOLUTE)
    for i in close.nonzero()[0]:
        size = abs(float(z[i]))
        if off[i] + scale * (size * _RELATIVE + _ABSOLUTE) >= 0.5:
            word, finer = drawn[1:, i].tolist()
            out[i] = copysign(_decided(size, word, finer, scale), z[i])
    return out


def _decided(z: float, word: int, finer: int, scale: float) -> int:
    """The size of a normal times the scale, rounded, from its bits and more of them."""
    leading, known = word >> 1, 63
    if leading < _RESOLVED:
        leading, known = leading << 64 | finer, known + 64
    leading = leading << _MORE_BITS | int.from_bytes(os.urandom(_MORE_BITS // 8))
    # Half of the magnitude, which has one bit more.
    tail = leading << (BITS - known - _MORE_BITS - 1)
    # Twice: after one step the error is that of ndtri squared, which the scale multiplies.
    x = refined(Fraction(refined(z, tail), 1 << BITS), tail)
    numerator, denominator = scale.as_integer_ratio()
    return (2 * x * numerator + (denominator << BITS)) // (2 * denominator << BITS)


def _gumbels_of(words: np.ndarray) -> np.ndarray:
    halves, _ = _halves_of(words)
    # E has the tail exp(-E) above it: the half itself, or one minus it.
    upper = (words & np.uint64(1)).astype(bool)
    exponential = np.where(upper, -np.log1p(-halves), -np.log(halves))
    return -np.log(exponential)


def _stream(random_state: type_of_random_state, stream: int) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(1)[0]
    if isinstance(random_state, np.random.RandomState):
        seed = [int(word) for word in random_state.randint(0, 2**32, size=4, dtype=np.uint32)]
    else:
        seed = [int(random_state)]  # type: ignore[arg-type]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
