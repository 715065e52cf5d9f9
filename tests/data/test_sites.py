"""Sums by site are those of each site's rows alone, however rows are stored and bunched."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy.rows import DenseRows, Lengths, RowStore, SparseRows, site_sums
from skdp.privacy.rows import site_rows as module
from skdp.problem import RowBounds, Sites, TargetBounds
from skdp.testing import row_stores

N, D = 40, 3
BOUNDS = RowBounds(1.5, 0.5, TargetBounds(-1.0, 1.0))


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    X[3] = 1e100
    return X, rng.normal(size=N)


def sites_of(sizes, ordered=False):
    order = None if ordered else np.random.default_rng(1).permutation(N)
    return Sites(tuple(range(len(sizes))), np.array(sizes), order)


def kernel(facts, z, positions):
    """Mixes all that a kernel is told."""
    y = facts.y if z.ndim == 1 else facts.y[:, None]
    where = positions if z.ndim == 1 else positions[:, None]
    norms = facts.lengths.norms if z.ndim == 1 else facts.lengths.norms[:, None]
    return np.tanh(z - y) * (1 + 0.1 * where) / norms


def expected(X, y, sites, active, W):
    """Site by site, from rows that are written out."""
    scale = np.minimum(1, BOUNDS.data_norm / np.linalg.norm(X, axis=1))
    rows = np.hstack([X * scale[:, None], np.full((N, 1), 0.5)])
    norms, y = np.linalg.norm(rows, axis=1), np.clip(y, -1, 1)
    order = np.arange(N) if sites.order is None else sites.order
    ends = np.cumsum(sites.sizes)
    out = []
    for i, w in zip(active, W, strict=True):
        places = np.arange(ends[i] - sites.sizes[i], ends[i])
        mine = order[places]
        facts = SimpleNamespace(y=y[mine], lengths=Lengths(norms[mine]))
        out.append(rows[mine].T @ kernel(facts, rows[mine] @ w, places))
    return np.array(out)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("active", [[0, 1, 2, 3], [2], [0, 3], [1, 2, 3]])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("entries", [1 << 17, 40, 1])
def test_sums_are_those_of_each_site_alone(monkeypatch, entries, ordered, active, several):
    # Bunches of all sites, of some, and of none.
    monkeypatch.setattr(module, "_BUNCH_ENTRIES", entries)
    X, y = data()
    sites, active = sites_of([5, 1, 30, 4], ordered), np.array(active)
    shape = (len(active), D + 1, 2) if several else (len(active), D + 1)
    W = np.random.default_rng(2).normal(size=shape)
    true = expected(X, y, sites, active, W)
    stores = {name: rows for name, rows in row_stores(X, y).items() if "single" not in name}
    for name, rows in stores.items():
        found = site_sums(rows, BOUNDS, sites).sums(active, W, kernel)
        np.testing.assert_allclose(found, true, rtol=1e-9, atol=1e-9, err_msg=name)


def test_the_latest_view_is_kept_and_another_one_is_made_for_other_sites():
    X, y = data()
    rows, sites = DenseRows(X, y), sites_of([20, 20])
    first = site_sums(rows, BOUNDS, sites)
    assert site_sums(rows, BOUNDS, sites) is first
    assert site_sums(rows, BOUNDS, sites_of([20, 20])) is not first
    assert site_sums(rows, RowBounds(1.0), sites) is not first


def test_large_sparse_sites_are_not_written_out(monkeypatch):
    def refuse(self):
        raise AssertionError("written out densely")

    monkeypatch.setattr("skdp.privacy.rows.bounded_rows.BoundedBlock.rows", refuse)
    X, y = data()
    rows, sites = SparseRows(sp.csr_array(X), y), sites_of([10] * 4)
    W = np.zeros((4, D + 1))
    assert site_sums(rows, BOUNDS, sites).sums(np.arange(4), W, kernel).shape == (4, D + 1)


def test_rows_that_are_elsewhere_are_refused():
    class Elsewhere(RowStore):
        def sum(self, kernel):
            raise NotImplementedError

        def _bounded(self, bounds):
            raise NotImplementedError

    with pytest.raises(TypeError, match="Sites need rows that this process holds, got Elsewhere"):
        site_sums(Elsewhere(), BOUNDS, sites_of([20, 20]))
