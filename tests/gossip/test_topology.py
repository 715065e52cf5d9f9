import numpy as np
import pytest

from skdp.federated import TOPOLOGIES, Adjacent, Complete, ErdosRenyi, Grid, Ring


def public_rng(seed=0):
    return np.random.default_rng(seed)


def connected(n_nodes, edges):
    """By walking."""
    reached, todo = {0}, [0]
    while todo:
        here = todo.pop()
        for i, j in edges.tolist():
            for a, b in ((i, j), (j, i)):
                if a == here and b not in reached:
                    reached.add(b)
                    todo.append(b)
    return len(reached) == n_nodes


@pytest.mark.parametrize("n_nodes", [2, 3, 4, 7, 12, 20])
@pytest.mark.parametrize("name", sorted(TOPOLOGIES))
def test_edges_are_pairs_of_different_nodes_each_once_and_connect_all(name, n_nodes):
    edges = TOPOLOGIES[name].edges(n_nodes, public_rng(1))
    assert np.all((edges[:, 0] < edges[:, 1]) & (edges >= 0).all(axis=1) & (edges[:, 1] < n_nodes))
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert connected(n_nodes, edges)


def test_sizes_of_graphs():
    assert len(Complete().edges(10, public_rng())) == 45
    assert len(Ring().edges(10, public_rng())) == 10
    # Three lines of three: two edges in each line and column.
    assert len(Grid().edges(9, public_rng())) == 12


def test_random_graphs_have_the_density_asked_for():
    edges = ErdosRenyi(0.4).edges(100, public_rng())
    # Of 4950 pairs; four standard deviations.
    assert abs(len(edges) - 0.4 * 4950) < 4 * np.sqrt(4950 * 0.24)


def test_own_graph_has_the_edges_that_are_named():
    edges = Adjacent([[1], [0, 2, 3], [1], [1]]).edges(4, public_rng())
    np.testing.assert_array_equal(edges, [(0, 1), (1, 2), (1, 3)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adjacent(((1,), ())), "symmetric"),
        (lambda: Adjacent([np.array([0])]), "empty diagonal"),
        (lambda: Adjacent(((1,), (0,), (3,), (2,))).edges(4, public_rng()), "connected graph"),
        (lambda: Adjacent(((1,), (0,))).edges(3, public_rng()), "one for each site"),
        (lambda: Adjacent(None), "tuple of the numbers"),
        (lambda: Adjacent((("a",), (0,))), "tuple of the numbers"),
        (lambda: Adjacent(((1.0,), (0.0,))), "tuple of the numbers"),
        (lambda: ErdosRenyi(0.0), "probability in"),
        (lambda: ErdosRenyi("0.5"), "number for probability"),
        (lambda: ErdosRenyi(0.01).edges(30, public_rng()), "connects 30 nodes"),
    ],
)
def test_what_is_no_graph_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
