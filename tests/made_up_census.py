"""A table with the columns of the census extract that the examples read; its rows are made up."""

import numpy as np
import pytest


def made_up(census, n, seed=0):
    """Incomes follow from age, hours and gains; ``census`` is the module of the code book."""
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(17, 91, n),
            "fnlwgt": rng.lognormal(12, 0.5, n).astype(int),
            "education-num": rng.integers(1, 17, n),
            "capital-gain": np.where(rng.random(n) < 0.9, 0, rng.integers(1000, 99999, n)),
            "capital-loss": np.where(rng.random(n) < 0.95, 0, rng.integers(100, 4356, n)),
            "hours-per-week": rng.integers(1, 100, n),
        }
    )
    for name, values in census.CATEGORIES.items():
        table[name] = rng.choice([*values.split(), "elsewhere"], n)
    score = table["age"] / 20 + table["hours-per-week"] / 25 + table["capital-gain"] / 3e4
    table["income"] = np.where(score + rng.normal(size=n) > 5, *reversed(census.LABELS))
    return table
