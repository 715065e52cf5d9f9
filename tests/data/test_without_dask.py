"""Dask is not needed, and not imported, by those who do not use it."""

import subprocess
import sys

import pytest

CODE = """
import sys
for name in ("dask", "distributed"):
    sys.modules[name] = None
import numpy as np
from skdp import DPLinearRegression
X = np.random.default_rng(0).uniform(size=(200, 2))
model = DPLinearRegression(data_norm=2.0, target_bounds=(0, 1)).fit(X, X[:, 0])
model.predict(X), model.score(X, X[:, 0])
"""


@pytest.mark.nightly
def test_fits_in_memory_do_without_dask():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
