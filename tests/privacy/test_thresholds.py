"""Releases above a threshold add to delta: in ledgers, totals and budgets."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest

from skdp import BudgetExceededError, PrivacyBudget, PrivacySpent, split_budget
from skdp.preprocessing import DPOneHotEncoder, DPStandardScaler
from skdp.privacy import Adjacency, gdp
from skdp.privacy.accounting import (
    GaussianDP,
    GaussianEvent,
    Ledger,
    PerturbedGaussianDP,
    ThresholdedGaussianDP,
    ThresholdEvent,
    ZeroConcentratedDP,
)
from skdp.reporting import (
    GaussianFilter,
    Receipt,
    RenyiFilter,
    SpendBound,
    SumsFilter,
    ThresholdFilter,
    compose,
)

DELTA, T = 1e-5, 1e-7
ABOVE = ThresholdEvent(query="categories", sensitivity=0.2, noise_scale=1.0, threshold_delta=T)
COUNTS = GaussianEvent(query="counts", sensitivity=0.3, noise_scale=1.0)


def receipt_of(*events, calculus=None):
    ledger = Ledger(2.0, DELTA, calculus=calculus)
    for event in events:
        ledger.charge(event)
    return Receipt(ledger.receipt(), ledger.spent())


@pytest.mark.parametrize("calculus", [GaussianDP(), ZeroConcentratedDP(), PerturbedGaussianDP()])
def test_other_calculi_have_no_price_for_a_threshold(calculus):
    with pytest.raises(TypeError, match="price for a ThresholdEvent"):
        Ledger(2.0, DELTA, calculus=calculus).charge(ABOVE)


def test_a_ledger_sets_the_delta_aside_from_the_start():
    ledger = Ledger(2.0, DELTA, calculus=ThresholdedGaussianDP(T))
    assert ledger.limit == gdp.mu(2.0, DELTA - T) ** 2
    ledger.charge(ABOVE)
    ledger.charge(COUNTS)
    mu = sqrt(0.2**2 + 0.3**2)
    assert ledger.spent() == PrivacySpent(pytest.approx(gdp.epsilon(mu, DELTA - T)), DELTA)
    assert ledger.spent().epsilon > gdp.epsilon(mu, DELTA)


def test_a_ledger_refuses_more_than_it_has_set_aside():
    ledger = Ledger(2.0, DELTA, calculus=ThresholdedGaussianDP(T))
    with pytest.raises(BudgetExceededError):
        ledger.charge(replace(ABOVE, threshold_delta=2 * T))
    assert ledger.receipt() == ()
    ledger.charge(ABOVE)
    with pytest.raises(BudgetExceededError, match="reserved 1 times"):
        ledger.charge(ABOVE)
    assert ledger.receipt() == (ABOVE,)
    with pytest.raises(ValueError, match="set less aside"):
        Ledger(2.0, T, calculus=ThresholdedGaussianDP(T))


def test_a_total_takes_the_deltas_of_thresholds_off_its_own():
    encoder = receipt_of(ABOVE, calculus=ThresholdedGaussianDP(T))
    scaler = receipt_of(COUNTS)
    mu = sqrt(2 * 0.2**2 + 0.3**2)
    for delta in (DELTA, 3e-6):
        total = compose([encoder, scaler, encoder], delta)
        assert total.epsilon == pytest.approx(gdp.epsilon(mu, delta - 2 * T), rel=1e-9)
    assert compose([encoder, scaler, encoder]).delta == DELTA
    # There is none below the deltas themselves.
    assert compose([encoder, scaler], T).epsilon == inf
    assert compose([encoder]).epsilon == pytest.approx(encoder.spent.epsilon, rel=1e-9)


def test_each_of_several_releases_adds_the_delta_of_its_threshold():
    """Also where the ledger counts them in one line."""
    several = receipt_of(ABOVE, ABOVE, COUNTS, calculus=ThresholdedGaussianDP(T, releases=2))
    assert [event.count for event in several.events] == [2, 1]
    expected = gdp.epsilon(sqrt(2 * 0.2**2 + 0.3**2), 3e-6 - 2 * T)
    assert compose([several], 3e-6).epsilon == pytest.approx(expected, rel=1e-9)
    rule = ThresholdFilter(1.0, DELTA, Adjacency.REPLACE_ONE)
    assert rule.price(several) == (pytest.approx(2 * 0.2**2 + 0.3**2), pytest.approx(2 * T))


def test_groups_of_rows_get_what_follows_from_epsilon_and_delta():
    """Several people may have a category that nobody else has, which no threshold is for."""
    encoder = receipt_of(ABOVE, calculus=ThresholdedGaussianDP(T))
    two = encoder.between(2)
    assert two.events == ()
    assert two.spent.epsilon == 2 * encoder.spent.epsilon
    assert two.spent.delta > 2 * DELTA
    steps = replace(encoder, adjacency=Adjacency.ZERO_OUT).under(Adjacency.REPLACE_ONE)
    assert steps.spent == two.spent


@pytest.mark.parametrize("rule", [GaussianFilter, RenyiFilter])
def test_rules_without_a_delta_for_thresholds_have_no_room_for_them(rule):
    kept = rule(1.0, DELTA, Adjacency.REPLACE_ONE)
    bound = SpendBound(0.1, DELTA, ThresholdedGaussianDP(T))
    assert kept.reserved(bound).main == inf
    assert kept.price(receipt_of(ABOVE, calculus=ThresholdedGaussianDP(T))).main == inf


def test_the_rule_with_thresholds_keeps_both_sums():
    rule = ThresholdFilter(1.0, DELTA, Adjacency.REPLACE_ONE)
    assert rule.limit == (gdp.mu(1.0, 0.95 * DELTA) ** 2, pytest.approx(0.05 * DELTA))
    encoder = receipt_of(ABOVE, calculus=ThresholdedGaussianDP(T))
    assert rule.price(encoder) == (pytest.approx(0.2**2), T)
    assert rule.price(receipt_of(COUNTS)) == (pytest.approx(0.3**2), 0.0)
    bound = SpendBound(0.1, DELTA, ThresholdedGaussianDP(T))
    assert rule.reserved(bound) == (bound.limit, T)
    zero_out = replace(bound, adjacency=Adjacency.ZERO_OUT)
    assert rule.reserved(zero_out).main == inf
    assert not rule.holds(rule.limit._replace(delta=0.06 * DELTA))
    total = rule.price(encoder)
    assert rule.spent(total).epsilon == pytest.approx(gdp.epsilon(0.2, 0.95 * DELTA))
    sums = SumsFilter(1.0, DELTA, Adjacency.REPLACE_ONE)
    assert sums.price(encoder) == encoder.spent


def table():
    rng = np.random.default_rng(0)
    return rng.choice([0.0, 1.0, 2.0], size=(3000, 2))


def test_a_budget_takes_encoders_beside_gaussian_fits():
    X = table()
    encoder = DPOneHotEncoder(epsilon=0.5, delta=DELTA)
    scaler = DPStandardScaler(epsilon=0.5, delta=DELTA, bounds=(0, 2))
    with PrivacyBudget(1.0, DELTA) as budget:
        budget.fit(encoder, X)
        scaler.fit(X)
        scaler.fit(X)
        assert budget.rule == "thresholds"
        mu = sqrt(gdp.mu(0.5, DELTA * 0.99) ** 2 + 2 * gdp.mu(0.5, DELTA) ** 2)
        assert budget.spent.epsilon == pytest.approx(gdp.epsilon(mu, 0.95 * DELTA), rel=1e-6)
        with pytest.raises(BudgetExceededError):
            DPOneHotEncoder(epsilon=0.9, delta=DELTA).fit(X)
    assert all(entry.rule == "thresholds" for entry in budget.receipts)


def test_a_budget_that_looks_at_a_pipeline_knows_that_an_encoder_comes():
    from sklearn.compose import ColumnTransformer

    steps = [
        ("scaler", DPStandardScaler(epsilon=0.3, delta=DELTA, bounds=(0, 2)), [0]),
        ("encoder", DPOneHotEncoder(epsilon=0.3, delta=DELTA), [1]),
    ]
    with PrivacyBudget(1.0, DELTA) as budget:
        budget.fit(ColumnTransformer(steps), table())
        assert budget.rule == "thresholds"
    # Without an encoder nothing is held back for one.
    with PrivacyBudget(1.0, DELTA) as budget:
        budget.fit(ColumnTransformer(steps[:1]), table())
        assert budget.rule == "gaussian"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_a_budget_that_is_split_leaves_a_hundredth_of_delta_for_an_encoder(epsilon):
    X, left = table(), 0.99 * DELTA
    parts = split_budget({"encoder": 0.3, "scaler": 0.7}, epsilon=epsilon, delta=left)
    encoder = DPOneHotEncoder(epsilon=parts["encoder"], delta=left).fit(X)
    scaler = DPStandardScaler(epsilon=parts["scaler"], delta=left, bounds=(0, 2)).fit(X)
    total = compose([encoder, scaler], DELTA)
    assert total.epsilon <= epsilon
    assert total.epsilon == pytest.approx(epsilon, rel=1e-3)
    assert compose([encoder, scaler]).epsilon > epsilon
