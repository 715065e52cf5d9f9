"""Published models as scikit-learn's own, for places where skdp is not installed.

They are made of scikit-learn's classes alone, with no function inside but ``numpy.clip``, so that
converters and safe loaders know all parts of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ..preprocessing.scaler import plain_clipper


def plain_model(
    estimator: Any,
    n_features: int,
    names: np.ndarray | None,
    data_bounds: tuple[np.ndarray, np.ndarray] | None,
) -> Any:
    """The estimator as if it had been fitted, behind a step that clips columns if there are bounds.

    Parameters
    ----------
    estimator : estimator
        With coefficients, for columns in the user's units. They are changed.
    n_features : int
        Number of features d.
    names : ndarray of shape (d,), optional
        Names of the features.
    data_bounds : tuple of ndarray, optional
        Low and high ends of the range of each column.
    """
    model, out = getattr(estimator, "regressor_", estimator), estimator
    first, model.n_features_in_ = model, n_features
    if data_bounds is not None:
        first = plain_clipper(*data_bounds)
        # Columns leave the first step between 0 and 1.
        model.intercept_ = model.intercept_ + model.coef_ @ first.data_min_
        model.coef_ = model.coef_ / first.scale_
        steps = Pipeline([("clip", first), ("model", model)])
        if out is model:
            out = steps
        else:
            out.regressor = out.regressor_ = steps
    if names is not None:
        # Behind the first step rows have no names any more.
        first.feature_names_in_ = names.copy()
    return out


def clipped_regressor(
    regressor: Any,
    low: float | np.ndarray,
    high: float | np.ndarray,
    *,
    in_order: bool = False,
) -> TransformedTargetRegressor:
    """The fitted regressor with predictions clipped to an interval.

    Parameters
    ----------
    regressor : estimator
        Fitted.
    low, high : float, or ndarray with one for each target
        The ends.
    in_order : bool, default=False
        Whether predictions of a row are sorted.
    """
    held: Any = FunctionTransformer(
        inverse_func=np.clip, inv_kw_args={"a_min": low, "a_max": high}, check_inverse=False
    )
    if in_order:
        ordered = FunctionTransformer(inverse_func=np.sort, check_inverse=False)
        held = make_pipeline(held, ordered)
    out = TransformedTargetRegressor(regressor, transformer=held, check_inverse=False)
    # What its fit would leave behind.
    out.regressor_, out.transformer_ = regressor, held.fit(np.zeros((1, 1)))
    out._training_dim = np.ndim(regressor.coef_)
    return out
