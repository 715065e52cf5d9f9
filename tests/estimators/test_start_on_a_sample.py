"""Large tables: a public sample of the rows comes first, and few steps over all rows last."""

from itertools import pairwise
from math import ceil, sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from twin_oracle import TwinOracle

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, DPPoissonRegressor, DPSVMClassifier
from skdp.estimators import Pilot, Solve, drawn
from skdp.privacy import opened_by
from skdp.privacy.accounting import gdp
from skdp.privacy.rows import Chunks, DenseRows
from skdp.problem.constraints import L2Ball
from skdp.solvers import PreconditionedGD, TrackedGD, defaults
from skdp.testing import record_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 700_000, 3


def classifier(**options):
    return DPLogisticRegression(**{"classes": [0, 1], "data_norm": 4.0} | options)


@pytest.fixture
def tables_of_any_size(monkeypatch):
    """Tables that a test has time for are large enough."""
    monkeypatch.setattr(defaults.Pilot, "LEAST_ENTRIES", 1)


def table(n, d, share=0.5, seed=0):
    """Features that go together, and labels by their log-odds, with such a share of positives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + rng.normal(size=(d, d)) / sqrt(d))
    scores = X @ rng.normal(size=d) / sqrt(d) + rng.logistic(size=n)
    return X, (scores > np.quantile(scores, 1 - share)).astype(int)


def three_classes(n, d, rare, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, 3)) / sqrt(d) + np.log([0.5, 0.5 - rare, rare])
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


def paid(model):
    """Of each purpose: mu^2, and the number of answers."""
    out = {}
    for event in model.privacy_ledger_:
        price, count = out.get(event.purpose, (0.0, 0))
        price += event.count * (event.sensitivity / event.noise_scale) ** 2
        out[event.purpose] = price, count + event.count
    return out


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({}, {}),
        ({"data_norm": None}, {}),
        ({"data_norm": None, "data_bounds": (-1, 1)}, {}),
        ({"adjacency": "zero_out"}, {}),
        ({"epsilon": float("inf")}, {}),
        ({"C": float("inf")}, {}),
        ({"fit_intercept": False}, {}),
        ({"classes": [0, 1, 2]}, {}),
        # The first fit has nothing to start from.
        ({"warm_start": True}, {}),
        ({}, {"sparse": True}),
    ],
)
def test_default_classifiers_of_large_tables_start_on_a_sample(options, facts):
    plan = skdp.plan(classifier(**options), N, D, **facts)
    first = plan.stage(Pilot)
    assert defaults.Pilot.LEAST_RATIO <= N / first.n_samples <= defaults.Pilot.LARGEST_RATIO
    assert plan.solver == PreconditionedGD(steps=plan.solver.steps)
    assert first.solver == PreconditionedGD()
    # Just before the solver, whose start it is.
    assert isinstance(plan.stages[plan.stages.index(first) + 1], Solve)
    assert f"a first solution from {first.n_samples:,} of the rows, 50% of the rest" in str(plan)


def test_steps_over_all_rows_are_planned_with_what_the_first_solution_leaves():
    plan = skdp.plan(classifier(epsilon=64.0), N, D)
    left = 1.0
    for stage in plan.stages[: plan.stages.index(plan.stage(Solve))]:
        left *= 1 - stage.share
    mu = gdp.mu(plan.epsilon, plan.delta) * sqrt(left)
    # Three, and more where noise is small.
    assert plan.solver.steps == ceil(3 * mu / 2) > 3


def test_regressions_of_large_tables_start_on_a_sample_and_end_by_two_steps(tables_of_any_size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 4)) @ rng.normal(size=(4, 4))
    y = X @ rng.normal(size=4) + rng.exponential(size=len(X))
    model = DPLinearRegression(epsilon=8.0, data_norm=20.0, target_bounds=(-15, 20), random_state=0)
    model.fit(X, y)
    assert model.plan_.stage(Pilot).solver == TrackedGD()
    assert model.plan_.solver == TrackedGD(nearby=True)
    assert model.n_iter_ == 2
    public = LinearRegression().fit(X, y)
    assert model.score(X, y) > public.score(X, y) - 1e-3


@pytest.mark.parametrize(
    ("model", "facts"),
    [
        (classifier(), {"weighted": True}),
        (classifier(), {"privacy_unit": True}),
        (classifier(), {"sites": np.arange(N) % 2}),
        (classifier(class_weight="balanced"), {}),
        (classifier(class_weight={0: 1.0, 1: 2.0}), {}),
        (classifier(solver="gd"), {}),
        (classifier(solver=PreconditionedGD()), {}),
        (classifier(precondition="full"), {}),
        (classifier(precondition=None), {}),
        (classifier(l1_ratio=1), {}),
        (classifier(constraint=L2Ball(10.0)), {}),
        (classifier(delta=0), {}),
        # So little budget that a fifth of the rows tells too little.
        (classifier(epsilon=0.01), {}),
        (DPSVMClassifier(classes=[0, 1], data_norm=4.0), {}),
        (DPLinearRegression(data_norm=4.0, target_bounds=(-1, 1), alpha=1.0), {}),
        (DPLinearRegression(data_norm=4.0, target_bounds=(-1, 1)), {"n_targets": 2}),
        (DPPoissonRegressor(data_norm=4.0), {}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_others_ask_all_rows_from_the_beginning(model, facts):
    plan = skdp.plan(model, N, D, **facts)
    assert plan.stage(Pilot) is None
    assert "first solution" not in str(plan)


def test_entries_and_ratio_decide_from_which_size_on():
    def planned(n, d):
        return skdp.plan(classifier(epsilon=4.0), n, d).stage(Pilot)

    # With one feature and an intercept the entries decide, and with 100 the rows for each of the
    # sample, whose number goes by the columns.
    least = defaults.Pilot.LEAST_ENTRIES // 2
    assert planned(least, 1).n_samples <= least / defaults.Pilot.LARGEST_RATIO + 1
    assert planned(least - 1, 1) is None
    enough = planned(30_000_000, 100).n_samples
    assert planned(defaults.Pilot.LEAST_RATIO * enough, 100).n_samples == enough
    assert planned(defaults.Pilot.LEAST_RATIO * enough - 1, 100) is None
    # A sample has to have room in memory.
    assert planned(10**10, 100).n_samples == defaults.Pilot.MOST_ENTRIES // 101
    assert planned(10**10, 300) is None
    # Rows of more features than are whitened are asked for many steps.
    assert planned(10**9, 501) is None


@pytest.mark.parametrize("known", [True, False], ids=["bounds given", "bounds found"])
def test_a_fit_follows_its_plan_and_spends_what_it_says(known, tables_of_any_size):
    X, y = table(30_000, 3)
    model = classifier(epsilon=8.0, data_norm=4.0 if known else None, random_state=0)
    plan = skdp.plan(model, *X.shape)
    assert model.fit(X, y).plan_ == plan
    assert str(model.plan_) == str(plan)
    spent, first, order = paid(model), plan.stage(Pilot), [stage.purpose for stage in plan.stages]
    assert list(spent) == [purpose for purpose in order if purpose in spent]
    assert spent[Solve.purpose][1] == plan.solver.steps < spent[Pilot.purpose][1]
    left = spent[Pilot.purpose][0] + sum(spent[p][0] for p in order[order.index("coefficients") :])
    assert spent[Pilot.purpose][0] == pytest.approx(first.share * left)
    whole = gdp.mu(model.epsilon, model.delta_) ** 2
    assert sum(price for price, _ in spent.values()) == pytest.approx(whole, rel=1e-6)
    assert model.privacy_spent_.epsilon == pytest.approx(model.epsilon, rel=1e-6)


@pytest.mark.parametrize("known", [True, False], ids=["bounds given", "bounds found"])
@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("sampled", [True, False], ids=["in the sample", "not in it"])
def test_what_a_row_moves_in_all_answers_together_is_paid(
    regression, known, sampled, tables_of_any_size
):
    """A row in the sample moves answers about it and about all rows, which adds up."""
    X, y = table(30_000, 3)
    model = classifier(epsilon=8.0, data_norm=6.0 if known else None, random_state=0)
    if regression:
        y = X @ np.ones(3)
        options = {"data_norm": 6.0, "target_bounds": (-9, 9)} if known else {}
        model = DPLinearRegression(epsilon=8.0, random_state=0, **options)
    m = skdp.plan(model, *X.shape).stage(Pilot).n_samples
    contents = [content for _, content, *_ in record_fit(clone(model), X, y)]
    sample = next(content[-1] for content in contents if content and np.size(content[-1]) == m)
    row = sample[m // 2] if sampled else np.setdiff1d(np.arange(len(X)), sample)[m // 2]
    other_X, other_y = X.copy(), y.astype(float)
    other_X[row], other_y[row] = -1e3 * np.sign(X[row]), -1e3 if regression else 1 - y[row]
    twins = []

    def oracle(rows, *terms):
        twins.append(TwinOracle(rows, DenseRows(other_X, other_y), *terms))
        return twins[-1]

    with opened_by(oracle):
        model.fit(X, y)
    (twin,) = twins
    assert twin.largest <= 1
    assert sqrt(twin.squares) <= gdp.mu(model.epsilon, model.delta_)
    purposes = [e.purpose for e in model.privacy_ledger_ for _ in range(e.count)]
    assert len(purposes) == len(twin.moves)
    moved = {purpose for purpose, (move, _) in zip(purposes, twin.moves, strict=True) if move}
    assert Solve.purpose in moved
    assert (Pilot.purpose in moved) == sampled


def test_a_model_to_start_from_takes_the_place_of_a_sample(tables_of_any_size):
    X, y = table(30_000, 3)
    model = classifier(epsilon=8.0, warm_start=True).fit(X, y)
    assert model.plan_.stage(Pilot) is not None
    assert skdp.plan(model, *X.shape).stage(Pilot) is None
    assert model.fit(X, y).plan_.stage(Pilot) is None


def test_the_table_is_read_for_the_sample_once_and_for_answers_about_all_rows(tables_of_any_size):
    X, y = table(30_000, 3)
    passes = []

    def source():
        passes.append(1)
        yield X, y

    model = classifier(epsilon=8.0, data_norm=None, random_state=0)
    model.fit(Chunks(source, memory=0), None)
    about_all = {"frequencies of the classes", Solve.purpose, "scale of the scores"}
    answers = sum(count for purpose, (_, count) in paid(model).items() if purpose in about_all)
    of_sample = sum(count for purpose, (_, count) in paid(model).items()) - answers
    # Rows are checked when data are opened.
    assert len(passes) <= 2 + answers
    assert of_sample > answers


def test_the_sample_is_the_same_however_rows_are_stored(tables_of_any_size):
    da = pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")
    X, y = table(20_000, 3)
    cuts = (3_001, 0, 9_999, 7_000)
    ends = np.cumsum((0, *cuts))
    parts = [(X[i:j], y[i:j]) for i, j in pairwise(ends) if j > i]

    def source():
        yield from parts

    stores = {
        "dense": (X, y),
        "sparse": (sp.csr_array(X), y),
        "kept chunks": (Chunks(source), None),
        "chunks": (Chunks(source, memory=0), None),
        "dask": (da.from_array(X, chunks=(cuts, -1)), da.from_array(y, chunks=(cuts,))),
    }
    models = {
        name: classifier(epsilon=20.0, random_state=0).fit(*rows) for name, rows in stores.items()
    }
    assert models["dense"].plan_.stage(Pilot) is not None
    for name, model in models.items():
        np.testing.assert_allclose(
            model.coef_, models["dense"].coef_, rtol=1e-6, atol=1e-9, err_msg=name
        )
        assert [e.query for e in model.privacy_ledger_] == [
            e.query for e in models["dense"].privacy_ledger_
        ]
    other = classifier(epsilon=20.0, random_state=1).fit(X, y)
    assert not np.allclose(other.coef_, models["dense"].coef_, rtol=1e-6)


@pytest.mark.parametrize(
    ("share", "in_order"), [(0.5, False), (0.1, False), (0.02, False), (0.5, True), (0.003, False)]
)
def test_models_are_those_of_all_rows(share, in_order, tables_of_any_size):
    X, y = table(120_000, 10, share)
    if in_order:
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    model = classifier(epsilon=4.0, data_norm=8.0, random_state=0).fit(X, y)
    # Of a rare class there are too few rows in a sample, and all steps are over all rows.
    assert model.plan_.stage(Pilot) is not None
    assert (Pilot.purpose in paid(model)) == (share >= 0.1)
    public = LogisticRegression(C=1e4).fit(X, y)
    loss = log_loss(y, public.predict_proba(X))
    assert log_loss(y, model.predict_proba(X)) < loss + (1e-3 if share >= 0.02 else 2e-4)


@pytest.mark.parametrize("rare", [0.33, 0.01])
def test_a_rare_class_of_several_is_asked_about_in_all_rows(rare, tables_of_any_size):
    X, y = three_classes(60_000, 4, rare)
    model = classifier(epsilon=4.0, classes=[0, 1, 2], random_state=0).fit(X, y)
    assert model.plan_.stage(Pilot) is not None
    assert (Pilot.purpose in paid(model)) == (rare > 0.1)
    whole = gdp.mu(model.epsilon, model.delta_) ** 2
    assert sum(price for price, _ in paid(model).values()) == pytest.approx(whole, rel=1e-6)
    public = LogisticRegression(C=1e4).fit(X, y)
    loss = log_loss(y, public.predict_proba(X))
    assert log_loss(y, model.predict_proba(X)) < loss + 1e-3


@given(st.integers(1, 5_000), st.integers(1, 5_000), st.integers(0, 2**32 - 1))
def test_positions_increase_within_the_table_and_are_as_many_as_asked(n, m, seed):
    m = min(m, n)
    positions = drawn(n, m, np.random.default_rng(seed))
    assert np.all(np.diff(positions) > 0)
    assert 0 <= positions[0] <= positions[-1] < n
    assert len(positions) == m
    np.testing.assert_array_equal(positions, drawn(n, m, np.random.default_rng(seed)))


def test_all_parts_of_a_table_are_drawn_about_alike():
    """So a table that is sorted by its labels has as many of each in the sample."""
    n, m = 100_000, 10_000
    counts, _ = np.histogram(drawn(n, m, np.random.default_rng(0)), bins=4, range=(0, n))
    assert counts.sum() == m
    # Five standard deviations of the number of rows in a quarter.
    np.testing.assert_allclose(counts, m / 4, atol=5 * sqrt(m * 3 / 16))
