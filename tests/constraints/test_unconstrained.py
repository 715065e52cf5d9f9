import numpy as np
import pytest

from skdp.problem.constraints import Unconstrained


def test_everything_is_feasible():
    w = np.array([1e300, -5.0])
    np.testing.assert_array_equal(Unconstrained().project(w), w)
    assert Unconstrained().diameter(2) == np.inf


def test_linear_minimizer_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match="needs a bounded set, got Unconstrained; use L1Ball"):
        Unconstrained().linear_minimizer(np.ones(2))
