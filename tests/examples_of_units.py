"""Privacy units of several rows: neighbouring data sets, and stores of them in every layout."""

import numpy as np
import scipy.sparse as sp

from skdp.privacy import Adjacency
from skdp.privacy.queries import ResidualQuantileQuery, SelectionQuery, VertexQuery
from skdp.privacy.rows import DenseRows, PrivacyUnits, SparseRows

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
