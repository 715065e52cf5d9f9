"""Streams of a bandit without a horizon: epochs that double, each user in one of them."""

from itertools import pairwise

import numpy as np
import pytest
from recomputed_spend import recomputed
from simulated_users import Users, linear_users, play

import skdp
from skdp import BudgetExceededError, DPContextualBandit, PrivacyBudget
from skdp.privacy.bandit_sessions import ArmSession
from skdp.testing import record, replay

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore:DPContextualBandit was given rewards:UserWarning"),
]

# Epochs of two arms and three features end after 1, 2, 4, 8, ... times so many users.
FIRST, D, K = 1024, 3, 2
N = 5 * FIRST
every_policy = pytest.mark.parametrize("policy", ["blocks", "ftrl", "gd", "sparse"])


def bandit(policy="auto", **options):
    settings = {"data_norm": 1.0, "epsilon": 5.0, "random_state": 0} | options
    return DPContextualBandit(range(K), policy=policy, **settings)


def log(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    a = rng.integers(0, K, n)
    return X, a, np.clip(0.5 + 0.4 * np.where(a == 0, 1, -1) * X[:, 0], 0, 1)


def users(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rewards = np.clip(0.5 + 0.5 * X[:, :K], 0, 1)
    return Users(X, rewards, rewards)


def part(rows, start, stop):
    return [values[start:stop] for values in rows]


@every_policy
def test_how_users_are_cut_into_calls_makes_no_difference(policy):
    rows = log()
    whole, pieces = bandit(policy).partial_fit(*rows), bandit(policy)
    for start, stop in pairwise((0, 7, FIRST, FIRST + 1, 3000, 3001, N)):
        pieces.partial_fit(*part(rows, start, stop))
    np.testing.assert_array_equal(pieces.coef_, whole.coef_)
    assert pieces.privacy_ledger_ == whole.privacy_ledger_
    assert pieces.n_seen_ == N


@every_policy
def test_epochs_compose_in_parallel_and_all_are_on_the_receipt(policy):
    budget = {"epsilon": 1.0, "delta": 1e-6, "random_state": None}
    model = bandit(policy, **budget).partial_fit(*log())
    assert model.privacy_spent_ == pytest.approx((1.0, 1e-6))
    spans = sorted({(e.part.start, e.part.stop) for e in model.privacy_ledger_})
    assert spans == [(FIRST * start, FIRST * stop) for start, stop in pairwise((0, 1, 2, 4, 8))]
    if policy != "sparse":
        # Each epoch is as costly as the run, by its own events.
        for span in spans:
            events = [e for e in model.privacy_ledger_ if (e.part.start, e.part.stop) == span]
            assert recomputed(events, 1e-6) == pytest.approx(1.0, rel=1e-3)
    assert skdp.privacy_spent(model).epsilon == pytest.approx(1.0, rel=1e-3)


def adding(monkeypatch, add):
    """Let sessions take rows by another function, which has the honest one."""
    honest = ArmSession.add
    monkeypatch.setattr(ArmSession, "add", lambda self, *rows: add(honest, self, *rows))


def rows_of_sessions(monkeypatch, policy, bug=None):
    """First entries of the contexts that each session was given."""
    sessions = {}

    def noted(honest, self, X, *others):
        sessions.setdefault(self, []).extend(X[:, 0].tolist())
        honest(self, X, *others)

    adding(monkeypatch, noted)
    if bug:
        adding(monkeypatch, bug)
    bandit(policy).partial_fit(*log())
    return list(sessions.values())


def check_disjoint(sessions):
    together = [value for values in sessions for value in values]
    assert len(sessions) == 4
    assert len(together) == len(set(together)) == N


def test_users_who_are_in_two_epochs_are_noticed(monkeypatch):
    first = []

    def twice(honest, self, X, arms, y, counting=None):
        if not first:
            first.extend((self, X[:1].copy(), arms[:1].copy(), y[:1].copy()))
        elif self is not first[0]:
            honest(self, *first[1:])
        honest(self, X, arms, y, counting)

    with pytest.raises((AssertionError, RuntimeError)):
        check_disjoint(rows_of_sessions(monkeypatch, "ftrl", bug=twice))


def test_several_visits_need_a_horizon():
    model = bandit("ftrl", max_visits=2)
    with pytest.raises(ValueError, match="needs horizon"):
        model.partial_fit(*log(), privacy_unit=np.arange(N))
    assert not hasattr(model, "coef_")


@pytest.mark.by_day(1)
@every_policy
def test_given_the_releases_a_user_changes_nobody_elses_action(policy):
    """Also not by what later epochs take over from earlier ones."""
    n = 2 * FIRST + 60
    some, first, second = users(n=n), [], []
    exchanges = record(lambda: first.append(play(bandit(policy), some)))
    flipped = 0
    for i in (FIRST + 50, 2 * FIRST + 3, n - 1):
        other = Users(some.X.copy(), some.rewards.copy(), some.means)
        other.X[i], other.rewards[i] = -some.X[i], -5.0
        replay(lambda other=other: second.append(play(bandit(policy), other)), exchanges)
        np.testing.assert_array_equal(
            np.delete(second[-1].actions, i), np.delete(first[0].actions, i)
        )
        flipped += int(second[-1].actions[i] != first[0].actions[i])
    assert flipped


@every_policy
def test_later_epochs_go_on_from_what_was_released(policy):
    """With next to no noise, the rule at the start of an epoch is that of the one before."""
    X, a, r = log(n=2 * FIRST + 1)
    model = bandit(policy, epsilon=1e6).partial_fit(X[:-1], a[:-1], r[:-1])
    coef = model.coef_
    model.partial_fit(X[-1:], a[-1:], r[-1:])
    assert model.n_seen_ == 2 * FIRST + 1
    # One user has been learned from since.
    np.testing.assert_allclose(model.coef_, coef, atol=0.06)
    assert np.abs(coef).max() > 0.1


def test_a_checkpoint_takes_a_stream_over_the_end_of_an_epoch(tmp_path):
    rows = log()
    for policy in ("ftrl", "blocks"):
        whole = bandit(policy).partial_fit(*rows)
        model = bandit(policy).partial_fit(*part(rows, 0, FIRST + 70))
        skdp.save_checkpoint(model, tmp_path / policy)
        again = skdp.load_checkpoint(tmp_path / policy).partial_fit(*part(rows, FIRST + 70, N))
        np.testing.assert_array_equal(again.coef_, whole.coef_)
        assert again.privacy_ledger_ == whole.privacy_ledger_


def test_a_privacy_budget_counts_all_epochs_once():
    rows = log()
    with PrivacyBudget(epsilon=1.1, delta=1e-6):
        model = bandit(epsilon=1.0, delta=1e-6)
        for start in range(0, N, 1000):
            model.partial_fit(*part(rows, start, start + 1000))
        with pytest.raises(BudgetExceededError):
            bandit(epsilon=1.0, delta=1e-6).partial_fit(*rows)


def first_epoch(n_arms, n_features):
    """Users of the first epoch, as receipts tell once there is a second one."""
    X = np.zeros((10_001, n_features))
    model = DPContextualBandit(range(n_arms), data_norm=1.0, epsilon=1.0, policy="blocks")
    model.partial_fit(X, np.zeros(len(X), dtype=int), np.full(len(X), 0.5))
    return min(event.part.stop for event in model.privacy_ledger_)


@pytest.mark.filterwarnings("ignore:DPContextualBandit has .* users:UserWarning")
def test_first_epochs_are_long_enough_to_learn_something_and_by_public_facts_alone():
    small, large, hard = first_epoch(2, 3), first_epoch(5, 3), first_epoch(2, 200)
    assert small == FIRST
    assert large > small
    assert small < hard <= 10_000


def test_more_users_than_delta_allows_warn_once():
    rows = log()
    model = bandit(delta=0.01).partial_fit(*part(rows, 0, 90))
    with pytest.warns(skdp.BudgetWarning, match="delta=0.01 and 120 rows"):
        model.partial_fit(*part(rows, 90, 120))
    model.partial_fit(*part(rows, 120, N))


def regrets(make, T, K, seeds, epsilon):
    """Mean regret with a known horizon and without, in percent of choosing by chance."""
    found = []
    for seed in range(seeds):
        some = make(T, 5 if K == 2 and T < 10_000 else 50, K, np.random.default_rng(seed))
        facts = {"epsilon": epsilon, "delta": T**-1.1, "data_norm": 1.0, "random_state": seed}
        facts["reward_bounds"] = (-0.25, 0.25) if make is linear_users else (0, 1)
        models = (DPContextualBandit(range(K), horizon=h, **facts) for h in (T, None))
        played = [play(model, some, batch=50).regret[-1] for model in models]
        found.append([100 * regret / some.uniform_regret for regret in played])
    return np.mean(found, axis=0)


@pytest.mark.nightly
def test_not_knowing_the_horizon_costs_little():
    known, anytime = regrets(linear_users, 4000, 2, 2, 4.0)
    assert anytime < 2 * known + 2


CHANGES = {
    "epsilon": 50.0,
    "delta": 1e-3,
    "adjacency": "zero_out",
    "policy": "gd",
    "reward_bounds": (0.0, 2.0),
    "fit_intercept": False,
    "horizon": 1000,
}


@pytest.mark.by_day(2)
@pytest.mark.parametrize("name", CHANGES)
def test_later_epochs_have_the_parameters_that_the_stream_began_with(name):
    stream, rows = bandit("ftrl"), log()
    stream.partial_fit(*part(rows, 0, FIRST - 1))
    before = getattr(stream, name)
    setattr(stream, name, CHANGES[name])
    with pytest.raises(ValueError, match=f"began, got other values of {name}: what was promised"):
        stream.partial_fit(*part(rows, FIRST - 1, N))
    assert stream.privacy_spent_.epsilon == 5.0
    setattr(stream, name, before)
    assert stream.partial_fit(*part(rows, FIRST - 1, N)).n_seen_ == N


def test_no_later_epoch_spends_more_than_its_budget_holds():
    stream, rows = bandit("ftrl", epsilon=1.0), log()
    with PrivacyBudget(epsilon=1.0, delta=1e-5) as budget:
        stream.partial_fit(*part(rows, 0, FIRST))
        stream.epsilon = 5.0
        with pytest.raises(ValueError, match="got other values of epsilon"):
            stream.partial_fit(*part(rows, FIRST, N))
    assert stream.privacy_spent_ == budget.spent == (1.0, 1e-5)


@every_policy
def test_each_user_is_in_one_epoch_alone(policy, monkeypatch):
    check_disjoint(rows_of_sessions(monkeypatch, policy))


def counted(monkeypatch, policy, persons, **options):
    """Of each row of a run, in order: True if it counts."""
    counts = []

    def noted(honest, self, *rows):
        counts.extend(np.asarray(rows[3], dtype=bool).tolist())
        honest(self, *rows)

    adding(monkeypatch, noted)
    bandit(policy, **options).partial_fit(*log(), privacy_unit=persons)
    return counts


def test_who_has_come_in_one_epoch_counts_in_no_other(monkeypatch):
    persons = np.arange(N) % (N // 2)
    assert counted(monkeypatch, "ftrl", persons) == [True] * (N // 2) + [False] * (N // 2)
