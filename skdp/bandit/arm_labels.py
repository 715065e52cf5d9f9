"""Names of arms, and their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

import numpy as np

from ..privacy.rows.reading import attempted, redacted
from ..validation import shown


@final
class ArmLabels:
    """The arms of a bandit: hashable labels of any type, all of them known in advance.

    Parameters
    ----------
    labels : list
        At least two, all different.

    Attributes
    ----------
    labels : ndarray of shape (K,)
        The same, in the order given; of type object unless all are numbers or all are strings.

    Raises
    ------
    ValueError
        If there are fewer than two labels, or two are equal, or one cannot be hashed.
    """

    def __init__(self, labels: Any) -> None:
        given: list[Any] | None = None
        try:
            given = None if isinstance(labels, str) else list(labels)
            numbers = {} if given is None else {label: k for k, label in enumerate(given)}
            # Not a number is not equal to itself, so nothing could be logged under that label.
            usable = len(numbers) == len(given or ()) >= 2 and all(x == x for x in numbers)
        except MemoryError:
            raise
        except Exception:
            usable = False
        if given is None or not usable:
            raise ValueError(
                "DPContextualBandit needs arms=[...] with at least two different labels that can "
                f"be hashed, got {shown(labels)}."
            )
        self._numbers = numbers
        self.labels = _array(given)

    def __len__(self) -> int:
        return len(self.labels)

    def encode(self, actions: Any, n: int) -> np.ndarray:
        """Numbers (n,) of the arms that were pulled, from an array-like of their labels.

        Raises
        ------
        ValueError
            If there are more or fewer, or one is no label of an arm. The message quotes none.
        """
        if hasattr(actions, "columns") or not isinstance(actions, Iterable):
            actions = redacted(np.asarray, actions)
        given = actions if isinstance(actions, np.ndarray) else _array(list(actions))
        if given.ndim != 1 or len(given) != n:
            raise ValueError(
                f"DPContextualBandit needs one action a context, {n} in all, got an array of shape "
                f"{given.shape}."
            )
        # Outside of a handler: what was caught there would quote a label.
        codes = attempted(lambda: [self._numbers[label] for label in given.tolist()])
        if codes is None:
            raise ValueError(
                f"DPContextualBandit needs actions among its {len(self)} arms; some of those given "
                "are not. Name all arms in arms=[...], with the type that they have in the log."
            )
        return np.array(codes, dtype=np.intp)


def _array(labels: list[Any]) -> np.ndarray:
    """One-dimensional whatever labels are; of type object unless all are numbers or strings."""
    number = all(isinstance(x, int | float | np.number | np.bool_) for x in labels)
    if number or all(isinstance(x, str) for x in labels):
        plain = np.array(labels)
        if plain.dtype.kind in "biufU":
            return plain
    out = np.empty(len(labels), dtype=object)
    for k, label in enumerate(labels):
        # One by one: a list of them would be asked for an array of its own.
        out[k] = label
    return out
