"""Noise that is rounded ahead: fresh, wiped, and of the same law."""

import numpy as np
import pytest
from interruptions import interrupted_everywhere

from skdp.privacy import SystemNoise
from skdp.testing import check_noise

WORDS = 1 << 12  # Normals that are drawn ahead.
SCALE = 2.0**40  # So wide that rounded normals are hardly ever equal.


@pytest.mark.nightly
def test_no_rounded_normal_is_handed_out_twice_at_one_scale_or_at_several():
    one, other = SystemNoise(), SystemNoise()
    sizes = [1, 5, WORDS // 8, WORDS // 8 + 1, 3, *[WORDS // 9] * 12, WORDS, WORDS + 1, 0, 10, 10]
    drawn = np.concatenate([noise.rounded(size, SCALE) for size in sizes for noise in (one, other)])
    # Among n draws from a density below 0.4 / SCALE about 0.2 n^2 / SCALE pairs coincide: 1e-4.
    assert np.unique(drawn).size >= drawn.size - 1
    shared = SystemNoise()
    scaled = [shared.rounded(7, scale) / scale for scale in [SCALE, SCALE, 2 * SCALE] * 200]
    normal = [shared.normal(7) for _ in range(200)]
    apart = np.diff(np.sort(np.concatenate(scaled + normal)))
    # What is handed out twice, at two scales or as it is, differs by a rounding of 2^-41.
    assert np.count_nonzero(apart < 2.0**-40) <= 1


def test_used_rounded_normals_are_wiped():
    noise = SystemNoise()
    used = np.concatenate([noise.rounded(100, SCALE) for _ in range(10)])
    memory = noise._rounded.base
    assert memory.size == WORDS
    assert np.intersect1d(memory, used).size == 0


def test_rounding_ahead_does_not_change_the_law():
    noise, scale = SystemNoise(), 1e6
    check_noise(lambda: np.concatenate([noise.rounded(50, scale) for _ in range(400)]), scale)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("draw", [lambda n: n.rounded(3, SCALE), lambda n: n.normal(3)])
def test_an_interrupted_draw_loses_noise_and_leaves_none_that_was_used_or_wiped(draw, failure):
    noise = SystemNoise()
    drawn = [draw(noise), draw(noise)]
    for _ in interrupted_everywhere(lambda: draw(noise), failure):
        # Two, because scales that come twice are drawn ahead.
        drawn += [draw(noise), draw(noise)]
    drawn = np.concatenate(drawn)
    assert np.count_nonzero(drawn) == drawn.size
    assert np.unique(drawn).size == drawn.size
