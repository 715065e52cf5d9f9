"""Sums over blocks by threads, the same to the last bit for any number of them.

There are as many threads as scikit-learn's own models would use: no more than the pools of BLAS and
OpenMP may have in this process, so that ``OMP_NUM_THREADS``, ``threadpool_limits`` and the share
that joblib gives to a worker hold, nor than there are processors. Within a thread linear algebra is
left a single one, whatever the number of blocks is: it would round otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from itertools import repeat
from threading import Lock
from typing import Any, TypeVar
from weakref import ref

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from .bounded_rows import Scratch

Block = TypeVar("Block")

# Entries of X from which a pass takes much longer than to start threads.
LEAST_ENTRIES = 1 << 20
# Runs of blocks that each thread is given, about: so many that none waits long for the last one.
_RUNS_OF_A_THREAD = 8
# Numbers that the kernel of a block needs room for, about, and of one of its arrays.
_ROOM, _LONG = 1 << 18, 1 << 13
# Blocks for which that much is enough, with what is kept of each.
_BLOCKS_IN_ROOM = 8

# Once memory of 32 MB, the most that counts, has been freed, the allocator of glibc takes what is
# smaller from the heap, and leaves it there. Else each array of a block was fresh memory from the
# system, which took as long as what is computed with it, until something as large was freed.
np.empty((1 << 22) - 1024)


def total(parts: Iterable[np.ndarray]) -> np.ndarray:
    """The sum of at least one array, in pairs by their order. They are overwritten.

    A part passes through as many additions as its number has digits, which is what bounds the
    rounding error of the sum, and as many sums are in memory at a time. The arrays are fresh and of
    one shape.
    """
    sums = PairwiseSum()
    for part in parts:
        sums.add(part)
    return sums.result()


class PairwiseSum:
    """Sum in pairs of arrays that come one by one, as :func:`total` takes it."""

    def __init__(self) -> None:
        # Sums of so many parts each, halving at least from one to the next.
        self._sums: list[tuple[int, np.ndarray]] = []

    def add(self, part: np.ndarray) -> None:
        """Take one more array, fresh and of the shape of the others; it is overwritten."""
        size, out = 1, part
        while self._sums and self._sums[-1][0] == size:
            before = self._sums.pop()[1]
            before += out
            out, size = before, 2 * size
        self._sums.append((size, out))

    def result(self) -> np.ndarray:
        """The sum of at least one array; nothing is left to go on with."""
        _, out = self._sums.pop()
        while self._sums:
            before = self._sums.pop()[1]
            before += out
            out = before
        return out


def total_over(
    kernel: Callable[[Block, Scratch], np.ndarray], blocks: Iterable[Block], entries: int
) -> np.ndarray:
    """Sum of the kernel over blocks, as :func:`total` adds it up, by threads where that pays.

    Blocks that are all there, in a sequence, are cut into runs of a power of two. A run is a whole
    branch of the sum in pairs, so that the sum is the same however long runs are and whichever is
    done first. Where several fail, the error is that of the first of them.

    Parameters
    ----------
    kernel : callable
        A function of a block alone, which may change what the block keeps, and room for one copy
        of it.
    blocks : iterable
        At least one; each occurs once.
    entries : int
        Number of entries of all, public.
    """
    with SingleThreadedAlgebra():
        if entries < LEAST_ENTRIES:
            return _total_of_run(kernel, blocks)
        if (threads := usable_threads()) == 1 or not isinstance(blocks, Sequence):
            return _total_of_many(kernel, blocks)
        length = 1
        while length * threads * _RUNS_OF_A_THREAD < len(blocks):
            length *= 2
        runs = [blocks[i : i + length] for i in range(0, len(blocks), length)]
        with ThreadPoolExecutor(min(threads, len(runs)), "skdp-rows") as pool:
            # In the context of the caller, of which no two threads can be at a time.
            jobs = [pool.submit(copy_context().run, _total_of_many, kernel, run) for run in runs]
            try:
                return total(job.result() for job in jobs)
            finally:
                for job in jobs:
                    job.cancel()


def _total_of_run(
    kernel: Callable[[Block, Scratch], np.ndarray], run: Iterable[Block]
) -> np.ndarray:
    scratch = Scratch()
    # What numpy is told to ignore is no part of a context in all of its versions.
    with np.errstate(all="ignore"):
        if isinstance(run, list) and len(run) == 1:
            return kernel(run[0], scratch)
        return total(map(kernel, run, repeat(scratch)))


def _total_of_many(
    kernel: Callable[[Block, Scratch], np.ndarray], run: Iterable[Block]
) -> np.ndarray:
    """Sum of the kernel over a run of blocks, with what each frees left to the next."""
    return _total_of_run(kernel, _with_room(run))


def _with_room(run: Iterable[Block]) -> Iterator[Block]:
    """The blocks, while what is last in the heap is held.

    Workers of dask are told to return memory to the system at once, if it is at the end of the
    heap, and asking for it again with each block took as long as half of the sum. What is kept of
    blocks uses up the room, so that it is made anew from time to time.
    """
    last = None
    for number, block in enumerate(run):
        if number % _BLOCKS_IN_ROOM == 0:
            room = [np.empty(_LONG) for _ in range(_ROOM // _LONG)]
            last = max(room, key=lambda part: part.__array_interface__["data"])
            del room
        yield block
        # Not held while the next one is read.
        del block
    del last


def usable_threads() -> int:
    """Number of threads that BLAS and OpenMP may use in this process, at most of processors.

    Those of BLAS as they are outside of sums, in which it has one.
    """
    limited = dict(_before)
    numbers = [limited.get(pool) or pool.num_threads for pool in _pools()]
    return max(1, min([_processors(), *filter(None, numbers)]))


_lock = Lock()
# The contexts below, as long as they live, so that of one that was interrupted none is left.
_under_way: set[ref[SingleThreadedAlgebra]] = set()
# Pools of BLAS that have a single thread in them, and how many they had before the first.
_before: list[tuple[Any, int]] = []


class SingleThreadedAlgebra:
    """Context in which linear algebra has a single thread.

    The limit is one of the whole process. Of contexts that overlap the first sets it, and the last
    lifts it, or the next one if that was interrupted.
    """

    # Locks are taken in one line each, where no interruption leaves them locked.
    # fmt: off
    def __enter__(self) -> None:
        with _lock: self._begun()  # noqa: E701

    def __exit__(self, *error: object) -> None:
        with _lock: self._ended()  # noqa: E701
    # fmt: on

    def _begun(self) -> None:
        if not _under_way:
            # Of one that was interrupted, the limit may be left.
            _lift()
            for pool in _pools():
                if pool.user_api == "blas" and (number := pool.num_threads or 1) > 1:
                    _before.append((pool, number))
        _under_way.add(ref(self, _under_way.discard))
        for pool, _ in _before:
            pool.set_num_threads(1)

    def _ended(self) -> None:
        _under_way.discard(ref(self))
        if not _under_way:
            _lift()


def _lift() -> None:
    for pool, number in _before:
        pool.set_num_threads(number)
    _before.clear()


def _begin_anew() -> None:
    """Forget sums under way, in a forked process: they go on in the other one alone."""
    global _lock
    _lock = Lock()
    _under_way.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@cache
def _pools() -> list[Any]:
    return [
        pool
        for pool in ThreadpoolController().lib_controllers
        if pool.user_api in ("blas", "openmp")
    ]


@cache
def _processors() -> int:
    return int(cpu_count())
