"""Budgets as parameters state them: the delta that None stands for, and infinite epsilon."""

from __future__ import annotations

from math import isinf

# Bound on delta where it is not given, and the power of the number of rows that is another.
_DELTA, _POWER = 1e-5, -1.1
# Budget by which fits without privacy plan: shares, steps and thresholds are finite.
NOMINAL_EPSILON = 1e5


def delta_for(delta: float | None, n_samples: int | None) -> float:
    """Slack of the guarantee: ``delta`` itself, or for None the smaller of 1e-5 and n^-1.1.

    With a probability of delta a mechanism may do anything, such as publishing a row, so that it
    has to be well below one over their number, which is public under both neighbouring relations:
    replaced or left out of all sums, a row keeps its place. Steps that see the same rows draw the
    same delta, at which their total can be stated. The rows are those that the guarantee is about:
    of a fit, or of the horizon of a stream, and None if that was not declared.
    """
    if delta is not None:
        # Of two zeros the one without a sign.
        return float(delta) + 0.0
    return _DELTA if n_samples is None else min(_DELTA, float(max(1, n_samples)) ** _POWER)


def nominal(epsilon: float) -> float:
    """Epsilon by which shares, steps and thresholds are planned: itself unless it is infinite."""
    return NOMINAL_EPSILON if isinf(epsilon) else float(epsilon)
