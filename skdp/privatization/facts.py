"""Public facts about the columns of a table, said once and asked for by each step."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..validation import listed, meant, numbers_in, shown

_WHO = "privatize"
# Types of a Frictionless Table Schema as pandas has them; columns of all others are objects.
_OF_SCHEMA = {
    "integer": "int64",
    "year": "int64",
    "number": "float64",
    "boolean": "bool",
    "string": "str",
    "date": "datetime64[ns]",
    "datetime": "datetime64[ns]",
}
# Types of polars that pandas calls by other names.
_OF_POLARS = {"String": "str", "Boolean": "bool", "Categorical": "category", "Enum": "category"}
_OF_POLARS |= dict.fromkeys(("Date", "Datetime"), "datetime64[ns]")
_TIMES, _NUMBERS = ("datetime", "period", "timedelta"), ("int", "uint", "float")
_NOT_NUMBERS = ("str", *_TIMES)
_FORMS = (
    "a range (low, high), a list of categories, a type, None, or a field of a Table Schema with "
    "'type', 'minimum', 'maximum' and 'enum'"
)


class PublicFact(NamedTuple):
    """Fact about a column that a step takes to be public, for plan and report.

    Parameters
    ----------
    column : object
        Name or number of the column; None for all columns together.
    what : {'range', 'categories', 'type'}
        Kind of fact.
    value : object
        Pair of numbers, tuple of categories, or name of a type.
    source : str
        Where it comes from.
    """

    column: Any
    what: str
    value: Any
    source: str

    def __str__(self) -> str:
        about = "all columns" if self.column is None else str(self.column)
        if self.what == "categories":
            said = f"categories {', '.join(map(str, self.value))}"
        elif self.what == "range":
            low, high = self.value
            plain = np.ndim(low) == np.ndim(high) == 0
            said = f"between {low:g} and {high:g}" if plain else "between given ends"
        else:
            said = f"of type {self.value}"
        return f"{about}: {said} ({self.source})"


def in_words(facts: Iterable[PublicFact]) -> list[str]:
    """Sentences about facts, with columns of one type in one of them.

    Parameters
    ----------
    facts : iterable of PublicFact
        In any order.
    """
    lines, types = [], dict[tuple[str, str], list[str]]()
    for fact in facts:
        if fact.what == "type":
            types.setdefault((fact.value, fact.source), []).append(str(fact.column))
        else:
            lines.append(str(fact))
    return lines + [
        f"{', '.join(names)}: of type {kind} ({source})" for (kind, source), names in types.items()
    ]


class Facts:
    """Public facts about a table, from what a user says, a Table Schema, or types of a frame.

    Parameters
    ----------
    given : object, optional
        As for :func:`skdp.privatize`.
    target : object, optional
        Name of the target, which is no column of X.

    Attributes
    ----------
    names : list or None
        All columns of the table in their order; None if facts do not tell.
    common : (low, high) or None
        Ranges of all columns of an array, each end a number or one for each column.
    taken : dict of PublicFact
        What steps have asked for and got, in the order of asking.
    """

    def __init__(self, given: Any = None, target: Any = None) -> None:
        self._target = target
        self.names: list[Any] | None = None
        self.common: Any = None
        self.taken: dict[tuple[Any, str], PublicFact] = {}
        self._known: dict[tuple[Any, str], PublicFact] = {}
        self._read(given)
        if target is not None and target not in self:
            raise ValueError(
                f"{_WHO} needs facts about the target, got none about {shown(target)}; add them, "
                "or leave target out."
            )
        if self.names is not None:
            lacking = [name for name in self.given if name not in (*self.names, target)]
            if lacking:
                raise ValueError(
                    f"{_WHO} needs facts about columns of the table, got some about "
                    f"{', '.join(map(repr, lacking))}, which it does not have; correct the name."
                    + meant(lacking[0], self.names)
                )
            self.names = [name for name in self.names if name != target]
        for name, what in self._known:
            if what != "type" and (kind := self._conflict(name, what)):
                given = "a range" if what == "range" else "categories"
                raise ValueError(
                    f"{_WHO} needs facts that agree, got {given} of {name!r}, which is {kind}; "
                    "leave one of them out."
                )

    def _conflict(self, name: Any, what: str) -> str | None:
        """Reason for which a column cannot have a range, or such categories; None if it can."""
        dtype, listed = self._value(name, "type") or "", self._value(name, "categories")
        texts = bool(listed) and numbers_of(listed) is None
        if what == "range":
            wrong = dtype.startswith(_NOT_NUMBERS)
        else:
            wrong = dtype.startswith(_TIMES) or (texts and dtype.lower().startswith(_NUMBERS))
        if wrong:
            return f"of type {dtype}"
        return "a list of texts" if what == "range" and texts else None

    def _read(self, given: Any) -> None:
        if given is None:
            return
        if isinstance(given, str | Path):
            self._read_schema(_loaded(Path(given)), str(given))
        elif isinstance(given, list):
            for part in given:
                self._read(part)
        elif isinstance(given, Mapping):
            if _fields(given) is not None:
                self._read_schema(given, "Table Schema")
            else:
                for name, fact in given.items():
                    self._read_column(name, fact, "given")
        elif hasattr(given, "dtypes"):
            columns = getattr(given, "columns", None)
            types = given.items() if columns is None else zip(columns, given.dtypes, strict=True)
            self._read_types([(name, _type_name(name, dtype)) for name, dtype in types])
        else:
            self._read_common(given)

    def _read_types(self, types: list[tuple[Any, str]]) -> None:
        self._name_all([name for name, _ in types])
        for name, dtype in types:
            self._add(name, "type", dtype, "types of the frame")

    def _name_all(self, names: list[Any]) -> None:
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise ValueError(
                f"{_WHO} needs columns of different names, got {listed(map(repr, twice))} more "
                "than once; rename them in the table, too."
            )
        self.names = names

    def _read_schema(self, given: Mapping[str, Any], source: str) -> None:
        fields = _fields(given)
        if not fields or not all(isinstance(f, Mapping) and "name" in f for f in fields):
            raise ValueError(
                f"{_WHO} needs a Table Schema with fields that have names as facts, got another "
                f"form in {source}; see https://datapackage.org/standard/table-schema/."
            )
        self._name_all([field["name"] for field in fields])
        for field in fields:
            self._read_column(field["name"], field, source)

    def _read_column(self, name: Any, fact: Any, source: str) -> None:
        if isinstance(fact, Mapping):
            self._read_field(name, fact, source)
        elif isinstance(fact, type | np.dtype) or hasattr(fact, "na_value"):
            self._add(name, "type", _type_name(name, fact), source)
        elif isinstance(fact, tuple) and len(fact) == 2 and numbers_of(fact) is not None:
            self._add_range(name, fact, source)
        elif isinstance(fact, Iterable) and not isinstance(fact, str | bytes):
            self._add_categories(name, fact, source)
        elif fact is not None:
            raise ValueError(f"{_WHO} needs {_FORMS} as a fact about {name!r}, got {shown(fact)}.")

    def _read_field(self, name: Any, field: Mapping[str, Any], source: str) -> None:
        said = {**field, **(field.get("constraints") or {})}
        kind = said.get("type")
        if kind is not None:
            self._add(name, "type", _OF_SCHEMA.get(kind, "object"), source)
        if (listed := said.get("enum", said.get("categories"))) is not None:
            # Version 2 of the standard writes labels beside values.
            values = [c["value"] if isinstance(c, Mapping) else c for c in listed]
            self._add_categories(name, values, source)
        low, high = said.get("minimum"), said.get("maximum")
        # Half a range bounds nothing, and times are no numbers.
        if kind in (None, "integer", "year", "number") and low is not None and high is not None:
            with suppress(TypeError, ValueError):
                low, high = float(low), float(high)
            self._add_range(name, (low, high), source)

    def _read_common(self, given: Any) -> None:
        if self.common is not None:
            raise ValueError(
                f"{_WHO} needs one range of all columns, got two ranges of all columns; write all "
                "low ends and all high ends as a tuple of lists, ([low, ...], [high, ...])."
            )
        if isinstance(given, tuple | np.ndarray) and len(given) == 2:
            ends = [end for end in map(numbers_in, given) if end is not None and end.ndim <= 1]
            # Of two pairs nobody knows which way round they are.
            pairs = len(ends) < 2 or any(isinstance(end, tuple) for end in given)
            if not pairs and np.all(np.less(*np.broadcast_arrays(*ends))):
                plain = ends[0].ndim == ends[1].ndim == 0
                self.common = (float(ends[0]), float(ends[1])) if plain else given
                return
        raise ValueError(
            f"{_WHO} needs facts as a dictionary by column, a data frame or its dtypes, a Table "
            "Schema or the path to one, a list of these, or (low, high) with low < high, numbers "
            f"or one for each column, ([low, ...], [high, ...]), got {shown(given)}."
        )

    def _add_range(self, name: Any, ends: Any, source: str) -> None:
        found = numbers_of(ends)
        if found is None or not (isfinite(found[0]) and isfinite(found[1]) and found[0] < found[1]):
            raise ValueError(
                f"{_WHO} needs finite low < high as the range of {name!r}, got {shown(ends)}; "
                "write a range as (low, high) and categories as a list."
            )
        self._add(name, "range", (found[0], found[1]), source)

    def _add_categories(self, name: Any, listed: Any, source: str) -> None:
        values = tuple(listed)
        hashable = all(isinstance(value, Hashable) for value in values)
        if not values or not hashable or len(set(values)) < len(values):
            raise ValueError(
                f"{_WHO} needs categories of {name!r} that are listed once each, at least one, got "
                f"{shown(listed)}."
            )
        self._add(name, "categories", values, source)

    def _add(self, name: Any, what: str, value: Any, source: str) -> None:
        self._known[name, what] = PublicFact(name, what, value, source)

    def _value(self, name: Any, what: str) -> Any:
        fact = self._known.get((name, what))
        return None if fact is None else fact.value

    # What steps ask for.

    def __contains__(self, name: Any) -> bool:
        return any(name == known for known, _ in self._known)

    @property
    def given(self) -> list[Any]:
        """Columns of which a range or categories are known."""
        return list(dict.fromkeys(name for name, what in self._known if what != "type"))

    @property
    def ranges(self) -> Any:
        """Ranges of all columns, or of those with a known one by name; None if there are none."""
        if self.common is not None:
            return self.common
        names = self.given if self.names is None else self.names
        found = {name: self.range_of(name) for name in names if name != self._target}
        return {name: ends for name, ends in found.items() if ends is not None} or None

    def range_of(self, name: Any) -> tuple[float, float] | None:
        """The range of a column; of listed numbers from the least to the largest."""
        if (found := self._value(name, "range")) is not None:
            return found
        if (self._value(name, "type") or "") in ("bool", "boolean"):
            return 0.0, 1.0
        ends = numbers_of(self._value(name, "categories") or ())
        if ends is None or not len(ends) or min(ends) == max(ends):
            return None
        return min(ends), max(ends)

    def categories_of(self, name: Any) -> list[Any] | None:
        """The categories of a column."""
        if (found := self._value(name, "categories")) is not None:
            return list(found)
        boolean = (self._value(name, "type") or "") in ("bool", "boolean")
        return [False, True] if boolean else None

    def chosen_by(self, selector: Any) -> list[Any] | None:
        """Columns that a ``make_column_selector`` takes; None if facts do not tell."""
        if self.names is None:
            return None
        pd, columns = import_module("pandas"), {}
        for name in self.names:
            dtype = self._value(name, "type")
            if dtype is None and selector.dtype_include is selector.dtype_exclude is None:
                dtype = "object"
            if dtype is None:
                return None
            columns[name] = pd.Series(dtype=dtype)
        found = selector(pd.DataFrame(columns))
        for name in found:
            self.take(name, "type")
        return list(found)

    def take(self, name: Any, what: str) -> None:
        """Note that a step relies on a fact about a column, or on the common range.

        Parameters
        ----------
        name : object
            The column; None for all.
        what : {'range', 'categories', 'type'}
            The fact.
        """
        value = {"range": self.range_of, "categories": self.categories_of}
        if name is None:
            self.taken[None, what] = PublicFact(None, what, self.common, "given")
        else:
            origin = next((f.source for (n, _), f in self._known.items() if n == name), "given")
            fact = self._known.get((name, what))
            if fact is None:
                fact = PublicFact(name, what, value[what](name), origin)
            self.taken[name, what] = fact

    @property
    def idle(self) -> list[Any]:
        """Columns that the user named one by one, of which no step has asked for anything."""
        asked = {name for name, what in self.taken if what != "type"} | {self._target}
        told = {name for (name, _), fact in self._known.items() if fact.source == "given"}
        return [name for name in self.given if name in told and name not in asked]


def numbers_of(values: Iterable[Any]) -> list[float] | None:
    """Values as floats; None if one of them is no number.

    Parameters
    ----------
    values : iterable
        Ends of a range, or categories.
    """
    found = list(values)
    plain = all(isinstance(v, Real) and not isinstance(v, bool) for v in found)
    return [float(v) for v in found] if plain else None


def _fields(given: Mapping[str, Any]) -> list[Any] | None:
    """Fields of a Table Schema, of the one table of a Data Package, or None."""
    resources = given.get("resources")
    if isinstance(resources, list) and len(resources) == 1 and isinstance(resources[0], Mapping):
        given = resources[0]
    if isinstance(given.get("schema"), Mapping):
        given = given["schema"]
    fields = given.get("fields")
    listed = isinstance(fields, list) and all(isinstance(field, Mapping) for field in fields)
    return fields if listed else None


def _loaded(path: Path) -> Mapping[str, Any]:
    """The object in a JSON file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, Mapping):
        raise ValueError(
            f"{_WHO} needs facts in a JSON file with a Table Schema, got something else in {path}."
        )
    return found


def _type_name(name: Any, dtype: Any) -> str:
    """Name of a type as pandas reads it, without the categories that it may list."""
    told = dtype if isinstance(dtype, type) else str(dtype)
    if "polars" in f"{getattr(dtype, '__module__', '')}{type(dtype).__module__}":
        told = _OF_POLARS.get(str(dtype).split("(")[0], str(dtype))
    try:
        found = import_module("pandas").Series(dtype=told).dtype
    except (TypeError, ValueError):
        raise ValueError(
            f"{_WHO} needs {_FORMS} as a fact about {name!r}, got something else of type "
            f"{type(dtype).__name__}."
        ) from None
    return str(found)
