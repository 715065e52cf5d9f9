"""Private choice of hyperparameters."""

from .accounts import ApproximateSearch, ConcentratedSearch, GaussianSearch, account_for
from .searches import DPGridSearchCV, DPRandomizedSearchCV
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
