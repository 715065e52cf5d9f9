r"""Budget of each trial of a private search, derived from the budget of the whole.

Three kinds of trials are told apart by the calculus of all steps that they consist of: Gaussian DP,
zero-concentrated DP, or (epsilon, delta) alone. For each of them the search is
``(e + log R, delta)``-DP, with e the epsilon of a trial at ``delta / E[K]``, and R what its profile
says (:mod:`skdp.reporting.number_of_trials`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import sqrt
from typing import Any, final

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


@final
@dataclass(frozen=True)
class SearchAccount:
    """The account of one search.

    Parameters
    ----------
    rule : GaussianDP, ZeroConcentratedDP or None
        How the steps of a trial add up; None if some tell their (epsilon, delta) alone, of which
        shares are then of both.
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

    rule: Calculus | None
    epsilon: float
    delta: float
    trials: NumberOfTrials | int

    @property
    def calculus(self) -> str:
        """Name of the calculus of trials, as events have it."""
        if self.rule is None:
            return "approximate"
        return "gaussian" if isinstance(self.rule, GaussianDP) else "concentrated"

    @property
    def spent(self) -> PrivacySpent:
        """The whole budget: a search spends all of it."""
        return PrivacySpent(float(self.epsilon), float(self.delta))

    @property
    def trial(self) -> float:
        """Most that a trial may spend: the total of its rule, or an epsilon if there is none."""
        return _trial(self)

    @property
    def trial_delta(self) -> float:
        """The delta of a trial if there is no rule; 0 if there is, whose total needs none."""
        return 0.0 if self.rule is not None else self.delta / self._expected * _SAFE

    @property
    def _expected(self) -> float:
        return float(self.trials if isinstance(self.trials, int) else self.trials.mean)

    def of_trial(self, share: float, step: Calculus | None = None) -> PrivacySpent:
        """Parameters of a step that may spend this share of a trial.

        Parameters
        ----------
        share : float
            In (0, 1].
        step : Calculus, optional
            How the step counts; None if its (epsilon, delta) is all that is known.
        """
        if self.rule is None:
            return PrivacySpent(self.trial * share, self.trial_delta * share)
        rule = step if isinstance(step, GaussianDP) else self.rule
        return _traded(partial(rule.epsilon, self.trial * share), self.delta)

    def score_mu(self, share: float) -> float:
        """Level of Gaussian DP of a score that may spend this share of a trial.

        Parameters
        ----------
        share : float
            In (0, 1].
        """
        if self.rule is None:
            return _told_from_zero(gdp.mu(*self.of_trial(share)))
        return _told_from_zero(sqrt(self.trial * share))

    @property
    def event(self) -> Event:
        """The search as an event of a ledger."""
        fact: dict[str, Any] = {"query": "search", "purpose": _PURPOSE, "noise_scale": 1.0}
        fact["sensitivity"] = self.trial if self.rule is None else sqrt(self.trial)
        if isinstance(self.trials, int) and isinstance(self.rule, GaussianDP):
            return GaussianEvent(**fact, count=self.trials)
        return SearchEvent(
            **fact,
            calculus=self.calculus,
            published="all" if isinstance(self.trials, int) else "best",
            mean_trials=self._expected,
            trial_delta=self.trial_delta,
        )


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
    rule: Calculus | None = None
    if all(isinstance(step, GaussianDP) for step in steps):
        rule = GaussianDP()
    elif all(isinstance(step, GaussianDP | ZeroConcentratedDP) for step in steps):
        rule = ZeroConcentratedDP()
    return SearchAccount(rule, epsilon, delta, trials)


# A root that takes a while, and is asked for by every search of the same budget.
@lru_cache(maxsize=64)
def _trial(account: SearchAccount) -> float:
    rule, number, delta = account.rule, account.trials, account.trial_delta
    most = account.epsilon if rule is None else rule.limit(account.epsilon, account.delta)
    if isinstance(number, int):
        return most / number * _SAFE

    def profile(total: float, epsilon: float) -> float:
        if rule is None:
            return delta
        if isinstance(rule, GaussianDP):
            return gdp.delta(sqrt(total), epsilon)
        return zcdp.delta(total / 2, epsilon)

    def excess(log_share: float) -> float:
        total = most * 2.0**log_share
        losses = None if rule is not None else (total,)
        together = (lambda _: total) if rule is None else partial(rule.epsilon, total)
        asked = trials.epsilon(account.delta, number, partial(profile, total), together, losses)
        return asked - account.epsilon

    return most * 2.0 ** _root_below(excess) * _SAFE


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
