"""Fixtures for row stores: the gradient of one problem, and peak memory."""

import tracemalloc

import numpy as np
import pytest
from dask_examples import two_workers
from threadpoolctl import threadpool_limits

from skdp.privacy.queries import GradientQuery
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic, Softmax


@pytest.fixture
def gradient():
    """``gradient(rows)``: exact mean gradient at a fixed w, with clipping in every place."""

    def gradient(rows, data_norm=1.0, intercept=1.0, n_classes=2):
        loss = Logistic() if n_classes == 2 else Softmax(n_classes)
        bounds = RowBounds(data_norm, intercept)
        problem = Problem(loss, rows.n_samples, rows.n_features, bounds)
        w = np.random.default_rng(7).standard_normal(problem.shape) / data_norm
        return GradientQuery(problem, w, clip_norm=0.5 * problem.row_norm).evaluate(rows)

    return gradient


@pytest.fixture
def peak_bytes():
    """``peak_bytes(function)``: most memory that numpy and Python held at once on top of before.

    With one thread: each has a block of its own.
    """

    def peak_bytes(function):
        tracemalloc.start()
        try:
            with threadpool_limits(1):
                function()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return peak_bytes


@pytest.fixture(scope="module")
def client():
    """A client of two workers."""
    with two_workers() as client:
        yield client


@pytest.fixture
def one_thread():
    """Dask computes in the thread of the caller."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def dd():
    """Dask's dataframes, whose requirements do not all install beside the oldest numpy."""
    try:
        import dask.dataframe
    except ImportError as error:
        pytest.skip(f"needs dask dataframes: {error}")
    return dask.dataframe
