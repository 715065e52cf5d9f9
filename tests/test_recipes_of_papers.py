"""The recipes of the papers' systems run at any size, and measure what they say."""

import sys
from pathlib import Path

import numpy as np
import pytest
from by_night import nightly
from sklearn.linear_model import LogisticRegression

from skdp.privacy.accounting import gdp

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "papers"


def made_up(n, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def means(found, **where):
    """Means of the cells that stand there."""
    return [m.mean for m in found if where.items() <= m.where.items()]


def test_every_recipe_says_what_is_claimed_and_what_was_measured(paper):
    names = {path.stem for path in FOLDER.glob("*.py")} - {"measured"}
    for name in names:
        module = paper(name)
        assert f"python examples/papers/{name}.py" in module.__doc__
        assert callable(module.main)
        if name != "generalised_gaussian":
            assert "Claim: " in module.__doc__
            assert "Measured" in module.__doc__
            assert callable(module.recipe)


def test_tables_and_exponents_are_those_of_the_cells(paper):
    Measured, table, slope = (getattr(paper("measured"), n) for n in ("Measured", "table", "slope"))
    found = [Measured({"solver": "gd", "rows": n}, (1 / n, 3 / n)) for n in (10, 100)]
    assert found[0].mean == pytest.approx(0.2)
    assert found[0].error == pytest.approx(0.1)
    assert slope(found) == pytest.approx(1.0)
    assert table(found, "rows").splitlines() == [
        "| solver | rows 10 | rows 100 |",
        "| --- | --- | --- |",
        "| gd | 0.2 ± 0.1 | 0.02 ± 0.01 |",
    ]


def test_scripts_say_at_once_what_they_run_and_tell_each_cell_as_it_comes(
    paper, monkeypatch, caplog
):
    measured = paper("measured")
    monkeypatch.setattr(sys, "argv", ["recipe.py"])
    with caplog.at_level("INFO"):
        assert measured.arguments("Claims of a paper.\n\nMore.", repeats=3).repeats == 3
        measured.Measured({"solver": "gd", "rows": 10}, (0.1, 0.3))
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("Claims of a paper. A line for each cell")
    assert second == "solver gd, rows 10: 0.2 ± 0.1"


def test_gaps_of_variance_reduction_are_above_the_minimum(paper):
    module = paper("svrg")
    X, y = made_up(400)
    found = module.recipe(X, y, ridges=(1e-2,), epsilons=(4.0,), repeats=2)
    best = module.least(X, y, 1e-2)
    start = module.objective(np.zeros(X.shape[1]), X, y, 1e-2)
    exact = LogisticRegression(C=100 / len(y), tol=1e-8, fit_intercept=False).fit(X, y)
    known = module.objective(exact.coef_[0], X, y, 1e-2)
    assert best == pytest.approx(known, abs=1e-8)
    gaps = means(found, of="gap")
    assert len(gaps) == len(module.SOLVERS)
    assert all(0 <= gap < start - best for gap in gaps)


@pytest.mark.parametrize("steps", [1, 4])
def test_bound_stays_below_what_the_same_noise_gives_without_sampling(paper, monkeypatch, steps):
    """Rows that are drawn at random are at least as private as rows that are always there."""
    module = paper("svrg")
    for name, value in (("N", 2), ("EPOCHS", 1), ("INNER", steps)):
        monkeypatch.setattr(module, name, value)
    for mu in (3.0, 5.0, 8.0):
        bound = module.certain_epsilon(1.0, mu / np.sqrt(steps) * module.paper_noise(1.0))
        assert 0 < bound < gdp.epsilon(mu, module.DELTA)


def test_bounds_are_those_of_a_threshold_on_the_largest_of_all_steps(paper):
    """The shares of the test by simulation, where the row weighs a few standard deviations."""
    module = paper("svrg")
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


def test_risk_in_the_balls_is_that_of_many_rows_and_least_at_the_known_model(paper):
    module = paper("mirror_descent")
    rng = np.random.default_rng(0)
    w = rng.normal(size=12)
    X, y = module.rows(12, 100_000, seed=1)
    # Five standard errors.
    assert module.risk(w) == pytest.approx(np.logaddexp(0, (1 - 2 * y) * (X @ w)).mean(), abs=0.02)
    best = np.concatenate([module.RADIUS / 4 * module.SIGNS, np.zeros(8)])
    for ball in module.BALLS.values():
        assert ball.contains(best)
        for step in 0.3 * rng.normal(size=(50, 12)):
            assert module.risk(ball.project(best + step)) >= module.risk(best)


def test_every_solver_gains_on_zero_in_every_ball(paper):
    module = paper("mirror_descent")
    found = module.recipe(dimensions=(10,), repeats=1)
    of_zero = np.log(2) - np.log1p(np.exp(-module.RADIUS / 4 / np.sqrt(2)))
    assert len(found) == len(module.BALLS) * len(module.SOLVERS)
    assert all(0 < m.mean < of_zero for m in found)


def test_gradients_of_a_loss_that_is_not_convex_become_small(paper):
    found = paper("nonconvex").recipe(sizes=(500, 4000), repeats=2)
    few, many = means(found, of="squared norm of the gradient")
    # At the start it is about .005; eight times the rows make it some ten times smaller.
    assert 1e-7 < many < few < 2e-3
    assert all(0.08 < error < 0.35 for error in means(found, of="share of errors"))


def test_both_schedules_are_compared_on_the_same_rows(paper, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    module = paper("schedules")
    monkeypatch.setattr(module, "DECAYS", (0.9, 0.98))
    monkeypatch.setattr(module, "STEPS", 10)
    found = module.recipe(*made_up(4000), sizes=(300, 600), repeats=2)
    for method in module.METHODS:
        uniform, dynamic, least, saved = (
            np.array(means(found, method=method, of=f"objective, {name}"))
            for name in ("uniform", "dynamic", "not private", "saved")
        )
        assert (least < np.minimum(uniform, dynamic)).all()
        assert saved == pytest.approx(uniform - dynamic)
    accuracies = [m.mean for m in found if m.where["of"].startswith("accuracy")]
    assert len(accuracies) == 3 * 3 * 2
    assert all(0.4 < accuracy <= 1 for accuracy in accuracies)
    figure = tmp_path / "schedules.png"
    draw = sys.modules["measured"].draw
    draw(found, figure, across="rows", line="of", panel="method", ylabel="objective")
    assert figure.stat().st_size > 5000


@pytest.mark.parametrize("norm", ["l2", nightly("l1")])
def test_sites_learn_by_every_way_to_talk_and_the_published_epsilon_does_not_hold(paper, norm):
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    module = paper("dual_averaging")
    X, y = made_up(600)
    options = {"norms": [norm], "iotas": [0.1], "epsilons": [1.0], "epochs": 1, "repeats": 1}
    found = module.recipe(X, y.astype(float), **options)
    gaps = {m.where["method"]: m.mean for m in found}
    assert set(gaps) == {"as published", "as published, epsilon that holds", *module.SOLVERS}
    assert gaps.pop("as published, epsilon that holds") > 1.0
    assert min(gaps.values()) > -0.01


def test_copies_of_rows_count_as_often_as_the_rows_would(paper):
    from skdp.privacy.queries import GradientDifferenceQuery, GradientQuery
    from skdp.privacy.rows import DenseRows
    from skdp.problem import Problem, RowBounds

    module, n = paper("flat_minima"), 600
    problem = Problem(module.Power(3.0), n, module.D, RowBounds(1.0))
    few = module.Copies(np.eye(module.D), module.TARGETS, n // module.D)
    all_of_them = DenseRows(
        np.tile(np.eye(module.D), (n // module.D, 1)), np.tile(module.TARGETS, n // module.D)
    )
    gradient = GradientQuery(problem, np.linspace(-1, 1, module.D), clip_norm=0.5)
    for query in (gradient, GradientDifferenceQuery(gradient, np.zeros(module.D))):
        np.testing.assert_allclose(query.evaluate(few), query.evaluate(all_of_them), atol=1e-14)


def test_risk_at_flat_minima_falls_with_rows(paper):
    module = paper("flat_minima")
    found = module.recipe(sizes=(2000, 128_000), powers=(2.0,), repeats=3)
    for name in module.TRIED:
        few, many = means(found, solver=name)
        assert 0 < many < few / 10


def test_streams_are_learned_in_every_geometry(paper):
    module = paper("online_frank_wolfe")
    found = module.recipe(sizes={"1": (5,), "1.5": (5,), "inf": (5,)}, lengths=(1500,), repeats=1)
    for p in module.BALLS:
        gaps = means(found, p=p, of="SubOpt")
        assert len(gaps) == len(module.methods(p, 1500, 5))
        # Zero has 1.
        assert -0.01 < min(gaps) < 0.1


def test_arms_of_the_high_dimensional_bandit_are_learned(paper):
    found = paper("hdb").recipe(n_users=2000, d=5, repeats=1, batch=50)
    assert len(found) == 2 * len(paper("hdb").POLICIES)
    assert all(0 < m.mean < 200 for m in found)
    assert min(means(found, parameters="sparse")) < 70
