"""``sparsify`` and ``densify``: another way to store the same model."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from examples_of_estimators import MODELS, SEVERAL, X, logistic, target_of
from sklearn.exceptions import NotFittedError

LAYOUTS = (np.asarray, sp.csr_array, sp.csr_matrix)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_are_those_of_the_dense_model(make, dtype):
    rows = X.astype(dtype)
    model = make().fit(rows, target_of(make))
    dense, expected = model.coef_.copy(), [model.predict(layout(rows)) for layout in LAYOUTS]
    assert model.sparsify() is model
    assert sp.issparse(model.coef_)
    for other in (model, pickle.loads(pickle.dumps(model)), model.sparsify()):
        for layout, right in zip(LAYOUTS, expected, strict=True):
            found = other.predict(layout(rows))
            assert type(found) is np.ndarray
            assert found.dtype == right.dtype
            np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)
    assert model.densify() is model
    assert type(model.coef_) is np.ndarray
    assert model.coef_.dtype == dtype
    np.testing.assert_array_equal(model.coef_, dense)
    np.testing.assert_array_equal(model.densify().coef_, dense)


def test_several_classes_and_further_fits():
    model = logistic(classes=[0, 1, 2]).fit(X, SEVERAL)
    expected = model.predict_proba(X)
    np.testing.assert_allclose(model.sparsify().predict_proba(sp.csr_array(X)), expected)
    assert type(model.partial_fit(X, SEVERAL).coef_) is np.ndarray
    assert type(model.sparsify().fit(X, SEVERAL).coef_) is np.ndarray


def test_lasso_has_its_sparse_view_all_the_same():
    model = MODELS["lasso"]().fit(X, target_of(MODELS["lasso"]))
    view = model.sparse_coef_
    assert view.shape == (1, X.shape[1])
    np.testing.assert_array_equal(model.sparsify().sparse_coef_.toarray(), view.toarray())


@pytest.mark.parametrize("method", ["sparsify", "densify"])
def test_a_model_that_is_not_fitted_has_nothing_to_store(method):
    with pytest.raises(NotFittedError):
        getattr(logistic(), method)()
