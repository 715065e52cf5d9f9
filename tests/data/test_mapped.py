from dataclasses import replace

import numpy as np
import pytest

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.exceptions import SeededNoiseWarning
from skdp.privacy.rows import BoundedBlock, DenseRows, MappedBlock, RawBlock
from skdp.problem import RowBounds, RowMap
from skdp.testing import row_stores

D, K = 5, 3


# Coordinates that features are added to; one is alone in its own.
SKETCH = np.array([2, 0, 3, 1, 0])


def row_map(norm=1.3, matrix=True, seed=0, sketch=False):
    rng = np.random.default_rng(seed)
    wide = 4 if sketch else D
    k = K if matrix else wide
    return RowMap(
        rng.uniform(0.1, 3.0, D),
        rng.normal(size=(wide, K)) if matrix else None,
        rng.normal(size=k),
        norm,
        sketch=SKETCH if sketch else None,
    )


def rows(n=40, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1))
    X[3], X[4] = 0.0, 1e200
    return X, rng.normal(size=n)


def written_out(X, bounds):
    """Mapped rows one by one, clipped before the map and after it."""
    m, out = bounds.row_map, []
    for x in X:
        size = np.abs(x).max()
        length = size * np.linalg.norm(x / size) if size else 0.0
        x = x / length * bounds.data_norm if length > bounds.data_norm else x
        z = x * m.scale
        if m.sketch is not None:
            z = np.array([z[m.sketch == j].sum() for j in range(4)])
        z = (z if m.matrix is None else z @ m.matrix) - m.shift
        z = z * min(1.0, m.norm / np.linalg.norm(z))
        out.append(np.append(z, bounds.intercept_value) if bounds.intercept_value else z)
    return np.array(out)


@pytest.mark.parametrize("sketch", [True, False])
@pytest.mark.parametrize("matrix", [True, False])
@pytest.mark.parametrize("intercept", [0.0, 0.4])
@pytest.mark.parametrize("norm", [0.7, np.inf])
def test_products_are_those_of_rows_written_out(sketch, matrix, intercept, norm):
    X, y = rows()
    bounds = RowBounds(2.0, intercept, row_map=row_map(norm, matrix, sketch=sketch))
    block = MappedBlock(RawBlock(X, y), bounds).loaded()
    U = written_out(X, bounds)
    rng = np.random.default_rng(2)
    np.testing.assert_allclose(block.rows(), U, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(block.norms, np.linalg.norm(U, axis=1), rtol=1e-12)
    for shape in ((), (4,)):
        w, r = rng.normal(size=(U.shape[1], *shape)), rng.normal(size=(len(U), *shape))
        np.testing.assert_allclose(block.scores(w), U @ w, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(block.combine(r.copy()), U.T @ r, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("sketch", [True, False])
def test_the_written_out_linear_part_is_the_map(sketch):
    for matrix in (True, False):
        m = row_map(np.inf, matrix, sketch=sketch)
        X, B = np.random.default_rng(3).normal(size=(7, D)), m.jacobian()
        Z = X @ B - m.shift
        np.testing.assert_allclose(m.apply(X.copy()), Z, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(m.pull_back(Z.T), B @ Z.T, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(m.push_forward(X.T), B.T @ X.T, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(m.push_forward(X[0]), B.T @ X[0], rtol=1e-12, atol=1e-12)
        # Bounds on lengths and on entries hold for the row that is longest after the map.
        longest = np.linalg.svd(B)[0][:, 0]
        assert np.linalg.norm(longest @ B - m.shift) <= m.longest(1.0)
        assert np.abs(longest @ B).max() <= m.reach() * (1 + 1e-12)


@pytest.mark.parametrize("sketch", [True, False])
@pytest.mark.parametrize("matrix", [True, False])
def test_rows_respect_the_norm_whatever_the_data(sketch, matrix):
    X, y = rows()
    bounds = RowBounds(2.0, 0.4, row_map=row_map(0.7, matrix, sketch=sketch))
    for layout, store in row_stores(X, y).items():
        gram = store.bounded(bounds).sum(lambda b: np.array([np.square(b.rows()).sum(1).max()]))
        assert gram[0] <= len(list(store.blocks())) * bounds.row_norm**2 * (1 + 1e-12), layout


def test_rows_are_mapped_anew_only_for_other_coordinates():
    X, y = rows()
    (store,) = [s for name, s in row_stores(X, y).items() if name == "dense"]
    first = row_map()
    view = store.bounded(RowBounds(2.0, row_map=first))
    same = RowMap(first.scale, first.matrix, first.shift, first.norm)
    assert store.bounded(RowBounds(2.0, row_map=same)) is view
    assert hash(same) == hash(first)
    for name in ("scale", "matrix", "shift"):
        other = replace(first, **{name: getattr(first, name).copy()})
        assert store.bounded(RowBounds(2.0, row_map=other)) is not view
    for change in ({"norm": 1.4}, {"sketch": np.arange(D)}):
        other = replace(first, **change)
        assert store.bounded(RowBounds(2.0, row_map=other)) is not view


@pytest.mark.parametrize("size", [np.nan, np.inf, 1e160])
@pytest.mark.parametrize("part", ["scale", "matrix", "shift"])
def test_maps_that_could_turn_rows_into_nan_are_refused(size, part):
    parts = {"scale": np.ones(D), "matrix": np.eye(D), "shift": np.zeros(D)}
    parts[part] = parts[part] * 1.0
    parts[part].flat[0] = size
    with pytest.raises(ValueError, match="RowBounds needs a finite row map"):
        RowBounds(1.0, row_map=RowMap(**parts, norm=1.0))


@pytest.mark.parametrize("condition", [1e6, 1e10, 1e14])
def test_rows_along_what_the_map_hardly_keeps_are_clipped_no_less(condition):
    """Such rows are short after the map, and their lengths are what rounding leaves of them."""
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.normal(size=(D, D)))[0]
    matrix = basis * np.geomspace(1.0, 1 / condition, D)
    # Longer, by the condition, than what it is clipped to.
    bounds = RowBounds(1.0, row_map=RowMap(np.ones(D), matrix, np.zeros(D), 0.1 / condition))
    X = np.vstack([basis[:, -1], basis[:, -1] + basis[:, 0] * 1e-3 / condition])
    block = MappedBlock(RawBlock(np.repeat(X, 20, axis=0), np.zeros(40)), bounds).loaded()
    for r in np.eye(40)[::10]:
        assert np.linalg.norm(block.combine(r)) <= bounds.row_norm * (1 + 1e-12)


@pytest.mark.parametrize("intercept", [0.0, 0.4])
@pytest.mark.parametrize("data_norm", [2.0, 1e9])
@pytest.mark.parametrize("mapped", [True, False])
def test_the_gram_matrix_is_that_of_the_rows(mapped, data_norm, intercept):
    rng = np.random.default_rng(6)
    # More rows than are brought to other coordinates at a time.
    n = 20_000 if mapped else 50
    X = rng.normal(size=(n, D))
    bounds = RowBounds(data_norm, intercept, row_map=row_map() if mapped else None)
    for rows_ in row_stores(X, np.zeros(n)).values():
        for raw in rows_.blocks():
            block = (MappedBlock if mapped else BoundedBlock)(raw, bounds).loaded()
            V = block.rows()
            np.testing.assert_allclose(block.gram(), V.T @ V, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "times"),
    [
        # For a look in released coordinates, and for all steps.
        (DPLogisticRegression(classes=[0, 1], data_norm=1.0, random_state=0), 2),
        (DPLinearRegression(data_norm=1.0, target_bounds=(0, 1), random_state=0), 2),
    ],
)
def test_a_fit_brings_rows_to_each_of_its_coordinates_once(model, times, monkeypatch):
    X, y = np.random.default_rng(7).normal(size=(3000, D)), np.arange(3000) % 2
    apply, brought = RowMap.apply, []
    monkeypatch.setattr(
        RowMap, "apply", lambda m, Z, *by: brought.append(len(Z)) or apply(m, Z, *by)
    )
    with pytest.warns(SeededNoiseWarning):
        model.fit(X, y)
    assert sum(brought) == 3000 * times


@pytest.mark.parametrize("first", ["rows", "combine_within"])
def test_rows_that_nobody_has_measured_yet_are_not_longer_than_the_norm(first):
    rng = np.random.default_rng(0)
    # More than are mapped at a time, where the last are far longer than the others.
    X = rng.normal(size=(9000, 40)).astype(np.float32)
    X[-100:] *= 1000
    rotation = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    bounds = RowBounds(50.0, row_map=RowMap(np.ones(40), rotation, np.zeros(40), norm=1.0))
    found = []

    def kernel(block):
        if first == "combine_within":
            r = np.ones(len(block.y))
            out = block.combine_within(r, 10.0)
            np.testing.assert_allclose(out, block.combine(r), atol=1e-9)
        V = block.rows()
        kept, _ = V.copy(), block.gram()
        assert (kept == V).all()
        found.append(kept)
        return V.sum(axis=0)

    view = DenseRows(X, np.zeros(len(X))).bounded(bounds)
    view.sum(kernel)
    assert np.linalg.norm(np.concatenate(found), axis=1).max() <= 1 + 1e-6
    first_time = found.copy()
    found.clear()
    view.sum(kernel)
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate(first_time))
