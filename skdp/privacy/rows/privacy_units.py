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
rows that has its values in a set K, public g, and ``u_i`` the weight of row i. For every query here
there is a proof of how far the answer moves between data sets that differ in one row of weight 1,
and it rests on one of these numbers:

- the diameter of K in a norm (rows are replaced);
- the largest distance of a point of K from a public one, 0 or the centre that stands for rows that
  are left out (rows are zeroed out);
- the largest range of the differences of entries, or of two entries' sizes, of a point of K or of
  two of them (noisy choices).

Let the weights of the rows of a unit sum to 1. What the unit adds to the sum is then a convex
combination of points of K, a point of ``conv(K)``. Each of the three is the supremum of a convex
function of one point of K, or of two, each for itself; and the supremum of a convex function over a
convex hull is that over the set. So the answer moves, between data sets that differ in all rows of
a unit, by at most what was proved for one row. Replace the number of rows by P and nothing else
changes. Each bound that is attained by rows is attained by units of one row.

If rows have weights of their own, the weights of a unit sum to at most 1, and its part lies in the
hull of K and 0: the proofs for weighted rows are about that hull already, as K with 0, or the
segments from 0 to K, has the same hull.

*Samples* of units: a unit is drawn with all of its rows, by one coin, or with none of them.

*Minimisers of perturbed objectives* have a proof of their own, because the proof for rows follows
one row's derivative along a line: see :mod:`skdp.privacy.accounting.perturbation`.

*Not covered*, and refused: second moments of scores, which for units are those of sums of scores
and not sums of those of rows; running sums over rows in their order; and answers of sites. Streams
of units have running sums, with a proof of their own in :mod:`skdp.privacy.streams.visits`.

Finite precision
----------------
Weights are multiples of 2^-26, and those of a unit sum to exactly 1: the first rows of a unit get
one step more where 2^26 is no multiple of m. Beyond 2^26 rows some of them count nothing. Sums of
weights are exact in any order, and so are counts.

Where in memory a row lies depends on how many rows other units have. So what is computed for a row
must not depend on its place, to the last bit: see ``apart`` in
:class:`~skdp.privacy.rows.bounded_rows.BoundedBlock`; and no block has a single row, whose entries
numpy would add up in another order. In which order rows are added up, and in which
blocks, depends on it too, which the margins for rounding allow for: they are bounds on the errors
of either sum, in any order, and for any number of rows (:mod:`skdp.privacy.rounding`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _num_samples

from .bounded_rows import STEPS

__all__ = ["PrivacyUnits", "name_of"]

_ONE_LABEL = (
    "privacy_unit needs one label for each row, in one dimension and in the order of the rows, "
    "and X, y and sample_weight of that length"
)
_NUMBER = re.compile(r"-?[0-9]{1,300}(\.[0-9]{1,300})?(e[+-][0-9]{1,3})?")


@dataclass(frozen=True, eq=False)
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
    """

    codes: np.ndarray
    shares: np.ndarray
    n_units: int

    @classmethod
    def of(cls, labels: Any) -> Self:
        """Units by the labels of the rows.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Hashable; rows with equal labels are of one unit, and so are a number and its text.

        Raises
        ------
        ValueError
            If labels are missing, cannot be compared, or are not in one dimension. Nothing of them
            is quoted, nor how many there are.
        """
        codes = _codes(_in_an_array(labels))
        if not codes.size:
            raise ValueError(f"{_ONE_LABEL}; got none.")
        counts = np.bincount(codes)
        order = np.argsort(codes, kind="stable")
        rank = np.empty(codes.size, dtype=np.int64)
        rank[order] = np.arange(codes.size) - np.repeat(np.cumsum(counts) - counts, counts)
        steps, more = np.divmod(int(STEPS), counts)
        shares = (steps[codes] + (rank < more[codes])) / STEPS
        return cls(codes, shares, counts.size)

    def rows_of(self, marked: np.ndarray) -> np.ndarray:
        """Mask of the rows whose unit is marked.

        Parameters
        ----------
        marked : ndarray of bool of shape (n_units,)
            Units.
        """
        return np.asarray(marked)[self.codes]

    def places(self) -> list[np.ndarray]:
        """Places of the rows of each unit, in their order.

        What is computed for the rows of one unit together tells of no other.
        """
        order = np.argsort(self.codes, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.codes))[:-1])

    def check(self, X: Any, *others: Any) -> None:
        """Refuse data of another length, or shape, without saying which lengths they are.

        Parameters
        ----------
        X : array-like
            Features, in two dimensions.
        *others : array-like, float or None
            Targets and what else there is for each row, if any; a number stands for all rows.
        """
        wrong = len(getattr(X, "shape", (0, 0))) != 2
        for data in (X, *(one for one in others if one is not None and np.ndim(one))):
            # What it raises may say how many there are.
            try:
                wrong |= _num_samples(data) != self.codes.size
                # Targets alone may be a table.
                wrong |= data is not X and np.ndim(data) > 1 + (data is others[0])
            except MemoryError:
                raise
            except Exception:
                wrong = True
        if wrong:
            raise ValueError(f"{_ONE_LABEL}; got data of different lengths, or of other shapes.")


def name_of(label: Hashable) -> Hashable:
    """The label, or the number that it spells, so that both name the same unit.

    What reads a table in chunks takes the same column for numbers in some of them and for text in
    others. Were they told apart, a person would count twice.

    Parameters
    ----------
    label : hashable
        Of a row.
    """
    if not isinstance(label, str) or (spelled := _NUMBER.fullmatch(label)) is None:
        return label
    number = float(label) if any(spelled.groups()) else int(label)
    # Leading zeros tell names apart.
    return number if str(number) == label else label


def _in_an_array(labels: Any) -> np.ndarray:
    found = None
    try:
        if hasattr(labels, "__array__"):
            found = np.asarray(labels)
        elif isinstance(labels, list | tuple):
            # In an array of all, one text would make texts of numbers, and of what is missing.
            found = np.empty(len(labels), dtype=object)
            for i, label in enumerate(labels):
                found[i] = label
    except MemoryError:
        raise
    except Exception:
        found = None
    # Raised here and not on the way, where it would carry an error that quotes a label.
    if found is None or found.ndim != 1:
        raise ValueError(f"{_ONE_LABEL}; got a {type(labels).__name__} of another kind or shape.")
    return found


def _codes(labels: np.ndarray) -> np.ndarray:
    """Number of the unit of each row, from 0 on."""
    kind = labels.dtype.kind
    if kind in "fcmM" and bool((labels != labels).any()):
        raise ValueError("privacy_unit needs a label for every row; some are missing.")
    if kind in "?biufcmMUS":
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp).reshape(-1)
    known: dict[Any, int] = {}
    codes = np.empty(labels.size, dtype=np.intp)
    missing = unhashable = False
    for i, label in enumerate(labels):
        try:
            if label is None or bool(label != label):
                missing = True
                break
        except Exception:
            # What is missing in pandas is neither equal to itself nor different.
            missing = True
            break
        try:
            codes[i] = known.setdefault(name_of(label), len(known))
        except Exception:
            unhashable = True
            break
    if missing:
        raise ValueError("privacy_unit needs a label for every row; some are missing.")
    if unhashable:
        raise ValueError(
            "privacy_unit needs labels that can be hashed, such as numbers or strings; some are "
            "of other types."
        )
    return codes
