"""The change of the mean gradient from one point to another, over a secret sample of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.sampled_gaussian import SampledGaussian
from ..rounding import inflated
from ..rows.base import RowStore
from .base import PerturbedQuery
from .gradient_difference import GradientDifferenceQuery

__all__ = ["SampledDifferenceQuery"]


@dataclass(frozen=True, eq=False)
class SampledDifferenceQuery(PerturbedQuery):
    r"""An unbiased estimate of a gradient difference from rows that are drawn in secret.

    With q the rate, ``m_i`` whether row i is drawn (independently, with probability q) and c the
    public centre of :class:`GradientDifferenceQuery`,

    .. math:: c + \frac{1}{q n} \sum_i m_i (\mathrm{difference}_i - c).

    The denominator is the public ``q n``, never the number of rows drawn, which is secret as the
    rows drawn are.

    Parameters
    ----------
    difference : GradientDifferenceQuery
        The query about all rows.
    sampling_rate : float
        Probability with which a row is drawn, in (0, 1].

    Raises
    ------
    ValueError
        If the rate is outside its range.

    Guarantees
    ----------
    - Given who else is drawn, a row that is drawn contributes a vector in a ball of radius
      ``r / (q n)``, with the radius r of the query about all rows, and one that is not drawn
      contributes nothing. Both neighbours' contributions lie in the same ball around 0, so that the
      answer moves by at most ``2 r / (q n)`` under replace-one and half of it under zero-out. Both
      are attained. r depends on public facts alone.
    - ``evaluate`` is the answer without noise, with all rows and the denominator n.

    Notes
    -----
    The time it takes tells how many rows were drawn, as precisely as it can be measured.
    """

    name: ClassVar[str] = "sampled_gradient_difference"

    difference: GradientDifferenceQuery
    sampling_rate: float

    def __post_init__(self) -> None:
        if not 0 < self.sampling_rate <= 1:
            raise ValueError(
                f"SampledDifferenceQuery needs a sampling rate in (0, 1], got {self.sampling_rate}."
            )

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 r / (q n)`` under replace-one; infinite as for the query about all rows."""
        return self.difference.sensitivity(adjacency) / self.sampling_rate

    def mechanism(self, adjacency: Adjacency, spend: Spend) -> SampledGaussian:
        """Noise for which the spend would be the price if every row took part."""
        return SampledGaussian.calibrated(
            self.difference.gradient.problem.n_samples,
            self.sampling_rate,
            inflated(self.sensitivity(adjacency), self.difference.rounding),
            adjacency,
            spend,
        )

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact mean of differences of all rows, in the shape of w."""
        return self.difference.evaluate(rows)

    def evaluate_under(self, rows: RowStore, perturbation: np.ndarray) -> np.ndarray:
        """The estimate from the rows that are marked; in order of the blocks."""
        n_samples = self.difference.gradient.problem.n_samples
        return self.difference.about_centre(rows, self.sampling_rate * n_samples, perturbation)

    def public(self) -> tuple[object, ...]:
        """The content of the query about all rows, and the rate."""
        return (*self.difference.public(), self.sampling_rate)
