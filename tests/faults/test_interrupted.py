"""Whatever line a call is interrupted at, receipts hold what was charged and things go on."""

import copy
import pickle
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from interruptions import Lines, noted_ledgers
from sklearn.base import clone

from skdp import (
    DPContextualBandit,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
)
from skdp.preprocessing import DPStandardScaler
from skdp.privacy import PrivateOracle
from skdp.privacy.streams import StreamSession
from skdp.reporting import ParallelComposition
from skdp.solvers import FTRL, GD

RNG = np.random.default_rng(0)
N = 40
X = RNG.uniform(-1, 1, size=(N, 2))
# So that rows are known again.
X[:, 0] = np.arange(1, N + 1) / N
Y, R = (X[:, 1] > 0).astype(int), X[:, 1].copy()
EPSILON = 1.0
_LOGISTIC = {"classes": [0, 1], "data_norm": 2.0, "precondition": None}
FITS = {
    "logistic": (DPLogisticRegression(epsilon=EPSILON, solver=GD(steps=3), **_LOGISTIC), (X, Y)),
    "machine": (DPSVMClassifier(epsilon=EPSILON, solver=GD(steps=2), **_LOGISTIC), (X, Y)),
    "linear": (
        DPLinearRegression(epsilon=EPSILON, data_norm=2.0, target_bounds=(-1, 1), solver="adassp"),
        (X, R),
    ),
    "scaler": (DPStandardScaler(epsilon=EPSILON, bounds=(-1, 1)), (X,)),
    "bandit": (
        DPContextualBandit(
            [0, 1], epsilon=EPSILON, data_norm=2.0, reward_bounds=(-1, 1), policy="sparse"
        ),
        (X, Y, R),
    ),
}
_MODEL = ("coef_", "mean_", "scale_", "_rule")


def published(model):
    return {name for name in _MODEL if name in vars(model)}


def spent(model):
    return model.privacy_spent_.epsilon if "privacy_spent_" in vars(model) else 0.0


def lines_to_try(run, seed, at_the_end=40):
    """Random ones, and some of the last, where receipts are written."""
    with Lines() as lines:
        run()
    public_rng = np.random.default_rng(seed)
    last = max(1, lines.count - 1500)
    return sorted(
        {
            *public_rng.integers(1, lines.count + 1, size=20).tolist(),
            *public_rng.integers(last, lines.count + 1, size=at_the_end).tolist(),
        }
    )


def check_interrupted_fits(name, monkeypatch, failure=KeyboardInterrupt, earlier=False):
    made, columns = FITS[name]
    for line in lines_to_try(lambda: clone(made).fit(*columns), seed=1):
        model = clone(made)
        if earlier:
            model.fit(*columns)
        with noted_ledgers(monkeypatch) as ledgers:
            try:
                with Lines(line, failure):
                    model.fit(*columns)
            except failure:
                pass
        charged = max((ledger.spent().epsilon for ledger in ledgers), default=0.0)
        # A bandit pays before it has looked at a row; until it looks the run may be taken back.
        taken_back = name == "bandit" and set(vars(model)) == set(vars(clone(made)))
        assert taken_back or spent(model) >= charged, f"line {line}: an under-reported charge"
        assert not published(model) or "privacy_spent_" in vars(model), f"line {line}: no receipt"
        model.fit(*columns)
        assert published(model)
        assert 0 < spent(model) <= EPSILON


@pytest.mark.parametrize("name", FITS)
@pytest.mark.by_day(3)
def test_a_fit_may_be_interrupted_at_any_line(name, monkeypatch):
    check_interrupted_fits(name, monkeypatch)


def test_a_fit_after_a_fit_may_be_interrupted_at_any_line(monkeypatch):
    check_interrupted_fits("linear", monkeypatch, earlier=True)


def test_memory_may_run_out_at_any_line(monkeypatch):
    check_interrupted_fits("linear", monkeypatch, failure=MemoryError)


def test_a_receipt_that_is_only_written_in_the_end_is_caught(monkeypatch):
    """The planted bug that these tests are for."""
    monkeypatch.setattr(ParallelComposition, "open", lambda self, n, ledger: None)
    monkeypatch.setattr(ParallelComposition, "settle", lambda self, ledger: self.add(N, ledger))
    with pytest.raises(AssertionError, match="under-reported"):
        check_interrupted_fits("linear", monkeypatch)


def streams():
    yield DPLogisticRegression(epsilon=EPSILON, solver=GD(steps=2), **_LOGISTIC)
    yield DPLogisticRegression(epsilon=EPSILON, solver="blocks", **_LOGISTIC)
    yield DPLogisticRegression(
        epsilon=EPSILON, solver=FTRL(batches=4), horizon=10 * N, buffer=False, **_LOGISTIC
    )


@pytest.mark.parametrize("made", [*streams()], ids=["batches", "blocks", "ftrl"])
@pytest.mark.by_day(1)
def test_a_stream_may_be_interrupted_at_any_line(made, monkeypatch):
    """No row is asked about in two parts, or read twice, if rows that count are left out."""

    def start():
        return clone(made).partial_fit(X[:20], Y[:20])

    read, honest = [], StreamSession.read

    def noted(self, rows):
        read.extend(np.rint(np.asarray(rows.X)[:, 0] * N).astype(int).tolist())
        return honest(self, rows)

    monkeypatch.setattr(StreamSession, "read", noted)
    for line in lines_to_try(
        partial(start().partial_fit, X[20:30], Y[20:30]), seed=2, at_the_end=8
    ):
        model = start()
        read.clear()
        with noted_ledgers(monkeypatch) as ledgers:
            try:
                with Lines(line):
                    model.partial_fit(X[20:30], Y[20:30])
            except KeyboardInterrupt:
                pass
        charged = max((ledger.spent().epsilon for ledger in ledgers), default=0.0)
        assert spent(model) >= charged, f"line {line}"
        taken = model.n_samples_seen_
        assert 20 <= taken <= 30
        # What a session holds that was interrupted while it read, nobody could say.
        refused = pytest.raises(RuntimeError, match="interrupted")
        session = vars(model)["_session"]
        stuck = "_stream" in vars(session) and session._stream._session.missing < 0
        with refused if stuck else nullcontext():
            model.partial_fit(X[taken:35], Y[taken:35])
        assert len(read) == len(set(read)), f"line {line}: a row was read twice"
        assert spent(model) <= EPSILON
        model.fit(X, Y)


@pytest.mark.parametrize("name", ["logistic", "linear", "scaler"])
def test_a_pickle_made_in_the_middle_of_a_fit_never_under_reports(name, monkeypatch):
    """As a thread would that saves what there is from time to time."""
    made, columns = FITS[name]
    model, honest, seen = clone(made), PrivateOracle._release, []

    def release(self, query, spend):
        answer = honest(self, query, spend)
        for duplicate in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
            assert spent(duplicate) >= self._ledger.spent().epsilon > 0
        seen.append(query)
        return answer

    monkeypatch.setattr(PrivateOracle, "_release", release)
    model.fit(*columns)
    assert seen
    assert model.privacy_ledger_
