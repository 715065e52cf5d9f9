"""Solvers, one algorithm a file. The file name is the option string."""

from typing import Any

from ..validation import shown
from .accmd import AccMD
from .adaptive_gd import AdaptiveGD
from .adassp import AdaSSP
from .base import Solution, Solver
from .blocks import Blocks, within_a_block
from .dda import DDA, DualNodes
from .descent import Descent, TailMean
from .dual_averaging import DualAveraging
from .frank_wolfe import FrankWolfe, steps_for, ways_of
from .ftrl import FTRL
from .gd import GD
from .objective_perturbation import ObjectivePerturbation
from .ppm import PPM
from .preconditioned_gd import PreconditionedGD
from .rules import DescentRule
from .screening import Screening, minimise_model
from .spider import Spider
from .streaming import StreamingSolver
from .svrg import SVRG
from .temperature import Temperature, plan_temperature
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
    "Descent",
    "DescentRule",
    "DualAveraging",
    "DualNodes",
    "FrankWolfe",
    "ObjectivePerturbation",
    "PreconditionedGD",
    "Screening",
    "Solution",
    "Solver",
    "Spider",
    "StreamingSolver",
    "TailMean",
    "Temperature",
    "TrackedGD",
    "kind_of",
    "minimise_model",
    "plan_temperature",
    "steps_for",
    "ways_of",
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
        PreconditionedGD,
        Screening,
        Spider,
        SVRG,
        TrackedGD,
    )
}


def kind_of(solver: Any) -> type[Solver]:
    """Class of a configured solver, or the one that an option string names.

    Parameters
    ----------
    solver : str or Solver
        An option string but ``'auto'``, or a configured solver.

    Raises
    ------
    ValueError
        If there is no such solver.
    """
    if isinstance(solver, Solver):
        return type(solver)
    # Estimators have checked theirs; that of blocks is looked at here first.
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(
            "Blocks needs a solver that is a Solver, 'auto' or one of "
            f"{', '.join(map(repr, SOLVERS))}, got {shown(solver)}."
        )
    return SOLVERS[solver]
