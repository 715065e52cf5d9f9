"""Scores of predictions on the test rows; none of them is private, they are for us to read."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    log_loss,
    r2_score,
    roc_auc_score,
)

METRICS = ("accuracy", "auc", "balanced_accuracy", "average_precision", "log_loss", "r2")
# Of which less is better.
LOSSES = ("log_loss",)


def score(data, predicted, y):
    """Scores by name. Regression predictions are clipped to the target bounds, for all methods.

    For more than two classes the areas are means over one class against the rest.
    """
    if data.is_regression:
        return {"r2": float(r2_score(y, np.clip(predicted, *data.target_bounds)))}
    code = predicted.argmax(axis=1)
    k = predicted.shape[1]
    membership = np.eye(k)[y]
    # With two classes both columns say the same.
    columns = [1] if k == 2 else range(k)
    return {
        "accuracy": float(np.mean(code == y)),
        "auc": _mean(roc_auc_score, membership, predicted, columns),
        "balanced_accuracy": float(balanced_accuracy_score(y, code)),
        "average_precision": _mean(average_precision_score, membership, predicted, columns),
        "log_loss": float(log_loss(y, np.exp(predicted), labels=range(k))),
    }


def _mean(area, membership, predicted, columns):
    return float(np.mean([area(membership[:, j], predicted[:, j]) for j in columns]))
