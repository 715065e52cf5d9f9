"""Noise of minibatches: blocks of releases over secret samples of rows, reserved beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from math import ceil, exp, log, sqrt

import numpy as np
from scipy.optimize import brentq

from ..exceptions import warn_user
from ..privacy.accounting.calculus import GaussianDP, SubsampledGaussianDP
from ..privacy.accounting.subsampling import allows, as_if_all, rough_price, unsampled_price
from ..privacy.adjacency import Adjacency
from ..problem.problem import Problem
from .base import Solver

# Noise, in units of a row's bound, below which sampling saves next to nothing.
_LEAST_MULTIPLIER = 0.5
# Levels of noise in a block of sampled releases, and the ratio of the highest to the lowest.
_LEVELS, _WIDEST = 8, 1e3
# Noise is found up to this factor, starting from a guess with steps of that.
_FOUND, _STEP = 1.006, 1.1


def refuse_batch_size(who: str, solver: Solver) -> None:
    """Refuse solvers with minibatches, for streams."""
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
    """The calculus of a fit with ``batch_size`` rows on average in each of its releases.

    Shares, room and budget are those of :func:`plan_block`. Warns if batches are so small that
    releases are noisier than those of all rows.
    """
    n, count = problem.n_samples, len(shares)
    block = plan_block(batch_size / n, shares, room, epsilon, delta, adjacency)
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


def plan_block(
    sampling_rate: float,
    shares: Sequence[float] | np.ndarray,
    room: float,
    epsilon: float,
    delta: float,
    adjacency: Adjacency,
) -> SubsampledGaussianDP:
    """The block of least noise that leaves a part of the budget to Gaussian releases.

    Nothing rests on it: the ledger prices the block by itself.

    Parameters
    ----------
    sampling_rate : float
        Probability with which a row is drawn, in (0, 1].
    shares : sequence of float
        For each release, in proportion to one over the variance of its noise. Rounded: there
        are at most 8 levels of noise, the highest at most 1000 times the lowest.
    room : float
        What is left, as a share of the budget in mu^2, in (0, 1).
    epsilon, delta : float
        The budget.
    adjacency : Adjacency
        Neighbouring relation.

    Raises
    ------
    ImportError
        If dp-accounting is needed and missing.
    """
    logs = np.minimum(-0.5 * np.log(np.asarray(shares) / np.max(shares)), log(_WIDEST))
    width = float(logs.max()) / (_LEVELS - 1)
    levels = np.exp(np.round(logs / width) * width) if width > 1e-9 else np.ones(logs.size)
    runs = tuple((z, len(list(run))) for z, run in groupby(levels.tolist()))
    shape = SubsampledGaussianDP(sampling_rate, runs, adjacency)
    return _in_units(shape, noise_unit(shape, room, epsilon, delta))


@lru_cache(maxsize=64)
def noise_unit(shape: SubsampledGaussianDP, room: float, epsilon: float, delta: float) -> float:
    """Least unit of noise with which a block of this shape leaves room for Gaussian releases.

    The shape has noise multipliers in this unit, and ``room`` is what is left, as a share of the
    budget in mu^2.
    """
    whole = GaussianDP().limit(epsilon, delta)
    gaussian = room * whole
    left = whole - gaussian
    # What would do without sampling does with it.
    most = sqrt(sum(map(unsampled_price, shape.sampled)) / left) * (1 + 1e-12)
    if as_if_all(_in_units(shape, most).sampled, epsilon, delta):
        return most

    def enough(unit: float) -> bool:
        return allows(_in_units(shape, unit).sampled, gaussian, epsilon, delta)

    def excess(log_unit: float) -> float:
        return log(sum(map(rough_price, _in_units(shape, exp(log_unit)).sampled)) / left)

    # As variances add up, by the central limit theorem, for a start.
    low = log(most)
    while excess(low) < 0 and low > log(most) - 50:
        low -= 1.0
    high = min(most, exp(brentq(excess, low, log(most) + 1e-9)) if excess(low) > 0 else exp(low))
    step = _STEP
    if enough(high):
        while enough(high / step):
            high /= step
    else:
        while not (high * step >= most or enough(high * step)):
            high *= step
        high = min(most, high * step)
    # Now it is enough, and a step less is not.
    while step > _FOUND:
        step = sqrt(step)
        if enough(high / step):
            high /= step
    return high


def _in_units(shape: SubsampledGaussianDP, unit: float) -> SubsampledGaussianDP:
    """The block with so many times the noise."""
    releases = tuple((unit * z, count) for z, count in shape.releases)
    return SubsampledGaussianDP(shape.sampling_rate, releases, shape.adjacency)
