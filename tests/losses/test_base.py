"""The clip of losses: unbounded derivatives of several scores, and what is no derivative."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from skdp.problem.losses import Loss


@dataclass(frozen=True)
class HalfSquaredNorm(Loss):
    """``||z||^2 / 2``; its derivative is z."""

    n_scores: ClassVar[int] = 3
    lipschitz: ClassVar[float] = np.inf
    smoothness: ClassVar[float] = 1.0
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "anything"

    def value(self, y, z):
        return 0.5 * (z**2).sum(axis=1)

    def derivative(self, y, z):
        return z.copy()

    def _valid(self, y):
        return np.ones(len(y), dtype=bool)


def clip(z, bound):
    z = np.array(z, dtype=float)
    return HalfSquaredNorm().clipped_derivative(np.zeros(len(z)), z, bound)


def test_long_row_is_scaled_to_the_bound():
    np.testing.assert_allclose(clip([[3, 0, 4]], 1.0), [[0.6, 0, 0.8]], rtol=1e-14)


def test_row_whose_norm_overflows_becomes_zero_and_spares_the_others():
    rows = [[1e200, 0, 0], [np.inf, 0, 0], [np.nan, 1, 0], [0, 0.5, 0]]
    np.testing.assert_array_equal(clip(rows, 1.0), [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0.5, 0]])


def test_zero_row_survives_a_zero_bound():
    np.testing.assert_array_equal(clip([[0, 0, 0], [1, 0, 0]], 0.0), np.zeros((2, 3)))
    np.testing.assert_array_equal(clip([[0, 0, 0]], np.array([0.0])), np.zeros((1, 3)))


def test_loss_without_its_constants_cannot_be_made():
    class Incomplete(Loss):
        def value(self, y, z):
            return z

    with pytest.raises(TypeError, match="lipschitz"):
        Incomplete()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda z: z[:, :1],
        lambda z: z[:-1],
        lambda z: z.T,
        lambda z: z.sum(axis=1),
        lambda z: z[None],
        lambda z: z + 1j,
        lambda z: z.astype(int),
        lambda z: z.astype(object),
        lambda z: 0.0,
    ],
)
def test_derivative_that_has_no_entry_a_score_is_refused_without_quoting_it(wrong):
    class Wrong(HalfSquaredNorm):
        def derivative(self, y, z):
            return wrong(z)

    z = np.full((4, 3), 73.25)
    with pytest.raises(ValueError, match=r"^Wrong needs a derivative .* shape \(4, 3\)") as caught:
        Wrong().clipped_derivative(np.zeros(4), z, 1.0)
    assert "73" not in str(caught.value)


def test_derivative_in_single_precision_is_clipped_in_double_precision():
    class Single(HalfSquaredNorm):
        n_scores: ClassVar[int] = 1

        def derivative(self, y, z):
            return z.astype(np.float32)

    clipped = Single().clipped_derivative(np.zeros(2), np.array([5.0, -5.0]), 0.1)
    assert clipped.dtype == np.float64
    np.testing.assert_array_equal(clipped, [0.1, -0.1])
