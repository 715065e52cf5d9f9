"""Work on partitions of distributed rows, on the worker that holds them.

No task raises. What goes wrong is returned as a :class:`Refusal`, because a worker writes the
exceptions of its tasks into its log, and their text or arguments may hold data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar
from weakref import ref

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _get_feature_names

from ...validation import telling_sizes
from .bounded_rows import RawBlock
from .partitions import Recipe, unpacked
from .privacy_units import LabelledRows, NumberedUnits
from .reading import columns_of, in_units_of, redacted, strict_checks
from .table_parts import CHANGED, Part, as_rows, checksum, nowhere
from .threads import total_over

P = ParamSpec("P")
T = TypeVar("T")

# Something of each of the partitions that a task is about; None for none of any.
_Each: TypeAlias = Sequence[Any]
Opened: TypeAlias = "list[OpenedPartition]"
# Sums over partitions by the nodes of a tree, (height, place); see :func:`climbed`.
Sums: TypeAlias = dict[tuple[int, int], np.ndarray | None]

# A set of labels larger than that is not one of classes.
MOST_LABELS = 1000


@dataclass(frozen=True)
class Refusal:
    """Reason why a partition could not be used, in words that quote nothing of it."""

    kind: type[Exception]
    message: str


@dataclass(frozen=True)
class Facts:
    """Public facts about a partition, or about a site.

    ``of_units`` says that ``n_samples`` is the number of its privacy units, and not of its rows.
    """

    n_samples: int
    n_features: int
    sparse: bool
    single: bool
    names: tuple[str, ...] | None
    target_columns: int | None = None
    of_units: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class OpenedPartition:
    """A partition as it is kept: public facts, and its rows without their features.

    ``labelled`` says whose rows they are where users have said so, until all partitions have been
    opened and it is known what the rows count.
    """

    facts: Facts
    part: Part
    labelled: LabelledRows | None = None

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.part)

    def blocks(self, X: Any, known: int | None = None) -> list[RawBlock]:
        """The rows in blocks; refused unless they are still those that were opened.

        ``known`` is the checksum of those that were opened first, if this is told: what was lost
        with a worker is opened anew.
        """
        found = self.part.blocks(X) if known in (None, self.part.checksum) else None
        if found is None:
            raise _changed()
        return found


class Refused(Exception):
    """Exception that carries a refusal out of a task."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__()
        self.refusal = refusal


def _on_worker(task: Callable[P, T]) -> Callable[P, T | Refusal]:
    """A task that returns what goes wrong, without a word about rows, and refusals before it."""

    @wraps(task)
    def quietly(*args: P.args, **options: P.kwargs) -> T | Refusal:
        for refusal in args:
            if isinstance(refusal, Refusal):
                return refusal
        try:
            # A warning or an exception about one row would tell of it outside the answer.
            with np.errstate(all="ignore"):
                return task(*args, **options)
        except Refused as refused:
            return refused.refusal
        except Exception as error:
            # Its text may quote rows.
            return Refusal(
                RuntimeError,
                "DaskRows needs every partition to be computed; one failed with "
                f"{type(error).__name__} on its worker. What the exception says is left out, "
                "because it may quote data.",
            )

    return quietly


@_on_worker
def opened(X: _Each, y: _Each, weights: _Each, units: _Each, pieces: list[bytes]) -> Opened:
    """Check partitions, encode targets with the function and bound weights, if any."""
    facts, out = unpacked(pieces), []
    for parts in zip(X, *_all(X, y, weights, units), strict=True):
        # What tasks of others raise may quote rows.
        made = [*map(_made, parts)]
        try:
            with telling_sizes(units is None):
                out.append(_opened(*made, *facts))
        except (ValueError, TypeError) as error:
            # Those of checks quote nothing, as in memory.
            raise Refused(Refusal(type(error), str(error))) from None
    return out


@_on_worker
def facts(partitions: Opened) -> list[tuple[Facts, int | None]]:
    """The part of each that is public, and its checksum."""
    return [(partition.facts, partition.part.checksum) for partition in partitions]


@_on_worker
def named(partitions: Opened) -> list[tuple[list[Hashable], np.ndarray, Hashable]]:
    """Privacy units of partitions and how many rows they have there, and the kind of labels."""
    found = [partition.labelled for partition in partitions]
    return [(these.names, these.counts(), these.kind) for these in found if these is not None]


@_on_worker
def shared(partitions: Opened, numbered: list[NumberedUnits]) -> Opened:
    """Partitions whose rows count what their units leave them, which are numbered in a table."""
    out = []
    for partition, of_part in zip(partitions, numbered, strict=True):
        assert partition.labelled is not None
        units = of_part.of_rows(partition.labelled)
        # It may have been opened anew, on another worker.
        if units is None:
            raise _changed()
        part = replace(partition.part, units=units)
        out.append(replace(partition, part=part, labelled=None))
    return out


@_on_worker
def features_of(
    X: _Each, partitions: Opened, known: list[int | None], chosen: list[np.ndarray]
) -> list[Any]:
    """Copies of the features of some rows of each partition, by their positions in it.

    ``known`` are the checksums of the partitions that were opened first.
    """
    out = []
    for features, partition, first, own in zip(X, partitions, known, chosen, strict=True):
        made = _made(features)
        # Raises if rows have changed since they were opened.
        partition.blocks(made, first)
        out.append(as_rows(made, finite=False)[own])
    return out


@_on_worker
def sampled(X: list[Any], partitions: Opened, chosen: list[np.ndarray]) -> Opened:
    """Partitions of some rows of each partition, of whose features X holds copies."""
    out = []
    for features, partition, own in zip(X, partitions, chosen, strict=True):
        y, weights = partition.part.y[own], partition.part.weights
        weights = None if weights is None else weights[own]
        part = Part(y, weights, ref(features), checksum(features))
        out.append(OpenedPartition(replace(partition.facts, n_samples=len(own)), part))
    return out


@_on_worker
def joined(parts: list[list[Any] | Refusal]) -> list[Any] | Refusal:
    """Answers of several tasks about partitions, in one list; or the first refusal."""
    out: list[Any] = []
    for part in parts:
        if isinstance(part, Refusal):
            return part
        out += part
    return out


@_on_worker
def labels(y: Any) -> np.ndarray:
    """The different labels in a partition, at most one more than a set of classes may have."""
    return np.unique(np.asarray(y))[: MOST_LABELS + 1]


@_on_worker
def answered(
    X: _Each,
    partitions: Opened,
    known: list[int | None] | None,
    marks: list[np.ndarray] | None,
    places: tuple[list[int], int, int],
    pieces: list[bytes],
) -> Sums:
    """Sums of the kernel over partitions, as they came or brought to bounds, by level and place.

    ``known`` are their checksums when they were opened first, and ``places`` holds the places of
    these partitions, the number of all, and that of all rows.
    """
    kernel, view, of_units = unpacked(pieces)
    at, count, n_samples = places
    sums: Sums = {}
    beside = _all(X, known, marks)
    for place, features, partition, first, marked in zip(at, X, partitions, *beside, strict=True):
        part = partition.part
        raw = partition.blocks(_made(features), first)
        if not raw:
            sums[0, place] = None
        elif view is None:
            entries = partition.facts.n_features * len(part.y)
            sums[0, place] = total_over(lambda block, _: kernel(block), raw, entries)
        else:
            marked = marked if of_units is None else of_units
            if marked is not None:
                size = partition.facts.n_samples if part.units is None else part.units.n_units
                marked = np.unpackbits(marked, count=size).view(bool)
            sums[0, place] = part.sum(raw, kernel, *view, of_rows=n_samples, marked=marked)
    return climbed(sums, count)


def added(parts: list[Sums | Refusal], count: int) -> Sums | Refusal:
    """Sums over some of so many partitions, added up as far as they go; or the first refusal."""
    sums: Sums = {}
    for part in parts:
        if isinstance(part, Refusal):
            return part
        sums.update(part)
    return climbed(sums, count)


def climbed(sums: Sums, count: int) -> Sums:
    """Sums at the nodes of a tree over so many partitions, wherever both below a node are here.

    Its leaves are the partitions in their order. So which are added up first depends on their
    number alone, and not on where they lie. None stands for partitions without rows.
    """
    sums, height = dict(sums), 0
    while count > 1:
        for place in [place for at, place in sums if at == height and not place % 2]:
            below = [(height, place), (height, place + 1)][: count - place]
            if all(node in sums for node in below):
                parts = [part for part in map(sums.pop, below) if part is not None]
                # Not in place: answers of other tasks may be asked for again.
                sums[height + 1, place // 2] = sum(parts[1:], parts[0]) if parts else None
        count, height = -(-count // 2), height + 1
    return sums


def _made(part: Any) -> Any:
    return part() if isinstance(part, Recipe) else part


def _all(X: _Each, *beside: Sequence[Any] | None) -> list[Sequence[Any]]:
    """Columns of what is beside each partition, None where there is nothing."""
    return [[None] * len(X) if one is None else one for one in beside]


def _opened(
    X: Any,
    y: Any,
    sample_weight: Any,
    privacy_unit: Any,
    encode: Callable[[np.ndarray], np.ndarray],
    max_weight: float,
) -> OpenedPartition:
    columns = redacted(_get_feature_names, X)
    names = None if columns is None else tuple(columns)
    rows, targets = as_rows(X, finite=True), redacted(np.asarray, y)
    n, d = rows.shape
    labelled = None
    if privacy_unit is not None:
        labelled = LabelledRows.of(np.asarray(privacy_unit))
        labelled.check(rows, targets, sample_weight)
    if targets.shape[:1] != (n,) or targets.ndim > 2:
        raise ValueError(
            f"DaskRows needs X and y in the same partitions, got {n} rows of X and targets of "
            f"shape {targets.shape} in one of them. Rechunk y to the chunks of X, or repartition "
            "both by the same divisions."
        )
    known = Facts(n, d, sp.issparse(rows), rows.dtype == np.float32, names, columns_of(targets))
    if not n:
        nothing = Part(np.empty(0), None, nowhere, checksum(rows))
        return OpenedPartition(known, nothing, labelled)
    weights = None
    if sample_weight is not None:
        weights = in_units_of(max_weight, np.asarray(sample_weight), n)
    with strict_checks():
        targets = encode(targets)
    return OpenedPartition(known, Part(targets, weights, ref(X), checksum(rows)), labelled)


def _changed() -> Refused:
    persist = "Persist the collection, or read from something that stays as it is."
    return Refused(Refusal(ValueError, CHANGED.format("DaskRows", persist)))
