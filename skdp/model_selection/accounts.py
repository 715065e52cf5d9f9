r"""Budget of each trial of a private search, derived from the budget of the whole.

Three kinds of trials are told apart by the calculus of all steps that they consist of: Gaussian DP,
zero-concentrated DP, or (epsilon, delta) alone. An approximate trial, (e, d)-DP, has
``delta(e) <= d``, so the split form of :mod:`skdp.reporting.number_of_trials` makes the
search ``(e + log R, E[K] d)``-DP, where R follows from e and d.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import log, sqrt
from typing import Any, ClassVar, final

from scipy.optimize import brentq

from ..privacy.accounting import gdp, zcdp
from ..privacy.accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..privacy.accounting.events import Event, GaussianEvent, SearchEvent
from ..privacy.accounting.ledger import PrivacySpent
from ..reporting import number_of_trials as trials
from ..reporting.number_of_trials import NumberOfTrials

# Keeps sums of what steps may spend below the whole in spite of rounding.
_SAFE = 1 - 1e-9
# Parameters below are refused by estimators. A smaller delta makes a larger epsilon.
_LEAST_EPSILON, _SMALLER = 1e-8, 0.1
# What the receipt of a search says that it is about.
_PURPOSE = "best of several trials"
# The least that accountants take.
_LEAST_DELTA = 1e-300


@dataclass(frozen=True)
class SearchAccount(ABC):
    """The account of one search.

    Parameters
    ----------
    epsilon, delta : float
        The whole budget.
    trials : NumberOfTrials or int
        Distribution of the secret number of trials, or a public number of trials that all may be
        published.

    Guarantees
    ----------
    - Trials within their share, of secret number, are together (epsilon, delta)-DP if the best
      trial alone is published.
    """

    calculus: ClassVar[str]

    epsilon: float
    delta: float
    trials: NumberOfTrials | int

    @property
    @final
    def spent(self) -> PrivacySpent:
        """The whole budget: a search spends all of it."""
        return PrivacySpent(float(self.epsilon), float(self.delta))

    @property
    @abstractmethod
    def trial(self) -> Any:
        """Budget of a trial, in the measure of the calculus."""

    @abstractmethod
    def _mu(self, share: float) -> float:
        """Level of Gaussian DP of all that may spend this share of a trial."""

    def of_trial(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """Parameters of a step that may spend this share of a trial.

        Parameters
        ----------
        share : float
            In (0, 1].
        step : Calculus, optional
            How the step counts; None if its (epsilon, delta) is all that is known.
        """
        del step
        return _traded(partial(gdp.epsilon, self._mu(share)), self.delta)

    @final
    def score_mu(self, share: float) -> float:
        """Level of Gaussian DP of a score that may spend this share of a trial.

        Parameters
        ----------
        share : float
            In (0, 1].
        """
        return _told_from_zero(self._mu(share))

    @property
    def event(self) -> Event:
        """The search as an event of a ledger."""
        return self._search(self._mu(1.0))

    @final
    def _search(self, level: float, *, trial_delta: float = 0.0) -> Event:
        fact: dict[str, Any] = {"query": "search", "purpose": _PURPOSE}
        fact |= {"sensitivity": level, "noise_scale": 1.0}
        number = self.trials
        if isinstance(number, int) and self.calculus == GaussianSearch.calculus:
            return GaussianEvent(**fact, count=number)
        return SearchEvent(
            **fact,
            calculus=self.calculus,
            published="all" if isinstance(number, int) else "best",
            mean_trials=float(number if isinstance(number, int) else number.mean),
            trial_delta=trial_delta,
        )


@final
@dataclass(frozen=True)
class GaussianSearch(SearchAccount):
    """Trials whose steps are all accounted for by Gaussian DP."""

    calculus: ClassVar[str] = "gaussian"

    @cached_property
    def trial(self) -> float:
        """The mu^2 of a trial."""
        if isinstance(self.trials, int):
            return gdp.mu(self.epsilon, self.delta) ** 2 / self.trials * _SAFE
        return trials.mu(self.epsilon, self.delta, self.trials) ** 2 * _SAFE

    def _mu(self, share: float) -> float:
        return sqrt(self.trial * share)


@final
@dataclass(frozen=True)
class ConcentratedSearch(SearchAccount):
    """Trials whose steps are accounted for by zero-concentrated or Gaussian DP."""

    calculus: ClassVar[str] = "concentrated"

    @property
    def trial(self) -> float:
        """The rho of a trial."""
        return _concentrated_trial(self)

    def of_trial(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """Parameters of a step at the delta of the whole; mu^2 = 2 rho is rho-zCDP."""
        if isinstance(step, GaussianDP):
            return super().of_trial(share)
        return _traded(partial(zcdp.epsilon, self.trial * share), self.delta)

    def _mu(self, share: float) -> float:
        return sqrt(2 * self.trial * share)


@final
@dataclass(frozen=True)
class ApproximateSearch(SearchAccount):
    """Trials of which some step tells its (epsilon, delta) alone. Shares are of both."""

    calculus: ClassVar[str] = "approximate"

    @property
    def trial(self) -> PrivacySpent:
        """The (epsilon, delta) of a trial."""
        return _approximate_trial(self)

    def of_trial(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """The share of both parameters."""
        del step
        return PrivacySpent(self.trial.epsilon * share, self.trial.delta * share)

    def _mu(self, share: float) -> float:
        return gdp.mu(*self.of_trial(share))

    @property
    def event(self) -> Event:
        """A search."""
        return self._search(self.trial.epsilon, trial_delta=self.trial.delta)


def account_for(
    steps: list[Calculus | None], epsilon: float, delta: float, trials: NumberOfTrials | int
) -> SearchAccount:
    """The account that suits all steps that trials may consist of.

    Parameters
    ----------
    steps : list of Calculus or None
        How each step counts; None if its (epsilon, delta) is all that is known.
    epsilon, delta : float
        The whole budget.
    trials : NumberOfTrials or int
        As for :class:`SearchAccount`.
    """
    kind: type[SearchAccount] = ApproximateSearch
    if all(isinstance(step, GaussianDP) for step in steps):
        kind = GaussianSearch
    elif all(isinstance(step, GaussianDP | ZeroConcentratedDP) for step in steps):
        kind = ConcentratedSearch
    return kind(epsilon, delta, trials)


# Roots of functions that take a while, and are asked for by every search of the same budget.
@lru_cache(maxsize=64)
def _concentrated_trial(account: ConcentratedSearch) -> float:
    most, number = zcdp.rho(account.epsilon, account.delta), account.trials
    if isinstance(number, int):
        return most / number * _SAFE

    def excess(log_share: float) -> float:
        trial = partial(zcdp.delta, most * 2.0**log_share)
        at = trials.split_delta(account.epsilon, number, trial)
        return log(max(at, 1e-320)) - log(account.delta)

    return most * 2.0 ** _root_below(excess) * _SAFE


@lru_cache(maxsize=64)
def _approximate_trial(account: ApproximateSearch) -> PrivacySpent:
    whole, number = account.epsilon, account.trials
    if isinstance(number, int):
        return PrivacySpent(whole / number * _SAFE, account.delta / number * _SAFE)
    delta = account.delta / number.mean * _SAFE

    def excess(log_share: float) -> float:
        e = whole * 2.0**log_share
        return e + log(trials.largest_ratio(number, lambda x: delta, (e,))) - whole

    return PrivacySpent(whole * 2.0 ** _root_below(excess) * _SAFE, delta)


def _traded(epsilon_at: Callable[[float], float], delta: float) -> PrivacySpent:
    """Parameters at the delta, or at a smaller one whose epsilon is enough for an estimator."""
    while (epsilon := epsilon_at(delta)) < _LEAST_EPSILON:
        delta *= _SMALLER
        if delta < _LEAST_DELTA:
            _told_from_zero(0.0)
    return PrivacySpent(epsilon, delta)


def _told_from_zero(amount: float) -> float:
    if not amount:
        raise ValueError(
            "A private search needs a budget of which scores and steps of a trial get shares that "
            "can be told from 0, and of this one next to nothing is left. Let epsilon, score_share "
            "or weights in step_shares be larger, or n_iter smaller."
        )
    return amount


def _root_below(excess: Callable[[float], float]) -> float:
    """Root of an increasing function, or 0 if that is smaller."""
    if excess(0.0) <= 0:
        return 0.0
    low = -1.0
    while excess(low) > 0:
        low *= 2
    return float(brentq(excess, low, 0.0, xtol=1e-12))
