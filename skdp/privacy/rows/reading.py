"""Checks of data, and of weights of rows, whose errors quote nothing of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
import scipy.special
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ...validation import listed, sized, sizes_told

T = TypeVar("T")

# Whether entries that are not finite count as zero, in place of being refused.
_zeroing: ContextVar[bool] = ContextVar("zeroing", default=False)

_FEW_EDGES = 4  # Values are compared with each of so many.
_SHAPE = r"\([\d, ]*\)"
_BY = r"(?: by \w+)?"
# Messages of scikit-learn that name shapes, types, columns and estimators, and nothing else.
_KNOWN = re.compile(
    "|".join(
        [
            rf"Found array with \d+ (?:sample|feature)\(s\) \(shape={_SHAPE}\) while a minimum of "
            rf"\d+ is required{_BY}\.",
            rf"Found array with dim \d+, while dim <= 2 is required{_BY}\.",
            r"Found array with dim \d+\. \w+ expected <= 2\.",
            r"X has \d+ features, but \w+ is expecting \d+ features as input\.?",
            r"Found input variables with inconsistent numbers of samples: \[[\d, ]*\]",
            r"Input (?:\w+ )?contains (?:NaN|infinity or a value too large for dtype\('\w+'\))\.",
            rf"y should be a 1d array, got an array of shape {_SHAPE} instead\.",
            r"(?:This \w+ estimator|\w+) requires y to be passed, but the target y is None\.?",
            r"Sparse data was passed(?: for \w+)?, but dense data is required\. "
            r"Use '\.toarray\(\)' to convert to a dense numpy array\.",
            r"Unknown label type: [a-z-]+\. Maybe you are trying to fit a classifier, which "
            r"expects discrete classes on a regression target with continuous values\.",
            r"Classification metrics can't handle a mix of [a-z-]+ and [a-z-]+ targets",
            r"float\(\) argument must be a string or a (?:real )?number, not '\w+'",
            r"np\.matrix is not supported\. Please convert to a numpy array with np\.asarray\. .*",
            r"Only sparse matrices with 32-bit integer indices are accepted\. Got \w+ indices\. .*",
            # Names of columns are public.
            r"The feature names should match those that were passed during fit\.\n(?s:.*)",
            r"Feature names are only supported if all input features have string names, but your "
            r"input has \[[\w', ]*\] as feature name / column name types\. .*",
        ]
    )
)
# What is said of None and pandas.NA among numbers.
_NONE = re.compile(r"float\(\) argument must be .*, not '(?:NoneType|NAType)'")
# What they say about numbers of rows.
_OF_SIZES = re.compile(rf" \(shape={_SHAPE}\)| of shape {_SHAPE}|: \[[\d, ]*\]")


def columns_of(y: Any) -> int | None:
    """Number of columns of targets that came as a table, None for one target a row."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return int(shape[1]) if len(shape) == 2 else None


def columns_of_table(X: Any) -> list[np.ndarray]:
    """Columns of a table of entries of any type, as arrays.

    A list of rows keeps the type of each entry, and a frame that of each column.

    Raises
    ------
    ValueError
        If it is no dense table of at least one row and one column. Entries are not quoted.
    """
    columns: list[np.ndarray] | None
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        by_place = getattr(X, "iloc", None)
        columns = attempted(
            lambda: [
                np.asarray(X[name] if by_place is None else by_place[:, j])
                for j, name in enumerate(X.columns)
            ]
        )
    else:
        # Without a type of its own each entry keeps its type: in an array of texts a number would
        # be one, and the type of an array of numbers would tell of single entries.
        options = {} if hasattr(X, "__array__") else {"dtype": object}
        table = attempted(np.asarray, X, **options)
        columns = None if table is None or table.ndim != 2 else [*table.T]
        if table is not None and table.ndim == 2 and not table.size:
            what = "sample" if table.shape[1] else "feature"
            size = f" (shape={table.shape})" if sizes_told() else ""
            raise ValueError(
                f"Found array with 0 {what}(s){size} while a minimum of 1 is required."
            )
    if not columns or any(column.ndim != 1 or not column.size for column in columns):
        raise ValueError(
            f"A table of at least one row and one column is needed, got {sized(X)}. Reshape your "
            "data, with array.reshape(-1, 1) if it has one feature."
        )
    if any(column.dtype.kind == "c" for column in columns):
        raise ValueError("Complex data not supported; numbers or texts are needed.")
    if odd := [j for j, column in enumerate(columns) if column.dtype.kind not in "biufUSO"]:
        names = getattr(X, "columns", range(len(columns)))
        raise ValueError(
            "Categories that are numbers or texts are needed; X holds dates, times or the like in "
            f"{listed(names[j] for j in odd)}. Turn them into numbers or texts first."
        )
    return columns


def reached(edges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Number of the sorted edges that each value reaches: all if it is not a number."""
    if edges.size > _FEW_EDGES:
        return np.searchsorted(edges, values, side="right")
    # A search takes several times as long where values come in no order.
    number = np.full(values.shape, edges.size)
    for k in range(edges.size):
        # As an array: with a number of its own numpy 1 compares in the type of the values, to which
        # it rounds the edge, and a single row may decide in which type all of them are kept.
        number -= values < edges[k : k + 1]
    return number


def places_among(known: np.ndarray, given: Any) -> np.ndarray | None:
    """Places of labels among the known ones, which are sorted; None if there are others."""

    def places() -> np.ndarray | None:
        code = np.maximum(reached(known, np.asarray(given)) - 1, 0)
        return code if np.all(known[code] == given) else None

    return attempted(places)


def attempted(function: Callable[..., T | None], *args: Any, **options: Any) -> T | None:
    """Result of a function; None if it raises, in words that may quote data, but of memory."""
    try:
        return function(*args, **options)
    except MemoryError:
        raise
    except Exception:
        return None


@contextmanager
def strict_checks() -> Iterator[None]:
    """Context in which data are read the same way whatever the settings of the process.

    Every public method that reads rows runs in it. Checks for finite entries cannot be switched
    off, because bounds on rows rest on them. Neither numpy nor scipy warns or raises about
    arithmetic on entries that are valid though extreme, because that would tell of single rows.
    """
    settings = {*np.geterr().values(), *scipy.special.geterr().values()}
    if settings == {"ignore"} and sklearn.get_config()["assume_finite"] == _zeroing.get():
        # Within another such context, as mostly in each call of a stream. To look takes a tenth of
        # the time.
        yield
        return
    with (
        sklearn.config_context(assume_finite=_zeroing.get()),
        np.errstate(all="ignore"),
        scipy.special.errstate(all="ignore"),
    ):
        yield


@contextmanager
def zero_unless_finite() -> Iterator[None]:
    """Context in which entries that are not finite count as zero where they would be refused.

    Steps of scikit-learn pass them on, each in its own row. So no row can make a fit fail by what
    the steps before a private one make of it.
    """
    before = _zeroing.set(True)
    try:
        with strict_checks():
            yield
    finally:
        _zeroing.reset(before)


def zeroes() -> bool:
    """Tell whether entries count as zero that would be refused, see :func:`zero_unless_finite`."""
    return _zeroing.get()


def redacted(check: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function that validates data under strict checks, with errors that quote no entries.

    Messages of numpy and scikit-learn show entries that they refuse, in more ways than can be
    listed, and messages end up in logs that fewer people guard than the data. So those alone are
    passed on that are known to quote nothing.

    Raises
    ------
    TypeError, ValueError
        In place of any error of the check, without a reference to it. The message is that of the
        error where it is known to quote nothing, and otherwise tells types and shapes of what was
        passed.
    """
    # Of tables whose columns are read later, a step may leave out those of dates.
    if check in (check_array, validate_data) and any(map(_holds_dates, args)):
        raise ValueError(
            f"Numeric features are needed; X holds dates or times{_wordy(args, 'mM')}. Turn them "
            "into numbers first, for example into days since a fixed date."
        )
    kind: type[Exception] = ValueError
    try:
        with strict_checks():
            checked = check(*args, **options)
        missing = options.get("ensure_all_finite") == "allow-nan"
        return _finite(checked, missing) if _zeroing.get() else checked
    except (MemoryError, NotFittedError):
        # These are about no entry.
        raise
    except Exception as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        said = str(error)
        given = [a for a in args if not isinstance(a, BaseEstimator)]
        if said.startswith("Input contains NaN") or "value of NA is ambiguous" in said:
            # Features are named beside targets, and targets of any type are not.
            unnamed = options.get("input_name") or ("y" if len(given) > 1 else "X")
            said = f"Input {unnamed} contains NaN."
        message = _without_entries(said, options.get("input_name", "X"), _wordy(args))
    # Raised here and not on the way, where it would carry an error that quotes entries.
    if message is None:
        message = (
            "Numbers are needed as features, and one number or label a row as targets, in arrays, "
            f"tables or lists; got {' and '.join(map(sized, given))}, which cannot be read as such."
        )
    else:
        kind = kind if _KNOWN.fullmatch(message) else ValueError
        message = message if sizes_told() else _OF_SIZES.sub("", message)
    raise kind(message)


def in_units_of(largest: float, sample_weight: Any, n_samples: int) -> np.ndarray:
    """Weights divided by the largest that counts, and at most 1; (n_samples,).

    Weights are as secret as the rows that have them. Larger ones count as the largest, without a
    warning, which would tell that there is one. There is one weight for each row, or one for all;
    the largest that counts is public and positive.

    Raises
    ------
    ValueError
        If they are not numbers, negative, not finite, or of another shape; nothing of them is
        quoted. Weights that are all zero are none of that.
    """
    if isinstance(sample_weight, Real):
        value = attempted(float, sample_weight)
        weights = np.full(n_samples, inf if value is None else value)
    else:
        numbers = None
        # Times would be counted in units that they happen to have.
        if getattr(getattr(sample_weight, "dtype", None), "kind", "f") not in "mM":
            options = {"dtype": np.float64, "ensure_2d": False, "allow_nd": True}
            options |= {"ensure_all_finite": False, "ensure_min_samples": 0}
            numbers = attempted(redacted, check_array, sample_weight, **options)
        if numbers is None:
            raise ValueError(
                "sample_weight needs numbers, one for each row; it holds other values."
            )
        weights = numbers
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weights.ndim} dimensions; pass one "
            "weight for each row."
        )
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_samples,)}; pass one weight for "
            "each row."
        )
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity; finite weights are needed.")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`; 0 is the least.")
    return np.minimum(weights, largest) / largest


def in_order(X: Any, y: Any, n_features: int, dtypes: Sequence[Any]) -> bool:
    """Tell whether data pass scikit-learn's checks as they are, in a fraction of the time.

    False is no verdict: those checks find what is wrong and say so, or bring it in order. True is
    said only of plain arrays of these types, of matching shapes with at least one row, all entries
    finite.
    """
    return (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.dtype in dtypes
        and X.ndim == 2
        and X.shape[1] == n_features
        and y.shape == (len(X),)
        and len(X) > 0
        and y.dtype.kind in "biuf"
        and bool(np.isfinite(X).all())
        and bool(np.isfinite(y).all())
    )


def _finite(checked: Any, missing: bool) -> Any:
    """Result of a check with zeros for entries that are not finite; a copy if there are.

    Those that are no numbers stay where ``missing`` says that the caller takes them. Zero is a
    function of the entry alone, so neighbours stay neighbours.
    """
    if isinstance(checked, tuple):
        return tuple(_finite(part, missing) for part in checked)
    if sp.issparse(checked):
        data = _finite(checked.data, missing)
        if data is not checked.data:
            checked = checked.copy()
            checked.data = data
    elif getattr(getattr(checked, "dtype", None), "kind", "") == "f":
        finite = np.isfinite(checked) | (np.isnan(checked) if missing else False)
        if not np.all(finite):
            return np.where(finite, checked, checked.dtype.type(0))
    return checked


def _wordy(given: Iterable[Any], kinds: str | None = None) -> str:
    """Names of columns of these types, by default of no numeric one, for a message."""
    frames = [g for g in given if hasattr(g, "columns") and hasattr(g, "dtypes")]
    named = {str(n): t for g in frames for n, t in zip(g.columns, g.dtypes, strict=True)}
    letters = {name: getattr(kind, "kind", "O") for name, kind in named.items()}
    words = [n for n, k in letters.items() if (k in kinds if kinds else k not in "biuf")]
    return f" in {listed(words)}" if words else ""


def _holds_dates(given: Any) -> bool:
    """Tell whether this is a table with columns of dates, which would be read as integers."""
    if len(getattr(given, "shape", ())) != 2:
        return False
    types = getattr(given, "dtypes", [getattr(given, "dtype", None)])
    return any(getattr(t, "kind", None) in ("m", "M") for t in types)


def _without_entries(message: str, name: str, where: str) -> str | None:
    """A message that quotes nothing in place of one that may; None if too little is known of it.

    ``where`` says which columns are of no numeric type.
    """
    if message.startswith("Input X contains NaN") or (name == "X" and _NONE.match(message)):
        # The original recommends imputation, most kinds of which learn from the rows.
        return (
            "Input X contains NaN; fill them with a known constant, for example "
            "SimpleImputer(strategy='constant', keep_empty_features=True), or privately, with "
            "skdp.preprocessing.DPSimpleImputer, or drop the rows."
        )
    if " contains infinity" in message and _KNOWN.fullmatch(message):
        return f"{message[:-1]}; clip values to a range known beforehand, or drop the rows."
    if message.startswith("Input y contains NaN"):
        return "Input y contains NaN; drop the rows without a target, if their number may be known."
    if _KNOWN.fullmatch(message):
        return message
    if "could not convert" in message or message.startswith("Cannot cast"):
        if name != "X":
            return f"Numbers are needed; {name} holds other entries. Convert them first."
        return (
            f"Numeric features are needed; X holds entries that are not numbers{where}. Encode "
            "them first, for example with OneHotEncoder(categories=...)."
        )
    if message.startswith("Expected unique column names"):
        # Names are public.
        return f"{message}. Rename the columns."
    if "too large to convert" in message:
        return "Entries that fit in double precision are needed; some integers are too large."
    if "Complex data not supported" in message:
        return "Complex data not supported; real numbers are needed."
    if found := re.match(r"Expected 2D array, got (1D|scalar) array instead", message):
        return (
            f"{found[0]}. Reshape your data, with "
            "array.reshape(-1, 1) if it has one feature or array.reshape(1, -1) if it is one row."
        )
    if message.startswith("Expected a 2-dimensional container"):
        return "Expected a 2-dimensional container, got a column; pass a frame, X.to_frame()."
    if message.startswith("The 'y_true' parameter"):
        return "An array of targets is needed as y, one a row; got something else."
    if message.startswith(("Mix of label input types", "Labels in y_true and y_pred")):
        return "Labels of one kind are needed in y, of the type that the classes have."
    if "got scalar" in message:
        return "Input should have at least 1 dimension, got a scalar."
    return None
