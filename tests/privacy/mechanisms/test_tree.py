"""The tree and the estimator that reads its blocks from below."""

from math import log2

import numpy as np
import pytest
from factors_of_prefix_sums import combination, strategy

from skdp.privacy.mechanisms import BLT, Honaker, Tree

LENGTHS = [1, 2, 3, 4, 7, 8, 9, 100]


@pytest.mark.parametrize(("n", "largest", "typical"), [(1000, 9.49, 7.03), (10_000, 13.49, 9.51)])
def test_errors_of_the_tree(n, largest, typical):
    assert Tree(n).max_error == pytest.approx(largest, abs=0.005)
    assert Tree(n).rms_error == pytest.approx(typical, abs=0.005)


@pytest.mark.parametrize(("n", "largest", "typical"), [(1000, 7.28, 5.36), (10_000, 10.11, 7.13)])
def test_errors_of_the_estimator(n, largest, typical):
    assert Honaker(n).max_error == pytest.approx(largest, abs=0.005)
    assert Honaker(n).rms_error == pytest.approx(typical, abs=0.005)


@pytest.mark.parametrize(("n", "gain"), [(1000, 3.0), (10_000, 3.5), (100_000, 3.6)])
def test_buffers_have_a_third_of_the_error_of_the_tree_or_less(n, gain):
    assert Tree(n).max_error > gain * BLT(n).max_error


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("kind", [Tree, Honaker])
def test_levels_are_counted_one_by_one(kind, n):
    levels = sum(2**j <= n for j in range(20))
    assert kind(n).column_norm == pytest.approx(levels**0.5, rel=1e-11)
    assert levels == int(log2(n)) + 1


@pytest.mark.parametrize("n", LENGTHS)
def test_a_sum_is_made_of_disjoint_blocks_one_for_each_bit(n):
    B, _ = combination(Tree(n))
    assert set(np.unique(B)) <= {0.0, 1.0}
    for t, row in enumerate(B, start=1):
        blocks = strategy(Tree(n))[row == 1]
        assert len(blocks) == t.bit_count()
        np.testing.assert_array_equal(blocks.sum(axis=0), np.arange(1, n + 1) <= t)


@pytest.mark.parametrize("n", LENGTHS)
def test_no_other_use_of_the_same_tree_has_less_noise(n):
    """Best unbiased: least squares on the blocks that are complete at step t, for every t."""
    B, drawn = combination(Honaker(n))
    C = strategy(Honaker(n))
    for t, known in enumerate(drawn, start=1):
        sums = np.ones(t)
        seen = C[:known, :t]
        best = sums @ np.linalg.solve(seen.T @ seen, sums)
        assert B[t - 1] @ B[t - 1] == pytest.approx(best, rel=1e-10)
