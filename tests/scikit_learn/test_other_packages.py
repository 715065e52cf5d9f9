"""Packages that take models of scikit-learn take ours, where they are installed."""

import warnings

import numpy as np
import pytest
import skops.io

from skdp import DPLinearRegression, DPLogisticRegression

pytestmark = pytest.mark.nightly

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(2000, 3))
REAL = X @ [1.0, -0.5, 0.0]
BINARY = (REAL > 0).astype(int)


def classifier(**options):
    return DPLogisticRegression(epsilon=4.0, data_norm=2.0, classes=[0, 1], **options)


def regression():
    return DPLinearRegression(epsilon=4.0, data_norm=2.0, target_bounds=(-2, 2))


def imported(name):
    """A package whose own warnings are its own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


@pytest.mark.filterwarnings("ignore")
def test_shap_explains_a_model_by_its_coefficients():
    shap = imported("shap")
    model = regression().fit(X, REAL)
    found = shap.LinearExplainer(model, X[:100])(X[:5]).values
    np.testing.assert_allclose(found, (X[:5] - X[:100].mean(axis=0)) * model.coef_, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_fairlearn_chooses_thresholds_for_groups():
    postprocessing = imported("fairlearn.postprocessing")
    group = np.where(X[:, 2] > 0, "a", "b")
    fair = postprocessing.ThresholdOptimizer(
        estimator=classifier().fit(X, BINARY), prefit=True, predict_method="predict_proba"
    )
    fair.fit(X, BINARY, sensitive_features=group)
    assert fair.predict(X, sensitive_features=group, random_state=0).shape == BINARY.shape


@pytest.mark.filterwarnings("ignore")
def test_optuna_tries_parameters():
    optuna = imported("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize")
    study.optimize(
        lambda trial: (
            classifier(C=trial.suggest_float("C", 0.1, 10)).fit(X, BINARY).score(X, BINARY)
        ),
        n_trials=3,
    )
    assert study.best_value > 0.8


@pytest.mark.filterwarnings("ignore")
def test_mapie_makes_intervals_around_predictions():
    regressions = imported("mapie.regression")
    conformal = regressions.SplitConformalRegressor(
        regression().fit(X[:1000], REAL[:1000]), confidence_level=0.9, prefit=True
    )
    conformal.conformalize(X[1000:], REAL[1000:])
    _, ends = conformal.predict_interval(X)
    assert np.mean((ends[:, 0, 0] <= REAL) & (ends[:, 1, 0] >= REAL)) > 0.8


@pytest.mark.filterwarnings("ignore")
def test_mlflow_keeps_a_model(tmp_path):
    sklearn = imported("mlflow.sklearn")
    model = classifier().fit(X, BINARY)
    types = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    assert all(name.startswith("skdp.") for name in types)
    sklearn.save_model(model, tmp_path / "model", skops_trusted_types=types, pip_requirements=[])
    kept = sklearn.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))
    assert kept.privacy_spent_ == model.privacy_spent_
