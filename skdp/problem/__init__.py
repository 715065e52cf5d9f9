"""Problem of a fit in public terms: losses, penalties, constraints, bounds; no rows."""

from .problem import Problem

__all__ = ["Problem"]
