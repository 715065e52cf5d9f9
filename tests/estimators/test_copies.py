"""What travels with a model: predictions, never rows, noise or the seed of the noise."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from skdp import DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.problem.constraints import L2Ball
from skdp.solvers import GD

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 64, 3
SEED = 1_234_567_891


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, (X[:, 0] > 0).astype(int)


def through_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


MODELS = [
    DPLogisticRegression(data_norm=3.0, classes=[0, 1], random_state=SEED),
    DPLogisticRegression(
        epsilon=30.0, classes=[0, 1], random_state=SEED, solver=GD(steps=5), constraint=L2Ball(1.0)
    ),
    DPLinearRegression(data_norm=3.0, target_bounds=(0, 1), random_state=SEED),
    DPLinearRegression(epsilon=30.0, random_state=SEED),
    DPSVMClassifier(data_norm=3.0, classes=[0, 1, 2], random_state=SEED),
]
WAYS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "oldest pickle": lambda model: pickle.loads(pickle.dumps(model, protocol=0)),
    "joblib": through_joblib,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}
every_model = pytest.mark.parametrize("model", MODELS, ids=str)
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@every_way
@every_model
def test_predictions_and_receipt_survive_and_the_seed_stays_behind(model, way):
    X, y = make_data()
    fitted = clone(model).fit(X, y)
    other = way(fitted)
    assert other.random_state is None
    assert fitted.random_state == SEED
    np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
    assert other.privacy_spent_ == fitted.privacy_spent_
    assert other.privacy_ledger_ == fitted.privacy_ledger_
    assert other.solver == fitted.solver
    assert other.constraint == fitted.constraint


@every_way
@every_model
def test_unfitted_model_keeps_its_seed(model, way):
    assert way(clone(model)).random_state == SEED


@every_model
def test_a_fit_leaves_no_other_attributes_than_these(model):
    fitted = clone(model).fit(*make_data())
    assert set(vars(fitted)) - set(fitted.get_params(deep=False)) <= {
        "classes_",
        "coef_",
        "data_bounds_",
        "data_norm_",
        "delta_",
        "intercept_",
        "n_features_in_",
        "plan_",
        "n_iter_",
        "n_samples_seen_",
        "privacy_unit_",
        "_progress",
        "_read_classes",
        "_target_columns",
        "_target_names",
        "privacy_ledger_",
        "privacy_spent_",
        "target_bounds_",
        "unseen_columns_",
    }


@pytest.mark.parametrize("fitted", [False, True])
def test_generator_given_as_random_state_does_not_travel_with_a_fitted_model(fitted):
    X, y = make_data()
    for random_state in (np.random.default_rng(3), np.random.RandomState(3)):
        model = clone(MODELS[0]).set_params(random_state=random_state)
        if fitted:
            model.fit(X, y)
        other = pickle.loads(pickle.dumps(model))
        assert (other.random_state is None) == fitted
