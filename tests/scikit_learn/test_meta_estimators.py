"""Private models inside of scikit-learn's own estimators, and what each of them costs."""

import numpy as np
import pytest
from examples_of_estimators import (
    BINARY,
    CLASSIFIERS,
    MODELS,
    REAL,
    SEVERAL,
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
from sklearn.feature_selection import RFE
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from skdp.problem.losses import Huber
from skdp.solvers import GD

every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
TWO = [("a", logistic()), ("b", machine())]
NUMBERS = [("a", linear()), ("b", lasso())]
NEGATIVE = FunctionTransformer(np.negative, np.negative)
PAIR = np.column_stack([BINARY, BINARY[::-1]])
WRAPPERS = [
    *((OneVsRestClassifier(make()), SEVERAL) for make in CLASSIFIERS.values()),
    (OneVsOneClassifier(logistic()), SEVERAL),
    (CalibratedClassifierCV(machine(), method="isotonic", cv=3), BINARY),
    (VotingClassifier(TWO), BINARY),
    (VotingClassifier([("a", logistic()), ("b", logistic(C=0.1))], voting="soft"), BINARY),
    (VotingRegressor(NUMBERS), REAL),
    (StackingClassifier(TWO, logistic(data_norm=1.5), cv=2), BINARY),
    (StackingRegressor(NUMBERS, linear(data_norm=5.0), cv=2), REAL),
    # Its weights sum to 1; beside the default bound on weights, also 1, they would vanish.
    (AdaBoostClassifier(logistic(max_weight=2 / N), n_estimators=2, random_state=0), BINARY),
    (MultiOutputClassifier(logistic()), PAIR),
    (MultiOutputRegressor(linear()), np.column_stack([REAL, REAL[::-1]])),
    (RFE(logistic(), n_features_to_select=2), BINARY),
    (TransformedTargetRegressor(linear(target_bounds=(-4.0, 2.0)), transformer=NEGATIVE), REAL),
    (TunedThresholdClassifierCV(logistic(), cv=2), BINARY),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
@pytest.mark.parametrize(("wrapper", "y"), WRAPPERS, ids=lambda part: type(part).__name__)
def test_a_wrapper_learns_and_each_model_in_it_has_a_receipt(wrapper, y):
    fitted = clone(wrapper).fit(X, y)
    assert fitted.predict(X).shape == y.shape
    assert y.ndim == 2 or fitted.score(X, y) > 0.3
    inner = [
        getattr(part, "estimator", part) for part in np.ravel(vars(fitted).get("estimators_", []))
    ]
    assert all(round(part.privacy_spent_.epsilon, 6) == 50.0 for part in inner)


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


@every_model
def test_cross_validation_fits_clones_that_are_unfitted_and_equal(make):
    y = target_of(make)
    model = make(warm_start=True, verbose=0)
    assert cross_val_score(model, X, y, cv=3, error_score="raise").mean() > 0.4
    assert not hasattr(model, "coef_")
    other = clone(model.fit(X, y))
    assert other.get_params() == model.get_params()
    assert not [name for name in vars(other) if name.endswith("_") or name == "_progress"]


@pytest.mark.parametrize(
    ("make", "grid"),
    [
        (logistic, {"solver": ["gd", "ppm"], "class_weight": [None, {1: 2.0}]}),
        (machine, {"loss": ["hinge", "squared_hinge"], "penalty": ["l1", "l2"]}),
        (linear, {"positive": [True, False], "loss": ["huber", Huber(0.5)]}),
        (lasso, {"alpha": [0.0, 0.1], "solver__steps": [5, 10]}),
        (linear, {"precondition": [None, "full"], "solver": [GD(steps=3), GD(steps=4)]}),
    ],
)
@pytest.mark.by_day(2)
def test_searches_reach_every_parameter(make, grid):
    pipeline = make_pipeline(Normalizer(), make())
    last = pipeline.steps[-1][0]
    grid = {f"{last}__{name}": values for name, values in grid.items()}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, target_of(make))
    assert all(search.best_estimator_.get_params()[name] in grid[name] for name in grid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[-1].privacy_spent_.epsilon == pytest.approx(50.0)
