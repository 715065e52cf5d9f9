"""The example of a stream from a generator reads lazily, spends once and keeps its state secret."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from made_up_census import made_up

FOLDER = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("stream", FOLDER / "stream.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "stream", module)
    spec.loader.exec_module(module)
    return module


def test_without_the_file_digits_are_streamed_and_spent_once(
    example, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    example.main()
    said = capsys.readouterr().out
    assert said.startswith("digits, 1500 rows announced")
    table = re.findall(r"^ *(\d+) +([.\d]+) +([.\d]+) +([.\d]+)$", said, flags=re.MULTILINE)
    rows, private, _, spent = np.array(table, dtype=float).T
    assert rows[-1] == 1500
    assert private[-1] > 0.7
    assert spent[0] == 0.0  # the first block is still filling
    assert spent[-1] == example.EPSILON
    assert "All models together spent epsilon=1.000, delta=1e-05" in said
    assert "It cannot go on. DPLogisticRegression needs the secret state" in said


def test_the_census_is_read_a_chunk_at_a_time_and_held_out_rows_are_not_streamed(
    example, monkeypatch, tmp_path
):
    table = made_up(example.census, 1000)
    table["split"] = np.where(np.arange(1000) < 700, "train", "test")
    table.to_csv(tmp_path / "adult_raw.csv.gz", index=False)
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    stream = example.source()
    assert stream.name == "census"
    chunks = stream.chunks()
    X, y = next(chunks)
    assert len(X) == len(y) == 500
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    assert list(y) == list(table["income"][:500])
    assert [len(y) for _, y in chunks] == [200]
    X_test, y_test = stream.held_out()
    assert X_test.shape == (300, X.shape[1])
    assert list(y_test) == list(table["income"][700:])
