"""Base of transformers: checks of the data, the receipt, and pickles without secrets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy, deepcopy
from numbers import Real
from typing import Any, ClassVar, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, validate_data

from ..docstrings import complete
from ..privacy.accounting.calculus import Calculus, GaussianDP, ThresholdedGaussianDP
from ..privacy.accounting.default_delta import delta_for
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.lock import locked
from ..privacy.oracle import Oracle
from ..privacy.oracle_factory import PrivacyTerms, noise_for, open_rows
from ..privacy.rows.base import RowStore
from ..privacy.rows.bounded_rows import Rows
from ..privacy.rows.dask_results import lazily, made_up
from ..privacy.rows.dask_rows import gathered, is_collection
from ..privacy.rows.privacy_units import PrivacyUnits
from ..privacy.rows.reading import attempted, columns_of_table, redacted, strict_checks
from ..privacy.rows.row_stores import resident_rows
from ..problem.column_bounds import ColumnBounds
from ..reporting.budget_warnings import warn_of_promise
from ..reporting.open_budgets import BudgetedEstimator, charged, reservation_for, rollback
from ..reporting.privacy_ledger import PrivacyLedger
from ..reporting.receipts import SpendBound
from ..validation import INFINITE, check_parameters, one_of, telling_sizes


class Transformer(BudgetedEstimator, OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """A transformer that says what it has spent.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What ``fit`` has spent.
    privacy_ledger_ : tuple of Event
        The releases behind it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if X has any.
    """

    privacy_spent_: PrivacySpent
    privacy_ledger_: PrivacyLedger

    n_features_in_: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Those that can be constructed; their bases say what is common to several.
        if "__init__" in vars(cls):
            complete(cls)

    @final
    @strict_checks()
    def transform(self, X: Any) -> Any:
        """Transform rows, each by itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or CSR matrix if zeros stay zeros
            Rows, also as a dask array or dataframe. They are not changed.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features_out)
            The transformed rows, in single precision if X is; of a dask collection a dask array,
            which is computed one partition at a time.
        """
        check_is_fitted(self)
        if is_collection(X):
            own = copy(self)
            # Its own dictionary, which set_output would share with this one.
            own._sklearn_output_config = {"transform": "default"}
            return lazily(own.transform, X)
        return self._applied(self._checked(X, reset=False, copy=True))

    def _checked(self, X: Any, *, reset: bool, copy: bool = False) -> Any:
        """The data in a form to compute with, by default numbers; errors quote no entries."""
        self._check_layout(X)
        options = {"dtype": [np.float64, np.float32], "copy": copy, "reset": reset}
        if self._takes_missing:
            options["ensure_all_finite"] = "allow-nan"
        X = redacted(validate_data, self, X, accept_sparse=self._sparse and "csr", **options)
        # What pandas makes anew of a column may be read-only.
        entries = X.data if sp.issparse(X) else X
        return X.copy() if copy and not entries.flags.writeable else X

    @final
    def _checked_table(self, X: Any, *, reset: bool) -> list[np.ndarray]:
        """Columns of a table, each of its own type; errors quote no entries."""
        self._check_layout(X)
        columns = columns_of_table(X)
        # For names and the number of features.
        redacted(validate_data, self, X, reset=reset, skip_check_array=True)
        return columns

    @final
    def _name(self, j: Any) -> str:
        """Name of a column in messages."""
        names = getattr(self, "feature_names_in_", None)
        return f"column {j}" if names is None else str(names[j])

    @final
    def _check_layout(self, X: Any) -> None:
        if sp.issparse(X) and not self._sparse:
            raise TypeError(
                f"{type(self).__name__} needs dense rows, because with its parameters zeros would "
                "not stay zeros, got sparse data. Use a scaler that leaves zeros where they are, "
                "such as DPStandardScaler(with_mean=False), or X.toarray()."
            )

    @final
    def _given_bounds(self, bounds: Any) -> ColumnBounds:
        """Bounds that a parameter gives to the features that ``fit`` has seen."""
        names = getattr(self, "feature_names_in_", None)
        return ColumnBounds.of(type(self).__name__, bounds, self.n_features_in_, names=names)

    @property
    @abstractmethod
    def _sparse(self) -> bool:
        """True if parameters leave zeros where they are, so that sparse rows stay sparse."""

    @property
    def _takes_missing(self) -> bool:
        """True if missing values are taken, which count for nothing and stay missing."""
        return False

    @property
    def _always_dense(self) -> bool:
        return not self._sparse

    @abstractmethod
    def _applied(self, X: Any) -> Rows:
        """The rows transformed; X may be overwritten."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.input_tags.allow_nan = self._takes_missing
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Delegating(Transformer, ABC):
    """A transformer whose rows scikit-learn's own transforms, with what was learned privately."""

    _sparse = False

    @abstractmethod
    def _plain(self) -> Any:
        """scikit-learn's own with the public attributes of this one."""

    @final
    def to_sklearn(self) -> Any:
        """The fitted transformer as scikit-learn's own, to be served where skdp is not installed.

        Returns
        -------
        estimator
            It transforms as this one does.
        """
        check_is_fitted(self)
        out = deepcopy(self._plain())
        out.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            out.feature_names_in_ = self.feature_names_in_.copy()
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the features that come out, as scikit-learn's own calls them.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features that go in, if X had none.

        Returns
        -------
        ndarray of str
            The names.
        """
        return self.to_sklearn().get_feature_names_out(input_features)

    def _applied(self, X: Rows) -> Rows:
        plain = self._plain()
        plain.n_features_in_ = self.n_features_in_
        return plain.transform(X).astype(X.dtype, copy=False)


class Invertible(Delegating, ABC):
    """A transformer that scikit-learn's own can undo."""

    @final
    @strict_checks()
    def inverse_transform(self, X: Any) -> Any:
        """Bring transformed rows back, as far as that is possible.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features_out)
            Transformed rows. They are not changed.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features)
            Rows in their units.

        Raises
        ------
        ValueError
            If rows do not have as many features as ``transform`` returns.
        """
        check_is_fitted(self)
        plain, given = self._plain(), getattr(X, "to_numpy", lambda: X)()
        plain.n_features_in_ = self.n_features_in_
        needed = len(self.get_feature_names_out())
        shape = attempted(np.shape, given)
        if shape is None or shape[1:] != (needed,):
            raise ValueError(
                f"{type(self).__name__} needs rows of {needed} features to bring back, as many as "
                "transform returns, got others."
            )
        return redacted(plain.inverse_transform, given)


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
            self._checked(made_up(X) if is_collection(X) else X, reset=True)
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

    Parameters
    ----------
    epsilon : float, default=1.0
        Budget of this step alone; a model behind it has its own. ``float('inf')`` adds no noise.
    delta : float, optional
        Slack, the smaller of 1e-5 and n^-1.1 for n rows by default.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        When data sets count as neighbours; the promise of the model behind should be the same.
    random_state : int, RandomState, Generator or None, default=None
        Anything but None makes the noise reproducible, and warns: for tests only.

    Attributes
    ----------
    n_samples_seen_ : int
        Number of rows.
    delta_ : float
        Slack of the guarantee: ``delta``, or what it is by default.
    privacy_unit_ : str
        What is protected: ``'row'``, or ``'privacy_unit'`` for all rows of a person.
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
            Rows; sparse ones if zeros stay zeros. Those of a dask collection need to fit into
            memory here, not in ``transform``.
        y : array-like of shape (n_samples,), or ignored
            Targets, for a transformer that learns from them; for pipelines in front of others.
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
        charge = reservation_for(self)
        with rollback(self, charge):
            check_parameters(self)
            terms, units, unit = self._terms(None), None, PrivacyUnit.ROW
            if privacy_unit is not None:
                with telling_sizes(False):
                    units = PrivacyUnits.of(gathered(privacy_unit))
                unit = PrivacyUnit.DECLARED
            claim = SpendBound.of_ledger(terms.ledger(), terms.adjacency, unit)
            charge.reserve(claim, begins=False)
            if units is not None:
                units.check(X)
            with telling_sizes(units is None):
                # As what it is in memory: scikit-learn sees no names in dask dataframes.
                checked = self._checked(gathered(X), reset=True)
            rows = self._stored(checked, y, units)
            terms = self._terms(rows.n_samples)
            claim = SpendBound.of_ledger(terms.ledger(), terms.adjacency, unit)
            self._settle()
            self._foresee(rows.n_samples, terms)
            warn_of_promise(type(self).__name__, self.epsilon, terms.delta, rows.n_samples)
            oracle, ledger = open_rows(rows, terms, noise_for(self.random_state))
            charge.reserve(claim, begins=True)
        self._forget(("n_features_in_", "feature_names_in_"))
        self.delta_, self.privacy_unit_ = terms.delta, str(unit)
        self._adjacency = terms.adjacency
        who = f"{type(self).__name__}.fit"
        with charged(self, ledger, charge, who, "; see privacy_ledger_"):
            self._learn(oracle, rows.n_samples)
        self.n_samples_seen_ = rows.n_samples
        return self

    @final
    def _terms(self, n_samples: int | None) -> PrivacyTerms:
        delta = delta_for(self.delta, n_samples)
        return PrivacyTerms(self.epsilon, delta, Adjacency(self.adjacency), self._calculus(delta))

    def _calculus(self, delta: float) -> Calculus:
        """Calculus by which releases add up."""
        del delta
        return GaussianDP()

    @final
    def _set_aside(self, delta: float) -> float:
        """Part of a delta that is set aside for a threshold."""
        calculus = self._calculus(delta)
        return calculus.set_aside if isinstance(calculus, ThresholdedGaussianDP) else 0.0

    def _stored(self, checked: Any, y: Any, units: PrivacyUnits | None) -> RowStore:
        """The rows, in the store that the queries of ``_learn`` ask."""
        targets, encode = self._targets(checked, y)
        return resident_rows(checked, targets, encode, units=units)

    def _targets(self, X: Rows, y: Any) -> tuple[Any, Callable[[np.ndarray], np.ndarray]]:
        """Targets that are learned from and what encodes them; by default nobody has any."""
        del y
        return np.zeros(X.shape[0]), np.asarray

    def _foresee(self, n_samples: int, terms: PrivacyTerms) -> None:
        """Refuse, or warn of, what public facts say of the result, before rows are asked about."""

    @abstractmethod
    def _settle(self) -> None:
        """Refuse parameters that do not fit to each other or to the number of features."""

    @abstractmethod
    def _learn(self, oracle: Oracle, n_samples: int) -> None:
        """Ask the oracle, and set the public attributes from its answers."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_samples_seen_")
