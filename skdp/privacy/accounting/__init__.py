"""Accounting: what releases cost, and the ledger that they are charged to."""

from .calculus import (
    Calculus,
    GaussianDP,
    PerturbedGaussianDP,
    PureDP,
    SubsampledGaussianDP,
    ThresholdedGaussianDP,
    ZeroConcentratedDP,
)
from .default_delta import delta_for
from .events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    NonPrivateEvent,
    ObjectivePerturbationEvent,
    Part,
    PrefixSumEvent,
    PurePerturbationEvent,
    SampledGaussianEvent,
    SearchEvent,
    Site,
    SiteGaussianEvent,
    ThresholdEvent,
)
from .ledger import Budget, Ledger, PrivacySpent, Spend
from .subsampling import SampledReleases

__all__ = [
    "Budget",
    "Calculus",
    "Event",
    "ExponentialEvent",
    "GaussianDP",
    "GaussianEvent",
    "Ledger",
    "NonPrivateEvent",
    "ObjectivePerturbationEvent",
    "Part",
    "PerturbedGaussianDP",
    "PrefixSumEvent",
    "PrivacySpent",
    "PureDP",
    "PurePerturbationEvent",
    "SampledGaussianEvent",
    "SampledReleases",
    "SearchEvent",
    "Site",
    "SiteGaussianEvent",
    "Spend",
    "SubsampledGaussianDP",
    "ThresholdEvent",
    "ThresholdedGaussianDP",
    "ZeroConcentratedDP",
    "delta_for",
]
