"""The questions of an oracle to several sites at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

import numpy as np

from ..problem import Problem
from ..sites import Sites
from .calculus import SubsampledGaussianDP
from .ledger import Ledger, Spend
from .mechanisms.sites import Trust
from .queries.base import Query
from .queries.site_gradients import SampledSiteGradientsQuery, SiteGradientsQuery, SiteQuestion

__all__ = ["AsksSites"]


class AsksSites(ABC):
    """Turns named questions to sites into queries. Holds no rows."""

    _ledger: Ledger

    @final
    def site_gradients(
        self,
        sites: Sites,
        active: np.ndarray,
        W: np.ndarray,
        *,
        spend: Spend,
        shares: np.ndarray,
        clip: float | None,
        trust: tuple[str, int, float],
        edges: np.ndarray | None = None,
    ) -> np.ndarray:
        """Noisy gradients of the sites that are active, each at its own W, or their sum.

        ``trust`` has the fields of :class:`~skdp.privacy.mechanisms.sites.Trust` and ``shares``
        says what each site pays of the spend. See :class:`SiteGradientsQuery`.
        """
        question = SiteQuestion(self._current(), sites, active, W, clip)
        return self._release(SiteGradientsQuery(question, Trust(*trust), edges, shares), spend)

    @final
    def sampled_site_gradients(
        self, sites: Sites, active: np.ndarray, W: np.ndarray, *, clip: float | None
    ) -> np.ndarray:
        """The same from rows that sites draw in secret, out of the block that is reserved."""
        block = self._ledger.calculus
        if not isinstance(block, SubsampledGaussianDP):
            raise ValueError(
                "Oracle.sampled_site_gradients needs a ledger that has reserved a block of them, "
                f"got one with {type(block).__name__}; open it with calculus_for(...)."
            )
        question = SiteQuestion(self._current(), sites, active, W, clip)
        query = SampledSiteGradientsQuery(question, block.sampling_rate)
        return self._release(query, Spend(block.unsampled_price))

    @final
    def sampled_site_gradient_scale(self, sites: Sites, *, clip: float | None) -> float:
        """Standard deviation of the noise of such messages; costs nothing."""
        problem, block = self._current(), self._ledger.calculus
        assert isinstance(block, SubsampledGaussianDP)
        question = SiteQuestion(problem, sites, np.zeros(1, int), problem.start()[None], clip)
        row = question.gradient.bound * sites.n_sites / problem.n_samples
        return block.noise_multiplier * row / block.sampling_rate

    @abstractmethod
    def _release(self, query: Query, spend: Spend) -> np.ndarray: ...

    @abstractmethod
    def _current(self) -> Problem: ...
