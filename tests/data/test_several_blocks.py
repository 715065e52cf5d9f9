"""Rows of sites that are drawn are those that public randomness says, over any number of blocks."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy import SeededNoise, SystemNoise
from skdp.privacy.queries import SampledGradientQuery, SiteRequest
from skdp.privacy.rows import ChunkedRows, Chunks, DenseRows, SparseRows
from skdp.problem import Problem, RowBounds, Sites
from skdp.problem.losses import Logistic

# More rows than a block in memory holds; chunks and partitions are of uneven sizes.
N = 110_000
ENDS = [0, 7, 20_000, 20_001, 70_000, N]
LAYOUTS = ["dense", "single", "sparse", "chunks"]


def stores(X, y):
    """The same rows in stores that hold them in several blocks."""
    pieces = [(X[i:j], y[i:j]) for i, j in pairwise(ENDS)]
    return {
        "dense": lambda: DenseRows(X, y),
        "single": lambda: DenseRows(X.astype(np.float32), y),
        "sparse": lambda: SparseRows(sp.csr_array(X), y),
        "chunks": lambda: ChunkedRows(Chunks(pieces), lambda targets: targets),
    }


def marks(seed, rate=0.01):
    return SeededNoise(np.random.default_rng(seed)).chosen(N, rate)


def logistic_rows():
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.5, 0.5, size=(N, 2))
    return X, (rng.random(N) < 0.5).astype(float)


PROBLEM = Problem(Logistic(), N, 2, RowBounds(1.0))


def derivatives(X, y, w):
    return (1 / (1 + np.exp(-X @ w)) - y)[:, None] * X


SITES = {
    "in order": Sites((0, 1, 2, 3), np.array([5, 45_000, 20_000, N - 65_005])),
    "mixed": Sites.equal(N, 4, np.random.default_rng(7)),
    "many small": Sites.equal(N, 1000, np.random.default_rng(8)),
}


@pytest.mark.parametrize("where", SITES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.by_day(2)
def test_a_message_is_that_of_the_rows_of_the_site_that_are_drawn(layout, where):
    X, y = logistic_rows()
    found = SITES[where]
    active = np.array([0, 1, found.n_sites - 1])
    weights = np.random.default_rng(9).normal(size=(3, 2))
    asked = SiteRequest(PROBLEM, found, active, weights)
    of_row = found.of_rows()
    drawn = marks(11, 0.3)
    order = np.arange(N) if found.order is None else found.order
    by_row = np.empty(N, dtype=bool)
    by_row[order] = drawn
    unit = found.n_sites / N
    for chosen, got in (
        (np.ones(N, dtype=bool), asked.messages(stores(X, y)[layout]())),
        (
            by_row,
            SampledGradientQuery(asked, 1.0).evaluate_under(stores(X, y)[layout](), drawn),
        ),
    ):
        expected = [
            derivatives(*(part[chosen & (of_row == k)] for part in (X, y)), w).sum(axis=0) * unit
            for k, w in zip(active, weights, strict=True)
        ]
        rtol = 1e-5 if layout == "single" else 1e-9
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-6 if rtol > 1e-6 else 1e-12)


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_coins_of_different_blocks_and_rounds_are_independent(source):
    noise = SystemNoise() if source == "system" else SeededNoise(np.random.default_rng(0))
    first, second = noise.chosen(N, 0.25), noise.chosen(N, 0.25)
    size = 30_000
    parts = [first[:size], first[size : 2 * size], first[2 * size : 3 * size], second[:size]]
    deviation = np.sqrt(size * (1 / 16) * (15 / 16))
    for i, one in enumerate(parts):
        for other in parts[:i]:
            # Seven standard deviations: by chance in one case of 1e11.
            assert abs(np.sum(one & other) - size / 16) < 7 * deviation
