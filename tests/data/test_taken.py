"""A part of a block is the block of that part."""

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy.rows import DenseRows, SparseRows
from skdp.problem import RowBounds, RowMap, TargetBounds

N, D = 9, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) * 10.0 ** RNG.uniform(-2, 2, size=(N, 1))
X[2], X[5, 1] = 1e300, np.inf
Y = RNG.normal(size=N)
PLAIN = RowBounds(2.0, 1.0, TargetBounds(-1.0, 1.0))
MAP = RowMap(np.ones(D), np.diag([1.0, 2.0, 0.5, 1.0]), np.full(D, 0.1), 1.5)
MAPPED = RowBounds(2.0, 1.0, row_map=MAP)
SIGNED = RowBounds(2.0, nonnegative=True)


def block(X, y, bounds):
    store = SparseRows(sp.csr_array(X), y) if bounds is None else DenseRows(X, y)
    parts = []
    store.bounded(bounds or PLAIN).sum(lambda b: parts.append(b) or np.zeros(1))
    return parts[0]


@pytest.mark.parametrize("bounds", [PLAIN, MAPPED, SIGNED, None], ids=["", "map", "sign", "csr"])
@pytest.mark.parametrize("chosen", [[], [4], [0, 2, 5, 8], list(range(N))], ids=len)
def test_a_part_of_a_block_is_the_block_of_that_part(bounds, chosen):
    with np.errstate(all="ignore"):
        part = block(X, Y, bounds).taken(np.array(chosen, dtype=int))
        w = np.arange(1.0, D + 1 + bool((bounds or PLAIN).intercept_value))
        r = np.linspace(-1, 1, len(chosen))
        assert part.scores(w).shape == part.y.shape == part.norms.shape == (len(chosen),)
        total = part.combine(r.copy())
        assert total.shape == w.shape
        if chosen:
            alone = block(X[chosen], Y[chosen], bounds)
            np.testing.assert_array_equal(part.y, alone.y)
            np.testing.assert_allclose(part.norms, alone.norms, rtol=1e-14)
            np.testing.assert_allclose(part.scores(w), alone.scores(w), rtol=1e-13, atol=1e-13)
            np.testing.assert_allclose(total, alone.combine(r.copy()), rtol=1e-13, atol=1e-13)
        else:
            assert not total.any()


# Beyond, sums over a row are cut in pieces.
LONG = np.random.default_rng(1).normal(size=(3, np.getbufsize() + 808))


@pytest.mark.parametrize(
    "row_map",
    [None, RowMap(np.linspace(0.5, 2, LONG.shape[1]), None, np.full(LONG.shape[1], 0.1), 9.0)],
    ids=["", "map"],
)
def test_a_long_row_alone_is_computed_with_as_beside_others(row_map):
    bounds = RowBounds(5.0, 1.0, row_map=row_map)
    w = np.random.default_rng(2).normal(size=LONG.shape[1] + 1)
    drawn = [block(LONG, np.zeros(3), bounds).taken(np.arange(m)) for m in (1, 2, 3)]
    assert len({part.scores(w)[0] for part in drawn}) == 1
    assert len({part.scores(np.column_stack([w, w]))[0, 0] for part in drawn}) == 1
    assert len({block(LONG[:m], np.zeros(m), bounds).norms[0] for m in (1, 2, 3)}) == 1
