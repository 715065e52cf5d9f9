"""``fit`` on one page: validate, plan, open, run the stages of the plan, publish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from inspect import signature
from math import sqrt
from typing import Any, ClassVar, Self, final

import numpy as np

from ..docstrings import complete
from ..exceptions import BudgetWarning, warn_user
from ..privacy.accounting.calculus import Calculus, PureDP
from ..privacy.accounting.default_delta import delta_for
from ..privacy.accounting.ledger import Ledger
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.lock import locked
from ..privacy.oracle import Oracle
from ..privacy.oracle_factory import noise_for, open_rows
from ..privacy.randomness import public_generator
from ..privacy.rows.base import RowStore
from ..privacy.sites.remote_rows import RemoteRows
from ..problem.bounds import RowBounds
from ..problem.column_bounds import ColumnBounds, ColumnScaling, by_index
from ..problem.constraints import Constraint, Unconstrained
from ..problem.losses import Loss
from ..problem.penalties import Penalty, Tikhonov
from ..problem.problem import Problem
from ..problem.sites import Sites
from ..reporting.budget_warnings import warn_of_promise
from ..reporting.composition_verdicts import warn_of_steps_around
from ..reporting.open_budgets import BudgetedEstimator, Reservation, reservation_for, rollback
from ..reporting.receipts import Receipt, SpendBound
from ..reporting.training_targets import remember_targets
from ..solvers import SOLVERS, Solution, Solver
from ..solvers.preconditioning import OPTIONS, Preconditioner
from ..validation import (
    EXACT_SOLVERS,
    INFINITE,
    check_parameters,
    count,
    interval,
    one_of,
    refused_parameter,
    shown,
)
from .announcements import Announcements, CallbackSupportMixin, with_callbacks
from .fit_history import DISJOINT, EarlierModel, FitHistory
from .fit_plan import FitPlan, plan_fit
from .inference import NoInference, WithInference, published_inference
from .opening import DataOpener
from .publishing import PublishedModel
from .range_finding import unseen_columns
from .refusals import of_bounds, of_place, of_scaled_columns, refuse
from .solver_choice import settled_calculus
from .stages import Case, ColumnRanges, FitState, Origin

# Columns that a warning names.
_MOST_NAMES = 20

# Published before rows are asked.
_OF_THIS_FIT = frozenset({"n_features_in_", "feature_names_in_", "classes_", "delta_"})


def solvers_but(*unfit: str) -> list[Any]:
    """Valid values of the parameter ``solver``: all that suit the estimator's default loss.

    Parameters
    ----------
    *unfit : str
        Names that are refused later, in the words of the solver.
    """
    return [one_of("auto", *SOLVERS, unlisted=unfit, advice=EXACT_SOLVERS), Solver]


class PrivateLinearModel(DataOpener, PublishedModel, CallbackSupportMixin, BudgetedEstimator, ABC):
    """A linear model that is fitted privately, to a whole data set or to parts of a stream.

    The order of things is written here. A subclass stores its parameters, encodes targets, states
    its problem and reads the released solution; it never sees a row after encoding, and never a
    source of noise.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget, in [1e-10, 1e9]. About 1 is a common choice; above 10 promises little.
        ``float('inf')`` fits along the same path without noise, and without privacy.
    delta : float, optional
        Probability-like slack of the guarantee, in (0, 1). By default the smaller of 1e-5 and
        n^-1.1, n being the number of rows of a fit or the ``horizon`` of a stream, 1e-5 if that
        is not declared; ``delta_`` says which.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is neither penalised nor constrained.
    intercept_scaling : float, default=0.3
        Value of the constant column behind the intercept, in units of the row norm.
    data_norm : float, optional
        Bound on the l2 norm of the rows of X, known without looking at them. Longer rows are
        scaled down to it during the fit. If None, the fit looks privately for the range of each
        column that ``data_bounds`` does not give, for 10 to 20 % of the budget, and for a norm of
        the rows on that scale, for 4 %. Where noise hides a range, its column is held to (-1, 1);
        a warning says so before rows are read, and ``unseen_columns_`` after the fit. No ranges are
        looked for in sparse rows of more than a thousand columns, and with an l1 penalty or a
        constraint, which are about your units.
    data_bounds : (low, high) or mapping, optional
        Ranges of the columns that are known without looking at the rows, for example from a code
        book: a number for all columns or one for each, or a dictionary of pairs by column name or
        index, with None for ranges that are to be found, as are those of columns it leaves out.
        Known ranges cost nothing. Columns are brought to one scale; values beyond count as the
        nearest end, in the fit and in predictions. Not together with ``data_norm``, an l1 penalty
        or a constraint.
    max_weight : float, default=1.0
        Weights in ``sample_weight`` count up to this, in [1e-50, 1e50]; larger ones count as this
        one, without a warning, which would tell of them. Weights of a survey, which say how many
        people a row stands for, are all larger than 1: pass a bound on them here, or all rows
        count alike. It is public: a row of this weight counts as much as a row without weights,
        and noise is in proportion to it, so that most weights should be near it. Without weights
        it means nothing.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        What neighbouring data sets are: one row replaced by any other, or one row's contribution
        removed; a row of zeros or of weight 0 is still there. Replace-one is the stronger promise.
    constraint : Constraint, optional
        A set that the coefficients must lie in. The solver 'frank_wolfe' needs one that is bounded,
        and without a constraint takes a ball of radius ``3 sqrt(n_features) / data_norm``.
    horizon : int, optional
        Number of rows that ``partial_fit`` is going to be given in all, if it is known beforehand.
        It is public. Streams are cut so that the model is at its best there; rows beyond are
        taken, too, but by ``'ftrl'``, ``'frank_wolfe'`` and ``buffer=False``, which have shared out
        their budget among so many. ``fit`` does not use it.
    buffer : bool, default=True
        Whether ``partial_fit`` may keep rows until a block of them is full. If not,
        ``solver='auto'`` takes a method that keeps sums alone, which is less accurate.
    max_visits : int, default=1
        Most parts of a stream in which a person counts whom ``partial_fit`` is told of by
        ``privacy_unit``: blocks, batches or calls, whatever is answered by itself. All of them
        together have the budget. Rows of a person in further parts weigh nothing, silently.
    warm_start : bool or 'disjoint', default=False
        Whether ``fit`` starts from ``coef_`` and ``intercept_``, if they are there: from an earlier
        fit, in whose private coordinates the rows are then looked at, or set by you from what is
        public. It spends the whole budget anew, and the receipt adds up both, since the rows may be
        the same. ``'disjoint'`` starts in the same way and declares that the rows of each further
        fit, or of a stream after a fit, have no row in common with those before; then the largest
        spend counts. Nobody checks that. Solvers that fit in one shot have no use for a start.
    verbose : int, default=0
        Whether to print, while fitting, what is asked and what has been spent, all of which is
        public: 1 for a line at each new kind of query and each tenth of the budget, 2 for a
        line at each query.
    random_state : int, RandomState, Generator or None, default=None
        None draws the secret noise from the operating system. Anything else makes the fit
        reproducible, for tests, and warns that the guarantee does not hold against whoever knows
        the seed. Pickles of a fitted model do not contain it.

    Attributes
    ----------
    data_norm_ : float
        The bound on the norms of rows that the fit has used, given or privately found; of rows on
        the scale of ``data_bounds_``, if there is one.
    data_bounds_ : tuple of ndarray or None
        Low and high ends of the range of each column that the fit has used, given or privately
        found. Predictions hold features to them. None if columns were used as they come.
    unseen_columns_ : list
        Columns, by name or index, whose ranges were looked for and not found; codes of 0, 1 and -1
        are among them, and need none.
    plan_ : FitPlan
        What was settled before rows were asked, see :func:`skdp.plan`; of a stream, that of its
        latest part.
    delta_ : float
        Slack of the guarantee: ``delta``, or what it is by default.
    privacy_unit_ : str
        What is protected: ``'row'``, or ``'privacy_unit'`` for all rows of a person.
    privacy_spent_ : PrivacySpent
        Named tuple ``(epsilon, delta)`` of what the fit has spent; of a stream, on the condition
        that rows of each call are new records, or named by ``privacy_unit``.
    privacy_ledger_ : tuple of events
        The receipt. Each has ``mechanism``, ``query``, ``count``, ``sensitivity`` and
        ``noise_scale``; the spend can be recomputed from these alone.
    n_iter_ : int
        Number of iterations.
    n_samples_seen_ : int
        Number of rows that the model has been given.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    SeededNoiseWarning
        If ``random_state`` is not None.
    UserWarning
        If the budget is too small to find a bound that was not given. A fixed value replaces it.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [interval(1e-10, 1e9, "both"), INFINITE],
        "delta": [None, interval(0, 1, "left")],
        "adjacency": [one_of(*(a.value for a in Adjacency))],
        "max_weight": [interval(1e-50, 1e50, "both")],
        "data_norm": [None, interval(1e-100, 1e100, "both")],
        "alpha": [interval(0, None, "left")],
        "positive": ["boolean"],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [interval(1e-20, 1e20, "both")],
        "solver": solvers_but(),
        "constraint": [None, Constraint],
        "precondition": [None, one_of(*OPTIONS), Preconditioner],
        "horizon": [None, count()],
        "buffer": ["boolean"],
        "max_visits": [count()],
        "warm_start": ["boolean", one_of(DISJOINT)],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    data_norm: float | None
    # Not a parameter where the penalty is about the features in their own units.
    data_bounds: Any = None
    fit_intercept: bool
    intercept_scaling: float
    solver: str | Solver
    # Not a parameter of regressors.
    class_weight: dict[Any, float] | str | None = None
    # Not a parameter where coefficients are known to be few.
    constraint: Constraint | None = None
    precondition: str | Preconditioner | None
    horizon: int | None
    buffer: bool
    max_visits: int
    warm_start: bool | str
    verbose: int
    random_state: Any

    # Whether the default solver may be one that selects features, which is not Gaussian.
    _may_select: ClassVar[bool] = False
    # Whether targets are counts or rates, whose means have a log link.
    _counts: ClassVar[bool] = False
    # Whether the penalty is added to the mean loss as it is, and not to the sum of losses.
    _penalty_beside_mean: ClassVar[bool] = False

    # What goes on from one call of partial_fit to the next; see skdp.estimators.partial_fit.
    _session: Any

    plan_: FitPlan
    inference_ = NoInference()

    @final
    @with_callbacks
    @locked
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        sites: Any = None,
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
        sites : array-like of shape (n_samples,), optional
            Label of the site that keeps each row, such as a hospital, for the solver ``'dda'``,
            which is the default then. Labels and numbers of rows of sites are public. What is
            protected is a row; for people of several rows there is ``privacy_unit``.
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
        charge = reservation_for(self)
        with rollback(self, charge) as before:
            # Validate.
            check_parameters(self)
            # Before there is a number of rows, delta is at most this.
            self.delta_ = delta_for(self.delta, None)
            unit = PrivacyUnit.ROW if privacy_unit is None else PrivacyUnit.DECLARED
            charge.reserve(self._claim(unit), begins=False)
            rows, dtype = self._open(X, y, sample_weight, privacy_unit)
            # Sites have settled theirs.
            if not isinstance(rows, RemoteRows):
                self.delta_ = delta_for(self.delta, rows.n_samples)
            places = self._sites(sites, rows)

            # Plan.
            origin = EarlierModel.of(self, before)
            facts: dict[str, Any] = {"weighted": rows.weighted, "origin": origin}
            plan = self._plan(rows.n_samples, rows.sparse, places, unit=rows.unit, **facts)
            refuse(self, of_place(rows, plan.solver))
            self._warn_of(plan)

            # Open. Nothing has been read or spent until this has succeeded.
            oracle, ledger = open_rows(rows, plan, noise_for(self.random_state, rows))
            progress = FitHistory(self, rows.unit)
            if self.warm_start:
                progress.follow(self, before)
            claim = SpendBound.of_ledger(ledger, plan.adjacency, plan.unit)
            charge.reserve(claim, begins=True)
        self._begin_anew()
        self._progress = progress
        progress.seen = progress.parts.stop + rows.n_samples
        public_rng = public_generator(self.random_state)
        charge.remember(self)
        remember_targets(self, y)
        begun = rows, plan, (oracle, ledger), public_rng, dtype
        self._fit_part(*begun, origin=origin, sites=places, charge=charge)
        return self

    @final
    def _fit_part(
        self,
        rows: RowStore,
        plan: FitPlan,
        opened: tuple[Oracle, Ledger],
        public_rng: np.random.Generator,
        dtype: np.dtype,
        *,
        origin: Origin = None,
        sites: Sites | None = None,
        charge: Reservation | None = None,
    ) -> None:
        """Run the stages of a plan and publish: a data set, or a part of a stream.

        ``opened`` is for these rows and no others, which nobody has asked about; ``origin`` is the
        model to start from, and ``sites`` are where rows lie, if not all together.
        """
        progress, (oracle, ledger), n = self._progress, opened, rows.n_samples
        # Until there is more to say, the whole budget counts as spent.
        progress.parts.open(n, ledger)
        announced = Announcements(self, ledger, n, progress)
        self._publish_receipt()
        try:
            announced.begin(callbacks=not progress.streaming)
            released = progress.released
            state = FitState(
                model=self,
                plan=plan,
                # Later parts of a stream keep the bounds that earlier ones have found.
                bounds=self._given_bounds(rows.sparse) if released is None else released.bounds,
                budget=oracle.budget,
                rng=public_rng,
                origin=origin,
                sites=sites,
                whole_units=rows.whole_units,
                n_samples=n,
            )
            for stage in plan.stages:
                oracle.note(stage.purpose)
                stage.run(state, oracle)
            self._release(plan, state.problem, state.bounds, state.solution, dtype)
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

    # The plan, and the problem that it is about.

    @final
    def _warn_of(self, plan: FitPlan) -> None:
        """Warn of what public facts show to be of little use, before the fit."""
        warn_of_promise(plan.estimator, self.epsilon, self.delta_, plan.n_samples)
        if plan.assumption is not None:
            warn_user(f"{plan.estimator}: {plan.assumption}", UserWarning)
        said, ranges = [plan.hopeless()], plan.stage(ColumnRanges)
        if ranges is not None and ranges.outlook:
            said.append(
                f"{plan.estimator} looks for the ranges of {len(ranges.columns):,} columns, of "
                f"which {ranges.outlook} in so few rows with epsilon={plan.epsilon:g}; those are "
                "held to (-1, 1). Pass data_bounds, a dictionary with (low, high) for those whose "
                f"ranges you know, of: {self._in_words(ranges.columns)}."
            )
        if verdict := " ".join(filter(None, said)):
            warn_user(verdict, BudgetWarning)
        warn_of_steps_around(plan.unit)

    @final
    def _claim(self, unit: PrivacyUnit = PrivacyUnit.ROW) -> SpendBound:
        """The most that a fit may spend, as far as parameters tell, before there are data."""
        calculus: Calculus | None = PureDP()
        if self.delta != 0:
            calculus = settled_calculus(self.solver, self.constraint, selects=self._may_select)
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
        outline = self._stated(n_samples, found, sparse=sparse, weighted=weighted, sites=sites)
        return plan_fit(Case(self, outline, weighted, unit, origin, found, block))

    @final
    def _tell_columns(self, n_features: int) -> None:
        """Set the number of features for a plan that is made before there are rows."""
        self.n_features_in_ = n_features
        if isinstance(self.data_bounds, Mapping):
            # The columns that are named come first; their order does not matter to a plan.
            names = [name for name in self.data_bounds if isinstance(name, str)]
            if names and len(names) <= n_features:
                names += [f"another column ({j + 1})" for j in range(n_features - len(names))]
                self.feature_names_in_ = np.array(names, dtype=object)

    @final
    def _stated(
        self,
        n_samples: int,
        bounds: RowBounds | None = None,
        *,
        sparse: bool,
        weighted: bool,
        **places: Any,
    ) -> Problem:
        """The problem to solve, for rows that have weights in units of ``max_weight`` or none.

        Without ``bounds`` they are those that parameters give, and stand-ins for others. ``places``
        are facts of the problem about where rows lie, and how many there are.
        """
        bounds = self._given_bounds(sparse) if bounds is None else bounds
        loss, penalty = self._objective(n_samples, bounds)
        constraint = self._feasible_set(bounds)
        if bounds.scaling is not None:
            refuse(self, of_scaled_columns(self, penalty, constraint))
            if self._penalty_given:
                # It is about coefficients of the features as they come.
                penalty = Tikhonov.of(penalty, bounds.scaling.factor)
        if not self._penalty_given and bounds.data_norm < 1:
            # It is there for the noise, which is in proportion to the length of the rows.
            penalty = penalty.scaled(bounds.data_norm**2)
        if weighted and not self._penalty_beside_mean:
            penalty = penalty.scaled(1.0 / float(self.max_weight))
        sizes, weights = (n_samples, self.n_features_in_), self._weights()
        kind: dict[str, Any] = {"sparse": sparse, "class_weight": weights, **places}
        return Problem(loss, *sizes, bounds, penalty=penalty, constraint=constraint, **kind)

    @final
    def _known_ranges(self) -> ColumnBounds:
        """Ranges of columns that parameters give, and (-1, 1) in place of the others."""
        d = self.n_features_in_
        if self.data_bounds is None:
            return ColumnBounds(-np.ones(d), np.ones(d))
        return ColumnBounds.of(
            type(self).__name__,
            self.data_bounds,
            d,
            parameter="data_bounds",
            names=getattr(self, "feature_names_in_", None),
            partial=True,
        )

    @property
    @final
    def _unknown_columns(self) -> tuple[int, ...]:
        """Columns of which parameters give neither a range nor a bound on the norm of all."""
        if self._known_norm is not None:
            return ()
        if self.data_bounds is None:
            return tuple(range(self.n_features_in_))
        if not isinstance(self.data_bounds, Mapping):
            return ()
        d, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        known = by_index(f"{type(self).__name__} needs data_bounds", self.data_bounds, d, names)
        return tuple(j for j in range(d) if known.get(j) is None)

    @final
    def _in_words(self, columns: tuple[int, ...]) -> str:
        """Names of columns, or their indices, the first ones of many."""
        names = getattr(self, "feature_names_in_", None)
        words = [str(j) if names is None else str(names[j]) for j in columns[:_MOST_NAMES]]
        more = len(columns) - len(words)
        return ", ".join(words) + (f" and {more:,} more" if more else "")

    def _given_bounds(self, sparse: bool) -> RowBounds:
        """The bounds that parameters give, 1 and (-1, 1) standing in for those they do not."""
        scaling, norm = None, self._known_norm or 1.0
        if self.data_bounds is not None:
            refuse(self, of_bounds(self))
            scaling = ColumnScaling.of_bounds(self._known_ranges(), sparse=sparse)
            # All rows on that scale are within.
            norm = sqrt(self.n_features_in_)
        return RowBounds(norm, self._intercept_value(norm), scaling=scaling)

    @property
    def _known_norm(self) -> float | None:
        """Bound on the norms of rows that parameters give."""
        return None if self.data_norm is None else float(self.data_norm)

    @property
    @final
    def _bounds_to_find(self) -> tuple[str, ...]:
        """Names of bounds that parameters do not give."""
        targets = getattr(self, "target_bounds", ())
        known = {"data_norm": self._known_norm, "target_bounds": targets}
        return tuple(name for name, bound in known.items() if bound is None)

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
        if solution.uncertainty is not None and isinstance(self, WithInference):
            found = published_inference(self, problem, solution, plan.unit.plural)
        self._publish(problem, solution, dtype)
        # In the place of the class's own, which refuses.
        self.__dict__.pop("inference_", None)
        if found is not None:
            self.__dict__["inference_"] = found
        self.plan_ = plan
        self._publish_bounds(bounds)
        # Few fits are followed by one that uses their coordinates, which take memory.
        kept = self._progress.streaming or self.warm_start
        row_map = problem.bounds.row_map if kept else None
        model = problem.in_user_coordinates(solution.w)
        self._progress.released = EarlierModel(bounds, *model, row_map)

    @final
    def _publish_bounds(self, bounds: RowBounds) -> None:
        self.data_norm_ = bounds.data_norm
        self.data_bounds_ = None if bounds.scaling is None else bounds.scaling.clipped_to
        unseen = () if bounds.scaling is None else unseen_columns(bounds, self._unknown_columns)
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        self.unseen_columns_ = [names[j] for j in unseen]

    # Facts that subclasses state.

    @property
    def _penalty_given(self) -> bool:
        """True if the penalty is the user's, and not there for the sake of the noise alone."""
        return True

    @abstractmethod
    def _encoder_of_stream(
        self, classes: Any, *, first: bool
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Check what is public about the targets of a call, and return what encodes them.

        ``first`` says that the model has seen no row before.
        """

    def _tell_classes(self, classes: Any) -> None:
        """Set the classes for a plan that is made before there are labels, where there are any."""
        if classes is not None:
            raise ValueError(
                f"plan needs classes=None for {type(self).__name__}, which is a regressor, got "
                f"{shown(classes)}."
            )

    def _weights(self) -> tuple[float, ...] | None:
        """Weights of classes that parameters give, where there are any."""
        return None

    @abstractmethod
    def _objective(self, n_samples: int, bounds: RowBounds) -> tuple[Loss, Penalty]:
        """Loss and penalty of the problem, by parameters and public bounds."""

    def _feasible_set(self, bounds: RowBounds) -> Constraint:
        """Coefficients that parameters allow, in the units of the problem."""
        return Unconstrained() if self.constraint is None else self.constraint

    @abstractmethod
    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        """Set the public attributes from a released solution."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Those that can be constructed; their bases say what is common to several.
        if "__init__" in vars(cls):
            taken, given = signature(cls).parameters, cls._parameter_constraints
            cls._parameter_constraints = {name: given[name] for name in given if name in taken}
            complete(cls, solvers=[name for name in given["solver"][0].listed if name != "auto"])

    def __getstate__(self) -> dict[str, Any]:
        # Rows and noise stay behind when a model travels.
        return {k: v for k, v in super().__getstate__().items() if k != "_session"}

    @final
    def _begin_anew(self) -> None:
        """Drop what an earlier fit has left, but for what this one has set."""
        self.__dict__.pop("_session", None)
        self._forget(_OF_THIS_FIT)

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
