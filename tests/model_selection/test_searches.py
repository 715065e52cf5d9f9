"""Searches find what is worth finding, spend what they say, and look like scikit-learn's."""

import pickle

import numpy as np
import pandas as pd
import pytest
from private_toys import Toy
from scipy.stats import loguniform
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPLogisticRegression
from skdp.exceptions import PrivacyLeakWarning
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import DPStandardScaler
from skdp.privacy.accounting import SearchEvent, gdp
from skdp.solvers import GD

N = 3000
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3)) / 3
Y = (X[:, 0] + 0.1 * rng.normal(size=N) > 0).astype(int)
LABELS = {"label": [0, 1]}


def logistic(**options):
    return DPLogisticRegression(**{"data_norm": 2.0, "classes": [0, 1]} | options)


def grid(estimator=None, space=None, **options):
    estimator = Toy() if estimator is None else estimator
    return DPGridSearchCV(estimator, LABELS if space is None else space, **options)


def drawn(estimator=None, space=None, **options):
    estimator = Toy() if estimator is None else estimator
    return DPRandomizedSearchCV(estimator, LABELS if space is None else space, **options)


both = pytest.mark.parametrize("search", [grid, drawn])
seeded = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")


@seeded
@both
@pytest.mark.parametrize("how", [{}, {"n_jobs": 1}], ids=str)
def test_the_better_candidate_wins(search, how):
    lopsided = (np.arange(N) % 10 > 0).astype(int)
    # Runs of this seed have either candidate.
    found = search(n_iter=15, epsilon=30.0, random_state=1, **how)
    found.fit(X, lopsided)
    assert found.best_params_ == {"label": 1}
    assert found.best_score_ == pytest.approx(0.9, abs=0.05)
    assert found.score(X, lopsided) == 0.9
    assert np.all(found.predict(X) == 1)


def test_an_exhaustive_grid_tries_every_point_once():
    tried = []

    class Noted(Toy):
        def fit(self, X, y):
            tried.append(self.label)
            return super().fit(X, y)

    found = grid(Noted(), {"label": [0, 1, 2]}, exhaustive=True, epsilon=3.0).fit(X, Y)
    assert tried == [0, 1, 2]
    assert found.best_estimator_.epsilon < 1.0
    (event,) = found.privacy_ledger_
    assert (event.published, event.mean_trials) == ("all", 3.0)


@both
def test_the_whole_budget_is_spent_and_a_run_has_less(search):
    space = {"C": [0.1, 1.0]}
    found = search(logistic(), space, epsilon=2.0, delta=1e-6, n_iter=3).fit(X, Y)
    assert found.privacy_spent_ == (2.0, 1e-6)
    assert found.best_estimator_.epsilon < 2.0
    (event,) = found.privacy_ledger_
    assert isinstance(event, SearchEvent)
    assert event.calculus == "gaussian"
    # The receipts of the model are those of the search: it cannot be had for less.
    assert found.best_estimator_.privacy_spent_ == found.privacy_spent_
    assert found.best_estimator_.privacy_ledger_ == found.privacy_ledger_


def test_a_step_that_does_not_keep_to_its_budget_never_wins():
    class Spendthrift(Toy):
        def fit(self, X, y):
            super().fit(X, y)
            if self.label == 1:
                self.privacy_spent_ = (2 * self.epsilon, self.delta)
            return self

    found = grid(Spendthrift(), exhaustive=True, epsilon=4.0).fit(X, np.ones(N, int))
    assert found.best_params_ == {"label": 0}


@both
def test_searches_act_as_their_best_model(search):
    found = search(logistic(), {"C": [1.0]}, epsilon=4.0, n_iter=1)
    assert is_classifier(found)
    assert hasattr(found, "predict_proba")
    assert not hasattr(search(), "predict_proba")
    with pytest.raises(NotFittedError):
        found.predict(X)
    assert not hasattr(found, "n_features_in_")
    assert not hasattr(found, "feature_names_in_")
    found.fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    best, frame = found.best_estimator_, pd.DataFrame(X, columns=["a", "b", "c"])
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert np.array_equal(getattr(found, name)(frame), getattr(best, name)(frame))
    assert found.n_features_in_ == 3
    assert list(found.feature_names_in_) == ["a", "b", "c"]
    assert np.array_equal(found.classes_, [0, 1])
    assert found.score(frame, Y) == best.score(frame, Y)


@both
@pytest.mark.by_day(1)
def test_nothing_about_other_runs_is_kept(search):
    found = search(logistic(), {"C": [0.01, 0.1, 1.0]}, n_iter=3).fit(X, Y)
    given = {name for name in vars(found) if not name.endswith("_")}
    assert given - set(found.get_params(deep=False)) == {"_adjacency"}
    learned = {name for name in vars(found) if name.endswith("_")}
    assert learned == {
        *("best_estimator_", "best_params_", "best_score_"),
        *("delta_", "privacy_spent_", "privacy_unit_", "privacy_ledger_"),
    }
    assert not hasattr(found, "cv_results_")
    assert not hasattr(found, "n_splits_")
    assert "seed" not in repr(vars(found.best_estimator_))


@seeded
@both
def test_a_seed_makes_a_search_reproducible_and_does_not_travel(search):
    def run(seed):
        return search(logistic(), {"C": [0.01, 1.0]}, n_iter=4, random_state=seed).fit(X, Y)

    a, b, c = run(3), run(3), run(4)
    assert np.array_equal(a.best_estimator_.coef_, b.best_estimator_.coef_)
    assert (a.best_score_, a.best_params_) == (b.best_score_, b.best_params_)
    assert a.best_score_ != c.best_score_
    assert pickle.loads(pickle.dumps(a)).random_state is None


def test_classes_read_off_the_labels_warn_once_and_hold_for_all_runs():
    with pytest.warns(PrivacyLeakWarning, match="Pass classes=") as caught:
        found = grid(logistic(classes=None), {"C": [1.0]}, n_iter=4).fit(X, Y)
    assert len(caught) == 1
    assert np.array_equal(found.classes_, [0, 1])


def test_distributions_are_drawn_from():
    space = {"C": loguniform(1e-3, 1e3), "precondition": [None, "auto"]}
    drawn_values = {
        drawn(logistic(), space, n_iter=1).fit(X[:400], Y[:400]).best_params_["C"] for _ in range(3)
    }
    assert len(drawn_values) == 3
    assert all(1e-3 <= value <= 1e3 for value in drawn_values)


def test_pipelines_share_the_budget_of_a_run():
    pipeline = make_pipeline(DPStandardScaler(bounds=(-2, 2)), logistic())
    space = {"dplogisticregression__C": [0.1, 1.0]}
    for shares, expected in [
        (None, 0.5),
        ({"dpstandardscaler": 1, "dplogisticregression": 3}, 0.75),
    ]:
        found = grid(pipeline, space, epsilon=3.0, n_iter=2, step_shares=shares).fit(X, Y)
        scaler, model = (step for _, step in found.best_estimator_.steps)
        mu2 = [gdp.mu(step.epsilon, step.delta) ** 2 for step in (scaler, model)]
        assert mu2[1] / sum(mu2) == pytest.approx(expected, rel=1e-6)
        run = found.privacy_ledger_[0].sensitivity ** 2
        assert sum(mu2) == pytest.approx(0.9 * run, rel=1e-6)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_probabilities_are_scored(scoring):
    found = grid(logistic(), {"C": [1.0]}, epsilon=8.0, scoring=scoring).fit(X, Y)
    assert found.best_score_ == pytest.approx(found.score(X, Y), abs=0.1)


def test_a_callable_scores_rows():
    def half_right(model, X, y):
        return np.where(model.predict(X) == y, 1.0, 0.5)

    found = grid(scoring=half_right, score_range=(0.5, 1.0), exhaustive=True, epsilon=4.0)
    assert found.fit(X, np.ones(N, int)).best_params_ == {"label": 1}
    assert found.score(X, Y) == pytest.approx(0.5 + Y.mean() / 2)


def test_public_rows_take_any_scorer_and_no_noise():
    public = X[:500], Y[:500]
    found = grid(logistic(), {"C": [1.0]}, validation=public, scoring="roc_auc").fit(X, Y)
    assert found.best_score_ == roc_auc_score(Y[:500], found.decision_function(X[:500]))

    def scorer(model, X, y):
        return -abs(model.label - 1)

    found = grid(validation=public, scoring=scorer, exhaustive=True).fit(X, Y)
    assert found.best_params_ == {"label": 1}
    assert found.best_score_ == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": StandardScaler()}, "needs a private estimator"),
        ({"estimator": make_pipeline(StandardScaler(), Toy())}, "StandardScaler|standardscaler"),
        ({"estimator": OneVsRestClassifier(Toy())}, "several times|fits"),
        ({"space": {"epsilon": [1.0]}}, "cannot search over 'epsilon'"),
        ({"space": {"classes": [[0, 1]]}}, "cannot search over 'classes'"),
        ({"space": {"adjacency": ["zero_out"]}}, "cannot search over 'adjacency'"),
        ({"space": {"unheard": [1.0]}}, "Invalid parameter 'unheard'"),
        ({"scoring": "roc_auc"}, "mean over rows of a bounded number"),
        ({"scoring": lambda m, X, y: np.ones(len(y))}, "needs score_range"),
        ({"score_range": (1.0, 0.0)}, "low < high"),
        ({"validation": 0.3}, "validation"),
        ({"validation": (X, Y[:-1])}, "inconsistent"),
        ({"step_shares": {"": -1.0}}, "positive finite step_shares"),
        ({"epsilon": 0.0}, "'epsilon' parameter"),
        ({"n_iter": 0.5}, "'n_iter' parameter"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
@both
def test_what_public_facts_rule_out_is_refused_and_nothing_is_spent(search, options, message):
    options = {"estimator": None, "space": None} | options
    found = search(options.pop("estimator"), options.pop("space"), **options)
    with pytest.raises(ValueError, match=message):
        found.fit(X, Y)
    assert not hasattr(found, "privacy_spent_")


@pytest.mark.parametrize(
    "space",
    [{"C": [1.0, -1.0]}, {"solver": ["gd", "adassp"]}, {"solver": [GD(), GD(steps=0)]}],
    ids=["penalty", "names", "instances"],
)
@both
def test_candidates_that_cannot_work_are_found_before_anything_is_spent(search, space):
    found = search(logistic(), space, n_iter=1)
    with pytest.raises(ValueError, match=r"C|squared loss|steps"):
        found.fit(X, Y)
    assert not hasattr(found, "privacy_spent_")
