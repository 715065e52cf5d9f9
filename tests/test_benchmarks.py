"""The pieces of the benchmark of defaults do what its tables say, on tiny data."""

import importlib
import json
import math
import re
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, mean_squared_error

from skdp.privacy.accounting import gdp

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "benchmarks"


@pytest.fixture
def piece(monkeypatch):
    """``piece(name)``: a module of the benchmark."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delenv("SKDP_PEERS", raising=False)
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def tiny(piece):
    """Classes and a regression in 600 rows of norm at most 1, and the classes by raw columns."""
    Dataset = piece("datasets").Dataset
    rng = np.random.default_rng(0)
    X, y = make_classification(600, 5, random_state=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    target = 10 + 5 * np.clip(X @ [0.5, 0.5, 0, 0, 0] + 0.1 * rng.normal(size=600), -1, 1)
    raw = Dataset(X * [1, 100, 1, 1, 1], y, "", data_norm=None, numeric=[0, 1])
    return Dataset(X, y, ""), Dataset(X, target, "", target_bounds=(5, 15)), raw


def fit(piece, **changes):
    record = {
        "data": "digits",
        "method": "skdp",
        "epsilon": 1.0,
        "seed": 0,
        "n_samples": 100,
        "n_features": 5,
        "n_classes": 10,
        "seconds": 0.1,
        "scores": {"accuracy": 0.9},
    }
    return piece("results").Fit(**record | changes)


def test_every_method_predicts_every_row(piece, tiny):
    methods, scoring = piece("methods"), piece("scoring")
    for data in tiny:
        found = set()
        for name in methods.NAMES:
            if name == "balanced" and data.is_regression:
                continue
            X, y = data.X[:500], data.y[:500]
            (answer,) = methods.run(name, data, X, y, data.X[500:], (4.0,), 1e-4)
            if answer is not None:
                found.add(name)
                scores = scoring.score(data, answer.predicted, data.y[500:])
                assert all(math.isfinite(s) for s in scores.values())
        of_classes = {"balanced", "objective_perturbation"}
        only = {"adassp"} if data.is_regression else of_classes
        only |= {"floor", "output_perturbation"} if data.numeric is None else {"scaled"}
        assert found == {"skdp", "exact", "frequencies", "plain", "one_step"} | only


def test_support_vector_machines_have_no_scores_of_probabilities(piece, tiny):
    methods, scoring = piece("methods"), piece("scoring")
    labels = np.arange(600) % 3
    several = replace(tiny[0], y=labels, X=tiny[0].X + 0.5 * np.eye(5)[labels])
    for data in (replace(tiny[0], margins=True), replace(several, margins=True)):
        for name in ("skdp", "exact", *methods.OWN):
            (answer,) = methods.run(name, data, data.X, data.y, data.X, (50.0,), 1e-4)
            if answer is None:
                continue
            scores = scoring.score(data, answer.predicted, data.y)
            assert set(scores) == {"accuracy", "auc", "balanced_accuracy", "average_precision"}
            assert scores["auc"] > 0.7


def test_scaler_and_model_share_one_budget_and_their_releases_are_the_passes(
    piece, tiny, monkeypatch
):
    methods = piece("methods")
    seen = []
    original = methods.answered

    def remembered(model, data, X_test, *before):
        seen.extend([model, *before])
        return original(model, data, X_test, *before)

    monkeypatch.setattr(methods, "answered", remembered)
    raw = tiny[2]
    (answer,) = methods.run("scaled", raw, raw.X, raw.y, raw.X, (4.0,), 1e-4)
    mus = [gdp.mu(step.privacy_spent_.epsilon, 1e-4) for step in seen]
    assert len(mus) == 2
    # The model may leave a little of its share.
    assert 0.9 < math.hypot(*mus) / gdp.mu(4.0, 1e-4) <= 1 + 1e-9
    assert answer.passes == sum(e.count for step in seen for e in step.privacy_ledger_)


def test_scores_are_those_of_the_predictions(piece, tiny):
    scoring = piece("scoring")
    data, regression, _ = tiny
    perfect = np.log(np.where(np.eye(2)[data.y] == 1, 0.9, 0.1))
    scores = scoring.score(data, perfect, data.y)
    assert scores["accuracy"] == scores["auc"] == scores["average_precision"] == 1.0
    assert scores["log_loss"] == pytest.approx(-np.log(0.9))
    assert scores["brier"] == pytest.approx(0.1**2)
    assert scores["calibration_error"] == pytest.approx(0.1)
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=600)
    drawn = (rng.random(600) < 1 / (1 + np.exp(-log_odds))).astype(int)
    twice = -np.logaddexp(0, np.outer(2 * log_odds, [1, -1]))
    # Three standard errors of a slope of 1 that was doubled.
    assert scoring.score(data, twice, drawn)["calibration_slope"] == pytest.approx(0.5, abs=0.15)
    labels = np.arange(600) % 3
    third = scoring.score(replace(data, y=labels), np.full((600, 3), -np.log(3)), labels)
    assert third["brier"] == pytest.approx(2 / 9 + 4 / 9)
    assert third["calibration_error"] == pytest.approx(0)
    wild = np.where(regression.y > 10, 1e6, -1e6)
    clipped = np.where(regression.y > 10, 15, 5)
    assert scoring.score(regression, wild, regression.y) == scoring.score(
        regression, clipped, regression.y
    )


@pytest.mark.parametrize("kind", ["binary", "softmax", "regression"])
@pytest.mark.parametrize("sparse", [False, True])
def test_output_perturbation_replacing_a_row_moves_the_minimiser_by_the_sensitivity(
    piece, kind, sparse
):
    """Two fits without noise show how far the minimiser moves; the scale, what was allowed."""
    baseline = piece("output_perturbation")

    class Silent:
        def normal(self, scale, size):
            self.scale = scale
            return np.zeros(size)

    n, epsilon, delta = 30, 1.0, 1e-4
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = {"binary": X[:, 0] > 0, "softmax": np.arange(n) % 3, "regression": np.sign(X[:, 0])}[kind]
    y = y.astype(float if kind == "regression" else int)
    other, y_other = X.copy(), y.copy()
    other[0], y_other[0] = -X[0], {"binary": 1 - y[0], "softmax": 2}.get(kind, -y[0])
    noise, weights = Silent(), []
    for rows, targets in ((X, y), (other, y_other)):
        rows = sp.csr_array(rows) if sparse else rows
        weights.append(baseline.fit(rows, targets, kind, 3, epsilon, delta, 1.0, noise))
    moved = np.linalg.norm(weights[0] - weights[1])
    sensitivity = noise.scale * gdp.mu(epsilon, delta)
    assert 0 < moved <= sensitivity
    penalty = (
        2
        * baseline.PARTS[kind][1]
        * (10 / 9)
        / (n * gdp.mu(epsilon, delta) * baseline.SCORE_NOISE[kind])
    )
    lipschitz = baseline.PARTS[kind][1] * math.sqrt(10 / 9)
    assert sensitivity == pytest.approx(2 * lipschitz / (n * penalty), rel=1e-3)


def test_output_perturbation_shortens_rows_in_fit_only(piece):
    baseline = piece("output_perturbation")
    X = np.array([[3.0, 4.0], [0.3, 0.4]])
    assert np.linalg.norm(baseline.shortened(X, 1.0), axis=1) == pytest.approx([1.0, 0.5])
    sparse = baseline.shortened(sp.csr_array(X), 1.0)
    assert np.allclose(sparse.toarray(), baseline.shortened(X, 1.0))


def test_floor_is_the_textbook_rule(piece, tiny):
    """The receipt shows what the docstring says."""
    methods = piece("methods")
    seen = []
    original = methods.private

    def remembered(*args, **settings):
        seen.append(original(*args, **settings))
        return seen[-1]

    methods.private = remembered
    data, regression, _ = tiny
    methods.floor(data, data.X, data.y, data.X, 1.0, 1e-4)
    methods.floor(regression, data.X, regression.y, data.X, 1.0, 1e-4)
    evidence = 600 * gdp.mu(1.0, 1e-4)
    two, line = (model.solver for model in seen)
    assert two.total_step_size == pytest.approx(min(30_000, 16 * evidence / math.sqrt(6)) / 0.1)
    assert (two.steps, two.clip, two.momentum) == (100, 0.1, 0.9)
    assert line.total_step_size == pytest.approx(min(1600, evidence / (0.25 * math.sqrt(6))))
    assert (line.steps, line.momentum) == (max(20, math.ceil(line.total_step_size / 2)), 0.0)


def test_files_of_results_merge_and_later_fits_count(piece, tmp_path):
    results = piece("results")
    old, new, other = fit(piece), fit(piece, scores={"accuracy": 0.5}), fit(piece, seed=1)
    results.write(tmp_path / "a.json", [old])
    results.write(tmp_path / "a.json", [new, other])
    results.write(tmp_path / "b.json", [old])
    assert results.read([tmp_path / "a.json"]) == [new, other]
    assert results.read([tmp_path / "a.json", tmp_path / "b.json"]) == [old, other]


def test_only_splits_that_all_methods_share_are_compared(piece):
    results = piece("results")
    ours = [fit(piece, seed=k) for k in range(4)]
    others = [fit(piece, method="floor", seed=k) for k in (2, 3, 4)]
    elsewhere = [fit(piece, data="wine", seed=9)]
    kept = results.paired([*ours, *others, *elsewhere])
    assert kept == [*ours[2:], *others[:2], *elsewhere]


def test_cells_are_means_with_standard_errors(piece):
    results = piece("results")
    fits = [fit(piece, seed=k, scores={"accuracy": a}) for k, a in enumerate((0.5, 0.7, 0.9))]
    cell = results.cells(fits, "accuracy")["digits", "skdp", 1.0]
    assert cell.mean == pytest.approx(0.7)
    assert cell.error == pytest.approx(0.2 / math.sqrt(3))


def test_cells_below_target_are_found_and_others_are_not(piece):
    report = piece("report")
    good, bad = (
        [fit(piece, seed=k, scores={"accuracy": a + 0.001 * k}) for k in range(4)]
        for a in (0.90, 0.80)
    )
    assert report.shortfalls(good) == []
    assert [s[:3] for s in report.shortfalls(bad)] == [("digits", "accuracy", 1.0)]


def test_defaults_behind_our_other_solvers_or_an_earlier_revision_are_marked(piece):
    report = piece("report")

    def fits(method, *log_losses, epsilon=1.0):
        return [
            fit(piece, method=method, epsilon=epsilon, seed=k, scores={"log_loss": loss})
            for k, loss in enumerate(log_losses)
        ]

    ours = fits("skdp", 0.50, 0.62, 0.70)
    without = fits("exact", 0.40, 0.50, 0.60, epsilon=None)
    # Splits differ by far more than the methods do on each of them.
    tie = fits("plain", 0.499, 0.620, 0.698)
    better = fits("objective_perturbation", 0.495, 0.614, 0.696)
    fine = report.judgement([*ours, *without, *tie, *fits("before", 0.51, 0.63, 0.71)])
    assert fine.endswith("Of 1 cells: 0 behind our best, 0 better before, 0 worse than a constant")
    assert "+0.0100±0.0000 | -0.0010±0.0006, `gd`, no preconditioning | 0.500±0.058 |" in fine
    constant = fits("frequencies", 0.46, 0.58, 0.66, epsilon=None)
    bad = report.judgement([*ours, *tie, *better, *fits("before", 0.49, 0.61, 0.69), *constant])
    assert "-0.0050±0.0006, objective perturbation |  | behind our best, better before" in bad
    # Behind, but by less than 5 %.
    nearly = report.judgement([*ours, *fits("frequencies", 0.49, 0.61, 0.69, epsilon=None)])
    assert nearly.endswith("0 worse than a constant")
    assert bad.endswith("Of 1 cells: 1 behind our best, 1 better before, 1 worse than a constant")


@pytest.mark.nightly
@pytest.mark.skipif(not (FOLDER.parents[1] / ".git").exists(), reason="needs the git repository")
def test_defaults_are_compared_with_those_of_a_revision(piece, capsys):
    options = ["--tables", "wine", "--epsilons", "1", "--splits", "1", "--others"]
    piece("defaults").main([*options, "--against", "HEAD"])
    said = capsys.readouterr().out
    assert re.search(r"^\| wine \| log-loss \| 1 \| \S+ \| [+-]\S+ \| [+-].*`.*\|", said, re.M)


def test_table_has_a_row_a_method_and_epsilon_with_the_scores_that_were_measured(piece):
    scores = {"accuracy": 0.9, "log_loss": 0.25, "passes": 26}
    fits = [
        fit(piece, method="exact", epsilon=None, seconds=12.3, scores={"accuracy": 0.97}),
        *(fit(piece, epsilon=e, scores=scores) for e in (4.0, 0.1)),
    ]
    assert piece("report").table(fits).splitlines() == [
        "| digits: 100 rows, 5 features, 10 classes; splits: 1 | ε | accuracy | log-loss | passes "
        "| seconds |",
        "|---|---|---|---|---|---|",
        "| **skdp** | 0.1 | 0.900 | 0.250 | 26 | 0.10 |",
        "| **skdp** | 4 | 0.900 | 0.250 | 26 | 0.10 |",
        "| without privacy |  | 0.970 |  |  | 12 |",
    ]


def test_every_target_belongs_to_a_data_set(piece):
    report, suite = piece("report"), piece("suite")
    assert set(report.TARGETS) <= set(suite.SETS)
    assert set(suite.RARE) | set(suite.SMALL) <= set(suite.SETS)


def test_fill_replaces_what_is_between_markers_and_nothing_else(piece):
    report = piece("report")
    page = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n<!-- y: begin -->\n<!-- y: end -->\n"
    filled = report.fill(page, {"x": r"new \1"})
    assert filled == page.replace("old\n", "\nnew \\1\n\n")
    assert report.fill(filled, {"x": "old"}) == report.fill(page, {"x": "old"})
    with pytest.raises(ValueError, match="'z'"):
        report.fill(page, {"z": ""})


def test_the_page_of_the_documentation_has_the_blocks_that_are_filled(piece, tmp_path):
    report = piece("report")
    page = tmp_path / "how_accurate.md"
    page.write_text((FOLDER.parents[1] / "docs" / "benchmarks" / page.name).read_text())
    ours, theirs = {"accuracy": 0.123, "log_loss": 9.25}, {"accuracy": 0.321}
    fits = [fit(piece, scores=ours), fit(piece, method="exact", epsilon=None, scores=theirs)]
    fits.append(fit(piece, data="adult_raw", scores={"accuracy": 0.222}))
    report.fill_page(page, fits)
    text = page.read_text()
    assert [text.count(s) for s in ("0.123", "9.250", "0.321", "0.222")] == [2, 1, 2, 1]
    report.fill_page(page, fits[:2])
    assert "0.222" in page.read_text()


def test_command_line_runs_in_pieces_and_reports(piece, tmp_path, capsys):
    defaults = piece("defaults")
    out = str(tmp_path / "r.json")
    common = ["--tables", "wine", "--epsilons", "1", "--splits", "1", "--out", out]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        defaults.main([*common, "--methods", "exact"])
        defaults.main([*common, "--methods", "output_perturbation", "--first", "2"])
    capsys.readouterr()
    defaults.main(["--report", out, "--all-scores"])
    said = capsys.readouterr().out
    assert "| wine: 142 rows, 13 features, 3 classes; splits: 2 |" in said
    records = json.loads(Path(out).read_text())
    assert {(r["method"], r["seed"]) for r in records} == {
        *(("exact", k) for k in range(4)),
        *(("output_perturbation", k) for k in range(2, 6)),
    }


def test_plots_are_drawn(piece, tmp_path):
    pytest.importorskip("matplotlib")
    plots = piece("plots")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = plots.save(
            [
                *(
                    fit(piece, seed=k, epsilon=e, scores={"accuracy": 0.9, "log_loss": 0.3})
                    for k in range(2)
                    for e in (0.1, 1.0)
                ),
                *(
                    fit(piece, data="bike", seed=k, n_classes=None, scores={"r2": 0.6})
                    for k in range(2)
                ),
            ],
            tmp_path,
        )
    assert [p.name for p in paths] == [
        f"{name}.png" for name in ("readme", "classification", "log_loss", "regression")
    ]
    assert all(p.stat().st_size > 5000 for p in paths)


def test_peers_are_left_out_without_their_environment(piece, tiny):
    data = tiny[0]
    peers = piece("peers")
    assert peers.diffprivlib(data, data.X, data.y, data.X, (0.5, 1.0)) == [None, None]
    ranges = {"low": [-1.0] * 5, "high": [1.0] * 5}
    assert peers.ebm(data.X, data.y, data.X, (0.5, 1.0), delta=1e-5, **ranges) == [None, None]


def test_defaults_that_are_behind_are_marked_in_published_tables(piece):
    published = piece("published")
    found = {
        ("accuracy", "skdp", 0.1): [0.80, 0.82],
        ("accuracy", "skdp", 1.0): [0.89, 0.91],
        ("accuracy", "peer", 0.1): [0.85, 0.87],
        ("accuracy", "peer", 1.0): [0.90, 0.92],
        ("accuracy", "not private", None): [0.95, 0.95],
    }
    assert published.rows_of("set", found, (0.1, 1.0)) == [
        ["set", "accuracy", "skdp", "0.810 ± 0.010 ▼", "0.900 ± 0.010"],
        ["set", "accuracy", "peer", "0.860 ± 0.010", "0.910 ± 0.010"],
        ["set", "accuracy", "not private", "0.950 ± 0.000", "0.950 ± 0.000"],
    ]
    cell = piece("results").Cell(0.2, 0.01, 10)
    assert published.marked(cell, 0.18, larger_is_better=False).endswith("▼")
    assert published.marked(cell, 0.19, larger_is_better=False) == "0.200 ± 0.010"


def test_splines_keep_their_bound_and_bend_with_numbers_alone(piece):
    rng = np.random.default_rng(0)
    columns = np.column_stack([rng.uniform(0, 5, 50), rng.uniform(0, 9000, 50), np.arange(50) % 3])
    low, high = np.array([0.0, 0.0, np.nan]), np.array([5.0, 9000.0, np.nan])
    X = piece("published").splines(columns, low, high)
    assert np.linalg.norm(X, axis=1).max() <= 1
    # Each column's functions add up to one.
    assert X.sum(axis=1) == pytest.approx(3 / np.sqrt(3))
    assert set(np.unique(X[:, -3:])) == {0.0, 1 / np.sqrt(3)}


def test_the_page_of_published_tables_is_filled_a_table_at_a_time(
    piece, tmp_path, monkeypatch, capsys
):
    published = piece("published")
    page = tmp_path / "published.md"
    before = published.PAGE.read_text()
    page.write_text(before)
    options = {"n_informative": 3, "class_sep": 2.0, "random_state": 0}
    monkeypatch.setattr(published, "SIMULATED", ((400, 4, {**options, "n_redundant": 0}),))
    published.main(["--only", "simulated sets", "--splits", "1", "--page", str(page)])
    after = page.read_text()
    start = "<!-- simulated sets: begin -->"
    assert after.partition(start)[0] == before.partition(start)[0]
    assert "| 400 x 4 | accuracy | skdp | 0." in after
    assert "simulated sets: " in capsys.readouterr().err
    for name in published.TABLES:
        assert after.count(f"<!-- {name}: begin -->") == 1


def test_synthetic_sets_keep_their_bounds(piece):
    synthetic = piece("synthetic")
    for make in (synthetic.classes, synthetic.uniform, synthetic.autoregressive):
        data = make()
        assert np.linalg.norm(data.X, axis=1).max() <= data.data_norm * (1 + 1e-12)
        assert np.abs(data.X).max() <= data.feature_bound
        if data.is_regression:
            assert data.y.min() >= -1
            assert data.y.max() <= 1


def test_minima_of_the_solver_matrix_are_those_of_scikit_learn(piece, tiny):
    models = piece("solvers").MODELS
    data, regression, _ = tiny
    exact = LogisticRegression(tol=1e-10, max_iter=1000).fit(data.X, data.y)
    w = np.append(exact.coef_, exact.intercept_)
    least = models["DPLogisticRegression"].objective.minimum(data.X, data.y)
    assert least == pytest.approx(
        log_loss(data.y, exact.predict_proba(data.X)) + w[:-1] @ w[:-1] / 1200, abs=1e-9
    )
    line = LinearRegression().fit(regression.X, regression.y)
    error = mean_squared_error(regression.y, line.predict(regression.X))
    for name, scale in (("DPLinearRegression", 1.0), ("DPLassoRegressor", 0.5)):
        least = models[name].objective.minimum(regression.X, regression.y)
        assert least == pytest.approx(scale * error)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:.*'frank_wolfe' needs a bounded set:UserWarning")
def test_docstrings_name_the_solvers_that_are_taken_and_no_others(piece, tiny):
    solvers = piece("solvers")
    for name, model in solvers.MODELS.items():
        data = tiny[model.regression]
        text = re.search(r"    solver : (.*?)\n    \w+ : ", model.estimator.__doc__, re.DOTALL)[1]
        named = set(re.findall(r"``'(\w+)'``", text)) - {"auto"}
        said = {solver: solvers.refusal(model, data, solver) for solver in solvers.SOLVERS}
        taken = {solver for solver, text in said.items() if text is None}
        assert named == taken, name
        assert all("needs" in text for text in said.values() if text)


def test_solver_matrix_runs_and_reports(piece, tiny, tmp_path, capsys, monkeypatch):
    solvers = piece("solvers")
    monkeypatch.setattr(solvers, "SETS", {"two": lambda: tiny[0], "line": lambda: tiny[1]})
    out = str(tmp_path / "r.json")
    options = ["--eps", "4", "--repeats", "1", "--out", out]
    solvers.main([*options, "--solvers", "gd", "objective_perturbation", "adassp"])
    said = capsys.readouterr().out
    assert "DPSVMClassifier, adassp: AdaSSP needs the squared loss" in said
    solvers.main(["--report", out])
    again = capsys.readouterr().out
    assert said.startswith(again.rstrip())
    assert "**DPLogisticRegression, two**: 480 rows, 5 features" in again
    assert re.search(r"^\| gd \| .* \| 1\.0 \| \d\d \|$", again, re.MULTILINE)
    assert re.search(r"^\| objective_perturbation \| .* \| 1 \|$", again, re.MULTILINE)
    records = json.loads(Path(out).read_text())
    assert {r["method"] for r in records} == {
        *("DPLogisticRegression gd", "DPLogisticRegression objective_perturbation"),
        *("DPSVMClassifier gd", "DPSVMClassifier objective_perturbation"),
        *("DPLinearRegression gd", "DPLinearRegression adassp", "DPLassoRegressor gd"),
    }
    assert all(r["scores"]["excess"] >= -1e-9 for r in records)


def test_comparison_inside_a_ball_runs_and_reports(piece, tiny, tmp_path, capsys, monkeypatch):
    comparison = piece("frank_wolfe")
    monkeypatch.setattr(comparison, "SETS", {"two": lambda: tiny[0]})
    monkeypatch.setattr(comparison, "radii", lambda data: (2.0,))
    out = str(tmp_path / "r.json")
    comparison.main(["--only", "two", "--eps", "4", "--repeats", "2", "--out", out])
    said = capsys.readouterr().out
    comparison.main(["--report", out])
    assert capsys.readouterr().out == said
    assert "**two** (480 rows, 5 features): accuracy" in said
    for method in ("frank_wolfe, radius 2", "gd, radius 2", "gd, no ball", "auto, no ball"):
        assert re.search(rf"^\| {method} \| 0\.\d+±0\.\d+, [0-5], ", said, re.MULTILINE)


@pytest.mark.nightly
def test_lasso_of_the_comparison_keeps_its_bounds(piece):
    comparison = piece("frank_wolfe")
    data = comparison.lasso()
    assert np.linalg.norm(data.X, axis=1).max() <= data.data_norm
    assert max(np.abs(data.X).max() / data.feature_bound, np.abs(data.y).max()) <= 1
    line = LinearRegression().fit(data.X, data.y)
    assert np.abs(line.coef_ - comparison.truth()).max() < 0.3 * np.abs(comparison.truth()).max()


def test_solvers_far_below_the_baseline_are_found(piece):
    solvers = piece("solvers")

    def fits(solver, accuracy, n):
        return [
            fit(
                piece,
                method=f"DPLogisticRegression {solver}",
                seed=k,
                n_samples=n,
                scores={"accuracy": accuracy + 0.1 * k},
            )
            for k in range(3)
        ]

    baseline = fits("gd", 0.6, 16_000)
    (found,) = solvers.failures([*baseline, *fits("ppm", 0.58, 16_000), *fits("svrg", 0.5, 16_000)])
    assert found[:2] == ("digits", "DPLogisticRegression svrg")
    assert found[2:] == pytest.approx((0.1, 0.0))
    few = fits("gd", 0.6, 15_999) + fits("svrg", 0.5, 15_999)
    assert solvers.failures(few) == []


def test_errors_of_running_sums_are_measured_beside_theory(piece, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    bench = piece("prefix_sums")
    figure = tmp_path / "errors.png"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bench.main(["--lengths", "16", "40", "--size", "400", "--plot", str(figure)])
    said = capsys.readouterr().out
    assert "**40 terms of 400 entries**" in said
    rows = re.findall(
        r"^\| (\w.*?) \| ([\d.]+) \|.*? \| ([\d.]+) \| ([\d.]+) \+-", said, re.MULTILINE
    )
    assert [name for name, *_ in rows] == 2 * list(bench.MECHANISMS)
    for _, largest, typical, measured in rows:
        assert float(measured) == pytest.approx(float(typical), rel=0.2)
        assert float(typical) <= float(largest)
    assert figure.stat().st_size > 5000
