"""Base of mechanisms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

import numpy as np

from ..accounting.events import Event
from ..randomness import SecretNoise

# Noise is rounded up by this relative amount, far above the rounding of the few operations between
# a spend and the price that the ledger computes back from the noise, so that the sum of prices
# never passes the sum of spends.
ROUND_UP = 1 + 1e-12


def check_sensitivity(who: str, sensitivity: float) -> None:
    """Refuse a sensitivity that no noise is made for."""
    if not (isfinite(sensitivity) and sensitivity > 0):
        raise ValueError(
            f"{who} needs a positive finite sensitivity, got {sensitivity}; bound the contribution "
            "of a row, for example with a clip."
        )


@dataclass(frozen=True)
class Mechanism(ABC):
    """Turns an exact answer into one that may be published, at the price of its event.

    A kind of mechanism names the kind of its event, whose fields it has.
    """

    fact: ClassVar[type[Event]]

    def event(self, query: str) -> Event | tuple[Event, ...]:
        """The event to charge for one answer to the query of this name, the same object each time.

        If several sites answer it, a fact for each of them.
        """
        made: dict[str, Event] = vars(self).setdefault("_made", {})
        if query not in made:
            known = self.fact.__dataclass_fields__
            facts = {k: v for k, v in vars(self).items() if k in known}
            made[query] = self.fact(query=query, **facts)
        return made[query]

    @abstractmethod
    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """The answer to publish, with fresh noise."""


@dataclass(frozen=True)
class PerturbingMechanism(Mechanism):
    """A mechanism part of whose noise goes into the computation, before there is an answer."""

    @abstractmethod
    def perturbation(self, noise: SecretNoise) -> np.ndarray:
        """Fresh noise for one computation. Secret."""
