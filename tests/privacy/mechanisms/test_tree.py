"""The binary tree: its error, its levels and its blocks."""

from math import log2

import numpy as np
import pytest
from factors_of_prefix_sums import combination, max_error, rms_error, strategy

from skdp.privacy.mechanisms import Tree

LENGTHS = [1, 2, 3, 4, 7, 8, 9, 100]


@pytest.mark.parametrize(("n", "largest", "typical"), [(1000, 9.49, 7.03), (10_000, 13.49, 9.51)])
def test_errors_of_the_tree(n, largest, typical):
    assert max_error(Tree(n)) == pytest.approx(largest, abs=0.005)
    assert rms_error(Tree(n)) == pytest.approx(typical, abs=0.005)


@pytest.mark.parametrize("n", LENGTHS)
def test_levels_are_counted_one_by_one(n):
    levels = sum(2**j <= n for j in range(20))
    assert Tree(n).column_norm == pytest.approx(levels**0.5, rel=1e-11)
    assert levels == int(log2(n)) + 1


@pytest.mark.parametrize("n", LENGTHS)
def test_a_sum_is_made_of_disjoint_blocks_one_for_each_bit(n):
    B, _ = combination(Tree(n))
    assert set(np.unique(B)) <= {0.0, 1.0}
    for t, row in enumerate(B, start=1):
        blocks = strategy(Tree(n))[row == 1]
        assert len(blocks) == t.bit_count()
        np.testing.assert_array_equal(blocks.sum(axis=0), np.arange(1, n + 1) <= t)
