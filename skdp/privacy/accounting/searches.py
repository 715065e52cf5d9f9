r"""Budget of a single trial of a private search, and privacy cost of the whole search.

A search knows its total (epsilon, delta) and derives from it the budget of a single run, a score
included, and of a last fit if one is wanted. Three kinds of runs are told apart by what is known of
all steps that a run consists of: Gaussian DP, zero-concentrated DP, or (epsilon, delta) alone.

An approximate run, (e, d)-DP, has ``delta_P(e + e') <= d + d'`` together with a last fit that is
(e', d')-DP, so the split form of :mod:`skdp.privacy.accounting.tuning` makes the search
``(e + e' + log R, E[K] (d + d'))``-DP, where R follows from e and d.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import log, sqrt
from typing import ClassVar, final

from scipy.optimize import brentq

from . import gdp, tuning, zcdp
from .calculus import Calculus, GaussianDP, ZeroConcentratedDP
from .events import Event, GaussianEvent, SearchEvent
from .ledger import PrivacySpent
from .run_laws import NegativeBinomial, RunLaw

__all__ = [
    "ApproximateSearch",
    "ConcentratedSearch",
    "GaussianSearch",
    "SearchAccount",
    "account_for",
]

# Keeps sums of what steps may spend below the whole in spite of rounding.
_SAFE = 1 - 1e-9
# Parameters below are refused by estimators. A smaller delta makes a larger epsilon.
_LEAST_EPSILON, _SMALLER = 1e-8, 0.1
# The least that accountants take.
_LEAST_DELTA = 1e-300


@dataclass(frozen=True)
class SearchAccount(ABC):
    """The account of one search.

    Parameters
    ----------
    epsilon, delta : float
        The whole budget.
    law : RunLaw or int
        Law of the secret number of runs, or a public number of runs that all may be published.
    refit : float, default=0.0
        Share that is left for a last fit, in [0, 1).

    Guarantees
    ----------
    - Runs within their share, of secret number, and a last fit within its own, are together
      (epsilon, delta)-DP if the best run alone is published.
    """

    runs: ClassVar[str]

    epsilon: float
    delta: float
    law: RunLaw | int
    refit: float = 0.0

    @property
    @final
    def spent(self) -> PrivacySpent:
        """The whole budget: a search spends all of it."""
        return PrivacySpent(float(self.epsilon), float(self.delta))

    @abstractmethod
    def of_run(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """Parameters of a step that may spend this share of a run.

        Parameters
        ----------
        share : float
            In (0, 1].
        step : Calculus, optional
            How the step counts; None if its (epsilon, delta) is all that is known.
        """

    @abstractmethod
    def of_refit(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """Parameters of a step that may spend this share of the last fit.

        Parameters
        ----------
        share : float
            In (0, 1].
        step : Calculus, optional
            How the step counts; None if its (epsilon, delta) is all that is known.
        """

    @abstractmethod
    def score_mu(self, share: float) -> float:
        """Level of Gaussian DP of a score that may spend this share of a run.

        Parameters
        ----------
        share : float
            In (0, 1].
        """

    @property
    @abstractmethod
    def events(self) -> tuple[Event, ...]:
        """The receipt."""

    @final
    def _search(self, level: float, *, run_delta: float = 0.0) -> SearchEvent:
        law, runs = self.law, self.runs
        return SearchEvent(
            query="search",
            sensitivity=level,
            noise_scale=1.0,
            runs=runs,
            law="all" if isinstance(law, int) else law.name,
            mean_runs=float(law if isinstance(law, int) else law.mean),
            eta=law.eta if isinstance(law, NegativeBinomial) else 0.0,
            run_delta=run_delta,
        )


@final
@dataclass(frozen=True)
class GaussianSearch(SearchAccount):
    """Runs whose steps are all accounted for by Gaussian DP."""

    runs: ClassVar[str] = "gaussian"

    @cached_property
    def run(self) -> float:
        """The mu^2 of a run."""
        if isinstance(self.law, int):
            whole = gdp.mu(self.epsilon, self.delta) ** 2
            return whole * (1 - self.refit) / self.law * _SAFE
        return tuning.mu(self.epsilon, self.delta, self.law, self.refit) ** 2 * _SAFE

    @cached_property
    def last(self) -> float:
        """The mu^2 of the last fit."""
        runs = self.law if isinstance(self.law, int) else 1
        return runs * self.run * self.refit / (1 - self.refit)

    def of_run(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """(epsilon, delta) at the delta of the whole."""
        del step
        return _gaussian(self.run * share, self.delta)

    def of_refit(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """(epsilon, delta) at the delta of the whole."""
        del step
        return _gaussian(self.last * share, self.delta)

    def score_mu(self, share: float) -> float:
        """The root of the share of mu^2."""
        return _told_from_zero(sqrt(self.run * share))

    @property
    def events(self) -> tuple[Event, ...]:
        """A search, or Gaussian releases, and a Gaussian release for the last fit."""
        mu = sqrt(self.run)
        found: list[Event] = [self._search(mu)]
        if isinstance(self.law, int):
            found = [GaussianEvent(query="search", sensitivity=mu, noise_scale=1.0, count=self.law)]
        if self.refit:
            last = sqrt(self.last)
            found.append(GaussianEvent(query="refit", sensitivity=last, noise_scale=1.0))
        return tuple(found)


@final
@dataclass(frozen=True)
class ConcentratedSearch(SearchAccount):
    """Runs whose steps are accounted for by zero-concentrated or Gaussian DP."""

    runs: ClassVar[str] = "concentrated"

    @property
    def run(self) -> float:
        """The rho of a run."""
        return _concentrated_run(self)

    @cached_property
    def last(self) -> float:
        """The rho of the last fit."""
        runs = self.law if isinstance(self.law, int) else 1
        return runs * self.run * self.refit / (1 - self.refit)

    def of_run(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """(epsilon, delta) at the delta of the whole; mu^2 = 2 rho is rho-zCDP."""
        return self._parameters(self.run * share, step)

    def of_refit(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """(epsilon, delta) at the delta of the whole; mu^2 = 2 rho is rho-zCDP."""
        return self._parameters(self.last * share, step)

    def score_mu(self, share: float) -> float:
        """The root of twice the share of rho."""
        return _told_from_zero(sqrt(2 * self.run * share))

    @property
    def events(self) -> tuple[Event, ...]:
        """A search, and another one of a single run for the last fit."""
        found = [self._search(sqrt(2 * self.run))]
        if self.refit:
            once = ConcentratedSearch(self.epsilon, self.delta, 1)
            found.append(once._search(sqrt(2 * self.last)))
        return tuple(found)

    def _parameters(self, rho: float, step: Calculus | None) -> PrivacySpent:
        if isinstance(step, GaussianDP):
            return _gaussian(2 * rho, self.delta)
        return _traded(partial(zcdp.epsilon, rho), self.delta)


@final
@dataclass(frozen=True)
class ApproximateSearch(SearchAccount):
    """Runs of which some step tells its (epsilon, delta) alone. Shares are of both."""

    runs: ClassVar[str] = "approximate"

    @property
    def run(self) -> PrivacySpent:
        """The (epsilon, delta) of a run."""
        return _approximate_run(self)

    @cached_property
    def last(self) -> PrivacySpent:
        """The (epsilon, delta) of the last fit."""
        ratio = self.refit / (1 - self.refit)
        runs = self.law if isinstance(self.law, int) else 1
        return PrivacySpent(runs * self.run.epsilon * ratio, runs * self.run.delta * ratio)

    def of_run(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """The share of both parameters."""
        del step
        return PrivacySpent(self.run.epsilon * share, self.run.delta * share)

    def of_refit(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """The share of both parameters."""
        del step
        return PrivacySpent(self.last.epsilon * share, self.last.delta * share)

    def score_mu(self, share: float) -> float:
        """Largest mu of a score that takes the share of both epsilon and delta."""
        return _told_from_zero(gdp.mu(self.run.epsilon * share, self.run.delta * share))

    @property
    def events(self) -> tuple[Event, ...]:
        """A search, and another one of a single run for the last fit."""
        found = [self._search(self.run.epsilon, run_delta=self.run.delta)]
        if self.refit:
            once = ApproximateSearch(self.epsilon, self.delta, 1)
            found.append(once._search(self.last.epsilon, run_delta=self.last.delta))
        return tuple(found)


def account_for(
    steps: list[Calculus | None],
    epsilon: float,
    delta: float,
    law: RunLaw | int,
    refit: float = 0.0,
) -> SearchAccount:
    """The account that suits all steps that runs may consist of.

    Parameters
    ----------
    steps : list of Calculus or None
        How each step counts; None if its (epsilon, delta) is all that is known.
    epsilon, delta : float
        The whole budget.
    law : RunLaw or int
        As for :class:`SearchAccount`.
    refit : float, default=0.0
        As for :class:`SearchAccount`.
    """
    kind: type[SearchAccount] = ApproximateSearch
    if all(isinstance(step, GaussianDP) for step in steps):
        kind = GaussianSearch
    elif all(isinstance(step, GaussianDP | ZeroConcentratedDP) for step in steps):
        kind = ConcentratedSearch
    return kind(epsilon, delta, law, refit)


# Roots of functions that take a while, and are asked for by every search of the same budget.
@lru_cache(maxsize=64)
def _concentrated_run(account: ConcentratedSearch) -> float:
    most = zcdp.rho(account.epsilon, account.delta)
    if isinstance(account.law, int):
        return most * (1 - account.refit) / account.law * _SAFE
    law, ratio = account.law, account.refit / (1 - account.refit)

    def excess(log_rho: float) -> float:
        rho = most * 2.0**log_rho
        at = _concentrated_delta(account.epsilon, law, rho, rho * ratio)
        return log(max(at, 1e-320)) - log(account.delta)

    return most * 2.0 ** _root_below(excess) * _SAFE


@lru_cache(maxsize=64)
def _approximate_run(account: ApproximateSearch) -> PrivacySpent:
    kept = 1 - account.refit
    whole, delta = account.epsilon * kept, account.delta * kept
    if isinstance(account.law, int):
        return PrivacySpent(whole / account.law * _SAFE, delta / account.law * _SAFE)
    law, delta = account.law, delta / account.law.mean * _SAFE

    def excess(log_share: float) -> float:
        e = whole * 2.0**log_share
        ratio = tuning.largest_ratio(law, lambda x: delta, (e,))
        return e / kept + log(ratio) - account.epsilon

    return PrivacySpent(whole * 2.0 ** _root_below(excess) * _SAFE, delta)


def _concentrated_delta(epsilon: float, law: RunLaw, rho: float, more: float) -> float:
    """The delta of a search over rho-zCDP runs with releases besides, by the better bound."""

    def run(x: float) -> float:
        return zcdp.delta(rho, x)

    split = tuning.split_delta(epsilon, law, run, lambda x: zcdp.delta(rho + more, x))
    return min(split, tuning.renyi_delta(epsilon, law, rho, run, more))


def _gaussian(mu2: float, delta: float) -> PrivacySpent:
    return _traded(partial(gdp.epsilon, sqrt(mu2)), delta)


def _traded(epsilon_at: Callable[[float], float], delta: float) -> PrivacySpent:
    """(epsilon, delta) at the delta, or at a smaller one if an estimator needs a larger epsilon."""
    while (epsilon := epsilon_at(delta)) < _LEAST_EPSILON:
        delta *= _SMALLER
        if delta < _LEAST_DELTA:
            _told_from_zero(0.0)
    return PrivacySpent(epsilon, delta)


def _told_from_zero(amount: float) -> float:
    if not amount:
        raise ValueError(
            "A private search needs a budget of which a run gets a share that can be told from 0, "
            "and of this one next to nothing is left. Let epsilon be larger, n_iter smaller or eta "
            "farther from -1."
        )
    return amount


def _root_below(excess: Callable[[float], float]) -> float:
    """Root of an increasing function, or 0 if the root is positive."""
    if excess(0.0) <= 0:
        return 0.0
    low = -1.0
    while excess(low) > 0:
        low *= 2
    return float(brentq(excess, low, 0.0, xtol=1e-12))
