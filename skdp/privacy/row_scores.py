"""Scores that are means over rows of a bounded number, which noise of known size can protect.

Replacing one of n rows moves the mean of numbers in [a, b] by at most (b - a) / n. A row that is
zeroed out counts as (a + b) / 2, so that zeroing it out moves the mean by at most half as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..validation import numbers_in, shown
from .adjacency import Adjacency
from .mechanisms.gaussian import GaussianMechanism
from .randomness import SecretNoise
from .rounding import inflated, of_sum

__all__ = ["ROW_SCORES", "NoisyScoring", "RowScore", "row_score"]

# What a log-likelihood is clipped to by default: a row at which the true label gets 1 %.
_LOG_RANGE = (float(np.log(0.01)), 0.0)


@dataclass(frozen=True)
class RowScore:
    """A number for each row, the larger the better, clipped to a public range.

    Parameters
    ----------
    of_rows : callable
        Takes a fitted estimator, X and y, and returns an array of shape (n_samples,).
    low, high : float
        The range.
    """

    of_rows: Callable[[Any, Any, Any], np.ndarray]
    low: float
    high: float

    def mechanism(self, n: int, mu: float, adjacency: Adjacency) -> GaussianMechanism:
        """Gaussian mechanism that makes the mean score of n rows mu-GDP.

        Parameters
        ----------
        n : int
            Number of rows.
        mu : float
            Level of Gaussian differential privacy.
        adjacency : Adjacency
            Neighbouring relation.
        """
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
    ) -> float:
        """The mean over rows, released as a mu-GDP answer.

        Parameters
        ----------
        estimator : estimator
            Fitted, and private with respect to its own rows.
        X, y : array-like
            The rows.
        mu : float
            Level of Gaussian differential privacy.
        adjacency : Adjacency
            Neighbouring relation.
        noise : SecretNoise
            Source of the noise.
        """
        values = np.asarray(self.of_rows(estimator, X, y), dtype=np.float64)
        n = len(y)
        if values.shape != (n,):
            raise ValueError(f"A score needs a number for each of {n} rows.")
        # What is not a number says nothing good.
        values = np.clip(np.nan_to_num(values, nan=self.low), self.low, self.high)
        middle, mechanism = (self.low + self.high) / 2, self.mechanism(n, mu, adjacency)
        return middle + float(mechanism.randomize(np.array([np.mean(values - middle)]), noise)[0])


@dataclass(frozen=True, eq=False)
class NoisyScoring:
    """Scoring by a noisy mean over private rows.

    Parameters
    ----------
    score : RowScore
        What is averaged.
    X, y : array-like
        Over which rows.
    mu : float
        Level of Gaussian differential privacy of the mean.
    adjacency : Adjacency
        Neighbouring relation.
    """

    score: RowScore
    X: Any
    y: Any
    mu: float
    adjacency: Adjacency

    def __call__(self, estimator: Any, noise: SecretNoise) -> float:
        """The released score of a fitted estimator."""
        return self.score.noisy_mean(estimator, self.X, self.y, self.mu, self.adjacency, noise)


def row_score(
    who: str,
    scoring: str | Callable[..., Any] | None,
    score_range: tuple[float, float] | None,
    estimator: Any,
    target_bounds: tuple[float, float] | None,
) -> RowScore:
    """The score that a parameter names.

    Parameters
    ----------
    who : str
        The search, for messages.
    scoring : str, callable or None
        See the searches.
    score_range : pair of float or None
        See the searches.
    estimator : estimator
        What is searched over.
    target_bounds : pair of float or None
        Of the estimator, if it has some.

    Raises
    ------
    ValueError
        If the score is no mean of a bounded number, or its range is not known.
    """
    if scoring is None:
        scoring = "accuracy" if is_classifier(estimator) else "neg_mean_squared_error"
    if isinstance(scoring, str) and scoring not in ROW_SCORES:
        raise ValueError(
            f"{who} needs a score that is a mean over rows of a bounded number, one of "
            f"{sorted(ROW_SCORES)} or a callable, got {shown(scoring)}. Other scores can be used "
            "with a public validation=(X, y)."
        )
    of_rows = ROW_SCORES[scoring] if isinstance(scoring, str) else scoring
    found = score_range
    if found is None:
        found = _known_range(scoring, target_bounds)
    if found is None:
        raise ValueError(
            f"{who} needs score_range=(low, high) for this score: a range known without the rows, "
            "to which the numbers of rows are clipped. For errors of regression, target_bounds of "
            "the estimator will do."
        )
    ends = numbers_in(found)
    if ends is None or ends.shape != (2,) or not -np.inf < ends[0] < ends[1] < np.inf:
        raise ValueError(f"{who} needs a finite score_range with low < high, got {shown(found)}.")
    return RowScore(of_rows, float(ends[0]), float(ends[1]))


def _known_range(
    scoring: str | Callable[..., Any], target_bounds: tuple[float, float] | None
) -> tuple[float, float] | None:
    if scoring == "accuracy":
        return 0.0, 1.0
    if scoring == "neg_brier_score":
        return -1.0, 0.0
    if scoring == "neg_log_loss":
        return _LOG_RANGE
    if target_bounds is None:
        return None
    half = (target_bounds[1] - target_bounds[0]) / 2
    # A prediction in the middle is off by no more than half of the width.
    if scoring == "neg_mean_absolute_error":
        return -half, 0.0
    return (-half * half, 0.0) if scoring == "neg_mean_squared_error" else None


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
