"""What goes wrong without an error is said: a weaker promise, or a model that learned little."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

import skdp
from skdp import DPLogisticRegression, PrivacyBudget, PrivacyLeakWarning
from skdp.preprocessing import DPStandardScaler

N = 3000
X = np.random.default_rng(0).normal(size=(N, 3))
Y = (X[:, 0] > 0).astype(int)
TOLD = "standardscaler learns means and variances.*use skdp.preprocessing.DPStandardScaler"


def logistic(**options):
    return DPLogisticRegression(**{"epsilon": 4.0, "classes": [0, 1], "data_norm": 4.0, **options})


def test_steps_that_learn_for_free_are_told_when_the_model_is_fitted():
    with pytest.warns(PrivacyLeakWarning, match=TOLD):
        make_pipeline(StandardScaler(), logistic()).fit(X, Y)
    with pytest.warns(PrivacyLeakWarning, match="pipeline__minmaxscaler learns"):
        make_pipeline(make_pipeline(MinMaxScaler()), logistic(data_norm=1.5)).fit(X, Y)
    with pytest.warns(PrivacyLeakWarning, match=TOLD):
        cross_val_score(make_pipeline(StandardScaler(), logistic()), X, Y, cv=2)


def test_steps_that_learn_nothing_or_pay_for_it_are_not():
    scaler = DPStandardScaler(epsilon=1.0, bounds=(-4, 4))
    make_pipeline(Normalizer(), scaler, logistic(data_norm=1.0)).fit(X, Y)
    # Not in a pipeline that fits the model.
    logistic().fit(StandardScaler().fit_transform(X), Y)


def test_a_budget_that_was_not_opened_is_told():
    budget = PrivacyBudget(epsilon=8.0, delta=1e-4)
    with pytest.warns(PrivacyLeakWarning, match="not open, so that DPLogisticRegression does not"):
        logistic().fit(X, Y)
    with budget:
        logistic().fit(X, Y)
    logistic().fit(X, Y)


def test_fractions_of_a_budget_add_up_to_one():
    with pytest.raises(ValueError, match=r"shares that add up to 1\.7"):
        skdp.split_budget({"scaler": 0.8, "model": 0.9}, epsilon=1.0, delta=1e-6)
    thirds = skdp.split_budget({"a": 0.33, "b": 0.33, "c": 0.33}, epsilon=1.0, delta=1e-6)
    weights = skdp.split_budget({"a": 1, "b": 1, "c": 1}, epsilon=1.0, delta=1e-6)
    assert thirds == pytest.approx(weights)


def test_weights_far_below_their_bound_are_told():
    for weight in (1 / N, 1e-9):
        with pytest.warns(UserWarning, match="less than 5% of what max_weight=1 allows"):
            logistic().fit(X, Y, sample_weight=np.full(N, weight))
    logistic(max_weight=1 / N).fit(X, Y, sample_weight=np.full(N, 1 / N))
    logistic().fit(X, Y, sample_weight=np.full(N, 0.5))


def test_an_evaluation_on_the_rows_of_the_fit_is_told():
    scored = {"epsilon": 4.0, "metrics": ["accuracy"], "public_model": True}
    for model in (logistic(), make_pipeline(Normalizer(), logistic())):
        model.fit(X[:2000], Y[:2000])
        skdp.evaluate(model, X[2000:], Y[2000:], **scored)
        # Nothing is compared: a copy is taken for other rows.
        skdp.evaluate(model, X[:2000], Y[:2000].copy(), **scored)
        with pytest.warns(UserWarning, match="rows that the model was fitted to"):
            skdp.evaluate(model, X[1500:], Y[1500:], **scored)


def test_predictions_before_the_first_block_are_told():
    model = logistic(epsilon=0.5).partial_fit(X[:10], Y[:10])
    with pytest.warns(UserWarning, match="nothing yet from the 10 rows of its stream"):
        model.predict(X)
    # Running sums learn from each call.
    logistic(solver="ftrl", horizon=N).partial_fit(X[:10], Y[:10]).predict(X)


@pytest.mark.parametrize("kind", [DPLogisticRegression, skdp.DPSVMClassifier])
def test_a_norm_far_too_wide_is_told_and_bounds_of_columns_may_be(kind):
    rows = np.random.default_rng(1).normal(size=(20_000, 3))
    labels = (rows[:, 0] > 0).astype(int)
    with pytest.warns(UserWarning, match="of what data_norm allows, and noise"):
        kind(classes=[0, 1], data_norm=1e4).fit(rows, labels)
    for given in ({"data_norm": 3.0}, {"data_bounds": (-4, 4)}, {"data_bounds": (-1e4, 1e4)}, {}):
        assert kind(classes=[0, 1], **given).fit(rows, labels).score(rows, labels) > 0.98
