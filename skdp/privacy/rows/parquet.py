"""Rows of Parquet files, read in chunks of so many rows, whatever row groups they were written in.

What decides how rows are cut, and so which of them are added up first, is their number alone.
Writers cut row groups by bytes as well, and then one other row moves the borders of all groups
after it, so that a cut along them would depend on what is in the rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np

from ...validation import listed, shown
from .threads import usable_threads

_NAME = "Chunks.from_parquet"
# Rows of a chunk, fewer if it would have more entries.
_ROWS, _LEAST_ROWS, _ENTRIES = 1 << 17, 1 << 10, 1 << 23
# What is done about columns that hold no numbers.
_ADVICE = (
    "Leave them out with columns=[...], or write numbers in their place: codes of known categories "
    "in columns of their own, days since a fixed date."
)


class ParquetSource:
    """Source of chunks ``(X, y)``, of weights and labels of privacy units if there are any.

    Parameters are those of :meth:`skdp.Chunks.from_parquet`.

    Attributes
    ----------
    columns : list of str
        Names of the features.
    """

    def __init__(
        self,
        path: Any,
        target: str | Sequence[str],
        columns: Sequence[str] | None,
        weights: str | None,
        privacy_unit: str | None,
        filters: Any,
    ) -> None:
        if filters is not None:
            raise ValueError(
                f"{_NAME} needs filters=None: the number of rows that pass is a fact about them, "
                "and the number of rows is public. Pass the files to be read, or write the chosen "
                "rows into files of their own if their number may be known."
            )
        _check_names(target, columns, weights=weights, privacy_unit=privacy_unit)
        self._files = _files(path)
        self._several, self._weights, self._unit = (
            not isinstance(target, str),
            weights,
            privacy_unit,
        )
        self._target: list[str] = [target] if isinstance(target, str) else list(target)
        optional = [name for name in (weights, privacy_unit) if name is not None]
        self._beside = [*self._target, *optional]
        self._types: dict[str, Any] = {}
        with self._opened(0) as first:
            schema = first.schema_arrow
        apart = {*self._beside, *_index_of(schema)}
        inside = [name for name in schema.names if name not in apart]
        self.columns = inside if columns is None else list(columns)
        self._check(schema)
        self._read = [*self.columns, *self._beside]
        self._types = {name: _plain(schema.field(name).type) for name in self._read}
        small = all(_is_small(self._types[name]) for name in self.columns)
        self._dtype = np.float32 if small else np.float64
        self._rows = max(_LEAST_ROWS, min(_ROWS, _ENTRIES // len(self.columns)))
        self._layouts = []
        for place in range(len(self._files)):
            with self._opened(place) as file:
                self._layouts.append(_layout(file))

    def _check(self, schema: Any) -> None:
        """Refuse columns that are missing, named twice, or hold no numbers."""
        names, asked = schema.names, [*self.columns, *self._beside]
        if missing := [name for name in asked if name not in names]:
            raise ValueError(
                f"{_NAME} needs columns of the files, got {_quoted(missing)}; there are "
                f"{_quoted(names)}."
            )
        if twice := sorted({name for name in asked if asked.count(name) + names.count(name) > 2}):
            raise ValueError(
                f"{_NAME} needs each column once, as a feature, a target, a weight or a label; got "
                f"{_quoted(twice)} more often. Pass columns=[...] without them."
            )
        if not self.columns or not self._target:
            raise ValueError(f"{_NAME} needs at least one column of features and one of targets.")
        numbers = [*self.columns, *([self._weights] if self._weights is not None else [])]
        if words := [name for name in numbers if not _is_number(schema.field(name).type)]:
            kinds = sorted({str(_plain(schema.field(name).type)) for name in words})
            raise ValueError(
                f"{_NAME} needs numbers, or truth values, as features and weights; "
                f"{_quoted(words)} hold {listed(kinds)}. {_ADVICE}"
            )

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        chunks = self._chunks()
        if usable_threads() == 1:
            yield from chunks
            return
        # The next chunk is decoded while the caller works on this one.
        with ThreadPoolExecutor(1, "skdp-parquet") as reader:
            coming = reader.submit(next, chunks, None)
            while (chunk := coming.result()) is not None:
                coming = reader.submit(next, chunks, None)
                yield chunk
                del chunk

    def _chunks(self) -> Iterator[tuple[Any, ...]]:
        begun: list[Any] = []
        rows = 0
        for batch in self._batches():
            begun.append(batch)
            rows += batch.num_rows
            while rows >= self._rows:
                yield self._chunk(begun, self._rows)
                rows -= self._rows
        if rows:
            yield self._chunk(begun, rows)

    def _batches(self) -> Iterator[Any]:
        """Rows as they are read, of all files in their order; refused if one has changed."""
        for place, layout in enumerate(self._layouts):
            with self._opened(place) as file:
                if _layout(file) != layout:
                    raise ValueError(
                        f"{_NAME} needs files that stay as they are while a model is fitted; one "
                        "has been written anew. Fit again, on files that nobody writes to."
                    )
                yield from file.iter_batches(batch_size=self._rows, columns=self._read)

    def _opened(self, place: int) -> Any:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile

        filesystem, path = self._files[place]
        file = None
        with suppress(ArrowInvalid):
            file = ParquetFile(filesystem.open_input_file(path))
        if file is None:
            raise ValueError(
                f"{_NAME} needs files in the format of Parquet, whole ones; {path!r} is none. "
                "Write it again, for example with DataFrame.to_parquet, or leave it out."
            )
        found = file.schema_arrow
        if place and (wrong := self._differing(found)):
            file.close(force=True)
            raise ValueError(
                f"{_NAME} needs files with columns of the same names and types; those called "
                f"{_quoted(wrong)} are missing in some of them, or of other types."
            )
        return file

    def _differing(self, schema: Any) -> list[str]:
        """Names of columns that a file does not have as the first one has them."""
        types = dict(zip(schema.names, map(_plain, schema.types), strict=True))
        return [name for name, kind in self._types.items() if types.get(name) != kind]

    def _chunk(self, begun: list[Any], rows: int) -> tuple[Any, ...]:
        """A chunk of the first rows, which are taken out of what has been read."""
        features = np.empty((rows, len(self.columns)), dtype=self._dtype, order="F")
        beside: dict[str, list[np.ndarray]] = {name: [] for name in self._beside}
        filled = 0
        while filled < rows:
            batch = begun.pop(0)
            if batch.num_rows > rows - filled:
                begun.insert(0, batch.slice(rows - filled))
                batch = batch.slice(0, rows - filled)
            here = slice(filled, filled + batch.num_rows)
            for j, name in enumerate(self.columns):
                features[here, j] = _numbers(batch.column(name), self._dtype)
            for name, parts in beside.items():
                parts.append(_values(batch.column(name)))
            filled += batch.num_rows
        columns = {name: np.concatenate(parts) for name, parts in beside.items()}
        y = [columns[name] for name in self._target]
        chunk = features, np.column_stack(y) if self._several else y[0]
        if self._unit is not None:
            weights = None if self._weights is None else columns[self._weights]
            return (*chunk, weights, columns[self._unit])
        return chunk if self._weights is None else (*chunk, columns[self._weights])


def _index_of(schema: Any) -> list[str]:
    """Columns that were the index of a frame of pandas, which are no features there."""
    try:
        written = json.loads(schema.metadata[b"pandas"])["index_columns"]
    except (TypeError, KeyError, ValueError):
        return []
    # An index of counted rows is described, and has no column.
    return [name for name in written if isinstance(name, str)]


def _check_names(target: Any, columns: Any, **optional: Any) -> None:
    """Refuse what names no columns."""
    lists = {"target": [target] if isinstance(target, str) else target, "columns": columns}
    for name, given in lists.items():
        if given is None and name == "columns":
            continue
        # A text would be taken for a list of its letters.
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            one = "" if name == "columns" else "the name of a column or "
            raise TypeError(f"{_NAME} needs {name} as {one}a list of names, got {shown(given)}.")
    for name, given in optional.items():
        if not isinstance(given, str | None):
            raise TypeError(
                f"{_NAME} needs {name} as the name of a column of the files, got {shown(given)}."
            )


def _quoted(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names])


def _files(path: Any) -> list[tuple[Any, str]]:
    """Files and the file systems that they are on, in the order of their names."""
    try:
        from pyarrow import ArrowInvalid, fs
    except ImportError:
        raise ImportError(
            f"{_NAME} needs pyarrow; install it with pip install 'skdp[parquet]'."
        ) from None
    out = []
    for one in path if isinstance(path, list | tuple) else [path]:
        if not isinstance(one, str | os.PathLike):
            raise TypeError(
                f"{_NAME} needs the path of a file or folder, or a list of paths, got "
                f"{shown(one)}. Tables in memory are passed to fit themselves."
            )
        address = os.fspath(one)
        address = address if "://" in address else os.path.abspath(address)
        found = None
        with suppress(ArrowInvalid):
            found = fs.FileSystem.from_uri(address)
        if found is None:
            raise ValueError(
                f"{_NAME} needs a path, or an address that pyarrow.fs knows, such as "
                f"'s3://bucket/folder', got {one!r}."
            )
        filesystem, place = found
        info = filesystem.get_file_info(place)
        if info.type == fs.FileType.File:
            out.append((filesystem, place))
        elif info.type == fs.FileType.Directory:
            inside = filesystem.get_file_info(fs.FileSelector(place, recursive=True))
            names = sorted(file.path for file in inside if file.path.endswith(".parquet"))
            out += [(filesystem, name) for name in names]
    if not out:
        raise FileNotFoundError(
            f"{_NAME} needs a Parquet file, or a folder of files that end in .parquet; there is "
            f"none at {path!r}."
        )
    return out


def _layout(file: Any) -> tuple[Any, ...]:
    """Facts from the metadata of a file: its schema, rows, and sizes of the groups of them."""
    found = file.metadata
    groups = [found.row_group(i) for i in range(found.num_row_groups)]
    return (
        found.num_rows,
        file.schema_arrow,
        [(group.num_rows, group.total_byte_size) for group in groups],
    )


def _plain(kind: Any) -> Any:
    """The type of the values of a column that may be coded by a dictionary."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    kind = _plain(kind)
    kinds = types.is_floating, types.is_integer, types.is_boolean, types.is_decimal
    return any(is_kind(kind) for is_kind in kinds)


def _is_small(kind: Any) -> bool:
    """True of types all of whose values are numbers in single precision."""
    import pyarrow as pa

    small = pa.float32(), pa.float16(), pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16()
    return _plain(kind) in small


def _numbers(column: Any, dtype: Any) -> np.ndarray:
    """A column of numbers or truth values, NaN where there is none."""
    return np.asarray(_values(column), dtype=dtype)


def _values(column: Any) -> np.ndarray:
    """The values of a column; NaN, or None among texts, where there is none."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_decimal(column.type) or (types.is_boolean(column.type) and column.null_count):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))
