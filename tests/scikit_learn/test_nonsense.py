"""What cannot work is refused in plain words, before it costs, and leaves nothing half-fitted."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_predict

from skdp import DPContextualBandit, DPLogisticRegression
from skdp.model_selection import DPGridSearchCV

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


def logistic(**options):
    return DPLogisticRegression(**{"data_norm": 2.0, "classes": [0, 1]} | options)


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
