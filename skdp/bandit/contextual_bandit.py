"""Contextual bandit with joint differential privacy."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from itertools import count
from math import isinf
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..estimators.fit_history import FitHistory
from ..exceptions import warn_user
from ..privacy.accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..privacy.accounting.default_delta import delta_for, nominal
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.bandit_sessions.arm_session import ArmSession, open_run
from ..privacy.bandit_sessions.bandit_plans import Plan
from ..privacy.lock import ProcessGuard, locked, run_locked
from ..privacy.oracle_factory import noise_for
from ..privacy.randomness import SecretNoise, public_generator
from ..privacy.rows.privacy_units import LabelledRows
from ..privacy.rows.reading import redacted, strict_checks
from ..privacy.streams.visits import Visits, epsilon_of_share
from ..problem.bandit_problem import BanditProblem
from ..problem.losses import Logistic, Squared
from ..reporting.budget_warnings import warn_of_promise, warn_of_rows
from ..reporting.open_budgets import BudgetedEstimator, reservation_for, rollback
from ..reporting.privacy_ledger import PrivacyLedger
from ..reporting.receipts import Receipt, SpendBound
from ..solvers.streaming import StreamingSolver
from ..validation import (
    INFINITE,
    PAIR,
    check_parameters,
    keep_parameters,
    one_of,
    with_advice,
)
from .arm_labels import ArmLabels
from .bandit_choices import (
    STREAMING,
    choose_bounds,
    choose_policy,
    first_epoch,
    given_bounds,
    warn_if_hopeless,
)
from .policies import POLICIES, Policy
from .policies.choices import Rule

_LOSSES = {"squared": Squared, "logistic": Logistic}
# Relative difference of scores that may be rounding.
_ROUNDING = 1e-12


class DPContextualBandit(BudgetedEstimator):
    r"""A contextual bandit that learns from users and protects each of them from all others.

    Users come one after the other. Each brings a context x, is given one of K arms and returns a
    reward; the expected reward of arm k is linear in the context, ``a_k + <b_k, x>``, or the
    logistic function of that. ``act`` chooses arms, ``partial_fit`` learns what came of it.

    *What is promised.* Joint differential privacy: take any one user, whose context, and with it
    the action and the reward, could have been anything. Everything that all *other* users are
    given, together with all that the fitted model ever publishes, has nearly the same law, within
    (epsilon, delta). So neither the other users together, nor anyone who reads the model, can tell
    what that user's context and reward were.

    *What is not promised.* A user's own action follows from the user's own context, as it has to if
    the action is to suit. Whoever sees that action, a server or a passer-by, learns about that
    context; an outsider who sees the actions of *all* users is therefore not covered. Keep
    actions between the user and the system. Nor is it private that somebody took part, how many
    users there were, and when. If a person comes k times, the promise is weaker, about k epsilon,
    unless you pass ``privacy_unit``, the label of the person of each row: then all rows of a person
    are protected together, and ``max_visits`` says how many of them count.
    And actions that another system chose by looking at other users may tell of those users.

    Parameters
    ----------
    arms : list
        Labels of the arms, at least two, hashable and of any type. All have to be known in advance,
        since which arms occur in a log can tell of a person.
    epsilon : float, default=1.0
        Privacy budget, in [1e-10, 1e9]. ``float('inf')`` learns along the same path without noise,
        and without privacy.
    delta : float, optional
        Probability-like slack of the guarantee, in (0, 1). By default the smaller of 1e-5 and
        n^-1.1 for a log or a horizon of n users, 1e-5 without a horizon.
    data_norm : float, optional
        Bound on the l2 norm of contexts, known without looking at them. Longer ones are scaled down
        to it. Needed by the policies ``'ftrl'``, ``'blocks'`` and ``'gd'``, unless there is a
        feature_bound, from which ``feature_bound * sqrt(d)`` follows.
    feature_bound : float, optional
        Bound on the size of every entry of contexts, known without looking at them. Entries beyond
        are clipped. Used by the policies ``'sparse'`` and ``'hdb'``; by default data_norm.
    reward_bounds : tuple of float, default=(0.0, 1.0)
        (low, high), known without looking at rewards. Rewards outside are clipped to it, and a
        warning says so once, without telling which. Tight bounds around the rewards among which
        arms differ make all noise smaller.
    loss : {'squared', 'logistic'}, default='squared'
        Whether expected rewards are linear in the context, or logistic between the bounds.
    policy : str or Policy, default='auto'
        What is released when, and how arms are chosen: ``'ftrl'``, ``'blocks'``, ``'gd'``,
        ``'hdb'`` or ``'sparse'`` (see :mod:`skdp.bandit.policies`), or an instance with
        hyperparameters of its own. ``'auto'`` is ``'sparse'`` if a feature_bound is given and no
        data_norm. Else it is ``'ftrl'`` in a stream, but ``'blocks'`` with three arms or more,
        at most 4 / 3 as many features as arms, and more than 12 in users per arm, times mu, over
        ``2 d^1.5`` (mu is the Gaussian-DP parameter of the budget, about epsilon / 4). For a log it
        is ``'blocks'``, or ``'gd'`` if moments would not fit in memory. ``policy_`` is the one in
        use.
    solver : str or StreamingSolver, default='frank_wolfe'
        What ``policy='hdb'`` learns the weights of an arm by; others do not look at it.
        ``'frank_wolfe'`` is the algorithm of the paper, with a choice after every user. Any other
        streaming solver, such as ``'ftrl'`` or an instance like ``FrankWolfe(batch=100)``, takes
        its place and decides for itself how often it releases something.
    horizon : int, optional
        Number of users that ``act`` and ``partial_fit`` will see, if it is known: noise is planned
        for it, and users beyond it are refused. Without it a stream takes any number of users, in
        epochs of which each but the first is as long as all before it and goes on from what they
        have released; regret was 0.9 to 1.6 times that of a known horizon. ``'hdb'`` needs it, and
        so does ``max_visits`` above 1.
    max_visits : int, default=1
        Most rows of a person that count, if persons are named by ``privacy_unit``. All noise grows
        in proportion to it. Further rows of a person add nothing, silently.
    fit_intercept : bool, default=True
        Whether arms have intercepts ``a_k``.
    intercept_scaling : float, default=0.3
        Value of the constant entry behind the intercepts, in units of the bound on contexts.
        ``'sparse'`` and ``'hdb'`` use 1.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        What neighbouring streams are: one user replaced by any other, or one user's contribution
        removed. Replace-one is the stronger promise.
    random_state : int, RandomState, Generator or None, default=None
        None draws the secret noise from the operating system. Anything else makes learning and
        acting reproducible, for tests, and warns that the guarantee does not hold against whoever
        knows the seed. Pickles of a fitted model do not contain it.

    Attributes
    ----------
    arms_ : ndarray of shape (n_arms,)
        Labels of the arms.
    coef_ : ndarray of shape (n_arms, n_features)
        Released coefficients of each arm, in units of rewards (of logits with the logistic loss),
        for contexts within the bounds; zero before the first release.
    intercept_ : ndarray of shape (n_arms,)
        Released intercepts.
    policy_ : Policy
        The policy in use.
    n_seen_ : int
        Number of users learned from.
    n_released_ : int
        Number of users up to the latest release.
    delta_ : float
        Slack of the guarantee: ``delta``, or what it is by default.
    privacy_unit_ : str
        What is protected: ``'row'``, or ``'privacy_unit'`` for all rows of a person.
    privacy_spent_ : PrivacySpent
        Named tuple ``(epsilon, delta)`` of the run, all of it from the beginning, on the condition
        that each row is the record of another user, or that ``privacy_unit`` says whose it is.
    privacy_ledger_ : tuple of events
        The receipt, of each epoch if there is no horizon. Each has ``mechanism``, ``query``,
        ``count``, ``sensitivity`` and ``noise_scale``; where blocks have no user in common,
        ``part`` says how many they are, and the numbers are those of the costliest.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if contexts had string column names.

    Warns
    -----
    SeededNoiseWarning
        If ``random_state`` is not None.
    UserWarning
        If the budget, the number of users and the size of the problem are such that no policy for
        dense contexts learns anything; and once if rewards are outside their bounds.

    Notes
    -----
    ``fit`` learns from a log in one go, at less noise than a stream needs. Its rows may have been
    chosen by any other policy, also after looking at their own contexts.

    Each run, which is a call of ``fit`` or a stream of ``partial_fit``, spends (epsilon, delta)
    anew: runs on the same users add up.

    Decisions are made between releases from released numbers, the user's own context and public
    randomness that know nothing. That is all it takes: the *billboard lemma* (Hsu, Huang, Roth,
    Roughgarden and Wu, 2014) says that what is computed from a differentially private signal and
    one's own data is jointly private. See docs/proofs/bandits.md for the proofs.

    A pickle holds what was released, so it can be published; it predicts and acts but learns no
    more. To go on learning from where a stream stopped takes a secret checkpoint.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPContextualBandit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 3))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> bandit = DPContextualBandit(arms=["left", "right"], data_norm=1.0, horizon=len(X))
    >>> reward = 0.0
    >>> for users in np.split(X, 200):
    ...     actions = bandit.act(users)
    ...     chance = np.where(actions == "left", 0.5 + 0.5 * users[:, 0], 0.5)
    ...     returned = rng.random(len(users)) < chance
    ...     bandit = bandit.partial_fit(users, actions, returned)
    ...     reward += returned.mean() / 200
    >>> bool(reward > 0.57)  # 0.5 without looking, 0.625 at best
    True
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

    _memory: Any
    _problem: BanditProblem
    _rule: Rule
    _session: BanditStream
    policy_: Policy
    privacy_unit_: str

    @with_advice()
    def __init__(
        self,
        arms: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        data_norm: float | None = None,
        feature_bound: float | None = None,
        reward_bounds: tuple[float, float] = (0.0, 1.0),
        loss: str = "squared",
        policy: str | Policy = "auto",
        solver: str | StreamingSolver = "frank_wolfe",
        horizon: int | None = None,
        max_visits: int = 1,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @locked
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
        with rollback(self):
            rows = self._rows(X, a, r, new=True, named=privacy_unit is not None)
            persons = self._persons(privacy_unit, len(rows[0]))
            self._begin(len(rows[0]), at_once=True)
            self._protect(persons)
        self._feed(rows, persons)
        # What was set aside is replaced by what the receipt says.
        reservation_for(self, goes_on=True).settle(Receipt.of(self))
        # Its users are all there; a stream that follows is another run.
        del self._session
        return self

    @locked(waits=True)
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
        with rollback(self):
            new = self._needs_new_run("partial_fit")
            if not new:
                self._progress.check_unchanged(self)
                # Also under budgets that have been opened since it began.
                reservation = reservation_for(self, goes_on=True)
                reservation.reserve(self._session.claim, begins=True)
                reservation.remember(self)
            rows = self._rows(X, a, r, new=new, named=privacy_unit is not None)
            persons = self._persons(privacy_unit, len(rows[0]))
            if new:
                self._begin(self.horizon)
            n, horizon = len(rows[0]), self._problem.horizon
            if self.horizon is None:
                warn_of_rows(type(self).__name__, self.delta_, self.n_seen_, self.n_seen_ + n)
            elif n > (left := horizon - self.n_seen_):
                raise ValueError(
                    f"{type(self).__name__}.partial_fit needs no more users than its horizon of "
                    f"{horizon}, of which {left} are left, got {n}; noise was planned for them. "
                    "Start another stream with a clone."
                )
            self._protect(persons)
        self._feed(rows, persons)
        return self

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
            V = run_locked(self, "act", self._first_contexts, X, waits=True)
        if not hasattr(self, "_public_rng"):
            self._public_rng = public_generator(None)
        chosen = self._rule.actions(self._problem.contexts.rows(V), self._turn, self._public_rng)
        self._turn += len(V)
        return self.arms_[chosen]

    def sample(self, X: Any) -> np.ndarray:
        """Act, under the name that samplers have for it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Contexts of users who come next.
        """
        return self.act(X)

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
        scores = self._scores(X)
        # Equal scores round differently in a table and alone: of these it is the first arm.
        largest = scores.max(axis=1, keepdims=True)
        best = scores >= largest - _ROUNDING * (1.0 + np.abs(largest))
        return self.arms_[best.argmax(axis=1)]

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

    def _in_user_units(self) -> tuple[np.ndarray, np.ndarray]:
        centre, half = self._reward_units()
        if self._problem.logistic:
            centre, half = 0.0, 1.0
        coef, intercept = self._problem.contexts.in_user_units(self._rule.w)
        return half * coef, half * intercept + centre

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

    def _begin(self, horizon: int | None, *, at_once: bool = False) -> None:
        """Open and pay for a run, or its first epoch, of so many users."""
        self.delta_ = delta_for(self.delta, horizon)
        if horizon is None:
            if self.max_visits > 1:
                raise ValueError(
                    f"{type(self).__name__} needs horizon, the number of users that a stream will "
                    f"have, with max_visits={self.max_visits}, because somebody's visits in epochs "
                    "of different noise have no price that is known, got None. Pass it."
                )
            horizon = first_epoch(self)
        warn_of_promise(type(self).__name__, self.epsilon, self.delta_, horizon)
        self._progress, self._adjacency = FitHistory(self), Adjacency(self.adjacency)
        self._progress.streaming = True
        self._public_rng = public_generator(self.random_state)
        self._turn = self.n_seen_ = self.n_released_ = 0
        self.arms_ = self._labels.labels
        self._open_epoch(int(horizon), at_once=at_once)

    @property
    def _sizes(self) -> tuple[int, int]:
        """Numbers of arms and of features."""
        return len(self._labels), self.n_features_in_

    def _open_epoch(
        self, horizon: int, *, at_once: bool = False, before: BanditStream | None = None
    ) -> None:
        """Open and pay for an epoch of so many users, which have no user in common with others.

        Its budget is that of the run: epochs compose in parallel. It may go on from what those
        before it have released.
        """
        goes_on, epochs = before is not None, self._progress.parts
        policy, problem, plan, epsilon = self._planned(horizon, at_once=at_once, goes_on=goes_on)
        if not at_once and self.horizon is None and not policy.anytime:
            raise ValueError(
                f"{type(self).__name__} needs horizon, the number of users that a stream will "
                f"have, with policy='{policy.option()}', got None. Pass it, or take another policy."
            )
        if policy.contexts == "norm" and not goes_on:
            warn_if_hopeless(problem)
        # Who has come in one epoch is known in the next.
        stream = copy(before) or BanditStream(
            noise_for(self.random_state), self._claim(plan), Visits(int(self.max_visits))
        )
        stream.session, ledger = open_run(plan, problem, epsilon, stream.noise)
        if goes_on:
            memory = self._memory if type(policy) is type(self.policy_) else None
            learned = policy.go_on(problem, self._rule, memory, epochs.stop)
        else:
            learned = policy.start(problem), None
        epochs.add(horizon, ledger)
        self._session, self._problem, self.policy_ = stream, problem, policy
        self._rule, self._memory = learned
        several, most = epochs.several, int(self.max_visits)
        events = epochs.events() if several else ledger.receipt()
        of_visit = Receipt(tuple(events), ledger.spent(), problem.adjacency)
        self.privacy_ledger_ = PrivacyLedger(of_visit.between(most).events)
        self.privacy_spent_ = epochs.spent() if several else ledger.spent()
        if most > 1 and not ledger.exact:
            together = plan.calculus.epsilon(most**2 * ledger.total, self.delta_)
            self.privacy_spent_ = PrivacySpent(min(self.epsilon, together), self.delta_)

    def _planned(
        self, horizon: int, *, at_once: bool, goes_on: bool
    ) -> tuple[Policy, BanditProblem, Plan, float]:
        """Policy, problem and plan of a run, and the epsilon that it has for one visit of a person.

        With max_visits = k what one visit may move is priced so that k of them cost the budget: a
        share of 1 / k^2 in mu^2.
        """
        shares: dict[Calculus | None, float] = {None: float(self.epsilon)}
        if self.max_visits > 1 and not isinf(self.epsilon):
            kinds = GaussianDP(), ZeroConcentratedDP()
            shares = {kind: self._of_a_visit(kind) for kind in kinds}
        for calculus, epsilon in shares.items():
            planned = nominal(epsilon), self.delta_
            policy = choose_policy(self, horizon, planned[0], at_once=at_once)
            problem = BanditProblem(
                *self._sizes,
                horizon,
                _LOSSES[self.loss](),
                choose_bounds(self, policy),
                *planned,
                Adjacency(self.adjacency),
                initial=self._rule.w if goes_on else None,
            )
            policy.check(problem)
            plan = policy.plan(problem, at_once=at_once)
            if calculus in (None, plan.calculus):
                return policy, problem, plan, epsilon
        raise ValueError(
            f"{type(self).__name__} needs max_visits=1 with the policy {policy.option()!r} and "
            f"such a solver, for which the price of several visits is not known, got "
            f"max_visits={self.max_visits}. Use policy='blocks'."
        )

    def _of_a_visit(self, calculus: Calculus) -> float:
        visits = int(self.max_visits)
        return epsilon_of_share(calculus, self.epsilon, self.delta_, visits**2, visits)

    def _bound(self, delta: float, calculus: Calculus | None) -> SpendBound:
        """The most that a run may spend on all visits of a person."""
        promise = Adjacency(self.adjacency), PrivacyUnit(self.privacy_unit_)
        return SpendBound(self.epsilon, delta, calculus, *promise)

    def _claim(self, plan: Plan) -> SpendBound:
        """Set aside what a run may spend, before anything is charged."""
        claim = self._bound(self.delta_, plan.calculus)
        reservation_for(self, goes_on=True).reserve(claim, begins=True)
        return claim

    def _feed(self, rows: tuple[np.ndarray, ...], persons: LabelledRows | None) -> None:
        """Take the rows of one call, and learn what is due."""
        (X, arms, y), counting, start = rows, None, 0
        try:
            if persons is not None:
                # Each row is a visit of its own.
                visits = self._session.visits
                counting = visits.admit(persons.of_rows(), count(self.n_seen_))
            while start < len(X):
                session = self._session.session
                if session.room is None:
                    # As long as all epochs before it.
                    self._open_epoch(self._progress.parts.stop, before=self._session)
                    continue
                stop = start + min(len(X) - start, session.room)
                these = slice(start, stop)
                who = None if counting is None else counting[these]
                session.add(X[these], arms[these], y[these], who)
                self.n_seen_ += stop - start
                start = stop
                if session.room == 0:
                    due = self._problem, session.ask, session.seen, self._memory
                    self._rule, self._memory = self.policy_.learn(*due)
                    session.close()
                    self.n_released_ = self.n_seen_
        except BaseException:
            # Half of a call is learned, and nobody could say which half.
            del self._session
            raise

    def _first_contexts(self, X: Any) -> np.ndarray:
        with rollback(self):
            V = self._contexts(X, new=(new := self._needs_new_run("act")))
            if new:
                self._begin(self.horizon)
        return V

    def _persons(self, units: Any, n_samples: int) -> LabelledRows | None:
        """The rows with the labels of their persons; None if persons are not named."""
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

    def _protect(self, persons: LabelledRows | None) -> None:
        """Note from the first rows whether persons or rows are protected; refuse a later change."""
        unit = _unit_of(persons is not None)
        if self.n_seen_ and unit != self.privacy_unit_:
            raise ValueError(
                f"{type(self).__name__}.partial_fit needs privacy_unit in all calls of a stream "
                "or in none. Use a clone for a new stream."
            )
        if persons is not None:
            self._session.visits.expect(persons.kind)
        self.privacy_unit_ = unit

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
        if not (hasattr(self, "_warned") or (low <= r.min() and r.max() <= high)):
            self._warned = True
            warn_user(
                f"{type(self).__name__} was given rewards outside reward_bounds="
                f"{tuple(self.reward_bounds)}; they are clipped, here and from now on. This "
                "warning tells of the rewards, so keep it from whoever must not know them.",
                UserWarning,
            )
        centre, half = self._reward_units()
        return X, arms, (np.minimum(np.maximum(r, low), high) - centre) / half

    def _contexts(self, X: Any, *, new: bool, named: bool = False) -> np.ndarray:
        """Validated contexts, an array of float64. A new run notes their number of features."""
        if new:
            self._check_parameters(named=named)
        given = None if new or hasattr(self, "feature_names_in_") else _plain(X)
        if given is not None and given.ndim == 2 and given.shape[1] == self.n_features_in_:
            return given
        return redacted(validate_data, self, X, reset=new, dtype=np.float64)

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
        self.privacy_unit_ = _unit_of(named or self.max_visits > 1)
        # Set aside what parameters tell of, before contexts are looked at.
        reservation = reservation_for(self)
        reservation.reserve(self._bound(delta_for(self.delta, None), None), begins=False)
        reservation.remember(self)

    def _reward_units(self) -> tuple[float, float]:
        """Centre and half the width of the bounds on rewards."""
        low, high = given_bounds(self.reward_bounds)
        return 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low

    @strict_checks()
    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self._problem.contexts.rows(self._contexts(X, new=False))
        return rows @ self._rule.w.T

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rule")

    def __getstate__(self) -> dict[str, Any]:
        # Sums, rows and noise stay behind.
        left = {"_session", "_public_rng", "_warned"}
        return {k: v for k, v in super().__getstate__().items() if k not in left}


@dataclass
class BanditStream:
    """State by which a stream goes on, and which pickles must not hold: rows, sums and noise.

    It refuses to be pickled, because noise does, except by ``skdp.save_checkpoint``. It has the
    source of the noise of all epochs, the most that the run may spend, a table of how often persons
    have counted, if rows come with their labels, and the session of the epoch.
    """

    noise: SecretNoise
    claim: SpendBound
    visits: Visits
    guard: ProcessGuard = field(default_factory=ProcessGuard)
    session: ArmSession = field(init=False)


def _unit_of(named: bool) -> str:
    return str(PrivacyUnit.DECLARED if named else PrivacyUnit.ROW)


def _plain(values: Any) -> np.ndarray | None:
    """The values if they are finite numbers in double precision, which need no validation."""
    if type(values) is not np.ndarray or values.dtype != np.float64 or not values.size:
        return None
    return values if bool(np.isfinite(values).all()) else None
