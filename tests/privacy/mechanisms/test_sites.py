from math import sqrt

import numpy as np
import pytest
from known_noise import seeded

from skdp.privacy import Adjacency, SystemNoise
from skdp.privacy.accounting import Spend
from skdp.privacy.mechanisms import (
    SampledGaussian,
    SiteNoise,
    Trust,
    exposure,
    exposure_of_all_pairs,
    spacing,
)
from skdp.privacy.queries import SiteGradientsQuery, SiteRequest
from skdp.problem import Problem, RowBounds, Sites
from skdp.problem.losses import Logistic
from skdp.testing import check_noise

SITES = ("a", "b", "c", "d", "e")
RING = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
PAIRS = np.column_stack(np.triu_indices(5, 1))
SPEND = Spend(0.04)


def mechanism(source, colluders=0, edges=None, shares=None, labels=SITES):
    shares = np.ones(len(labels)) if shares is None else shares
    trust = Trust(source, colluders, 2.0)
    return SiteNoise.calibrated(labels, edges, trust, 0.3, SPEND, shares)


def draws(mechanism, count=40_000):
    """Many independent rounds as the columns of one."""
    n = len(mechanism.labels)
    return mechanism.randomize(np.zeros((n, count)), seeded())


def test_local_noise_is_calibrated_for_each_site():
    shares = np.array([1.0, 0.5, 0.25, 1.0, 0.1])
    local = mechanism("local", shares=shares)
    np.testing.assert_allclose((0.3 / local.noise_scales) ** 2, 0.04 * shares, rtol=1e-10)
    for k, row in enumerate(draws(local)):
        check_noise(lambda row=row: row, local.noise_scales[k])


@pytest.mark.parametrize("edges", [None, PAIRS, RING], ids=["all", "pairs", "ring"])
def test_pairwise_messages_have_the_covariance_of_own_noise_and_masks(edges):
    found = mechanism("pairwise", 1, edges)
    own = found.own_noise_scales[0]
    laplacian = 5 * np.eye(5) - 1
    if edges is RING:
        laplacian = 2 * np.eye(5) - np.roll(np.eye(5), 1, axis=1) - np.roll(np.eye(5), -1, axis=1)
    expected = own**2 * (np.eye(5) + 4 * laplacian)
    # Entries of the covariance of 40,000 draws err by at most 22 / 200 of own**2 squared twice.
    np.testing.assert_allclose(np.cov(draws(found)), expected, atol=0.7 * own**2)


@pytest.mark.parametrize("edges", [None, RING], ids=["all", "ring"])
@pytest.mark.parametrize("colluders", [0, 1, 2])
def test_own_noise_of_pairs_is_what_the_exposure_allows(edges, colluders):
    found = mechanism("pairwise", colluders, edges)
    share = exposure_of_all_pairs(5 - colluders, 2.0)
    if edges is not None:
        share = exposure(5, edges, 2.0, colluders)
    np.testing.assert_allclose(found.own_noise_scales, found.noise_scales * sqrt(share))
    np.testing.assert_allclose((0.3 / found.noise_scales) ** 2, 0.04, rtol=1e-10)


@pytest.mark.parametrize(
    ("kind", "colluders", "added"),
    [
        ("secure_sum", 0, 1.0),
        ("secure_sum", 2, sqrt(5 / 3)),
        ("final_model", 0, 1.0),
        ("central", 0, 1.0),
    ],
)
def test_sums_have_the_noise_that_honest_sites_need(kind, colluders, added):
    found = mechanism(kind, colluders)
    np.testing.assert_allclose((0.3 / found.noise_scales) ** 2, 0.04, rtol=1e-10)
    check_noise(lambda: draws(found), added * found.noise_scales[0])
    if kind != "central":
        honest = found.own_noise_scales[0] * sqrt(5 - colluders)
        assert honest == pytest.approx(found.noise_scales[0])


@pytest.mark.parametrize("kind", ["local", "pairwise", "secure_sum", "final_model", "central"])
def test_each_site_has_an_event_that_says_whom_it_trusts(kind):
    found = mechanism(kind)
    events = found.event("q")
    assert [event.part.label for event in events] == list(SITES)
    assert {event.trust for event in events} == {kind}
    for event, scale in zip(events, found.noise_scales, strict=True):
        assert (event.sensitivity, event.noise_scale) == (0.3, scale)
    assert found.event("q") is events


@pytest.mark.parametrize(("kind", "colluders"), [("pairwise", 4), ("secure_sum", 5)])
def test_too_few_honest_sites_are_refused(kind, colluders):
    with pytest.raises(ValueError, match=f"{kind!r} with {colluders} colluders .* void the round"):
        mechanism(kind, colluders)


def test_sampled_rows_are_fresh_and_sites_have_noise_of_their_own():
    found = SampledGaussian(2000, 0.1, 2.0, 3.0, Adjacency.REPLACE_ONE, SITES)
    noise = SystemNoise()
    masks = np.array([found.perturbation(noise) for _ in range(50)])
    # Six standard deviations of 100,000 draws.
    assert abs(masks.mean() - 0.1) < 6 * sqrt(0.09 / 100_000)
    assert abs((masks[1:] & masks[:-1]).mean() - 0.01) < 6 * sqrt(0.01 / 98_000)
    out = found.randomize(np.zeros((5, 20_000)), noise)
    check_noise(lambda: out, 3.0)
    off = np.corrcoef(out)[~np.eye(5, dtype=bool)]
    assert np.abs(off).max() < 5 / sqrt(20_000)
    assert [event.part.label for event in found.event("q")] == list(SITES)
    assert {event.noise_multiplier for event in found.event("q")} == {3.0}


@pytest.mark.parametrize("edges", [None, PAIRS, RING], ids=["all", "pairs", "ring"])
def test_masked_messages_lie_on_a_public_grid_whatever_they_say(edges):
    found = mechanism("pairwise", 1, edges)
    grid = spacing(found.sensitivity, found.own_noise_scales[0], 30)
    for seed in range(3):
        value = np.random.default_rng(seed).normal(size=(5, 10, 3))
        np.testing.assert_array_equal(found.randomize(value, SystemNoise()) % grid, 0)


@pytest.mark.parametrize(
    ("kind", "colluders", "labels"),
    [("secure_sum", 1, SITES), ("secure_sum", 0, ("a",)), ("final_model", 0, SITES)],
)
def test_sums_of_messages_lie_on_a_public_grid_whatever_they_say(kind, colluders, labels):
    found, n = mechanism(kind, colluders, labels=labels), len(labels)
    scale = found.own_noise_scales[0] * sqrt(n)
    grid = spacing(found.sensitivity, found.own_noise_scales[0], 30)
    for seed in range(3):
        value = np.random.default_rng(seed).normal(size=(n, 10, 3))
        np.testing.assert_array_equal(found.randomize(value, SystemNoise()) % grid, 0)
    still = np.zeros((n, 2000))
    check_noise(lambda: found.randomize(still, seeded()), scale)


def test_seeds_are_shared_by_the_sites_that_are_named_whoever_takes_part():
    sites = Sites(tuple("abcde"), np.full(5, 2), None)
    problem = Problem(Logistic(), 10, 2, RowBounds(1.0))
    active, edges = np.array([0, 2, 3, 4]), np.array([[0, 4], [2, 3]])
    request = SiteRequest(problem, sites, active, np.zeros((4, 2)))
    query = SiteGradientsQuery(request, Trust("pairwise", 0, 2.0), edges, np.ones(4))
    found = query.mechanism(Adjacency.REPLACE_ONE, SPEND)
    pairs = {(found.labels[i], found.labels[j]) for i, j in found.edges}
    assert pairs == {("a", "e"), ("c", "d")}
