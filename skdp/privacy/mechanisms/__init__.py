"""Mechanisms: how an exact answer becomes a private one."""

from ...validation import shown
from .blt import BLT, decay_rates
from .gaussian import GaussianMechanism, SampledGaussian, ThresholdMechanism
from .gumbel import GumbelMechanism
from .mask_exposure import exposure, exposure_bound, exposure_of_all_pairs
from .noise_grid import noisy_on_grid, spacing
from .perturbed_objective import (
    ObjectivePerturbation,
    PurePerturbation,
    largest_jacobian,
    largest_pure_jacobian,
)
from .prefix_sums import PrefixSumMechanism
from .site_noise import SiteNoise, Trust
from .toeplitz import Toeplitz
from .tree import Tree

__all__ = [
    "BLT",
    "PREFIX_SUMS",
    "GaussianMechanism",
    "GumbelMechanism",
    "ObjectivePerturbation",
    "PrefixSumMechanism",
    "PurePerturbation",
    "SampledGaussian",
    "SiteNoise",
    "ThresholdMechanism",
    "Toeplitz",
    "Tree",
    "Trust",
    "decay_rates",
    "exposure",
    "exposure_bound",
    "exposure_of_all_pairs",
    "largest_jacobian",
    "largest_pure_jacobian",
    "noisy_on_grid",
    "prefix_sums_by",
    "spacing",
]

PREFIX_SUMS: dict[str, type[PrefixSumMechanism]] = {
    mechanism.option(): mechanism for mechanism in (BLT, Toeplitz, Tree)
}


def prefix_sums_by(option: str, length: int) -> PrefixSumMechanism:
    """The mechanism for running sums that a string selects.

    Parameters
    ----------
    option : str
        ``'blt'``, the usual choice; ``'toeplitz'``, which has the least error and takes the memory
        of all terms; ``'tree'``, the classic.
    length : int
        Number of terms.
    """
    if option not in PREFIX_SUMS:
        raise ValueError(
            f"Prefix sums need a mechanism in {sorted(PREFIX_SUMS)}, got {shown(option)}; "
            "'blt' is the usual choice."
        )
    return PREFIX_SUMS[option](length)
