"""Privacy events: immutable facts about what was released.

An event says everything an accountant needs and nothing about the data. Events are also the
records of a receipt (``privacy_ledger_``): from their fields alone anyone can recompute what was
spent, without this package.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from math import inf, isfinite
from typing import ClassVar

from .adjacency import Adjacency

__all__ = [
    "Event",
    "ExponentialEvent",
    "GaussianEvent",
    "NonPrivateEvent",
    "ObjectivePerturbationEvent",
    "SampledGaussianEvent",
]


@dataclass(frozen=True, kw_only=True)
class Event(ABC):
    """One kind of release, made ``count`` times with the same parameters.

    ``least_share`` is what a single release has to be, at least, of the total of the ledger that
    holds it; above a half it says that there can be one only, and that it outweighs all others.

    Parameters
    ----------
    query : str
        Name of the question that was answered.
    sensitivity : float
        Most that the exact answer can move between neighbouring data sets, in the norm or range
        that the mechanism needs, already doubled where the adjacency asks for it.
    noise_scale : float
        Scale of the noise, in the units of the answer.
    count : int, default=1
        How many such releases.
    """

    mechanism: ClassVar[str]
    least_share: ClassVar[float] = 0.0

    query: str
    sensitivity: float
    noise_scale: float
    count: int = 1

    def __post_init__(self) -> None:
        if not self.sensitivity > 0:
            raise ValueError(
                f"{type(self).__name__} needs a positive sensitivity, got {self.sensitivity}."
            )
        if not self.noise_scale >= 0:
            raise ValueError(
                f"{type(self).__name__} needs a noise scale >= 0, got {self.noise_scale}."
            )
        if self.count < 1:
            raise ValueError(f"{type(self).__name__} needs a count >= 1, got {self.count}.")


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """Gaussian noise of standard deviation ``noise_scale`` on an answer of l2 ``sensitivity``.

    Costs ``(sensitivity / noise_scale)**2`` in mu^2 of Gaussian DP (Dong, Roth and Su, 2022).
    """

    mechanism: ClassVar[str] = "gaussian"


@dataclass(frozen=True, kw_only=True)
class ExponentialEvent(Event):
    """A choice by the exponential mechanism, or equivalently by Gumbel report-noisy-max.

    ``sensitivity`` is the *range*: the most by which the difference of two candidates' scores can
    move. ``noise_scale`` is the scale of the Gumbel noise on each score. Their ratio eta makes the
    choice eta-bounded-range, which is (eta^2 / 8)-zCDP (Cesar and Rogers, 2021).
    """

    mechanism: ClassVar[str] = "exponential"


@dataclass(frozen=True, kw_only=True)
class NonPrivateEvent(Event):
    """An exact answer. It makes every total infinite, which is the honest receipt for it."""

    mechanism: ClassVar[str] = "non_private"

    sensitivity: float = inf
    noise_scale: float = 0.0

    def __post_init__(self) -> None:
        if isfinite(self.sensitivity) or self.noise_scale != 0:
            raise ValueError("NonPrivateEvent has no noise; its sensitivity is infinite.")
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbationEvent(Event):
    """The minimiser of an objective to which a random linear function was added.

    ``sensitivity`` is the most by which the gradient of the objective can move at one point, and
    ``noise_scale`` the standard deviation of the random slope. A release of this kind has to be
    more than half of what its ledger holds. See :mod:`skdp.privacy.perturbation`.

    Parameters
    ----------
    query : str
        Name of the question that was answered.
    sensitivity : float
        See above.
    noise_scale : float
        See above.
    count : int, default=1
        Ledgers take no other.
    jacobian : float
        Bound on the logarithm of the ratio of the two Jacobian determinants.
    output_sensitivity : float
        Most by which the computed minimisers of neighbours, both for slopes with the same exact
        minimiser, can be apart.
    output_noise_scale : float
        Standard deviation of the Gaussian noise on the computed minimiser.
    """

    mechanism: ClassVar[str] = "objective_perturbation"
    least_share: ClassVar[float] = 0.51

    jacobian: float
    output_sensitivity: float
    output_noise_scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("jacobian", "output_sensitivity", "output_noise_scale"):
            if not getattr(self, name) >= 0:
                raise ValueError(
                    f"{type(self).__name__} needs a {name} >= 0, got {getattr(self, name)}."
                )


@dataclass(frozen=True, kw_only=True)
class SampledGaussianEvent(Event):
    """Gaussian noise on a sum over rows that are drawn in secret, each with a known probability.

    Rows are drawn independently (Poisson sampling), afresh for each release. ``sensitivity`` is
    what a neighbour can change if the row in question is drawn: twice the bound on a row under
    replace-one and once under zero-out. The two relations have different dominating pairs, so the
    event says which one is meant. See :mod:`skdp.privacy.subsampling`.

    Parameters
    ----------
    query : str
        Name of the question that was answered.
    sensitivity : float
        See above.
    noise_scale : float
        Standard deviation of the noise.
    count : int, default=1
        How many such releases.
    sampling_rate : float
        Probability with which a row is drawn, in (0, 1].
    adjacency : Adjacency
        Neighbouring relation.
    """

    mechanism: ClassVar[str] = "sampled_gaussian"

    sampling_rate: float
    adjacency: Adjacency

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.sampling_rate <= 1:
            raise ValueError(
                f"{type(self).__name__} needs a sampling rate in (0, 1], got {self.sampling_rate}."
            )

    @property
    def noise_multiplier(self) -> float:
        """Noise in units of the bound on a row."""
        return self.noise_scale / (self.sensitivity / self.adjacency.of_sum(1.0))
