"""Blocks of releases over secret samples of the rows, reserved before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np

from ..exceptions import warn_user
from ..privacy.accounting.calculus import GaussianDP, SubsampledGaussianDP
from ..privacy.adjacency import Adjacency
from ..problem.problem import Problem
from .base import Solver

__all__ = ["check_batch_size", "refuse_batch_size", "reserve"]

# Noise, in units of a row's bound, below which sampling saves next to nothing.
_LEAST_MULTIPLIER = 0.5


def check_batch_size(solver: str, batch_size: int | None, problem: Problem) -> None:
    """Refuse batches of more rows than there are.

    Parameters
    ----------
    solver : str
        Who asks.
    batch_size : int or None
        The hyperparameter; None stands for all rows.
    problem : Problem
        With the number of rows.

    Raises
    ------
    ValueError
        If there are too few.
    """
    if batch_size is not None and batch_size > problem.n_samples:
        raise ValueError(
            f"{solver} needs a batch_size of at most the number of rows, {problem.n_samples}, got "
            f"{batch_size}. Leave batch_size out to take all of them."
        )


def refuse_batch_size(who: str, solver: Solver) -> None:
    """Refuse solvers with minibatches, for streams.

    Parameters
    ----------
    who : str
        Who asks.
    solver : Solver
        The solver.

    Raises
    ------
    ValueError
        If it has a batch size.
    """
    if getattr(solver, "batch_size", None) is not None:
        raise ValueError(
            f"{who} needs a solver that takes all rows of a block, got {solver!r}; leave "
            "batch_size out, which is for a fit of a whole data set."
        )


def reserve(
    solver: str,
    batch_size: int,
    shares: Sequence[float] | np.ndarray,
    room: float,
    problem: Problem,
    epsilon: float,
    delta: float,
    adjacency: Adjacency,
) -> SubsampledGaussianDP:
    """The calculus of a fit with minibatches.

    Parameters
    ----------
    solver : str
        Who asks.
    batch_size : int
        Rows that are drawn on average.
    shares : sequence of float
        For each release, in proportion to one over the variance of its noise.
    room : float
        Share of the budget that is left for all else.
    problem : Problem
        With the number of rows.
    epsilon, delta : float
        The whole budget.
    adjacency : Adjacency
        Neighbouring relation.

    Raises
    ------
    ImportError
        If dp-accounting is needed and missing.

    Warns
    -----
    UserWarning
        If batches are so small that releases are noisier than those of all rows.
    """
    n, count = problem.n_samples, len(shares)
    block = SubsampledGaussianDP.planned(batch_size / n, shares, room, epsilon, delta, adjacency)
    enough = n * sqrt(GaussianDP().limit(epsilon, delta) / count)
    z = block.reserves[0][0]
    if batch_size < n and (batch_size < enough or z < _LEAST_MULTIPLIER):
        advice = f"batch_size={ceil(enough)} or more" if enough < n else "batch_size=None"
        warn_user(
            f"{solver}(batch_size={batch_size}) makes its {count} releases over minibatches "
            f"noisier than those of all {n} rows (noise multiplier {z:.3g}). Use {advice}.",
            UserWarning,
        )
    return block
