"""What cannot work is refused in plain words, before it costs, and leaves nothing half-fitted."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_val_predict

from skdp import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
    PrivacyBudget,
)
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import (
    DPPCA,
    BoundsScaler,
    DPKBinsDiscretizer,
    DPMinMaxScaler,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSelectKBest,
    DPSplineTransformer,
    DPStandardScaler,
    DPTruncatedSVD,
    RowNormClipper,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})


def logistic(**options):
    return DPLogisticRegression(**{"data_norm": 2.0, "classes": [0, 1]} | options)


LEARNERS = [
    logistic(),
    DPSVMClassifier(data_norm=2.0, classes=[0, 1]),
    DPLinearRegression(data_norm=2.0, target_bounds=(0, 1)),
    DPLassoRegressor(feature_bound=1.0, target_bounds=(0, 1)),
    DPGridSearchCV(logistic(), {"C": [0.5, 1.0]}, epsilon=20.0),
    DPStandardScaler(bounds=(-1, 1)),
    DPMinMaxScaler(),
    DPQuantileTransformer(bounds=(-1, 1)),
    DPKBinsDiscretizer(bounds=(-1, 1)),
    DPSplineTransformer(bounds=(-1, 1)),
    DPRobustScaler(bounds=(-1, 1)),
    DPPCA(bounds=(-1, 1)),
    DPSelectKBest(classes=[0, 1], bounds=(-1, 1)),
    DPTruncatedSVD(bounds=(-1, 1)),
    BoundsScaler(bounds=(-1, 1)),
    RowNormClipper(),
]
NONSENSE = {
    "words": np.full((60, 3), "Ada-Lovelace"),
    "a column of words": FRAME.assign(b="Ada-Lovelace"),
    "missing": np.where(np.arange(180).reshape(60, 3) == 7, np.nan, X),
    "infinite": np.where(np.arange(180).reshape(60, 3) == 7, np.inf, X),
    "no rows": X[:0],
    "no features": X[:, :0],
    "one axis": X[:, 0],
    "three axes": X[None],
    "complex": X + 1j,
    "nothing": None,
    "text": "Ada-Lovelace",
    "dict": {"a": 1},
}


@pytest.mark.parametrize("what", NONSENSE)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda m: type(m).__name__)
def test_nonsense_is_refused_and_leaves_no_trace(learner, what):
    before = set(vars(learner))
    with (
        PrivacyBudget(epsilon=100.0, delta=1e-3) as budget,
        pytest.raises((ValueError, TypeError)) as refused,
    ):
        learner.fit(NONSENSE[what], Y[: 0 if what == "no rows" else 60])
    assert not budget.receipts
    assert set(vars(learner)) == before
    assert "Ada" not in str(refused.value)


def test_a_column_of_categories_is_refused_in_the_words_of_other_words():
    frame = FRAME.assign(b=pd.Categorical(["Ada-Lovelace"] * 60))
    with pytest.raises(ValueError, match="Numeric features are needed; X holds entries that"):
        logistic().fit(frame, Y)


@pytest.mark.parametrize(
    ("scaler", "message"),
    [
        (BoundsScaler(bounds=(1, 0)), "low < high"),
        (BoundsScaler(bounds=([0, 0], [1, 1])), "low ends of 3 features"),
        (RowNormClipper(max_norm=-1.0), "'max_norm' parameter"),
    ],
)
def test_free_transformers_that_refuse_stay_as_they_were(scaler, message):
    with pytest.raises(ValueError, match=message):
        scaler.fit(FRAME)
    assert not [name for name in vars(scaler) if name.endswith("_")]


@pytest.mark.parametrize("scaler", [DPStandardScaler(), DPMinMaxScaler(), BoundsScaler((0, 1))])
def test_scalers_that_move_zeros_say_which_do_not(scaler):
    with pytest.raises(TypeError, match=r"sparse data.*DPStandardScaler\(with_mean=False\)"):
        scaler.fit(sp.csr_array(X))
    assert not hasattr(scaler, "n_features_in_")


@pytest.mark.parametrize("labels", [np.array(["no", "yes"])[Y], Y + 5], ids=["words", "numbers"])
def test_a_search_refuses_labels_that_no_run_would_take_before_it_spends(labels):
    search = DPGridSearchCV(logistic(), {"C": [0.5, 1.0]}, epsilon=20.0)
    with (
        PrivacyBudget(epsilon=100.0, delta=1e-3) as budget,
        pytest.raises(ValueError, match="needs labels among the 2 classes"),
    ):
        search.fit(X, labels)
    assert not budget.receipts
    assert not hasattr(search, "privacy_spent_")


@pytest.mark.parametrize(
    ("estimator", "space", "message"),
    [
        (logistic(), {"solver": ["lbfgs"]}, "'solver' parameter of DPLogisticRegression"),
        (logistic(solver="lbfgs"), {}, "'solver' parameter of DPLogisticRegression"),
        (DPLogisticRegression, {}, "needs an estimator, got the class DPLogisticRegression"),
    ],
)
def test_a_search_says_what_is_wrong_with_a_candidate(estimator, space, message):
    with pytest.raises(ValueError, match=message):
        DPGridSearchCV(estimator, space).fit(X, Y)


@pytest.mark.parametrize("actions", [None, pd.DataFrame({"arm": Y}), 1], ids=["none", "frame", "1"])
def test_a_bandit_without_an_action_for_each_context_says_so(actions):
    bandit = DPContextualBandit(arms=[0, 1], data_norm=2.0, horizon=60)
    for method in (bandit.fit, bandit.partial_fit):
        with pytest.raises(ValueError, match="needs one action a context, 60 in all"):
            method(X, actions, Y.astype(float))
    assert not hasattr(bandit, "privacy_spent_")


def test_labels_that_scikit_learn_numbers_anew_are_named_as_the_cause():
    words = np.array(["no", "yes"])[Y]
    with pytest.raises(ValueError, match=r"cross_val_predict of probabilities labels are 0..k-1"):
        cross_val_predict(logistic(classes=["no", "yes"]), X, words, cv=2, method="predict_proba")
    found = cross_val_predict(logistic(), X, words, cv=2, method="predict_proba")
    assert found.shape == (60, 2)
