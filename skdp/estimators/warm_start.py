"""Starting a fit from the model of an earlier one, which is public."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..problem.bounds import RowBounds, RowMap
from ..problem.problem import Problem
from ..validation import shown
from .progress import Progress, Released

if TYPE_CHECKING:
    from .base import PrivateLinearModel

__all__ = ["EarlierModel"]


@dataclass(frozen=True, eq=False)
class EarlierModel:
    """Published values of the model that a warm start begins from.

    Parameters
    ----------
    coef : ndarray of shape (n_features, n_scores)
        As published, in the user's units.
    intercept : ndarray of shape (n_scores,)
        As published, less what makes up for the frequencies of classes.
    released : Released, optional
        What the earlier fit has left for fits to come.
    """

    coef: np.ndarray
    intercept: np.ndarray
    released: Released | None

    @classmethod
    def of(cls, model: PrivateLinearModel, before: dict[str, Any]) -> EarlierModel | None:
        """The model that a fit with ``warm_start`` starts from, if there is one.

        As in scikit-learn, it is what the attributes say, wherever they come from.

        Parameters
        ----------
        model : estimator
            Knows the features and classes of the fit to come.
        before : dict
            Its attributes before that.

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
        if coef.shape[0] != scores or intercept.size not in (1, scores):
            _refuse(model, f"scores for {coef.shape[0]}", scores)
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            _refuse(model, "finite coefficients", "others")
        progress: Progress | None = before.get("_progress")
        released = None if progress is None else progress.released
        if progress is not None and released and not progress.same(model, "precondition"):
            released = replace(released, row_map=None)
        if released is not None and getattr(model, "class_weight", None) == "balanced":
            intercept = released.intercept
        return cls(coef.T, np.broadcast_to(intercept, scores), released)

    def start(self, problem: Problem) -> np.ndarray | None:
        """Weights of the earlier model in the units of a problem, None if they overflow."""
        coef, intercept, target = self.coef, self.intercept, problem.bounds.target
        if target is not None:
            coef = coef / target.half_width
            intercept = (intercept - target.centre) / target.half_width
        w = problem.from_user_coordinates(coef, intercept)
        return w if np.isfinite(w).all() else None

    def coordinates(self, bounds: RowBounds) -> RowMap | None:
        """Coordinates found earlier, for rows within the same bounds."""
        return None if self.released is None else self.released.coordinates(bounds)


def _refuse(model: PrivateLinearModel, needed: str, given: object) -> None:
    raise ValueError(
        f"{type(model).__name__} with warm_start=True starts from coef_ and needs {needed} as "
        f"there, got {given}. Pass warm_start=False, or use a clone, to start anew."
    )
