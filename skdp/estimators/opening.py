"""Opening of data: checks of what ``fit`` was given, and the row store that the kernel makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import _get_feature_names, validate_data

from ..exceptions import warn_user
from ..federated import DaskSites
from ..privacy.adjacency import Adjacency
from ..privacy.rows.base import RowStore
from ..privacy.rows.chunked import Chunks
from ..privacy.rows.dask_rows import is_collection, labels_of
from ..privacy.rows.privacy_units import PrivacyUnits
from ..privacy.rows.reading import columns_of, redacted, strict_checks
from ..privacy.rows.row_stores import row_store
from ..privacy.sites.remote_rows import RemoteRows
from ..problem.sites import Sites
from ..validation import telling_sizes
from .refusals import of_chunks, of_dask_sites, of_sites, of_units_at_sites, refuse

# More sites than that, of fewer rows each, are hardly places that keep rows.
_MANY_SITES, _FEW_AT_A_SITE = 20, 50
# Options of scikit-learn's checks of rows.
ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class DataOpener(ABC):
    """Opener of data for a model, wherever they lie; it reads no row but to check it."""

    epsilon: float
    delta: float | None
    delta_: float
    adjacency: str
    max_weight: float
    n_features_in_: int
    feature_names_in_: np.ndarray

    # Whether y may be a table of several targets, which are fitted together.
    _several_targets: ClassVar[bool] = False
    # Number of columns of y, and their names, if it is such a table.
    _target_columns: int | None = None
    _target_names: Any = None

    @abstractmethod
    def _prepare_targets(self, y: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        """Check what is public about targets and return the function that encodes them.

        ``y`` is None if targets come in chunks.
        """

    def _flat(self, y: Any) -> Any:
        """Targets as a vector, or as a table of several; times with events become one number."""
        return y

    @property
    def _n_outputs(self) -> int | None:
        """Number of scores that a row has, if it does not follow from classes."""
        return self._target_columns

    @property
    def _takes_tables(self) -> bool:
        """True if several targets can be fitted at once, with these settings."""
        return self._several_targets

    @final
    def _open(
        self, X: Any, y: Any, sample_weight: Any = None, privacy_unit: Any = None
    ) -> tuple[RowStore, np.dtype]:
        """Validate the data, and let the kernel lay them in a row store."""
        with telling_sizes(privacy_unit is None):
            y = self._flat(y)
        if isinstance(X, DaskSites):
            refuse(self, of_dask_sites(self, y, sample_weight))
            self.delta_ = X.delta if self.delta is None else self.delta_
            budget = self.epsilon, self.delta_, Adjacency(self.adjacency)
            remote = X.opened(self._prepare_targets(None), *budget)
            refuse(self, of_units_at_sites(remote.unit, privacy_unit))
            return self._named(remote), remote.dtype
        if isinstance(X, Chunks):
            refuse(self, of_chunks(y, sample_weight, privacy_unit))
        collected = any(map(is_collection, (X, y, sample_weight, privacy_unit)))
        if collected or isinstance(X, Chunks):
            # Where classes are to be read off y of a collection, its workers do.
            read = collected and getattr(self, "classes", ()) is None
            with telling_sizes(privacy_unit is None):
                encode = self._prepare_targets(labels_of(y) if read else None)
            of = {"tables": self._several_targets, "privacy_unit": privacy_unit}
            rows = row_store(X, y, encode, sample_weight, self.max_weight, **of)
            self._target_names = getattr(y, "columns", None)
            return self._named(rows), getattr(rows, "dtype", np.dtype(np.float64))
        units = None
        if privacy_unit is not None:
            units = PrivacyUnits.of(privacy_unit)
            units.check(X, y, sample_weight)
        with telling_sizes(units is None):
            return self._open_arrays(X, y, sample_weight, units)

    @final
    def _open_arrays(
        self, X: Any, y: Any, sample_weight: Any, units: PrivacyUnits | None
    ) -> tuple[RowStore, np.dtype]:
        columns = redacted(columns_of, y)
        # For settings of one target a table of one column is a vector that was passed as one.
        table = self._takes_tables if columns == 1 else self._several_targets and bool(columns)
        if not table and (columns or 1) > 1:
            instead = " or use DPLinearRegression," if is_regressor(self) else ""
            raise ValueError(
                f"{type(self).__name__} needs one target a row, in a vector, got a table of "
                f"{columns} columns. Fit one column at a time,{instead} each fit with a part of "
                "the budget."
            )
        self._target_names = redacted(_get_feature_names, y) if table else None
        X, y = redacted(validate_data, self, X, y, multi_output=table, **ACCEPTED)
        self._target_columns = columns_of(y)
        with strict_checks():
            encode = self._prepare_targets(y)
        return row_store(X, y, encode, sample_weight, self.max_weight, units), X.dtype

    @final
    def _sites(self, labels: Any, rows: RowStore) -> Sites | None:
        """Sites of the rows, if they do not lie all together."""
        refuse(self, of_sites(labels, rows))
        if isinstance(rows, RemoteRows):
            return rows.sites
        return self._sites_of(labels, rows.n_samples)

    @final
    def _sites_of(self, labels: Any, n_samples: int) -> Sites | None:
        """Sites named by labels of rows, if there are labels."""
        if labels is None:
            return None
        sites, name = Sites.of_labels(labels), type(self).__name__
        if sites.n_samples != n_samples:
            raise ValueError(
                f"{name} needs one label in sites for each of {n_samples} rows, got "
                f"{sites.n_samples}."
            )
        if len(sites.labels) > _MANY_SITES and n_samples < _FEW_AT_A_SITE * len(sites.labels):
            warn_user(
                f"{name} was given {len(sites.labels)} sites for {n_samples} rows. Each adds noise "
                "of its own, and what is protected is a single row. If the labels are people, or "
                "others with several rows each, pass them as privacy_unit.",
                UserWarning,
            )
        return sites

    @final
    def _named(self, rows: Any) -> RowStore:
        self._target_columns = rows.target_columns
        self.n_features_in_ = rows.n_features
        self.__dict__.pop("feature_names_in_", None)
        if rows.feature_names is not None:
            self.feature_names_in_ = np.array(rows.feature_names, dtype=object)
        return rows
