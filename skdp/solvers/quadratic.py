"""Penalty and constraint applied to a fit that was made without them."""

from __future__ import annotations

import numpy as np

from ..problem import Problem

__all__ = ["minimise_model"]

_STEPS = 5000
_CLOSE = 1e-12


def minimise_model(problem: Problem, fitted: np.ndarray, whitening: np.ndarray) -> np.ndarray:
    r"""The minimum of a quadratic loss around a fit, with the problem's penalty and constraint.

    .. math:: \min_w \tfrac12 (w - \hat w)^\top (M M^\top)^{-1} (w - \hat w) + r(w), \quad w \in C

    With squared loss this is the penalised problem itself if :math:`\hat w` is its minimum without
    penalty and :math:`M^\top \Sigma M = I` for the rows' second moment. It uses only what has been
    released, so it costs nothing. Accelerated proximal gradient with restarts (O'Donoghue and
    Candes, 2015; Beck and Teboulle, 2009).

    Parameters
    ----------
    problem : Problem
        With a penalty and a constraint on each coefficient alone.
    fitted : ndarray of shape (p,)
        Minimum of the loss.
    whitening : ndarray of shape (p, p)
        M, such that rows times M are white.

    Returns
    -------
    ndarray of shape (p,)
        Feasible; the fit itself if there is neither penalty nor constraint.
    """
    inverse = np.linalg.inv(whitening)
    moments = inverse.T @ inverse
    step = 1.0 / float(np.linalg.norm(moments, 2))

    def improved(v: np.ndarray) -> np.ndarray:
        return problem.project(problem.prox(v - step * (moments @ (v - fitted)), step))

    w = improved(fitted)
    ahead, pace = w, 1.0
    for _ in range(_STEPS):
        moved = improved(ahead)
        change = moved - w
        if float(np.abs(change).max()) <= _CLOSE * float(np.abs(fitted).max()):
            return moved
        if float((ahead - moved) @ change) > 0:
            ahead, pace = w, 1.0
            continue
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead, pace, w = moved + (pace - 1) / faster * change, faster, moved
    return w
