"""What an open budget says of code around the fits that it counts, which it cannot see."""

import inspect
from contextlib import suppress

import joblib
import numpy as np
import pytest
from sklearn.base import RegressorMixin, clone
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import all_estimators

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, PrivacyBudget, PrivacyLeakWarning
from skdp.reporting import TABLE

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(60, 3))
LABELS = (X[:, 0] > 0).astype(int)
TARGETS = X[:, 0]
PAIRS = np.stack([LABELS, 1 - LABELS], axis=1)


def logistic(**options):
    given = {"classes": [0, 1], "data_norm": 2.0, "precondition": None, "solver": "gd"}
    return DPLogisticRegression(epsilon=0.01, **given | options)


def linear(**options):
    given = {"data_norm": 2.0, "target_bounds": (-1, 1), "precondition": None, "solver": "gd"}
    return DPLinearRegression(epsilon=0.01, **given | options)


# What is refused of all that fits estimators which it is given, with options for few fits.
FOLDS, NONE = {"cv": 2}, {}
REFUSED = {
    "AdaBoostClassifier": {"n_estimators": 2},
    "AdaBoostRegressor": {"n_estimators": 2},
    "BaggingClassifier": {"n_estimators": 2},
    "BaggingRegressor": {"n_estimators": 2},
    "CalibratedClassifierCV": FOLDS,
    "ClassifierChain": NONE,
    "FixedThresholdClassifier": NONE,
    "GridSearchCV": {"param_grid": {"C": [1.0]}, **FOLDS},
    "OneVsOneClassifier": NONE,
    "OutputCodeClassifier": {"code_size": 4, "random_state": 0},
    "RANSACRegressor": {"min_samples": 0.5, "max_trials": 2},
    "RFE": {"n_features_to_select": 1},
    "RFECV": FOLDS,
    "RandomizedSearchCV": {"param_distributions": {"C": [1.0]}, "n_iter": 1, **FOLDS},
    "RegressorChain": NONE,
    "SelectFromModel": NONE,
    "SelfTrainingClassifier": NONE,
    "SequentialFeatureSelector": {"n_features_to_select": 1, **FOLDS},
    "StackingClassifier": FOLDS,
    "StackingRegressor": FOLDS,
    "TunedThresholdClassifierCV": FOLDS,
}


def wrappers():
    """Scikit-learn's classes that take estimators and are refused whatever their parameters.

    But for those that are listed only once somebody has imported them as experimental.
    """
    return {
        name: kind
        for name, kind in all_estimators()
        if {"estimator", "estimators", "base_estimator"} & set(inspect.signature(kind).parameters)
        and not name.startswith("Halving")
        and (kind not in TABLE or TABLE[kind].best.kind == "refused")
    }


def fit_wrapper(name):
    """Fit a wrapper without its budget, on data that it takes."""
    kind = wrappers()[name]
    regression = issubclass(kind, RegressorMixin)
    part = linear() if regression else logistic()
    # Boosting passes weights that add up to one.
    own = {"AdaB": {"max_weight": 1 / len(X)}, "Outp": {"classes": [-1, 1]}}
    part.set_params(**own.get(name[:4], {}))
    parts = [("one", part)] if name.startswith("Stacking") else part
    ends = {"final_estimator": clone(part)} if name.startswith("Stacking") else {}
    y = PAIRS if name.endswith("Chain") else TARGETS if regression else LABELS
    return kind(parts, **REFUSED[name], **ends).fit(X, y)


def test_every_wrapper_that_is_refused_is_among_these():
    assert set(wrappers()) == set(REFUSED)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_an_open_budget_says_that_wrappers_are_not_in_it(name):
    """A private fit cannot see what is around it, but it can tell that it is one of a copy."""
    said = pytest.warns(PrivacyLeakWarning, match=r"on copies .* by PrivacyBudget.fit\(")
    # Some fail after their fits.
    with said, PrivacyBudget(50.0, 1e-3) as budget, suppress(ValueError):
        fit_wrapper(name)
    assert "not counted: code around" in repr(budget)
    filed = skdp.report(budget).to_dict()
    assert any("of copies that were made" in line for line in filed["cautions"])
    assert "code around" in filed["not_covered"][0]


@pytest.mark.parametrize("jobs", [None, 2])
def test_what_a_budget_fits_itself_was_looked_up_with_all_copies(jobs):
    """Also those in other threads, and under the budgets around it."""
    targets = np.stack([TARGETS, -TARGETS], axis=1)
    with (
        joblib.parallel_config("threading"),
        PrivacyBudget(9.0, 1e-4) as outer,
        PrivacyBudget(9.0, 1e-4) as inner,
    ):
        inner.fit(MultiOutputRegressor(linear(), n_jobs=jobs), X, targets)
    for budget in (outer, inner):
        assert [(e.copied, e.looked_up) for e in budget.receipts] == [(True, True)] * 2
        assert "not counted" not in repr(budget)
        said = skdp.report(budget).to_dict()
        assert not any("code around" in line for line in said["not_covered"])
        assert not any("of copies" in line for line in said["cautions"])


def test_fits_beside_those_of_a_budget_are_not_taken_for_looked_up():
    said = pytest.warns(PrivacyLeakWarning, match="counted 3 runs, 1 on copies")
    with said, PrivacyBudget(9.0, 1e-4) as budget:
        clone(logistic()).fit(X, LABELS)
        budget.fit(logistic(), X, LABELS)
        logistic().fit(X, LABELS)
    expected = [(True, False), (False, True), (False, False)]
    assert [(e.copied, e.looked_up) for e in budget.receipts] == expected
    assert repr(budget).endswith("; not counted: code around 2 runs")


def test_direct_fits_are_told_of_in_words_and_close_without_a_warning():
    with PrivacyBudget(9.0, 1e-4) as budget:
        logistic().fit(X, LABELS)
    assert repr(budget).endswith("; not counted: code around 1 run")
    filed = skdp.report(budget).to_dict()
    assert filed["not_covered"][0].startswith("code around 1 of the 1 runs")
    assert not any("of copies" in line for line in filed["cautions"])
