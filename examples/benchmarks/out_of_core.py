"""Fits of tables from 10^5 to 10^8 rows: seconds, passes and memory, beside scikit-learn.

Tables are made once, as memory maps in a folder, of normal features in float32 and labels and
targets of a linear model. Every cell (a store, rows, columns, threads) is a process of its own,
which runs all models in turns, so that ratios are of the same run. *Own memory* is the most that
the process takes for itself beyond what it took before the fit; pages of files, which the system
can drop, do not count. *Passes* are the queries of the ledger.

A store is one entry of ``STORES``: what a private model is given for the table of a folder, and
what to close afterwards. scikit-learn's models take the memory map.

    python examples/benchmarks/out_of_core.py FOLDER [--rows 1e5 1e6] [--columns 20] [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_MADE_AT_A_TIME = 1 << 18
_FEW_ROWS = 3_000_000
_PARTITION = 250_000
# Of a worker, 300 MB of which are the packages that it imports.
_LEAST_MEMORY = 700_000_000


class Table(NamedTuple):
    """A table in a folder: features, labels 0 and 1, and targets, memory-mapped."""

    X: np.ndarray
    labels: np.ndarray
    targets: np.ndarray
    folder: Path


def table(folder: Path, rows: int, columns: int) -> Table:
    """The table of so many rows and columns, made if it is not there."""
    home = folder / f"{rows}x{columns}"
    paths = [home / f"{name}.npy" for name in ("X", "labels", "targets")]
    if not paths[-1].exists():
        _make(paths, rows, columns)
    return Table(*(np.load(path, mmap_mode="r") for path in paths), home)


def _make(paths: list[Path], rows: int, columns: int) -> None:
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    shapes = ((rows, columns), np.float32), ((rows,), np.int8), ((rows,), np.float32)
    X, labels, targets = (
        np.lib.format.open_memmap(path.with_suffix(".part"), "w+", dtype, shape)
        for path, (shape, dtype) in zip(paths, shapes, strict=True)
    )
    rng = np.random.default_rng(0)
    slope = rng.standard_normal(columns) / np.sqrt(columns)
    for start in range(0, rows, _MADE_AT_A_TIME):
        m = min(_MADE_AT_A_TIME, rows - start)
        here = slice(start, start + m)
        X[here] = part = rng.standard_normal((m, columns), dtype=np.float32)
        score = part @ slope
        labels[here] = 2.0 * score + rng.logistic(size=m) > 0
        targets[here] = score + rng.standard_normal(m)
    for path in paths:
        path.with_suffix(".part").replace(path)


@contextmanager
def memory_map(given: Table, y: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """The memory map as it is."""
    yield given.X, y


@contextmanager
def chunks(given: Table, y: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Chunks of the memory map that a function delivers."""
    from skdp import Chunks

    def read() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, len(y), _PARTITION):
            yield given.X[start : start + _PARTITION], y[start : start + _PARTITION]

    yield (Chunks(read),)


@contextmanager
def arrays(given: Table, y: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """The memory map in ten arrays."""
    from skdp import Chunks

    ends = [len(y) * k // 10 for k in range(11)]
    X, targets = ([of[i:j] for i, j in pairwise(ends)] for of in (given.X, y))
    yield (Chunks.from_arrays(X, targets),)


def parquet_files(given: Table) -> Path:
    """A folder of files of a million rows each, in row groups of a partition, made once."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = given.folder / "parquet"
    if not folder.exists():
        made = given.folder / "parquet.part"
        made.mkdir(exist_ok=True)
        for k, start in enumerate(range(0, len(given.X), 4 * _PARTITION)):
            here = slice(start, start + 4 * _PARTITION)
            columns = {f"x{j:03}": x for j, x in enumerate(np.asarray(given.X[here]).T)}
            beside = {"labels": given.labels[here], "targets": given.targets[here]}
            rows = pa.table(columns | beside)
            parquet.write_table(rows, made / f"{k:05}.parquet", row_group_size=_PARTITION)
        made.rename(folder)
    return folder


def _columns(given: Table, y: np.ndarray) -> tuple[list[str], str]:
    return [f"x{j:03}" for j in range(given.X.shape[1])], (
        "labels" if y.dtype == given.labels.dtype else "targets"
    )


@contextmanager
def parquet(given: Table, y: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Chunks of Parquet files, which are decoded anew at each pass."""
    from skdp import Chunks

    columns, target = _columns(given, y)
    yield (Chunks.from_parquet(parquet_files(given), target=target, columns=columns),)


@contextmanager
def cluster(memory: int = 0) -> Iterator[Any]:
    """Client of two workers of one thread, each of so many bytes, which counts what it receives."""
    import pickle

    from distributed import Client, LocalCluster

    limit = {"memory_limit": memory} if memory else {}
    received: list[int] = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, **limit) as local,
        Client(local) as client,
    ):
        gather = client._gather

        async def weighed(*args: Any, **options: Any) -> Any:
            out = await gather(*args, **options)
            received.append(len(pickle.dumps(out)))
            return out

        client._gather = weighed
        yield client
        print(
            f"# dask: {np.median(received):.0f} bytes a query, median of {len(received)}",
            file=sys.stderr,
        )


@contextmanager
def dask_persisted(given: Table, y: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Arrays in the memory of two workers, in partitions of 250,000 rows."""
    import dask.array as da

    with cluster() as client:
        X = da.from_array(given.X, chunks=(_PARTITION, -1), inline_array=True)
        held = client.persist([X, da.from_array(y, chunks=_PARTITION, inline_array=True)])
        client.compute([held[0].sum(), held[1].sum()], sync=True)
        yield tuple(held)


@contextmanager
def dask_parquet(given: Table, y: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Row groups of Parquet files, read anew by two workers of less memory than the table."""
    import dask.dataframe as dd

    folder = parquet_files(given)
    columns, target = _columns(given, y)
    with cluster(max(_LEAST_MEMORY, int(0.45 * given.X.nbytes))):
        frame = dd.read_parquet(folder, split_row_groups=True)
        yield frame[columns], frame[target]


# What a private model is fitted to, by name: a context manager of (table, y) that gives the
# arguments of ``fit``.
STORES: dict[str, Callable[[Table, np.ndarray], Any]] = {
    "memory map": memory_map,
    "arrays": arrays,
    "chunks": chunks,
    "parquet": parquet,
    "dask": dask_persisted,
    "dask parquet": dask_parquet,
}


class OwnMemory:
    """Most that the process takes for itself within a block, in bytes beyond the start."""

    def __enter__(self) -> OwnMemory:
        self._begun = self._most = self._now()
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._watched, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._watch.join()
        self.peak = self._most - self._begun

    def _watched(self) -> None:
        while not self._done.wait(0.02):
            self._most = max(self._most, self._now())

    @staticmethod
    def _now() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def models(columns: int) -> dict[str, tuple[Any, str]]:
    """Models by name, and of which targets they are; private ones are those with a ledger."""
    from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier

    from skdp import DPLinearRegression, DPLogisticRegression

    norm = 1.3 * float(np.sqrt(columns))
    bounds = (-6.0, 6.0)
    return {
        "skdp": (DPLogisticRegression(classes=[0, 1], data_norm=norm), "labels"),
        "skdp, ranges found": (DPLogisticRegression(classes=[0, 1]), "labels"),
        "lbfgs": (LogisticRegression(), "labels"),
        "SGD": (SGDClassifier(loss="log_loss"), "labels"),
        "skdp regression": (DPLinearRegression(data_norm=norm, target_bounds=bounds), "targets"),
        "Ridge": (Ridge(), "targets"),
    }


def cell(folder: Path, store: str, rows: int, columns: int, repeats: int, only: list[str]) -> dict:
    """Seconds (the least of the repeats), passes and own memory of all models on one table."""
    warnings.simplefilter("ignore")
    given, out = table(folder, rows, columns), {}
    entries = {k: v for k, v in models(columns).items() if not only or k in only}
    for _ in range(repeats):
        for name, (model, of) in entries.items():
            y, private = getattr(given, of), name.startswith("skdp")
            opened = STORES[store if private else "memory map"](given, y)
            with opened as arguments, OwnMemory() as memory:
                begin, worked = time.perf_counter(), time.process_time()
                model.fit(*arguments)
                seconds = time.perf_counter() - begin
                worked = time.process_time() - worked
            passes = sum(event.count for event in model.privacy_ledger_) if private else None
            before = out.get(name, {"seconds": np.inf, "processor": np.inf, "own": 0})
            out[name] = {
                "seconds": min(seconds, before["seconds"]),
                "processor": min(worked, before["processor"]),
                "own": max(memory.peak, before["own"]),
                "passes": passes,
            }
    return out


def in_a_process(threads: int, *arguments: str) -> dict:
    """A cell, measured in a process of so many threads."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"))
    env = os.environ | {name: str(threads) for name in limits}
    command = [sys.executable, __file__, *arguments, "--cell"]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def show(rows: int, columns: int, store: str, threads: int, found: dict) -> None:
    """Print a cell; ratios are to what does the same without privacy."""
    for name, of in found.items():
        if not name.startswith("skdp"):
            continue
        peers = ("Ridge",) if "regression" in name else ("lbfgs", "SGD")
        there = {peer: found[peer]["seconds"] for peer in peers if peer in found}
        ratios = [
            f"{of['seconds'] / own:6.2f} of {peer} ({own:.2f})" for peer, own in there.items()
        ]
        print(
            f"{rows:>11,} x {columns:<4}{store:12}{threads:2}  {name:20}{of['seconds']:8.2f} s"
            f" ({of['processor']:.2f} of processor){of['passes']:4} passes"
            f"{of['own'] / rows:7.1f} bytes a row  {', '.join(ratios)}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where tables are kept")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--columns", type=int, nargs="+", default=[20])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--models", nargs="+", default=[], help="by default all")
    parser.add_argument("--repeats", type=int, help="by default 3, or 1 for many rows")
    parser.add_argument("--json", type=Path, help="file that all cells are written to")
    parser.add_argument("--cell", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    cells = []
    for rows in map(int, given.rows):
        for columns in given.columns:
            repeats = given.repeats or (3 if rows <= _FEW_ROWS else 1)
            if given.cell:
                of = given.folder, given.stores[0], rows, columns, repeats, given.models
                print(json.dumps(cell(*of)))
                return
            # Made before anything is timed, and read once.
            table(given.folder, rows, columns).X.max()
            for store in given.stores:
                for threads in given.threads:
                    options = ["--rows", str(rows), "--columns", str(columns), "--stores", store]
                    options += ["--repeats", str(repeats)]
                    options += ["--models", *given.models] if given.models else []
                    found = in_a_process(threads, str(given.folder), *options)
                    show(rows, columns, store, threads, found)
                    of_cell = {"rows": rows, "columns": columns, "store": store}
                    cells.append(of_cell | {"threads": threads, "models": found})
    if given.json:
        given.json.write_text(json.dumps(cells, indent=1))


if __name__ == "__main__":
    main()
