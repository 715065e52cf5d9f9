"""The check of the receipt of a stream."""

from __future__ import annotations

from math import fsum, inf
from typing import Any

from ..privacy.accounting.calculus import (
    Calculus,
    GaussianDP,
    PerturbedGaussianDP,
    PureDP,
    ZeroConcentratedDP,
)
from ..privacy.accounting.events import Event, Part

_CALCULI = (GaussianDP(), ZeroConcentratedDP(), PerturbedGaussianDP())


def check_parts(model: Any) -> None:
    """Check a receipt: parts have no row in common, and the dearest one is what was spent.

    Events of an earlier fit, which name no part, count for each of the parts. Prices are recomputed
    from the events alone. Which calculus added them up is not on the receipt, so one that has a
    price for all of them has to give what is reported.

    Parameters
    ----------
    model : estimator
        In the middle of a stream.

    Raises
    ------
    AssertionError
        If the receipt is wrong.
    """
    events: dict[Part, list[Event]] = {}
    earlier = [event for event in model.privacy_ledger_ if event.part is None]
    for event in model.privacy_ledger_:
        if event.part is not None:
            events.setdefault(event.part, [*earlier]).append(event)
    stop = 0
    for part in sorted(events, key=lambda part: part.start):
        assert part.start >= stop, f"rows {part.start} to {stop} are in two parts"
        assert part.stop > part.start, f"{part} has no row"
        stop = part.stop
    spent = model.privacy_spent_.epsilon
    found = [
        max(_epsilon(part, model.delta_, c) for part in (earlier, *events.values()))
        for c in (_CALCULI if model.delta_ else [PureDP()])
    ]
    # What is the budget but for rounding is reported as the budget.
    assert any(abs(spent - epsilon) <= 1e-6 * epsilon for epsilon in found), (
        f"{spent} is reported where {found} was spent"
    )
    assert earlier or spent <= model.epsilon


def _epsilon(events: list[Event], delta: float, calculus: Calculus) -> float:
    """The epsilon of one part; infinity if the calculus has no price for what it holds."""
    try:
        return calculus.epsilon(fsum(e.count * calculus.cost(e) for e in events), delta)
    except TypeError:
        return inf
