"""The bandit as its users see it: arms, bounds, streams, refusals, copies."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from by_night import by_night
from simulated_users import linear_users, play
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from skdp import DPContextualBandit, SeededNoiseWarning, load_checkpoint, save_checkpoint
from skdp.bandit.policies import (
    POLICIES,
    BlocksPolicy,
    FTRLPolicy,
    GDPolicy,
    HDBPolicy,
    SparsePolicy,
)
from skdp.solvers import FTRL, FrankWolfe
from skdp.testing import check_seed_stays_behind

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore:DPContextualBandit has .* users for:UserWarning"),
]

N, D, ARMS = 300, 3, ["a", "b"]
SECRET = "Ada-Lovelace"
every_policy = pytest.mark.parametrize("policy", sorted(POLICIES))


def bandit(**options):
    settings = {"data_norm": 1.0, "horizon": N, "random_state": 0, "epsilon": 5.0} | options
    return DPContextualBandit(settings.pop("arms", ARMS), **settings)


def log(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    a = rng.choice(ARMS, n)
    return X, a, np.clip(0.5 + 0.4 * np.where(a == "a", 1, -1) * X[:, 0], 0, 1)


def part(rows, start, stop):
    return [values[start:stop] for values in rows]


@every_policy
def test_a_log_teaches_which_arm_is_better_for_whom(policy):
    X, a, r = log(4000)
    model = bandit(policy=policy, epsilon=1e4).fit(X, a, r)
    clear = np.abs(X[:, 0]) > 0.5
    agree = (model.predict(X) == np.where(X[:, 0] > 0, "a", "b"))[clear]
    assert agree.mean() > 0.95
    estimated = model.decision_function(X)
    assert estimated.shape == (4000, 2)
    np.testing.assert_array_equal(model.arms_[estimated.argmax(axis=1)], model.predict(X))


def test_estimated_rewards_are_in_units_of_rewards():
    X, a, r = log(4000)
    model = bandit(epsilon=1e6, reward_bounds=(100, 300)).fit(X, a, 200 * r + 100)
    expected = 100 + 200 * (0.5 + 0.4 * X[:, :1] * [1, -1])
    np.testing.assert_allclose(model.decision_function(X), expected, atol=2.0)
    by_hand = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), by_hand, atol=1e-9)


@every_policy
@pytest.mark.by_day(2)
def test_the_same_seed_acts_the_same_and_another_does_not(policy):
    users = linear_users(N, D, 2, np.random.default_rng(0))

    def actions(seed):
        model = bandit(arms=[0, 1], policy=policy, random_state=seed, reward_bounds=(-2, 2))
        return play(model, users, batch=10).actions

    np.testing.assert_array_equal(actions(0), actions(0))
    assert not np.array_equal(actions(0), actions(1))


def test_acting_learns_better_than_chance():
    users = linear_users(4000, D, 2, np.random.default_rng(0))
    model = bandit(arms=[0, 1], reward_bounds=(-2, 2), horizon=4000, epsilon=50.0)
    assert play(model, users, batch=50).regret[-1] < 0.5 * users.uniform_regret


def test_acting_comes_before_the_first_reward_and_gives_every_arm():
    X, _, _ = log()
    model = bandit(policy="blocks")
    assert list(model.act(X[:3])) + list(model.act(X[3:5])) == ["a", "b", "a", "b", "a"]
    # The default gives half of the root of 300 users to the arms in turn.
    model = bandit()
    assert list(model.act(X[:3])) + list(model.act(X[3:8])) == ["a"] * 4 + ["b"] * 4
    assert model.privacy_spent_.epsilon == pytest.approx(5.0)
    assert not model.coef_.any()


LABELS = [
    ["b", "a", "c"],
    [3, 1, 2],
    [True, False],
    [1.5, -2.0],
    [("red", 1), ("blue", 2), None],
    ["a", 1, None],
    np.array(["x", "y"]),
    [frozenset({1}), frozenset()],
]


@pytest.mark.parametrize("arms", LABELS, ids=str)
@pytest.mark.by_day(3)
def test_labels_of_any_type(arms):
    X, _, r = log()
    model = bandit(arms=arms)
    a = model.act(X)
    assert len(a) == N
    assert {type(label) for label in a.tolist()} <= {type(x) for x in np.array(a).tolist()}
    model.partial_fit(X[:100], a[:100], r[:100]).partial_fit(X[100:], list(a[100:]), r[100:])
    assert len(model.arms_) == len(arms)
    assert all(x in list(arms) for x in model.predict(X).tolist())


@pytest.mark.parametrize("arms", [None, [], ["a"], ["a", "a"], "ab", 3, [[1], [2]], [1, np.nan]])
def test_arms_that_cannot_be_told_apart_are_refused(arms):
    with pytest.raises(ValueError, match=r"needs arms=\[\.\.\.\]"):
        bandit(arms=arms).fit(*log())


def state(model):
    kept = ("coef_", "intercept_", "n_seen_", "n_released_", "privacy_ledger_", "n_features_in_")
    return {k: np.copy(getattr(model, k)) if "_" in k else None for k in kept}


def nan_context(rows):
    X = rows[0].copy()
    X[5, 1] = np.nan
    return X, rows[1], rows[2]


def unknown_arm(rows):
    a = rows[1].astype(object)
    a[5] = SECRET
    return rows[0], a, rows[2]


def nan_reward(rows):
    r = rows[2].copy()
    r[5] = np.nan
    return rows[0], rows[1], r


BAD = {
    "nan context": (nan_context, "X contains NaN"),
    "unknown arm": (unknown_arm, "needs actions among its 2 arms"),
    "nan reward": (nan_reward, "r contains NaN"),
    "fewer arms": (lambda rows: (rows[0], rows[1][1:], rows[2]), "one action a context, 100"),
    "fewer rewards": (lambda rows: (rows[0], rows[1], rows[2][1:]), "one reward a context, 100"),
    "two columns": (lambda rows: (*rows[:2], np.c_[rows[2], rows[2]]), "one reward a context"),
    "other features": (lambda rows: (rows[0][:, :2], *rows[1:]), "X has 2 features"),
    "one context": (lambda rows: (rows[0][0], *rows[1:]), "Expected 2D array"),
    "numbers for arms": (lambda rows: (rows[0], np.zeros(100), rows[2]), "among its 2 arms"),
}


@pytest.mark.parametrize(("spoil", "complaint"), BAD.values(), ids=BAD)
@every_policy
@pytest.mark.by_day(4)
def test_a_refused_call_changes_nothing(policy, spoil, complaint):
    rows = log()
    spoiled, untouched = bandit(policy=policy), bandit(policy=policy)
    for model in (spoiled, untouched):
        model.partial_fit(*part(rows, 0, 100))
    before = state(spoiled)
    with pytest.raises(ValueError, match=complaint) as caught:
        spoiled.partial_fit(*spoil(part(rows, 100, 200)))
    assert SECRET not in str(caught.value)
    for name, value in state(spoiled).items():
        np.testing.assert_array_equal(value, before[name])
    for model in (spoiled, untouched):
        model.partial_fit(*part(rows, 100, N))
    np.testing.assert_array_equal(spoiled.coef_, untouched.coef_)


@pytest.mark.parametrize(("spoil", "complaint"), BAD.values(), ids=BAD)
def test_a_refused_first_call_leaves_a_new_model(spoil, complaint):
    if "features" in complaint:
        return
    model = bandit()
    with pytest.raises(ValueError, match=complaint):
        model.partial_fit(*spoil(part(log(), 0, 100)))
    assert vars(model) == vars(bandit())
    with pytest.raises(NotFittedError):
        model.predict(log()[0])


def test_rewards_outside_the_bounds_are_clipped_and_warned_of_once():
    X, a, r = log()
    wild = r.copy()
    wild[10], wild[20], wild[200] = 7.125, -3.0, 9.0
    model = bandit()
    with pytest.warns(UserWarning, match="outside reward_bounds") as caught:
        model.partial_fit(X[:50], a[:50], wild[:50])
    (told,) = [w for w in caught if "reward_bounds" in str(w.message)]
    assert "7.125" not in str(told.message)
    assert told.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[50:], a[50:], wild[50:])
    clipped = bandit().partial_fit(X, a, np.clip(wild, 0, 1))
    np.testing.assert_allclose(model.coef_, clipped.coef_, rtol=1e-9)


def test_users_beyond_the_horizon_are_refused_before_they_are_read():
    rows = log()
    model = bandit(horizon=250).partial_fit(*part(rows, 0, 200))
    with pytest.raises(ValueError, match="horizon of 250, of which 50 are left, got 100"):
        model.partial_fit(*part(rows, 200, 300))
    assert model.partial_fit(*part(rows, 200, 250)).n_seen_ == 250
    with pytest.raises(ValueError, match="0 are left"):
        model.partial_fit(*part(rows, 250, 251))
    assert len(model.act(rows[0])) == N


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"horizon": None, "policy": "hdb"}, "needs horizon"),
        ({"data_norm": None}, "needs data_norm or feature_bound"),
        ({"reward_bounds": (1, 0)}, "needs reward_bounds"),
        ({"reward_bounds": (0, np.inf)}, "needs reward_bounds"),
        ({"reward_bounds": (0,)}, "needs reward_bounds"),
        ({"reward_bounds": ("0", "1")}, "needs reward_bounds"),
        ({"reward_bounds": (0, 10**400)}, "needs reward_bounds"),
        ({"reward_bounds": (0, 1e101)}, "1e-100 to 1e100 between them"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"loss": "hinge"}, "loss"),
        ({"policy": "ucb"}, "policy"),
        ({"policy": HDBPolicy(forced=1000)}, "1000 an arm, got"),
        ({"policy": "ftrl", "horizon": 1}, "its 2 arms, 1 an arm, got 1 users"),
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_refused(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        bandit(**options).partial_fit(*log())


def test_rewards_that_are_no_numbers_are_refused_by_name():
    X, a, _ = log()
    with pytest.raises(ValueError, match="Numbers are needed; r holds other entries"):
        bandit().fit(X, a, a)


def test_auto_follows_public_facts_for_a_log():
    rows = log()
    assert isinstance(bandit().fit(*rows).policy_, BlocksPolicy)
    assert isinstance(bandit(feature_bound=1.0).fit(*rows).policy_, BlocksPolicy)
    sparse = bandit(data_norm=None, feature_bound=1.0)
    assert isinstance(sparse.fit(*rows).policy_, SparsePolicy)
    X = np.zeros((4, 1500))
    wide = bandit().fit(X, ["a"] * 4, [0.0] * 4)
    assert isinstance(wide.policy_, GDPolicy)


@pytest.mark.parametrize(
    ("n_arms", "n_features", "options", "expected"),
    [
        (2, 3, {}, FTRLPolicy),
        (2, 50, {}, FTRLPolicy),
        (6, 8, {"epsilon": 5.0}, BlocksPolicy),
        (6, 9, {"epsilon": 5.0}, FTRLPolicy),
        (6, 8, {"epsilon": 0.1}, FTRLPolicy),
        (6, 8, {"epsilon": 5.0, "horizon": 100}, FTRLPolicy),
        (6, 8, {"epsilon": 5.0, "horizon": 4}, BlocksPolicy),
        *by_night((1500, 60, {"epsilon": 1e4, "horizon": 10**6}, FTRLPolicy)),
        (5, 9, {"feature_bound": 1.0, "data_norm": None}, SparsePolicy),
    ],
)
def test_auto_follows_public_facts_in_a_stream(n_arms, n_features, options, expected):
    """Decided before there is a reward: from arms, features, users, the budget and bounds."""
    model = bandit(**{"arms": list(range(n_arms)), "horizon": 10_000} | options)
    model.act(np.zeros((1, n_features)))
    assert isinstance(model.policy_, expected)
    # The price is the whole budget, whatever was chosen.
    budget = options.get("epsilon", 5.0)
    assert model.privacy_spent_.epsilon == pytest.approx(budget)


def test_the_policy_of_the_plan_does_not_look_at_contexts_and_rewards():
    """Two streams that differ in everything but their sizes get the same policy and receipt."""
    X, a, r = log()
    model, other = bandit().partial_fit(X, a, r), bandit().partial_fit(-9 * X, a[::-1], 1 - r)
    assert model.policy_ == other.policy_ == FTRLPolicy()
    assert model.privacy_ledger_ == other.privacy_ledger_


@pytest.mark.filterwarnings("default:DPContextualBandit has")
def test_a_hopeless_problem_is_announced_from_public_facts():
    with pytest.warns(UserWarning, match="no policy for dense contexts"):
        bandit(epsilon=0.01).fit(*log())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeededNoiseWarning)
        bandit(epsilon=10.0).fit(*log())
        bandit(epsilon=0.01, data_norm=None, feature_bound=1.0).fit(*log())


def test_a_stream_after_a_log_is_a_run_of_its_own():
    model = bandit().fit(*log())
    with pytest.raises(ValueError, match="fitted in one go"):
        model.partial_fit(*log())


def test_an_interrupted_call_ends_the_stream(monkeypatch):
    rows = log()
    model = bandit().partial_fit(*part(rows, 0, 10))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(FTRLPolicy, "learn", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(*part(rows, 10, 200))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="interrupted"):
        model.partial_fit(*part(rows, 200, N))
    assert model.privacy_spent_.epsilon == pytest.approx(5.0)


@every_policy
@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_the_whole_run_is_paid_for_from_the_start(policy, adjacency):
    rows = log()
    model = bandit(policy=policy, adjacency=adjacency, delta=1e-6)
    model.partial_fit(*part(rows, 0, 1))
    assert model.privacy_spent_ == pytest.approx((5.0, 1e-6))
    receipt = model.privacy_ledger_
    model.partial_fit(*part(rows, 1, N))
    assert model.privacy_ledger_ == receipt
    assert len(receipt) == 1


def test_data_frames_are_taken_with_their_names():
    X, a, r = log()
    frame = pd.DataFrame(X, columns=list("xyz"))
    model = bandit().partial_fit(frame[:100], pd.Series(a[:100]), pd.Series(r[:100]))
    assert list(model.feature_names_in_) == ["x", "y", "z"]
    model.partial_fit(frame[100:], a[100:], r[100:])
    plain = bandit().partial_fit(X, a, r)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        model.act(frame[["z", "y", "x"]])


# Those of scikit-learn's checks that do not fit: fit takes actions besides rewards.
CHECKS = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
)


@pytest.mark.parametrize("check", CHECKS)
def test_scikit_learn_check_passes(check):
    getattr(estimator_checks, check)("DPContextualBandit", DPContextualBandit())


@pytest.mark.parametrize("solver", ["ftrl", FTRL(), FrankWolfe(batch=50)], ids=str)
@pytest.mark.by_day(1)
def test_another_streaming_solver_learns_arms_for_hdb(solver):
    X, a, r = log(4000)
    model = bandit(policy="hdb", solver=solver, epsilon=1e3, horizon=4000)
    for i in range(0, 4000, 500):
        model.partial_fit(X[i : i + 500], a[i : i + 500], r[i : i + 500])
    clear = np.abs(X[:, 0]) > 0.5
    agree = (model.predict(X) == np.where(X[:, 0] > 0, "a", "b"))[clear]
    assert agree.mean() > 0.9
    assert model.privacy_spent_.epsilon == pytest.approx(1e3)


def test_solvers_that_take_no_streams_are_refused():
    with pytest.raises(ValueError, match="solver"):
        bandit(policy="hdb", solver="gd").partial_fit(*log())


# What travels with copies, pickles and checkpoints.


@every_policy
def test_a_pickle_predicts_and_acts_but_holds_no_session_and_no_seed(policy):
    rows = log()
    model = bandit(policy=policy, random_state=123456789).partial_fit(*part(rows, 0, 200))
    check_seed_stays_behind(model, 123456789)
    packed = pickle.dumps(model)
    copy = pickle.loads(packed)
    np.testing.assert_array_equal(copy.predict(rows[0]), model.predict(rows[0]))
    assert set(copy.act(rows[0])) <= set(ARMS)
    assert copy.privacy_ledger_ == model.privacy_ledger_
    assert b"Session" not in packed
    assert not any(x.tobytes() in packed for x in rows[0][:200])
    with pytest.raises(ValueError, match="unpickled"):
        copy.partial_fit(*part(rows, 200, N))
    copy.fit(*rows)


@pytest.mark.parametrize("policy", [*sorted(POLICIES), HDBPolicy(solver=FTRL())], ids=str)
@pytest.mark.by_day(3)
def test_a_checkpoint_takes_the_stream_along(policy, tmp_path):
    rows = log()
    whole = bandit(policy=policy).partial_fit(*rows)
    model = bandit(policy=policy).partial_fit(*part(rows, 0, 140))
    before = model.predict(rows[0])
    save_checkpoint(model, tmp_path / "stream")
    with pytest.raises(ValueError, match="went on in a checkpoint"):
        model.partial_fit(*part(rows, 140, N))
    np.testing.assert_array_equal(model.predict(rows[0]), before)
    again = load_checkpoint(tmp_path / "stream").partial_fit(*part(rows, 140, N))
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    assert again.privacy_ledger_ == whole.privacy_ledger_
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        pickle.dumps(vars(again)["_session"])


# A bandit among other things.


def test_sampling_is_acting():
    rows = log()
    models = [bandit().partial_fit(*part(rows, 0, 100)) for _ in range(2)]
    np.testing.assert_array_equal(models[0].sample(rows[0]), models[1].act(rows[0]))
    assert models[0]._turn == N
