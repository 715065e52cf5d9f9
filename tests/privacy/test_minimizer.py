"""The minimiser reaches its tolerance, with Newton's help and without."""

import numpy as np
import pytest

from skdp.privacy import SmoothObjective, minimize


class Quadratic(SmoothObjective):
    """``<w, H w> / 2 - <c, w>`` with a spectrum that spans the two constants."""

    def __init__(self, direction, strength=0.01, smoothness=10.0):
        rng = np.random.default_rng(0)
        basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
        self.H = basis * np.geomspace(strength, smoothness, 6) @ basis.T
        self.c = rng.normal(size=6)
        self.strength, self.smoothness = strength, smoothness
        self.direction, self.asked = direction, 0

    def gradient(self, w):
        self.asked += 1
        return self.H @ w - self.c

    def newton_step(self, w, gradient):
        return self.direction(self.H, gradient)


DIRECTIONS = {
    "right": lambda H, g: -np.linalg.solve(H, g),
    "too long": lambda H, g: -30 * np.linalg.solve(H, g),
    "uphill": lambda H, g: np.linalg.solve(H, g),
    "nowhere": lambda H, g: np.zeros_like(g),
    "not a number": lambda H, g: np.full_like(g, np.nan),
}


@pytest.mark.parametrize("tolerance", [1e-2, 1e-9])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_tolerance_is_reached_whatever_the_steps_are(direction, tolerance):
    objective = Quadratic(DIRECTIONS[direction])
    w = minimize(objective, np.zeros(6), tolerance)
    assert np.linalg.norm(objective.H @ w - objective.c) <= tolerance


def test_newton_needs_one_step_for_a_quadratic():
    objective = Quadratic(DIRECTIONS["right"])
    minimize(objective, np.zeros(6), 1e-9)
    assert objective.asked == 2


def test_steps_without_newton_are_within_the_bound_of_the_proof():
    objective = Quadratic(DIRECTIONS["nowhere"])
    tolerance, condition = 1e-9, objective.smoothness / objective.strength
    minimize(objective, np.zeros(6), tolerance)
    most = np.sqrt(condition) * np.log(
        2 * condition * (np.linalg.norm(objective.c) / tolerance) ** 2
    )
    assert 20 < objective.asked <= most + 3


class Corner(SmoothObjective):
    """A loss whose slope bends twice, at -1 and 1, far from where Newton's steps end."""

    strength, smoothness = 1e-3, 100.0 + 1e-3

    def gradient(self, w):
        return 100 * np.clip(w, -1, 1) + 1e-3 * w - 50

    def newton_step(self, w, gradient):
        return -gradient / (100.0 * (np.abs(w) < 1) + 1e-3)


@pytest.mark.parametrize("start", [0.0, 1e4, -1e4])
def test_corners_do_not_trap_it(start):
    w = minimize(Corner(), np.full(1, start), 1e-8)
    assert abs(Corner().gradient(w)[0]) <= 1e-8


class Cliff(SmoothObjective):
    """A slope that jumps from -1 to where steps are all but short enough, at a given place."""

    strength, smoothness = 1e-3, 1e3 + 1e-3

    def __init__(self, place):
        self.place = place

    def gradient(self, w):
        return np.clip(1e3 * (w - self.place), -1, 0.12) + 1e-3 * w

    def newton_step(self, w, gradient):
        return np.ones(1)


@pytest.mark.parametrize("place", np.geomspace(0.1, 0.12, 9))
def test_where_a_search_along_a_step_is_given_up_the_slope_is_not_taken_for_that_elsewhere(place):
    w = minimize(Cliff(place), np.zeros(1), 0.5)
    assert abs(Cliff(place).gradient(w)[0]) <= 0.5
