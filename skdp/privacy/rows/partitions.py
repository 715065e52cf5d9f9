"""Objects on workers, one for each partition, graphs of tasks that make them, and what is sent."""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from math import ceil, inf
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np

from ...exceptions import warn_user
from ...validation import sizes_told

_Key: TypeAlias = Any
# Answers that are added up at a time, by a task or here.
_FAN_IN = 16
# Bytes of objects on a worker that are soon gone through, and of a question that is soon sent.
_SOON_READ, SOON_SENT = 1 << 30, 1 << 20
# Buffers of fewer bytes travel with the rest.
_LARGE = 1 << 16
# Share of the memory of a worker that objects of its tasks under way may take.
_SHARE_AT_A_TIME = 0.125
# From so many bytes on, dask warns that a graph is large.
_LARGE_GRAPH = 10_000_000


class Recipe:
    """Tasks that make one object, run by the task that needs it, where that runs."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    @classmethod
    def of(cls, graph: dict[_Key, Any], key: _Key) -> Recipe | None:
        """The tasks of a graph; None if it is large."""
        import cloudpickle

        if _held(graph):
            return None
        try:
            content = cloudpickle.dumps((graph, key))
        except Exception:
            # Dask has ways of its own for what cannot be sent to others.
            return None
        return cls(content) if len(content) < _LARGE else None

    def __call__(self) -> Any:
        """The object, made anew."""
        import dask

        return dask.get(*pickle.loads(self._content))


class Partitions:
    """A dask collection of objects, by the protocol that dask documents for custom ones.

    Parameters
    ----------
    graph : dict
        Tasks by their keys.
    keys : sequence
        The keys of the objects, in order.
    """

    def __init__(self, graph: dict[_Key, Any], keys: Sequence[_Key]) -> None:
        self.graph = graph
        self.keys = list(keys)

    @classmethod
    def of(cls, collection: Any) -> Partitions:
        """The partitions of an array, of one chunk in width, or a frame, optimised."""
        # Not by dask.optimize, which takes columns of some frames for the whole frames.
        if hasattr(collection, "simplify"):
            # Columns that nobody asked for are not read. All that dask can do would read several
            # partitions together where few columns are left, and others of X than of y.
            collection = collection.simplify()
            return cls(dict(collection.__dask_graph__()), _flat(collection.__dask_keys__()))
        tree = collection.__dask_keys__()
        graph = dict(collection.__dask_optimize__(collection.__dask_graph__(), tree))
        keys = _flat(tree)
        if not all(key in graph for key in keys):
            # What is in the memory of a cluster already is lost from an optimised graph.
            graph = dict(collection.__dask_graph__())
        return cls(graph, keys)

    def __len__(self) -> int:
        return len(self.keys)

    def map(
        self,
        function: Callable[..., Any],
        *beside: Partitions | Sequence[Any] | None,
        shared: Partitions | None = None,
    ) -> Partitions:
        """``function`` of each object, of those beside it, and of what all tasks share.

        Beside them are as many objects, or partitions of them, or None for each; what is shared
        comes last, as one list.
        """
        name = _fresh(function)
        graph = dict(self.graph)
        for other in (*beside, shared):
            graph.update(other.graph if isinstance(other, Partitions) else {})
        last = [] if shared is None else [shared.keys]
        keys = [(name, i) for i in range(len(self))]
        for key, row in zip(keys, self._rows(beside), strict=True):
            graph[key] = (function, *row, *last)
        return Partitions(graph, keys)

    def _rows(self, beside: Sequence[Partitions | Sequence[Any] | None]) -> Iterator[Sequence[Any]]:
        """The key of each object, with the keys or objects beside it."""
        columns = [one.keys if isinstance(one, Partitions) else one for one in (self, *beside)]
        return zip(*([None] * len(self) if one is None else one for one in columns), strict=True)

    def together(self) -> tuple[list[list[int]], list[str] | None]:
        """Places of objects that a task may have together: some of those that a worker has.

        A worker works on as many tasks at a time as it has threads, and may have written objects
        to a disk that have no room in its memory. So those of tasks at a time are a small part of
        it. What is yet to be computed, or in this process, is by itself.

        With them come the workers that have them if these can be :meth:`asked` without tasks: if
        all are in memory, few, and soon gone through, else None.
        """
        client = _client()
        if client is None:
            return [[place] for place in range(len(self))], None
        # Where they lie is known once they are there.
        client.sync(_done, client.futures_of(self))
        holders = client.sync(client.scheduler.who_has, keys=self.keys)
        threads, limits = client.nthreads(), _memory_limits(client)
        held: dict[str, list[int]] = {}
        alone = []
        for place, key in enumerate(self.keys):
            workers = sorted(worker for worker in holders.get(key) or () if worker in threads)
            if workers:
                held.setdefault(workers[0], []).append(place)
            else:
                alone.append([place])
        some = [self.keys[place] for places in held.values() for place in places]
        sizes, shares = client.nbytes(some, summary=False), []
        at_once = not alone
        for worker, places in held.items():
            size = sum(sizes[self.keys[place]] for place in places)
            turns = ceil(size / (_SHARE_AT_A_TIME * (limits.get(worker) or inf)))
            tasks = min(threads[worker] * max(1, turns), len(places))
            shares += [share.tolist() for share in np.array_split(places, tasks)]
            at_once &= turns <= 1 and size <= _SOON_READ
        groups = sorted(alone + shares)
        return groups, [*held] if at_once and len(groups) <= _FAN_IN else None

    def asked(
        self,
        workers: list[str],
        function: Callable[..., Any],
        *beside: Partitions | Sequence[Any] | None,
        shared: list[bytes] | None = None,
    ) -> list[Any] | None:
        """Answers that tasks of :meth:`map` would give, of the workers that have the objects.

        Without tasks, whose way to a worker and back takes longer than a sum over few rows. Other
        partitions stand beside these before all else. None unless there is an answer about each: if
        a worker is gone, or lacks an object, tasks have to see to it.
        """
        client, last = _client(), [] if shared is None else [shared]
        rows = [[*row, *last] for row in self._rows(beside)]
        held = [self, *(one for one in beside if isinstance(one, Partitions))]
        if client is None:
            return None
        try:
            client.sync(_done, client.futures_of(held))
            # To one that is known to be gone, a scheduler would try to connect for half a minute.
            if not client.nthreads().keys() >= {*workers}:
                return None
            found = client.run(_answers, rows, function, len(held), workers=workers)
        except Exception:
            # Tasks meet with it as well, and say what it is.
            return None
        # Of what several workers have, one answer is taken.
        answers = dict(chain.from_iterable(found.values()))
        return [answers[i] for i in range(len(self))] if len(answers) == len(self) else None

    def settled(self, collection: Any) -> Partitions:
        """These objects, kept by the cluster if tasks of the collection hold large data.

        Otherwise the data would be sent with each graph. An array as large as the collection, of
        which each task takes a part, is cut here, as it would be sent to each worker as a whole.
        """
        client, held = _client(), _held(self.graph)
        if client is None or sum(held) < _LARGE_GRAPH:
            return self
        # That they are many is as secret as their number.
        if sizes_told():
            warn_user(
                "The rows of a dask collection were sent from this process to the workers, because "
                "its tasks hold them. Let tasks read the rows where they run, which skdp's guide "
                "to dask shows, or persist the collection if several fits follow.",
                UserWarning,
            )
        whole = max(held) >= getattr(collection, "nbytes", inf) / 2
        if not whole or client.futures_of(self):
            return self.kept()
        import dask

        name = _fresh(Partitions.settled)
        graph = {(name, i): part for i, part in enumerate(dask.get(self.graph, self.keys))}
        return Partitions(graph, [*graph]).kept()

    def in_place(self, collection: Any) -> Partitions:
        """These objects, each as a :class:`Recipe` if it is made from nothing that others need.

        As tasks of their own they might be made on one worker and needed on another. What is in
        memory, or a part of something larger, stays what it is, and so do all objects of a
        collection of which a cluster has computed something.
        """
        from dask.core import get_dependencies

        client = _client()
        if client is None or client.futures_of([collection, self]):
            return self
        of_each = [_all_below(self.graph, key, get_dependencies) for key in self.keys]
        uses = Counter(chain.from_iterable(of_each))
        keys, graph = list(self.keys), dict(self.graph)
        for place, (key, own) in enumerate(zip(self.keys, of_each, strict=True)):
            if all(uses[name] == 1 and name in graph for name in own):
                recipe = Recipe.of({name: graph[name] for name in own}, key)
                if recipe is not None:
                    keys[place] = recipe
                    for name in own:
                        del graph[name]
        return Partitions(graph, keys)

    def grouped(self, places: list[list[int]]) -> Partitions:
        """Lists of the objects at these places."""
        return Partitions(self.graph, [[self.keys[place] for place in group] for group in places])

    def folded(self, function: Callable[[list[Any]], Any]) -> Partitions:
        """A few objects: ``function`` of a few at a time, in order, until so many are left."""
        graph, keys = dict(self.graph), self.keys
        while len(keys) > _FAN_IN:
            name = _fresh(function)
            groups = [keys[i : i + _FAN_IN] for i in range(0, len(keys), _FAN_IN)]
            keys = [(name, i) for i in range(len(groups))]
            graph.update({key: (function, group) for key, group in zip(keys, groups, strict=True)})
        return Partitions(graph, keys)

    def kept(self) -> Partitions:
        """Copy of these, computed where the workers are and kept there while it is referred to."""
        import dask

        (out,) = dask.persist(self)
        return out

    def gathered(self) -> list[Any]:
        """The objects themselves, brought to this process. For what is small."""
        import dask

        (out,) = dask.compute(self)
        return out

    def __dask_graph__(self) -> dict[_Key, Any]:
        return self.graph

    def __dask_keys__(self) -> list[_Key]:
        return self.keys

    def __dask_tokenize__(self) -> list[_Key]:
        return self.keys

    def __dask_postcompute__(self) -> tuple[Callable[..., Any], tuple[()]]:
        return list, ()

    def __dask_postpersist__(self) -> tuple[Callable[..., Partitions], tuple[Any, ...]]:
        return _rebuilt, (self.keys,)

    @staticmethod
    def __dask_optimize__(graph: Any, keys: Any, **options: Any) -> Any:
        del keys, options
        return graph

    @staticmethod
    def __dask_scheduler__(graph: Any, keys: Any, **options: Any) -> Any:
        from dask.threaded import get

        return get(graph, keys, **options)


async def _answers(
    rows: list[list[Any]], function: Callable[..., Any], n_held: int, *, dask_worker: Any
) -> list[tuple[int, Any]]:
    """Answers of the function about objects that this worker has, with their places."""
    held = dask_worker.data
    here = [i for i, row in enumerate(rows) if all(key in held for key in _flat(row[:n_held]))]
    try:
        for i in here:
            rows[i][:n_held] = [_among(held, key) for key in rows[i][:n_held]]
    except Exception:
        # Its text may quote rows, and the log of the worker would have it.
        return []
    # By threads of their own, as the task that fits may be on one of the worker and wait for them.
    found = await asyncio.gather(*(asyncio.to_thread(function, *rows[i]) for i in here))
    return [*zip(here, found, strict=True)]


def _among(held: Any, keys: _Key) -> Any:
    """The object among those that are held, or a list of them."""
    return [_among(held, key) for key in keys] if isinstance(keys, list) else held[keys]


async def _done(futures: Sequence[Any]) -> None:
    from distributed import wait

    if futures:
        await wait(futures)


def _client() -> Any:
    """The client of a cluster that is to compute, if any."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    return client if hasattr(client, "who_has") else None


def _memory_limits(client: Any) -> dict[str, int | None]:
    """Bytes that each worker may use; None or 0 without a limit."""
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except TypeError:
        # The first versions tell of all workers, and some later ones of a few unless asked.
        workers = client.scheduler_info()["workers"]
    return {address: worker.get("memory_limit") for address, worker in workers.items()}


def packed(content: Any) -> list[tuple[str, bytes]]:
    """A public object in pieces, each with a name; large arrays apart, to be sent only once.

    First comes the pickled object without its large arrays, under a name of its own, then their
    buffers, whose names follow from their content. Functions that are defined anywhere, and what
    they refer to, can be packed.
    """
    import cloudpickle

    large: list[tuple[str, bytes]] = []

    def travels_with_the_rest(buffer: pickle.PickleBuffer) -> bool:
        with buffer.raw() as view:
            if view.nbytes < _LARGE:
                return True
            taken = view.tobytes()
        large.append((f"skdp-array-{blake2b(taken, digest_size=20).hexdigest()}", taken))
        return False

    body = cloudpickle.dumps(content, protocol=5, buffer_callback=travels_with_the_rest)
    return [(f"skdp-content-{uuid4().hex}", body), *large]


def unpacked(pieces: list[bytes]) -> Any:
    """The object from its pieces; its large arrays are read-only views of them."""
    return pickle.loads(pieces[0], buffers=pieces[1:])


def _held(graph: dict[_Key, Any]) -> list[int]:
    """Bytes that tasks of a graph hold, about, of those that hold large data."""
    from dask.sizeof import sizeof

    return [size for task in graph.values() if (size := sizeof(task)) >= _LARGE]


def _rebuilt(
    graph: dict[_Key, Any], keys: list[_Key], *, rename: dict[str, str] | None = None
) -> Partitions:
    del rename
    return Partitions({key: graph[key] for key in keys}, keys)


def _all_below(graph: dict[_Key, Any], key: _Key, below: Callable[..., Any]) -> set[_Key]:
    found, left = {key}, [key]
    while left:
        new = set(below(graph, left.pop())) - found
        found |= new
        left += [name for name in new if name in graph]
    return found


def _flat(keys: Any) -> list[_Key]:
    return list(chain.from_iterable(map(_flat, keys))) if isinstance(keys, list) else [keys]


def _fresh(function: Callable[..., Any]) -> str:
    # Dask's displays take what is before the last dash for the kind of a task.
    return f"skdp-{getattr(function, '__name__', 'task')}-{uuid4().hex}"
