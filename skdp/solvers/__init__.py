"""Solvers, one algorithm a file. The file name is the option string."""

from .accmd import AccMD
from .adaptive_gd import AdaptiveGD
from .adassp import AdaSSP
from .base import Solution, Solver, Uncertainty
from .batch_solvers import BATCH_SOLVERS, batch_kind_of
from .blocks import Blocks, within_a_block
from .dda import DDA, DualNodes
from .descent import Descent, TailMean
from .descent_rules import DescentRule, DescentSolver
from .dual_averaging import DualAveraging
from .frank_wolfe import FrankWolfe, axis_vertices_of, steps_for
from .ftrl import FTRL
from .gd import GD
from .minibatch_noise import plan_block
from .objective_perturbation import ObjectivePerturbation
from .one_step import OneStep
from .online_frank_wolfe import in_default_ball
from .ppm import PPM
from .preconditioned_gd import PreconditionedGD
from .quantile_gd import QuantileGD
from .screening import Screening, minimise_model
from .shrinkage import Course, at_honest_scale, direction_of_constant, towards_start
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
    "Course",
    "Descent",
    "DescentRule",
    "DescentSolver",
    "DualAveraging",
    "DualNodes",
    "FrankWolfe",
    "ObjectivePerturbation",
    "OneStep",
    "PreconditionedGD",
    "QuantileGD",
    "Screening",
    "Solution",
    "Solver",
    "Spider",
    "StreamingSolver",
    "TailMean",
    "Temperature",
    "TrackedGD",
    "Uncertainty",
    "at_honest_scale",
    "axis_vertices_of",
    "direction_of_constant",
    "in_default_ball",
    "kind_of",
    "minimise_model",
    "plan_block",
    "plan_temperature",
    "steps_for",
    "towards_start",
    "within_a_block",
]

SOLVERS: dict[str, type[Solver]] = dict(sorted((BATCH_SOLVERS | {Blocks.option(): Blocks}).items()))


def kind_of(solver: str | Solver) -> type[Solver]:
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
    # Estimators have checked theirs, so that what is unknown is the solver of a block.
    known = SOLVERS.get(solver) if isinstance(solver, str) else None
    return batch_kind_of(solver) if known is None else known
