"""Public record of the rows that a model has been given, and the models that a fit starts from."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from math import inf, isinf
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..privacy.accounting.events import Event
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..problem.bounds import RowBounds, RowMap
from ..problem.problem import Problem
from ..reporting.composition import ParallelComposition, compose
from ..reporting.receipts import Receipt
from ..validation import shown
from .range_finding import seen_targets

if TYPE_CHECKING:
    from .partial_fit import Session

# Value of ``warm_start`` by which the user declares that further fits are about other rows.
DISJOINT = "disjoint"

# They decide neither what a model promises nor what it was fitted to.
_FREE = {"random_state", "clip_predictions", "warm_start", "verbose"}
# What may still be decided when a stream goes on from a fit.
_OF_STREAMS = {"horizon", "buffer", "solver"}


class FitHistory:
    """Record of the rows that a model has been given; nothing in it that is not public.

    Parameters of the model are noted, so that a change is noticed.

    Attributes
    ----------
    unit : PrivacyUnit
        What is protected, and counted as a row in what follows.
    parts : ParallelComposition
        The receipts of parts of the rows, which have no row in common.
    carried : Receipt or None
        What was spent on the model that the first part has started from, on whichever rows.
    visits : int
        Most parts, each with a budget of its own, in which a person counts.
    released : EarlierModel or None
        None before the first release.
    seen : int
        Number of rows that were taken.
    streaming : bool
        Whether a stream has begun.
    secretive : bool
        Whether the stream cannot go on without what pickles leave behind.
    weighted : bool
        Whether the rows of the stream have weights.
    """

    def __init__(self, model: Any, unit: PrivacyUnit = PrivacyUnit.ROW) -> None:
        kind: Any = type(model)
        self.unit = unit
        self._settings = {name: copy(getattr(model, name)) for name in _noted(kind)}
        self.parts = ParallelComposition()
        self.carried: Receipt | None = None
        self.visits = 1
        self.released: EarlierModel | None = None
        self.seen = 0
        self.streaming = self.secretive = self.weighted = False

    @property
    def start(self) -> EarlierModel | None:
        """The model that the next part may start from, if bounds of its targets have been seen."""
        found = self.released
        return found if found is not None and seen_targets(found.bounds.target) else None

    def begun(
        self, model: Any, before: dict[str, Any], session: Session, *, weighted: bool
    ) -> FitHistory:
        """The record of a stream that goes on from here, of a model with such attributes before."""
        other = copy(self)
        other._settings = FitHistory(model)._settings
        other.secretive, other.weighted = session.secretive, weighted
        if self.streaming:
            other.parts = copy(self.parts)
            return other
        other.streaming = True
        other.parts, other.carried = ParallelComposition(), None
        other.unit, other.visits = session.visits.unit, session.parts_of_a_person
        other.parts.stop = self.parts.stop
        other.follow(model, before)
        return other

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation of the receipt."""
        return Adjacency(self._settings["adjacency"])

    def follow(self, model: Any, before: dict[str, Any]) -> None:
        """Take along what was spent on the model that this fit, or stream, starts from.

        Rows of both may be the same. Only if the user says that they are not, by ``warm_start``, do
        they count as further parts. The model had the attributes ``before`` ahead of this fit.
        """
        if "privacy_spent_" not in before or "privacy_ledger_" not in before:
            return
        earlier: FitHistory | None = before.get("_progress")
        relation = self.adjacency if earlier is None else earlier.adjacency
        unit = PrivacyUnit(before.get("privacy_unit_", PrivacyUnit.ROW))
        ledger = tuple(before["privacy_ledger_"])
        spent = PrivacySpent(*before["privacy_spent_"])
        receipt = Receipt(ledger, spent, relation, unit=unit)
        if not (receipt.nothing or unit is self.unit):
            raise ValueError(
                f"{type(model).__name__} needs the privacy unit of the fit that it goes on from, "
                f"whose receipt is about {unit.plural}, got {self.unit.plural}; no total of both "
                "is known. Fit a clone."
            )
        disjoint = declared_disjoint(model)
        if disjoint and earlier is not None and earlier._continues(ledger, self.adjacency):
            self.parts = copy(earlier.parts)
        elif disjoint or not receipt.nothing:
            receipt = receipt.under(self.adjacency).unlocated()
            receipt = replace(receipt, spent=_together([receipt], spent.delta))
            if disjoint:
                stop = 0 if earlier is None else earlier.parts.stop
                self.parts = ParallelComposition.after(receipt, stop)
            else:
                self.carried = receipt

    def _continues(self, ledger: tuple[Event, ...], adjacency: Adjacency) -> bool:
        """True if a published ledger is that of the parts alone, so that others may follow."""
        plain = self.carried is None and self.visits == 1 and self.adjacency is adjacency
        return plain and ledger == self._of_parts().events

    def _of_parts(self) -> Receipt:
        named = self.streaming or self.parts.several
        told = self.parts.events(named=named), self.parts.spent(), self.adjacency
        return Receipt(*told, unit=self.unit)

    def receipt(self) -> Receipt:
        """Receipt of the model: of its parts, and before them of the model it started from.

        While a part is open there are no events, as the whole budget counts as spent on it.
        """
        parts, carried = self._of_parts(), self.carried
        if carried is None and self.visits == 1:
            return parts
        settled, delta = bool(parts.events) or parts.nothing, parts.spent.delta
        if self.visits > 1:
            parts = parts.times(self.visits)
            parts = parts.explicit() if settled else parts
        found = [r for r in (carried, parts) if r is not None and not r.nothing]
        if not settled:
            epsilon = sum(r.fits * r.spent.epsilon for r in found)
            total = PrivacySpent(epsilon, min(1.0, sum(r.fits * r.spent.delta for r in found)))
            return Receipt((), total, self.adjacency, unit=self.unit)
        events = tuple(event for receipt in found for event in receipt.events)
        if carried is not None:
            delta = max(delta, carried.spent.delta)
        return Receipt(events, _together(found, delta), self.adjacency, unit=self.unit)

    def same(self, model: Any, name: str) -> bool:
        """True if a parameter is as it was."""
        value = getattr(model, name)
        return same_setting(value, self._settings.get(name, value))

    def check_unchanged(self, model: Any) -> None:
        """Refuse parameters that differ from those that the record began with.

        Raises
        ------
        ValueError
            Naming them.
        """
        changed = [
            name
            for name, value in self._settings.items()
            if not same_setting(getattr(model, name), value)
            and (self.streaming or name not in _OF_STREAMS)
        ]
        if changed:
            raise ValueError(
                f"{type(model).__name__}.partial_fit needs the parameters with which the model "
                f"began, got other values of {', '.join(changed)}: what was promised about rows "
                "that were taken cannot change. Set them back, call fit to start anew, or use a "
                "clone for a new stream."
            )


@dataclass(frozen=True, eq=False)
class EarlierModel:
    """A published model that a fit, or a part of a stream, starts from, and what it has found.

    Parameters
    ----------
    bounds : RowBounds
        Bounds given, or paid for once.
    coef : ndarray of shape (n_features, n_scores)
        For features as they come.
    intercept : ndarray of shape (n_scores,)
        Without the offset that balances the frequencies of classes.
    row_map : RowMap, optional
        Coordinates that it was conditioned to.
    as_published : bool, default=False
        Whether it is in units of targets as they come, and not of bounded ones.
    """

    bounds: RowBounds
    coef: np.ndarray
    intercept: np.ndarray
    row_map: RowMap | None = None
    as_published: bool = False

    @classmethod
    def of(cls, model: Any, before: dict[str, Any]) -> EarlierModel | None:
        """The model that a fit with ``warm_start`` starts from, if there is one.

        As in scikit-learn, it is what the attributes before the fit say, wherever they come from.
        The model knows the features and classes of the fit to come.

        Raises
        ------
        ValueError
            If the earlier model is about other features or classes, or not finite.
        """
        if not model.warm_start or "coef_" not in before:
            return None
        found = before["coef_"]
        coef = np.atleast_2d(found.toarray() if sp.issparse(found) else found).astype(np.float64)
        intercept = np.atleast_1d(before.get("intercept_", 0.0)).astype(np.float64)
        classes, earlier = getattr(model, "classes_", None), before.get("classes_")
        if classes is not None and earlier is not None and not np.array_equal(classes, earlier):
            _refuse(
                model,
                f"the classes {shown(tuple(earlier.tolist()))}",
                shown(tuple(classes.tolist())),
            )
        if coef.shape[1] != model.n_features_in_:
            _refuse(model, f"{coef.shape[1]} features", model.n_features_in_)
        scores = 1 if classes is None or len(classes) == 2 else len(classes)
        scores = model._n_outputs or scores
        if coef.shape[0] != scores or intercept.size not in (1, scores):
            _refuse(model, f"scores for {coef.shape[0]}", scores)
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            _refuse(model, "finite coefficients", "others")
        progress: FitHistory | None = before.get("_progress")
        released, row_map = None if progress is None else progress.released, None
        if released is not None and progress is not None and progress.same(model, "precondition"):
            row_map = released.row_map
        if row_map is not None:
            # This fit may be about other rows, and so has to look at coordinates itself.
            row_map = replace(row_map, blur=inf)
        if released is not None and model.class_weight == "balanced":
            intercept = released.intercept
        bounds = model._given_bounds(False) if released is None else released.bounds
        return cls(bounds, coef.T, np.broadcast_to(intercept, scores), row_map, as_published=True)

    def start(self, problem: Problem) -> np.ndarray | None:
        """Weights of the model in the coordinates of a problem, None if out of their reach."""
        coef, intercept, target = self.coef, self.intercept, problem.bounds.target
        if self.as_published and target is not None:
            coef = coef / target.half_width
            intercept = (intercept - target.centre) / target.half_width
        w = problem.from_user_coordinates(coef, intercept)
        return w if np.isfinite(w).all() else None

    def coordinates(self, bounds: RowBounds) -> RowMap | None:
        """Coordinates that rows within these bounds may be conditioned to at once."""
        return self.row_map if bounds == self.bounds else None


def declared_disjoint(model: Any) -> bool:
    """True if the user declares that no row to come is among earlier ones."""
    return isinstance(model.warm_start, str) and model.warm_start == DISJOINT


def _together(receipts: list[Receipt], delta: float) -> PrivacySpent:
    """Total (epsilon, delta) of receipts, at this delta if there is a bound."""
    if not 0 < delta < 1:
        return compose(receipts)
    total = compose(receipts, delta)
    return compose(receipts) if isinf(total.epsilon) else total


@cache
def _noted(kind: Any) -> tuple[str, ...]:
    """Names of the parameters that are noted; to look them up takes long for a small fit."""
    return tuple(name for name in kind._get_param_names() if name not in _FREE)


def same_setting(value: Any, noted: Any) -> bool:
    """True if a parameter has the value that was noted."""
    if value is noted:
        return True
    if isinstance(value, np.ndarray) or isinstance(noted, np.ndarray):
        return bool(np.array_equal(value, noted))
    if isinstance(value, tuple | list) and type(value) is type(noted) and len(value) == len(noted):
        # Such as the lower and the upper ends of data_bounds.
        return all(same_setting(*pair) for pair in zip(value, noted, strict=True))
    try:
        return type(value) is type(noted) and bool(value == noted)
    except ValueError:
        return False


def _refuse(model: Any, needed: str, given: object) -> None:
    raise ValueError(
        f"{type(model).__name__} with warm_start=True starts from coef_ and needs {needed} as "
        f"there, got {given}. Pass warm_start=False, or use a clone, to start anew."
    )
