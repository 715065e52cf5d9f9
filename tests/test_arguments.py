"""Wrong arguments are refused in one sentence that says what to do, and quotes no data."""

import inspect
import re
from fractions import Fraction

import numpy as np
import pytest
from sklearn import (
    decomposition,
    feature_selection,
    impute,
    linear_model,
    model_selection,
    preprocessing,
    svm,
)
from sklearn.base import clone

import skdp
from skdp import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSVMClassifier,
)
from skdp.audit import audit
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import (
    DPPCA,
    BoundsScaler,
    DPKBinsDiscretizer,
    DPMinMaxScaler,
    DPOneHotEncoder,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSelectKBest,
    DPSimpleImputer,
    DPSplineTransformer,
    DPStandardScaler,
    DPTruncatedSVD,
)
from skdp.problem.constraints import Box, L1Ball, L2Ball, LpBall, Simplex
from skdp.problem.losses import Hinge, Huber, HuberisedHinge, OneVsRest, Softmax, Tukey
from skdp.problem.penalties import L1, L2, ElasticNet
from skdp.solvers import GD, SOLVERS
from skdp.validation import numbers_in

NUMBERS = {
    "radius": [L1Ball, L2Ball, Simplex, lambda v: LpBall(v, 1.5)],
    "p": [lambda v: LpBall(1.0, v)],
    "low": [lambda v: Box(v, 1.0)],
    "high": [lambda v: Box(0.0, v)],
    "delta": [Huber],
    "width": [HuberisedHinge, Tukey],
    "alpha": [L1, L2, lambda v: ElasticNet(v, 0.5)],
    "l1_ratio": [lambda v: ElasticNet(1.0, v)],
}
NUMBER_CASES = [(name, make) for name, makes in NUMBERS.items() for make in makes]
INTEGER_CASES = [("n_classes", Softmax), ("n_classes", lambda v: OneVsRest(Hinge(), v))]


@pytest.mark.parametrize(
    ("what", "name", "make"),
    [*(("number", *c) for c in NUMBER_CASES), *(("integer", *c) for c in INTEGER_CASES)],
)
@pytest.mark.parametrize("given", ["987.5", None, True, 987.0j, [987.5], np.array([987])])
def test_what_is_no_number_is_refused(what, name, make, given):
    with pytest.raises(ValueError, match=rf"needs an? {what} for {name}, got a \w+; conv") as e:
        make(given)
    assert "987" not in str(e.value)


def test_other_values_of_losses_are_refused():
    with pytest.raises(ValueError, match=r"needs an integer for n_classes, got a float; convert"):
        Softmax(3.0)
    with pytest.raises(ValueError, match="needs a loss with one score a row, got str"):
        OneVsRest("hinge", 3)


@pytest.mark.parametrize("given", [1, np.float32(1.0), np.int64(1), Fraction(1)])
def test_numbers_of_all_kinds_are_welcome(given):
    assert L1Ball(given) == L1Ball(1.0)
    assert Softmax(np.int32(3)).n_scores == 3


@pytest.mark.parametrize(
    ("name", "make"), [c for c in NUMBER_CASES if c[0] not in ("p", "l1_ratio")]
)
def test_numbers_are_kept_in_double_precision(name, make):
    # Half a float32 times 1e300 overflows, and a fraction has no product with an array.
    for given in (np.float32(0.5), Fraction(1, 2), 0.5):
        assert type(getattr(make(given), name)) is float
    with pytest.raises(ValueError, match=rf"needs a number for {name} that is at most 1.8e308"):
        make(10**400)


@pytest.mark.parametrize(
    "given", ["1", ["1", "2"], [1, "a"], [[1], [1, 2]], [10**400], 1j, object()]
)
def test_what_holds_no_numbers_is_told_from_what_does(given):
    assert numbers_in(given) is None
    found = numbers_in([True, 2, None])
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1, 2, np.nan])


# For each class what it takes by place, and which classes of scikit-learn it stands in for.
GRID = (DPLogisticRegression(), {})
CONSTRUCTORS = {
    DPLogisticRegression: ((), [linear_model.LogisticRegression, linear_model.SGDClassifier]),
    DPSVMClassifier: ((), [svm.LinearSVC, linear_model.SGDClassifier]),
    DPLinearRegression: (
        (),
        [linear_model.LinearRegression, linear_model.Ridge, linear_model.HuberRegressor],
    ),
    DPPoissonRegressor: ((), [linear_model.PoissonRegressor]),
    DPQuantileRegressor: ((), [linear_model.QuantileRegressor]),
    DPLassoRegressor: ((), [linear_model.Lasso, linear_model.ElasticNet]),
    DPStandardScaler: ((), [preprocessing.StandardScaler]),
    DPMinMaxScaler: ((), [preprocessing.MinMaxScaler]),
    DPQuantileTransformer: ((), [preprocessing.QuantileTransformer]),
    DPKBinsDiscretizer: ((5,), [preprocessing.KBinsDiscretizer]),
    DPSplineTransformer: ((5, 3), [preprocessing.SplineTransformer]),
    DPRobustScaler: ((), [preprocessing.RobustScaler]),
    DPOneHotEncoder: ((), [preprocessing.OneHotEncoder]),
    DPSimpleImputer: ((), [impute.SimpleImputer]),
    DPSelectKBest: ((3,), [feature_selection.SelectKBest]),
    DPPCA: ((2,), [decomposition.PCA]),
    DPTruncatedSVD: ((2,), [decomposition.TruncatedSVD]),
    BoundsScaler: (((0, 1),), [preprocessing.MinMaxScaler]),
    DPGridSearchCV: (GRID, [model_selection.GridSearchCV]),
    DPRandomizedSearchCV: (GRID, [model_selection.RandomizedSearchCV]),
    DPContextualBandit: (([0, 1],), []),
}
MODELS = [
    DPLogisticRegression,
    DPSVMClassifier,
    DPLinearRegression,
    DPLassoRegressor,
    DPPoissonRegressor,
    DPQuantileRegressor,
]


@pytest.mark.parametrize("kind", CONSTRUCTORS)
def test_arguments_whose_meaning_their_place_does_not_tell_need_a_name(kind):
    by_place, _ = CONSTRUCTORS[kind]
    with pytest.raises(TypeError, match=r"by name, got 10 without one; say which .*, such as") as e:
        kind(*by_place, 10)
    assert str(e.value).startswith(f"{kind.__name__} needs its arguments")
    assert e.value.__context__ is None
    with pytest.raises(TypeError) as e:
        kind(*by_place, np.array([987.5]))
    assert "987" not in str(e.value)


@pytest.mark.parametrize("kind", CONSTRUCTORS)
def test_signatures_stay_explicit(kind):
    by_place, _ = CONSTRUCTORS[kind]
    parameters = inspect.signature(kind).parameters
    assert all(p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters.values())
    estimator = kind(*by_place)
    assert sorted(estimator.get_params(deep=False)) == sorted(parameters)
    assert type(clone(estimator)) is kind


@pytest.mark.parametrize("kind", CONSTRUCTORS)
def test_every_parameter_of_scikit_learn_is_taken_or_answered(kind):
    by_place, counterparts = CONSTRUCTORS[kind]
    taken = inspect.signature(kind).parameters
    for name in {name for other in counterparts for name in inspect.signature(other).parameters}:
        if name in taken:
            continue
        with pytest.raises(TypeError, match=rf"^{kind.__name__} has no parameter '{name}'\.") as e:
            kind(*by_place, **{name: "auto"})
        advice = str(e.value).partition(". ")[2]
        assert "Did you mean" not in advice, name
        assert "Its own are" not in advice, name
        # What it says to pass, outside of other constructors, can be passed.
        ours = re.sub(r"\w+\(.*?\)", "", advice)
        assert set(re.findall(r"(\w+)=", ours)) <= set(taken), advice


@pytest.mark.parametrize(
    ("kind", "name", "complaint"),
    [
        (DPLogisticRegression, "positive", r"pass constraint=NonNegative\(\)"),
        (DPLassoRegressor, "data_bounds", "put BoundsScaler in front"),
        (DPLinearRegression, "max_features", "DPLassoRegressor"),
        (DPLinearRegression, "epsilom", "Did you mean epsilon"),
        (DPLinearRegression, "zzz", "Its own are epsilon, delta, alpha"),
        (DPContextualBandit, "reward_bound", "Did you mean reward_bounds"),
    ],
)
def test_other_names_are_answered(kind, name, complaint):
    by_place, _ = CONSTRUCTORS[kind]
    with pytest.raises(TypeError, match=f"(?i)has no parameter '{name}'.*{complaint}"):
        kind(*by_place, **{name: 1})


def fit(kind, **parameters):
    kind(**parameters).fit(np.eye(6, 2), np.arange(6) % 2)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (GD, r"Got the class GD; pass an instance of it, GD\(\.\.\.\)"),
        (L1Ball, r"Got the class L1Ball instead\."),
        *(
            (name, f"Got '{name}', a solver of scikit-learn.*leave it out")
            for name in ("lbfgs", "liblinear", "newton-cg", "saga", "svd")
        ),
    ],
)
def test_what_is_no_solver_of_ours_is_told_by_what_it_is(kind, solver, said):
    with pytest.raises(ValueError, match=said):
        fit(kind, solver=solver)


@pytest.mark.parametrize("kind", MODELS)
def test_a_refusal_of_a_solver_names_those_that_the_docstring_names(kind):
    with pytest.raises(ValueError, match="'solver' parameter") as e:
        fit(kind, solver="sdg")
    listed = set(re.findall(r"'(\w+)'", str(e.value).partition("{")[2].partition("}")[0]))
    documented = re.search(r"solver : .*?\(see\s+:mod:", kind.__doc__, re.DOTALL)[0]
    assert listed == set(re.findall(r"``'(\w+)'``", documented))
    assert listed < {"auto", *SOLVERS}


@pytest.mark.parametrize(
    "other", [np.ones((6, 2)), np.ones((2, 2)), [np.ones((6, 2))], "Xy", 1, (1, 2, 3)]
)
def test_other_data_of_an_audit_are_a_pair(other):
    model = DPLogisticRegression(data_norm=1.0, classes=[0, 1])
    with pytest.raises(ValueError, match=r"audit needs other=\(X, y\).*got .*; pass other=\("):
        audit(model, np.eye(6, 2), np.arange(6) % 2, other=other)


def test_parameters_that_are_set_later_get_the_same_advice():
    model = DPLogisticRegression()
    with pytest.raises(ValueError, match=r"no parameter 'max_iter'\. A solver stops"):
        model.set_params(C=2.0, max_iter=100)
    with pytest.raises(ValueError, match=r"no parameter 'epsilno'\. Did you mean epsilon"):
        model.set_params(epsilno=1.0)
    with pytest.raises(ValueError, match="GD needs one of its hyperparameters"):
        DPLogisticRegression(solver=GD()).set_params(solver__lr=0.1)
    assert model.set_params(epsilon=2.0) is model
    assert model.epsilon == 2.0


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (DPLogisticRegression(), "fit"),
        (DPLogisticRegression(), "partial_fit"),
        (DPLinearRegression(), "fit"),
        (DPLinearRegression(), "partial_fit"),
        (DPContextualBandit(), "fit"),
        (DPContextualBandit(), "partial_fit"),
        (DPGridSearchCV(DPLogisticRegression(), {"C": [1.0]}), "fit"),
        (DPStandardScaler(), "fit"),
        (BoundsScaler((0, 1)), "fit"),
    ],
)
def test_a_parameter_given_to_fit_is_sent_to_the_constructor(model, method):
    who = type(model).__name__
    rewards = {"r": np.zeros(4)} if isinstance(model, DPContextualBandit) else {}
    with pytest.raises(TypeError, match="'epsilon'") as error:
        getattr(model, method)(np.zeros((4, 1)), [0, 1, 0, 1], epsilon=2, **rewards)
    assert str(error.value).startswith(f"{who}.{method}: ")
    assert str(error.value).endswith(f"parameters such as epsilon are those of {who}(...).")
    assert "privacy_unit" in str(error.value)


def test_a_model_that_does_not_exist_gets_those_that_do():
    with pytest.raises(AttributeError, match=r"'DPRidge'.*DPLinearRegression\(alpha=\.\.\.\)"):
        _ = skdp.DPRidge
    with pytest.raises(AttributeError, match=r"attribute 'ridge'$"):
        _ = skdp.ridge
