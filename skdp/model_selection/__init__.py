"""Private choice of hyperparameters."""

from .accounts import SearchAccount, account_for
from .candidates import silence
from .searches import DPGridSearchCV, DPRandomizedSearchCV

__all__ = [
    "DPGridSearchCV",
    "DPRandomizedSearchCV",
    "SearchAccount",
    "account_for",
    "silence",
]
