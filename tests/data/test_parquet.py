"""Rows of Parquet files: the fits of the same rows in memory, whatever groups they lie in."""

import os
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'skdp[parquet]'")

from pyarrow import parquet  # noqa: E402

from skdp import Chunks, DPLinearRegression, DPLogisticRegression  # noqa: E402
from skdp.privacy.rows import ChunkedRows  # noqa: E402
from skdp.privacy.rows import parquet as source  # noqa: E402
from skdp.solvers import GD  # noqa: E402
from skdp.testing import exact_fit  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N = 3000
NAMES = ["age", "income", "visits", "member"]
OPTIONS = {"data_bounds": (-4, 4), "solver": GD(steps=4), "precondition": None}
BUDGET = {**OPTIONS, "classes": ["no", "yes"], "random_state": 0}


def columns(seed=0, n=N):
    """A column of each kind of numbers, labels, weights and people."""
    rng = np.random.default_rng(seed)
    age, income = rng.normal(size=n).astype(np.float32), rng.normal(size=n)
    visits, member = rng.integers(0, 4, n).astype(np.int16), rng.random(n) < 0.5
    score = age - income + member + rng.logistic(size=n)
    return {
        "age": age,
        "income": income,
        "visits": visits,
        "member": member,
        "returned": np.where(score > 0, "yes", "no"),
        "score": score,
        "weight": rng.random(n),
        "who": rng.permutation(np.arange(n) % (n // 3)),
    }


def features(of):
    return np.column_stack([of[name] for name in NAMES]).astype(float)


def written(folder, of, cuts=(0, 1000, N), **options):
    """A folder of files of so many rows each."""
    folder.mkdir(exist_ok=True)
    table = pa.table(of)
    for k, (i, j) in enumerate(pairwise(cuts)):
        parquet.write_table(table.slice(i, j - i), folder / f"part-{k}.parquet", **options)
    return folder


@pytest.mark.parametrize("name", [None, "customer"])
def test_the_index_of_a_frame_is_no_feature_as_in_pandas(tmp_path, name):
    of = columns()
    frame = pd.DataFrame({k: of[k] for k in (*NAMES, "returned")})
    frame.index = pd.Index(np.random.default_rng(1).permutation(N), name=name)
    frame.to_parquet(tmp_path / "indexed.parquet")
    chunks = Chunks.from_parquet(tmp_path / "indexed.parquet", target="returned")
    model = DPLogisticRegression(**BUDGET).fit(chunks)
    assert model.feature_names_in_.tolist() == NAMES
    listed = [name or "__index_level_0__", *NAMES]
    asked = Chunks.from_parquet(tmp_path / "indexed.parquet", target="returned", columns=listed)
    assert DPLogisticRegression(**BUDGET).fit(asked).feature_names_in_.tolist() == listed


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """So that few rows are in several of them."""
    monkeypatch.setattr(source, "_ROWS", 256)
    monkeypatch.setattr(source, "_LEAST_ROWS", 256)


def same(model, reference):
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=1e-10, atol=1e-12)


def test_a_fit_equals_the_one_in_memory_and_knows_the_names(tmp_path):
    of = columns()
    chunks = Chunks.from_parquet(
        written(tmp_path / "a", of), target="returned", columns=NAMES, weights="weight"
    )
    model, reference = DPLogisticRegression(**BUDGET), DPLogisticRegression(**BUDGET)
    model.fit(chunks)
    reference.fit(features(of), of["returned"], of["weight"])
    same(model, reference)
    assert list(model.feature_names_in_) == NAMES
    assert model.privacy_ledger_ == reference.privacy_ledger_


def test_bounds_and_columns_have_their_names(tmp_path):
    pd = pytest.importorskip("pandas")
    of = columns()
    bounds = {"visits": (0, 3), "member": (0, 1), "age": (-4, 4), "income": (-4, 4)}
    options = {**BUDGET, "data_bounds": bounds}
    folder = written(tmp_path / "a", {name: of[name] for name in [*NAMES, "returned"]})
    model = DPLogisticRegression(**options).fit(Chunks.from_parquet(folder, target="returned"))
    frame = pd.DataFrame({name: of[name] for name in NAMES})
    same(model, DPLogisticRegression(**options).fit(frame, of["returned"]))


@pytest.mark.parametrize("as_path", [str, os.fspath, lambda p: p, lambda p: sorted(p.glob("p*"))])
def test_files_are_named_in_several_ways(tmp_path, as_path):
    folder = written(tmp_path / "a", columns())
    (folder / "_SUCCESS").write_text("")
    read = list(Chunks.from_parquet(as_path(folder), target="score", columns=NAMES))
    assert sum(len(y) for _, y in read) == N


def test_row_groups_and_files_change_no_bit(tmp_path, gradient):
    """Writers may cut them by bytes, and then their borders depend on what is in the rows."""
    of = columns()
    found = []
    for k, (cuts, rows) in enumerate(
        [((0, N), 10**6), ((0, 1, 2, N), 7), ((0, 999, 1700, N), 256), ((0, N), 1)]
    ):
        folder = written(tmp_path / str(k), of, cuts, row_group_size=rows)
        chunks = Chunks.from_parquet(folder, target="score", columns=NAMES)
        assert [len(y) for _, y in chunks] == [256] * (N // 256) + [N % 256]
        rows = ChunkedRows(chunks, lambda y: (y > 0).astype(float))
        found += [gradient(rows), gradient(rows)]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_people_have_rows_in_several_files(tmp_path):
    of = columns()
    folder = written(tmp_path / "a", of)
    chunks = Chunks.from_parquet(folder, target="score", columns=NAMES, privacy_unit="who")
    options = {**OPTIONS, "target_bounds": (-5, 5)}
    model, reference = DPLinearRegression(**options), DPLinearRegression(**options)
    exact_fit(model, chunks, None, privacy_unit=True)
    cut = [(features(of), of["score"], None, of["who"])]
    exact_fit(reference, Chunks(cut), None, privacy_unit=True)
    same(model, reference)


def test_several_targets_are_a_table(tmp_path):
    of = columns()
    folder = written(tmp_path / "a", of)
    chunks = Chunks.from_parquet(folder, target=["score", "income"], columns=["age", "visits"])
    options = {**OPTIONS, "target_bounds": (-5, 5)}
    model = DPLinearRegression(**options)
    exact_fit(model, chunks, None)
    assert model.coef_.shape == (2, 2)


def test_single_precision_is_kept_where_all_columns_have_room_in_it(tmp_path):
    folder = written(tmp_path / "a", columns())
    for chosen, dtype in ((["age", "visits", "member"], np.float32), (NAMES, np.float64)):
        X, _ = next(iter(Chunks.from_parquet(folder, target="score", columns=chosen)))
        assert X.dtype == dtype


def test_codes_of_dictionaries_are_read_as_what_they_stand_for(tmp_path):
    of = columns()
    coded = {
        **of,
        "returned": pa.array(of["returned"]).dictionary_encode(),
        "visits": pa.array(of["visits"]).dictionary_encode(),
        "income": pa.array(of["income"]).cast(pa.decimal128(20, 12), safe=False),
    }
    of["income"] = pa.table(coded)["income"].cast(pa.float64()).to_numpy()
    found = [
        list(Chunks.from_parquet(written(tmp_path / name, data), target="returned", columns=NAMES))
        for name, data in (("plain", of), ("coded", coded))
    ]
    for (X, y), (Z, t) in zip(*found, strict=True):
        np.testing.assert_array_equal(X, Z)
        np.testing.assert_array_equal(y, t)


def test_missing_numbers_are_refused_as_in_memory_and_columns_are_named_if_wrong(tmp_path):
    of = columns()
    of["age"] = pa.array([*of["age"].tolist()[:-1], None])
    of["member"] = pa.array([None, *of["member"].tolist()[1:]])
    folder = written(tmp_path / "a", of)
    for name in ("age", "member"):
        model = DPLogisticRegression(**BUDGET)
        with pytest.raises(ValueError, match="contains NaN; fill them with a known constant"):
            model.fit(Chunks.from_parquet(folder, target="returned", columns=[name, "income"]))
        assert not hasattr(model, "privacy_ledger_")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"target": "churn"}, ValueError, "needs columns of the files, got 'churn'; there are 'age'"),
        ({"columns": ["age", "agee"]}, ValueError, "got 'agee'"),
        ({}, ValueError, "as features and weights; 'returned', 'when' hold string, .* Leave them out"),
        ({"columns": ["age", "age"]}, ValueError, "each column once, .* got 'age'"),
        ({"columns": ["score"]}, ValueError, "each column once, .* got 'score'"),
        ({"columns": []}, ValueError, "at least one column of features"),
        ({"target": [], "columns": ["age"]}, ValueError, "at least one column of features and one of targets"),
        ({"weights": "returned"}, ValueError, "'returned' hold string"),
        ({"filters": [("age", ">", 0)]}, ValueError, "needs filters=None: the number of"),
        ({"columns": ["when", "age"]}, ValueError, r"'when' hold timestamp\[ms\].*days since a fixed date"),
        ({"path": "nowhere://table"}, ValueError, r"address that pyarrow\.fs knows.* got 'nowhere://table'"),
        ({"target": None}, TypeError, "needs target as the name of a column or a list of names, got None"),
        ({"target": 3}, TypeError, "needs target as the name of a column or a list of names, got 3"),
        ({"columns": "age"}, TypeError, "needs columns as a list of names, got 'age'"),
        ({"weights": np.ones(3)}, TypeError, r"needs weights as the name of a column .* shape \(3,\)"),
        ({"privacy_unit": True}, TypeError, "needs privacy_unit as the name of a column"),
        ({"path": None}, TypeError, "needs the path of a file or folder, or a list of paths, got None"),
        ({"path": pd.DataFrame({"age": [3]})}, TypeError, r"got an? .*DataFrame.* are passed to fit"),
    ],
)  # fmt: skip
def test_columns_and_files_that_do_not_fit_are_refused_by_name(tmp_path, options, error, match):
    path = written(tmp_path / "a", columns() | {"when": np.arange(N).astype("datetime64[s]")})
    with pytest.raises(error, match=match):
        Chunks.from_parquet(**{"path": path, "target": "score"} | options)


@pytest.mark.parametrize("text", ["", "age,score", "PAR1" * 5])
def test_files_in_another_format_are_refused_by_name(tmp_path, text):
    (tmp_path / "a.parquet").write_text(text)
    with pytest.raises(ValueError, match=r"in the format of Parquet.*a\.parquet' is none"):
        Chunks.from_parquet(tmp_path, target="score")


def test_files_that_differ_are_refused(tmp_path):
    folder = written(tmp_path / "a", columns())
    other = columns()
    other["age"] = other["age"].astype(str)
    del other["income"]
    parquet.write_table(pa.table(other), folder / "z.parquet")
    with pytest.raises(ValueError, match=r"same names and types; those called 'age', 'income'"):
        Chunks.from_parquet(folder, target="score", columns=NAMES)
    # A column that nobody asked for may be of any type.
    assert list(Chunks.from_parquet(folder, target="score", columns=["visits"]))


@pytest.mark.parametrize("path", ["nothing", "empty"])
def test_a_place_without_files_is_refused(tmp_path, path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="needs a Parquet file, or a folder"):
        Chunks.from_parquet(tmp_path / path, target="score")


def test_rows_are_decoded_once_where_they_have_room_or_ahead_and_no_bit_changes(
    tmp_path, monkeypatch
):
    folder, passes = written(tmp_path / "a", columns()), []
    monkeypatch.setattr(source.ParquetSource, "_chunks", counted(passes))
    models = []
    for threads, memory in ((1, None), (1, 24 * N), (1, 0), (2, None), (2, 24 * N), (2, 0)):
        monkeypatch.setattr(source, "usable_threads", lambda threads=threads: threads)
        chunks = Chunks.from_parquet(folder, target="returned", columns=NAMES, memory=memory)
        passes.clear()
        models.append(DPLogisticRegression(**BUDGET).fit(chunks))
        queries = sum(event.count for event in models[-1].privacy_ledger_)
        assert len(passes) == (1 if memory is None else 1 + queries)
    for model in models:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)


def counted(passes):
    """Reading that adds an entry to a list each time that it begins."""
    honest = source.ParquetSource._chunks

    def read(self):
        passes.append(None)
        return honest(self)

    return read


def changing(folder, fit, after):
    """Write other files once so many passes over the rows have begun."""
    honest, begun = source.ParquetSource.__iter__, []

    def read(self):
        begun.append(None)
        if len(begun) == after:
            fit()
        return honest(self)

    return read


@pytest.mark.parametrize("ahead", [1, 2], ids=["as needed", "ahead"])
@pytest.mark.parametrize("how", ["another row", "one row more", "other groups", "another type"])
def test_a_file_that_changes_ends_the_fit_and_the_receipt_says_what_was_spent(
    tmp_path, monkeypatch, how, ahead
):
    monkeypatch.setattr(source, "usable_threads", lambda: ahead)
    of = columns()
    folder = written(tmp_path / "a", of)
    changed = {name: column.copy() for name, column in of.items()}
    options, cuts = {}, (0, 1000, N)
    if how == "another row":
        changed["age"][5] += np.float32(1.0)
    elif how == "one row more":
        changed = {name: np.append(column, column[:1]) for name, column in of.items()}
        cuts = (0, 1000, N + 1)
    elif how == "other groups":
        options = {"row_group_size": 100}
    else:
        changed["age"] = of["age"].astype(np.float64)

    def write():
        written(folder, changed, cuts, **options)

    model = DPLogisticRegression(**BUDGET)
    chunks = Chunks.from_parquet(folder, target="returned", columns=NAMES, memory=24 * (N + 1))
    monkeypatch.setattr(source.ParquetSource, "__iter__", changing(folder, write, after=4))
    with pytest.raises(ValueError, match=r"written anew|have changed|same names and types") as said:
        model.fit(chunks)
    assert said.value.__notes__
    # Of one look at the classes' counts, or steps, not all of which were reached.
    assert 1 <= sum(event.count for event in model.privacy_ledger_) <= 4
    assert not hasattr(model, "coef_")
    assert 0 < model.privacy_spent_.epsilon <= 1.0


def test_statistics_of_files_reach_neither_model_nor_words(tmp_path):
    of = columns()
    of["income"][7] = 123456.75
    chunks = Chunks.from_parquet(written(tmp_path / "a", of), target="returned", columns=NAMES)
    model = DPLogisticRegression(**BUDGET).fit(chunks)
    for text in (repr(chunks), repr(model), str(vars(chunks)), str(vars(model))):
        assert "123456" not in text
    assert np.float64(123456.75).tobytes() not in pickle.dumps(model)
    # The source itself, which knows the files, keeps no statistics.
    assert "123456" not in str(vars(chunks._source))


def test_a_missing_pyarrow_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow; install it with pip install 'skdp\[par"):
        Chunks.from_parquet(tmp_path, target="y")


# What dask asks of a pandas that is newer.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_dask_reads_few_columns_of_files_in_the_partitions_of_many(tmp_path, dd):
    """Left to itself it reads several files together where one column is asked for."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(20)]
    of = {name: rng.normal(size=800).astype(np.float32) for name in names}
    of["y"] = (of["x0"] > 0).astype(np.int8)
    folder = written(tmp_path / "a", of, range(0, 801, 100))
    frame = dd.read_parquet(folder)
    X, y = frame[names], frame["y"]
    assert y.optimize().npartitions < X.optimize().npartitions == 8
    model, reference = (DPLogisticRegression(**{**BUDGET, "classes": [0, 1]}) for _ in range(2))
    model.fit(X, y)
    reference.fit(Chunks.from_parquet(folder, target="y"))
    # Coefficients are published in single precision, as features are.
    np.testing.assert_array_equal(model.coef_, reference.coef_.astype(np.float32))
    assert list(model.feature_names_in_) == names
