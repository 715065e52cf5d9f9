"""What a fit publishes next to the coefficients: bounds and names of features."""

import numpy as np
import pandas as pd
import pytest

from skdp import DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.privacy.rows import Chunks
from skdp.solvers import GD

N, D = 400, 3


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, (X[:, 0] > 0).astype(int)


X, Y = make_data()
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def classifier(**options):
    return DPLogisticRegression(**{"data_norm": 3, "classes": [0, 1]} | options)


def regressor(**options):
    return DPLinearRegression(**{"data_norm": 3, "target_bounds": (0, 1)} | options)


def machine(**options):
    return DPSVMClassifier(**{"data_norm": 3, "classes": [0, 1], "precondition": None} | options)


both = pytest.mark.parametrize("make", [classifier, machine, regressor])


@both
def test_given_bounds_are_published_as_floats(make):
    model = make().fit(X, Y)
    assert (type(model.data_norm_), model.data_norm_) == (float, 3.0)
    if make is regressor:
        assert model.target_bounds_ == (0.0, 1.0)
        assert all(type(bound) is float for bound in model.target_bounds_)


@both
def test_found_bounds_are_published_and_give_the_receipt_of_a_fit_to_which_they_are_told(make):
    # The clip is set, because the default one depends on what is left of the budget.
    # In other coordinates it is in units of what has been released about them.
    options = {"epsilon": 50.0, "solver": GD(steps=5, clip=1.0), "precondition": None}
    found = make(data_norm=None, **options).fit(X, Y)
    assert type(found.data_norm_) is float
    told = make(data_norm=found.data_norm_, **options).fit(X, Y)
    assert found.privacy_ledger_[-1].sensitivity == told.privacy_ledger_[-1].sensitivity


def test_found_target_bounds_are_published():
    y = 5.0 + np.arange(N) % 3
    low, high = regressor(epsilon=1e4, target_bounds=None).fit(X, y).target_bounds_
    assert low <= 5.5
    assert high >= 6.5
    assert 1 <= high - low <= 8


@both
def test_names_of_an_earlier_fit_do_not_outlive_a_fit_from_chunks(make):
    model = make().fit(FRAME, Y)
    model.fit(Chunks([(X, Y)]))
    assert not hasattr(model, "feature_names_in_")
    model.predict(X)


@both
@pytest.mark.by_day(1)
def test_names_of_chunks_are_those_of_the_model(make):
    model = make().fit(Chunks([(FRAME[:150], Y[:150]), (FRAME[150:], Y[150:])]))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(FRAME[["b", "a", "c"]])
