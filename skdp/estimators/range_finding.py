"""Private estimates of the bounds that a user did not give.

They are post-processing of noisy histograms over public grids, and robust by construction: a few
rows, however large, never fill a bin beyond its noise. A first look finds the size of things among
all powers of 4, further looks refine it. Where n is so small that noise hides the wanted quantile,
the result degrades gradually to a rougher one.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from ..exceptions import warn_user
from ..preprocessing.column_ranges import private_target_range
from ..privacy.accounting.ledger import Budget, Spend
from ..privacy.oracle import Oracle
from ..problem.bounds import CountBounds, RowBounds, TargetBounds
from ..problem.column_bounds import ColumnScaling
from ..solvers.defaults import RangeFinding as tuned

# Shares and grids below minimise an error that trades clipping against noise, over many shapes of
# synthetic data with n from 300 to 50000 and mu^2 of 0.003.
_SIZES = 4.0 ** np.arange(-50, 51)
_POWERS = 2.0 ** np.arange(-40, 41)
# Cap where nothing is seen, not equal to one that is found.
_UNSEEN_CAP = 1.0 + 2.0**-40
# Bins next to each other that may be seen together, and the half width of bounds for targets of
# which nothing is seen: predictions are zero then for all purposes, and noise adds nothing.
_TOGETHER, _UNSEEN = 3, float(_SIZES[0])


def private_data_norm(
    oracle: Oracle,
    budget: Budget,
    n_samples: int,
    n_features: int,
    scaling: ColumnScaling | None = None,
) -> float:
    """A norm that about 95 % of the rows do not exceed, found in two looks.

    The first finds the factor of 4 in which it lies, the second the place within.

    Parameters
    ----------
    oracle : Oracle
        Asked for histograms of row norms.
    budget : Budget
        Most that may be spent.
    n_samples, n_features : int
        Public sizes.
    scaling : ColumnScaling, optional
        Scale that features are brought to. On it they are about as large as 1, so that
        ``sqrt(n_features)`` stands in without a warning where noise hides the norms.

    Returns
    -------
    float
        The bound. ``sqrt(n_features)``, right for standardised features, if all rows seem to be
        zero, and with a warning if the budget is too small to see anything.
    """
    coarse, fine = budget.split([tuned.COARSE_SHARE, 1 - tuned.COARSE_SHARE])
    top = _size(oracle, coarse, tuned.NORM_TAIL * n_samples, scaling)
    if top is None and scaling is None:
        _warn_unseen("data_norm", f"sqrt({n_features}), which suits columns of size 1, is used")
    if not top:
        return sqrt(n_features)
    edges = top * 4.0 ** (np.arange(-tuned.NORM_STEPS, 1) / tuned.NORM_STEPS)
    counts = oracle.histogram("row_norm", edges, spend=fine, scaling=scaling)
    # A sum over half of the bins has most noise once that of the total is out.
    leeway = tuned.LEEWAY * _noise_scale(oracle, fine) * sqrt(counts.size) / 2
    wanted = (1 - tuned.NORM_TAIL) * n_samples - leeway
    enough = np.flatnonzero(_below(counts, n_samples) >= wanted)
    return float(edges[enough[0]]) if enough.size else top


def private_target_bounds(
    oracle: Oracle, budget: Budget, n_samples: int, *, centred: bool, column: int | None = None
) -> TargetBounds:
    """A short interval that holds nearly all targets, by the search for ranges of columns.

    Parameters
    ----------
    oracle : Oracle
        Asked for histograms of targets.
    budget : Budget
        Most that may be spent; what is not needed stays for the fit.
    n_samples : int
        Public size.
    centred : bool
        Passed on to the bounds.
    column : int, optional
        Which target, where rows have several.

    Returns
    -------
    TargetBounds
        :func:`unseen_targets` with a warning if none is seen; nothing is asked if the budget is too
        small to see even all in one bin.
    """
    found = private_target_range(oracle, budget, n_samples, column=column)
    if found is None:
        which = "" if column is None else f" for column {column} of the targets"
        _warn_unseen("target_bounds", f"without them the model can only predict 0{which}")
        return unseen_targets(centred=centred)
    return TargetBounds(*found, centred)


def private_cap_on_counts(oracle: Oracle, spend: Spend, *, noise: float) -> CountBounds:
    r"""A cap on targets times weights: the power of 2 at which bias and noise together are least.

    What a cap C cuts off is known from one noisy histogram of powers of 2, as
    ``lost(C) = sum_b count_b (b - C)_+`` over bins below b. Noise is in proportion to C. The cap is
    the one of least

    .. math:: lost(C)^2 + \Bigl(\frac1{(noise \cdot C)^2} + \frac1{(lost(0) / 2)^2}\Bigr)^{-1},

    so that it grows until it cuts nothing off as rows or budget grow. More noise than half of all
    events costs no more than that: it is taken off again, and the mean rate stays.

    Parameters
    ----------
    oracle : Oracle
        Asked for a histogram.
    spend : Spend
        What it costs.
    noise : float
        Standard deviation of the noise of a sum over the rows for a cap of 1.

    Returns
    -------
    CountBounds
        With a warning, and a cap of about 1, if noise hides all targets.
    """
    # A target at a power is below it, up to the rounding of a rate times its exposure.
    counts = oracle.histogram("events", _POWERS * (1 + 1e-9), spend=spend)[1:]
    scale = _noise_scale(oracle, spend)
    upper = np.append(_POWERS[1:], 2 * _POWERS[-1])
    # Events mostly come by one, for which less is enough to be believed.
    least = np.where(upper == 1, tuned.VISIBLE_BEYOND, _visible(counts.size))
    visible = np.flatnonzero(counts > scale * least)
    if not visible.size:
        _warn_unseen("target_bounds", "one event a row, or a total of 1, is the most that counts")
        return CountBounds(0.0, _UNSEEN_CAP)
    # The largest of all noise is larger than that of few, among which tails go on.
    seen = np.zeros(counts.size, dtype=bool)
    seen[visible[-1] + 1 : visible[-1] + 1 + tuned.BEYOND] = True
    seen &= counts > scale * tuned.VISIBLE_BEYOND
    seen[visible] = True
    counts = np.where(seen, counts, 0.0)
    lost = np.array([counts @ np.maximum(upper - cap, 0.0) for cap in upper])
    shrunk = tuned.MOST_NOISE * float(counts @ upper)
    noisy = noise * upper
    noisy = noisy * shrunk / np.hypot(noisy, shrunk)
    return CountBounds(0.0, float(upper[np.argmin(lost**2 + noisy**2)]))


def unseen_targets(*, centred: bool) -> TargetBounds:
    """Bounds so close to zero that predictions within them are zero, and so is their noise.

    They stand for targets of which nothing is known. Any others would bring noise of their size
    into predictions, and that may be a million times the size of the targets.

    Parameters
    ----------
    centred : bool
        Passed on to the bounds.
    """
    return TargetBounds(-_UNSEEN, _UNSEEN, centred)


def seen_targets(bounds: TargetBounds | None) -> bool:
    """Tell whether bounds were given, or found for every target; True where there are none.

    Parameters
    ----------
    bounds : TargetBounds or None
        Of one or several targets.
    """
    if bounds is None:
        return True
    low, high = bounds.ends
    unseen = (np.ravel(low) == -_UNSEEN) & (np.ravel(high) == _UNSEEN)
    return not np.any(unseen | (np.ravel(high) == _UNSEEN_CAP))


def unseen_columns(bounds: RowBounds, columns: tuple[int, ...]) -> tuple[int, ...]:
    """Columns that were searched and not found, which are held to ``(-1, 1)``.

    Parameters
    ----------
    bounds : RowBounds
        That a fit has found.
    columns : tuple of int
        Columns that were searched.
    """
    if bounds.scaling is None or bounds.scaling.clipped_to is None:
        return columns
    low, high = bounds.scaling.clipped_to
    return tuple(j for j in columns if (low[j], high[j]) == (-1.0, 1.0))


def warn_of_target_bounds(
    oracle: Oracle,
    spend: Spend,
    n_samples: int,
    bounds: TargetBounds,
    *,
    column: int | None = None,
) -> None:
    """Warn if given bounds leave out many targets, or are far wider than nearly all of them.

    One histogram says so; the fit goes on with the bounds as they are.

    Parameters
    ----------
    oracle : Oracle
        Asked for a histogram of targets.
    spend : Spend
        What it costs.
    n_samples : int
        Public size.
    bounds : TargetBounds
        As given, of one target.
    column : int, optional
        Which target, where rows have several.

    Warns
    -----
    UserWarning
        If about a fifth of the targets or more lie outside, or nine tenths in a hundredth of the
        interval.
    """
    low, high = bounds.ends
    edges = np.linspace(low, high, tuned.CHECKED_BINS + 1)
    # A target at the upper bound is within.
    edges[-1] = np.nextafter(edges[-1], np.inf)
    counts = oracle.histogram("target", edges, spend=spend, column=column)
    margin = tuned.CERTAIN * _noise_scale(oracle, spend)
    given = f"target_bounds=({low:g}, {high:g})"
    given += "" if column is None else f" of column {column} of the targets"
    if counts[0] + counts[-1] - margin * sqrt(2) > tuned.MANY_OUTSIDE * n_samples:
        warn_user(
            f"Many targets lie outside of {given}, and are clipped to the nearer end. Pass bounds "
            "that hold nearly all of them, or None to find some privately.",
            UserWarning,
        )
        return
    within = counts[1:-1]
    together = float((within[:-1] + within[1:]).max())
    # The largest of so many noisy counts is larger than each of them.
    margin *= sqrt(1 + 2 * log(tuned.CHECKED_BINS) / tuned.CERTAIN**2)
    if together - margin * sqrt(2) > tuned.NEARLY_ALL * n_samples:
        warn_user(
            f"Nearly all targets lie in a hundredth of {given}, so that noise, which is in "
            "proportion to the bounds, hides much of what they say. Pass narrower bounds, or None "
            "to find some privately.",
            UserWarning,
        )


def _size(
    oracle: Oracle,
    spend: Spend,
    tail: float,
    scaling: ColumnScaling | None = None,
) -> float | None:
    """Least power of 4 with at most ``tail`` rows visibly beyond; 0 if all of them are below.

    None if nothing is visible.
    """
    counts = oracle.histogram("row_norm", _SIZES, spend=spend, scaling=scaling)
    scale = _noise_scale(oracle, spend)
    visible = counts > scale * _visible(counts.size)
    # Few rows that spread over some bins may be seen together only.
    width = 1
    while not visible.any() and width < _TOGETHER:
        width += 1
        sums = np.convolve(counts, np.ones(width), "valid") / sqrt(width)
        first = int(sums.argmax())
        visible[first : first + width] = sums[first] > scale * _visible(counts.size)
    if not visible.any():
        return None
    seen = np.where(visible, counts, 0.0)
    beyond = seen.sum() - np.cumsum(seen)
    k = int(np.flatnonzero(beyond <= tail)[0])
    return float(_SIZES[min(k, _SIZES.size - 1)]) if k else 0.0


def _visible(bins: int) -> float:
    """Standard deviations that the noise of none of so many counts exceeds, nearly always."""
    # The largest of m normals is about sqrt(2 ln m). A false alarm gives a bound that is off by
    # many powers of ten; two more make its probability 7e-5 for these sizes.
    return sqrt(2 * log(bins)) + 2


def _below(counts: np.ndarray, n_samples: int) -> np.ndarray:
    """Rows below each edge. As n is public, the noise of the total can be taken out."""
    return np.cumsum(counts + (n_samples - counts.sum()) / counts.size)[:-1]


def _noise_scale(oracle: Oracle, spend: Spend) -> float:
    return oracle.adjacency.of_histogram() / sqrt(spend.amount)


def _warn_unseen(parameter: str, consequence: str) -> None:
    warn_user(
        f"The share of the budget set aside to find {parameter} privately is too small for this "
        f"number of rows; {consequence}. Pass {parameter} if you know a bound.",
        UserWarning,
    )
