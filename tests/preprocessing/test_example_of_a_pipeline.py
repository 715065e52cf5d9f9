"""The example of a pipeline on raw columns spends what it says; its data are made up here."""

import importlib.util
from pathlib import Path

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


def test_where_the_data_are_absent_it_says_what_to_do(example, monkeypatch, tmp_path):
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="set SKDP_DATA"):
        example.main()
