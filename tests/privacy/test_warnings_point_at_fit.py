"""Warnings name the line of the user's that called, which is where they can be acted on."""

import warnings

import numpy as np
import pytest

from skdp import DPLinearRegression, DPLogisticRegression, evaluate

X = np.ones((30, 2))
Y = np.arange(30) % 2


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (DPLogisticRegression(data_norm=2.0, classes=[0, 1], random_state=0), "random_state"),
        (DPLogisticRegression(classes=[0, 1]), "DPLogisticRegression can learn"),
        (DPLinearRegression(data_norm=2.0), "The share of the budget"),
        (DPLinearRegression(target_bounds=(0, 1)), "DPLinearRegression can learn"),
        (DPLinearRegression(), "The share of the budget"),
    ],
)
def test_a_warning_points_at_the_caller_of_fit(model, start):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    found = [w for w in caught if str(w.message).startswith(start)]
    assert found
    assert {w.filename for w in found} == {__file__}


def test_a_warning_points_at_the_caller_of_predict_and_of_evaluate():
    model = DPLogisticRegression(data_norm=2.0, classes=[0, 1], horizon=10_000)
    model.partial_fit(X, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(X)
        evaluate(model.fit(X, Y), X, Y, epsilon=50.0, metrics=["accuracy"])
    starts = {str(w.message).partition(" has ")[0].partition(" was ")[0] for w in caught}
    assert {"DPLogisticRegression", "evaluate"} <= starts
    assert {w.filename for w in caught} == {__file__}
