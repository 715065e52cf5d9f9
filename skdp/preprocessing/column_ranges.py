"""Private bounds of single features: where nearly all values of each feature lie.

Two quantiles of every feature are searched for at once, by halving: each step asks for noisy counts
of rows below one edge for each quantile, and goes on in the half where the quantile is. The first
steps halve a grid of powers of 4 of both signs, so that no bound on the size of a feature has to be
known; the others halve the interval between two of them. A few rows, however large, move neither
quantile further than their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from scipy.special import ndtri

from ..exceptions import warn_user
from ..privacy.accounting.ledger import Budget, Spend
from ..privacy.adjacency import Adjacency
from ..privacy.oracle import Oracle
from ..problem.column_bounds import ColumnBounds

# 255 edges, 256 cells between and around them: the range of single precision.
_POWERS = 4.0 ** np.arange(-63, 64)
_EDGES = np.concatenate([-_POWERS[::-1], [0.0], _POWERS])
_ENDS = np.concatenate([[-(4.0**64)], _EDGES, [4.0**64]])
_COARSE_STEPS = 8
_LEAST_STEPS, _MOST_STEPS = 4, 12
# Where known bounds are halved instead: to a 256th at least.
_LEAST_WITHIN, _MOST_WITHIN = 8, 16
# A search in noise of this share of the rows finds nothing.
_BLIND = 0.25
# Sizes of features are looked for among 64 powers of 4, beyond which no more than so many rows lie.
_SIZES = 4.0 ** np.arange(-31, 32)
_STEPS_OF_SIZES, _TAIL_OF_SIZES = 6, 0.05
# Share of a budget for ranges that is spent on them; the rest goes to moments within them.
RANGES_OF_SCALE = 0.8
# Share of the rows beyond sizes, from which on columns that are zero in other rows count as hidden.
HIDES_THE_SELDOM = 0.08
# Quantiles at each end by which spread is judged, the largest share of rows for it where noise
# hides fewer, and the standard deviations from the middle at which values are held.
_QUANTILE, _MOST_OF_A_QUANTILE, _DEVIATIONS = 0.05, 0.15, 4.0
# Size of columns of zeros and ones, among powers of 4: a one is not below the edge 1.
_SMALL = 4.0
# Distance of quantiles, in units of the size, up to which they may be the same number.
_DEGENERATE = 2.0**-7
# A variance is known to a few standard deviations of its noise; less is as good as none.
_RESOLVED = 2.0
# Standard deviations from which on missing values are believed, and what each of them adds to the
# mean of squares.
_CERTAIN, _OFFSET = 4.0, 0.75
# Features in an interval as short as this around zero seem to be zero.
_NOTHING = 4.0**-62


@dataclass(frozen=True)
class Search:
    """Plan of a search for the bounds of features; settled from public facts.

    Parameters
    ----------
    steps : int
        Number of halvings between bounds that are known or found on the grid.
    coarse : int
        Number of halvings of the grid before.
    spend : Spend
        What each of them may cost.
    tail : float
        Share of the rows that each bound leaves out, about.
    """

    steps: int
    coarse: int
    spend: Spend
    tail: float

    @classmethod
    def planned(
        cls,
        adjacency: Adjacency,
        budget: Budget,
        n_samples: int,
        n_features: int,
        *,
        tail: float,
        within: bool,
    ) -> Search | None:
        """The finest search whose noise does not hide the tails; None if noise hides all.

        Each of the comparisons may go wrong by noise. So that none does, but once in a thousand
        fits, a tail has to be ``sqrt(2 log m) + 1`` standard deviations of the m counts; where the
        one that is wanted is smaller, it is made larger.

        Parameters
        ----------
        adjacency : Adjacency
            Neighbouring relation, which says how large the noise of a count is.
        budget : Budget
            What all steps may cost.
        n_samples, n_features : int
            Public sizes.
        tail : float
            Share of rows to leave out at each end.
        within : bool
            Whether bounds are known within which to search.
        """
        coarse = 0 if within else _COARSE_STEPS
        least, most = (_LEAST_WITHIN, _MOST_WITHIN) if within else (_LEAST_STEPS, _MOST_STEPS)
        for steps in range(most, least - 1, -1):
            spend = Spend(budget.amount / (coarse + steps))
            m = 2 * n_features * (coarse + steps)
            scale = adjacency.of_counts(2 * n_features) / sqrt(spend.amount)
            visible = (sqrt(2 * log(m)) + 1) * scale / n_samples
            if visible <= tail or steps == least:
                break
        return cls(steps, coarse, spend, max(tail, visible)) if visible <= _BLIND else None


def private_column_bounds(
    oracle: Oracle,
    budget: Budget,
    n_samples: int,
    n_features: int,
    *,
    tail: float,
    within: ColumnBounds | None = None,
    stretch: float = 1.0,
) -> ColumnBounds:
    """Intervals outside of which about ``tail`` of the rows lie at each end, feature by feature.

    Parameters
    ----------
    oracle : Oracle
        Asked for counts of rows below edges.
    budget : Budget
        What is spent on it.
    n_samples, n_features : int
        Public sizes.
    tail : float
        Share of rows to leave out at each end, in (0, 1/2). Where noise hides so few rows, more are
        left out.
    within : ColumnBounds, optional
        Bounds that are known; the search stays within.
    stretch : float, default=1.0
        By what intervals that are found are lengthened, about their middles.

    Returns
    -------
    ColumnBounds
        ``(-1, 1)`` for features that seem to be zero. If the budget is too small for the number of
        rows to see anything, nothing is asked, and all are ``within``, or ``(-1, 1)``, with a
        warning.
    """
    search = Search.planned(
        oracle.adjacency, budget, n_samples, n_features, tail=tail, within=within is not None
    )
    usual = ColumnBounds(-np.ones(n_features), np.ones(n_features)) if within is None else within
    if search is None:
        instead = "(-1, 1)" if within is None else "what bounds gives"
        warn_user(
            "The share of the budget set aside to find the ranges of features privately is too "
            f"small for this number of rows and features; {instead} is used for all. Pass bounds "
            "if you know them, or a larger epsilon.",
            UserWarning,
        )
        return usual
    oracle.note("ranges of columns")
    if within is None:
        low, high = _cells(oracle, search, n_samples, n_features)
    else:
        low, high = (np.repeat(end[:, None], 2, axis=1) for end in (within.low, within.high))
    low, high = _halved(oracle, search, n_samples, low, high)
    # Of the interval that holds the lower quantile its lower end, and the other way round.
    bottom, top = low[:, 0], high[:, 1]
    none = top - bottom < _NOTHING
    centre, half = 0.5 * bottom + 0.5 * top, stretch * (0.5 * top - 0.5 * bottom)
    low, high = (bottom, top) if stretch == 1 else (centre - half, centre + half)
    return ColumnBounds(np.where(none, usual.low, low), np.where(none, usual.high, high))


def _halved(
    oracle: Oracle,
    search: Search,
    n_samples: int,
    low: np.ndarray,
    high: np.ndarray,
    columns: tuple[int, ...] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals, (d, 2) each, in which halving has left the two quantiles."""
    wanted = n_samples * np.array([search.tail, 1 - search.tail])
    for _ in range(search.steps):
        middle = 0.5 * low + 0.5 * high
        counts = oracle.column_counts(middle, n_samples, spend=search.spend, columns=columns)
        above = counts < wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return low, high


def _cells(
    oracle: Oracle, search: Search, n_samples: int, n_features: int
) -> tuple[np.ndarray, np.ndarray]:
    """Ends, (d, 2) each, of the cells of the grid of powers of 4 in which the two quantiles lie."""
    wanted = n_samples * np.array([search.tail, 1 - search.tail])
    first = np.zeros((n_features, 2), dtype=np.intp)
    last = np.full((n_features, 2), _EDGES.size)
    for _ in range(search.coarse):
        middle = (first + last) // 2
        above = oracle.column_counts(_EDGES[middle], n_samples, spend=search.spend) < wanted
        first, last = np.where(above, middle + 1, first), np.where(above, last, middle)
    return _ENDS[first], _ENDS[first + 1]


def tail_of_sizes(adjacency: Adjacency, budget: Budget, n_samples: int, n_features: int) -> float:
    """Share of the rows beyond the sizes that :func:`private_column_sizes` finds.

    Parameters
    ----------
    adjacency : Adjacency
        Neighbouring relation.
    budget : Budget
        What is spent on it.
    n_samples, n_features : int
        Public sizes.
    """
    scale = adjacency.of_counts(n_features) / sqrt(budget.amount / _STEPS_OF_SIZES)
    visible = (sqrt(2 * log(n_features * _STEPS_OF_SIZES)) + 1) * scale / n_samples
    return max(_TAIL_OF_SIZES, visible)


def private_column_sizes(
    oracle: Oracle, budget: Budget, n_samples: int, n_features: int
) -> ColumnBounds:
    """Intervals about zero that hold most values of each feature, to a factor of 4.

    Rougher than :func:`private_column_bounds`, and found where noise hides more: one quantile of
    each feature is searched for in place of two, in a third of the steps.

    Parameters
    ----------
    oracle : Oracle
        Asked for counts of rows whose absolute values are below edges.
    budget : Budget
        What is spent on it.
    n_samples, n_features : int
        Public sizes.

    Returns
    -------
    ColumnBounds
        ``(-1, 1)`` for features that seem to be zero.
    """
    oracle.note("sizes of columns")
    spend = Spend(budget.amount / _STEPS_OF_SIZES)
    wanted = n_samples * (1 - tail_of_sizes(oracle.adjacency, budget, n_samples, n_features))
    first, last = np.zeros(n_features, dtype=np.intp), np.full(n_features, _SIZES.size)
    for _ in range(_STEPS_OF_SIZES):
        middle = (first + last) // 2
        edges = _SIZES[middle][:, None]
        above = oracle.column_counts(edges, n_samples, spend=spend, sizes=True)[:, 0] < wanted
        first, last = np.where(above, middle + 1, first), np.where(above, last, middle)
    # What lies below all edges seems to be zero; what lies beyond is held to the last.
    size = np.where(first == 0, 1.0, _SIZES[np.minimum(first, _SIZES.size - 1)])
    return ColumnBounds(-size, size)


def private_large_columns(
    oracle: Oracle, sizes: ColumnBounds, n_samples: int, budget: Budget
) -> ColumnBounds:
    """Ranges of the features whose sizes exceed 4, by two quantiles; others keep their intervals.

    Intervals about zero are wide for numbers such as altitudes and years, which vary little beside
    their size. Codes of 0 and 1 need not be paid for.

    Parameters
    ----------
    oracle : Oracle
        Asked for counts of rows below edges, of the larger features alone.
    sizes : ColumnBounds
        Intervals about zero, found by :func:`private_column_sizes`.
    n_samples : int
        Public size.
    budget : Budget
        What is spent on it.

    Returns
    -------
    ColumnBounds
        Some standard deviations about the middle of two quantiles, within ``sizes``, where that
        leaves zero out; ``sizes`` elsewhere, and for all features if so many are large that noise
        would hide quantiles, where nothing is spent.
    """
    large = np.flatnonzero(sizes.high > _SMALL)
    if not large.size:
        return sizes
    search = Search.planned(
        oracle.adjacency, budget, n_samples, large.size, tail=_QUANTILE, within=True
    )
    if search is None or search.tail > _MOST_OF_A_QUANTILE:
        return sizes
    oracle.note("ranges of large columns")
    first, last = (np.repeat(end[large, None], 2, axis=1) for end in (sizes.low, sizes.high))
    first, last = _halved(oracle, search, n_samples, first, last, tuple(map(int, large)))
    found = 0.5 * first + 0.5 * last
    half = 0.5 * (found[:, 1] - found[:, 0])
    middle, reach = found.mean(axis=1), _DEVIATIONS * half / ndtri(1 - search.tail)
    # Of a feature that is nearly always the same number both quantiles are that number. One whose
    # range holds zero has it in the middle of its size, and may have tails that say much.
    chosen = (half > _DEGENERATE * sizes.high[large]) & (np.abs(middle) > reach)
    large, middle, reach = large[chosen], middle[chosen], reach[chosen]
    low, high = sizes.low.copy(), sizes.high.copy()
    low[large] = np.maximum(low[large], middle - reach)
    high[large] = np.minimum(high[large], middle + reach)
    return ColumnBounds(low, high)


def private_column_moments(
    oracle: Oracle, bounds: ColumnBounds, n_samples: int, spend: Spend
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of features that are clipped to bounds.

    Parameters
    ----------
    oracle : Oracle
        Asked once.
    bounds : ColumnBounds
        Intervals of the features.
    n_samples : int
        Public size.
    spend : Spend
        What it costs.

    Returns
    -------
    (ndarray, ndarray)
        Means, within the bounds, and variances, each of shape (d,), of what is not missing. A
        variance is at least what noise leaves to see, so that a feature that hardly varies is not
        blown up.
    """
    oracle.note("means and variances of columns")
    moments = oracle.column_moments(bounds, n_samples, spend=spend)
    assert moments.missing is not None
    missing = np.where(moments.missing > _CERTAIN * moments.scale, moments.missing, 0.0)
    present = np.maximum(1.0 - missing, 1.0 / n_samples)
    means = np.clip(moments.means / present, -1.0, 1.0)
    least = min(_RESOLVED * moments.scale / sqrt(2.0), 1.0)
    squares = (moments.squares - _OFFSET * missing) / present
    variances = np.clip(squares - means**2, least, 1.0)
    return bounds.centre + bounds.half_width * means, variances * bounds.half_width**2
