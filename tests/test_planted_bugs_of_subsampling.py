"""Bugs planted in sampled queries and their accounting: a check catches each."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from definition_of_a_sampled_release import check_one_release

from skdp.exceptions import BudgetExceededError
from skdp.privacy.accounting import gdp, subsampling
from skdp.privacy.accounting.calculus import SubsampledGaussianDP
from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from skdp.privacy.queries.gradient import GradientQuery
from skdp.privacy.queries.gradient_difference import GradientDifferenceQuery
from skdp.privacy.queries.sampled_gradient import SampledGradientQuery
from skdp.privacy.randomness import SeededNoise
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.problem.bounds import RowBounds
from skdp.problem.losses import Squared
from skdp.problem.problem import Problem
from skdp.testing import check_noise

N, D, RATE = 20, 3, 0.1


def request():
    problem = Problem(Squared(), N, D, RowBounds(2.0))
    w0 = np.zeros(D)
    gradient = GradientQuery(problem, np.array([1e-3, 0.0, 0.0]))
    return SampledGradientQuery(GradientDifferenceQuery(gradient, w0), RATE)


def mechanism(kind=SampledGaussian):
    return kind(N, RATE, 2.0, 3.0, Adjacency.REPLACE_ONE)


def source(seed=0):
    return SeededNoise(np.random.default_rng(seed))


def check_drawn(query):
    """A row that is drawn moves the answer within its ball, whoever else is drawn."""
    half = np.sqrt(0.5) * 2
    X, y = np.tile([half, half, 0.0], (N, 1)), np.zeros(N)
    X[0, 1] = -half
    rows, attained = DenseRows(X, y), 0.0
    for others in range(4):
        mask = np.zeros(N, dtype=bool)
        mask[1 : 1 + others] = True
        without = query.evaluate_under(rows, mask)
        mask[0] = True
        move = np.linalg.norm(query.evaluate_under(rows, mask) - without)
        share = move / query.sensitivity(Adjacency.ZERO_OUT)
        assert share <= 1 + 1e-11, f"moved by {share} times the bound beside {others} others"
        attained = max(attained, share)
    assert attained > 0.999


def check_fresh(mechanism, noise):
    """Samples of different releases are independent, at the rate."""
    masks = np.array([mechanism.perturbation(noise) for _ in range(2000)])
    both = (masks[1:] & masks[:-1]).mean()
    assert abs(masks.mean() - RATE) < 0.01
    assert abs(both - RATE**2) < 0.005, f"{both:.3f} of the rows are drawn twice running"


def check_noise_of(mechanism, noise):
    """The noise is that of the event, whoever is drawn."""

    def draw():
        mechanism.perturbation(noise)
        return mechanism.randomize(np.zeros(10), noise)

    check_noise(draw, mechanism.event("x").noise_scale, repeats=2000)


def test_what_is_built_passes():
    check_drawn(request())
    check_fresh(mechanism(), source())
    check_noise_of(mechanism(), source())


@pytest.mark.parametrize("adjacency", Adjacency)
def test_zero_out_used_for_replace_one_is_caught(monkeypatch, adjacency):
    """The factor of two forgotten, and the other way round."""
    check_one_release(adjacency)
    other = next(a for a in Adjacency if a is not adjacency)
    true = subsampling.epsilon

    def bug(sampled, total, delta):
        return true(tuple(replace(s, adjacency=other) for s in sampled), total, delta)

    monkeypatch.setattr(subsampling, "epsilon", bug)
    with pytest.raises(AssertionError, match="than the definition demands"):
        check_one_release(adjacency)


def test_a_mask_shared_between_steps_is_caught():
    kept = []

    @dataclass(frozen=True)
    class Shared(SampledGaussian):
        def perturbation(self, noise):
            if not kept or len(kept) % 2 == 0:
                kept.append(super().perturbation(noise))
            else:
                kept.append(kept[-1])
            return kept[-1]

    with pytest.raises(AssertionError, match="drawn twice running"):
        check_fresh(mechanism(Shared), source())


def test_noise_from_the_realised_batch_size_is_caught():
    drawn = []

    @dataclass(frozen=True)
    class Realised(SampledGaussian):
        def perturbation(self, noise):
            drawn.append(super().perturbation(noise))
            return drawn[-1]

        def randomize(self, value, noise):
            size = max(1, drawn[-1].sum())
            return value + self.noise_scale * RATE * N / size * noise.normal(value.shape)

    with pytest.raises(AssertionError, match="noise"):
        check_noise_of(mechanism(Realised), source())


def test_a_realised_denominator_is_caught():
    class Realised(SampledGradientQuery):
        def evaluate_under(self, rows, perturbation):
            size = max(1, perturbation.sum())
            centre = super().evaluate_under(rows, np.zeros(N, dtype=bool))
            answer = super().evaluate_under(rows, perturbation)
            return centre + (answer - centre) * (RATE * N / size)

    true = request()
    with pytest.raises(AssertionError, match="times the bound"):
        check_drawn(Realised(true.full, true.sampling_rate))


def test_a_rate_forgotten_in_the_sensitivity_is_caught(monkeypatch):
    def bug(self, adjacency):
        return self.full.sensitivity(adjacency)

    monkeypatch.setattr(SampledGradientQuery, "sensitivity", bug)
    with pytest.raises(AssertionError, match="times the bound"):
        check_drawn(request())


def test_the_noise_is_the_constant_multiple_of_the_bound_on_a_row():
    query = request()
    for adjacency in Adjacency:
        z = 1.7
        price = (adjacency.of_sum(1.0) / z) ** 2
        noise = query.mechanism(adjacency, Spend(price)).noise_scale
        row = query.full.radius / (RATE * N)
        assert noise == pytest.approx(z * row, rel=1e-4)
        assert query.mechanism(adjacency, Spend(price)).event("x").noise_multiplier >= z


LEVELS = SubsampledGaussianDP(0.1, ((8.0, 2), (5.0, 2)))


def check_levels():
    """Of each level of noise no more is accepted than was reserved of it."""
    ledger = Ledger(2.0, 1e-5, calculus=LEVELS)
    low = SampledGaussian(N, 0.1, 2.0, 5.0, Adjacency.REPLACE_ONE).event("x")
    for _ in range(2):
        ledger.charge(low)
    with pytest.raises(BudgetExceededError):
        ledger.charge(low)


def test_levels_of_noise_counted_together_are_caught(monkeypatch):
    check_levels()

    def bug(self, event):
        return (5.0, 4)

    monkeypatch.setattr(SubsampledGaussianDP, "reserved", bug)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_levels()


def check_room():
    """What is planned is within the budget, whatever else is spent."""
    block = SubsampledGaussianDP.planned(0.2, [1.0, 4.0] * 5, 0.5, 1.0, 1e-5, Adjacency.REPLACE_ONE)
    half = 0.5 * gdp.mu(1.0, 1e-5) ** 2
    assert subsampling.epsilon(block.sampled, half, 1e-5) <= 1.0 + 1e-9, "over the budget"


def test_a_schedule_priced_by_its_last_step_is_caught(monkeypatch):
    check_room()
    true = subsampling.noise_unit

    def bug(rate, shape, *budget):
        return true(rate, ((max(z for z, _ in shape), sum(n for _, n in shape)),), *budget)

    monkeypatch.setattr(subsampling, "noise_unit", bug)
    with pytest.raises(AssertionError, match="over the budget"):
        check_room()
