"""What private linear classifiers share: labels, scores and predictions."""

from __future__ import annotations

import warnings
from abc import ABC
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets

from ..bounds import RowBounds
from ..conditioning import (
    Conditioner,
    balancing_offset,
    choose_conditioner,
    with_class_prior,
)
from ..data.base import RowStore
from ..exceptions import PrivacyLeakWarning
from ..privacy.oracle import Oracle
from ..problem import Problem
from ..solvers import GD, SVRG, DualAveraging, Solution, Solver, Spider
from .base import PrivateLinearModel

__all__ = ["PrivateLinearClassifier"]

# Solvers that start where they are told, clip gradients, and move by them.
_DESCENDING = (GD, DualAveraging, SVRG, Spider)


class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel, ABC):
    """A classifier whose scores are linear in the features."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearModel._parameter_constraints,
        "classes": [None, "array-like"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
    }

    classes: Any
    class_weight: dict[Any, float] | str | None

    classes_: np.ndarray
    intercept_: np.ndarray
    n_iter_: np.ndarray

    @final
    def decision_function(self, X: Any) -> np.ndarray:
        """Confidence scores.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Linear scores; with two classes, of the second one.
        """
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    @final
    def predict(self, X: Any) -> np.ndarray:
        """Predicted class labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        chosen = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return self.classes_[chosen]

    @final
    def _prepare_targets(self, y: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        name = type(self).__name__
        # Scikit-learn's check of the targets tells how many labels there are, so it has to be left
        # out where the encoder says all that is needed.
        if self.classes is not None:
            classes = self._given_classes()
        elif y is None:
            raise ValueError(f"{name} needs classes=[...] when it is fitted from Chunks.")
        else:
            check_classification_targets(y)
            warnings.warn(
                f"{name} reads the set of classes off y, so a label that only one person has "
                "becomes public. Pass classes=[...] with the labels that may occur.",
                PrivacyLeakWarning,
                stacklevel=4,
            )
            classes = np.unique(y)
        if classes.size < 2:
            count = "1 class" if classes.size else "none"
            raise ValueError(f"{name} needs at least 2 classes, got {count}. Pass classes=[...].")
        self._check_class_weight(classes)
        self.classes_ = classes
        return self._encoder(classes)

    @final
    def _given_classes(self) -> np.ndarray:
        given = np.asarray(self.classes)
        try:
            classes = np.unique(given)
            # Not a number is not equal to itself, so no row could have that label.
            usable = given.ndim == 1 and bool(np.all(classes == classes))
            # Numpy writes numbers among strings as strings, which no number in y is equal to.
            usable &= given.dtype.kind != "U" or all(isinstance(c, str) for c in self.classes)
        except TypeError:
            usable = False
        if not usable:
            raise ValueError(
                f"{type(self).__name__} needs classes to be a list of labels of one kind, numbers "
                f"or strings, got {self.classes!r}."
            )
        return classes

    @final
    def _encoder(self, classes: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        binary, name = classes.size == 2, type(self).__name__

        def encode(y: np.ndarray) -> np.ndarray:
            try:
                code = np.minimum(np.searchsorted(classes, y), classes.size - 1)
                known = bool(np.all(classes[code] == y))
            except TypeError:
                known = False
            if not known:
                raise ValueError(
                    f"{name} needs labels among the {classes.size} classes; y holds others. "
                    "Add them to classes=[...], with the type that they have in y, or remove the "
                    "rows. (Inside VotingClassifier, BaggingClassifier or OneVsRestClassifier "
                    "labels are 0..k-1.)"
                )
            return code.astype(np.float64) if binary else code

        return encode

    @final
    def _check_class_weight(self, classes: np.ndarray) -> None:
        weights = self.class_weight if isinstance(self.class_weight, dict) else {}
        unknown = [label for label in weights if not np.any(classes == label)]
        if unknown:
            raise ValueError(
                f"{type(self).__name__} needs class_weight for labels in classes, got {unknown}."
            )
        numeric = all(isinstance(w, Real) for w in weights.values())
        if not numeric or any(not (w == 0 or 1e-50 <= w <= 1e50) for w in weights.values()):
            raise ValueError(
                f"{type(self).__name__} needs class weights that are 0 or between 1e-50 and 1e50, "
                f"got {weights}."
            )
        if len(weights) == classes.size and not any(weights.values()):
            raise ValueError(
                f"{type(self).__name__} needs a positive weight for at least one class, "
                f"got {weights}."
            )

    @final
    def _weights(self) -> tuple[float, ...] | None:
        if not isinstance(self.class_weight, dict):
            return None
        return tuple(float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist())

    @final
    def _conditioner(self, problem: Problem) -> Conditioner | None:
        # Coordinates pay where gradients, not rows, are clipped in them.
        named = ("auto", *(solver.option() for solver in _DESCENDING))
        descends = self.solver in named or isinstance(self.solver, _DESCENDING)
        if self.precondition == "auto" and not descends:
            return None
        return choose_conditioner(self.precondition, problem)

    @final
    def _with_prior(self, problem: Problem, oracle: Oracle, solver: Solver) -> Problem:
        balanced = self.class_weight == "balanced"
        # Others do not start at the point that they are given, or leave it at once.
        if not (balanced or isinstance(solver, _DESCENDING)):
            return problem
        return with_class_prior(problem, oracle, balanced=balanced)

    @final
    def _row_bounds(self, oracle: Oracle, rows: RowStore) -> RowBounds:
        data_norm = self._norm_bound(oracle, rows)
        return RowBounds(data_norm, self._intercept_value(data_norm))

    @final
    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        k = problem.loss.n_scores
        coef, intercept = problem.in_user_coordinates(solution.w.reshape(problem.n_rows, k))
        if self.class_weight == "balanced":
            intercept = intercept + balancing_offset(problem)
        self.coef_ = np.ascontiguousarray(coef.T, dtype=dtype)
        self.intercept_ = intercept.astype(dtype)
        self.n_iter_ = np.array([solution.n_iter], dtype=np.int32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Scikit-learn's checks measure accuracy also on 50 rows of unknown scale under weights of
        # 1000 to 0.0001. At the default budget no private classifier sees these through the noise.
        tags.classifier_tags.poor_score = True
        return tags
