"""Linear models that are published: coefficients that were released, and a receipt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from ..exceptions import warn_user
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.rows.chunked import Chunks
from ..privacy.rows.reading import redacted, strict_checks
from ..problem.column_bounds import clipped
from ..reporting.privacy_ledger import PrivacyLedger
from .fit_history import FitHistory
from .opening import ACCEPTED
from .sklearn_export import plain_model


class PublishedModel(ABC):
    """A linear model that has been published, with the receipt of what it has cost."""

    n_features_in_: int
    n_samples_seen_: int
    privacy_unit_: str
    coef_: Any
    intercept_: Any
    data_norm_: float
    data_bounds_: tuple[np.ndarray, np.ndarray] | None
    unseen_columns_: list[Any]
    privacy_spent_: PrivacySpent
    privacy_ledger_: PrivacyLedger

    _progress: FitHistory

    @abstractmethod
    def _plain(self, coef: np.ndarray) -> Any:
        """Scikit-learn's estimator with these coefficients and all else that predictions take."""

    @final
    def _publish_receipt(self) -> None:
        receipt, self.n_samples_seen_ = self._progress.receipt(), self._progress.seen
        self.privacy_unit_ = str(receipt.unit)
        self.privacy_ledger_ = PrivacyLedger(receipt.events)
        self.privacy_spent_ = receipt.spent

    @final
    def to_sklearn(self) -> Any:
        """The published model as one of scikit-learn's, to be served where skdp is not installed.

        Predictions are the same. Where the fit has brought columns to ranges, or predictions are
        clipped, steps that do so come with it. Nothing else is: no budget, no receipt, no seed.

        Returns
        -------
        estimator
            A fitted ``LogisticRegression``, ``LinearSVC`` or ``LinearRegression``, in a
            ``Pipeline`` behind a step that holds columns to ``data_bounds_`` if there are any
            (dense rows only), and in a ``TransformedTargetRegressor`` if predictions are clipped.
        """
        check_is_fitted(self)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_.copy()
        names = getattr(self, "feature_names_in_", None)
        return plain_model(
            self._plain(coef), self.n_features_in_, names, getattr(self, "data_bounds_", None)
        )

    @final
    def sparsify(self) -> Self:
        """Store ``coef_`` sparsely, which saves memory where most coefficients are zero.

        Predictions stay the same. Further fits store it densely again.

        Returns
        -------
        self
            With ``coef_`` a CSR array of two dimensions.
        """
        check_is_fitted(self)
        if not sp.issparse(self.coef_):
            self.coef_ = sp.csr_array(np.atleast_2d(self.coef_))
        return self

    @final
    def densify(self) -> Self:
        """Store ``coef_`` densely, as after a fit.

        Returns
        -------
        self
            With ``coef_`` an ndarray of the shape that it has after a fit.
        """
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            dense = self.coef_.toarray()
            # Regressors have one row, and say so by an intercept that is a number.
            self.coef_ = dense[0] if np.ndim(self.intercept_) == 0 else dense
        return self

    @final
    @strict_checks()
    def _scores(self, X: Any) -> np.ndarray:
        """Linear scores of rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or dask collection
            Features. For a dask array or dataframe the result is a dask array, computed when it is
            asked for.
        """
        check_is_fitted(self)
        if isinstance(X, Chunks):
            raise ValueError(
                f"{type(self).__name__} needs the rows themselves to predict or to score, got "
                "Chunks. Call predict with each X_chunk, or score with each X_chunk and y_chunk."
            )
        X = redacted(validate_data, self, X, reset=False, **ACCEPTED)
        # Models that are set up by hand, or are of older checkpoints, have none.
        within = getattr(self, "data_bounds_", None)
        if within is not None:
            X = clipped(X, *within)
        ledger = getattr(self, "privacy_ledger_", None)
        if ledger is not None and not len(ledger):
            warn_user(
                f"{type(self).__name__} has learned nothing yet from the {self.n_samples_seen_} "
                "rows of its stream: its first block is not full. Feed more rows, or take "
                "solver='ftrl', which learns from each call.",
                UserWarning,
            )
        scores = X @ self.coef_.T
        if sp.issparse(self.coef_):
            scores = scores.toarray() if sp.issparse(scores) else scores
            # Those of a regressor are one each.
            scores = scores[:, 0] if np.ndim(self.intercept_) == 0 else scores
        return scores + self.intercept_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")
