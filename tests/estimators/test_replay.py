"""Everything a fitted model publishes is post-processing of paid answers.

A fit is recorded, then replayed with recorded answers on garbage of the same shape: whatever
differs afterwards was read off the rows. Planted bugs show that such a check sees them.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from published_attributes import assert_same, published

from skdp import (
    DPHazardRegressor,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSVMClassifier,
)
from skdp.estimators import Pilot
from skdp.privacy.rows import Chunks
from skdp.problem.constraints import L2Ball
from skdp.solvers import GD, defaults
from skdp.solvers.preconditioning import WideWhitening
from skdp.testing import record_fit, replay_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 200, 3


def binary_data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    return X, (X[:, 0] + rng.normal(size=N) > 0).astype(int)


def several_data(seed=0):
    X, y = binary_data(seed)
    return X, y + (X[:, 1] > 0)


def real_data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    return X, 3 * X[:, 0] + 5 + rng.normal(size=N)


def count_data(seed=0):
    X, y = real_data(seed)
    return X, np.abs(y)


def many_data(seed=0):
    """Enough of them for ranges to be found, errors to be told and means to be calibrated."""
    X, y = (np.tile(part.T, 20).T for part in real_data(seed))
    rng = np.random.default_rng(seed)
    return X + rng.normal(size=X.shape), y + rng.normal(size=len(y))


def many_labels(seed=0):
    X, y = many_data(seed)
    return X, (y > 5).astype(int)


def several_of_many(seed=0):
    X, y = many_data(seed)
    return X, np.digitize(y, [3.0, 7.0])


def rare_labels(seed=0):
    X, y = many_data(seed)
    return X, (y > np.quantile(y, 0.97)).astype(int)


def several_targets(seed=0):
    X, y = real_data(seed)
    return X, np.column_stack([y, -X[:, 0]])


def garbage(y):
    """Rows of another scale and targets within the classes, or of another scale."""
    rng = np.random.default_rng(99)
    X = 1e3 * rng.normal(size=(len(y), D))
    if np.issubdtype(y.dtype, np.integer):
        return X, np.full(len(y), y.max())
    return X, 1e6 * (rng.normal(size=y.shape) if y.min() < 0 else rng.uniform(size=y.shape))


def check_replay(model, X, y, other=None, weights=(None, None), **public):
    """Fit, replay on garbage, and compare every public attribute.

    ``weights`` are those of the rows and of the garbage. ``public`` are facts of the garbage that
    are public, differ, and are part of the plan.
    """
    transcript = record_fit(model, X, y, sample_weight=weights[0])
    first = published(model)
    first["plan_"] = replace(first["plan_"], **public)
    replay_fit(model, *(other or garbage(y)), transcript, sample_weight=weights[1])
    assert_same(first, model)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (DPLogisticRegression(classes=[0, 1], data_norm=3.0), binary_data),
        (DPLogisticRegression(classes=[0, 1], epsilon=20.0), binary_data),
        (DPLogisticRegression(classes=[0, 1, 2], data_norm=3.0, C=0.1), several_data),
        (DPLogisticRegression(classes=[0, 1, 2, 3], epsilon=20.0, l1_ratio=1.0), several_data),
        (
            DPLogisticRegression(
                classes=[0, 1, 2], epsilon=20.0, precondition=WideWhitening(most_coordinates=2)
            ),
            several_of_many,
        ),
        (
            DPLogisticRegression(
                classes=[0, 1], data_norm=1.0, class_weight={1: 3.0}, fit_intercept=False
            ),
            binary_data,
        ),
        (DPLogisticRegression(classes=[0, 1], epsilon=20.0, constraint=L2Ball(0.1)), binary_data),
        (DPLogisticRegression(classes=[0, 1], class_weight="balanced"), many_labels),
        (
            DPLogisticRegression(
                classes=[0, 1, 2], epsilon=20.0, class_weight="balanced", precondition="diagonal"
            ),
            several_data,
        ),
        (
            DPLogisticRegression(classes=[0, 1], data_norm=9.0, solver="objective_perturbation"),
            many_labels,
        ),
        (DPLogisticRegression(classes=[0, 1], epsilon=20.0, adjacency="zero_out"), binary_data),
        (DPLogisticRegression(classes=[0, 1]), many_labels),
        (DPLogisticRegression(classes=[0, 1], solver="one_step"), many_labels),
        (
            DPLogisticRegression(classes=[0, 1, 2], solver="one_step", epsilon=20.0),
            several_of_many,
        ),
        (DPLinearRegression(data_norm=3.0, target_bounds=(-5, 15)), real_data),
        (DPLinearRegression(data_norm=3.0, target_bounds=(-5, 15), epsilon=0.3), real_data),
        (DPLinearRegression(), many_data),
        (DPLinearRegression(solver="one_step", target_bounds=(-15, 25)), many_data),
        (DPLinearRegression(data_norm=3.0, target_bounds=(-5, 15)), several_targets),
        (DPLinearRegression(epsilon=20.0), several_targets),
        (DPLinearRegression(epsilon=20.0, solver="adassp"), several_targets),
        (DPLinearRegression(epsilon=20.0), real_data),
        (DPLinearRegression(epsilon=20.0, fit_intercept=False, loss="huber"), real_data),
        (DPLinearRegression(epsilon=20.0, alpha=3.0, solver=GD(steps=9)), real_data),
        (DPLinearRegression(data_norm=3.0, target_bounds=(-5, 15), delta=0), real_data),
        (DPLogisticRegression(classes=[0, 1], data_norm=3.0, delta=0), binary_data),
        (DPPoissonRegressor(epsilon=20.0), count_data),
        (DPPoissonRegressor(data_norm=3.0, target_bounds=(0, 15), alpha=0.1), count_data),
        (DPPoissonRegressor(epsilon=20.0, fit_intercept=False, solver="spider"), count_data),
        (DPQuantileRegressor(epsilon=20.0, quantile=[0.1, 0.5, 0.9]), real_data),
        (DPQuantileRegressor(data_norm=3.0, target_bounds=(-5, 15), alpha=0.1), real_data),
        (DPHazardRegressor(epsilon=20.0), real_data),
        (DPHazardRegressor(solver="one_step"), many_data),
        (DPHazardRegressor(epsilon=20.0, times=[1.0, 5.0, 9.0], solver="gd"), real_data),
        (DPLassoRegressor(feature_bound=1.0, target_bounds=(-5, 15)), real_data),
        (DPSVMClassifier(classes=[0, 1, 2], data_norm=3.0, delta=0), several_data),
        (DPSVMClassifier(classes=[0, 1], data_norm=3.0), binary_data),
        (DPSVMClassifier(classes=[0, 1], epsilon=20.0, loss="hinge", penalty="l1"), binary_data),
        (
            DPSVMClassifier(
                classes=[0, 1, 2], epsilon=20.0, loss="huberised_hinge", class_weight={1: 3.0}
            ),
            several_data,
        ),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_replay_on_garbage_publishes_the_same(model, data):
    check_replay(model.set_params(random_state=0), *data())


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (DPLogisticRegression(classes=[0, 1], data_norm=9.0), many_labels),
        (DPLogisticRegression(classes=[0, 1]), many_labels),
        # The rows to replay on are all of one class: what is rare was told by paid counts.
        (DPLogisticRegression(classes=[0, 1], data_norm=9.0), rare_labels),
        (DPLinearRegression(), many_data),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_replay_of_a_fit_that_starts_on_a_sample_publishes_the_same(model, data, monkeypatch):
    monkeypatch.setattr(defaults.Pilot, "LEAST_ENTRIES", 0)
    # Of so few rows a fifth is enough here.
    monkeypatch.setattr(defaults.Pilot, "EVIDENCE", 25.0)
    check_replay(model.set_params(epsilon=30.0, random_state=0), *data())
    assert model.plan_.stage(Pilot).n_samples < model.plan_.n_samples / 4
    asked = {event.purpose for event in model.privacy_ledger_}
    assert (Pilot.purpose in asked) == (data is not rare_labels)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (DPLogisticRegression(classes=[0, 1], data_norm=3.0), binary_data),
        (DPSVMClassifier(classes=[0, 1], data_norm=3.0), binary_data),
        (DPLinearRegression(data_norm=3.0, target_bounds=(-5, 15)), real_data),
        (DPLassoRegressor(feature_bound=1.0, target_bounds=(-5, 15)), real_data),
        (DPPoissonRegressor(epsilon=20.0), count_data),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_replay_with_weights_publishes_the_same(model, data):
    weights = np.random.default_rng(0).uniform(0, 3, N)
    model = model.set_params(random_state=0, max_weight=2.0)
    check_replay(model, *data(), weights=(weights, np.zeros(N)))


@pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearRegression])
def test_budget_too_small_to_find_bounds_is_handled_by_public_facts(model):
    data = binary_data if model is DPLogisticRegression else real_data
    options = {"classes": [0, 1]} if model is DPLogisticRegression else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_replay(model(epsilon=1e-4, random_state=0, **options), *data())
    # Before each of the fits, and of targets after.
    ranges = [w for w in caught if "most will not be found" in str(w.message)]
    targets = [w for w in caught if "set aside" in str(w.message)]
    assert len(ranges) == 2
    assert len(targets) == (0 if model is DPLogisticRegression else 2)


def test_layout_of_the_garbage_does_not_matter():
    X, y = binary_data()
    X_other, y_other = garbage(y)
    # Whether rows are sparse is public, and decides how they are conditioned.
    model = DPLogisticRegression(classes=[0, 1], data_norm=3.0, random_state=0, precondition=None)
    check_replay(model, X, y, (sp.csr_array(X_other), y_other), sparse=True)
    check_replay(model, X, y, (np.asfortranarray(X_other), y_other))
    check_replay(
        model, X, y, (Chunks([(X_other[:7], y_other[:7]), (X_other[7:], y_other[7:])]), None)
    )


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_classes_read_off_the_labels_are_caught():
    # This leak is real: it is what classes=None does, with a warning.
    model = DPLogisticRegression(data_norm=3.0, random_state=0)
    X, y = binary_data()
    other = garbage(y)[0], np.arange(N) % 2 + 1
    with pytest.raises(AssertionError, match="classes_"):
        check_replay(model, X, y, other)
