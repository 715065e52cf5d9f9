"""Scores of models of times to an event: concordance, and Brier scores at cut points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, nan, sqrt
from typing import Any

import numpy as np

from ...privacy.queries.metric_means import RowMetric
from .row_means import Asked
from .score_estimates import LEAST_EVIDENCE, Estimate

# Groups of times, and edges of scores: logarithms of the hazard up to the last time.
_MOST_TIMES, _EDGES = 10, np.arange(-5.0, 2.01, 0.5)
# Rows times the mu of the table from which its noise, of second order, is small beside intervals.
_TELLS = 300.0
# Least share of people who are not yet out of sight, by which the others are divided.
_LEAST_SEEN = 0.2


@dataclass(frozen=True, eq=False)
class SurvivalModel:
    """Public facts of a fitted model of hazards.

    Parameters
    ----------
    times : ndarray of shape (K,)
        Cut points.
    cumulated : ndarray of shape (K,)
        Integral of the hazard up to them at score 0.
    """

    times: np.ndarray
    cumulated: np.ndarray

    @classmethod
    def of(cls, model: Any) -> SurvivalModel:
        """Facts of a model, at no more than ten of its cut points, the last one among them."""
        K = len(model.times_)
        kept = np.unique(np.linspace(-1, K - 1, min(K, _MOST_TIMES) + 1).round().astype(int)[1:])
        return cls(model.times_[kept], np.cumsum(model.baseline_hazard_)[kept])

    @property
    def edges_of_times(self) -> np.ndarray:
        """Edges of targets: events within periods, and as negative numbers last sights."""
        last = np.nextafter(-self.times[::-1], np.inf)
        return np.concatenate([last, [0.0], np.nextafter(self.times, np.inf)])

    @cached_property
    def edges_of_scores(self) -> np.ndarray:
        """Edges of the scores of rows."""
        return _EDGES - np.log(max(float(self.cumulated[-1]), 1e-300))


@dataclass(frozen=True, eq=False)
class RiskTable:
    """Released shares of people by period, event and score, and what follows from them.

    Parameters
    ----------
    events, exits : ndarray of shape (K + 1, b)
        Shares of people with an event, and last seen without one, in each period and after the
        last, by bins of the score; those of empty cells may be negative.
    noise : float
        Standard deviation of the noise of each.
    """

    events: np.ndarray
    exits: np.ndarray
    noise: float

    @classmethod
    def of(cls, counts: np.ndarray, noise: float, n: int) -> RiskTable:
        """The table of counts by edges of times and of scores."""
        counts = counts + (n - counts.sum()) / counts.size
        K = (len(counts) - 2) // 2
        return cls(counts[K + 1 :] / n, counts[: K + 1][::-1] / n, noise / n)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Shares of people with whom one can be compared, and of those who agree, (2, K + 1, b).

        The first axis tells who has an event from others. A pair can be compared if one has an
        event up to the last cut point, and the other is seen in a later period. Scores of one bin
        count half.
        """
        events = self.events.copy()
        # Nobody after the last cut point is known to be before another.
        events[-1] = 0.0
        both = self.events + self.exits
        later = np.cumsum(both[::-1], axis=0)[::-1] - both
        earlier = np.cumsum(events, axis=0) - events
        below = np.cumsum(later, axis=1) - later / 2
        above = np.cumsum(earlier[:, ::-1], axis=1)[:, ::-1] - earlier / 2
        has_event = np.zeros((2, *both.shape))
        has_event[0, :-1] = 1.0
        compared = earlier.sum(axis=1)[:, None] + has_event * later.sum(axis=1)[:, None]
        return compared, above + has_event * below

    @cached_property
    def concordance(self) -> tuple[float, float, float]:
        """The index, the share of pairs that can be compared, and the noise of the latter."""
        compared, agreeing = self.pairs
        whole = np.stack([self.events, self.exits])
        # Each pair has two people.
        share = float(np.sum(whole * compared)) / 2
        noise = self.noise * sqrt(float(np.sum(compared**2)))
        if not share > 0:
            return 0.5, share, noise
        return float(np.clip(np.sum(whole * agreeing) / 2 / share, 0.0, 1.0)), share, noise

    @cached_property
    def at_risk(self) -> tuple[np.ndarray, np.ndarray]:
        """Shares of people seen at each cut point, and of those last seen there, (K,)."""
        events, exits = (part.sum(axis=1)[:-1] for part in (self.events, self.exits))
        return np.maximum(1.0 - np.cumsum(events + exits) + exits, self.noise), exits

    @property
    def seen(self) -> np.ndarray:
        """Share of people who would still be seen at the cut points if nobody had events, (K,)."""
        at_risk, exits = self.at_risk
        return np.cumprod(1.0 - np.clip(exits / at_risk, 0.0, 1.0))

    def noise_through_seen(self, slopes: np.ndarray) -> float:
        """Standard deviation that noise gives to what depends on ``seen``, to first order.

        With r people at risk at a cut point of whom x leave, ``log seen`` is the sum of
        ``log(r - x) - log r``. An event takes one off r at its cut point and later ones, and
        somebody who leaves at later ones.

        Parameters
        ----------
        slopes : ndarray of shape (k,)
            Derivatives in the logarithms of the first k shares.
        """
        at_risk, exits = (part[: len(slopes)] for part in self.at_risk)
        # Each share has the steps up to its own in it.
        of_steps = np.cumsum(slopes[::-1])[::-1]
        leave = of_steps / np.maximum(at_risk - exits, self.noise)
        of_events = np.cumsum((of_steps / at_risk - leave)[::-1])[::-1]
        of_exits = of_events - of_steps / at_risk
        bins, cells = self.events.shape[1], 2 * self.events.size
        moves = bins * float(np.sum(of_events**2 + of_exits**2))
        # The mean is taken off, as cells add up to the public number of people.
        moves -= (bins * float(np.sum(of_events + of_exits))) ** 2 / cells
        return self.noise * sqrt(moves)


def concordance_term(model: SurvivalModel, table: RiskTable) -> RowMetric:
    """Term of a row in the concordance, to first order in the distribution of a released table.

    Its range is from the least to the largest of finitely many public numbers, one for each cell of
    the table.

    Parameters
    ----------
    model : SurvivalModel
        Edges of the cells.
    table : RiskTable
        The distribution.
    """
    compared, agreeing = table.pairs
    index, share, _ = table.concordance
    terms = (agreeing - index * compared) / share
    # In the order of targets: the latest exits first, then exits to events.
    terms = np.concatenate([terms[1, ::-1], terms[0]])
    times, scores = model.edges_of_times, model.edges_of_scores

    def of(given: Any) -> np.ndarray:
        place = np.searchsorted(times, given.y, side="right")
        found = terms[place, np.searchsorted(scores, given.prediction, side="right")]
        # No score agrees with nothing.
        return np.where(np.isnan(given.prediction), terms.min(), found)

    ends = float(terms.min()), float(terms.max())
    return RowMetric("ConcordanceTerm", ends, of, (times, scores, terms))


def survival_brier_score(model: SurvivalModel, seen: np.ndarray) -> RowMetric:
    """Squared error of the probability of no event up to a cut point, mean over cut points.

    People who are out of sight by then count as none, and the others more for it: with a weight of
    1 over the public share ``seen`` of people who are not yet out of sight, at the cut point or, of
    an event, at that before it (Graf and others 1999). Cut points at which that is small are left
    out. A row without a score counts as wrong.

    Parameters
    ----------
    model : SurvivalModel
        Cut points and the baseline.
    seen : ndarray of shape (K,)
        Shares, never increasing.
    """
    kept = np.maximum(np.sum(seen >= _LEAST_SEEN), 1)
    times, cumulated = model.times[:kept], model.cumulated[:kept]
    now = np.maximum(seen[:kept], _LEAST_SEEN)
    before = np.concatenate([[1.0], now[:-1]])

    def of(given: Any) -> np.ndarray:
        y, event = np.abs(given.y)[:, None], ~np.signbit(given.y)[:, None]
        with np.errstate(over="ignore"):
            survival = np.exp(-np.exp(given.prediction)[:, None] * cumulated)
        place = np.minimum(np.searchsorted(times, np.abs(given.y)), kept - 1)
        gone, there = event & (y <= times), (y > times) | (~event & (y == times))
        errors = gone * survival**2 / before[place][:, None] + there * (1 - survival) ** 2 / now
        return np.where(np.isnan(given.prediction), inf, errors.mean(axis=1))

    return RowMetric("SurvivalBrierScore", (0.0, 1.0 / float(now[-1])), of, (times, cumulated, now))


def noise_of_weights(model: SurvivalModel, table: RiskTable) -> float:
    """Standard deviation that noise of the weights of people gives to their Brier score.

    By first-order moves of the score that the released table itself has.

    Parameters
    ----------
    model : SurvivalModel
        Cut points, the baseline, and edges of scores.
    table : RiskTable
        Released shares of people.
    """
    seen = np.maximum(table.seen[table.seen >= _LEAST_SEEN], _LEAST_SEEN)
    if not seen.size:
        return 0.0
    kept, both = len(seen), table.events + table.exits
    edges = model.edges_of_scores
    middles = np.append(edges, edges[-1] + _EDGES[1] - _EDGES[0]) - (_EDGES[1] - _EDGES[0]) / 2
    survival = np.exp(-np.exp(middles) * model.cumulated[:kept, None])
    later = both.sum(axis=0) - np.cumsum(both, axis=0)[:kept]
    slopes = -np.sum((1.0 - survival) ** 2 * later, axis=1) / seen
    # An event counts at all cut points from its own on, with the weight of the one before.
    gone = np.cumsum((survival**2)[::-1], axis=0)[::-1]
    slopes[:-1] -= np.sum(table.events[1:kept] * gone[1:], axis=1) / seen[:-1]
    return table.noise_through_seen(slopes / kept)


def score_survival(asked: Asked, model: SurvivalModel) -> None:
    """Ask for counts by time and score, then for means of terms of rows, and publish.

    Parameters
    ----------
    asked : Asked
        Oracle, plan and result.
    model : SurvivalModel
        Public facts of the model.
    """
    plan = asked.plan
    found = asked.oracle.target_table(
        model.edges_of_times, model.edges_of_scores, spend=asked.spend(plan.bins)
    )
    table = RiskTable.of(found.value, found.scale, asked.n)
    index, share, noise = table.concordance
    hidden = share <= LEAST_EVIDENCE * noise
    rough = asked.n * asked.budget.mu * sqrt(plan.bins) < _TELLS
    terms = {"integrated_brier_score": survival_brier_score(model, table.seen)}
    if not hidden:
        terms["concordance"] = concordance_term(model, table)
    wanted = {name: terms[name] for name in plan.metrics if name in terms}
    if wanted:
        for name, score in zip(
            wanted, asked.means(tuple(wanted.values()), plan.means), strict=True
        ):
            if name == "integrated_brier_score":
                score = score.with_noise(noise_of_weights(model, table), asked.z)
            else:
                value, low, high = np.clip(index + np.array(score[:3]), 0.0, 1.0).tolist()
                score = Estimate(value, low, high, score.noise)
            asked.publish(name, score._replace(low=nan, high=nan) if rough else score)
    if hidden and "concordance" in plan.metrics:
        asked.publish("concordance", Estimate(index, nan, nan, inf))
