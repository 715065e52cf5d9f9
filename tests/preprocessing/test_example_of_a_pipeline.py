"""The example of a pipeline on raw columns spends what it says; its data are made up here."""

import importlib
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_up_census import made_up

import skdp

FOLDER = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("adult_pipeline", FOLDER / "adult_pipeline.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_scaler_and_model_spend_the_budget_together(example, epsilon):
    table = made_up(example, 4000)
    model = example.private_pipeline(epsilon).fit(table, table["income"])
    spent = skdp.privacy_spent(model)
    assert spent.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert spent.delta == example.DELTA
    frequent = table["income"].value_counts(normalize=True).max()
    assert model.score(table, table["income"]) > frequent + 0.1


def test_where_the_data_are_absent_the_copy_of_openml_is_taken(example, monkeypatch, tmp_path):
    census = importlib.import_module("census")
    copy = made_up(census, 200).rename(columns={"income": "class"})
    words = [*census.CATEGORIES, "class"]
    copy[words] = copy[words].astype(object).replace("?", None).astype("category")
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    monkeypatch.setattr(census, "TRAINING_ROWS", 150)
    monkeypatch.setattr(census, "fetch_openml", lambda *_, **__: SimpleNamespace(frame=copy))
    table = census.table()
    assert table["split"].value_counts().to_dict() == {"train": 150, "test": 50}
    assert set(table["income"]) == set(census.LABELS)
    assert (table["workclass"] == "?").any()
    assert not table.isna().to_numpy().any()
