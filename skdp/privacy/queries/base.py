"""What a question to the oracle is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...data.base import RowStore
from ..adjacency import Adjacency

__all__ = ["Query"]


@dataclass(frozen=True, eq=False)
class Query(ABC):
    """A question: its public content, its exact answer, and how far that answer can move.

    The fields are public; rows are an argument of ``evaluate``, which only the oracle calls.
    """

    name: ClassVar[str]

    @abstractmethod
    def sensitivity(self, adjacency: Adjacency) -> float:
        """Most that the exact answer can move in l2 between neighbours; infinite if unbounded."""

    @abstractmethod
    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer. Secret."""

    @abstractmethod
    def public(self) -> tuple[object, ...]:
        """The content of the question, for transcripts."""
