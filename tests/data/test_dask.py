"""Rows of dask collections: the same fits as in memory, and nothing of a row is gathered."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from by_night import with_names
from sklearn.base import clone

dask = pytest.importorskip("dask", reason="needs dask: pip install 'skdp[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")
pd = pytest.importorskip("pandas", reason="needs pandas")

from dask_examples import (  # noqa: E402  # noqa: E402
    CLASSIFIER,
    CUTS,
    QUICK,
    REGRESSOR,
    D,
    N,
    close,
    cut,
    data,
    labels,
    of_unknown_length,
    several,
    tasks_of,
)

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier  # noqa: E402
from skdp.privacy.rows import DaskRows, DenseRows, SparseRows, added, total  # noqa: E402
from skdp.problem import RowBounds, RowMap, TargetBounds  # noqa: E402
from skdp.problem.constraints import L1Ball  # noqa: E402
from skdp.solvers import PPM, SVRG, AccMD, AdaptiveGD, DualAveraging, Spider  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.usefixtures("one_thread"),
]


# Together they ask every query: moments, histograms, gradients and their norms, sizes, shares
# and differences, of all rows and of samples, row means, selections, quantiles, normal equations
# and perturbed minima.
FITS = {
    "logistic": (DPLogisticRegression(**CLASSIFIER), labels),
    "logistic, private bounds": (DPLogisticRegression(classes=[0, 1], random_state=0), labels),
    "softmax": (DPLogisticRegression(**{**CLASSIFIER, "classes": [0, 1, 2]}), several),
    "balanced": (DPLogisticRegression(class_weight="balanced", **CLASSIFIER), labels),
    "svrg": (DPLogisticRegression(solver=SVRG(steps=6), **CLASSIFIER), labels),
    "svrg, batches": (
        DPLogisticRegression(solver=SVRG(batch_size=300), **CLASSIFIER),
        labels,
    ),
    "spider": (DPLogisticRegression(solver=Spider(steps=6), **CLASSIFIER), labels),
    "accmd": (DPLogisticRegression(solver=AccMD(steps=6), **CLASSIFIER), labels),
    "ppm": (DPLogisticRegression(solver=PPM(steps=6), **CLASSIFIER), labels),
    "dual_averaging": (DPLogisticRegression(solver=DualAveraging(steps=6), **CLASSIFIER), labels),
    "adaptive_gd": (DPLogisticRegression(solver=AdaptiveGD(steps=6), **CLASSIFIER), labels),
    "perturbed": (DPLogisticRegression(solver="objective_perturbation", **CLASSIFIER), labels),
    "svm": (DPSVMClassifier(**CLASSIFIER), labels),
    "svm, several": (DPSVMClassifier(**{**CLASSIFIER, "classes": [0, 1, 2]}), several),
    "linear": (DPLinearRegression(**REGRESSOR), None),
    "linear, private bounds": (DPLinearRegression(epsilon=5.0, random_state=0), None),
    "one_step": (DPLinearRegression(solver="one_step", **REGRESSOR | {"epsilon": 20.0}), None),
    "adassp": (DPLinearRegression(solver="adassp", **REGRESSOR), None),
    "lasso": (DPLassoRegressor(feature_bound=3.0, **REGRESSOR), None),
    "frank_wolfe": (
        DPLogisticRegression(solver="frank_wolfe", constraint=L1Ball(2.0), **CLASSIFIER),
        labels,
    ),
}


WEIGHTS = np.random.default_rng(4).uniform(0, 3, N)
WEIGHTED = ("logistic", "balanced", "linear, private bounds", "lasso", "adassp")
CASES = {name: (*case, None) for name, case in FITS.items()}
CASES |= {f"{name}, weighted": (*FITS[name], WEIGHTS) for name in WEIGHTED}


@pytest.mark.parametrize(
    ("model", "as_target", "weights"),
    with_names(
        CASES,
        (
            "svrg, batches",
            "linear, private bounds",
            "lasso",
            "svm, several",
            "balanced",
            "linear, private bounds, weighted",
            "lasso, weighted",
            "adassp, weighted",
        ),
    ),
)
@pytest.mark.by_day(8)
def test_a_fit_equals_the_one_in_memory_for_the_same_noise(model, as_target, weights):
    X, t = data()
    y = t if as_target is None else as_target(t)
    if isinstance(model.solver, SVRG) and model.solver.batch_size:
        pytest.importorskip("dp_accounting")
    in_chunks = None if weights is None else da.from_array(weights, chunks=(CUTS,))
    model = clone(model).set_params(max_weight=2.0)
    model.fit(X, y, weights)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    model.fit(*cut(X, y), in_chunks)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    for name in ("coef_", "intercept_", "n_iter_", "n_features_in_", "data_norm_"):
        close(after[name], before[name])
    close(after["privacy_spent_"], before["privacy_spent_"])
    told = [[(e.query, e.count) for e in end["privacy_ledger_"]] for end in (before, after)]
    assert told[0] == told[1]


def test_the_same_partitions_give_the_same_answer_to_the_last_bit():
    X, t = data()
    models = [DPLinearRegression(**REGRESSOR, **QUICK).fit(*cut(X, t)) for _ in range(2)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_sizes_of_chunks_need_not_be_known(scheduler):
    X, t = data()
    model = DPLogisticRegression(**CLASSIFIER, **QUICK).fit(X, labels(t))
    coef = model.coef_
    with dask.config.set(scheduler=scheduler):
        close(model.fit(*of_unknown_length(X, labels(t))).coef_, coef)


def test_an_array_cut_along_the_features_is_put_together():
    X, t = data()
    model = DPLinearRegression(**REGRESSOR, **QUICK).fit(X, t)
    coef = model.coef_
    whole, y = cut(X, t)
    close(model.fit(whole.rechunk({1: 2}), y).coef_, coef)


def test_a_frame_gives_its_names_and_the_fit_of_its_entries(dd):
    X, t = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    label = pd.Series(np.where(t > 0, "yes", "no"), name="label")
    options = {**CLASSIFIER, **QUICK, "classes": ["no", "yes"]}
    model = DPLogisticRegression(**options).fit(frame, label)
    coef, names = model.coef_, model.feature_names_in_
    both = dd.from_pandas(frame.assign(label=label), npartitions=3)
    model.fit(both[["a", "b", "c", "d"]], both["label"])
    close(model.coef_, coef)
    assert list(model.feature_names_in_) == list(names)
    # A frame and an array of targets in the same partitions.
    lengths = tuple(both["label"].map_partitions(len).compute())
    model.fit(both[["a", "b", "c", "d"]], da.from_array(label.to_numpy(object), chunks=(lengths,)))
    close(model.coef_, coef)


def test_weights_may_be_a_column_of_a_frame(dd):
    X, t = data()
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=labels(t), weight=WEIGHTS)
    frame = dd.from_pandas(table, npartitions=3)
    model = DPLogisticRegression(**CLASSIFIER, **QUICK, max_weight=2.0)
    ours = model.fit(frame[list("abcd")], frame["y"], frame["weight"]).coef_
    close(ours, model.fit(X, labels(t), WEIGHTS).coef_)
    assert np.abs(ours - model.fit(X, labels(t)).coef_).max() > 1e-3


def test_a_frame_is_predicted_in_its_partitions(dd):
    X, t = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = DPLogisticRegression(**CLASSIFIER, **QUICK).fit(frame, labels(t))
    rows = dd.from_pandas(frame, npartitions=3)
    for method in (model.predict, model.predict_proba, model.decision_function):
        lazy = method(rows)
        assert lazy.numblocks[0] == 3
        np.testing.assert_array_equal(lazy.compute(), method(frame))
    assert model.score(rows, dd.from_pandas(pd.Series(labels(t)), npartitions=3)) == model.score(
        frame, labels(t)
    )
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(rows[["b", "a", "c", "d"]])


def test_chunks_may_be_sparse():
    X, t = data()
    X[np.abs(X) < 0.5] = 0.0
    model = DPLogisticRegression(**CLASSIFIER, **QUICK).fit(sp.csr_array(X), labels(t))
    coef = model.coef_
    chunks, y = cut(X, labels(t))
    close(model.fit(chunks.map_blocks(sp.csr_matrix), y).coef_, coef)


def test_single_precision_stays():
    X, t = data()
    X = X.astype(np.float32)
    model = DPLinearRegression(**REGRESSOR, **QUICK).fit(X, t)
    coef = model.coef_
    assert coef.dtype == model.fit(*cut(X, t)).coef_.dtype == np.float32
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-5)


MAP = RowMap(np.ones(D), np.diag([1.0, 2.0, 0.5, 1.0]), np.full(D, 0.1), 1.5)
BOUNDS = {
    "plain": RowBounds(2.0, 1.0, TargetBounds(-1.0, 1.0)),
    "mapped": RowBounds(2.0, 1.0, row_map=MAP),
    "columns": RowBounds(1.0, columns=(2, 0)),
    "signs": RowBounds(2.0, nonnegative=True),
}


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_sums_over_bounded_rows_are_those_in_memory(bounds, kind):
    X, y = data()
    X[::97] = 1e200
    marked = np.random.default_rng(1).random(N) < 0.1

    def kernel(block):
        z = block.scores(np.ones(len(block.rows().T)))
        return np.append(block.combine(np.tanh(z)), [block.y.sum(), block.norms.sum()])

    memory = (DenseRows if kind is np.asarray else SparseRows)(kind(X), y)
    chunks, targets = cut(X, y)
    rows = DaskRows(chunks.map_blocks(kind), targets, np.asarray)
    with np.errstate(all="ignore"):
        close(rows.bounded(bounds).sum(kernel), memory.bounded(bounds).sum(kernel))
        close(rows.bounded(bounds).sum(kernel, marked), memory.bounded(bounds).sum(kernel, marked))
        # As they came.
        sizes = [store.sum(lambda raw: np.array([np.sum(raw.norms)])) for store in (rows, memory)]
    close(*sizes)


def test_a_walk_keeps_no_scores_or_columns_on_the_workers():
    X, y = data()
    chunks, targets = cut(X, y)
    rows = DaskRows(chunks.map_blocks(sp.csr_array).persist(), targets, np.asarray)
    memory = SparseRows(sp.csr_array(X), y).bounded(BOUNDS["plain"])
    view, w = rows.bounded(BOUNDS["plain"]), np.zeros(D + 1)
    (held,) = rows._tasks._opened.grouped([[0]]).gathered()
    sizes = []
    for j in range(3):
        w = w.copy()
        w[j] = 1.0

        def kernel(block, w=w):
            return block.combine_within(np.tanh(block.scores_along(w, 1.0)), 0.1)

        close(view.sum(kernel), memory.sum(kernel))
        sizes.append(len(pickle.dumps(held[0][0].part._kept)))
    assert len(set(sizes)) == 1


def leaves(count, width=3):
    """Answers of so many partitions, the second of which has no rows."""
    rng = np.random.default_rng(0)
    parts = {(0, i): rng.normal(size=width) * 10.0 ** rng.integers(-8, 8) for i in range(count)}
    return parts | {(0, 1): None} if count > 1 else parts


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16, 37])
def test_the_order_of_sums_is_that_of_partitions_wherever_they_lie(count):
    parts = leaves(count)
    ((_, whole),) = added([parts], count).items()
    np.testing.assert_allclose(whole, sum(p for p in parts.values() if p is not None), rtol=1e-9)
    rng = np.random.default_rng(1)
    for workers in (2, 3, 10):
        of_each = [{} for _ in range(workers)]
        for node, part in parts.items():
            of_each[rng.integers(workers)][node] = part
        here = [added([some], count) for some in of_each]
        ((_, out),) = added([added(here[1:], count), here[0]], count).items()
        np.testing.assert_array_equal(out, whole)


def test_a_task_leaves_the_answers_of_other_tasks_alone():
    parts = leaves(4)
    before = pickle.dumps(parts)
    added([parts], 4)
    assert pickle.dumps(parts) == before
    # In memory the first one is used up.
    first = [np.ones(2), np.ones(2)]
    assert total(first) is first[0]


def test_tasks_are_one_a_partition_and_a_tree():
    X, y = data()
    counts = []

    def counting(graph, keys, **options):
        counts.append(len(tasks_of(graph)))
        return dask.get(graph, keys, **options)

    chunks, targets = da.from_array(X, chunks=(20, -1)), da.from_array(y, chunks=20)
    rows = DaskRows(chunks, targets, np.asarray)
    bounded = rows.bounded(BOUNDS["plain"])
    with dask.config.set(scheduler=counting):
        bounded.sum(lambda block: block.combine(block.y.copy()))
    n = chunks.npartitions
    # Chunks, what is kept of them (twice), answers, sums of 16, and the query itself; the array
    # that they are cut from.
    assert counts[-1] <= 4 * n + n // 16 + 2 + 2


def test_large_public_arrays_are_sent_once():
    X, y = data()
    d = 120
    X = np.random.default_rng(0).normal(size=(N, d))
    rows = DaskRows(*cut(X, y), np.asarray)
    shapes = RowMap(np.ones(d), np.eye(d), np.zeros(d), 1.0)
    bounds = RowBounds(1.0, row_map=shapes)
    sizes = []

    def weighing(graph, keys, **options):
        literals = [getattr(v, "value", v) for v in tasks_of(graph).values()]
        sizes.append([len(literal) for literal in literals if isinstance(literal, bytes)])
        return dask.get(graph, keys, **options)

    view = rows.bounded(bounds)
    with dask.config.set(scheduler=weighing):
        for _ in range(3):
            view.sum(lambda block: block.combine(block.y.copy()) * len(bounds.row_map.shift))
    kept = rows._tasks._sent
    # To be kept, and with each query.
    assert [len(pieces) for pieces in sizes] == [1, 2, 2, 2]
    assert all(min(pieces) < 1e5 < 8 * d * d == max(pieces) for pieces in sizes[1:])
    view.sum(lambda block: np.array([bounds.row_map.matrix.sum()]))
    assert rows._tasks._sent.keys() == kept.keys()
    assert all(rows._tasks._sent[name] is kept[name] for name in kept)


def test_encoders_that_are_sent_hold_no_seed():
    import cloudpickle

    seed = 3141592653
    for model, t in (
        (DPLinearRegression(random_state=seed), np.ones(3)),
        (DPLogisticRegression(random_state=seed, classes=[0, 1]), np.ones(3, dtype=int)),
    ):
        sent = cloudpickle.dumps(model._prepare_targets(t))
        assert seed.to_bytes(4, "little") not in sent


def test_the_store_does_not_travel():
    import cloudpickle

    rows = DaskRows(*cut(*data()), np.asarray)
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        cloudpickle.dumps(rows)
