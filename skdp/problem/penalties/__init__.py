"""Penalties on the weights. They carry no data, so solvers see them in the clear."""

from .base import Penalty
from .elastic_net import ElasticNet
from .l1 import L1
from .l2 import L2
from .none import NoPenalty
from .tikhonov import Tikhonov

__all__ = ["L1", "L2", "ElasticNet", "NoPenalty", "Penalty", "Tikhonov"]
