"""The private counterpart of an estimator of scikit-learn's, under one privacy budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from inspect import signature
from math import fsum, isinf, sqrt
from numbers import Real
from typing import Any, TypeVar, cast

from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from ..estimators import DPLassoRegressor, fit_plan
from ..estimators.base import PrivateLinearModel
from ..exceptions import warn_user
from ..model_selection.accounts import account_for
from ..model_selection.base import PrivateSearch
from ..model_selection.candidates import private_steps
from ..preprocessing.base import PrivateTransformer
from ..privacy.accounting import gdp
from ..privacy.accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..reporting.composition_verdicts import check_composed
from ..reporting.split_budget import check_budget, check_shares
from ..solvers import Screening
from ..validation import shown
from .conversion import Conversion, weights_of_steps
from .facts import Facts, in_words
from .privatize_plan import PrivatizePlan

_WHO = "privatize"
# That of estimators by default.
_DELTA = 1e-5
# Roundings of levels and epsilons.
_SAFE = 1 - 1e-9
# Receipts bound what noisy choices add up to over a grid of orders, slightly above the best.
_OF_GRID = 1 - 1e-3
_HOW = {
    "gaussian": "by mu^2, which adds up exactly",
    "concentrated": "by rho of zero-concentrated DP, because a step makes noisy choices",
    "approximate": "by epsilon and delta, which add up for steps of different kinds",
}


def privatize(
    estimator: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    facts: Any = None,
    target: Any = None,
    classes: Any = None,
    target_bounds: tuple[float, float] | None = None,
    shares: Mapping[str, float] | None = None,
    adjacency: str = "replace_one",
    privacy_unit: bool = False,
    return_plan: bool = False,
) -> Any:
    """Private counterpart of an estimator of scikit-learn's, under one privacy budget.

    Takes a linear model, a scaler, a ``Pipeline``, ``ColumnTransformer``, ``FeatureUnion``,
    ``TransformedTargetRegressor``, ``VotingRegressor``, ``GridSearchCV`` or ``RandomizedSearchCV``,
    nested as they come. Linear models, scalers and searches become those of this package. Steps
    that handle each row by itself stay, with parameters changed where these would tell of rows.
    All other steps are refused by name, with what to use instead. Steps keep their names.

    Reads classes and parameters of the estimator, never what a fit has left in it, and no rows. A
    parameter that has scikit-learn's default gets the default of this package.

    Parameters
    ----------
    estimator : estimator
        Fitted or not. It is not changed.
    epsilon : float
        Privacy budget of one fit of all steps together.
    delta : float, optional
        Slack of the guarantee, in (0, 1); 1e-5 if None. Well below 1 / n_samples.
    facts : mapping, frame, path or list, optional
        What is known of the columns of X without looking at rows, for all steps. Either

        - by column name: a range ``(low, high)``, a list of the categories that may occur, a type,
          or None, as in ``{"age": (17, 90), "sex": ["f", "m"], "comment": None}``;
        - a data frame or its ``dtypes``, of which the names and types of columns are taken and
          nothing else: no rows are read, nor the categories that a type lists;
        - a Table Schema (https://datapackage.org/standard/table-schema/), as a dictionary or the
          path to a JSON file, with ``type``, ``minimum``, ``maximum`` and ``enum`` of each field;
        - ranges ``(low, high)`` of all columns of an array, numbers or one for each column;
        - a list of these, of which later ones replace earlier ones about the same column.

        Whoever passes facts that were read off the rows gives them away. Where a frame or a schema
        names the columns, these are all that the table has, and ``make_column_selector`` takes its
        columns by the types there.
    target : object, optional
        Name of y among the facts, which then tell its classes or its range.
    classes : array-like, optional
        Labels that may occur, for classifiers. Without them the fit reads them off y, and warns.
    target_bounds : (low, high), optional
        Range of y, for regressors, known without looking at it.
    shares : mapping of str to float, optional
        Share of the budget of each private step, by its path. By default steps that find ranges
        share a fifth, encoders a tenth, imputers with known ranges a tenth, and models have the
        rest. Around a search the paths are those of steps of its estimator.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        What neighbouring data sets are.
    privacy_unit : bool, default=False
        Whether fits are going to be given labels of people, or of whatever else is to be protected
        with all of its rows. Under metadata routing all private steps then request them, and
        ``fit(X, y, privacy_unit=labels)`` is all there is to say; the plan says what to pass
        otherwise. Steps whose shape tells the number of rows, which is secret then, are refused. A
        fit without labels protects rows.
    return_plan : bool, default=False
        Whether to return in addition what became of each step, to be printed.

    Returns
    -------
    estimator : estimator
        Not fitted. An ordinary estimator, made of classes of scikit-learn and of this package.
    plan : PrivatizePlan
        Only with ``return_plan=True``.

    Raises
    ------
    ValueError
        If steps have no private counterpart, naming all of them; or if arguments do not fit, or
        labels of privacy units could not reach a step without metadata routing.

    Warns
    -----
    PrivacyLeakWarning
        If a function of yours is called, which is believed to handle each row by itself.
    UserWarning
        If no step has a use for a fact.

    See Also
    --------
    skdp.split_budget : Divides a budget among steps that you have put together yourself.
    skdp.privacy_spent : What the fitted estimator has spent.

    Notes
    -----
    A scaler in front of a model that brings columns to one scale by itself is replaced by
    ``'passthrough'``: it would cost more than it helps. Others become private scalers. Ranges that
    several steps need are found once: an imputer hands columns on in units of what it has found,
    wherever what follows makes the same of columns in other units. Pass ranges to keep units.

    Parameters that were chosen by looking at the rows, such as those of a search's best model or
    the categories of a fitted encoder, are kept like all others, and nobody has paid for them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import skdp
    >>> X, y = load_digits(return_X_y=True)
    >>> script = make_pipeline(StandardScaler(), LogisticRegression(C=10))
    >>> model, plan = skdp.privatize(script, epsilon=4.0, classes=range(10), return_plan=True)
    >>> print(plan)
    privatize: epsilon = 4, delta = 1.0e-05, replace_one
      standardscaler: StandardScaler -> 'passthrough'
        what follows brings columns to one scale by itself
      logisticregression: LogisticRegression -> DPLogisticRegression(C=10,
          classes=a range of 10 items), epsilon = 4
      worth passing, if known without looking at the rows:
        facts=(low, high), for logisticregression: 14% of its budget, up to 24% where
            rows are few
    >>> round(skdp.privacy_spent(model.fit(X, y)).epsilon, 2)
    4.0
    """
    delta = _DELTA if delta is None else delta
    _check(estimator, epsilon, delta, target_bounds)
    given = _copied(estimator)
    if given is None:
        raise ValueError(
            f"{_WHO} needs an estimator that sklearn.base.clone can copy, got a "
            f"{type(estimator).__name__} that it cannot; let its constructor store its parameters."
        )
    relation = Adjacency(adjacency).value
    unit = PrivacyUnit.DECLARED if privacy_unit else PrivacyUnit.ROW
    public = Facts(facts, target)
    found = Conversion(public, target, classes, target_bounds, relation, unit)
    made = found.whole(given)
    if found.refused:
        raise ValueError(
            f"{_WHO} needs steps that have a private counterpart or learn nothing from the rows, "
            "got others:" + "".join(f"\n- {sentence}" for sentence in found.refused)
        )
    _check_use(found, classes, target_bounds)
    inner = made.estimator if isinstance(made, PrivateSearch) else made
    check_composed(_WHO, inner, unit)
    for step in private_steps(made).values():
        if isinstance(step, PrivateSearch):
            step._stand_ins(_WHO, None, unit)
    asked = _request_units(made) if privacy_unit else ()
    sharing, budgets = _share(made, float(epsilon), float(delta), shares)
    # The path of the whole is empty, and the plan calls it by its class.
    named = {path or type(estimator).__name__: paid for path, paid in budgets.items()}
    # Of a step that is converted twice the second form is what spends.
    spending = {step.name: step for step in found.steps}.values()
    steps = tuple(
        replace(step, epsilon=named.get(step.name)) if step in spending else step
        for step in found.steps
    )
    taken = tuple(public.taken.values())
    if taken:
        # For the report, which says where facts come from.
        made._public_facts = in_words(taken)
    plan = PrivatizePlan(
        *(float(epsilon), float(delta), relation, steps, tuple(found.wanted), sharing),
        labels=asked,
        facts=taken,
    )
    return (made, plan) if return_plan else made


def _copied(estimator: Any) -> Any:
    """An unfitted copy; None if there can be none, for reasons whose words may quote parameters."""
    try:
        return clone(estimator)
    except (TypeError, RuntimeError):
        return None


def _check(estimator: Any, epsilon: Any, delta: Any, target_bounds: Any) -> None:
    """Refuse arguments that could not be meant."""
    if isinstance(estimator, type):
        raise ValueError(
            f"{_WHO} needs an estimator, got the class {estimator.__name__}; make one of it, "
            f"{estimator.__name__}()."
        )
    if not (hasattr(estimator, "get_params") and hasattr(estimator, "fit")):
        raise ValueError(
            f"{_WHO} needs an estimator of scikit-learn's kind, with fit and get_params, got "
            f"{shown(estimator)}."
        )
    check_budget(_WHO, epsilon, delta)
    if target_bounds is not None:
        pair = isinstance(target_bounds, tuple | list) and len(target_bounds) == 2
        if not pair or not all(isinstance(end, Real) for end in target_bounds):
            raise ValueError(
                f"{_WHO} needs target_bounds=(low, high), two numbers, got {shown(target_bounds)}."
            )


def _check_use(found: Conversion, classes: Any, target_bounds: Any) -> None:
    """Refuse facts about targets that no step has, and say which other facts no step asks for."""
    given = {"classes": (classes, "classifier"), "target_bounds": (target_bounds, "regressor")}
    for fact, (value, about) in given.items():
        if value is not None and fact not in found.used:
            raise ValueError(f"{_WHO} was given {fact}, and there is no {about}; leave it out.")
    facts = found.facts
    idle = [shown(name) for name in facts.idle]
    if facts.common is not None and (None, "range") not in facts.taken:
        idle.append("all columns")
    if idle:
        warn_user(
            f"{_WHO} was given facts about {', '.join(idle)}, and no step asks for them: name the "
            "columns as the ColumnTransformer does, in a list; a range is of no use to an encoder "
            "or behind a step that changes it.",
            UserWarning,
        )


def _request_units(made: Any) -> tuple[str, ...]:
    """Let private steps request labels of privacy units; arguments of fit that carry them there."""
    steps = private_steps(made)
    inner = [step.estimator for step in steps.values() if isinstance(step, PrivateSearch)]
    if get_config()["enable_metadata_routing"]:
        for step in (*steps.values(), *(s for e in inner for s in private_steps(e).values())):
            step.set_fit_request(privacy_unit=True)
        return ("privacy_unit",)
    if "" in steps or not steps:
        return ("privacy_unit",)[: len(steps)]
    if not isinstance(made, Pipeline) or any("__" in path for path in steps):
        raise ValueError(
            f"{_WHO} needs metadata routing to let labels of privacy units reach the private steps "
            f"{', '.join(steps)}, got privacy_unit=True without it; call "
            "sklearn.set_config(enable_metadata_routing=True) first."
        )
    return tuple(f"{path}__privacy_unit" for path in steps)


def _share(
    made: Any, epsilon: float, delta: float, shares: Mapping[str, float] | None
) -> tuple[str, dict[str, float]]:
    """Give each private step its budget; returns how, and the epsilons by path."""
    if isinstance(made, PrivateSearch) and shares is not None:
        made.step_shares = _weights(made.estimator, shares)
        shares = None
    steps = private_steps(made)
    weights = weights_of_steps(made) if shares is None else _weights(made, shares)
    if len(steps) <= 1:
        for step in steps.values():
            step.set_params(epsilon=epsilon, delta=delta)
        return "", dict.fromkeys(steps, epsilon)
    whole = sum(weights.values())
    given = {path: weights[path] / whole for path in steps}
    kind, budgets = _budgets(steps, given, epsilon, delta)
    for path, step in steps.items():
        step.set_params(epsilon=budgets[path].epsilon, delta=budgets[path].delta)
    parts = ", ".join(f"{share:.0%} {path}" for path, share in given.items())
    return f"{parts}; {_HOW[kind]}", {path: budget.epsilon for path, budget in budgets.items()}


def _budgets(
    steps: Mapping[str, Any], shares: Mapping[str, float], epsilon: float, delta: float
) -> tuple[str, dict[str, PrivacySpent]]:
    """Budget of each step, and the calculus by which they add up to the whole.

    What thresholds add to delta is taken off beforehand. Gaussian steps are then stated at the
    whole delta, and those with a threshold at what it leaves.
    """
    added = {
        path: step._set_aside(delta)
        for path, step in steps.items()
        if isinstance(step, PrivateTransformer)
    }
    left = delta - fsum(added.values())
    calculus, found = _divided(steps, shares, epsilon, left)
    if left == delta or calculus != "gaussian" or isinf(epsilon):
        return calculus, found
    return calculus, {
        path: PrivacySpent(gdp.epsilon(gdp.mu(*budget), delta - added.get(path, 0.0)), delta)
        for path, budget in found.items()
    }


def _divided(
    steps: Mapping[str, Any], shares: Mapping[str, float], epsilon: float, delta: float
) -> tuple[str, dict[str, PrivacySpent]]:
    """Budget of each step of all delta that thresholds leave, and the calculus.

    How the noise of a lasso adds up depends on the numbers of rows and features. Beside Gaussian
    steps it gets the smaller one of what either calculus leaves.
    """
    if isinf(epsilon):
        return "gaussian", dict.fromkeys(steps, PrivacySpent(epsilon, delta))
    kinds = {path: _calculus(step) for path, step in steps.items()}
    open_ = [path for path, step in steps.items() if _chooses_or_not(step)]
    if len(open_) == 1:
        kinds[open_[0]] = ZeroConcentratedDP()
    account = account_for([*kinds.values()], epsilon, delta, 1)
    if account.calculus == "concentrated":
        account = account_for([*kinds.values()], epsilon * _OF_GRID, delta, 1)
    found = {path: account.of_trial(share, kinds[path]) for path, share in shares.items()}
    if len(open_) == 1 and account.calculus == "concentrated":
        (path,) = open_
        others = [gdp.mu(*budget) ** 2 for p, budget in found.items() if p != path]
        left = gdp.epsilon(sqrt((gdp.mu(epsilon, delta) ** 2 - fsum(others)) * _SAFE), delta)
        found[path] = PrivacySpent(min(left, found[path].epsilon), found[path].delta)
    return account.calculus, found


def _weights(estimator: Any, shares: Mapping[str, float]) -> dict[str, float]:
    """Shares as given, if they are those of the private steps."""
    given, steps = check_shares(_WHO, shares), [*private_steps(estimator)]
    if set(given) != set(steps):
        listed = ", ".join(steps) if any(steps) else "the model alone, which has all of it"
        raise ValueError(
            f"{_WHO} needs shares of the private steps, got those of {', '.join(given)}; the "
            f"private steps are {listed}."
        )
    return given


def _calculus(step: Any) -> Calculus | None:
    """Way in which a step adds up its releases; None if its (epsilon, delta) is all to rely on."""
    if isinstance(step, PrivateTransformer):
        return GaussianDP()
    found = step._claim().calculus if isinstance(step, PrivateLinearModel) else None
    return found if isinstance(found, GaussianDP | ZeroConcentratedDP) else None


def _chooses_or_not(step: Any) -> bool:
    """Tell whether a step selects features, or fits all of them, by public facts of the rows."""
    solver = getattr(step, "solver", None)
    named = isinstance(solver, Screening) or solver in ("auto", "screening")
    return isinstance(step, DPLassoRegressor) and named


# Plans also of scripts that are not private yet.

_Plans = TypeVar("_Plans", bound=Callable[..., Any])
_TAKEN = {*signature(privatize).parameters} - {"estimator", "return_plan"}
# What is said of a fit in its call.
_OF_FITS = {"classes", "privacy_unit"}


def _also_of_scripts(planned: _Plans) -> _Plans:
    """A function that plans, and makes estimators private first that are not."""

    @wraps(planned)
    def plan(*args: Any, **facts: Any) -> Any:
        script = args[0] if args and isinstance(args[0], BaseEstimator) else None
        settled = sorted((_TAKEN & {*facts}) - _OF_FITS)
        if script is None or (private_steps(script) and not settled):
            return planned(*args, **facts)
        if private_steps(script):
            raise TypeError(
                f"plan needs {' and '.join(settled)} left out for a {type(script).__name__} that "
                "is private already, because its parameters say it. Pass the "
                "script as it was before privatize, or set its parameters."
            )
        told = {"epsilon": 1.0} | {name: facts[name] for name in _TAKEN & {*facts}}
        made, found = privatize(script, **told, return_plan=True)
        known = {name: facts[name] for name in facts if name not in _TAKEN}
        known |= {"privacy_unit": True} if told.get("privacy_unit") else {}
        missing = tuple(map(str, found.wanted))
        return replace(planned(made, *args[1:], **known), missing_facts=missing)

    return cast(_Plans, plan)


plan = _also_of_scripts(fit_plan.plan)
