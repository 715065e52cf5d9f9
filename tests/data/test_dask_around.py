"""Tools of dask around our estimators: joblib's backend and dask_ml's Incremental."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

distributed = pytest.importorskip("distributed", reason="needs dask: pip install 'skdp[dask]'")
dask = pytest.importorskip("dask", reason="needs dask: pip install 'skdp[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")


from skdp import DPLogisticRegression  # noqa: E402
from skdp.preprocessing import BoundsScaler, DPOneHotEncoder, DPStandardScaler  # noqa: E402
from skdp.solvers import GD  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

OPTIONS = {"data_norm": 3.0, "solver": GD(steps=3), "precondition": None}


def data(n=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def test_a_search_on_dask_finds_what_it_finds_without(client):
    X, y = data()
    model = DPLogisticRegression(classes=[0, 1], random_state=0, **OPTIONS)
    search = GridSearchCV(model, {"epsilon": [0.5, 5.0], "C": [0.1, 1.0]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = search.fit(X, y).cv_results_["mean_test_score"]
        with joblib.parallel_config("dask"):
            on_workers = search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(on_workers, reference)


def coefficients(X, y):
    return DPLogisticRegression(classes=[0, 1], **OPTIONS).fit(X, y).coef_


def test_no_two_fits_on_workers_share_noise(client):
    X, y = data()
    with joblib.parallel_config("dask"):
        found = joblib.Parallel()(joblib.delayed(coefficients)(X, y) for _ in range(8))
    found = np.concatenate(found)
    assert len(np.unique(found)) == found.size


def test_a_fit_within_a_task_charges_its_own_ledger(client):
    X, y = data()
    model = DPLogisticRegression(classes=[0, 1], **OPTIONS)
    fitted = client.submit(model.fit, X, y).result()
    here = DPLogisticRegression(classes=[0, 1], **OPTIONS).fit(X, y)
    assert fitted.privacy_ledger_ == here.privacy_ledger_
    assert fitted.privacy_spent_ == here.privacy_spent_


def test_incremental_hands_over_one_partition_after_the_other(client):
    wrappers = pytest.importorskip("dask_ml.wrappers", reason="needs dask_ml")
    X, y = data(900)
    chunks, targets = da.from_array(X, chunks=(300, -1)), da.from_array(y, chunks=300)
    model = DPLogisticRegression(classes=[0, 1], epsilon=5.0, **OPTIONS)
    wrapped = wrappers.Incremental(model, shuffle_blocks=False)
    wrapped.fit(chunks, targets)
    fitted = wrapped.estimator_
    assert fitted.n_samples_seen_ == 900
    # Parts have no row in common: all of them together cost what one does.
    assert fitted.privacy_spent_.epsilon <= 5.0
    assert sum(event.count for event in fitted.privacy_ledger_) > 0


@pytest.mark.parametrize("scaler", [BoundsScaler(bounds=(-5, 5)), DPStandardScaler(epsilon=5.0)])
@pytest.mark.parametrize("framed", [False, True])
def test_scalers_leave_dask_collections_in_partitions_for_the_model_behind(scaler, framed, request):
    X, y = data(900)
    names = list("abcd")
    # Columns in two chunks, which no scaler could see one at a time.
    rows, targets = da.from_array(X, chunks=(300, 2)), da.from_array(y, chunks=300)
    if framed:
        dd = request.getfixturevalue("dd")
        rows = dd.from_dask_array(rows.rechunk((300, 4)), columns=names)
        targets = dd.from_dask_array(targets, columns="y")
    model = DPLogisticRegression(classes=[0, 1], epsilon=5.0, **OPTIONS)
    chain = make_pipeline(scaler, model).fit(rows, targets)
    scaled = chain[0].transform(rows)
    assert dask.is_dask_collection(scaled)
    here = pd.DataFrame(X, columns=names) if framed else X
    np.testing.assert_array_equal(scaled.compute(), chain[0].transform(here))
    assert list(getattr(chain[0], "feature_names_in_", [])) == names * framed
    assert chain.score(rows, targets) > 0.6


def test_words_of_a_dask_dataframe_are_encoded_in_partitions(dd):
    rng = np.random.default_rng(0)
    words = pd.DataFrame({"word": rng.choice(["a", "b"], 900)})
    encoder = DPOneHotEncoder(categories=[["a", "b"]], epsilon=1.0, sparse_output=False).fit(words)
    rows = dd.from_pandas(words, npartitions=3)
    np.testing.assert_array_equal(encoder.transform(rows).compute(), encoder.transform(words))
    # Whoever asks for a frame of pandas gets one, from either, and again.
    encoder.set_output(transform="pandas")
    for given in (rows, words):
        assert list(encoder.transform(given)) == ["word_a", "word_b"]
