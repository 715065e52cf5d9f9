"""A stream goes on in one thread at a time and in one process, also after an interruption."""

import multiprocessing
import sys
import threading

import numpy as np
import pytest

from skdp import DPContextualBandit, DPLogisticRegression, load_checkpoint, save_checkpoint
from skdp.estimators import checkpoints
from skdp.privacy import PrivateOracle, opened_by
from skdp.privacy.queries import StreamTermQuery
from skdp.privacy.rows import DenseRows, RowBuffer
from skdp.privacy.streams import StreamSession
from skdp.solvers import FTRL, Blocks

N, D = 120, 2
X = np.arange(1, N + 1)[:, None] / N * np.ones((1, D))
Y = np.arange(N) % 2


def keeping(**options):
    return DPLogisticRegression(
        **{"data_norm": 2.0, "classes": [0, 1], "solver": Blocks(first=20, largest=20)} | options
    )


def summing(**options):
    return keeping(solver="ftrl", buffer=False, **options)


def numbers(rows):
    return np.rint(rows.X[:, 0] * N).astype(int).tolist()


class Slow(RowBuffer):
    """Lets other threads go first in the middle of a copy."""

    def append(self, rows):
        features, rest = DenseRows(rows.X, rows.y), threading.Event()
        for store in (self._X, self._y):
            honest = store.extend
            store.extend = lambda values, honest=honest: (honest(values), rest.wait(1e-4))
        super().append(features)


def handed_by_threads(monkeypatch):
    """Rows and labels of all fits, from a stream that four threads feed row by row."""
    handed, failed = [], []

    def listen(rows, *rest):
        handed.extend(zip(numbers(rows), rows.y.tolist(), strict=True))
        return PrivateOracle(rows, *rest)

    monkeypatch.setattr("skdp.estimators.partial_fit.RowBuffer", Slow)
    model = keeping().partial_fit(X[:1], Y[:1])

    def feed(first):
        try:
            with opened_by(listen):
                for i in range(first, N, 4):
                    model.partial_fit(X[i : i + 1], Y[i : i + 1])
        except Exception as failure:
            failed.append(failure)

    threads = [threading.Thread(target=feed, args=(first,)) for first in range(1, 5)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return handed, failed


def check_threads(monkeypatch):
    handed, failed = handed_by_threads(monkeypatch)
    assert not failed
    assert sorted(i for i, _ in handed) == list(range(1, N + 1))
    # Every row has its own label still.
    assert all(label == (i - 1) % 2 for i, label in handed)


def test_threads_that_feed_one_stream_take_turns(monkeypatch):
    check_threads(monkeypatch)


# Processes.


def bandit():
    return DPContextualBandit(arms=[0, 1], horizon=N, data_norm=2.0)


def feed(model, start, stop):
    part = slice(start, stop)
    if isinstance(model, DPContextualBandit):
        model.partial_fit(X[part], Y[part], Y[part].astype(float))
    else:
        model.partial_fit(X[part], Y[part])
    return model


def outcome_in_a_child(action):
    """What an action raises in a forked child, as text; 'done' if nothing."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def work():
        try:
            action()
        except Exception as failure:
            sending.send(str(failure))
        else:
            sending.send("done")

    child = context.Process(target=work)
    child.start()
    outcome = receiving.recv()
    child.join()
    return outcome


forking = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot fork"
)
every_secretive_model = pytest.mark.parametrize(
    "make",
    [keeping, summing, bandit],
)


@forking
@every_secretive_model
@pytest.mark.filterwarnings("ignore:.*has learned nothing yet")
def test_a_forked_child_cannot_go_on_with_the_stream_of_its_parent(make, tmp_path):
    model = feed(make(), 0, 10)
    outcome = outcome_in_a_child(lambda: feed(model, 10, 20))
    assert "forked" in outcome
    outcome = outcome_in_a_child(lambda: save_checkpoint(model, tmp_path / "stream"))
    assert "none to go on with" in outcome
    assert outcome_in_a_child(lambda: model.predict(X)) == "done"
    feed(model, 10, 20)


@forking
def test_a_forked_child_may_take_the_stream_out_of_a_checkpoint(tmp_path):
    model = feed(keeping(), 0, 10)
    save_checkpoint(model, tmp_path / "stream")

    def go_on():
        assert feed(load_checkpoint(tmp_path / "stream"), 10, 30).n_samples_seen_ == 30

    assert outcome_in_a_child(go_on) == "done"


@forking
def test_batches_that_share_no_secret_go_on_in_a_child():
    model = feed(keeping(solver="gd"), 0, 40)
    assert outcome_in_a_child(lambda: feed(model, 40, 80)) == "done"


# Interruptions.


@every_secretive_model
def test_a_stream_is_never_in_two_places(make, tmp_path, monkeypatch):
    """Whenever writing is interrupted, either the file can go on or the model."""
    model = feed(make(), 0, 10)

    def interrupted(number):
        assert "_session" not in vars(model)
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(model, tmp_path / "stream")
    assert not (tmp_path / "stream").exists()
    feed(model, 10, 20)


def test_an_interrupted_copy_does_not_mix_up_rows(monkeypatch):
    model = keeping().partial_fit(X[:5], Y[:5])
    labels, honest = model._session._buffer._y, model._session._buffer._y.extend

    def interrupted(values):
        raise KeyboardInterrupt

    labels.extend = interrupted
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[5:7], Y[5:7])
    labels.extend = honest
    assert model.n_samples_seen_ == 7
    handed = []

    def listen(rows, *rest):
        handed.extend(zip(numbers(rows), rows.y.tolist(), strict=True))
        return PrivateOracle(rows, *rest)

    with opened_by(listen):
        model.partial_fit(X[7:40], Y[7:40])
    expected = [i for i in range(1, 41) if i not in (6, 7)]
    assert handed == [(i, (i - 1) % 2) for i in expected]


def test_a_block_that_was_full_when_it_was_interrupted_is_fitted_with_the_next_call(monkeypatch):
    model = keeping()
    honest = RowBuffer.append

    def interrupted(self, rows):
        honest(self, rows)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RowBuffer, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[:20], Y[:20])
    assert model.privacy_spent_.epsilon == 0
    model.partial_fit(X[20:21], Y[20:21])
    assert model.privacy_spent_.epsilon > 0
    assert {(e.part.start, e.part.stop) for e in model.privacy_ledger_} == {(0, 20)}


def test_rows_that_were_read_before_an_interruption_count_as_taken(monkeypatch):
    """Whoever passes in the rows beyond those that count does not pass in any of them twice."""
    read, honest_read = [], StreamSession.read
    honest = StreamTermQuery.evaluate

    def noted(self, rows):
        read.extend(numbers(rows))
        return honest(self, rows)

    def interrupted(self, rows):
        honest_read(self, rows)
        raise KeyboardInterrupt

    monkeypatch.setattr(StreamTermQuery, "evaluate", noted)
    # Batches of 30 rows, so that the one which is interrupted goes on.
    model = keeping(solver=FTRL(batches=4), buffer=False, horizon=N).partial_fit(X[:1], Y[:1])
    with monkeypatch.context() as patch:
        patch.setattr(StreamSession, "read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[1:2], Y[1:2])
    start = model.n_samples_seen_
    model.partial_fit(X[start : start + 5], Y[start : start + 5])
    assert read == [1, 2, 3, 4, 5, 6, 7]


def test_a_part_that_was_opened_before_a_failure_is_on_the_receipt(monkeypatch):
    model = summing().partial_fit(X[:1], Y[:1])
    first = model._session._stream.receipts[0][0]

    def failing(self, rows):
        raise MemoryError

    rest = np.tile(X, (9, 1))[: first - 1]
    model.partial_fit(rest, np.zeros(first - 1))
    monkeypatch.setattr(StreamTermQuery, "evaluate", failing)
    with pytest.raises(MemoryError):
        model.partial_fit(X[:1], Y[:1])
    parts = {(e.part.start, e.part.stop) for e in model.privacy_ledger_}
    assert parts == {(0, first), (first, 2 * first)}
