"""Rows shortened to a known length."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.extmath import row_norms

from ..privacy.rows.bounded_rows import Rows
from .base import FreeTransformer


@final
class RowNormClipper(FreeTransformer):
    """Scale rows that are longer than ``max_norm`` down to it, and leave the others, at no cost.

    Each row is looked at by itself, so nothing is learned. A private model does the same with its
    ``data_norm`` while it is fitted, but not when it predicts; with this step before it rows are
    treated alike in both. To bring *all* rows to one length, also short ones, use scikit-learn's
    ``Normalizer``, which learns nothing either.

    Parameters
    ----------
    max_norm : float, default=1.0
        Largest l2 norm of a row.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        (0, 0).
    privacy_ledger_ : tuple
        Empty.

    Examples
    --------
    >>> from skdp.preprocessing import RowNormClipper
    >>> RowNormClipper(max_norm=5.0).fit_transform([[6.0, 8.0], [0.0, 1.0]])
    array([[3., 4.],
           [0., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_norm": [Interval(Real, 1e-100, 1e100, closed="both")],
    }

    _sparse = True

    def __init__(self, max_norm: float = 1.0) -> None:
        self.max_norm = max_norm

    def _settle(self) -> None:
        pass

    def _applied(self, X: Rows) -> Rows:
        double, limit = X.astype(np.float64), self.max_norm
        entries, stored = _stored(double), _stored(X)
        # In units of the largest entry: the norm itself may be beyond the largest float.
        largest = np.maximum(np.ravel(_dense(abs(double).max(axis=1))), limit)
        entries /= _over_entries(X, largest)
        norms = row_norms(double)
        long = norms > limit / largest
        factor = limit / np.where(long, norms, 1.0)
        shortened = entries * _over_entries(X, factor)
        np.copyto(stored, shortened, where=_over_entries(X, long), casting="same_kind")
        return X


def _stored(X: Rows) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.data


def _dense(X: Any) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.toarray()


def _over_entries(X: Rows, values: np.ndarray) -> np.ndarray:
    """A value for each row, spread over the entries of X."""
    return values[:, None] if isinstance(X, np.ndarray) else np.repeat(values, np.diff(X.indptr))
