"""Work on one partition of distributed rows, on the worker that holds it.

No task raises. What goes wrong is returned as a :class:`Refusal`, because a worker writes the
exceptions of its tasks into its log, and their text or arguments may hold data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from weakref import ref

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names

from ...problem.bounds import RowBounds
from ...problem.column_bounds import ColumnScaling
from ...validation import telling_sizes
from .base import bounded_block, summed
from .bounded_rows import BoundedBlock, RawBlock, on_scale
from .in_memory import rows_of_part
from .partitions import unpacked
from .privacy_units import LabelledRows, NumberedUnits, PrivacyUnits
from .reading import columns_of, in_units_of, redacted, strict_checks
from .threads import total

P = ParamSpec("P")
T = TypeVar("T")

# A set of labels larger than that is not one of classes.
MOST_LABELS = 1000
# By which a row may differ from what it was, in proportion to its norm.
_ROUNDING = 1e-10


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


@dataclass(frozen=True, eq=False)
class OpenedPartition:
    """Targets, weights, norms and shadows of the rows of a partition, without its features.

    Shadows are inner products with a fixed direction: they tell apart rows of the same norm.
    ``source`` refers to the features themselves as long as they stay in the memory of the worker.
    ``labelled`` says whose rows they are where users have said so, and ``units`` what they count,
    which is known when all partitions have been opened.
    """

    facts: Facts
    y: np.ndarray
    norms: np.ndarray
    shadows: np.ndarray
    source: Callable[[], Any]
    weights: np.ndarray | None = None
    labelled: LabelledRows | None = None
    units: PrivacyUnits | None = None

    def __getstate__(self) -> dict[str, Any]:
        # On another worker they are another object.
        return vars(self) | {"source": _nowhere}

    def __sizeof__(self) -> int:
        of_units = () if self.units is None else (self.units.codes, self.units.shares)
        kept = self.y, self.norms, self.shadows, self.weights, *of_units
        return sum(map(sys.getsizeof, kept))

    def blocks(self, X: Any) -> list[RawBlock]:
        """The rows in blocks; refused unless they are still those that were opened."""
        if not self.facts.n_samples:
            return []
        rows = _as_rows(X, finite=False)
        if rows.shape[0] != len(self.y):
            raise _changed()
        blocks = list(rows_of_part(rows, self.y, self.weights, self.units).blocks())
        # Where the very object is still there, nothing can have changed.
        if not (X is self.source() or _are_same(blocks, self.norms, self.shadows)):
            raise _changed()
        return blocks


@dataclass(frozen=True, eq=False)
class BoundedPartition:
    """Bounded blocks without their rows; on another scale also norms and shadows there.

    A row of large entries may change unseen in a small one, which is large on that scale.
    """

    bounds: RowBounds
    blocks: list[BoundedBlock]
    there: tuple[np.ndarray, np.ndarray] | None = None

    def __sizeof__(self) -> int:
        marks = sum(map(sys.getsizeof, self.there or ()))
        return marks + sum(4 * sys.getsizeof(block.norms) for block in self.blocks)

    def same(self, blocks: list[RawBlock]) -> bool:
        """True if rows are those that were bounded, as far as their scale goes."""
        scaling = self.bounds.scaling
        if scaling is None or self.there is None:
            return True
        return _are_same(_on_scale(scaling, blocks), *self.there)


class Refused(Exception):
    """Way of a refusal out of a task."""

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
def opened(X: Any, y: Any, weights: Any, units: Any, pieces: list[bytes]) -> OpenedPartition:
    """Check a partition, encode its targets with the function and bound its weights, if any."""
    try:
        with telling_sizes(units is None):
            return _opened(X, y, weights, units, *unpacked(pieces))
    except (ValueError, TypeError) as error:
        # Those of checks quote nothing, as in memory.
        raise Refused(Refusal(type(error), str(error))) from None


@_on_worker
def facts(partition: OpenedPartition) -> Facts:
    """The part of it that is public."""
    return partition.facts


@_on_worker
def named(partition: OpenedPartition) -> tuple[list[Hashable], np.ndarray, Hashable]:
    """Privacy units of a partition and how many rows they have there, and the kind of labels."""
    assert partition.labelled is not None
    found = partition.labelled
    return found.names, found.counts(), found.kind


@_on_worker
def shared(partition: OpenedPartition, numbered: NumberedUnits) -> OpenedPartition:
    """A partition whose rows count what their units leave them, which are numbered in a table."""
    assert partition.labelled is not None
    units = numbered.of_rows(partition.labelled)
    # It may have been opened anew, on another worker.
    if units is None:
        raise _changed()
    return replace(partition, units=units, labelled=None)


@_on_worker
def labels(y: Any) -> np.ndarray:
    """The different labels in a partition, at most one more than a set of classes may have."""
    return np.unique(np.asarray(y))[: MOST_LABELS + 1]


@_on_worker
def bounded(X: Any, partition: OpenedPartition, pieces: list[bytes]) -> BoundedPartition:
    """The blocks of a partition, brought to the bounds."""
    bounds: RowBounds = unpacked(pieces)
    raw, there = partition.blocks(X), None
    blocks = [bounded_block(block, bounds).over(None) for block in raw]
    if bounds.scaling is not None and raw:
        scaled = _on_scale(bounds.scaling, raw)
        there = _norms(scaled), _shadows(scaled)
    return BoundedPartition(bounds, blocks, there)


@_on_worker
def answered(
    X: Any,
    partition: OpenedPartition,
    view: BoundedPartition | None,
    marked: np.ndarray | None,
    pieces: list[bytes],
) -> np.ndarray | None:
    """Sum of the kernel over a partition, as it came or bounded; None if empty."""
    kernel, units = unpacked(pieces)
    raw = partition.blocks(X)
    if not raw:
        return None
    if view is None:
        return total(map(kernel, raw))
    if X is not partition.source() and not view.same(raw):
        raise _changed()
    columns = view.bounds.columns
    features = (block.X if columns is None else block.cut_to(columns).X for block in raw)
    blocks = (block.over(own) for block, own in zip(view.blocks, features, strict=True))
    marked = marked if units is None else units
    if marked is not None:
        count = partition.facts.n_samples
        count = count if partition.units is None else partition.units.n_units
        marked = np.unpackbits(marked, count=count).view(bool)
    return summed(kernel, blocks, marked)


def added(parts: list[np.ndarray | Refusal | None]) -> np.ndarray | Refusal | None:
    """Sum of answers in order; the first refusal, if there is one; None if all are empty."""
    out: np.ndarray | None = None
    for part in parts:
        if isinstance(part, Refusal):
            return part
        if out is None:
            # Answers of other tasks are left alone: they may be asked for again.
            out = part if part is None else part.copy()
        elif part is not None:
            out += part
    return out


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
    rows, targets = _as_rows(X, finite=True), redacted(np.asarray, y)
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
        nothing = np.empty(0)
        return OpenedPartition(known, nothing, nothing, nothing, _nowhere, labelled=labelled)
    weights = None
    if sample_weight is not None:
        weights = in_units_of(max_weight, np.asarray(sample_weight), n)
    with strict_checks():
        targets = encode(targets)
        units = None
        if labelled is not None:
            # What they count is not known yet.
            units = PrivacyUnits(labelled.codes, np.zeros(n), len(labelled.names))
        blocks = list(rows_of_part(rows, targets, None, units).blocks())
        norms, shadows = _norms(blocks), _shadows(blocks)
        return OpenedPartition(known, targets, norms, shadows, ref(X), weights, labelled)


def _on_scale(scaling: ColumnScaling, blocks: list[RawBlock]) -> list[RawBlock]:
    return [RawBlock(on_scale(scaling, block.X), block.y) for block in blocks]


def _are_same(blocks: list[RawBlock], norms: np.ndarray, shadows: np.ndarray) -> bool:
    """True if rows have these norms and shadows: factors and targets that are kept are theirs."""
    now, there = _norms(blocks), _shadows(blocks)
    # A copy on another worker may lie in memory in another order, and sums round differently.
    with np.errstate(all="ignore"):
        most = _ROUNDING * norms
        same = (np.abs(now - norms) <= most) | (now == norms)
        # Not so for rows beyond the largest float, whose shadows need not be numbers.
        same &= ~(np.abs(there - shadows) > most)
    return bool(np.all(same))


def _norms(blocks: list[RawBlock]) -> np.ndarray:
    return np.concatenate([block.norms for block in blocks])


def _shadows(blocks: list[RawBlock]) -> np.ndarray:
    direction = np.random.default_rng(0).standard_normal(blocks[0].X.shape[1])
    unit = direction / np.linalg.norm(direction)
    return np.concatenate([block.X @ unit for block in blocks])


def _as_rows(X: Any, *, finite: bool) -> Any:
    if not finite and type(X) is np.ndarray and X.dtype in (np.float64, np.float32):
        return X
    return redacted(
        check_array,
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=finite,
        ensure_min_samples=0,
        input_name="X",
    )


def _nowhere() -> None:
    """Stand-in for features that are not here."""


def _changed() -> Refused:
    return Refused(
        Refusal(
            ValueError,
            "DaskRows needs a source that delivers the same rows at each pass; they have changed. "
            "Persist the collection, or read from something that stays as it is.",
        )
    )
