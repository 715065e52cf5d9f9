"""Zeros in place of noise, for fits that say of themselves that they are not private.

``epsilon=inf`` asks for the path of a private fit without its noise. What adds noise, which is an
oracle, a stream and the session of a bandit, takes its source through :func:`noise_under`, which
looks at the ledger that is charged, and at nothing else.

*No finite guarantee goes with it.* Zeros are drawn only if the ledger's epsilon is infinite. It is
set when the ledger is made and never changes. Such a ledger lists each event as a
``NonPrivateEvent``, which every calculus prices at infinity, and its spend is infinite from the
first event on (:class:`~skdp.privacy.accounting.ledger.Ledger`). A ledger of finite epsilon has its
noise whatever else is the case.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from .accounting.ledger import Ledger
from .randomness import SecretNoise


@final
class NoNoise(SecretNoise):
    """Zeros for noise; rows are drawn in secret as ever."""

    def __init__(self, source: SecretNoise) -> None:
        self._source = source

    def taken_along(self) -> tuple[Any, ...]:
        """Zeros, and the source of the rows."""
        return NoNoise, (self._source,)

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Zeros of this shape."""
        return np.zeros(shape)

    def gumbel(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Zeros of this shape."""
        return np.zeros(shape)

    def chosen(self, size: int, rate: float) -> np.ndarray:
        """Fresh independent booleans (size,), each true with probability ``rate``."""
        return self._source.chosen(size, rate)


def noise_under(ledger: Ledger, noise: SecretNoise) -> SecretNoise:
    """The source of noise for what this ledger is charged with: none if its epsilon is infinite."""
    return NoNoise(noise) if ledger.exact else noise
