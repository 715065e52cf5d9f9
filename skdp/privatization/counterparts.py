"""Private counterparts of scikit-learn's linear models, and what becomes of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from math import inf
from typing import Any

from sklearn import linear_model, svm

from ..estimators import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
)
from ..validation import CLASSIFIERS, REGRESSORS, shown

_ADVICE: Mapping[type, Mapping[str, str]] = {
    DPLogisticRegression: CLASSIFIERS,
    DPSVMClassifier: CLASSIFIERS,
    DPLinearRegression: REGRESSORS,
    DPLassoRegressor: REGRESSORS,
}
_FOLLOWS = "The penalty is no stronger than the budget asks for, which needs no search."
_UNSEARCHED = "Nothing is searched."
# Reasons for what the tables of advice do not name, or name for those who type it in anew.
_REASONS = {
    "alpha": "The strength of the penalty follows from the budget; pass C, about 1 / (alpha n).",
    "alphas": _UNSEARCHED,
    "Cs": _UNSEARCHED,
    "cv": _UNSEARCHED,
    "dual": "There is one form of the problem.",
    "epsilon": "The width of the loss is in units of half of target_bounds.",
    "eps": _UNSEARCHED,
    "n_alphas": _UNSEARCHED,
    "gcv_mode": _UNSEARCHED,
    "intercept_scaling": "It is in other units here: a share of the norm of rows.",
    "l1_ratio": "The penalty is not a mixture.",
    "l1_ratios": _UNSEARCHED,
    "penalty": "The penalty is l2.",
    "positive": "A private classifier has no such constraint, but for constraint=NonNegative().",
    "probability": "DPLogisticRegression has probabilities; margins are none.",
    "random_state": "A seed would make the noise known.",
    "refit": _UNSEARCHED,
    "scoring": _UNSEARCHED,
    "solver": "Solvers of scikit-learn add no noise; 'auto' chooses a private one.",
    "store_cv_results": _UNSEARCHED,
    "verbose": "The private model has a verbose of its own, which speaks of the budget.",
    "warm_start": "Each fit would spend anew.",
}
_OTHERWISE = "Means nothing to a private fit."


class NoCounterpartError(ValueError):
    """A model without a private counterpart, with a sentence on what to use instead."""


@dataclass(frozen=True, eq=False)
class Counterpart:
    """Private counterpart of a model.

    Parameters
    ----------
    kind : type
        Class of the counterpart.
    parameters : dict
        Parameters of the counterpart that say what those of the model said.
    left_out : dict of str to str
        Reason for each parameter of the model, set to another value than the default, that has none
        here.
    remark : str, default=''
        What is different by nature.
    """

    kind: type
    parameters: dict[str, Any]
    left_out: dict[str, str]
    remark: str = ""


class _Given:
    """Parameters of a model, and which of them have been translated."""

    def __init__(self, model: Any, others: Mapping[str, Any]) -> None:
        self._values = model.get_params(deep=False) | others
        self._set = {*changed_parameters(model), *others}
        self.taken: set[str] = set()

    def take(self, name: str, otherwise: Any = None) -> Any:
        """The value of a parameter, default or not."""
        self.taken.add(name)
        return self._values.get(name, otherwise)

    def same(self, *names: str) -> dict[str, Any]:
        """Parameters that mean the same here, as far as somebody has set them."""
        self.taken.update(names)
        return {name: self._values[name] for name in names if name in self._set}


_Made = tuple[type, dict[str, Any]]


def _logistic(p: _Given) -> _Made:
    ours = p.same("C", "class_weight", "fit_intercept")
    penalty, ratio = p.take("penalty", "l2"), p.take("l1_ratio")
    if penalty is None:
        return DPLogisticRegression, {**ours, "C": inf}
    ratio = 1.0 if penalty == "l1" else ratio
    return DPLogisticRegression, ours | ({"l1_ratio": float(ratio)} if ratio else {})


def _svm(p: _Given) -> _Made:
    return DPSVMClassifier, p.same("C", "class_weight", "fit_intercept", "loss", "penalty")


def _kernel_svm(p: _Given) -> _Made:
    if p.take("kernel") != "linear":
        raise NoCounterpartError(
            "has a kernel, and private models are linear; put RBFSampler(gamma=...) in front of a "
            "LinearSVC, or use kernel='linear'"
        )
    return DPSVMClassifier, {"loss": "hinge", **p.same("C", "class_weight")}


# The modified Huber loss is the squared hinge, linear far on the wrong side, which is how a private
# fit takes that in any case.
_LOSSES: Mapping[str, _Made] = {
    "hinge": (DPSVMClassifier, {"loss": "hinge"}),
    "log_loss": (DPLogisticRegression, {}),
    "modified_huber": (DPSVMClassifier, {}),
    "perceptron": (DPSVMClassifier, {"loss": "hinge"}),
    "squared_hinge": (DPSVMClassifier, {}),
}


def _sgd_classifier(p: _Given) -> _Made:
    loss = p.take("loss", "perceptron")
    if loss not in _LOSSES:
        raise NoCounterpartError(
            f"has loss={shown(loss)}, which no private classifier has; use one of "
            f"{', '.join(map(repr, _LOSSES))}"
        )
    kind, ours = _LOSSES[loss]
    ours = {**ours, **p.same("class_weight", "fit_intercept")}
    penalty = p.same("penalty").get("penalty", "l2")
    if penalty is None:
        return kind, {**ours, "C": inf}
    if penalty == "l1":
        return kind, ours | ({"penalty": "l1"} if kind is DPSVMClassifier else {"l1_ratio": 1.0})
    if penalty == "elasticnet" and kind is DPLogisticRegression:
        return kind, {**ours, "l1_ratio": float(p.take("l1_ratio"))}
    return kind, ours


def _ridge_classifier(p: _Given) -> _Made:
    ours = p.same("alpha", "class_weight", "fit_intercept")
    if "alpha" in ours:
        alpha = ours.pop("alpha")
        # Squares beside alpha ||w||^2 are 1 / (2 alpha) of them beside ||w||^2 / 2.
        ours["C"] = 0.5 / alpha if alpha else inf
    return DPSVMClassifier, ours


def _ridge(p: _Given) -> _Made:
    return DPLinearRegression, p.same("alpha", "fit_intercept", "positive")


def _lasso(p: _Given) -> _Made:
    return DPLassoRegressor, p.same("alpha", "fit_intercept", "positive")


def _elastic_net(p: _Given) -> _Made:
    ratio = p.take("l1_ratio")
    if ratio == 0:
        return DPLinearRegression, p.same("fit_intercept", "positive")
    kind, ours = _lasso(p)
    # Of the mixture the part that chooses; noise shrinks as the other part would.
    return kind, ours | ({"alpha": ours["alpha"] * ratio} if "alpha" in ours else {})


def _huber(p: _Given) -> _Made:
    return DPLinearRegression, {"loss": "huber", **p.same("alpha", "fit_intercept")}


def _sgd_regressor(p: _Given) -> _Made:
    robust, penalty = p.take("loss") != "squared_error", p.take("penalty")
    if penalty not in ("l1", "elasticnet"):
        return DPLinearRegression, ({"loss": "huber"} if robust else {}) | p.same("fit_intercept")
    if robust:
        raise NoCounterpartError(
            "has a robust loss and an l1 penalty, which no private regression has both; use "
            "penalty='l2', or loss='squared_error'"
        )
    share = 1.0 if penalty == "l1" else p.take("l1_ratio")
    ours = p.same("alpha", "fit_intercept")
    return DPLassoRegressor, ours | ({"alpha": ours["alpha"] * share} if "alpha" in ours else {})


_RULES: Mapping[type, tuple[Callable[[_Given], _Made], str]] = {
    linear_model.LogisticRegression: (_logistic, ""),
    linear_model.LogisticRegressionCV: (_logistic, _FOLLOWS),
    linear_model.Perceptron: (_sgd_classifier, "Its loss is the hinge, which also asks for a gap."),
    linear_model.RidgeClassifier: (
        _ridge_classifier,
        "Its loss is the squared hinge: squares of labels, but for rows that are right by far.",
    ),
    linear_model.RidgeClassifierCV: (_ridge_classifier, "Its loss is the squared hinge."),
    linear_model.SGDClassifier: (_sgd_classifier, ""),
    svm.LinearSVC: (_svm, ""),
    svm.SVC: (_kernel_svm, ""),
    linear_model.ElasticNet: (_elastic_net, "Of both penalties it keeps the l1."),
    linear_model.ElasticNetCV: (_lasso, "It selects features by the budget."),
    linear_model.HuberRegressor: (_huber, ""),
    linear_model.Lasso: (_lasso, ""),
    linear_model.LassoCV: (_lasso, "It selects features by the budget."),
    linear_model.LinearRegression: (_ridge, ""),
    linear_model.Ridge: (_ridge, ""),
    linear_model.RidgeCV: (_ridge, _FOLLOWS),
    linear_model.SGDRegressor: (_sgd_regressor, ""),
}
_ROBUST = "use HuberRegressor"
_SPARSE = "use Lasso"
_COUNTS = (
    "has a loss without a bound on gradients; use TransformedTargetRegressor(Ridge(), "
    "func=np.log1p, inverse_func=np.expm1)"
)
_NONE: Mapping[type, str] = {
    **dict.fromkeys(
        (linear_model.ARDRegression, linear_model.BayesianRidge),
        "learns its penalty from rows; use Ridge",
    ),
    **dict.fromkeys(
        (
            *(linear_model.Lars, linear_model.LarsCV, linear_model.LassoLars),
            *(linear_model.LassoLarsCV, linear_model.LassoLarsIC),
            *(linear_model.OrthogonalMatchingPursuit, linear_model.OrthogonalMatchingPursuitCV),
        ),
        f"follows a path by exact correlations; {_SPARSE}",
    ),
    **dict.fromkeys(
        (
            linear_model.GammaRegressor,
            linear_model.PoissonRegressor,
            linear_model.TweedieRegressor,
        ),
        _COUNTS,
    ),
    linear_model.QuantileRegressor: f"has no private counterpart; {_ROBUST}",
    linear_model.TheilSenRegressor: f"takes medians over subsets of rows; {_ROBUST}",
    svm.LinearSVR: f"has no private counterpart; {_ROBUST}",
    svm.SVR: f"has no private counterpart; {_ROBUST}",
    **dict.fromkeys(
        (
            *(linear_model.MultiTaskElasticNet, linear_model.MultiTaskElasticNetCV),
            *(linear_model.MultiTaskLasso, linear_model.MultiTaskLassoCV),
        ),
        "has several targets; use one Lasso for each of them",
    ),
}


def counterpart_of(model: Any, **others: Any) -> Counterpart | None:
    """Private counterpart of a model; None if this is no linear model of scikit-learn's.

    Parameters
    ----------
    model : object
        Only its class and its parameters are read, and no attribute that a fit has left.
    **others
        Parameters that are to replace those of the model.

    Raises
    ------
    NoCounterpartError
        If it is a linear model without a counterpart.
    """
    kind = type(model)
    if kind in _NONE:
        raise NoCounterpartError(_NONE[kind])
    if kind not in _RULES:
        return None
    rule, remark = _RULES[kind]
    given = _Given(model, others)
    ours, parameters = rule(given)
    left_out = {
        name: reason_for(ours, name)
        for name in changed_parameters(model)
        if name not in given.taken
    }
    return Counterpart(ours, parameters, left_out, remark)


def reason_for(kind: type, name: str) -> str:
    """Reason for leaving out a parameter.

    Parameters
    ----------
    kind : type
        Class of the counterpart.
    name : str
        The parameter of scikit-learn's model.
    """
    return {**_ADVICE[kind], **_REASONS}.get(name, _OTHERWISE)


def changed_parameters(thing: Any) -> dict[str, Any]:
    """Parameters of an estimator that differ from the defaults of its class.

    Parameters
    ----------
    thing : estimator
        Only its parameters are read.
    """
    defaults = _defaults(type(thing))
    return {
        name: value
        for name, value in thing.get_params(deep=False).items()
        if name not in defaults or not _equal(value, defaults[name])
    }


def _defaults(kind: type) -> dict[str, Any]:
    return {p.name: p.default for p in signature(kind).parameters.values()}


def _equal(value: Any, default: Any) -> bool:
    """Tell whether a parameter has its default, without comparing entries of what may be large."""
    if value is default:
        return True
    plain = (bool, int, float, str, tuple)
    return isinstance(value, plain) and isinstance(default, plain) and value == default
