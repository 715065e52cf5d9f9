"""Base of transformers: checks of the data, the receipt, and pickles without secrets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, validate_data

from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.accounting.promise import delta_for
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.lock import locked
from ..privacy.oracle import Oracle
from ..privacy.oracle_factory import PrivacyTerms, noise_for, open_rows
from ..privacy.rows.bounded_rows import Rows
from ..privacy.rows.privacy_units import PrivacyUnits
from ..privacy.rows.reading import redacted, strict_checks
from ..privacy.rows.row_stores import resident_rows
from ..reporting.budget_warnings import warn_of_promise
from ..reporting.open_budgets import BudgetedEstimator, Rollback, reservation_for
from ..reporting.privacy_ledger import PrivacyLedger
from ..reporting.receipts import Receipt, SpendBound
from ..validation import INFINITE, check_parameters, one_of, telling_sizes


class Transformer(BudgetedEstimator, OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """A transformer that says what it has spent.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What ``fit`` has spent.
    privacy_ledger_ : tuple of Event
        The releases behind it.
    """

    privacy_spent_: PrivacySpent
    privacy_ledger_: PrivacyLedger

    n_features_in_: int

    @final
    @strict_checks()
    def transform(self, X: Any) -> Any:
        """Transform rows, each by itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or CSR matrix if zeros stay zeros
            Rows. They are not changed.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features)
            The transformed rows, in single precision if X is.
        """
        check_is_fitted(self)
        return self._applied(self._checked(X, reset=False, copy=True))

    @final
    def _checked(self, X: Any, *, reset: bool, copy: bool = False) -> Rows:
        """The data in a form to compute with; errors quote no entries."""
        if sp.issparse(X) and not self._sparse:
            raise TypeError(
                f"{type(self).__name__} needs dense rows, because with its parameters zeros would "
                "not stay zeros, got sparse data. Use a scaler that leaves zeros where they are, "
                "such as DPStandardScaler(with_mean=False), or X.toarray()."
            )
        options = {"dtype": [np.float64, np.float32], "copy": copy, "reset": reset}
        X = redacted(validate_data, self, X, accept_sparse=self._sparse and "csr", **options)
        # What pandas makes anew of a column may be read-only.
        entries = X.data if sp.issparse(X) else X
        return X.copy() if copy and not entries.flags.writeable else X

    @property
    @abstractmethod
    def _sparse(self) -> bool:
        """True if parameters leave zeros where they are, so that sparse rows stay sparse."""

    @property
    @final
    def _always_dense(self) -> bool:
        return not self._sparse

    @abstractmethod
    def _applied(self, X: Rows) -> Rows:
        """The rows transformed; X may be overwritten."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FreeTransformer(Transformer, ABC):
    """A transformer that learns nothing: parameters alone say what it does."""

    # Ignored, so that under metadata routing nobody has to say whether it is requested.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"privacy_unit": UNUSED}

    @final
    @locked
    def fit(self, X: Any, y: Any = None, privacy_unit: Any = None) -> Self:
        """Check parameters and the shape of X, and learn nothing.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : ignored
            For pipelines.
        privacy_unit : ignored
            Where nothing is learned, nobody needs protection; scalers that learn take it.

        Returns
        -------
        self
            With ``privacy_spent_`` of (0, 0).
        """
        del y, privacy_unit
        before = vars(self).copy()
        try:
            check_parameters(self)
            self._checked(X, reset=True)
            self._settle()
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.privacy_spent_, self.privacy_ledger_ = PrivacySpent(0.0, 0.0), PrivacyLedger()
        return self

    @abstractmethod
    def _settle(self) -> None:
        """Refuse parameters that do not fit to the number of features."""


class PrivateTransformer(Transformer, ABC):
    """A transformer that learns from rows with a budget of its own.

    A subclass asks the oracle in ``_learn`` and sees no row, noise or ledger.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 1e-10, 1e9, closed="both"), INFINITE],
        "delta": [None, Interval(Real, 0, 1, closed="neither")],
        "adjacency": [one_of(*(a.value for a in Adjacency))],
        "random_state": ["random_state", np.random.Generator],
    }

    epsilon: float
    delta: float | None
    delta_: float
    adjacency: str
    random_state: Any

    feature_names_in_: np.ndarray
    n_samples_seen_: int
    privacy_unit_: str

    @final
    @locked
    def fit(self, X: Any, y: Any = None, privacy_unit: Any = None) -> Self:
        """Learn privately.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows; sparse ones if zeros stay zeros.
        y : ignored
            For pipelines.
        privacy_unit : array-like of shape (n_samples,), optional
            Label of the person, or whatever else is to be protected as a whole, to whom each row
            belongs; as for the models of this package.

        Returns
        -------
        self
            The fitted transformer.

        Raises
        ------
        ValueError
            If parameters or data are malformed. Nothing has been spent then, and the results of
            an earlier fit are still there.
        BudgetExceededError
            If a :class:`skdp.PrivacyBudget` is open that has no room for it; likewise.
        RuntimeError
            If another thread is fitting the same object; likewise.

        Notes
        -----
        If anything fails later, ``privacy_spent_`` and ``privacy_ledger_`` say what has been spent,
        and so does a note on the exception.
        """
        del y
        charge = reservation_for(self)
        with Rollback(self, charge):
            check_parameters(self)
            terms, units, unit = self._terms(None), None, PrivacyUnit.ROW
            if privacy_unit is not None:
                units, unit = PrivacyUnits.of(privacy_unit), PrivacyUnit.DECLARED
            claim = SpendBound.of_ledger(terms.ledger(), terms.adjacency, unit)
            charge.reserve(claim, begins=False)
            if units is not None:
                units.check(X)
            with telling_sizes(units is None):
                checked = self._checked(X, reset=True)
            # Nobody has targets.
            rows = resident_rows(checked, np.zeros(checked.shape[0]), np.asarray, units=units)
            terms = self._terms(rows.n_samples)
            claim = SpendBound.of_ledger(terms.ledger(), terms.adjacency, unit)
            self._settle()
            warn_of_promise(type(self).__name__, self.epsilon, terms.delta, rows.n_samples)
            oracle, ledger = open_rows(rows, terms, noise_for(self.random_state))
            charge.reserve(claim, begins=True)
        self._forget(("n_features_in_", "feature_names_in_"))
        self.delta_, self.privacy_unit_ = terms.delta, str(unit)
        self._adjacency = terms.adjacency
        # Until there is more to say, the whole budget counts as spent.
        self.privacy_spent_ = PrivacySpent(ledger.epsilon, ledger.delta)
        self.privacy_ledger_ = PrivacyLedger()
        try:
            self._learn(oracle, rows.n_samples)
        except BaseException as failure:
            spent = ledger.spent()
            failure.add_note(
                f"{type(self).__name__}.fit stopped after spending epsilon={spent.epsilon:.6g} at "
                f"delta={spent.delta:.6g}; see privacy_ledger_."
            )
            raise
        finally:
            self.privacy_spent_ = ledger.spent()
            self.privacy_ledger_ = PrivacyLedger(ledger.receipt())
            charge.settle(Receipt.of(self))
        self.n_samples_seen_ = rows.n_samples
        return self

    @final
    def _terms(self, n_samples: int | None) -> PrivacyTerms:
        delta = delta_for(self.delta, n_samples)
        return PrivacyTerms(self.epsilon, delta, Adjacency(self.adjacency))

    @abstractmethod
    def _settle(self) -> None:
        """Refuse parameters that do not fit to each other or to the number of features."""

    @abstractmethod
    def _learn(self, oracle: Oracle, n_samples: int) -> None:
        """Ask the oracle, and set the public attributes from its answers."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_samples_seen_")
