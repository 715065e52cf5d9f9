from itertools import combinations

import numpy as np
import pytest

from skdp.federated import TOPOLOGIES
from skdp.privacy.mechanisms import exposure, exposure_bound, exposure_of_all_pairs


def covariance(n_nodes, edges, ratio, known):
    """Of the messages, for who knows the masks of some nodes: from masks written out one by one."""
    columns = [np.eye(n_nodes)[i] for i in range(n_nodes)]
    for i, j in edges.tolist():
        if i not in known and j not in known:
            columns.append(ratio * (np.eye(n_nodes)[i] - np.eye(n_nodes)[j]))
    B = np.array(columns).T
    return B @ B.T


def worst(n_nodes, edges, ratio, colluders):
    """Largest ``e_i' Cov^-1 e_i`` over honest sites, by enumeration of all sets."""
    return max(
        np.linalg.inv(covariance(n_nodes, edges, ratio, known))[i, i]
        for c in range(colluders + 1)
        for known in combinations(range(n_nodes), c)
        for i in set(range(n_nodes)) - set(known)
    )


@pytest.mark.parametrize("ratio", [0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("colluders", [0, 1, 2])
@pytest.mark.parametrize("name", sorted(TOPOLOGIES))
def test_exposure_is_that_of_the_worst_site_and_the_worst_colluders(name, colluders, ratio):
    edges = TOPOLOGIES[name].edges(7, np.random.default_rng(0))
    expected = worst(7, edges, ratio, colluders)
    assert exposure(7, edges, ratio, colluders) == pytest.approx(expected, rel=1e-8)
    assert exposure(7, edges, ratio, colluders) >= expected
    assert exposure_bound(7, edges, ratio, colluders) >= expected * (1 - 1e-12)
    if name == "complete":
        closed = exposure_of_all_pairs(7 - colluders, ratio)
        assert closed == pytest.approx(expected, rel=1e-9)


def test_star_bound_is_attained_by_the_centre_of_a_star():
    edges = np.array([(0, k) for k in range(1, 5)])
    inverse = np.linalg.inv(covariance(5, edges, 2.0, ()))
    assert inverse[0, 0] == pytest.approx(1 / (1 + 4 * 4 / 5))


def test_large_graphs_get_the_bound():
    edges = TOPOLOGIES["ring"].edges(200, np.random.default_rng(0))
    assert exposure(200, edges, 3.0, 1) == exposure_bound(200, edges, 3.0, 1)
