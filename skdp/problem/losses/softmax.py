"""The softmax loss, for several classes."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from ...validation import check_integers
from .base import Loss


@dataclass(frozen=True)
class Softmax(Loss):
    """``log(sum_k e^(z_k)) - z_y`` with y in {0, ..., K - 1}, also known as cross-entropy.

    With ``p = softmax(z)`` the derivative is ``p - e_y``, where e_y is the y-th unit vector, and
    the Hessian is ``H = diag(p) - p p^T``.

    - ``lipschitz`` is sqrt(2): ``||p - e_y||^2 = (1 - p_y)^2 + sum_{k != y} p_k^2`` is at most
      ``2 (1 - p_y)^2 < 2``, because the other probabilities sum to ``1 - p_y``. It is approached
      when all mass goes to one wrong class.
    - ``smoothness`` is 1/2: ``v^T H v`` is the variance of v_k when k is drawn from p, which is
      at most ``(max v - min v)^2 / 4`` (Popoviciu 1935) and so at most ``||v||^2 / 2``. It is
      attained by v = (1, -1, 0, ...) when two classes share all mass equally.

    Parameters
    ----------
    n_classes : int
        Number of classes K, at least 2.
    """

    n_classes: int

    family: ClassVar[str] = "logistic"
    log_odds: ClassVar[bool] = True
    lipschitz: ClassVar[float] = sqrt(2.0)
    smoothness: ClassVar[float] = 0.5
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_integers("Softmax", n_classes=self.n_classes)
        if not self.n_classes >= 2:
            raise ValueError(
                f"Softmax needs n_classes of at least 2, got {self.n_classes}; name every class "
                "that could occur."
            )

    @property
    def n_scores(self) -> int:
        """One score a class."""
        return self.n_classes

    @property
    def targets(self) -> str:
        """The valid targets in words."""
        return f"integers from 0 to {self.n_classes - 1}"

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Minus the log-probability of the target class."""
        s = _scores_below_the_largest(z)
        with np.errstate(over="ignore"):
            return np.log(np.exp(s).sum(axis=0)) - s[self._classes(y), np.arange(len(z))]

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Class probabilities, minus 1 at the target class."""
        p = _scores_below_the_largest(z)
        np.exp(p, out=p)
        p *= 1.0 / p.sum(axis=0)
        p[self._classes(y), np.arange(len(z))] -= 1.0
        return p.T

    def _classes(self, y: np.ndarray) -> np.ndarray:
        """Targets as indices of classes; others count as a class, and stop nobody with an error."""
        with np.errstate(invalid="ignore"):
            return np.clip(y.astype(np.intp), 0, self.n_classes - 1)

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y >= 0) & (y < self.n_classes) & (np.floor(y) == y)


def _scores_below_the_largest(z: np.ndarray) -> np.ndarray:
    """``z - max_k z_k`` as (K, m): along its short axis an array is slow to reduce."""
    s = np.array(z.T, order="C")
    # Two finite scores may be further apart than the largest float; -inf serves as well.
    with np.errstate(over="ignore"):
        s -= s.max(axis=0)
    return s
