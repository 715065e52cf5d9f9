"""Private models inside of scikit-learn's own estimators, and what each of them costs."""

import numpy as np
import pytest
from examples_of_estimators import (
    BINARY,
    CLASSIFIERS,
    MODELS,
    REAL,
    REGRESSORS,
    SEVERAL,
    D,
    N,
    X,
    lasso,
    linear,
    logistic,
    machine,
    target_of,
)
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from skdp.problem.losses import Huber
from skdp.solvers import GD

every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
every_classifier = pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS)
every_regressor = pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS)


def spent(models):
    """What each of some fits has spent; all of them add up."""
    return [round(model.privacy_spent_.epsilon, 6) for model in models]


@every_classifier
@pytest.mark.parametrize("way", [OneVsRestClassifier, OneVsOneClassifier])
def test_one_model_for_each_class_or_pair_spends_once_for_each(make, way):
    model = way(make()).fit(X, SEVERAL)
    assert spent(model.estimators_) == [50.0] * 3
    assert model.score(X, SEVERAL) > 0.7


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_machine_gets_probabilities_from_calibration(method):
    model = CalibratedClassifierCV(machine(), method=method, cv=3).fit(X, BINARY)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X, BINARY) > 0.8
    assert spent(c.estimator for c in model.calibrated_classifiers_) == [50.0] * 3


def test_votes():
    models = [("a", logistic()), ("b", machine())]
    assert VotingClassifier(models).fit(X, BINARY).score(X, BINARY) > 0.8
    soft = VotingClassifier([("a", logistic()), ("b", logistic(C=0.1))], voting="soft")
    assert soft.fit(X, BINARY).predict_proba(X).shape == (N, 2)
    numbers = VotingRegressor([("a", linear()), ("b", lasso())])
    assert numbers.fit(X, REAL).score(X, REAL) > 0.5


def test_stacks():
    final = logistic(data_norm=1.5)
    model = StackingClassifier([("a", logistic()), ("b", machine())], final, cv=2)
    assert model.fit(X, BINARY).score(X, BINARY) > 0.8
    numbers = StackingRegressor([("a", linear()), ("b", lasso())], linear(data_norm=5.0), cv=2)
    assert numbers.fit(X, REAL).score(X, REAL) > 0.3


@pytest.mark.parametrize(
    ("way", "make"), [(BaggingClassifier, logistic), (BaggingRegressor, linear)]
)
def test_bags_seed_what_they_fit_and_are_told_that_this_is_not_private(way, make):
    y = target_of(make)
    # Each draw is another seed, so that no two of them have the same noise.
    with pytest.warns(UserWarning, match="random_state is set: the noise can be recomputed"):
        model = way(make(), n_estimators=3, bootstrap=False).fit(X, y)
    assert model.score(X, y) > 0.5
    assert len({m.coef_.tobytes() for m in model.estimators_}) == 3


@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
def test_boosting_reweights_rows():
    # Its weights sum to 1; beside the default bound on weights, also 1, they would vanish.
    boosted = AdaBoostClassifier(logistic(max_weight=2 / N), n_estimators=2, random_state=0)
    assert boosted.fit(X, BINARY).score(X, BINARY) > 0.8


@pytest.mark.parametrize(
    ("way", "make"), [(MultiOutputClassifier, logistic), (MultiOutputRegressor, linear)]
)
def test_several_targets_are_several_fits(way, make):
    y = target_of(make)
    model = way(make()).fit(X, np.column_stack([y, y[::-1]]))
    assert spent(model.estimators_) == [50.0] * 2
    assert model.predict(X).shape == (N, 2)


def test_features_are_selected_by_their_coefficients():
    assert SelectFromModel(linear(), max_features=2).fit(X, REAL).get_support().sum() == 2
    assert RFE(logistic(), n_features_to_select=2).fit(X, BINARY).get_support()[0]
    sparse = SelectFromModel(lasso().fit(X, REAL), prefit=True, max_features=1)
    assert sparse.get_support().tolist() == [False, True, False, False]


def test_targets_are_transformed_by_what_is_known():
    half = FunctionTransformer(np.negative, np.negative)
    model = TransformedTargetRegressor(linear(target_bounds=(-4.0, 2.0)), transformer=half)
    assert model.fit(X, REAL).score(X, REAL) > 0.5


@pytest.mark.nightly
def test_thresholds_and_learning_curves():
    model = TunedThresholdClassifierCV(logistic(), cv=2).fit(X, BINARY)
    assert model.score(X, BINARY) > 0.8
    sizes, train, test = learning_curve(logistic(), X, BINARY, cv=2, train_sizes=[0.5, 1.0])
    assert train.shape == test.shape == (len(sizes), 2)


@every_model
def test_cross_validation_fits_clones(make):
    y = target_of(make)
    model = make()
    assert cross_val_score(model, X, y, cv=3, error_score="raise").mean() > 0.4
    assert cross_val_predict(model, X, y, cv=2).shape == (N,)
    assert not hasattr(model, "coef_")


GRIDS = [
    (logistic, {"C": [0.1, 1.0], "l1_ratio": [0.0, 0.5]}),
    (logistic, {"solver": ["gd", "ppm"], "class_weight": [None, {1: 2.0}]}),
    (machine, {"loss": ["hinge", "squared_hinge"], "penalty": ["l1", "l2"]}),
    (linear, {"alpha": [0.0, 1.0], "positive": [True, False], "loss": ["huber", Huber(0.5)]}),
    (lasso, {"alpha": [0.0, 0.1], "positive": [True, False], "solver__steps": [5, 10]}),
    (linear, {"precondition": [None, "full"], "solver": [GD(steps=3), GD(steps=4)]}),
]


@pytest.mark.nightly
@pytest.mark.parametrize(("make", "grid"), GRIDS)
def test_searches_reach_every_parameter(make, grid):
    y = target_of(make)
    search = GridSearchCV(make(), grid, cv=2, error_score="raise").fit(X, y)
    assert all(search.best_estimator_.get_params()[name] in grid[name] for name in grid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_searches_at_random_reach_parameters_of_the_solver():
    grid = {"solver__steps": range(2, 9), "alpha": [0.0, 0.1]}
    search = RandomizedSearchCV(lasso(), grid, n_iter=3, cv=2, random_state=0, error_score="raise")
    search.fit(X, REAL)
    assert search.best_estimator_.n_iter_ == search.best_params_["solver__steps"]
    assert search.predict(X).shape == (N,)


def test_pipelines_pass_parameters_and_attributes_on():
    pipeline = Pipeline([("scale", Normalizer()), ("model", logistic())])
    search = GridSearchCV(pipeline, {"model__C": [0.1, 1.0]}, cv=2).fit(X, BINARY)
    best = search.best_estimator_
    assert best.n_features_in_ == D
    np.testing.assert_array_equal(best.classes_, [0, 1])
    assert best["model"].privacy_spent_.epsilon == pytest.approx(50.0)
    named = make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), logistic())
    assert named.fit(X, BINARY)[:-1].get_feature_names_out().shape == (D,)


@every_model
def test_clones_are_unfitted_and_equal(make):
    model = make(warm_start=True, verbose=0).fit(X, target_of(make))
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert not [name for name in vars(other) if name.endswith("_") or name == "_progress"]
