"""A private contextual bandit."""

from __future__ import annotations

from typing import Any

from ..solvers.streaming import StreamingSolver
from ..validation import with_advice
from .bandit_base import PrivateBandit
from .policies import Policy


class DPContextualBandit(PrivateBandit):
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
        self.arms = arms
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.feature_bound = feature_bound
        self.reward_bounds = reward_bounds
        self.loss = loss
        self.policy = policy
        self.solver = solver
        self.horizon = horizon
        self.max_visits = max_visits
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.adjacency = adjacency
        self.random_state = random_state
