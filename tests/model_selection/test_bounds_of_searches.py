"""What searches refuse, warn of, and take over from their estimators."""

import numpy as np
import pytest
from private_toys import Toy
from sklearn.pipeline import make_pipeline

from skdp import DPLogisticRegression
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import DPStandardScaler

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 3)) / 3
Y = (X[:, 0] + 0.1 * rng.normal(size=3000) > 0).astype(int)
LABELS = {"label": [0, 1]}


def logistic(**options):
    return DPLogisticRegression(**{"data_norm": 2.0, "classes": [0, 1]} | options)


def test_a_refused_search_leaves_the_earlier_one_as_it_was():
    found = DPGridSearchCV(Toy(), LABELS).fit(X, Y)
    spent, best = found.privacy_spent_, found.best_estimator_
    with pytest.raises(ValueError, match="epsilon"):
        found.set_params(epsilon=-1).fit(X, Y)
    assert (found.privacy_spent_, found.best_estimator_) == (spent, best)


def test_scores_that_are_mostly_noise_warn():
    with pytest.warns(UserWarning, match="mostly choose by chance"):
        DPGridSearchCV(Toy(), LABELS, epsilon=0.1).fit(X[:200], Y[:200])


def test_zero_out_is_the_relation_of_the_estimator():
    found = DPGridSearchCV(logistic(adjacency="zero_out"), {"C": [1.0]})
    assert found.adjacency == "zero_out"
    assert DPGridSearchCV(logistic(), {"C": [1.0]}).adjacency == "replace_one"
    mixed = make_pipeline(DPStandardScaler(bounds=(-2, 2)), logistic(adjacency="zero_out"))
    with pytest.raises(ValueError, match="one adjacency"):
        DPGridSearchCV(mixed, {"dplogisticregression__C": [1.0]}).fit(X, Y)
