"""How runs of a bandit are charged to the ceilings that are open."""

from __future__ import annotations

from typing import Any

from ..privacy.adjacency import Adjacency
from ..privacy.ceiling import charge_for
from ..privacy.claims import Claim
from ..privacy.ledger import Ledger
from ..privacy.receipts import Receipt

__all__ = ["charge_again", "charge_begun", "charge_planned", "settle"]


def charge_planned(model: Any) -> None:
    """Set aside the budget of a new run, as far as parameters tell, before contexts are looked at.

    Parameters
    ----------
    model : estimator
        Its parameters are valid.
    """
    charge = charge_for(model)
    relation = Adjacency(model.adjacency)
    charge.reserve(Claim.planned(model.epsilon, model.delta, None, relation), begins=False)
    charge.remember(model)


def charge_begun(model: Any, ledger: Ledger) -> Claim:
    """Set aside what the ledger of a run accepts, before anything is charged to it.

    Parameters
    ----------
    model : estimator
        Which has planned the run.
    ledger : Ledger
        Of the run.

    Returns
    -------
    Claim
        What was set aside.
    """
    claim = Claim.of_ledger(ledger, Adjacency(model.adjacency))
    charge_for(model, goes_on=True).reserve(claim, begins=True)
    return claim


def charge_again(model: Any, claim: Claim) -> None:
    """Put a run that goes on under ceilings that have been set since it began.

    Parameters
    ----------
    model : estimator
        In the middle of a stream.
    claim : Claim
        What its ledger accepts.
    """
    charge = charge_for(model, goes_on=True)
    charge.reserve(claim, begins=True)
    charge.remember(model)


def settle(model: Any) -> None:
    """Replace what was set aside by what the receipt says, for a run that has ended.

    Parameters
    ----------
    model : estimator
        With its receipt.
    """
    charge_for(model, goes_on=True).settle(Receipt.of(model))
