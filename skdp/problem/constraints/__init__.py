"""Convex feasible sets. They carry no data, so solvers see them in the clear."""

from .base import Constraint, Polytope
from .box import Box
from .l1_ball import L1Ball
from .l2_ball import L2Ball
from .lp_ball import LpBall
from .non_negative import NonNegative
from .simplex import Simplex
from .unconstrained import Unconstrained

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
