"""What a search keeps to itself, failures and warnings of its runs, and what it charges."""

import sys
import traceback
import warnings

import numpy as np
import pytest
from private_toys import Toy
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skdp import BudgetWarning, DPLogisticRegression, PrivacyBudget
from skdp.exceptions import BudgetExceededError
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import RowNormClipper

N = 2000
rng = np.random.default_rng(1)
X = rng.normal(size=(N, 3)) / 3
Y = (X[:, 0] > 0).astype(int)


def logistic(**options):
    return DPLogisticRegression(**{"data_norm": 2.0, "classes": [0, 1]} | options)


def test_a_candidate_that_fails_loses_without_a_word(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space = {"fails": [True, False]}
        found = DPGridSearchCV(Toy(), space, exhaustive=True, epsilon=4.0).fit(X, Y)
    assert found.best_params_ == {"fails": False}
    assert capfd.readouterr() == ("", "")


def test_when_all_fail_the_error_names_no_candidate_and_no_cause():
    search = DPGridSearchCV(Toy(), {"fails": [True], "label": [0, 1]}, n_iter=3, epsilon=4.0)
    # Interruptions by a tracer, in other tests, may leave an exception in the interpreter for good.
    left = sys.exc_info()[1]
    with pytest.raises(RuntimeError, match="found no candidate that could be fitted") as caught:
        search.fit(X, Y)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is left
    said = "".join(traceback.format_exception(caught.value))
    assert "ArithmeticError" not in said
    assert "the label was" not in said
    # What was set aside is spent, and says so.
    assert search.privacy_spent_ == (4.0, 1e-5)
    assert not hasattr(search, "best_estimator_")


class Talkative(Toy):
    """Warns and prints with each fit."""

    def __init__(self, label=1, verbose=0, epsilon=1.0, delta=1e-5):
        super().__init__(epsilon=epsilon, delta=delta, label=label)
        self.verbose = verbose

    def fit(self, X, y):
        warnings.warn(f"fitting {self.label}", UserWarning, stacklevel=1)
        if self.verbose:
            print(f"fitting {self.label}")  # noqa: T201
        return super().fit(X, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_warnings_and_messages_of_runs_stay_inside(n_jobs, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space = {"label": [0, 1]}
        search = DPGridSearchCV(Talkative(verbose=1), space, exhaustive=True, epsilon=4.0)
        if n_jobs > 1:
            from joblib import parallel_config

            with parallel_config(backend="threading"):
                search.set_params(n_jobs=n_jobs).fit(X, Y)
        else:
            search.fit(X, Y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(DPLogisticRegression, "set_callbacks"), reason="sklearn < 1.9")
@pytest.mark.parametrize("inside", [False, True])
def test_callbacks_hear_nothing_of_runs(inside):
    class Listener:
        heard = 0

        def __getattr__(self, name):
            if not name.startswith(("setup", "teardown", "on_fit")):
                raise AttributeError(name)
            return self.hear

        def hear(self, *_, **__):
            self.heard += 1

    listener = Listener()
    model = logistic().set_callbacks(listener)
    name = "C"
    if inside:
        model, name = make_pipeline(RowNormClipper(), model), "dplogisticregression__C"
    search = DPGridSearchCV(model, {name: [0.1, 1.0]}, n_iter=3).fit(X, Y)
    assert listener.heard == 0
    logistic().set_callbacks(listener).fit(X, Y)
    assert listener.heard > 0
    assert not hasattr(search.best_estimator_, "_skl_callbacks")


@pytest.mark.parametrize("kind", [DPGridSearchCV, DPRandomizedSearchCV])
@pytest.mark.parametrize("accounting", ["sums", "renyi"])
def test_a_ceiling_is_charged_for_the_search_once_and_refuses_the_next(kind, accounting):
    whole = 1.0 if accounting == "sums" else 2.2
    with PrivacyBudget(epsilon=whole, delta=1e-5, accounting=accounting) as budget:
        search = kind(logistic(), {"C": [0.1, 1.0]}, n_iter=4).fit(X, Y)
        assert len(budget.receipts) == 1
        with pytest.raises(BudgetExceededError, match="Nothing was"):
            clone(search).set_params(epsilon=3.0).fit(X, Y)
    assert search.privacy_spent_ == (1.0, 1e-5)


def test_an_interrupted_search_has_spent_and_has_no_model():
    class Interrupted(Toy):
        def fit(self, X, y):
            raise KeyboardInterrupt

    search = DPGridSearchCV(Interrupted(), {"label": [1]})
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.privacy_spent_ == (1.0, 1e-5)
    assert not hasattr(search, "best_estimator_")


@pytest.mark.parametrize("name", ["pipeline__dplogisticregression__C", "memory"])
def test_runs_leave_nothing_in_the_cache_of_a_pipeline(tmp_path, name):
    inner = make_pipeline(RowNormClipper(2.0), logistic(), memory=str(tmp_path / "inner"))
    outer = make_pipeline(inner, memory=str(tmp_path / "outer"))
    # A candidate that asks for a cache gets none, either.
    space = {name: [str(tmp_path / "asked")] if name == "memory" else [0.1, 1.0]}
    search = DPGridSearchCV(outer, space, epsilon=4.0).fit(X, Y)
    assert search.best_estimator_.memory is None
    assert not [*tmp_path.iterdir()]
    assert (inner.memory, outer.memory) == (str(tmp_path / "inner"), str(tmp_path / "outer"))


def test_a_search_that_is_given_the_classes_says_nothing_of_the_labels():
    """scikit-learn's check warns of as many labels as half of the rows."""
    labels = np.arange(30)
    model = logistic(classes=labels, solver="gd")
    search = DPGridSearchCV(model, {"C": [1.0]}, n_iter=1, epsilon=100.0, exhaustive=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Of so large a budget, which shows the score of so few rows.
        warnings.simplefilter("ignore", BudgetWarning)
        search.fit(X[:30], labels)


def test_threads_and_processes_draw_their_own_noise():
    from joblib import parallel_config

    search = DPGridSearchCV(logistic(), {"C": [1.0]}, exhaustive=True, epsilon=4.0, n_jobs=2)
    coefs = []
    with parallel_config(backend="threading"):
        for _ in range(3):
            coefs.append(clone(search).fit(X, Y).best_estimator_.coef_)
    assert len(np.unique(np.vstack(coefs)[:, 0])) == 3
