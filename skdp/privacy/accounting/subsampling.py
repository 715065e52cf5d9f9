r"""Poisson-sampled Gaussian releases beside others, by way of dp-accounting.

What is released
----------------
For a sampled release each row is drawn with probability q, independently and in secret. The drawn
rows' vectors, each of norm at most C, are added up, and noise ``N(0, (z C)^2 I)`` goes on the sum.
C may depend on earlier answers; the rate q and the multiplier z are fixed in advance.

The dominating pair
-------------------
Given which of the *other* rows are drawn, neighbours that differ in one row have, in units of C,

    P = (1 - q) N(0, z^2 I) + q N(u, z^2 I),    Q = (1 - q) N(0, z^2 I) + q N(v, z^2 I),

``||u||, ||v|| <= 1``; under zero-out one of the two is 0. *Under replace-one the pair of u = e,
v = -e with a unit vector e dominates all others*; under zero-out that of u = e, v = 0 and its
exchange do. Sampling never costs more than taking every row, which is Gaussian DP of mu = 2 / z
under replace-one and 1 / z under zero-out. Proof: theorem S1 of ``docs/proofs/subsampling.md``.

The filter
----------
Let G be what may be spent on Gaussian releases, as mu^2, and k the number of sampled releases that
are reserved, for each noise multiplier. *Whatever the analyst asks, with answers in view, as long
as prices sum to at most G and sampled releases of each multiplier number at most their k, the
transcript is dominated by a sqrt(G)-Gaussian release next to all of the k's independent dominating
pairs.* Under zero-out each of the two directions is a filter of its own, and the worse of both
counts. Proof: theorem S2 there. This is why the rate and the multipliers may not be chosen on the
way, and why what is left unused of a block is not given back.

Numbers come from the privacy loss distributions of dp-accounting, which rounds towards more loss,
but for the rounding of Fourier transforms, far below 1e-10 in delta. Under replace-one it takes a
multiplier by the row and doubles by itself. Where epsilon is above 30, delta below 1e-10, or q = 1,
the bound that every row is taken is used instead.

Sources: Zhu, Dong and Wang (2022) for dominating pairs and zero-out; Lebeda, Regehr, Kamath and
Steinke (2024) for what goes wrong if the two directions, or the two relations, are mixed up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import ceil, expm1, floor, inf, isinf, log, log2, sinh, sqrt
from typing import Any

from scipy.optimize import brentq

from ..adjacency import Adjacency
from . import gdp

# Beyond it the distributions are long, and sampling saves little.
_LARGEST_EPSILON = 30.0
# Losses are not told apart more finely than for a total of this.
_LEAST_EPSILON = 1e-4
# Below it the rounding of Fourier transforms might show.
_LEAST_DELTA = 1e-10
# Spacing of losses for a single release with a total of epsilon = 1. What it rounds off adds up as
# variances do, so that it shrinks with the root of the number of releases; by factors of two, so
# that distributions are found again.
_GRID, _OF_PAIRS = 1e-2, 5e-3
# So many losses are in memory at most, of a normal that is cut off at so many standard deviations.
_MOST_LOSSES, _TAILS = 2e7, 10.0
_PRECISION = 2e-4
# Below it exponentials of z^-2 stay in double precision.
_LARGEST_EXPONENT = 500.0


@dataclass(frozen=True)
class SampledReleases:
    """Sampled releases of one kind.

    Parameters
    ----------
    rate : float
        Sampling rate, in (0, 1].
    noise_multiplier : float
        Standard deviation of the noise in units of the bound on a row.
    count : int
        How many.
    adjacency : Adjacency
        Neighbouring relation.
    """

    rate: float
    noise_multiplier: float
    count: int
    adjacency: Adjacency


_Sampled = tuple[SampledReleases, ...]


def unsampled_price(sampled: SampledReleases) -> float:
    """Price in mu^2 of the releases if every row took part."""
    mu = sampled.adjacency.of_sum(1.0) / sampled.noise_multiplier
    return sampled.count * mu * mu


@lru_cache(maxsize=64)
def limit(sampled: _Sampled, epsilon: float, delta: float) -> float:
    """Largest mu^2 of Gaussian releases beside which sampled ones are (epsilon, delta)-DP.

    It is about 1e-3 of itself too small, and at most 0 if sampled ones alone are too much.

    Raises
    ------
    ImportError
        If dp-accounting is needed and missing.
    """
    if isinf(epsilon):
        return inf
    whole = gdp.mu(epsilon, delta)
    best = whole**2 - sum(map(unsampled_price, sampled))
    if as_if_all(sampled, epsilon, delta):
        return best
    grid = _grid(epsilon, sampled)

    def excess(mu: float) -> float:
        return _excess(_losses(mu * mu, sampled, grid), epsilon, delta)

    safe = sqrt(max(0.0, best))
    if excess(safe) > 0:
        return best
    # The Gaussian part alone may have all of delta.
    mu = float(brentq(excess, safe, whole * (1 + _PRECISION), xtol=_PRECISION * whole))
    while mu > safe:
        # What is returned has been tried.
        if excess(mu) <= 0:
            return mu * mu
        mu = max(safe, mu - _PRECISION * whole)
    return safe * safe


def epsilon(
    sampled: _Sampled,
    gaussian: float,
    delta: float,
    pairs: Sequence[tuple[float, float]] = (),
    about: float = inf,
) -> float:
    """Epsilon of sampled releases, Gaussian ones, and fits that are (epsilon, delta)-DP, together.

    The price of the Gaussian ones is in mu^2; ``pairs`` are the (epsilon, delta) of fits of which
    no more is known. It is rounded up. ``about`` is another upper bound on it, if there is one, and
    is returned where losses cannot be computed.

    Raises
    ------
    ImportError
        If dp-accounting is needed and missing.
    """
    if not gaussian < inf or any(s.noise_multiplier == 0 for s in sampled):
        return about
    if not pairs:
        about = min(about, gdp.epsilon(sqrt(gaussian + sum(map(unsampled_price, sampled))), delta))
    rough = gdp.epsilon(sqrt(gaussian + sum(map(rough_price, sampled))), delta)
    rough = min(about, max(rough, _LEAST_EPSILON) + sum(e for e, _ in pairs))
    if (as_if_all(sampled, rough, delta) and not pairs) or not 0 < rough < _LARGEST_EPSILON:
        return about
    if sum(d for _, d in pairs) >= delta or delta < _LEAST_DELTA:
        return about
    # What is rounded off the losses of pairs, which are single numbers, adds up as it is.
    grid = _grid(rough * (_OF_PAIRS if pairs else 1.0), sampled)
    losses = _losses(gaussian, sampled, grid, tuple(pairs))
    return min(about, float(losses.get_epsilon_for_delta(delta)))


def allows(sampled: _Sampled, gaussian: float, epsilon: float, delta: float) -> bool:
    """True if sampled releases, and Gaussian ones of this price, are (epsilon, delta)-DP."""
    losses = _losses(gaussian, sampled, _grid(epsilon, sampled))
    return _excess(losses, epsilon, delta) <= 0


def as_if_all(sampled: _Sampled, epsilon: float, delta: float) -> bool:
    """True where the bound that every row takes part is used."""
    beyond = epsilon > _LARGEST_EPSILON or delta < _LEAST_DELTA
    return beyond or all(s.rate == 1 for s in sampled)


def rough_price(sampled: SampledReleases) -> float:
    """Rough price in mu^2: the variance of the privacy loss, never more than without sampling."""
    whole, exponent = unsampled_price(sampled), sampled.noise_multiplier**-2
    if exponent > _LARGEST_EXPONENT:
        return whole
    replaced = sampled.adjacency is Adjacency.REPLACE_ONE
    spread = 4 * sinh(exponent) if replaced else expm1(exponent)
    return min(whole, sampled.count * sampled.rate**2 * spread)


def _grid(epsilon: float, sampled: _Sampled) -> float:
    """Spacing of losses; a wider one is as valid, only less sharp."""
    least = 0.0
    for z in {s.noise_multiplier for s in sampled}:
        least = max(least, 2.0 ** ceil(log2((1 / z + 2 * _TAILS) / z / _MOST_LOSSES)))
    count = sum(s.count for s in sampled) or 1
    return max(_GRID * 2.0 ** floor(log2(epsilon / sqrt(count))), least)


def _excess(losses: Any, epsilon: float, delta: float) -> float:
    return log(max(losses.get_delta_for_epsilon(epsilon), 1e-320)) - log(delta)


def _losses(
    gaussian: float,
    sampled: _Sampled,
    grid: float,
    pairs: tuple[tuple[float, float], ...] = (),
) -> Any:
    """Privacy losses of all together."""
    parts = [_sampled_losses(sampled, grid)] if sampled else []
    if gaussian:
        # Of a sum that moves by 1, the same in both directions.
        parts.append(_one(1 / sqrt(gaussian), 1.0, Adjacency.ZERO_OUT, grid))
    for (epsilon, delta), count in Counter(pairs).items():
        _, pld = _package()
        stated = pld.common.DifferentialPrivacyParameters(epsilon, delta)
        one = pld.from_privacy_parameters(stated, value_discretization_interval=grid)
        parts.append(one.self_compose(count))
    return reduce(lambda a, b: a.compose(b), parts)


@lru_cache(maxsize=4)
def _sampled_losses(sampled: _Sampled, grid: float) -> Any:
    kinds = [_one(s.noise_multiplier, s.rate, s.adjacency, grid) for s in sampled]
    composed = (one.self_compose(s.count) for one, s in zip(kinds, sampled, strict=True))
    return reduce(lambda a, b: a.compose(b), composed)


@lru_cache(maxsize=16)
def _one(z: float, rate: float, adjacency: Adjacency, grid: float) -> Any:
    """Losses of one release with noise of z times the bound on a row."""
    relations, pld = _package()
    return pld.from_gaussian_mechanism(
        z,
        sampling_prob=rate,
        value_discretization_interval=grid,
        neighboring_relation=(
            relations.REPLACE_ONE
            if adjacency is Adjacency.REPLACE_ONE
            else relations.ADD_OR_REMOVE_ONE
        ),
    )


def _package() -> tuple[Any, Any]:
    try:
        from dp_accounting import NeighboringRelation
        from dp_accounting.pld import privacy_loss_distribution
    except ImportError as missing:
        raise ImportError(
            "Accounting for rows that are drawn in secret needs the package dp-accounting; "
            "pip install 'skdp[minibatch]', or leave batch_size out."
        ) from missing
    return NeighboringRelation, privacy_loss_distribution
