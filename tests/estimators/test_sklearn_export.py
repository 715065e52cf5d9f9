"""Published models as scikit-learn's own, which predict the same without skdp."""

import pickle

import numpy as np
import pandas as pd
import pytest

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 3000, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
SCORE = X @ [1.0, -2.0, 0.5]
LABELS = np.array(["no", "yes"])[(SCORE > 0).astype(int)]
SEVERAL = np.digitize(SCORE, [-1.0, 1.0])
MODELS = {
    "two": (DPLogisticRegression(data_norm=3.0, classes=["no", "yes"]), LABELS),
    "several": (DPLogisticRegression(data_norm=3.0, classes=[0, 1, 2]), SEVERAL),
    "ranges": (DPLogisticRegression(data_bounds=(-1, 1), classes=["no", "yes"]), LABELS),
    "svm": (DPSVMClassifier(data_norm=3.0, classes=[0, 1, 2]), SEVERAL),
    "linear": (DPLinearRegression(data_norm=3.0, target_bounds=(-1, 1)), SCORE / 5),
    "unclipped": (
        DPLinearRegression(data_bounds=(-2, 2), target_bounds=(-1, 1), clip_predictions=False),
        SCORE / 5,
    ),
    "lasso": (DPLassoRegressor(data_norm=3.0, target_bounds=(-1, 1)), SCORE / 5),
}
FAR = 5 * RNG.normal(size=(200, D))


def fitted(name):
    model, y = MODELS[name]
    return model.set_params(random_state=0).fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_plain_models_predict_the_same(name):
    model = fitted(name)
    plain = model.to_sklearn()
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            expected, got = getattr(model, method)(FAR), getattr(plain, method)(FAR)
            if method == "predict" and expected.dtype.kind != "f":
                np.testing.assert_array_equal(got, expected)
            else:
                np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["ranges", "linear", "svm"])
def test_pickles_of_plain_models_name_nothing_of_skdp(name):
    assert b"skdp" not in pickle.dumps(fitted(name).to_sklearn())


def test_plain_models_check_names_of_columns():
    frame = pd.DataFrame(X, columns=list("abc"))
    for name in ("two", "ranges", "linear"):
        model, y = MODELS[name]
        plain = model.set_params(random_state=0).fit(frame, y).to_sklearn()
        plain.predict(frame)
        with pytest.raises(ValueError, match="feature names"):
            plain.predict(frame[["c", "b", "a"]])


def test_a_plain_model_does_not_follow_later_fits():
    model = fitted("two")
    plain = model.to_sklearn()
    before = plain.predict_proba(FAR)
    model.coef_ *= 2
    np.testing.assert_array_equal(plain.predict_proba(FAR), before)


def test_sparse_coefficients_become_dense():
    model = fitted("lasso")
    expected = model.predict(FAR)
    np.testing.assert_allclose(model.sparsify().to_sklearn().predict(FAR), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "scaler",
    [
        BoundsScaler(bounds=(-1, 2)),
        DPMinMaxScaler(),
        DPStandardScaler(),
        DPStandardScaler(bounds=(-1, 2), with_mean=False),
    ],
    ids=lambda scaler: type(scaler).__name__,
)
def test_plain_scalers_transform_as_these_do(scaler):
    plain = scaler.fit(pd.DataFrame(X, columns=list("abc"))).to_sklearn()
    assert b"skdp" not in pickle.dumps(plain)
    far = pd.DataFrame(FAR, columns=list("abc"))
    np.testing.assert_allclose(plain.transform(far), scaler.transform(far), rtol=1e-9, atol=1e-12)
