"""Private ranges of single features: an interval for each that holds nearly all of its values.

First all features are looked at in one release, in which each row has one vote that it divides
among its entries, for a sign and a power of 2 each; its noise does not grow with their number.
Then the features that are seen are cut into cells, once or twice, to find where between zero and
that size they lie. All of it is counts, so that a few rows, however large, move nothing further
than their number. Proof: theorem C5 of ``docs/proofs/columns_and_metrics.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from ..privacy.accounting.ledger import Budget, Spend
from ..privacy.adjacency import Adjacency
from ..privacy.oracle import Noisy, Oracle
from ..privacy.queries.columns import EXPONENTS, LEAST_EXPONENT
from ..problem.column_bounds import ColumnBounds

# Evidence (see `evidence_of`) below which nothing can be seen, so that nothing is asked; up to
# which most, or many, ranges are missed; and up to which nothing is spent on a second zoom.
BLIND, POOR, ROUGH, _RICH = 5.0, 8.0, 16.0, 40.0
# Columns of a table of which nothing is known that are taken to be no codes, at most.
_NO_CODES = 30
# Share of mu^2 for ranges: as if a column had to stand out by so many deviations of the noise.
_WANTED, _LEAST_SHARE, _MOST_SHARE = 30.0, 0.10, 0.20
# Shares of that for votes, cells and cells once more; without evidence for a second zoom.
_SPLIT, _SPLIT_WITHOUT_ZOOM = (0.4, 0.4, 0.2), (0.45, 0.55)
# Numbers of neighbouring powers of 2 that a column is looked for in together.
_WIDTHS = (1, 2, 3, 4, 6)
# What may be seen by chance: windows of a column that is known to need a range, and of one that
# may be a code, which is lost where it seems to have one.
_CHANCES, _CHANCES_OF_CODES = 2.0 * EXPONENTS, 30.0 * EXPONENTS
# Standard deviations more for targets: a wrong range of theirs spoils all predictions.
_SURE_OF_TARGETS = 0.4
# Neighbours of a window belong to it from so many deviations and this share of it on.
_SEEN, _TAIL = 2.5, 0.02
# Cells of an interval; halved while a row in each would be hidden, but not below the second.
_CELLS, _LEAST_CELLS = 32, 8
# Rows in units of the noise that make a zoom worth asking for, and that are all it needs.
_WORTH, _ENOUGH = 6.0, 25.0
# An interval is lengthened by this at each end before it is cut into cells, and zoomed into again
# where a column fills no more of it.
_PAD = _NARROW = 0.25
# A cell is taken for a part of the column from this share of the rows on.
_PRUNE = 0.002
# By how much hidden rows stretch an interval, and by what an end away from 0 is lengthened.
_STRETCH, _LONGER = 2.0, 1.3
# Standard deviations of noise from which on a count of rows elsewhere is believed.
_CERTAIN = 3.0
# A variance is known to a few standard deviations of its noise; less is as good as none.
_RESOLVED = 2.0
# Standard deviations from which on missing values are believed, and what each of them adds to the
# mean of squares.
_VISIBLE, _OFFSET = 4.0, 0.75


@dataclass(frozen=True, eq=False)
class FoundRanges:
    """Intervals of features.

    Parameters
    ----------
    bounds : ColumnBounds
        Of the k features that were searched; ``(-1, 1)`` for those that were not seen.
    seen : ndarray of bool of shape (k,)
        Which features were seen.
    """

    bounds: ColumnBounds
    seen: np.ndarray


def voting(n_columns: int, *, codes: bool) -> int:
    """Number of columns by which entries of a row are taken to divide their vote.

    Parameters
    ----------
    n_columns : int
        Number of columns that are searched.
    codes : bool
        Whether some may be codes of 0, 1 and -1, which do not vote; few tables have more than 30
        other columns.
    """
    return min(n_columns, _NO_CODES) if codes else n_columns


def evidence_of(adjacency: Adjacency, budget: Budget, n_samples: int, n_columns: int) -> float:
    """Standard deviations by which one column stands out whose rows all vote for one cell.

    Were the whole budget spent on the votes: ``n mu / sqrt(2 k)`` under replace-one. Below 8 most
    ranges are missed, up to 16 a third, and from 24 on few.

    Parameters
    ----------
    adjacency : Adjacency
        Neighbouring relation.
    budget : Budget
        For ranges.
    n_samples, n_columns : int
        Public numbers of rows and of columns that vote.
    """
    return n_samples * sqrt(budget.amount / max(1, n_columns)) / adjacency.of_histogram()


def outlook_of(evidence: float) -> str:
    """Words on what public facts let expect of a search; empty if nearly all will be found.

    Parameters
    ----------
    evidence : float
        See :func:`evidence_of`.
    """
    if evidence >= ROUGH:
        return ""
    return "most will not be found" if evidence < POOR else "a half may not be found"


def share_of_ranges(adjacency: Adjacency, whole: Budget, n_samples: int, n_columns: int) -> float:
    """Share of a budget that ranges are worth.

    Parameters
    ----------
    adjacency : Adjacency
        Neighbouring relation.
    whole : Budget
        The budget.
    n_samples, n_columns : int
        Public numbers of rows and of columns that vote.
    """
    evidence = evidence_of(adjacency, whole, n_samples, n_columns)
    return min(max((_WANTED / evidence) ** 2, _LEAST_SHARE), _MOST_SHARE)


def private_column_ranges(
    oracle: Oracle,
    budget: Budget,
    n_samples: int,
    columns: tuple[int, ...],
    *,
    codes: bool = True,
    within: ColumnBounds | None = None,
) -> FoundRanges:
    """Intervals that hold nearly all values of each feature.

    Parameters
    ----------
    oracle : Oracle
        Asked for votes and for counts.
    budget : Budget
        Most that is spent on it; what is not needed stays.
    n_samples : int
        Public number of rows, or what they weigh together.
    columns : tuple of int
        The k features that are searched.
    codes : bool, default=True
        Whether some of them may be codes of 0, 1 and -1, which need no range.
    within : ColumnBounds, optional
        Bounds of these features that are known; the search stays within.

    Returns
    -------
    FoundRanges
        Those of the features. Nothing is asked, and none is seen, where noise would hide all.
    """

    def look(spend: Spend) -> Noisy:
        return oracle.magnitude_votes(columns, spend=spend)

    def place(bounds: ColumnBounds, cells: int, some: np.ndarray, spend: Spend) -> Noisy:
        asked = tuple(columns[j] for j in some)
        return oracle.column_cells(bounds, cells, asked, spend=spend)

    k, relation = len(columns), oracle.adjacency
    evidence = evidence_of(relation, budget, n_samples, voting(k, codes=codes))
    if evidence < BLIND:
        usual = ColumnBounds(-np.ones(k), np.ones(k)) if within is None else within
        return FoundRanges(usual, np.full(k, within is not None))
    if within is not None:
        found = FoundRanges(within, np.ones(k, dtype=bool))
        parts = budget.split(2)
    else:
        first, *parts = budget.split(_SPLIT if evidence >= _RICH else _SPLIT_WITHOUT_ZOOM)
        sure = sqrt(2.0 * log((_CHANCES_OF_CODES if codes else _CHANCES) * k))
        found = _read_votes(look(first), sure)
    fine = parts if evidence >= _RICH else [_enough(p, n_samples, found) for p in parts]
    return _zoomed(found, place, fine, n_samples, relation, within=within)


def private_target_range(
    oracle: Oracle, budget: Budget, n_samples: int, *, column: int | None = None
) -> tuple[float, float] | None:
    """An interval that holds nearly all targets; None if they are not seen.

    Parameters
    ----------
    oracle : Oracle
        Asked for histograms of targets.
    budget : Budget
        Most that is spent on it; what is not needed stays.
    n_samples : int
        Public number of rows, or what they weigh together.
    column : int, optional
        Which target, where rows have several.
    """

    def place(bounds: ColumnBounds, cells: int, some: np.ndarray, spend: Spend) -> Noisy:
        del some
        edges = np.linspace(bounds.low[0], bounds.high[0], cells + 1)
        below, *inside, above = oracle.histogram("target", edges, spend=spend, column=column)
        # Zeros are in their cell, and none is missing.
        counts = np.array([[*inside, below, above, 0.0, 0.0]])
        return Noisy(counts, relation.of_histogram() / sqrt(spend.amount))

    relation = oracle.adjacency
    evidence = evidence_of(relation, budget, n_samples, 1)
    if evidence < BLIND:
        return None
    first, *parts = budget.split(_SPLIT)
    powers = 2.0 ** np.arange(LEAST_EXPONENT - 1, LEAST_EXPONENT + EXPONENTS - 1)
    edges = np.concatenate([-powers[::-1], powers])
    counts = oracle.histogram("target", edges, spend=first, column=column)
    votes = np.stack([counts[EXPONENTS + 1 :], counts[:EXPONENTS][::-1]])[None]
    noise = relation.of_histogram() / sqrt(first.amount)
    sure = sqrt(2.0 * log(_CHANCES)) + _SURE_OF_TARGETS
    found = _read_votes(Noisy(votes, noise), sure)
    if not found.seen[0]:
        # Nothing is seen of them, or that hardly any is not zero. Many others that are of too many
        # sizes to be seen at any of them are not known to be small.
        tiny, others = float(powers[0]), n_samples - counts[EXPONENTS]
        return (-tiny, tiny) if others < sure * noise < n_samples / 2 else None
    found = _zoomed(found, place, parts, n_samples, relation, tails=False)
    return float(found.bounds.low[0]), float(found.bounds.high[0])


def _enough(spend: Spend, n_samples: int, found: FoundRanges) -> Spend:
    """Part of a spend that is enough to show cells of the features that were seen well enough."""
    return Spend(min(spend.amount, 2.0 * max(1, found.seen.sum()) * (_ENOUGH / n_samples) ** 2))


def _zoomed(
    found: FoundRanges,
    place: Callable[[ColumnBounds, int, np.ndarray, Spend], Noisy],
    parts: Sequence[Spend],
    n_samples: int,
    relation: Adjacency,
    *,
    within: ColumnBounds | None = None,
    tails: bool = True,
) -> FoundRanges:
    """Intervals of the features that were seen, cut into cells once for each part of a budget.

    Parameters
    ----------
    found : FoundRanges
        Intervals to start from.
    place : callable
        Returns noisy counts (k, m + 4) of rows by cell of the bounds of k features, for a number m
        of cells, the features and a spend.
    parts : sequence of Spend
        For one look after another, each at features that fill few of the cells before.
    n_samples : int
        Public number of rows.
    relation : Adjacency
        Neighbouring relation.
    within : ColumnBounds, optional
        Known bounds that are not left.
    tails : bool, default=True
        Whether features may have long tails away from zero, which noise hides.
    """
    low, high = found.bounds.low.copy(), found.bounds.high.copy()
    active = np.flatnonzero(found.seen)
    for spend in parts:
        if not active.size:
            break
        noise = relation.of_histogram() * sqrt(active.size / spend.amount)
        if n_samples < _WORTH * noise:
            break
        cells = _CELLS
        while cells > _LEAST_CELLS and n_samples / cells < 1.5 * noise:
            cells //= 2
        # Where nothing is known beyond an end, values may lie beyond it.
        pad = _PAD * (high - low)[active] if within is None else 0.0
        lo = np.where(low[active] == 0, 0.0, low[active] - pad)
        hi = np.where(high[active] == 0, 0.0, high[active] + pad)
        counts, noise = place(ColumnBounds(lo, hi), cells, active, spend)
        again = []
        for j, row, left, right in zip(active, counts, lo, hi, strict=True):
            placed = _placed(row, left, right, noise, n_samples, longer=_LONGER if tails else 1.0)
            if placed is None:
                continue
            low[j], high[j], narrow = placed
            if within is not None:
                low[j], high[j] = max(low[j], within.low[j]), min(high[j], within.high[j])
            if narrow:
                again.append(j)
        active = np.array(again, dtype=np.intp)
    return FoundRanges(ColumnBounds(low, high), found.seen)


def _read_votes(answer: Noisy, sure: float) -> FoundRanges:
    """Intervals between powers of 2, or between them and zero, of the features that are seen.

    Parameters
    ----------
    answer : Noisy
        Votes (k, 2, 101) for positive and negative powers of 2, and their noise.
    sure : float
        Standard deviations from which on a feature is seen.
    """
    votes, noise = answer
    k = len(votes)
    low, high, seen = -np.ones(k), np.ones(k), np.zeros(k, dtype=bool)
    # Positive values, negative ones, and both together.
    rows = np.stack([votes[:, 0], votes[:, 1], votes[:, 0] + votes[:, 1]], axis=1)
    # Without privacy there is none.
    noise = max(noise, 1e-9)
    scales = noise * np.array([1.0, 1.0, sqrt(2.0)])
    sums = np.concatenate([np.zeros((k, 3, 1)), np.cumsum(rows, axis=2)], axis=2)
    best = np.full(k, -np.inf)
    window = np.zeros((k, 3), dtype=np.intp)
    for width in _WIDTHS:
        z = (sums[..., width:] - sums[..., :-width]) / (scales[:, None] * sqrt(width))
        flat = z.reshape(k, -1).argmax(axis=1)
        sign, first = np.divmod(flat, z.shape[2])
        top = z[np.arange(k), sign, first]
        better = top > best
        best[better] = top[better]
        window[better] = np.stack([sign, first, first + width], axis=1)[better]
    for j in np.flatnonzero(best >= sure):
        sign, first, last = window[j]
        if sign < 2:
            # The other sign may be seen, too.
            start = max(first - 2, 0)
            least = _CERTAIN * noise * sqrt(last - start) + _TAIL * rows[j, sign, first:last].sum()
            sign = 2 if rows[j, 1 - sign, start:last].sum() > least else sign
        first, last = _lengthened(rows[j, sign], float(scales[sign]), first, last)
        top, bottom = 2.0 ** (last - 1 + LEAST_EXPONENT), 2.0 ** (first - 1 + LEAST_EXPONENT)
        # Columns of several sizes reach down to zero, and so do those beside codes 0 and 1, which
        # did not vote.
        if last - first > 2 or sign == 2 or 1.0 <= bottom <= 2.0:
            bottom = 0.0
        low[j], high[j] = ((bottom, top), (-top, -bottom), (-top, top))[sign]
        seen[j] = True
    return FoundRanges(ColumnBounds(low, high), seen)


def _lengthened(row: np.ndarray, noise: float, first: int, last: int) -> tuple[int, int]:
    """A window of powers of 2 together with the neighbours that are seen."""
    total = row[first:last].sum()
    enough = max(_SEEN * noise, _TAIL * total)
    while last < row.size and (
        row[last] > enough or (row[last] > 0 and row[last : last + 2].sum() > 1.4 * enough)
    ):
        last += 1
    while first > 0 and row[first - 1] > enough:
        first -= 1
    while last - first > 1 and row[last - 1] < min(_TAIL * total, _SEEN * noise):
        last -= 1
    return first, last


def _placed(
    counts: np.ndarray,
    low: float,
    high: float,
    noise: float,
    n_samples: int,
    *,
    longer: float,
) -> tuple[float, float, bool] | None:
    """Ends of a feature by counts of its cells, and whether it fills few; None if none is seen."""
    *rows, below, above, zeros, missing = counts
    step = (high - low) / len(rows)
    first, last, inside = _best_run(np.array(rows), noise + _PRUNE * n_samples)
    if inside < _CERTAIN * noise * sqrt(last - first):
        return None
    zeros, missing = (x if x > _CERTAIN * noise else 0.0 for x in (zeros, missing))
    bottom, top = low + first * step, low + last * step
    outside = max(_CERTAIN * noise, 0.05 * n_samples)
    if below > outside and bottom:
        bottom = 0.0 if bottom > 0 else 2 * bottom
    if above > outside and top:
        top = 0.0 if top < 0 else 2 * top
    # Zeros apart from all other values may stand for what is missing, unless they are many.
    many = 0.02 if low <= 0 < high else 0.25
    if zeros > max(many * n_samples, 4.0 * noise):
        bottom, top = min(bottom, 0.0), max(top, 0.0)
    narrow = top - bottom <= _NARROW * (high - low) * 1.001
    # Noise hides tails on both sides.
    hidden = min(max(0.0, n_samples - zeros - missing - inside) / n_samples, 0.5)
    more = _STRETCH * hidden * (top - bottom)
    bottom, top = bottom - (more if bottom else 0.0), top + (more if top else 0.0)
    # Away from zero tails are long.
    top *= longer if bottom == 0 < top else 1.0
    bottom *= longer if top == 0 > bottom else 1.0
    return bottom, top, narrow


def _best_run(counts: np.ndarray, penalty: float) -> tuple[int, int, float]:
    """Ends and sum of the run of cells with the largest sum of counts less a penalty for each."""
    best, first, last, run, start = -np.inf, 0, 1, 0.0, 0
    for t, value in enumerate(counts - penalty):
        if run <= 0:
            run, start = 0.0, t
        run += value
        if run > best:
            best, first, last = run, start, t + 1
    return first, last, float(counts[first:last].sum())


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
    missing = np.where(moments.missing > _VISIBLE * moments.scale, moments.missing, 0.0)
    present = np.maximum(1.0 - missing, 1.0 / n_samples)
    means = np.clip(moments.means / present, -1.0, 1.0)
    least = min(_RESOLVED * moments.scale / sqrt(2.0), 1.0)
    squares = (moments.squares - _OFFSET * missing) / present
    variances = np.clip(squares - means**2, least, 1.0)
    return bounds.centre + bounds.half_width * means, variances * bounds.half_width**2
