"""Bugs of finite precision, planted one by one: each is caught."""

from fractions import Fraction

import numpy as np
import pytest

from skdp.privacy.accounting.ledger import Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms import gaussian
from skdp.privacy.mechanisms import noise_grid as noise_grid
from skdp.privacy.queries import base as queries
from skdp.privacy.queries.gradient import GradientQuery
from skdp.privacy.randomness import SystemNoise
from skdp.privacy.rows import row_blocks as blocks
from skdp.privacy.rows.row_blocks import Block, RawBlock
from skdp.problem.bounds import RowBounds, TargetBounds
from skdp.problem.losses import Squared
from skdp.problem.problem import Problem

RNG = np.random.default_rng(1)
N, D = 9_000, 3
BOUNDS = RowBounds(1.0, 0.0, TargetBounds(-1.0, 1.0))
X, Y = RNG.normal(size=(N, D)), RNG.uniform(-1, 1, N)


@pytest.fixture
def caught(monkeypatch):
    """Runs a check that has to pass, and fail once the bug is there."""

    def run(check, where, name, bug):
        check()
        monkeypatch.setattr(where, name, bug)
        with pytest.raises(AssertionError):
            check()

    return run


def square(values):
    return sum(Fraction(float(v)) ** 2 for v in np.ravel(values))


def margin():
    query = GradientQuery(Problem(Squared(), N, D, BOUNDS), np.ones(D), 0.3)
    mechanism = query.mechanism(Adjacency.REPLACE_ONE, Spend(0.1))
    exact = query.sensitivity(Adjacency.REPLACE_ONE)
    g = noise_grid.spacing(mechanism.sensitivity, mechanism.noise_scale, D)
    # Two answers as far apart as they can be, between grid points.
    a = g * (np.arange(D) + 0.5 - 1e-3)
    b = a + exact / np.sqrt(D)
    b += g * np.ceil(b / g - np.rint(b / g) - 0.5 + 1e-9)
    b = g * (np.rint(b / g) + 0.5 - 1e-3) + 2e-3 * g
    rounded = [np.rint(v / g) * g for v in (a, b)]
    slack = np.linalg.norm(b - a) - exact
    assert np.linalg.norm(rounded[1] - rounded[0]) - max(0.0, slack) <= mechanism.sensitivity


def test_a_missing_margin_is_caught(caught):
    caught(margin, queries, "inflated", lambda sensitivity, rounding: sensitivity)


def test_single_precision_is_caught(caught):
    """Norms and products of float32 rows, computed in float32, overshoot the clip."""
    V = (X * 3).astype(np.float32)

    def check():
        for i in range(300):
            with np.errstate(over="ignore"):
                block = Block(RawBlock(V[i : i + 1], Y[i : i + 1]), RowBounds(1.0)).loaded()
            assert square(block.rows()) <= 1 + Fraction(1, 10**14)

    caught(check, blocks, "_in_double", lambda rows: rows)


def grid_of_answers():
    mechanism = gaussian.GaussianMechanism(1.0, 2.0)
    g = noise_grid.spacing(1.0, 2.0, 100)
    found = mechanism.randomize(RNG.normal(size=100), SystemNoise())
    assert np.array_equal(np.rint(found / g) * g, found)


def test_noise_that_is_added_in_floating_point_is_caught(caught):
    def bug(value, sensitivity, noise_scale, noise):
        return value + noise_scale * noise.normal(value.shape)

    caught(grid_of_answers, gaussian, "noisy_on_grid", bug)


def test_an_answer_that_is_left_off_the_grid_is_caught(caught):
    def bug(value, sensitivity, noise_scale, noise):
        g = noise_grid.spacing(sensitivity, noise_scale, value.size)
        return value + g * noise.rounded(value.shape, noise_scale / g)

    caught(grid_of_answers, gaussian, "noisy_on_grid", bug)
