"""Sensitivities of sums and histograms, found by moving one row."""

from math import sqrt

import numpy as np
import pytest

from skdp.privacy import Adjacency


def test_replacing_a_vector_by_its_opposite_moves_a_sum_by_the_declared_diameter():
    ball = 3.0 * np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
    moves = [np.linalg.norm(a - b) for a in ball for b in ball]
    assert max(moves) == Adjacency.REPLACE_ONE.of_sum(3.0)


def test_removing_a_vector_moves_a_sum_by_the_declared_radius():
    assert np.linalg.norm([3.0, 0.0]) == Adjacency.ZERO_OUT.of_sum(3.0)


def test_moving_a_row_between_bins_moves_counts_by_the_declared_distance():
    assert np.linalg.norm([1.0, -1.0]) == pytest.approx(Adjacency.REPLACE_ONE.of_histogram())
    assert np.linalg.norm([1.0, 0.0]) == Adjacency.ZERO_OUT.of_histogram()


@pytest.mark.parametrize("bound", [1e-3, 1.0, 7.5])
def test_replacing_is_a_removal_and_an_addition(bound):
    assert Adjacency.REPLACE_ONE.of_sum(bound) == 2 * Adjacency.ZERO_OUT.of_sum(bound)
    # Two different bins are touched, so the two unit moves are orthogonal.
    assert Adjacency.REPLACE_ONE.of_histogram() == sqrt(2) * Adjacency.ZERO_OUT.of_histogram()


def test_relations_are_found_by_their_names():
    assert Adjacency("replace_one") is Adjacency.REPLACE_ONE
    assert Adjacency("zero_out") is Adjacency.ZERO_OUT
    with pytest.raises(ValueError, match="add_remove"):
        Adjacency("add_remove")
