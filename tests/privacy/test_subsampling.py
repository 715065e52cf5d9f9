"""Accounting of a block of sampled releases: against quadrature, dp-accounting and plain GDP."""

import sys
from dataclasses import replace
from math import exp, inf, sqrt

import numpy as np
import pytest
from by_night import by_night
from definition_of_a_sampled_release import check_one_release
from scipy.special import expit
from scipy.stats import norm

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency
from skdp.privacy.accounting import (
    GaussianDP,
    GaussianEvent,
    Ledger,
    SampledGaussianEvent,
    SubsampledGaussianDP,
    gdp,
)
from skdp.privacy.queries import GradientQuery, SampledGradientQuery
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic
from skdp.solvers import plan_block, schedules

DELTA = 1e-5
BLOCK = SubsampledGaussianDP(0.1, ((6.0, 20),))
# Two levels of noise, one of them in two runs.
LEVELS = SubsampledGaussianDP(0.1, ((8.0, 5), (5.0, 10), (8.0, 3)))
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


def sampled(block, **changes):
    facts = {
        "query": "sampled_gradient",
        "sensitivity": block.adjacency.of_sum(0.5),
        "noise_scale": block.reserves[0][0] * 0.5,
        "sampling_rate": block.sampling_rate,
        "adjacency": block.adjacency,
    }
    return SampledGaussianEvent(**(facts | changes))


def gaussian(price):
    return GaussianEvent(query="gradient", sensitivity=sqrt(price), noise_scale=1.0)


def hockey_stick(rate, z, u, v, epsilon):
    """H of the pair with shifts u and v in the plane, on a grid; from the definition."""
    x = np.linspace(-12, 12, 601)
    area = (x[1] - x[0]) ** 2

    def density(shift):
        return np.outer(norm.pdf(x - shift[0] / z), norm.pdf(x - shift[1] / z))

    rest = (1 - rate) * density((0.0, 0.0))
    p, q = rest + rate * density(u), rest + rate * density(v)
    return np.maximum(p - exp(epsilon) * q, 0).sum() * area


@pytest.mark.parametrize(
    ("rate", "z", "epsilon"), [(0.1, 1.0, 0.1), (0.5, 0.5, 0.7), (0.9, 2.0, 0.0)]
)
def test_no_pair_of_shifts_beats_the_antipodal_one(rate, z, epsilon):
    worst = hockey_stick(rate, z, (1, 0), (-1, 0), epsilon)
    rng = np.random.default_rng(0)
    for _ in range(12):
        angles, lengths = rng.uniform(0, 2 * np.pi, 2), np.sqrt(rng.uniform(0, 1, 2))
        u, v = (r * np.array([np.cos(a), np.sin(a)]) for r, a in zip(lengths, angles, strict=True))
        assert hockey_stick(rate, z, u, v, epsilon) <= worst + 1e-9
    # The path of the proof: turn, then lengthen both.
    path = [
        ((0.5, 0.0), (0.3, 0.4)),
        ((0.5, 0.0), (-0.5, 0.0)),
        ((1, 0), (-0.5, 0)),
        ((1, 0), (-1, 0)),
    ]
    values = [hockey_stick(rate, z, *pair, epsilon) for pair in path]
    assert np.all(np.diff(values) >= -1e-9)


@both_adjacencies
def test_one_release_costs_what_its_definition_says(adjacency):
    check_one_release(adjacency)


@both_adjacencies
@pytest.mark.parametrize(
    ("rate", "z", "count", "price"), [(0.1, 3.0, 20, 0.04), *by_night((0.02, 1.0, 50, 0.3))]
)
@pytest.mark.by_day(1)
def test_agrees_with_dp_accounting_composed_directly(adjacency, rate, z, count, price):
    accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is optional")
    pld = pytest.importorskip("dp_accounting.pld")
    relation = {
        Adjacency.REPLACE_ONE: accounting.NeighboringRelation.REPLACE_ONE,
        Adjacency.ZERO_OUT: accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
    }[adjacency]
    accountant = pld.PLDAccountant(neighboring_relation=relation)
    one = accounting.PoissonSampledDpEvent(rate, accounting.GaussianDpEvent(z))
    accountant.compose(one, count)
    # Its multipliers are in units of the bound on a row, and price is in mu^2 of the relation.
    accountant.compose(accounting.GaussianDpEvent(adjacency.of_sum(1.0) / sqrt(price)))
    block = SubsampledGaussianDP(rate, ((z, count),), adjacency)
    expected = accountant.get_epsilon(DELTA)
    assert block.epsilon(price, DELTA) == pytest.approx(expected, rel=2e-3)
    limit = block.limit(expected, DELTA)
    assert limit == pytest.approx(price, rel=0.01)
    assert block.epsilon(limit, DELTA) <= expected * (1 + 1e-6)


@both_adjacencies
def test_sampling_everyone_is_gaussian_dp(adjacency):
    z, count, price = 40.0, 30, 0.02
    mu2 = price + count * (adjacency.of_sum(1.0) / z) ** 2
    block = SubsampledGaussianDP(1.0, ((z, count),), adjacency)
    assert block.epsilon(price, DELTA) == pytest.approx(gdp.epsilon(sqrt(mu2), DELTA), rel=1e-12)
    assert block.limit(gdp.epsilon(sqrt(mu2), DELTA), DELTA) == pytest.approx(price, rel=1e-9)
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    nearly = SubsampledGaussianDP(1 - 1e-9, ((z, count),), adjacency)
    assert nearly.epsilon(price, DELTA) == pytest.approx(block.epsilon(price, DELTA), rel=1e-3)


@pytest.mark.nightly
@both_adjacencies
@pytest.mark.parametrize(
    ("rate", "epsilon"),
    [(1.0, 0.3), (0.3, 200.0), (0.3, 0.3)]
    + [pytest.param(*case, marks=pytest.mark.nightly) for case in [(0.02, 1e-3), (0.02, 3.0)]],
)
def test_a_planned_block_takes_its_share(adjacency, epsilon, rate):
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    block = plan_block(rate, [1.0] * 40, 0.8, epsilon, DELTA, adjacency)
    whole = GaussianDP().limit(epsilon, DELTA)
    assert 0.799 * whole <= block.limit(epsilon, DELTA) < 0.81 * whole
    # Noise is found within a percent.
    less = replace(block, releases=tuple((z / 1.01, count) for z, count in block.releases))
    assert less.limit(epsilon, DELTA) < 0.8 * whole
    assert len(block.prices) == 40


@pytest.mark.parametrize("rate", [pytest.param(0.05, marks=pytest.mark.nightly), 1.0])
def test_a_planned_schedule_follows_its_shares(rate):
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    shares = schedules.exponential(30, 0.9)
    block = plan_block(rate, shares, 0.1, 1.0, DELTA, Adjacency.REPLACE_ONE)
    prices = np.array(block.prices)
    assert len(block.reserves) == 8
    assert np.all(np.diff(prices) >= 0)
    # Half of a level to either side.
    ratios = prices / prices[-1] / (shares / shares[-1])
    most = (shares[-1] / shares[0]) ** (0.51 / 7)
    assert np.all((ratios < most) & (ratios > 1 / most))
    assert block.limit(1.0, DELTA) >= 0.1 * GaussianDP().limit(1.0, DELTA) * 0.999


def test_shares_that_are_next_to_nothing_get_bounded_noise():
    block = plan_block(1.0, [1.0, 1e-100], 0.5, 1.0, DELTA, Adjacency.REPLACE_ONE)
    assert block.releases[1][0] == pytest.approx(1000 * block.releases[0][0])


def test_a_ledger_takes_the_block_and_no_more():
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    ledger = Ledger(1.0, DELTA, calculus=BLOCK)
    assert ledger.spent() == (0.0, 0.0)
    ledger.charge(sampled(BLOCK, count=5))
    ledger.charge(gaussian(0.6 * ledger.limit))
    for _ in range(15):
        # The bound on a row may change from one to the next; the multiplier is what counts.
        ledger.charge(sampled(BLOCK, sensitivity=3.0, noise_scale=9.0))
    before = ledger.receipt(), ledger.total
    with pytest.raises(BudgetExceededError, match=r"reserved 20 times .* 21 times. Nothing was"):
        ledger.charge(sampled(BLOCK))
    assert (ledger.receipt(), ledger.total) == before
    ledger.charge(gaussian(0.3999999 * ledger.limit))
    with pytest.raises(BudgetExceededError):
        ledger.charge(gaussian(0.01 * ledger.limit))
    assert 0.999 < ledger.spent().epsilon <= 1.0


def test_the_whole_block_is_on_the_bill_once_a_part_is_used():
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    ledger = Ledger(1.0, DELTA, calculus=BLOCK)
    ledger.charge(sampled(BLOCK))
    assert ledger.spent().epsilon == BLOCK.epsilon(0.0, DELTA) > 0


def test_levels_of_noise_are_reserves_of_their_own():
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    ledger = Ledger(2.0, DELTA, calculus=LEVELS)
    low, high = (sampled(LEVELS, noise_scale=0.5 * z) for z in (5.0, 8.0))
    for event in (high, low, high):
        ledger.charge(replace(event, count=4))
    with pytest.raises(BudgetExceededError, match="reserved 8 times"):
        ledger.charge(high)
    # More noise than a level has counts as that level, and less than any is refused.
    ledger.charge(sampled(LEVELS, noise_scale=0.5 * 7.9, count=6))
    with pytest.raises(BudgetExceededError, match="reserved 10 times"):
        ledger.charge(low)
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        ledger.charge(sampled(LEVELS, noise_scale=0.5 * 4.9))


def test_levels_agree_with_dp_accounting_composed_directly():
    accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is optional")
    pld = pytest.importorskip("dp_accounting.pld")
    relation = accounting.NeighboringRelation.REPLACE_ONE
    accountant = pld.PLDAccountant(neighboring_relation=relation)
    for z, count in LEVELS.releases:
        one = accounting.PoissonSampledDpEvent(0.1, accounting.GaussianDpEvent(z))
        accountant.compose(one, count)
    expected = accountant.get_epsilon(DELTA)
    assert LEVELS.epsilon(0.0, DELTA) == pytest.approx(expected, rel=2e-3)


def test_a_whole_receipt_lists_all_levels():
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    ledger = Ledger(2.0, DELTA, calculus=LEVELS)
    assert ledger.receipt(whole=True) == ()
    ledger.charge(sampled(LEVELS, noise_scale=0.5 * 8.0, count=2))
    found = {e.noise_multiplier: e.count for e in ledger.receipt(whole=True)}
    assert found == {8.0: 8, 5.0: 10}
    ledger.charge(sampled(LEVELS, count=3))
    found = {e.noise_multiplier: e.count for e in ledger.receipt(whole=True)}
    assert found == {8.0: 8, 5.0: 10}


@pytest.mark.parametrize(
    "changes",
    [
        {"sampling_rate": 0.11},
        {"sampling_rate": 0.09},
        {"noise_scale": 2.999},
        {"adjacency": Adjacency.ZERO_OUT},
        {"sensitivity": 1.001},
        {"count": 21},
    ],
    ids=str,
)
def test_a_ledger_refuses_other_rates_multipliers_and_relations(changes):
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    ledger = Ledger(1.0, DELTA, calculus=BLOCK)
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        ledger.charge(sampled(BLOCK, **changes))
    assert ledger.receipt() == ()
    ledger.charge(sampled(BLOCK, noise_scale=3.2))


def test_a_refused_release_uses_nothing_of_the_block():
    block = SubsampledGaussianDP(1.0, ((100.0, 2),))
    ledger = Ledger(1.0, DELTA, calculus=block)
    for _ in range(3):
        with pytest.raises(BudgetExceededError):
            ledger.charge(sampled(block, noise_scale=1.0))
    ledger.charge(sampled(block, count=2))


def test_a_block_that_is_too_much_is_refused_at_once():
    with pytest.raises(ValueError, match=r"SubsampledGaussianDP needs a block .* raise the mult"):
        Ledger(0.1, DELTA, calculus=SubsampledGaussianDP(1.0, ((1.0, 100),)))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=r"pip install 'skdp\[minibatch\]'"):
        Ledger(1.0, DELTA, calculus=SubsampledGaussianDP(0.123, ((3.0, 20),)))
    # Where it is not needed it is not asked for.
    Ledger(1.0, DELTA, calculus=SubsampledGaussianDP(1.0, ((100.0, 20),)))
    assert SubsampledGaussianDP(0.1, ((3.0, 20),)).limit(inf, DELTA) == inf


def row_whose_score_depends_on_its_place(n, w):
    """Nearly orthogonal to w, so that rounding is all of its score; by kernels for many rows."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2000, w.size))
    rows -= np.outer(rows @ w, w) / (w @ w)
    rows /= np.linalg.norm(rows, axis=1)[:, None] * 1.0001
    fewer, more = (np.array([np.tile(row, (k, 1)) @ w for row in rows]) for k in (n - 1, n))
    return rows[np.abs(expit(fewer) - expit(more[:, 1:])).sum(axis=1).argmax()]


def check_drawn_row(n=12, d=20):
    """Toggling whether one row is drawn moves the answer by no more than that row contributes."""
    w = np.random.default_rng(0).normal(size=d)
    w *= 1e17 / np.linalg.norm(w)
    row = row_whose_score_depends_on_its_place(n, w)
    for order in "CF":
        X = np.asarray(np.tile(row, (n, 1)), order=order)
        query = SampledGradientQuery(
            GradientQuery(Problem(Logistic(), n, d, RowBounds(1.0)), w), 0.5
        )
        for label in (0.0, 1.0):
            rows = DenseRows(X, np.append(label, np.zeros(n - 1)))
            with_it = np.ones(n, dtype=bool)
            without = with_it.copy()
            without[0] = False
            move = query.evaluate_under(rows, with_it) - query.evaluate_under(rows, without)
            assert np.linalg.norm(move) <= query.sensitivity(Adjacency.ZERO_OUT) * (1 + 1e-6)


def test_scores_of_drawn_rows_do_not_tell_who_else_is_drawn():
    check_drawn_row()
