"""Scores that are means over rows of a bounded number, which noise of known size can protect.

Replacing one of n rows moves the mean of numbers in [a, b] by at most (b - a) / n. A row that is
zeroed out counts as (a + b) / 2, so that zeroing it out moves the mean by at most half as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from .adjacency import Adjacency
from .mechanisms.gaussian import GaussianMechanism
from .randomness import SecretNoise
from .rounding import inflated, of_sum
from .rows.privacy_units import PrivacyUnits


@dataclass(frozen=True)
class RowScore:
    """A number for each row, the larger the better, clipped to a public range."""

    #: Takes a fitted estimator, X and y, and returns an array of shape (n_samples,).
    of_rows: Callable[[Any, Any, Any], np.ndarray]
    low: float
    high: float

    def mechanism(self, n: int, mu: float, adjacency: Adjacency) -> GaussianMechanism:
        """Gaussian mechanism that makes the mean score of n rows mu-GDP."""
        exact = adjacency.of_sum((self.high - self.low) / 2) / n
        sensitivity = inflated(exact, of_sum(n))
        return GaussianMechanism(sensitivity, sensitivity / mu)

    def noisy_mean(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        mu: float,
        adjacency: Adjacency,
        noise: SecretNoise,
        units: PrivacyUnits | None = None,
    ) -> float:
        """The mean over rows, or over units of their means, released as a mu-GDP answer.

        Rows of a unit are scored by themselves, as the place of a row among others tells how many
        rows other units have. The estimator is private with respect to its own rows.
        """
        n = len(y) if units is None else units.n_units
        values = np.empty(len(y))
        for rows in [np.arange(len(y))] if units is None else units.places():
            values[rows] = self._values(estimator, X, y, rows)
        middle, mechanism = (self.low + self.high) / 2, self.mechanism(n, mu, adjacency)
        shares = np.ones(n) if units is None else units.shares
        mean = np.array([shares @ (values - middle) / n])
        return middle + float(mechanism.randomize(mean, noise)[0])

    def _values(self, estimator: Any, X: Any, y: Any, rows: np.ndarray) -> np.ndarray:
        """Numbers of some rows; the lowest for a row at which there is none, or an error."""
        whole = isinstance(X, np.ndarray) and X.flags.c_contiguous

        def numbers(rows: np.ndarray) -> np.ndarray:
            # A copy would be laid out alike, but take memory.
            every = whole and len(rows) == len(y) and bool(np.all(np.diff(rows) == 1))
            own = X if every else _safe_indexing(X, rows)
            found = self.of_rows(estimator, own, _safe_indexing(y, rows))
            found = np.asarray(found, dtype=np.float64)
            if found.shape != rows.shape:
                raise ValueError("A score needs a number for each row.")
            # What is not a number says nothing good.
            return np.clip(np.nan_to_num(found, nan=self.low), self.low, self.high)

        def takes(row: int) -> bool:
            try:
                numbers(np.array([row]))
            except Exception:
                return False
            return True

        try:
            return numbers(rows)
        except Exception:
            taken = np.array([takes(row) for row in rows])
        if not taken.any():
            return np.full(rows.size, self.low)
        # With another row in the place of each of these, the numbers of all others stay the same.
        return np.where(taken, numbers(np.where(taken, rows, rows[taken.argmax()])), self.low)


@dataclass(frozen=True, eq=False)
class NoisyScoring:
    """Scoring by a noisy mean over private rows."""

    #: What is averaged.
    score: RowScore
    #: Over which rows.
    X: Any
    y: Any
    #: Level of Gaussian differential privacy of the mean.
    mu: float
    adjacency: Adjacency
    #: Privacy units of the rows.
    units: PrivacyUnits | None = None

    def __call__(self, estimator: Any, noise: SecretNoise) -> float:
        """The released score of a fitted estimator."""
        rows = self.X, self.y
        return self.score.noisy_mean(estimator, *rows, self.mu, self.adjacency, noise, self.units)


def _accuracy(estimator: Any, X: Any, y: Any) -> np.ndarray:
    return np.asarray(estimator.predict(X) == np.asarray(y), dtype=np.float64)


def _probabilities(estimator: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of all classes, and where the true one is."""
    return estimator.predict_proba(X), np.asarray(y)[:, None] == estimator.classes_[None, :]


def _log_likelihood(estimator: Any, X: Any, y: Any) -> np.ndarray:
    shares, true = _probabilities(estimator, X, y)
    return np.log(np.maximum(np.sum(shares * true, axis=1), 1e-300))


def _brier(estimator: Any, X: Any, y: Any) -> np.ndarray:
    shares, true = _probabilities(estimator, X, y)
    return -np.sum((shares - true) ** 2, axis=1) / 2


def _absolute(estimator: Any, X: Any, y: Any) -> np.ndarray:
    return -np.abs(np.asarray(estimator.predict(X), dtype=np.float64) - np.asarray(y))


def _squared(estimator: Any, X: Any, y: Any) -> np.ndarray:
    return -(_absolute(estimator, X, y) ** 2)


ROW_SCORES: dict[str, Callable[[Any, Any, Any], np.ndarray]] = {
    "accuracy": _accuracy,
    "neg_brier_score": _brier,
    "neg_log_loss": _log_likelihood,
    "neg_mean_absolute_error": _absolute,
    "neg_mean_squared_error": _squared,
}
