"""Preconditioning: a private stage before the solver, one kind a file."""

from .base import Preconditioner
from .class_frequencies import (
    asks_for_counts,
    balancing_offset,
    curvatures_at_start,
    with_class_prior,
)
from .frequency_scaling import FrequencyScaling
from .iterative_whitening import IterativeWhitening
from .target_mean import share_of_mean, share_of_rate, with_mean_rate, with_target_mean
from .whitening import Whitening
from .wide_whitening import WideWhitening, whitened_mean_square

__all__ = [
    "FrequencyScaling",
    "IterativeWhitening",
    "Preconditioner",
    "Whitening",
    "WideWhitening",
    "asks_for_counts",
    "balancing_offset",
    "curvatures_at_start",
    "share_of_mean",
    "share_of_rate",
    "whitened_mean_square",
    "with_class_prior",
    "with_mean_rate",
    "with_target_mean",
]

OPTIONS = ("auto", "diagonal", "full", "wide")
