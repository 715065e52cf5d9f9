"""Prediction and scoring of a search, by the best model that it has found."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from numbers import Real
from typing import Any, final

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

__all__ = ["ActsAsBest"]


def _best_has(name: str) -> Callable[[Any], bool]:
    """Check that the best estimator, or before a fit the template, has a method."""

    def check(self: Any) -> bool:
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self.estimator, name)
        return True

    return check


class ActsAsBest(MetaEstimatorMixin, BaseEstimator, ABC):
    """A search that predicts with its best model, and does what that can do."""

    estimator: Any
    scoring: str | Callable[..., Any] | None
    validation: float | tuple[Any, Any] | None
    random_state: Any

    best_estimator_: Any

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities by the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of class probabilities by the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @available_if(_best_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Confidence scores of the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @final
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the best model on rows of the caller, without noise.

        By ``scoring``, or, if that is None, by the ``score`` of the model. A callable for private
        rows is averaged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.
        """
        check_is_fitted(self)
        best = self.best_estimator_
        if callable(self.scoring) and not self._public:
            return float(np.average(self.scoring(best, X, y), weights=sample_weight))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(check_scoring(best, self.scoring)(best, X, y, **weights))

    @property
    def classes_(self) -> np.ndarray:
        """Labels that the best model knows."""
        _best_has("classes_")(self)
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features of the best model."""
        try:
            check_is_fitted(self)
        except NotFittedError as failure:
            raise AttributeError(
                f"{type(self).__name__} has no n_features_in_ before it is fitted."
            ) from failure
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features of the best model."""
        _best_has("feature_names_in_")(self)
        return self.best_estimator_.feature_names_in_

    @property
    @final
    def _public(self) -> bool:
        """Tell whether there are public rows to score on."""
        return not (self.validation is None or isinstance(self.validation, Real))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __getstate__(self) -> dict[str, Any]:
        # A seed reproduces the noise, so it stays behind once there is something to take it off.
        state = dict(super().__getstate__())
        return state | {"random_state": None} if "privacy_spent_" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags = inner.target_tags
        tags.non_deterministic = self.random_state is None
        return tags
