"""An oracle that answers from one data set and measures how far off its neighbour's answers are.

The queries of a fit depend on earlier answers alone, so both data sets are asked the same ones,
and the sum of the squared distances, each in units of the noise, is what the fit really costs on
this pair.
"""

from math import sqrt

import numpy as np

from skdp.privacy import Oracle, PrivateOracle, opened_by
from skdp.privacy.rows import DenseRows


class TwinOracle(Oracle):
    """Answers about ``rows``; lists what tells them from ``others``."""

    def __init__(self, rows, others, ledger, adjacency, noise):
        super().__init__(ledger, adjacency)
        self._inner = PrivateOracle(rows, ledger, adjacency, noise)
        self._rows, self._others = rows, others
        # Shared with the oracles for single problems that are made of this one.
        self.moves = []

    @property
    def squares(self):
        """Sum of the squares of all moves in units of the noise."""
        return sum(in_noise**2 for in_noise, _ in self.moves)

    @property
    def largest(self):
        """Largest move in units of its sensitivity."""
        return max((share for _, share in self.moves), default=0.0)

    def _release(self, query, spend):
        mechanism = query.mechanism(self._adjacency, spend)
        rows, others = self._of(self._rows), self._of(self._others)
        move = np.linalg.norm(query.evaluate(rows) - query.evaluate(others))
        # What is no number would be lost in the largest one, and the oracle answers it by zeros.
        assert np.isfinite(move), f"{query.name} has an answer that is not finite"
        self.moves.append((move / mechanism.noise_scale, move / mechanism.sensitivity))
        return self._passed_to(self._inner)._release(query, spend)

    def _open(self, opening):
        raise NotImplementedError


def coded(fitted, y):
    """Targets as a fit has them, which numbers classes."""
    return y if fitted.classes is None else np.searchsorted(fitted.classes, y).astype(float)


def distance(fitted, X, other_X, y=None, other_y=None):
    """The mu that tells data from others by the answers of a fit, and the largest single move.

    Zeroed-out rows are rows that ``other_X`` lacks.
    """
    made = []

    def oracle(rows, ledger, adjacency, noise):
        others = DenseRows(other_X, np.zeros(len(other_X)) if y is None else coded(fitted, other_y))
        made.append(TwinOracle(rows, others, ledger, adjacency, noise))
        return made[-1]

    with opened_by(oracle):
        fitted.fit(X, y)
    return sqrt(made[0].squares), made[0].largest
