"""Recording, replaying and un-noising whole fits."""

from math import inf
from threading import Event, Thread

import numpy as np
import pytest
from models_of_few_rows import make_data

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.privacy import PrivateOracle, opened_by
from skdp.solvers import GD, defaults
from skdp.testing import exact_fit, record_fit, replay_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 80, 2


X, Y = make_data(N, D)


def model(**options):
    return DPLogisticRegression(
        **{"data_norm": 2.0, "classes": [0, 1], "solver": GD(steps=4), "precondition": None}
        | options
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


def test_replay_of_a_fit_that_starts_on_a_sample_needs_its_random_state(monkeypatch):
    monkeypatch.setattr(defaults.Pilot, "LEAST_ENTRIES", 0)
    monkeypatch.setattr(defaults.Pilot, "EVIDENCE", 25.0)
    many, labels = make_data(4_000, D)

    def starting(random_state):
        return DPLogisticRegression(
            epsilon=30.0, data_norm=2.0, classes=[0, 1], random_state=random_state
        )

    recorded, replayed = starting(0), starting(0)
    transcript = record_fit(recorded, many, labels)
    replay_fit(replayed, np.zeros_like(many), np.zeros_like(labels), transcript)
    np.testing.assert_array_equal(replayed.coef_, recorded.coef_)
    with pytest.raises(AssertionError, match="takes the random_state of the recorded run"):
        replay_fit(starting(None), many, labels, transcript)


def test_replay_with_fewer_queries_is_refused():
    transcript = record_fit(model(), X, Y)
    transcript.entries.append(transcript.entries[-1])
    with pytest.raises(AssertionError, match="fewer queries than recorded"):
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


class Failing(GD):
    """Asks as usual and then fails."""

    def solve(self, problem, oracle, rng):
        super().solve(problem, oracle, rng)
        raise RuntimeError("planned")


def test_exact_fit_that_fails_has_an_infinite_receipt():
    failed = model(solver=Failing(steps=4))
    with pytest.raises(RuntimeError, match="planned"):
        exact_fit(failed, X, Y)
    assert failed.privacy_spent_.epsilon == inf
    assert {event.mechanism for event in failed.privacy_ledger_} == {"non_private"}


def test_exact_fit_that_is_refused_keeps_an_earlier_receipt():
    fitted = model().fit(X, Y)
    before = fitted.privacy_spent_, fitted.privacy_ledger_
    with pytest.raises(ValueError, match="epsilon"):
        exact_fit(fitted.set_params(epsilon=-1.0), X, Y)
    assert (fitted.privacy_spent_, fitted.privacy_ledger_) == before


class Waiting(GD):
    """Lets another thread work while this fit is under way."""

    def solve(self, problem, oracle, rng):
        UNDER_WAY.set()
        assert GO_ON.wait(60)
        return super().solve(problem, oracle, rng)


UNDER_WAY, GO_ON = Event(), Event()


@pytest.mark.parametrize("start", [exact_fit, record_fit])
def test_fits_in_other_threads_are_left_alone(start):
    UNDER_WAY.clear()
    GO_ON.clear()
    other = model(solver=Waiting(steps=4))
    result = []
    thread = Thread(target=lambda: result.append(start(other, X, Y)))
    thread.start()
    try:
        assert UNDER_WAY.wait(60)
        one, two = model().fit(X, Y), model().fit(X, Y)
    finally:
        GO_ON.set()
        thread.join()
    assert not np.array_equal(one.coef_, two.coef_)
    assert {event.mechanism for event in one.privacy_ledger_} == {"gaussian"}
    if start is record_fit:
        assert len(result[0].entries) == 4
    else:
        assert other.privacy_spent_.epsilon == inf


def test_threads_started_within_get_a_private_oracle():
    models = [model(), model()]

    class Starting(GD):
        def solve(self, problem, oracle, rng):
            for m in models:
                thread = Thread(target=m.fit, args=(X, Y))
                thread.start()
                thread.join()
            return super().solve(problem, oracle, rng)

    exact_fit(model(solver=Starting(steps=4)), X, Y)
    assert not np.array_equal(*(m.coef_ for m in models))


def test_nothing_is_left_behind_by_a_fit_that_fails():
    with pytest.raises(RuntimeError, match="planned"):
        exact_fit(model(solver=Failing(steps=4)), X, Y)
    assert not np.array_equal(*(model().fit(X, Y).coef_ for _ in range(2)))


def test_nested_fits_return_to_the_oracle_before():
    made = []

    def factory(*args):
        made.append(PrivateOracle(*args))
        return made[-1]

    with opened_by(factory):
        exact_fit(model(), X, Y)
        assert not made
        model().fit(X, Y)
    assert len(made) == 1
