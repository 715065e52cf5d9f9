"""Plan of a search, settled before anything is charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ..privacy.accounting.calculus import Calculus
from ..privacy.accounting.events import ExponentialEvent, GaussianEvent, PrefixSumEvent
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.accounting.searches import SearchAccount
from ..privacy.row_scores import NoisyScoring
from ..validation import shown
from .runs import PublicScoring
from .steps import private_steps, set_budgets

__all__ = ["Allowance", "Candidate", "SearchPlan", "allow", "share_of"]

# Events that the account of a search relies on; None are all.
_RELIED_ON: dict[str, tuple[type, ...] | None] = {
    "gaussian": (GaussianEvent, PrefixSumEvent),
    "concentrated": (GaussianEvent, PrefixSumEvent, ExponentialEvent),
    "approximate": None,
}


@dataclass(frozen=True)
class Allowance:
    """Budgets of the private steps of an estimator, and the calculus that they keep to.

    Parameters
    ----------
    runs : str
        What the account of the search knows of runs.
    steps : tuple of PrivacySpent
        For each private step, in the order of paths.
    """

    runs: str
    steps: tuple[PrivacySpent, ...]

    def covers(self, model: Any) -> bool:
        """Tell whether a fitted model has kept to its budgets, by its receipts.

        Parameters
        ----------
        model : estimator
            Fitted.
        """
        relied_on = _RELIED_ON[self.runs]
        steps = private_steps(model, fitted=True).values()
        for step, (epsilon, delta) in zip(steps, self.steps, strict=True):
            spent = step.privacy_spent_
            if spent[0] > epsilon or spent[1] > delta:
                return False
            if relied_on and not all(isinstance(e, relied_on) for e in step.privacy_ledger_):
                return False
        return True


@dataclass(frozen=True, eq=False)
class Candidate:
    """Estimator to be fitted in one trial, with its parameters and budget.

    Parameters
    ----------
    params : dict
        As drawn or listed.
    estimator : estimator
        With these parameters and a budget.
    allowance : Allowance
        The budget.
    seed : int or None
        For the noise on the score, in tests.
    """

    params: dict[str, Any]
    estimator: Any
    allowance: Allowance
    seed: int | None


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """Plan of a search: budget of a trial, scoring, rows to train on, candidates.

    Parameters
    ----------
    account : SearchAccount
        What runs may spend.
    scoring : NoisyScoring or PublicScoring
        How models are judged.
    kept : ndarray or None
        Positions of rows to train on; None are all.
    candidates : list of Candidate
        One for each run.
    last : callable
        Takes the parameters of the winner, and returns a candidate with the budget of the last fit.
    """

    account: SearchAccount
    scoring: NoisyScoring | PublicScoring
    kept: np.ndarray | None
    candidates: list[Candidate]
    last: Callable[[dict[str, Any]], Candidate]


def allow(
    who: str,
    estimator: Any,
    kinds: list[Calculus | None],
    step_shares: dict[str, float] | None,
    runs: str,
    parameters: Callable[[float, Calculus | None], PrivacySpent],
) -> Allowance:
    """Give an estimator its budget, and say what it is.

    Parameters
    ----------
    who : str
        The search.
    estimator : estimator
        Its private steps are changed in place.
    kinds : list of Calculus or None
        How each of them counts.
    step_shares : dict or None
        Weights by path; steps that it leaves out have weight 1.
    runs : str
        What the account of the search knows of runs.
    parameters : callable
        Takes the share of a step and how it counts, and returns its epsilon and delta.

    Raises
    ------
    ValueError
        If weights are not positive and finite.
    """
    given = step_shares or {}
    weights = [float(given.get(path, 1.0)) for path in private_steps(estimator)]
    if not all(0 < weight < inf for weight in weights):
        raise ValueError(f"{who} needs positive finite step_shares, got {shown(step_shares)}.")
    whole = sum(weights)
    budgets = [parameters(w / whole, kind) for w, kind in zip(weights, kinds, strict=True)]
    set_budgets(estimator, budgets)
    return Allowance(runs, tuple(budgets))


def share_of(
    part: Callable[..., PrivacySpent], whole: float, share: float, kind: Calculus | None
) -> PrivacySpent:
    """(epsilon, delta) of one step, a share of the part of a trial that is for fits.

    Parameters
    ----------
    part : callable
        Takes a share of a run and how a step counts, and returns epsilon and delta.
    whole : float
        The share of the run that is for fits.
    share : float
        The share of the step in that.
    kind : Calculus or None
        How the step counts.
    """
    return part(whole * share, kind)
