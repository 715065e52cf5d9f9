import numpy as np
import pytest

from skdp.problem.penalties import L1, L2, ElasticNet


def test_ends_are_lasso_and_ridge():
    w = np.array([4.0, -0.5, 0.1])
    for mixed, pure in ((ElasticNet(0.6, 1.0), L1(0.6)), (ElasticNet(0.6, 0.0), L2(0.6))):
        assert mixed.value(w) == pure.value(w)
        assert mixed.strong_convexity == pure.strong_convexity
        np.testing.assert_array_equal(mixed.prox(w, 0.5), pure.prox(w, 0.5))


def test_prox_thresholds_then_shrinks():
    # Thresholds at 1 * 2 * 0.5 = 1, then divides by 1 + 1.
    np.testing.assert_array_equal(
        ElasticNet(2.0, 0.5).prox(np.array([4.0, -2.0, 0.5]), 1.0), [1.5, -0.5, 0.0]
    )


@pytest.mark.parametrize("alpha", [-1.0, float("inf"), float("nan")])
def test_strength_that_is_negative_or_not_finite_is_refused(alpha):
    with pytest.raises(ValueError, match="ElasticNet needs an alpha"):
        ElasticNet(alpha)


@pytest.mark.parametrize("l1_ratio", [-0.1, 1.1, float("nan")])
def test_share_outside_the_unit_interval_is_refused(l1_ratio):
    with pytest.raises(ValueError, match="ElasticNet needs an l1_ratio"):
        ElasticNet(1.0, l1_ratio)
