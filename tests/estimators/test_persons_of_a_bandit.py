"""Persons who come back to a bandit: all their visits together have the budget."""

import pickle

import numpy as np
import pytest

from skdp import DPContextualBandit, load_checkpoint, save_checkpoint
from skdp.privacy import Adjacency
from skdp.privacy.accounting import GaussianDP, ZeroConcentratedDP
from skdp.privacy.bandit_sessions import joint_sensitivity

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning", "ignore::UserWarning")

N, D, ARMS = 120, 2, ["left", "right"]
POLICIES = {
    "ftrl": {"data_norm": 1.0, "policy": "ftrl"},
    "blocks": {"data_norm": 1.0, "policy": "blocks"},
    "gd": {"data_norm": 1.0, "policy": "gd"},
    "sparse": {"feature_bound": 1.0, "policy": "sparse"},
    "hdb": {"feature_bound": 1.0, "policy": "hdb"},
    "hdb of sums": {"feature_bound": 1.0, "policy": "hdb", "solver": "ftrl"},
}
every_policy = pytest.mark.parametrize("options", POLICIES.values(), ids=POLICIES)
RNG = np.random.default_rng(0)
CONTEXTS = RNG.uniform(-0.7, 0.7, (N, D))
ARMS_PULLED = np.array(ARMS)[RNG.integers(0, 2, N)]
REWARDS = RNG.integers(0, 2, N).astype(float)
# Somebody comes seven times.
PERSONS = np.array([f"user {i}" for i in range(N)], dtype=object)
VISITS = [3, 4, 20, 50, 51, 90, 110]
PERSONS[VISITS] = "the person"


def bandit(**options):
    facts = {"arms": ARMS, "horizon": N, "random_state": 0, "epsilon": 2.0}
    return DPContextualBandit(**facts | options)


def fed(model, data=(CONTEXTS, ARMS_PULLED, REWARDS), start=0, stop=N, step=20):
    for i in range(start, stop, step):
        rows = slice(i, min(stop, i + step))
        model.partial_fit(*(part[rows] for part in data), privacy_unit=PERSONS[rows])
    return model


def with_other_visits(which):
    """The same users, but for the rows of some visits of the person."""
    X, arms, rewards = CONTEXTS.copy(), ARMS_PULLED.copy(), REWARDS.copy()
    X[which], arms[which], rewards[which] = -0.6, "left", 1.0
    return X, arms, rewards


def price(model):
    """Total of the receipt in mu^2, and what the budget would be."""
    for calculus in (GaussianDP(), ZeroConcentratedDP()):
        try:
            total = sum(event.count * calculus.cost(event) for event in model.privacy_ledger_)
        except TypeError:
            continue
        return total, calculus.limit(model.epsilon, model.delta_)
    raise AssertionError("no calculus has a price for the receipt")


@every_policy
@pytest.mark.parametrize("max_visits", [1, 2, 7])
def test_the_receipt_prices_all_visits_of_a_person(options, max_visits):
    model = fed(bandit(max_visits=max_visits, **options))
    total, limit = price(model)
    assert 1 - 1e-6 <= total / limit <= 1 + 1e-9
    assert 2.0 * (1 - 1e-6) <= model.privacy_spent_.epsilon <= 2.0
    assert model.privacy_unit_ == "privacy_unit"


@pytest.mark.parametrize("max_visits", [1, 2, 7])
def test_visits_to_one_block_move_moments_as_far_as_was_charged(max_visits):
    """Rows of unit norm at 60 degrees, with rewards at both ends, as often as may be."""
    v, u = np.array([1.0, 0.0]), np.array([0.5, np.sqrt(0.75)])
    move = np.append((np.outer(v, v) - np.outer(u, u)).ravel(), v + u) * max_visits
    (event,) = fed(bandit(max_visits=max_visits, **POLICIES["blocks"])).privacy_ledger_
    assert np.isclose(np.linalg.norm(move), max_visits * joint_sensitivity(Adjacency.REPLACE_ONE))
    assert 0.9 <= np.linalg.norm(move) / event.sensitivity <= 1


@every_policy
@pytest.mark.by_day(3)
def test_visits_beyond_the_declared_number_add_nothing_and_say_nothing(options):
    model = fed(bandit(max_visits=2, **options))
    late = fed(bandit(max_visits=2, **options), with_other_visits(VISITS[2:]))
    np.testing.assert_array_equal(model.coef_, late.coef_)
    assert model.n_seen_ == late.n_seen_ == N
    if options["policy"] in ("ftrl", "blocks", "gd"):
        early = fed(bandit(max_visits=2, **options), with_other_visits(VISITS[:2]))
        assert not np.array_equal(model.coef_, early.coef_)


@every_policy
@pytest.mark.by_day(3)
def test_a_log_counts_visits_as_a_stream_does(options):
    found = []
    for rows in (CONTEXTS, ARMS_PULLED, REWARDS), with_other_visits(VISITS[2:]):
        found.append(bandit(max_visits=2, **options).fit(*rows, privacy_unit=PERSONS).coef_)
    np.testing.assert_array_equal(*found)


@every_policy
@pytest.mark.by_day(3)
def test_a_checkpoint_goes_on_counting(options, tmp_path):
    whole = fed(bandit(max_visits=2, **options))
    save_checkpoint(fed(bandit(max_visits=2, **options), stop=40), tmp_path / "stream")
    taken = load_checkpoint(tmp_path / "stream")
    fed(taken, with_other_visits(VISITS[3:]), start=40)
    np.testing.assert_array_equal(taken.coef_, whole.coef_)


def test_persons_are_named_in_all_calls_or_in_none():
    rows = CONTEXTS[:9], ARMS_PULLED[:9], REWARDS[:9]
    model = bandit(**POLICIES["blocks"]).partial_fit(*rows, privacy_unit=PERSONS[:9])
    with pytest.raises(ValueError, match="in all calls of a stream or in none"):
        model.partial_fit(*rows)
    model = bandit(**POLICIES["blocks"]).partial_fit(*rows)
    with pytest.raises(ValueError, match="in all calls of a stream or in none"):
        model.partial_fit(*rows, privacy_unit=PERSONS[:9])
    for learn in ("fit", "partial_fit"):
        model = bandit(max_visits=2, **POLICIES["blocks"])
        with pytest.raises(ValueError, match="needs privacy_unit, the label of the person of each"):
            getattr(model, learn)(*rows)
        assert not hasattr(model, "privacy_spent_")
        with pytest.raises(ValueError, match="for each of 9 rows, got 8"):
            getattr(model, learn)(*rows, privacy_unit=PERSONS[:8])
        with pytest.raises(ValueError, match="privacy_unit needs a label for every row"):
            getattr(model, learn)(*rows, privacy_unit=[*PERSONS[:8], None])


@every_policy
def test_labels_of_another_type_are_refused_before_anything_is_learned(options, tmp_path):
    model = bandit(**options)
    rows, numbers = (CONTEXTS[:20], ARMS_PULLED[:20], REWARDS[:20]), np.arange(20)
    model.partial_fit(*rows, privacy_unit=numbers)
    for labels in (numbers.astype(str), numbers.astype(float), [*numbers[:19], "19"]):
        with pytest.raises(ValueError, match="labels of one type in all rows"):
            model.partial_fit(*rows, privacy_unit=labels)
        assert model.n_seen_ == 20
    save_checkpoint(model, tmp_path / "bandit")
    model = load_checkpoint(tmp_path / "bandit")
    with pytest.raises(ValueError, match="labels of one type in all rows"):
        model.partial_fit(*rows, privacy_unit=numbers.astype(str))
    assert model.partial_fit(*rows, privacy_unit=numbers.astype(np.int8)).n_seen_ == 40


@every_policy
def test_pickles_hold_no_labels_of_persons(options):
    model = fed(bandit(max_visits=2, **options))
    assert b"the person" not in pickle.dumps(model)
    assert "the person" not in repr(model)
    assert not any("the person" in repr(v) for k, v in vars(model).items() if k.endswith("_"))


def test_a_bandit_that_is_not_private_takes_persons_too():
    model = fed(bandit(max_visits=3, **POLICIES["blocks"] | {"epsilon": float("inf")}))
    assert model.privacy_spent_.epsilon == float("inf")
