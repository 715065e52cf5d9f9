"""Persons who come back to a stream: whose rows are whose, and how often somebody has counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any, final

import numpy as np

from ..accounting.calculus import Calculus
from ..adjacency import PrivacyUnit
from ..randomness import SecretNoise
from ..rows.base import ResidentRows
from ..rows.in_memory import rows_in_memory
from ..rows.privacy_units import LabelledRows, PrivacyUnits, one_kind

# So much less than its share is spent, for rounding.
_ROUND_DOWN = 1 - 1e-9


@final
class Visits:
    """Table of the parts of a stream in which the rows of each person have counted.

    A part is whatever is answered by itself: a batch of a running sum, a block, or a call. A person
    counts in at most ``max_visits`` parts, the first ones, and nothing says whether a person still
    does. The table is as secret as the rows: it holds who came and how often. It lies in the
    session of a stream, which goes into secret checkpoints and into no pickle.

    Parameters
    ----------
    max_visits : int, default=1
        Most parts in which a person counts, at least 1. Public.
    unit : PrivacyUnit, default=PrivacyUnit.DECLARED
        What is protected. With ``PrivacyUnit.ROW`` every row is the record of another person, who
        comes once, and nothing is noted. Public.
    """

    def __init__(self, max_visits: int = 1, unit: PrivacyUnit = PrivacyUnit.DECLARED) -> None:
        self.max_visits, self.unit = max_visits, unit
        self._counts: dict[Hashable, tuple[int, int]] = {}
        self._kind: Hashable = None

    def expect(self, kind: Hashable) -> None:
        """Refuse a call whose labels are not comparable to those of earlier calls."""
        self._kind = one_kind(self._kind, kind)

    def admit(self, labels: list[Hashable], parts: int | Iterable[int]) -> np.ndarray:
        """Note visits of persons; True for those that count.

        A visit is to the part of this number, or each to a part of its own, none below earlier
        ones; somebody counts in a part once. What is returned is secret.
        """
        out = np.zeros(len(labels), dtype=bool)
        of_visits = repeat(parts) if isinstance(parts, int) else parts
        for i, (name, part) in enumerate(zip(labels, of_visits, strict=False)):
            count, latest = self._counts.get(name, (0, -1))
            if count < self.max_visits and latest < part:
                self._counts[name] = (count + 1, part)
                out[i] = True
        return out

    def counted(self, call: Call, part: int) -> ResidentRows:
        """Rows of a part, of which those of a person weigh one together, or nothing."""
        if call.labels is None:
            return call.rows
        return call.counting(self.admit(call.labels, part))


@final
class Call:
    """Rows of one call of a stream, each the record of another person or each with a label.

    With labels they are taken person by person, in the order in which these first appear.
    Neighbours differ in all rows of one person in all calls, however many they are and wherever
    they stand; somebody else comes to the same calls in that person's place. So the number of
    persons of each call is public, as the number of rows is where each row is the record of another
    person, and no call tells more: neither how many rows there are, nor whose they are, nor who
    still counts, whose absence would tell that somebody had come often.

    Where a call is cut, because a batch or a block ends within it, it matters who comes before the
    cut. Persons are put in a secret random order first: with the order of one of two neighbours
    goes the order of the other in which the two persons have each other's place, and nobody else
    moves. Given the orders, the two streams differ in what stands in these places alone, and what
    is mixed in equal shares of what is (epsilon, delta)-DP is so too.

    Parameters
    ----------
    rows : ResidentRows
        Of the call, as they came.
    labels : array-like of shape (n_rows,), optional
        Label of the person of each row.

    Attributes
    ----------
    rows : ResidentRows
        All rows, those of each label together. Secret, and with labels their number is, too.
    labels : list of hashable or None
        Labels of the persons, one each. Secret.
    kind : hashable
        Kind of all labels. Public.

    Raises
    ------
    ValueError
        If labels are missing or cannot be compared; nothing of them is quoted.
    """

    def __init__(self, rows: ResidentRows, labels: Any = None) -> None:
        self.rows, self.kind = rows, None
        self.labels: list[Hashable] | None = None
        if labels is None:
            return
        found = LabelledRows.of(labels)
        first = np.unique(found.codes, return_index=True)[1]
        order = np.argsort(first)
        self.labels, self.kind = [found.names[i] for i in order], found.kind
        codes = np.argsort(order)[found.codes]
        self._sizes = np.bincount(codes)
        # Also if they lie together, which is secret: norms of rows round by how these lie in
        # memory, and a copy may lie in another way.
        self.rows = self._taken(np.argsort(codes, kind="stable"))

    @property
    def n_samples(self) -> int:
        """Number of persons, or of rows that have no labels. Public."""
        return self.rows.n_samples if self.labels is None else len(self.labels)

    def shuffled(self, noise: SecretNoise) -> Call:
        """Persons in a random order, each as likely as any other; rows without labels stay."""
        if self.labels is None:
            return self
        rank = np.argsort(noise.normal((self.n_samples,)), kind="stable")
        place = np.empty_like(rank)
        place[rank] = np.arange(self.n_samples)
        order = np.argsort(np.repeat(place, self._sizes), kind="stable")
        return self._with([self.labels[i] for i in rank], self._sizes[rank], self._taken(order))

    def pieces(self, room: Callable[[], int], noise: SecretNoise) -> Iterator[Call]:
        """The call in order, or in a random one if it is cut, in pieces that there is room for.

        Each has a row at least: where there is room for none, whoever takes them has to refuse it.
        """
        call, start = self.shuffled(noise) if self.n_samples > room() else self, 0
        while start < call.n_samples:
            stop = min(call.n_samples, start + max(1, room()))
            yield call.part(start, stop)
            start = stop

    def part(self, start: int, stop: int) -> Call:
        """The persons, or rows without labels, ``start <= i < stop``, at least one."""
        if stop - start == self.n_samples:
            return self
        if self.labels is None:
            return Call(self.rows.part(start, stop))
        first, last = int(self._sizes[:start].sum()), int(self._sizes[:stop].sum())
        rows = self.rows.part(first, last)
        return self._with(self.labels[start:stop], self._sizes[start:stop], rows)

    def row_labels(self) -> list[Hashable]:
        """Label of the person of each of ``rows``; none where rows have no labels. Secret."""
        if self.labels is None:
            return []
        sized = zip(self.labels, self._sizes, strict=True)
        return [label for label, size in sized for _ in range(size)]

    def counting(self, admitted: np.ndarray) -> ResidentRows:
        """A store in which the rows of these persons share the weight of one row, others have none.

        So :mod:`skdp.privacy.rows.privacy_units` holds for it: what a person adds to a sum lies in
        the convex hull of what one row may add, and 0. All persons are among its units.
        """
        units = PrivacyUnits.of(np.repeat(np.arange(self.n_samples), self._sizes))
        units = replace(units, shares=units.shares * admitted[units.codes])
        return rows_in_memory(self.rows.X, self.rows.y, self.rows.weights, units)

    def _with(self, labels: list[Hashable], sizes: np.ndarray, rows: ResidentRows) -> Call:
        other = Call(rows)
        other.labels, other._sizes, other.kind = labels, sizes, self.kind
        return other

    def _taken(self, order: np.ndarray) -> ResidentRows:
        rows = self.rows
        weights = None if rows.weights is None else rows.weights[order]
        return rows_in_memory(rows.X[order], rows.y[order], weights)


def epsilon_of_share(
    calculus: Calculus, epsilon: float, delta: float, shares: int, max_visits: int
) -> float:
    """The epsilon, at the same delta, of a budget of which so many make up the whole in mu^2."""
    share = calculus.epsilon(calculus.limit(epsilon, delta) / shares, delta) * _ROUND_DOWN
    if not share > 0:
        raise ValueError(
            f"max_visits={max_visits} leaves a visit too small a share of epsilon={epsilon:g} at "
            f"delta={delta:g} to be told in the same delta; pass a smaller delta, or fewer visits."
        )
    return share
