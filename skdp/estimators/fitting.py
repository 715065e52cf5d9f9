"""The stages of a fit, the same for a data set and for a part of a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from math import ceil
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from ..preconditioning import Preconditioner, with_class_prior
from ..privacy.accounting.events import Event
from ..privacy.accounting.ledger import Ledger, PrivacySpent
from ..privacy.adjacency import Adjacency
from ..privacy.oracle import Oracle
from ..privacy.oracle_factory import open_oracle
from ..privacy.randomness import SecretNoise
from ..privacy.rows.base import ResidentRows, RowStore
from ..privacy.sites.remote_oracle import RemoteOracle
from ..privacy.sites.remote_rows import RemoteRows
from ..problem.bounds import RowBounds
from ..problem.problem import Problem
from ..problem.sites import Sites
from ..report.carrying import CarriesBudgets
from ..report.ceiling import Charge, charge_for
from ..report.claims import Claim
from ..report.receipts import Receipt
from ..solvers import Solution, Solver, within_a_block
from ..validation import check_parameters
from .announcements import Announcements
from .auto import RANGE_SHARE, FitPlan, plan_fit, settled_calculus
from .progress import Progress, Released
from .range_finding import private_data_norm
from .warm_start import EarlierModel

__all__ = ["FittedInParts"]

Origin: TypeAlias = EarlierModel | Released | None

# A total that is smaller, in rows, could not be told from zero.
_LEAST_TOTAL = 1e-6


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
    precondition: str | Preconditioner | None
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
    plan_: FitPlan

    @final
    def _claim(self) -> Claim:
        """The most that a fit may spend, as far as parameters tell, before there are data."""
        constraint = getattr(self, "constraint", None)
        calculus = settled_calculus(self.solver, constraint, selects=self._may_select)
        return Claim.planned(self.epsilon, self.delta, calculus, Adjacency(self.adjacency))

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
        found: RowBounds | None = None,
    ) -> FitPlan:
        """Plan of a fit of so many rows; refuses what cannot be done.

        Bounds may have to be paid for; whether the problem can be taken does not depend on them,
        so others stand in. ``block`` says that the rows are a block of a stream, ``origin`` is the
        model to start from, and ``found`` are the bounds that an earlier part has paid for.
        """
        outline = replace(self._outline(n_samples, sparse, weighted), sites=sites)
        missing = self._bounds_to_find if found is None else ()
        bounds = self._given_bounds() if found is None else found
        known = origin is not None and not missing and origin.coordinates(bounds) is not None
        facts = {"weighted": weighted, "block": block, "known": known}
        plan = plan_fit(self, outline, missing=missing, started=origin is not None, **facts)
        self._check_trust(plan.solver, sites)
        return plan

    @final
    def _plan_beforehand(
        self,
        n_samples: int,
        n_features: int,
        *,
        sparse: bool,
        weighted: bool,
        classes: Any,
        groups: Any,
    ) -> FitPlan:
        """Plan of a call of ``fit`` with rows of such public facts, by a copy of this model."""
        check_parameters(self)
        probe = copy(self)
        probe.n_features_in_ = n_features
        probe._tell_classes(classes)
        sites = self._sites_of(groups, n_samples)
        origin = EarlierModel.of(probe, dict(vars(self)))
        return probe._plan(n_samples, sparse, sites, weighted=weighted, origin=origin)

    @final
    def _sites_of(self, groups: Any, n_samples: int) -> Sites | None:
        """Sites named by labels of rows, if there are labels."""
        if groups is None:
            return None
        sites = Sites.of_groups(groups)
        if sites.n_samples != n_samples:
            raise ValueError(
                f"{type(self).__name__} needs one label in groups for each of {n_samples} rows, "
                f"got {sites.n_samples}."
            )
        return sites

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
        wanted += [("class_weight", self._balanced)]
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
        plan: FitPlan,
        ledger: Ledger,
        noise: SecretNoise,
        public_rng: np.random.Generator,
        dtype: np.dtype,
        *,
        origin: Origin = None,
        sites: Sites | None = None,
        charge: Charge | None = None,
    ) -> None:
        """Fit rows that nobody has asked about with the whole budget, and publish the model.

        ``ledger`` was opened for these rows and no others, ``origin`` is the model to start from,
        and ``sites`` are where rows lie, if not all together.
        """
        progress, solver = self._progress, plan.solver
        released = progress.released
        oracle: Oracle
        if isinstance(rows, RemoteRows):
            oracle = RemoteOracle(rows, ledger, plan.adjacency)
        else:
            oracle = open_oracle(rows, ledger, plan.adjacency, noise)
        announced = Announcements(self, ledger, rows.n_samples)
        # Until there is more to say, the whole budget counts as spent.
        progress.parts.open(rows.n_samples, ledger)
        self._publish_receipt()
        try:
            announced.begin(callbacks=not progress.streaming)
            n = rows.n_samples
            total = self._total_weight(oracle, n, plan.total_weight) if plan.total_weight else n
            bounds = self._row_bounds(oracle, total) if released is None else released.bounds
            problem = self._stated(total, bounds, sparse=rows.sparse, weighted=rows.weighted)
            problem = replace(problem, sites=sites, actual_rows=None if total == n else n)
            if origin is not None:
                problem = replace(problem, initial=origin.start(problem))
            if plan.preconditioner is not None:
                asked = oracle.for_problem(problem)
                known = None if origin is None else origin.coordinates(bounds)
                problem = plan.preconditioner.prepare(problem, asked, public_rng, known)
            if plan.class_counts:
                problem = with_class_prior(problem, oracle, balanced=self._balanced)
            if solver.counts_rows:
                problem = problem.by_rows()
            asked, temperature = oracle.for_problem(problem), plan.temperature
            if temperature is not None:
                asked = asked.within(oracle.budget.fraction(1 - temperature.share))
            solution = solver.solve(problem, asked, public_rng)
            if temperature is not None:
                w = temperature.apply(problem, oracle, solution.w)
                solution = replace(solution, w=w)
            self._release(plan, problem, bounds, solution, dtype)
            announced.published()
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
            announced.end()

    @final
    def _release(
        self,
        plan: FitPlan,
        problem: Problem,
        bounds: RowBounds,
        solution: Solution,
        dtype: np.dtype,
    ) -> None:
        """Publish a solution and its plan, and let what comes next start from it."""
        self._publish(problem, solution, dtype)
        self.plan_ = plan
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
        penalty = problem.penalty.scaled(1.0 / float(self.max_weight))
        return replace(problem, penalty=penalty)

    @final
    def _total_weight(self, oracle: Oracle, n_samples: int, share: float) -> int:
        """What so many rows weigh together, roughly, as a number of rows of the largest weight.

        With it, a solver knows how much evidence there is and how long gradients are.
        """
        spend = oracle.budget.fraction(share).whole()
        total, noise = oracle.total_weight(spend=spend)
        least = ceil(max(noise, _LEAST_TOTAL * n_samples))
        return min(n_samples, max(least, round(float(total))))

    @property
    @final
    def _batch_solver(self) -> str | Solver:
        """What fits a whole data set, or a block of a stream."""
        return within_a_block(self.solver)

    @property
    def _penalty_given(self) -> bool:
        """True if the penalty is the user's, and not there for the sake of the noise alone."""
        return True

    @property
    @final
    def _weighs_classes(self) -> bool:
        """True if classes have weights."""
        return getattr(self, "class_weight", None) is not None

    @property
    @final
    def _balanced(self) -> bool:
        """True if noisy counts say what classes weigh."""
        # A dictionary of weights is not equal to a string.
        return bool(getattr(self, "class_weight", None) == "balanced")

    @abstractmethod
    def _given_bounds(self) -> RowBounds:
        """The bounds that parameters give, 1 and (-1, 1) standing in for those they do not."""

    @property
    @abstractmethod
    def _bounds_to_find(self) -> tuple[str, ...]:
        """Names of bounds that parameters do not give."""

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
    def _tell_classes(self, classes: Any) -> None:
        """Take the classes that a fit would be given, where there are any."""

    @abstractmethod
    def _row_bounds(self, oracle: Oracle, n_samples: int) -> RowBounds:
        """Given bounds, or private estimates of those that are missing."""

    @abstractmethod
    def _problem(self, n_samples: int, bounds: RowBounds) -> Problem:
        """The problem to solve, a function of parameters and public bounds."""

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
