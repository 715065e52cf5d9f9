"""Recording, replaying and un-noising whole fits."""

from math import inf

import numpy as np
import pytest

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.solvers import GD
from skdp.testing import exact_fit, record_fit, replay_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 80, 2


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, (X[:, 0] > 0).astype(int)


X, Y = make_data()


def model(**options):
    return DPLogisticRegression(
        **{"data_norm": 2.0, "classes": [0, 1], "solver": GD(steps=4)} | options
    )


def test_recorded_fit_is_a_fit_and_leaves_nothing_patched():
    recorded = model(random_state=0)
    transcript = record_fit(recorded, X, Y)
    assert [name for name, *_ in transcript.entries] == ["gradient"] * 4
    np.testing.assert_array_equal(recorded.coef_, model(random_state=0).fit(X, Y).coef_)
    assert len(transcript.entries) == 4


def test_replayed_fit_repeats_noise_that_came_from_the_system():
    recorded, replayed = model(), model()
    transcript = record_fit(recorded, X, Y)
    replay_fit(replayed, np.zeros_like(X), np.zeros_like(Y), transcript)
    np.testing.assert_array_equal(replayed.coef_, recorded.coef_)
    assert replayed.privacy_ledger_ == recorded.privacy_ledger_


def test_replay_of_other_hyperparameters_is_refused():
    transcript = record_fit(model(), X, Y)
    with pytest.raises(AssertionError, match="another price"):
        replay_fit(model(solver=GD(steps=5)), X, Y, transcript)
    with pytest.raises(AssertionError, match="another content"):
        replay_fit(model(solver=GD(steps=4, clip=0.01)), X, Y, transcript)


def test_replay_with_fewer_questions_is_refused():
    transcript = record_fit(model(), X, Y)
    transcript.entries.append(transcript.entries[-1])
    with pytest.raises(AssertionError, match="fewer questions than recorded"):
        replay_fit(model(), X, Y, transcript)


@pytest.mark.parametrize("data_norm", [2.0, None])
def test_exact_fit_has_no_noise_and_an_infinite_receipt(data_norm):
    coefs = []
    for _ in range(2):
        regressor = DPLinearRegression(
            epsilon=20.0, data_norm=data_norm, target_bounds=(0, 1), solver=GD(steps=4)
        )
        receipt = exact_fit(regressor, X, Y)
        coefs.append(regressor.coef_)
        assert regressor.privacy_spent_.epsilon == receipt.spent().epsilon == inf
        assert regressor.privacy_ledger_ == receipt.receipt()
        assert {event.mechanism for event in receipt.receipt()} == {"non_private"}
    np.testing.assert_array_equal(*coefs)
