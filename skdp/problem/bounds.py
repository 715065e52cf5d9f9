"""Public bounds and coordinates that rows and targets are brought to before they are used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot, inf, log, sqrt
from typing import Any

import numpy as np

from .column_bounds import ColumnScaling, OfFields, long_rows, unchangeable

_FARTHEST = 1e150
_ARRAYS_OF_MAPS = ("scale", "matrix", "shift", "moments", "hidden", "sketch")


@dataclass(frozen=True)
class TargetBounds:
    """Targets are clipped to [low, high], then mapped linearly into [-1, 1].

    Parameters
    ----------
    low, high : float or tuple of float
        The bounds, low < high; one for each of several targets.
    centred : bool, default=True
        Whether the middle of the interval goes to 0. A model without an intercept needs
        ``centred=False``: its zero must stay zero.
    """

    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    centred: bool = True

    @classmethod
    def joined(cls, of_each: Sequence[TargetBounds]) -> TargetBounds:
        """The bounds of several targets; those of a single one are as they were.

        Parameters
        ----------
        of_each : sequence of TargetBounds
            Bounds of one target each, all centred or none.
        """
        if len(of_each) == 1:
            return of_each[0]
        low, high = zip(*(one.ends for one in of_each), strict=True)
        return cls(low, high, of_each[0].centred)

    @property
    def n_targets(self) -> int:
        """Number of targets a row."""
        return len(self.low) if isinstance(self.low, tuple) else 1

    @property
    def ends(self) -> tuple[Any, Any]:
        """low and high, floats, or ndarrays of shape (t,) for several targets."""
        if isinstance(self.low, tuple):
            return np.array(self.low), np.array(self.high)
        return self.low, self.high

    @property
    def centre(self) -> Any:
        """The target that is mapped to 0; an ndarray of shape (t,) for several targets."""
        low, high = self.ends
        return 0.5 * low + 0.5 * high if self.centred else 0.0 * low

    @property
    def half_width(self) -> Any:
        """Width in target units of one unit after mapping; an ndarray for several targets."""
        low, high = self.ends
        return 0.5 * high - 0.5 * low if self.centred else np.maximum(-low, high)


@dataclass(frozen=True)
class CountBounds(TargetBounds):
    r"""Targets of a log-linear mean: rates whose rows weigh as much as they were exposed.

    A row of weight v in [0, 1] and rate y is used as its count ``k = min(v y, high) / high`` in
    [0, 1], beside the score ``log(v / high)``, which is added to that of its features: the mean of
    k is the exponential of the sum. The derivative of the loss is then that of the weighted row,
    ``v e^s - v y``, in units of the cap. Bounded as a weighted rate instead, the few rows of little
    exposure that have an event would decide how large the cap has to be, as their rates are large.

    Parameters
    ----------
    low : float
        0.
    high : float
        Cap on targets times weights.
    centred : bool, default=False
        Without a meaning.
    """

    centred: bool = False

    @property
    def centre(self) -> float:
        """0: models are in the units of the user."""
        return 0.0

    @property
    def half_width(self) -> float:
        """1: models are in the units of the user."""
        return 1.0

    @property
    def cap(self) -> float:
        """The cap, a number."""
        return float(self.ends[1])

    @property
    def log_unit(self) -> float:
        """Logarithm of the cap: what the score of a full row is short of that of its features."""
        return log(self.cap)


@dataclass(frozen=True)
class RowBounds(OfFields):
    """Public bounds and coordinates of every row.

    Parameters
    ----------
    data_norm : float
        Rows of larger l2 norm are scaled down to it.
    intercept_value : float, default=0.0
        Value of the constant column that is appended to each row; 0 appends none.
    target : TargetBounds, optional
        What targets are brought to; None leaves them (class labels).
    row_map : RowMap, optional
        Public coordinates in which the bounded rows are used, without the intercept entry.
    feature_bound : float, optional
        Bound on the size of each entry. Queries about single features clip entries to it; others
        do without.
    columns : tuple of int, optional
        Features that are kept, in this order; rows are cut to them before their norm is taken.
        None keeps all.
    nonnegative : bool, default=False
        Whether negative features count as zero.
    scaling : ColumnScaling, optional
        Public scale that single features are brought to, and clipped on, before all else. The norm
        and all that follows are about rows on that scale.

    Raises
    ------
    ValueError
        If the norm is not positive, a scaling is given beside columns, or a map takes rows further
        than double precision can follow.
    """

    data_norm: float
    intercept_value: float = 0.0
    target: TargetBounds | None = None
    row_map: RowMap | None = None
    feature_bound: float | None = None
    columns: tuple[int, ...] | None = None
    nonnegative: bool = False
    scaling: ColumnScaling | None = None

    def __post_init__(self) -> None:
        if not self.data_norm > 0:
            raise ValueError(
                f"RowBounds needs a positive data_norm, got {self.data_norm}; pass a bound on the "
                "norm of rows that is known without looking at them."
            )
        if self.scaling is not None and self.columns is not None:
            raise ValueError(
                "RowBounds needs columns=None with a scaling, which is about all features, got "
                "both."
            )
        if self.row_map is None:
            return
        # Beyond this, squares of lengths overflow and rows could become NaN, depending on them.
        reach = self.data_norm * self.row_map.reach()
        shift = float(np.abs(self.row_map.shift).max(initial=0.0))
        if not (reach <= _FARTHEST and shift <= _FARTHEST and self.row_map.norm > 0):
            raise ValueError(
                f"RowBounds needs a finite row map that takes rows no further than {_FARTHEST:g} "
                f"and a positive norm, got {reach:g}, {shift:g} and {self.row_map.norm:g}."
            )

    @property
    def features_norm(self) -> float:
        """Bound on the norm of a row without its intercept entry."""
        return self.data_norm if self.row_map is None else self.row_map.norm

    @property
    def row_norm(self) -> float:
        """Bound on the norm of a row with its intercept entry."""
        return hypot(self.features_norm, self.intercept_value)

    # Every query asks for the two that follow.

    @cached_property
    def longest(self) -> float:
        """Bound on the norm of a row without its intercept entry, before a map scales it down."""
        return self.data_norm if self.row_map is None else self.row_map.longest(self.data_norm)

    @cached_property
    def map_in_units(self) -> RowMap | None:
        """The map of dense rows on the scale, but for its factor, which goes into the map.

        None without a scaling and a map, or where the factor has to be applied entry by entry.
        """
        scaling, row_map = self.scaling, self.row_map
        if scaling is None or row_map is None or self.nonnegative or not scaling.bounded:
            return None
        return replace(row_map, scale=scaling.factor * row_map.scale)

    @cached_property
    def mixed_features(self) -> int:
        """Number of features that a coordinate may combine; 0 if each is one scaled feature."""
        row_map = self.row_map
        return row_map.scale.size if row_map is not None and row_map.mixes else 0


@dataclass(frozen=True, eq=False)
class RowMap(OfFields):
    """``z = (x * scale) @ matrix - shift``, and longer z scaled down to ``norm`` during the fit.

    With a sketch features are added up before the matrix is applied, some to each coordinate.

    All fields are public: released by the oracle, or post-processing of what it released. A model
    that is linear in z (before it is scaled down) is linear in x.

    Parameters
    ----------
    scale : ndarray of shape (d,)
        Factor of each feature.
    matrix : ndarray of shape (d, k), optional
        Applied after scaling; None is the identity.
    shift : ndarray of shape (k,)
        What is subtracted last.
    norm : float, default=inf
        Bound on the l2 norm of mapped rows.
    typical : float, optional
        Length of most mapped rows, if it has been found out.
    moments : ndarray of shape (k,), optional
        Second moments of the coordinates of mapped rows, if they stand out of their noise.
    hidden : ndarray of shape (k,), optional
        How far, in [0, 1], noise hides whether any row lies along each coordinate, which a single
        one would stretch far.
    sketch : ndarray of int of shape (d,), optional
        Coordinate, below that of any row of the matrix, that each feature is added to; every
        coordinate occurs. None adds none to another.
    blur : float, default=inf
        Relative error, about, that noise has left in second moments of the mapped rows, in the
        direction where it is largest; infinite if it is unknown.

    Guarantees
    ----------
    - It stays what it was made of, whatever happens to the arrays that it was made of: rows are
      measured once by it, and bounds on their sums rest on that.
    """

    scale: np.ndarray
    matrix: np.ndarray | None
    shift: np.ndarray
    norm: float = inf
    typical: float | None = None
    moments: np.ndarray | None = None
    hidden: np.ndarray | None = None
    sketch: np.ndarray | None = None
    blur: float = inf

    def __post_init__(self) -> None:
        for name in _ARRAYS_OF_MAPS:
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, unchangeable(array))

    def __eq__(self, other: object) -> bool:
        """True if the other holds the very same arrays, so that rows need not be mapped anew."""
        if not isinstance(other, RowMap):
            return NotImplemented
        same = all(getattr(self, name) is getattr(other, name) for name in _ARRAYS_OF_MAPS)
        return same and (self.norm, self.typical) == (other.norm, other.typical)

    def __hash__(self) -> int:
        return hash((id(self.scale), id(self.matrix), id(self.shift), self.norm))

    @cached_property
    def apart(self) -> float:
        """Largest second moment over the smallest; infinite where they are not known."""
        if self.moments is None or not self.moments.any():
            return inf
        least = float(self.moments.min())
        return float(self.moments.max()) / least if least > 0 else inf

    @cached_property
    def mixes(self) -> bool:
        """True if a coordinate depends on more than one feature."""
        return self.matrix is not None or self.sketch is not None

    def reach(self) -> float:
        """A bound on the size of any number that mapping a row of norm 1 can bring about."""
        factors = float(np.abs(self.scale).max(initial=0.0))
        if self.matrix is not None:
            factors *= float(np.abs(self.matrix).max(initial=0.0))
        return factors * self.scale.size if self.mixes else factors

    def longest(self, data_norm: float) -> float:
        """A bound on the norm of the map of any row whose norm is at most ``data_norm``."""
        return data_norm * self._stretch + self.shift_length

    # Norms of matrices take longer than all else.
    @cached_property
    def _stretch(self) -> float:
        """A bound on the factor by which the linear part makes a row longer."""
        factor = float(np.abs(self.scale).max(initial=0.0))
        if self.sketch is not None:
            # A sum of m numbers is at most sqrt(m) times as large as they are long.
            factor *= sqrt(float(np.bincount(self.sketch).max()))
            factor *= 1.0 if self.matrix is None else float(np.linalg.norm(self.matrix))
        elif self.matrix is not None:
            factor = float(np.linalg.norm(self.scale[:, None] * self.matrix))
        return factor

    @cached_property
    def shift_length(self) -> float:
        """Norm (l2) of the shift."""
        return float(np.linalg.norm(self.shift))

    @property
    def n_features(self) -> int:
        """Number of coordinates k after the map."""
        return self.shift.size

    def apply(
        self,
        rows: np.ndarray,
        product: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.matmul,
        room: np.ndarray | None = None,
    ) -> np.ndarray:
        """Rows (m, d) in these coordinates, (m, k), none of them scaled down; a fresh array.

        ``product`` is that of rows with a matrix; without one the array may be ``room``.
        """
        if self.sketch is not None:
            Z = self._added_up(rows * self.scale)
            Z = Z if self.matrix is None else product(Z, self.matrix)
        elif self.matrix is None:
            Z = np.empty_like(rows, np.float64, subok=False) if room is None else room
            np.copyto(Z, rows)
            for entries, features in long_rows(Z):
                entries *= self.scale[features]
        else:
            Z = product(rows, self.jacobian())
        for entries, features in long_rows(Z):
            entries -= self.shift[features]
        return Z

    def jacobian(self) -> np.ndarray:
        """The matrix B (d, k) of the linear part, written out: ``z = x @ B - shift``."""
        matrix = np.eye(self.n_features) if self.matrix is None else self.matrix
        return self.scale[:, None] * (matrix if self.sketch is None else matrix[self.sketch])

    @cached_property
    def turned(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower triangular matrix L (d, k) and shift t (k,) with ``||x L - t|| = ||x B - s||``.

        ``B' = Q L'`` and ``t = s Q`` with Q orthogonal, so that ``x B - s = (x L - t) Q'``.
        """
        Q, R = np.linalg.qr(self.jacobian().T, mode="complete")
        return R.T, self.shift @ Q

    def pull_back(self, v: np.ndarray) -> np.ndarray:
        """``B v``, so that ``<x, pull_back(v)> = <z + shift, v>``; v is (k,) or (k, K)."""
        u = v if self.matrix is None else self.matrix @ v
        u = u if self.sketch is None else u[self.sketch]
        return self.scale * u if u.ndim == 1 else self.scale[:, None] * u

    def push_forward(self, g: np.ndarray) -> np.ndarray:
        """``B' g``; g is (d,) or (d, K)."""
        s = self.scale * g if g.ndim == 1 else self.scale[:, None] * g
        s = s if self.sketch is None else self._added_up(s.T).T
        return s if self.matrix is None else self.matrix.T @ s

    def _added_up(self, features: np.ndarray) -> np.ndarray:
        """Features, along the last axis, added up to coordinates."""
        assert self.sketch is not None
        order = np.argsort(self.sketch, kind="stable")
        starts = np.searchsorted(self.sketch[order], np.arange(self.sketch.max() + 1))
        return np.add.reduceat(features[..., order], starts, axis=-1)
