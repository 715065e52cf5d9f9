"""The example of a pipeline on raw columns spends what it says; its data are made up here."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import skdp

PATH = Path(__file__).resolve().parents[2] / "examples" / "adult_pipeline.py"
N = 4000


@pytest.fixture
def example():
    pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    spec = importlib.util.spec_from_file_location("adult_pipeline", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made_up(example):
    """A table of the same columns, with incomes that follow from age, hours and gains."""
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(17, 91, N),
            "fnlwgt": rng.lognormal(12, 0.5, N).astype(int),
            "education-num": rng.integers(1, 17, N),
            "capital-gain": np.where(rng.random(N) < 0.9, 0, rng.integers(1000, 99999, N)),
            "capital-loss": np.where(rng.random(N) < 0.95, 0, rng.integers(100, 4356, N)),
            "hours-per-week": rng.integers(1, 100, N),
        }
    )
    for name, values in example.CATEGORIES.items():
        table[name] = rng.choice([*values.split(), "elsewhere"], N)
    score = table["age"] / 20 + table["hours-per-week"] / 25 + table["capital-gain"] / 3e4
    table["income"] = np.where(score + rng.normal(size=N) > 5, *reversed(example.LABELS))
    return table


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_scaler_and_model_spend_the_budget_together(example, epsilon):
    table = made_up(example)
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
