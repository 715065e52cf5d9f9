"""Fits of tables from 10^5 to 10^8 rows: seconds, passes and memory, beside scikit-learn.

Tables are made once, as memory maps in a folder, of normal features in float32 and labels and
targets of a linear model. Every cell (a store, rows, columns, threads) is a process of its own,
which runs all models in turns, so that ratios are of the same run. *Own memory* is the most that
the process and its workers take for themselves beyond what they took before the fit; pages of
files, which the system can drop, do not count. *Passes* are the queries of the ledger, over all
rows and over a sample, and a *query* is the median of their seconds.

A store is one entry of ``STORES``: what a private model is given for the table of a folder, and
what to close afterwards. scikit-learn's models take the memory map.

    python examples/benchmarks/out_of_core.py FOLDER [--rows 1e5 1e6] [--columns 20] [--page PAGE]
    python examples/benchmarks/out_of_core.py FOLDER --tasks
    python examples/benchmarks/out_of_core.py FOLDER --bare

With ``--page`` the cells take their places among those measured before, which are kept beside this
script, and the table of all is written between the markers of the page. ``--tasks`` says what a
partition of few rows costs a query of dask, and ``--bare`` how much two threads or processes gain
at a pass of numpy over the rows, which is what fits could gain at most.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Cells that have been measured.
_MEASURED = Path(__file__).with_suffix(".json")
_MADE_AT_A_TIME = 1 << 18
_FEW_ROWS = 3_000_000
_PARTITION = 250_000
# Bytes beside its features that are kept of a row of chunks.
_OF_A_ROW = 24
_NOT_YET: dict = {"seconds": np.inf, "processor": np.inf, "own": 0, "queries": {}}
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
def chunks(given: Table, y: np.ndarray, memory: int | None = None) -> Iterator[tuple[Any, ...]]:
    """Chunks of the memory map that a function delivers, and which are kept if there is room."""
    from skdp import Chunks

    def read() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, len(y), _PARTITION):
            yield given.X[start : start + _PARTITION], y[start : start + _PARTITION]

    yield (Chunks(read, memory=memory),)


def chunks_anew(given: Table, y: np.ndarray) -> Any:
    """Chunks of the memory map that a function delivers anew at each pass."""
    return chunks(given, y, _OF_A_ROW * len(y))


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
def parquet(given: Table, y: np.ndarray, memory: int | None = None) -> Iterator[tuple[Any, ...]]:
    """Chunks of Parquet files, which are kept if there is room."""
    from skdp import Chunks

    columns, target = _columns(given, y)
    files = parquet_files(given)
    yield (Chunks.from_parquet(files, target=target, columns=columns, memory=memory),)


def parquet_anew(given: Table, y: np.ndarray) -> Any:
    """Chunks of Parquet files, which are decoded anew at each pass."""
    return parquet(given, y, _OF_A_ROW * len(y))


@contextmanager
def cluster(memory: int = 0) -> Iterator[Any]:
    """Client of two workers of one thread, each of so many bytes, which counts what it receives."""
    import logging
    import pickle

    from distributed import Client, LocalCluster

    # Workers complain when they lose their scheduler at the end.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)

    limit = {"memory_limit": memory} if memory else {}
    limit["silence_logs"] = logging.CRITICAL
    received: list[int] = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, **limit) as local,
        Client(local) as client,
    ):

        def weighed(bring: Callable[..., Any]) -> Callable[..., Any]:
            async def bring_and_weigh(*args: Any, **options: Any) -> Any:
                out = await bring(*args, **options)
                received.append(len(pickle.dumps(out)))
                return out

            return bring_and_weigh

        _workers[:] = [*client.run(os.getpid).values()]
        # As on a cluster that has been at work before.
        client.run(import_module, "skdp")
        client._gather, client._run = weighed(client._gather), weighed(client._run)
        try:
            yield client
        finally:
            _workers.clear()
            _received[:] = received


# Processes of workers, and bytes that each answer of the latest cluster had.
_workers: list[int] = []
_received: list[int] = []


def _read_by_workers(path: Path, *, copied: bool) -> Any:
    """The array of a file, in partitions of 250,000 rows, which tasks map where they run."""
    import dask
    import dask.array as da

    def rows(start: int, stop: int) -> np.ndarray:
        part = np.load(path, mmap_mode="r")[start:stop]
        return np.array(part) if copied else part

    whole, parts = np.load(path, mmap_mode="r"), []
    for start in range(0, len(whole), _PARTITION):
        stop = min(start + _PARTITION, len(whole))
        shape = stop - start, *whole.shape[1:]
        parts.append(da.from_delayed(dask.delayed(rows)(start, stop), shape, whole.dtype))
    return da.concatenate(parts)


def _files(given: Table, y: np.ndarray) -> tuple[Path, Path]:
    return given.folder / "X.npy", given.folder / f"{_columns(given, y)[1]}.npy"


def _less_than(given: Table) -> int:
    """Bytes for each of two workers that have no room for the table together, if it is large."""
    return max(_LEAST_MEMORY, int(0.45 * given.X.nbytes))


@contextmanager
def dask_persisted(given: Table, y: np.ndarray, memory: int = 0) -> Iterator[tuple[Any, ...]]:
    """Arrays in the memory of two workers."""
    with cluster(memory) as client:
        held = client.persist([_read_by_workers(path, copied=True) for path in _files(given, y)])
        client.compute([held[0].sum(), held[1].sum()], sync=True)
        yield tuple(held)


def dask_on_disk(given: Table, y: np.ndarray) -> Any:
    """Arrays that two workers keep, of less memory than the table, on disk where it has no room."""
    return dask_persisted(given, y, _less_than(given))


@contextmanager
def dask_mapped(given: Table, y: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Parts of the memory map, mapped by tasks of two workers of less memory than the table."""
    with cluster(_less_than(given)):
        yield tuple(_read_by_workers(path, copied=False) for path in _files(given, y))


@contextmanager
def dask_parquet(given: Table, y: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Row groups of Parquet files, read anew by two workers of less memory than the table."""
    import dask.dataframe as dd

    folder = parquet_files(given)
    columns, target = _columns(given, y)
    with cluster(_less_than(given)):
        frame = dd.read_parquet(folder, split_row_groups=True)
        yield frame[columns], frame[target]


# What a private model is fitted to, by name: a context manager of (table, y) that gives the
# arguments of ``fit``.
STORES: dict[str, Callable[[Table, np.ndarray], Any]] = {
    "memory map": memory_map,
    "arrays": arrays,
    "chunks": chunks,
    "chunks, anew": chunks_anew,
    "parquet": parquet,
    "parquet, anew": parquet_anew,
    "dask": dask_persisted,
    "dask, on disk": dask_on_disk,
    "dask, mapped": dask_mapped,
    "dask parquet": dask_parquet,
}


class OwnMemory:
    """Most that the process and its workers take for themselves in a block, beyond the start."""

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
        taken = 0
        for process in ("self", *_workers):
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            taken += next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
        return 1024 * taken


def processor_seconds() -> float:
    """Seconds that processors have worked for this process and its workers."""
    if not _workers:
        return time.process_time()
    import psutil

    of_workers = [psutil.Process(pid).cpu_times() for pid in _workers]
    return time.process_time() + sum(times.user + times.system for times in of_workers)


@contextmanager
def timed_queries() -> Iterator[tuple[list[float], list[float]]]:
    """Seconds of each query that is asked in the block: over all rows, and over a sample."""
    from skdp.privacy import PrivateOracle

    seconds: tuple[list[float], list[float]] = [], []
    release = PrivateOracle._release

    def timed(self: Any, *args: Any, **options: Any) -> Any:
        begin = time.perf_counter()
        answer = release(self, *args, **options)
        seconds[self._positions is not None].append(time.perf_counter() - begin)
        return answer

    PrivateOracle._release = timed
    try:
        yield seconds
    finally:
        PrivateOracle._release = release


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
            _received.clear()
            with opened as arguments, OwnMemory() as memory, timed_queries() as queries:
                begin, worked = time.perf_counter(), processor_seconds()
                model.fit(*arguments)
                seconds = time.perf_counter() - begin
                worked = processor_seconds() - worked
            passes = sum(event.count for event in model.privacy_ledger_) if private else None
            before = out.get(name, _NOT_YET)
            out[name] = {
                "seconds": round(min(seconds, before["seconds"]), 4),
                "processor": round(min(worked, before["processor"]), 4),
                "own": max(memory.peak, before["own"]),
                "passes": passes,
                "queries": _medians(queries, before["queries"]),
                "received": int(np.median(_received)) if _received else None,
            }
    return out


def _medians(queries: tuple[list[float], list[float]], before: dict) -> dict:
    """Of queries over all rows and over a sample: their number, and the median of seconds.

    It is the least of those of several fits.
    """
    out = {}
    for of, seconds in zip(("all", "sample"), queries, strict=True):
        if seconds:
            least = before.get(of, (0, np.inf))[1]
            out[of] = len(seconds), round(min(float(np.median(seconds)), least), 5)
    return out


def in_a_process(threads: int, *arguments: str) -> dict:
    """A cell, measured in a process of so many threads."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"))
    env = os.environ | {name: str(threads) for name in limits}
    command = [sys.executable, __file__, *arguments, "--cell"]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def ratios(of: dict, name: str) -> str:
    """Ratios of seconds to those of models that do the same without privacy."""
    peers = ("Ridge",) if "regression" in name else ("lbfgs", "SGD")
    own = of[name]["seconds"]
    return ", ".join(f"{own / of[p]['seconds']:.2f} of {p}" for p in peers if p in of)


def lines(cell: dict) -> Iterator[str]:
    """Rows of the table: one for each private model of a cell.

    They are compared with what a memory map took one thread in the same run.
    """
    for name, of in cell["models"].items():
        if not name.startswith("skdp"):
            continue
        compared = [ratios(cell["models"], name)]
        if map_of := cell["map of one"].get(name):
            shares = {
                of_what: of[of_what] / map_of[of_what] for of_what in ("seconds", "processor")
            }
            if "queries" in of and "queries" in map_of:
                shares["a query"] = of["queries"]["all"][1] / map_of["queries"]["all"][1]
            said = ", ".join(f"{of_what} {share:.2f}" for of_what, share in shares.items())
            compared.append(f"{said} of a memory map, one thread")
        if of["received"]:
            compared.append(f"{of['received']:,} bytes received a query")
        yield (
            f"| {cell['rows']:,} | {cell['columns']} | {cell['store']} | {cell['threads']} | {name}"
            f" | {of['seconds']:.2f} | {of['processor']:.2f} | {_queries(of)} |"
            f" {of['own'] / cell['rows']:.0f} | {'; '.join(filter(None, compared))} |"
        )


def _queries(of: dict) -> str:
    """Cells on queries: their number, and their seconds, over all rows and over a sample."""
    if "queries" not in of:
        # Measured when there were no two kinds, or they were not told apart.
        return f"{of['passes']} | {of['query']:.4f}"
    numbers, seconds = zip(*of["queries"].values(), strict=True)
    both = " + ".join(map(str, numbers)), " and ".join(f"{s:.4f}" for s in seconds)
    return " | ".join(both)


def table_of(cells: list[dict]) -> str:
    """All cells in their order."""
    head = "rows | columns | store | threads | model | seconds | processor seconds | passes | "
    head += "a query (s) | own memory (bytes a row) | compared"
    out = [f"| {head} |", "| --- " * 11 + "|"]
    for cell in sorted(cells, key=_place):
        out += lines(cell)
    return "\n".join(out)


def _place(cell: dict) -> tuple[int, int, int, int]:
    return cell["rows"], cell["columns"], [*STORES].index(cell["store"]), cell["threads"]


def keep(cells: list[dict], page: Path) -> None:
    """Put cells among those measured before, and the table of all into the page."""
    before = json.loads(_MEASURED.read_text()) if _MEASURED.exists() else []
    placed = {_place(cell): cell for cell in before} | {_place(cell): cell for cell in cells}
    every = [placed[place] for place in sorted(placed)]
    _MEASURED.write_text("[\n" + ",\n".join(map(json.dumps, every)) + "\n]\n")
    begin, end = (f"<!-- tables out of core: {edge} -->" for edge in ("begin", "end"))
    text = page.read_text()
    first, last = text.index(begin) + len(begin), text.index(end)
    page.write_text(f"{text[:first]}\n\n{table_of(every)}\n\n{text[last:]}")


def of_tasks(partitions: int) -> None:
    """What a partition of few rows costs a query, in the process of client and scheduler."""
    import dask.array as da

    from skdp.privacy.rows import DaskRows
    from skdp.problem import RowBounds

    rows = np.zeros((10 * partitions, 2)), np.zeros(10 * partitions)
    with cluster() as client:
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


def gradients(X: np.ndarray, step: int, passes: int) -> None:
    """A logistic gradient at zero of some rows, in blocks of numpy: the least that a pass takes."""
    w, out = np.zeros(X.shape[1], np.float32), np.zeros(X.shape[1], np.float32)
    for _ in range(passes):
        for start in range(0, len(X), step):
            block = X[start : start + step]
            r = block @ w
            np.exp(-r, out=r)
            r += 1.0
            np.divide(1.0, r, out=r)
            out += r @ block


def of_bare_passes(rows: int, columns: int) -> None:
    """How much faster two are at twice the work than one, as threads and as processes."""
    from threadpoolctl import threadpool_limits

    X = np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)

    def seconds(workers: type, number: int, step: int) -> float:
        halves = np.array_split(X, 2)[:number]
        started = [workers(target=gradients, args=(half, step, 4)) for half in halves]
        begin = time.perf_counter()
        for worker in started:
            worker.start()
        for worker in started:
            worker.join()
        return time.perf_counter() - begin

    fork = multiprocessing.get_context("fork").Process
    with threadpool_limits(1):
        for step, (name, workers) in product(
            (1 << 13, 1 << 15, 1 << 17), (("threads", threading.Thread), ("processes", fork))
        ):
            gains = [2 * seconds(workers, 1, step) / seconds(workers, 2, step) for _ in range(9)]
            low, middle, high = np.percentile(gains, [10, 50, 90])
            print(f"blocks of {step:7,} rows, {name}: {middle:.2f} ({low:.2f} to {high:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where tables are kept")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--columns", type=int, nargs="+", default=[20])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--models", nargs="+", default=[], help="by default all")
    parser.add_argument("--repeats", type=int, help="by default 3, or 1 for many rows")
    parser.add_argument("--page", type=Path, help="page that the table is written into")
    parser.add_argument("--tasks", action="store_true", help="only what tasks of dask cost")
    parser.add_argument("--bare", action="store_true", help="only what two gain at bare passes")
    parser.add_argument("--cell", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.tasks:
        for partitions in (16, 128, 512):
            of_tasks(partitions)
        return
    for rows, columns in product(map(int, given.rows), given.columns):
        if given.bare:
            of_bare_passes(rows, columns)
            continue
        repeats = given.repeats or (3 if rows <= _FEW_ROWS else 1)
        if given.cell:
            of = given.folder, given.stores[0], rows, columns, repeats, given.models
            print(json.dumps(cell(*of)))
            return
        # Made before anything is timed, and read once.
        table(given.folder, rows, columns).X.max()
        map_of_one: dict = {}
        for store, threads in product(given.stores, given.threads):
            if "dask" in store and threads != given.threads[0]:
                continue  # Two workers of one thread each, whatever this process has.
            options = ["--rows", str(rows), "--columns", str(columns), "--stores", store]
            options += ["--repeats", str(repeats)]
            options += ["--models", *given.models] if given.models else []
            found = in_a_process(threads, str(given.folder), *options)
            of_cell = {"rows": rows, "columns": columns, "store": store, "threads": threads}
            of_cell |= {"models": found, "map of one": map_of_one}
            if store == "memory map" and threads == 1:
                map_of_one = {k: of for k, of in found.items() if k.startswith("skdp")}
            print(*lines(of_cell), sep="\n", flush=True)
            # Each at once, so that a run that is cut short has not been for nothing.
            # A memory map that others are compared with alone leaves its place to one beside lbfgs.
            if given.page and (store != "memory map" or {"lbfgs", "Ridge"} & {*found}):
                keep([of_cell], given.page)


if __name__ == "__main__":
    main()
