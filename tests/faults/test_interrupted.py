"""Whatever line a call is interrupted at, receipts hold what was charged and things go on."""

import copy
import pickle
from contextlib import nullcontext, suppress
from functools import partial

import numpy as np
import pytest
from interruptions import Lines, lines_to_try, most_charged, noted_ledgers, spent
from sklearn.base import clone

from skdp import DPContextualBandit, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.preprocessing import DPStandardScaler
from skdp.privacy import PrivateOracle
from skdp.privacy.streams import StreamSession
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


def check_interrupted_fits(name, failure=KeyboardInterrupt, earlier=False):
    made, columns = FITS[name]
    for line in {*lines_to_try(lambda: clone(made).fit(*columns), 1, 20, 40)}:
        model = clone(made)
        if earlier:
            model.fit(*columns)
        with noted_ledgers() as ledgers, suppress(failure), Lines(line, failure):
            model.fit(*columns)
        charged = most_charged(ledgers)
        # A bandit pays before it has looked at a row; until it looks the run may be taken back.
        taken_back = name == "bandit" and set(vars(model)) == set(vars(clone(made)))
        assert taken_back or spent(model) >= charged, f"line {line}: an under-reported charge"
        assert not published(model) or "privacy_spent_" in vars(model), f"line {line}: no receipt"
        model.fit(*columns)
        assert published(model)
        assert 0 < spent(model) <= EPSILON


@pytest.mark.parametrize("name", FITS)
@pytest.mark.by_day(3)
def test_a_fit_may_be_interrupted_at_any_line(name):
    check_interrupted_fits(name)


def test_a_fit_after_a_fit_may_be_interrupted_at_any_line():
    check_interrupted_fits("linear", earlier=True)


def test_memory_may_run_out_at_any_line():
    check_interrupted_fits("linear", failure=MemoryError)


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
    for line in {*lines_to_try(partial(start().partial_fit, X[20:30], Y[20:30]), 2, 20, 8)}:
        model = start()
        read.clear()
        with noted_ledgers() as ledgers, suppress(KeyboardInterrupt), Lines(line):
            model.partial_fit(X[20:30], Y[20:30])
        assert spent(model) >= most_charged(ledgers), f"line {line}"
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
