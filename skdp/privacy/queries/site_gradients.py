"""Gradients of several sites at once, each over its own rows and at weights of its own."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...problem.problem import Problem
from ...problem.sites import Sites
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.site_noise import SiteNoise, Trust
from ..rounding import inflated
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from ..rows.score_cache import times_rows
from ..rows.site_rows import site_sums
from .base import Query
from .gradient import GradientQuery


@dataclass(frozen=True, eq=False)
class SiteRequest:
    r"""Query to the sites that take part in a round; public.

    With m sites and n rows, the message of site i is

    .. math:: \frac{m}{n} \sum_{k \in i} \mathrm{clip}(\nabla \ell_k(w_i)),

    its share of the mean gradient times the number of sites, so that the mean of all messages is
    the mean gradient of all rows, and the messages of sites of equal size are their own means.

    Guarantees
    ----------
    - A neighbour differs in one row of one site, whose message is the only one that moves, by at
      most ``2 min(clip_norm, lipschitz) m / n`` in l2 under replace-one, and half of it under
      zero-out. This is ``2 C / q`` of the mean of a site of q rows, for sites of equal size. Who
      takes part does not depend on rows.
    """

    #: Loss and public bounds.
    problem: Problem
    #: Where rows lie.
    sites: Sites
    #: Numbers of the sites that take part, increasing; shape (n_active,).
    active: np.ndarray
    #: Where each of them is asked; shape (n_active, ...).
    W: np.ndarray
    #: Bound on the norm of one row's gradient, as for :class:`GradientQuery`.
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        active, shape = np.asarray(self.active), self.problem.shape
        known = active.ndim == 1 and active.size > 0 and active.dtype.kind in "iu"
        if known:
            known = bool(active[0] >= 0 and active[-1] < self.sites.n_sites)
            known &= bool(np.all(np.diff(active) > 0))
        if not known or self.sites.n_samples != self.problem.n_samples:
            raise ValueError(
                f"Queries to sites need increasing numbers of the {self.sites.n_sites} sites of "
                f"{self.problem.n_samples} rows, got {active.size} numbers and sites of "
                f"{self.sites.n_samples} rows."
            )
        W = np.asarray(self.W)
        if W.dtype.kind not in "iuf" or W.shape != (active.size, *shape):
            raise ValueError(
                f"Queries to sites need weights of shape {(active.size, *shape)}, got {W.dtype} "
                f"of shape {W.shape}."
            )
        object.__setattr__(self, "active", active.astype(np.intp))
        object.__setattr__(self, "W", np.array(W, dtype=np.float64))

    @cached_property
    def gradient(self) -> GradientQuery:
        """The query about all rows that has the same clip, at the longest of the weights.

        Where margins for rounding depend on the length of the weights, it has the largest.
        """
        # Lengths whose squares overflow are the largest.
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(self.W.reshape(len(self.W), -1), axis=1)
        return GradientQuery(self.problem, self.W[lengths.argmax()], self.clip_norm)

    @property
    def rounding(self) -> float:
        """Relative margin for the rounding of a message: no more than for all rows together."""
        return self.gradient.rounding

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Sensitivity of one site's message; infinite as for the query about all rows."""
        return self.gradient.sensitivity(adjacency) * self.sites.n_sites

    def labels(self) -> tuple[Hashable, ...]:
        """Names of the sites that take part."""
        if self.active.size == self.sites.n_sites:
            return self.sites.labels
        return tuple(self.sites.labels[i] for i in self.active.tolist())

    def messages(self, rows: RowStore, drawn: np.ndarray | None = None) -> np.ndarray:
        """The exact messages, (n_active, ...), of all rows or of those that are drawn."""
        gradient = self.gradient

        def kernel(block: BoundedBlock, z: np.ndarray, positions: np.ndarray) -> np.ndarray:
            r = gradient.weighted(block, gradient.slopes(block, z))
            return times_rows(r, None if drawn is None else drawn[positions])

        sums = site_sums(rows, self.problem.bounds, self.sites)
        out = sums.sums(self.active, self.W, kernel)
        out *= self.sites.n_sites / self.problem.n_samples
        return out

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact messages of all rows."""
        return self.messages(rows)

    def of_drawn(self, rows: RowStore, drawn: np.ndarray, rate: float) -> np.ndarray:
        """The messages from the rows that are marked, in the order of the sites, over the rate.

        All rows are gone through whoever is drawn, so that the time it takes tells nothing.
        """
        return self.messages(rows, drawn) / rate

    def public(self) -> tuple[object, ...]:
        """Public inputs: active sites, weights, bound on a row, and layout of the rows."""
        order = () if self.sites.order is None else self.sites.order
        return (self.active, self.W, self.gradient.bound, self.sites.sizes, order)


@dataclass(frozen=True, eq=False)
class SiteGradientsQuery(Query):
    """Messages of the sites that take part in a round, from all of their rows.

    Guarantees
    ----------
    - As for :class:`SiteRequest`; see :class:`SiteNoise` for the noise.
    """

    name: ClassVar[str] = "site_gradients"
    takes_units: ClassVar[bool] = False

    #: Who is asked what.
    request: SiteRequest
    #: Where noise comes from, and whether messages or their sum are published.
    trust: Trust
    #: Pairs of sites that share a seed, by their numbers; None stands for all that take part; shape
    #: (n_edges, 2).
    edges: np.ndarray | None
    #: What each site pays of the spend, in (0, 1]; shape (n_active,).
    shares: np.ndarray

    def __post_init__(self) -> None:
        shares, active = np.asarray(self.shares, dtype=np.float64), self.request.active
        if shares.shape != active.shape or not (shares.min() > 0 and shares.max() <= 1):
            raise ValueError(
                "SiteGradientsQuery needs a share in (0, 1] for each site that takes part."
            )
        object.__setattr__(self, "shares", shares)
        if self.edges is not None:
            place = np.searchsorted(active, self.edges)
            if not np.array_equal(active[np.minimum(place, active.size - 1)], self.edges):
                raise ValueError("SiteGradientsQuery needs edges between sites that take part.")

    @property
    def problem(self) -> Problem:
        """Loss and public bounds."""
        return self.request.problem

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Sensitivity of one site's message, and so of all of them, in l2."""
        return self.request.sensitivity(adjacency)

    def mechanism(self, adjacency: Adjacency, spend: Spend) -> SiteNoise:
        """The least noise for which each site pays its share."""
        request, edges = self.request, self.edges
        return SiteNoise.calibrated(
            request.labels(),
            None if edges is None else np.searchsorted(request.active, edges),
            self.trust,
            inflated(self.sensitivity(adjacency), self.request.rounding),
            spend,
            self.shares,
        )

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact messages, one for each site that takes part."""
        return self.request.messages(rows)

    def public(self) -> tuple[object, ...]:
        trust = (self.trust.source, self.trust.colluders, self.trust.ratio)
        edges = () if self.edges is None else self.edges
        return (*self.request.public(), trust, edges, self.shares)
