"""What the benchmark compares: each method maps training rows to predictions for test rows.

A method takes ``(data, X, y, X_test, epsilon, delta)`` and returns log-probabilities of the
classes, of shape (rows, classes), or predicted targets. It returns None where it does not apply.
Diffprivlib alone, for which a process has to be started, takes a list of epsilons at once.
"""

from __future__ import annotations

import warnings
from math import ceil, sqrt

import numpy as np
import output_perturbation
import peers
from scipy.special import log_expit, log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression
from skdp.privacy.accounting import gdp
from skdp.solvers import GD


def two_columns(scores):
    return np.column_stack([log_expit(-scores), log_expit(scores)])


def private(data, epsilon, delta, **settings):
    """The estimator for a data set, with default settings unless told otherwise."""
    common = {"epsilon": epsilon, "delta": delta, "data_norm": data.data_norm, **settings}
    if data.is_regression:
        return DPLinearRegression(target_bounds=data.target_bounds, **common)
    return DPLogisticRegression(classes=data.classes, **common)


def predictions(model, data, X_test):
    return model.predict(X_test) if data.is_regression else model.predict_log_proba(X_test)


def defaults(data, X, y, X_test, epsilon, delta):
    """This package as it comes; for sparse signals the model that is made for them."""
    if data.n_informative is None:
        model = private(data, epsilon, delta)
    else:
        model = DPLassoRegressor(
            epsilon,
            delta,
            data_norm=data.data_norm,
            target_bounds=data.target_bounds,
            feature_bound=data.feature_bound,
        )
    return predictions(model.fit(X, y), data, X_test)


def exact(data, X, y, X_test, epsilon, delta):
    """Scikit-learn without privacy."""
    del epsilon, delta
    if data.is_regression:
        return LinearRegression().fit(X, y).predict(X_test)
    model = LogisticRegression(C=100.0, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y).predict_log_proba(X_test)


def floor(data, X, y, X_test, epsilon, delta):
    """Clipped gradient descent with textbook settings: what to beat.

    Classification: momentum .9, 100 steps (50 for more than two classes), clip .1, total_step_size
    ``min(300 T, kappa n mu / (2 sqrt(D))) / clip``, with kappa 32 (64) and D parameters.
    It starts at noisy log-odds of the classes, as always here.
    Regression: no momentum, clip .25, total_step_size ``min(1600, n mu / (clip sqrt(d)))``, last
    iterate.
    """
    n, d = X.shape
    evidence = n * gdp.mu(epsilon, delta)
    if data.is_regression:
        clip = 0.25
        total_step_size = min(1600.0, evidence / (clip * sqrt(d + 1)))
        steps = max(20, ceil(total_step_size / 2))
        solver = GD(
            steps=steps, total_step_size=total_step_size, clip=clip, momentum=0.0, average=0.0
        )
        penalty = {"alpha": 0.0}
    else:
        k = len(data.classes)
        steps, kappa = (100, 32) if k == 2 else (50, 64)
        parameters = (d + 1) * (1 if k == 2 else k)
        reach = min(300.0 * steps, kappa * evidence / (2 * sqrt(parameters)))
        solver = GD(steps=steps, total_step_size=reach / 0.1, clip=0.1, momentum=0.9)
        penalty = {"C": np.inf}
    model = private(data, epsilon, delta, solver=solver, precondition=None, **penalty)
    return predictions(model.fit(X, y), data, X_test)


def balanced(data, X, y, X_test, epsilon, delta):
    """This package with classes weighted by their noisy counts, for rare classes."""
    model = private(data, epsilon, delta, class_weight="balanced")
    return predictions(model.fit(X, y), data, X_test)


def adassp(data, X, y, X_test, epsilon, delta):
    """Noisy sufficient statistics, for regression."""
    if not data.is_regression:
        return None
    model = private(data, epsilon, delta, solver="adassp")
    return predictions(model.fit(X, y), data, X_test)


def objective_perturbation(data, X, y, X_test, epsilon, delta):
    """A random slope in the objective, for two classes."""
    if data.is_regression or len(data.classes) > 2:
        return None
    model = private(data, epsilon, delta, solver="objective_perturbation")
    return predictions(model.fit(X, y), data, X_test)


def output(data, X, y, X_test, epsilon, delta):
    """Noise on the exact minimiser of a ridge-penalised risk."""
    rng = np.random.default_rng()
    if data.is_regression:
        low, high = data.target_bounds
        unit, centre = (high - low) / 2, (high + low) / 2
        inside = np.clip((y - centre) / unit, -1, 1)
        w = output_perturbation.fit(X, inside, "regression", 1, epsilon, delta, data.data_norm, rng)
        return centre + unit * output_perturbation.scores(X_test, w, data.data_norm)
    k = len(data.classes)
    kind = "binary" if k == 2 else "softmax"
    w = output_perturbation.fit(X, y, kind, k, epsilon, delta, data.data_norm, rng)
    scores = output_perturbation.scores(X_test, w, data.data_norm)
    return two_columns(scores) if k == 2 else log_softmax(scores, axis=1)


METHODS = {
    "skdp": defaults,
    "balanced": balanced,
    "exact": exact,
    "floor": floor,
    "adassp": adassp,
    "objective_perturbation": objective_perturbation,
    "output_perturbation": output,
}
AT_ONCE = {"diffprivlib": peers.diffprivlib}
NAMES = (*METHODS, *AT_ONCE)


def run(method, data, X, y, X_test, epsilons, delta):
    """Predictions of a method for each epsilon."""
    if method in AT_ONCE:
        return AT_ONCE[method](data, X, y, X_test, epsilons)
    return [METHODS[method](data, X, y, X_test, epsilon, delta) for epsilon in epsilons]
