"""Work on one partition of distributed rows, on the worker that holds it.

Nothing here raises. What goes wrong is returned as a :class:`Refusal`, because a worker writes the
exceptions of its tasks into its log, and their text or arguments may hold data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any
from weakref import ref

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names

from ...problem.bounds import RowBounds
from ...problem.column_bounds import ColumnScaling
from ...validation import telling_sizes
from .base import bounded_block, over_all, over_marked, total
from .bounded_rows import BoundedBlock, RawBlock, on_scale
from .partitions import unpacked
from .privacy_units import LabelledRows, PrivacyUnits, shares_of
from .reading import columns_of, redacted, strict_checks
from .unit_counts import rows_of_part
from .weights import in_units_of

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
class NumberedUnits:
    """Privacy units that have rows in a partition, by their numbers in a table of all. Secret.

    Parameters
    ----------
    names : list of hashable
        Whose rows are there, each once.
    counts : ndarray of shape (len(names),)
        Number of their rows there.
    places, totals, before : ndarray of shape (len(names),)
        Numbers of the units, and of their rows in all partitions and in those before.
    n_units : int
        Number of units of the table.
    """

    names: list[Hashable]
    counts: np.ndarray
    places: np.ndarray
    totals: np.ndarray
    before: np.ndarray
    n_units: int


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

    def blocks(self, X: Any) -> list[RawBlock] | Refusal:
        """The rows in blocks, if they are still those that were opened."""
        if not self.facts.n_samples:
            return []
        rows = _as_rows(X, finite=False)
        if rows.shape[0] != len(self.y):
            return _changed()
        blocks = list(rows_of_part(rows, self.y, self.weights, self.units).blocks())
        # Where the very object is still there, nothing can have changed.
        same = X is self.source() or _are_same(blocks, self.norms, self.shadows)
        return blocks if same else _changed()


@dataclass(frozen=True, eq=False)
class BoundedPartition:
    """Bounded blocks without their rows; on another scale also norms and shadows there.

    A row of large entries may change unseen in a small one, which is large on that scale.
    """

    blocks: list[BoundedBlock]
    scaling: ColumnScaling | None = None
    norms: np.ndarray | None = None
    shadows: np.ndarray | None = None

    def __sizeof__(self) -> int:
        marks = sum(map(sys.getsizeof, (self.norms, self.shadows)))
        return marks + sum(4 * sys.getsizeof(block.norms) for block in self.blocks)

    def same(self, blocks: list[RawBlock]) -> bool:
        """True if rows are those that were bounded, as far as their scale goes."""
        if self.scaling is None or self.norms is None or self.shadows is None:
            return True
        return _are_same(_scaled(self.scaling, blocks), self.norms, self.shadows)


def opened(
    X: Any, y: Any, weights: Any, units: Any, pieces: list[bytes]
) -> OpenedPartition | Refusal:
    """Check a partition, encode its targets with the function and bound its weights, if any."""
    try:
        with telling_sizes(units is None):
            return _opened(X, y, weights, units, *unpacked(pieces))
    except (ValueError, TypeError) as error:
        # Those of checks quote nothing, as in memory.
        return Refusal(type(error), str(error))
    except Exception as error:
        return _failure(error)


def facts(partition: OpenedPartition | Refusal) -> Facts | Refusal:
    """The part of it that is public."""
    return partition if isinstance(partition, Refusal) else partition.facts


def named(
    partition: OpenedPartition | Refusal,
) -> tuple[list[Hashable], np.ndarray, Hashable] | Refusal:
    """Privacy units of a partition and how many rows they have there, and the kind of labels."""
    if isinstance(partition, Refusal):
        return partition
    assert partition.labelled is not None
    found = partition.labelled
    return found.names, found.counts(), found.kind


def shared(
    partition: OpenedPartition | Refusal, numbered: NumberedUnits
) -> OpenedPartition | Refusal:
    """A partition whose rows count what their units leave them, which are numbered in a table."""
    if isinstance(partition, Refusal):
        return partition
    try:
        found = partition.labelled
        assert found is not None
        # It may have been opened anew, on another worker.
        if found.names != numbered.names or not np.array_equal(found.counts(), numbered.counts):
            return _changed()
        shares = shares_of(found.codes, numbered.totals, numbered.before)
        units = PrivacyUnits(numbered.places[found.codes], shares, numbered.n_units)
        return replace(partition, units=units, labelled=None)
    except Exception as error:
        return _failure(error)


def labels(y: Any) -> np.ndarray | Refusal:
    """The different labels in a partition, at most one more than a set of classes may have."""
    try:
        with strict_checks():
            return np.unique(np.asarray(y))[: MOST_LABELS + 1]
    except Exception as error:
        return _failure(error)


def bounded(
    X: Any, partition: OpenedPartition | Refusal, pieces: list[bytes]
) -> BoundedPartition | Refusal:
    """The blocks of a partition, brought to the bounds."""
    if isinstance(partition, Refusal):
        return partition
    try:
        bounds: RowBounds = unpacked(pieces)
        with np.errstate(all="ignore"):
            blocks = partition.blocks(X)
            if isinstance(blocks, Refusal):
                return blocks
            bounded = [bounded_block(raw, bounds).over(None) for raw in blocks]
            if bounds.scaling is None or not blocks:
                return BoundedPartition(bounded)
            there = _scaled(bounds.scaling, blocks)
            return BoundedPartition(bounded, bounds.scaling, _norms(there), _shadows(there))
    except Exception as error:
        return _failure(error)


def answered(
    X: Any,
    partition: OpenedPartition | Refusal,
    view: BoundedPartition | Refusal | None,
    marked: np.ndarray | None,
    pieces: list[bytes],
) -> np.ndarray | Refusal | None:
    """Sum of the kernel over a partition, as it came or bounded; None if empty."""
    for part in (partition, view):
        if isinstance(part, Refusal):
            return part
    try:
        kernel, columns, units = unpacked(pieces)
        marked = marked if units is None else units
        # A warning or an exception about one row would tell of it outside the answer.
        with np.errstate(all="ignore"):
            return _answered(X, partition, view, kernel, columns, marked)  # type: ignore[arg-type]
    except Exception as error:
        return _failure(error)


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
) -> OpenedPartition | Refusal:
    columns = redacted(_get_feature_names, X)
    names = None if columns is None else tuple(columns)
    rows, targets = _as_rows(X, finite=True), redacted(np.asarray, y)
    n, d = rows.shape
    labelled = None
    if privacy_unit is not None:
        labelled = LabelledRows.of(np.asarray(privacy_unit))
        labelled.check(rows, targets, sample_weight)
    if targets.shape[:1] != (n,) or targets.ndim > 2:
        return Refusal(
            ValueError,
            f"DaskRows needs X and y in the same partitions, got {n} rows of X and targets of "
            f"shape {targets.shape} in one of them. Rechunk y to the chunks of X, or repartition "
            "both by the same divisions.",
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


def _scaled(scaling: ColumnScaling, blocks: list[RawBlock]) -> list[RawBlock]:
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


def _answered(
    X: Any,
    partition: OpenedPartition,
    view: BoundedPartition | None,
    kernel: Callable[[Any], np.ndarray],
    columns: tuple[int, ...] | None,
    marked: np.ndarray | None,
) -> np.ndarray | Refusal | None:
    blocks = partition.blocks(X)
    if isinstance(blocks, Refusal):
        return blocks
    if not blocks:
        return None
    if view is None:
        return total(map(kernel, blocks))
    if X is not partition.source() and not view.same(blocks):
        return _changed()
    of_block = over_all(kernel)
    if marked is not None:
        units = partition.units
        count = partition.facts.n_samples if units is None else units.n_units
        bits = np.unpackbits(marked, count=count)
        of_block = over_marked(kernel, bits.view(bool))
    return total(
        of_block(block.over((raw if columns is None else raw.cut_to(columns)).X))
        for raw, block in zip(blocks, view.blocks, strict=True)
    )


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


def _changed() -> Refusal:
    return Refusal(
        ValueError,
        "DaskRows needs a source that delivers the same rows at each pass; they have changed. "
        "Persist the collection, or read from something that stays as it is.",
    )


def _failure(error: Exception) -> Refusal:
    # Its text may quote rows.
    return Refusal(
        RuntimeError,
        f"DaskRows needs every partition to be computed; one failed with {type(error).__name__} "
        "on its worker. What the exception says is left out, because it may quote data.",
    )
