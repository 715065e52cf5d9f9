"""Fits in processes and threads: no two of them ever share their noise."""

import numpy as np
import pytest
from examples_of_estimators import BINARY, MODELS, N, X, logistic
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier

from skdp.solvers import GD

FITS = 12


def coefficients(model):
    return model.fit(X, target_of_model(model)).coef_.copy()


def target_of_model(model):
    return BINARY if hasattr(model, "classes") else X[:, 0]


def all_different(coefs):
    assert len({coef.tobytes() for coef in coefs}) == len(coefs)
    # Nor is any entry of two of them the same, as it would be if a part of the noise were.
    entries = np.array([coef.ravel() for coef in coefs])
    assert all(len(set(column)) == len(coefs) for column in entries.T)


# Processes of searches are in the tests below; these take a while to start.
@pytest.mark.parametrize(
    "backend", [pytest.param("loky", marks=pytest.mark.nightly), "threading", "sequential"]
)
def test_the_same_data_fitted_in_parallel_never_get_the_same_noise(backend):
    models = [make(solver=GD(steps=3)) for make in MODELS.values()]
    found = Parallel(n_jobs=2, backend=backend, batch_size=FITS)(
        delayed(coefficients)(clone(model)) for model in models for _ in range(FITS)
    )
    for kind in range(len(models)):
        all_different(found[kind * FITS : (kind + 1) * FITS])


@pytest.mark.nightly
def test_searches_and_wrappers_run_in_processes():
    search = GridSearchCV(logistic(), {"C": [0.1, 1.0]}, cv=2, n_jobs=2, error_score="raise")
    assert search.fit(X, BINARY).best_estimator_.n_samples_seen_ == N
    found = cross_validate(logistic(), X, BINARY, cv=4, n_jobs=2, return_estimator=True)
    all_different([model.coef_ for model in found["estimator"]])
    several = OneVsRestClassifier(logistic(), n_jobs=2).fit(X, BINARY + (X[:, 1] > 0.5))
    assert len({model.coef_.tobytes() for model in several.estimators_}) == 3


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
def test_a_bag_in_processes_gives_each_model_another_seed():
    bag = BaggingClassifier(logistic(), n_estimators=6, bootstrap=False, n_jobs=2).fit(X, BINARY)
    all_different([model.coef_ for model in bag.estimators_])
