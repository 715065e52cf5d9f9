"""Solvers, one algorithm a file. The file name is the option string."""

from ..problem import Problem
from .base import Solution, Solver
from .gd import GD
from .tracked_gd import TrackedGD

__all__ = ["GD", "SOLVERS", "Solution", "Solver", "TrackedGD", "choose"]

SOLVERS: dict[str, type[Solver]] = {solver.option(): solver for solver in (GD, TrackedGD)}


def choose(solver: str | Solver, problem: Problem) -> Solver:
    """The solver for a problem.

    Parameters
    ----------
    solver : str or Solver
        An option string, a configured solver, or ``'auto'``, which decides by public facts:
        ``'tracked_gd'`` for regression in conditioned coordinates, ``'gd'`` for all else.
    problem : Problem
        What is to be solved.
    """
    if isinstance(solver, Solver):
        return solver
    if solver == "auto":
        tracked = problem.bounds.target is not None and problem.bounds.row_map is not None
        solver = "tracked_gd" if tracked else "gd"
    return SOLVERS[solver]()
