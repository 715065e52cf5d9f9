"""Processes that are killed: what they leave behind never under-reports what was spent."""

import os
import pickle
import signal
import struct
import time

import numpy as np
import pytest

from skdp import DPLogisticRegression, PrivacyBudget, load_checkpoint, save_checkpoint
from skdp.privacy import PrivateOracle
from skdp.privacy.accounting import Ledger
from skdp.solvers import GD

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(30, 2))
Y = (X[:, 0] > 0).astype(int)
DELTA = 1e-5


def model(epsilon=0.1, **parameters):
    given = {"classes": [0, 1], "data_norm": 2.0, "precondition": None, "solver": GD(steps=3)}
    return DPLogisticRegression(epsilon=epsilon, delta=DELTA, **(given | parameters))


def killed_while(work, after):
    """Let a child work, kill it so many numbers later, and return all that it has sent."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            work(lambda number: os.write(writer, struct.pack("d", number)))
        finally:
            os._exit(1)
    os.close(writer)
    got = b""
    while len(got) < 8 * after:
        more = os.read(reader, 8)
        assert more, "the child has ended by itself"
        got += more
    # Anywhere between two numbers.
    time.sleep(after % 7 * 1e-4)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reader, 4096):
        got += more
    os.close(reader)
    return struct.unpack(f"{len(got) // 8}d", got)


@pytest.mark.parametrize("after", [1, 2, 5, 12])
def test_a_budget_holds_all_that_was_released_in_a_killed_process(after):
    def work(send):
        honest, total = PrivateOracle._release, {}

        def release(self, query, spend):
            answer = honest(self, query, spend)
            total[id(self._ledger)] = self._ledger.total, self._ledger
            send(sum(amount for amount, _ in total.values()))
            return answer

        PrivateOracle._release = release
        while True:
            model().fit(X, Y)

    with PrivacyBudget(10.0, DELTA) as ceiling:
        released = killed_while(work, after)
        on_the_book = sum(entry.amount for entry in ceiling.receipts)
        assert on_the_book >= released[-1] * (1 - 1e-12) > 0
        model().fit(X, Y)
        assert ceiling.spent.epsilon <= 10.0


@pytest.mark.parametrize("after", [1, 2, 3, 5, 8, 13])
@pytest.mark.by_day(3)
def test_files_of_a_killed_stream_hold_all_that_was_charged(after, tmp_path):
    """Of the checkpoint there is one, in one place; pickles may be old, and say how old."""

    def work(send):
        charged, honest = 0, Ledger._record

        def record(self, event):
            nonlocal charged
            honest(self, event)
            charged += 1

        Ledger._record = record
        stream, k = model().partial_fit(X, Y), 0
        while True:
            with open(tmp_path / "new", "wb") as file:
                pickle.dump((stream, charged), file)
            os.replace(tmp_path / "new", tmp_path / "pickle")
            save_checkpoint(stream, tmp_path / "stream")
            send(k)
            stream = load_checkpoint(tmp_path / "stream").partial_fit(X, Y)
            k += 1

    killed_while(work, after)
    old, charged = pickle.loads((tmp_path / "pickle").read_bytes())
    assert sum(event.count for event in old.privacy_ledger_) >= min(charged, 3)
    assert old.privacy_spent_.epsilon == 0.1
    left = [path for path in tmp_path.iterdir() if path.name.startswith("stream")]
    assert len(left) <= 1
    for path in left:
        try:
            stream = load_checkpoint(path)
        except ValueError:
            # It was killed while it wrote: of a half of a file nothing goes on.
            assert path.exists()
            continue
        assert stream.privacy_spent_.epsilon == 0.1
        assert stream.n_samples_seen_ % len(X) == 0
        parts = {event.part.stop for event in stream.privacy_ledger_}
        assert max(parts) == stream.n_samples_seen_
        assert not path.exists()
