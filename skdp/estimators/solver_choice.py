"""Choices of ``'auto'``: solver and preconditioner, by parameters and public facts alone."""

from __future__ import annotations

from math import inf, isfinite, sqrt
from typing import Any

from ..privacy.accounting.calculus import Calculus, GaussianDP
from ..privacy.accounting.default_delta import nominal
from ..privacy.accounting.gdp import mu as gaussian_mu
from ..problem.constraints import Constraint
from ..problem.problem import Problem
from ..solvers import SOLVERS, PreconditionedGD, Solver, TrackedGD, kind_of
from ..solvers.defaults import Choices as tuned
from ..solvers.defaults import DefaultPenalty
from ..solvers.minibatch_noise import refuse_batch_size
from ..solvers.preconditioning import (
    FrequencyScaling,
    IterativeWhitening,
    Preconditioner,
    Whitening,
    WideWhitening,
)

# Beyond, matrices of that many rows and columns take longer than all else.
_MOST_ROWS_OF_W = 2000


def choose(
    solver: str | Solver,
    problem: Problem,
    *,
    conditioned: bool | None = None,
    started: bool | None = None,
) -> tuple[Solver, str | None]:
    """The solver for a problem, and the ground on which ``'auto'`` chose it, else None.

    Parameters
    ----------
    solver : str or Solver
        An option string, a configured solver, or ``'auto'``, which decides by public facts:
        ``'dda'`` for rows at several sites, else ``'quantile_gd'`` for quantiles,
        ``'screening'`` for squared loss with an l1 penalty unless rows and features are few,
        ``'frank_wolfe'`` under an l1 ball or on a simplex with many features,
        ``'tracked_gd'`` for regression in conditioned coordinates, ``'dual_averaging'`` for
        classification of sparse rows there, ``'preconditioned_gd'`` for counts unless penalty or
        constraint are about the user's coordinates, ``'gd'`` for all else.
    problem : Problem
        What is to be solved.
    conditioned : bool, optional
        Whether rows will be in private coordinates. By default whether the problem's are.
    started : bool, optional
        Whether the fit will start at an earlier model. By default whether the problem names one.
    """
    if solver != "auto":
        return named(solver), None
    if conditioned is None:
        conditioned = problem.bounds.row_map is not None
    if started is None:
        started = problem.initial is not None
    of_classes = not (problem.loss.of_residuals or problem.loss.log_means)
    few = problem.n_samples < tuned.FEW_ROWS and problem.n_features <= tuned.FEW_FEATURES
    if problem.sites is not None:
        found, reason = "dda", "rows lie at several sites"
    elif problem.loss.quantiles:
        found, reason = "quantile_gd", "quantiles are asked for"
    elif problem.penalty.selects and problem.loss.squared and not few:
        found, reason = "screening", "an l1 penalty expects few features to matter"
    elif not conditioned and _many_vertices(problem):
        found, reason = "frank_wolfe", "vertices suit many features"
    elif conditioned and problem.wide and of_classes:
        found, reason = "dual_averaging", "sparse rows of many features, in private coordinates"
    elif conditioned and problem.loss.of_residuals:
        reason = "regression in private coordinates"
        # A start that is nearly right need not be waited for.
        if started:
            return TrackedGD(average=tuned.AVERAGE_FROM_A_MODEL), f"{reason}, from an earlier model"
        found = "tracked_gd"
    elif problem.loss.log_means and not problem.tied_to_coordinates:
        found, reason = "preconditioned_gd", "bounds on rows leave means of counts as they are"
    else:
        found, reason = "gd", "no other suits these rows and parameters better"
    return kind_of(found)(), reason


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
    """The preconditioner that brings rows to other coordinates, by parameters and public facts.

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
    of_classes = problem.bounds.target is None or problem.loss.log_means
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
    if block:
        return IterativeWhitening(least=0.0, shrink=True)
    # Medians gain by coordinates in which noise would make long residuals of means.
    return (
        IterativeWhitening()
        if problem.loss.quantiles
        else IterativeWhitening(least=tuned.WHITENED_EVIDENCE)
    )


def settled_calculus(
    solver: str | Solver, constraint: Constraint | None, *, selects: bool
) -> Calculus | None:
    """Calculus of a fit, where it follows from solver and constraint alone; else None.

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
    given = named(solver)
    return given.calculus if given.settled else None


def named(solver: str | Solver) -> Solver:
    """A solver that an option string names, or the one that is given."""
    return solver if isinstance(solver, Solver) else kind_of(solver)()


def tells_errors(problem: Problem, mu: float) -> bool:
    """Tell whether ``'auto'`` is the solver with intervals, for times to an event.

    Parameters
    ----------
    problem : Problem
        Loss and public sizes.
    mu : float
        Gaussian-DP parameter of the whole budget.
    """
    few = problem.sites is None and not problem.wide and problem.n_rows <= tuned.MOST_WITH_ERRORS
    needed = tuned.EVIDENCE_OF_ERRORS * (problem.n_rows + 1) ** 1.5
    return problem.loss.of_times and few and problem.n_actual * mu >= needed


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
    return gaussian_mu(nominal(model.epsilon), model.delta_)


def default_strength(model: Any, n_samples: int, inverse: float = DefaultPenalty.WEAKEST) -> float:
    """Strength 1 / (n C) of a ridge that is no stronger than noise asks for.

    Parameters
    ----------
    model : estimator
        As for :func:`planned_mu`.
    n_samples : int
        Number of rows n.
    inverse : float, optional
        Largest C.
    """
    evidence = n_samples * planned_mu(model)
    return 1.0 / (n_samples * min(inverse, max(1.0, evidence / DefaultPenalty.EVIDENCE_A_UNIT)))


def in_few_steps(
    preconditioner: Preconditioner, problem: Problem, mu: float, *, follows: bool = False
) -> tuple[Solver, str] | None:
    """A solver of fewer steps that is as accurate as ``'gd'`` here, and the reason; else None.

    It is ``'preconditioned_gd'``.

    Parameters
    ----------
    preconditioner : Preconditioner
        That acts.
    problem : Problem
        Loss and public sizes.
    mu : float
        Gaussian-DP parameter of what is left for preconditioner and solver.
    follows : bool, default=False
        Whether it is a block of a stream that starts at the model of the block before.
    """
    if not (problem.loss.log_odds or problem.loss.log_means):
        return None
    if isinstance(preconditioner, WideWhitening):
        # Several classes have too few rows a coefficient for label-blind weights.
        blind = None if problem.loss.n_scores == 1 else False
        wide = PreconditionedGD(score_noise=tuned.SCORE_NOISE_OF_WIDE, label_blind=blind)
        return wide, "many features in white coordinates"
    if not isinstance(preconditioner, Whitening):
        return None
    if problem.loss.n_scores == 1:
        # That half of the steps are enough was measured for two classes alone.
        follows = follows and problem.loss.log_odds
        return PreconditionedGD(follows=follows), "few steps, as far as noise and rows let them go"
    if not preconditioner.resolves(problem, mu):
        return None
    return PreconditionedGD(), "second moments stand out of their noise, so few steps are enough"


def _many_vertices(problem: Problem) -> bool:
    """True if there are so many vertices that moving towards one of them beats gradients."""
    if not (problem.constraint.axis_vertices and problem.penalty.separable):
        return False
    many = max(tuned.MANY_FEATURES, tuned.FEATURES_A_ROW * problem.n_actual)
    return problem.n_features >= many and isfinite(problem.loss.smoothness)
