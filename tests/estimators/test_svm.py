"""The support vector machine: its losses, its solvers, and classes learned against the rest."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from skdp import DPSVMClassifier
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Hinge, HuberisedHinge, Logistic, Sigmoid, SquaredHinge
from skdp.solvers import GD, SOLVERS
from skdp.testing import exact_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 300, 4
LOSSES = ("hinge", "huberised_hinge", "squared_hinge")


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, (X[:, 0] > 0).astype(int), (X @ rng.normal(size=(D, 3))).argmax(axis=1)


X, BINARY, SEVERAL = make_data()


def machine(y=BINARY, **options):
    given = {"data_norm": 1.0, "classes": np.unique(y), "random_state": 0, "epsilon": 20.0}
    return DPSVMClassifier(**given | options)


def refusal_of(model, y):
    """What is said against the fit; None if it is done."""
    try:
        model.fit(X, y)
    except ValueError as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize("y", [BINARY, SEVERAL], ids=["binary", "several"])
@pytest.mark.parametrize("precondition", ["diagonal", "full", None])
def test_without_an_intercept_noise_is_as_small(precondition, y):
    noise = {}
    for fit_intercept in (True, False):
        model = machine(y, fit_intercept=fit_intercept, precondition=precondition).fit(X, y)
        of_gradients = [e for e in model.privacy_ledger_ if e.query == "gradient"]
        noise[fit_intercept] = max(event.noise_scale for event in of_gradients)
        # The margin for rounding changes with the model, but not at each step.
        assert len(of_gradients) < 10
    assert noise[False] < 1.1 * noise[True]


@pytest.mark.parametrize("solver", ["accmd", "frank_wolfe", "spider", "svrg"])
def test_refusals_name_the_loss_that_the_user_gave(solver):
    ball = L1Ball(1.0) if solver == "frank_wolfe" else None
    for y in (BINARY, SEVERAL):
        refusal = refusal_of(machine(y, solver=solver, loss="hinge", constraint=ball), y)
        assert "got Hinge" in refusal
        assert "OneVsRest" not in refusal


@pytest.mark.filterwarnings("ignore:.*'frank_wolfe' needs a bounded set:UserWarning")
@pytest.mark.parametrize("y", [BINARY, SEVERAL], ids=["binary", "several"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_every_solver_learns_or_names_one_that_does(solver, loss, y):
    model = machine(y, solver=solver, loss=loss, precondition=None)
    refusal = refusal_of(model, y)
    if refusal is None:
        assert model.score(X, y) > 0.7
        assert model.privacy_spent_.epsilon <= 20.0 * (1 + 1e-9)
    else:
        assert SOLVERS[solver].__name__ in refusal
        assert "Use the solver '" in refusal
        assert not hasattr(model, "privacy_ledger_")


def test_named_losses_are_those_of_that_name():
    for name, loss in zip(LOSSES, (Hinge(), HuberisedHinge(), SquaredHinge()), strict=True):
        named, given = machine(loss=name).fit(X, BINARY), machine(loss=loss).fit(X, BINARY)
        np.testing.assert_array_equal(named.coef_, given.coef_)
    assert machine().loss == "squared_hinge"


@pytest.mark.parametrize("loss", [HuberisedHinge(0.1), Logistic(), Sigmoid()], ids=str)
def test_any_loss_for_two_classes_can_be_given(loss):
    assert machine(loss=loss).fit(X, BINARY).score(X, BINARY) > 0.9


def test_against_the_rest_every_class_is_learned_as_if_alone_where_nothing_is_clipped():
    options = {
        "precondition": None,
        "random_state": None,
        "solver": GD(steps=200, total_step_size=500.0, clip=1e3),
    }
    together = machine(SEVERAL, **options)
    exact_fit(together, X, SEVERAL)
    for k in range(3):
        alone = machine(**options)
        exact_fit(alone, X, (k == SEVERAL).astype(int))
        np.testing.assert_allclose(together.coef_[k], alone.coef_[0], rtol=1e-9)
        np.testing.assert_allclose(together.intercept_[k], alone.intercept_[0], rtol=1e-9)


def test_classes_against_the_rest_are_one_release():
    # With noise for one row of K derivatives, not K releases of one each.
    model = machine(SEVERAL, solver=GD(steps=7, clip=0.5), precondition=None).fit(X, SEVERAL)
    gradients = [e for e in model.privacy_ledger_ if e.query == "gradient"]
    assert sum(e.count for e in gradients) == 7
    two = machine(solver=GD(steps=7, clip=0.5), precondition=None).fit(X, BINARY)
    assert gradients[0].sensitivity == two.privacy_ledger_[-1].sensitivity


def test_balanced_weights_find_a_rare_class():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(2000, 2)) / 4
    rare = (rows[:, 0] + rng.normal(size=2000) / 4 > 0.6).astype(int)
    assert 0.02 < rare.mean() < 0.08
    plain = machine(epsilon=3.0).fit(rows, rare)
    balanced = machine(epsilon=3.0, class_weight="balanced").fit(rows, rare)
    found = [model.predict(rows)[rare == 1].mean() for model in (plain, balanced)]
    assert found[1] > found[0] + 0.3
    assert any(event.query == "histogram" for event in balanced.privacy_ledger_)


@pytest.mark.parametrize("seed", [0, 1])
def test_labels_that_are_a_matter_of_chance_do_not_turn_the_machine(seed):
    rng = np.random.default_rng(seed)
    rows = np.minimum(rng.exponential(size=(30_000, 6)), 6)
    z = rows @ [1.2, -1.2, 0.6, 0, 0, 0] - 2.2
    labels = (rng.random(len(rows)) < 0.05 + 0.6 / (1 + np.exp(-z))).astype(int)
    best = LinearSVC(C=100).fit(rows / 9, labels).coef_[0]
    w = machine(labels, epsilon=8.0, random_state=seed).fit(rows / 9, labels).coef_[0]
    assert w @ best > 0.99 * np.linalg.norm(w) * np.linalg.norm(best)
    assert np.linalg.norm(w) == pytest.approx(np.linalg.norm(best), rel=0.3)
