"""Composition by privacy loss distributions, where dp-accounting is installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import floor, inf, log2, sqrt
from typing import Any

from ..adjacency import Adjacency
from .events import SampledGaussianEvent
from .ledger import PrivacySpent

__all__ = ["epsilon_by_distributions"]

# As in skdp.privacy.accounting.subsampling: beyond these, distributions are long or rounding might
# show.
_LARGEST_EPSILON, _LEAST_DELTA = 30.0, 1e-10
# Spacing of losses for a total of this epsilon; it grows with epsilon, by factors of two.
_GRID, _AT_EPSILON, _FINEST = 1e-4, 1.0, -6


def epsilon_by_distributions(
    gaussian: float,
    sampled: Sequence[SampledGaussianEvent],
    pairs: Sequence[PrivacySpent],
    delta: float,
    about: float,
) -> float:
    """Epsilon of Gaussian releases, sampled ones, and fits that are (epsilon, delta)-DP, together.

    Parameters
    ----------
    gaussian : float
        Price of the Gaussian releases in mu^2.
    sampled : sequence of SampledGaussianEvent
        Sampled releases.
    pairs : sequence of PrivacySpent
        The (epsilon, delta) of fits of which no more is known.
    delta : float
        Slack of the total.
    about : float
        Another bound, which says how fine losses have to be told apart.

    Returns
    -------
    float
        Rounded up; infinite if dp-accounting is not installed or the numbers are out of its range.
    """
    if any(e.noise_scale == 0 for e in sampled) or not gaussian < inf:
        return inf
    if not 0 < about < _LARGEST_EPSILON or not _LEAST_DELTA <= delta < 1:
        return inf
    if sum(p.delta for p in pairs) >= delta:
        return inf
    try:
        import dp_accounting
        from dp_accounting.pld import common
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError:
        return inf
    grid = _GRID * 2.0 ** max(_FINEST, floor(log2(about / _AT_EPSILON)))
    relation = dp_accounting.NeighboringRelation
    found: list[Any] = []
    if gaussian:
        # Of a sum that moves by 1, the same in both directions.
        found.append(
            pld.from_gaussian_mechanism(1 / sqrt(gaussian), value_discretization_interval=grid)
        )
    for event in sampled:
        replaced = event.adjacency is Adjacency.REPLACE_ONE
        one = pld.from_gaussian_mechanism(
            event.noise_multiplier,
            sampling_prob=event.sampling_rate,
            value_discretization_interval=grid,
            neighboring_relation=(relation.REPLACE_ONE if replaced else relation.ADD_OR_REMOVE_ONE),
        )
        found.append(one.self_compose(event.count))
    for pair, count in Counter(pairs).items():
        stated = common.DifferentialPrivacyParameters(pair.epsilon, pair.delta)
        one = pld.from_privacy_parameters(stated, value_discretization_interval=grid)
        found.append(one.self_compose(count))
    total = reduce(lambda a, b: a.compose(b), found)
    return float(total.get_epsilon_for_delta(delta))
