"""Published models as scikit-learn's own, for places where skdp is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer


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
        With coefficients.
    n_features : int
        Number of features d.
    names : ndarray of shape (d,), optional
        Names of the features.
    data_bounds : tuple of ndarray, optional
        Low and high ends of the range of each column.
    """
    parts = [estimator]
    if data_bounds is not None:
        low, high = (end.copy() for end in data_bounds)
        bounds = {"a_min": low, "a_max": high}
        parts = [FunctionTransformer(np.clip, kw_args=bounds, validate=True), estimator]
    # It is the regressor within that looks at rows.
    readers = [getattr(part, "regressor_", part) for part in parts]
    for part in readers:
        part.n_features_in_ = n_features
    if names is not None:
        # Behind the first step rows have no names any more.
        readers[0].feature_names_in_ = names.copy()
    return estimator if len(parts) == 1 else Pipeline([("clip", parts[0]), ("model", estimator)])


def clipped_regressor(
    regressor: LinearRegression, low: float | np.ndarray, high: float | np.ndarray
) -> TransformedTargetRegressor:
    """The fitted regressor with predictions clipped to an interval.

    Parameters
    ----------
    regressor : LinearRegression
        Fitted.
    low, high : float, or ndarray with one for each target
        The ends.
    """
    held = FunctionTransformer(
        inverse_func=np.clip, inv_kw_args={"a_min": low, "a_max": high}, check_inverse=False
    )
    out = TransformedTargetRegressor(regressor, transformer=held, check_inverse=False)
    # What its fit would leave behind.
    out.regressor_, out.transformer_ = regressor, held.fit(np.zeros((1, 1)))
    out._training_dim = np.ndim(regressor.coef_)
    return out
