"""Scale down frequent features of sparse rows, by a noisy mean of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...problem.bounds import RowMap
from ...problem.problem import Problem
from ..defaults import FrequencyScaling as tuned
from .base import Preconditioner, mapped

if TYPE_CHECKING:
    from ...privacy.oracle import Oracle


@dataclass(frozen=True)
class FrequencyScaling(Preconditioner):
    r"""Rows ``z = a x - a m`` with ``a_j = 1 / (1 + m_j / half)``, never written out densely.

    Much of the length of a row of text is in words that nearly every text holds. They say little
    about the class, but their entries take up the norm bound, to which noise is proportional. A
    noisy mean m of the rows finds them: a feature whose noisy mean is below the largest
    that noise alone would reach anywhere, ``sqrt(2 log d)`` standard deviations, has m_j = 0 and
    stays as it is; the others are damped and centred. Rows are then cut to half of the norm bound,
    which brings nearly all to one length.

    The mean counts negative features as zero, which makes it more precise by sqrt(2). That is
    right for counts and frequencies; signed features are damped by their positive parts alone.

    Parameters
    ----------
    share : float, default=0.07
        Share of mu^2 for the noisy mean.
    half : float, optional
        Mean at which a feature is halved, in units of the norm bound, > 0. By default 0.02 for two
        classes and 0.005 for more.
    """

    takes_wide: ClassVar[bool] = True

    share: float = 0.07
    half: float | None = None

    def _prepare(
        self,
        problem: Problem,
        oracle: Oracle,
        rng: np.random.Generator,
        known: RowMap | None,
    ) -> Problem:
        budget, d = oracle.budget, problem.n_features
        norm = problem.bounds.data_norm
        half = self.half
        if half is None:
            half = tuned.HALF_OF_TWO_CLASSES if problem.loss.n_scores == 1 else tuned.HALF_OF_MORE
        bounds = replace(problem.bounds, intercept_value=0.0, nonnegative=True)
        asked = oracle.for_problem(replace(problem, bounds=bounds))
        mean, sd = asked.row_means(by_class=False, spend=budget.fraction(self.share).whole())
        mean = np.where(mean > sqrt(2 * log(max(d, 2))) * sd, mean, 0.0)
        scale = 1 / (1 + mean / (half * norm))
        # Without an intercept nothing could make up for a shift.
        shift = scale * mean if problem.bounds.intercept_value else np.zeros(d)
        # Cutting to a typical length is a bias that small budgets want and huge ones do not.
        typical = tuned.ROW_LENGTH * norm * min(4.0, max(1.0, budget.mu / 2))
        conditioned = mapped(problem, RowMap(scale, None, shift, typical))
        constant = tuned.CONSTANT * conditioned.bounds.intercept_value
        return replace(conditioned, bounds=replace(conditioned.bounds, intercept_value=constant))
