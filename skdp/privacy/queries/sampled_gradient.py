"""Gradients, their changes, and gradients of sites over a secret sample of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...problem.problem import Problem
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.gaussian import SampledGaussian
from ..rounding import GRID, inflated
from ..rows.base import RowStore
from .base import PerturbedQuery
from .gradient import GradientQuery
from .gradient_difference import GradientDifferenceQuery
from .site_gradients import SiteRequest


@dataclass(frozen=True, eq=False)
class SampledGradientQuery(PerturbedQuery):
    r"""An unbiased estimate of a mean over the rows, from rows that are drawn in secret.

    With q the rate, ``m_i`` whether row i is drawn (independently, with probability q), ``v_i`` the
    vector that the row contributes to the sum and c the public centre about which a
    :class:`GradientDifferenceQuery` takes them, 0 for the others,

    .. math:: c + \frac{1}{q n} \sum_i m_i (v_i - c).

    The denominator is the public ``q n``, never the number of rows drawn, which is secret as the
    rows drawn are.

    Guarantees
    ----------
    - Given who else is drawn, a row that is drawn contributes a vector in a ball of radius
      ``r / (q n)`` around 0, with the radius r of the query about all rows, and one that is not
      drawn contributes nothing. So the answer moves by at most ``2 r / (q n)`` under replace-one
      and half of it under zero-out, ``1 / q`` of the sensitivity of the query about all rows. Both
      are attained. r depends on public facts alone. Of several sites one moves, by as much.
    - ``evaluate`` is the answer without noise, with all rows and the denominator n.

    Notes
    -----
    The time it takes tells how many rows were drawn, as precisely as it can be measured, unless
    sites are asked.
    """

    name: ClassVar[str] = "sampled_gradient"

    #: The query about all rows.
    full: GradientQuery | GradientDifferenceQuery | SiteRequest
    #: Probability with which a row is drawn, in (0, 1].
    sampling_rate: float

    def __post_init__(self) -> None:
        if not 0 < self.sampling_rate <= 1:
            raise ValueError(
                f"SampledGradientQuery needs a sampling rate in (0, 1], got {self.sampling_rate}."
            )

    @property
    def problem(self) -> Problem:
        """Loss and public bounds."""
        return self.full.problem

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 r / (q n)`` under replace-one; infinite as for the query about all rows."""
        return self.full.sensitivity(adjacency) / self.sampling_rate

    def mechanism(self, adjacency: Adjacency, spend: Spend) -> SampledGaussian:
        """Noise for which the spend would be the price if every row took part."""
        return SampledGaussian.calibrated(
            self.problem.n_samples,
            self.sampling_rate,
            # A row that is drawn or not moves by half of what the grid was made for.
            inflated(self.sensitivity(adjacency), self.full.rounding + 2 * GRID),
            adjacency,
            spend,
            self.full.labels() if isinstance(self.full, SiteRequest) else None,
        )

    def evaluate(self, rows: RowStore) -> np.ndarray:
        return self.full.evaluate(rows)

    def evaluate_under(self, rows: RowStore, perturbation: np.ndarray) -> np.ndarray:
        """The estimate from the rows that are marked; in order of the blocks, or of the sites."""
        return self.full.of_drawn(rows, perturbation, self.sampling_rate)

    def public(self) -> tuple[object, ...]:
        return (*self.full.public(), self.sampling_rate)
