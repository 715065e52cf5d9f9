"""Data in the partitions of dask collections, and models for them, for several test files."""

from contextlib import contextmanager

import numpy as np

from skdp.solvers import GD

N, D = 900, 4
CUTS = (400, 0, 350, 150)
BUDGET = {"random_state": 0, "data_norm": 4.0, "epsilon": 5.0}
CLASSIFIER = {**BUDGET, "classes": [0, 1]}
REGRESSOR = {**BUDGET, "target_bounds": (-6.0, 6.0)}
QUICK = {"solver": GD(steps=3), "precondition": None}


@contextmanager
def two_workers(*, processes=False):
    """A client of two workers with a thread each, in this process or in others."""
    import dask
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.memory.terminate": processes}),
        distributed.LocalCluster(processes=processes, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * [1.0, 0.3, 2.0, 1.0] + [0.0, 1.0, 0.0, 0.0]
    return X, X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=N)


def labels(t):
    return (t > 0).astype(int)


def several(t):
    return (t > -1).astype(int) + (t > 1)


def cut(X, y, cuts=CUTS):
    """As dask arrays, one of whose chunks is empty."""
    import dask.array as da

    return da.from_array(X, chunks=(cuts, -1)), da.from_array(y, chunks=(cuts,))


def of_unknown_length(X, y):
    """The same without known sizes of chunks."""
    import dask.array as da

    keep = np.ones(len(X), dtype=bool)
    kept = da.from_array(keep, chunks=(CUTS,))
    X, y = cut(X, y)
    return X[kept], y[kept]


def tasks_of(graph):
    """What a scheduler is handed, as a dict."""
    return dict(graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
