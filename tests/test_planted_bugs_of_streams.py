"""Bugs planted in streams, each caught by a check that a stream without them passes."""

import pickle

import numpy as np
import pytest

from skdp import DPLogisticRegression
from skdp.estimators.base import PrivateLinearModel
from skdp.estimators.partial_fit import BlockSession
from skdp.privacy.accounting.ledger import PrivacySpent
from skdp.privacy.rows.buffer import RowBuffer
from skdp.report.parallel import Parts
from skdp.solvers import Blocks
from skdp.testing import check_parts, record_partial_fit, replay_partial_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 200, 3
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(N, D))
Y = (X[:, 0] > 0).astype(int)
MARKER = np.float64(0.1234567890123)
X[170] = MARKER


def make(**options):
    return DPLogisticRegression(
        **{"data_norm": 2.0, "classes": [0, 1], "solver": Blocks(first=40), "random_state": 0}
        | options
    )


def stream(model, start=0, stop=N):
    for k in range(start, stop, 20):
        model.partial_fit(X[k : k + 20], Y[k : k + 20])
    return model


def check_all(model):
    """What a stream promises, as far as one stream shows it."""
    stream(model)
    check_parts(model)
    parts = sorted({e.part for e in model.privacy_ledger_}, key=lambda p: p.start)
    assert [(p.start, p.stop) for p in parts] == [(0, 40), (40, 80), (80, 160)]
    assert MARKER.tobytes() not in pickle.dumps(model), "a row travels with the model"
    copied = pickle.loads(pickle.dumps(model))
    assert copied.privacy_spent_ == model.privacy_spent_, "a copy forgets what was spent"


def check_blocks_are_disjoint(monkeypatch):
    """Every row is handed to one fit."""
    asked = []
    fit_part = PrivateLinearModel._fit_part

    def listen(self, rows, *args, **options):
        asked.append(rows.X.copy())
        return fit_part(self, rows, *args, **options)

    monkeypatch.setattr(PrivateLinearModel, "_fit_part", listen)
    stream(make())
    handed = np.concatenate(asked)
    assert len(np.unique(handed, axis=0)) == len(handed), "a row is in two blocks"
    np.testing.assert_array_equal(handed, X[: len(handed)])


def test_a_stream_without_bugs_passes(monkeypatch):
    check_all(make())
    check_blocks_are_disjoint(monkeypatch)


def test_a_restarted_stream_that_forgets_what_it_spent_is_caught(monkeypatch):
    close = BlockSession._close_block

    def restart(self, model, block):
        model._progress.parts = Parts()
        close(self, model, block)

    monkeypatch.setattr(BlockSession, "_close_block", restart)
    with pytest.raises(AssertionError):
        check_all(make())


def test_a_spend_that_is_that_of_the_latest_part_is_caught(monkeypatch):
    def latest(self):
        return self._receipts[-1].spent if self._receipts else PrivacySpent(0.0, 0.0)

    monkeypatch.setattr(Parts, "spent", latest)
    model = make(solver="gd", precondition=None)
    for start, stop in ((0, 100), (100, 200)):
        model.partial_fit(X[start:stop], Y[start:stop])
    # A part that could not spend all that it might have.
    model._progress.parts._receipts[-1] = _cheaper(model._progress.parts._receipts[-1])
    model._publish_receipt()
    with pytest.raises(AssertionError, match="is reported where"):
        check_parts(model)


def _cheaper(receipt):
    return type(receipt)(receipt.part, receipt.events[:0], PrivacySpent(0.5, receipt.spent.delta))


def test_a_spend_that_is_the_sum_of_the_parts_is_caught(monkeypatch):
    def summed(self):
        return PrivacySpent(sum(r.spent.epsilon for r in self._receipts), 1e-5)

    monkeypatch.setattr(Parts, "spent", summed)
    with pytest.raises(AssertionError, match="is reported where"):
        check_all(make())


def test_parts_that_overlap_are_caught(monkeypatch):
    honest = Parts.open

    def late(self, n_samples, ledger):
        self._stop = max(0, self._stop - 1)
        honest(self, n_samples, ledger)

    monkeypatch.setattr(Parts, "open", late)
    with pytest.raises(AssertionError, match="are in two parts"):
        check_all(make())


def test_a_row_in_two_blocks_is_caught(monkeypatch):
    close = BlockSession._close_block

    def keep_last(self, model, block):
        close(self, model, block)
        self._buffer = RowBuffer(D, False)
        self._buffer.append(block.part(block.n_samples - 1, block.n_samples))

    monkeypatch.setattr(BlockSession, "_close_block", keep_last)
    with pytest.raises(AssertionError):
        check_blocks_are_disjoint(monkeypatch)


def test_a_buffer_in_the_pickle_is_caught(monkeypatch):
    monkeypatch.setattr(PrivateLinearModel, "__getstate__", lambda self: vars(self).copy())
    monkeypatch.setattr("skdp.privacy.randomness.SecretNoise.__reduce__", lambda self: (object, ()))
    with pytest.raises(AssertionError, match="a row travels with the model"):
        check_all(make())


def test_a_cut_that_depends_on_rows_is_caught(monkeypatch):
    close = BlockSession._close_block

    def early(self, model, block):
        close(self, model, block)
        self._cut += int(np.sum(block.y)) % 7

    monkeypatch.setattr(BlockSession, "_close_block", early)
    calls = [(X[k : k + 20], Y[k : k + 20]) for k in range(0, N, 20)]
    transcripts = record_partial_fit(make(), calls)
    garbage = [(np.ones((20, D)), np.zeros(20, dtype=int)) for _ in calls]
    with pytest.raises((AssertionError, IndexError)):
        replay_partial_fit(make(), garbage, transcripts)
