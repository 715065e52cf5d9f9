"""Public bounds on what one row adds to the score and the curvature of a loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class InfluenceBounds:
    r"""Coordinates of rows, and bounds on the score and the curvature of each of them.

    A row v, intercept entry included, has the coordinates ``u = matrix' v`` and the weight

    .. math:: \omega = \min\Bigl(1,\; \frac{\alpha}{h |u|^2},\; \frac{G}{s |u|}\Bigr),

    where ``h`` is the second derivative of the loss at the score ``<v, w>`` and ``s`` the largest
    size of its first derivative there over all targets. For the squared loss, whose residuals are
    divided by ``scale`` and clipped at ``C = G / sqrt(alpha)``, that is ``h = 1`` and ``s = C``, so
    that a row is weighted down if it is longer than ``L = sqrt(alpha)``; for the logistic loss it
    is ``h = p (1 - p)`` and ``s = max(p, 1 - p)`` with p the probability of class 1, and for counts
    in units of their cap ``h = m`` and ``s = max(m, 1 - m)`` with m the mean. A weight depends on
    the features of a row alone, and multiplies its target as well, so that it leaves the
    coefficients of a model that holds as they are; shortening the row would not.

    For the softmax loss with K classes ``u_c = sum_j v_j matrix_jc`` is the coordinate vector of
    the score of class c, ``g_c = u_c - sum_b p_b u_b`` the row's score if its label is c, and

    .. math:: \omega = \min\Bigl(1,\; \frac{\alpha}{|\sum_c p_c g_c g_c'|_F},\;
              \frac{G}{\max_c |g_c|}\Bigr).

    For the hazard loss a row has the coordinates ``u_j = u + s_j a`` in period j, where s is the
    trend of the loss over periods and the last row a of the matrix belongs to its slope, the last
    entry of w. With the expected slope ``e_j`` of the loss in each period for somebody who is there
    to the end, and minus the derivative ``r_j`` by periods of any target y,

    .. math:: \omega = \min\Bigl(1,\; \frac{\alpha}{\sum_j e_j |u_j|^2},\;
              \frac{G}{\max_y |\sum_j r_j u_j|}\Bigr).

    Parameters
    ----------
    w : ndarray of shape (p,) or (p, K)
        Model at which rows are weighed; for the hazard loss the slope of the trend is the last.
    matrix : ndarray of shape (p, k) or (p K, k)
        Coordinates of rows; one after another for the classes of each row of w.
    curvature : float
        Bound alpha on ``omega h |u|^2``, or ``|omega sum_c p_c g_c g_c'|_F``; positive.
    score : float
        Bound G on the norm of ``omega r u``, with r the residual, or ``omega g_y``; positive.
    scale : float, default=1.0
        Unit of residuals; 1 unless the loss is squared.
    """

    w: np.ndarray
    matrix: np.ndarray
    curvature: float
    score: float
    scale: float = 1.0
