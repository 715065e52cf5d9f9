"""Gaussian noise on the messages of sites: of each alone, in pairs, of all together, or central."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from ..accounting.events import Event, Site, SiteGaussianEvent
from ..accounting.ledger import Spend
from ..randomness import SecretNoise
from .base import Mechanism, check_sensitivity
from .gaussian import GaussianMechanism
from .mask_exposure import exposure, exposure_of_all_pairs
from .noise_grid import noisy_on_grid, on_grid, spacing

_SOURCES = ("local", "pairwise", "secure_sum", "final_model", "central")


@dataclass(frozen=True)
class Trust:
    """Whom sites trust, which says where noise comes from and what is published.

    ``'local'``: nobody. Each site's message has its own noise, enough by itself.
    ``'pairwise'``: pairs of sites keep a secret seed from everybody else, and at most ``colluders``
    sites hand theirs over. Each message has a little noise of its own and masks that cancel.
    ``'secure_sum'``: a protocol that shows the sum of the messages and nothing else; at most
    ``colluders`` sites tell their own noise.
    ``'final_model'``: sites trust each other, and the adversary sees what follows from the sums
    alone. As before without colluders.
    ``'central'``: an aggregator that sees everything and adds the noise.
    """

    #: One of the names above.
    source: str = "local"
    #: Number of curious sites.
    colluders: int = 0
    #: Standard deviation of a mask between two sites in units of a site's own noise.
    ratio: float = 3.0

    def __post_init__(self) -> None:
        if self.source not in _SOURCES or self.colluders < 0 or not 0 < self.ratio < 1e6:
            raise ValueError(
                f"Trust needs a source in {_SOURCES}, colluders >= 0 and a ratio in (0, 1e6), got "
                f"{self.source!r}, {self.colluders} and {self.ratio}."
            )

    @property
    def summed(self) -> bool:
        """True if only the sum of the messages is published."""
        return self.source in ("secure_sum", "final_model", "central")

    def fewest(self) -> int:
        """Least number of sites in a round with which noise protects an honest site as promised."""
        return self.colluders + (2 if self.source == "pairwise" else 1)


@dataclass(frozen=True, eq=False)
class SiteNoise(Mechanism):
    """Noise on the messages of the sites that take part in a round, one array (p, ...) each.

    Guarantees
    ----------
    - What is published has, for site i, at most the price
      ``(sensitivity / noise_scales[i])**2`` against the adversary named by the trust:
      ``local``, immediate, as the noises of sites are independent; ``pairwise``, see
      :mod:`skdp.privacy.mechanisms.mask_exposure`; sums, because the noises of the honest sites, of
      variance ``own**2 (n_active - colluders)``, are unknown to it.
    - Each site draws noise of its own, and fresh masks in each round.
    - What is published lies on a public grid, also masked messages and sums, so that last bits rule
      no neighbour out.
    """

    #: Names of the sites that take part.
    labels: tuple[Hashable, ...]
    #: Pairs among them that share a seed, by their place in ``labels``; None stands for all pairs;
    #: shape (n_edges, 2).
    edges: np.ndarray | None
    #: Where the noise comes from.
    trust: Trust
    #: Most that a neighbour can move one site's message.
    sensitivity: float
    #: Noise against the adversary, for each site; shape (n_active,).
    noise_scales: np.ndarray
    #: What each site adds that nobody cancels; shape (n_active,).
    own_noise_scales: np.ndarray

    @classmethod
    def calibrated(
        cls,
        labels: tuple[Hashable, ...],
        edges: np.ndarray | None,
        trust: Trust,
        sensitivity: float,
        spend: Spend,
        shares: np.ndarray,
    ) -> SiteNoise:
        """The least noise for which site i pays at most ``shares[i]`` of the spend.

        Shares are in (0, 1], and all the same unless noise is local.
        """
        n_active = len(labels)
        if n_active < trust.fewest():
            raise ValueError(
                f"Noise by {trust.source!r} with {trust.colluders} colluders needs at least "
                f"{trust.fewest()} sites in a round, got {n_active}; void the round."
            )
        check_sensitivity(cls.__name__, sensitivity)
        if trust.source == "local":
            scale = GaussianMechanism.calibrated(sensitivity, spend).noise_scale
            noise = scale / np.sqrt(shares)
            return cls(labels, edges, trust, sensitivity, noise, noise)
        least = Spend(spend.amount * float(shares.min()))
        scale = GaussianMechanism.calibrated(sensitivity, least).noise_scale
        noise = np.full(n_active, scale)
        if trust.source == "pairwise":
            # A site's own noise is so much less than what protects it.
            share = _exposure(n_active, edges, trust)
            return cls(labels, edges, trust, sensitivity, noise, noise * sqrt(share))
        own = scale / sqrt(n_active - trust.colluders)
        if trust.source == "central":
            own = 0.0
        return cls(labels, edges, trust, sensitivity, noise, np.full(n_active, own))

    def event(self, query: str) -> tuple[Event, ...]:
        """The events to charge for one round, one for each site that takes part."""
        trust = self.trust
        scales = self.noise_scales.tobytes(), self.own_noise_scales.tobytes()
        return _events(query, self.labels, self.sensitivity, *scales, trust.source, trust.colluders)

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """Noisy messages of shape (n_active, p, ...) as they are published: all, or their sum."""
        if self.trust.source == "central":
            scale = float(self.noise_scales[0])
            return noisy_on_grid(value.sum(axis=0), self.sensitivity, scale, noise)
        if self.trust.source == "local":
            messages = np.empty(value.shape)
            # Sites of one scale at once: there may be a thousand.
            for scale in np.unique(self.own_noise_scales).tolist():
                these = self.own_noise_scales == scale
                messages[these] = noisy_on_grid(value[these], self.sensitivity, scale, noise)
            return messages
        own = float(self.own_noise_scales[0])
        added = own * noise.normal(value.shape)
        if self.trust.source == "pairwise":
            added += self.trust.ratio * own * self.masks(value.shape, noise)
        g = spacing(self.sensitivity, own, value[0].size)
        if self.trust.summed:
            value, added = value.sum(axis=0), added.sum(axis=0)
        return on_grid(value, g) + on_grid(added, g)

    def masks(self, shape: tuple[int, ...], noise: SecretNoise) -> np.ndarray:
        """Standard masks, which sum to zero over sites and have the Laplacian as covariance."""
        n_active = shape[0]
        if self.edges is None:
            # The law of the sum over all pairs, with one variable a site instead of one a pair.
            free = noise.normal(shape)
            return sqrt(n_active) * (free - free.mean(axis=0))
        out = np.zeros(shape)
        shared = noise.normal((len(self.edges), *shape[1:]))
        np.add.at(out, self.edges[:, 0], shared)
        np.subtract.at(out, self.edges[:, 1], shared)
        return out


def _exposure(n_active: int, edges: np.ndarray | None, trust: Trust) -> float:
    if edges is None:
        return exposure_of_all_pairs(n_active - trust.colluders, trust.ratio)
    return exposure(n_active, edges, trust.ratio, trust.colluders)


# The same facts return in each round, and are the same objects then, which ledgers make use of.
@lru_cache(maxsize=64)
def _events(
    query: str,
    labels: tuple[Hashable, ...],
    sensitivity: float,
    scales: bytes,
    own_scales: bytes,
    trust: str,
    colluders: int,
) -> tuple[Event, ...]:
    noise = zip(np.frombuffer(scales).tolist(), np.frombuffer(own_scales).tolist(), strict=True)
    return tuple(
        SiteGaussianEvent(
            query=query,
            part=Site(label),
            sensitivity=sensitivity,
            noise_scale=scale,
            own_noise_scale=own,
            trust=trust,
            colluders=colluders,
        )
        for label, (scale, own) in zip(labels, noise, strict=True)
    )
