"""The benchmark of private evaluations measures what its tables say, on few small repetitions."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "benchmarks"


@pytest.fixture
def evaluations(monkeypatch):
    """The module of the benchmark, with populations of few rows."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    import evaluations

    monkeypatch.setattr(evaluations, "ROWS", 5_000)
    yield evaluations
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize("name", ["half", "several", "numbers"])
def test_every_score_has_a_row(evaluations, name):
    population = evaluations.POPULATIONS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells, points, compared = evaluations.measured(population, 800, 4.0, 3)
    assert cells.keys() == population.exact().keys()
    assert all(c.error > 0 and c.width > 0 for c in cells.values())
    assert (set(points) == {"ROC points", "calibration"}) == (name == "half")
    assert len(compared) == {"half": 9, "several": 0, "numbers": 6}[name]
    assert evaluations.table(cells).count("\n") == len(cells) + 1


def test_figures_of_a_cell_are_those_of_its_scores(evaluations):
    found = [(0.5, 0.4, 0.6), (0.8, 0.7, 0.9), (0.3, np.nan, np.nan)]
    cell = evaluations.cell(found, [0.5, 0.6, 0.7], 0.5)
    assert np.isclose(cell.error, np.sqrt(0.09 / 2))
    assert cell.coverage == 0.5
    assert np.isclose(cell.width, 0.1)
    assert np.isclose(cell.hidden, 1 / 3)
    assert np.isclose(cell.ratio, 0.1 / (evaluations.Z * np.std([0.5, 0.6, 0.7])))
