"""Coefficients stored sparsely, when asked for."""

from __future__ import annotations

from abc import ABC
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

__all__ = ["SparseCoefficients"]


class SparseCoefficients(ABC):
    """An estimator whose ``coef_`` can be stored sparsely."""

    coef_: Any
    intercept_: Any

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
