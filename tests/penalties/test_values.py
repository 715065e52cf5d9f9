"""Penalties are those of their definitions; the battery relates value, prox and constants."""

import numpy as np
import pytest

from skdp.problem.penalties import L1, L2, ElasticNet, NoPenalty

W = np.array([4.0, -2.0, 0.5])


@pytest.mark.parametrize(
    ("penalty", "value", "step", "moved"),
    [
        (L1(2.0), 13.0, 0.5, [3.0, -1.0, 0.0]),
        (L2(2.0), 20.25, 0.5, [2.0, -1.0, 0.25]),
        # Thresholds at 1 * 2 * 0.5 = 1, then divides by 1 + 1.
        (ElasticNet(2.0, 0.5), 16.625, 1.0, [1.5, -0.5, 0.0]),
        (NoPenalty(), 0.0, 5.0, W),
    ],
    ids=str,
)
def test_value_and_prox_are_those_of_the_definition(penalty, value, step, moved):
    assert penalty.value(W) == value
    np.testing.assert_array_equal(penalty.prox(W, step), moved)


def test_the_ends_of_an_elastic_net_are_lasso_and_ridge():
    for mixed, pure in ((ElasticNet(0.6, 1.0), L1(0.6)), (ElasticNet(0.6, 0.0), L2(0.6))):
        assert mixed.value(W) == pure.value(W)
        assert mixed.strong_convexity == pure.strong_convexity
        np.testing.assert_array_equal(mixed.prox(W, 0.5), pure.prox(W, 0.5))


@pytest.mark.parametrize("alpha", [-1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", [L1, L2, ElasticNet])
def test_a_strength_that_is_negative_or_not_finite_is_refused(kind, alpha):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs an alpha"):
        kind(alpha)


@pytest.mark.parametrize("l1_ratio", [-0.1, 1.1, float("nan")])
def test_a_share_outside_the_unit_interval_is_refused(l1_ratio):
    with pytest.raises(ValueError, match="ElasticNet needs an l1_ratio"):
        ElasticNet(1.0, l1_ratio)
