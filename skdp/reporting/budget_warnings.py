"""Warnings of budgets that promise little or nothing, by public facts alone."""

from __future__ import annotations

from math import isinf

from ..exceptions import BudgetWarning, NoPrivacyWarning, warn_user

# Beyond it a guarantee says next to nothing: e^10 is 22,026.
LARGEST_EPSILON = 10.0


def warn_of_promise(who: str, epsilon: float, delta: float, n_samples: int | None) -> None:
    """Warn of a budget that promises little or nothing; None is a number of rows not declared.

    Warns
    -----
    NoPrivacyWarning
        If epsilon is infinite.
    BudgetWarning
        If epsilon is above 10, or delta is not below one over the number of rows.
    """
    if isinf(epsilon):
        warn_user(
            f"{who} with epsilon=inf adds no noise: what it publishes is not private, and its "
            "privacy_spent_ is infinite. Use it for comparisons on rows that are public.",
            NoPrivacyWarning,
        )
        return
    if epsilon > LARGEST_EPSILON:
        warn_user(
            f"{who} with epsilon={epsilon:g} promises next to nothing: an attacker's odds that "
            f"somebody's row was used may grow e^{epsilon:g}-fold. Use an epsilon of at most "
            f"{LARGEST_EPSILON:g}, better of about 1.",
            BudgetWarning,
        )
    if n_samples is not None:
        warn_of_rows(who, delta, 0, n_samples)


def warn_of_rows(who: str, delta: float, before: int, now: int) -> None:
    """Warn when the rows of a fit or stream become too many for its delta, once.

    Their public number is ``before`` a call, and ``now`` with it.

    Warns
    -----
    BudgetWarning
        If delta is not below one over the number of rows now, and was before.
    """
    if delta * before < 1 <= delta * now:
        warn_user(
            f"{who} with delta={delta:g} and {now:,} rows would allow to publish a row or "
            "more as it is. Leave delta out, declaring the horizon of a stream, or choose it well "
            "below one over the number of rows.",
            BudgetWarning,
        )
