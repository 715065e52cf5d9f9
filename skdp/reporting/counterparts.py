"""Private counterparts of scikit-learn's linear models and transformers, by parameters alone.

Each function takes the parameters of one and returns the name of a class of this package and
parameters of that which say what those have said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from math import inf
from numbers import Integral, Real
from typing import Any

from ..validation import CLASSIFIERS, ENCODERS, IMPUTERS, REGRESSORS, SCALERS, shown

_SEARCHED = ("alphas", "Cs", "cv", "eps", "n_alphas", "gcv_mode", "l1_ratios", "refit", "scoring")
# Reasons for what the tables of advice do not name, or name for those who type it in anew.
_OF_MODELS = {
    **dict.fromkeys((*_SEARCHED, "store_cv_results"), "Nothing is searched."),
    "alpha": "The strength of the penalty follows from the budget; pass C, about 1 / (alpha n).",
    "dual": "There is one form of the problem.",
    "epsilon": "The width of the loss is in units of half of target_bounds.",
    "intercept_scaling": "It is in other units here: a share of the norm of rows.",
    "l1_ratio": "The penalty is not a mixture.",
    "penalty": "The penalty is l2.",
    "positive": "A private classifier has no such constraint, but for constraint=NonNegative().",
    "probability": "DPLogisticRegression has probabilities; margins are none.",
    "random_state": "A seed would make the noise known.",
    "solver": "Solvers of scikit-learn add no noise; 'auto' chooses a private one.",
    "verbose": "The private model has a verbose of its own, which speaks of the budget.",
    "warm_start": "Each fit would spend anew.",
}
# Of each private class why parameters are left out.
_REASONS: Mapping[str, Mapping[str, str]] = {
    "DPLogisticRegression": {**CLASSIFIERS, **_OF_MODELS},
    "DPSVMClassifier": {**CLASSIFIERS, **_OF_MODELS},
    "DPLinearRegression": {**REGRESSORS, **_OF_MODELS},
    "DPLassoRegressor": {**REGRESSORS, **_OF_MODELS},
    "DPQuantileRegressor": {**REGRESSORS, **_OF_MODELS},
    "DPPoissonRegressor": {
        **REGRESSORS,
        **_OF_MODELS,
        "alpha": "It stands beside another deviance, in other units.",
        "power": "The deviance is Poisson's, which has the same log-linear means.",
        "link": "The link is the logarithm.",
    },
}
# Of steps that have reasons of their own.
_OF_STEPS = {"DPOneHotEncoder": ENCODERS, "DPSimpleImputer": IMPUTERS}


class NoCounterpartError(ValueError):
    """A model without a private counterpart, with a sentence on what to use instead."""


@dataclass(frozen=True, eq=False)
class Counterpart:
    """Private counterpart of a model or transformer.

    Parameters
    ----------
    kind : str
        Name of its class.
    parameters : dict
        Parameters of the counterpart that say what those of the model said.
    left : dict
        Parameters of the model that were set to another value than the default, and have none here.
    remark : str
        What is different by nature.
    """

    kind: str
    parameters: dict[str, Any]
    left: dict[str, Any]
    remark: str

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """Parameters of the model that have none here, with their values, and the reasons."""
        return [(f"{name}={shown(v)}", self.reason_for(name)) for name, v in self.left.items()]

    def reason_for(self, name: str) -> str:
        """Reason for leaving out a parameter of scikit-learn's.

        Parameters
        ----------
        name : str
            The parameter.
        """
        if self.kind in _REASONS:
            return _REASONS[self.kind].get(name, "Means nothing to a private fit.")
        of_kind = _OF_STEPS.get(self.kind, SCALERS)
        return of_kind.get(name, "The private step has no such choice.")


class Given:
    """Parameters of a model, and which of them have been translated.

    Parameters
    ----------
    model : estimator
        Of which nothing is read but its class and parameters.
    others : mapping
        Parameters that are to replace those of the model.
    """

    def __init__(self, model: Any, others: Mapping[str, Any]) -> None:
        self.kind = type(model).__name__
        self._values = model.get_params(deep=False) | others
        self._changed = changed_parameters(model)
        self._set = {*self._changed, *others}
        self._taken: set[str] = set()

    @property
    def left(self) -> dict[str, Any]:
        """Parameters of the model that somebody has set and nobody has translated."""
        return {name: v for name, v in self._changed.items() if name not in self._taken}

    def take(self, name: str, otherwise: Any = None) -> Any:
        """The value of a parameter, default or not."""
        self._taken.add(name)
        return self._values.get(name, otherwise)

    def same(self, *names: str, **renamed: str) -> dict[str, Any]:
        """Parameters that mean the same here, as far as somebody has set them."""
        pairs = {name: name for name in names} | renamed
        self._taken.update(pairs)
        return {ours: self._values[name] for name, ours in pairs.items() if name in self._set}


# None stands for parameters with which nothing is learned.
Translation = Callable[[Given], tuple[str, dict[str, Any]] | None]


def changed_parameters(thing: Any) -> dict[str, Any]:
    """Parameters of an estimator that differ from the defaults of its class.

    Parameters
    ----------
    thing : estimator
        Only its parameters are read.
    """
    defaults = {p.name: p.default for p in signature(type(thing)).parameters.values()}
    given = thing.get_params(deep=False).items()
    return {name: value for name, value in given if not _equal(value, defaults.get(name, given))}


def _equal(value: Any, default: Any) -> bool:
    """Tell whether a parameter has its default, without comparing entries of what may be large."""
    plain = (bool, int, float, str, tuple)
    alike = isinstance(value, plain) and isinstance(default, plain) and value == default
    return value is default or alike


# Classifiers.


def logistic(p: Given) -> tuple[str, dict[str, Any]]:
    """Logistic regression, whose penalty is a mixture if it says so."""
    ours = p.same("C", "class_weight", "fit_intercept")
    return "DPLogisticRegression", ours | _mixture(p, p.take("l1_ratio"))


def _mixture(p: Given, ratio: float | None) -> dict[str, Any]:
    """Parameters of a logistic regression that say what penalty and l1_ratio said."""
    penalty = p.same("penalty").get("penalty", "l2")
    if penalty is None:
        return {"C": inf}
    ratio = 1.0 if penalty == "l1" else ratio
    return {"l1_ratio": float(ratio)} if ratio else {}


def linear_svm(p: Given) -> tuple[str, dict[str, Any]]:
    """Support vector machine."""
    return "DPSVMClassifier", p.same("C", "class_weight", "fit_intercept", "loss", "penalty")


def kernel_svm(p: Given) -> tuple[str, dict[str, Any]]:
    """Support vector machine, if its kernel is the linear one."""
    if p.take("kernel") != "linear":
        raise NoCounterpartError(
            "has a kernel, and private models are linear; put RBFSampler(gamma=...) in front of a "
            "LinearSVC, or use kernel='linear'"
        )
    return "DPSVMClassifier", {"loss": "hinge", **p.same("C", "class_weight")}


# The modified Huber loss is the squared hinge, linear far on the wrong side, which is how a private
# fit takes that in any case.
_LOSSES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "hinge": ("DPSVMClassifier", {"loss": "hinge"}),
    "log_loss": ("DPLogisticRegression", {}),
    "modified_huber": ("DPSVMClassifier", {}),
    "perceptron": ("DPSVMClassifier", {"loss": "hinge"}),
    "squared_hinge": ("DPSVMClassifier", {}),
}


def sgd_classifier(p: Given) -> tuple[str, dict[str, Any]]:
    """Logistic regression or support vector machine, by the loss; a perceptron has no choice."""
    loss = p.take("loss", "perceptron")
    if loss not in _LOSSES:
        raise NoCounterpartError(
            f"has loss={shown(loss)}, which no private classifier has; use one of "
            f"{', '.join(map(repr, _LOSSES))}"
        )
    kind, ours = _LOSSES[loss]
    ours = {**ours, **p.same("class_weight", "fit_intercept")}
    penalty = p.same("penalty").get("penalty", "l2")
    if kind == "DPLogisticRegression":
        return kind, ours | _mixture(p, p.take("l1_ratio") if penalty == "elasticnet" else None)
    of_penalty = {"penalty": "l1"} if penalty == "l1" else {}
    return kind, ours | ({"C": inf} if penalty is None else of_penalty)


def ridge_classifier(p: Given) -> tuple[str, dict[str, Any]]:
    """Support vector machine with the squared hinge.

    Squares beside alpha ||w||^2 are 1 / (2 alpha) of them beside ||w||^2 / 2.
    """
    ours = p.same("class_weight", "fit_intercept")
    if strength := p.same("alpha"):
        ours["C"] = 0.5 / strength["alpha"] if strength["alpha"] else inf
    return "DPSVMClassifier", ours


# Regressions.


def ridge(p: Given) -> tuple[str, dict[str, Any]]:
    """Linear regression with an l2 penalty."""
    return "DPLinearRegression", p.same("alpha", "fit_intercept", "positive")


def counts(p: Given) -> tuple[str, dict[str, Any]]:
    """Poisson regression, whose means are those of a gamma or Tweedie model with a log link, too.

    A penalty beside another deviance is in other units.
    """
    power = p.take("power", None)
    if power is not None and not (1 <= power <= 2 and p.take("link") in ("auto", "log")):
        raise NoCounterpartError(
            f"has power={shown(power)} and link={shown(p.take('link'))}, and a private model has a "
            "log link; use Ridge for power=0, or power=1 with link='log'"
        )
    of_penalty = ("alpha",) if p.kind == "PoissonRegressor" or power == 1 else ()
    return "DPPoissonRegressor", p.same(*of_penalty, "fit_intercept")


def quantile(p: Given) -> tuple[str, dict[str, Any]]:
    """Linear regression of a quantile."""
    return "DPQuantileRegressor", p.same("alpha", "fit_intercept") | {
        "quantile": p.take("quantile")
    }


def lasso(p: Given) -> tuple[str, dict[str, Any]]:
    """Linear regression with an l1 penalty."""
    return "DPLassoRegressor", p.same("alpha", "fit_intercept", "positive")


def elastic_net(p: Given) -> tuple[str, dict[str, Any]]:
    """Lasso: of the mixture the part that chooses; noise shrinks as the other part would."""
    ratio = p.take("l1_ratio")
    if ratio == 0:
        return "DPLinearRegression", p.same("fit_intercept", "positive")
    return "DPLassoRegressor", _weaker(lasso(p)[1], ratio)


def _weaker(ours: dict[str, Any], share: float) -> dict[str, Any]:
    """Parameters with a share of the strength of the penalty."""
    return ours | {name: share * ours[name] for name in ours if name == "alpha"}


def huber(p: Given) -> tuple[str, dict[str, Any]]:
    """Linear regression with the Huber loss."""
    return "DPLinearRegression", {"loss": "huber", **p.same("alpha", "fit_intercept")}


def sgd_regressor(p: Given) -> tuple[str, dict[str, Any]]:
    """Linear regression, with the Huber loss for robust ones; a lasso if the penalty is l1."""
    robust, penalty = p.take("loss") != "squared_error", p.take("penalty")
    if penalty not in ("l1", "elasticnet"):
        return "DPLinearRegression", ({"loss": "huber"} if robust else {}) | p.same("fit_intercept")
    if robust:
        raise NoCounterpartError(
            "has a robust loss and an l1 penalty, which no private regression has both; use "
            "penalty='l2', or loss='squared_error'"
        )
    share = 1.0 if penalty == "l1" else p.take("l1_ratio")
    return "DPLassoRegressor", _weaker(p.same("alpha", "fit_intercept"), share)


# Scalers.


def standard_scaler(p: Given) -> tuple[str, dict[str, Any]]:
    """Scaler by means and variances."""
    renamed = {"with_centering": "with_mean", "with_scaling": "with_std"}
    return "DPStandardScaler", p.same("with_mean", "with_std", **renamed)


def range_scaler(p: Given) -> tuple[str, dict[str, Any]]:
    """Scaler by ranges; without a choice the range that comes out is [-1, 1]."""
    low, high = p.take("feature_range", (-1.0, 1.0))
    return "DPMinMaxScaler", {"feature_range": (float(low), float(high))}


def robust_scaler(p: Given) -> tuple[str, dict[str, Any]]:
    """Scaler by medians and other quantiles."""
    same = ("with_centering", "with_scaling", "quantile_range", "unit_variance")
    return "DPRobustScaler", p.same(*same)


# Other transformers.


def quantiles(p: Given) -> tuple[str, dict[str, Any]]:
    """Transformer to a uniform or a normal distribution."""
    return "DPQuantileTransformer", p.same("n_quantiles", "output_distribution")


def powers(p: Given) -> tuple[str, dict[str, Any]]:
    """Transformer to a normal distribution, by quantiles in place of a power."""
    p.same("method", "standardize")
    return "DPQuantileTransformer", {"output_distribution": "normal"}


def components(p: Given) -> tuple[str, dict[str, Any]]:
    """Principal components, as many as are asked for."""
    number = p.take("n_components")
    if number is not None and not isinstance(number, Integral):
        raise NoCounterpartError(
            f"has n_components={shown(number)}, which chooses their number by exact variances; "
            "pass a whole number"
        )
    return "DPPCA", p.same("n_components", "whiten")


def singular_vectors(p: Given) -> tuple[str, dict[str, Any]]:
    """Singular vectors of columns that are not centred."""
    return "DPTruncatedSVD", p.same("n_components")


def bins(p: Given) -> tuple[str, dict[str, Any]]:
    """Bins between quantiles, or of one width; of clusters there is no counterpart."""
    strategy = () if p.take("strategy") == "kmeans" else ("strategy",)
    return "DPKBinsDiscretizer", p.same("n_bins", "encode", *strategy)


def splines(p: Given) -> tuple[str, dict[str, Any]] | None:
    """Splines with knots at quantiles, or at equal distances."""
    knots = p.take("knots")
    if not isinstance(knots, str):
        return None
    same = ("n_knots", "degree", "include_bias", "handle_missing")
    ours = {"knots": knots, **p.same(*same)}
    if p.take("extrapolation") in ("constant", "linear"):
        ours |= p.same("extrapolation")
    p.take("sparse_output")
    return "DPSplineTransformer", ours


def one_hot(p: Given) -> tuple[str, dict[str, Any]] | None:
    """Encoder that finds the frequent ones of categories that are not listed."""
    if not isinstance(p.take("categories"), str):
        return None
    p.same("handle_unknown", "sparse_output")
    return "DPOneHotEncoder", p.same("min_frequency", "max_categories", "dtype")


def ordinal(p: Given) -> tuple[str, dict[str, Any]] | None:
    """Encoder of categories without an order, which only a list of them would give."""
    if not isinstance(p.take("categories"), str):
        return None
    p.same("handle_unknown", "unknown_value", "encoded_missing_value", "dtype")
    return "DPOneHotEncoder", p.same("min_frequency", "max_categories")


def best_columns(p: Given) -> tuple[str, dict[str, Any]]:
    """Columns that go along best with the target, as many as are asked for."""
    if p.take("k") == "all":
        raise NoCounterpartError("has k='all', which chooses nothing; leave it out")
    p.same("score_func")
    return "DPSelectKBest", p.same("k")


def imputer(p: Given) -> tuple[str, dict[str, Any]] | None:
    """Imputer by means, medians or the most frequent values."""
    if p.take("strategy") == "constant":
        return None
    mark = p.take("missing_values")
    # NaN is not equal to itself.
    if isinstance(mark, str) or (isinstance(mark, Real) and mark == mark):
        raise NoCounterpartError(
            f"takes {shown(mark)} for what is missing; put NaN in its place when the table is read"
        )
    p.same("keep_empty_features")
    return "DPSimpleImputer", p.same("strategy", "fill_value", "add_indicator")
