"""The clip of a loss with several scores whose derivative is unbounded."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from skdp.losses import Loss


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
