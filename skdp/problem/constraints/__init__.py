"""Convex feasible sets. They carry no data, so solvers see them in the clear."""

from .base import Constraint, Polytope
from .box import Box
from .cones import NonNegative, Unconstrained
from .l1_ball import L1Ball
from .l2_ball import L2Ball
from .lp_ball import LpBall
from .simplex import Simplex

__all__ = [
    "Box",
    "Constraint",
    "L1Ball",
    "L2Ball",
    "LpBall",
    "NonNegative",
    "Polytope",
    "Simplex",
    "Unconstrained",
]
