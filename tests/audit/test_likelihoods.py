"""Likelihood ratios of answers are those of the mechanisms that gave them."""

from itertools import permutations
from math import exp

import numpy as np
import pytest
from known_noise import seeded

from skdp.audit import GaussianAnswer, NoiseOfSums, VertexAnswer, covariance_of, rows_of_noise
from skdp.privacy.accounting import Spend
from skdp.privacy.mechanisms import (
    PREFIX_SUMS,
    GaussianMechanism,
    GumbelMechanism,
    SiteNoise,
    Trust,
    prefix_sums_by,
)

# Six standard errors: one false alarm in 5e8.
SIGMAS = 6


def squared_distance(answer):
    move = answer.coordinates(1) - answer.coordinates(0)
    return float(move @ move)


def check_gaussian(answer, runs=20_000):
    """Under either data set the ratio is normal, its mean half its variance to either side."""
    square = squared_distance(answer)
    for which, sign in ((0, -1), (1, 1)):
        ratios = answer.log_ratio(answer.again(which, runs, seeded(which)))
        assert ratios.shape == (runs,)
        error = SIGMAS * np.sqrt(square / runs)
        assert ratios.mean() == pytest.approx(sign * square / 2, abs=error)
        assert ratios.var() == pytest.approx(square, rel=SIGMAS * np.sqrt(2 / runs))


def test_of_normal_noise():
    rng = np.random.default_rng(0)
    exact = tuple(rng.normal(size=(2, 3, 2)))
    answer = GaussianAnswer(exact, exact[0], GaussianMechanism(1.0, 0.7))
    away = exact[1] - exact[0]
    assert squared_distance(answer) == pytest.approx(np.vdot(away, away) / 0.49)
    check_gaussian(answer)


def test_entries_that_hardly_move_are_left_out():
    exact = np.zeros((3, 4)), np.diag([1.0, 1e-3, 0.0])[:, [0, 1, 2, 2]]
    answer = GaussianAnswer(exact, exact[0], GaussianMechanism(1.0, 0.7))
    pair = answer.between(0, 1)
    assert pair.given.shape == (1,)
    assert squared_distance(pair) == pytest.approx(squared_distance(answer), rel=0.003)
    check_gaussian(pair)
    assert answer.between(1, 1).given.size == 0


@pytest.mark.parametrize("option", sorted(PREFIX_SUMS))
def test_of_running_sums(option):
    """One term moves at the first step; the distance is what the whole stream is charged for."""
    length, scale = 6, 0.8
    mechanism = prefix_sums_by(option, length)
    rng = np.random.default_rng(0)
    terms = rng.normal(size=(length, 2))
    other = terms.copy()
    other[0] += [0.6, 0.8]
    sums = tuple(np.cumsum(t, axis=0) for t in (terms, other))
    answer = NoiseOfSums(mechanism, scale).answer(sums, sums[0])
    charged = (mechanism.column_norm / scale) ** 2
    assert squared_distance(answer) <= charged * (1 + 1e-9)
    # A tree publishes less than it is charged for; the others hide nothing.
    if option in ("blt", "toeplitz"):
        assert squared_distance(answer) == pytest.approx(charged, rel=0.02)
    check_gaussian(answer)


@pytest.mark.parametrize("option", sorted(PREFIX_SUMS))
def test_the_rows_of_the_noise_have_its_variances(option):
    mechanism = prefix_sums_by(option, 6)
    B = rows_of_noise(mechanism)
    np.testing.assert_allclose((B**2).sum(axis=1), mechanism.variances(np.arange(1, 7)), rtol=1e-9)


@pytest.mark.parametrize(
    ("trust", "edges"),
    [
        (Trust(), None),
        (Trust("pairwise"), None),
        (Trust("pairwise"), np.array([[0, 1], [1, 2], [0, 2], [2, 3]])),
        (Trust("secure_sum"), None),
        (Trust("central"), None),
    ],
    ids=str,
)
def test_of_sites(trust, edges):
    mechanism = SiteNoise.calibrated(tuple("abcd"), edges, trust, 1.0, Spend(1.0), np.full(4, 1.0))
    exact = np.random.default_rng(1).normal(size=(4, 2))
    other = exact.copy()
    other[0] += [0.6, 0.8]
    answer = GaussianAnswer(
        (exact, other), exact, mechanism, covariance_of(mechanism), trust.summed
    )
    # A move by the sensitivity costs the whole spend, or less at sites that have more neighbours.
    assert squared_distance(answer) <= 1 + 1e-9
    if edges is None:
        assert squared_distance(answer) == pytest.approx(1.0)
    check_gaussian(answer)


@pytest.mark.parametrize("choices", [1, 2, 3])
def test_of_choices(choices):
    rng = np.random.default_rng(2)
    exact = tuple(rng.normal(size=(2, 4)))
    mechanism = GumbelMechanism(1.0, 0.5, choices)
    answer = VertexAnswer(exact, np.arange(choices), mechanism)

    def probability(order, scores):
        left, out = {k: exp(s / 0.5) for k, s in enumerate(scores)}, 1.0
        for k in order:
            out *= left[k] / sum(left.values())
            del left[k]
        return out

    orders = np.array(list(permutations(range(4), choices))).T
    ratios = answer.log_ratio(orders)
    expected = [
        np.log(probability(o, exact[1]) / probability(o, exact[0])) for o in orders.T.tolist()
    ]
    np.testing.assert_allclose(ratios, expected)
    single = answer.log_ratio(orders[:, 0])
    assert single.shape == ()
    assert single == pytest.approx(expected[0])
    drawn = answer.again(0, 50, seeded())
    assert drawn.shape == (choices, 50)
