"""Weights of rows in dask collections: the same fits as in memory."""

import numpy as np
import pytest
from by_night import with_names

dask = pytest.importorskip("dask", reason="needs dask: pip install 'skdp[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")
pd = pytest.importorskip("pandas", reason="needs pandas")

from dask_examples import CLASSIFIER, CUTS, QUICK, REGRESSOR, N, close, cut, data, labels  # noqa: E402

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

WEIGHTS = np.random.default_rng(4).uniform(0, 3, N)
MODELS = {
    "logistic": (DPLogisticRegression, CLASSIFIER, labels),
    "balanced": (DPLogisticRegression, {**CLASSIFIER, "class_weight": "balanced"}, labels),
    "linear, private bounds": (DPLinearRegression, {"random_state": 0, "epsilon": 5.0}, np.array),
    "lasso": (DPLassoRegressor, REGRESSOR, np.array),
    "normal equations": (DPLinearRegression, {**REGRESSOR, "solver": "adassp"}, np.array),
}


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize(
    "case",
    with_names({name: name for name in MODELS}, ["linear, private bounds"]),
)
@pytest.mark.by_day(1)
def test_the_fit_is_that_in_memory(case):
    kind, options, of = MODELS[case]
    X, t = data()
    y = of(t)
    expected = kind(max_weight=2.0, **options).fit(X, y, WEIGHTS)
    plain = kind(**options).fit(X, y)
    assert np.abs(expected.coef_ - plain.coef_).max() > 1e-3
    given = da.from_array(WEIGHTS, chunks=(CUTS,))
    ours = kind(max_weight=2.0, **options).fit(*cut(X, y), given)
    close(ours.coef_, expected.coef_)
    close(ours.intercept_, expected.intercept_)
    assert ours.privacy_ledger_ == expected.privacy_ledger_


def test_weights_may_be_a_column_of_a_frame(dd):
    X, t = data()
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=labels(t), weight=WEIGHTS)
    frame = dd.from_pandas(table, npartitions=3)
    model = DPLogisticRegression(**CLASSIFIER, **QUICK, max_weight=2.0)
    ours = model.fit(frame[list("abcd")], frame["y"], frame["weight"]).coef_
    close(ours, model.fit(X, labels(t), WEIGHTS).coef_)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (WEIGHTS, "needs a dask array of one dimension or a dask series as sample_weight"),
        (da.from_array(WEIGHTS, chunks=300), "X and sample_weight in the same partitions"),
        (da.from_array(-WEIGHTS, chunks=(CUTS,)), "Negative values in data passed"),
        (da.from_array(np.nan * WEIGHTS, chunks=(CUTS,)), "contains NaN or infinity"),
    ],
    ids=["in memory", "cut otherwise", "negative", "not numbers"],
)
def test_others_are_refused_before_anything_is_spent(weights, match):
    X, t = data()
    model = DPLogisticRegression(**CLASSIFIER, **QUICK)
    with pytest.raises(ValueError, match=match):
        model.fit(*cut(X, labels(t)), sample_weight=weights)
    assert not hasattr(model, "privacy_ledger_")


def test_scores_and_rows_of_a_stream_are_not_weighted_there():
    X, t = data()
    chunks, y = cut(X, labels(t))
    model = DPLogisticRegression(**CLASSIFIER, **QUICK).fit(chunks, y)
    with pytest.raises(ValueError, match="sample_weight=None for dask collections"):
        model.score(chunks, y, sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match="partial_fit needs the rows themselves"):
        model.partial_fit(X, labels(t), sample_weight=da.from_array(WEIGHTS))
