"""The stages of a fit, the same for a data set and for a part of a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from ..preconditioning import Conditioner
from ..privacy.accounting.calculus import GaussianDP
from ..privacy.accounting.events import Event
from ..privacy.accounting.gdp import mu
from ..privacy.accounting.ledger import Ledger, PrivacySpent
from ..privacy.adjacency import Adjacency
from ..privacy.oracle import Oracle
from ..privacy.oracle_factory import open_oracle
from ..privacy.randomness import SecretNoise
from ..privacy.rows.base import ResidentRows, RowStore
from ..privacy.sites.remote_oracle import RemoteOracle
from ..privacy.sites.remote_rows import RemoteRows
from ..problem.bounds import RowBounds
from ..problem.constraints import L1Ball, Simplex
from ..problem.problem import Problem
from ..problem.sites import Sites
from ..report.carrying import CarriesBudgets
from ..report.ceiling import Charge, charge_for
from ..report.claims import Claim
from ..report.receipts import Receipt
from ..solvers import SOLVERS, Solution, Solver, choose, settled_calculus, within_a_block
from .announcements import Announcements
from .progress import Progress, Released
from .range_finding import private_data_norm
from .warm_start import EarlierModel

__all__ = ["RANGE_SHARE", "FittedInParts", "Plan"]

Origin: TypeAlias = EarlierModel | Released | None

# Share of mu^2 that is set aside for a bound that the user did not give.
RANGE_SHARE = 0.04
# Share of mu^2 for what weighted rows weigh together, and its largest noise, in rows, at which it
# is asked.
_TOTAL_SHARE, _VISIBLE = 0.01, 0.1
# A total that is smaller, in rows, could not be told from zero.
_LEAST_TOTAL = 1e-6


@dataclass(frozen=True, eq=False)
class Plan:
    """What is settled about the fit of a part before anything is charged.

    Parameters
    ----------
    conditioner : Conditioner or None
        The stage before the solver.
    solver : Solver
        What fits the rows. No answer about them has a say in it, since the ledger counts as this
        solver needs.
    origin : EarlierModel, Released or None
        The model to start from.
    ledger : Ledger
        Opened for these rows and no others.
    adjacency : Adjacency
        Neighbouring relation.
    sites : Sites, optional
        Where rows lie, if not all together.
    """

    conditioner: Conditioner | None
    solver: Solver
    origin: Origin
    ledger: Ledger
    adjacency: Adjacency
    sites: Sites | None = None


class FittedInParts(CarriesBudgets, ABC):
    """An estimator that is fitted to disjoint parts of its data, one or several.

    A subclass says what it takes to fit one part; the order of things is written here.
    """

    epsilon: float
    delta: float
    adjacency: str
    max_weight: float
    data_norm: float | None
    fit_intercept: bool
    intercept_scaling: float
    solver: str | Solver
    precondition: str | Conditioner | None
    horizon: int | None
    buffer: bool
    warm_start: bool | str
    verbose: int

    # Whether the default solver may be one that selects features, which is not Gaussian.
    _may_select: ClassVar[bool] = False
    # Whether the penalty is added to the mean loss as it is, and not to the sum of losses.
    _penalty_beside_mean: ClassVar[bool] = False

    _progress: Progress

    n_features_in_: int
    n_samples_seen_: int
    coef_: np.ndarray
    data_norm_: float
    privacy_spent_: PrivacySpent
    privacy_ledger_: tuple[Event, ...]

    @final
    def _claim(self) -> Claim:
        """The most that a fit may spend, as far as parameters tell, before there are data."""
        calculus = None
        if isinstance(self.solver, Solver) or self.solver in SOLVERS:
            calculus = settled_calculus(self.solver)
        elif self.solver == "auto" and not self._may_select and not self._in_polytope:
            calculus = GaussianDP()
        return Claim.planned(self.epsilon, self.delta, calculus, Adjacency(self.adjacency))

    @property
    @final
    def _in_polytope(self) -> bool:
        """Whether the default solver may choose vertices."""
        return isinstance(getattr(self, "constraint", None), L1Ball | Simplex)

    @final
    def _charge(self, claim: Claim | None, repeats: int = 1) -> None:
        """Put a stream under the ceilings that are open, once for all of its parts.

        It is given the rows of one call ``repeats`` times, or as often as it was before.
        """
        charge, most = charge_for(self, goes_on=True), claim or self._claim()
        progress = vars(self).get("_progress")
        if progress is not None:
            most = progress.repeated(most, max(repeats, progress.repeats))
        charge.reserve(most, begins=claim is not None)
        charge.remember(self)

    @final
    def _plan(
        self,
        n_samples: int,
        sparse: bool,
        sites: Sites | None = None,
        *,
        weighted: bool = False,
        block: bool = False,
        origin: Origin = None,
    ) -> Plan:
        """What a fit of so many rows is going to do; refuses what cannot be done.

        Bounds may have to be paid for; whether the problem can be taken does not depend on them,
        so others stand in. ``block`` says that the rows are a block of a stream, and ``origin`` is
        the model to start from.
        """
        outline = replace(self._outline(n_samples, sparse, weighted), sites=sites)
        started = origin is not None
        plainly = choose(self._batch_solver, outline, started=started)
        conditioner = self._conditioner(outline, block=block) if plainly.curated else None
        solver = plainly
        if conditioner is not None:
            conditioner.check(outline)
            acts = self._conditions(conditioner, outline, weighted * _TOTAL_SHARE, origin)
            solver = choose(self._batch_solver, outline, conditioned=acts, started=started)
        solver.check(outline)
        self._check_trust(solver, sites)
        adjacency = Adjacency(self.adjacency)
        calculus = solver.calculus_for(outline, self.epsilon, self.delta, adjacency)
        ledger = Ledger(self.epsilon, self.delta, calculus=calculus)
        return Plan(conditioner, solver, origin, ledger, adjacency, sites)

    @final
    def _conditions(
        self, conditioner: Conditioner, outline: Problem, asked: float, origin: Origin
    ) -> bool:
        """Whether rows are going to be in other coordinates, by public facts alone.

        Before, a share ``asked`` of the budget goes to the total weight.
        """
        missing, bounds = self._bounds_to_find, self._given_bounds()
        if isinstance(origin, Released):
            missing, bounds = 0, origin.bounds
        known = origin is not None and not missing and origin.coordinates(bounds) is not None
        left = mu(self.epsilon, self.delta) * sqrt(1 - asked - missing * RANGE_SHARE)
        return conditioner.acts(outline, left, known=known)

    @final
    def _check_trust(self, solver: Solver, sites: Sites | None) -> None:
        """Refuse what would need somebody who sees the rows of all sites."""
        name, how = type(self).__name__, type(solver).__name__
        if sites is not None and not solver.federated:
            raise ValueError(
                f"{name} needs a solver for rows at several sites, given by groups or DaskSites, "
                f"got {how}, which reads all rows at one place. Use solver='dda', or leave groups "
                "out."
            )
        if solver.curated:
            return
        wanted = [("precondition", self.precondition not in (None, "auto"))]
        wanted += [("class_weight", getattr(self, "class_weight", None) == "balanced")]
        named = [f"{what}={getattr(self, what)!r}" for what, asked in wanted if asked]
        if self._bounds_to_find:
            named.append("bounds to be estimated")
        if named:
            raise ValueError(
                f"{name} with {how} has nobody who may ask the rows of all sites together, which "
                f"is needed for {' and '.join(named)}. Pass data_norm (and target_bounds), leave "
                "the others out, or use DDA(noise='central')."
            )

    @final
    def _fit_part(
        self,
        rows: RowStore,
        plan: Plan,
        noise: SecretNoise,
        coins: np.random.Generator,
        dtype: np.dtype,
        charge: Charge | None = None,
    ) -> None:
        """Fit rows that nobody has asked about with the whole budget, and publish the model."""
        progress, ledger, origin, solver = self._progress, plan.ledger, plan.origin, plan.solver
        released = progress.released
        oracle: Oracle
        if isinstance(rows, RemoteRows):
            oracle = RemoteOracle(rows, ledger, plan.adjacency)
        else:
            oracle = open_oracle(rows, ledger, plan.adjacency, noise)
        told = Announcements(self, ledger, rows.n_samples)
        # Until there is more to say, the whole budget counts as spent.
        progress.parts.open(rows.n_samples, ledger)
        self._publish_receipt()
        try:
            told.begin(callbacks=not progress.streaming)
            n = rows.n_samples
            total = self._total_weight(oracle, n) if rows.weighted and solver.curated else n
            bounds = self._row_bounds(oracle, total) if released is None else released.bounds
            problem = self._stated(total, bounds, sparse=rows.sparse, weighted=rows.weighted)
            problem = replace(problem, sites=plan.sites, held=None if total == n else n)
            if origin is not None:
                problem = replace(problem, initial=origin.start(problem))
            if plan.conditioner is not None:
                asked = oracle.for_problem(problem)
                known = None if origin is None else origin.coordinates(bounds)
                problem = plan.conditioner.prepare(problem, asked, coins, known)
            problem = self._with_prior(problem, oracle, solver)
            if solver.counts_rows:
                problem = problem.by_rows()
            solution = solver.solve(problem, oracle.for_problem(problem), coins)
            self._release(problem, bounds, solution, dtype)
            told.published()
        except BaseException as failure:
            spent, method = ledger.spent(), "partial_fit" if progress.streaming else "fit"
            failure.add_note(
                f"{type(self).__name__}.{method} stopped after spending "
                f"epsilon={spent.epsilon:.6g} at delta={spent.delta:.6g}; see privacy_ledger_."
            )
            raise
        finally:
            progress.parts.settle(ledger)
            self._publish_receipt()
            if charge is not None:
                charge.settle(Receipt(ledger.receipt(), ledger.spent(), plan.adjacency))
            # Last, because callbacks may raise.
            told.end()

    @final
    def _release(
        self, problem: Problem, bounds: RowBounds, solution: Solution, dtype: np.dtype
    ) -> None:
        """Publish a solution, and let what comes next start from it."""
        self._publish(problem, solution, dtype)
        self.data_norm_ = bounds.data_norm
        w = solution.w.reshape(problem.n_rows, -1)
        # Few fits are followed by one that uses their coordinates, which take memory.
        kept = self._progress.streaming or self.warm_start
        row_map = problem.bounds.row_map if kept else None
        self._progress.released = Released(bounds, *problem.in_user_coordinates(w), row_map)

    @final
    def _publish_receipt(self) -> None:
        receipt, self.n_samples_seen_ = self._progress.receipt(), self._progress.seen
        self.privacy_ledger_, self.privacy_spent_ = receipt.events, receipt.spent

    @final
    def _publish_start(self, rows: ResidentRows) -> None:
        """The model before any row is asked about, with stand-ins for bounds not given."""
        outline = self._outline(1, rows.sparse, rows.weighted)
        self._publish(outline, Solution(outline.start(), 0), rows.X.dtype)
        self.data_norm_ = outline.bounds.data_norm

    @final
    def _outline(self, n_samples: int, sparse: bool, weighted: bool) -> Problem:
        """The problem of so many rows, with stand-ins for bounds that are not given."""
        return self._stated(n_samples, self._given_bounds(), sparse=sparse, weighted=weighted)

    @final
    def _stated(
        self, n_samples: int, bounds: RowBounds, *, sparse: bool, weighted: bool
    ) -> Problem:
        """The problem to solve, for rows that have weights in units of ``max_weight`` or none."""
        problem = replace(self._problem(n_samples, bounds), sparse=sparse)
        if not weighted or self._penalty_beside_mean:
            return problem
        penalty = problem.regularizer.scaled(1.0 / float(self.max_weight))
        return replace(problem, regularizer=penalty)

    @final
    def _total_weight(self, oracle: Oracle, n_samples: int) -> int:
        """What so many rows weigh together, roughly, as a number of rows of the largest weight.

        With it, a solver knows how much evidence there is and how long gradients are. The number
        of rows stands in where noise would drown it.
        """
        spend = oracle.budget.fraction(_TOTAL_SHARE).whole()
        if _VISIBLE * n_samples * sqrt(spend.amount) < 1.0:
            return n_samples
        total, noise = oracle.total_weight(spend=spend)
        least = ceil(max(noise, _LEAST_TOTAL * n_samples))
        return min(n_samples, max(least, round(float(total))))

    @property
    @final
    def _batch_solver(self) -> str | Solver:
        """What fits a whole data set, or a block of a stream."""
        return within_a_block(self.solver)

    @abstractmethod
    def _given_bounds(self) -> RowBounds:
        """The bounds that parameters give, 1 and (-1, 1) standing in for those they do not."""

    @property
    @abstractmethod
    def _bounds_to_find(self) -> int:
        """Number of bounds that parameters do not give."""

    @abstractmethod
    def _encoder_of_stream(
        self, classes: Any, *, first: bool
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Check what is public about the targets of a call, and return what encodes them.

        ``first`` says that the model has seen no row before.
        """

    @abstractmethod
    def _prepare_targets(self, y: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        """Check what is public about targets and return the function that encodes them.

        ``y`` is None if targets come in chunks.
        """

    @abstractmethod
    def _conditioner(self, problem: Problem, *, block: bool) -> Conditioner | None:
        """The stage before the solver, by parameters and public facts.

        ``block`` says that blocks of a stream will follow, which can use what it finds.
        """

    @abstractmethod
    def _row_bounds(self, oracle: Oracle, n_samples: int) -> RowBounds:
        """Given bounds, or private estimates of those that are missing."""

    @abstractmethod
    def _problem(self, n_samples: int, bounds: RowBounds) -> Problem:
        """The problem to solve, a function of parameters and public bounds."""

    @abstractmethod
    def _with_prior(self, problem: Problem, oracle: Oracle, solver: Solver) -> Problem:
        """The problem with what the targets alone say about it, in its final coordinates."""

    @abstractmethod
    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        """Set the public attributes from a released solution."""

    @final
    def _norm_bound(self, oracle: Oracle, n_samples: int) -> float:
        if self.data_norm is not None:
            return float(self.data_norm)
        budget = oracle.budget.fraction(RANGE_SHARE)
        return private_data_norm(oracle, budget, n_samples, self.n_features_in_)

    @final
    def _intercept_value(self, data_norm: float) -> float:
        return self.intercept_scaling * data_norm if self.fit_intercept else 0.0
