"""Reports: what they say follows from receipts and public facts, and anybody can recompute it."""

import ast
import json
import re
import runpy
import sys
from dataclasses import asdict
from math import exp
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skdp
from skdp import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
    DPSVMClassifier,
    PrivacyBudget,
    privacy_spent,
    report,
)
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPOneHotEncoder, DPStandardScaler
from skdp.privacy import queries
from skdp.privacy.accounting import gdp
from skdp.problem.constraints import L1Ball
from skdp.reporting import QUERIES, RULES, PrivacyLedger, words_of
from skdp.solvers import DDA, FTRL, GD, SOLVERS, Blocks, FrankWolfe
from skdp.testing import exact_fit

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "recompute_report.py"
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "how_to" / "reports.md"
CHECK = runpy.run_path(str(SCRIPT))["check"]
N, D = 400, 4
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(N, D))
REAL = X @ [1.0, -2.0, 0.0, 0.5]
BINARY = (REAL > 0).astype(int)
SITES = np.arange(N) % 3


def classifier(**options):
    return DPLogisticRegression(**{"data_norm": 2.0, "classes": [0, 1]} | options)


def regressor(**options):
    return DPLinearRegression(**{"data_norm": 2.0, "target_bounds": (-4, 4)} | options)


def sparse(**options):
    given = {"data_norm": 2.0, "feature_bound": 1.0, "target_bounds": (-4, 4)}
    return DPLassoRegressor(**given | options)


def by_solver(name):
    if name in ("adassp", "tracked_gd"):
        return regressor(solver=name).fit(X, REAL)
    if name == "quantile_gd":
        quantiles = DPQuantileRegressor(data_norm=2.0, target_bounds=(-4, 4), solver=name)
        return quantiles.fit(X, REAL)
    if name == "screening":
        return sparse(solver=name).fit(X, REAL)
    if name == "dda":
        return classifier(solver=DDA(rounds=3)).fit(X, BINARY, sites=SITES)
    if name == "frank_wolfe":
        return classifier(solver=name, constraint=L1Ball(3.0)).fit(X, BINARY)
    if name == "ftrl":
        return classifier(solver=name, horizon=N).partial_fit(X, BINARY)
    if name == "blocks":
        model = classifier(solver=Blocks(first=40, solver=GD(steps=5)))
        return model.partial_fit(X[:100], BINARY[:100]).partial_fit(X[100:], BINARY[100:])
    return classifier(solver=name).fit(X, BINARY)


def stream_of_many_parts():
    model = classifier(solver=GD(steps=2))
    for k in range(20):
        model.partial_fit(X[20 * k : 20 * k + 20], BINARY[20 * k : 20 * k + 20])
    return model


def fitted_twice():
    model = classifier(warm_start=True, solver=GD(steps=3)).fit(X, BINARY)
    return model.fit(X, BINARY)


def two_relations():
    scaler = DPStandardScaler(bounds=(-1, 1), adjacency="zero_out", epsilon=0.5)
    return make_pipeline(scaler, classifier(solver=GD(steps=3))).fit(X, BINARY)


def categories_in_front():
    encoder = DPOneHotEncoder(epsilon=3.0, delta=1e-5)
    model = classifier(solver=GD(steps=3), delta=1e-5)
    return make_pipeline(encoder, model).fit(np.sign(X), BINARY)


def choices_behind_a_scaler():
    scaler = DPStandardScaler(bounds=(-1, 1), epsilon=0.5)
    return make_pipeline(scaler, sparse(solver="screening", feature_bound=None)).fit(X, REAL)


def search_of_public_trials():
    space = {"C": [0.5, 1.0]}
    model = classifier(solver=GD(steps=3), precondition=None)
    return DPGridSearchCV(model, space, epsilon=4.0, delta=1e-5, exhaustive=True).fit(X, BINARY)


def bandit(policy):
    found = DPContextualBandit([0, 1], horizon=N, data_norm=2.0, policy=policy)
    return found.partial_fit(X, BINARY, np.ones(N))


def free_steps_around():
    steps = FunctionTransformer(np.tanh), BoundsScaler((-1, 1)), DPMinMaxScaler(bounds=(-1, 1))
    return make_pipeline(*steps, classifier(solver=GD(steps=3), data_norm=3.0)).fit(X, BINARY)


RECOMPUTED = {name: lambda name=name: by_solver(name) for name in SOLVERS} | {
    "gd for svm": lambda: DPSVMClassifier(data_norm=2.0, classes=[0, 1]).fit(X, BINARY),
    "nothing known": lambda: DPLinearRegression().fit(X, REAL),
    "vertices of a stream": lambda: classifier(
        solver=FrankWolfe(), constraint=L1Ball(3.0), horizon=N
    ).partial_fit(X, BINARY),
    "stream without end": lambda: classifier(solver=FTRL()).partial_fit(X, BINARY),
    "many parts": stream_of_many_parts,
    "fitted twice": fitted_twice,
    "two relations": two_relations,
    "categories": categories_in_front,
    "choices behind a scaler": choices_behind_a_scaler,
    "search": search_of_public_trials,
    "bandit, auto": lambda: bandit("auto"),
    "bandit, blocks": lambda: bandit("blocks"),
    "free steps": free_steps_around,
    "pure epsilon": lambda: classifier(delta=0).fit(X, BINARY),
    "several of pure epsilon": lambda: [
        regressor(delta=0).fit(X, REAL),
        classifier(delta=0, adjacency="zero_out").fit(X, BINARY),
    ],
    "two models": lambda: [
        regressor(solver="gd").fit(X, REAL),
        classifier(solver="gd").fit(X, BINARY),
    ],
}
everything = pytest.mark.parametrize("make", RECOMPUTED.values(), ids=RECOMPUTED)
# What noise decides may be warned of.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def fitted():
    """Each example is fitted once."""
    made = {}

    def find(make):
        if make not in made:
            made[make] = make()
        return made[make]

    return find


@pytest.mark.every_combination
@everything
def test_the_json_alone_gives_the_total(make, fitted, capsys):
    subject = fitted(make)
    filed = json.loads(report(subject).to_json())
    assert filed["rule"] in {*RULES} - {"stated"}
    CHECK(filed)
    assert f"total: epsilon = {filed['epsilon']:.6g}" in capsys.readouterr().out
    composed = isinstance(subject, list) or hasattr(subject, "steps")
    spent = privacy_spent(subject).spent if composed else subject.privacy_spent_
    assert (filed["epsilon"], filed["delta"]) == pytest.approx(tuple(spent), rel=1e-9)


@pytest.mark.every_combination
@everything
def test_report_and_privacy_spent_state_one_total(make, fitted):
    subject = fitted(make)
    assert report(subject).spent == privacy_spent(subject).spent
    assert report(subject, delta=1e-4).spent == privacy_spent(subject, 1e-4).spent


SENSITIVITIES = {"sensitivity", "jacobian", "output_sensitivity"}
BUGS = {
    "an event is missing": lambda events: events.pop(0),
    "a count is halved": lambda events: events[0].update(count=events[0]["count"] / 2),
    "it moves less": lambda events: events[0].update(
        {name: events[0][name] / 9 for name in SENSITIVITIES & {*events[0]}}
    ),
}


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
@pytest.mark.parametrize(
    "name", ["gd", "screening", "objective_perturbation", "dda", "pure epsilon"]
)
def test_recomputation_notices_what_the_json_leaves_out(name, bug, fitted):
    filed = report(fitted(RECOMPUTED[name])).to_dict()
    CHECK(filed)
    filed["fits"][0]["events"] = [dict(e) for e in filed["fits"][0]["events"]]
    for event in [e for e in filed["fits"][0]["events"] if e["site"] not in (None, "0")]:
        filed["fits"][0]["events"].remove(event)
    bug(filed["fits"][0]["events"])
    with pytest.raises(SystemExit, match="as stated"):
        CHECK(filed)


def test_the_script_needs_the_standard_library_alone():
    tree = ast.parse(SCRIPT.read_text())
    named = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    modules = {a.name for n in named if isinstance(n, ast.Import) for a in n.names}
    modules |= {n.module for n in named if isinstance(n, ast.ImportFrom)}
    assert modules
    assert modules <= sys.stdlib_module_names


@everything
def test_every_event_says_what_it_is_for(make, fitted):
    subject = fitted(make)
    for part in subject if isinstance(subject, list) else [subject]:
        for model in dict(part.steps).values() if hasattr(part, "steps") else [part]:
            events = getattr(model, "privacy_ledger_", ())
            assert all(event.purpose and event.query in QUERIES for event in events)
            assert all(asdict(event)["mechanism"] == event.mechanism for event in events)


def test_every_query_has_words():
    kinds = [kind for kind in vars(queries).values() if isinstance(kind, type)]
    names = {kind.name for kind in kinds if isinstance(getattr(kind, "name", None), str)}
    assert len(names) > 15
    assert names <= set(QUERIES)


def test_the_report_of_a_regression_is_short():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3000, 5))
    model = DPLinearRegression().fit(rows, rows[:, 0])
    found = report(model)
    assert sum(event.count for event in model.privacy_ledger_) > 100
    assert len(found.to_markdown()) < 4000
    assert len(repr(model.privacy_ledger_)) < 2000


def test_a_report_says_nothing_of_the_rows():
    def filed(rows, targets):
        model = classifier(solver="gd", precondition=None, epsilon=2.0, C=2.0)
        return report(model.fit(rows, targets)).to_json()

    rng = np.random.default_rng(3)
    assert filed(X, BINARY) == filed(9 * rng.normal(size=X.shape), rng.permutation(BINARY))


def test_what_is_not_fitted_says_so_in_one_sentence():
    found = report(classifier(epsilon=0.7))
    assert found.to_dict()["state"] == "not_fitted"
    assert "DPLogisticRegression is not fitted" in str(found)
    assert "epsilon = 0.7" in str(found)
    assert len(str(found).splitlines()) <= 3
    CHECK(found.to_dict())
    pipeline = make_pipeline(DPStandardScaler(), classifier())
    assert "Pipeline.dpstandardscaler is not fitted" in str(report(pipeline))
    assert "not open yet" in str(report(PrivacyBudget(epsilon=1.0, delta=1e-5)))


def test_a_fit_that_failed_reports_what_it_has_spent(monkeypatch):
    monkeypatch.setattr(GD, "solve", lambda *_: 1 / 0)
    model = classifier(solver="gd")
    with pytest.raises(ZeroDivisionError):
        model.fit(X, BINARY)
    found = report(model).to_dict()
    assert found["state"] == "incomplete"
    assert 0 < found["epsilon"] == model.privacy_spent_.epsilon < 1
    assert any("published no model" in line for line in found["cautions"])


def test_parts_that_are_fitted_are_reported_beside_one_that_is_not():
    pipeline = make_pipeline(DPStandardScaler(epsilon=2.0, bounds=(-2, 2)), classifier(C=-1.0))
    with pytest.raises(ValueError, match="C"):
        pipeline.fit(X, BINARY)
    fitted = classifier(epsilon=3.0, solver=GD(steps=2)).fit(X, BINARY)
    for subject, spent in (pipeline, pipeline[0].privacy_spent_), ([fitted, classifier()], (3.0,)):
        found = report(subject)
        filed = found.to_dict()
        assert (filed["state"], filed["epsilon"]) == ("incomplete", None)
        assert [fit["epsilon"] for fit in filed["fits"]] == [spent[0]]
        assert f"fitted amounts to epsilon = {spent[0]:g}" in filed["summary"]
        assert any("is not fitted" in line for line in filed["cautions"])
        assert found.spent.epsilon == np.inf
        assert "without a receipt" not in str(found)
        with pytest.raises(SystemExit, match="no epsilon to recompute"):
            CHECK(filed)


def test_a_step_without_a_receipt_may_have_spent_something_before_others_are_fitted():
    found = report(make_pipeline(StandardScaler().fit(X), classifier()))
    assert found.to_dict()["epsilon"] is None
    assert "StandardScaler" in str(found)


def test_the_total_is_unknown_where_a_step_reads_rows_without_a_receipt():
    pipeline = make_pipeline(StandardScaler(), classifier()).fit(X, BINARY)
    found = report(pipeline).to_dict()
    assert found["epsilon"] is None
    assert found["rule"] == "stated"
    assert any("StandardScaler" in line for line in found["cautions"])
    assert report(pipeline).spent.epsilon == np.inf


def test_leaks_are_named():
    leaky = DPLogisticRegression(data_norm=2.0, random_state=0, solver=GD(steps=2)).fit(X, BINARY)
    said = " ".join(report(leaky).to_dict()["cautions"])
    assert "has a seed" in said
    assert "set of classes" in said
    loose = classifier(delta=0.01, epsilon=20.0, solver=GD(steps=2)).fit(X, BINARY)
    said = " ".join(report(loose).to_dict()["cautions"])
    assert "not below 1/n" in said
    assert "epsilon = 20 is above 10" in said


def test_exact_answers_make_the_total_infinite():
    model = classifier(solver=GD(steps=2))
    exact_fit(model, X, BINARY)
    filed = json.loads(report(model).to_json())
    assert filed["epsilon"] == "inf"
    assert "nothing is known" in filed["meaning"]["sentence"]
    assert any(line.startswith("not private") for line in filed["cautions"])
    said = str(report(model))
    assert "adds the noise" not in said
    assert "**trust**" not in said
    assert "promises little" not in said
    CHECK(filed)
    assert report(model).spent.epsilon == np.inf


def test_sites_say_whom_they_trust():
    model = classifier(solver=DDA(rounds=2, noise="local")).fit(X, BINARY, sites=SITES)
    found = report(model).to_dict()
    assert found["trust"].startswith("local at each site")
    assert {event["site"] for event in found["fits"][0]["events"]} == {"0", "1", "2"}


def test_a_privacy_budget_reports_its_fits():
    with PrivacyBudget(epsilon=1.0, delta=1e-5) as budget:
        for _ in range(2):
            classifier(epsilon=0.4, solver=GD(steps=2)).fit(X, BINARY)
    filed = report(budget).to_dict()
    CHECK(filed)
    assert filed["epsilon"] == budget.spent.epsilon
    assert [fit["estimator"] for fit in filed["fits"]] == ["DPLogisticRegression"] * 2
    with PrivacyBudget(epsilon=1.0, delta=1e-5, accounting="sums") as budget:
        classifier(epsilon=0.4, delta=1e-6, solver=GD(steps=2)).fit(X, BINARY)
    filed = report(budget).to_dict()
    assert filed["rule"] == "sum"
    CHECK(filed)


def of_one_fit(relation, accounting, **options):
    with PrivacyBudget(3.0, 1e-4, accounting=accounting) as budget:
        model = classifier(epsilon=1.0, adjacency=relation, solver=GD(steps=2), **options)
        model.fit(X, BINARY)
    return report(budget).to_dict(), model


@pytest.mark.every_combination
@pytest.mark.parametrize("accounting", ["gaussian", "renyi", "sums"])
@pytest.mark.parametrize("relation", ["replace_one", "zero_out"])
def test_a_privacy_budget_files_fits_under_its_own_relation(relation, accounting):
    filed, model = of_one_fit(relation, accounting, delta=1e-6)
    fit = filed["fits"][0]
    assert fit["adjacency"] == filed["adjacency"] == "replace_one"
    true = skdp.reporting.compose([model], fit["delta"], "replace_one")
    assert fit["epsilon"] >= true.epsilon * (1 - 1e-9)
    if accounting == "gaussian" or relation == "replace_one":
        assert (fit["epsilon"], fit["delta"]) == pytest.approx(tuple(true))
    if accounting == "renyi":
        with pytest.raises(SystemExit, match="more than this script"):
            CHECK(filed)
    else:
        CHECK(filed)


def test_totals_that_take_a_longer_computation_are_stated():
    models = [classifier(solver="objective_perturbation").fit(X, BINARY) for _ in range(2)]
    filed = report(models).to_dict()
    assert filed["rule"] == "stated"
    assert filed["epsilon"] == privacy_spent(models).epsilon
    assert "privacy_spent" in filed["recompute"]
    with pytest.raises(SystemExit, match="more than this script"):
        CHECK(filed)


def test_a_search_of_secret_trials_states_its_total():
    model = classifier(solver=GD(steps=2), precondition=None)
    found = DPRandomizedSearchCV(model, {"C": [0.5, 1.0]}, epsilon=4.0, n_iter=2).fit(X, BINARY)
    filed = report(found).to_dict()
    assert filed["rule"] == "stated"
    assert filed["epsilon"] == pytest.approx(4.0, rel=1e-6)
    # Whose number nobody is told.
    assert [kind["count"] for kind in filed["fits"][0]["releases"]] == [1]


def test_the_power_of_a_test_is_the_best_bound_of_the_privacy_profile():
    found = report(classifier(solver="gd", epsilon=1.3, delta=1e-5).fit(X, BINARY)).to_dict()
    meaning = found["meaning"]
    level = gdp.mu(1.3, 1e-5)
    assert meaning["mu"] == pytest.approx(level, rel=1e-6)
    epsilons = np.linspace(0, 5, 2001)
    deltas = [gdp.delta(level, e) for e in epsilons]
    by_profile = min(exp(e) * 0.05 + d for e, d in zip(epsilons, deltas, strict=True))
    assert meaning["power_at_5_percent"] == pytest.approx(by_profile, rel=1e-5)
    # The best guess between two equally likely data sets wins by half of the total variation.
    assert meaning["best_guess"] == pytest.approx((1 + gdp.delta(level, 0.0)) / 2, rel=1e-6)


def test_under_zero_out_the_guess_is_about_taking_part():
    model = classifier(adjacency="zero_out", solver=GD(steps=2)).fit(X, BINARY)
    found = report(model).to_dict()
    assert "guesses whether that one took part" in found["meaning"]["sentence"]
    # Which is public under this relation, too.
    assert found["n_samples"] == N


def test_the_meaning_of_a_total_that_is_not_gaussian_is_that_of_epsilon_and_delta():
    found = report(classifier(solver="objective_perturbation").fit(X, BINARY)).to_dict()
    epsilon, delta = found["epsilon"], found["delta"]
    assert found["meaning"]["mu"] is None
    guess = (exp(epsilon) + delta) / (1 + exp(epsilon))
    assert found["meaning"]["best_guess"] == pytest.approx(guess)
    assert found["meaning"]["power_at_5_percent"] <= exp(epsilon) * 0.05 + delta


def test_all_renderings_say_the_same(fitted):
    found = report(fitted(RECOMPUTED["gd"]))
    assert str(found) == found.to_markdown() == found._repr_markdown_()
    for word in ("coefficients", "gradient", "Gaussian", "400", "Not covered", "scikit-learn"):
        assert word in str(found)
    assert json.loads(found.to_json(indent=None)) == found.to_dict()
    changed = found.to_dict()
    changed["fits"].clear()
    assert found.to_dict()["fits"]


def test_names_of_steps_are_text_and_not_markup():
    pipeline = Pipeline([("<b>|x", classifier(solver=GD(steps=2)))]).fit(X, BINARY)
    found = report(pipeline)
    assert "<b>" not in found.to_markdown()
    assert "\\<b\\>\\|x" in found.to_markdown()


def test_the_page_documents_every_key(fitted):
    page = (DOCS / "reference" / "report_schema.md").read_text()
    for name in ("gd", "dda", "objective_perturbation", "screening"):
        filed = report(fitted(RECOMPUTED[name])).to_dict()
        fit = filed["fits"][0]
        keys = {*filed, *filed["meaning"], *fit, *fit["releases"][0]}
        keys |= {key for event in fit["events"] for key in event}
        assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def test_the_page_and_its_script_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    first, second = blocks
    names = {}
    exec(compile(first, "reports.md", "exec"), names)
    printed = capsys.readouterr().out
    shown = re.search(r"^```text\n.*?(\| what for.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert shown.group(1) in printed + "\n"
    assert "55.4 %" in printed
    assert "8.5 %" in printed
    exec(compile(second, "reports.md", "exec"), names)
    assert capsys.readouterr().out == "1.000\n"
    monkeypatch.setattr(sys, "argv", ["recompute_report.py", "report.json"])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert "total: epsilon = 1 at delta = 1e-05, as stated" in capsys.readouterr().out


def test_a_ledger_is_a_tuple_that_prints_as_a_table():
    model = classifier(solver=GD(steps=3), precondition=None).fit(X, BINARY)
    ledger = model.privacy_ledger_
    assert isinstance(ledger, tuple)
    assert ledger == tuple(ledger)
    text = str(ledger)
    assert text == repr(ledger)
    assert text.startswith(f"PrivacyLedger: {sum(e.count for e in ledger)} releases")
    for event in ledger:
        assert all(words in text for words in words_of(event))
    assert repr(PrivacyLedger()) == "PrivacyLedger: nothing was released"


@pytest.mark.parametrize(
    "subject",
    [None, X, "model", [None], DPLogisticRegression],
    ids=["None", "rows", "text", "list", "class"],
)
def test_what_is_no_model_gets_no_report_and_no_total(subject):
    for ask in (report, privacy_spent):
        with pytest.raises(TypeError, match=f"^{ask.__name__} needs a fitted model"):
            ask(subject)


# Fields of the registry's schema, and which of them it requires.
RECORD = {"url_slug", "status", "tier", "deployment"}
BASIC = {"name", "data_curators", "intended_use", "data_product_type", "data_product_region"}
BASIC |= {"description", "publication_date"}


@pytest.mark.parametrize("sites", [None, SITES], ids=["central", "sites"])
def test_a_record_of_the_deployment_says_what_the_report_says(sites):
    yaml = pytest.importorskip("yaml")
    options = {} if sites is None else {"solver": DDA(rounds=2, noise="local")}
    made = report(classifier(**options).fit(X, BINARY, sites=sites))
    record = yaml.safe_load(made.to_deployment_record())
    assert record.keys() == RECORD
    deployment = record["deployment"]
    assert deployment["basic"].keys() == BASIC
    stated = deployment["privacy_loss"]["privacy_parameters"]
    assert (stated["epsilon"], stated["delta"]) == made.spent
    assert deployment["privacy_loss"]["privacy_unit"] == "one row"
    assert deployment["deployment_model"]["model_name"] == (
        "Federated" if sites is not None else "Central"
    )
    assert "gradient" in deployment["implementation"]["mechanisms"]
    assert "to be filled in" in deployment["basic"]["name"]


@pytest.mark.filterwarnings("ignore:The pipeline publishes more")
def test_there_is_no_record_without_a_total():
    with pytest.raises(ValueError, match="needs a total for a record"):
        report(make_pipeline(StandardScaler(), classifier()).fit(X, BINARY)).to_deployment_record()
    with pytest.raises(ValueError, match="needs a total for a record"):
        report(classifier()).to_deployment_record()
