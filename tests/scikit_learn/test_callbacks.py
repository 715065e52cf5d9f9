"""Scikit-learn's callbacks: what they are told of a fit, and what they are not."""

import pickle

import numpy as np
import pytest
import sklearn
from examples_of_estimators import BINARY, MODELS, X, logistic, target_of
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.fixes import parse_version

from skdp.testing import record_fit, replay_fit

NEW = parse_version(sklearn.__version__) >= parse_version("1.9")
since_1_9 = pytest.mark.skipif(not NEW, reason="scikit-learn has callbacks since version 1.9")
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


class Listener:
    """Writes down all that a callback can hear."""

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append(("setup", context.task_name, {}))

    def teardown(self, estimator, context):
        self.heard.append(("teardown", context.task_name, {}))

    def on_fit_task_begin(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        told = {"X": X, "y": y, "metadata": metadata, "fitted": fitted_estimator}
        self.heard.append(("begin", context.task_name, told | {"of": dict(vars(estimator))}))

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        told = {"X": X, "y": y, "metadata": metadata, "fitted": fitted_estimator}
        self.heard.append(("end", context.task_name, told | {"of": dict(vars(estimator))}))
        return True  # A wish to stop, which is not heard.

    def sequence(self):
        return [(what, task) for what, task, _ in self.heard]


@since_1_9
@every_model
def test_a_fit_is_a_hundred_tasks_each_a_hundredth_of_the_budget(make):
    listener = Listener()
    model = make().set_callbacks(listener).fit(X, target_of(make))
    part = [("begin", "percent of the budget"), ("end", "percent of the budget")]
    expected = [("setup", "fit"), ("begin", "fit"), *part * 100, ("end", "fit")]
    assert listener.sequence() == [*expected, ("teardown", "fit")]
    assert model.privacy_spent_.epsilon == pytest.approx(50.0)
    assert not [name for name in vars(model) if "ctx" in name or "teardown" in name]


@since_1_9
@every_model
def test_callbacks_get_neither_rows_nor_targets_nor_models_in_between(make):
    listener = Listener()
    make().set_callbacks(listener).fit(X, target_of(make))
    for what, task, told in listener.heard:
        if what in ("begin", "end"):
            assert [told[name] for name in ("X", "y", "metadata", "fitted")] == [None] * 4
            if (what, task) != ("end", "fit"):
                assert "coef_" not in told["of"]
    last = next(told for what, task, told in reversed(listener.heard) if what == "end")
    assert {"coef_", "privacy_spent_", "privacy_ledger_"} <= set(last["of"])


@since_1_9
def test_they_are_torn_down_when_a_fit_fails_and_the_charge_stands(monkeypatch):
    class Failing(Listener):
        def on_fit_task_begin(self, estimator, context):
            super().on_fit_task_begin(estimator, context)
            if context.task_name != "fit":
                raise RuntimeError("no more")

    listener = Failing()
    model = logistic().set_callbacks(listener)
    with pytest.raises(RuntimeError, match="no more") as caught:
        model.fit(X, BINARY)
    assert "stopped after spending" in caught.value.__notes__[0]
    assert listener.sequence()[-1] == ("teardown", "fit")
    assert model.privacy_spent_.epsilon > 0
    assert not hasattr(model, "coef_")
    refused = Listener()
    with pytest.raises(ValueError, match="'C' parameter"):
        logistic(C=-1).set_callbacks(refused).fit(X, BINARY)
    assert not refused.heard


@since_1_9
@pytest.mark.filterwarnings("ignore:The pipeline publishes more")
def test_pipelines_and_searches_hand_theirs_down_without_a_warning():
    from sklearn.preprocessing import StandardScaler

    class Spreading(Listener):
        max_propagation_depth = None

    listener = Spreading()
    make_pipeline(StandardScaler(), logistic()).set_callbacks(listener).fit(X, BINARY)
    assert listener.sequence().count(("end", "percent of the budget")) == 100
    listener = Spreading()
    search = GridSearchCV(logistic(), {"C": [0.1, 1.0]}, cv=2, error_score="raise")
    search.set_callbacks(listener).fit(X, BINARY)
    assert listener.sequence().count(("end", "percent of the budget")) == 500


@since_1_9
def test_they_change_nothing_about_a_fit_and_travel_with_clones_and_pickles():
    plain, told = logistic(random_state=0), logistic(random_state=0).set_callbacks(Listener())
    with pytest.warns(UserWarning, match="random_state is set"):
        transcript = record_fit(plain, X, BINARY)
    with pytest.warns(UserWarning, match="random_state is set"):
        replay_fit(told, X[::-1], BINARY[::-1], transcript)
    np.testing.assert_array_equal(told.coef_, plain.coef_)
    assert told.privacy_ledger_ == plain.privacy_ledger_
    assert vars(clone(told))["_skl_callbacks"] == vars(told)["_skl_callbacks"]
    told.set_callbacks()
    pickle.loads(pickle.dumps(told)).predict(X)
