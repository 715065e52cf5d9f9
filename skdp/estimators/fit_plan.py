"""The plan of a fit: all that is decided before rows are asked, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields, replace
from inspect import signature
from math import inf, isinf, sqrt
from numbers import Integral
from typing import Any, TypeVar, overload

from sklearn.base import BaseEstimator

from ..preprocessing.column_ranges import voting
from ..privacy.accounting.calculus import Calculus, GaussianDP, PureDP
from ..privacy.accounting.default_delta import delta_for, nominal
from ..privacy.adjacency import PrivacyUnit
from ..privacy.oracle_factory import PrivacyTerms
from ..problem.problem import Problem
from ..solvers import ObjectivePerturbation, Solver, within_a_block
from ..solvers.defaults import Forecast as tuned
from ..solvers.defaults import Stages
from ..solvers.streaming import StreamingSolver
from ..validation import check_parameters, shown
from .fit_history import EarlierModel
from .forecast import Plan, forecast, require
from .refusals import of_named_solver, of_one_answer, of_pure_epsilon, of_solver, refuse
from .solver_choice import choose, in_few_steps, named
from .stages import (
    Case,
    ClassCounts,
    ColumnRanges,
    Coordinates,
    DataNorm,
    Pilot,
    ScoreScale,
    Solve,
    Stage,
    SurvivalCurve,
    TargetCheck,
    TargetMean,
    TargetRange,
    TotalWeight,
)
from .steps_in_front import StepsInFront

Kind = TypeVar("Kind", bound=Stage)


@dataclass(frozen=True, kw_only=True)
class FitPlan(PrivacyTerms):
    """All that is settled about a fit before it asks about any row. Print it for sentences.

    A function of parameters and public facts: it holds no rows, no noise and no account, and it is
    the same for all rows of the same number and kind. Made by :func:`skdp.plan` before a fit, and
    left as ``plan_`` by the fit.

    Parameters
    ----------
    epsilon, delta : float
        The whole budget.
    adjacency : Adjacency
        Neighbouring relation.
    calculus : Calculus
        Adds up what is charged.
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
    unit : PrivacyUnit
        What is protected: a row, or all rows of a declared privacy unit.
    stages : tuple of Stage
        Releases of the fit in their order, each with its purpose and its share of the budget (of
        mu^2), the solver among them.
    reason : str or None
        Ground on which ``'auto'`` chose the solver; None if the user named it.
    from_model : bool
        Whether the solver starts at an earlier model.
    scaled : bool
        Whether columns are brought to one scale by ranges that are given, or found if noise allows.
    assumption : str or None
        Sentence on what the solver puts in place of something that parameters leave open.
    counts : bool
        Whether targets are counts up to a cap.
    in_front : tuple of str
        Private steps in front of the model, if it is in a pipeline; the budget and the number of
        features are those of the model.
    ranges_in_front : (int, float)
        Number of columns whose ranges one of these finds for the model, and the standard deviations
        by which the least visible stands out of the noise.
    missing_facts : tuple of str
        Public facts that nobody has given, and what each would save, of a script that has been made
        private for this plan.
    """

    estimator: str
    n_samples: int | None
    n_features: int
    n_classes: int | None
    n_targets: int | None
    sparse: bool
    weighted: bool
    n_sites: int | None
    unit: PrivacyUnit
    stages: tuple[Stage, ...]
    reason: str | None
    from_model: bool
    scaled: bool
    assumption: str | None
    counts: bool = False
    in_front: tuple[str, ...] = ()
    ranges_in_front: tuple[int, float] = (0, inf)
    missing_facts: tuple[str, ...] = ()

    def stage(self, kind: type[Kind]) -> Kind | None:
        """The stage of a kind, if the fit has one.

        Parameters
        ----------
        kind : type
            A class of stages.
        """
        return next((stage for stage in self.stages if isinstance(stage, kind)), None)

    @property
    def solver(self) -> Solver:
        """Fits the model, with its hyperparameters."""
        found = self.stage(Solve)
        assert found is not None
        return found.solver

    @property
    def bounds(self) -> tuple[tuple[str, float], ...]:
        """Bounds that the fit finds or checks, and the share of the budget that each may cost."""
        return tuple((stage.bound, stage.share) for stage in self.stages if stage.bound)

    def __str__(self) -> str:
        several = "" if self.n_targets in (None, 1) else f" of {self.n_targets} targets together"
        kind = f"regression{several}" if self.n_classes is None else f"{self.n_classes} classes"
        if self.stage(SurvivalCurve) is not None:
            kind = "times to an event"
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
        middle = next(k for k, stage in enumerate(self.stages) if isinstance(stage, Solve))
        first, last = (
            "; ".join(filter(None, map(str, stages))) or "nothing"
            for stages in (self.stages[:middle], self.stages[middle + 1 :])
        )
        lines = [
            f"{self.estimator}: {rows}{''.join(f', {word}' for word in how)}; "
            f"{self.n_features:,} features; {kind}",
            f"  budget: epsilon = {self.epsilon:g}, delta = {self.delta:.1e}, "
            f"{self.adjacency.value}",
            *([f"  beside steps in front: {'; '.join(self.in_front)}"] if self.in_front else []),
            f"  paid for first: {first}",
            f"  solver: {_brief(self.solver)}, {why}",
            *([] if self.assumption is None else [f"  assumed: {self.assumption}"]),
            f"  starts: {start}",
            f"  paid for last: {last}",
            f"  noise: {sums} ({type(self.calculus).__name__})",
            f"  {self._outlook()}",
        ]
        if self.missing_facts:
            lines.append("  worth passing, if known without looking at the rows:")
            lines += [f"    {fact}" for fact in self.missing_facts]
        return "\n".join(lines)

    def hopeless(self) -> str | None:
        """A sentence if next to nothing can be learned from so few rows, else None."""
        if self.n_samples is None or self.n_sites is not None or isinf(self.epsilon):
            return None
        if not self.delta:
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
        assert self.n_samples is not None
        bounds = dict(self.bounds)
        ranges = self.stage(ColumnRanges)
        searched, evidence = self.ranges_in_front
        if ranges is not None:
            searched += voting(len(ranges.columns), codes=ranges.codes)
            evidence = min(evidence, ranges.evidence)
        return Plan(
            # Joint clips are longer by the root of the number of targets, and noise with them.
            n_samples=max(2, round(self.n_samples / sqrt(self.n_targets or 1))),
            n_features=self.n_features,
            epsilon=self.epsilon,
            delta=self.delta,
            n_classes=self.n_classes,
            n_informative=n_informative,
            adjacency=self.adjacency.value,
            unknown_bounds=len(bounds.keys() & {"data_norm", "target_bounds"}),
            unknown_targets="target_bounds" in bounds,
            bounds_share=min(sum(bounds.values()), tuned.MOST_BOUND_SHARE),
            unknown_ranges=searched / self.n_features,
            evidence_of_ranges=evidence,
            counts=self.counts,
        )

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
        units = "; for columns of similar size, as without data_bounds one of large numbers drowns"
        units = "" if self.scaled or self.sparse else f"{units} the others"
        return f"{outlook.sentence}{units}\n  {outlook.unseen}"


def plan_fit(case: Case) -> FitPlan:
    """Plan of a fit of a whole data set, or of a block of a stream.

    Who wants a stage says so in its ``wanted``, asked here in one order: bounds take shares of the
    whole budget, what follows takes shares of what they leave, and the solver has the rest.

    Parameters
    ----------
    case : Case
        Parameters and public facts.

    Raises
    ------
    ValueError
        If parameters do not go together, with each other or with such rows.
    """
    model, problem, started = case.model, case.problem, case.origin is not None
    if model.delta_ == 0:
        return _plan_pure(case)
    scales = ColumnRanges.wanted(case)
    norm, targets = DataNorm.wanted(case, scales), TargetRange.wanted(case)
    times, check = SurvivalCurve.wanted(case), TargetCheck.wanted(case)
    bounds = [b for b in (scales, norm, targets, check, times) if b is not None]
    left = 1 - case.weighted * Stages.TOTAL_WEIGHT_SHARE - sum(stage.share for stage in bounds)
    if case.asked != "auto":
        refuse(model, of_named_solver(case, named(case.asked)))
    coordinates = Coordinates.wanted(case, left, settled=norm is None and targets is None)
    acts = coordinates is not None and coordinates.acts
    solver, reason = choose(case.asked, problem, conditioned=acts, started=started)
    if reason is None and within_a_block(model.solver) == "auto":
        reason = "rows and budget are enough for intervals"
    counts = ClassCounts.wanted(case, solver)
    left *= 1 - (0.0 if counts is None else counts.share)
    # With weights of classes few steps lose .01 of balanced accuracy where one class is rare.
    if coordinates is not None and acts and reason is not None and model.class_weight is None:
        mu, known = case.mu * sqrt(left), {"follows": started and case.block}
        few = in_few_steps(coordinates.preconditioner, case.asked_first, mu, **known)
        if few is not None:
            solver, reason = few
    solver.check(problem)
    refuse(model, of_solver(case, solver))
    calculus = solver.calculus_for(problem, nominal(model.epsilon), model.delta_, case.adjacency)
    if case.unit is PrivacyUnit.DECLARED:
        calculus = calculus.for_units()
    total = TotalWeight.wanted(case, solver, calculus)
    mean = TargetMean.wanted(case, solver, left, conditioned=acts)
    first = Pilot.wanted(case, solver)
    for stage in (mean, coordinates, first):
        left *= 1 - (0.0 if stage is None else stage.share)
    solver.check_budget(problem, case.mu * sqrt(left))
    scale = ScoreScale.wanted(case, solver, calculus, left)
    refuse(model, of_one_answer(solver, calculus, left))
    nearby = None if first is None else solver.from_nearby(case.mu * sqrt(left))
    solve = Solve(1.0, copy(nearby or solver))
    stages = (total, *bounds, counts, mean, coordinates, first, solve, scale)
    return _made(
        case,
        tuple(stage for stage in stages if stage is not None),
        calculus,
        reason=reason,
        scaled=scales is not None,
        assumption=solver.assumption(problem),
    )


def _plan_pure(case: Case) -> FitPlan:
    """Plan of a fit with delta = 0, all of whose budget goes to one answer."""
    model = case.model
    refuse(model, of_pure_epsilon(case))
    auto = case.asked == "auto"
    solver = ObjectivePerturbation() if auto else named(case.asked)
    solver.check_pure(case.problem)
    why = "the one solver of pure epsilon, delta = 0" if auto else None
    calculus = PureDP(of_units=case.unit is PrivacyUnit.DECLARED)
    return _made(case, (Solve(1.0, copy(solver)),), calculus, reason=why)


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
        By :func:`~skdp.estimators.solver_choice.choose_for_stream`.
    weighted : bool
        Whether rows have weights.
    unit : PrivacyUnit
        What is protected.
    """
    case, budget = Case(model, problem, weighted, unit), (nominal(model.epsilon), model.delta_)
    calculus = solver.calculus_for_stream(problem, *budget, case.adjacency)
    why = "rows are read as they come, and none is kept" if model.solver == "auto" else None
    said = solver.assumption(problem)
    made = _made(case, (Solve(1.0, copy(solver)),), calculus, reason=why, assumption=said)
    return replace(made, n_samples=model.horizon, from_model=problem.initial is not None)


def _made(
    case: Case,
    stages: tuple[Stage, ...],
    calculus: Calculus,
    *,
    reason: str | None,
    scaled: bool = False,
    assumption: str | None = None,
) -> FitPlan:
    """The plan of stages, with the public facts of the problem and the budget."""
    model, problem = case.model, case.problem
    classes, tabular = case.classifies and not problem.loss.of_times, problem.loss.vector_targets
    return FitPlan(
        estimator=type(model).__name__,
        n_samples=problem.n_samples,
        n_features=problem.n_features,
        n_classes=max(2, problem.loss.n_scores) if classes else None,
        # Several quantiles of one target are one.
        n_targets=None if case.classifies else problem.loss.n_scores if tabular else 1,
        sparse=problem.sparse,
        weighted=case.weighted,
        n_sites=None if problem.sites is None else problem.sites.n_sites,
        epsilon=float(model.epsilon),
        delta=float(model.delta_),
        adjacency=case.adjacency,
        unit=case.unit,
        stages=stages,
        reason=reason,
        calculus=calculus,
        from_model=case.origin is not None,
        scaled=scaled or problem.bounds.scaling is not None,
        assumption=assumption,
        counts=problem.loss.log_means,
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
    sites: Any = ...,
    privacy_unit: bool = ...,
    **of_a_script: Any,
) -> FitPlan: ...


def plan(*args: Any, **facts: Any) -> Plan | FitPlan:
    """Look ahead at a fit, from public facts alone: no data, nothing spent.

    ``plan(n_samples, n_features, ...)`` forecasts whether learning is realistic. ``plan(model,
    n_samples, n_features, ...)`` says in addition how ``model.fit`` is going to go about such
    rows: what it pays for first, which solver it takes, and how noise is added up. That is the
    very plan that the fit will follow and leave as ``plan_``. ``plan(script, n_samples, n_features,
    facts=..., ...)`` of a model or pipeline of scikit-learn's plans what :func:`skdp.privatize`
    makes of it, and says what each fact that is missing costs.

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
        A private linear model, a pipeline that ends in one, such as :func:`skdp.privatize` makes,
        or nothing; then ``n_samples`` and ``n_features``: the size of the data that will be
        fitted, without the intercept and before all steps.
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
        - ``sites``, array-like, optional: as passed to ``fit``.
        - ``privacy_unit``, bool, default=False: whether ``fit`` gets ``privacy_unit``, so that
          ``n_samples`` is the number of different labels.

        For an estimator of scikit-learn's in addition ``epsilon``, default=1.0, ``delta``,
        ``facts``, ``target``, ``target_bounds``, ``shares`` and ``adjacency``, as for
        :func:`skdp.privatize`.

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
    of_model = bool(args) and isinstance(args[0], BaseEstimator)
    planned: Callable[..., Plan | FitPlan] = _plan_of_fit if of_model else forecast
    try:
        signature(planned).bind(*args, **facts)
    except TypeError as error:
        refusal = str(error)
    else:
        return planned(*args, **facts)
    call = "plan(model, 10_000, 20)" if of_model else "plan(10_000, 20)"
    raise TypeError(
        "plan needs n_samples and n_features, after a model if there is one, and other public "
        f"facts by name, as in {call}: {refusal}."
    )


def _plan_of_fit(
    model: Any,
    n_samples: Any,
    n_features: Any,
    *,
    sparse: bool = False,
    weighted: bool = False,
    classes: Any = None,
    n_targets: int | None = None,
    sites: Any = None,
    privacy_unit: bool = False,
) -> FitPlan:
    """Plan of ``model.fit`` with rows of such public facts, by a copy of the model."""
    require("n_samples", n_samples, Integral, 1, inf)
    require("n_features", n_features, Integral, 1, inf)
    if not hasattr(model, "_tell_columns"):
        inner = StepsInFront.of(model, int(n_samples), int(n_features))
        if not hasattr(inner.model, "_tell_columns"):
            raise ValueError(
                "plan needs a private linear model, a pipeline that ends in one, or n_samples and "
                f"n_features alone, got a {type(model).__name__}. Pass what skdp.privatize makes "
                "of it, or the model inside of it."
            )
        kind = {"sparse": sparse, "weighted": weighted, "classes": classes, "sites": sites}
        kind |= {"n_targets": n_targets, "privacy_unit": privacy_unit}
        of_model = _plan_of_fit(inner.model, n_samples, inner.n_features, **kind)
        said = "; ".join(filter(None, (of_model.assumption, inner.assumption))) or None
        return replace(
            of_model, assumption=said, in_front=inner.spending, ranges_in_front=inner.evidence
        )
    name = type(model).__name__
    if n_targets is not None:
        require("n_targets", n_targets, Integral, 1, inf)
    check_parameters(model)
    probe, n = copy(model), int(n_samples)
    probe._tell_columns(int(n_features))
    probe._tell_classes(classes)
    if n_targets is not None and not model._several_targets:
        raise ValueError(
            f"plan needs n_targets=None for {name}, which takes one target a row, got {n_targets}."
        )
    probe._target_columns = n_targets
    probe.delta_ = delta_for(probe.delta, n)
    sites = probe._sites_of(sites, n)
    origin = EarlierModel.of(probe, dict(vars(model)))
    unit = PrivacyUnit.DECLARED if privacy_unit else PrivacyUnit.ROW
    kind = {"weighted": bool(weighted), "unit": unit, "origin": origin}
    found: FitPlan = probe._plan(n, bool(sparse), sites, **kind)
    return found


def _brief(part: Any) -> str:
    """Class of a dataclass, and its fields that are not at their defaults."""
    changed = [
        f"{f.name}={shown(getattr(part, f.name))}"
        for f in fields(part)
        if getattr(part, f.name) != f.default
    ]
    return f"{type(part).__name__}({', '.join(changed)})"
