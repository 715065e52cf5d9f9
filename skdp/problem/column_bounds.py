"""Public bounds of single features, and the scale that features are brought to by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..validation import check_numbers, listed, meant, shown

Entries: TypeAlias = np.ndarray | sp.csr_array | sp.csr_matrix

# Entries that a loop along features should take at least.
_LOOP = 1 << 10
# Half widths within these leave room for squares and inverses in double precision.
_LEAST_HALF_WIDTH, _LARGEST_HALF_WIDTH = 1e-150, 1e150
# Factors within this and its inverse may be applied after rows have been added up, of entries that
# end below the second on the scale.
LARGEST_FACTOR, _FARTHEST = 1e10, 1e30
_KEEP_NAMES = "Behind other steps, set_output(transform='pandas') of these keeps names."


def unchangeable(array: np.ndarray) -> np.ndarray:
    """The array itself if it holds its numbers and nobody can write to them, else such a copy."""
    if array.flags.owndata and not array.flags.writeable:
        return array
    own = np.array(array)
    own.flags.writeable = False
    return own


class OfFields:
    """A base of dataclasses that are pickled by their fields alone.

    What is worked out from fields is kept once somebody asks for it, and who has asked depends on
    the rows there were.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Interval ``[low_j, high_j]`` of each feature, to which its values are clipped.

    Parameters
    ----------
    low, high : ndarray of shape (d,)
        The ends.

    Raises
    ------
    ValueError
        If an interval is not finite, or its length is not in [2e-150, 2e150].
    """

    low: np.ndarray
    high: np.ndarray

    def __post_init__(self) -> None:
        if np.any(_bad(self.low, self.high)):
            raise ValueError(
                "Bounds of columns need to be finite, with low < high for each, got others for "
                "at least one column; swap its ends, or widen its interval if it does not vary."
            )

    @classmethod
    def of(
        cls,
        who: str,
        given: Any,
        n_features: int,
        *,
        parameter: str = "bounds",
        names: Any = None,
        each: str = "feature",
        partial: bool = False,
    ) -> ColumnBounds:
        """The bounds that a parameter gives.

        Parameters
        ----------
        who : str
            Whose parameter it is.
        given : (low, high), or mapping
            Each a number for all features or a sequence of n_features numbers; or the pair of each
            feature by its name.
        n_features : int
            Number of features d.
        parameter : str, default='bounds'
            Its name.
        names : sequence of str, optional
            Names of the features, if they have any.
        each : str, default='feature'
            What they are called.
        partial : bool, default=False
            Whether a mapping may leave features out, or give None for them, so that ``(-1, 1)``
            stands in. It may go by index then, too.

        Raises
        ------
        ValueError
            If it is not a pair of such, has low >= high somewhere, or holds pairs that may as well
            go by feature: a list of two lists or tuples, or two tuples, for two features.
        """
        needed = f"{who} needs {parameter}=(low, high), numbers or one number for each {each}"
        if isinstance(given, Mapping) and partial:
            known = by_index(f"{who} needs {parameter}", given, n_features, names)
            found = [known.get(j) for j in range(n_features)]
            pairs = [(-1.0, 1.0) if pair is None else pair for pair in found]
            given = [low for low, _ in pairs], [high for _, high in pairs]
        elif isinstance(given, Mapping):
            given = _by_name(f"{who} needs {parameter}", given, names, each)
        if _may_go_by_feature(given, n_features):
            raise ValueError(
                f"{needed}, got {n_features} pairs, which may mean one for each {each}; pass all "
                "low ends and all high ends, as a tuple of lists ([low, ...], [high, ...]), or, "
                "for a data frame, a dictionary of pairs (low, high) by column name."
            )
        if not isinstance(given, tuple | list | np.ndarray) or len(given) != 2:
            raise ValueError(f"{needed}, got {shown(given)}; pass a pair.")
        called = [shown(name) for name in (range(n_features) if names is None else names)]
        ends = []
        for name, end in zip(("low", "high"), given, strict=True):
            values = np.ravel(np.asarray(end, dtype=object))
            for j, value in enumerate(values):
                column = f" for {called[j]}" if values.size == n_features else ""
                check_numbers(who, **{f"the {name} end of {parameter}{column}": value})
            values = np.asarray(end, dtype=np.float64)
            if values.ndim and values.shape != (n_features,):
                raise ValueError(
                    f"{needed}, got {values.size} for the {name} ends of {n_features} {each}s; "
                    "pass a number to use it for all."
                )
            ends.append(np.broadcast_to(values, n_features).copy())
        if wrong := [j for j, (low, high) in enumerate(zip(*ends, strict=True)) if _bad(low, high)]:
            got = listed(f"({ends[0][j]:g}, {ends[1][j]:g}) for {called[j]}" for j in wrong)
            raise ValueError(
                f"{who} needs {parameter} that are finite, with low < high for each {each}, got "
                f"{got}; swap the ends, or widen the interval of a {each} that does not vary."
            )
        return cls(*ends)

    @property
    def centre(self) -> np.ndarray:
        """Middles of the intervals, shape (d,)."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half_width(self) -> np.ndarray:
        """Half the lengths of the intervals, shape (d,)."""
        return _half(self.low, self.high)


def _half(low: Any, high: Any) -> Any:
    with np.errstate(all="ignore"):
        return 0.5 * high - 0.5 * low


def _bad(low: Any, high: Any) -> Any:
    """True where an interval is not finite, too long, or too short."""
    half = _half(low, high)
    return ~((half >= _LEAST_HALF_WIDTH) & (half <= _LARGEST_HALF_WIDTH))


def _may_go_by_feature(given: Any, n_features: int) -> bool:
    """Tell whether these may be pairs (low, high) of each feature, which two features hide."""
    if not isinstance(given, tuple | list) or len(given) != n_features:
        return False
    kinds = tuple | list if isinstance(given, list) else tuple
    return all(isinstance(pair, kinds) and len(pair) == 2 for pair in given)


def by_index(
    needed: str, given: Mapping[Any, Any], n_features: int, names: Any
) -> dict[int, tuple[Any, Any] | None]:
    """Pairs (low, high), or None, of some features by their index.

    Parameters
    ----------
    needed : str
        Who needs which parameter, in words.
    given : mapping
        Pairs or None by name or index of the feature.
    n_features : int
        Number of features.
    names : sequence of str, optional
        Names of the features, if they have any.

    Raises
    ------
    ValueError
        If a key is neither a name nor an index of a feature, a value is no pair, or two keys are
        of one feature.
    """
    places = {name: j for j, name in enumerate(() if names is None else names)}
    places |= {j: j for j in range(n_features)}
    if unknown := [key for key in given if key not in places]:
        raise ValueError(
            f"{needed} by name or index of columns, got {len(unknown)} that no column has, such as "
            f"{shown(unknown[0])}; the {n_features} "
            + (
                f"features have no names. {_KEEP_NAMES}"
                if names is None
                else f"columns begin with {shown(names[0])}.{meant(unknown[0], names)}"
            )
        )
    found = {places[key]: pair for key, pair in given.items()}
    if len(found) < len(given):
        raise ValueError(f"{needed} once for each column, got a name and an index of one.")
    some = {name: pair for name, pair in given.items() if pair is not None}
    _check_pairs(f"{needed} to give a pair (low, high), or None for one to be found,", some)
    return found


def _check_pairs(needed: str, given: Mapping[Any, Any]) -> None:
    for name, pair in given.items():
        if not (isinstance(pair, tuple | list | np.ndarray) and len(pair) == 2):
            raise ValueError(f"{needed} for each column, got {shown(pair)} for {shown(name)}.")


def _by_name(
    needed: str, given: Mapping[Any, Any], names: Any, each: str
) -> tuple[list[Any], list[Any]]:
    """Low and high ends, in the order of the features, of pairs by name."""
    if names is None:
        raise ValueError(
            f"{needed}=(low, high) where {each}s have no names, got a mapping; pass "
            f"{'X' if each == 'feature' else 'y'} as a data frame, or the ends in the order of the "
            f"columns. {_KEEP_NAMES}"
        )
    lacking = [name for name in names if name not in given]
    others = [name for name in given if name not in list(names)]
    got = [f"none for {listed(map(shown, lacking))}"] * bool(lacking)
    got += [f"some for {listed(map(shown, others))}, which no column has"] * bool(others)
    if got:
        near = meant(others[0], lacking) if others else ""
        raise ValueError(f"{needed} to give a pair for each column, got {' and '.join(got)}.{near}")
    _check_pairs(f"{needed} to give a pair (low, high)", given)
    pairs = [given[name] for name in names]
    return [low for low, _ in pairs], [high for _, high in pairs]


@dataclass(frozen=True, eq=False)
class ColumnScaling(OfFields):
    """The map ``z_j = clip((x_j - shift_j) * factor_j, low_j, high_j)``, feature by feature.

    Parameters
    ----------
    factor : ndarray of shape (d,)
        Positive.
    shift : ndarray of shape (d,), optional
        What is taken off; None for nothing, which sparse rows need.
    within : (ndarray, ndarray), optional
        low and high, each of shape (d,); None holds nothing back. For sparse rows low <= 0 <= high.

    Guarantees
    ----------
    - It stays what it was made of, whatever happens to the arrays that it was made of: rows are
      measured once on the scale, and bounds on their sums rest on that.
    """

    factor: np.ndarray
    shift: np.ndarray | None = None
    within: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", unchangeable(self.factor))
        if self.shift is not None:
            object.__setattr__(self, "shift", unchangeable(self.shift))
        if self.within is not None:
            low, high = self.within
            object.__setattr__(self, "within", (unchangeable(low), unchangeable(high)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ColumnScaling):
            return NotImplemented
        mine, theirs = self.facts, other.facts
        return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))

    def __hash__(self) -> int:
        return hash(self.factor.tobytes())

    @property
    def facts(self) -> tuple[np.ndarray, ...]:
        """All arrays that it consists of."""
        shift = () if self.shift is None else (self.shift,)
        return (self.factor, *shift, *(self.within or ()))

    @property
    def clipped_to(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Ends of the intervals that features are held to, in their units."""
        if self.within is None:
            return None
        low, high = (end / self.factor for end in self.within)
        return (low, high) if self.shift is None else (low + self.shift, high + self.shift)

    @classmethod
    def of_bounds(cls, bounds: ColumnBounds, *, sparse: bool) -> ColumnScaling:
        """The scaling of features within bounds to [-1, 1], or to [0, 1] where they begin at 0.

        Zeros of such features stay zeros, and so do those of sparse rows: they are brought to
        [-1, 1] by the larger end.

        Parameters
        ----------
        bounds : ColumnBounds
            Features are clipped to these; for sparse rows to the intervals from there to 0.
        sparse : bool
            Whether rows are stored sparsely.
        """
        low, high = bounds.low, bounds.high
        if sparse:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        from_zero = (low == 0) | sparse
        half = np.where(from_zero, np.maximum(-low, high), bounds.half_width)
        shift = np.where(from_zero, 0.0, bounds.centre)
        ends = (low - shift) / half, (high - shift) / half
        return cls(1.0 / half, shift if shift.any() else None, ends)

    @classmethod
    def standard(
        cls, bounds: ColumnBounds, mean: np.ndarray, deviation: np.ndarray, *, sparse: bool
    ) -> ColumnScaling:
        """The scaling of features within bounds to about mean 0 and standard deviation 1.

        Parameters
        ----------
        bounds : ColumnBounds
            Features are clipped to these; for sparse rows to the intervals from there to 0.
        mean, deviation : ndarray of shape (d,)
            Of the features within the bounds; sparse rows are not centred.
        sparse : bool
            Whether rows are stored sparsely.
        """
        low, high = bounds.low, bounds.high
        if sparse:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
            return cls(1.0 / deviation, None, (low / deviation, high / deviation))
        return cls(1.0 / deviation, mean, ((low - mean) / deviation, (high - mean) / deviation))

    def linear(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The model of features as they come that is a model of scaled features within bounds.

        Parameters
        ----------
        coef : ndarray of shape (d, K)
            Coefficients of scaled features.
        intercept : ndarray of shape (K,)
            Intercepts.

        Returns
        -------
        (ndarray, ndarray)
            Coefficients and intercepts, in the same shapes.
        """
        coef = self.factor[:, None] * coef
        return coef, intercept if self.shift is None else intercept - self.shift @ coef

    def scaled(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inverse of :meth:`linear`."""
        if self.shift is not None:
            intercept = intercept + self.shift @ coef
        return coef / self.factor[:, None], intercept

    def centred(self, X: np.ndarray) -> np.ndarray:
        """Dense rows (m, d) less the shift, in their own units. Overwrites them."""
        if self.shift is not None:
            for values, features in long_rows(X):
                values -= self.shift[features]
        return X

    def held(self, centred: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Centred rows, clipped to ``low / factor`` and ``high / factor``; ``out`` may be they."""
        low, high = self.ends_in_units
        for (values, features), (kept, _) in zip(long_rows(centred), long_rows(out), strict=True):
            np.maximum(values, low[features], out=kept)
            np.minimum(kept, high[features], out=kept)
        return out

    def multiplied(self, X: np.ndarray) -> np.ndarray:
        """Centred and clipped rows times the factor, and so on the new scale. Overwrites them."""
        for values, features in long_rows(X):
            values *= self.factor[features]
        return X

    @cached_property
    def ends_in_units(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends that centred rows are clipped to; infinite ones hold nothing back."""
        low, high = self.within or (np.full(self.factor.shape, end) for end in (-np.inf, np.inf))
        return low / self.factor, high / self.factor

    @cached_property
    def bounded(self) -> bool:
        """True if rows on the scale, and in their own units, are short enough to be summed up.

        The factor may be applied to their sums then.
        """
        if self.within is None:
            return False
        usual = 1 / LARGEST_FACTOR <= self.factor.min() <= self.factor.max() <= LARGEST_FACTOR
        return bool(usual and max(np.abs(end).max() for end in self.within) <= _FARTHEST)

    def apply(self, X: Entries) -> Entries:
        """The rows (m, d) on the new scale. Overwrites them."""
        # Entries beyond the largest float end at the bound, which is where they belong.
        with np.errstate(all="ignore"):
            for values, features in long_rows(X):
                if self.shift is not None:
                    values -= self.shift[features]
                values *= self.factor[features]
                if self.within is not None:
                    low, high = self.within
                    np.maximum(values, low[features], out=values)
                    np.minimum(values, high[features], out=values)
        return X

    def undo(self, X: Entries) -> Entries:
        """Entries on the new scale brought back. Overwrites them."""
        values, features = _entries(X)
        with np.errstate(all="ignore"):
            values /= self.factor[features]
            if self.shift is not None:
                values += self.shift[features]
        return X


def long_rows(X: Entries) -> Iterator[tuple[np.ndarray, np.ndarray | slice]]:
    """Views of all entries that are stored, and the feature of each as an index.

    A loop over the features of a row starts anew for each row, so dense rows of few features are
    taken several as one.
    """
    together = 0
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.flags.c_contiguous:
        together = _LOOP // max(1, X.shape[1])
    if not isinstance(X, np.ndarray) or together < 2:
        yield _entries(X)
        return
    first, features = len(X) - len(X) % together, _of_rows(X.shape[1], together)
    yield X[:first].reshape(-1, features.size), features
    yield X[first:], features[: X.shape[1]]


@lru_cache(maxsize=16)
def _of_rows(n_features: int, rows: int) -> np.ndarray:
    """The feature of each entry of so many rows, one row behind the other; read-only."""
    return unchangeable(np.tile(np.arange(n_features), rows))


def _entries(X: Entries) -> tuple[np.ndarray, np.ndarray | slice]:
    """The entries that are stored, and the feature of each as an index."""
    return (X, slice(None)) if isinstance(X, np.ndarray) else (X.data, X.indices)


def clipped(X: Entries, low: np.ndarray, high: np.ndarray) -> Entries:
    """A copy of X with each feature held to its interval; dense if zeros do not stay zeros.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (m, d)
        Rows.
    low, high : ndarray of shape (d,)
        The ends.
    """
    if not isinstance(X, np.ndarray) and (np.any(low > 0) or np.any(high < 0)):
        X = X.toarray()
    X = X.copy()
    values, features = _entries(X)
    np.clip(values, low[features], high[features], out=values, casting="same_kind")
    return X
