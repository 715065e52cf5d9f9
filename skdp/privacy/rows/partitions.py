"""Objects on workers, one for each partition, graphs of tasks that make them, and what is sent."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, TypeAlias
from uuid import uuid4

_Key: TypeAlias = Any
# Answers that are added up by one task.
_FAN_IN = 16
# Buffers of fewer bytes travel with the rest.
_LARGE = 1 << 16


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
        if hasattr(collection, "optimize"):
            collection = collection.optimize()
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
        columns: list[Sequence[Any]] = [self.keys]
        for other in beside:
            if isinstance(other, Partitions):
                graph.update(other.graph)
                other = other.keys
            columns.append([None] * len(self) if other is None else other)
        last = [] if shared is None else [shared.keys]
        graph.update({} if shared is None else shared.graph)
        keys = [(name, i) for i in range(len(self))]
        for key, row in zip(keys, zip(*columns, strict=True), strict=True):
            graph[key] = (function, *row, *last)
        return Partitions(graph, keys)

    def folded(self, function: Callable[[list[Any]], Any]) -> Partitions:
        """One object: ``function`` of a few at a time, in order, until one is left."""
        graph, keys = dict(self.graph), self.keys
        while True:
            name = _fresh(function)
            groups = [keys[i : i + _FAN_IN] for i in range(0, len(keys), _FAN_IN)]
            keys = [(name, i) for i in range(len(groups))]
            graph.update({key: (function, group) for key, group in zip(keys, groups, strict=True)})
            if len(keys) == 1:
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


def _rebuilt(
    graph: dict[_Key, Any], keys: list[_Key], *, rename: dict[str, str] | None = None
) -> Partitions:
    del rename
    return Partitions({key: graph[key] for key in keys}, keys)


def _flat(keys: Any) -> list[_Key]:
    return list(chain.from_iterable(map(_flat, keys))) if isinstance(keys, list) else [keys]


def _fresh(function: Callable[..., Any]) -> str:
    # Dask's displays take what is before the last dash for the kind of a task.
    return f"skdp-{getattr(function, '__name__', 'task')}-{uuid4().hex}"
