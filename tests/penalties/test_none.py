import numpy as np

from skdp.problem.penalties import NoPenalty


def test_costs_nothing_and_moves_nothing():
    w = np.array([[1.0, -2.0]])
    assert NoPenalty().value(w) == 0
    np.testing.assert_array_equal(NoPenalty().prox(w, 5.0), w)
