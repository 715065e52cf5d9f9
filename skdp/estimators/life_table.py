"""Private life tables: survival of all people together, from noisy counts of events and exits."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ..exceptions import warn_user
from ..preprocessing.column_ranges import private_target_range
from ..privacy.accounting.ledger import Budget
from ..privacy.oracle import Oracle
from ..problem.losses import Hazard
from ..solvers.defaults import LifeTable as tuned

# Least baseline hazard of a period, in events a person.
_LEAST_HAZARD = 1e-6


@dataclass(frozen=True, eq=False)
class LifeTable:
    """Released numbers of events, and of people last seen without one, by periods.

    Parameters
    ----------
    times : ndarray of shape (K,)
        Ends of the periods, the first of which begins at 0.
    events, exits, at_ends : ndarray of shape (K,)
        Noisy numbers of events, and of last sights within each period and at its very end.
    n : int
        Public number of people.
    noise : ndarray of shape (K,)
        Standard deviations of the noise of each number.
    """

    times: np.ndarray
    events: np.ndarray
    exits: np.ndarray
    at_ends: np.ndarray
    n: int
    noise: np.ndarray

    @classmethod
    def of(
        cls, oracle: Oracle, budget: Budget, n: int, times: np.ndarray, *, apart: bool
    ) -> LifeTable:
        """Counts by one histogram, with noise of the same size in each cell.

        Parameters
        ----------
        oracle : Oracle
            Asked for a histogram of targets.
        budget : Budget
            Spent as a whole.
        n : int
            Public number of people, or what they weigh together.
        times : ndarray of shape (K,)
            Ends of periods, increasing and positive.
        apart : bool
            Whether last sights at ends are counted apart, as where times are numbers of periods.
            Otherwise they are in the next period.
        """
        spend, K = budget.whole(), times.size
        # An event at the end of a period is in it; times of last sights are negative.
        last = np.nextafter(-times[::-1], np.inf)
        if apart:
            last = np.column_stack([-times[::-1], last]).ravel()
        edges = np.concatenate([last, [0.0], np.nextafter(times, np.inf)])
        counts = oracle.histogram("target", edges, spend=spend)
        counts += (n - counts.sum()) / counts.size
        noise = oracle.adjacency.of_histogram() / sqrt(spend.amount)
        events, left = counts[-K - 1 : -1], counts[1 : -K - 1].reshape(K, -1)[::-1]
        at_ends = left[:, 0] if apart else np.zeros(K)
        return cls(times, events, left[:, -1], at_ends, n, np.full(K, noise))

    @property
    def at_risk(self) -> np.ndarray:
        """Noisy numbers of people who are there as periods begin, never increasing, (K,)."""
        left = self.n - np.cumsum(self.events + self.exits + self.at_ends)
        return np.minimum.accumulate(np.clip([self.n, *left[:-1]], 0.0, self.n))

    @property
    def exposure(self) -> np.ndarray:
        """Numbers of people at risk, of whom those who leave count half; at least 1, (K,)."""
        return np.maximum(self.at_risk - np.maximum(self.exits, 0.0) / 2, 1.0)

    @property
    def hazards(self) -> np.ndarray:
        """Integrals of the hazard over the periods, shape (K,).

        The less a period's events stand out of their noise, the nearer they are to what a hazard
        that is the same at all times would give.
        """
        exposure, lengths = self.exposure, np.diff(self.times, prepend=0.0)
        even = lengths * max(float(self.events.sum()), 0.0) / float(exposure @ lengths)
        seen = self.events**2 / (self.events**2 + self.noise**2)
        share = seen * np.maximum(self.events, 0.0) / exposure + (1 - seen) * even
        return np.maximum(-np.log1p(-np.clip(share, 0.0, 0.95)), _LEAST_HAZARD)

    def in_periods(self) -> LifeTable:
        """The table in fewer periods of about equally many events, up to the last that tells."""
        spread = float(self.noise[0]) * np.sqrt(2.0 * np.arange(self.times.size))
        enough = self.at_risk >= np.maximum(
            tuned.LEFT_SHARE * self.n, tuned.LEFT_OVER_NOISE * spread
        )
        last = max(1, int(np.argmin(enough)) if not enough.all() else enough.size)
        events = (self.hazards * self.exposure)[:last]
        clear = float(self.events[:last].sum()) / (
            tuned.CLEAR_EVENTS * float(self.noise[0]) * sqrt(last)
        )
        K = int(np.clip(max(clear, 0.0) ** 2, tuned.LEAST_PERIODS, tuned.MOST_PERIODS))
        reached = np.cumsum(events) / events.sum()
        ends = np.unique(np.searchsorted(reached, np.arange(1, K) / K))
        ends = np.union1d(ends[ends < last - 1], [last - 1])
        events, exits, at_ends, squares = (
            np.diff(np.concatenate([[0.0], np.cumsum(column)[ends]]))
            for column in (self.events, self.exits, self.at_ends, self.noise**2)
        )
        return LifeTable(self.times[ends], events, exits, at_ends, self.n, np.sqrt(squares))


def private_baseline(
    oracle: Oracle, budget: Budget, n: int, times: np.ndarray | None, longest: float | None
) -> Hazard:
    """Baseline hazards in periods, of all people together.

    Parameters
    ----------
    oracle : Oracle
        Asked for histograms of targets, which are times of events or minus times of last sights.
    budget : Budget
        Most that may be spent.
    n : int
        Public number of people, or what they weigh together.
    times : ndarray of shape (K,), optional
        Ends of periods. By default they are chosen so that events are about even among them.
    longest : float, optional
        Bound on times, if ends are not given; by default it is found.

    Warns
    -----
    UserWarning
        If noise hides how long times are, or released counts show no events, or none but in the
        first of many cells.
    """
    if times is None and longest is None:
        found = private_target_range(oracle, budget.fraction(tuned.RANGE_SHARE), n)
        if found is None or not max(map(abs, found)) > 0:
            warn_user(
                "The share of the budget set aside to find how long times are is too small for "
                "this number of rows; 1 is used. Pass max_time, a public bound on them.",
                UserWarning,
            )
            found = (0.0, 1.0)
        longest, budget = max(map(abs, found)), budget.fraction(1 - tuned.RANGE_SHARE)
    if times is None:
        assert longest is not None
        cells = longest * np.square(np.arange(1, tuned.CELLS + 1) / tuned.CELLS)
        cells_of = LifeTable.of(oracle, budget, n, cells, apart=False)
        table = cells_of.in_periods()
    else:
        cells_of = table = LifeTable.of(oracle, budget, n, times, apart=True)
    _tell_what_shows(cells_of, table)
    return Hazard(tuple(table.times.tolist()), tuple(table.hazards.tolist()))


def _tell_what_shows(counted: LifeTable, table: LifeTable) -> None:
    """Warn, by released counts alone, where there is nothing to learn from."""
    events, sd = float(counted.events.sum()), float(np.linalg.norm(counted.noise))
    if tuned.SEEN * sd > tuned.SHOWN_SHARE * counted.n:
        # Noise would hide events that there are.
        return
    if events < tuned.SEEN * sd:
        warn_user(
            f"The noisy life table shows no events beside the noise ({events:.0f} +- {sd:.0f} of "
            f"{counted.n:,.0f} people), so that curves and coefficients are mostly noise. If there "
            "are many, see that events are True and last sights False.",
            UserWarning,
        )
    elif table.times.size == 1 < counted.times.size:
        warn_user(
            f"By the noisy life table next to nobody is left after {table.times[0]:.3g}, the end "
            f"of the first of {counted.times.size} cells up to {counted.times[-1]:.3g}. See that "
            "times are not all zero, and pass a max_time that is near the longest of them.",
            UserWarning,
        )
