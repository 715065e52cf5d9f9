"""Privacy cost of giving a stream the rows of an earlier call once more."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from ..exceptions import PrivacyLeakWarning, warn_user
from ..privacy.accounting.calculus import GaussianDP
from ..privacy.accounting.events import Event, GaussianEvent
from ..privacy.accounting.ledger import PrivacySpent
from ..report.composition import compose
from ..report.receipts import Receipt, SpendBound

if TYPE_CHECKING:
    from .fitting import FittedInParts

__all__ = ["charge_repeats"]


def charge_repeats(model: FittedInParts, claim: SpendBound | None, times: int) -> None:
    """Charge a call whose rows come once more, before anything is asked about them.

    Parameters
    ----------
    model : estimator
        In the middle of a stream.
    claim : SpendBound or None
        What a part of the stream may spend; None before one was planned.
    times : int
        How often the rows have come, this call included.

    Raises
    ------
    BudgetExceededError
        If a :class:`skdp.PrivacyBudget` is open that has no room for it.
    """
    progress = model._progress
    if times <= progress.repeats:
        return
    model._charge(claim, times)
    if progress.repeats == 1:
        _warn(model, claim or model._claim(), times)
    progress.repeats = times
    model._publish_receipt()


def _warn(model: FittedInParts, claim: SpendBound, times: int) -> None:
    """Say that the same rows have come again, and what that costs."""
    name, most = type(model).__name__, _most(claim, times, shared=model._progress.shared)
    how = (
        f"as {times} records of one person"
        if model._progress.shared
        else f"as {times} fits on the same rows"
    )
    warn_user(
        f"{name}.partial_fit was given all rows of an earlier call again. Its budget of "
        f"epsilon={claim.epsilon:.6g} at delta={claim.delta:.6g} is for rows that are new in each "
        f"call, so these count {how}: up to epsilon={most.epsilon:.6g} at delta={most.delta:.6g}, "
        "and more with each further time; privacy_spent_ and open budgets count it. For several "
        "passes over the same rows call fit once, with a solver that makes them, such as "
        "solver=GD(steps=100), which has one budget for all of them.",
        PrivacyLeakWarning,
    )


def _most(claim: SpendBound, times: int, *, shared: bool) -> PrivacySpent:
    """Composition of the whole budgets of parts that hold the rows of a call so often."""
    events: tuple[Event, ...] = ()
    if isinstance(claim.calculus, GaussianDP):
        events = (GaussianEvent(query="part", sensitivity=sqrt(claim.limit), noise_scale=1.0),)
    part = Receipt(events, PrivacySpent(claim.epsilon, claim.delta), claim.adjacency)
    receipt = part.between(times) if shared else part.times(times)
    return compose([receipt], claim.delta if events else None)
