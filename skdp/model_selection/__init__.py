"""Private choice of hyperparameters."""

from .accounts import ApproximateSearch, ConcentratedSearch, GaussianSearch, account_for
from .candidates import silence
from .searches import DPGridSearchCV, DPRandomizedSearchCV

__all__ = [
    "ApproximateSearch",
    "ConcentratedSearch",
    "DPGridSearchCV",
    "DPRandomizedSearchCV",
    "GaussianSearch",
    "account_for",
    "silence",
]
