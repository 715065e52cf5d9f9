"""Private choice of hyperparameters."""

from .grid import DPGridSearchCV
from .randomized import DPRandomizedSearchCV

__all__ = ["DPGridSearchCV", "DPRandomizedSearchCV"]
