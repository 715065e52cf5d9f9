"""What exact sums can be asked for."""

from __future__ import annotations

from ..conditioning import Conditioner
from ..data.base import BlockStore, RowStore
from ..privacy.calculus import Calculus, GaussianDP, SubsampledGaussianDP
from ..sites import Sites
from ..solvers import Solver

__all__ = ["check_conditioner", "check_rows", "check_solver"]


def check_solver(who: str, solver: Solver, calculus: Calculus, sites: Sites | None) -> None:
    """Refuse ``secure=True`` where some answer would not be an exact sum with Gaussian noise.

    Parameters
    ----------
    who : str
        The estimator.
    solver : Solver
        What asks.
    calculus : Calculus
        Of its ledger, which tells what kinds of answers it asks for.
    sites : Sites or None
        Where rows lie, if not all together.

    Raises
    ------
    ValueError
        With the way out.
    """
    gaussian = isinstance(calculus, GaussianDP | SubsampledGaussianDP)
    if not gaussian or solver.in_order or solver.federated or sites is not None:
        raise ValueError(
            f"{who} with secure=True needs a solver whose answers are sums over all rows at one "
            f"place with Gaussian noise, got {type(solver).__name__}; use solver='gd', or "
            "secure=False, which is private as well."
        )


def check_conditioner(who: str, conditioner: Conditioner | None, *, sparse: bool) -> None:
    """Refuse ``secure=True`` where sparse rows would have to be mapped, which writes them out.

    Parameters
    ----------
    who : str
        The estimator.
    conditioner : Conditioner or None
        The stage before the solver.
    sparse : bool
        Whether rows are sparse.

    Raises
    ------
    ValueError
        With the way out.
    """
    if sparse and conditioner is not None:
        raise ValueError(
            f"{who} with secure=True needs dense rows for its precondition, "
            f"{type(conditioner).__name__}, got sparse ones; pass precondition=None, or dense rows."
        )


def check_rows(who: str, rows: RowStore) -> None:
    """Refuse ``secure=True`` for rows that stay on other workers.

    Parameters
    ----------
    who : str
        The estimator.
    rows : RowStore
        The rows.

    Raises
    ------
    ValueError
        With the way out.
    """
    if not isinstance(rows, BlockStore):
        raise ValueError(
            f"{who} with secure=True needs rows that this process can read, got "
            f"{type(rows).__name__}; pass an array, a memory map or Chunks, or secure=False."
        )
