"""Privacy budget over several fits."""

from __future__ import annotations

import atexit
from numbers import Real
from typing import Any, NoReturn, Self, final

from sklearn.utils._param_validation import Interval, Options

from ..exceptions import PrivacyLeakWarning, warn_user
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..validation import check_hyperparameters, one_of
from .budget_store import BudgetStore, Entry, Summary, thresholds_to_come
from .composition_verdicts import check_composed, nested_estimators
from .open_budgets import close_budget, looked_up, open_budget, waiting
from .privacy_filters import FILTERS, SumsFilter

_CONSTRAINTS: dict[str, list[Any]] = {
    # The largest that a fit takes, too; sums of its square have to be finite.
    "epsilon": [Interval(Real, 0, 1e9, closed="right")],
    "delta": [Interval(Real, 1e-300, 1, closed="left"), Options(Real, {0})],
    "adjacency": [one_of(*(a.value for a in Adjacency))],
    "accounting": [one_of("auto", *FILTERS)],
}
_LOST = (
    "The file of this PrivacyBudget is gone, and with it what its fits have spent; no fit can be "
    "charged to it any more. Add up their receipts with skdp.privacy_spent."
)


@final
class PrivacyBudget:
    r"""Privacy budget for all fits inside a ``with`` block together.

    Call :meth:`fit` of the open budget in place of that of an estimator. It takes pipelines,
    ensembles and whatever else holds private estimators, and refuses those that are known to
    publish more than their private fits, or of which nothing is known.

    Every fit of this package that begins while the budget is open is charged to it: ``fit`` and
    ``partial_fit`` of models and bandits, private transformers and searches, whoever calls them, in
    any thread of the process and in the worker processes that joblib and multiprocessing start for
    it. A fit that could exceed the budget is refused with :class:`BudgetExceededError` before it
    reads a row.

    *What is promised.* Everything that fits inside have released is together (epsilon, delta)-DP,
    whatever code has chosen the fits and their parameters, also by looking at what earlier ones
    have released. What that code itself reads of the rows is counted nowhere: weights, errors,
    scores, classes, scalers. :meth:`fit` looks it up; of fits that were called in another way the
    budget says how many they are when it is printed and reported, and warns when it closes if they
    were fits of copies.

    The promise takes for granted that a person has one row in the data of each fit, or none, at a
    place that does not depend on what the rows say: a public split, say, and transformers of rows
    one by one. Fits on disjoint rows are not told apart from fits on the same ones, and add up,
    with one exception: the calls of ``partial_fit`` of one stream, whose rows are new by its own
    contract, are charged once.

    Parameters
    ----------
    epsilon : float
        Upper bound on the epsilon of all fits together, in (0, 1e9].
    delta : float
        The delta at which it holds, in [0, 1). At 0 it is for fits of pure epsilon, which add up.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        Neighbouring relation of the promise. Fits under zero-out count in a budget under
        replace-one for what they are between data sets that differ by two steps, twice the mu.
    privacy_unit : bool, default=False
        Whether all fits get a ``privacy_unit``, so that the promise is about all rows of one; if
        not, none may. Fits of the other kind are refused.
    accounting : {'auto', 'gaussian', 'thresholds', 'renyi', 'sums'}, default='auto'
        By which rule fits add up; see Notes.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    privacy_spent : Adds up fits that are done already.

    Notes
    -----
    ``'gaussian'`` adds up mu^2, which is exact for fits with Gaussian noise, the default of nearly
    all solvers. Objective perturbation and private searches have no price in it. ``'renyi'`` takes
    everything, and about 8 % more noise for the same number of fits; ask for it if fits of
    different kinds are to come. ``'sums'`` adds up epsilons and deltas. ``'thresholds'`` is
    ``'gaussian'`` at 95 % of delta, with the rest for steps such as
    :class:`~skdp.preprocessing.DPOneHotEncoder`, which have no price in the others but sums.
    ``'auto'`` is the first of the four under which the first fit has room, and stays with it;
    :meth:`fit` leaves ``'gaussian'`` out if a step needs ``'thresholds'``. Which rule is in force
    has to be settled before there is an answer; the proofs are in
    :mod:`skdp.reporting.privacy_filters`.

    What a fit may spend at most is set aside when it begins, and replaced by what it has spent when
    it ends. A fit that fails keeps what it has spent; one that is killed keeps all that was set
    aside, and so does a stream, which may go on.

    Budgets nest: a fit is charged to all that are open. A worker that is still running when the
    budget closes cannot charge it and is refused. The store is a file in a folder of the
    system's temporary directory that only this user can enter, and is removed in the end.

    Where there is no ``with`` block, as in a notebook, call ``open`` and ``close``.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLogisticRegression, PrivacyBudget
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> model = DPLogisticRegression(epsilon=0.5, classes=[0, 1], data_norm=1.5)
    >>> with PrivacyBudget(epsilon=1.0, delta=1e-5) as budget:
    ...     model = budget.fit(model, X, X[:, 0] > 0)
    ...     model = budget.fit(model, X, X[:, 1] > 0)
    >>> budget
    PrivacyBudget(epsilon=1, delta=1e-05): closed, 2 runs, spent epsilon=0.73, left epsilon=0.636
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        adjacency: str = "replace_one",
        privacy_unit: bool = False,
        accounting: str = "auto",
    ) -> None:
        given = {name: value for name, value in locals().items() if name in _CONSTRAINTS}
        check_hyperparameters(_CONSTRAINTS, given, type(self).__name__)
        if delta == 0 and accounting not in ("auto", SumsFilter.name):
            raise ValueError(
                "PrivacyBudget with delta=0 needs an accounting of 'auto' or 'sums', by which pure "
                f"epsilon adds up, got {accounting!r}."
            )
        self.epsilon: float = float(epsilon)
        # Of two zeros the one without a sign.
        self.delta: float = float(delta) + 0.0
        self.adjacency: str = adjacency
        self.privacy_unit: bool = bool(privacy_unit)
        self.accounting: str = accounting
        self._unit: PrivacyUnit = PrivacyUnit.DECLARED if privacy_unit else PrivacyUnit.ROW
        self._store: BudgetStore | None = None
        self._final: Summary | None = None
        self._closed: bool = False
        waiting.add(self)

    def open(self) -> Self:
        """Begin; once.

        Returns
        -------
        self
            The budget.

        Raises
        ------
        RuntimeError
            If it has been opened before.
        """
        if self._store is not None:
            raise RuntimeError(
                "PrivacyBudget was opened before, and what was spent cannot be taken back. Make "
                "another one."
            )
        promise = Adjacency(self.adjacency), self._unit, self.accounting
        self._store = open_budget(self.epsilon, self.delta, *promise)
        waiting.discard(self)
        atexit.register(self.close)
        return self

    def close(self) -> None:
        """End: fits that begin from now on are not charged, and workers that go on are refused.

        Raises
        ------
        RuntimeError
            If the store was removed by somebody else.

        Warns
        -----
        PrivacyLeakWarning
            If there were fits, but for those inside of :meth:`fit`, of clones, copies or pickles
            that were made while the budget was open. Ensembles, searches and cross-validation make
            them, which read rows besides; a loop of one's own may, too.
        """
        if self._store is None or self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        try:
            self._final = close_budget(self._store)
        except FileNotFoundError:
            raise RuntimeError(_LOST) from None
        if self._final is not None:
            _warn_of_copies(self._final.entries)

    def fit(self, estimator: Any, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit an estimator that may be composed of several, if it is known what it reads.

        A private fit cannot see who has called it. So an open budget charges the fits inside of,
        say, ``AdaBoostClassifier``, and does not see the exact errors that it publishes besides.
        This method looks the estimator up first, with all of its parts.

        Fits that another thread begins meanwhile are taken for parts of the estimator.

        Parameters
        ----------
        estimator : estimator
            To be fitted, in place.
        X, y : array-like
            Data set.
        **params
            More arguments of its ``fit``.

        Returns
        -------
        estimator
            Fitted.

        Raises
        ------
        ValueError
            If the estimator or a part of it is not covered by :data:`skdp.reporting.TABLE`. Nothing
            was read.
        RuntimeError
            If the budget is not open.
        """
        if self._store is None or self._closed:
            raise RuntimeError("PrivacyBudget.fit needs an open budget; use 'with' or open().")
        check_composed("PrivacyBudget.fit", estimator, self._unit)
        steps = [step for _, step in nested_estimators(estimator, "")]
        needed = any(step._set_aside(1.0) for step in steps if hasattr(step, "_set_aside"))
        token = thresholds_to_come.set(needed)
        try:
            with looked_up():
                return estimator.fit(X, y, **params)
        finally:
            thresholds_to_come.reset(token)

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def spent(self) -> PrivacySpent:
        """(epsilon, delta) of all fits together so far, reservations included."""
        summary = self._summary()
        return summary.rule.spent(summary.total) if summary.entries else PrivacySpent(0.0, 0.0)

    @property
    def remaining(self) -> PrivacySpent:
        """The largest budget with which one more fit, with Gaussian noise, would be accepted."""
        summary = self._summary()
        return summary.rule.left(summary.total)

    @property
    def rule(self) -> str:
        """Name of the rule by which fits add up: that in force, or the first that is possible."""
        return self._summary().rule.name

    @property
    def receipts(self) -> tuple[Entry, ...]:
        """Entries of all runs, in order."""
        return self._summary().entries

    def __repr__(self) -> str:
        head = f"PrivacyBudget(epsilon={self.epsilon:.6g}, delta={self.delta:.6g})"
        if self._store is None:
            return f"{head}: not open yet"
        state = "closed" if self._closed else "open"
        receipts = self.receipts
        unknown = sum(not entry.looked_up for entry in receipts)
        return (
            f"{head}: {state}, {_runs(len(receipts))}, spent epsilon={self.spent.epsilon:.3g}, "
            f"left epsilon={self.remaining.epsilon:.3g}"
            f"{f'; not counted: code around {_runs(unknown)}' * bool(unknown)}"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "PrivacyBudget cannot be copied or pickled; estimators take its token along by "
            "themselves."
        )

    def _summary(self) -> Summary:
        if self._store is None:
            raise RuntimeError("PrivacyBudget needs to be opened first, by 'with' or open().")
        if self._final is not None:
            return self._final
        try:
            return self._store.read()
        except FileNotFoundError:
            raise RuntimeError(_LOST) from None


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count != 1)}"


def _warn_of_copies(entries: tuple[Entry, ...]) -> None:
    copies = [entry.who for entry in entries if entry.copied and not entry.looked_up]
    if copies:
        warn_user(
            f"PrivacyBudget has counted {_runs(len(entries))}, {len(copies)} on copies "
            f"that were made while it was open ({', '.join(dict.fromkeys(copies))}), as ensembles, "
            "searches and cross-validation make them. What these read of the rows and publish "
            "besides their private fits is not in the budget. Fit them by PrivacyBudget.fit("
            "estimator, X, y), which refuses those that are not covered, and take scores from "
            "skdp.evaluate.",
            PrivacyLeakWarning,
        )
