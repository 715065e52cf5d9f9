"""Scores that are means over rows, or follow from a few: a row of the table each."""

from __future__ import annotations

from collections.abc import Callable
from math import nan, sqrt
from typing import NamedTuple

import numpy as np

from ...privacy.accounting.ledger import Budget, Spend
from ...privacy.oracle import Oracle
from ...privacy.queries.metric_means import (
    RowMetric,
    absolute_error,
    brier_score,
    clipped_target,
    constant_deviance,
    deviance_gain,
    events,
    expected_events,
    exposure,
    interval_coverage,
    log_loss,
    pinball_loss,
    poisson_deviance,
    squared_error,
    squared_r2_term,
)
from .evaluation_plan import EvaluationPlan
from .evaluation_result import Evaluation, Score
from .score_estimates import Estimate, Mean, group_mean_of, mean_of, r2_of, ratio_of

# Noise of the mean of targets, in units of half their bounds, from which on R2 has no interval.
_R2_HIDDEN = 0.02
# Of 1 - R2, in the terms of rows: those of a model that is as bad are not worth telling apart.
_MOST_UNEXPLAINED = 4.0


class Facts(NamedTuple):
    """Public facts that metrics of rows are made from.

    Parameters
    ----------
    low, high : float
        Bounds of targets; of counts 0 and the cap.
    bound : float
        Bound on residuals.
    quantiles : tuple of float
        Those that the model predicts, if any.
    least : float
        Probability below which others count as this.
    weighted : bool
        Whether counts have exposures.
    """

    low: float
    high: float
    bound: float
    quantiles: tuple[float, ...]
    least: float
    weighted: bool

    @property
    def reach(self) -> tuple[float, float, float]:
        """Bounds of targets, and of residuals."""
        return self.low, self.high, self.bound


class Moments(NamedTuple):
    """Released means of a metric and of its square, on the scale of [-1, 1], and their noise."""

    mean: float
    square: float
    scale: float
    ends: tuple[float, float]


class Asked(NamedTuple):
    """Oracle for test rows, the plan of what to ask, its whole budget, and what gets the answers.

    ``groups`` are those to be compared, None if there are none; ``n`` counts rows, or privacy
    units, and ``z`` is the quantile of intervals.
    """

    oracle: Oracle
    plan: EvaluationPlan
    budget: Budget
    result: Evaluation
    groups: np.ndarray | None
    n: int
    z: float

    def spend(self, share: float) -> Spend:
        """A share of the whole budget."""
        return self.budget.fraction(share).whole()

    def moments(self, metrics: tuple[RowMetric, ...], share: float) -> list[Moments]:
        """Moments of metrics over all rows, paid with a share of the whole budget."""
        found = self.oracle.metric_means(metrics, self.n, spend=self.spend(share))
        pairs = zip(metrics, found.means.tolist(), found.squares.tolist(), strict=True)
        return [Moments(mean, square, found.scale, of.range) for of, mean, square in pairs]

    def means(self, metrics: tuple[RowMetric, ...], share: float) -> list[Estimate]:
        """Means of metrics over all rows, likewise."""
        return [mean_of(*found, self.n, self.z) for found in self.moments(metrics, share)]

    def publish(self, name: str, score: Estimate) -> None:
        """Add the score of all rows to the result."""
        self.result.scores[name], self.result.noise[name] = Score(*score[:3]), score.noise


_Finish = Callable[[Asked, Facts, list[Moments]], Estimate]


def _mean(asked: Asked, facts: Facts, parts: list[Moments]) -> Estimate:
    return mean_of(*parts[0], asked.n, asked.z)


def _ratio(asked: Asked, facts: Facts, parts: list[Moments]) -> Estimate:
    top, bottom = (Mean.of(*part) for part in parts)
    return ratio_of(top, bottom, asked.n, asked.z)


def _deviance(asked: Asked, facts: Facts, parts: list[Moments]) -> Estimate:
    # Without exposures each row has one.
    exposed = Mean.of(*parts[1]) if facts.weighted else Mean(1.0, 0.0, 0.0)
    score = ratio_of(Mean.of(*parts[0]), exposed, asked.n, asked.z)
    return score._replace(low=max(score.low, 0.0))


def _r2(asked: Asked, facts: Facts, parts: list[Moments]) -> Estimate:
    """R2, by one more answer that tells how much terms of rows vary in it."""
    (error, _, scale, _), (mean, square, *_) = parts
    middle, half = (facts.low + facts.high) / 2, (facts.high - facts.low) / 2
    spread = half**2 * max(square - mean**2, scale)
    unexplained = min(facts.bound**2 * (1 + error) / 2 / spread, _MOST_UNEXPLAINED)
    term = squared_r2_term(*facts.reach, middle + half * mean, max(unexplained, 0.0))
    (last,) = asked.moments((term,), asked.plan.last)
    influence = (1 + last.mean) / 2, last.scale / 2
    units = half, facts.bound
    score = r2_of((mean, square), error, scale, influence, units, asked.n, asked.z)
    # By public numbers, as a variance that looks large enough may be so by noise.
    return score._replace(low=nan, high=nan) if scale > _R2_HIDDEN else score


def _d2(asked: Asked, facts: Facts, parts: list[Moments]) -> Estimate:
    """D2, by deviances of a rate that is about the best: to first order it does not matter."""
    total, exposed = (max(mean.value, mean.noise) for mean in (Mean.of(*part) for part in parts))
    kinds = (
        deviance_gain(facts.high, total / exposed),
        constant_deviance(facts.high, total / exposed),
    )
    return _ratio(asked, facts, asked.moments(kinds, asked.plan.last))


# Metrics of rows whose means a score follows from, and how. What is asked comes together.
ROW_MEANS: dict[str, tuple[Callable[[Facts], tuple[RowMetric, ...]], _Finish]] = {
    "log_loss": (lambda f: (log_loss(f.least),), _mean),
    "brier_score": (lambda f: (brier_score(),), _mean),
    "mean_squared_error": (lambda f: (squared_error(*f.reach),), _mean),
    "mean_absolute_error": (lambda f: (absolute_error(*f.reach),), _mean),
    "r2": (lambda f: (squared_error(*f.reach), clipped_target(*f.reach)), _r2),
    "pinball_loss": (lambda f: (pinball_loss(f.quantiles, *f.reach),), _mean),
    "coverage": (lambda f: (interval_coverage(*f.reach),), _mean),
    "mean_poisson_deviance": (
        lambda f: (poisson_deviance(f.high), *((exposure(),) * f.weighted)),
        _deviance,
    ),
    "calibration": (lambda f: (expected_events(f.high), events(f.high)), _ratio),
    "d2": (lambda f: (events(f.high), exposure()), _d2),
}


def score_means(asked: Asked, facts: Facts) -> None:
    """Ask for the means that scores of the plan follow from, and publish these.

    Parameters
    ----------
    asked : Asked
        Oracle, plan and result.
    facts : Facts
        About rows and model.
    """
    made = {name: ROW_MEANS[name][0](facts) for name in asked.plan.metrics if name in ROW_MEANS}
    if not made:
        return
    if asked.groups is not None:
        _score_groups(asked, {name: metrics[0] for name, metrics in made.items()}, asked.groups)
        return
    wanted = {metric.name: metric for metrics in made.values() for metric in metrics}
    moments = asked.moments(tuple(wanted.values()), asked.plan.means)
    found = dict(zip(wanted, moments, strict=True))
    for name, metrics in made.items():
        parts = [found[metric.name] for metric in metrics]
        asked.publish(name, ROW_MEANS[name][1](asked, facts, parts))


def _score_groups(asked: Asked, metrics: dict[str, RowMetric], groups: np.ndarray) -> None:
    """Ask for means of metrics over the rows of each group, and publish these and those of all."""
    kinds, n, z = tuple(metrics.values()), asked.n, asked.z
    spend = asked.spend(asked.plan.means)
    found = asked.oracle.group_means(kinds, len(groups), n, spend=spend)
    sums, squares = found.sums.sum(axis=0), found.squares.sum(axis=0) + 0.75
    of_all = found.scale * sqrt(len(groups))
    for k, (name, metric) in enumerate(metrics.items()):
        moments = float(sums[k]), float(squares[k])
        asked.publish(name, mean_of(*moments, of_all, metric.range, n, z))
        for g, label in enumerate(groups.tolist()):
            of_group = float(found.shares[g]), float(found.sums[g, k]), float(found.squares[g, k])
            scales = found.scale, found.share_scale
            score = group_mean_of(*of_group, scales, metric.range, n, z)
            asked.result.by_group.setdefault(label, {})[name] = Score(*score[:3])
