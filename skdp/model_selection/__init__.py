"""Private choice of hyperparameters."""

from .accounts import ApproximateSearch, ConcentratedSearch, GaussianSearch, account_for
from .grid import DPGridSearchCV
from .randomized import DPRandomizedSearchCV
from .trials import silence

__all__ = [
    "ApproximateSearch",
    "ConcentratedSearch",
    "DPGridSearchCV",
    "DPRandomizedSearchCV",
    "GaussianSearch",
    "account_for",
    "silence",
]
