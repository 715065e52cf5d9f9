"""Base of private linear classifiers: labels, scores and predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets

from ..docstrings import documented_like
from ..exceptions import PrivacyLeakWarning, warn_user
from ..privacy.lock import locked
from ..privacy.rows.dask_results import check_unweighted, lazily, summed
from ..privacy.rows.dask_rows import is_collection
from ..privacy.rows.reading import places_among, redacted, strict_checks
from ..privacy.rows.targets import ClassEncoder, checked_classes
from ..problem.bounds import RowBounds
from ..problem.losses import Loss
from ..problem.penalties import ElasticNet, Penalty
from ..problem.problem import Problem
from ..solvers import SOLVERS, Solution, within_a_block
from ..solvers.defaults import DefaultPenalty as tuned
from ..solvers.preconditioning import balancing_offset
from ..validation import interval, one_of, shown
from .base import PrivateLinearModel
from .partial_fit import advance
from .publishing import PublishedModel
from .refusals import of_classes, refuse
from .solver_choice import default_strength


class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel, ABC):
    """A classifier whose scores are linear in the features.

    Parameters
    ----------
    delta : float, optional
        Probability-like slack of the guarantee, in [0, 1). By default the smaller of 1e-5 and
        n^-1.1, n being the number of rows of a fit or the ``horizon`` of a stream, 1e-5 if that
        is not declared; ``delta_`` says which. 0 is pure epsilon, by objective perturbation,
        with bounds that are given and an equal share of epsilon for each of several classes.
    C : float, optional
        Inverse strength of the penalty, as in scikit-learn. By default the penalty is no stronger
        than noise asks for: C is ``n_samples`` times the privacy budget mu over 10, between 1 and
        100 (10 with more than a thousand features), and for rows in units of their length if they
        are shorter than 1; with an l1 penalty it is 1.
    intercept_scaling : float, default=0.3
        Value of the constant column behind the intercept, in units of the row norm. The larger,
        the faster the intercept is learned, and the more noise the other coefficients bear.
    classes : array-like, optional
        The labels that may occur, at least two. If None they are read off y, with a
        ``PrivacyLeakWarning``.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_iter_ : ndarray of shape (1,)
        Number of iterations.

    Warns
    -----
    PrivacyLeakWarning
        If ``classes`` is None.
    UserWarning
        If the budget is too small to find ``data_norm``, which a fixed value then replaces, or the
        counts behind ``class_weight='balanced'``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearModel._parameter_constraints,
        "C": [None, interval(0, None, "right")],
        "classes": [None, "array-like"],
        "class_weight": [None, dict, one_of("balanced")],
    }

    # Scikit-learn's class that predicts as this one does.
    _counterpart: ClassVar[type]

    C: float | None
    classes: Any
    class_weight: dict[Any, float] | str | None

    classes_: np.ndarray
    intercept_: np.ndarray
    n_iter_: np.ndarray

    @final
    @documented_like(PublishedModel._scores)
    def decision_function(self, X: Any) -> np.ndarray:
        """Confidence scores.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Linear scores; with two classes, of the second one.
        """
        if is_collection(X):
            return lazily(copy(self).decision_function, X)
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    @final
    @documented_like(PublishedModel._scores)
    def predict(self, X: Any) -> np.ndarray:
        """Predicted class labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        if is_collection(X):
            return lazily(copy(self).predict, X)
        scores = self.decision_function(X)
        chosen = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return self.classes_[chosen]

    @final
    @strict_checks()
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose label is predicted correctly.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or dask collection
            Features.
        y : array-like of shape (n_samples,), or dask array or series
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; not for dask collections.

        Returns
        -------
        float
            The share.
        """
        if not is_collection(X):
            # Apart, because predictions refuse rows in words of their own.
            predicted = self.predict(X)
            # In the type of the classes, as scikit-learn does not compare numbers of type object.
            code = places_among(self.classes_, y)
            y = y if code is None else self.classes_[code]
            return float(redacted(accuracy_score, y, predicted, sample_weight=sample_weight))
        check_unweighted(type(self).__name__, sample_weight)
        frozen = copy(self)
        right, n = summed(lambda X, y: np.array([np.sum(frozen.predict(X) == y), len(y)]), X, y)
        return float(right / n)

    @final
    @locked(waits=True)
    @documented_like(advance)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        privacy_unit: Any = None,
    ) -> Self:
        """Go on fitting privately with the rows of one call, which are new records.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), optional
            All labels that may occur. Needed in the first call, unless the parameter ``classes``
            or an earlier fit tells them; what is given later has to be the same.
        """
        return advance(self, X, y, classes, sample_weight, privacy_unit)

    @final
    def _encoder_of_stream(
        self, classes: Any, *, first: bool
    ) -> Callable[[np.ndarray], np.ndarray]:
        name = type(self).__name__
        given = None if classes is None else checked_classes(name, classes)
        known = given if first else self.classes_
        if first and self.classes is not None:
            known = checked_classes(name, self.classes)
        if known is None:
            raise ValueError(
                f"classes must be passed on the first call to partial_fit: {name} needs "
                "classes=[...] with all labels that may occur."
            )
        if given is not None and not np.array_equal(given, known):
            raise ValueError(
                f"{name}.partial_fit needs the classes that the model began with, "
                f"{shown(tuple(known.tolist()))}, got {shown(tuple(given.tolist()))}; leave them "
                "out after the first call."
            )
        if first:
            self._read_classes = False
        return self._settle(known)

    @final
    def _prepare_targets(self, y: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        name = type(self).__name__
        # Scikit-learn's check of the targets tells how many labels there are, so it has to be left
        # out where the encoder says all that is needed.
        self._read_classes = self.classes is None
        if self.classes is not None:
            classes = checked_classes(name, self.classes)
        elif y is None:
            raise ValueError(
                f"{name} needs classes=[...] when it is fitted from Chunks or DaskSites."
            )
        else:
            redacted(check_classification_targets, y)
            warn_user(
                f"{name} reads the set of classes off y, so a label that only one person has "
                "becomes public. Pass classes=[...] with the labels that may occur.",
                PrivacyLeakWarning,
            )
            classes = redacted(np.unique, y)
        return self._settle(classes)

    @final
    def _settle(self, classes: np.ndarray) -> ClassEncoder:
        """Set the classes, if parameters allow them, and return what encodes them."""
        refuse(self, of_classes(self, classes))
        self.classes_ = classes
        return ClassEncoder(type(self).__name__, classes)

    @property
    @final
    def _two_classes(self) -> bool:
        """True if the solver takes no more than two classes."""
        return bool(getattr(self._kind, "two_classes", False))

    @property
    @final
    def _kind(self) -> Any:
        """Class of the solver; None while ``'auto'`` has to choose it."""
        solver = within_a_block(self.solver)
        return SOLVERS.get(solver) if isinstance(solver, str) else type(solver)

    @final
    def _weights(self) -> tuple[float, ...] | None:
        if not isinstance(self.class_weight, dict):
            return None
        return tuple(float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist())

    @final
    def _tell_classes(self, classes: Any) -> None:
        told = self.classes if classes is None else classes
        if told is None:
            raise ValueError(
                f"plan needs classes=[...] for {type(self).__name__}, which has classes=None and "
                "would read them off y. Pass the labels that may occur."
            )
        self._settle(checked_classes(type(self).__name__, told))

    @final
    def _plain(self, coef: np.ndarray) -> Any:
        plain = self._counterpart()
        plain.classes_, plain.coef_, plain.intercept_ = self.classes_, coef, self.intercept_.copy()
        plain.n_iter_ = self.n_iter_.copy()
        return plain

    @abstractmethod
    def _loss_of(self, n_classes: int) -> Loss:
        """Loss for this number of classes."""

    @final
    def _objective(self, n_samples: int, bounds: RowBounds) -> tuple[Loss, Penalty]:
        penalty = ElasticNet(self._strength(n_samples), self._l1_share)
        return self._loss_of(self.classes_.size), penalty

    @property
    @abstractmethod
    def _l1_share(self) -> float:
        """Share of the l1 norm in the penalty."""

    @property
    @final
    def _penalty_given(self) -> bool:
        """True if C or an l1 penalty was asked for."""
        return self.C is not None or self._l1_share > 0

    @final
    def _strength(self, n_samples: int) -> float:
        """Strength of the penalty: 1 / (n C), by default no stronger than noise asks for."""
        if self.C is not None:
            return 1.0 / (n_samples * self.C)
        if self._l1_share:
            return 1.0 / n_samples
        # A penalty would pull coefficients towards zero by more than their standard errors say.
        if getattr(self._kind, "infers", False):
            return 0.0
        many = self.n_features_in_ > tuned.MANY_FEATURES
        weakest = tuned.WEAKEST_OF_MANY if many else tuned.WEAKEST
        return default_strength(self, n_samples, weakest)

    @final
    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        coef, intercept = problem.in_user_coordinates(solution.w)
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
        tags.classifier_tags.multi_class = not self._two_classes
        return tags
