"""What a fit may have spent of which only the parameters are left."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ..estimators.fitting import FittedInParts
from ..preprocessing.base import PrivateTransformer
from ..privacy.adjacency import Adjacency
from ..privacy.calculus import GaussianDP, ZeroConcentratedDP
from ..privacy.claims import Claim
from ..privacy.events import Event, GaussianEvent, SearchEvent
from ..privacy.ledger import PrivacySpent
from ..privacy.receipts import Receipt

__all__ = ["declared", "spends"]


def spends(step: Any) -> bool:
    """Whether a step has a budget by its parameters.

    Parameters
    ----------
    step : object
        Fitted or not.
    """
    ours = type(step).__module__.partition(".")[0] == __name__.partition(".")[0]
    return ours and hasattr(step, "epsilon") and hasattr(step, "delta")


def declared(step: Any, who: str) -> Receipt:
    """The receipt of a fit that spent all that its parameters allow.

    If parameters say that all releases are Gaussian, or under zero-concentrated DP, it is an event
    with the whole limit of the ledger, so that fits add up as such; else (epsilon, delta) is all
    there is.

    Parameters
    ----------
    step : estimator
        One that :func:`spends`.
    who : str
        What to call it.
    """
    adjacency = Adjacency(step.adjacency)
    claim = None
    if isinstance(step, FittedInParts):
        claim = step._claim()
    elif isinstance(step, PrivateTransformer):
        claim = Claim.planned(step.epsilon, step.delta, GaussianDP(), adjacency)
    spent = PrivacySpent(float(step.epsilon), float(step.delta))
    events: tuple[Event, ...] = ()
    if claim is not None and isinstance(claim.calculus, GaussianDP):
        events = (GaussianEvent(query="fit", sensitivity=sqrt(claim.limit), noise_scale=1.0),)
    elif claim is not None and isinstance(claim.calculus, ZeroConcentratedDP):
        events = (
            SearchEvent(
                query="fit",
                sensitivity=sqrt(claim.limit),
                noise_scale=1.0,
                runs="concentrated",
                law="all",
                mean_runs=1.0,
            ),
        )
    return Receipt(events, spent, adjacency, who)
