"""Rows of dask arrays and dataframes: asked where they lie, never gathered.

Each query is one task for a few partitions, which brings their rows to public bounds and sums over
them by the same code as in memory, and a tree of sums. What reaches this process is one answer of
the size of a model, to which the oracle adds noise, once. Tasks run on the active distributed
client, or else on whatever scheduler dask is set to. Workers that hold all rows in memory are asked
the same without tasks, if these are soon gone through, and by tasks again once one is lost.

Trust: noise is added here and nowhere else, so workers, scheduler and whoever can read what they
send each other see exact sums and rows, and have to be trusted like the process that calls ``fit``.
The ledger is charged here before workers are asked. What is lost with a worker, or on its way, is
computed again by tasks, without another charge, since the answer is the same and is released once.

What is kept on the workers during a fit, beside what the user has persisted, is six numbers a
row at most: its target and its norm, as they came and as they are bounded, a factor, and a number
by which it is known again; and a seventh if rows have weights, and two more if users have said
whose rows they are. In that case the labels of each partition, each once, and how many rows bear
them come to this process, which numbers the privacy units of the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from functools import partial
from itertools import chain, pairwise
from typing import Any, NoReturn, final
from uuid import uuid4

import numpy as np

from ...problem.bounds import RowBounds
from ...validation import sizes_told, telling_sizes
from ..adjacency import PrivacyUnit
from . import partition
from .base import BoundedRows, RowStore
from .bounded_rows import BlockKernel, RawBlock
from .partitions import SOON_SENT, Partitions, packed
from .privacy_units import UnitCounts

# Facts that all partitions have in common.
_SHARED = {
    "n_features": "number of features",
    "names": "column names in the same order",
    "target_columns": "number of targets",
}

# Tasks that are sent what they have in common each for itself.
_FEW_TASKS = 1000


def is_collection(data: Any) -> bool:
    """True if data are a dask collection of any kind. Does not import dask."""
    return "dask" in {kind.__module__.partition(".")[0] for kind in type(data).__mro__}


@final
class DaskRows(RowStore):
    """Rows in the partitions of a dask array or dataframe.

    Parameters
    ----------
    X : dask array of shape (n_samples, n_features), or dask dataframe
        Features; chunks may be dense, CSR or frames, and sizes of chunks unknown. An array that is
        cut along the features is put together along them.
    y : dask array or series of shape (n_samples,)
        Targets, in the same partitions.
    encode : callable
        Turns the targets (m,) of a partition into encoded targets (m,). It is sent to the workers.
    sample_weight : dask array or series of shape (n_samples,), optional
        Weights of the rows, in the same partitions.
    max_weight : float, default=1.0
        Largest weight that counts.
    privacy_unit : dask array or series of shape (n_samples,), optional
        Labels of the privacy units of the rows, in the same partitions. How many rows there are in
        a partition, or in all, is secret then.
    tables : bool, default=False
        Whether targets may have two dimensions.

    Attributes
    ----------
    feature_names : list of str or None
        Column names, if there are any and they are strings.
    dtype : dtype
        float32 if all partitions have it, else float64.

    Raises
    ------
    ValueError
        If X or y are of another kind or in other partitions, if a partition is malformed, or if
        there are no rows. In a pass over the rows before anything is asked, and whenever a later
        pass delivers other rows.
    RuntimeError
        If a task fails for other reasons. The text quotes nothing of the data.

    Guarantees
    ----------
    - Rows, targets and what belongs to a single row stay where they are; this process gets sizes,
      column names and checksums of partitions, and sums; and with privacy units whose rows are in
      each, and how many.
    - Answers equal those in memory up to the rounding of sums, and are the same each time for the
      same partitions.
    - Partitions whose features have changed since they were opened first are refused, by a checksum
      of their bytes, which 2^-32 of changes escape, also where a worker was lost and others open
      what it had. It does not withstand who makes rows to deceive.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        encode: Callable[[np.ndarray], np.ndarray],
        sample_weight: Any = None,
        max_weight: float = 1.0,
        privacy_unit: Any = None,
        *,
        tables: bool = False,
    ) -> None:
        self.weighted = sample_weight is not None
        with telling_sizes(privacy_unit is None):
            X, y = aligned(X, y, tables=tables)
            if self.weighted:
                X, sample_weight = aligned(X, sample_weight, "sample_weight")
            if privacy_unit is not None:
                X, privacy_unit = aligned(X, privacy_unit, "privacy_unit")
                self.unit = PrivacyUnit.DECLARED
            self._tasks = Tasks(X, y, sample_weight, privacy_unit, (encode, max_weight))
        found = self._tasks.facts()
        self.n_samples = sum(part.n_samples for part in found)
        first = found[0]
        for fact, needed in _SHARED.items():
            if any(getattr(part, fact) != getattr(first, fact) for part in found):
                raise ValueError(f"DaskRows needs the same {needed} in every partition.")
        self.n_features, self.target_columns = first.n_features, first.target_columns
        if not self.n_samples:
            raise ValueError("DaskRows needs at least one row, got partitions without any.")
        self.sparse = any(part.sparse for part in found)
        if privacy_unit is not None:
            if any(part.n_samples and part.sparse != self.sparse for part in found):
                raise ValueError(
                    "DaskRows needs partitions that are all dense or all sparse with privacy_unit; "
                    "got both kinds."
                )
            self.n_samples = self._tasks.number_units()
        self.dtype = np.dtype(np.float32 if all(part.single for part in found) else np.float64)
        self.feature_names = None if first.names is None else list(first.names)

    def sum(self, kernel: Callable[[RawBlock], np.ndarray]) -> np.ndarray:
        """Sum of ``kernel`` over all blocks, in a fixed order."""
        return self._tasks.answer(kernel)

    def _bounded(self, bounds: RowBounds) -> BoundedRows:
        return _BoundedPartitions(self._tasks, bounds, self.n_samples)

    def _taken(self, positions: np.ndarray) -> RowStore:
        if self.unit is not PrivacyUnit.ROW:
            return super()._taken(positions)
        # The sample stays on the workers, where its rows lie.
        other = DaskRows.__new__(DaskRows)
        vars(other).update(vars(self), _view=None, _sample=None)
        other._tasks, other.n_samples = self._tasks.sampled(positions), len(positions)
        return other

    def __reduce__(self) -> NoReturn:
        raise TypeError("DaskRows cannot be copied or pickled: rows stay where they are.")


@final
class _BoundedPartitions(BoundedRows):
    def __init__(self, tasks: Tasks, bounds: RowBounds, n_samples: int) -> None:
        self.bounds = bounds
        self._tasks, self._n_samples = tasks, n_samples
        # Workers know bounds by a name, under which they keep what follows from them.
        self._view = uuid4().hex, bounds

    def sum(self, kernel: BlockKernel, marked: np.ndarray | None = None) -> np.ndarray:
        return self._tasks.answer(kernel, self._view, marked, self._n_samples)


@final
class Tasks:
    """Tasks on workers that hold the rows of a fit; let go when nothing refers to it."""

    def __init__(
        self, X: Any, y: Any, sample_weight: Any, privacy_unit: Any, facts: tuple[Any, float]
    ) -> None:
        # While these are referred to, what a user has persisted stays.
        self._source = X, y, sample_weight, privacy_unit
        self._sent: dict[str, Partitions] = {}
        beside = (y, sample_weight, privacy_unit)
        with _large_graphs():
            of_X = Partitions.of(X).settled(X)
            self._places, self._holders = of_X.together()
            self._n_parts = len(of_X)
            self._X = of_X.in_place(X).grouped(self._places)
            given = (
                None if p is None else Partitions.of(p).in_place(p).grouped(self._places)
                for p in beside
            )
            # Tasks that depend on nothing but one object are all given to the worker that has it,
            # unless they are many.
            shared = self._delivered(packed(facts), apart=len(self._places) <= _FEW_TASKS)
            self._opened = self._X.map(partition.opened, *given, shared=shared).kept()
        # Of rows, if each is a privacy unit.
        self._ends: np.ndarray | None = np.zeros(1, dtype=np.intp)
        # Checksums of partitions; a sample is drawn of what they are of.
        self._known: list[list[int | None]] | None = None

    def facts(self) -> list[partition.Facts]:
        """Public facts about each partition, in their order."""
        pairs = self._in_order(partition.facts)
        found, known = zip(*pairs, strict=True)
        self._ends = np.cumsum([0] + [part.n_samples for part in found])
        self._known = [[known[i] for i in group] for group in self._places]
        return [*found]

    def number_units(self) -> int:
        """Number of privacy units in all partitions, by which their rows share what they count."""
        table = UnitCounts()
        found = self._in_order(partition.named)
        for of_part in found:
            table.add(*of_part)
        reading = table.reading()
        numbered = [reading.numbered(*of_part) for of_part in found]
        of_groups = [[numbered[i] for i in group] for group in self._places]
        with _large_graphs():
            self._opened = self._opened.map(partition.shared, of_groups).kept()
        self._ends = None
        return table.n_units

    def sampled(self, positions: np.ndarray) -> Tasks:
        """Tasks over the rows at these positions, of which workers keep copies."""
        assert self._ends is not None
        ends = np.searchsorted(positions, self._ends)
        of_each = [
            positions[i:j] - start
            for (i, j), start in zip(pairwise(ends), self._ends, strict=False)
        ]
        of_groups = [[of_each[i] for i in group] for group in self._places]
        other = copy(self)
        with _large_graphs():
            chosen = self._X.map(partition.features_of, self._opened, self._known, of_groups)
            other._X = chosen.kept()
            other._opened = other._X.map(partition.sampled, self._opened, of_groups).kept()
            # Parts of partitions that were made anew lie in memory now.
            groups, other._holders = other._X.together()
            if len(groups) < len(other._X):
                other._places = [[*chain(*(self._places[i] for i in group))] for group in groups]
                other._X, other._opened = (
                    parts.grouped(groups).map(partition.joined).kept()
                    for parts in (other._X, other._opened)
                )
        other._ends, other._sent, other._known = ends, {}, None
        return other

    def answer(
        self,
        kernel: Callable[[Any], np.ndarray],
        view: tuple[str, RowBounds] | None = None,
        marked: np.ndarray | None = None,
        n_samples: int = 0,
    ) -> np.ndarray:
        """Sum of the kernel over rows as they came, or brought to bounds, which have a name."""
        parts: list[list[np.ndarray]] | None = None
        units = None
        if marked is not None:
            if self._ends is None:
                units = np.packbits(marked)
            else:
                of_each = [np.packbits(marked[i:j]) for i, j in pairwise(self._ends)]
                parts = [[of_each[i] for i in group] for group in self._places]
        pieces = packed((kernel, view, units))
        places = [(group, self._n_parts, n_samples) for group in self._places]
        beside = self._opened, self._known, parts, places
        found, contents = None, [it for _, it in pieces]
        if parts is None and sum(map(len, contents)) <= SOON_SENT:
            found = self._at_once(self._X, partition.answered, *beside, shared=contents)
        if found is None:
            answers = self._X.map(partition.answered, *beside, shared=self._delivered(pieces))
            sums = answers.folded(partial(partition.added, count=self._n_parts))
            with _graphs_of(told=self._ends is not None):
                found = sums.gathered()
        (out,) = _accepted([partition.added(found, self._n_parts)])
        (whole,) = out.values()
        # A scheduler in this process may hand out what it keeps, or what cannot be written to.
        return np.array(whole)

    def _in_order(self, function: Callable[..., Any]) -> list[Any]:
        """The function of each partition as it was opened, brought to this process."""
        found = self._at_once(self._opened, function)
        if found is None:
            found = self._opened.map(function).gathered()
        by_place = dict(zip(chain(*self._places), chain(*_accepted(found)), strict=True))
        return [by_place[place] for place in range(self._n_parts)]

    def _at_once(self, of: Partitions, *args: Any, **options: Any) -> list[Any] | None:
        """Answers of the workers that hold all rows; None if there are none, or one is gone."""
        found = None if self._holders is None else of.asked(self._holders, *args, **options)
        if found is None:
            # Tasks find what was lost with a worker, or has gone to others, in all that follow.
            self._holders = None
        return found

    def _delivered(self, pieces: list[tuple[str, bytes]], *, apart: bool = False) -> Partitions:
        """Pieces of a content for all tasks; large ones stay on the workers until the next.

        What is small is one object for all of them, or ``apart``, for each its own.
        """
        (name, body), *large = pieces
        self._sent = {piece: self._sent.get(piece) or _sent(piece, it) for piece, it in large}
        graph = {} if apart else {name: body}
        for kept in self._sent.values():
            graph.update(kept.graph)
        return Partitions(graph, [body if apart else name, *(piece for piece, _ in large)])


def labels_of(y: Any) -> np.ndarray:
    """The different labels in a dask array or series, found by its workers, each three times.

    Once each would look to scikit-learn like targets that all differ, of which it warns.

    Raises
    ------
    ValueError
        If there are more than 1000, or they are of kinds that cannot be compared.
    """
    found_by_each = Partitions.of(_targets(y)).map(partition.labels)
    with _graphs_of(told=sizes_told()):
        parts = _accepted(found_by_each.gathered())
    try:
        found = np.unique(np.concatenate([part for part in parts if part.size] or [np.empty(0)]))
    except TypeError:
        raise ValueError(
            "DaskRows needs labels of one kind, numbers or strings; y holds several kinds."
        ) from None
    if found.size > partition.MOST_LABELS:
        raise ValueError(
            f"DaskRows needs classes=[...] for targets of more than {partition.MOST_LABELS} "
            "different values, if they are labels at all."
        )
    return np.repeat(found, 3)


def gathered(data: Any) -> Any:
    """The data of a collection, brought to this process; all other data as they are."""
    if not is_collection(data):
        return data
    with _graphs_of(told=sizes_told()):
        return data.compute()


def aligned(X: Any, y: Any, name: str = "y", *, tables: bool = False) -> tuple[Any, Any]:
    """X in one chunk along the features, and y, if they are cut into the same partitions.

    y is targets, under another name something else with one entry a row; with ``tables`` it may
    have two dimensions.

    Raises
    ------
    ValueError
        If they are of other kinds or known to be cut differently.
    """
    if not (_is_kind(X, "Array", "DataFrame") and X.ndim == 2):
        raise ValueError(
            "DaskRows needs a dask array of two dimensions or a dask dataframe as X, got a "
            f"{type(X).__name__}; convert it, for example by to_dataframe() or da.asarray()."
        )
    if hasattr(X, "chunks") and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    y = _targets(y, name, tables=tables)
    differ = X.npartitions != y.npartitions
    if hasattr(X, "chunks") and hasattr(y, "chunks"):
        # Sizes that are not known are not numbers, and tell nothing yet.
        differ |= any(
            a != b for a, b in zip(X.chunks[0], y.chunks[0], strict=False) if a == a and b == b
        )
    elif hasattr(X, "divisions") and hasattr(y, "divisions"):
        differ |= X.known_divisions and y.known_divisions and X.divisions != y.divisions
    if differ:
        found = f"{X.npartitions} of X and {y.npartitions} of {name}, or others as many"
        raise ValueError(
            f"DaskRows needs X and {name} in the same partitions, got "
            f"{found if sizes_told() else 'others'}. Rechunk {name} to the chunks of X, or "
            "repartition both by the same divisions."
        )
    return X, y


def _targets(y: Any, name: str = "y", *, tables: bool = False) -> Any:
    if tables and _is_kind(y, "Array", "DataFrame") and y.ndim == 2:
        many = hasattr(y, "chunks") and y.numblocks[1] > 1
        return y.rechunk({1: -1}) if many else y
    if not (_is_kind(y, "Array", "Series") and y.ndim == 1):
        raise ValueError(
            f"DaskRows needs a dask array of one dimension or a dask series as {name}, in the "
            f"partitions of X, got a {type(y).__name__}; convert it, for example by "
            f"da.from_array({name}, chunks=X.chunks[0])."
        )
    return y


def _is_kind(data: Any, *names: str) -> bool:
    kinds = {kind.__name__ for kind in type(data).__mro__ if kind.__module__.startswith("dask.")}
    return bool(kinds & set(names))


def _sent(name: str, content: bytes) -> Partitions:
    with _large_graphs():
        return Partitions({name: content}, [name]).kept()


def _large_graphs() -> Any:
    """Context in which a cluster does not warn of what is large on purpose, nor say how large."""
    import dask

    if "distributed" not in sys.modules:
        # Imported in a context that sets one of its settings, it would lose all others behind it.
        return nullcontext()
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


def _graphs_of(*, told: bool) -> Any:
    """Context in which a cluster warns of graphs that are large only if sizes may be told."""
    return nullcontext() if told else _large_graphs()


def _accepted(parts: list[Any]) -> list[Any]:
    for part in parts:
        if isinstance(part, partition.Refusal):
            raise part.kind(part.message)
    return parts
