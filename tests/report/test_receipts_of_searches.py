"""All steps of a winner show the receipt of the whole search, and adding up counts it once."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from skdp import DPLogisticRegression, privacy_spent
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import DPStandardScaler

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(400, 2))
Y = (X[:, 0] > 0).astype(int)
EPSILON, DELTA = 4.0, 1e-5


def model(**options):
    given = {"data_norm": 3.0, "classes": [0, 1], "solver": "gd", "precondition": None}
    return DPLogisticRegression(**given | options)


def search():
    pipeline = make_pipeline(DPStandardScaler(bounds=(-1, 1)), model())
    space = {"dplogisticregression__C": [0.5, 1.0]}
    # Of a public number of Gaussian runs, so that totals are exact.
    return DPGridSearchCV(pipeline, space, epsilon=EPSILON, delta=DELTA, exhaustive=True).fit(X, Y)


@pytest.mark.parametrize(
    "copied", [lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_the_winner_has_spent_what_the_search_has_spent(copied):
    found = search()
    of_search, of_winner = privacy_spent(found), privacy_spent(copied(found).best_estimator_)
    assert of_search.epsilon == pytest.approx(EPSILON, rel=1e-6)
    assert of_winner.spent == of_search.spent
    (receipt,) = of_winner.receipts
    assert receipt.who == "Pipeline.dpstandardscaler, Pipeline.dplogisticregression"
    winner = copied(found.best_estimator_)
    assert privacy_spent(make_pipeline(*[step for _, step in winner.steps])).epsilon == (
        pytest.approx(EPSILON, rel=1e-6)
    )
