"""Bugs planted in the difference of gradients: checks of sensitivity, or of values, catch each."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pytest
from examples_of_gradient_differences import Bent

from skdp.privacy.adjacency import Adjacency
from skdp.privacy.queries import gradient_difference
from skdp.privacy.queries.gradient import GradientQuery
from skdp.privacy.queries.gradient_difference import GradientDifferenceQuery
from skdp.problem.bounds import RowBounds
from skdp.problem.losses import Logistic, Squared
from skdp.problem.problem import Problem
from skdp.testing import check_sensitivity, row_stores

N, D = 12, 3
TOO_FAR = "times its declared sensitivity"


def problem_for(loss):
    return Problem(loss, N, D, RowBounds(2.0))


def difference(problem, w, w0, clip=None):
    return GradientDifferenceQuery(GradientQuery(problem, w, clip), w0)


@dataclass(frozen=True)
class Flattered(Logistic):
    """Claims to be much smoother than it is."""

    smoothness = 1e-3


def test_a_halved_radius_and_a_forgotten_centre_are_caught():
    rng = np.random.default_rng(0)
    problem = problem_for(Squared())
    delta = np.array([1e-3, 0.0, 0.0])
    w0 = rng.normal(size=D)
    half = sqrt(0.5) * 2
    along, to_side = np.tile([2.0, 0, 0], (N, 1)), np.tile([half, half, 0], (N, 1))
    other_side = np.tile([half, -half, 0], (N, 1))
    y = np.zeros(N)
    query = difference(problem, w0 + delta, w0)
    antipodes = [to_side, y, other_side, y]
    assert check_sensitivity(query, *antipodes, Adjacency.REPLACE_ONE) > 0.999
    assert check_sensitivity(query, along, y, along, y, Adjacency.ZERO_OUT) > 0.999
    query.__dict__["_ball"] = (query._ball[0], query.radius / 2)
    with pytest.raises(AssertionError, match=TOO_FAR):
        check_sensitivity(query, *antipodes, Adjacency.REPLACE_ONE)
    query.__dict__["_ball"] = (0.0, 2 * query.radius)
    with pytest.raises(AssertionError, match=TOO_FAR):
        check_sensitivity(query, along, y, along, y, Adjacency.ZERO_OUT)


def test_a_distance_from_a_wrong_origin_is_caught(monkeypatch):
    """The distance to another point than the one that the difference is taken from."""
    problem = problem_for(Squared())
    w0, half, y = np.zeros(D), sqrt(0.5) * 2, np.zeros(N)
    antipodes = [np.tile([half, half, 0], (N, 1)), y, np.tile([half, -half, 0], (N, 1)), y]
    w = np.array([1e-3, 0.0, 0.0])
    assert check_sensitivity(difference(problem, w, w0), *antipodes, Adjacency.REPLACE_ONE) > 0.999

    def bug(self, adjacency):
        return self.gradient.problem.smoothness * np.linalg.norm(self.w0 - 0.9 * w) / N

    monkeypatch.setattr(GradientDifferenceQuery, "sensitivity", bug)
    with pytest.raises(AssertionError, match=TOO_FAR):
        check_sensitivity(difference(problem, w, w0), *antipodes, Adjacency.REPLACE_ONE)


def test_a_missing_factor_of_two_for_a_loss_that_is_not_convex_is_noticed(monkeypatch):
    """Without the factor of two the projection would bend gradients that are as declared."""
    problem = problem_for(Bent())
    w0 = np.array([np.pi / 2, 0.0, 0.0])
    w = w0 + np.array([1e-3, 0.0, 0.0])
    rows = row_stores(np.tile([2.0, 0, 0], (N, 1)), np.zeros(N))["dense"]
    true = GradientQuery(problem, w).evaluate(rows) - GradientQuery(problem, w0).evaluate(rows)
    np.testing.assert_allclose(difference(problem, w, w0).evaluate(rows), true, atol=1e-14)
    monkeypatch.setattr(GradientDifferenceQuery, "_kind", (0.5, 0.5))
    assert not np.allclose(difference(problem, w, w0).evaluate(rows), true, atol=1e-5)


def test_a_missing_projection_is_caught(monkeypatch):
    problem = problem_for(Flattered())
    w0, y = np.zeros(D), np.zeros(N)
    half = sqrt(0.5) * 2
    antipodes = [np.tile([half, half, 0], (N, 1)), y, np.tile([half, -half, 0], (N, 1)), y]
    query = difference(problem, np.array([1e-3, 0.0, 0.0]), w0)
    check_sensitivity(query, *antipodes, Adjacency.REPLACE_ONE)
    monkeypatch.setattr(gradient_difference, "_project", lambda *_: None)
    with pytest.raises(AssertionError, match=TOO_FAR):
        check_sensitivity(query, *antipodes, Adjacency.REPLACE_ONE)
