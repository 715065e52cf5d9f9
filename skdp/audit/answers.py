"""Answers of the oracle, as somebody sees them who knows both data sets but not which was asked.

For each kind of mechanism: the logarithm of the likelihood ratio of an answer, which is the
statistic that tells two data sets apart best (Neyman and Pearson), and a way to have the mechanism
answer many times over. Any function of answers gives a valid audit, so where the ratio is costly
the part of it that matters is taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..privacy.randomness import SecretNoise

__all__ = ["Answer"]


@dataclass(frozen=True, eq=False)
class Answer(ABC):
    """A question that was asked, as far as it concerns two or more data sets.

    Arrays of several answers have one more axis, the last.
    """

    @abstractmethod
    def log_ratio(self, answers: np.ndarray, first: int, second: int) -> np.ndarray:
        """Log-likelihood of answers for data set ``second`` less that for ``first``."""

    @abstractmethod
    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh answers for one of the data sets, from the mechanism that gave the first."""

    @abstractmethod
    def squared_distance(self, first: int, second: int) -> float:
        """How far apart the answers of two data sets are, in mu^2 or what stands for it."""

    @property
    @abstractmethod
    def published(self) -> np.ndarray:
        """The answer that was given."""

    @property
    def size(self) -> int:
        """Random numbers that one answer takes, about."""
        return self.published.size
