"""Bounds on the derivatives of rows, given a bound on their gradients."""

from __future__ import annotations

import numpy as np

__all__ = ["Limits"]


class Limits:
    """What is kept of a run of rows between questions: the latest bounds on their derivatives.

    Questions with the same clip ask for the same bounds, one after the other.

    Parameters
    ----------
    norms : ndarray of shape (m,)
        Positive bounds on the norms of the rows; not changed while this lives.
    """

    def __init__(self, norms: np.ndarray) -> None:
        self._norms = norms
        self._latest: tuple[float, float, np.ndarray] | None = None

    def of(self, bound: float, most: float) -> np.ndarray:
        """``min(bound / norms, most)``, read-only.

        Parameters
        ----------
        bound : float
            Bound on the norm of the gradient of a row.
        most : float
            Bound on its derivative, whatever the norm.
        """
        latest = self._latest
        if latest is None or latest[:2] != (bound, most):
            limits = np.divide(bound, self._norms)
            np.minimum(limits, most, out=limits)
            limits.flags.writeable = False
            latest = self._latest = (bound, most, limits)
        return latest[2]
