"""Sets are those of their definitions, and precise at extremes; the battery does the rest."""

import numpy as np
import pytest

from skdp.problem.constraints import Box, L1Ball, L2Ball, LpBall, Simplex, Unconstrained


@pytest.mark.parametrize("p", [1.000001, 1.5, 2.0, 3.0, 500.0])
def test_huge_and_tiny_entries_are_no_trouble(p):
    far = LpBall(1.0, p).project(np.array([1e12, -1.0, 1e-200, 0.0]))
    assert far[0] == pytest.approx(1)
    assert LpBall(1.0, p).contains(far)
    if p <= 2:
        tiny = LpBall(1e-307, p).project(np.array([1e6, -1.0, 0.0]))
        np.testing.assert_allclose(tiny / 1e-307, [1.0, 0.0, 0.0], atol=1e-5)
    # Naively, the sum 2e16 - 1 rounds to 2e16 and the projection is zero.
    np.testing.assert_array_equal(Simplex().project(np.array([1e16, 1e16, 0.0])), [0.5, 0.5, 0.0])


@pytest.mark.parametrize("radius", [0.0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", [L1Ball, L2Ball, LpBall, Simplex])
def test_a_radius_that_is_not_positive_and_finite_is_refused(kind, radius):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs a radius"):
        kind(radius, *([1.5] if kind is LpBall else []))


@pytest.mark.parametrize(
    ("kind", "given", "complaint"),
    [
        *((LpBall, (1.0, p), "an exponent") for p in (1.0, 0.5, 1e7, np.inf, np.nan)),
        *((Box, ends, "finite bounds") for ends in ((1, 0), (0, np.inf), (-np.inf, 0))),
        *((Box, ends, "finite bounds") for ends in ((np.nan, 1), (0, np.nan))),
    ],
)
def test_other_shapes_are_refused(kind, given, complaint):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs {complaint}"):
        kind(*given)


def test_an_unbounded_set_has_no_linear_minimizer():
    with pytest.raises(ValueError, match="needs a bounded set, got Unconstrained; use L1Ball"):
        Unconstrained().linear_minimizer(np.ones(2))
