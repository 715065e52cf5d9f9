"""The reproductions of published experiments do what their tables say, on tiny data."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skdp.privacy.accounting import gdp

BENCHMARKS = Path(__file__).resolve().parents[1] / "examples" / "benchmarks"


@pytest.fixture
def paper(monkeypatch):
    """``paper(name)``: the module of an experiment."""
    path = sys.path.copy()
    monkeypatch.syspath_prepend(str(BENCHMARKS / "papers"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    # The experiments put the folder above theirs in front when they are imported.
    sys.path[:] = path


def made_up(n, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def table(said):
    """Cells of the rows of all tables that were printed, without their headings."""
    lines = [line.split("|")[1:-1] for line in said.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines if "---" not in line[0]]


def printed(module, arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
    module.main()
    return table(capsys.readouterr().out)


def test_gaps_are_above_the_minimum_and_every_solver_has_a_line(paper, monkeypatch, capsys):
    module = paper("optimality_gap")
    X, y = made_up(400)
    monkeypatch.setattr(module, "N", len(y))
    monkeypatch.setattr(module, "rows", lambda: (X, y))
    monkeypatch.setattr(module, "EPSILONS", (4.0,))
    monkeypatch.setattr(module, "RIDGES", (1e-2,))
    lines = printed(module, ["--repeats", "2"], monkeypatch, capsys)
    gaps = {line[0]: line[1] for line in lines if line[0] in module.SOLVERS}
    assert set(gaps) == set(module.SOLVERS)
    best = module.least(X, y, 1e-2)
    start = module.objective(np.zeros(X.shape[1]), 0.0, X, y, 1e-2)
    assert start == pytest.approx(np.log(2))
    exact = LogisticRegression(C=100 / len(y), tol=1e-8).fit(X, y)
    known = module.objective(exact.coef_[0], exact.intercept_[0], X, y, 1e-2)
    assert best == pytest.approx(known, abs=1e-8)
    for gap in gaps.values():
        assert 0 <= float(gap.partition("±")[0]) < start - best


@pytest.mark.parametrize("steps", [1, 4])
def test_bound_stays_below_what_the_same_noise_gives_without_sampling(paper, monkeypatch, steps):
    """Rows that are drawn at random are at least as private as rows that are always there."""
    module = paper("optimality_gap")
    for name, value in (("N", 2), ("EPOCHS", 1), ("INNER", steps)):
        monkeypatch.setattr(module, name, value)
    for mu in (3.0, 5.0, 8.0):
        bound = module.certain_epsilon(1.0, mu / np.sqrt(steps) * module.paper_noise(1.0))
        assert 0 < bound < gdp.epsilon(mu, module.DELTA)


def test_bounds_are_those_of_a_threshold_on_the_largest_of_all_steps(paper):
    """The shares of the test by simulation, where the row weighs a few standard deviations."""
    module = paper("optimality_gap")
    sd, steps = module.paper_noise(1.0), module.EPOCHS * module.INNER
    rng = np.random.default_rng(0)
    shift, threshold = 7 * sd, 4.5 * sd
    draws = 200
    largest = [sd * rng.normal(size=steps).max() for _ in range(draws)]
    drawn = 1 - (1 - 1 / module.N) ** steps
    false = np.mean(np.array(largest) > threshold)
    true = drawn * np.mean(shift + sd * rng.normal(size=draws) > threshold)
    # Twice the share is more than three standard errors away.
    by_simulation = np.log(true - module.DELTA) - np.log(2 * false)
    assert module.certain_epsilon(1.0, shift) > by_simulation
    assert module.certain_epsilon(1.0, sd / 100) == 0


def test_both_schedules_are_compared_on_the_same_rows(paper, monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    module = paper("schedules")
    X, y = made_up(4000)
    monkeypatch.setattr(module, "images", lambda: (X, y))
    monkeypatch.setattr(module, "SIZES", (300, 600))
    monkeypatch.setattr(module, "DECAYS", (0.9, 0.98))
    monkeypatch.setattr(module, "STEPS", 10)
    figure = tmp_path / "schedules.png"
    lines = printed(module, ["--repeats", "2", "--plot", str(figure)], monkeypatch, capsys)
    assert [line[0] for line in lines] == ["rows", "300", "600"]
    for line in lines[1:]:
        assert float(line[1]) in module.DECAYS
        uniform, exponential, least, *accuracies, saved = (
            float(cell.partition("±")[0]) for cell in line[2:]
        )
        assert least < min(uniform, exponential)
        assert saved == pytest.approx(uniform - exponential, abs=2e-4)
        assert all(0.4 < accuracy <= 1 for accuracy in accuracies)
    assert figure.stat().st_size > 5000


def test_rows_of_the_ball_have_unit_norm_and_a_rule_of_four_features(paper):
    module = paper("l1_ball")
    X, y = module.rows(50, seed=0)
    assert np.sqrt((X.toarray() ** 2).sum(axis=1)) == pytest.approx(1.0)
    assert np.array_equal(X[:, :4] @ np.array([1, -1, 1, -1]) > 0, y == 1)


def test_excess_risk_in_the_ball_is_printed_for_every_solver(paper, monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    module = paper("l1_ball")
    monkeypatch.setattr(module, "DIMENSIONS", (10, 30))
    figure = tmp_path / "l1_ball.png"
    lines = printed(module, ["--repeats", "2", "--plot", str(figure)], monkeypatch, capsys)
    assert [line[0] for line in lines] == ["solver", *module.SOLVERS]
    of_zero = np.log(2) - np.log1p(np.exp(-module.RADIUS / 4 / np.sqrt(2)))
    for line in lines[1:]:
        assert all(0 < float(cell.partition("±")[0]) < of_zero for cell in line[1:])
    assert figure.stat().st_size > 5000
