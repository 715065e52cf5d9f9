"""Models of a few rows, of two classes or of targets between 0 and 1, with seeds."""

import numpy as np
import pytest

from skdp import DPLinearRegression, DPLogisticRegression, DPSVMClassifier


def make_data(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] > 0).astype(int)


def classifier(**options):
    return DPLogisticRegression(
        **{"data_norm": 3.0, "classes": [0, 1], "random_state": 0} | options
    )


def regressor(**options):
    return DPLinearRegression(
        **{"data_norm": 3.0, "target_bounds": (0.0, 1.0), "random_state": 0} | options
    )


def machine(**options):
    return DPSVMClassifier(**{"data_norm": 3.0, "classes": [0, 1], "random_state": 0} | options)


both = pytest.mark.parametrize("make", [classifier, machine, regressor])
