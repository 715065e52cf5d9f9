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
# A row that cannot occur by chance, and a seed whose bytes cannot either.
MARKER = np.array([0.1234567890123, -0.9876543210987, 0.5647382910564])
SEED = 1_234_567_891


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X[5] = MARKER
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
def test_clone_keeps_parameters_and_nothing_else(model):
    X, y = make_data()
    fitted = clone(model).fit(X, y)
    other = clone(fitted)
    assert str(other.get_params()) == str(fitted.get_params())
    assert not [name for name in vars(other) if name.endswith("_")]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@every_model
def test_pickle_holds_no_row_no_generator_and_no_seed(model, protocol, order):
    X, y = make_data()
    fitted = clone(model).fit(np.asarray(X, order=order), y)
    fitted.predict(X)
    state = pickle.dumps(fitted, protocol=protocol)
    for value in MARKER:
        assert np.float64(value).tobytes() not in state
        assert repr(float(value)).encode() not in state
    assert y.tobytes() not in state
    for word in (b"PCG64", b"MT19937", b"Generator", b"Noise", b"Oracle", b"Rows"):
        assert word not in state
    assert SEED.to_bytes(4, "little") not in state
    assert str(SEED).encode() not in state


def test_search_for_a_marker_finds_one_that_is_there():
    X, y = make_data()
    fitted = clone(MODELS[0]).fit(X, y)
    fitted.kept = X
    state = pickle.dumps(fitted)
    assert np.float64(MARKER[0]).tobytes() in state
    assert SEED.to_bytes(4, "little") in pickle.dumps(clone(MODELS[0]))


def arrays_within(value):
    """All arrays that can be reached through containers and attributes."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        return arrays_within(list(value.values()))
    if isinstance(value, list | tuple | set):
        return [array for item in value for array in arrays_within(item)]
    return arrays_within(vars(value)) if hasattr(value, "__dict__") else []


@every_model
def test_no_attribute_has_as_many_entries_as_there_are_rows(model):
    X, y = make_data()
    fitted = clone(model).fit(X, y)
    found = arrays_within(vars(fitted)) + arrays_within(fitted.get_params())
    assert found
    assert all(N not in array.shape for array in found)
    # Room for the longest repr of parameters, not for that of rows.
    assert "array" not in repr(fitted)
    assert str(MARKER[0])[:6] not in repr(fitted)
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
