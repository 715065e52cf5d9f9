"""Weights of rows: what they come in, what is refused, streams, and what scikit-learn passes on."""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skdp import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
    load_checkpoint,
    save_checkpoint,
)
from skdp.privacy.rows import Chunks
from skdp.solvers import DDA, GD, Blocks

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 300, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
REAL = X @ [1.0, -2.0, 0.5] + RNG.normal(size=N)
BINARY = (REAL > 0).astype(int)
WEIGHTS = RNG.uniform(0, 3, N)
GIVEN = {"epsilon": 5.0, "data_norm": 4.0, "random_state": 0, "max_weight": 2.0}
CLASSIFIER = {**GIVEN, "classes": [0, 1], "solver": GD(steps=5)}
REGRESSOR = {**GIVEN, "target_bounds": (-6.0, 6.0)}

every_model = pytest.mark.parametrize(
    "model",
    [
        DPLogisticRegression(**CLASSIFIER),
        DPSVMClassifier(**CLASSIFIER),
        DPLinearRegression(**REGRESSOR, solver=GD(steps=5)),
        DPLassoRegressor(**REGRESSOR, solver=GD(steps=5)),
    ],
    ids=lambda model: type(model).__name__,
)


def target(model):
    return BINARY if hasattr(model, "classes") else REAL


def fitted(model, weights=WEIGHTS, rows=X):
    return clone(model).fit(rows, target(model), weights)


def assert_equal(one, other, rtol=0.0):
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=rtol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=max(rtol, 1e-300))
    assert one.privacy_ledger_ == other.privacy_ledger_


@every_model
def test_weights_may_come_in_anything(model):
    expected = fitted(model)
    for kind in (list, tuple, pd.Series, np.float32, lambda w: np.repeat(w, 2)[::2]):
        assert_equal(fitted(model, kind(WEIGHTS)), expected, 1e-3 if kind is np.float32 else 0.0)
    assert_equal(fitted(model, 1.5), fitted(model, np.full(N, 1.5)))
    assert_equal(fitted(model, np.ones(N, dtype=int)), fitted(model, 1.0))
    assert_equal(fitted(model, rows=sp.csr_array(X)), expected, 1e-6)


@every_model
def test_larger_weights_count_as_the_bound_in_silence(model):
    assert_equal(fitted(model), fitted(model, np.minimum(WEIGHTS, 2.0)))
    # Not so without the bound: they matter.
    assert np.abs(fitted(model).coef_ - fitted(model, 1.0).coef_).max() > 1e-3


@every_model
def test_the_receipt_adds_up_and_says_that_weights_were_looked_at(model):
    ledger = fitted(model).privacy_ledger_
    assert [e.count for e in ledger if e.query == "total_weight"] == [1]
    assert fitted(model).privacy_spent_.epsilon == pytest.approx(5.0, abs=1e-6)


@pytest.mark.filterwarnings("ignore:Rows vary by less than")
@pytest.mark.parametrize("model", [DPSVMClassifier(**CLASSIFIER, class_weight="balanced")])
def test_balanced_classes_are_those_of_the_weights(model):
    # Class 1 is frequent in rows and rare in weight.
    y = (np.arange(N) % 4 > 0).astype(int)
    weights = np.where(y == 1, 0.05, 1.0)
    model = clone(model).set_params(epsilon=1e4, max_weight=1.0, solver=GD(steps=300))
    constant = np.zeros((N, 1))
    scores = model.fit(constant, y, weights).decision_function(constant[:1])
    assert abs(scores[0]) < 0.05


BAD = {
    "negative": (-WEIGHTS, "Negative values in data passed to `sample_weight`"),
    "not a number": (np.where(WEIGHTS > 1, np.nan, 1.0), "sample_weight contains NaN or infinity"),
    "infinite": (np.where(WEIGHTS > 1, np.inf, 1.0), "sample_weight contains NaN or infinity"),
    "too few": (WEIGHTS[1:], "sample_weight.shape == "),
    "two columns": (np.ones((N, 2)), "Sample weights must be 1D array or scalar"),
    "words": (["secret"] * N, "sample_weight needs numbers"),
    "dates": (np.full(N, "2020-01-01", dtype="M8[D]"), "sample_weight needs numbers"),
    "huge": (10**400, "sample_weight contains NaN or infinity"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("how", ["fit", "partial_fit", "chunks"])
def test_malformed_weights_are_refused_before_anything_is_spent(case, how):
    weights, message = BAD[case]
    model = fitted(DPLogisticRegression(**CLASSIFIER))
    before = dict(vars(model))
    data = [X, BINARY, None, weights] if how == "partial_fit" else [X, BINARY, weights]
    if how == "chunks":
        data = [Chunks([tuple(data)])]
    # Interruptions by a tracer, in other tests, may leave an exception in the interpreter for good.
    left = sys.exc_info()[1]
    with pytest.raises(ValueError, match=message) as refusal:
        getattr(model, "fit" if how == "chunks" else how)(*data)
    assert "secret" not in str(refusal.value)
    assert "2020" not in str(refusal.value)
    assert refusal.value.__context__ is left
    assert vars(model) == before


def test_weights_that_are_all_zero_are_no_error_which_would_tell_that_they_are():
    model = fitted(DPLogisticRegression(**CLASSIFIER), np.zeros(N))
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "1", None])
def test_the_bound_is_a_positive_number(bad):
    with pytest.raises(ValueError, match="max_weight"):
        DPLogisticRegression(**CLASSIFIER).set_params(max_weight=bad).fit(X, BINARY, WEIGHTS)


def test_chunks_deliver_weights():
    model = DPLinearRegression(**REGRESSOR, solver="adassp")
    expected = fitted(model)
    cuts = [(0, 100), (100, 110), (110, N)]
    chunks = [(X[a:b], REAL[a:b], WEIGHTS[a:b]) for a, b in cuts]
    assert_equal(clone(model).fit(Chunks(chunks)), expected, 1e-6)
    with pytest.raises(ValueError, match="weights in every chunk or in none"):
        clone(model).fit(Chunks([chunks[0], chunks[1][:2]]))
    with pytest.raises(ValueError, match="third part"):
        clone(model).fit(Chunks(chunks), sample_weight=WEIGHTS)


def test_sites_keep_weights_with_their_rows():
    groups, order = np.arange(N) % 3, np.random.default_rng(3).permutation(N)
    model = DPLogisticRegression(**CLASSIFIER).set_params(solver=DDA(rounds=3))
    one = clone(model).fit(X, BINARY, WEIGHTS, groups)
    other = clone(model).fit(X[order], BINARY[order], WEIGHTS[order], groups[order])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)
    assert np.abs(one.coef_ - clone(model).fit(X, BINARY, 1.0, groups).coef_).max() > 1e-3


STREAMS = pytest.mark.parametrize(
    "options", [{}, {"buffer": False}, {"solver": "gd"}], ids=["blocks", "sums", "calls"]
)


def stream(options, cuts=(), weights=WEIGHTS, model=None, start=0):
    given = {**CLASSIFIER, "solver": "auto", "horizon": N} | options
    model = DPLogisticRegression(**given) if model is None else model
    edges = [start, *cuts, N]
    for a, b in pairwise(edges):
        own = None if weights is None else weights[a:b]
        model.partial_fit(X[a:b], BINARY[a:b], sample_weight=own)
    return model


@STREAMS
def test_streams_take_weights(options):
    weighted, plain = stream(options), stream(options, weights=None)
    assert np.abs(weighted.coef_ - plain.coef_).max() > 1e-3
    assert_equal(stream(options, weights=np.minimum(WEIGHTS, 2.0)), weighted)
    if options.get("solver") != "gd":
        calls = stream(options, cuts=[1, 50, 51, 170])
        np.testing.assert_allclose(calls.coef_, weighted.coef_, rtol=1e-6)


@STREAMS
def test_a_call_without_weights_is_one_of_weight_one(options):
    some = stream(options, weights=np.ones(N), cuts=[120])
    given = {**CLASSIFIER, "solver": "auto", "horizon": N} | options
    model = DPLogisticRegression(**given)
    model.partial_fit(X[:120], BINARY[:120], sample_weight=np.ones(120))
    assert_equal(model.partial_fit(X[120:], BINARY[120:]), some)


@STREAMS
def test_a_stream_that_began_without_weights_takes_none(options):
    given = {**CLASSIFIER, "solver": "auto", "horizon": N} | options
    model = DPLogisticRegression(**given).partial_fit(X[:100], BINARY[:100])
    seen, spent = model.n_samples_seen_, model.privacy_spent_
    with pytest.raises(ValueError, match="began without weights"):
        model.partial_fit(X[100:], BINARY[100:], sample_weight=WEIGHTS[100:])
    assert (model.n_samples_seen_, model.privacy_spent_) == (seen, spent)
    # A fit makes no stream: the next one may have weights.
    model.fit(X, BINARY).partial_fit(X, BINARY, sample_weight=1.0)


def test_rows_that_wait_take_their_weights_along(tmp_path):
    options = {"solver": Blocks(first=200)}
    expected = stream(options, cuts=[90])
    model = DPLogisticRegression(**{**CLASSIFIER, "horizon": N} | options)
    model.partial_fit(X[:90], BINARY[:90], sample_weight=WEIGHTS[:90])
    save_checkpoint(model, tmp_path / "stream")
    model = load_checkpoint(tmp_path / "stream").set_params(random_state=0)
    assert_equal(stream(options, model=model, start=90), expected)
