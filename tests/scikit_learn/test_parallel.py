"""Fits in processes and threads: no two of them ever share their noise."""

import numpy as np
import pytest
from examples_of_estimators import BINARY, MODELS, X
from joblib import Parallel, delayed
from sklearn.base import clone

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
