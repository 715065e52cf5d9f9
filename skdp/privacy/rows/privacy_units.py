r"""Privacy units: people, or whatever else is protected together with all of its rows.

A user names the unit of each row, and neighbouring data sets then differ in *all* rows of one unit,
however many it has in either of them, wherever they lie; rows of the others follow each other in
the same order. The number P of units is public; how many rows there are is not, neither of a unit
nor together.

Each of the m rows of a unit counts ``1 / m``, times its own weight in [0, 1] if rows have weights,
so that every unit counts as much as one row does where rows are protected.

The theorem that carries all sensitivities over
-----------------------------------------------
Let the exact answer to a query be ``g(sum_i u_i phi(row_i))``, with some function phi of single
rows, public g, and ``u_i`` the weight of row i. What a unit adds is a convex combination of what
its rows may add. How far an answer moves between neighbours, or the range of a choice, is the
supremum of a convex function of what is added, which is the same over a convex hull. So the answer
moves, between data sets that differ in all rows of a unit, by at most what was proved for one row,
with the number of units P for that of rows: theorem U1 of ``docs/proofs/people.md``.

*Samples* of units: a unit is drawn with all of its rows, by one coin, or with none of them.

*Functions of a unit's own sum*, such as its mean gradient clipped to a ball, or the square of its
mean score: the rows of a unit enter one term, so that the answer moves by what one term can.

*Minimisers of perturbed objectives* have a proof of their own, because the proof for rows follows
one row's derivative along a line: see :mod:`skdp.privacy.accounting.perturbation`.

*Not covered*, and refused: running sums over rows in their order; and answers of sites, but for
sites that add noise of their own, each to an answer about the units that it has. Streams of
units have running sums, with a proof of their own in :mod:`skdp.privacy.streams.visits`.

Finite precision
----------------
Weights are multiples of 2^-26, and those of a unit sum to exactly 1: the first rows of a unit get
one step more where 2^26 is no multiple of m. Beyond 2^26 rows some of them count nothing. Sums of
weights are exact in any order, and so are counts.

Where in memory a row lies depends on how many rows other units have. So what is computed for a row
must not depend on its place, to the last bit: see ``apart`` in
:class:`~skdp.privacy.rows.bounded_rows.BoundedBlock`; and no block has a single row, whose entries
numpy would add up in another order. The order of additions, which depends on it too, is what the
margins of :mod:`skdp.privacy.rounding` allow for. They do not for the sum of a unit that is a term
by itself: it is taken row by row, in pieces that begin at the unit's own first row.

The same holds for tables that come in chunks, or lie in partitions, whose borders may depend on how
many rows somebody has, and which a unit may straddle. Its rows are counted over all of them first
(:class:`UnitCounts`), and each part is then brought to one layout.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from sklearn.utils.validation import _num_samples

from .bounded_rows import STEPS, Pieces
from .reading import attempted

_ONE_LABEL = (
    "privacy_unit needs one label for each row, in one dimension and in the order of the rows, "
    "and X, y and sample_weight of that length"
)

# Kinds of arrays whose elements are of one type.
_TYPED = "biufcmMUS"


@dataclass(frozen=True, eq=False, repr=False)
class PrivacyUnits:
    """Units of rows, and what each row counts. As secret as the rows, but for the number of units.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Unit of each row, 0 to n_units - 1.
    shares : ndarray of shape (n_rows,)
        Weights of the rows. Those of a unit sum to 1.
    n_units : int
        Number of units, public.
    together : bool, default=False
        Whether the rows of each unit follow each other, without those of others in between.
    """

    codes: np.ndarray
    shares: np.ndarray
    n_units: int
    together: bool = False

    @classmethod
    def of(cls, labels: Any) -> Self:
        """Units by the labels of the rows.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Hashable, and of one kind, such as whole numbers or text; rows with equal labels are of
            one unit.

        Raises
        ------
        ValueError
            If labels are missing, cannot be compared, are of several kinds, or are not in one
            dimension. Nothing of them is quoted, nor how many there are.
        """
        labelled = LabelledRows.of(labels)
        codes, counts = labelled.codes, labelled.counts()
        if not codes.size:
            raise ValueError(f"{_ONE_LABEL}; got none.")
        together = counts.size == 1 + np.count_nonzero(np.diff(codes))
        shares = shares_of(codes, counts, np.zeros_like(counts))
        return cls(codes, shares, counts.size, together)

    def places(self) -> list[np.ndarray]:
        """Places of the rows of each unit, in their order.

        What is computed for the rows of one unit together tells of no other.
        """
        return np.split(self.order(), np.cumsum(np.bincount(self.codes))[:-1])

    def order(self) -> np.ndarray:
        """Places of the rows, unit by unit, those of a unit in their order."""
        return np.argsort(self.codes, kind="stable")

    def sorted(self) -> Self:
        """The units of the rows in that order."""
        order = self.order()
        return replace(self, codes=self.codes[order], shares=self.shares[order], together=True)

    def blocks(self, rows: int, longest: int) -> list[tuple[int, int, Pieces]]:
        """Ends of blocks of rows that lie together, and the pieces of units that they consist of.

        A unit is cut into pieces from its own first row on, and blocks end where pieces do. So
        which of its rows are added up together does not depend on the rows of others. A block may
        have the rows of one piece more than asked for; the most rows of a piece are public.
        """
        m = self.codes.size
        begins = np.flatnonzero(np.append(True, np.diff(self.codes) != 0))
        sizes = np.diff(np.append(begins, m))
        counts = -(-sizes // longest)
        rank = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = np.repeat(begins, counts) + longest * rank
        last = rank == np.repeat(counts, counts) - 1
        cuts = np.flatnonzero(np.append(True, np.diff(starts // rows) > 0))
        # No block has a single row, whose entries numpy would add up in another order.
        lonely = np.diff(np.append(starts[cuts], m)) == 1
        lonely[0] = False
        cuts = np.append(cuts[~lonely], starts.size)
        ends = np.append(starts, m)
        return [
            (ends[i], ends[j], Pieces(ends[i : j + 1] - ends[i], rank[i:j] == 0, last[i:j]))
            for i, j in pairwise(cuts)
        ]

    def check(self, X: Any, *others: Any) -> None:
        """Refuse data of another length, or shape, without saying which lengths they are.

        X has two dimensions. A number stands for all rows.
        """
        _check_lengths(self.codes.size, X, *others)


@dataclass(frozen=True, eq=False, repr=False)
class LabelledRows:
    """Rows of a part of a table, with the labels of their privacy units. As secret as the rows.

    Parameters
    ----------
    names : list of hashable
        Labels of the units that have rows there, each once.
    codes : ndarray of shape (n_rows,)
        For each row the place in ``names``.
    kind : hashable or None
        Kind of all labels, by which names of different parts can be compared; None without rows.
        Public, as the type of an array is.
    """

    names: list[Hashable]
    codes: np.ndarray
    kind: Hashable

    @classmethod
    def of(cls, labels: Any) -> Self:
        """Rows of a part by their labels, as for :meth:`PrivacyUnits.of`; there may be none."""
        labels = _in_an_array(labels)
        names, codes = _distinct(labels)
        return cls(names, codes, one_kind(*_kinds(labels)))

    def of_rows(self) -> list[Hashable]:
        """Name of the person of each row."""
        return [self.names[code] for code in self.codes]

    def counts(self) -> np.ndarray:
        """Number of rows of each of ``names``."""
        return np.bincount(self.codes, minlength=len(self.names))

    def check(self, X: Any, *others: Any) -> None:
        """Refuse data of another length, or shape, as :meth:`PrivacyUnits.check` does."""
        _check_lengths(self.codes.size, X, *others)


@final
class UnitCounts:
    """Numbers of rows of the units of a table, counted over all of its parts.

    What a row counts depends on how many rows its unit has in *all* parts: a person may have rows
    in several of them. So one pass over the labels comes first. The table takes an entry for each
    unit, and none for rows, and is as secret as they are; the number of units is public.
    """

    def __init__(self) -> None:
        self._places: dict[Hashable, int] = {}
        self._counts = np.zeros(0, dtype=np.int64)
        self._kind: Hashable = None

    @property
    def n_units(self) -> int:
        """Number of units that have a row in a part. Public, once all parts are counted."""
        return len(self._places)

    def add(self, names: list[Hashable], counts: np.ndarray, kind: Hashable) -> None:
        """Count the rows of one more part: who has rows there, each once, and how many.

        Raises
        ------
        ValueError
            If labels are of another kind than those of earlier parts.
        """
        self._kind = one_kind(self._kind, kind)
        places = [self._places.setdefault(name, len(self._places)) for name in names]
        if (missing := self.n_units - self._counts.size) > 0:
            room = max(missing, self._counts.size)
            self._counts = np.concatenate([self._counts, np.zeros(room, dtype=np.int64)])
        self._counts[places] += counts

    def reading(self) -> CountingPass:
        """A pass over the parts, in which each row gets what it counts."""
        return CountingPass(self._places, self._counts[: self.n_units], self._kind)


@dataclass(frozen=True, eq=False, repr=False)
class NumberedUnits:
    """Privacy units that have rows in a part, by their numbers in the table of all. Secret.

    Parameters
    ----------
    names : list of hashable
        Whose rows are there, each once.
    counts : ndarray of shape (len(names),)
        Number of their rows there.
    places, totals, before : ndarray of shape (len(names),)
        Numbers of the units, and of their rows in all parts and in those before.
    n_units : int
        Number of units of the table.
    """

    names: list[Hashable]
    counts: np.ndarray
    places: np.ndarray
    totals: np.ndarray
    before: np.ndarray
    n_units: int

    def of_rows(self, labelled: LabelledRows) -> PrivacyUnits | None:
        """Units of the rows of the part; None if these are others than were numbered.

        Their shares are those that rows in one place would have: of all parts together those of a
        unit sum to exactly 1.
        """
        if labelled.names != self.names or not np.array_equal(labelled.counts(), self.counts):
            return None
        shares = shares_of(labelled.codes, self.totals, self.before)
        return PrivacyUnits(self.places[labelled.codes], shares, self.n_units)


@final
class CountingPass:
    """One pass over parts that have been counted, in their order. Secret.

    Parameters
    ----------
    places : dict
        Number of each unit by its name.
    counts : ndarray of shape (n_units,)
        Number of its rows in all parts.
    kind : hashable
        Kind of all labels.
    """

    def __init__(self, places: dict[Hashable, int], counts: np.ndarray, kind: Hashable) -> None:
        self._places, self._counts, self._kind = places, counts, kind
        self._read = np.zeros_like(counts)

    @property
    def complete(self) -> bool:
        """True if each unit has had as many rows in this pass as were counted."""
        return bool(np.array_equal(self._read, self._counts))

    def numbered(
        self, names: list[Hashable], counts: np.ndarray, kind: Hashable
    ) -> NumberedUnits | None:
        """The units of the next part; None if there is one that was not counted.

        Names are those who have rows in the part, each once, with the number of them.
        """
        listed = [self._places.get(name, -1) for name in names]
        if -1 in listed or kind not in (self._kind, None):
            return None
        places = np.array(listed, dtype=np.intp)
        before = self._read[places]
        self._read[places] += counts
        totals, n_units = self._counts[places], self._counts.size
        return NumberedUnits(names, counts, places, totals, before, n_units)


def shares_of(codes: np.ndarray, counts: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Weights of rows, which are exactly 1 together for each unit.

    Of each unit there is the number of its rows in all parts of the table, and in earlier parts.
    Weights are multiples of 2^-26.
    """
    # Numpy sorts small integers in a fraction of the time.
    order = np.argsort(codes.astype(np.min_scalar_type(counts.size)), kind="stable")
    here = np.bincount(codes, minlength=counts.size)
    rank = np.empty(codes.size, dtype=np.int64)
    rank[order] = np.arange(codes.size) - np.repeat(np.cumsum(here) - here, here)
    # Units that have no row at all count for nothing.
    steps, more = np.divmod(int(STEPS), np.maximum(counts, 1))
    return np.asarray((steps[codes] + (before[codes] + rank < more[codes])) / STEPS)


def one_kind(*kinds: Hashable) -> Hashable:
    """The kind of labels of several parts of a table, or calls of a stream; None of none.

    What reads a table part by part takes the same column for whole numbers in one part and for
    text, or for floats, in another, in which ``"007"``, 7 and 7.0 are the same person. Nobody can
    tell from the labels, and a person with two names would count twice.

    Parameters
    ----------
    *kinds : hashable or None
        Of the labels of each part; None of a part without rows.

    Raises
    ------
    ValueError
        If there are several.
    """
    found = set(kinds) - {None}
    if len(found) > 1:
        raise ValueError(
            "privacy_unit needs labels of one type in all rows, chunks, partitions and calls, such "
            "as whole numbers everywhere or text everywhere, got several: somebody who is a number "
            "here and a text there would be two people. Declare the type where labels are read, "
            "best as text (dtype=str)."
        )
    return found.pop() if found else None


def _check_lengths(n_rows: int, X: Any, *others: Any) -> None:
    def fits(data: Any) -> bool:
        if data is not X and (data is None or np.ndim(data) == 0):
            return True
        # Targets alone may be a table.
        flat = data is X or np.ndim(data) <= 1 + (data is others[0])
        return flat and _num_samples(data) == n_rows

    two = len(getattr(X, "shape", (0, 0))) == 2
    if not (two and all(attempted(fits, data) for data in (X, *others))):
        raise ValueError(f"{_ONE_LABEL}; got data of different lengths, or of other shapes.")


def _in_an_array(labels: Any) -> np.ndarray:
    found = None
    if hasattr(labels, "__array__"):
        found = attempted(np.asarray, labels)
    elif isinstance(labels, list | tuple):
        # In an array of all, one text would make texts of numbers, and of what is missing.
        found = attempted(np.fromiter, labels, dtype=object, count=len(labels))
    if labels is True:
        raise ValueError(
            f"{_ONE_LABEL}; got True, which is for Chunks and DaskSites that bring labels along. "
            "Pass the labels."
        )
    if found is None or found.ndim != 1:
        raise ValueError(
            f"{_ONE_LABEL}; got a {type(labels).__name__} of another kind or shape. Pass the "
            "column itself, such as table['person']."
        )
    return found


def _kinds(labels: np.ndarray) -> set[Hashable]:
    """Kinds that occur among labels."""
    if labels.dtype.kind in _TYPED:
        labels = labels[:1]
    examples = {type(label): label for label in labels}
    # Of most types one label says what all are.
    several = tuple, frozenset, np.datetime64, np.timedelta64
    told = labels if any(issubclass(kind, several) for kind in examples) else examples.values()
    return set(map(_kind, told))


def _kind(label: Any) -> Hashable:
    """Kind of a label: two of one kind are equal if and only if they name the same person."""
    if isinstance(label, tuple | frozenset):
        return (tuple if isinstance(label, tuple) else frozenset)(map(_kind, label))
    if isinstance(label, np.datetime64 | np.timedelta64):
        return label.dtype.name
    # Whole numbers of all widths are compared exactly; floats of less precision have lost digits,
    # and bytes in arrays of numpy their zeros at the end.
    alike: tuple[type, ...] = str, int, float
    if isinstance(label, np.integer | np.bool_):
        return int
    return next((kind for kind in alike if isinstance(label, kind)), type(label))


def _distinct(labels: np.ndarray) -> tuple[list[Hashable], np.ndarray]:
    """Different labels, and the place of the label of each row among them."""
    if labels.dtype.kind in _TYPED and not (labels != labels).any():
        # Of dates some are dates in Python, and others integers.
        plain = labels.astype(np.int64) if labels.dtype.kind in "mM" else labels
        found, codes = np.unique(plain, return_inverse=True)
        return found.tolist(), np.asarray(codes, dtype=np.intp).reshape(-1)
    known: dict[Any, int] = {}
    codes, missing, unhashable = np.empty(labels.size, dtype=np.intp), False, False
    for i, label in enumerate(labels):
        try:
            code = known.get(label)
        except Exception:
            unhashable = True
            break
        if code is None:
            if missing := _missing(label):
                break
            code = known[label] = len(known)
        codes[i] = code
    if missing:
        raise ValueError("privacy_unit needs a label for every row; some are missing.")
    if unhashable:
        raise ValueError(
            "privacy_unit needs labels that can be hashed, such as numbers or strings; some are "
            "of other types."
        )
    return list(known), codes


def _missing(label: Any) -> bool:
    """True if a label is missing, or a part of it: two of a person would not be equal."""
    try:
        parts = label if isinstance(label, tuple | frozenset) else ()
        return label is None or bool(label != label) or any(map(_missing, parts))
    except Exception:
        # What is missing in pandas is neither equal to itself nor different.
        return True
