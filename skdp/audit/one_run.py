r"""Lower bound on epsilon from the number of right guesses about canaries in a single run.

*Theorem* (Steinke, Nasr and Jagielski, 2023, theorem 5.2). Let S be uniform on {-1, 1}^m, and let M
be (epsilon, delta)-DP with respect to a change of one entry of S. Let guesses T in {-1, 0, 1}^m be
computed from M(S) alone, at most r of them not 0. Then the number of right ones satisfies, for each
v,

.. math:: P\Bigl[\sum_i \max(0, T_i S_i) \ge v\Bigr] \le P[W \ge v]
          + 2 m \delta \max_{1 \le i \le v} \frac{P[v > W \ge v - i]}{i}, \qquad
          W \sim \mathrm{Binomial}\Bigl(r, \frac{e^\epsilon}{1 + e^\epsilon}\Bigr).

Here entry i of S says which of two versions of row i the data set holds: the row or another one
under replace-one, the row or nothing in its place under zero-out. A change of one entry is a
neighbour in the sense in which the estimator's claim is made, so the theorem applies with the
claimed numbers as they are. (Under add-or-remove adjacency, which the paper uses, the number of
rows would tell how many canaries there are; here it is public and stays.)

The bound below is the least epsilon that is not refuted at the level ``failure``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np
from scipy.stats import binom

__all__ = ["Guesses", "epsilon_of_guesses", "p_value"]

# Epsilons beyond this leave no privacy to be refuted.
_LARGEST, _STEP = 60.0, 0.25


@dataclass(frozen=True)
class Guesses:
    """Counts of right guesses about canaries, for one or several numbers of guesses.

    Parameters
    ----------
    canaries : int
        Number of canaries.
    right : tuple of tuple of int
        ``(guesses, right)``: how many were ventured, the surest first, and how many were right.
    """

    canaries: int
    right: tuple[tuple[int, int], ...]

    def epsilon(self, delta: float, failure: float) -> float:
        """The best bound, each of them with its part of the failure."""
        part = failure / len(self.right)
        return max(
            epsilon_of_guesses(self.canaries, guesses, right, delta, part)
            for guesses, right in self.right
        )


def p_value(m: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Bound on the probability of so many right guesses under (epsilon, delta)-DP.

    Parameters
    ----------
    m : int
        Number of canaries.
    guesses : int
        Number r of guesses, at most m.
    right : int
        Number v of right ones.
    epsilon, delta : float
        What is claimed.
    """
    accuracy = 1 / (1 + exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, accuracy))
    if not (delta and right):
        return min(1.0, tail)
    below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, accuracy))
    steepest = float((below / np.arange(1, right + 1)).max())
    return min(1.0, tail + 2 * m * delta * steepest)


def epsilon_of_guesses(m: int, guesses: int, right: int, delta: float, failure: float) -> float:
    """The least epsilon that is not refuted; 0 if that is none.

    Parameters
    ----------
    m, guesses, right : int
        As for :func:`p_value`.
    delta : float
        What is claimed.
    failure : float
        Probability with which a true epsilon may be refuted.
    """
    if p_value(m, guesses, right, 0.0, delta) > failure:
        return 0.0
    # From below, so that no epsilon under the answer is one that is not refuted.
    low, high = 0.0, _STEP
    while high < _LARGEST and p_value(m, guesses, right, high, delta) <= failure:
        low, high = high, high + _STEP
    for _ in range(40):
        middle = 0.5 * (low + high)
        if p_value(m, guesses, right, middle, delta) <= failure:
            low = middle
        else:
            high = middle
    return low
