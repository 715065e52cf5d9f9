"""The stages of a fit, the same for a data set and for a part of a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from sklearn.base import BaseEstimator

from ..bounds import RowBounds
from ..conditioning import Conditioner
from ..data.base import ResidentRows, RowStore
from ..privacy.adjacency import Adjacency
from ..privacy.events import Event
from ..privacy.ledger import Ledger, PrivacySpent
from ..privacy.opening import open_oracle
from ..privacy.oracle import Oracle
from ..privacy.randomness import SecretNoise
from ..privacy.range_finding import private_data_norm
from ..problem import Problem
from ..remote.oracle import RemoteOracle
from ..remote.rows import RemoteRows
from ..sites import Sites
from ..solvers import Solution, Solver, choose, within_a_block
from .progress import Progress, Released

__all__ = ["RANGE_SHARE", "FittedInParts", "Plan"]

# Share of mu^2 that is set aside for a bound that the user did not give.
RANGE_SHARE = 0.04


@dataclass(frozen=True, eq=False)
class Plan:
    """What is settled about the fit of a part before anything is charged.

    Parameters
    ----------
    conditioner : Conditioner or None
        The stage before the solver.
    ledger : Ledger
        Opened for these rows and no others.
    adjacency : Adjacency
        Neighbouring relation.
    sites : Sites, optional
        Where rows lie, if not all together.
    federated : bool, default=False
        Whether sites are asked.
    in_order : bool, default=False
        Whether rows are taken one after another.
    trusts : str, optional
        Whom the solver trusts with more than noisy messages of single sites.
    """

    conditioner: Conditioner | None
    ledger: Ledger
    adjacency: Adjacency
    sites: Sites | None = None
    federated: bool = False
    in_order: bool = False
    trusts: str | None = None


class FittedInParts(BaseEstimator, ABC):
    """An estimator that is fitted to disjoint parts of its data, one or several.

    A subclass says what it takes to fit one part; the order of things is written here.
    """

    epsilon: float
    delta: float
    adjacency: str
    data_norm: float | None
    fit_intercept: bool
    intercept_scaling: float
    solver: str | Solver
    precondition: str | Conditioner | None
    horizon: int | None
    buffer: bool

    _progress: Progress

    n_features_in_: int
    n_samples_seen_: int
    coef_: np.ndarray
    data_norm_: float
    privacy_spent_: PrivacySpent
    privacy_ledger_: tuple[Event, ...]

    @final
    def _plan(
        self, n_samples: int, sparse: bool, sites: Sites | None = None, *, block: bool = False
    ) -> Plan:
        """What a fit of so many rows is going to do; refuses what cannot be done.

        Bounds may have to be paid for; whether the problem can be taken does not depend on them,
        so others stand in. ``block`` says that the rows are a block of a stream.
        """
        outline = replace(self._outline(n_samples, sparse), sites=sites)
        solver = choose(self._batch_solver, outline)
        conditioner = self._conditioner(outline, block=block) if solver.curated else None
        if conditioner is not None:
            conditioner.check(outline)
        solver.check(outline)
        self._check_trust(solver, sites)
        adjacency = Adjacency(self.adjacency)
        calculus = solver.calculus_for(outline, self.epsilon, self.delta, adjacency)
        ledger = Ledger(self.epsilon, self.delta, calculus=calculus)
        facts = solver.federated, solver.in_order, solver.trusts
        return Plan(conditioner, ledger, adjacency, sites, *facts)

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
        if self._seeks_bounds:
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
        *,
        warm: bool = True,
    ) -> None:
        """Fit rows that nobody has asked about with the whole budget, and publish the model."""
        progress, ledger = self._progress, plan.ledger
        released = progress.released
        oracle: Oracle
        if isinstance(rows, RemoteRows):
            oracle = RemoteOracle(rows, ledger, plan.adjacency)
        else:
            oracle = open_oracle(rows, ledger, plan.adjacency, noise)
        try:
            bounds = self._row_bounds(oracle, rows) if released is None else released.bounds
            problem = self._problem(rows.n_samples, bounds)
            problem = replace(problem, sparse=rows.sparse, sites=plan.sites)
            if released is not None and warm:
                start = problem.from_user_coordinates(released.coef, released.intercept)
                problem = replace(problem, initial=start)
            if plan.conditioner is not None:
                asked = oracle.for_problem(problem)
                known = released.row_map if released is not None and warm else None
                problem = plan.conditioner.prepare(problem, asked, coins, known)
            # Which solver suits may depend on the coordinates, too.
            solver = choose(self._batch_solver, problem)
            problem = self._with_prior(problem, oracle, solver)
            solution = solver.solve(problem, oracle.for_problem(problem), coins)
            self._release(problem, bounds, solution, dtype)
        except BaseException as failure:
            spent, method = ledger.spent(), "partial_fit" if progress.streaming else "fit"
            failure.add_note(
                f"{type(self).__name__}.{method} stopped after spending "
                f"epsilon={spent.epsilon:.6g} at delta={spent.delta:.6g}; see privacy_ledger_."
            )
            raise
        finally:
            progress.parts.add(rows.n_samples, ledger)
            self._publish_receipt()

    @final
    def _release(
        self, problem: Problem, bounds: RowBounds, solution: Solution, dtype: np.dtype
    ) -> None:
        """Publish a solution, and let what comes next start from it."""
        self._publish(problem, solution, dtype)
        self.data_norm_ = bounds.data_norm
        w = solution.w.reshape(problem.n_rows, -1)
        # A fit is not sure to be followed by a stream, and coordinates take memory.
        row_map = problem.bounds.row_map if self._progress.streaming else None
        self._progress.released = Released(bounds, *problem.in_user_coordinates(w), row_map)

    @final
    def _publish_receipt(self) -> None:
        progress = self._progress
        self.privacy_ledger_ = progress.parts.events(named=progress.streaming)
        self.privacy_spent_ = progress.parts.spent()
        self.n_samples_seen_ = progress.seen

    @final
    def _publish_start(self, rows: ResidentRows) -> None:
        """The model before any row is asked about, with stand-ins for bounds not given."""
        outline = self._outline(1, rows.sparse)
        self._publish(outline, Solution(outline.start(), 0), rows.X.dtype)
        self.data_norm_ = outline.bounds.data_norm

    @final
    def _outline(self, n_samples: int, sparse: bool) -> Problem:
        """The problem of so many rows, with stand-ins for bounds that are not given."""
        bounds = self._given_bounds()
        return replace(self._problem(n_samples, bounds), sparse=sparse)

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
    def _seeks_bounds(self) -> bool:
        """Whether there are bounds that parameters do not give."""

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
    def _row_bounds(self, oracle: Oracle, rows: RowStore) -> RowBounds:
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
    def _norm_bound(self, oracle: Oracle, rows: RowStore) -> float:
        if self.data_norm is not None:
            return float(self.data_norm)
        budget = oracle.budget.fraction(RANGE_SHARE)
        return private_data_norm(oracle, budget, rows.n_samples, rows.n_features)

    @final
    def _intercept_value(self, data_norm: float) -> float:
        return self.intercept_scaling * data_norm if self.fit_intercept else 0.0
