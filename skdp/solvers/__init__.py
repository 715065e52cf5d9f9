"""Solvers, one algorithm a file. The file name is the option string."""

from ..problem import Problem
from .base import Solution, Solver
from .gd import GD

__all__ = ["GD", "SOLVERS", "Solution", "Solver", "choose"]

SOLVERS: dict[str, type[Solver]] = {solver.option(): solver for solver in (GD,)}


def choose(solver: str | Solver, problem: Problem) -> Solver:
    """The solver for a problem.

    Parameters
    ----------
    solver : str or Solver
        An option string, a configured solver, or ``'auto'``, which decides by public facts: noisy
        gradient descent for every problem, as long as there is no other.
    problem : Problem
        What is to be solved.
    """
    del problem  # The only solver takes all problems.
    if isinstance(solver, Solver):
        return solver
    return SOLVERS["gd" if solver == "auto" else solver]()
