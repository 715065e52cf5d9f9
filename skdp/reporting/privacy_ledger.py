"""Ledgers as models publish them: events in order, printed as a table of kinds of releases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from ..privacy.accounting.calculus import ZeroConcentratedDP
from ..privacy.accounting.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    Part,
    PrefixSumEvent,
)

# What shares of a budget are told of, and in which calculus.
_PRICED, _CALCULUS = (GaussianEvent, PrefixSumEvent, ExponentialEvent), ZeroConcentratedDP()
# The condition under which the receipt of a stream holds.
NEW_ROWS = (
    "rows of each call are new records, or named by privacy_unit: what parts with the same rows "
    "spent adds up"
)


# Names of queries in words, for people who read a report or the lines of ``verbose``.
QUERIES = {
    "arm_gradients": "gradient of the arms",
    "arm_moments": "moments of the arms",
    "arm_selections": "choice of features of the arms",
    "arm_steps": "step of the arms",
    "arm_sums": "running sums of gradients of the arms",
    "category_counts": "counts of rows by category",
    "column_cells": "counts of rows by cell of the columns",
    "column_moments": "moments of the columns",
    "column_tree": "counts of rows in nested cells of the columns",
    "earlier_fits": "earlier fit",
    "gradient": "gradient",
    "gradient_and_share": "gradient, share of rows clipped",
    "gradient_difference": "difference of gradients",
    "gradient_norm": "length of the gradient",
    "gradient_sizes": "counts of rows by gradient",
    "group_means": "means of scores of test rows by group",
    "histogram": "histogram",
    "intercept_gradient": "gradient of the intercept",
    "magnitude_votes": "votes for the sizes of the columns",
    "metric_means": "means of scores of test rows",
    "normal_equations": "normal equations",
    "outcome_counts": "counts of test rows by outcome",
    "perturbed_minimum": "minimum with a random slope",
    "residual_quantile": "quantile of the residuals",
    "row_means": "means of the rows",
    "sampled_gradient": "gradient of a secret sample",
    "score_and_curvature": "scores and curvatures of the likelihood",
    "score_moments": "second moments of the scores of the likelihood",
    "score_scale": "residuals along the scores",
    "search": "search",
    "second_moments": "second moments",
    "selection": "choice of features",
    "site_gradients": "gradient of a site",
    "stream_scores": "choice of a vertex",
    "stream_term": "running sums of gradients",
    "target_table": "counts of test rows by target and prediction",
    "total_weight": "total weight",
    "vertex": "choice of a vertex",
}
_MECHANISMS = {
    "exponential": "Gumbel, noisy choice",
    "gaussian": "Gaussian",
    "non_private": "none",
    "objective_perturbation": "objective perturbation",
    "pure_perturbation": "objective perturbation, pure epsilon",
    "prefix_sums": "Gaussian, running sums",
    "sampled_gaussian": "Gaussian, secret sample",
    "search": "private search",
    "site_gaussian": "Gaussian, of a site",
    "threshold": "Gaussian, above a threshold",
}
_HEAD = ("what for", "query", "times", "mechanism", "sensitivity", "noise")


@final
@dataclass(frozen=True)
class Releases:
    """Releases of one kind: the same purpose, query and mechanism.

    Parameters
    ----------
    purpose, query, mechanism : str
        In words.
    count : int
        How many.
    parts : int
        About how many parts of the rows; 1 if about all rows.
    sensitivity, noise_scale : tuple of (float, float)
        Least and largest.
    price : float or None
        What all of them together cost in mu^2, if they are Gaussian releases or choices.
    """

    purpose: str
    query: str
    mechanism: str
    count: int
    parts: int
    sensitivity: tuple[float, float]
    noise_scale: tuple[float, float]
    price: float | None

    @property
    def words(self) -> tuple[str, str, str]:
        """Purpose, query and mechanism."""
        return self.purpose, self.query, self.mechanism

    @property
    def cells(self) -> tuple[str, ...]:
        """One row of a table, with the columns of ``what for`` to ``noise``."""
        ends = _range(self.sensitivity), _range(self.noise_scale)
        return (self.purpose, self.query, times(self.count, self.parts), self.mechanism, *ends)


@final
class PrivacyLedger(tuple[Event, ...]):
    """The events of a fitted model, a tuple that prints as a table.

    Equal to a plain tuple of the same events. ``dataclasses.asdict`` makes a dictionary of each.

    Parameters
    ----------
    iterable : iterable of Event
        The events.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "PrivacyLedger: nothing was released"
        count = sum(event.count for event in self)
        head = f"PrivacyLedger: {count:,} release{'s' * (count != 1)}"
        lines = [head, *table([_HEAD, *(kind.cells for kind in releases(self))])]
        return "\n".join([*lines, f"  holds if {NEW_ROWS}"] if of_stream(self) else lines)


def times(count: int, parts: int) -> str:
    """Number of releases in words, about so many parts of the rows."""
    return f"{count:,}" + f" in {parts} parts" * (parts > 1)


def words_of(event: Event) -> tuple[str, str, str]:
    """Purpose, query and mechanism of an event in words.

    Parameters
    ----------
    event : Event
        Of a ledger.
    """
    query = QUERIES.get(event.query, event.query.replace("_", " "))
    mechanism = _MECHANISMS.get(event.mechanism, event.mechanism.replace("_", " "))
    return event.purpose or "model", query, mechanism


def of_stream(events: Iterable[Event]) -> bool:
    """True if events of one ledger are about parts of a stream, or running sums over one."""
    return any(isinstance(e.part, Part) or isinstance(e, PrefixSumEvent) for e in events)


def releases(events: Iterable[Event]) -> list[Releases]:
    """Events grouped into kinds of releases, in the order in which each kind first occurs.

    Parameters
    ----------
    events : iterable of Event
        Of one ledger.
    """
    kinds: dict[tuple[str, str, str], list[Event]] = {}
    for event in events:
        kinds.setdefault(words_of(event), []).append(event)
    return [
        Releases(
            *words,
            count=sum(event.count for event in alike),
            parts=len({event.part for event in alike}),
            sensitivity=_ends([event.sensitivity for event in alike]),
            noise_scale=_ends([event.noise_scale for event in alike]),
            price=sum(e.count * _CALCULUS.cost(e) for e in alike)
            if all(isinstance(e, _PRICED) for e in alike)
            else None,
        )
        for words, alike in kinds.items()
    ]


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """Lines of a table of text, its first row the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _ends(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


def _range(ends: tuple[float, float]) -> str:
    low, high = (f"{end:.3g}" for end in ends)
    return low if low == high else f"{low} to {high}"
