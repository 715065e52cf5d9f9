import numpy as np
import pytest

from skdp.federated import TOPOLOGIES, draw_rounds, most_activations


def drawn(schedule, topology="complete", rounds=200, n_active=4, n_nodes=10, dropout=0.0, seed=0):
    graph, public_rng = TOPOLOGIES[topology], np.random.default_rng(seed)
    return draw_rounds(rounds, n_active, n_nodes, schedule, graph, dropout, public_rng)


def counts(rounds, n_nodes=10):
    return np.bincount(np.concatenate([r.active for r in rounds]), minlength=n_nodes)


@pytest.mark.parametrize("topology", sorted(TOPOLOGIES))
@pytest.mark.parametrize("schedule", ["round_robin", "random", "edges"])
def test_active_nodes_are_different_and_edges_join_active_ones(schedule, topology):
    for r in drawn(schedule, topology):
        assert 1 <= r.active.size <= 4
        assert np.all(np.diff(r.active) > 0)
        if r.edges is not None:
            assert np.isin(r.edges, r.active).all()


@pytest.mark.parametrize("n_active", [1, 3, 4, 7, 10])
def test_round_robin_asks_everyone_before_anyone_again(n_active):
    rounds = drawn("round_robin", n_active=n_active, rounds=77)
    assert all(r.active.size == n_active for r in rounds)
    for k in range(1, 78, 5):
        so_far = counts(rounds[:k])
        assert so_far.max() - so_far.min() <= 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("schedule", ["round_robin", "random", "edges"])
def test_nobody_is_active_more_often_than_announced(schedule, seed):
    for rounds, n_active in ((50, 2), (200, 4), (300, 10)):
        most = most_activations(rounds, n_active, 10, schedule)
        assert counts(drawn(schedule, rounds=rounds, n_active=n_active, seed=seed)).max() <= most
        assert most <= rounds


def test_nodes_drop_out_at_the_rate_given_and_rounds_go_on_without_them():
    rounds = drawn("round_robin", n_active=10, rounds=1000, dropout=0.3)
    # Four standard deviations of 10000 trials.
    assert abs(counts(rounds).sum() - 7000) < 4 * np.sqrt(10_000 * 0.21)
    for r in rounds[:20]:
        gone = np.setdiff1d(np.arange(10), r.active)
        np.testing.assert_array_equal(r.matrix()[gone], np.eye(10)[gone])
