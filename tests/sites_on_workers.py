"""Sites on workers and what they should answer, for several test files."""

import threading
from functools import partial

import numpy as np
from known_noise import Silence

from skdp.privacy import Adjacency, SeededNoise
from skdp.privacy.rows import Refusal
from skdp.privacy.sites import RemoteRows, Site

SIZES = {"east": 300, "north": 500, "west": 200}
D = 3
BUDGET = {"epsilon": 1.0, "delta": 1e-5}
BOUNDS = {**BUDGET, "data_norm": 2.0}
CLASSIFIER = {**BOUNDS, "classes": [0, 1]}
_here = threading.local()


def rows(label):
    """Features and labels of one site."""
    number = list(SIZES).index(label)
    rng = np.random.default_rng(number)
    X = rng.normal([0.3 * number, 0.0, 0.0], size=(SIZES[label], D))
    return X, (X @ [2.0, -1.0, 0.0] + rng.logistic(size=len(X)) > 0).astype(int)


def load(label, of):
    """Rows, telling what is made after them in the same thread where they are."""
    _here.label = label
    return of(label)


def loaders(of=rows):
    return {label: partial(load, label, of) for label in SIZES}


def together(of=rows):
    """X, y and groups of all sites in memory."""
    parts = [of(label) for label in SIZES]
    groups = np.repeat(list(SIZES), list(SIZES.values()))
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]), groups


def seeded(label):
    return SeededNoise(np.random.default_rng([7, list(SIZES).index(label)]))


def seeded_here():
    """In place of the system's noise on a worker."""
    return seeded(_here.label)


class AsAtTheSites(Silence):
    """The noise of seeded sites, for a fit in one process whose rounds were those."""

    def __init__(self, rounds):
        self._rounds = iter(rounds)
        self._sources = {label: seeded(label) for label in SIZES}

    def normal(self, shape):
        active = next(self._rounds)
        assert shape[0] == len(active)
        return np.stack([self._sources[label].normal(shape[1:]) for label in active])


def rounds_of(heard):
    """Who took part in each round, from messages."""
    out = {}
    for message in heard:
        out.setdefault(message.round, []).append(message.site)
    return list(out.values())


class Direct:
    """Sites in this process, asked as those on workers are, with a record of what leaves them."""

    def __init__(self, of=rows, epsilon=1.0, delta=1e-5):
        self.labels = tuple(SIZES)
        self.left = []
        self.sites = [
            Site(load, epsilon, delta, Adjacency.REPLACE_ONE) for load in loaders(of).values()
        ]

    def asked(self, method, arguments, numbers=None):
        out = []
        asked = range(len(SIZES)) if numbers is None else numbers
        for i, given in zip(asked, arguments, strict=True):
            answer = getattr(self.sites[i], method)(*given)
            if isinstance(answer, Refusal):
                raise answer.kind(answer.message)
            self.left.append(answer)
            out.append(answer)
        return out

    def opened(self, epsilon=1.0, delta=1e-5, heard=None, encode=np.asarray):
        return RemoteRows(self, encode, epsilon, delta, Adjacency.REPLACE_ONE, heard)


def exact(label, w, data_norm=2.0, intercept=2.0):
    """Mean gradient of the logistic loss over the rows of a site, without a formula of ours."""
    X, y = rows(label)
    X = X * np.minimum(1.0, data_norm / np.linalg.norm(X, axis=1, keepdims=True))
    X = np.column_stack([X, np.full(len(X), intercept)])
    return X.T @ (1 / (1 + np.exp(-X @ w)) - y) / len(y)
