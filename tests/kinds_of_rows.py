"""Every kind of rows that a query can be asked about: stores and layouts, people, weights, zeros.

A unit is a tuple ``X, y, weights`` of its rows, weights None if there are none. A new row store, or
a layout, is one line of ``STORES``.
"""

import tempfile
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from skdp.privacy.queries import GumbelQuery, PerturbedQuery
from skdp.privacy.rows import (
    ChunkedRows,
    Chunks,
    DaskRows,
    DenseRows,
    PredictedRows,
    Predictor,
    PrivacyUnits,
    RowBuffer,
    SparseRows,
)
from skdp.privacy.streams import Call

try:
    import dask
    import dask.array as da
except ImportError:
    dask = None

LARGEST_SINGLE = float(np.finfo(np.float32).max)
# Rows of a chunk, and of a partition: less than a person may have.
CHUNK = 3
ROUNDING = 1e-11


@dataclass(frozen=True)
class Table:
    """Rows as they come, with a label each if people are protected."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    labels: np.ndarray | None

    @property
    def units(self):
        return None if self.labels is None else PrivacyUnits.of(self.labels)

    def cut(self, kind):
        """Parts of a few rows each, and one of none."""
        ends = [*range(0, len(self.y), CHUNK), len(self.y), len(self.y)]
        for i, (start, stop) in enumerate(pairwise(ends)):
            here = slice(start, stop)
            own = (None if part is None else part[here] for part in (self.weights, self.labels))
            yield kind[i % len(kind)](self.X[here]), self.y[here], *own


def table_of(units, of_people=False, order=None):
    """The units' rows one after the other, or mixed up, those of a unit in their order."""
    X, y = (np.concatenate([unit[k] for unit in units]) for k in (0, 1))
    weighted = units[0][2] is not None
    weights = np.concatenate([unit[2] for unit in units]) if weighted else None
    sizes = [len(unit[1]) for unit in units]
    labels = np.repeat(np.arange(len(units)), sizes)
    if order is not None:
        keys = [np.sort(np.random.default_rng([order, k]).random(m)) for k, m in enumerate(sizes)]
        mixed = np.argsort(np.concatenate(keys))
        X, y, labels = X[mixed], y[mixed], labels[mixed]
        weights = weights[mixed] if weighted else None
    return Table(X, y, weights, labels if of_people else None)


def plain(units, of_people=False):
    """The reference: rows in memory, dense, in C order, one unit after the other."""
    return in_memory(np.ascontiguousarray)(table_of(units, of_people))


def in_memory(layout):
    def store(t):
        X = layout(t.X)
        return (SparseRows if sp.issparse(X) else DenseRows)(X, t.y, t.weights, t.units)

    return store


def in_single(X):
    return np.clip(X, -LARGEST_SINGLE, LARGEST_SINGLE).astype(np.float32)


def every_other(X):
    larger = np.full((len(X), 2 * X.shape[1]), 7.0)
    larger[:, ::2] = X
    return larger[:, ::2]


def backwards(X):
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


def in_a_file(X):
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    return mapped


def with_stored_zeros(X):
    n, d = X.shape
    return sp.csr_array((X.ravel(), np.tile(np.arange(d), n), d * np.arange(n + 1)), shape=(n, d))


def in_parts(X):
    """Each entry stored as two halves: the norm of the parts is less than the norm."""
    n, d = X.shape
    columns = np.tile(np.concatenate([np.arange(d)[::-1], np.arange(d)]), n)
    halves = np.concatenate([0.5 * X[:, ::-1], 0.5 * X], axis=1).ravel()
    return sp.csr_array((halves, columns, 2 * d * np.arange(n + 1)), shape=(n, d))


def in_chunks(*kinds, a_row=None):
    def store(t):
        memory = None if a_row is None else a_row * len(t.y)
        size = 4 if t.labels is not None else 2 + (t.weights is not None)
        parts = [part[:size] for part in t.cut(kinds) if len(part[1])]
        chunks = Chunks(parts, memory=memory)
        return ChunkedRows(chunks, np.asarray, tables=True, of_units=t.labels is not None)

    return store


def in_partitions(kind=None):
    def store(t):
        sizes = tuple(len(y) for _, y, *_ in t.cut([np.asarray]))

        def cut(part):
            chunks = (sizes, *((n,) for n in part.shape[1:]))
            return None if part is None else da.from_array(part, chunks=chunks)

        X = cut(t.X) if kind is None else cut(t.X).map_blocks(kind)
        weights, labels = (None if p is None else cut(p) for p in (t.weights, t.labels))
        return DaskRows(X, cut(t.y), np.asarray, weights, privacy_unit=labels, tables=True)

    return store


def in_calls(t):
    """Rows that came in calls of a stream and were kept for a block."""
    buffer = RowBuffer(t.X.shape[1], sparse=False)
    for X, y, weights, _ in t.cut([np.asfortranarray, sp.csr_array]):
        if len(y):
            store = SparseRows if sp.issparse(X) else DenseRows
            buffer.append(store(X, y, weights))
    if t.labels is None:
        return buffer.rows()
    call = Call(buffer.rows(), t.labels)
    return call.counting(np.ones(call.n_samples, dtype=bool))


def taken_apart(t):
    if t.labels is not None:
        return in_memory(np.asfortranarray)(t)

    def with_others(part):
        others = np.full((1, *part.shape[1:]), 7.0)
        return np.concatenate([others, part, others])

    weights = None if t.weights is None else with_others(t.weights)
    whole = SparseRows(sp.csr_array(with_others(t.X)), with_others(t.y), weights)
    return whole.part(1, len(t.y) + 1)


class Repeating:
    """A model that predicts what its features say."""

    def predict(self, X):
        return X[:, 0]

    def predict_proba(self, X):
        return X[:, 2:]


def predicted(t):
    """What the model says of rows: their prediction, with their group, and their scores."""
    if t.weights is not None:
        raise TypeError("Test rows have no weights.")
    K = t.X.shape[1] - 2
    asked = (np.arange(K), tuple(range(K)), "predict_proba") if K else (None,)
    return PredictedRows(Predictor(Repeating(), *asked), t.X, t.y, t.X[:, 1], t.units)


STORES = {
    "dense": in_memory(np.ascontiguousarray),
    "columns first": in_memory(np.asfortranarray),
    "every other column": in_memory(every_other),
    "backwards": in_memory(backwards),
    "in a file": in_memory(in_a_file),
    "single": in_memory(in_single),
    "csr": in_memory(sp.csr_array),
    "csr, single": in_memory(lambda X: sp.csr_array(in_single(X))),
    "csr, stored zeros": in_memory(with_stored_zeros),
    "csr, entries in parts": in_memory(in_parts),
    "taken apart": taken_apart,
    "calls": in_calls,
    "chunks": in_chunks(np.ascontiguousarray, np.asfortranarray),
    "chunks, csr and csc": in_chunks(sp.csr_array, sp.csc_array),
    "chunks, features read anew": in_chunks(np.ascontiguousarray, np.asfortranarray, a_row=24),
    "chunks, read anew": in_chunks(np.ascontiguousarray, np.asfortranarray, a_row=0),
    "predicted": predicted,
}
if dask is not None:
    STORES |= {"partitions": in_partitions(), "partitions, csr": in_partitions(sp.csr_array)}
# In which every example is tried, as rows.
LAYOUTS = (
    "dense",
    "columns first",
    "single",
    "csr",
    "csr, single",
    "csr, entries in parts",
    "chunks",
)


def random_weights(rng, n):
    """Weights of every size, 0, 1 and ones beyond the bound among them."""
    weights = rng.uniform(size=n)
    special = [0.0, 1.0, 1e-300, 7.0, 1e300]
    for i in np.flatnonzero(rng.random(n) < 0.5):
        weights[i] = special[rng.integers(len(special))]
    return weights


def units_of(example, *, most=1, alike=False, weights=None, seed=0):
    """Units made of an example's rows, and for each of them the rows that may take its place.

    Parameters
    ----------
    example : Example
        Its rows.
    most : int, default=1
        Most rows of a unit, which is more than one a person.
    alike : bool, default=False
        Whether rows of a unit are copies of one row; else they are those of several.
    weights : callable, optional
        Of a generator and a number of rows; without it rows have the weights of the example.
    seed : int, default=0
        Of all that is random.
    """
    rng, sides = np.random.default_rng(seed), []
    n = len(example.X)
    for X, y, own in (
        (example.X, example.y, example.weights),
        (example.other_X, example.other_y, example.other_weights),
    ):
        side = []
        for i in range(n):
            m = int(rng.choice([1, 2, 3, most])) if most > 1 else 1
            chosen = np.full(m, i)
            if not alike:
                chosen[1:] = rng.integers(n, size=m - 1)
            given = None if own is None else own[chosen]
            side.append((X[chosen], y[chosen], given if weights is None else weights(rng, m)))
        sides.append(side)
    return sides


def move_within(query, change, adjacency, where):
    """How far an answer has moved, as a share of its sensitivity; fails if that is above 1.

    But for what the query says that rounding may add, which its noise is made for.
    """
    declared = query.sensitivity(adjacency)
    # A minimum, which is a sum of its own kind, says so of a single row.
    margin = 0.0 if isinstance(query, PerturbedQuery) else getattr(query, "rounding", 0.0)
    assert 0 < declared < np.inf, f"{query.name} declares the sensitivity {declared}"
    move = float((np.ptp if isinstance(query, GumbelQuery) else np.linalg.norm)(change)) / declared
    assert move <= 1 + max(ROUNDING, margin), (
        f"{query.name} moved by {move:.15g} times its declared sensitivity {declared:.6g} under "
        f"{adjacency.value} ({where})"
    )
    return move


def changed(example, here, there, i, adjacency):
    """Neighbours: another in the place of unit i, or nobody."""
    if adjacency.value == "zero_out":
        return example.without(here, i)
    return [*here[:i], there[i], *here[i + 1 :]]


def largest_move(example, sides, adjacency, store=plain):
    """Largest move of an answer, as a share of the sensitivity, when one unit's rows change.

    ``store`` makes rows of units.
    """
    query, (here, there) = example.asked, sides
    answer = query.evaluate(store(here))
    return max(
        move_within(
            query,
            query.evaluate(store(changed(example, here, there, i, adjacency))) - answer,
            adjacency,
            f"unit {i}",
        )
        for i in range(len(here))
    )


def as_stored(store, unit):
    """The unit with the entries that the store has, for a reference in double precision."""
    X, *others = unit
    return (in_single(X).astype(np.float64) if "single" in store else X, *others)


def mostly_zero(example, seed=0):
    """The example with most of its entries zero, which sparse stores do not store."""
    rng = np.random.default_rng(seed)
    X, other_X = (
        np.where(rng.random(part.shape) < 0.3, part, 0.0) for part in (example.X, example.other_X)
    )
    return replace(example, X=X, other_X=other_X)
