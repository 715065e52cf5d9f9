"""The pieces of the benchmark of defaults do what its tables say, on tiny data."""

import json
import math
import re
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

REPOSITORY = Path(__file__).resolve().parents[1]


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
@pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="needs the git repository")
def test_defaults_are_compared_with_those_of_a_revision(piece, capsys):
    options = ["--tables", "wine", "--epsilons", "1", "--splits", "1", "--others"]
    piece("defaults").main([*options, "--against", "HEAD"])
    said = capsys.readouterr().out
    assert re.search(r"^\| wine \| log-loss \| 1 \| \S+ \| [+-]\S+ \| [+-].*`.*\|", said, re.M)


def test_a_constant_is_chosen_on_one_half_of_the_tables_and_reported_on_the_other(piece):
    tables = "abcd"

    def losses(*ratios):
        return {(t, 1.0, 0): 0.5 * r for t, r in zip(tables, ratios, strict=True)}

    tried = {1.0: losses(1, 1, 1, 1), 2.0: losses(0.9, 1.1, 0.9, 1.1)}
    rows, chosen = piece("defaults").both_ways(tried[1.0], tried)
    assert rows[1] == ["2", "-10.54 ± 0.00", "+9.53 ± 0.00"]
    assert chosen == [
        "chosen on half 0: 2, elsewhere +9.53",
        "chosen on half 1: 1, elsewhere +0.00",
    ]


def test_a_sweep_tries_values_and_leaves_the_constant_as_it_was(piece, capsys):
    from skdp.solvers import defaults

    before = defaults.PreconditionedGD.SCORE_NOISE
    sweep = [
        "--sweep",
        "PreconditionedGD.SCORE_NOISE",
        "1e-9",
        "--tables",
        "classes",
        "sure_labels",
    ]
    piece("defaults").main([*sweep, "--epsilons", "8", "--splits", "1"])
    assert before == defaults.PreconditionedGD.SCORE_NOISE
    # With steps of no length nothing is learned.
    said = capsys.readouterr().out
    assert re.search(r"^\| 1e-09 \| \+\d\d\S* .* \| \+\d\d", said, re.M), said


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
        ["set, accuracy: 0.950 ± 0.000", "skdp", "0.810 ± 0.010 ▼", "0.900 ± 0.010"],
        ["", "peer", "0.860 ± 0.010", "0.910 ± 0.010"],
    ]
    cell = piece("results").Cell(0.2, 0.01, 10)
    assert published.marked(cell, 0.18, larger_is_better=False).endswith("▼")
    assert published.marked(cell, 0.19, larger_is_better=False) == "0.200 ± 0.010"
    # What lacks of 1 counts.
    near = piece("results").Cell(0.992, 0.0, 10)
    assert published.marked(near, 0.997).endswith("▼")


def test_methods_written_down_from_papers_learn_and_are_refused_where_they_say(piece):
    methods = piece("by_description")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    y = X @ [1.0, -2.0, 3.0] + 0.1 * rng.standard_normal(20_000)
    assert np.allclose(methods.tukey(X, y, 1.0, 1e-5, rng).coef, [1, -2, 3, 0], atol=0.05)
    # A hundred models are too few for the test of stability.
    assert not methods.tukey(X, y, 0.1, 1e-5, rng, n_models=100).coef.any()
    X, y = X / np.linalg.norm(X, axis=1, keepdims=True), np.clip(y / 10, -1, 1)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0]
    mixed = methods.iterative_hessian_mixing(X, y, 4.0, 1e-6, rng)
    assert np.allclose(mixed.coef, exact, atol=0.05)
    # Its privacy costs what was asked for: noise of one gradient by an integral of the loss.
    sd, z = methods._gaussian(1.0, 1e-5), rng.standard_normal(2_000_000)
    loss = (z / sd) + 0.5 / sd**2
    assert np.maximum(0, 1 - np.exp(1.0 - loss)).mean() < 2e-5


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
@pytest.mark.filterwarnings("ignore::skdp.UnresolvedWarning")
def test_docstrings_name_the_solvers_that_are_taken_and_no_others(piece, tiny):
    solvers = piece("solvers")
    for name, model in solvers.MODELS.items():
        data = tiny[model.regression]
        text = re.search(r"\nsolver : (.*?)\n\w+ : ", model.estimator.__doc__, re.DOTALL)[1]
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
