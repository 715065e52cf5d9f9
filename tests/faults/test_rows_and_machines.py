"""Rows that are read-only, mapped, or move; numbers that are none; clocks; forks in a fit."""

import os
import threading
from math import isfinite

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skdp import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
)
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler, RowNormClipper
from skdp.privacy import PrivateOracle
from skdp.privacy.queries import GradientQuery
from skdp.problem.losses import Logistic
from skdp.solvers import GD

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(60, 3))
Y, R = (X[:, 0] > 0).astype(np.int64), X[:, 1].copy()
_GD = {"data_norm": 2.0, "solver": GD(steps=3), "random_state": 0}
MODELS = {
    "logistic": (DPLogisticRegression(classes=[0, 1], **_GD), (X, Y)),
    "machine": (DPSVMClassifier(classes=[0, 1], **_GD), (X, Y)),
    "linear": (DPLinearRegression(target_bounds=(-1, 1), **_GD), (X, R)),
    "lasso": (
        DPLassoRegressor(
            data_norm=2.0,
            target_bounds=(-1, 1),
            random_state=0,
        ),
        (X, R),
    ),
    "bandit": (
        DPContextualBandit(
            [0, 1],
            data_norm=2.0,
            reward_bounds=(-1, 1),
            horizon=200,
            policy="sparse",
            random_state=0,
        ),
        (X, Y, R),
    ),
    "scaler": (DPStandardScaler(bounds=(-1, 1), random_state=0), (X,)),
    "range": (DPMinMaxScaler(epsilon=50.0, bounds=(-1, 1), random_state=0), (X,)),
    "bounds": (BoundsScaler((-1, 1)), (X,)),
    "clipper": (RowNormClipper(0.5), (X,)),
}
pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")


def used(model, columns):
    """All numbers that come out of fitting, going on and asking."""
    model = clone(model).fit(*columns)
    out = []
    for name in ("predict", "decision_function", "predict_proba", "transform"):
        if hasattr(model, name):
            out.append(np.asarray(getattr(model, name)(columns[0]), dtype=float).ravel())
    if hasattr(model, "partial_fit") and not isinstance(model, DPLassoRegressor):
        stream, half = clone(model), len(columns[0]) // 2
        for part in (slice(None, half), slice(half, None)):
            stream.partial_fit(*(column[part] for column in columns))
        out.append(np.ravel(stream.coef_))
    return np.concatenate(out)


def mapped(column, folder, name):
    path = folder / f"{name}.npy"
    np.save(path, column)
    return np.load(path, mmap_mode="r"), path


@pytest.mark.parametrize("name", MODELS)
def test_read_only_and_mapped_rows_are_used_and_not_written(name, tmp_path):
    model, columns = MODELS[name]
    pairs = [mapped(column, tmp_path, k) for k, column in enumerate(columns)]
    contents = [path.read_bytes() for _, path in pairs]
    expected = used(model, columns)
    np.testing.assert_array_equal(used(model, [rows for rows, _ in pairs]), expected)
    assert [path.read_bytes() for _, path in pairs] == contents
    frozen = [column.copy() for column in columns]
    for column in frozen:
        column.flags.writeable = False
    np.testing.assert_array_equal(used(model, frozen), expected)
    for column, original in zip(frozen, columns, strict=True):
        np.testing.assert_array_equal(column, original)


@pytest.mark.parametrize("name", ["logistic", "linear", "clipper"])
def test_sparse_rows_in_mapped_files_are_used_and_not_written(name, tmp_path):
    model, columns = MODELS[name]
    A = sp.csr_array(np.where(columns[0] > 0, columns[0], 0.0))
    parts = [mapped(part, tmp_path, k) for k, part in enumerate((A.data, A.indices, A.indptr))]
    contents = [path.read_bytes() for _, path in parts]
    rows = sp.csr_array(tuple(part for part, _ in parts), shape=A.shape)
    fitted = clone(model).fit(rows, *columns[1:])
    again = clone(model).fit(A, *columns[1:])
    for asked in ("predict", "transform"):
        if hasattr(model, asked):
            out = [getattr(m, asked)(rows) for m in (fitted, again)]
            first, second = [o.toarray() if sp.issparse(o) else o for o in out]
            np.testing.assert_array_equal(first, second)
    assert [path.read_bytes() for _, path in parts] == contents


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_derivative_that_is_no_number_neither_raises_nor_shows(value, monkeypatch):
    """Whether a row caused it must not be seen, so such a fit looks like any other."""
    honest = Logistic.derivative

    def broken(self, scores, targets):
        out = honest(self, scores, targets).copy()
        out[::7] = value
        return out

    monkeypatch.setattr(Logistic, "derivative", broken)
    model = clone(MODELS["logistic"][0]).set_params(random_state=None)
    model.fit(X, Y)
    assert np.isfinite(model.coef_).all()
    assert model.privacy_spent_.epsilon == 1.0
    assert all(isfinite(e.noise_scale) for e in model.privacy_ledger_)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_turn_into_no_numbers_in_mid_fit_do_not_show(value, monkeypatch):
    """Bounds were computed when they were numbers, so nothing else stops them."""
    honest, asked, rows = GradientQuery.evaluate, [], X.copy()

    def evaluate(self, store):
        asked.append(self)
        if len(asked) == 3:
            rows[5, 1] = value
        return honest(self, store)

    monkeypatch.setattr(GradientQuery, "evaluate", evaluate)
    model = clone(MODELS["logistic"][0]).set_params(random_state=None)
    model.fit(rows, Y)
    assert not np.isfinite(rows).all()
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.privacy_spent_.epsilon == 1.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_fit_that_is_forked_in_the_middle_goes_on_with_other_noise(monkeypatch):
    honest, children = PrivateOracle._release, []
    reader, writer = os.pipe()

    def release(self, query, spend):
        answer = honest(self, query, spend)
        if not children:
            children.append(os.fork())
        return answer

    monkeypatch.setattr(PrivateOracle, "_release", release)
    model = clone(MODELS["logistic"][0]).set_params(random_state=None, precondition=None)
    try:
        model.fit(X, Y)
    finally:
        if children == [0]:
            os.write(writer, model.coef_.tobytes())
            os._exit(0)
    os.waitpid(children[0], 0)
    other = np.frombuffer(os.read(reader, model.coef_.nbytes)).reshape(model.coef_.shape)
    os.close(reader)
    os.close(writer)
    assert (other != model.coef_).all()


SECRET = 0.7391264158


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["logistic", "linear", "scaler"])
def test_rows_that_another_thread_changes_are_not_quoted(name, capsys):
    """The guarantee asks for rows that hold still; errors and receipts are as ever all the same."""
    model, columns = MODELS[name]
    rows, stop, said = columns[0].copy(), threading.Event(), []

    def write():
        public_rng = np.random.default_rng(1)
        while not stop.is_set():
            rows[public_rng.integers(60), public_rng.integers(3)] = public_rng.choice(
                [SECRET, np.nan, 1e308]
            )

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(20):
            rows[:] = columns[0]
            fresh = clone(model).set_params(random_state=None)
            try:
                fresh.fit(rows, *columns[1:])
            except ValueError as refusal:
                said.append(str(refusal))
            if "privacy_spent_" in vars(fresh):
                assert 0 <= fresh.privacy_spent_.epsilon <= 1.0
    finally:
        stop.set()
        thread.join()
    assert not [text for text in [*said, *capsys.readouterr()] if "73912" in text]


def test_threads_and_fits_share_no_noise():
    model = clone(MODELS["logistic"][0]).set_params(random_state=None)
    fitted = [clone(model) for _ in range(4)]
    threads = [threading.Thread(target=m.fit, args=(X, Y)) for m in fitted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    coefficients = np.concatenate([m.coef_.ravel() for m in fitted])
    assert len(np.unique(coefficients)) == coefficients.size
