"""Settings of the process and extreme rows change neither the checks nor what is said."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn

from skdp import DPLinearRegression, DPLogisticRegression, PrivacyLeakWarning
from skdp.privacy.rows import Chunks

N, D = 60, 3


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, (X[:, 0] > 0).astype(int)


X, Y = make_data()


def classifier(**options):
    return DPLogisticRegression(**{"data_norm": 3.0, "classes": [0, 1]} | options)


def regressor(**options):
    return DPLinearRegression(**{"data_norm": 3.0, "target_bounds": (0.0, 1.0)} | options)


both = pytest.mark.parametrize("make", [classifier, regressor])
WAYS = {
    "dense": lambda X, y: (X, y),
    "sparse": lambda X, y: (sp.csr_array(X), y),
    "chunks": lambda X, y: (Chunks([(X, y)]),),
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@pytest.fixture
def trusting():
    """Scikit-learn is told that all data are finite."""
    with sklearn.config_context(assume_finite=True):
        yield


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.usefixtures("trusting")
@each_way
@both
def test_rows_that_are_not_finite_are_refused_also_if_scikit_learn_trusts_them(make, way, bad):
    rows = X.copy()
    rows[7, 1] = bad
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        make().fit(*way(rows, Y))
    assert sklearn.get_config()["assume_finite"]


def test_how_many_labels_differ_is_said_only_where_they_are_read_off():
    # As many labels as half of the rows: scikit-learn warns from there on.
    labels = list(range(40))
    y = np.arange(N) % 40
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(classes=labels)._open(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")
        with pytest.warns(PrivacyLeakWarning):
            classifier(classes=None)._open(X, y)


@each_way
def test_targets_that_double_precision_rounds_to_zero_are_met_in_silence(way):
    y = np.zeros(N, dtype=np.longdouble)
    # A plain zero where long double is no longer than double.
    y[7] = np.finfo(np.longdouble).tiny if np.finfo(np.longdouble).minexp < -2000 else 0.0
    with np.errstate(all="raise"):
        regressor()._open(*way(X, y), *([None] if way is WAYS["chunks"] else []))
