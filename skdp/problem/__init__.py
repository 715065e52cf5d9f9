"""Problem of a fit in public terms: losses, penalties, constraints, bounds; no rows."""

from .axis_vertices import AxisVertices
from .bandit_problem import BanditProblem, ContextBounds
from .bounds import CountBounds, RowBounds, RowMap, TargetBounds
from .column_bounds import ColumnBounds, ColumnScaling
from .influence import InfluenceBounds
from .problem import Problem
from .sites import Sites

__all__ = [
    "AxisVertices",
    "BanditProblem",
    "ColumnBounds",
    "ColumnScaling",
    "ContextBounds",
    "CountBounds",
    "InfluenceBounds",
    "Problem",
    "RowBounds",
    "RowMap",
    "Sites",
    "TargetBounds",
]
