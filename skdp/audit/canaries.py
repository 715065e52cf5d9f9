"""The audit of one run: each canary row is in one of two versions, at random."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .claims import Claim
from .epsilon_bounds import Guesses
from .neighbours import differing_rows, opposite_targets
from .programs import FitProgram
from .result import AuditResult, trade_off

# Shares of the canaries about which a guess is ventured, if the number of guesses is not given.
_SHARES = (0.1, 0.25, 0.5, 1.0)


def audit_one_run(
    program: FitProgram, other: tuple[Any, Any] | None, guesses: int | None, confidence: float
) -> AuditResult:
    """Fit once, guess which version of each canary there was, and bound by the right guesses.

    A canary's score says how well the model fits the second version, compared with the first; under
    zero-out, how badly it fits the row. The canaries with the largest scores are guessed to be in
    the second version (left out), as many with the smallest ones in the first. Scores use what was
    published and both versions, never which of them there was.

    Parameters
    ----------
    program : FitProgram
        The estimator, and the first version of all rows.
    other : tuple or None
        ``(X, y)`` with the second versions; None for other targets, or under zero-out.
    guesses : int or None
        How many guesses, or None for several numbers of them.
    confidence : float
        Of the bound.

    Raises
    ------
    ValueError
        If there are fewer canaries than guesses.
    """
    first, zero_out = program.data[0], program.estimator.adjacency == "zero_out"
    if zero_out:
        second, canaries = first, np.arange(len(first[1]))
    else:
        second = opposite_targets(program.estimator, first) if other is None else other
        canaries = differing_rows(first, second)
    m = canaries.size
    if m < max(2, guesses or 0):
        raise ValueError(
            f"audit needs at least 2 canaries and no more guesses than canaries, got {m} rows in "
            f"two versions and {guesses or 'no number of'} guesses."
        )
    swapped = np.frombuffer(os.urandom(m), dtype=np.uint8) % 2 == 1
    chosen = canaries[swapped]
    if zero_out:
        mixed = replace(program, left_out=chosen)
    else:
        mixed = replace(program, data=(first, _mixed(first, second, chosen)))
    model = mixed.run(1)
    scores = -_fits(model, first, canaries)
    if not zero_out:
        scores += _fits(model, second, canaries)
    claim = Claim.of(model)
    numbers = [max(2, int(share * m)) for share in _SHARES] if guesses is None else [guesses]
    order = np.argsort(scores, kind="stable")
    right = []
    for r in numbers:
        low, high = swapped[order[: r // 2]], swapped[order[m - (r - r // 2) :]]
        right.append((r, int((~low).sum() + high.sum())))
    guessed = Guesses(m, tuple(right))
    observed = np.array([[1.0, 0.0], [0.0, 1.0]])
    if 0 < swapped.sum() < m:
        observed = trade_off(scores[~swapped], scores[swapped])
    return AuditResult(
        epsilon_lower_bound=guessed.epsilon(claim.delta, 1 - confidence),
        epsilon=claim.epsilon,
        delta=claim.delta,
        confidence=confidence,
        method="one_run",
        sees="model",
        bound="guesses",
        adjacency=program.estimator.adjacency,
        runs=m,
        gaussian=claim.gaussian,
        observed=observed,
        evidence=guessed,
    )


def _mixed(first: tuple[Any, Any], second: tuple[Any, Any], chosen: np.ndarray) -> tuple[Any, Any]:
    """The first data with the second version of some rows."""
    (X, y), (other_X, other_y) = first, second
    from_other = np.zeros(len(y), dtype=bool)
    from_other[chosen] = True
    if sp.issparse(X):
        place = np.where(from_other, np.arange(len(y)) + len(y), np.arange(len(y)))
        X = sp.csr_array(sp.csr_array(sp.vstack([X, other_X]))[place])
    else:
        X = np.where(from_other[:, None], other_X, X)
    return X, np.where(from_other, other_y, y)


def _fits(model: Any, data: tuple[Any, Any], rows: np.ndarray) -> np.ndarray:
    """Goodness of fit of some rows: margins of their classes, or minus squared residuals."""
    X, y = data[0][rows], data[1][rows]
    if not hasattr(model, "classes_"):
        return -np.square(model.predict(X) - y)
    scores = model.decision_function(X)
    mine = np.searchsorted(model.classes_, y)
    if scores.ndim == 1:
        return np.where(mine == 1, scores, -scores)
    here = np.arange(len(y))
    own = scores[here, mine]
    scores[here, mine] = -np.inf
    return own - scores.max(axis=1)
