"""Comparison of all that two runs have published or asked, for what goes around the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ..privacy.randomness import SecretNoise

__all__ = ["Boundary", "differences"]


@dataclass(frozen=True)
class Boundary:
    """Differences between two runs in which every answer of the oracle was the same.

    Parameters
    ----------
    differences : tuple of str
        Names of what differed.
    """

    differences: tuple[str, ...]

    def epsilon(self, delta: float, failure: float) -> float:
        """Infinity: it was published without any noise.

        Parameters
        ----------
        delta, failure : float
            Of no influence.
        """
        del delta, failure
        return inf


def differences(first: Any, second: Any, name: str = "") -> list[str]:
    """Names of the parts in which two objects differ; of objects, what a pickle would hold.

    Sources of randomness are left out.

    Parameters
    ----------
    first, second : object
        To be compared, part by part.
    name : str, default=''
        Prefix of the names.
    """
    found: list[str] = []
    _compare(first, second, name, found, set())
    return found


def _compare(a: Any, b: Any, name: str, found: list[str], seen: set[tuple[int, int]]) -> None:
    if a is b or (id(a), id(b)) in seen:
        return
    seen.add((id(a), id(b)))
    if isinstance(a, SecretNoise | np.random.Generator | np.random.RandomState):
        return
    if type(a) is not type(b):
        found.append(f"{name} ({type(a).__name__} or {type(b).__name__})")
    elif isinstance(a, np.ndarray) and a.dtype != object:
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            found.append(name)
    elif isinstance(a, np.ndarray):
        _compare((a.shape, a.tolist()), (b.shape, b.tolist()), name, found, seen)
    elif isinstance(a, Mapping):
        if list(a) != list(b):
            found.append(f"names in {name}")
        for key in a:
            if key in b:
                part = f"{name}.{key}" if isinstance(key, str) else f"{name}[{key!r}]"
                _compare(a[key], b[key], part.lstrip("."), found, seen)
    elif isinstance(a, list | tuple):
        if len(a) != len(b):
            found.append(f"length of {name}")
        for k, (one, other) in enumerate(zip(a, b, strict=False)):
            _compare(one, other, f"{name}[{k}]", found, seen)
    elif isinstance(a, float | np.floating):
        if a != b and not (np.isnan(a) and np.isnan(b)):
            found.append(name)
    elif isinstance(a, str | bytes | int | complex | np.generic | frozenset | set | slice | type):
        if a != b:
            found.append(name)
    else:
        states = [_state(a), _state(b)]
        if states[0] is not None or states[1] is not None:
            _compare(states[0], states[1], name, found, seen)


def _state(part: Any) -> Any:
    """State that a pickle would hold; None of an object that cannot be pickled."""
    try:
        return part.__getstate__()
    except (AttributeError, TypeError):
        return None
