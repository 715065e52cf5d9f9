"""What the benchmark compares: each method maps training rows to predictions for test rows.

A method takes ``(data, X, y, X_test, epsilon, delta)`` and returns an :class:`Answer`, or None
where it does not apply. Diffprivlib alone, for which a process has to be started, takes a list of
epsilons at once.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import output_perturbation
import peers
from scipy.special import log_expit, log_softmax
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.preprocessing import DPStandardScaler
from skdp.privacy.accounting import gdp
from skdp.solvers import GD

# Share of mu^2 of a private scaler, by the rule in docs/how_to/preprocessing.md.
SCALER_SHARE = 0.1


@dataclass
class Answer:
    """Predictions for the test rows, and what it took to make them.

    ``predicted`` are log-probabilities of shape (rows, classes), or targets. ``passes`` is the
    number of times that all training rows were read, where it is known, and ``seconds`` the time
    of fitting and predicting.
    """

    predicted: np.ndarray
    passes: int | None = None
    seconds: float = 0.0


def two_columns(scores):
    return np.column_stack([log_expit(-scores), log_expit(scores)])


def private(data, epsilon, delta, **settings):
    """The estimator for a data set, with default settings unless told otherwise."""
    common = {"epsilon": epsilon, "delta": delta, "data_norm": data.data_norm, **settings}
    if data.is_regression:
        return DPLinearRegression(target_bounds=data.target_bounds, **common)
    make = DPSVMClassifier if data.margins else DPLogisticRegression
    return make(classes=data.classes, **common)


def predictions(model, data, X_test):
    if data.is_regression:
        return model.predict(X_test)
    if not data.margins:
        return model.predict_log_proba(X_test)
    scores = model.decision_function(X_test)
    return two_columns(scores) if scores.ndim == 1 else log_softmax(scores, axis=1)


def answered(model, data, X_test, *before):
    """Predictions of a private model; each of its releases, and of steps before it, is a pass."""
    passes = sum(event.count for step in (*before, model) for event in step.privacy_ledger_)
    return Answer(predictions(model, data, X_test), passes)


def defaults(data, X, y, X_test, epsilon, delta):
    """This package as it comes; for sparse signals the model that is made for them."""
    if data.n_informative is None:
        model = private(data, epsilon, delta)
    else:
        model = DPLassoRegressor(
            epsilon=epsilon,
            delta=delta,
            data_norm=data.data_norm,
            target_bounds=data.target_bounds,
            feature_bound=data.feature_bound,
        )
    return answered(model.fit(X, y), data, X_test)


def scaled(data, X, y, X_test, epsilon, delta):
    """This package behind a private scaler of raw columns, within one budget."""
    if data.numeric is None:
        return None
    mu = gdp.mu(epsilon, delta)
    of_scaler, of_model = (
        gdp.epsilon(sqrt(share) * mu, delta) for share in (SCALER_SHARE, 1 - SCALER_SHARE)
    )
    columns = ColumnTransformer(
        [("numbers", DPStandardScaler(epsilon=of_scaler, delta=delta), data.numeric)],
        remainder="passthrough",
    )
    model = private(data, of_model, delta).fit(columns.fit_transform(X), y)
    return answered(model, data, columns.transform(X_test), columns.named_transformers_["numbers"])


def exact(data, X, y, X_test, epsilon, delta):
    """Scikit-learn without privacy, behind its scaler if columns are raw."""
    del epsilon, delta
    classifier = LinearSVC() if data.margins else LogisticRegression(C=100.0, max_iter=300)
    model = LinearRegression() if data.is_regression else classifier
    scalers = [] if data.numeric is None else [StandardScaler()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipeline = make_pipeline(*scalers, model).fit(X, y)
    # One gradient an iteration; least squares have none.
    passes = None if data.is_regression else int(np.max(model.n_iter_))
    return Answer(predictions(pipeline, data, X_test), passes)


def frequencies(data, X, y, X_test, epsilon, delta):
    """The frequencies of the classes, or the mean, for every row: what learning starts from."""
    del X, epsilon, delta
    if data.is_regression:
        return Answer(np.full(X_test.shape[0], y.mean()))
    shares = np.bincount(y, minlength=len(data.classes)) / len(y)
    return Answer(np.tile(np.log(shares), (X_test.shape[0], 1)))


def floor(data, X, y, X_test, epsilon, delta):
    """Clipped gradient descent with textbook settings: what to beat.

    Classification: momentum .9, 100 steps (50 for more than two classes), clip .1, total_step_size
    ``min(300 T, kappa n mu / (2 sqrt(D))) / clip``, with kappa 32 (64) and D parameters.
    It starts at noisy log-odds of the classes, as always here.
    Regression: no momentum, clip .25, total_step_size ``min(1600, n mu / (clip sqrt(d)))``, last
    iterate.
    """
    if data.data_norm is None:
        return None
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
    return answered(model.fit(X, y), data, X_test)


def solved(data, X, y, X_test, epsilon, delta, **settings):
    """This package with a solver of its choice, or None where the solver does not apply."""
    model = private(data, epsilon, delta, **settings)
    try:
        with warnings.catch_warnings():
            # One that says that its intervals are wide is asked for predictions only.
            warnings.simplefilter("ignore", UserWarning)
            model.fit(X, y)
    except ValueError:
        return None
    return answered(model, data, X_test)


def plain(data, X, y, X_test, epsilon, delta):
    """Gradient descent in the coordinates of the features."""
    return solved(data, X, y, X_test, epsilon, delta, solver="gd", precondition=None)


def one_step(data, X, y, X_test, epsilon, delta):
    """A pilot and one Newton step, for intervals."""
    return solved(data, X, y, X_test, epsilon, delta, solver="one_step")


def balanced(data, X, y, X_test, epsilon, delta):
    """This package with classes weighted by their noisy counts, for rare classes."""
    model = private(data, epsilon, delta, class_weight="balanced")
    return answered(model.fit(X, y), data, X_test)


def adassp(data, X, y, X_test, epsilon, delta):
    """Noisy sufficient statistics, for regression."""
    if not data.is_regression:
        return None
    model = private(data, epsilon, delta, solver="adassp")
    return answered(model.fit(X, y), data, X_test)


def objective_perturbation(data, X, y, X_test, epsilon, delta):
    """A random slope in the objective, for two classes. How many passes it takes is not told."""
    if data.is_regression or len(data.classes) > 2:
        return None
    model = private(data, epsilon, delta, solver="objective_perturbation")
    return Answer(predictions(model.fit(X, y), data, X_test))


def output(data, X, y, X_test, epsilon, delta):
    """Noise on the exact minimiser of a ridge-penalised risk."""
    if data.data_norm is None:
        return None
    rng = np.random.default_rng()
    if data.is_regression:
        low, high = data.target_bounds
        unit, centre = (high - low) / 2, (high + low) / 2
        inside = np.clip((y - centre) / unit, -1, 1)
        w = output_perturbation.fit(X, inside, "regression", 1, epsilon, delta, data.data_norm, rng)
        return Answer(centre + unit * output_perturbation.scores(X_test, w, data.data_norm))
    k = len(data.classes)
    kind = "binary" if k == 2 else "softmax"
    w = output_perturbation.fit(X, y, kind, k, epsilon, delta, data.data_norm, rng)
    scores = output_perturbation.scores(X_test, w, data.data_norm)
    return Answer(two_columns(scores) if k == 2 else log_softmax(scores, axis=1))


METHODS = {
    "skdp": defaults,
    "scaled": scaled,
    "balanced": balanced,
    "exact": exact,
    "frequencies": frequencies,
    "floor": floor,
    "plain": plain,
    "one_step": one_step,
    "adassp": adassp,
    "objective_perturbation": objective_perturbation,
    "output_perturbation": output,
}
AT_ONCE = {"diffprivlib": peers.diffprivlib}
NAMES = (*METHODS, *AT_ONCE)
# What a user of this package might take in place of the defaults.
OWN = ("plain", "one_step", "adassp", "objective_perturbation")
# Of which one answer does for all epsilons.
WITHOUT_PRIVACY = ("exact", "frequencies")


def run(method, data, X, y, X_test, epsilons, delta):
    """Answers of a method for each epsilon, with None where it does not apply.

    Seconds are of processor time, which depends little on what else is running.
    """
    if method in AT_ONCE:
        found = AT_ONCE[method](data, X, y, X_test, epsilons)
        return [None if pair is None else Answer(pair[0], seconds=pair[1]) for pair in found]
    answers = []
    for epsilon in epsilons:
        start = time.process_time()
        answers.append(METHODS[method](data, X, y, X_test, epsilon, delta))
        if answers[-1] is not None:
            answers[-1].seconds = time.process_time() - start
    return answers
