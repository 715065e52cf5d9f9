"""Private components are those of scikit-learn up to the noise that was paid for."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD

from skdp.preprocessing import DPPCA, DPTruncatedSVD
from skdp.testing import exact_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N = 20_000
BOUNDS = ([-60.0, -0.3, -4e3, -40.0], [60.0, 0.3, 4e3, 80.0])


def make_rows(seed=0):
    """Columns of very different units, two of which go together."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N, 4))
    Z[:, 3] = 0.8 * Z[:, 0] + 0.6 * Z[:, 3]
    return Z * [10.0, 0.05, 6e2, 8.0] + [0.0, 0.0, 0.0, 20.0]


@pytest.mark.parametrize("whiten", [False, True])
def test_without_noise_it_is_scikit_learns(whiten):
    X = make_rows()
    ours = DPPCA(n_components=3, whiten=whiten, epsilon=1e4, bounds=BOUNDS)
    exact_fit(ours, X, None)
    theirs = PCA(n_components=3, whiten=whiten).fit(X)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=0.02)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=0.05)
    np.testing.assert_allclose(ours.mean_, X.mean(axis=0), atol=1e-3 * X.std(axis=0).max())
    far = np.abs(ours.transform(X) - theirs.transform(X)).max(axis=0)
    assert np.all(far < 0.2 * theirs.transform(X).std(axis=0))
    back = ours.inverse_transform(ours.transform(X))
    np.testing.assert_allclose(back[:, 2], X[:, 2], atol=1.0)


def test_without_noise_singular_vectors_are_scikit_learns():
    X = make_rows()[:, [0, 3]] + [0.0, 20.0]
    ours = DPTruncatedSVD(n_components=2, epsilon=1e4, bounds=(-100, 120))
    exact_fit(ours, X, None)
    theirs = TruncatedSVD(n_components=2, random_state=0).fit(X)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=0.02)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=0.02)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=0.1)


def test_directions_are_found_where_noise_is_small():
    X = make_rows()
    for epsilon in (1.0, 8.0):
        pca = DPPCA(n_components=1, epsilon=epsilon, bounds=BOUNDS).fit(X)
        assert abs(pca.components_[0, 2]) > 0.99
        assert 0.5 < pca.explained_variance_[0] / X[:, 2].var() < 1.5


def test_variances_are_no_less_than_noise_leaves_to_see():
    pca = DPPCA(epsilon=0.1, whiten=True, bounds=BOUNDS).fit(make_rows()[:500])
    assert np.all(pca.explained_variance_ > 0)
    assert np.isfinite(pca.transform(make_rows())).all()


def test_sparse_rows_are_projected_and_not_centred():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((N, 6)) * (rng.random((N, 6)) < 0.2) * [9, 1, 1, 1, 1, 1])
    svd = DPTruncatedSVD(n_components=1, bounds=(0, 9)).fit(X)
    assert svd.components_[0, 0] > 0.95
    np.testing.assert_allclose(svd.transform(X), X @ svd.components_.T)


@pytest.mark.parametrize(
    ("transformer", "complaint"),
    [
        (DPPCA(n_components=5), "1 to 4 components"),
        (DPPCA(n_components=0.9), "n_components"),
        (DPPCA(n_components="mle"), "n_components"),
        (DPTruncatedSVD(n_components=7), "1 to 4 components"),
    ],
)
def test_numbers_of_components_that_there_are_not_are_refused(transformer, complaint):
    with pytest.raises(ValueError, match=complaint):
        transformer.fit(make_rows())
    assert not hasattr(transformer, "privacy_spent_")
