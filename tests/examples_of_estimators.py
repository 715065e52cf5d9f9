"""Small private models of every kind, and rows for them, for tests of how they go with others."""

import numpy as np

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.solvers import GD

N, D = 240, 4


def make_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    binary = (X[:, 0] + 0.1 * rng.normal(size=N) > 0).astype(int)
    return X, binary, binary + (X[:, 1] > 0.4), X @ [1.0, -2.0, 0.0, 0.5] + 1


X, BINARY, SEVERAL, REAL = make_rows()
# So few steps are quick, and with so large a budget enough.
SHARED = {"data_norm": 1.0, "epsilon": 50.0, "solver": GD(steps=20)}
CLASSES = SHARED | {"classes": [0, 1]}
NUMBERS = SHARED | {"target_bounds": (-2.0, 4.0)}


def logistic(**options):
    return DPLogisticRegression(**CLASSES | options)


def machine(**options):
    return DPSVMClassifier(**CLASSES | options)


def linear(**options):
    return DPLinearRegression(**NUMBERS | options)


def lasso(**options):
    return DPLassoRegressor(**NUMBERS | {"feature_bound": 1.0} | options)


CLASSIFIERS = {"logistic": logistic, "machine": machine}
REGRESSORS = {"linear": linear, "lasso": lasso}
MODELS = CLASSIFIERS | REGRESSORS


def target_of(make):
    """The target that suits a kind of model."""
    return BINARY if make in (logistic, machine) else REAL
