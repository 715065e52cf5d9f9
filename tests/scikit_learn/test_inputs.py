"""Data as scikit-learn takes them: frames of pandas and polars, sparse arrays and matrices."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from examples_of_estimators import MODELS, D, X, linear, target_of
from frames import polars

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

NAMES = [f"x{i}" for i in range(D)]
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def frame_of(library, rows=X):
    if library == "pandas":
        return pd.DataFrame(rows, columns=NAMES)
    return polars().DataFrame({name: rows[:, i] for i, name in enumerate(NAMES)})


def series_of(library, y):
    return pd.Series(y, name="y") if library == "pandas" else polars().Series("y", y)


libraries = pytest.mark.parametrize("library", ["pandas", "polars"])


@libraries
@every_model
def test_a_frame_is_its_rows_with_names(make, library):
    y = target_of(make)
    model = make(random_state=0).fit(frame_of(library), series_of(library, y))
    np.testing.assert_allclose(model.coef_, make(random_state=0).fit(X, y).coef_, rtol=1e-9)
    assert model.feature_names_in_.tolist() == NAMES
    expected = X @ np.atleast_2d(model.coef_).T + model.intercept_
    found = model.predict(frame_of(library))
    if make in (linear, MODELS["lasso"]):
        np.testing.assert_allclose(found, np.clip(expected[:, 0], -2, 4))
    assert type(found) is np.ndarray
    assert model.score(frame_of(library), series_of(library, y)) > 0.5


@every_model
def test_one_row_is_enough_to_predict_and_a_bare_row_is_refused(make):
    y = target_of(make)
    model = make().fit(X, y)
    for rows in (X[:1], sp.csr_array(X[:1]), X[:1].tolist()):
        assert model.predict(rows).shape == (1,)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        model.predict(X[:, :3])
