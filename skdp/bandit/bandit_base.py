"""``fit``, ``partial_fit`` and ``act`` of a bandit, written once."""

from __future__ import annotations

from abc import ABC
from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import isinf
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..privacy.accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.accounting.promise import delta_for, nominal
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.bandit_sessions.bandit_plans import Plan
from ..privacy.bandit_sessions.base import ArmSession
from ..privacy.bandit_sessions.session_factory import open_run
from ..privacy.lock import ProcessGuard, run_locked
from ..privacy.oracle_factory import PrivacyTerms, PrivateSession
from ..privacy.randomness import public_generator
from ..privacy.rows.privacy_units import LabelledRows
from ..privacy.rows.reading import redacted, strict_checks
from ..privacy.streams.visits import Visits, epsilon_of_share
from ..problem.bandit_problem import BanditProblem
from ..problem.losses import Logistic, Squared
from ..reporting.budget_warnings import warn_of_promise, warn_of_rows
from ..reporting.composition import ParallelComposition
from ..reporting.open_budgets import BudgetedEstimator, Rollback, reservation_for
from ..reporting.privacy_ledger import PrivacyLedger
from ..reporting.receipts import Receipt, SpendBound
from ..solvers.streaming import StreamingSolver
from ..validation import INFINITE, PAIR, check_parameters, one_of
from .arm_labels import ArmLabels
from .bandit_choices import (
    STREAMING,
    choose_bounds,
    choose_policy,
    first_epoch,
    given_bounds,
    learnability,
    refuse_changes,
    refuse_unplanned,
    settings_of,
    warn_if_hopeless,
    warn_of_rewards,
)
from .policies import POLICIES, Policy
from .policies.choices import Rule

_LOSSES = {"squared": Squared, "logistic": Logistic}


class PrivateBandit(BudgetedEstimator, ABC):
    """A model that acts by released rules, and learns from what came of it.

    A subclass stores its parameters and says what they mean; it never sees a row.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 1e-10, 1e9, closed="both"), INFINITE],
        "delta": [None, Interval(Real, 0, 1, closed="neither")],
        "data_norm": [None, Interval(Real, 1e-100, 1e100, closed="both")],
        "feature_bound": [None, Interval(Real, 1e-100, 1e100, closed="both")],
        "reward_bounds": [PAIR],
        "loss": [one_of(*_LOSSES)],
        "policy": [one_of("auto", *POLICIES), Policy],
        "solver": [one_of(*STREAMING), StreamingSolver],
        "horizon": [None, Interval(Integral, 1, None, closed="left")],
        "max_visits": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 1e-6, 1e6, closed="both")],
        "adjacency": [one_of(*(a.value for a in Adjacency))],
        "random_state": ["random_state", np.random.Generator],
    }

    arms: Any
    epsilon: float
    delta: float | None
    delta_: float
    data_norm: float | None
    feature_bound: float | None
    reward_bounds: tuple[float, float]
    loss: str
    policy: str | Policy
    solver: str | StreamingSolver
    horizon: int | None
    max_visits: int
    fit_intercept: bool
    intercept_scaling: float
    adjacency: str
    random_state: Any

    arms_: np.ndarray
    policy_: Policy
    n_seen_: int
    n_released_: int
    n_features_in_: int
    _session: BanditStream
    _epochs: ParallelComposition
    _settings: dict[str, Any]
    _problem: BanditProblem
    _rule: Rule
    _memory: Any
    _progress: StreamNote
    privacy_unit_: str
    privacy_spent_: PrivacySpent
    privacy_ledger_: PrivacyLedger

    @final
    def fit(self, X: Any, a: Any, r: Any, privacy_unit: Any = None) -> Self:
        """Learn from a log, all of it at once; what was learned before is forgotten.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Contexts.
        a : array-like of shape (n_samples,)
            Labels of the arms that were pulled, by whatever rule.
        r : array-like of shape (n_samples,)
            Rewards.
        privacy_unit : array-like of shape (n_samples,), optional
            Label of the person of each row. Then all rows of a person are protected together, of
            whom the first ``max_visits`` count.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        ValueError
            If parameters or data are malformed. Nothing has been spent then, and the results of an
            earlier fit are still there.
        RuntimeError
            If another thread is fitting the same object. This call has read and spent nothing.
        """
        return run_locked(self, "fit", lambda: self._fit(X, a, r, privacy_unit))

    @final
    def partial_fit(self, X: Any, a: Any, r: Any, privacy_unit: Any = None) -> Self:
        """Learn from some more users; one, or many at once.

        Each row counts as the record of another user, unless ``privacy_unit`` says whose rows they
        are, and the receipt holds on this condition: nothing notices rows that come again, and
        somebody of whom k rows come is protected about k times less.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Contexts.
        a : array-like of shape (n_samples,)
            Labels of the arms that were pulled.
        r : array-like of shape (n_samples,)
            Rewards.
        privacy_unit : array-like of shape (n_samples,), optional
            Label of the person of each row, from the first call on. Then all rows of a person in
            all calls are protected together, of whom the first ``max_visits`` count.

        Returns
        -------
        self
            The model so far. How the stream is cut into calls makes no difference.

        Raises
        ------
        ValueError
            If parameters or data are malformed, or there are more users than the horizon allows.
            Nothing has been learned from this call then.
        """
        go_on = partial(self._go_on, X, a, r, privacy_unit)
        return run_locked(self, "partial_fit", go_on, waits=True)

    @final
    @strict_checks()
    def act(self, X: Any) -> np.ndarray:
        """Choose arms for users who come next, exploring as the policy prescribes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Their contexts, in the order in which they come.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of arms. Each depends on what was released, the user's own context and public
            randomness.

        Raises
        ------
        ValueError
            If contexts are malformed, or parameters are and there was no call before.
        """
        if hasattr(self, "_rule"):
            V = self._contexts(X, new=False)
        else:
            V = run_locked(self, "act", lambda: self._first_contexts(X), waits=True)
        if not hasattr(self, "_public_rng"):
            self._public_rng = public_generator(None)
        chosen = self._rule.actions(self._problem.contexts.rows(V), self._turn, self._public_rng)
        self._turn += len(V)
        return self.arms_[chosen]

    @final
    def sample(self, X: Any) -> np.ndarray:
        """Act, under the name that samplers have for it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Contexts of users who come next.
        """
        return self.act(X)

    @final
    def predict(self, X: Any) -> np.ndarray:
        """The arm with the largest estimated reward for each context.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Contexts.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of arms.
        """
        best = self._scores(X).argmax(axis=1)
        return self.arms_[best]

    @final
    @strict_checks()
    def decision_function(self, X: Any) -> np.ndarray:
        """Estimated reward of every arm.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Contexts; those outside the bounds are brought to them.

        Returns
        -------
        ndarray of shape (n_samples, n_arms)
            In units of rewards, not clipped to their bounds with the squared loss.
        """
        scores = self._scores(X)
        centre, half = self._reward_units()
        return centre + half * self._problem.mapped_rewards(scores)

    @property
    def coef_(self) -> np.ndarray:
        """Released coefficients of each arm, (n_arms, n_features)."""
        return self._in_user_units()[0]

    @property
    def intercept_(self) -> np.ndarray:
        """Released intercepts, (n_arms,)."""
        return self._in_user_units()[1]

    @final
    def _in_user_units(self) -> tuple[np.ndarray, np.ndarray]:
        centre, half = self._reward_units()
        if self._problem.logistic:
            centre, half = 0.0, 1.0
        coef, intercept = self._problem.contexts.in_user_units(self._rule.w)
        return half * coef, half * intercept + centre

    @final
    def _needs_new_run(self, method: str) -> bool:
        """True if there is no stream to go on with, which is fine only before the first."""
        if hasattr(self, "_session") and self._session.guard.in_own_process:
            return False
        if hasattr(self, "_rule"):
            raise ValueError(
                f"{type(self).__name__}.{method} needs a stream that can go on, but this model was "
                "fitted in one go, unpickled, forked, or interrupted, or went on in a checkpoint. "
                "Use a clone for a new stream, and skdp.save_checkpoint to take one along."
            )
        return True

    @final
    def _begin_stream(self) -> None:
        horizon = None if self.horizon is None else int(self.horizon)
        self.delta_ = delta_for(self.delta, horizon)
        if horizon is None:
            if self.max_visits > 1:
                raise ValueError(
                    f"{type(self).__name__} needs horizon, the number of users that a stream will "
                    f"have, with max_visits={self.max_visits}, because somebody's visits in epochs "
                    "of different noise have no price that is known, got None. Pass it."
                )
            sizes = len(self._labels), self.n_features_in_
            horizon = first_epoch(*sizes, nominal(self.epsilon), self.delta_)
        self._begin(horizon, at_once=False)

    @final
    def _begin(self, horizon: int, *, at_once: bool) -> None:
        """Open and pay for a run, or its first epoch, of so many users."""
        warn_of_promise(type(self).__name__, self.epsilon, self.delta_, horizon)
        self._settings, self._adjacency = settings_of(self), Adjacency(self.adjacency)
        self._epochs = ParallelComposition()
        self._public_rng = public_generator(self.random_state)
        self._turn = self.n_seen_ = self.n_released_ = 0
        self.arms_ = self._labels.labels
        self._open_epoch(horizon, at_once=at_once)

    @final
    def _open_epoch(self, horizon: int, *, at_once: bool = False, goes_on: bool = False) -> None:
        """Open and pay for an epoch of so many users, which have no user in common with others.

        Its budget is that of the run: epochs compose in parallel. It may go on from what those
        before it have released.
        """
        sizes = len(self._labels), self.n_features_in_
        adjacency = Adjacency(self.adjacency)
        facts = horizon, sizes, adjacency
        policy, problem, plan, epsilon = self._planned(*facts, at_once=at_once, goes_on=goes_on)
        if not at_once and self.horizon is None and not policy.anytime:
            raise ValueError(
                f"{type(self).__name__} needs horizon, the number of users that a stream will "
                f"have, with policy='{policy.option()}', got None. Pass it, or take another policy."
            )
        if policy.contexts == "norm" and not goes_on:
            warn_if_hopeless(problem)
        private = self._session.private if goes_on else PrivateSession(self.random_state)
        claim = self._session.claim if goes_on else _reserve_begun(self, plan.calculus)
        # Who has come in one epoch is known in the next.
        visits = self._session.visits if goes_on else Visits(int(self.max_visits))
        terms = PrivacyTerms(epsilon, self.delta_, adjacency, plan.calculus)
        session, ledger = open_run(plan, problem, terms, private)
        stream = BanditStream(session, problem, private, claim, visits)
        if goes_on:
            same = type(policy) is type(self.policy_)
            memory = self._memory if same else None
            learned = policy.go_on(problem, self._rule, memory, self._epochs.stop)
        else:
            learned = policy.start(problem)
            self._progress = StreamNote()
        self._epochs = copy(self._epochs)
        self._epochs.add(horizon, ledger)
        self._session, self._problem, self.policy_ = stream, problem, policy
        self._rule, self._memory = learned
        several, most = self._epochs.several, int(self.max_visits)
        events = self._epochs.events() if several else ledger.receipt()
        of_visit = Receipt(tuple(events), ledger.spent(), adjacency)
        self.privacy_ledger_ = PrivacyLedger(of_visit.between(most).events)
        self.privacy_spent_ = self._epochs.spent() if several else ledger.spent()
        if most > 1 and not ledger.exact:
            together = plan.calculus.epsilon(most**2 * ledger.total, self.delta_)
            self.privacy_spent_ = PrivacySpent(min(self.epsilon, together), self.delta_)

    @final
    def _planned(
        self,
        horizon: int,
        sizes: tuple[int, int],
        adjacency: Adjacency,
        *,
        at_once: bool,
        goes_on: bool,
    ) -> tuple[Policy, BanditProblem, Plan, float]:
        """Policy, problem and plan of a run, and the epsilon that it has for one visit of a person.

        With max_visits = k what one visit may move is priced so that k of them cost the budget: a
        share of 1 / k^2 in mu^2.
        """
        shares: dict[Calculus | None, float] = {None: float(self.epsilon)}
        if self.max_visits > 1 and not isinf(self.epsilon):
            kinds = GaussianDP(), ZeroConcentratedDP()
            shares = {kind: self._of_a_visit(kind) for kind in kinds}
        constant = self.intercept_scaling * self.fit_intercept
        for calculus, epsilon in shares.items():
            planned = nominal(epsilon), self.delta_
            policy = choose_policy(
                self.policy,
                horizon,
                *sizes,
                learnable=learnability(horizon, *sizes, *planned),
                at_once=at_once,
                only_entries=self.data_norm is None,
                solver=self.solver,
            )
            problem = BanditProblem(
                *sizes,
                horizon,
                loss=_LOSSES[self.loss](),
                contexts=choose_bounds(
                    policy, self.n_features_in_, self.data_norm, self.feature_bound, constant
                ),
                epsilon=planned[0],
                delta=self.delta_,
                adjacency=adjacency,
                initial=self._rule.w if goes_on else None,
            )
            policy.check(problem)
            plan = policy.plan_at_once(problem) if at_once else policy.plan(problem)
            if calculus in (None, plan.calculus):
                return policy, problem, plan, epsilon
        raise ValueError(
            f"{type(self).__name__} needs max_visits=1 with the policy {policy.option()!r} and "
            f"such a solver, for which the price of several visits is not known, got "
            f"max_visits={self.max_visits}. Use policy='blocks'."
        )

    @final
    def _of_a_visit(self, calculus: Calculus) -> float:
        visits = int(self.max_visits)
        return epsilon_of_share(calculus, self.epsilon, self.delta_, visits**2, visits)

    @final
    def _feed(self, rows: tuple[np.ndarray, ...], persons: LabelledRows | None) -> None:
        names = None if persons is None else persons.of_rows()
        try:
            start, (X, arms, y) = 0, rows
            while start < len(X):
                left = self._epochs.stop - self.n_seen_
                if not left:
                    # As long as all epochs before it.
                    self._open_epoch(self._epochs.stop, goes_on=True)
                    continue
                stop = start + min(left, len(X) - start)
                these = slice(start, stop)
                who = None if names is None else names[these]
                self._session.feed(self, (X[these], arms[these], y[these]), who)
                start = stop
        except BaseException:
            # Half of a call is learned, and nobody could say which half.
            del self._session
            raise

    @final
    def _fit(self, X: Any, a: Any, r: Any, units: Any) -> Self:
        with Rollback(self):
            rows = self._rows(X, a, r, new=True, named=units is not None)
            persons = self._persons(units, len(rows[0]))
            self.delta_ = delta_for(self.delta, len(rows[0]))
            self._begin(len(rows[0]), at_once=True)
            self._protect(persons)
        self._feed(rows, persons)
        _settle(self)
        # Its users are all there; a stream that follows is another run.
        del self._session
        return self

    @final
    def _first_contexts(self, X: Any) -> np.ndarray:
        with Rollback(self):
            V = self._contexts(X, new=(new := self._needs_new_run("act")))
            if new:
                self._begin_stream()
        return V

    @final
    def _go_on(self, X: Any, a: Any, r: Any, units: Any) -> Self:
        with Rollback(self):
            new = self._needs_new_run("partial_fit")
            if not new:
                refuse_changes(self, self._settings)
                _reserve_again(self, self._session.claim)
            rows = self._rows(X, a, r, new=new, named=units is not None)
            persons = self._persons(units, len(rows[0]))
            if new:
                self._begin_stream()
            if self.horizon is not None:
                refuse_unplanned(self, len(rows[0]), self._problem.horizon)
            else:
                now = self.n_seen_ + len(rows[0])
                warn_of_rows(type(self).__name__, self.delta_, self.n_seen_, now)
            self._protect(persons)
        self._feed(rows, persons)
        return self

    @final
    def _persons(self, units: Any, n_samples: int) -> LabelledRows | None:
        """Rows by the persons whose they are, if they are named."""
        if units is None and self.max_visits > 1:
            raise ValueError(
                f"{type(self).__name__} needs privacy_unit, the label of the person of each row, "
                f"with max_visits={self.max_visits}, got None."
            )
        if units is None:
            return None
        persons = LabelledRows.of(units)
        if persons.codes.size != n_samples:
            raise ValueError(
                f"{type(self).__name__} needs one label in privacy_unit for each of {n_samples} "
                f"rows, got {persons.codes.size}."
            )
        return persons

    @final
    def _protect(self, persons: LabelledRows | None) -> None:
        """Settle with the first rows whether they are persons', and refuse those that differ."""
        unit = str(_unit_of(persons is not None))
        if self.n_seen_ and unit != self.privacy_unit_:
            raise ValueError(
                f"{type(self).__name__}.partial_fit needs privacy_unit in all calls of a stream "
                "or in none. Use a clone for a new stream."
            )
        if persons is not None:
            self._session.visits.expect(persons.kind)
        self.privacy_unit_ = unit

    @final
    def _rows(self, X: Any, a: Any, r: Any, *, new: bool, named: bool) -> tuple[np.ndarray, ...]:
        """Validated contexts, numbers of arms and mapped rewards. Changes no state of a run."""
        X = self._contexts(X, new=new, named=named)
        arms = self._labels.encode(a, len(X))
        if _plain(r) is None:
            options = {"ensure_2d": False, "dtype": np.float64, "input_name": "r"}
            r = redacted(check_array, r, **options)
        if r.shape != (len(X),):
            raise ValueError(
                f"{type(self).__name__} needs one reward a context, {len(X)} in all, got an array "
                f"of shape {r.shape}."
            )
        low, high = given_bounds(self.reward_bounds)
        if not (low <= r.min() and r.max() <= high):
            warn_of_rewards(self)
        centre, half = self._reward_units()
        return X, arms, (np.minimum(np.maximum(r, low), high) - centre) / half

    @final
    def _contexts(self, X: Any, *, new: bool, named: bool = False) -> np.ndarray:
        """Validated contexts, an array of float64. A new run notes their number of features."""
        if new:
            self._check_parameters(named=named)
        given = None if new or hasattr(self, "feature_names_in_") else _plain(X)
        if given is not None and given.ndim == 2 and given.shape[1] == self.n_features_in_:
            return given
        return redacted(validate_data, self, X, reset=new, dtype=np.float64)

    @final
    def _check_parameters(self, *, named: bool) -> None:
        check_parameters(self)
        self._labels = ArmLabels(self.arms)
        given_bounds(self.reward_bounds)
        if self.data_norm is None and self.feature_bound is None:
            raise ValueError(
                f"{type(self).__name__} needs data_norm or feature_bound, a bound on contexts that "
                "is known without looking at them, got neither."
            )
        # Before there is a reward, more than one visit says that persons will be named.
        self.privacy_unit_ = str(_unit_of(named or self.max_visits > 1))
        _reserve_planned(self, delta_for(self.delta, None))

    @final
    def _reward_units(self) -> tuple[float, float]:
        """Centre and half the width of the bounds on rewards."""
        low, high = given_bounds(self.reward_bounds)
        return 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low

    @final
    @strict_checks()
    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self._problem.contexts.rows(self._contexts(X, new=False))
        return rows @ self._rule.w.T

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rule")

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_rule" not in state:
            return state
        # Sums, rows and noise stay behind, and so does a seed, which reproduces the noise.
        left = {"_session", "_public_rng", "_warned"}
        return {k: v for k, v in state.items() if k not in left} | {"random_state": None}


def _unit_of(named: bool) -> PrivacyUnit:
    return PrivacyUnit.DECLARED if named else PrivacyUnit.ROW


@dataclass
class StreamNote:
    """Note about a stream, in copies and pickles that leave it behind.

    Parameters
    ----------
    secretive : bool, default=False
        Whether it went into a checkpoint.
    """

    secretive: bool = False


@final
class BanditStream:
    """The session of a stream, and the loop that feeds it and lets the policy learn.

    It refuses to be pickled, because noise does, except by ``skdp.save_checkpoint``.

    Parameters
    ----------
    session : ArmSession
        Paid for.
    problem : BanditProblem
        Public facts.
    private : PrivateSession
        Source of the noise.
    claim : SpendBound
        The most that the run may spend.
    visits : Visits
        How often persons have counted, if rows come with their labels.
    """

    def __init__(
        self,
        session: ArmSession,
        problem: BanditProblem,
        private: PrivateSession,
        claim: SpendBound,
        visits: Visits,
    ) -> None:
        self._plan, self._problem, self.private = session.plan, problem, private
        self.visits = visits
        self.guard, self.claim = ProcessGuard(), claim
        self._session = session

    def feed(
        self,
        model: PrivateBandit,
        rows: tuple[np.ndarray, ...],
        persons: list[Hashable] | None,
    ) -> None:
        """Take the rows of one call, and learn what is due."""
        (X, arms, y), session, start = rows, self._session, 0
        counting: np.ndarray | None = None
        if persons is not None:
            # Each row is a visit of its own.
            counting = self.visits.admit(persons, count(model.n_seen_))
        while start < len(X):
            stop = start + min(len(X) - start, session.room or len(X))
            these = slice(start, stop)
            who = None if counting is None else counting[these]
            session.add(X[these], arms[these], y[these], who)
            model.n_seen_ += stop - start
            start = stop
            if session.due:
                learned = model.policy_.learn(self._problem, session, model._memory)
                model._rule, model._memory = learned
                session.close()
                model.n_released_ = model.n_seen_

    def resume(self) -> None:
        """Go on after a checkpoint was loaded; what it held is used up."""
        kind, state = self.__dict__.pop("_kept")
        self._session = kind.resumed(self._plan, self._problem, self.private.noise, state)

    def __getstate__(self) -> dict[str, Any]:
        kept = type(self._session), self._session.secret_state()
        plain = {k: v for k, v in vars(self).items() if k != "_session"}
        return plain | {"_kept": kept}


def _reserve_planned(model: Any, delta: float) -> None:
    """Set aside the budget of a new run, as far as parameters tell, before contexts are looked at.

    Parameters
    ----------
    model : estimator
        Its parameters are valid.
    delta : float
        Slack of the run.
    """
    reservation = reservation_for(model)
    promise = Adjacency(model.adjacency), PrivacyUnit(model.privacy_unit_)
    reservation.reserve(SpendBound(model.epsilon, delta, None, *promise), begins=False)
    reservation.remember(model)


def _reserve_begun(model: Any, calculus: Calculus) -> SpendBound:
    """Set aside what a run may spend on all visits of a person, before anything is charged.

    Parameters
    ----------
    model : estimator
        Which has planned the run.
    calculus : Calculus
        Of the run.

    Returns
    -------
    SpendBound
        What was set aside.
    """
    promise = Adjacency(model.adjacency), PrivacyUnit(model.privacy_unit_)
    claim = SpendBound(model.epsilon, model.delta_, calculus, *promise)
    reservation_for(model, goes_on=True).reserve(claim, begins=True)
    return claim


def _reserve_again(model: Any, claim: SpendBound) -> None:
    """Put a run that goes on under budgets that have been opened since it began.

    Parameters
    ----------
    model : estimator
        In the middle of a stream.
    claim : SpendBound
        What its ledger accepts.
    """
    reservation = reservation_for(model, goes_on=True)
    reservation.reserve(claim, begins=True)
    reservation.remember(model)


def _settle(model: Any) -> None:
    """Replace what was set aside by what the receipt says, for a run that has ended.

    Parameters
    ----------
    model : estimator
        With its receipt.
    """
    reservation_for(model, goes_on=True).settle(Receipt.of(model))


def _plain(values: Any) -> np.ndarray | None:
    """The values themselves if they are finite numbers in double precision, and need no look.

    Parameters
    ----------
    values : object
        As given by a user.

    Returns
    -------
    ndarray or None
        None where a validation has to say what is wrong, or convert.
    """
    if type(values) is not np.ndarray or values.dtype != np.float64 or not values.size:
        return None
    return values if bool(np.isfinite(values).all()) else None
