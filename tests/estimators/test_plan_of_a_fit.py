"""The plan of a fit: made once, before rows are asked, followed, and known beforehand."""

import pickle
from dataclasses import FrozenInstanceError, fields
from math import sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from examples_of_estimators import BINARY, SEVERAL, X, target_of
from examples_of_estimators import MODELS as MADE

import skdp
from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression
from skdp.estimators import PrivateLinearModel, ScoreScale, Solve, TotalWeight, base
from skdp.privacy import PrivacyUnit
from skdp.privacy.accounting import GaussianDP, Ledger, ZeroConcentratedDP, gdp
from skdp.problem.constraints import L1Ball
from skdp.solvers import FTRL, GD, SOLVERS, Blocks
from skdp.solvers.preconditioning import IterativeWhitening, Whitening

RNG = np.random.default_rng(0)


def rows(n, d):
    X = RNG.uniform(-1, 1, size=(n, d))
    return X, X[:, 0]


MODELS = {
    "lasso": lambda: DPLassoRegressor(data_norm=2.0, target_bounds=(-1, 1)),
    "linear": lambda: DPLinearRegression(data_norm=2.0, target_bounds=(-1, 1)),
    "logistic": lambda: DPLogisticRegression(data_norm=2.0, classes=[False, True]),
}


def noted(monkeypatch):
    """Plans that were made, ledgers charged, and solvers that ran, in order."""
    seen = []
    plan_fit, record = base.plan_fit, Ledger._record

    def planned(*args, **options):
        found = plan_fit(*args, **options)
        seen.append(("planned", found))
        return found

    def recorded(self, event):
        seen.append(("charged", self.calculus))
        return record(self, event)

    monkeypatch.setattr(base, "plan_fit", planned)
    monkeypatch.setattr(Ledger, "_record", recorded)
    for kind in SOLVERS.values():

        def ran(self, problem, oracle, rng, solve=kind.solve):
            seen.append(("ran", self))
            return solve(self, problem, oracle, rng)

        monkeypatch.setattr(kind, "solve", ran)
    return seen


def check_the_plan_is_followed(model, X, y, weights, seen):
    """One plan, known beforehand, decides what is charged how, what is asked, and what runs."""
    seen.clear()
    before = skdp.plan(model, *X.shape, weighted=weights is not None)
    model.fit(X, y, sample_weight=weights)
    plan = model.plan_
    order = [what for what, _ in seen]
    assert "planned" not in order[order.index("charged") :], "planned after rows were asked"
    assert plan == before, "another plan than beforehand"
    assert next(solver for what, solver in seen if what == "ran") == plan.solver, "another solver"
    (calculus,) = {calculus for what, calculus in seen if what == "charged"}
    assert calculus == plan.calculus, "another calculus"
    asked = {event.query.split("(")[0] for event in model.privacy_ledger_}
    assert ("total_weight" in asked) == (plan.stage(TotalWeight) is not None), (
        f"total weight: {asked}"
    )
    assert any("norm" in query for query in asked) or "data_norm" not in dict(plan.bounds)
    return plan


# Of weights of a hundredth a fit warns, if noise lets it see that.
@pytest.mark.filterwarnings("ignore:The weights of all rows add up")
@pytest.mark.parametrize("weight", [None, 0.5, 1.0, 0.01])
@pytest.mark.parametrize(("n", "d"), [(500, 5), (390, 5), (450, 21), (2000, 5)])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_the_solver_is_chosen_before_rows_are_asked_and_runs(make, n, d, weight, monkeypatch):
    X, y = rows(n, d)
    y = y > 0 if make is MODELS["logistic"] else y
    weights = None if weight is None else np.full(n, weight)
    plan = check_the_plan_is_followed(make(), X, y, weights, noted(monkeypatch))
    # Of five features all are fitted, with Gaussian noise alone.
    selects = isinstance(plan.solver, SOLVERS["screening"]) and d > 5
    assert isinstance(plan.calculus, ZeroConcentratedDP if selects else GaussianDP)


@pytest.mark.parametrize("weight", [None, 0.5])
def test_a_lasso_on_few_features_is_charged_for_the_noise_that_it_has(weight):
    """Gaussian noise has an exact price, which a ledger for selections would not give."""
    X, y = rows(500, 5)
    weights = None if weight is None else np.full(500, weight)
    model = MODELS["lasso"]().fit(X, y, sample_weight=weights)
    events = model.privacy_ledger_
    exact = sqrt(sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in events))
    assert gdp.epsilon(exact, model.delta_) == pytest.approx(model.epsilon, rel=1e-6)
    assert model.privacy_spent_.epsilon == pytest.approx(model.epsilon, rel=1e-6)


def test_half_weights_do_not_turn_the_solver_of_a_lasso(monkeypatch):
    X, y = rows(500, 5)
    seen, kinds = noted(monkeypatch), []
    for weights in (None, np.full(500, 0.5)):
        seen.clear()
        MODELS["lasso"]().fit(X, y, sample_weight=weights)
        kinds.append(type(next(solver for what, solver in seen if what == "ran")))
    assert kinds[0] is kinds[1] is SOLVERS["screening"]


@pytest.mark.parametrize(
    ("preconditioner", "least"),
    [(IterativeWhitening(), 100.0), (Whitening(), 2 * np.sqrt(4 / 0.1))],
)
def test_preconditioners_say_beforehand_where_noise_would_hide_what_there_is(preconditioner, least):
    problem = MODELS["linear"]()
    problem.n_features_in_ = 4
    outline = problem._stated(1000, sparse=False, weighted=False)
    assert preconditioner.acts(outline, least / 1000 * 1.001, known=False)
    assert not preconditioner.acts(outline, least / 1000 * 0.999, known=False)
    assert IterativeWhitening().acts(outline, 1e-9, known=True)
    assert Whitening(full=True).acts(outline, 1e-9, known=False)


RAW = X * (1.0, 30.0, 0.2, 5.0)
FITS = {
    "columns and norm": (DPLogisticRegression(classes=[False, True], epsilon=4.0), BINARY, None),
    "weights": (DPLogisticRegression(classes=[False, True], epsilon=4.0), BINARY, np.ones(len(X))),
    "targets": (DPLinearRegression(epsilon=4.0), target_of(MADE["linear"]), None),
    "check": (
        DPLinearRegression(epsilon=4.0, target_bounds=(-100, 100)),
        target_of(MADE["linear"]),
        None,
    ),
}


@pytest.mark.filterwarnings("ignore:.*(set aside|drown|Nearly all targets)")
@pytest.mark.parametrize("kind", FITS)
def test_stages_keep_to_their_order_and_shares(kind):
    """Releases are in the order of the stages, and none costs more than its share."""
    model, y, weights = FITS[kind]
    model.fit(RAW, y, sample_weight=weights)
    whole, left = gdp.mu(model.epsilon, model.delta_) ** 2, gdp.mu(model.epsilon, model.delta_) ** 2
    order, paid = [stage.purpose for stage in model.plan_.stages], {}
    for event in model.privacy_ledger_:
        price = event.count * (event.sensitivity / event.noise_scale) ** 2
        paid[event.purpose] = paid.get(event.purpose, 0.0) + price
    assert list(paid) == [purpose for purpose in order if purpose in paid]
    for stage in model.plan_.stages:
        of = whole if stage.bound or isinstance(stage, TotalWeight) else left
        if isinstance(stage, ScoreScale):
            # Of what it and the solver have together.
            of += paid[Solve.purpose]
        assert paid.get(stage.purpose, 0.0) <= stage.share * of * (1 + 1e-6), stage.purpose
        left -= paid.get(stage.purpose, 0.0)
    assert left >= -1e-6 * whole
    assert len(paid) > 2


def refused(call):
    """Message of a refusal or None, and what was returned if there was none."""
    try:
        return None, call()
    except ValueError as refusal:
        return str(refusal), None


# Of few rows some coefficients have no standard errors.
@pytest.mark.filterwarnings("ignore::skdp.UnresolvedWarning")
@pytest.mark.filterwarnings("ignore:.*'frank_wolfe' needs a bounded set:UserWarning")
@pytest.mark.parametrize("solver", ["auto", *SOLVERS, Blocks(solver="gd"), GD(steps=7)], ids=str)
@pytest.mark.parametrize("kind", MADE)
def test_the_plan_beforehand_is_that_of_the_fit(kind, solver):
    model, y = MADE[kind](solver=solver), target_of(MADE[kind])
    options = {"sites": np.arange(len(X)) % 3} if solver == "dda" else {}
    refusal, plan = refused(lambda: skdp.plan(model, *X.shape, **options))
    if refusal is not None:
        assert refused(lambda: model.fit(X, y, **options))[0] == refusal
        assert not hasattr(model, "plan_")
        return
    assert not hasattr(model, "n_features_in_")
    assert model.fit(X, y, **options).plan_ == plan
    assert str(plan) == str(model.plan_)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("logistic", {"data_norm": None}),
        ("logistic", {"class_weight": "balanced", "epsilon": 0.01}),
        ("logistic", {"precondition": "full", "adjacency": "zero_out"}),
        ("machine", {"classes": [0, 1, 2]}),
        ("linear", {"data_norm": None, "target_bounds": None}),
        ("linear", {"constraint": L1Ball(1.0)}),
        ("linear", {"precondition": "full", "epsilon": 0.1}),
        ("lasso", {"feature_bound": None, "data_norm": None}),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:.*(set aside|drown)")
@pytest.mark.by_day(4)
def test_the_plan_beforehand_holds_for_all_kinds_of_rows(kind, options, sparse, weighted):
    make = MADE[kind]
    model = make(**{"solver": "auto", "epsilon": 1.0, "warm_start": True} | options)
    y = SEVERAL if len(options.get("classes", ())) == 3 else target_of(make)
    data, weights = (sp.csr_array(X) if sparse else X), np.full(len(X), 0.5) if weighted else None
    for started in (False, True):
        plan = skdp.plan(model, *X.shape, sparse=sparse, weighted=weighted)
        assert plan.from_model is started
        assert model.fit(data, y, sample_weight=weights).plan_ == plan


class Untouchable:
    """A row store of which only public facts can be had."""

    n_samples, sparse, weighted, unit = 240, False, True, PrivacyUnit.ROW
    steady = True

    def __getattr__(self, name):
        raise AssertionError(f"the plan looked at {name}")


@pytest.mark.parametrize("kind", MADE)
def test_a_plan_looks_at_no_row(kind, monkeypatch):
    plans = []

    def opened(self, X, y, *rest):
        self.n_features_in_ = 4
        self._prepare_targets(None)
        return Untouchable(), np.dtype(float)

    monkeypatch.setattr(PrivateLinearModel, "_open", opened)
    monkeypatch.setattr(
        PrivateLinearModel, "_fit_part", lambda self, rows, plan, *_, **__: plans.append(plan)
    )
    model = MADE[kind](solver="auto")
    model.fit(Untouchable(), Untouchable())
    assert plans == [skdp.plan(MADE[kind](solver="auto"), 240, 4, weighted=True)]


def test_a_plan_is_frozen_and_does_not_follow_later_changes():
    solver = GD(steps=5)
    model = MADE["logistic"](solver=solver).fit(X, BINARY)
    plan, said = model.plan_, str(model.plan_)
    for field in fields(plan):
        with pytest.raises(FrozenInstanceError):
            setattr(plan, field.name, None)
    model.set_params(solver__steps=9)
    assert plan.solver == GD(steps=5)
    assert str(plan) == said


@pytest.mark.parametrize("kind", MADE)
def test_a_plan_is_in_the_pickle_and_says_nothing_of_rows(kind):
    make = MADE[kind]
    y = target_of(make)
    model = make().fit(X, y)
    other = make().fit(1e3 * X[::-1] + 7.0, y[::-1])
    assert pickle.loads(pickle.dumps(model)).plan_ == model.plan_ == other.plan_
    assert str(model.plan_) == str(other.plan_)
    held = {type(getattr(model.plan_, field.name)).__module__ for field in fields(model.plan_)}
    assert {module.split(".")[0] for module in held} <= {"builtins", "skdp"}


def test_a_plan_prints_what_a_practitioner_asks_first():
    said = str(skdp.plan(DPLinearRegression(), 20_000, 30, weighted=True))
    for words in (
        "20,000 rows, weighted; 30 features; regression",
        "epsilon = 1, delta = 1.0e-05, replace_one",
        "total weight, 1%; ranges of columns, up to 10%; data_norm, up to 4%; "
        "target_bounds, up to 4%; mean of the targets, up to 1% of the rest; "
        "coordinates by IterativeWhitening",
        "TrackedGD(), by 'auto': regression in private coordinates",
        "all of it Gaussian",
        "expected: like non-private",
    ):
        assert words in said
    assert "expected: like non-private; about 1% of what there is to learn is lost to" in said
    assert said.endswith("about 9 people, of one row each, have no visible effect")
    assert len(said.splitlines()) <= 10
    assert "as given" in str(skdp.plan(DPLinearRegression(solver="gd"), 1, 3))
    assert "no forecast" in str(skdp.plan(DPLinearRegression(), 1, 3))
    assert "n_informative" in str(skdp.plan(DPLassoRegressor(), 2000, 300))


def test_a_stream_leaves_the_plan_of_its_latest_part():
    y = target_of(MADE["linear"])
    calls = [slice(k, k + 60) for k in range(0, 240, 60)]
    blocks = MADE["linear"](solver=Blocks(solver="gd", first=60), horizon=240)
    ftrl = MADE["linear"](solver=FTRL(), horizon=240)
    for call in calls:
        blocks.partial_fit(X[call], y[call])
        ftrl.partial_fit(X[call], y[call])
    assert blocks.plan_.n_samples == 180
    assert blocks.plan_.from_model
    assert ftrl.plan_.n_samples == 240
    assert ftrl.plan_.solver == FTRL()


@pytest.mark.parametrize(
    ("model", "sizes", "facts", "complaint"),
    [
        (DPLinearRegression(), (0, 3), {}, "n_samples"),
        (DPLinearRegression(), (10, 2.5), {}, "n_features"),
        (DPLinearRegression(), (10, 2), {"classes": [0, 1]}, "classes=None"),
        (DPLinearRegression(epsilon=-1.0), (10, 2), {}, "epsilon"),
        (DPLinearRegression(), (10, 2), {"sites": [0, 1]}, "one label in sites for each of 10"),
        (DPLogisticRegression(), (10, 2), {}, r"needs classes=\[...\]"),
        (DPLogisticRegression(solver="adassp", classes=[0, 1]), (10, 2), {}, "AdaSSP"),
        (skdp.DPContextualBandit(), (10, 2), {}, "private linear model"),
    ],
)
def test_a_plan_refuses_what_a_fit_would(model, sizes, facts, complaint):
    with pytest.raises(ValueError, match=complaint):
        skdp.plan(model, *sizes, **facts)
    assert not hasattr(model, "n_features_in_")
