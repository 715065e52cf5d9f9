"""The solver of a fit: chosen once, before rows are asked, and the one that the ledger is for."""

from math import sqrt

import numpy as np
import pytest

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression
from skdp.estimators import fitting
from skdp.preconditioning import Looks, Whitening
from skdp.privacy.accounting import gdp
from skdp.privacy.accounting.calculus import GaussianDP, ZeroConcentratedDP
from skdp.privacy.accounting.ledger import Ledger
from skdp.solvers import SOLVERS

RNG = np.random.default_rng(0)


def rows(n, d):
    X = RNG.uniform(-1, 1, size=(n, d))
    return X, X[:, 0]


MODELS = {
    "lasso": lambda: DPLassoRegressor(data_norm=2.0, target_bounds=(-1, 1)),
    "linear": lambda: DPLinearRegression(data_norm=2.0, target_bounds=(-1, 1)),
    "logistic": lambda: DPLogisticRegression(data_norm=2.0, classes=[False, True]),
}


@pytest.fixture
def seen(monkeypatch):
    """Solvers that were chosen, ledgers charged, and solvers that ran, in order."""
    seen = []
    choose, record = fitting.choose, Ledger._record

    def chosen(*args, **options):
        found = choose(*args, **options)
        seen.append(("chosen", found))
        return found

    def recorded(self, event):
        seen.append(("charged", self.calculus))
        return record(self, event)

    monkeypatch.setattr(fitting, "choose", chosen)
    monkeypatch.setattr(Ledger, "_record", recorded)
    for kind in SOLVERS.values():

        def ran(self, problem, oracle, rng, solve=kind.solve):
            seen.append(("ran", self))
            return solve(self, problem, oracle, rng)

        monkeypatch.setattr(kind, "solve", ran)
    return seen


@pytest.mark.parametrize("weight", [None, 0.5, 1.0, 0.01])
@pytest.mark.parametrize(("n", "d"), [(500, 5), (390, 5), (450, 21), (2000, 5)])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_the_solver_is_chosen_before_rows_are_asked_and_runs(make, n, d, weight, seen):
    X, y = rows(n, d)
    y = y > 0 if make is MODELS["logistic"] else y
    weights = None if weight is None else np.full(n, weight)
    make().fit(X, y, sample_weight=weights)
    order = [what for what, _ in seen]
    assert "chosen" not in order[order.index("charged") :]
    chosen = [solver for what, solver in seen if what == "chosen"][-1]
    assert next(solver for what, solver in seen if what == "ran") == chosen
    (calculus,) = {calculus for what, calculus in seen if what == "charged"}
    # Of five features all are fitted, with Gaussian noise alone.
    selects = isinstance(chosen, SOLVERS["screening"]) and d > 5
    assert isinstance(calculus, ZeroConcentratedDP if selects else GaussianDP)


@pytest.mark.parametrize("weight", [None, 0.5])
def test_a_lasso_on_few_features_is_charged_for_the_noise_that_it_has(weight):
    """Gaussian noise has an exact price, which a ledger for selections would not give."""
    X, y = rows(500, 5)
    weights = None if weight is None else np.full(500, weight)
    model = MODELS["lasso"]().fit(X, y, sample_weight=weights)
    events = model.privacy_ledger_
    exact = sqrt(sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in events))
    assert gdp.epsilon(exact, model.delta) == pytest.approx(model.epsilon, rel=1e-6)
    assert model.privacy_spent_.epsilon == pytest.approx(model.epsilon, rel=1e-6)


def test_half_weights_do_not_turn_the_solver_of_a_lasso(seen):
    X, y = rows(500, 5)
    kinds = []
    for weights in (None, np.full(500, 0.5)):
        seen.clear()
        MODELS["lasso"]().fit(X, y, sample_weight=weights)
        kinds.append(type(next(solver for what, solver in seen if what == "ran")))
    assert kinds[0] is kinds[1] is SOLVERS["screening"]


@pytest.mark.parametrize(
    ("conditioner", "least"), [(Looks(), 100.0), (Whitening(), 2 * np.sqrt(4 / 0.1))]
)
def test_conditioners_say_beforehand_where_noise_would_hide_what_there_is(conditioner, least):
    problem = MODELS["linear"]()
    problem.n_features_in_ = 4
    outline = problem._outline(1000, False, False)
    assert conditioner.acts(outline, least / 1000 * 1.001, known=False)
    assert not conditioner.acts(outline, least / 1000 * 0.999, known=False)
    assert Looks().acts(outline, 1e-9, known=True)
    assert Whitening(full=True).acts(outline, 1e-9, known=False)
