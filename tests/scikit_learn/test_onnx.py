"""Published models and scalers as ONNX files, read by another program.

With the options that skl2onnx has by default, but where a test says otherwise.
"""

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline, make_pipeline

from skdp import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPSVMClassifier,
)
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler

pytestmark = pytest.mark.nightly

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(500, 3)) * [1, 10, 100]).astype(np.float32)
REAL = X[:, 0] + X[:, 1] / 10
TWO = (REAL > 0).astype(int)
THREE = np.array(["a", "b", "c"])[np.digitize(REAL, [-1, 1])]
RANGES = np.array([-2.0, -20.0, -200.0]), np.array([2.0, 20.0, 200.0])
BINARY = {"classes": [0, 1], "epsilon": 5.0}
SEVERAL = {"classes": ["a", "b", "c"], "epsilon": 5.0, "data_norm": 100.0}
TABLE = np.column_stack([REAL, 1 - REAL / 2, X[:, 0]])
REGRESSION = {"target_bounds": (-2, 2), "epsilon": 5.0}
NORM = {"data_norm": 100.0}


def scaled(*scalers):
    return make_pipeline(*scalers, DPLogisticRegression(**BINARY, **NORM))


MODELS = {
    "two classes": (DPLogisticRegression(**BINARY, **NORM), TWO),
    "ranges": (DPLogisticRegression(**BINARY, data_bounds=RANGES), TWO),
    "several classes": (DPLogisticRegression(**SEVERAL), THREE),
    "margins": (DPSVMClassifier(**BINARY, **NORM), TWO),
    "several margins": (DPSVMClassifier(**SEVERAL), THREE),
    "regression": (DPLinearRegression(**REGRESSION, data_bounds=RANGES), REAL),
    "not clipped": (DPLinearRegression(**REGRESSION, **NORM, clip_predictions=False), REAL),
    "several targets": (DPLinearRegression(**REGRESSION, **NORM), TABLE),
    "several targets, not clipped": (
        DPLinearRegression(**REGRESSION, **NORM, clip_predictions=False),
        TABLE,
    ),
    "counts": (DPPoissonRegressor(epsilon=5.0, target_bounds=(0, 9), **NORM), np.abs(REAL)),
    "lasso": (DPLassoRegressor(**REGRESSION, **NORM, alpha=0.01), REAL),
    "standard scaler": (scaled(DPStandardScaler(bounds=RANGES, epsilon=5.0)), TWO),
    "no means": (scaled(DPStandardScaler(bounds=RANGES, epsilon=5.0, with_mean=False)), TWO),
    "min-max scaler": (scaled(DPMinMaxScaler(epsilon=5.0)), TWO),
    "bounds scaler": (scaled(BoundsScaler(bounds=RANGES)), TWO),
}


@pytest.fixture(scope="module")
def answers_of_file():
    """``(model, rows, **options) -> outputs`` of the file that the model becomes."""
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")

    def answers(model, rows, **options):
        parts = [part.to_sklearn() for part in (model if isinstance(model, Pipeline) else [model])]
        # Converters do not know how to hold predictions to an interval, which numpy.clip does.
        parts[-1] = getattr(parts[-1], "regressor_", parts[-1])
        plain = make_pipeline(*parts) if len(parts) > 1 else parts[0]
        file = skl2onnx.to_onnx(plain, rows[:1], **options).SerializeToString()
        session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
        return session.run(None, {"X": rows})

    return answers


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "dtype"),
    # skl2onnx takes a LinearSVC in single precision only.
    [*((k, np.float32) for k in MODELS), *((k, np.float64) for k in MODELS if "margins" not in k)],
)
def test_predictions_are_those_of_the_model(answers_of_file, name, dtype):
    model, y = MODELS[name]
    model.fit(X, y)
    # Rows beyond the ranges, too, which are clipped.
    rows = np.concatenate([X, 5 * X]).astype(dtype)
    if is_regressor(model):
        (found,) = answers_of_file(model, rows)
        expected = model.predict(rows)
        if model.clip_predictions:
            found = np.clip(found.reshape(expected.shape), *model.target_bounds_)
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)
        return
    sure = hasattr(model, "predict_proba")
    # Probabilities go by the names of classes unless they are asked for as a table.
    options = {"options": {"zipmap": False}} if sure else {}
    labels, scores = answers_of_file(model, rows, **options)
    expected = (model.predict_proba if sure else model.decision_function)(rows)
    # Next to a tie single precision may decide otherwise.
    far = np.abs(np.diff(np.sort(expected.reshape(len(rows), -1)), axis=1)[:, -1:]) > 1e-4
    far = np.abs(expected.reshape(-1, 1)) > 1e-4 if expected.ndim == 1 else far
    np.testing.assert_array_equal(labels[far.ravel()], model.predict(rows)[far.ravel()])
    np.testing.assert_allclose(scores, expected.reshape(scores.shape), rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_probabilities_may_go_by_the_names_of_classes(answers_of_file):
    model, y = MODELS["several classes"]
    model.fit(X, y)
    _, named = answers_of_file(model, X)
    assert set(named[0]) == {"a", "b", "c"}
    found = [[row[c] for c in model.classes_] for row in named]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_files_hold_no_receipt_and_no_parameter(answers_of_file):
    skl2onnx = pytest.importorskip("skl2onnx")
    model = DPLogisticRegression(**BINARY, **NORM, random_state=1234567).fit(X, TWO)
    file = skl2onnx.to_onnx(model.to_sklearn(), X[:1])
    for word in ("privacy", "epsilon", "ledger", "1234567", "random_state"):
        assert word not in str(file)
