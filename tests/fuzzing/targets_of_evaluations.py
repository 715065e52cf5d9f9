"""Fuzzing of private evaluations: any rows and parameters, and models that say anything."""

from math import isnan

import numpy as np
from fuzzing.inputs import BOUNDS, DELTA, EPSILON, ROWS, matrices, parameters, targets, weights
from fuzzing.properties import attempt, check_amount, require
from hypothesis import strategies as st
from interruptions import noted_ledgers
from models_that_misbehave import Fixed
from sklearn.linear_model import LinearRegression, LogisticRegression

import skdp

_X = np.random.default_rng(0).normal(size=(50, 3))
_FITTED = [LogisticRegression().fit(_X, _X[:, 0] > 0), LinearRegression().fit(_X, _X[:, 0])]
_TABLE = {
    "epsilon": EPSILON,
    "delta": DELTA,
    "metrics": [None, ["accuracy"], ["r2", "mean_squared_error"], "roc_auc", ["log_loss"], "ndcg"],
    "classes": [None, [0, 1], ["a", "b"], [False, True], [0, 1, 2], [-1, 1]],
    "target_bounds": BOUNDS,
    "residual_bound": [None, 1.0, 1e-150, 1e150, 1e300],
    "bins": [20, 2, 1000, [0.5], [1e-300, 1e-5], [0.5, 0.4]],
    "least_probability": [0.01, 0.5, 1e-12],
    "confidence": [0.95, 0.5, 0.9999],
    "pointwise": [None, True],
    "adjacency": ["replace_one", "zero_out"],
    "random_state": [None, 0],
    "group_values": [None, [0, 1], ["a", "b"], [0]],
}


class _Anything:
    """Says what it was told to, whatever the rows are."""

    classes_ = np.array([0, 1])

    def __init__(self, said):
        self.said = said

    def predict(self, X):
        return self.said

    def predict_proba(self, X):
        return self.said


_SAID = [np.nan, None, "x", np.ones(3), np.ones((256, 2)), np.full(256, np.inf), object()]
_MODELS = [*_FITTED, *_FITTED, *[Fixed()] * 8, *map(_Anything, _SAID)]


@st.composite
def evaluation_cases(draw):
    """A model, rows and targets, and parameters."""
    n = draw(ROWS)
    model, X = draw(st.sampled_from(_MODELS)), draw(matrices(n))
    y = draw(targets(n, "real" if isinstance(model, LinearRegression) else "two"))
    rarely = 0.02 if draw(st.booleans()) else -1.0
    given = {"epsilon": 10.0, "target_bounds": (-1, 1)} | draw(parameters(_TABLE, rarely))
    if draw(st.integers(0, 5)) == 0:
        given["groups"] = draw(st.one_of(targets(n, "two"), weights(n)))
    return model, X, y, given


def check_evaluation(case):
    """Refused before it is paid for, or a result that is paid for."""
    model, X, y, given = case
    with noted_ledgers() as ledgers:
        out, failure = attempt(skdp.evaluate, model, X, y, **given)
    if failure is not None:
        require(not ledgers, f"charged and refused: {failure!r}")
        return
    for one in ledgers:
        require(out.privacy_spent_.epsilon >= one.spent().epsilon, "reports less than was charged")
    require(out.privacy_spent_.epsilon <= float(given["epsilon"]), "above the budget")
    total, refusal = attempt(skdp.privacy_spent, out)
    require(refusal is None, f"no total: {refusal!r}")
    check_amount(total.epsilon, "total epsilon")
    require(len(out.summary()) > 0, "says nothing")
    for scores in (out.scores, *out.by_group.values()):
        for name, (value, low, high) in scores.items():
            ordered = low <= value <= high or isnan(low)
            require(ordered, f"{name} is {value} in [{low}, {high}]")
