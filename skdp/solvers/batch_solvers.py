"""Option strings of the solvers that can fit a whole data set, or a block of a stream.

Blocks look theirs up here, so that this list cannot hold them.
"""

from typing import Any

from ..docstrings import complete
from ..validation import shown
from .accmd import AccMD
from .adaptive_gd import AdaptiveGD
from .adassp import AdaSSP
from .base import Solver
from .dda import DDA
from .dual_averaging import DualAveraging
from .frank_wolfe import FrankWolfe
from .ftrl import FTRL
from .gd import GD
from .objective_perturbation import ObjectivePerturbation
from .one_step import OneStep
from .ppm import PPM
from .preconditioned_gd import PreconditionedGD
from .quantile_gd import QuantileGD
from .screening import Screening
from .spider import Spider
from .svrg import SVRG
from .tracked_gd import TrackedGD

BATCH_SOLVERS: dict[str, type[Solver]] = {
    solver.option(): solver
    for solver in (
        AccMD,
        AdaptiveGD,
        AdaSSP,
        DDA,
        DualAveraging,
        FrankWolfe,
        FTRL,
        GD,
        ObjectivePerturbation,
        OneStep,
        PPM,
        PreconditionedGD,
        QuantileGD,
        Screening,
        Spider,
        SVRG,
        TrackedGD,
    )
}

for _kind in BATCH_SOLVERS.values():
    complete(_kind)


def batch_kind_of(solver: Any) -> type[Solver]:
    """Class of a configured solver, or the one that an option string of this list names.

    Parameters
    ----------
    solver : str or Solver
        An option string but ``'auto'`` and ``'blocks'``, or a configured solver.
    """
    if isinstance(solver, Solver):
        return type(solver)
    if not isinstance(solver, str) or solver not in BATCH_SOLVERS:
        raise ValueError(
            "Blocks needs a solver that is a Solver, 'auto' or one of "
            f"{', '.join(map(repr, BATCH_SOLVERS))}, got {shown(solver)}."
        )
    return BATCH_SOLVERS[solver]
