"""What is wrong with a dask collection is said in a sentence that quotes nothing of it."""

import pickle
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

dask = pytest.importorskip("dask", reason="needs dask: pip install 'skdp[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")
pd = pytest.importorskip("pandas", reason="needs pandas")

from dask_examples import (  # noqa: E402  # noqa: E402
    CLASSIFIER,
    CUTS,
    QUICK,
    D,
    N,
    cut,
    data,
    labels,
    of_unknown_length,
    several,
)

from skdp import DPLogisticRegression, PrivacyLeakWarning  # noqa: E402
from skdp.estimators import Pilot  # noqa: E402
from skdp.privacy.rows import DaskRows, Recipe, Refused, Tasks, opened, packed  # noqa: E402
from skdp.problem import RowBounds  # noqa: E402
from skdp.solvers import SOLVERS, defaults  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.usefixtures("one_thread"),
]


def refuses(X, y, match, model=None, error=ValueError):
    model = model or DPLogisticRegression(**CLASSIFIER, **QUICK)
    with pytest.raises(error, match=match) as caught:
        model.fit(X, y)
    # Before anything was charged.
    assert not hasattr(model, "privacy_ledger_")
    assert not getattr(caught.value, "__notes__", [])
    return str(caught.value)


def test_other_partitions_are_refused():
    X, t = data()
    chunks, y = cut(X, labels(t))
    refuses(chunks, y.rechunk(300), "X and y in the same partitions, got 4 of X and 3 of y")
    refuses(chunks, y.rechunk(((400, 1, 349, 150),)), "in the same partitions")
    # Sizes that are known only once they are computed.
    unknown = of_unknown_length(X, labels(t))[0]
    refuses(unknown, y.rechunk(((400, 1, 349, 150),)), "in one of them")


def test_other_divisions_of_frames_are_refused(dd):
    X, t = data()
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    series = dd.from_pandas(pd.Series(labels(t), index=np.arange(N) + 5), npartitions=3)
    refuses(frame, series, "in the same partitions")


@pytest.mark.parametrize(
    ("pair", "match"),
    [
        (lambda X, y: (X, y.compute()), "dask series as y, .* got a ndarray"),
        (lambda X, y: (X.compute(), y), "dask dataframe as X, got a ndarray"),
        (lambda X, y: (X, None), "as y, .* got a NoneType"),
        (lambda X, y: (X, y[:, None]), "one dimension"),
        (lambda X, y: (y, y), "two dimensions"),
        (lambda X, y: (X.to_delayed().ravel()[0], y), "got a Delayed"),
        (lambda X, y: (X[:0], y[:0]), "at least one row"),
    ],
)
def test_other_kinds_are_refused(pair, match):
    X, t = data()
    refuses(*pair(*cut(X, labels(t))), match)


def test_streams_refuse_collections():
    X, t = data()
    chunks, y = cut(X, labels(t))
    model = DPLogisticRegression(**CLASSIFIER, **QUICK)
    with pytest.raises(ValueError, match=r"partial_fit needs the rows .* a dask collection"):
        model.partial_fit(chunks, y)


def _different_widths():
    X, t = data()
    parts = [da.from_array(X[:400], chunks=-1), da.from_array(X[400:, :3], chunks=-1)]
    wide = da.map_blocks(
        lambda i: (parts[int(i[0])]).compute(),
        da.arange(2, chunks=1),
        new_axis=1,
        chunks=((np.nan, np.nan), (D,)),
        dtype=float,
        meta=np.empty((0, 0)),
    )
    return wide, da.from_array(labels(t), chunks=((400, 500),))


def test_other_numbers_of_features_are_refused():
    refuses(*_different_widths(), "the same number of features in every partition")


SECRET = 123456.75


@pytest.mark.parametrize(
    ("spoil", "match", "error"),
    [
        (lambda X, y: X.__setitem__((500, 1), np.nan), "contains NaN", ValueError),
        (lambda X, y: X.__setitem__((500, 1), np.inf), "contains infinity", ValueError),
        (lambda X, y: y.__setitem__(3, 7), "labels among the 2 classes", ValueError),
    ],
)
def test_bad_entries_are_refused_with_the_words_that_are_used_in_memory(spoil, match, error):
    X, t = data()
    y = labels(t)
    spoil(X, y)
    with pytest.raises(error) as in_memory:
        DPLogisticRegression(**CLASSIFIER, **QUICK).fit(X, y)
    said = refuses(*cut(X, y), match, error=error)
    if "classes" in match or "NaN" in match:
        assert said == str(in_memory.value)


def test_errors_on_workers_quote_nothing():
    X, y = data()

    def failing(targets):
        raise KeyError(f"the target {SECRET}")

    # Interruptions by a tracer, in other tests, may leave an exception in the interpreter for good.
    left = sys.exc_info()[1]
    with pytest.raises(RuntimeError, match="KeyError") as caught:
        DaskRows(*cut(X, y), failing)
    assert str(SECRET) not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is left

    rows = DaskRows(*cut(X, y), np.asarray)
    for sums in (rows.sum, rows.bounded(RowBounds(2.0, 1.0)).sum):
        with pytest.raises(RuntimeError, match="one failed with KeyError") as caught:
            sums(failing)
        assert str(SECRET) not in str(caught.value)


def test_errors_of_what_makes_a_partition_quote_nothing():
    def fails():
        raise ValueError(f"could not convert {SECRET}")

    made = Recipe.of({"part": (fails,)}, "part")
    y = np.zeros(2)
    for X, targets in ((made, y), (np.zeros((2, 2)), made)):
        found = opened([X], [targets], None, None, [piece for _, piece in packed((np.asarray, 1))])
        assert found.kind is RuntimeError
        assert "ValueError on its worker" in found.message
        assert str(SECRET) not in found.message


def test_text_in_a_frame_is_not_quoted(dd):
    frame = pd.DataFrame({"a": ["1.0", "the secret", "2.0"], "b": 1.0})
    X = dd.from_pandas(frame, npartitions=2)
    y = da.from_array(np.array([0, 1, 0]), chunks=((2, 1),))
    assert "secret" not in refuses(X, y, "entries that are not numbers")


def test_a_source_that_changes_is_refused_after_the_charge_and_the_receipt_says_so():
    X, t = data()
    reads = []

    def changing(block):
        reads.append(None)
        # The first pass over the four chunks opens them.
        return block if len(reads) <= 8 else block + 1.0

    chunks, y = cut(X, labels(t))
    chunks = chunks.map_blocks(changing, dtype=float, meta=np.empty((0, 0)))
    model = DPLogisticRegression(**CLASSIFIER, **QUICK)
    with pytest.raises(ValueError, match="the same rows at each pass") as caught:
        model.fit(chunks, y)
    assert caught.value.__notes__
    assert 0 < model.privacy_spent_.epsilon <= 5.0
    assert len(model.privacy_ledger_) >= 1
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("drawn", [False, True], ids=["before the sample", "after it"])
def test_a_source_that_changes_around_the_sample_is_refused(drawn, monkeypatch):
    monkeypatch.setattr(defaults.Pilot, "LEAST_ENTRIES", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    shift, draw = [0.0], Tasks.sampled

    def change_around(self, positions):
        if not drawn:
            shift[0] = 1.0
        sample = draw(self, positions)
        shift[0] = 1.0
        return sample

    monkeypatch.setattr(Tasks, "sampled", change_around)
    chunks = da.from_array(X, chunks=(5_000, -1)).map_blocks(lambda block: block + shift[0])
    model = DPLogisticRegression(classes=[0, 1], data_norm=4.0, epsilon=20.0, random_state=0)
    with pytest.raises(ValueError, match="the same rows at each pass"):
        model.fit(chunks, da.from_array(y, chunks=5_000))
    # Answers about the sample are given if it was drawn of the rows that were opened.
    asked = {event.purpose for event in model.privacy_ledger_}
    assert (Pilot.purpose in asked) == drawn
    assert not hasattr(model, "coef_")


def test_partitions_that_are_opened_anew_with_other_rows_are_refused():
    """As when a worker is lost, and others read anew what it had."""
    X, t = data()
    rows, others = (DaskRows(*cut(X + shift, t), np.asarray) for shift in (0.0, 1.0))
    assert rows.sum(lambda block: block.X.sum(axis=0)).shape == (D,)
    rows._tasks._X, rows._tasks._opened = others._tasks._X, others._tasks._opened
    for store in (rows, rows.bounded(RowBounds(1.0)), rows.sample(np.arange(0, N, 9))):
        with pytest.raises(ValueError, match="the same rows at each pass"):
            store.sum(lambda block: np.zeros(1))


def test_classes_are_read_off_the_labels_with_a_warning_that_points_here():
    X, t = data()
    model = DPLogisticRegression(data_norm=4.0, random_state=0)
    with pytest.warns(PrivacyLeakWarning) as caught:
        model.fit(*cut(X, several(t)))
    assert [w.filename for w in caught if w.category is PrivacyLeakWarning] == [__file__]
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_targets_that_are_no_labels_are_refused_where_classes_are_sought():
    X, t = data()
    open_model = DPLogisticRegression(data_norm=4.0, random_state=0)
    refuses(*cut(X, t), "Unknown label type|classes=", open_model)
    many = da.arange(5000, chunks=1000)
    refuses(da.ones((5000, 2), chunks=(1000, 2)), many, "more than 1000 different", open_model)


def test_many_classes_are_not_taken_for_targets_that_all_differ():
    y = np.arange(600) % 60
    X = np.random.default_rng(0).normal(size=(600, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = DPLogisticRegression(data_norm=3.0, solver="gd", precondition=None)
        model.fit(*cut(X, y, (300, 300)))
    assert {w.category for w in caught} == {PrivacyLeakWarning}
    assert model.classes_.size == 60


@pytest.mark.parametrize(
    "solver",
    [name for name, solver in SOLVERS.items() if solver.federated or solver.in_order],
)
def test_solvers_that_take_rows_one_by_one_or_by_sites_are_refused_before_a_charge(solver):
    X, t = data()
    model = DPLogisticRegression(**CLASSIFIER, solver=solver)
    refuses(*cut(X, labels(t)), "arrays, not dask collections", model)


@pytest.mark.parametrize("solver", ["auto", "dda", "gd"])
def test_groups_of_dask_rows_are_refused_with_the_name_of_what_takes_them(solver):
    X, t = data()
    model = DPLogisticRegression(**CLASSIFIER, solver=solver)
    with pytest.raises(ValueError, match=r"sites=None when X is a dask.*Pass DaskSites") as caught:
        model.fit(*cut(X, labels(t)), sites=np.arange(len(X)) % 3)
    assert "'gd'" not in str(caught.value)
    assert not hasattr(model, "privacy_ledger_")


@pytest.mark.parametrize("kind", [np.ascontiguousarray, sp.csr_array], ids=["dense", "csr"])
def test_a_partition_that_stays_in_memory_is_known_by_itself_and_a_copy_by_its_bytes(kind):
    X, y = data()
    of_same_norms = [-X, X[:, ::-1], X[::-1]]
    nearly = X.copy()
    nearly[7, 2] = np.nextafter(nearly[7, 2], 1.0)
    X = kind(X)
    (kept,) = opened([X], [y], None, None, [packed((np.asarray, 1.0))[0][1]])
    travelled = pickle.loads(pickle.dumps(kept))
    layouts = [X, X.copy(), *([np.asfortranarray(X)] if isinstance(X, np.ndarray) else [])]
    for partition in (kept, travelled):
        for same in layouts:
            assert isinstance(partition.blocks(same), list)
        missing = X.copy()
        missing[0, 0] = np.nan
        for other in (X * 1.001, X[:-1], missing, *map(kind, [*of_same_norms, nearly])):
            with pytest.raises(Refused) as caught:
                partition.blocks(other)
            assert "the same rows at each pass" in caught.value.refusal.message


WEIGHTS = np.random.default_rng(4).uniform(0, 3, N)


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
def test_other_weights_are_refused_before_anything_is_spent(weights, match):
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
