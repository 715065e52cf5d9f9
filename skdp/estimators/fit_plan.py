"""The one plan of a fit: all that is decided before rows are asked, from public facts alone."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields, replace
from math import inf, isfinite, isinf, sqrt
from numbers import Integral
from typing import Any, overload

from sklearn.base import BaseEstimator

from ..preprocessing.column_ranges import RANGES_OF_SCALE, Search, tail_of_sizes
from ..privacy.accounting.calculus import Calculus, GaussianDP, PerturbedGaussianDP, PureDP
from ..privacy.accounting.gdp import mu
from ..privacy.accounting.ledger import Budget, Ledger
from ..privacy.accounting.promise import nominal
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.oracle_factory import PrivacyTerms
from ..problem.constraints import Constraint
from ..problem.problem import Problem
from ..solvers import (
    SOLVERS,
    ObjectivePerturbation,
    PreconditionedGD,
    Solver,
    TrackedGD,
    kind_of,
)
from ..solvers.minibatches import refuse_batch_size
from ..solvers.preconditioning import (
    COUNT_SHARE,
    FrequencyScaling,
    IterativeWhitening,
    Preconditioner,
    Whitening,
    WideWhitening,
    asks_for_counts,
)
from ..solvers.streaming import StreamingSolver
from ..solvers.temperature import Temperature, plan_temperature
from ..validation import shown
from .forecast import Plan, forecast, require

# Share of mu^2 that is set aside for a bound that the user did not give.
RANGE_SHARE = 0.04
# Ranges of single columns: name and share; the share of rows that is looked for beyond each end,
# and by what intervals are lengthened then.
COLUMNS, SIZES, _COLUMNS_SHARE = "ranges of columns", "sizes of columns", 0.15
TAIL, STRETCH = 0.01, 2.0
# Where noise leaves out more rows at each end, or more entries of a row, sizes are looked for, and
# ranges of large columns alone; where it leaves out more rows beyond sizes, columns stay as they
# are, and beyond half of that it leaves too little for the large columns.
_MOST_LEFT_OUT, _MOST_OF_A_ROW, MOST_BEYOND = 0.2, 1.5, 0.3
# Share for a look at whether given target bounds hold the targets; and the rows times mu from which
# it tells.
TARGETS, _TARGETS_SHARE, _TARGETS_TELL = "check of target_bounds", 0.01, 150.0
# Bounds for targets that are not given take a larger share, up to a half, if rows are few: without
# them a fit says nothing.
_EVIDENCE_FOR_TARGETS, _MOST_FOR_TARGETS = 1000.0, 0.5
# Share of mu^2 for what weighted rows weigh together, and its largest noise, in rows, at which it
# is asked.
TOTAL_SHARE, _VISIBLE = 0.01, 0.1
# Fewer rows do not tell at ordinary budgets which of the features matter, and so few features can
# all be fitted.
_FEW_ROWS, _FEW_FEATURES = 400, 20
# Share of the iterates of tracked_gd that are averaged if it starts at an earlier model.
_AVERAGE_FROM_A_MODEL = 0.8
# From so many features on, and so many a row, noisy vertices of an l1 ball or a simplex beat noisy
# gradients.
_MANY_FEATURES, _FEATURES_A_ROW = 100, 0.25
# Beyond, matrices of that many rows and columns take longer than all else.
_MOST_ROWS_OF_W = 2000
# Bound on the noise of scores with many features, among which that of tables would be too large.
_SCORE_NOISE_OF_WIDE = 1.5
# Beyond this mu clips grow, and the constants of few steps were not made for it.
_ORDINARY = 2.0
_MORE_THAN_HALF = 0.52


@dataclass(frozen=True)
class FitPlan:
    """All that is settled about a fit before it asks about any row. Print it for sentences.

    A function of parameters and public facts: it holds no rows, no noise and no account, and it is
    the same for all rows of the same number and kind. Made by :func:`skdp.plan` before a fit, and
    left as ``plan_`` by the fit.

    Parameters
    ----------
    estimator : str
        Class of the model.
    n_samples : int or None
        Number of rows, or of privacy units; None for a stream of undeclared length.
    n_features : int
        Number of features.
    n_classes : int or None
        Number of classes; None for regression.
    n_targets : int or None
        Number of targets that are fitted together; None for classes.
    sparse, weighted : bool
        Whether rows are stored sparsely, and whether they have weights.
    n_sites : int or None
        Number of sites at which rows lie, if they do not lie all together.
    epsilon, delta : float
        The whole budget.
    adjacency : Adjacency
        Neighbouring relation.
    unit : PrivacyUnit
        What is protected: a row, or all rows of a declared privacy unit.
    bounds : tuple of (str, float)
        Bounds that the fit has to find, and the share of the budget (of mu^2) that each may cost.
    total_weight : float
        Share of the budget for the total weight of weighted rows; 0 if it is not asked.
    preconditioner : Preconditioner or None
        The stage before the solver, if there is one.
    conditioned : bool
        Whether rows and budget are enough for it.
    class_counts : bool
        Whether frequencies of the classes are asked, where noise does not hide them.
    solver : Solver
        Fits the model, with its hyperparameters.
    reason : str or None
        Ground on which ``'auto'`` chose the solver; None if the user named it.
    calculus : Calculus
        Adds up what is charged.
    temperature : Temperature or None
        The query for the scale of the scores that follows the solver, if there is one.
    from_model : bool
        Whether the solver starts at an earlier model.
    scaled : bool
        Whether columns are brought to one scale by ranges that are given, or found if noise allows.
    assumption : str or None
        Sentence on what the solver puts in place of something that parameters leave open.
    """

    estimator: str
    n_samples: int | None
    n_features: int
    n_classes: int | None
    n_targets: int | None
    sparse: bool
    weighted: bool
    n_sites: int | None
    epsilon: float
    delta: float
    adjacency: Adjacency
    unit: PrivacyUnit
    bounds: tuple[tuple[str, float], ...]
    total_weight: float
    preconditioner: Preconditioner | None
    conditioned: bool
    class_counts: bool
    solver: Solver
    reason: str | None
    calculus: Calculus
    temperature: Temperature | None
    from_model: bool
    scaled: bool
    assumption: str | None

    def ledger(self) -> Ledger:
        """An empty account of the whole budget, which adds up as this plan says."""
        return self.terms.ledger()

    @property
    def terms(self) -> PrivacyTerms:
        """Terms on which the kernel opens the fit."""
        return PrivacyTerms(self.epsilon, self.delta, self.adjacency, self.calculus)

    def __str__(self) -> str:
        several = "" if self.n_targets in (None, 1) else f" of {self.n_targets} targets together"
        kind = f"regression{several}" if self.n_classes is None else f"{self.n_classes} classes"
        number = "a stream of" if self.n_samples is None else f"{self.n_samples:,}"
        rows = f"{number} {self.unit.plural}"
        how = [word for word in ("sparse", "weighted") if getattr(self, word)]
        how += [] if self.n_sites is None else [f"at {self.n_sites} sites"]
        why = "as given" if self.reason is None else f"by 'auto': {self.reason}"
        start = "from an earlier model" if self.from_model else "anew"
        exact = type(self.calculus) is GaussianDP
        sums = "all of it Gaussian, added up exactly" if exact else "added up by an upper bound"
        if isinstance(self.calculus, PureDP):
            sums = "of pure epsilon, which adds up"
        lines = [
            f"{self.estimator}: {rows}{''.join(f', {word}' for word in how)}; "
            f"{self.n_features:,} features; {kind}",
            f"  budget: epsilon = {self.epsilon:g}, delta = {self.delta:.1e}, "
            f"{self.adjacency.value}",
            f"  paid for first: {'; '.join(self._first()) or 'nothing'}",
            f"  solver: {_brief(self.solver)}, {why}",
            *([] if self.assumption is None else [f"  assumed: {self.assumption}"]),
            f"  starts: {start}",
            f"  paid for last: {self._last()}",
            f"  noise: {sums} ({type(self.calculus).__name__})",
            f"  {self._outlook()}",
        ]
        return "\n".join(lines)

    def _first(self) -> list[str]:
        """Releases before the solver, each with its share of the budget."""
        paid = [f"{name}, up to {share:.0%}" for name, share in self.bounds]
        if self.total_weight:
            paid.append(f"total weight, {self.total_weight:.0%}")
        if self.preconditioner is not None and self.conditioned:
            share = getattr(self.preconditioner, "share", None)
            cost = "" if share is None else f", up to {share:.0%} of the rest"
            paid.append(f"coordinates by {type(self.preconditioner).__name__}{cost}")
        if self.class_counts:
            paid.append(f"class counts, up to {COUNT_SHARE:.0%} of the rest")
        return paid

    def _last(self) -> str:
        """Query that is paid for after the solver, with its share of what that has."""
        if self.temperature is None:
            return "nothing"
        if not self.temperature.share:
            return "nothing; scores are shortened as public facts let expect"
        share = f"{self.temperature.share:.0%} of the rest"
        unless = "" if isinf(self.temperature.evidence) else "; nothing if a class is rare"
        return f"the scale of the scores, {share} and what the solver leaves{unless}"

    def hopeless(self) -> str | None:
        """A sentence if next to nothing can be learned from so few rows, else None."""
        if self.n_samples is None or self.n_sites is not None:
            return None
        if isinf(self.epsilon) or not self.delta:
            return None
        rows = f"{self.n_samples:,} {self.unit.plural if self.n_samples > 1 else self.unit.one}"
        of = f"{rows} of {self.n_features:,} features at epsilon={self.epsilon:g}"
        if self.n_samples > 1:
            # At best one feature matters.
            sparse = self.solver.selects and self.n_classes is None
            outlook = self._forecast(n_informative=1 if sparse else None)
            if not outlook.futile:
                return None
            of += f" ({outlook.sentence})"
        return (
            f"{self.estimator} can learn next to nothing from {of}. Its budget will be spent all "
            "the same; print skdp.plan(model, n_samples, n_features) first."
        )

    def _forecast(self, n_informative: int | None = None) -> Plan:
        """The forecast of accuracy for rows at one place."""
        unknown = [name for name, _ in self.bounds if name in ("data_norm", "target_bounds")]
        facts: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta}
        facts |= {"n_classes": self.n_classes, "adjacency": self.adjacency.value}
        facts |= {"n_informative": n_informative, "unknown_bounds": len(unknown)}
        assert self.n_samples is not None
        # Joint clips are longer by the root of the number of targets, and noise with them.
        alike = max(2, round(self.n_samples / sqrt(self.n_targets or 1)))
        made = forecast(alike, self.n_features, **facts)
        return replace(made, unknown_targets="target_bounds" in unknown)

    def _outlook(self) -> str:
        """The forecast of accuracy in a sentence, if there is one for such a fit."""
        if self.n_samples is None or self.n_samples < 2:
            return "expected: no forecast for this number of rows"
        if self.n_sites is not None:
            return "expected: no forecast for rows at several sites"
        if not self.delta:
            return "expected: no forecast for pure epsilon"
        if isinf(self.epsilon):
            return "expected: what the solver reaches without noise, which is not private"
        if self.solver.selects:
            return (
                "expected: depends on how few features matter; see skdp.plan(n_samples, "
                "n_features, n_informative=...)"
            )
        outlook = self._forecast()
        units = (
            ""
            if self.scaled or self.sparse
            else (
                "; for columns of similar size, as without data_bounds one of large numbers drowns "
                "the others"
            )
        )
        return f"{outlook.sentence}{units}\n  {outlook.unseen}"


def plan_fit(
    model: Any,
    outline: Problem,
    *,
    missing: tuple[str, ...],
    weighted: bool,
    unit: PrivacyUnit,
    known: bool,
    started: bool,
    block: bool,
    anew: bool,
) -> FitPlan:
    """Plan of a fit of a whole data set, or of a block of a stream.

    Parameters
    ----------
    model : estimator
        Only its parameters are read.
    outline : Problem
        To be solved, with stand-ins for bounds that are missing.
    missing : tuple of str
        Names of bounds that the fit has to find.
    weighted : bool
        Whether rows have weights.
    unit : PrivacyUnit
        What is protected.
    known : bool
        Whether private coordinates are known from other rows.
    started : bool
        Whether the fit starts at an earlier model.
    block : bool
        Whether further blocks of a stream will follow.
    anew : bool
        Whether no earlier part has settled the bounds.

    Raises
    ------
    ValueError
        If parameters do not go together, with each other or with such rows.
    """
    if model.delta_ == 0:
        return _plan_pure(model, outline, missing, weighted=weighted, started=started, unit=unit)
    asked = model._batch_solver
    solver, reason = _chosen(asked, outline, conditioned=None, started=started)
    adjacency = Adjacency(model.adjacency)
    whole = planned_mu(model)
    # Each of several targets is looked at by itself.
    each = 1.0 if outline.bounds.target is None else sqrt(outline.bounds.target.n_targets)
    bounds = tuple((name, _share_for(name, outline.n_samples * whole / each)) for name in missing)
    checked = outline.bounds.target is not None and "target_bounds" not in missing
    if (
        checked
        and anew
        and solver.central
        and asked == "auto"
        and outline.n_samples * whole >= _TARGETS_TELL * each
    ):
        bounds = (*bounds, (TARGETS, _TARGETS_SHARE))
    columns = finds_columns(model, outline) if "data_norm" in missing else None
    if columns is not None:
        bounds = ((columns, _COLUMNS_SHARE), *bounds)
    first = 1 - weighted * TOTAL_SHARE - sum(share for _, share in bounds)
    preconditioner, acts = None, False
    classifies = outline.bounds.target is None
    preconditioned = model.precondition not in (None, "auto")
    if preconditioned and solver.preconditions and (solver.infers or not classifies):
        raise ValueError(
            f"{type(model).__name__} needs precondition=None with the solver "
            f"'{type(solver).option()}', which finds coordinates by itself, got precondition="
            f"{shown(model.precondition)}."
        )
    if solver.infers and model._weighs_classes:
        raise ValueError(
            f"{type(model).__name__} needs class_weight=None with the solver "
            f"'{type(solver).option()}', because weights of classes change what coefficients mean, "
            f"got class_weight={shown(model.class_weight)}."
        )
    if solver.central:
        left = whole * sqrt(first)
        preconditioner = choose_preconditioner(
            model.precondition, asked, outline, mu=left, block=block
        )
    if preconditioner is not None:
        preconditioner.check(outline)
        acts = preconditioner.acts(outline, left, known=known)
        solver, reason = _chosen(asked, outline, conditioned=acts, started=started)
        # With weights of classes few steps lose .01 of balanced accuracy where one class is rare.
        ordinary = reason is not None and not model._weighs_classes
        if acts and ordinary and _few_steps(preconditioner, outline, left):
            solver = PreconditionedGD()
            reason = "second moments stand out of their noise, so few steps are enough"
            if isinstance(preconditioner, WideWhitening):
                solver = PreconditionedGD(score_noise=_SCORE_NOISE_OF_WIDE)
    solver.check(outline)
    _check_unit(model, solver, unit, outline)
    calculus = solver.calculus_for(outline, nominal(model.epsilon), model.delta_, adjacency)
    if unit is PrivacyUnit.DECLARED:
        calculus = calculus.for_units()
    room = PrivacyTerms(model.epsilon, model.delta_, adjacency, calculus).ledger().remaining
    # Where noise would drown the total weight, the number of rows stands in.
    visible = _VISIBLE * outline.n_samples * sqrt(room * TOTAL_SHARE) >= 1.0
    _check_trust(model, solver, outline)
    balanced = model._balanced
    # Other solvers do not start at the point that they are given, or leave it at once.
    counts = classifies and (balanced or solver.descends)
    counts = counts and asks_for_counts(outline, balanced=balanced)
    shares = first * (1 - (getattr(preconditioner, "share", 0.0) if acts else 0.0))
    shares *= 1 - counts * COUNT_SHARE
    left = whole * sqrt(shares)
    solver.check_budget(outline, left)
    temperature = None
    if solver.central and not solver.infers:
        temperature = plan_temperature(outline, left, penalised=model._penalty_given)
    if isinstance(calculus, PerturbedGaussianDP) and shares <= 0.5:
        raise ValueError(
            f"{type(model).__name__} needs more than half of the budget for the one answer of "
            f"{type(solver).__name__}, got {shares:.0%} of it after what is paid for first. Pass "
            "data_norm or data_bounds, or a preconditioner of a smaller share."
        )
    # A perturbed minimum needs more than half of the ledger for itself.
    if temperature is not None and isinstance(calculus, PerturbedGaussianDP):
        temperature = temperature if shares * (1 - temperature.share) > _MORE_THAN_HALF else None
    return FitPlan(
        **_facts(model, outline, weighted=weighted),
        n_samples=outline.n_samples,
        unit=unit,
        bounds=bounds,
        total_weight=TOTAL_SHARE if weighted and solver.central and visible else 0.0,
        preconditioner=preconditioner,
        conditioned=acts,
        class_counts=counts,
        # Its owner may change the hyperparameters of the one that was passed in.
        solver=copy(solver),
        reason=reason,
        calculus=calculus,
        temperature=temperature,
        from_model=started,
        scaled=outline.bounds.scaling is not None or columns is not None,
        assumption=solver.assumption(outline),
    )


def _plan_pure(
    model: Any,
    outline: Problem,
    missing: tuple[str, ...],
    *,
    weighted: bool,
    started: bool,
    unit: PrivacyUnit,
) -> FitPlan:
    """Plan of a fit with delta = 0, all of whose budget goes to one answer."""
    name = type(model).__name__
    wanted = {
        "data_norm or data_bounds": "data_norm" in missing and model.data_bounds is None,
        "target_bounds": "target_bounds" in missing,
        "precondition='auto' or None": model.precondition not in (None, "auto"),
        "class_weight=None or a dict": model._balanced,
        "rows at one place": outline.sites is not None,
    }
    if lacking := [what for what, lacks in wanted.items() if lacks]:
        raise ValueError(
            f"{name} with delta=0 needs {' and '.join(lacking)}, because all else is found with "
            "Gaussian noise, which has a positive delta. Pass that, or leave delta out."
        )
    auto = model._batch_solver == "auto"
    solver = ObjectivePerturbation() if auto else _named(model._batch_solver)
    solver.check_pure(outline)
    return FitPlan(
        **_facts(model, outline, weighted=weighted),
        n_samples=outline.n_samples,
        unit=unit,
        bounds=(),
        total_weight=0.0,
        preconditioner=None,
        conditioned=False,
        class_counts=False,
        solver=copy(solver),
        reason="the one solver of pure epsilon, delta = 0" if auto else None,
        calculus=PureDP(of_units=unit is PrivacyUnit.DECLARED),
        temperature=None,
        from_model=started,
        scaled=outline.bounds.scaling is not None,
        assumption=None,
    )


def plan_stream(
    model: Any, problem: Problem, solver: StreamingSolver, *, weighted: bool, unit: PrivacyUnit
) -> FitPlan:
    """Plan of a stream each of whose rows is read once.

    Parameters
    ----------
    model : estimator
        Only its parameters are read.
    problem : Problem
        To be solved, with bounds that are all known.
    solver : StreamingSolver
        By :func:`choose_for_stream`.
    weighted : bool
        Whether rows have weights.
    unit : PrivacyUnit
        What is protected.
    """
    adjacency = Adjacency(model.adjacency)
    auto = model.solver == "auto"
    return FitPlan(
        **_facts(model, problem, weighted=weighted),
        n_samples=model.horizon,
        unit=unit,
        bounds=(),
        total_weight=0.0,
        preconditioner=None,
        conditioned=False,
        class_counts=False,
        solver=copy(solver),
        reason="rows are read as they come, and none is kept" if auto else None,
        calculus=solver.calculus_for_stream(
            problem, nominal(model.epsilon), model.delta_, adjacency
        ),
        temperature=None,
        from_model=problem.initial is not None,
        scaled=problem.bounds.scaling is not None,
        assumption=solver.assumption(problem),
    )


@overload
def plan(
    n_samples: int,
    n_features: int,
    *,
    epsilon: float = ...,
    delta: float | None = ...,
    n_classes: int | None = ...,
    n_informative: int | None = ...,
    adjacency: str = ...,
    unknown_bounds: int = ...,
) -> Plan: ...


@overload
def plan(
    model: BaseEstimator,
    n_samples: int,
    n_features: int,
    *,
    sparse: bool = ...,
    weighted: bool = ...,
    classes: Any = ...,
    n_targets: int | None = ...,
    groups: Any = ...,
    privacy_unit: bool = ...,
) -> FitPlan: ...


def plan(*args: Any, **facts: Any) -> Plan | FitPlan:
    """Look ahead at a fit, from public facts alone: no data, nothing spent.

    ``plan(n_samples, n_features, ...)`` forecasts whether learning is realistic. ``plan(model,
    n_samples, n_features, ...)`` says in addition how ``model.fit`` is going to go about such
    rows: what it pays for first, which solver it takes, and how noise is added up. That is the
    very plan that the fit will follow and leave as ``plan_``.

    The forecast rests on one number, the length of the noise in the mean gradient compared with the
    longest gradient that a row can have, were the whole budget spent on it: ``a sqrt(p) / (n mu)``
    for a classifier with p parameters, and ``a d / (n mu)`` for regression, which has to make all
    directions alike first; ``a`` is 2 for replace-one and 1 for zero-out. For two classes of up to
    some hundred features it is doubled, as measured. Where only s of d
    features matter, finding them is what decides, and ``n mu`` has to exceed ``s log d`` many
    times over.

    The thresholds between regimes were set by hand on measured scores of 26 public and synthetic
    data sets with 353 to 80,000 rows and 8 to 45,000 features at epsilon from .1 to 4, and fit
    these in about three cells of four, with a neighbouring regime in nearly all others. On eight
    data sets of few rows that they were not set on they were right in 22 of 40 cells and a
    neighbouring regime in the others. How hard a problem is they cannot know: rare classes,
    strongly correlated features and a low R^2 even without privacy turned out worse than expected
    (with 3 % positives by two regimes), well separated classes better.

    Parameters
    ----------
    *args : estimator or int
        A private linear model or nothing, then ``n_samples`` and ``n_features``: the size of the
        data that will be fitted, without the intercept.
    **facts
        For a forecast alone:

        - ``epsilon``, float, default=1.0: privacy budget, in [1e-10, 1e9].
        - ``delta``, float, optional: slack of the guarantee, in (0, 1); as for a fit, the smaller
          of 1e-5 and ``n_samples ** -1.1`` if None.
        - ``n_classes``, int, optional: number of classes. None stands for regression.
        - ``n_informative``, int, optional: for regression, how many of the features are expected
          to matter, if a sparse model is to be fitted. None if all may.
        - ``adjacency``, {'replace_one', 'zero_out'}, default='replace_one': what neighbouring data
          sets are.
        - ``unknown_bounds``, {0, 1, 2}, default=0: how many of ``data_norm`` and (for regression)
          ``target_bounds`` are left for the fit to find. Each costs 4 % of the budget.

        For a model, whose parameters say all of that:

        - ``sparse``, bool, default=False: whether rows are sparse.
        - ``weighted``, bool, default=False: whether ``fit`` gets ``sample_weight``.
        - ``classes``, list, optional: labels that may occur, if the model has ``classes=None``.
        - ``n_targets``, int, optional: number of columns of ``y``, if it is going to be a table.
        - ``groups``, array-like, optional: as passed to ``fit``.
        - ``privacy_unit``, bool, default=False: whether ``fit`` gets ``privacy_unit``, so that
          ``n_samples`` is the number of different labels.

    Returns
    -------
    Plan or FitPlan
        Numbers by name, and sentences when printed; a :class:`skdp.FitPlan` for a model.

    Raises
    ------
    ValueError
        If a number is outside its range, or facts contradict each other; for a model also what
        ``fit`` would refuse.
    TypeError
        If a class is passed in place of a model.

    Examples
    --------
    >>> import skdp
    >>> skdp.plan(1_600, 45_000, n_classes=2, epsilon=0.1).regime
    'hopeless'
    >>> skdp.plan(39_000, 107, n_classes=2, epsilon=1.0).regime
    'like non-private'
    >>> model = skdp.DPLogisticRegression(data_norm=1.0, classes=[0, 1])
    >>> type(skdp.plan(model, 39_000, 107).solver).__name__
    'PreconditionedGD'
    """
    if args and isinstance(args[0], type):
        raise TypeError(
            f"plan needs a model, got the class {args[0].__name__}; pass an instance of it, "
            f"{args[0].__name__}(...)."
        )
    if not (args and isinstance(args[0], BaseEstimator)):
        return forecast(*args, **facts)
    return _plan_of_fit(*args, **facts)


def _plan_of_fit(
    model: Any,
    n_samples: Any,
    n_features: Any,
    *,
    sparse: bool = False,
    weighted: bool = False,
    classes: Any = None,
    n_targets: int | None = None,
    groups: Any = None,
    privacy_unit: bool = False,
) -> FitPlan:
    """Plan of ``model.fit``; see :func:`plan`."""
    if not hasattr(model, "_plan_beforehand"):
        raise ValueError(
            "plan needs a private linear model, or n_samples and n_features alone, got a "
            f"{type(model).__name__}. Pass the model inside of it."
        )
    require("n_samples", n_samples, Integral, 1, inf)
    require("n_features", n_features, Integral, 1, inf)
    if n_targets is not None:
        require("n_targets", n_targets, Integral, 1, inf)
    kind: dict[str, Any] = {"sparse": bool(sparse), "weighted": bool(weighted)}
    kind |= {"n_targets": n_targets}
    kind["unit"] = PrivacyUnit.DECLARED if privacy_unit else PrivacyUnit.ROW
    found: FitPlan = model._plan_beforehand(
        int(n_samples), int(n_features), **kind, classes=classes, groups=groups
    )
    return found


def choose(
    solver: str | Solver,
    problem: Problem,
    *,
    conditioned: bool | None = None,
    started: bool | None = None,
) -> Solver:
    """The solver for a problem.

    Parameters
    ----------
    solver : str or Solver
        An option string, a configured solver, or ``'auto'``, which decides by public facts:
        ``'dda'`` for rows at several sites, else
        ``'screening'`` for squared loss with an l1 penalty unless rows and features are few,
        ``'frank_wolfe'`` under an l1 ball or on a simplex with many features,
        ``'tracked_gd'`` for regression in conditioned coordinates, ``'dual_averaging'`` for
        classification of sparse rows there, ``'gd'`` for all else.
    problem : Problem
        What is to be solved.
    conditioned : bool, optional
        Whether rows will be in private coordinates. By default whether the problem's are.
    started : bool, optional
        Whether the fit will start at an earlier model. By default whether the problem names one.
    """
    return _chosen(solver, problem, conditioned=conditioned, started=started)[0]


def choose_for_stream(solver: str | Solver, problem: Problem, *, buffer: bool) -> Solver:
    """The solver for a stream.

    Parameters
    ----------
    solver : str or Solver
        An option string, a configured solver, or ``'auto'``, which decides by public facts:
        ``'blocks'`` if rows may be kept for a while; if not, ``'frank_wolfe'`` for an l1 ball or a
        simplex and a smooth loss, else ``'ftrl'``.
    problem : Problem
        What is to be solved.
    buffer : bool
        Whether rows may be kept until their block is full.
    """
    if isinstance(solver, Solver):
        refuse_batch_size("partial_fit", solver)
        return solver
    if solver == "auto":
        vertices = problem.constraint.axis_vertices and isfinite(problem.loss.smoothness)
        solver = "blocks" if buffer else "frank_wolfe" if vertices else "ftrl"
    return kind_of(solver)()


def choose_preconditioner(
    precondition: str | Preconditioner | None,
    solver: str | Solver,
    problem: Problem,
    *,
    mu: float = inf,
    block: bool = False,
) -> Preconditioner | None:
    """The stage before the solver, by parameters and public facts.

    Parameters
    ----------
    precondition : {'auto', 'diagonal', 'full', 'wide'}, Preconditioner or None
        What the user asked for. For classes ``'auto'`` whitens rows before a solver that clips
        gradients, or damps frequent features if rows are sparse and have more than a thousand; for
        regression it whitens them repeatedly before ``'tracked_gd'``. It leaves rows as they are
        if a penalty or constraint is tied to the user's coordinates. ``'wide'`` is ``'auto'`` where
        rows and budget are too small for wide whitening.
    solver : str or Solver
        What the user asked for.
    problem : Problem
        What is to be solved.
    mu : float, default=inf
        Gaussian-DP parameter of the budget that will be left.
    block : bool, default=False
        Whether further blocks of a stream will follow, which can use what it finds.
    """
    auto = solver == "auto"
    kind = None if auto else kind_of(solver)
    of_classes = problem.bounds.target is None
    if precondition == "full":
        return Whitening(full=True) if of_classes else IterativeWhitening(least=0.0)
    if precondition == "diagonal":
        return Whitening(full=False)
    if precondition == "wide":
        wide = WideWhitening()
        wide.check(problem)
        if wide.acts(problem, mu, known=False):
            return wide
        precondition = "auto"
    if precondition is None or isinstance(precondition, Preconditioner):
        return precondition
    if problem.tied_to_coordinates:
        return None
    if of_classes:
        # Coordinates pay where gradients, not rows, are clipped in them.
        if kind is not None and not kind.descends:
            return None
        return FrequencyScaling() if problem.wide else Whitening()
    # Another solver than the one made for it has no use for it.
    wanted = kind is None or kind.whitened
    possible = not problem.wide and problem.n_rows <= _MOST_ROWS_OF_W
    if not (wanted and possible and problem.loss.of_residuals):
        return None
    # What is learned of the coordinates in a small block is used in the large ones to come.
    return IterativeWhitening(least=0.0, shrink=True) if block else IterativeWhitening()


def settled_calculus(
    solver: str | Solver, constraint: Constraint | None, *, selects: bool
) -> Calculus | None:
    """Calculus of a fit, if it is the same whatever the rows are like; else None.

    Parameters
    ----------
    solver : str or Solver
        An option string or a configured solver.
    constraint : Constraint or None
        Feasible set.
    selects : bool
        Whether ``'auto'`` may choose a solver that selects features for this estimator.
    """
    if solver == "auto":
        vertices = constraint is not None and constraint.axis_vertices
        return None if selects or vertices else GaussianDP()
    if not isinstance(solver, Solver) and solver not in SOLVERS:
        return None
    given = _named(solver)
    return given.calculus if given.settled else None


def _chosen(
    solver: str | Solver, problem: Problem, *, conditioned: bool | None, started: bool | None
) -> tuple[Solver, str | None]:
    """The solver for a problem, and the reason if ``'auto'`` had to find one."""
    if solver != "auto":
        return _named(solver), None
    if conditioned is None:
        conditioned = problem.bounds.row_map is not None
    if started is None:
        started = problem.initial is not None
    few = problem.n_samples < _FEW_ROWS and problem.n_features <= _FEW_FEATURES
    if problem.sites is not None:
        found, reason = "dda", "rows lie at several sites"
    elif problem.penalty.selects and problem.loss.squared and not few:
        found, reason = "screening", "an l1 penalty expects few features to matter"
    elif not conditioned and _many_vertices(problem):
        found, reason = "frank_wolfe", "vertices suit many features"
    elif conditioned and problem.wide and not problem.loss.of_residuals:
        found, reason = "dual_averaging", "sparse rows of many features, in private coordinates"
    elif conditioned and problem.loss.of_residuals:
        reason = "regression in private coordinates"
        # A start that is nearly right need not be waited for.
        if started:
            return TrackedGD(average=_AVERAGE_FROM_A_MODEL), f"{reason}, from an earlier model"
        found = "tracked_gd"
    else:
        found, reason = "gd", "no other suits these rows and parameters better"
    return kind_of(found)(), reason


def _named(solver: str | Solver) -> Solver:
    return solver if isinstance(solver, Solver) else kind_of(solver)()


def _share_for(name: str, evidence: float) -> float:
    """Share of mu^2 that finding a bound may cost, for so many rows times mu."""
    if name != "target_bounds":
        return RANGE_SHARE
    return min(max(_EVIDENCE_FOR_TARGETS / evidence**2, RANGE_SHARE), _MOST_FOR_TARGETS)


def planned_mu(model: Any) -> float:
    """Gaussian-DP parameter of the whole budget, or of a large one where epsilon is infinite.

    For pure epsilon it is that of Gaussian noise of the same length.

    Parameters
    ----------
    model : estimator
        Its epsilon, ``delta_`` and number of features are read.
    """
    if model.delta_ == 0:
        return nominal(model.epsilon) / sqrt(model.n_features_in_ + 1)
    return mu(nominal(model.epsilon), model.delta_)


def finds_columns(model: Any, problem: Problem) -> str | None:
    """Tell by which private search columns are to be brought to one scale, if by any.

    By none where the penalty is about the user's units, or where noise would hide the sizes.

    Parameters
    ----------
    model : estimator
        Only its parameters are read.
    problem : Problem
        To be solved, with a stand-in for the norm.

    Returns
    -------
    str or None
        ``COLUMNS``, ``SIZES`` or None.
    """
    known = problem.bounds.scaling is not None or problem.bounds.feature_bound is not None
    if known or problem.tied_to_coordinates or problem.wide or problem.sites is not None:
        return None
    if not _chosen(model._batch_solver, problem, conditioned=None, started=False)[0].central:
        return None
    adjacency = Adjacency(model.adjacency)
    budget = Budget(planned_mu(model) ** 2 * _COLUMNS_SHARE * RANGES_OF_SCALE)
    sizes = problem.n_actual, problem.n_features
    search = Search.planned(adjacency, budget, *sizes, tail=TAIL, within=False)
    most = min(_MOST_LEFT_OUT, _MOST_OF_A_ROW / problem.n_features)
    if search is not None and search.tail <= most:
        return COLUMNS
    return SIZES if tail_of_sizes(adjacency, budget, *sizes) <= MOST_BEYOND else None


def _few_steps(preconditioner: Preconditioner, problem: Problem, mu: float) -> bool:
    """True if a few preconditioned steps do what many do."""
    return problem.loss.log_odds and mu <= _ORDINARY and preconditioner.resolves(problem, mu)


def _many_vertices(problem: Problem) -> bool:
    """True if moving towards one of many vertices at a time suits; alike for all total weights."""
    if not (problem.constraint.axis_vertices and problem.penalty.separable):
        return False
    many = max(_MANY_FEATURES, _FEATURES_A_ROW * problem.n_actual)
    return problem.n_features >= many and isfinite(problem.loss.smoothness)


def _facts(model: Any, problem: Problem, *, weighted: bool) -> dict[str, Any]:
    """Public facts of a plan: the problem and the budget."""
    classifies = problem.bounds.target is None
    return {
        "estimator": type(model).__name__,
        "n_features": problem.n_features,
        "n_classes": max(2, problem.loss.n_scores) if classifies else None,
        "n_targets": None if classifies else problem.loss.n_scores,
        "sparse": problem.sparse,
        "weighted": weighted,
        "n_sites": None if problem.sites is None else problem.sites.n_sites,
        "epsilon": float(model.epsilon),
        "delta": float(model.delta_),
        "adjacency": Adjacency(model.adjacency),
    }


def _check_unit(model: Any, solver: Solver, unit: PrivacyUnit, problem: Problem) -> None:
    """Refuse a solver whose queries are proved for single rows only."""
    # Sites that answer for themselves ask themselves for gradients, which are proved for units.
    at_sites = problem.sites is not None and problem.sites.of_units
    by_rows = solver.in_order or (solver.federated and not at_sites)
    if unit is PrivacyUnit.DECLARED and by_rows:
        raise ValueError(
            f"{type(model).__name__} needs privacy_unit=None with {type(solver).__name__}, whose "
            "answers are proved private for single rows, not for all rows of a privacy unit "
            "together. Use another solver, such as 'gd' or 'auto'."
        )


def _check_trust(model: Any, solver: Solver, problem: Problem) -> None:
    """Refuse what would need somebody who sees the rows of all sites, or sites cannot do."""
    sites = problem.sites
    name, how = type(model).__name__, type(solver).__name__
    if sites is not None and not solver.federated:
        raise ValueError(
            f"{name} needs a solver for rows at several sites, given by groups or DaskSites, "
            f"got {how}, which reads all rows at one place. Use solver='dda', or leave groups "
            "out."
        )
    if solver.federated and problem.loss.vector_targets:
        raise ValueError(
            f"{name} with {how} needs one target a row, got {problem.loss.n_scores}. Use another "
            "solver, without groups, or fit one target at a time, each with a part of the budget."
        )
    if solver.central:
        return
    wanted = [("precondition", model.precondition not in (None, "auto"))]
    wanted += [("class_weight", model._balanced)]
    named = [f"{what}={getattr(model, what)!r}" for what, asked in wanted if asked]
    if getattr(model, "data_bounds", None) is not None:
        named.append("the moments by which data_bounds scale columns")
    elif model._bounds_to_find:
        named.append("bounds to be estimated")
    if named:
        raise ValueError(
            f"{name} with {how} has nobody who may ask the rows of all sites together, which "
            f"is needed for {' and '.join(named)}. Pass data_norm (and target_bounds), leave "
            "the others out, or use DDA(noise='central')."
        )


def _brief(part: Any) -> str:
    """Class of a dataclass, and its fields that are not at their defaults."""
    changed = [
        f"{f.name}={shown(getattr(part, f.name))}"
        for f in fields(part)
        if getattr(part, f.name) != f.default
    ]
    return f"{type(part).__name__}({', '.join(changed)})"
