"""The one plan of a fit: all that is decided before rows are asked, from public facts alone."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any

from ..preconditioning import (
    FrequencyScaling,
    IterativeWhitening,
    Preconditioner,
    Whitening,
    asks_for_counts,
)
from ..preconditioning.class_prior import SHARE as SHARE_OF_COUNTS
from ..privacy.accounting.calculus import Calculus, GaussianDP
from ..privacy.accounting.gdp import mu
from ..privacy.accounting.ledger import Ledger
from ..privacy.adjacency import Adjacency
from ..problem.constraints import Constraint, L1Ball, Simplex
from ..problem.losses import Logistic, Softmax, Squared
from ..problem.penalties import L1
from ..problem.problem import Problem
from ..solvers import (
    SOLVERS,
    FrankWolfe,
    PreconditionedGD,
    Screening,
    Solver,
    TrackedGD,
    kind_of,
)
from ..solvers.frank_wolfe import PENALTIES
from ..solvers.streaming import StreamingSolver
from ..solvers.temperature import Temperature, plan_temperature
from ..validation import shown
from .planning import forecast

if TYPE_CHECKING:
    from .fitting import FittedInParts

__all__ = [
    "RANGE_SHARE",
    "TOTAL_SHARE",
    "FitPlan",
    "choose",
    "choose_for_stream",
    "choose_preconditioner",
    "plan_fit",
    "plan_stream",
    "settled_calculus",
]

# Share of mu^2 that is set aside for a bound that the user did not give.
RANGE_SHARE = 0.04
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
# Beyond this mu clips grow, and the constants of few steps were not made for it.
_ORDINARY = 2.0


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
        Number of rows; None for a stream of undeclared length.
    n_features : int
        Number of features.
    n_classes : int or None
        Number of classes; None for regression.
    sparse, weighted : bool
        Whether rows are stored sparsely, and whether they have weights.
    n_sites : int or None
        Number of sites at which rows lie, if they do not lie all together.
    epsilon, delta : float
        The whole budget.
    adjacency : Adjacency
        Neighbouring relation.
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
    """

    estimator: str
    n_samples: int | None
    n_features: int
    n_classes: int | None
    sparse: bool
    weighted: bool
    n_sites: int | None
    epsilon: float
    delta: float
    adjacency: Adjacency
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

    def ledger(self) -> Ledger:
        """An empty account of the whole budget, which adds up as this plan says."""
        return Ledger(self.epsilon, self.delta, calculus=self.calculus)

    def __str__(self) -> str:
        kind = "regression" if self.n_classes is None else f"{self.n_classes} classes"
        rows = "a stream of rows" if self.n_samples is None else f"{self.n_samples:,} rows"
        how = [word for word in ("sparse", "weighted") if getattr(self, word)]
        how += [] if self.n_sites is None else [f"at {self.n_sites} sites"]
        why = "as given" if self.reason is None else f"by 'auto': {self.reason}"
        start = "from an earlier model" if self.from_model else "anew"
        exact = type(self.calculus) is GaussianDP
        sums = "all of it Gaussian, added up exactly" if exact else "added up by an upper bound"
        lines = [
            f"{self.estimator}: {rows}{''.join(f', {word}' for word in how)}; "
            f"{self.n_features:,} features; {kind}",
            f"  budget: epsilon = {self.epsilon:g}, delta = {self.delta:.1e}, "
            f"{self.adjacency.value}",
            f"  paid for first: {'; '.join(self._first()) or 'nothing'}",
            f"  solver: {_brief(self.solver)}, {why}",
            f"  starts: {start}",
            f"  paid for last: {self._last()}",
            f"  noise: {sums} ({type(self.calculus).__name__})",
            f"  {self._outlook()}",
        ]
        return "\n".join(lines)

    def _first(self) -> list[str]:
        """What is paid for before the solver, with its share of the budget."""
        paid = [f"{name}, up to {share:.0%}" for name, share in self.bounds]
        if self.total_weight:
            paid.append(f"total weight, {self.total_weight:.0%}")
        if self.preconditioner is not None and self.conditioned:
            share = getattr(self.preconditioner, "share", None)
            cost = "" if share is None else f", up to {share:.0%} of the rest"
            paid.append(f"coordinates by {type(self.preconditioner).__name__}{cost}")
        if self.class_counts:
            paid.append("class counts, up to 2% of the rest")
        return paid

    def _last(self) -> str:
        """What is paid for after the solver, with its share of what that has."""
        if self.temperature is None:
            return "nothing"
        return f"the scale of the scores, {self.temperature.share:.0%} of the rest"

    def _outlook(self) -> str:
        """The forecast of accuracy in a sentence, if there is one for such a fit."""
        if self.n_samples is None or self.n_samples < 2:
            return "expected: no forecast for this number of rows"
        if self.n_sites is not None:
            return "expected: no forecast for rows at several sites"
        if isinstance(self.solver, Screening | FrankWolfe):
            return (
                "expected: depends on how few features matter; see skdp.plan(n_samples, "
                "n_features, n_informative=...)"
            )
        facts: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta}
        facts |= {"n_classes": self.n_classes, "adjacency": self.adjacency.value}
        return forecast(
            self.n_samples, self.n_features, unknown_bounds=len(self.bounds), **facts
        ).sentence


def plan_fit(
    model: FittedInParts,
    outline: Problem,
    *,
    missing: tuple[str, ...],
    weighted: bool,
    known: bool,
    started: bool,
    block: bool,
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
    known : bool
        Whether private coordinates are known from other rows.
    started : bool
        Whether the fit starts at an earlier model.
    block : bool
        Whether further blocks of a stream will follow.

    Raises
    ------
    ValueError
        If parameters do not go together, with each other or with such rows.
    """
    asked = model._batch_solver
    solver, reason = _chosen(asked, outline, conditioned=None, started=started)
    preconditioner, acts = None, False
    classifies = outline.bounds.target is None
    screened = isinstance(solver, Screening) and not classifies
    if screened and model.precondition not in (None, "auto"):
        raise ValueError(
            f"{type(model).__name__} needs precondition=None with the solver 'screening', which "
            f"conditions the features that it selects, got precondition="
            f"{shown(model.precondition)}."
        )
    if solver.curated:
        preconditioner = choose_preconditioner(model.precondition, asked, outline, block=block)
    if preconditioner is not None:
        preconditioner.check(outline)
        shares = 1 - weighted * TOTAL_SHARE - len(missing) * RANGE_SHARE
        left = mu(model.epsilon, model.delta) * sqrt(shares)
        acts = preconditioner.acts(outline, left, known=known)
        solver, reason = _chosen(asked, outline, conditioned=acts, started=started)
        ordinary = reason is not None and not (started or model._weighs_classes)
        if acts and ordinary and _few_steps(preconditioner, outline, left):
            solver = PreconditionedGD()
            reason = "second moments stand out of their noise, so few steps are enough"
    solver.check(outline)
    adjacency = Adjacency(model.adjacency)
    calculus = solver.calculus_for(outline, model.epsilon, model.delta, adjacency)
    limit = Ledger(model.epsilon, model.delta, calculus=calculus).limit
    # Where noise would drown the total weight, the number of rows stands in.
    visible = _VISIBLE * outline.n_samples * sqrt(limit * TOTAL_SHARE) >= 1.0
    balanced = model._balanced
    # Other solvers do not start at the point that they are given, or leave it at once.
    counts = classifies and (balanced or solver.descends)
    counts = counts and asks_for_counts(outline, balanced=balanced)
    shares = 1 - weighted * TOTAL_SHARE - len(missing) * RANGE_SHARE
    shares *= 1 - (getattr(preconditioner, "share", 0.0) if acts else 0.0)
    shares *= 1 - counts * SHARE_OF_COUNTS
    left = mu(model.epsilon, model.delta) * sqrt(shares)
    return FitPlan(
        **_facts(model, outline, weighted=weighted),
        n_samples=outline.n_samples,
        bounds=tuple((name, RANGE_SHARE) for name in missing),
        total_weight=TOTAL_SHARE if weighted and solver.curated and visible else 0.0,
        preconditioner=preconditioner,
        conditioned=acts,
        class_counts=counts,
        # Its owner may change the hyperparameters of the one that was passed in.
        solver=copy(solver),
        reason=reason,
        calculus=calculus,
        temperature=(
            plan_temperature(outline, left, penalised=model._penalty_given)
            if solver.curated
            else None
        ),
        from_model=started,
    )


def plan_stream(
    model: FittedInParts, problem: Problem, solver: StreamingSolver, *, weighted: bool
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
    """
    adjacency = Adjacency(model.adjacency)
    auto = model.solver == "auto"
    return FitPlan(
        **_facts(model, problem, weighted=weighted),
        n_samples=model.horizon,
        bounds=(),
        total_weight=0.0,
        preconditioner=None,
        conditioned=False,
        class_counts=False,
        solver=copy(solver),
        reason="rows are read as they come, and none is kept" if auto else None,
        calculus=solver.calculus_for_stream(problem, model.epsilon, model.delta, adjacency),
        temperature=None,
        from_model=problem.initial is not None,
    )


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
        return solver
    if solver == "auto":
        vertices = _has_vertices(problem.constraint) and isfinite(problem.loss.smoothness)
        solver = "blocks" if buffer else "frank_wolfe" if vertices else "ftrl"
    return kind_of(solver)()


def choose_preconditioner(
    precondition: str | Preconditioner | None,
    solver: str | Solver,
    problem: Problem,
    *,
    block: bool = False,
) -> Preconditioner | None:
    """The stage before the solver, by parameters and public facts.

    Parameters
    ----------
    precondition : {'auto', 'diagonal', 'full'}, Preconditioner or None
        What the user asked for. For classes ``'auto'`` whitens rows before a solver that clips
        gradients, or damps frequent features if rows are sparse and have more than a thousand; for
        regression it whitens them repeatedly before ``'tracked_gd'``. It leaves rows as they are
        if a penalty or constraint is tied to the user's coordinates.
    solver : str or Solver
        What the user asked for.
    problem : Problem
        What is to be solved.
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
    wanted = kind is None or issubclass(kind, TrackedGD)
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
        return None if selects or _has_vertices(constraint) else GaussianDP()
    if not isinstance(solver, Solver) and solver not in SOLVERS:
        return None
    kind = kind_of(solver)
    return kind.calculus if kind.calculus_for is Solver.calculus_for else None


def _chosen(
    solver: str | Solver, problem: Problem, *, conditioned: bool | None, started: bool | None
) -> tuple[Solver, str | None]:
    """The solver for a problem, and the reason if ``'auto'`` had to find one."""
    if isinstance(solver, Solver):
        return solver, None
    if solver != "auto":
        return kind_of(solver)(), None
    if conditioned is None:
        conditioned = problem.bounds.row_map is not None
    if started is None:
        started = problem.initial is not None
    few = problem.n_samples < _FEW_ROWS and problem.n_features <= _FEW_FEATURES
    if problem.sites is not None:
        found, reason = "dda", "rows lie at several sites"
    elif isinstance(problem.penalty, L1) and isinstance(problem.loss, Squared) and not few:
        found, reason = "screening", "an l1 penalty expects few features to matter"
    elif not conditioned and _many_vertices(problem):
        found, reason = "frank_wolfe", "vertices suit many features"
    elif conditioned and problem.wide and isinstance(problem.loss, Logistic | Softmax):
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


def _few_steps(preconditioner: Preconditioner, problem: Problem, mu: float) -> bool:
    """True if a few preconditioned steps do what many do."""
    return (
        isinstance(preconditioner, Whitening)
        and preconditioner.full is not False
        and isinstance(problem.loss, Logistic | Softmax)
        and mu <= _ORDINARY
        and preconditioner.resolves(problem, mu)
    )


def _has_vertices(constraint: Constraint | None) -> bool:
    """True if a solver may choose among vertices, of which there are few."""
    return isinstance(constraint, L1Ball | Simplex)


def _many_vertices(problem: Problem) -> bool:
    """True if moving towards one of many vertices at a time suits; alike for all total weights."""
    if not (_has_vertices(problem.constraint) and isinstance(problem.penalty, PENALTIES)):
        return False
    many = max(_MANY_FEATURES, _FEATURES_A_ROW * problem.n_actual)
    return problem.n_features >= many and isfinite(problem.loss.smoothness)


def _facts(model: FittedInParts, problem: Problem, *, weighted: bool) -> dict[str, Any]:
    """What a plan says of the problem and of the budget."""
    classifies = problem.bounds.target is None
    return {
        "estimator": type(model).__name__,
        "n_features": problem.n_features,
        "n_classes": max(2, problem.loss.n_scores) if classifies else None,
        "sparse": problem.sparse,
        "weighted": weighted,
        "n_sites": None if problem.sites is None else problem.sites.n_sites,
        "epsilon": float(model.epsilon),
        "delta": float(model.delta),
        "adjacency": Adjacency(model.adjacency),
    }


def _brief(part: Any) -> str:
    """Class of a dataclass, and its fields that are not at their defaults."""
    changed = [
        f"{f.name}={shown(getattr(part, f.name))}"
        for f in fields(part)
        if getattr(part, f.name) != f.default
    ]
    return f"{type(part).__name__}({', '.join(changed)})"
