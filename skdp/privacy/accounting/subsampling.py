r"""A block of Poisson-sampled Gaussian releases beside others: its room in (epsilon, delta).

What is released
----------------
For a sampled release each row is drawn with probability q, independently and in secret. The drawn
rows' vectors, each of norm at most C, are added up, and noise ``N(0, (z C)^2 I)`` goes on the sum.
C may depend on earlier answers; the rate q and the multiplier z are fixed in advance.

The dominating pair
-------------------
Given which of the *other* rows are drawn, neighbours that differ in one row have, up to a shift
that both share and in units of C,

    P = (1 - q) N(0, z^2 I) + q N(u, z^2 I),    Q = (1 - q) N(0, z^2 I) + q N(v, z^2 I),

``||u||, ||v|| <= 1``; under zero-out one of the two is 0. What the others do is mixed over, with
the same weights on both sides, and ``H_g(P, Q) = sup_A P(A) - g Q(A)`` is jointly convex. So it
suffices to bound it for a pair.

*Under replace-one no pair has a larger H_g, for any g >= 0, than u = e, v = -e with a unit vector
e*, a pair in one dimension. Proof. Let ``g >= 1`` (otherwise exchange P and Q, which turns the pair
into its mirror image, by ``H_g(P, Q) = 1 - g + g H_{1/g}(Q, P)``). With ``f_m`` the density of
``N(m, z^2 I)`` and ``a = (g - 1) (1 - q) / q >= 0``,

    H_g(P, Q) = q h(u, v),    h(u, v) = max_A  integral_A (f_u - a f_0 - g f_v).

The best A is ``{x : a f_0(x) / f_u(x) + g f_v(x) / f_u(x) <= 1}``, in which the two ratios are
multiples of ``exp(-<u, x> / z^2)`` and ``exp(-<u - v, x> / z^2)``. Hence ``A + s d`` lies in A for
``s >= 0`` and every d in the cone

    K(u, v) = {d : <u, d> >= 0 and <u - v, d> >= 0}.

Held at this A, ``integral_A f_u`` does not fall when u moves along d, since that is the measure of
``A - s d``, which contains A, at the old u; and ``integral_A f_v`` does not rise when v moves
against d. So h does not fall along a path on which u moves in directions of K(u, v), or v against
such directions: it is locally Lipschitz, and its derivative is the one at the best A held fixed.
Now

1. turn u around the origin, in the plane of u and v, away from v, until the two point in opposite
   directions: the tangent d has ``<u, d> = 0`` and ``<v, d> <= 0``, so it is in K;
2. lengthen u to norm 1 in its own direction d = u (where u = 0: in that of -v), and v to norm 1,
   which moves it against d = -v: both have ``<u, d> >= 0`` and ``<v, d> <= 0``.

At the end u = e and v = -e, and h has not fallen. The same two steps without v or without u show
that the pairs of zero-out are dominated by N(0) against ``(1 - q) N(0) + q N(e)`` and by its
exchange. Also, h falls as a grows and so H_g grows with q: sampling never costs more than taking
every row, which is Gaussian DP of mu = 2 / z under replace-one and 1 / z under zero-out.

The filter
----------
Let G be what may be spent on Gaussian releases, as mu^2, and k the number of sampled releases that
are reserved. Let ``B_(G, k)`` be the pair of a sqrt(G)-Gaussian release next to k independent
dominating pairs. *Whatever the analyst asks, with answers in view, as long as prices sum to at most
G and sampled releases number at most k, the transcript is dominated by B_(G, k).* Proof, by
induction over the number of releases; nothing is released in the state without any, and B_(G, k)
dominates that. Let the next one be Gaussian of price m. Given its answer, the rest is dominated by
``B_(G - m, k)``, by induction, and m is public by then. A release that is dominated by one pair
followed by what is dominated by another is dominated by their product (Zhu, Dong and Wang, 2022, on
adaptive composition), and Gaussian pairs of m and G - m multiply to that of G. If the next is
sampled, the product of its pair with ``B_(G, k - 1)`` is ``B_(G, k)``; that its C depends on the
past changes nothing, since in units of C the pair is the same. Stopping early is dominated too,
because ``B_(G', k')`` is a part of ``B_(G, k)`` for G' <= G and k' <= k. Transcripts without a
bound on their number are limits of those that are cut off. Under zero-out each of the two
directions is a filter of its own, and the worse of both counts.

This is why the rate and the multiplier may not be chosen on the way, and why what is left unused
of a block is not given back.

Numbers come from the privacy loss distributions of dp-accounting, which rounds towards more loss,
but for the rounding of Fourier transforms, far below 1e-10 in delta. Under replace-one it takes a
multiplier by the row and doubles by itself. Where epsilon is above 30, delta below 1e-10, or q = 1,
the bound that every row is taken is used instead.

Sources: Zhu, Dong and Wang (2022) for dominating pairs and zero-out; Lebeda, Regehr, Kamath and
Steinke (2024) for what goes wrong if the two directions, or the two relations, are mixed up. That
the antipodal pair dominates under replace-one is derived above.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import asinh, ceil, expm1, floor, inf, isinf, log, log1p, log2, sinh, sqrt
from typing import Any

from scipy.optimize import brentq

from ..adjacency import Adjacency
from . import gdp

__all__ = ["epsilon", "limit", "multiplier", "unsampled_price"]

# Beyond it the distributions are long, and sampling saves little.
_LARGEST_EPSILON = 30.0
# Below it the rounding of Fourier transforms might show.
_LEAST_DELTA = 1e-10
# Spacing of losses at this mu; it grows with mu, by factors of two so that blocks are found again.
_GRID, _AT_MU = 1e-4, 0.25
# So many losses are in memory at most, of a normal that is cut off at so many standard deviations.
_MOST_LOSSES, _TAILS = 2e7, 10.0
_PRECISION = 2e-4
# Below it exponentials of z^-2 stay in double precision.
_LARGEST_EXPONENT = 500.0


def unsampled_price(noise_multiplier: float, adjacency: Adjacency) -> float:
    """Price in mu^2 of one release if every row took part.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise in units of the bound on a row.
    adjacency : Adjacency
        Neighbouring relation.
    """
    mu = adjacency.of_sum(1.0) / noise_multiplier
    return mu * mu


def multiplier(rate: float, count: int, price: float, adjacency: Adjacency) -> float:
    """Noise multiplier with which a block costs about ``price`` in mu^2: a starting point.

    By the central limit theorem for many releases of a small rate, whose privacy loss has the
    variance ``rate^2`` times 4 sinh(z^-2) under replace-one and times exp(z^-2) - 1 under zero-out;
    never more than the multiplier that would do without sampling, which is exact.

    Parameters
    ----------
    rate : float
        Sampling rate, in (0, 1].
    count : int
        Number of releases.
    price : float
        What they may cost.
    adjacency : Adjacency
        Neighbouring relation.
    """
    ratio = price / (rate * rate * count)
    inverse = asinh(ratio / 4) if adjacency is Adjacency.REPLACE_ONE else log1p(ratio)
    return min(1 / sqrt(inverse), adjacency.of_sum(1.0) * sqrt(count / price))


@lru_cache(maxsize=64)
def limit(
    rate: float,
    noise_multiplier: float,
    count: int,
    adjacency: Adjacency,
    epsilon: float,
    delta: float,
) -> float:
    """Largest mu^2 of Gaussian releases with which the block is (epsilon, delta)-DP, rounded down.

    Parameters
    ----------
    rate, noise_multiplier, count, adjacency
        The block.
    epsilon, delta : float
        The promise.

    Returns
    -------
    float
        The limit, about 1e-3 of itself too small; at most 0 if the block alone is too much.

    Raises
    ------
    ImportError
        If dp-accounting is needed and missing.
    """
    if isinf(epsilon):
        return inf
    whole = gdp.mu(epsilon, delta)
    best = whole**2 - count * unsampled_price(noise_multiplier, adjacency)
    if rate == 1 or epsilon > _LARGEST_EPSILON or delta < _LEAST_DELTA:
        return best
    pair = _Block(rate, noise_multiplier, count, adjacency, _grid(whole, noise_multiplier))

    def excess(mu: float) -> float:
        return log(max(pair.beside(mu).get_delta_for_epsilon(epsilon), 1e-320)) - log(delta)

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
    rate: float,
    noise_multiplier: float,
    count: int,
    adjacency: Adjacency,
    total: float,
    delta: float,
) -> float:
    """Epsilon of the whole block with Gaussian releases of ``total`` in mu^2, rounded up.

    Parameters
    ----------
    rate, noise_multiplier, count, adjacency
        The block.
    total : float
        Gaussian releases, in mu^2.
    delta : float
        Slack.

    Raises
    ------
    ImportError
        If dp-accounting is needed and missing.
    """
    plain = gdp.epsilon(sqrt(total + count * unsampled_price(noise_multiplier, adjacency)), delta)
    beyond = gdp.epsilon(sqrt(total), delta) > _LARGEST_EPSILON or delta < _LEAST_DELTA
    if rate == 1 or beyond:
        return plain
    about = sqrt(total + _about(rate, noise_multiplier, count, adjacency))
    pair = _Block(rate, noise_multiplier, count, adjacency, _grid(about, noise_multiplier))
    return min(plain, float(pair.beside(sqrt(total)).get_epsilon_for_delta(delta)))


def _about(rate: float, z: float, count: int, adjacency: Adjacency) -> float:
    """Rough price of the block, in mu^2, as :func:`multiplier` sees it."""
    whole = unsampled_price(z, adjacency)
    exponent = 1 / (z * z)
    if exponent > _LARGEST_EXPONENT:
        return count * whole
    spread = 4 * sinh(exponent) if adjacency is Adjacency.REPLACE_ONE else expm1(exponent)
    return count * min(whole, rate * rate * spread)


def _grid(mu: float, z: float) -> float:
    """Spacing of losses; a wider one is as valid, only less sharp."""
    least = 2.0 ** ceil(log2((1 / z + 2 * _TAILS) / z / _MOST_LOSSES))
    return max(_GRID * 2.0 ** floor(log2(mu / _AT_MU)), least) if mu else least


@dataclass(frozen=True)
class _Block:
    """Privacy losses of a block."""

    rate: float
    z: float
    count: int
    adjacency: Adjacency
    grid: float

    def beside(self, mu: float) -> Any:
        """Privacy loss distribution of the block together with a mu-Gaussian release."""
        block = _composed(self)
        if mu == 0.0:
            return block
        return block.compose(self.single(self.adjacency.of_sum(1.0) / mu, 1.0))

    def single(self, z: float, rate: float) -> Any:
        """Privacy loss distribution of one release with noise of z times the bound on a row."""
        try:
            from dp_accounting import NeighboringRelation
            from dp_accounting.pld import privacy_loss_distribution
        except ImportError as missing:
            raise ImportError(
                "Accounting for minibatches needs the package dp-accounting; "
                "pip install 'skdp[subsampling]', or leave batch_size out."
            ) from missing
        relation = (
            NeighboringRelation.REPLACE_ONE
            if self.adjacency is Adjacency.REPLACE_ONE
            else NeighboringRelation.ADD_OR_REMOVE_ONE
        )
        return privacy_loss_distribution.from_gaussian_mechanism(
            z,
            sampling_prob=rate,
            value_discretization_interval=self.grid,
            neighboring_relation=relation,
        )


@lru_cache(maxsize=4)
def _composed(block: _Block) -> Any:
    return block.single(block.z, block.rate).self_compose(block.count)
