"""``secure=True``: the same guarantee and model, from sums that are exact."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skdp import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
)
from skdp.data import Chunks
from skdp.exceptions import SeededNoiseWarning
from skdp.solvers import DDA, GD

pytestmark = pytest.mark.filterwarnings("ignore", category=SeededNoiseWarning)
RNG = np.random.default_rng(0)
N, D = 12_000, 4
X = RNG.normal(size=(N, D)) / 2
SIDE = (X @ [2.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=N) > 0).astype(int)
REAL = np.clip(X @ [0.4, -0.2, 0.1, 0.0] + 0.1, -1, 1)
STEPS = GD(steps=20)
MODELS = {
    "classes": (DPLogisticRegression(data_norm=2.0, classes=[0, 1], random_state=0), SIDE),
    "plain": (
        DPLogisticRegression(
            data_norm=2.0, classes=[0, 1], solver="svrg", precondition=None, random_state=0
        ),
        SIDE,
    ),
    "margin": (DPSVMClassifier(data_norm=2.0, classes=[0, 1], random_state=0), SIDE),
    "targets": (
        DPLinearRegression(
            data_norm=2.0, target_bounds=(-1, 1), solver="gd", precondition=None, random_state=0
        ),
        REAL,
    ),
    "sparse": (
        DPLassoRegressor(0.01, data_norm=2.0, target_bounds=(-1, 1), solver="gd", random_state=0),
        REAL,
    ),
}
every_model = pytest.mark.parametrize(("model", "y"), MODELS.values(), ids=MODELS)


def exact(model, **changes):
    return clone(model).set_params(secure=True, **changes)


@every_model
def test_the_order_of_the_rows_does_not_matter_to_the_last_bit(model, y):
    order = RNG.permutation(N)
    first, second = exact(model).fit(X, y), exact(model).fit(X[order], y[order])
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.privacy_ledger_ == second.privacy_ledger_


@every_model
def test_it_learns_what_the_fast_sums_learn(model, y):
    fast, slow = clone(model).fit(X, y), exact(model).fit(X, y)
    # The same noise: what is left is rounding to the grid.
    np.testing.assert_allclose(slow.coef_, fast.coef_, rtol=5e-3, atol=5e-3)
    assert slow.privacy_spent_ == fast.privacy_spent_


def test_rows_may_come_in_single_precision_in_chunks_sparse_or_in_parts():
    model, y = MODELS["plain"]
    expected = exact(model).fit(X, y).coef_
    chunks = Chunks(lambda: ((X[i : i + 5000], y[i : i + 5000]) for i in range(0, N, 5000)))
    np.testing.assert_array_equal(exact(model).fit(chunks).coef_, expected)
    np.testing.assert_array_equal(exact(model).fit(sp.csr_array(X), y).coef_, expected)
    single = exact(model).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, expected, rtol=1e-2, atol=1e-2)
    streamed = exact(model, solver="auto").partial_fit(X, y, classes=[0, 1])
    assert streamed.n_samples_seen_ == N


def test_rows_that_are_not_numbers_do_no_harm():
    model, y = MODELS["targets"]
    wild = X.copy()
    wild[0], wild[1] = 1e300, 1e-300
    fitted = exact(model).fit(wild, y)
    assert np.isfinite(fitted.coef_).all()


@pytest.mark.parametrize(
    "refused",
    [
        exact(MODELS["classes"][0], solver="objective_perturbation"),
        exact(MODELS["classes"][0], solver=DDA()),
        exact(MODELS["sparse"][0], solver="screening"),
        exact(MODELS["classes"][0], solver="ftrl"),
    ],
    ids=["perturbation", "sites", "choices", "stream"],
)
def test_other_answers_are_refused_before_anything_is_spent(refused):
    y = REAL if isinstance(refused, DPLassoRegressor) else SIDE
    with pytest.raises(ValueError, match=r"secure=True needs .*use solver='gd', or secure=False"):
        refused.fit(X, y)
    assert not hasattr(refused, "privacy_ledger_")


@pytest.mark.parametrize("name", ["classes", "margin", "targets"])
def test_sparse_rows_that_would_be_mapped_are_refused_before_anything_is_spent(name):
    model, y = MODELS[name]
    rows, message = sp.csr_array(X), "secure=True needs dense rows .*pass precondition=None"
    model = exact(model, precondition="auto", solver="auto", horizon=N)
    with pytest.raises(ValueError, match=f"{type(model).__name__} with {message}"):
        model.fit(rows, y)
    classes = {"classes": [0, 1]} if hasattr(model, "classes") else {}
    for solver in ("auto", "blocks"):
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(solver=solver).partial_fit(rows, y, **classes)
    assert not hasattr(model, "privacy_ledger_")


@pytest.mark.slow
def test_rows_on_other_workers_are_refused():
    array = pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")
    model = exact(MODELS["plain"][0])
    with pytest.raises(ValueError, match="secure=True needs rows that this process can read"):
        model.fit(array.from_array(X, chunks=(3000, D)), array.from_array(SIDE, chunks=3000))
