"""Pointwise losses: of a target and its score, never of the features behind the score."""

from .base import Loss
from .huber import Huber
from .logistic import Logistic
from .softmax import Softmax
from .squared import Squared

__all__ = ["Huber", "Logistic", "Loss", "Softmax", "Squared"]
