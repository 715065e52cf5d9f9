"""Evaluations of made-up rows: recorded and replayed, and beside those of a neighbour."""

import numpy as np
from models_that_misbehave import Fixed
from twin_oracle import TwinOracle

import skdp
from skdp.privacy import opened_by

N = 400


class Evaluating:
    """Evaluation with the ``fit`` of an estimator, so that it can be recorded and replayed.

    Parameters
    ----------
    model : object
        What is evaluated.
    **options
        Of ``skdp.evaluate``.
    """

    def __init__(self, model, **options):
        self.model = model
        self.options = {"epsilon": 4.0, "public_model": True, "pointwise": True} | options

    def fit(self, X, y, groups=None):
        """Evaluates; groups are handed on."""
        options = self.options if groups is None else self.options | {"groups": groups}
        self.result = skdp.evaluate(self.model, X, y, **options)
        return self


def make_rows(n=N, seed=0):
    """Rows, labels of which the model knows three quarters, and groups of the two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=2.0, size=(n, 2))
    y = (rng.random(n) < Fixed().predict_proba(X)[:, 1]).astype(int)
    return X, y, (rng.random(n) < 0.4).astype(int)


class _Caught(Exception):
    pass


def apart(task, rows, neighbour):
    """Evaluation, the mu that tells its rows from a neighbour's, and its largest single move.

    Parameters
    ----------
    task : Evaluating
        What is asked.
    rows, neighbour : tuple
        Arguments of its ``fit``.
    """
    stores, made = [], []

    def catching(rows, ledger, adjacency, noise):
        stores.append(rows)
        raise _Caught

    def twin(rows, ledger, adjacency, noise):
        made.append(TwinOracle(rows, stores[0], ledger, adjacency, noise))
        return made[-1]

    try:
        with opened_by(catching):
            task.fit(*neighbour)
    except _Caught:
        pass
    with opened_by(twin):
        task.fit(*rows)
    return task.result, np.sqrt(made[0].squares), made[0].largest
