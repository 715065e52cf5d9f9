"""What ``fit`` and ``score`` take besides X and y finds its way through pipelines and searches."""

import numpy as np
import pytest
import sklearn
from examples_of_estimators import BINARY, MODELS, N, X, linear, logistic
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.metadata_routing import get_routing_for_object

from skdp.solvers import DDA

SITES = np.arange(N) % 3
WEIGHTS = np.linspace(0.1, 1.0, N)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_every_argument_can_be_requested(make):
    model = make().set_fit_request(sample_weight=True, groups=True)
    model.set_score_request(sample_weight=True)
    model.set_partial_fit_request(sample_weight=False)
    requests = get_routing_for_object(model)
    assert requests.consumes("fit", ["sample_weight", "groups", "x"]) == {"sample_weight", "groups"}
    assert requests.consumes("score", ["sample_weight"]) == {"sample_weight"}
    assert requests.consumes("partial_fit", ["sample_weight"]) == set()


@pytest.mark.usefixtures("routing")
def test_sites_reach_the_solver_through_a_pipeline():
    model = logistic(solver=DDA(rounds=3), precondition=None).set_fit_request(groups=True)
    pipeline = make_pipeline(Normalizer(), model).fit(X, BINARY, groups=SITES)
    sites = {event.part for event in pipeline[-1].privacy_ledger_}
    assert len(sites) == 3
    with pytest.raises(UnsetMetadataPassedError, match="groups"):
        make_pipeline(Normalizer(), logistic()).fit(X, BINARY, groups=SITES)


@pytest.mark.usefixtures("routing")
def test_weights_reach_fits_and_scores_of_searches():
    for make, y in ((logistic, BINARY), (linear, X[:, 0])):
        model = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(Normalizer(), model)
        assert pipeline.fit(X, y, sample_weight=WEIGHTS)[-1].n_samples_seen_ == N
        found = cross_validate(
            model, X, y, cv=2, params={"sample_weight": WEIGHTS}, error_score="raise"
        )
        assert np.isfinite(found["test_score"]).all()
        search = GridSearchCV(model, {"fit_intercept": [True, False]}, cv=2, error_score="raise")
        search.fit(X, y, sample_weight=WEIGHTS)
        assert search.best_estimator_.n_samples_seen_ == N


def test_weights_of_scores_need_no_routing():
    model = logistic().fit(X, BINARY)
    right = model.predict(X) == BINARY
    assert model.score(X, BINARY, WEIGHTS) == pytest.approx(np.average(right, weights=WEIGHTS))
    regressor = linear().fit(X, X[:, 0])
    residuals = (regressor.predict(X) - X[:, 0]) ** 2
    spread = (X[:, 0] - np.average(X[:, 0], weights=WEIGHTS)) ** 2
    expected = 1 - np.average(residuals, weights=WEIGHTS) / np.average(spread, weights=WEIGHTS)
    assert regressor.score(X, X[:, 0], sample_weight=WEIGHTS) == pytest.approx(expected)
