import numpy as np
import pytest

from skdp.federated import TOPOLOGIES, Round, among


def random_values(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3, 2))


@pytest.mark.parametrize("name", sorted(TOPOLOGIES))
def test_weights_are_doubly_stochastic_and_follow_the_graph(name):
    public_rng = np.random.default_rng(0)
    edges = TOPOLOGIES[name].edges(12, public_rng)
    active = np.array([0, 2, 3, 5, 6, 7, 8, 11])
    inside = among(edges, active, 12)
    W = Round(12, inside, active).matrix()
    assert W.min() >= 0
    np.testing.assert_allclose(W.sum(axis=0), 1, rtol=1e-14)
    np.testing.assert_allclose(W.sum(axis=1), 1, rtol=1e-14)
    linked = np.zeros((12, 12), dtype=bool)
    linked[inside[:, 0], inside[:, 1]] = True
    np.testing.assert_array_equal((W > 0) & ~np.eye(12, dtype=bool), linked | linked.T)
    for idle in set(range(12)) - set(active.tolist()):
        np.testing.assert_array_equal(W[idle], np.eye(12)[idle])


def test_all_pairs_and_none_for_them_are_the_exact_mean():
    active = np.array([1, 2, 4])
    pairs = np.array([(1, 2), (1, 4), (2, 4)])
    values = random_values(5)
    expected = values.copy()
    expected[active] = values[active].mean(axis=0)
    for edges in (None, pairs):
        mixed = values.copy()
        Round(5, edges, active).mix(mixed)
        np.testing.assert_allclose(mixed, expected, atol=1e-15)


def test_rate_is_the_factor_by_which_a_ring_contracts():
    edges = TOPOLOGIES["ring"].edges(8, np.random.default_rng(0))
    mixing = Round(8, edges, np.arange(8))
    # Weights of a third each: eigenvalues 1/3 + 2/3 cos(2 pi k / 8).
    rate = 1 / 3 + 2 / 3 * np.cos(np.pi / 4)
    assert np.sort(np.abs(np.linalg.eigvalsh(mixing.matrix())))[-2] == pytest.approx(rate)
    values = random_values(8)
    spread = np.linalg.norm(values - values.mean(axis=0))
    for _ in range(5):
        mixing.mix(values)
        now = np.linalg.norm(values - values.mean(axis=0))
        assert now <= rate * spread * (1 + 1e-12)
        spread = now
