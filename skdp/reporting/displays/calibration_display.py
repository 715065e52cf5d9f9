"""Calibration curves, which read private rows."""

from __future__ import annotations

from typing import Any, Self

from sklearn.calibration import CalibrationDisplay as _OfScikitLearn

from ...exceptions import PrivacyLeakWarning, warn_user


class CalibrationDisplay(_OfScikitLearn):
    """Calibration curve of scikit-learn, with a warning: it is computed from rows without noise.

    For your eyes: whoever publishes it makes a release that no receipt covers. Rows that are
    public, or that nobody needs to protect, can be shown to anybody.

    Parameters
    ----------
    prob_true, prob_pred : ndarray of shape (n_bins,)
        Shares of positives, and mean predicted probabilities, of each bin.
    y_prob : ndarray of shape (n_samples,)
        Predicted probabilities of the positive class.
    estimator_name : str, optional
        For the legend.
    pos_label : int, float, bool or str, optional
        The positive class.
    """

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw the curve of a fitted classifier on rows.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels, of two classes.
        **options
            As for scikit-learn's ``CalibrationDisplay.from_estimator``.

        Warns
        -----
        PrivacyLeakWarning
            Always.
        """
        warn_user(
            "CalibrationDisplay computes its curve from these rows without noise. It is for your "
            "eyes: if they are rows of people, to publish it is another release, which no receipt "
            "covers.",
            PrivacyLeakWarning,
        )
        display: Self = super().from_estimator(estimator, X, y, **options)
        return display
