"""What a question to the oracle is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...data.base import RowStore
from ..adjacency import Adjacency
from ..ledger import Spend
from ..mechanisms.base import Mechanism
from ..mechanisms.gaussian import GaussianMechanism

__all__ = ["GaussianQuery", "Query"]


@dataclass(frozen=True, eq=False)
class Query(ABC):
    """A question: its public content, its exact answer, and how far that answer can move.

    The fields are public; rows are an argument of ``evaluate``, which only the oracle calls.
    """

    name: ClassVar[str]

    @abstractmethod
    def sensitivity(self, adjacency: Adjacency) -> float:
        """Most that the exact answer can move between neighbours, in the measure of the mechanism.

        Infinite if it is unbounded.
        """

    @abstractmethod
    def mechanism(self, adjacency: Adjacency, spend: Spend) -> Mechanism:
        """What makes the answer private for at most this spend."""

    @abstractmethod
    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer. Secret."""

    @abstractmethod
    def public(self) -> tuple[object, ...]:
        """The content of the question, for transcripts."""


@dataclass(frozen=True, eq=False)
class GaussianQuery(Query):
    """A question answered with Gaussian noise; its sensitivity is in l2."""

    @final
    def mechanism(self, adjacency: Adjacency, spend: Spend) -> GaussianMechanism:
        """The least Gaussian noise for the spend."""
        return GaussianMechanism.calibrated(self.sensitivity(adjacency), spend)
