"""Scores of predictions on the test rows; none of them is private, they are for us to read."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)

# Bins of equal width into which probabilities are sorted.
BINS = 15


def score(data, predicted, y):
    """Scores by name. Regression predictions are clipped to the target bounds, for all methods.

    For more than two classes the areas are means over one class against the rest. The Brier score
    is the mean squared error of the probability of class 1, for more classes the sum of those of
    all. The calibration error is that of the probability of the predicted class (Guo et al., 2017).
    The calibration slope is the factor of the log-odds that would have the least log-loss: below 1
    for a model that is too sure of itself.
    """
    if data.is_regression:
        inside = np.clip(predicted, *data.target_bounds)
        error = float(mean_absolute_error(y, inside))
        return {"r2": float(r2_score(y, inside)), "absolute_error": error}
    code = predicted.argmax(axis=1)
    probabilities = np.exp(predicted)
    k = predicted.shape[1]
    membership = np.eye(k)[y]
    # With two classes both columns say the same.
    columns = [1] if k == 2 else range(k)
    scores = {
        "accuracy": float(np.mean(code == y)),
        "auc": _mean(roc_auc_score, membership, predicted, columns),
        "balanced_accuracy": float(balanced_accuracy_score(y, code)),
        "average_precision": _mean(average_precision_score, membership, predicted, columns),
    }
    if data.margins:
        return scores
    return scores | {
        "log_loss": float(log_loss(y, probabilities, labels=range(k))),
        "brier": float(np.sum((probabilities - membership)[:, columns] ** 2, axis=1).mean()),
        "calibration_error": calibration_error(probabilities.max(axis=1), code == y),
        "calibration_slope": calibration_slope(predicted, y),
    }


def calibration_error(confidence, right):
    """Distance of confidence from accuracy, a mean over bins by their numbers of rows."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, confidence - right)).sum() / len(right))


def calibration_slope(predicted, y):
    """Factor of log-odds with the least log-loss, from .01 to 100."""
    rows = np.arange(len(y))

    def loss(log_slope):
        return -log_softmax(np.exp(log_slope) * predicted, axis=1)[rows, y].mean()

    ends = -np.log(100), np.log(100)
    return float(np.exp(minimize_scalar(loss, bounds=ends, method="bounded").x))


def _mean(area, membership, predicted, columns):
    return float(np.mean([area(membership[:, j], predicted[:, j]) for j in columns]))
