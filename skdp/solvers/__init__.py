"""Solvers, one algorithm a file. The file name is the option string."""

from math import isfinite

from ..privacy.accounting.calculus import Calculus
from ..problem.constraints import L1Ball, Simplex
from ..problem.losses import Logistic, Softmax, Squared
from ..problem.penalties import L1
from ..problem.problem import Problem
from ..validation import shown
from .accmd import AccMD
from .adaptive_gd import AdaptiveGD
from .adassp import AdaSSP
from .base import Solution, Solver
from .blocks import Blocks, within_a_block
from .dda import DDA
from .dual_averaging import DualAveraging
from .frank_wolfe import PENALTIES, FrankWolfe
from .ftrl import FTRL
from .gd import GD
from .objective_perturbation import ObjectivePerturbation
from .ppm import PPM
from .screening import Screening
from .spider import Spider
from .svrg import SVRG
from .tracked_gd import TrackedGD

__all__ = [
    "DDA",
    "FTRL",
    "GD",
    "PPM",
    "SOLVERS",
    "SVRG",
    "AccMD",
    "AdaSSP",
    "AdaptiveGD",
    "Blocks",
    "DualAveraging",
    "FrankWolfe",
    "ObjectivePerturbation",
    "Screening",
    "Solution",
    "Solver",
    "Spider",
    "TrackedGD",
    "choose",
    "choose_for_stream",
    "settled_calculus",
    "within_a_block",
]

SOLVERS: dict[str, type[Solver]] = {
    solver.option(): solver
    for solver in (
        AccMD,
        AdaptiveGD,
        AdaSSP,
        Blocks,
        DDA,
        DualAveraging,
        FrankWolfe,
        FTRL,
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

# Share of the iterates of tracked_gd that are averaged if it starts at an earlier model.
_AVERAGE_FROM_A_MODEL = 0.8


# From so many features on, and so many a row, noisy vertices of an l1 ball or a simplex beat noisy
# gradients.
_MANY_FEATURES, _FEATURES_A_ROW = 100, 0.25


def choose(
    solver: str | Solver,
    problem: Problem,
    *,
    conditioned: bool | None = None,
    started: bool | None = None,
) -> Solver:
    """The solver for a problem.

    Parameters
    ----------
    solver : str or Solver
        An option string, a configured solver, or ``'auto'``, which decides by public facts:
        ``'dda'`` for rows at several sites, else
        ``'screening'`` for squared loss with an l1 penalty unless rows and features are few,
        ``'frank_wolfe'`` under an l1 ball or on a simplex with many features,
        ``'tracked_gd'`` for regression in conditioned coordinates, ``'dual_averaging'`` for
        classification of sparse rows there, ``'gd'`` for all else.
    problem : Problem
        What is to be solved.
    conditioned : bool, optional
        Whether rows will be in private coordinates. By default whether the problem's are.
    started : bool, optional
        Whether the fit will start at an earlier model. By default whether the problem names one.
    """
    if isinstance(solver, Solver):
        return solver
    if solver == "auto" and problem.sites is not None:
        solver = "dda"
    if solver == "auto":
        if conditioned is None:
            conditioned = problem.bounds.row_map is not None
        if started is None:
            started = problem.initial is not None
        tracked = conditioned and isinstance(problem.loss, TrackedGD.losses)
        solver = "tracked_gd" if tracked else "gd"
        if conditioned and problem.wide and isinstance(problem.loss, Logistic | Softmax):
            solver = "dual_averaging"
        sparse = isinstance(problem.regularizer, L1) and isinstance(problem.loss, Squared)
        if not conditioned and _many_vertices(problem):
            solver = "frank_wolfe"
        if sparse and not (problem.n_samples < _FEW_ROWS and problem.n_features <= _FEW_FEATURES):
            solver = "screening"
        # A start that is nearly right need not be waited for.
        if solver == "tracked_gd" and started:
            return TrackedGD(average=_AVERAGE_FROM_A_MODEL)
    return _kind(solver)()


def _kind(solver: object) -> type[Solver]:
    # Estimators have checked theirs; that of blocks is looked at here first.
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(
            "Blocks needs a solver that is a Solver, 'auto' or one of "
            f"{', '.join(map(repr, SOLVERS))}, got {shown(solver)}."
        )
    return SOLVERS[solver]


def _many_vertices(problem: Problem) -> bool:
    """True if moving towards one of many vertices at a time suits; alike for all total weights."""
    if not isinstance(problem.constraint, L1Ball | Simplex):
        return False
    if not isinstance(problem.regularizer, PENALTIES):
        return False
    many = max(_MANY_FEATURES, _FEATURES_A_ROW * problem.n_held)
    return problem.n_features >= many and isfinite(problem.loss.smoothness)


def settled_calculus(solver: str | Solver) -> Calculus | None:
    """Calculus of a fit, if the solver has the same whatever the problem; else None.

    Parameters
    ----------
    solver : str or Solver
        An option string but ``'auto'``, or a configured solver.
    """
    kind = type(solver) if isinstance(solver, Solver) else _kind(solver)
    return kind.calculus if kind.calculus_for is Solver.calculus_for else None


def choose_for_stream(solver: str | Solver, problem: Problem, *, buffer: bool) -> Solver:
    """The solver for a stream.

    Parameters
    ----------
    solver : str or Solver
        An option string, a configured solver, or ``'auto'``, which decides by public facts:
        ``'blocks'`` if rows may be kept for a while; if not, ``'frank_wolfe'`` for an l1 ball or a
        simplex and a smooth loss, else ``'ftrl'``.
    problem : Problem
        What is to be solved.
    buffer : bool
        Whether rows may be kept until their block is full.
    """
    if isinstance(solver, Solver):
        return solver
    if solver == "auto":
        vertices = isinstance(problem.constraint, L1Ball | Simplex)
        without = "frank_wolfe" if vertices and isfinite(problem.loss.smoothness) else "ftrl"
        solver = "blocks" if buffer else without
    return SOLVERS[solver]()
