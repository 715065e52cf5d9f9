"""Privacy units of several rows: neighbouring data sets, and stores of them in every layout."""

from datetime import date

import numpy as np
import pandas
import scipy.sparse as sp

from skdp.privacy import Adjacency
from skdp.privacy.queries import ResidualQuantileQuery, SelectionQuery, VertexQuery
from skdp.privacy.rows import DenseRows, PrivacyUnits, SparseRows

DAYS = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]")
LARGE = 2**53 + np.arange(1, 4)
# Three people whom two parts of a table name in labels of one kind,
ALIKE = {
    "widths": (np.arange(3, dtype=np.int8), np.arange(3, dtype=np.uint64)),
    "large numbers": (LARGE, LARGE.astype(np.uint64)),
    "numbers in a list": (np.arange(3), [0, np.uint8(1), 2]),
    "truth values": (np.array([0, 1, 2]), [False, True, 2]),
    "nullable numbers": (np.arange(3), pandas.Series(range(3), dtype="Int64")),
    "lengths of text": (np.array(["a", "b", "c"]), np.array(["a", "b", "c"], dtype="U9")),
    "text of pandas": (["a", "b", "c"], pandas.Series(["a", "b", "c"], dtype="string")),
    "categories": (["a", "b", "c"], pandas.Series(["a", "b", "c"], dtype="category")),
    "zeros": (np.array([0.0, 1.5, 2.0]), [-0.0, 1.5, np.float64(2)]),
    "days": (DAYS, DAYS[::-1]),
    "byte orders": (DAYS.astype("<M8[s]"), DAYS.astype(">M8[s]")),
    "tuples": ([("a", k) for k in range(3)], [("a", np.int16(k)) for k in range(3)]),
}
# or in labels that would make two of each.
UNLIKE = {
    "zeros in front": (["01", "02", "03"], [1, 2, 3]),
    "text": (np.array(["1", "2", "3"]), np.array([1, 2, 3])),
    "floats": (np.array([1, 2, 3]), np.array([1.0, 2.0, 3.0])),
    "large floats": (LARGE, LARGE.astype(float)),
    "precisions": (np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3], dtype=np.float32)),
    "units of dates": (DAYS, DAYS.astype("datetime64[ns]")),
    "dates of Python": (DAYS, [date(2020, 1, day) for day in (1, 2, 3)]),
    "dates as text": (DAYS, DAYS.astype(str)),
    "moments": (DAYS.astype("datetime64[ns]"), list(pandas.Series(DAYS))),
    "durations": (DAYS - DAYS[0], DAYS.astype(np.int64) - DAYS[0].astype(np.int64)),
    "bytes": (np.array([b"a", b"b\0", b"c"]), [b"a", b"b\0", b"c"]),
    "text of bytes": (np.array(["a", "b", "c"]), np.array([b"a", b"b", b"c"])),
    "categories": (pandas.Series([1, 2, 3], dtype="category"), pandas.Series(list("123"))),
    "tuples": ([("a", 1), ("a", 2), ("a", 3)], [("a", "1"), ("a", "2"), ("a", "03")]),
    "tuples within": ([((1,), 1)] * 3, [(("1",), 1)] * 3),
    "sets": ([frozenset([k]) for k in (1, 2, 3)], [frozenset([str(k)]) for k in (1, 2, 3)]),
}

CHOICES = SelectionQuery, VertexQuery, ResidualQuantileQuery


def stores_of(people, order=None):
    """Stores of data sets of which each person has a pair X, y, or a triple with weights.

    Rows lie person by person or mixed up, those of a person in their order whoever else is there.
    """
    X, y, *weights = (np.concatenate(parts) for parts in zip(*people, strict=True))
    sizes = [len(person[0]) for person in people]
    labels = np.repeat(np.arange(len(people)), sizes)
    if order is not None:
        keys = [np.sort(np.random.default_rng([order, k]).random(m)) for k, m in enumerate(sizes)]
        mixed = np.argsort(np.concatenate(keys))
        X, y, labels = X[mixed], y[mixed], labels[mixed]
        weights = [part[mixed] for part in weights]
    own, units = (weights[0] if weights else None), PrivacyUnits.of(labels)
    return {
        "dense": DenseRows(np.ascontiguousarray(X), y, own, units),
        "fortran": DenseRows(np.asfortranarray(X), y, own, units),
        "csr": SparseRows(sp.csr_array(X), y, own, units),
    }


def units_of(example, *, alike, seed=0, weights=None):
    """People made of an example's rows, and for each of them the rows of somebody else.

    People whose rows are alike have up to 50 copies of one row; others have rows of several.
    """
    rng = np.random.default_rng(seed)
    n, here, there = len(example.X), [], []
    for i in range(n):
        for people, X, y in (
            (here, example.X, example.y),
            (there, example.other_X, example.other_y),
        ):
            m = int(rng.choice([1, 2, 3, 50]))
            chosen = np.full(m, i) if alike else np.append(i, rng.integers(n, size=m))
            person = [X[chosen], y[chosen]]
            if weights is not None:
                person.append(weights(rng, len(chosen)))
            people.append(tuple(person))
    return here, there


def largest_move(query, here, there, adjacency, order=None):
    """Largest move of an answer, as a share of the sensitivity, when one person's rows change."""
    declared = query.sensitivity(adjacency)
    measure = np.ptp if isinstance(query, CHOICES) else np.linalg.norm
    answers = {name: query.evaluate(rows) for name, rows in stores_of(here, order).items()}
    largest = 0.0
    for i in range(len(here)):
        instead = [there[i]] if adjacency is Adjacency.REPLACE_ONE else []
        near = [*here[:i], *instead, *here[i + 1 :]]
        for name, rows in stores_of(near, order).items():
            move = float(measure(query.evaluate(rows) - answers[name])) / declared
            assert move <= 1 + 1e-11, (
                f"{query.name} moved by {move:.15g} times its declared sensitivity under "
                f"{adjacency} ({name}, person {i})"
            )
            largest = max(largest, move)
    return largest
