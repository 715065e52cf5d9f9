"""Test rows, of which nothing is kept but a label, a group, and what a model says of each.

The model is called here and nowhere else, when the first answer about the rows has been charged
and not before. What it is asked for is a function of one row, by contract, and this is what is done
to hold it to that:

* Rows are handed to it in copies, with all objects in them, in blocks that are cut by public
  numbers alone; one by one if that is what was asked for, and then whatever the model computes over
  the rows of a call is of one row.
* What it raises or warns of goes nowhere. If it refuses a block of several rows, each is tried in a
  block of as many copies of itself, in the place where it was: sums are rounded in the same way
  there, so that the other rows keep their predictions, to the last bit, and the row that was
  refused has none.
* Predictions of another shape than one for each row are refusals, too. Those of a list are read one
  by one: in an array of all, one text would make texts of the numbers.

How often the model is called depends on which rows it refuses, so that a model that counts its
calls, or draws random numbers, is beyond help.

A prediction that is missing is not a number here, and counts as a mistake in every query.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal, Self, final

import numpy as np
from sklearn.utils import _safe_indexing

from ..adjacency import PrivacyUnit
from .base import BlockStore
from .bounded_rows import RawBlock
from .in_memory import DenseRows
from .privacy_units import PrivacyUnits
from .reading import strict_checks

# Rows of a call of the model; a block that it refuses costs as many calls.
_ROWS_AT_A_TIME = 256
# Columns before the scores: the prediction and the group.
_BEFORE_SCORES = 2


@dataclass(frozen=True, eq=False, repr=False)
class PredictedBlock:
    """A run of test rows as queries see it.

    Parameters
    ----------
    y : ndarray of shape (m,)
        Encoded labels, or targets.
    prediction : ndarray of shape (m,)
        Encoded classes, or predicted targets; not a number where there is none.
    group : ndarray of shape (m,)
        Encoded groups, 0 if there are none.
    scores : ndarray of shape (m, K) or (m, 0)
        Scores of the classes in [0, 1], of two classes complementary; predictions of a regression
        that has several.
    """

    y: np.ndarray
    prediction: np.ndarray
    group: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, block: RawBlock) -> Self:
        """The columns of a block by their names, in double precision."""
        X = block.X if isinstance(block.X, np.ndarray) else block.X.toarray()
        columns = np.asarray(X, dtype=np.float64)
        return cls(block.y, columns[:, 0], columns[:, 1], columns[:, _BEFORE_SCORES:])

    @property
    def predictions(self) -> np.ndarray:
        """All predictions of a regression, (m, K), one or several."""
        return self.scores if self.scores.shape[1] else self.prediction[:, None]

    def score_of(self, k: int) -> np.ndarray:
        """Scores of a class, shape (m,)."""
        return self.scores[:, k]

    def score_of_label(self) -> np.ndarray:
        """The score that each row gives to its own label, shape (m,)."""
        label = np.clip(np.nan_to_num(self.y), 0, self.scores.shape[1] - 1).astype(np.intp)
        return self.scores[np.arange(label.size), label]


@dataclass(frozen=True, eq=False)
class Predictor:
    """A fitted model and what is asked of it.

    Parameters
    ----------
    model : estimator
        With ``predict``, and the method below.
    classes : ndarray of shape (K,) or None
        Public labels; None for a regression.
    columns : tuple of int
        For each class the column of the scores that is its own; -1 if it has none.
    scores : {'predict_proba', 'decision_function'} or None
        Where scores come from.
    rows_at_a_time : int or None
        Rows of a call; None leaves it to the store.
    outputs : int
        Predictions of each row; several only of a regression.
    """

    model: Any
    classes: np.ndarray | None
    columns: tuple[int, ...] = ()
    scores: Literal["predict_proba", "decision_function"] | None = None
    rows_at_a_time: int | None = None
    outputs: int = 1

    @property
    def width(self) -> int:
        """Number of columns of what is kept of a row."""
        classes = self.classes
        if self.outputs > 1:
            return _BEFORE_SCORES + self.outputs
        return _BEFORE_SCORES + (0 if self.scores is None or classes is None else len(classes))

    def of_rows(self, take: Callable[[], Any], m: int) -> np.ndarray:
        """Outputs of the model for m rows, shape (m, width), with the group left at 0.

        Raises whatever the model does, and if it does not say one thing for each row. ``take``
        returns the features of the rows, a fresh copy each time.
        """
        out = np.zeros((m, self.width))
        predicted = _entries(self.model.predict(take()))
        if self.outputs > 1:
            if predicted.shape != (m, self.outputs):
                raise ValueError("So many predictions are needed for each row.")
            out[:, _BEFORE_SCORES:] = predicted.astype(np.float64)
            return out
        if predicted.shape not in ((m,), (m, 1)):
            raise ValueError("One prediction is needed for each row.")
        predicted = predicted.reshape(m)
        if self.classes is None:
            out[:, 0] = predicted.astype(np.float64)
            return out
        out[:, 0] = np.nan
        for code, label in enumerate(self.classes):
            out[np.broadcast_to(np.asarray(predicted == label, dtype=bool), m), 0] = code
        if self.scores is not None:
            out[:, _BEFORE_SCORES:] = self._scores(take(), m)
        return out

    def _scores(self, X: Any, m: int) -> np.ndarray:
        found = np.asarray(getattr(self.model, str(self.scores))(X), dtype=np.float64)
        if self.scores == "decision_function":
            if found.shape != (m,):
                raise ValueError("One decision value is needed for each row.")
            positive = 1.0 / (1.0 + np.exp(-found))
            found = np.stack([1.0 - positive, positive], axis=1)
        if found.ndim != 2 or len(found) != m or found.shape[1] <= max(self.columns):
            raise ValueError("One score is needed for each row and class.")
        padded = np.concatenate([found, np.zeros((m, 1))], axis=1)
        return np.clip(padded[:, list(self.columns)], 0.0, 1.0)


@final
class PredictedRows(BlockStore):
    """Test rows whose features are what a model says of them.

    Parameters
    ----------
    predictor : Predictor
        Asked at the first sum.
    X : array-like, dataframe or CSR matrix
        Features of the rows as the model takes them.
    y : ndarray of shape (n_samples,)
        Encoded labels, or targets.
    groups : ndarray of shape (n_samples,)
        Encoded groups.
    units : PrivacyUnits, optional
        Privacy units of the rows. The predictor is asked about those of a unit by themselves, as
        the place of a row among others tells how many rows other units have.

    Guarantees
    ----------
    - What is kept of a row is a function of that row, of its place and of public numbers, as long
      as that is true of what the model says of it within a call.
    - Nothing that the model raises or warns of about rows is passed on. That it lacks memory or is
      interrupted is said without its words.
    """

    sparse = False
    resident = True

    def __init__(
        self,
        predictor: Predictor,
        X: Any,
        y: np.ndarray,
        groups: np.ndarray,
        units: PrivacyUnits | None = None,
    ) -> None:
        self.n_samples, self.n_features = y.size, predictor.width
        self._predictor, self._X, self._y, self._groups = predictor, X, y, groups
        self._units = units
        if units is not None:
            self.n_samples, self.unit = units.n_units, PrivacyUnit.DECLARED
        self._rows: DenseRows | None = None

    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks by their number alone."""
        if self._rows is None:
            self._rows = DenseRows(self._predictions(), self._y, units=self._units)
        return self._rows.blocks()

    def _predictions(self) -> np.ndarray:
        out = np.empty((self._y.size, self.n_features))
        together = [np.arange(self._y.size)] if self._units is None else self._units.places()
        step = self._predictor.rows_at_a_time or _ROWS_AT_A_TIME
        with warnings.catch_warnings(), strict_checks():
            warnings.simplefilter("ignore")
            for rows in together:
                for start in range(0, rows.size, step):
                    places = rows[start : start + step]
                    out[places] = self._of_block(places)
        out[:, 1] = self._groups
        return out

    def _of_block(self, places: np.ndarray) -> np.ndarray:
        found = self._or_nothing(places)
        if found is not None:
            return found
        out = np.full((places.size, self.n_features), np.nan)
        # A row that was alone is not asked about twice.
        for i, place in enumerate(places if places.size > 1 else ()):
            alone = self._or_nothing(np.full(places.size, place))
            if alone is not None:
                out[i] = alone[i]
        return out

    def _or_nothing(self, places: np.ndarray) -> np.ndarray | None:
        """Outputs of the model for the rows at these places; None if it refuses them."""
        ended: BaseException
        try:
            return self._predictor.of_rows(
                lambda: _copied(_safe_indexing(self._X, places)), places.size
            )
        except KeyboardInterrupt:
            ended = KeyboardInterrupt()
        except MemoryError:
            ended = MemoryError("The model has not enough memory to predict test rows.")
        except BaseException:
            return None
        # Out of the handler, as what is raised in it refers to what the model raised.
        raise ended


def _entries(predicted: Any) -> np.ndarray:
    """Predictions as an array; those of a list keep their types, whatever the others are."""
    if hasattr(predicted, "__array__"):
        return np.asarray(predicted)
    if not isinstance(predicted, Sequence):
        raise TypeError("Predictions are needed in an array or a list.")
    out = np.empty(len(predicted), dtype=object)
    for i, entry in enumerate(predicted):
        out[i] = entry
    return out


def _copied(taken: Any) -> Any:
    """Rows that share no object with those they were taken from, nor with one another."""
    if isinstance(taken, list):
        return [deepcopy(row) for row in taken]
    if hasattr(taken, "iloc"):
        if taken.ndim == 1:
            return _copied_column(taken)
        for k, kind in enumerate(taken.dtypes):
            if str(kind) == "object":
                taken.isetitem(k, _copied_column(taken.iloc[:, k]))
    elif isinstance(taken, np.ndarray) and taken.dtype.hasobject:
        out = np.empty_like(taken)
        for i in range(len(taken)):
            out[i : i + 1] = deepcopy(taken[i : i + 1])
        return out
    return taken


def _copied_column(column: Any) -> Any:
    if str(column.dtype) != "object":
        return column
    entries = np.empty(len(column), dtype=object)
    for i, entry in enumerate(column):
        entries[i] = deepcopy(entry)
    return type(column)(entries, index=column.index, name=column.name, dtype=object)


def predicted_rows(
    predictor: Predictor,
    X: Any,
    y: Any,
    encode: Callable[[Any], np.ndarray],
    groups: Any,
    encode_groups: Callable[[Any], np.ndarray],
    units: PrivacyUnits | None = None,
) -> PredictedRows:
    """Test rows of which nothing was asked yet.

    ``encode`` and ``encode_groups`` turn labels, or targets, and groups into numbers, and refuse
    others.
    """
    with strict_checks():
        encoded = np.asarray(encode(y), dtype=np.float64)
        of_groups = np.zeros(encoded.size) if groups is None else encode_groups(groups)
    return PredictedRows(predictor, X, encoded, np.asarray(of_groups, dtype=np.float64), units)
