"""Base of mechanisms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..accounting.events import Event
from ..randomness import SecretNoise

__all__ = ["Mechanism", "PerturbingMechanism"]


@dataclass(frozen=True)
class Mechanism(ABC):
    """Turns an exact answer into one that may be published, at the price of its event."""

    @abstractmethod
    def event(self, query: str) -> Event | tuple[Event, ...]:
        """The fact to charge for one answer to the query of this name.

        If several sites answer it, a fact for each of them.
        """

    @abstractmethod
    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """The answer to publish, with fresh noise."""


@dataclass(frozen=True)
class PerturbingMechanism(Mechanism):
    """A mechanism part of whose noise goes into the computation, before there is an answer."""

    @abstractmethod
    def perturbation(self, noise: SecretNoise) -> np.ndarray:
        """Fresh noise for one computation. Secret."""
