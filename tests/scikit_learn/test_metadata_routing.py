"""What ``fit`` and ``score`` take besides X and y finds its way through pipelines and searches."""

import numpy as np
import pytest
import sklearn
from examples_of_estimators import BINARY, MODELS, N, X, logistic
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.metadata_routing import get_routing_for_object

from skdp.model_selection import DPGridSearchCV
from skdp.solvers import DDA, GD

SITES = np.arange(N) % 3


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_every_argument_can_be_requested(make):
    model = make().set_fit_request(sample_weight=True, sites=True)
    model.set_score_request(sample_weight=True)
    model.set_partial_fit_request(sample_weight=False)
    requests = get_routing_for_object(model)
    assert requests.consumes("fit", ["sample_weight", "sites", "x"]) == {"sample_weight", "sites"}
    assert requests.consumes("score", ["sample_weight"]) == {"sample_weight"}
    assert requests.consumes("partial_fit", ["sample_weight"]) == set()


@pytest.mark.usefixtures("routing")
def test_sites_reach_the_solver_through_a_pipeline():
    model = logistic(solver=DDA(rounds=3), precondition=None).set_fit_request(sites=True)
    pipeline = make_pipeline(Normalizer(), model).fit(X, BINARY, sites=SITES)
    sites = {event.part for event in pipeline[-1].privacy_ledger_}
    assert len(sites) == 3
    with pytest.raises(UnsetMetadataPassedError, match="sites"):
        make_pipeline(Normalizer(), logistic()).fit(X, BINARY, sites=SITES)


# Half of the rows say the opposite of the others, and weigh nothing.
MANY = np.random.default_rng(0).uniform(-1, 1, size=(1200, 3))
TRUE = (MANY[:, 0] > 0).astype(int)
COUNTED = (np.arange(len(MANY)) % 2).astype(float)
FLIPPED = np.where(COUNTED > 0, TRUE, 1 - TRUE)
BRIEF = GD(steps=10)


def weighted(**params):
    model = logistic(epsilon=20.0, solver=BRIEF, precondition=None, **params)
    return model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


def searched(estimator, *names):
    space = {name: [1.0, 1e6] for name in names}
    return DPGridSearchCV(estimator, space, epsilon=60.0, delta=1e-5)


@pytest.mark.usefixtures("routing")
def test_weights_reach_the_requesting_step_of_every_trial_of_a_private_search():
    pipeline = make_pipeline(Normalizer(), weighted())
    search = searched(pipeline, "dplogisticregression__C")
    search.set_params(validation=(MANY[:100], TRUE[:100]))
    search.fit(MANY, FLIPPED, sample_weight=COUNTED)
    assert search.score(MANY, TRUE) > 0.9


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("asked", [None, False])
def test_weights_that_no_step_requests_are_refused_before_a_search_spends(asked):
    pipeline = make_pipeline(Normalizer(), weighted().set_fit_request(sample_weight=asked))
    search = searched(pipeline, "dplogisticregression__C")
    with pytest.raises(ValueError, match=r"call set_fit_request\(sample_weight=True\)"):
        search.fit(MANY, FLIPPED, sample_weight=COUNTED)
    assert not hasattr(search, "privacy_spent_")
