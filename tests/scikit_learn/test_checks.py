"""Scikit-learn's own checks with every solver, counted as the benchmark script counts them."""

import importlib
import sys
import warnings
from pathlib import Path

import pytest
from examples_of_estimators import BINARY, REAL, SEVERAL, X, lasso, linear, logistic, machine
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from skdp.bandit.policies import POLICIES
from skdp.problem.constraints import L1Ball
from skdp.solvers import SOLVERS, ObjectivePerturbation

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "benchmarks"


@pytest.fixture
def checks(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("checks")
    sys.modules.pop("checks", None)


def test_every_pair_of_an_estimator_and_a_solver_is_checked_or_refuses_with_a_reason(checks):
    for name, cls in checks.ESTIMATORS.items():
        assert set(checks.NEEDS[name]) <= set(SOLVERS)
        for option, need in checks.NEEDS[name].items():
            if isinstance(need, str):
                assert option in SOLVERS
                assert checks.refused(cls(solver=option))
            else:
                assert not checks.refused(cls(solver=option, **need))


@pytest.mark.parametrize("option", SOLVERS)
def test_every_estimator_learns_with_the_name_of_every_solver_that_it_does_not_refuse(
    checks, option
):
    # Of few rows some coefficients have no standard errors, and less than the budget may be spent.
    for name, cls in checks.ESTIMATORS.items():
        need = checks.NEEDS[name].get(option, {})
        if isinstance(need, str):
            continue
        model = cls(**{"epsilon": 10.0, "delta": 1e-5, "data_norm": 3.0, "solver": option} | need)
        if is_classifier(model):
            y, bounds = BINARY, {"classes": [0, 1]}
        else:
            y, bounds = REAL, {"target_bounds": (-10.0, 10.0)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.set_params(**bounds).fit(X, y)
        assert model.predict(X).shape == y.shape
        assert 0 < model.privacy_spent_.epsilon <= model.epsilon * (1 + 1e-9)


@pytest.mark.nightly
@pytest.mark.parametrize("option", SOLVERS)
@pytest.mark.parametrize(
    "name", ["DPLogisticRegression", "DPSVMClassifier", "DPLinearRegression", "DPLassoRegressor"]
)
def test_no_check_fails_with_any_solver(checks, name, option, capsys):
    assert checks.main([name, option]) == 0, capsys.readouterr().out


@pytest.mark.nightly
@pytest.mark.parametrize("policy", ["auto", *POLICIES])
def test_no_check_fails_for_a_bandit_that_gets_rewards_for_targets(checks, policy):
    excused = checks.OF_BANDITS | checks.OF_POLICIES.get(policy, {})
    counts, failures = checks.counted(checks.BanditOnRows(policy=policy), excused)
    assert not failures
    # What is excused does fail: an excuse that is not needed would hide a failure to come.
    assert counts["xfail"] == len(excused)


def test_tags_follow_solver_and_budget():
    for name in ("objective_perturbation", ObjectivePerturbation(clip=0.5)):
        for model in (logistic(solver=name), machine(solver=name)):
            assert not get_tags(model).classifier_tags.multi_class
            with pytest.raises(ValueError, match="Only binary classification is supported"):
                model.set_params(classes=[0, 1, 2]).fit(X, SEVERAL)
    assert get_tags(logistic()).classifier_tags.multi_class
    assert get_tags(logistic(solver="nonsense")).classifier_tags.multi_class
    assert not get_tags(linear(solver="auto", epsilon=100)).regressor_tags.poor_score
    for options in ({"solver": "gd"}, {"solver": "auto", "epsilon": 0.1}, {"epsilon": "nonsense"}):
        assert get_tags(linear(**options)).regressor_tags.poor_score


def test_lasso_has_no_partial_fit_where_its_solver_takes_no_streams():
    model = lasso(solver="frank_wolfe", alpha=0.1)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as error:
        model.partial_fit(X, REAL)
    assert "Use the solver 'ftrl'" in str(error.value.__cause__)
    assert hasattr(lasso(), "partial_fit")
    assert hasattr(linear(solver="frank_wolfe", constraint=L1Ball(3.0)), "partial_fit")
