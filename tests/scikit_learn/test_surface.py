"""What scikit-learn's linear models have and ours have not, each with the reason.

Attributes, methods, parameters and arguments are read off scikit-learn's classes, so that what a
later version adds is noticed here.
"""

import inspect

import numpy as np
import pytest
from examples_of_estimators import MODELS, SEVERAL, X, linear, logistic, machine, target_of
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.svm import LinearSVC

PAIRS = [
    ("logistic", LogisticRegression),
    ("logistic", SGDClassifier),
    ("machine", LinearSVC),
    ("machine", SGDClassifier),
    ("linear", LinearRegression),
    ("linear", Ridge),
    ("linear", SGDRegressor),
    ("lasso", Lasso),
    ("lasso", SGDRegressor),
]
STEPS = "which steps are taken has to be public; hyperparameters of a solver, as in GD(steps=50)"
# Why attributes and methods are missing.
ATTRIBUTES = {
    "rank_": "the rank of the rows is a function of them that nobody has paid for",
    "singular_": "singular values of the rows are not paid for",
    "dual_gap_": "the duality gap is computed from the rows exactly",
    "path": "a path is many fits; each would need a budget",
    "l1_ratio": "a class attribute left over from ElasticNet",
    "C": "a class attribute left over from the classifiers",
    "solver_": "solver='auto' is told by privacy_ledger_",
    "t_": "the number of weight updates; n_samples_seen_ and n_iter_ say as much",
    "loss_functions": "a table of the implementation",
}
# Why parameters are missing.
PARAMETERS = {
    "tol": "when to stop would depend on the rows; the number of steps is public",
    "max_iter": STEPS,
    "n_iter_no_change": STEPS,
    "early_stopping": "stopping by a score on held-out rows would have to be paid for",
    "validation_fraction": "as early_stopping",
    "learning_rate": STEPS,
    "eta0": STEPS,
    "power_t": STEPS,
    "shuffle": "the order of rows is up to you; batches of a stream are as they come",
    "average": STEPS,
    "dual": "names an algorithm of scikit-learn's",
    "precompute": "names an algorithm of scikit-learn's",
    "selection": "names an algorithm of scikit-learn's",
    "copy_X": "rows are never written to",
    "n_jobs": "one fit runs in one thread",
    "penalty": "l1_ratio says which; deprecated by scikit-learn",
    "multi_class": "softmax for log-odds, one against the rest for margins",
}
# Parameters that mean the same under another name.
ELSEWHERE = {
    ("logistic", SGDClassifier): {"alpha": "C", "loss": "the class DPLogisticRegression"},
    ("machine", SGDClassifier): {"alpha": "C", "l1_ratio": "penalty='l1' or 'l2'"},
    ("linear", SGDRegressor): {"l1_ratio": "DPLassoRegressor", "penalty": "DPLassoRegressor"},
    ("lasso", SGDRegressor): {
        "l1_ratio": "DPLinearRegression for ridge",
        "penalty": "DPLinearRegression for ridge",
        "loss": "DPLinearRegression(loss='huber')",
    },
}
ARGUMENTS = {
    "coef_init": "set coef_, with warm_start=True",
    "intercept_init": "set intercept_, with warm_start=True",
    "check_input": "what is not checked cannot be bounded",
}


def public(model):
    names = set(vars(model)) | set(dir(type(model)))
    return {name for name in names if not name.startswith("_") and hasattr(model, name)}


def fitted(kind, theirs):
    make = MODELS[kind]
    y = target_of(make)
    return make().fit(X, y), theirs().fit(X, y)


every_pair = pytest.mark.parametrize(("kind", "theirs"), PAIRS)


@every_pair
def test_every_public_attribute_and_method_is_there_or_has_a_reason_not_to_be(kind, theirs):
    ours, other = fitted(kind, theirs)
    lacking = public(other) - public(ours) - set(other.get_params())
    assert lacking <= set(ATTRIBUTES)


@every_pair
def test_every_parameter_is_there_or_has_a_reason_not_to_be(kind, theirs):
    ours, other = MODELS[kind](), theirs()
    lacking = set(other.get_params()) - set(ours.get_params())
    assert lacking <= set(PARAMETERS) | set(ELSEWHERE.get((kind, theirs), ()))


@every_pair
@pytest.mark.parametrize("method", ["fit", "partial_fit", "score", "predict"])
def test_methods_take_the_arguments_in_the_same_order(kind, theirs, method):
    if not hasattr(theirs, method):
        pytest.skip("scikit-learn's has no such method")
    expected = [
        name
        for name in inspect.signature(getattr(theirs, method)).parameters
        if name not in ARGUMENTS
    ]
    ours = list(inspect.signature(getattr(MODELS[kind](), method)).parameters)
    assert ours[: len(expected) - 1] == expected[1:]


def test_no_reason_has_become_idle():
    lacking_attributes, lacking_parameters = set(), set()
    for kind, theirs in PAIRS:
        ours, other = fitted(kind, theirs)
        lacking_attributes |= public(other) - public(ours)
        lacking_parameters |= set(other.get_params()) - set(ours.get_params())
    old = {"C", "multi_class", "penalty"}  # Of versions before 1.9.
    assert set(ATTRIBUTES) <= lacking_attributes | old
    assert set(PARAMETERS) <= lacking_parameters | old


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_pair
def test_what_is_published_and_predicted_has_the_shapes_and_types_of_scikit_learn(
    kind, theirs, dtype
):
    make, rows = MODELS[kind], X.astype(dtype)
    targets = [target_of(make).astype(dtype if make in (linear, MODELS["lasso"]) else int)]
    if make in (logistic, machine):
        targets.append(SEVERAL)
    for y in targets:
        options = {"classes": np.unique(y)} if make in (logistic, machine) else {}
        ours, other = make(**options).fit(rows, y), theirs().fit(rows, y)
        for name in ("coef_", "intercept_", "classes_"):
            if not hasattr(other, name):
                continue
            a, b = np.asarray(getattr(ours, name)), np.asarray(getattr(other, name))
            # SGDRegressor has an intercept of shape (1,), unlike all other regressors.
            assert a.shape == b.shape or (name, theirs) == ("intercept_", SGDRegressor)
            if name == "coef_":
                # SGD's are of the type of the rows; some others go over to double precision.
                assert a.dtype == dtype
        for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
            if hasattr(ours, method) and hasattr(other, method):
                a, b = getattr(ours, method)(rows), getattr(other, method)(rows)
                assert a.shape == b.shape
                assert a.dtype == b.dtype or b.dtype == np.float64
        assert ours.n_features_in_ == other.n_features_in_
        assert isinstance(ours.score(rows, y), float)


def test_probabilities_are_those_of_the_loss_alone():
    assert not hasattr(machine().fit(X, target_of(machine)), "predict_proba")
    assert hasattr(logistic(), "predict_proba")


def test_positive_is_the_constraint():
    y = target_of(linear)
    model = linear(positive=True, epsilon=1e4).fit(X, y)
    assert model.coef_.min() >= 0
    assert model.coef_[0] > 0.5
    from skdp.problem.constraints import L2Ball

    with pytest.raises(ValueError, match="needs constraint=None with positive=True"):
        linear(positive=True, constraint=L2Ball(1.0)).fit(X, y)
