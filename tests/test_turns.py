"""Two calls never fit one object at once, so that each model has the receipt of its own fit."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from interruptions import interrupted_everywhere

from skdp import (
    DPContextualBandit,
    DPLinearRegression,
    DPLogisticRegression,
    PrivacyBudget,
    load_checkpoint,
    save_checkpoint,
)
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import DPStandardScaler
from skdp.privacy import PrivateOracle, run_locked

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(200, 2))
Y = (X[:, 0] > 0).astype(int)


def logistic(**options):
    given = {"data_norm": 2.0, "classes": [0, 1], "solver": "gd", "precondition": None}
    return DPLogisticRegression(**given | options)


def bandit(**options):
    return DPContextualBandit(arms=[0, 1], data_norm=2.0, horizon=400, **options)


def fit(model):
    if isinstance(model, DPContextualBandit):
        return model.fit(X, Y, Y.astype(float))
    return model.fit(X, Y)


LEARNERS = [
    logistic,
    lambda: DPLinearRegression(data_norm=2.0, target_bounds=(0, 1)),
    lambda: DPStandardScaler(bounds=(-1, 1)),
    lambda: DPGridSearchCV(logistic(), {"C": [1.0]}, epsilon=8.0, n_iter=1),
]
every_learner = pytest.mark.parametrize(
    "make", LEARNERS, ids=["classifier", "regressor", "scaler", "search"]
)


class Pause:
    """Lets the first fit that asks a query wait until it is told to go on."""

    def __init__(self, monkeypatch):
        self.asked, self.go_on = threading.Event(), threading.Event()
        honest = PrivateOracle._release

        def release(oracle, *args, **options):
            if not self.asked.is_set():
                self.asked.set()
                assert self.go_on.wait(60)
            return honest(oracle, *args, **options)

        monkeypatch.setattr(PrivateOracle, "_release", release)


def while_fitting(model, action, pause):
    """What an action raises while a thread is in the middle of ``fit``; None if nothing."""
    with ThreadPoolExecutor(1) as pool:
        fitted = pool.submit(fit, model)
        assert pause.asked.wait(60)
        try:
            action()
        except Exception as failure:
            caught = failure
        else:
            caught = None
        finally:
            pause.go_on.set()
        fitted.result()
    return caught


@every_learner
def test_a_second_fit_of_the_same_object_is_refused_and_the_first_goes_on(make, monkeypatch):
    model = make()
    with PrivacyBudget(epsilon=50.0, delta=1e-4, accounting="sums") as budget:
        failure = while_fitting(model, lambda: fit(model), Pause(monkeypatch))
    assert isinstance(failure, RuntimeError)
    assert "Fit a clone in each thread" in str(failure)
    # What was spent is on the receipt, and nothing else was.
    (entry,) = budget.receipts
    assert entry.spent == model.privacy_spent_
    fit(model)


@every_learner
def test_a_malformed_call_does_not_undo_the_fit_beside_it(make, monkeypatch):
    model = make()
    failure = while_fitting(model, lambda: model.fit(X[:0], Y[:0]), Pause(monkeypatch))
    assert isinstance(failure, RuntimeError)
    assert model.privacy_spent_.epsilon > 0
    assert model.privacy_ledger_


def check_receipt(monkeypatch):
    """The model that is there at the end stands beside its own receipt."""
    model = logistic(epsilon=1.0)

    def cheaper():
        model.set_params(epsilon=0.01).fit(X, Y)

    while_fitting(model, cheaper, Pause(monkeypatch))
    # The first fit has ended last, so the coefficients are those of epsilon = 1.
    assert model.privacy_spent_.epsilon == pytest.approx(1.0)


def test_a_dear_model_never_stands_beside_a_cheap_receipt(monkeypatch):
    check_receipt(monkeypatch)


def test_calls_of_a_stream_wait_for_a_fit_and_go_on_from_it(monkeypatch):
    model, pause = logistic(), Pause(monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        fitted = pool.submit(fit, model)
        assert pause.asked.wait(60)
        added = pool.submit(model.partial_fit, X[:50], Y[:50])
        assert not added.done()
        pause.go_on.set()
        fitted.result()
        added.result()
    assert model.n_samples_seen_ == 250
    assert len({event.part for event in model.privacy_ledger_}) == 2


@pytest.mark.parametrize("make", [logistic, bandit], ids=["model", "bandit"])
def test_threads_that_begin_one_stream_begin_it_once(make):
    model, start = make(), threading.Barrier(4)

    def feed(k):
        start.wait()
        rows = slice(50 * k, 50 * k + 50)
        if isinstance(model, DPContextualBandit):
            return model.partial_fit(X[rows], Y[rows], Y[rows].astype(float))
        return model.partial_fit(X[rows], Y[rows])

    with ThreadPoolExecutor(4) as pool, PrivacyBudget(epsilon=1.0, delta=1e-5) as budget:
        assert len([*pool.map(feed, range(4))]) == 4
    seen = model.n_seen_ if isinstance(model, DPContextualBandit) else model.n_samples_seen_
    assert seen == 200
    assert len(budget.receipts) == 1


def test_a_thread_that_comes_back_while_another_is_at_work_waits_like_others():
    model, inside, go_on = logistic(), threading.Event(), threading.Event()

    def slow():
        inside.set()
        assert go_on.wait(60)

    run_locked(model, "partial_fit", lambda: None, waits=True)
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(run_locked, model, "partial_fit", slow, waits=True)
        assert inside.wait(60)
        threading.Timer(0.05, go_on.set).start()
        assert run_locked(model, "partial_fit", lambda: 1, waits=True) == 1
        held.result()


def test_an_interruption_at_any_line_leaves_nobody_locked_out():
    model = logistic()
    for _ in interrupted_everywhere(lambda: run_locked(model, "fit", lambda: None)):
        assert run_locked(model, "fit", lambda: "free") == "free"


def test_a_stream_moves_to_a_file_between_two_calls(tmp_path):
    model = DPLogisticRegression(data_norm=2.0, classes=[0, 1]).partial_fit(X[:5], Y[:5])
    with ThreadPoolExecutor(1) as pool:

        def busy():
            saved = pool.submit(save_checkpoint, model, tmp_path / "stream")
            assert not saved.done()
            assert "_session" in vars(model)
            return saved

        run_locked(model, "partial_fit", busy).result()
    assert load_checkpoint(tmp_path / "stream").n_samples_seen_ == 5


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot fork"
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_of_its_parent():
    model, context = logistic(), multiprocessing.get_context("fork")
    spent = context.SimpleQueue()
    child = context.Process(target=lambda: spent.put(fit(model).privacy_spent_.epsilon))

    def busy():
        child.start()
        child.join()

    run_locked(model, "fit", busy)
    assert child.exitcode == 0
    assert spent.get() == pytest.approx(1.0)
    assert not hasattr(model, "privacy_spent_")
