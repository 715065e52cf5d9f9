"""Stages of a fit: each is one release, with what it is for, its share of the budget, and who asks.

A stage is made by ``wanted`` from parameters and public facts, or not at all. What depends on
answers is decided while it runs. A new kind of release is a class here and its line in
:func:`skdp.estimators.fit_plan.plan_fit`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, isinf, sqrt
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from ..exceptions import warn_user
from ..preprocessing.column_ranges import (
    BLIND,
    ROUGH,
    evidence_of,
    outlook_of,
    private_column_ranges,
    share_of_ranges,
    voting,
)
from ..privacy.accounting.calculus import Calculus, PerturbedGaussianDP
from ..privacy.accounting.ledger import Budget
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.oracle_factory import PrivacyTerms
from ..problem.bounds import RowBounds, TargetBounds
from ..problem.column_bounds import ColumnBounds, ColumnScaling
from ..problem.problem import Problem
from ..problem.sites import Sites
from ..solvers import Solution, Solver, within_a_block
from ..solvers.defaults import ClassPrior
from ..solvers.defaults import Pilot as pilot
from ..solvers.defaults import Stages as tuned
from ..solvers.preconditioning import (
    Preconditioner,
    Whitening,
    asks_for_counts,
    curvatures_at_start,
    share_of_mean,
    share_of_rate,
    with_class_prior,
    with_mean_rate,
    with_target_mean,
)
from ..solvers.temperature import Temperature, plan_temperature
from .fit_history import EarlierModel
from .life_table import private_baseline
from .range_finding import (
    private_cap_on_counts,
    private_data_norm,
    private_target_bounds,
    seen_targets,
    unseen_columns,
    warn_of_target_bounds,
)
from .solver_choice import choose_preconditioner, named, planned_mu, tells_errors

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle
    from .base import PrivateLinearModel
    from .fit_plan import FitPlan

# The model that a fit or a part of a stream starts from, if there is one.
Origin = EarlierModel | None

# Share of the budget that a perturbed minimum has to keep, with room for rounding.
_MORE_THAN_HALF = 0.52


@dataclass(frozen=True)
class Case:
    """Parameters and public facts of a fit, by which its stages are planned.

    Parameters
    ----------
    model : estimator
        Only its parameters are read.
    problem : Problem
        To be solved, with stand-ins for bounds that are missing.
    weighted : bool
        Whether rows have weights.
    unit : PrivacyUnit
        What is protected.
    origin : EarlierModel, optional
        The model to start from.
    found : RowBounds, optional
        Bounds that an earlier part of a stream has paid for.
    block : bool
        Whether further blocks of a stream will follow.
    """

    model: PrivateLinearModel
    problem: Problem
    weighted: bool = False
    unit: PrivacyUnit = PrivacyUnit.ROW
    origin: Origin = None
    found: RowBounds | None = None
    block: bool = False

    @cached_property
    def mu(self) -> float:
        """Gaussian-DP parameter of the whole budget."""
        return planned_mu(self.model)

    @cached_property
    def asked(self) -> str | Solver:
        """Solver, or its name, as parameters give it; for times, by whether errors can be told."""
        asked = within_a_block(self.model.solver)
        whole = self.unit is PrivacyUnit.ROW and self.model.precondition in (None, "auto")
        if asked == "auto" and whole and tells_errors(self.problem, self.mu):
            return "one_step"
        return asked

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation."""
        return Adjacency(self.model.adjacency)

    @cached_property
    def sample(self) -> int | None:
        """Number of rows in the sample that a fit starts on; None if it asks all rows throughout.

        Only classifiers, and regressions of one target without a penalty, with the default solver
        and coordinates start on a sample, on large tables whose rows are the privacy units and have
        no weights, nor have their classes.
        """
        problem, model = self.problem, self.model
        alike = self.unit is PrivacyUnit.ROW and not self.weighted and model.class_weight is None
        anew = self.origin is None and self.found is None and not self.block
        by_default = self.asked == "auto" and model.precondition == "auto"
        regression = problem.loss.squared and problem.loss.n_scores == 1
        known = problem.loss.log_odds or (regression and not np.any(problem.penalty.root))
        if not (alike and anew and by_default and self.central and known):
            return None
        if problem.tied_to_coordinates or problem.wide:
            return None
        n, p = problem.n_samples, problem.n_rows
        if n * p < pilot.LEAST_ENTRIES:
            return None
        enough = pilot.EVIDENCE * p**1.5 * max(1, problem.loss.n_scores - 1)
        enough /= min(self.mu, pilot.MOST_MU)
        most = pilot.MOST_ENTRIES // p
        m = ceil(max(enough, min(n / pilot.LARGEST_RATIO, most)))
        smaller = m * pilot.LEAST_RATIO <= n and m <= most
        # More features than are whitened are too many for the few steps that come after.
        return m if smaller and Whitening().resolves(problem.of_sample(m), self.mu) else None

    @cached_property
    def asked_first(self) -> Problem:
        """The problem of the sample that the fit starts on, or of all rows if there is none."""
        return self.problem.of_sample(self.sample)

    @property
    def central(self) -> bool:
        """True if somebody may ask about all rows together."""
        return self.problem.sites is None if self.asked == "auto" else named(self.asked).central

    @property
    def classifies(self) -> bool:
        """True if targets are classes."""
        return self.problem.bounds.target is None

    @property
    def evidence_of_targets(self) -> float:
        """Number of rows times mu, of which each of several targets has a part."""
        target = self.problem.bounds.target
        each = 1.0 if target is None else sqrt(target.n_targets)
        return self.problem.n_samples * self.mu / each


@dataclass
class FitState:
    """State of a fit whose stages run: parameters, public facts, and paid answers.

    Parameters
    ----------
    model : estimator
        Only its parameters are read.
    plan : FitPlan
        Whose stages run.
    bounds : RowBounds
        Given, found by earlier parts of a stream, or stand-ins for those to be found.
    budget : Budget
        The whole, or what the total weight has left of it.
    rng : Generator
        Public randomness.
    origin : EarlierModel, optional
        The model to start from.
    sites : Sites, optional
        Where rows lie, if not all together.
    whole_units : bool
        Whether rows of a privacy unit lie together.
    n_samples : int
        Number of rows or units, or the total weight of weighted ones as a number of rows of the
        largest weight.
    """

    model: PrivateLinearModel
    plan: FitPlan
    bounds: RowBounds
    budget: Budget
    rng: np.random.Generator
    origin: Origin
    sites: Sites | None
    whole_units: bool
    n_samples: int
    solution: Solution = field(init=False)

    @cached_property
    def problem(self) -> Problem:
        """The problem; it is stated once all bounds are there, and stages may put another here."""
        plan, n, rows = self.plan, self.n_samples, self.plan.n_samples
        stated = self.model._stated(
            n,
            self.bounds,
            sparse=plan.sparse,
            weighted=plan.weighted,
            sites=self.sites,
            whole_units=self.whole_units,
            actual_rows=None if n == rows else rows,
        )
        return stated if self.origin is None else replace(stated, initial=self.origin.start(stated))

    @cached_property
    def sample(self) -> np.ndarray | None:
        """Positions of the rows that the fit starts on; None asks all rows."""
        first = self.plan.stage(Pilot)
        return None if first is None else drawn(self.n_samples, first.n_samples, self.rng)

    @property
    def n_asked(self) -> int:
        """Number of rows that the fit starts on: those of the sample, or else ``n_samples``."""
        return self.n_samples if self.sample is None else len(self.sample)

    def first(self, oracle: Oracle) -> Oracle:
        """Oracle for the rows that the fit starts on."""
        return oracle if self.sample is None else oracle.on_sample(self.sample)


@dataclass(frozen=True)
class Stage(ABC):
    """One release of a fit; print it for the words of the plan.

    Parameters
    ----------
    share : float
        Most that it costs, as a share of mu^2: of the whole budget for a bound, of what the stages
        before have left for others.
    """

    share: float
    # What the release is for: the words of ledger, log, progress and report.
    purpose: ClassVar[str]
    # Name among the bounds of the plan, if it finds one.
    bound: ClassVar[str | None] = None

    @abstractmethod
    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Ask, and put what follows from the answers into the state."""

    def __str__(self) -> str:
        """Words of the plan; empty if there is nothing to be paid."""
        rest = "" if self.bound else " of the rest"
        return f"{self.bound or self.purpose}, up to {max(self.share, 0.01):.0%}{rest}"


@dataclass(frozen=True)
class TotalWeight(Stage):
    """Noisy total weight of weighted rows: how much evidence there is, how long gradients are."""

    purpose = "total weight of the rows"

    @classmethod
    def wanted(cls, case: Case, solver: Solver, calculus: Calculus) -> Self | None:
        """None where noise would drown it, so that the number of rows stands in."""
        if not (case.weighted and solver.central):
            return None
        model = case.model
        terms = PrivacyTerms(model.epsilon, model.delta_, case.adjacency, calculus)
        room = terms.ledger().remaining
        visible = (
            tuned.VISIBLE_WEIGHT * case.problem.n_samples * sqrt(room * tuned.TOTAL_WEIGHT_SHARE)
            >= 1.0
        )
        return cls(tuned.TOTAL_WEIGHT_SHARE) if visible else None

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Ask for the total, as a number of rows of the largest weight."""
        spend = oracle.budget.fraction(self.share).whole()
        total, noise = oracle.total_weight(spend=spend)
        n = fit.n_samples
        fit.n_samples = min(n, max(ceil(max(noise, tuned.LEAST_TOTAL * n)), round(float(total))))
        fit.budget = oracle.budget
        if float(total) + tuned.CERTAIN * noise < tuned.LIGHT_WEIGHT * n:
            warn_user(
                f"The weights of all rows add up to less than {tuned.LIGHT_WEIGHT:.0%} of what "
                f"max_weight={fit.model.max_weight:g} allows, and noise is there for rows of that "
                "weight. Pass max_weight, a public bound on the weights, that most rows come near.",
                UserWarning,
            )

    def __str__(self) -> str:
        return f"total weight, {self.share:.0%}"


@dataclass(frozen=True)
class ColumnRanges(Stage):
    """Ranges of the columns of which none is known, which give all columns one scale.

    Parameters
    ----------
    share : float
        Most that it costs, see :class:`Stage`.
    columns : tuple of int
        Which are searched.
    codes : bool
        Whether some of them may be codes, which need no range.
    evidence : float
        Standard deviations by which one column stands out of the noise, were the share spent on it.
    """

    purpose = bound = "ranges of columns"

    columns: tuple[int, ...]
    codes: bool
    evidence: float

    @classmethod
    def wanted(cls, case: Case) -> Self | None:
        """None where all ranges are known, or where penalty or solver need the user's units."""
        problem, model = case.problem, case.model
        columns = model._unknown_columns
        if not columns or not case.central or problem.bounds.feature_bound is not None:
            return None
        if case.asked != "auto" and named(case.asked).selects:
            return None
        # Where some are given all others are asked for, too.
        many = problem.wide or problem.sites is not None
        if problem.tied_to_coordinates or (many and problem.bounds.scaling is None):
            return None
        given, whole = model.data_bounds, Budget(case.mu**2)
        # Unless parameters name all columns whose ranges are to be found, by None.
        codes = not (isinstance(given, Mapping) and len(given) == model.n_features_in_)
        sizes = case.sample or problem.n_actual, voting(len(columns), codes=codes)
        share = share_of_ranges(case.adjacency, whole, *sizes)
        evidence = evidence_of(case.adjacency, whole.fraction(share), *sizes)
        # A later part of a stream looks again if the first was too small to see any.
        again = case.found is not None and unseen_columns(case.found, columns) != columns
        if again or (case.found is not None and evidence < ROUGH):
            return None
        share = share if evidence >= BLIND else 0.0
        return cls(share, columns, codes, evidence)

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Find them, unless weighted rows have turned out to weigh too little together."""
        known = fit.model._known_ranges()
        low, high, searched = known.low.copy(), known.high.copy(), list(self.columns)
        if self.share:
            sizes = fit.budget.fraction(self.share), fit.n_asked
            asked = fit.first(oracle)
            found = private_column_ranges(asked, *sizes, self.columns, codes=self.codes).bounds
            low[searched], high[searched] = found.low, found.high
        scaling = ColumnScaling.of_bounds(ColumnBounds(low, high), sparse=fit.plan.sparse)
        fit.bounds = replace(fit.bounds, scaling=scaling)

    @property
    def outlook(self) -> str:
        """Words on what public facts let expect of it; empty if nearly all will be found."""
        return outlook_of(self.evidence)

    def __str__(self) -> str:
        words = f"{self.bound}, up to {self.share:.0%}"
        return f"{words} ({self.outlook})" if self.outlook else words


@dataclass(frozen=True)
class DataNorm(Stage):
    """A norm that about 95 % of the rows do not exceed."""

    purpose, bound = "length of the rows", "data_norm"

    @classmethod
    def wanted(cls, case: Case, scales: Stage | None) -> Self | None:
        """None if it is given, or known from an earlier part with columns on the same scale."""
        missing = "data_norm" in case.model._bounds_to_find
        anew = case.found is None or scales is not None
        return cls(tuned.BOUND_SHARE) if missing and anew else None

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Find the norm, of rows on the scale that columns have been brought to."""
        budget, sizes = fit.budget.fraction(self.share), (fit.n_asked, fit.model.n_features_in_)
        norm = private_data_norm(fit.first(oracle), budget, *sizes, fit.bounds.scaling)
        constant = fit.model._intercept_value(norm)
        fit.bounds = replace(fit.bounds, data_norm=norm, intercept_value=constant)


@dataclass(frozen=True)
class TargetRange(Stage):
    """An interval for each target that holds about 99 % of it."""

    purpose, bound = "range of the targets", "target_bounds"

    @classmethod
    def wanted(cls, case: Case) -> Self | None:
        """None if it is given, or an earlier part was large enough to see it."""
        if "target_bounds" not in case.model._bounds_to_find:
            return None
        if case.found is not None and seen_targets(case.found.target):
            return None
        share = tuned.EVIDENCE_FOR_TARGETS / case.evidence_of_targets**2
        return cls(min(max(share, tuned.BOUND_SHARE), tuned.MOST_TARGET_SHARE))

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Find the interval of each target by an equal part of the budget."""
        if fit.model._counts:
            share, p = oracle.budget.fraction(self.share), fit.model.n_features_in_ + 1
            # Noise in the score of a row, from all coefficients.
            noise = tuned.NOISE_OF_A_CAP * oracle.adjacency.of_sum(1.0) * p / fit.budget.mu
            target = private_cap_on_counts(oracle, share.whole(), noise=noise)
            fit.bounds = replace(fit.bounds, target=target)
            return
        columns, centred = columns_of_targets(fit.bounds), fit.model.fit_intercept
        each = oracle.budget.fraction(self.share / len(columns))
        found = [
            private_target_bounds(oracle, each, fit.n_samples, centred=centred, column=column)
            for column in columns
        ]
        fit.bounds = replace(fit.bounds, target=TargetBounds.joined(found))


@dataclass(frozen=True)
class TargetCheck(Stage):
    """A look at whether given target bounds hold the targets, which may end in a warning."""

    purpose = bound = "check of target_bounds"

    @classmethod
    def wanted(cls, case: Case) -> Self | None:
        """None where noise would hide it, and for solvers whose releases the user has chosen."""
        given = not case.classifies and "target_bounds" not in case.model._bounds_to_find
        if not given or case.found is not None or not case.central or case.asked != "auto":
            return None
        # Most counts are far below their cap.
        if case.problem.loss.log_means:
            return None
        return cls(tuned.CHECK_SHARE) if case.evidence_of_targets >= tuned.CHECK_EVIDENCE else None

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Look at each target by an equal part of the budget."""
        columns, target = columns_of_targets(fit.bounds), fit.bounds.target
        assert target is not None
        each = fit.budget.fraction(self.share / len(columns)).whole()
        for column, low, high in zip(columns, *map(np.ravel, target.ends), strict=True):
            one = TargetBounds(low, high, fit.model.fit_intercept)
            warn_of_target_bounds(oracle, each, fit.n_samples, one, column=column)


@dataclass(frozen=True)
class Coordinates(Stage):
    """Coordinates of the rows in which noise hurts less.

    Parameters
    ----------
    share : float
        Most that it costs, see :class:`Stage`.
    preconditioner : Preconditioner
        Finds them.
    acts : bool
        Whether rows and budget seem to be enough for it. It looks again when it runs.
    kept : bool
        Whether coordinates that an earlier part of a stream has found are taken as they are.
    """

    purpose = "coordinates of the features"

    preconditioner: Preconditioner
    acts: bool
    kept: bool

    @classmethod
    def wanted(cls, case: Case, left: float, *, settled: bool) -> Self | None:
        """The coordinates that ``precondition`` means; ``settled``: no bound is yet to be found."""
        problem, mu = case.asked_first, case.mu * sqrt(left)
        if not case.central:
            return None
        wish = case.model.precondition
        found = choose_preconditioner(wish, case.asked, problem, mu=mu, block=case.block)
        if found is None:
            return None
        found.check(problem)
        origin = case.origin if settled else None
        known = None if origin is None else origin.coordinates(problem.bounds)
        acts = found.acts(problem, mu, known=known is not None)
        kept = known is not None and found.keeps(known)
        share = getattr(found, "share", 0.0) if acts and not kept else 0.0
        return cls(share, found, acts, kept)

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """State the problem in the coordinates, from those of the earlier model if it has some."""
        known = None if fit.origin is None else fit.origin.coordinates(fit.bounds)
        problem = fit.problem.of_sample(fit.n_asked)
        if fit.sample is not None and not Pilot.tells(problem):
            fit.sample, problem = None, fit.problem
        asked = fit.first(oracle).for_problem(problem)
        found = self.preconditioner.prepare(problem, asked, fit.rng, known)
        fit.problem = found.of_sample(fit.n_samples)

    def __str__(self) -> str:
        if not self.acts:
            return ""
        if self.kept:
            return f"coordinates by {type(self.preconditioner).__name__}, as they were found before"
        cost = f", up to {self.share:.0%} of the rest" if self.share else ""
        return f"coordinates by {type(self.preconditioner).__name__}{cost}"


@dataclass(frozen=True)
class ClassCounts(Stage):
    """Frequencies of the classes, where noise does not hide them."""

    purpose = "frequencies of the classes"

    @classmethod
    def wanted(cls, case: Case, solver: Solver) -> Self | None:
        """None for solvers that make no use of the counts, and where noise would drown them."""
        balanced = case.model.class_weight == "balanced"
        used = case.classifies and (balanced or solver.descends)
        asked = used and asks_for_counts(case.problem, balanced=balanced)
        return cls(ClassPrior.COUNT_SHARE) if asked else None

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Start at the log-odds of the classes, and weigh classes if that is asked for."""
        balanced = fit.model.class_weight == "balanced"
        fit.problem = with_class_prior(fit.problem, oracle, balanced=balanced)

    def __str__(self) -> str:
        return f"class counts, up to {self.share:.0%} of the rest"


@dataclass(frozen=True)
class SurvivalCurve(Stage):
    """A life table: survival of all people together, the baseline to which features add."""

    purpose = bound = "survival curve"

    @classmethod
    def wanted(cls, case: Case) -> Self | None:
        """None unless targets are times."""
        if not case.problem.loss.of_times:
            return None
        unknown = case.model.times is None and case.model.max_time is None
        return cls(tuned.LIFE_TABLE_SHARE + unknown * tuned.LONGEST_TIME_SHARE)

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Put the baseline into the loss."""
        model, budget = fit.model, fit.budget.fraction(self.share)
        times, longest = model._cut_points(), model.max_time
        loss = private_baseline(oracle, budget, fit.n_samples, times, longest)
        fit.problem = replace(fit.problem, loss=loss)


@dataclass(frozen=True)
class TargetMean(Stage):
    """Mean of the targets, to start at and to fall back on where noise hides the rest.

    That of counts comes before coordinates, as it tells how much a row says of them.
    """

    purpose = "mean of the targets"

    @classmethod
    def wanted(cls, case: Case, solver: Solver, left: float, *, conditioned: bool) -> Self | None:
        """None where an earlier model says as much, or the solver does not start at it."""
        problem = case.asked_first
        of_means = not case.classifies and not problem.loss.quantiles
        starts = (solver.whitened if conditioned else solver.shrinks) and of_means
        if case.problem.loss.log_means:
            starts = case.central
        if not starts or case.origin is not None or not problem.bounds.intercept_value:
            return None
        if case.problem.loss.log_means:
            return cls(share_of_rate(problem, case.mu * sqrt(left)))
        share = share_of_mean(problem, case.mu * sqrt(left), conditioned=conditioned)
        return cls(share) if share else None

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Start at the mean, or at its logarithm."""
        with_mean = with_mean_rate if fit.problem.loss.log_means else with_target_mean
        problem = fit.problem.of_sample(fit.n_asked)
        found = with_mean(problem, fit.first(oracle), self.share)
        fit.problem = found.of_sample(fit.n_samples)


@dataclass(frozen=True)
class Pilot(Stage):
    """A first solution from a sample of the rows, after which few steps over all rows are left.

    The solution of m out of n rows is off by about ``sqrt(n / m)`` times the error that all rows
    leave, which a few steps make up for. There is no first solution if the frequencies of the
    classes have shown that one is too rare for a sample; then the solver takes all of its steps
    over all rows.

    Parameters
    ----------
    share : float
        What it costs, see :class:`Stage`.
    solver : Solver
        With its hyperparameters.
    n_samples : int
        Number of rows in the sample.
    """

    purpose = "coefficients, from a sample of the rows"

    solver: Solver
    n_samples: int

    @classmethod
    def wanted(cls, case: Case, solver: Solver) -> Self | None:
        """None where all rows are asked at each step."""
        if case.sample is None or solver.from_nearby(case.mu) is None:
            return None
        return cls(pilot.SHARE, solver, case.sample)

    @staticmethod
    def tells(problem: Problem) -> bool:
        """False if released frequencies show that a class has too few rows in a sample."""
        classes = problem.loss.log_odds
        return not classes or curvatures_at_start(problem).min() >= pilot.LEAST_CURVATURE

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Solve the problem of the sample, if it still is one, and start at its solution."""
        if fit.sample is None:
            return
        problem = fit.problem.of_sample(fit.n_asked)
        asked = fit.first(oracle).for_problem(problem).within(oracle.budget.fraction(self.share))
        found = self.solver.solve(problem, asked, fit.rng)
        fit.problem = replace(fit.problem, initial=found.w)

    def __str__(self) -> str:
        words = (
            f"a first solution from {self.n_samples:,} of the rows, {self.share:.0%} of the rest"
        )
        return f"{words}, unless a class is rare" if self.solver.descends else words


@dataclass(frozen=True)
class Solve(Stage):
    """The coefficients, by a solver that has all that is left but for what follows it.

    Parameters
    ----------
    share : float
        Most that it costs, see :class:`Stage`.
    solver : Solver
        With its hyperparameters.
    """

    purpose = "coefficients"

    solver: Solver

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Solve the problem as the stages before have left it."""
        if self.solver.counts_rows:
            fit.problem = fit.problem.by_rows()
        asked = oracle.for_problem(fit.problem)
        scale = fit.plan.stage(ScoreScale)
        if scale is not None:
            kept = scale.temperature.kept(fit.problem)
            asked = asked.within(oracle.budget.fraction(1 - kept))
        first = fit.plan.stage(Pilot)
        # Without the first solution that was planned, few steps are not enough.
        solver = self.solver if first is None or fit.sample is not None else first.solver
        fit.solution = solver.solve(fit.problem, asked, fit.rng)


@dataclass(frozen=True)
class ScoreScale(Stage):
    """The scale at which probabilities agree with the labels.

    Parameters
    ----------
    share : float
        Most that it costs, see :class:`Stage`.
    temperature : Temperature
        Its query.
    """

    purpose = "scale of the scores"

    temperature: Temperature

    @classmethod
    def wanted(cls, case: Case, solver: Solver, calculus: Calculus, left: float) -> Self | None:
        """None where scores are no log-odds, or a perturbed minimum needs the budget."""
        if not solver.central or solver.infers:
            return None
        mu, penalised = case.mu * sqrt(left), case.model._penalty_given
        found = plan_temperature(case.problem, mu, penalised=penalised)
        if found is None:
            return None
        if (
            isinstance(calculus, PerturbedGaussianDP)
            and left * (1 - found.share) <= _MORE_THAN_HALF
        ):
            return None
        return cls(found.share, found)

    def run(self, fit: FitState, oracle: Oracle) -> None:
        """Multiply the solution by the scale."""
        w = self.temperature.apply(fit.problem, oracle, fit.solution.w)
        fit.solution = replace(fit.solution, w=w)

    def __str__(self) -> str:
        if not self.share:
            return "nothing; scores are shortened as public facts let expect"
        unless = "" if isinf(self.temperature.evidence) else "; nothing if a class is rare"
        share = f"{self.share:.0%} of the rest and what the solver leaves"
        return f"the scale of the scores, {share}{unless}"


def drawn(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of a sample of rows, all samples of this size alike, in increasing order.

    So it does not matter where a row lies. Runs of rows would be read a little faster, but where
    the order of a table follows from its rows, a row that is replaced moves the borders of all runs
    between its old place and its new one.

    Parameters
    ----------
    n, m : int
        Number of rows, and how many of them are drawn.
    rng : Generator
        Public randomness.
    """
    return np.sort(rng.choice(n, size=m, replace=False, shuffle=False))


def columns_of_targets(bounds: RowBounds) -> list[int | None]:
    """Targets to look at one after another; None for the only one."""
    assert bounds.target is not None
    t = bounds.target.n_targets
    return [None] if t == 1 else list(range(t))
