"""Conditioning: a private stage before the solver, one kind a file."""

from .base import Conditioner
from .class_prior import asks_for_counts, balancing_offset, with_class_prior
from .frequency_scaling import Damping
from .iterative_whitening import Looks
from .whitening import Whitening

__all__ = [
    "Conditioner",
    "Damping",
    "Looks",
    "Whitening",
    "asks_for_counts",
    "balancing_offset",
    "with_class_prior",
]

OPTIONS = ("auto", "diagonal", "full")
