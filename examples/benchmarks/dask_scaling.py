"""Fits on a local dask cluster: scaling, overhead against memory, and the loss of a worker.

Rows are made on the workers from a seed for each partition of 100,000 rows, 50 features, and never
exist all at once unless a line says that they were persisted. One query is one noisy gradient,
as a fit asks a hundred of; seconds are medians over the queries of one fit. Processor seconds are
those of workers and of this process in the whole fit, divided by its passes over the rows; they
depend less on what else the machine does. Peak memory is the largest resident set of a worker.

    python examples/benchmarks/dask_scaling.py [--quick | --tasks]
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import statistics
import threading
import time
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster, wait

from skdp import DPLogisticRegression
from skdp.privacy import PrivateOracle
from skdp.privacy.rows import DaskRows
from skdp.problem import RowBounds
from skdp.solvers import GD

FEATURES, PARTITION = 50, 100_000
# Of a fit, and of one of more rows than that.
STEPS, FEW_STEPS, MANY_ROWS = 5, 2, 3_000_000


def made(seed):
    """Features and label of the rows of one partition."""
    rng = np.random.default_rng(int(seed[0, 0]))
    rows = rng.random((PARTITION, FEATURES + 1))
    rows[:, :FEATURES] -= 0.5
    score = 2.0 * rows[:, 0] - 1.5 * rows[:, 1]
    rows[:, FEATURES] = score + rows[:, FEATURES] > 0.5
    return rows


def lazy(n):
    """Dask arrays of n rows, made when they are asked for."""
    parts = n // PARTITION
    seeds = da.arange(parts, chunks=1)[:, None]
    rows = seeds.map_blocks(made, chunks=((PARTITION,) * parts, (FEATURES + 1,)), dtype=float)
    return rows[:, :FEATURES].map_blocks(np.ascontiguousarray), rows[:, FEATURES].astype(int)


def model(n):
    """A fit of few queries, nearly all of them gradients."""
    return DPLogisticRegression(
        classes=[0, 1],
        data_norm=3.0,
        solver=GD(steps=STEPS if n <= MANY_ROWS else FEW_STEPS),
        precondition=None,
        fit_intercept=False,
    )


@contextmanager
def timed():
    """Seconds of each query that is asked within the block."""
    seconds, release = [], PrivateOracle._release

    def watched(self, query, spend):
        begin = time.perf_counter()
        answer = release(self, query, spend)
        seconds.append(time.perf_counter() - begin)
        return answer

    PrivateOracle._release = watched
    try:
        yield seconds
    finally:
        PrivateOracle._release = release


@contextmanager
def watched_memory(pids):
    """Largest resident set of each process within the block, in MB."""
    peak, done = dict.fromkeys(pids, 0.0), threading.Event()

    def watch():
        while not done.wait(0.02):
            for pid in pids:
                peak[pid] = max(peak[pid], psutil.Process(pid).memory_info().rss / 1e6)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


@contextmanager
def cluster(workers):
    """A client of so many worker processes of one thread each."""
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as local,
        Client(local) as client,
    ):
        yield client


def processor(pids):
    """Processor seconds of processes so far."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(t.user + t.system for t in times)


def measured(n, X, y, pids=()):
    """The model, and seconds of opening, of a query, of processors a pass; peak memory."""
    everybody = [os.getpid(), *pids]
    used = processor(everybody)
    with watched_memory(pids) as peak, timed() as seconds:
        begin = time.perf_counter()
        fitted = model(n).set_params(random_state=0).fit(X, y)
        whole = time.perf_counter() - begin
    # A pass that opens the rows, one that bounds them, and the queries.
    passes = 2 + len(seconds)
    used = (processor(everybody) - used) / passes
    query = statistics.median(seconds)
    return fitted, (whole - sum(seconds), query, used, max(peak.values(), default=0))


def run(client, n, persisted=False):
    """The same on a cluster."""
    X, y = lazy(n)
    if persisted:
        X, y = dask.persist(X, y)
        wait([X, y])
    return measured(n, X, y, client.run(os.getpid).values())[1]


def row(name, workers, n, numbers, remark=""):
    """One line of the table."""
    opening, query, used, peak = numbers
    print(
        f"| {name} | {workers} | {n:.0e} | {opening:.1f} | {query:.3f} | {used:.3f} | "
        f"{peak:.0f} | {remark} |",
        flush=True,
    )


def scaling(sizes):
    """The same rows on one worker and on two, and twice as many on two."""
    found = {}
    for workers in (1, 2):
        with cluster(workers) as client:
            run(client, PARTITION)
            for n in sizes:
                numbers = run(client, n)
                found[workers, n] = query = numbers[1]
                remark = ""
                if workers == 2:
                    remark = f"strong: {found[1, n] / query:.2f}x"
                    if (1, n // 2) in found:
                        remark += f"; weak: {found[1, n // 2] / query:.2f}"
                row("made anew", workers, n, numbers, remark)


def overhead(n):
    """The same rows in memory, and persisted on workers."""
    with dask.config.set(scheduler="synchronous"):
        X, y = dask.compute(*lazy(n))
        chunks = dask.persist(
            da.from_array(X, chunks=(PARTITION, -1)), da.from_array(y, chunks=PARTITION)
        )
    reference, base = measured(n, X, y)
    row("numpy array", 0, n, base)
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            fitted, numbers = measured(n, *chunks)
        off = np.abs(fitted.coef_ - reference.coef_).max()
        remark = f"processor: {numbers[2] / base[2]:.2f} of numpy; coefficients differ by {off:.0e}"
        row(f"dask, {scheduler}", 0, n, numbers, remark)
    del X, y, chunks
    for workers in (1, 2):
        with cluster(workers) as client:
            run(client, PARTITION, persisted=True)
            numbers = run(client, n, persisted=True)
            row("persisted", workers, n, numbers, f"processor: {numbers[2] / base[2]:.2f} of numpy")


def loss(n):
    """A worker is killed while the third query is under way."""
    release, asked = PrivateOracle._release, []
    with cluster(2) as client:
        pids = list(client.run(os.getpid).values())

        def killing(self, query, spend):
            asked.append(None)
            if len(asked) == 3:
                kill = threading.Timer(0.3, os.kill, (pids[0], signal.SIGKILL))
                kill.start()
            return release(self, query, spend)

        PrivateOracle._release = killing
        try:
            begin = time.perf_counter()
            fitted = model(n).fit(*lazy(n))
            whole = time.perf_counter() - begin
        finally:
            PrivateOracle._release = release
        charged = sum(event.count for event in fitted.privacy_ledger_)
        print(
            f"\nA worker killed in the third of {charged} queries, n = {n:.0e}: the fit took "
            f"{whole:.1f} s, epsilon = {fitted.privacy_spent_.epsilon:.3f}."
        )


def of_tasks(partitions):
    """What a partition of few rows costs a query here, in the process of client and scheduler."""
    rows = np.zeros((10 * partitions, 2)), np.zeros(10 * partitions)
    with cluster(2) as client:
        for name in ("persisted", "made anew"):
            X, y = (da.from_array(part, chunks=(10, *part.shape[1:])) for part in rows)
            if name == "persisted":
                X, y = client.persist([X, y])
            view = DaskRows(X + 0 if name == "made anew" else X, y, np.asarray)
            view = view.bounded(RowBounds(1.0))
            # The first sum finds out what bounds make of the rows.
            for _ in range(2):
                begin, used = time.perf_counter(), time.process_time()
                view.sum(lambda block: block.combine(block.y.copy()))
                took, used = time.perf_counter() - begin, time.process_time() - used
            print(
                f"{partitions} partitions {name}: {1e3 * took / partitions:.2f} ms each, "
                f"{1e3 * used / partitions:.2f} of the processor of client and scheduler",
                flush=True,
            )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--tasks", action="store_true", help="only what tasks cost")
    given = parser.parse_args()
    quick = given.quick
    if given.tasks:
        for partitions in (16, 128, 512):
            of_tasks(partitions)
        return
    unit = 100_000 if quick else 1_000_000
    print(
        f"dask {dask.__version__}, {platform.machine()}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}; {FEATURES} features\n"
    )
    print("| rows | workers | n | opening (s) | query (s) | processors (s) | peak (MB) | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    overhead(unit)
    scaling((unit, 2 * unit, 10 * unit))
    loss(2 * unit)


if __name__ == "__main__":
    main()
