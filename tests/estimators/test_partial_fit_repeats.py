"""Calls that bring the rows of an earlier call again: noticed, charged, and warned of."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from examples_of_streams import (
    BINARY,
    Failing,
    X,
    both,
    classifier,
    every_model,
    lasso,
    target,
)
from recomputed_spend import recomputed

import skdp
from skdp import PrivacyLeakWarning, load_checkpoint, save_checkpoint
from skdp.privacy.accounting import gdp
from skdp.reporting import compose
from skdp.solvers import Blocks

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

EPSILON, DELTA = 1.0, 1e-5
MU = gdp.mu(EPSILON, DELTA)
AGAIN = "was given all rows of an earlier call again"
# Times mu: of k fits, and of k rows of one person.
KINDS = [("gd", np.sqrt), ("blocks", float), ("ftrl", float)]


def again(model, rows=slice(None)):
    """One more call, and whether it was warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.partial_fit(X[rows], target(model)[rows])
    return any(AGAIN in str(w.message) for w in said if w.category is PrivacyLeakWarning)


@pytest.mark.parametrize(("solver", "grows"), KINDS)
def test_epochs_are_charged_as_often_as_they_come(solver, grows):
    model = classifier(solver=solver, precondition=None)
    warned = [again(model) for _ in range(5)]
    assert warned == [False, True, False, False, False]
    epsilon, delta = model.privacy_spent_
    assert delta == DELTA
    assert epsilon == pytest.approx(gdp.epsilon(grows(5) * MU, DELTA), rel=1e-6)
    assert recomputed(model.privacy_ledger_, delta) == pytest.approx(epsilon, rel=1e-6)
    assert compose([model]).epsilon == pytest.approx(epsilon, rel=1e-6)
    # As in any pickle, it stays on the receipt.
    copied = pickle.loads(pickle.dumps(model))
    assert copied.privacy_spent_ == model.privacy_spent_


@pytest.mark.nightly
def test_twenty_epochs_of_a_batch_solver_are_twenty_fits():
    model = classifier(solver="gd", precondition=None)
    for _ in range(20):
        again(model)
    assert model.privacy_spent_.epsilon == pytest.approx(5.4069277, rel=1e-6)


@every_model
def test_all_models_notice(make):
    model = make()
    again(model)
    spent = model.privacy_spent_.epsilon
    assert again(model)
    assert model.privacy_spent_.epsilon > 1.9 * spent
    assert compose([model]).epsilon == pytest.approx(model.privacy_spent_.epsilon)


@both
def test_the_order_of_rows_and_the_calls_in_between_do_not_matter(make):
    model = make(solver="gd", precondition=None)
    y, order = target(model), np.random.default_rng(3).permutation(100)
    assert not again(model, slice(0, 100))
    assert not again(model, slice(100, 200))
    with pytest.warns(PrivacyLeakWarning, match=AGAIN):
        model.partial_fit(X[order], y[order])
    assert model.privacy_spent_.epsilon == pytest.approx(gdp.epsilon(np.sqrt(2) * MU, DELTA))
    # The other rows have come once more as well, and no rows a third time.
    assert not again(model, slice(100, 200))
    assert model.privacy_spent_.epsilon == pytest.approx(gdp.epsilon(np.sqrt(2) * MU, DELTA))


def test_sparse_rows_and_weights_are_noticed_too():
    model = classifier(solver="gd", precondition=None)
    rows, weights = sp.csr_array(np.where(X > 0, X, 0.0)), np.linspace(0.2, 0.9, len(X))
    model.partial_fit(rows, BINARY, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        warnings.simplefilter("ignore", skdp.SeededNoiseWarning)
        model.partial_fit(rows, BINARY, sample_weight=weights[::-1])
    with pytest.warns(PrivacyLeakWarning, match=AGAIN):
        model.partial_fit(rows, BINARY, sample_weight=weights)


@pytest.mark.parametrize("solver", ["gd", "blocks", "ftrl"])
def test_rows_that_are_new_cost_what_they_did(solver):
    model = classifier(solver=solver, precondition=None)
    for k in range(0, 640, 80):
        assert not again(model, slice(k, k + 80))
    assert model.privacy_spent_.epsilon <= EPSILON


def test_small_calls_and_calls_of_few_different_rows_are_passed_over():
    model = classifier(solver="gd", precondition=None)
    for _ in range(3):
        assert not again(model, slice(0, 31))
        few = np.repeat(X[:16], 10, axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", PrivacyLeakWarning)
            warnings.simplefilter("ignore", skdp.SeededNoiseWarning)
            model.partial_fit(few, np.repeat(BINARY[:16], 10))
    assert model.privacy_spent_.epsilon == pytest.approx(EPSILON)


def test_the_warning_says_what_came_what_it_costs_and_what_to_do():
    model = classifier(solver="gd", precondition=None)
    again(model)
    with pytest.warns(PrivacyLeakWarning) as said:
        model.partial_fit(X, BINARY)
    (message,) = [str(w.message) for w in said]
    assert "as 2 fits on the same rows" in message
    assert f"up to epsilon={gdp.epsilon(np.sqrt(2) * MU, DELTA):.6g} at delta=1e-05" in message
    assert "call fit once" in message
    assert said[0].filename == __file__


def test_a_warning_that_is_an_error_takes_no_row():
    model = classifier(solver="gd", precondition=None)
    again(model)
    spent, coef = model.privacy_spent_, model.coef_
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        with pytest.raises(PrivacyLeakWarning, match=AGAIN):
            model.partial_fit(X, BINARY)
    assert model.coef_ is coef
    assert (model.n_samples_seen_, model.privacy_spent_) == (len(X), spent)


def test_a_call_of_which_no_row_was_taken_may_be_sent_again():
    model = classifier(solver="ftrl", horizon=700)
    assert not again(model, slice(0, 100))
    for _ in range(3):
        with pytest.raises(ValueError, match="declared horizon"):
            model.partial_fit(X, BINARY)
    for k in range(100, 600, 100):
        assert not again(model, slice(k, k + 100))
    assert model.privacy_spent_.epsilon <= EPSILON


def test_a_call_that_failed_after_its_rows_were_taken_has_come():
    model = classifier(solver=Failing(2), precondition=None)
    again(model, slice(0, 100))
    with pytest.raises(MemoryError):
        model.partial_fit(X[100:200], BINARY[100:200])
    assert again(model, slice(100, 200))


def test_digests_go_into_checkpoints_and_not_into_pickles(tmp_path):
    model = classifier(solver="gd", precondition=None)
    again(model)
    digests = vars(vars(model)["_session"].calls)["_counts"]
    (digest,) = digests
    key = vars(vars(model)["_session"].calls)["_key"]

    # Six bytes that numbers have in a pickle, which writes them without leading zeros.
    def low_bytes(secret, order):
        return (secret % 2**48).to_bytes(6, order)

    for secret in (digest, key):
        for order in ("little", "big"):
            assert low_bytes(secret, order) not in pickle.dumps(model)
    save_checkpoint(model, tmp_path / "stream")
    assert low_bytes(digest, "little") in (tmp_path / "stream").read_bytes()
    assert again(load_checkpoint(tmp_path / "stream"))


def test_what_is_not_noticed_is_what_the_page_says():
    model = classifier(solver="gd", precondition=None)
    again(model, slice(0, 200))
    # Other calls, one row at a time, and a stream that goes on from a pickle.
    assert not again(model, slice(0, 199))
    for k in range(5):
        assert not again(model, slice(k, k + 1))
    assert not again(pickle.loads(pickle.dumps(model)), slice(0, 200))


def test_a_repetition_counts_beside_the_fit_before_the_stream():
    model = classifier(solver="gd", precondition=None).fit(X, BINARY)
    again(model)
    assert again(model)
    mu = np.sqrt(1 + 2) * MU
    assert model.privacy_spent_.epsilon == pytest.approx(gdp.epsilon(mu, DELTA), rel=1e-6)


def test_choices_of_blocks_count_as_those_of_a_group():
    model = lasso(solver=Blocks(first=40, solver="screening"))
    assert not again(model)
    spent = model.privacy_spent_
    assert again(model)
    assert model.privacy_spent_.epsilon > 1.9 * spent.epsilon
    assert model.privacy_spent_.delta == spent.delta


def test_minimisers_count_for_a_group_of_rows_at_the_same_delta():
    solver = Blocks(first=40, solver="objective_perturbation")
    model = classifier(solver=solver, precondition=None, epsilon=0.5)
    again(model)
    assert again(model)
    # By epsilon and delta alone a group of two has twice the epsilon, and more than twice delta.
    epsilon, delta = model.privacy_spent_
    assert 1.0 < epsilon < 1.3
    assert delta == DELTA
    assert all(event.of_units for event in model.privacy_ledger_)
