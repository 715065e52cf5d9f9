"""The running mean of the last iterates."""

import numpy as np
import pytest

from skdp.solvers import TailMean

ITERATES = np.random.default_rng(0).normal(size=(11, 4, 2))


@pytest.mark.parametrize(
    ("share", "last"), [(0.0, 1), (0.05, 1), (0.1, 2), (0.5, 6), (0.95, 11), (1.0, 11)]
)
def test_it_is_the_mean_of_the_last_share(share, last):
    tail = TailMean(len(ITERATES), share)
    for w in ITERATES:
        tail.add(w)
    np.testing.assert_allclose(tail.value(), ITERATES[-last:].mean(axis=0), rtol=1e-13)


def test_the_latest_iterate_stands_for_a_share_that_has_not_begun():
    tail = TailMean(len(ITERATES), 0.5)
    for w in ITERATES[:5]:
        tail.add(w)
        np.testing.assert_array_equal(tail.value(), w)


def test_iterates_and_earlier_values_are_left_alone():
    tail, iterates = TailMean(len(ITERATES), 1.0), ITERATES.copy()
    first = None
    for w in iterates:
        tail.add(w)
        first = tail.value() if first is None else first
    np.testing.assert_array_equal(iterates, ITERATES)
    np.testing.assert_array_equal(first, ITERATES[0])


def test_without_iterates_there_is_no_value():
    with pytest.raises(ValueError, match="needs an iterate"):
        TailMean(3, 0.5).value()
