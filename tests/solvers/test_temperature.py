"""Temperature: one paid answer makes probabilities honest and changes no prediction."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from tasks_for_solvers import asked

import skdp
from skdp import DPLogisticRegression
from skdp.estimators import ScoreScale
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L2Ball
from skdp.problem.losses import Hinge, Logistic, Softmax
from skdp.problem.penalties import L2
from skdp.solvers import DDA, Temperature, plan_temperature
from skdp.solvers.preconditioning import Whitening

RNG = np.random.default_rng(0)
N = 4000
X = RNG.normal(size=(N, 3))
X /= np.linalg.norm(X, axis=1).max()
W2, W3 = np.array([6.0, -4.0, 2.0]), RNG.normal(size=(3, 3)) * 6
TWO = (RNG.uniform(size=N) < expit(X @ W2)).astype(float)
THREE = (X @ W3 + RNG.gumbel(size=(N, 3))).argmax(axis=1).astype(float)
# What noise at this epsilon does is below what is tested.
NO_NOISE = 1e9


def problem(loss, **options):
    return Problem(loss, N, 3, RowBounds(1.0), **options)


def oracle_for(task, y, epsilon=NO_NOISE):
    return asked(task, X, y, epsilon, 1, delta=1e-6)


def factor(task, y, w, *, penalised=False, epsilon=NO_NOISE):
    oracle, ledger = oracle_for(task, y, epsilon)
    out = Temperature(1.0, 8.0, penalised).apply(task, oracle, w)
    assert [event.query for event in ledger.receipt()] == ["score_scale"]
    ratios = out[w != 0] / w[w != 0]
    assert np.ptp(ratios) < 1e-9
    return ratios.mean()


@pytest.mark.parametrize("wrong", [0.4, 1.0, 2.0])
@pytest.mark.parametrize(("loss", "w", "y"), [(Logistic(), W2, TWO), (Softmax(3), W3, THREE)])
def test_scores_at_a_wrong_scale_are_brought_back(loss, w, y, wrong):
    # Off by sampling and by interpolation between scales.
    assert factor(problem(loss), y, wrong * w) == pytest.approx(1 / wrong, rel=0.12)


def test_the_factor_stays_between_the_ends_of_the_scales():
    assert factor(problem(Logistic()), TWO, 1e-3 * W2) == pytest.approx(3.3)
    assert factor(problem(Logistic()), TWO, 1e3 * W2) == pytest.approx(0.3)
    assert factor(problem(Logistic()), 1 - TWO, W2) == pytest.approx(0.3)


def test_a_solution_of_the_users_problem_is_left_as_it_is():
    for C in (0.01, 1.0):
        solved = LogisticRegression(C=C, fit_intercept=False, tol=1e-10).fit(X, TWO).coef_[0]
        task = problem(Logistic(), penalty=L2(1 / (N * C)))
        assert factor(task, TWO, solved, penalised=True) == pytest.approx(1.0, abs=1e-4)
        # What only the penalty asks for is left, as noise lengthens a model, too.
        assert factor(task, TWO, 2 * solved, penalised=True) <= 1.0
        assert factor(task, TWO, 2 * W2, penalised=True) == pytest.approx(0.5, rel=0.12)
    # A penalty that is there for the noise alone says nothing about the scale.
    task = problem(Logistic(), penalty=L2(1 / (N * 1e-3)))
    assert factor(task, TWO, W2) == factor(problem(Logistic()), TWO, W2)


def test_where_noise_is_large_the_model_stays_near_what_it_was():
    sure, unsure = (
        abs(np.log(factor(problem(Logistic()), TWO, 3 * W2, epsilon=epsilon)))
        for epsilon in (NO_NOISE, 1e-3)
    )
    assert unsure < 0.2 * sure


def test_text_pays_less_for_the_scale_than_dense_rows():
    """Its many coordinates make more of the budget than a more precise scale would."""
    text = Problem(Softmax(20), 11_000, 40_000, RowBounds(1.0, 0.3), sparse=True)
    for mu, share in ((0.15, 0.01), (0.3, 0.01)):
        assert plan_temperature(text, mu, penalised=False).share == share
        assert plan_temperature(replace(text, sparse=False), mu, penalised=False).share == 0.05
    assert plan_temperature(text, 0.02, penalised=False) is None


def test_scores_of_few_texts_are_shortened_at_no_cost():
    """They are noise, of about the same size whatever is in the rows."""
    text = Problem(Logistic(), 1_600, 40_000, RowBounds(1.0, 0.3), sparse=True)
    few, more = (plan_temperature(text, mu, penalised=False) for mu in (0.05, 0.15))
    assert few.share == more.share == 0
    w = np.ones(text.n_parameters)
    # Nothing is asked of an oracle that is not there.
    factors = [float(found.apply(text, None, w)[0]) for found in (few, more)]
    assert factors == pytest.approx([0.2, 0.6])
    assert plan_temperature(text, 1.0, penalised=False).share > 0
    for other in ({"mu": 0.05, "penalised": True}, {"mu": 0.001, "penalised": True}):
        assert plan_temperature(text, **other) is None
    assert plan_temperature(replace(text, sparse=False), 0.02, penalised=False) is None


def test_scores_of_few_texts_of_a_rare_class_are_drawn_to_its_frequency():
    """A shorter intercept would make the rare class a frequent one."""
    text = Problem(Logistic(), 1_600, 40_000, RowBounds(1.0, 0.3), sparse=True)
    w, start = np.ones(text.n_parameters), np.zeros(text.n_parameters)
    start[-1] = -3.0 / 0.3
    rare = replace(text, initial=start)
    # With rare classes there is as much noise and less to learn, so that nothing is asked where
    # it would be with as many rows of each class.
    for mu in (0.05, 0.5):
        found = plan_temperature(text, mu, penalised=False)
        assert (found.share > 0) == (mu == 0.5)
        kept = found.expected(rare)
        assert 0.4 * mu < kept < 0.8 * mu
        expected = kept * w + (1 - kept) * start
        np.testing.assert_allclose(found.apply(rare, None, w), expected)
    # An earlier model knows more than frequencies do.
    warm = replace(rare, initial=start + w)
    few = plan_temperature(text, 0.05, penalised=False)
    np.testing.assert_allclose(few.apply(warm, None, w), few.expected(warm) * w)
    # More rows outweigh the noise, and a scale that the user has asked for is left alone.
    assert plan_temperature(text, 5.0, penalised=False).expected(rare) == 1
    assert plan_temperature(text, 0.5, penalised=True).expected(rare) == 1


@pytest.mark.parametrize("positive", [30, 1500])
def test_what_a_fit_of_text_spends_does_not_depend_on_how_rare_a_class_is(positive):
    """Where nothing is asked for the scale of the scores, the solver has what it would cost."""
    n = 3000
    rows = sp.csr_array((RNG.uniform(size=(n, 1200)) < 0.01).astype(float))
    labels = (np.arange(n) < positive).astype(int)
    model = DPLogisticRegression(classes=[0, 1], data_norm=1.0).fit(rows, labels)
    asked = [event.query for event in model.privacy_ledger_]
    assert ("score_scale" in asked) == (positive == 1500)
    assert model.privacy_spent_.epsilon == 1.0


def test_what_public_facts_rule_out_is_not_asked():
    planned = {"mu": 1.0, "penalised": False}
    assert plan_temperature(problem(Hinge()), **planned) is None
    assert plan_temperature(problem(Logistic(), constraint=L2Ball(1.0)), **planned) is None
    assert plan_temperature(replace(problem(Logistic()), n_samples=39), **planned) is None
    # As the pages say: roughly from n mu of 40 on, and precisely from 300, or 400 for several.
    for loss, least in ((Logistic(), 303), (Softmax(3), 405)):
        task = problem(loss)
        for n, rough in ((41, True), (least - 3, True), (least + 3, False)):
            assert plan_temperature(replace(task, n_samples=n), **planned).rough == rough
    few = plan_temperature(replace(problem(Logistic()), n_samples=600), **planned)
    many = plan_temperature(replace(problem(Logistic()), n_samples=60_000), **planned)
    assert few.share == 0.05
    assert many.share == 0.01
    assert few.reach < many.reach == 8.0


def fitted(facts=None, table=X, **options):
    given = {"epsilon": 2.0, "delta": 1e-5, "data_norm": 1.0, "classes": [0, 1], "random_state": 0}
    with pytest.warns(UserWarning, match="random_state"):
        return DPLogisticRegression(**given | options).fit(table, TWO, **facts or {})


@pytest.mark.parametrize("solver", ["gd", "svrg", "objective_perturbation", "preconditioned_gd"])
def test_it_is_on_by_default_and_changes_no_prediction(solver, monkeypatch):
    model, plain = with_and_without(monkeypatch, lambda: fitted(solver=solver))
    assert model.plan_.stage(ScoreScale) is not None
    asked = [event.query for event in model.privacy_ledger_]
    assert asked.count("score_scale") == 1
    assert asked[-1] == "score_scale"
    assert model.privacy_spent_.epsilon <= 2.0
    assert "scale of the scores" in str(model.plan_)
    ratio = model.coef_ / plain.coef_
    assert np.ptp(ratio) < 1e-9
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def with_and_without(monkeypatch, fit):
    """The model, and the same before its scores are scaled."""
    model = fit()
    with monkeypatch.context() as patch:
        patch.setattr(Temperature, "apply", lambda self, problem, oracle, w: w)
        return model, fit()


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"adjacency": "zero_out"}, {}),
        ({"data_norm": None, "data_bounds": (-1.0, 1.0)}, {}),
        ({"data_norm": None, "epsilon": 8.0}, {}),
        ({"class_weight": {0: 1.0, 1: 3.0}}, {}),
        ({}, {"sample_weight": np.linspace(0.2, 1.0, N)}),
        ({}, {"privacy_unit": np.arange(N) // 2}),
        ({"solver": DDA(noise="central")}, {"sites": np.arange(N) % 3}),
    ],
    ids=["zero-out", "bounds", "raw", "classes", "weights", "units", "sites"],
)
def test_it_changes_no_prediction_whatever_is_protected_or_weighed(settings, facts, monkeypatch):
    model, plain = with_and_without(monkeypatch, lambda: fitted(facts, **settings))
    assert [event.query for event in model.privacy_ledger_].count("score_scale") == 1
    assert not np.array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("wide", [False, True], ids=["few columns", "text"])
def test_it_changes_no_prediction_of_sparse_rows(wide, monkeypatch):
    table = sp.csr_array(X)
    if wide:
        table = sp.hstack([table, sp.csr_array((N, 1500))]).tocsr()
    model, plain = with_and_without(monkeypatch, lambda: fitted(table=table))
    assert model.privacy_ledger_[-1].query == "score_scale"
    assert not np.array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(table), plain.predict(table))


def test_clipped_descent_is_no_longer_too_sure_of_itself(monkeypatch):
    def loss(model):
        return log_loss(TWO, model.predict_proba(X))

    honest = fitted(solver="gd", epsilon=4.0)
    monkeypatch.setattr(Temperature, "apply", lambda self, problem, oracle, w: 2.5 * w)
    assert loss(honest) < loss(fitted(solver="gd", epsilon=4.0)) - 0.01


def test_a_perturbed_minimum_keeps_more_than_half_of_the_budget():
    def planned(share):
        model = DPLogisticRegression(
            data_norm=1.0,
            classes=[0, 1],
            solver="objective_perturbation",
            precondition=Whitening(share=share),
        )
        return skdp.plan(model, 20_000, 3).stage(ScoreScale)

    assert planned(0.1) is not None
    # It would be refused after the coordinates are paid for.
    assert planned(0.475) is None


def test_hinge_losses_constraints_and_streams_of_sums_go_without():
    constrained = fitted(constraint=L2Ball(5.0))
    assert constrained.plan_.stage(ScoreScale) is None
    with pytest.warns(UserWarning, match="random_state"):
        stream = DPLogisticRegression(
            epsilon=1.0,
            delta=1e-5,
            data_norm=1.0,
            classes=[0, 1],
            buffer=False,
            horizon=N,
            random_state=0,
        ).partial_fit(X, TWO)
    assert all(event.query != "score_scale" for event in stream.privacy_ledger_)
