"""``fit`` on one page: validate, plan, open, precondition, solve, publish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from math import ceil, isinf, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeAlias, final

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _get_feature_names, check_is_fitted, validate_data

from ..exceptions import BudgetWarning, warn_user
from ..federated import DaskSites
from ..preprocessing.column_ranges import (
    HIDES_THE_SELDOM,
    RANGES_OF_SCALE,
    Search,
    private_column_bounds,
    private_column_moments,
    private_column_sizes,
    private_large_columns,
    tail_of_sizes,
)
from ..privacy.accounting.calculus import Calculus, PureDP
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.accounting.promise import delta_for
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.lock import run_locked
from ..privacy.oracle import Oracle
from ..privacy.oracle_factory import Opened, PrivateSession
from ..privacy.randomness import public_generator
from ..privacy.rows.base import ResidentRows, RowStore
from ..privacy.rows.chunked import Chunks
from ..privacy.rows.dask_rows import DaskRows, is_collection, labels_of
from ..privacy.rows.privacy_units import PrivacyUnits
from ..privacy.rows.reading import columns_of, redacted, strict_checks
from ..privacy.rows.row_stores import row_store
from ..privacy.sites.remote_rows import RemoteRows
from ..problem.bounds import RowBounds
from ..problem.column_bounds import ColumnBounds, ColumnScaling, clipped
from ..problem.constraints import Constraint
from ..problem.penalties import Tikhonov
from ..problem.problem import Problem
from ..problem.sites import Sites
from ..reporting.budget_warnings import warn_of_promise
from ..reporting.open_budgets import BudgetedEstimator, Reservation, reservation_for
from ..reporting.privacy_ledger import PrivacyLedger
from ..reporting.receipts import Receipt, SpendBound
from ..solvers import SOLVERS, Solution, Solver, within_a_block
from ..solvers.preconditioning import OPTIONS, Preconditioner, with_class_prior
from ..validation import (
    EXACT_SOLVERS,
    INFINITE,
    check_parameters,
    one_of,
    refused_parameter,
    telling_sizes,
)
from .announcements import Announcements, CallbackSupportMixin, with_callbacks
from .fit_plan import (
    COLUMNS,
    MOST_BEYOND,
    RANGE_SHARE,
    SIZES,
    STRETCH,
    TAIL,
    FitPlan,
    finds_columns,
    plan_fit,
    settled_calculus,
)
from .inference import published_inference
from .plain_models import plain_model
from .progress import DISJOINT, EarlierModel, Progress, Released
from .range_finding import private_data_norm, seen_targets

Origin: TypeAlias = EarlierModel | Released | None

# Options of scikit-learn's checks of rows.
ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
# A total that is smaller, in rows, could not be told from zero.
_LEAST_TOTAL = 1e-6


def solvers_but(*unfit: str) -> list[Any]:
    """Constraints on a solver, which name all but those that do not fit to the usual loss.

    Parameters
    ----------
    *unfit : str
        Names that are refused later, in the words of the solver.
    """
    return [one_of("auto", *SOLVERS, unlisted=unfit, advice=EXACT_SOLVERS), Solver]


class PrivateLinearModel(CallbackSupportMixin, BudgetedEstimator, ABC):
    """A linear model that is fitted privately, to a whole data set or to parts of a stream.

    The order of things is written here. A subclass stores its parameters, encodes targets, states
    its problem and reads the released solution; it never sees a row after encoding, and never a
    source of noise.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 1e-10, 1e9, closed="both"), INFINITE],
        "delta": [None, Interval(Real, 0, 1, closed="left")],
        "adjacency": [one_of(*(a.value for a in Adjacency))],
        "max_weight": [Interval(Real, 1e-50, 1e50, closed="both")],
        "data_norm": [None, Interval(Real, 1e-100, 1e100, closed="both")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 1e-20, 1e20, closed="both")],
        "solver": solvers_but(),
        "constraint": [None, Constraint],
        "precondition": [None, one_of(*OPTIONS), Preconditioner],
        "horizon": [None, Interval(Integral, 1, None, closed="left")],
        "buffer": ["boolean"],
        "max_visits": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean", one_of(DISJOINT)],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    epsilon: float
    delta: float | None
    adjacency: str
    max_weight: float
    data_norm: float | None
    # Not a parameter where the penalty is about the features in their own units.
    data_bounds: Any = None
    fit_intercept: bool
    intercept_scaling: float
    solver: str | Solver
    precondition: str | Preconditioner | None
    horizon: int | None
    buffer: bool
    max_visits: int
    warm_start: bool | str
    verbose: int
    random_state: Any

    # Whether the default solver may be one that selects features, which is not Gaussian.
    _may_select: ClassVar[bool] = False
    # Whether y may be a table of several targets, which are fitted together.
    _several_targets: ClassVar[bool] = False
    # Whether the penalty is added to the mean loss as it is, and not to the sum of losses.
    _penalty_beside_mean: ClassVar[bool] = False

    # Number of columns of y, and their names, if it is such a table.
    _target_columns: int | None = None
    _target_names: Any = None
    _progress: Progress
    # What goes on from one call of partial_fit to the next; see skdp.estimators.partial_fit.
    _session: Any

    n_features_in_: int
    feature_names_in_: np.ndarray
    n_samples_seen_: int
    privacy_unit_: str
    coef_: Any
    intercept_: Any
    delta_: float
    data_norm_: float
    data_bounds_: tuple[np.ndarray, np.ndarray] | None
    privacy_spent_: PrivacySpent
    privacy_ledger_: PrivacyLedger
    plan_: FitPlan

    @final
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        privacy_unit: Any = None,
    ) -> Self:
        """Fit the model privately.

        Parameters
        ----------
        X : array-like, CSR matrix, Chunks, dask collection or DaskSites
            Features, (n_samples, n_features). Dense float64 and float32 arrays, memory-mapped ones
            included, are used where they lie. ``Chunks`` deliver features and targets together,
            and ``DaskSites`` keep both at sites of their own. Dask arrays and dataframes are asked
            by the active client or scheduler, where they lie.
        y : array-like of shape (n_samples,), optional
            Targets; left out only if X is ``Chunks`` or ``DaskSites``. A dask array or series, in
            the partitions of X, if X is one. DPLinearRegression takes a table of several targets,
            (n_samples, n_targets).
        sample_weight : array-like of shape (n_samples,), float or dask array, optional
            How much each row counts, at least 0; weights beyond ``max_weight`` count as that,
            without a warning. They are as secret as the rows, and each must depend on its own row
            and public facts alone. ``Chunks`` deliver them as a third part. Without weights every
            row weighs 1 and ``max_weight`` means nothing.
        groups : array-like of shape (n_samples,), optional
            Label of the site at which each row lies, for the solver ``'dda'``, which is the
            default then. Labels and numbers of rows of sites are public.
        privacy_unit : array-like or dask array of shape (n_samples,), or True, optional
            Label of the person, or whatever else is to be protected as a whole, to whom each row
            belongs. The promise is then about all rows of one of them together, however many; each
            counts as much as one row would, and each of its m rows ``1 / m``. Public is how many
            different labels there are, and not how many rows. A dask array or series, in the
            partitions of X, if X is one; True says that ``Chunks`` deliver labels as a fourth part,
            or loaders of ``DaskSites`` as a third.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        ValueError
            If parameters or data are malformed. Nothing has been spent then, and the results of
            an earlier fit are still there.
        BudgetExceededError
            If a :class:`skdp.PrivacyBudget` is open that has no room for it; likewise.
        RuntimeError
            If another thread is fitting the same object. This call has read and spent nothing.

        Notes
        -----
        If anything fails later, the model has no coefficients, ``privacy_spent_`` and
        ``privacy_ledger_`` say what has been spent, and so does a note on the exception.
        """
        return run_locked(self, "fit", self._fit, X, y, sample_weight, groups, privacy_unit)

    @final
    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, privacy_unit: Any) -> Self:
        """Fit a whole data set. A failure before anything is asked leaves the model as it was."""
        before, charge = vars(self).copy(), reservation_for(self)
        try:
            # Validate.
            check_parameters(self)
            # Before there is a number of rows, delta is at most this.
            self._declare(None)
            unit = PrivacyUnit.ROW if privacy_unit is None else PrivacyUnit.DECLARED
            charge.reserve(self._claim(unit), begins=False)
            rows, dtype = self._open(X, y, sample_weight, privacy_unit)
            # Sites have settled theirs.
            if not isinstance(rows, RemoteRows):
                self._declare(rows.n_samples)
            sites = self._sites(groups, rows)

            # Plan.
            origin = EarlierModel.of(self, before)
            facts: dict[str, Any] = {"weighted": rows.weighted, "origin": origin}
            plan = self._plan(rows.n_samples, rows.sparse, sites, unit=rows.unit, **facts)
            self._check_place(rows, plan.solver)
            self._warn_of(plan)

            # Open. Nothing has been read or spent until this has succeeded.
            opened = PrivateSession(self.random_state, rows).open(rows, plan.terms)
            progress = Progress(self, rows.unit)
            if self.warm_start:
                progress.follow(self, before)
            claim = SpendBound.of_ledger(opened.ledger, plan.adjacency, plan.unit)
            charge.reserve(claim, begins=True)
        except BaseException:
            charge.cancel()
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._forget()
        self._progress = progress
        progress.seen = progress.parts.stop + rows.n_samples
        public_rng = public_generator(self.random_state)
        charge.remember(self)
        begun = rows, plan, opened, public_rng, dtype
        self._fit_part(*begun, origin=origin, sites=sites, charge=charge)
        return self

    @final
    def _fit_part(
        self,
        rows: RowStore,
        plan: FitPlan,
        opened: Opened,
        public_rng: np.random.Generator,
        dtype: np.dtype,
        *,
        origin: Origin = None,
        sites: Sites | None = None,
        charge: Reservation | None = None,
    ) -> None:
        """Precondition, solve and publish: a data set, or a part of a stream.

        ``opened`` is for these rows and no others, which nobody has asked about; ``origin`` is the
        model to start from, and ``sites`` are where rows lie, if not all together.
        """
        progress, solver, (oracle, ledger) = self._progress, plan.solver, opened
        n = rows.n_samples
        # Until there is more to say, the whole budget counts as spent.
        progress.parts.open(n, ledger)
        announced = Announcements(self, ledger, n, progress)
        self._publish_receipt()
        try:
            announced.begin(callbacks=not progress.streaming)
            oracle.note("total weight of the rows")
            total = self._total_weight(oracle, n, plan.total_weight) if plan.total_weight else n
            bounds = self._bounds_of_part(oracle, plan, total)
            problem = self._stated(total, bounds, sparse=rows.sparse, weighted=rows.weighted)
            problem = replace(problem, sites=sites, actual_rows=None if total == n else n)
            problem = replace(problem, whole_units=rows.whole_units)
            if origin is not None:
                problem = replace(problem, initial=origin.start(problem))

            # Precondition.
            if plan.preconditioner is not None:
                asked = oracle.for_problem(problem)
                oracle.note("coordinates of the features")
                known = None if origin is None else origin.coordinates(bounds)
                problem = plan.preconditioner.prepare(problem, asked, public_rng, known)
            if plan.class_counts:
                oracle.note("frequencies of the classes")
                problem = with_class_prior(problem, oracle, balanced=self._balanced)
            if solver.counts_rows:
                problem = problem.by_rows()

            # Solve, and bring scores to their scale.
            asked, temperature = oracle.for_problem(problem), plan.temperature
            if temperature is not None:
                temperature = temperature.settled(problem)
                asked = asked.within(oracle.budget.fraction(1 - temperature.share))
            oracle.note("coefficients")
            solution = solver.solve(problem, asked, public_rng)
            if temperature is not None:
                oracle.note("scale of the scores")
                w = temperature.apply(problem, oracle, solution.w)
                solution = replace(solution, w=w)

            # Publish.
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
                told = ledger.receipt(), ledger.spent(), plan.adjacency
                charge.settle(Receipt(*told, unit=plan.unit))
            # Last, because callbacks may raise.
            announced.end()

    # Validation.

    @final
    def _open(
        self, X: Any, y: Any, sample_weight: Any = None, privacy_unit: Any = None
    ) -> tuple[RowStore, np.dtype]:
        """Validate the data, and let the kernel lay them in a row store."""
        name = type(self).__name__
        if isinstance(X, DaskSites):
            if y is not None:
                raise ValueError(f"{name} needs y=None when X is DaskSites, which hold targets.")
            if sample_weight is not None:
                raise ValueError(
                    f"{name} needs sample_weight=None when X is DaskSites, whose loaders return "
                    "pairs (X, y)."
                )
            if isinf(self.epsilon):
                raise ValueError(
                    f"{name} needs a finite epsilon when X is DaskSites, which keep accounts of "
                    "their own, got epsilon=inf. Pass arrays and groups to compare with."
                )
            self.delta_ = X.delta if self.delta is None else self.delta_
            budget = self.epsilon, self.delta_, Adjacency(self.adjacency)
            remote = X.opened(self._prepare_targets(None), *budget)
            if (remote.unit is PrivacyUnit.DECLARED) != (privacy_unit is True) or not (
                privacy_unit is None or privacy_unit is True
            ):
                raise ValueError(
                    f"{name} needs privacy_unit=True with DaskSites whose loaders return "
                    "(X, y, labels), and None with those that return (X, y)."
                )
            return self._named(remote), remote.dtype
        if isinstance(X, Chunks):
            if y is not None:
                raise ValueError(f"{name} needs y=None when X is Chunks, which hold the targets.")
            if sample_weight is not None:
                raise ValueError(
                    f"{name} needs sample_weight=None when X is Chunks, which deliver weights as "
                    "the third part of (X_chunk, y_chunk, weight_chunk)."
                )
            if not (privacy_unit is None or privacy_unit is True):
                raise ValueError(
                    f"{name} needs privacy_unit=True when X is Chunks, which deliver labels as the "
                    "fourth part of (X_chunk, y_chunk, weight_chunk or None, label_chunk), got a "
                    f"{type(privacy_unit).__name__}."
                )
            encode = self._prepare_targets(None)
            facts: dict[str, Any] = {"tables": self._several_targets, "privacy_unit": privacy_unit}
            rows = row_store(X, None, encode, None, self.max_weight, **facts)
            self._target_names = None
            return self._named(rows), np.dtype(np.float64)
        if any(map(is_collection, (X, y, sample_weight, privacy_unit))):
            # Where classes are to be read off y, its workers do.
            found = labels_of(y) if getattr(self, "classes", ()) is None else None
            encode = self._prepare_targets(found)
            facts = {"tables": self._several_targets, "privacy_unit": privacy_unit}
            collected: Any = row_store(X, y, encode, sample_weight, self.max_weight, **facts)
            self._target_names = getattr(y, "columns", None)
            return self._named(collected), collected.dtype
        units = None
        if privacy_unit is not None:
            units = PrivacyUnits.of(privacy_unit)
            units.check(X, y, sample_weight)
        with telling_sizes(units is None):
            return self._open_arrays(X, y, sample_weight, units)

    @property
    def _takes_tables(self) -> bool:
        """True if several targets can be fitted at once, with these settings."""
        return self._several_targets

    @final
    def _open_arrays(
        self, X: Any, y: Any, sample_weight: Any, units: PrivacyUnits | None
    ) -> tuple[RowStore, np.dtype]:
        columns = redacted(columns_of, y)
        # For settings of one target a table of one column is a vector that was passed as one.
        table = self._takes_tables if columns == 1 else self._several_targets and bool(columns)
        if not table and (columns or 1) > 1:
            instead = " or use DPLinearRegression," if is_regressor(self) else ""
            raise ValueError(
                f"{type(self).__name__} needs one target a row, in a vector, got a table of "
                f"{columns} columns. Fit one column at a time,{instead} each fit with a part of "
                "the budget."
            )
        self._target_names = redacted(_get_feature_names, y) if table else None
        X, y = redacted(validate_data, self, X, y, multi_output=table, **ACCEPTED)
        self._target_columns = columns_of(y)
        with strict_checks():
            encode = self._prepare_targets(y)
        return row_store(X, y, encode, sample_weight, self.max_weight, units), X.dtype

    @final
    def _sites(self, groups: Any, rows: RowStore) -> Sites | None:
        if isinstance(rows, RemoteRows):
            if groups is not None:
                raise ValueError(
                    f"{type(self).__name__} needs groups=None when X is DaskSites, which name the "
                    "sites."
                )
            return rows.sites
        if groups is not None and rows.unit is not PrivacyUnit.ROW:
            raise ValueError(
                f"{type(self).__name__} needs groups=None with privacy_unit, as the rows of a unit "
                "may lie at several sites; got both. Leave one of them out."
            )
        if groups is not None and isinstance(rows, DaskRows):
            raise ValueError(
                f"{type(self).__name__} needs groups=None when X is a dask collection. Pass "
                "DaskSites, which keep the rows of each site where they lie, or arrays along with "
                "groups."
            )
        return self._sites_of(groups, rows.n_samples)

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
    def _check_place(self, rows: RowStore, solver: Solver) -> None:
        """Refuse a solver that cannot take rows where they lie."""
        if isinstance(rows, DaskRows) and (solver.federated or solver.in_order):
            raise ValueError(
                f"{type(self).__name__} needs arrays, not dask collections, with a solver that "
                "takes rows one after another or by sites; use another one, such as 'gd'."
            )
        if (
            solver.infers
            and rows.unit is PrivacyUnit.DECLARED
            and not isinstance(rows, ResidentRows)
        ):
            raise ValueError(
                f"{type(self).__name__} needs arrays or CSR matrices, not chunks or dask "
                "collections, with privacy_unit and intervals, as errors follow from the sums of "
                "each privacy unit, whose rows may lie anywhere. Use another solver, such as "
                "'auto', or pass rows in memory."
            )
        if isinstance(rows, RemoteRows) and solver.trusted_party is not None:
            raise ValueError(
                f"{type(self).__name__} needs DDA(noise='local') without subsampling for sites "
                f"on workers, got a solver that trusts {solver.trusted_party}."
            )

    @final
    def _named(self, rows: Any) -> RowStore:
        self._target_columns = rows.target_columns
        self.n_features_in_ = rows.n_features
        self.__dict__.pop("feature_names_in_", None)
        if rows.feature_names is not None:
            self.feature_names_in_ = np.array(rows.feature_names, dtype=object)
        return rows

    # The plan, and the problem that it is about.

    @final
    def _declare(self, n_samples: int | None) -> None:
        """Settle delta, by the number of rows where it is not given."""
        self.delta_ = delta_for(self.delta, n_samples)

    @final
    def _warn_of(self, plan: FitPlan) -> None:
        """Say what is known before a fit to be of little use."""
        warn_of_promise(plan.estimator, self.epsilon, self.delta_, plan.n_samples)
        if plan.assumption is not None:
            warn_user(f"{plan.estimator}: {plan.assumption}", UserWarning)
        if (verdict := plan.hopeless()) is not None:
            warn_user(verdict, BudgetWarning)

    @final
    def _claim(self, unit: PrivacyUnit = PrivacyUnit.ROW) -> SpendBound:
        """The most that a fit may spend, as far as parameters tell, before there are data."""
        constraint = getattr(self, "constraint", None)
        calculus: Calculus | None = PureDP()
        if self.delta != 0:
            calculus = settled_calculus(self.solver, constraint, selects=self._may_select)
        if calculus is not None and unit is PrivacyUnit.DECLARED:
            calculus = calculus.for_units()
        delta = getattr(self, "delta_", delta_for(self.delta, None))
        return SpendBound(self.epsilon, delta, calculus, Adjacency(self.adjacency), unit)

    @final
    def _plan(
        self,
        n_samples: int,
        sparse: bool,
        sites: Sites | None = None,
        *,
        weighted: bool = False,
        unit: PrivacyUnit = PrivacyUnit.ROW,
        block: bool = False,
        origin: Origin = None,
        found: RowBounds | None = None,
    ) -> FitPlan:
        """Plan of a fit of so many rows; refuses what cannot be done.

        Bounds may have to be paid for; whether the problem can be taken does not depend on them,
        so others stand in. ``block`` says that the rows are a block of a stream, ``origin`` is the
        model to start from, and ``found`` are the bounds that an earlier part has paid for.
        """
        outline = replace(self._outline(n_samples, sparse, weighted, found), sites=sites)
        missing = self._bounds_to_find if found is None else ()
        # Earlier parts of a stream may have been too small to tell.
        if found is not None and found.scaling is None and "data_norm" in self._bounds_to_find:
            missing = ("data_norm",) if finds_columns(self, outline) == COLUMNS else ()
        sought = "target_bounds" in self._bounds_to_find
        if found is not None and sought and not seen_targets(found.target):
            missing = (*missing, "target_bounds")
        bounds = outline.bounds if found is None else found
        known = origin is not None and not missing and origin.coordinates(bounds) is not None
        facts: dict[str, Any] = {"weighted": weighted, "unit": unit, "block": block}
        facts |= {"known": known, "anew": found is None, "started": origin is not None}
        return plan_fit(self, outline, missing=missing, **facts)

    @final
    def _tell_columns(self, n_features: int) -> None:
        """Settle the number of features of rows that are not there yet."""
        self.n_features_in_ = n_features
        if isinstance(self.data_bounds, Mapping) and len(self.data_bounds) == n_features:
            # The columns are those that have bounds; their order does not matter to a plan.
            self.feature_names_in_ = np.array(list(self.data_bounds), dtype=object)

    @final
    def _plan_beforehand(
        self,
        n_samples: int,
        n_features: int,
        *,
        sparse: bool,
        weighted: bool,
        classes: Any,
        n_targets: int | None,
        groups: Any,
        unit: PrivacyUnit,
    ) -> FitPlan:
        """Plan of a call of ``fit`` with rows of such public facts, by a copy of this model."""
        check_parameters(self)
        probe = copy(self)
        probe._tell_columns(n_features)
        probe._tell_classes(classes)
        if n_targets is not None and not self._several_targets:
            raise ValueError(
                f"plan needs n_targets=None for {type(self).__name__}, which takes one target a "
                f"row, got {n_targets}."
            )
        probe._target_columns = n_targets
        probe._declare(n_samples)
        sites = self._sites_of(groups, n_samples)
        origin = EarlierModel.of(probe, dict(vars(self)))
        return probe._plan(n_samples, sparse, sites, weighted=weighted, unit=unit, origin=origin)

    @final
    def _outline(
        self, n_samples: int, sparse: bool, weighted: bool, found: RowBounds | None = None
    ) -> Problem:
        """The problem of so many rows, with stand-ins for bounds neither given nor found."""
        bounds = self._given_bounds(sparse) if found is None else found
        return self._stated(n_samples, bounds, sparse=sparse, weighted=weighted)

    @final
    def _stated(
        self, n_samples: int, bounds: RowBounds, *, sparse: bool, weighted: bool
    ) -> Problem:
        """The problem to solve, for rows that have weights in units of ``max_weight`` or none."""
        problem = replace(self._problem(n_samples, bounds), sparse=sparse)
        if bounds.scaling is not None and problem.tied_to_coordinates:
            raise ValueError(
                f"{type(self).__name__} needs an l2 penalty or none, and no constraint, with "
                "data_bounds, because others would be about columns in units that are not yours, "
                f"got {problem.penalty} and {problem.constraint}. Put BoundsScaler in front of the "
                "model instead."
            )
        if bounds.scaling is not None and self._penalty_given:
            # It is about coefficients of the features as they come.
            penalty = Tikhonov.of(problem.penalty, bounds.scaling.factor)
            problem = replace(problem, penalty=penalty)
        if not weighted or self._penalty_beside_mean:
            return problem
        penalty = problem.penalty.scaled(1.0 / float(self.max_weight))
        return replace(problem, penalty=penalty)

    @final
    def _total_weight(self, oracle: Oracle, n_samples: int, share: float) -> int:
        """Noisy total weight of so many rows, as a number of rows of the largest weight.

        With it, a solver knows how much evidence there is and how long gradients are.
        """
        spend = oracle.budget.fraction(share).whole()
        total, noise = oracle.total_weight(spend=spend)
        least = ceil(max(noise, _LEAST_TOTAL * n_samples))
        return min(n_samples, max(least, round(float(total))))

    def _bounds_of_part(self, oracle: Oracle, plan: FitPlan, n_samples: int) -> RowBounds:
        """Bounds of a data set or of a part of a stream, whose later parts keep those found."""
        released = self._progress.released
        if released is None:
            return self._row_bounds(oracle, plan, n_samples)
        kept = released.bounds
        if COLUMNS not in dict(plan.bounds):
            return kept
        of_rows = self._found_row_bounds(oracle, plan, n_samples)
        return replace(of_rows, target=kept.target, feature_bound=kept.feature_bound)

    @final
    def _given_scaling(self, sparse: bool) -> ColumnScaling | None:
        """Scale of the features by bounds that are known, if any are."""
        if self.data_bounds is None:
            return None
        name, names = type(self).__name__, getattr(self, "feature_names_in_", None)
        if self.data_norm is not None:
            raise ValueError(
                f"{name} needs data_norm=None with data_bounds, which bound the rows feature by "
                "feature, got both. Leave one of them out."
            )
        facts: dict[str, Any] = {"parameter": "data_bounds", "names": names}
        bounds = ColumnBounds.of(name, self.data_bounds, self.n_features_in_, **facts)
        return ColumnScaling.of_bounds(bounds, sparse=sparse)

    @final
    def _given_row_bounds(self, sparse: bool) -> RowBounds:
        """Bounds of features that are given, with stand-ins for those that are not."""
        scaling = self._given_scaling(sparse)
        if scaling is not None:
            # All rows on that scale are within.
            norm = sqrt(self.n_features_in_)
        else:
            norm = 1.0 if self.data_norm is None else float(self.data_norm)
        return RowBounds(norm, self._intercept_value(norm), scaling=scaling)

    @final
    def _found_row_bounds(self, oracle: Oracle, plan: FitPlan, n_samples: int) -> RowBounds:
        """Bounds of features that are given, or private estimates."""
        if not plan.delta:
            return self._given_row_bounds(plan.sparse)
        n, d, shares = n_samples, self.n_features_in_, dict(plan.bounds)
        scaling, norm = self._given_scaling(plan.sparse), self.data_norm
        reserve = oracle.budget.fraction(RANGE_SHARE)
        share = shares.get(COLUMNS, shares.get(SIZES))
        whole, ranges = oracle.budget.fraction(share or RANGE_SHARE), RANGES_OF_SCALE
        budget, moments = whole.fraction(ranges), whole.fraction(1 - ranges).whole()
        facts = oracle.adjacency, budget, n, d
        # Weighted rows may turn out to weigh too little together.
        if COLUMNS in shares and Search.planned(*facts, tail=TAIL, within=False) is None:
            share = None
        if SIZES in shares and tail_of_sizes(*facts) > MOST_BEYOND:
            share = None
        if share is not None:
            if COLUMNS in shares:
                found = private_column_bounds(oracle, budget, n, d, tail=TAIL, stretch=STRETCH)
            else:
                # Rougher sizes hide more of the columns that are seldom not zero. Where nothing but
                # the commonest of them is seen anyway, ranges of large columns are worth that.
                third = whole.fraction(1 / 3)
                rough = tail_of_sizes(*facts) > HIDES_THE_SELDOM
                if rough := rough and tail_of_sizes(facts[0], third, n, d) <= MOST_BEYOND / 2:
                    budget, moments = third, third.whole()
                found = private_column_sizes(oracle, budget, n, d)
                if rough:
                    found = private_large_columns(oracle, found, n, third)
            if plan.weighted:
                # Moments would count all rows alike.
                scaling = ColumnScaling.of_bounds(found, sparse=plan.sparse)
            else:
                mean, var = private_column_moments(oracle, found, n, moments)
                scaling = ColumnScaling.standard(found, mean, np.sqrt(var), sparse=plan.sparse)
        if norm is None:
            norm = private_data_norm(oracle, reserve, n, d, scaling)
        norm = float(norm)
        return RowBounds(norm, self._intercept_value(norm), scaling=scaling)

    @final
    def _intercept_value(self, data_norm: float) -> float:
        return self.intercept_scaling * data_norm if self.fit_intercept else 0.0

    # What is published.

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
        found = None
        if solution.uncertainty is not None and hasattr(type(self), "inference_"):
            found = published_inference(self, problem, solution, plan.unit.plural)
        self._publish(problem, solution, dtype)
        # In the place of the class's own, which refuses.
        self.__dict__.pop("inference_", None)
        if found is not None:
            self.__dict__["inference_"] = found
        self.plan_ = plan
        self._publish_bounds(bounds)
        w = solution.w.reshape(problem.n_rows, -1)
        # Few fits are followed by one that uses their coordinates, which take memory.
        kept = self._progress.streaming or self.warm_start
        row_map = problem.bounds.row_map if kept else None
        self._progress.released = Released(bounds, *problem.in_user_coordinates(w), row_map)

    @final
    def _publish_bounds(self, bounds: RowBounds) -> None:
        self.data_norm_ = bounds.data_norm
        self.data_bounds_ = None if bounds.scaling is None else bounds.scaling.clipped_to

    @final
    def _publish_receipt(self) -> None:
        receipt, self.n_samples_seen_ = self._progress.receipt(), self._progress.seen
        self.privacy_unit_ = str(receipt.unit)
        self.privacy_ledger_ = PrivacyLedger(receipt.events)
        self.privacy_spent_ = receipt.spent

    @final
    def _forget(self) -> None:
        """Drop what an earlier fit published, so that no old model meets a new receipt."""
        self.__dict__.pop("_session", None)
        kept = {"n_features_in_", "feature_names_in_", "classes_", "delta_"}
        published = [a for a in vars(self) if a.endswith("_") and not a.startswith("_")]
        # Receipts last: at no moment there is a model without one.
        for name in sorted(published, key=lambda a: a.startswith("privacy_")):
            if name not in kept:
                delattr(self, name)

    @final
    def to_sklearn(self) -> Any:
        """The published model as one of scikit-learn's, to be served where skdp is not installed.

        Predictions are the same. Where the fit has brought columns to ranges, or predictions are
        clipped, steps that do so come with it. Nothing else is: no budget, no receipt, no seed.

        Returns
        -------
        estimator
            A fitted ``LogisticRegression``, ``LinearSVC`` or ``LinearRegression``, in a
            ``Pipeline`` behind a step that holds columns to ``data_bounds_`` if there are any
            (dense rows only), and in a ``TransformedTargetRegressor`` if predictions are clipped.
        """
        check_is_fitted(self)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_.copy()
        names = getattr(self, "feature_names_in_", None)
        return plain_model(
            self._plain(coef), self.n_features_in_, names, getattr(self, "data_bounds_", None)
        )

    @final
    def sparsify(self) -> Self:
        """Store ``coef_`` sparsely, which saves memory where most coefficients are zero.

        Predictions stay the same. Further fits store it densely again.

        Returns
        -------
        self
            With ``coef_`` a CSR array of two dimensions.
        """
        check_is_fitted(self)
        if not sp.issparse(self.coef_):
            self.coef_ = sp.csr_array(np.atleast_2d(self.coef_))
        return self

    @final
    def densify(self) -> Self:
        """Store ``coef_`` densely, as after a fit.

        Returns
        -------
        self
            With ``coef_`` an ndarray of the shape that it has after a fit.
        """
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            dense = self.coef_.toarray()
            # Regressors have one row, and say so by an intercept that is a number.
            self.coef_ = dense[0] if np.ndim(self.intercept_) == 0 else dense
        return self

    @final
    @strict_checks()
    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        if isinstance(X, Chunks):
            raise ValueError(
                f"{type(self).__name__} needs the rows themselves to predict, got Chunks; call it "
                "once with each X_chunk."
            )
        X = redacted(validate_data, self, X, reset=False, **ACCEPTED)
        # Models that are set up by hand, or are of older checkpoints, have none.
        within = getattr(self, "data_bounds_", None)
        if within is not None:
            X = clipped(X, *within)
        scores = X @ self.coef_.T
        if sp.issparse(self.coef_):
            scores = scores.toarray() if sp.issparse(scores) else scores
            # Those of a regressor are one each.
            scores = scores[:, 0] if np.ndim(self.intercept_) == 0 else scores
        return scores + self.intercept_

    # Facts that subclasses state.

    @property
    @final
    def _batch_solver(self) -> str | Solver:
        """Solver, or its name, of a whole data set or of a block of a stream."""
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
    def _plain(self, coef: np.ndarray) -> Any:
        """Scikit-learn's estimator with these coefficients and all else that predictions take."""

    @abstractmethod
    def _given_bounds(self, sparse: bool) -> RowBounds:
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
    def _row_bounds(self, oracle: Oracle, plan: FitPlan, n_samples: int) -> RowBounds:
        """Given bounds, or private estimates of those that are missing."""

    @abstractmethod
    def _problem(self, n_samples: int, bounds: RowBounds) -> Problem:
        """The problem to solve, a function of parameters and public bounds."""

    @abstractmethod
    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        """Set the public attributes from a released solution."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __getstate__(self) -> dict[str, Any]:
        # Rows and noise stay behind when a model travels, and so does a seed, which reproduces the
        # noise.
        state = dict(super().__getstate__())
        state.pop("_session", None)
        return state | {"random_state": None} if "_progress" in state else state

    @final
    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params
            Values by name; ``part__name`` for those of a part, such as a solver.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no such parameter, with what to do instead.
        """
        try:
            super().set_params(**params)
        except ValueError:
            refusal = refused_parameter(type(self), params)
            if refusal is None:
                raise
        else:
            return self
        raise ValueError(refusal)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
