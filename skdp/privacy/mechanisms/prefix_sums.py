"""Running sums of a stream, each published with noise that is correlated over time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite, prod, sqrt
from typing import Any, final

import numpy as np

from ..accounting.events import PrefixSumEvent
from ..accounting.ledger import Spend
from ..randomness import SecretNoise, SecretState
from .base import ROUND_UP, check_sensitivity

# Beyond so many visits, or visits times terms, the worst places are not looked for.
_MOST_VISITS, _MOST_ENTRIES = 1 << 11, 1 << 27


class Correlator(ABC):
    """Turns independent normals, step by step, into the noise of the running sums.

    It holds what is needed of the normals so far, hence a secret.
    """

    @abstractmethod
    def step(self, z: np.ndarray) -> np.ndarray:
        """Noise of the next sum, a fresh array (size,), of new normals z of that shape."""


@dataclass(frozen=True)
class PrefixSumMechanism(ABC):
    r"""A way to publish all the sums :math:`S_t = x_1 + \dots + x_t`, for t up to ``length``.

    With A the lower triangle of ones, which turns terms into sums, every mechanism is a
    factorisation A = B C. It publishes ``A x + B z``, the rows of z being independent normal
    vectors of standard deviation ``noise_scale`` per entry. Row t of C, and so of z, is used from
    step t on only.

    *Privacy.* If a neighbour changes one term by a vector of norm at most ``sensitivity``, what is
    published is mu-GDP with ``mu = sensitivity * column_norm / noise_scale``, once for the whole
    stream. A term may depend on all sums that were published before, as a gradient at the present
    model does, and other releases may come in between. A row of the data may take part in one term
    only. Theorem X1 of ``docs/proofs/streams.md`` (Denisov, McMahan, Rush, Smith and Thakurta,
    2022, theorem 2.1).

    *Several terms per person.* With :math:`p_j` the largest squared norm of a sum of j different
    columns of C, a stream in which every person takes part in at most k terms, in each by at most
    ``sensitivity``, costs what ``norm(k)`` says, the root of
    :math:`q_k = \max_{j \le k} \frac{k}{j}\, p_j`, also where it is cut into parts with noise of
    their own. Theorem X6 there.

    *Longer streams.* Rows that come after the declared length need a mechanism of their own. They
    are other rows, so both together cost what the dearer one costs, but the noise of their sums
    comes on top of that of the last sum before. A generous length is cheaper: with each factor of
    10 the errors of the Toeplitz mechanisms grow by about log(10) / pi = 0.73 only.

    Guarantees
    ----------
    - ``column_norm`` is the largest norm of a column of C, recomputed from the numbers that make
      the noise and rounded up, and so is ``norm`` for sums of columns.
    - No entry of C is negative.
    - Nothing here is learned from data.
    """

    #: Number of terms, at least 1. Public, and fixed in advance.
    length: int

    def __post_init__(self) -> None:
        if not self.length >= 1:
            raise ValueError(
                f"{type(self).__name__} needs a length >= 1, got {self.length}; "
                "declare how many terms will be added up."
            )

    @classmethod
    @final
    def option(cls) -> str:
        """The string that selects this mechanism: its module's name."""
        return cls.__module__.rpartition(".")[2]

    @property
    @abstractmethod
    def column_norm(self) -> float:
        """Largest l2 norm of a column of C, rounded up."""

    @final
    def norm(self, max_visits: int) -> float:
        """Root of the price, at unit sensitivity and noise, of a person in so many terms at most.

        With one visit it is ``column_norm``.
        """
        most = min(max_visits, self.length)
        # Of very many columns the sum is at most as long as all norms together.
        if max_visits == 1 or most > _MOST_VISITS or most * self.length > _MOST_ENTRIES:
            return max_visits * self.column_norm
        squares = self._squared_norms(most)
        visits = np.arange(1, len(squares) + 1)
        return sqrt(float((max_visits / visits * squares).max())) * ROUND_UP

    @abstractmethod
    def _squared_norms(self, most: int) -> np.ndarray:
        """Largest squared norm of a sum of 1, 2, ..., ``most`` different columns of C, or more."""

    @abstractmethod
    def variances(self, steps: np.ndarray) -> np.ndarray:
        """Squared norms of rows of B: the noise of the sums at these steps, for unit noise.

        Steps are numbered from 1 to ``length``; variances are in units of ``noise_scale**2``.
        """

    @abstractmethod
    def correlator(self, size: int) -> Correlator:
        """A new correlator for sums of this many entries."""

    @final
    def noise_scale(self, sensitivity: float, spend: Spend, max_visits: int = 1) -> float:
        """The least noise for which all sums together cost at most ``spend``.

        The sensitivity is that of one term, in l2; a neighbour can move ``max_visits`` terms at
        most.
        """
        check_sensitivity(type(self).__name__, sensitivity)
        return sensitivity * self.norm(max_visits) / sqrt(spend.amount) * ROUND_UP

    @final
    def event(
        self, query: str, sensitivity: float, noise_scale: float, max_visits: int = 1
    ) -> PrefixSumEvent:
        """The event to charge, once, before the first term is added."""
        return PrefixSumEvent(
            query=query,
            sensitivity=sensitivity,
            noise_scale=noise_scale,
            factorization=self.option(),
            length=self.length,
            column_norm=self.norm(max_visits),
            max_visits=max_visits,
        )

    @final
    def open(
        self, shape: int | tuple[int, ...], noise_scale: float, noise: SecretNoise
    ) -> PrefixNoise:
        """Noise for the sums of one stream of terms of this shape."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return PrefixNoise(self, shape, noise_scale, noise)

    @final
    def errors(self, steps: np.ndarray) -> np.ndarray:
        """Standard deviation of each entry of the noise at these steps, at unit sensitivity and mu.

        Divide by mu and multiply with the sensitivity of a term for what a stream gets.
        """
        return self.column_norm * np.sqrt(self.variances(steps))


@final
class PrefixNoise(SecretState):
    """The noise of the sums of one stream, in the order of time. Each sum gets its noise once.

    Whoever holds it and the published sums knows sums without noise.
    """

    def __init__(
        self,
        mechanism: PrefixSumMechanism,
        shape: tuple[int, ...],
        noise_scale: float,
        noise: SecretNoise,
    ) -> None:
        if not (isfinite(noise_scale) and noise_scale >= 0):
            raise ValueError(
                f"{type(mechanism).__name__} needs a finite noise scale >= 0, got "
                f"{noise_scale}; take it from noise_scale(sensitivity, spend)."
            )
        self._mechanism, self._shape, self._noise_scale = mechanism, shape, noise_scale
        self._noise, self._taken = noise, 0
        # None during a step, so that one which is interrupted half-way ends the stream.
        self._correlator: Correlator | None = mechanism.correlator(prod(shape))

    @property
    def left(self) -> int:
        """Number of steps that may still be taken."""
        return self._mechanism.length - self._taken

    def next(self) -> np.ndarray:
        """Noise to be added to the next sum, a fresh array of the shape of a term."""
        if not self.left:
            mechanism = self._mechanism
            raise RuntimeError(
                f"{type(mechanism).__name__} needs its length declared in advance; all of "
                f"its {mechanism.length} steps are taken. Open another for new rows."
            )
        correlator, self._correlator = self._whole(), None
        out = self._noise_scale * correlator.step(self._draw())
        self._taken += 1
        self._correlator = correlator
        return out.reshape(self._shape)

    def taken_along(self) -> tuple[Any, ...]:
        """The stream of noise goes on where it was."""
        self._whole()
        return super().taken_along()

    def _whole(self) -> Correlator:
        if self._correlator is None:
            raise RuntimeError(
                f"{type(self._mechanism).__name__} needs every step to be finished, but step "
                f"{self._taken + 1} was interrupted; open another for new rows."
            )
        return self._correlator

    def _draw(self) -> np.ndarray:
        return self._noise.normal(prod(self._shape))
