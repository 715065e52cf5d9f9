"""Forecasts of private fits, by arithmetic on public facts, before any data are touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, floor, inf, log, sqrt
from numbers import Integral, Real
from typing import Any

from ..privacy.accounting import gdp
from ..privacy.accounting.default_delta import delta_for
from ..privacy.adjacency import Adjacency
from ..solvers.defaults import Forecast as tuned
from ..solvers.defaults import Screening, Stages
from ..validation import check_delta, shown

# Share of what there is to learn that noise takes away, up to which each regime reaches.
REGIMES = {"like non-private": 0.05, "some loss": 0.25, "large loss": 0.8, "hopeless": 1.0}
_BEST = "like non-private"
# Budgets beyond it promise next to nothing, so they are no advice; nor are more rows than that.
_LARGEST_EPSILON = 10.0
_MOST_ROWS = 1e12
_LEAST_DELTA, _POWER_OF_DELTA = 1e-300, -1.1
# A problem that is small in this sense would be learned if only there were more rows.
_FEW_FEATURES = 10


@dataclass(frozen=True)
class Plan:
    """Forecast of a fit. Made by :func:`skdp.plan`; print it for sentences.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the data.
    epsilon, delta : float
        The promise.
    n_classes : int or None
        Number of classes; None for regression.
    n_informative : int or None
        Number of features that are expected to matter; None if all may.
    adjacency : str
        Neighbouring relation.
    unknown_bounds : int
        Number of bounds that the fit has to find.
    unknown_targets : bool
        Whether one of them is that of the targets of a regression.
    bounds_share : float
        Share of mu^2 that bounds cost which the fit has to find.
    unknown_ranges : float
        Share of the columns whose ranges the fit has to find.
    evidence_of_ranges : float
        Standard deviations by which one of these stands out of the noise; infinite if all are
        known.
    counts : bool
        Whether targets are counts up to a cap, which noise is in proportion to.
    """

    n_samples: int
    n_features: int
    epsilon: float
    delta: float
    n_classes: int | None
    n_informative: int | None
    adjacency: str
    unknown_bounds: int
    unknown_targets: bool = False
    bounds_share: float = 0.0
    unknown_ranges: float = 0.0
    evidence_of_ranges: float = inf
    counts: bool = False

    @property
    def mu(self) -> float:
        """Part of the budget that is left for learning, in Gaussian differential privacy."""
        return self._mu(self.epsilon, self.delta)

    @property
    def sum_noise(self) -> float:
        """Noise of one sum of numbers between -1 and 1, one a row, that takes the whole budget.

        A standard deviation. Groups of fewer people than that, of one row each, have no visible
        effect on anything that is published.
        """
        return self._reach / self.mu

    @property
    def relative_noise(self) -> float:
        """Length of the noise in units of the longest answer, for the release that decides.

        That is the mean gradient were the whole budget spent on it, for regression in coordinates
        in which all directions are alike, and in units of a quarter of that for counts, whose rates
        are far below their cap; or, where few features matter, the choice of them, and the fit
        besides. For two classes of up to some hundred features it is doubled, as measured. Below
        .05 noise hardly matters; above 1.6 it drowns everything, in a regression above 1.05.
        Infinite if the bound for targets is not given and cannot be found in so few rows.
        """
        return self._noise(self.n_samples, self.n_features, self.epsilon)

    @property
    def expected_loss(self) -> float:
        """Share of what there is to learn that noise is expected to take away.

        ``1 - exp(-r)`` of the relative noise r, and ``1 - exp(-r - r^2 / 2)`` for regression, where
        it adds to the squared errors. Columns whose ranges noise hides are lost besides. What there
        is to learn is the accuracy above that of always naming the most frequent class, or R^2.
        """
        return self._loss(self.n_samples, self.n_features, self.epsilon)

    @property
    def regime(self) -> str:
        """``'like non-private'``, ``'some loss'``, ``'large loss'`` or ``'hopeless'``.

        For an expected loss of up to 5 %, 25 %, 80 %, and more.
        """
        return next(name for name, limit in REGIMES.items() if self.expected_loss <= limit)

    @property
    def dominated_by(self) -> str:
        """Obstacle to a better regime, ``'nothing'`` if there is none."""
        limit = self._limit
        if self.regime == _BEST:
            return "nothing"
        if self.n_samples * self.mu < self._to_find_targets:
            return "target_bounds that are not given, and cannot be found in so few rows"
        if 2 * self._hidden(self.n_samples, self.epsilon) > self.expected_loss:
            return "ranges of columns that are not given, and are hidden in so few rows"
        if self.epsilon < 1 and self._loss(self.n_samples, self.n_features, 1.0) <= limit:
            return "a small budget"
        few = min(self.n_features, _FEW_FEATURES)
        if self._loss(self.n_samples, few, self.epsilon) > limit:
            return "few rows"
        return "many features" if (self.n_classes or 2) <= 2 else "many features times classes"

    @property
    def rows_needed(self) -> int | None:
        """Number of rows from which the next better regime is expected, all else equal.

        None if there is no better one, or beyond 10^12 rows.
        """
        n = float(self.n_samples)
        rows = self._needed(n, _MOST_ROWS, lambda n: (n, self.n_features, self.epsilon))
        return None if rows is None else ceil(rows)

    @property
    def epsilon_needed(self) -> float | None:
        """Budget from which the next better regime is expected; None if none up to 10 does."""
        sizes = self.n_samples, self.n_features
        return self._needed(self.epsilon, _LARGEST_EPSILON, lambda budget: (*sizes, budget))

    @property
    def features_affordable(self) -> int | None:
        """Number of features up to which the next better regime is expected.

        None if there is no better one, or not even for a single feature.
        """
        n, d, budget = self.n_samples, self.n_features, self.epsilon
        ratio = self._needed(1.0, float(d), lambda ratio: (n, d / ratio, budget))
        return None if ratio is None else floor(d / ratio)

    def _needed(
        self, low: float, high: float, sizes: Callable[[float], tuple[float, float, float]]
    ) -> float | None:
        """Least number in a range at which sizes reach the next better regime, if any does."""
        if self.regime == _BEST:
            return None
        return _least(lambda x: self._loss(*sizes(x)) <= self._limit, low, high)

    @property
    def advice(self) -> tuple[str, ...]:
        """Sentences about changes that would help; empty if there is nothing to gain."""
        lines = []
        if self.n_samples * self.mu < self._to_find_targets:
            lines.append("give target_bounds, an interval that is known to hold the targets")
        if self._hidden(self.n_samples, self.epsilon) > REGIMES[_BEST]:
            lines.append("give data_bounds, the ranges of columns that are known")
        if self.regime != _BEST:
            goal = f"for {self._better!r}"
            if (rows := self.rows_needed) is not None:
                lines.append(f"{goal}: {_two_digits(rows):,} rows")
            if (budget := self.epsilon_needed) is not None:
                lines.append(f"{goal}: epsilon = {_two_digits(budget * 10) / 10:g}")
            if (features := self.features_affordable) is not None:
                lines.append(f"{goal}: {features:,} features, chosen without looking at the data")
            if self.n_classes is None:
                lines.append("bring all features to similar ranges by constants known beforehand")
            else:
                lines.append(
                    "bring all features to similar ranges by constants known beforehand, then each "
                    "row to length 1 (Normalizer), so that none is drowned"
                )
        for _ in range(self.unknown_bounds):
            lines.append("give a bound that is known (data_norm, target_bounds): saves 4 %")
        return tuple(dict.fromkeys(lines))

    @property
    def unseen(self) -> str:
        """Size of what noise hides from everybody, in plain words."""
        return (
            f"groups of fewer than about {_two_digits(self.sum_noise):,} people, of one row each, "
            "have no visible effect"
        )

    @property
    def futile(self) -> bool:
        """True if next to nothing would be learned."""
        return self.expected_loss > tuned.FUTILE

    @property
    def sentence(self) -> str:
        """Expected accuracy in one sentence."""
        return (
            f"{self._expected}; about {self.expected_loss:.0%} of what there is to "
            "learn is lost to noise"
        )

    @property
    def _expected(self) -> str:
        cause = self.dominated_by
        because = "" if cause == "nothing" else f", because of {cause}"
        return f"expected: {self.regime}{because}"

    def __str__(self) -> str:
        kind = "regression" if self.n_classes is None else f"{self.n_classes} classes"
        if self.n_informative is not None:
            kind += f" on {self.n_informative} of them"
        lines = [
            f"{self.n_samples:,} rows, {self.n_features:,} features, {kind}; "
            f"epsilon = {self.epsilon:g}, delta = {self.delta:.1e}, {self.adjacency}",
            f"  {self._expected}",
            f"  about {self.expected_loss:.0%} of what there is to learn is lost to noise",
            f"  {self.unseen}",
            *(f"  - {sentence}" for sentence in self.advice),
        ]
        return "\n".join(lines)

    @property
    def _reach(self) -> float:
        """Most that a row can move a sum of vectors of length 1."""
        return Adjacency(self.adjacency).of_sum(1.0)

    @property
    def _better(self) -> str:
        names = list(REGIMES)
        return names[max(0, names.index(self.regime) - 1)]

    @property
    def _limit(self) -> float:
        """Expected loss up to which the next better regime reaches."""
        return REGIMES[self._better]

    @property
    def _to_find_targets(self) -> float:
        """Rows times mu below which the bound for targets is missing; 0 if there is one."""
        return tuned.FINDS_TARGETS if self.unknown_targets else 0.0

    def _mu(self, epsilon: float, delta: float) -> float:
        return gdp.mu(epsilon, delta) * sqrt(1 - self.bounds_share)

    def _loss(self, n: float, d: float, epsilon: float) -> float:
        """Expected loss for other sizes."""
        noise = self._noise(n, d, epsilon)
        if self.n_classes is None and self.n_informative is None:
            # It adds to the squared errors.
            noise += noise**2 / 2
        kept = exp(-noise)
        return 1 - kept * (1 - self._hidden(n, epsilon))

    def _hidden(self, n: float, epsilon: float) -> float:
        """Share of the columns whose ranges noise hides, for other sizes."""
        if not self.unknown_ranges:
            return 0.0
        more = n * self._mu(epsilon, self.delta) / (self.n_samples * self.mu)
        return self.unknown_ranges * exp(
            -((more * self.evidence_of_ranges / tuned.FINDS_RANGES) ** 2)
        )

    def _noise(self, n: float, d: float, epsilon: float) -> float:
        """Relative noise for other sizes; delta shrinks with more rows, as it has to."""
        delta = max(_LEAST_DELTA, min(self.delta, n**_POWER_OF_DELTA))
        mu = self._mu(epsilon, delta)
        evidence = n * mu / self._reach
        if n * mu < self._to_find_targets:
            return inf
        if self.n_classes == 2:
            harder = 1 + (tuned.TWO_CLASSES - 1) / (1 + d / tuned.FEATURES_OF_TEXT)
            return harder * sqrt(d + 1) / evidence
        if self.n_classes is not None:
            return sqrt((d + 1) * self.n_classes) / evidence
        if self.n_informative is not None:
            choice = (tuned.SELECTION * self.n_informative * log(d + 1) / evidence) ** 2
            # Half of the budget is for the fit, of informative features and others.
            selected = min(d, max(2.0, 2 * Screening.SELECTED * sqrt(n * mu)))
            return choice + sqrt(2) * selected / evidence
        return (d + 1) / (evidence * (tuned.CURVATURE_OF_COUNTS if self.counts else 1.0))


def forecast(
    n_samples: int,
    n_features: int,
    *,
    epsilon: float = 1.0,
    delta: float | None = None,
    n_classes: int | None = None,
    n_informative: int | None = None,
    adjacency: str = "replace_one",
    unknown_bounds: int = 0,
) -> Plan:
    """Forecast of a fit; see :func:`skdp.plan`."""
    require("n_samples", n_samples, Integral, 2, inf)
    require("n_features", n_features, Integral, 1, inf)
    require("epsilon", epsilon, Real, 1e-10, 1e9)
    if n_classes is not None:
        require("n_classes", n_classes, Integral, 2, inf)
    if n_informative is not None:
        require("n_informative", n_informative, Integral, 1, n_features)
        if n_classes is not None:
            raise ValueError(
                "plan needs n_informative=None for classification, of which it knows no sparse "
                f"kind, got n_informative={shown(n_informative)} and n_classes={shown(n_classes)}."
            )
    slack = delta_for(None, n_samples) if delta is None else delta
    check_delta("plan", slack)
    require("unknown_bounds", unknown_bounds, Integral, 0, 2 if n_classes is None else 1)
    known = [a.value for a in Adjacency]
    relation: Any = adjacency  # Whatever it is said to be.
    if not isinstance(relation, str) or relation not in known:
        raise ValueError(f"plan needs one of {known} as adjacency, got {shown(relation)}.")
    return Plan(
        # Numbers of numpy overflow.
        n_samples=int(n_samples),
        n_features=int(n_features),
        epsilon=float(epsilon),
        delta=float(slack),
        n_classes=None if n_classes is None else int(n_classes),
        n_informative=None if n_informative is None else int(n_informative),
        adjacency=adjacency,
        unknown_bounds=unknown_bounds,
        unknown_targets=unknown_bounds == 2,
        bounds_share=Stages.BOUND_SHARE * unknown_bounds,
    )


def require(name: str, value: Any, kind: type, low: float, high: float) -> None:
    """Refuse a public fact that is no number of this kind in this range."""
    counts = isinstance(value, kind) and not isinstance(value, bool)
    if not (counts and low <= value <= high):
        what = "a whole number" if kind is Integral else "a number"
        above = "" if high == inf else f" and at most {high:g}"
        raise ValueError(
            f"plan needs {name} to be {what} of at least {low:g}{above}, got {shown(value)}."
        )


def _least(enough: Callable[[float], bool], low: float, high: float) -> float | None:
    """Least number between two positive ones that is enough; None if even the larger one is not."""
    if high < low or not enough(high):
        return None
    while high / low > 1 + 1e-9:
        middle = sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _two_digits(number: float) -> int:
    """Rounded up to two leading digits."""
    unit = 10 ** max(0, len(str(ceil(number))) - 2)
    return ceil(number / unit) * unit
