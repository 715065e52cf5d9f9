import numpy as np
import pytest

from skdp.problem.constraints import Simplex


def test_projection_of_a_constant_is_the_centre():
    for level in (-7.0, 0.0, 1e6):
        np.testing.assert_allclose(Simplex(2.0).project(np.full(4, level)), 0.5)


def test_projection_ignores_a_common_shift():
    w = np.random.default_rng(0).normal(size=20)
    np.testing.assert_allclose(Simplex().project(w + 8), Simplex().project(w), atol=1e-14)


def test_huge_entries_cost_no_precision():
    # Naively, the sum 2e16 - 1 rounds to 2e16 and the projection is zero.
    np.testing.assert_array_equal(Simplex().project(np.array([1e16, 1e16, 0.0])), [0.5, 0.5, 0.0])


def test_all_mass_goes_to_an_entry_that_leads_by_the_radius():
    np.testing.assert_array_equal(Simplex(2.0).project(np.array([3.0, 1.0, -4.0])), [2, 0, 0])


def test_start_is_uniform():
    np.testing.assert_allclose(Simplex(3.0).start((2, 3)), np.full((2, 3), 0.5))


@pytest.mark.parametrize("radius", [0.0, -1.0, float("inf"), float("nan")])
def test_radius_that_is_not_positive_and_finite_is_refused(radius):
    with pytest.raises(ValueError, match="Simplex needs a radius"):
        Simplex(radius)
