"""``fit`` and ``partial_fit``, written once: validate, bound, ask, solve, publish."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from ..federated import DaskSites
from ..preconditioning import OPTIONS, Preconditioner
from ..privacy.adjacency import Adjacency
from ..privacy.lock import run_locked
from ..privacy.randomness import SystemNoise, public_generator, secret_noise
from ..privacy.rows.base import ResidentRows, RowStore
from ..privacy.rows.chunked import ChunkedRows, Chunks
from ..privacy.rows.dask_rows import DaskRows, is_collection, labels_of
from ..privacy.rows.dense_rows import DenseRows
from ..privacy.rows.reading import in_order, redacted, strict_checks
from ..privacy.rows.sparse_rows import SparseRows
from ..privacy.rows.weights import in_units_of
from ..privacy.sites.remote_rows import RemoteRows
from ..problem.constraints import Constraint
from ..problem.sites import Sites
from ..report.open_budgets import RUN, reservation_for
from ..report.receipts import SpendBound
from ..solvers import SOLVERS, Solver
from ..validation import check_parameters, one_of
from .callbacks import CallbackSupportMixin, with_callbacks
from .fitting import FittedInParts
from .progress import DISJOINT, Progress, declared_disjoint
from .repeats import charge_repeats
from .sessions import Session, open_session
from .sparse_coefficients import SparseCoefficients
from .warm_start import EarlierModel

__all__ = ["ACCEPTED", "PrivateLinearModel"]

# Options of scikit-learn's checks of rows.
ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class PrivateLinearModel(SparseCoefficients, CallbackSupportMixin, FittedInParts, ABC):
    """Base class of all private linear models.

    A subclass stores its parameters, encodes targets, states its problem and reads the released
    solution; it never sees a row after encoding, and never a noise source or a ledger.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 1e-10, 1e9, closed="both")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "adjacency": [one_of(*(a.value for a in Adjacency))],
        "max_weight": [Interval(Real, 1e-50, 1e50, closed="both")],
        "data_norm": [None, Interval(Real, 1e-100, 1e100, closed="both")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 1e-20, 1e20, closed="both")],
        "solver": [one_of("auto", *SOLVERS), Solver],
        "constraint": [None, Constraint],
        "precondition": [None, one_of(*OPTIONS), Preconditioner],
        "horizon": [None, Interval(Integral, 1, None, closed="left")],
        "buffer": ["boolean"],
        "warm_start": ["boolean", one_of(DISJOINT)],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    random_state: Any

    feature_names_in_: np.ndarray
    _session: Session

    @final
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
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
            the partitions of X, if X is one.
        sample_weight : array-like of shape (n_samples,), float or dask array, optional
            How much each row counts, at least 0; weights beyond ``max_weight`` count as that,
            without a warning. They are as secret as the rows, and each must depend on its own row
            and public facts alone. ``Chunks`` deliver them as a third part. Without weights every
            row weighs 1 and ``max_weight`` means nothing.
        groups : array-like of shape (n_samples,), optional
            Label of the site at which each row lies, for the solver ``'dda'``, which is the
            default then. Labels and numbers of rows of sites are public.

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
        return run_locked(self, "fit", lambda: self._fit(X, y, sample_weight, groups))

    @final
    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        """Fit to a whole data set."""
        before, charge = vars(self).copy(), reservation_for(self)
        try:
            check_parameters(self)
            charge.reserve(self._claim(), begins=False)
            rows, dtype = self._open(X, y, sample_weight)
            sites = self._sites(groups, rows)
            earlier = EarlierModel.of(self, before)
            plan = self._plan(
                rows.n_samples, rows.sparse, sites, weighted=rows.weighted, origin=earlier
            )
            solver = plan.solver
            if isinstance(rows, DaskRows) and (solver.federated or solver.in_order):
                raise ValueError(
                    f"{type(self).__name__} needs arrays, not dask collections, with a solver that "
                    "takes rows one after another or by sites; use another one, such as 'gd'."
                )
            if isinstance(rows, RemoteRows) and solver.trusts is not None:
                raise ValueError(
                    f"{type(self).__name__} needs DDA(noise='local') without subsampling for sites "
                    f"on workers, got a solver that trusts {solver.trusts}."
                )
            # Sites on workers draw their own, whatever random_state says about public randomness.
            remote = isinstance(rows, RemoteRows)
            noise = SystemNoise() if remote else secret_noise(self.random_state)
            progress = Progress(self)
            if self.warm_start:
                progress.follow(self, before)
            ledger = plan.ledger()
            charge.reserve(SpendBound.of_ledger(ledger, plan.adjacency), begins=True)
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
        opened = rows, plan, ledger, noise, public_rng, dtype
        self._fit_part(*opened, origin=earlier, sites=sites, charge=charge)
        return self

    @final
    def _advance(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Take the rows of one call of ``partial_fit``, when the calls before have ended."""
        rows = X, y, classes, sample_weight
        return run_locked(self, "partial_fit", lambda: self._go_on(*rows), waits=True)

    @final
    def _go_on(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Go on with the stream, or begin one."""
        session, progress = vars(self).get("_session"), vars(self).get("_progress")
        if progress is not None:
            progress.check_unchanged(self)
        if session is None or not session.guard.in_own_process:
            return self._begin(X, y, classes, sample_weight)
        self._charge(session.claim)
        encode = self._encoder_of_stream(classes, first=False)
        weighted = self._progress.weighted
        return self._feed(
            session, self._open_call(X, y, sample_weight, encode, weighted=weighted, first=False)
        )

    @final
    def _begin(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Begin a stream, or go on with one whose session did not travel with it."""
        before, earlier = vars(self).copy(), vars(self).get("_progress")
        if earlier is not None and earlier.secretive:
            raise ValueError(
                f"{type(self).__name__} needs the secret state of its stream to go on, which "
                "copies, pickles and forked processes leave behind. Take the state along with "
                "skdp.save_checkpoint and skdp.load_checkpoint, or call fit to start anew."
            )
        try:
            check_parameters(self)
            if earlier is not None and not (earlier.streaming or declared_disjoint(self)):
                # The rows of the stream may be those of the fit: a run of its own.
                self.__dict__.pop(RUN, None)
            self._charge(None)
            encode = self._encoder_of_stream(classes, first=earlier is None)
            first, weighted = earlier is None, sample_weight is not None
            if earlier is not None and earlier.streaming:
                weighted = earlier.weighted
            rows = self._open_call(X, y, sample_weight, encode, weighted=weighted, first=first)
            if earlier is None:
                self._forget()
            self._progress = progress = Progress(self) if earlier is None else earlier
            session, secretive = open_session(self, rows)
            facts = {"secretive": secretive, "weighted": weighted, "shared": session.shared}
            self._progress = progress.begun(self, before=before, **facts)
            self._session = session
            self._publish_receipt()
            if not hasattr(self, "coef_"):
                self._publish_start(rows)
        except BaseException:
            reservation_for(self, goes_on=True).cancel()
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self._feed(session, rows)

    @final
    def _feed(self, session: Session, rows: ResidentRows) -> Self:
        calls, progress = session.calls, self._progress
        digest, seen = calls.digest(rows), progress.seen
        charge_repeats(self, session.claim, calls.times(digest) + 1)
        calls.note(digest)
        # Rows count as taken before they are, or an interruption could have them taken twice.
        self.n_samples_seen_ = seen + rows.n_samples
        try:
            session.feed(self, rows)
        finally:
            self.n_samples_seen_ = progress.seen
            if progress.seen == seen:
                calls.forget(digest)
        return self

    @final
    def _open(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[RowStore, np.dtype]:
        """Validate the data and lay them in a row store."""
        name = type(self).__name__
        if isinstance(X, DaskSites):
            if y is not None:
                raise ValueError(f"{name} needs y=None when X is DaskSites, which hold targets.")
            if sample_weight is not None:
                raise ValueError(
                    f"{name} needs sample_weight=None when X is DaskSites, whose loaders return "
                    "pairs (X, y)."
                )
            budget = self.epsilon, self.delta, Adjacency(self.adjacency)
            remote = X.opened(self._prepare_targets(None), *budget)
            return self._named(remote), remote.dtype
        if isinstance(X, Chunks):
            if y is not None:
                raise ValueError(f"{name} needs y=None when X is Chunks, which hold the targets.")
            if sample_weight is not None:
                raise ValueError(
                    f"{name} needs sample_weight=None when X is Chunks, which deliver weights as "
                    "the third part of (X_chunk, y_chunk, weight_chunk)."
                )
            rows = ChunkedRows(X, self._prepare_targets(None), self.max_weight)
            return self._named(rows), np.dtype(np.float64)
        if any(map(is_collection, (X, y, sample_weight))):
            # Where classes are to be read off y, its workers do.
            found = labels_of(y) if getattr(self, "classes", ()) is None else None
            encode = self._prepare_targets(found)
            collected = DaskRows(X, y, encode, sample_weight, self.max_weight)
            return self._named(collected), collected.dtype
        X, y = redacted(validate_data, self, X, y, multi_output=False, **ACCEPTED)
        with strict_checks():
            encoded = self._prepare_targets(y)(y)
        weights = None
        if sample_weight is not None:
            weights = in_units_of(self.max_weight, sample_weight, X.shape[0])
        kind = SparseRows if sp.issparse(X) else DenseRows
        return kind(X, encoded, weights), X.dtype

    @final
    def _sites(self, groups: Any, rows: RowStore) -> Sites | None:
        if isinstance(rows, RemoteRows):
            if groups is not None:
                raise ValueError(
                    f"{type(self).__name__} needs groups=None when X is DaskSites, which name the "
                    "sites."
                )
            return rows.sites
        if groups is not None and isinstance(rows, DaskRows):
            raise ValueError(
                f"{type(self).__name__} needs groups=None when X is a dask collection. Pass "
                "DaskSites, which keep the rows of each site where they lie, or arrays along with "
                "groups."
            )
        return self._sites_of(groups, rows.n_samples)

    @final
    def _named(self, rows: ChunkedRows | DaskRows | RemoteRows) -> RowStore:
        self.n_features_in_ = rows.n_features
        self.__dict__.pop("feature_names_in_", None)
        if rows.feature_names is not None:
            self.feature_names_in_ = np.array(rows.feature_names, dtype=object)
        return rows

    @final
    def _open_call(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        encode: Callable[[np.ndarray], np.ndarray],
        *,
        weighted: bool,
        first: bool,
    ) -> ResidentRows:
        """Validate the rows of one call and lay them in a row store."""
        if isinstance(X, Chunks | DaskSites) or any(map(is_collection, (X, y, sample_weight))):
            what = type(X).__name__ if isinstance(X, Chunks | DaskSites) else "a dask collection"
            raise ValueError(
                f"{type(self).__name__}.partial_fit needs the rows themselves, got {what}; call "
                "it once with each chunk."
            )
        if sample_weight is not None and not weighted:
            raise ValueError(
                f"{type(self).__name__}.partial_fit needs sample_weight=None in a stream that "
                "began without weights. Pass weights from the first call on, or call fit to start "
                "anew."
            )
        named = first or hasattr(self, "feature_names_in_")
        if named or not in_order(X, y, self.n_features_in_, ACCEPTED["dtype"]):
            options = {"multi_output": False, "reset": first, **ACCEPTED}
            X, y = redacted(validate_data, self, X, y, **options)
        with strict_checks():
            encoded = encode(y)
        weights = None
        if weighted:
            given = 1.0 if sample_weight is None else sample_weight
            weights = in_units_of(self.max_weight, given, X.shape[0])
        return (SparseRows if sp.issparse(X) else DenseRows)(X, encoded, weights)

    @final
    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        if isinstance(X, Chunks):
            raise ValueError(
                f"{type(self).__name__} needs the rows themselves to predict, got Chunks; call it "
                "once with each X_chunk."
            )
        X = redacted(validate_data, self, X, reset=False, **ACCEPTED)
        with strict_checks():
            scores = X @ self.coef_.T
        if sp.issparse(self.coef_):
            scores = scores.toarray() if sp.issparse(scores) else scores
            # Those of a regressor are one each.
            scores = scores[:, 0] if np.ndim(self.intercept_) == 0 else scores
        with strict_checks():
            return scores + self.intercept_

    @final
    def _forget(self) -> None:
        """Drop what an earlier fit published, so that no old model meets a new receipt."""
        self.__dict__.pop("_session", None)
        kept = {"n_features_in_", "feature_names_in_", "classes_"}
        published = [a for a in vars(self) if a.endswith("_") and not a.startswith("_")]
        # Receipts last: at no moment there is a model without one.
        for name in sorted(published, key=lambda a: a.startswith("privacy_")):
            if name not in kept:
                delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __getstate__(self) -> dict[str, Any]:
        # Rows and noise stay behind when a model travels, and so does a seed, which reproduces the
        # noise.
        state = dict(super().__getstate__())
        state.pop("_session", None)
        return state | {"random_state": None} if "_progress" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
