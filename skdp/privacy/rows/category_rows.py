"""Rows of categories: codes of the entries of each column, and the entries that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any, NoReturn, final

import numpy as np

from ..adjacency import PrivacyUnit
from .base import BoundedRows, RowStore
from .privacy_units import PrivacyUnits
from .reading import attempted

# A category in a form that sorts and can be hashed: its kind and its value. Whole numbers are
# integers, whatever the type of the column, so that one entry that turns a column of integers into
# one of floats changes no name.
Category = tuple[int, Any]
MISSING: Category = (4, "")
_BOOL, _NUMBER, _TEXT, _BYTES = range(4)
# From here on whole numbers have digits that double precision does not keep.
_EXACT = 2**53
_OTHERS = (
    "Categories that are numbers or texts are needed; X holds entries of other types. Turn dates, "
    "lists and objects into texts or numbers first."
)


def category_of(entry: Any) -> Category:
    """The category that an entry stands for; all that is missing is one.

    Raises
    ------
    ValueError
        If it is neither a number nor a text, nor missing. It is not quoted.
    """
    if isinstance(entry, str):
        return _TEXT, str(entry)
    if isinstance(entry, bool | np.bool_):
        return _BOOL, bool(entry)
    if isinstance(entry, int | np.integer):
        whole = int(entry)
        if abs(whole) < _EXACT:
            return _NUMBER, whole
        # Two of them may be one float, so they are one category in a column of integers as well.
        rounded = attempted(float, whole)
        return _NUMBER, whole if rounded is None else rounded
    if isinstance(entry, float | np.floating):
        number = float(entry)
        if number != number:
            return MISSING
        return _NUMBER, int(number) if number.is_integer() and abs(number) < _EXACT else number
    if isinstance(entry, bytes):
        return _BYTES, bytes(entry)
    # pandas.NA and NaT are of types of their own, and equal to nothing.
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return MISSING
    raise ValueError(_OTHERS)


def value_of(category: Category) -> Any:
    """The value of a category; NaN for what is missing."""
    return nan if category == MISSING else category[1]


def made_anew(category: Category) -> Category:
    """An equal category that has no object in common with the rows.

    A pickle tells which of its texts are one object, and so would tell of the rows that have them.
    """
    kind, value = category
    if isinstance(value, str):
        return kind, value.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
    return kind, bytes(bytearray(value)) if isinstance(value, bytes) else value


def coded_categories(column: np.ndarray) -> tuple[list[Category], np.ndarray]:
    """Categories of a column in their order, and the code of each entry among them.

    The order depends on the categories alone: numbers before texts, each in their own order, and
    what is missing last.

    Parameters
    ----------
    column : ndarray of shape (n_rows,)
        Numbers, texts, or objects.

    Returns
    -------
    (list, ndarray of shape (n_rows,))
        Categories and codes. Both are as secret as the rows.

    Raises
    ------
    ValueError
        If entries are of other types; nothing of them is quoted.
    """
    if column.dtype.kind in "biufUS":
        distinct, codes = np.unique(column, return_inverse=True)
        entries: list[Any] = distinct.tolist()
    elif column.dtype.kind == "O":
        places: dict[Any, int] = {}
        # One and True are equal, and of different types.
        placed = attempted(
            lambda: [places.setdefault((type(entry), entry), len(places)) for entry in column]
        )
        if placed is None:
            raise ValueError(_OTHERS)
        codes, entries = np.array(placed, dtype=np.intp), [entry for _, entry in places]
    else:
        raise ValueError(_OTHERS)
    found = [category_of(entry) for entry in entries]
    ordered = sorted(set(found))
    place = {category: k for k, category in enumerate(ordered)}
    among = np.array([place[category] for category in found], dtype=np.intp)
    return ordered, among[np.asarray(codes, dtype=np.intp).reshape(-1)]


@final
class CategoryRows(RowStore):
    """Rows of categories, for counts of the rows, or people, in each category of some columns.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n_rows,)
        Entries of each column.
    units : PrivacyUnits, optional
        Privacy units of the rows; without them every row is one.

    Guarantees
    ----------
    - A person counts in one category of each column: that of most of the person's rows, of several
      such the first in the order of :func:`coded_categories`, which does not depend on others.
    """

    sparse = False

    def __init__(self, columns: Sequence[np.ndarray], units: PrivacyUnits | None = None) -> None:
        self._columns = [coded_categories(column) for column in columns]
        self._units = units
        self.n_features = len(columns)
        self.n_samples = len(columns[0])
        if units is not None:
            self.n_samples, self.unit = units.n_units, PrivacyUnit.DECLARED

    def category_counts(self, column: int) -> tuple[list[Category], np.ndarray]:
        """The categories that somebody is in, and how many are, whole numbers in float64."""
        categories, codes = self._columns[column]
        if self._units is not None:
            codes = self._of_people(codes, len(categories))
        counts = np.bincount(codes, minlength=len(categories))
        present = np.flatnonzero(counts)
        return [categories[k] for k in present], counts[present].astype(np.float64)

    def _of_people(self, codes: np.ndarray, size: int) -> np.ndarray:
        """Code of each person: that of most of the person's rows."""
        assert self._units is not None
        pairs, rows = np.unique(self._units.codes * size + codes, return_counts=True)
        people, categories = np.divmod(pairs, size)
        # By person, then most rows, then the first category.
        order = np.lexsort((categories, -rows, people))
        first = np.append(True, np.diff(people[order]) != 0)
        return categories[order][first]

    def sum(self, kernel: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Refused: categories are not numbers."""
        _no_numbers()

    def _bounded(self, bounds: Any) -> BoundedRows:
        _no_numbers()


def _no_numbers() -> NoReturn:
    raise TypeError("CategoryRows can be counted by category and not summed.")
