"""Copies, pickles and checkpoints of bandits: what travels, and what stays."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skdp import DPContextualBandit, load_checkpoint, save_checkpoint
from skdp.bandit.policies import POLICIES, GDPolicy, HDBPolicy
from skdp.solvers import FTRL
from skdp.testing import check_seed_stays_behind

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore:DPContextualBandit has .* users for:UserWarning"),
]

N, D, ARMS = 300, 3, ["a", "b"]
every_policy = pytest.mark.parametrize("policy", sorted(POLICIES))


def bandit(**options):
    settings = {"data_norm": 1.0, "horizon": N, "random_state": 0, "epsilon": 5.0}
    return DPContextualBandit(ARMS, **settings | options)


def log():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    a = rng.choice(ARMS, N)
    return X, a, np.clip(0.5 + 0.4 * np.where(a == "a", 1, -1) * X[:, 0], 0, 1)


def part(rows, start, stop):
    return [values[start:stop] for values in rows]


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


def test_clones_have_the_parameters_alone():
    model = bandit(policy=GDPolicy(steps=3)).fit(*log())
    fresh = clone(model)
    assert repr(fresh) == repr(model)
    assert not hasattr(fresh, "arms_")
    fresh.set_params(policy__steps=4)
    assert fresh.policy.steps == 4
    assert model.policy.steps == 3


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
