"""Solvers, one algorithm a file. The file name is the option string."""

from ..losses import Logistic, Softmax, Squared
from ..problem import Problem
from ..regularizers import L1
from .accmd import AccMD
from .adaptive_gd import AdaptiveGD
from .adassp import AdaSSP
from .base import Solution, Solver
from .dual_averaging import DualAveraging
from .gd import GD
from .objective_perturbation import ObjectivePerturbation
from .ppm import PPM
from .screening import Screening
from .spider import Spider
from .svrg import SVRG
from .tracked_gd import TrackedGD

__all__ = [
    "GD",
    "PPM",
    "SOLVERS",
    "SVRG",
    "AccMD",
    "AdaSSP",
    "AdaptiveGD",
    "DualAveraging",
    "ObjectivePerturbation",
    "Screening",
    "Solution",
    "Solver",
    "Spider",
    "TrackedGD",
    "choose",
]

SOLVERS: dict[str, type[Solver]] = {
    solver.option(): solver
    for solver in (
        AccMD,
        AdaptiveGD,
        AdaSSP,
        DualAveraging,
        GD,
        ObjectivePerturbation,
        PPM,
        Screening,
        Spider,
        SVRG,
        TrackedGD,
    )
}


# Fewer rows do not tell at ordinary budgets which of the features matter, and so few features can
# all be fitted.
_FEW_ROWS, _FEW_FEATURES = 400, 20


def choose(solver: str | Solver, problem: Problem) -> Solver:
    """The solver for a problem.

    Parameters
    ----------
    solver : str or Solver
        An option string, a configured solver, or ``'auto'``, which decides by public facts:
        ``'screening'`` for squared loss with an l1 penalty unless rows and features are few,
        ``'tracked_gd'`` for regression in conditioned coordinates, ``'dual_averaging'`` for
        classification of sparse rows there, ``'gd'`` for all else.
    problem : Problem
        What is to be solved.
    """
    if isinstance(solver, Solver):
        return solver
    if solver == "auto":
        conditioned = problem.bounds.row_map is not None
        tracked = conditioned and isinstance(problem.loss, TrackedGD.losses)
        solver = "tracked_gd" if tracked else "gd"
        if conditioned and problem.wide and isinstance(problem.loss, Logistic | Softmax):
            solver = "dual_averaging"
        sparse = isinstance(problem.regularizer, L1) and isinstance(problem.loss, Squared)
        if sparse and not (problem.n_samples < _FEW_ROWS and problem.n_features <= _FEW_FEATURES):
            solver = "screening"
    return SOLVERS[solver]()
