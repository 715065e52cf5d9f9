"""Public bounds on what one row adds to the score and the curvature of a loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["InfluenceBounds"]


@dataclass(frozen=True, eq=False)
class InfluenceBounds:
    r"""Coordinates of rows, and bounds on the score and the curvature of each of them.

    A row v, intercept entry included, has the coordinates ``u = matrix' v`` and the weight

    .. math:: \omega = \min\Bigl(1,\; \frac{\alpha}{h |u|^2},\; \frac{G}{s |u|}\Bigr),

    where ``h`` is the second derivative of the loss at the score ``<v, w>`` and ``s`` the largest
    size of its first derivative there over all targets. For the squared loss, whose residuals are
    divided by ``scale`` and clipped at ``C = G / sqrt(alpha)``, that is ``h = 1`` and ``s = C``, so
    that a row is weighted down if it is longer than ``L = sqrt(alpha)``; for the logistic loss it
    is ``h = p (1 - p)`` and ``s = max(p, 1 - p)`` with p the probability of class 1. A weight
    depends on the features of a row alone, and multiplies its target as well, so that it leaves
    the coefficients of a model that holds as they are; shortening the row would not.

    Parameters
    ----------
    w : ndarray of shape (p,)
        Model at which rows are weighed.
    matrix : ndarray of shape (p, k)
        Coordinates of rows.
    curvature : float
        Bound alpha on ``omega h |u|^2``; positive.
    score : float
        Bound G on the norm of ``omega r u``, with r the residual; positive.
    scale : float, default=1.0
        Unit of residuals; 1 unless the loss is squared.
    """

    w: np.ndarray
    matrix: np.ndarray
    curvature: float
    score: float
    scale: float = 1.0
