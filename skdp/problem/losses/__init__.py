"""Pointwise losses: of a target and its score, never of the features behind the score."""

from .base import Loss
from .hinge import Hinge
from .huber import Huber
from .huberised_hinge import HuberisedHinge
from .logistic import Logistic
from .sigmoid import Sigmoid
from .softmax import Softmax
from .squared import Squared
from .squared_hinge import SquaredHinge
from .sums_of_losses import MultiTarget, OneVsRest
from .tukey import Tukey

__all__ = [
    "Hinge",
    "Huber",
    "HuberisedHinge",
    "Logistic",
    "Loss",
    "MultiTarget",
    "OneVsRest",
    "Sigmoid",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "Tukey",
]
