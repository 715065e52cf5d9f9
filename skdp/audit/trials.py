"""What is run over and over: an estimator on one of two data sets, up to what is seen of it."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.base import RowStore
from ..privacy.adjacency import Adjacency
from ..privacy.arms.opening import sessions_opened_by
from ..privacy.ledger import Ledger
from ..privacy.opening import opened_by
from ..privacy.oracle import PrivateOracle
from ..privacy.randomness import SecretNoise
from .answers import Answer
from .arms import WitnessSession
from .witness import WitnessOracle, without

__all__ = ["BanditTrial", "FitTrial", "Trial"]


@dataclass(frozen=True)
class Trial(ABC):
    """An estimator and two data sets. Each run draws fresh noise from the operating system.

    Parameters
    ----------
    estimator : estimator
        Copied for each run, without its ``random_state``.
    data : tuple of tuple
        ``(X, y)`` of the first and of the second data set.
    """

    estimator: Any
    data: tuple[tuple[Any, Any], ...]

    @abstractmethod
    def run(self, which: int) -> tuple[Any, np.ndarray]:
        """The model after a run on one of the data sets, and all numbers that were published."""

    @abstractmethod
    def stores(self) -> list[tuple[RowStore, ...]]:
        """What is known of the rows before any run is witnessed."""

    @abstractmethod
    def witnessed(self, which: int, stores: list[tuple[RowStore, ...]]) -> tuple[Any, list[Answer]]:
        """The model after a run, and the answers that it got as they look for all data sets.

        Parameters
        ----------
        which : int
            The data set that is run on.
        stores : list of tuple of RowStore
            Of :meth:`stores`.
        """

    def published(self, which: int, runs: int, statistic: Callable[[Any], float] | None) -> Any:
        """What was published in some runs, one row a run, or a statistic of the model."""
        out = []
        with warnings.catch_warnings():
            # The first run of an audit has said what there is to say.
            warnings.simplefilter("ignore")
            for _ in range(runs):
                model, numbers = self.run(which)
                if statistic is not None:
                    numbers = np.atleast_1d(statistic(model))
                elif not numbers.size:
                    raise ValueError(
                        f"audit needs a statistic for {type(model).__name__}, which has no coef_ "
                        "to look at."
                    )
                out.append(numbers)
        return np.array(out, dtype=float)

    def _copy(self) -> Any:
        # Whoever audits with a seed audits the seed.
        return clone(self.estimator).set_params(random_state=None)


@dataclass(frozen=True)
class FitTrial(Trial):
    """One call of ``fit``, or several of ``partial_fit`` with the model published after each.

    Parameters
    ----------
    estimator, data
        As above.
    row : int or None, default=None
        The row in which the data sets differ, where it is one.
    left_out : ndarray of int, optional
        Under zero-out, the rows that the second data set lacks. Its arrays are those of the first.
    calls : tuple of slice, optional
        Rows of each call of ``partial_fit``.
    fit_params : Mapping, optional
        More arguments of ``fit``.
    """

    row: int | None = None
    left_out: np.ndarray | None = None
    calls: tuple[slice, ...] | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)

    def run(self, which: int) -> tuple[Any, np.ndarray]:
        """The model after a run, and the coefficients that it has published."""

        def oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Any:
            return PrivateOracle(self._seen(rows, which), ledger, adjacency, noise)

        with opened_by(oracle):
            return self._feed(which)

    def witnessed(self, which: int, stores: list[tuple[RowStore, ...]]) -> tuple[Any, list[Answer]]:
        """The model after a run, and the answers of its oracles."""
        notes: list[Answer] = []
        coming = iter(stores)

        def oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Any:
            seen = self._seen(rows, which)
            held = next(coming)
            return WitnessOracle(
                seen, ledger, adjacency, noise, stores=held, row=self.row, notes=notes
            )

        with opened_by(oracle):
            model, _ = self._feed(which)
        return model, notes

    def stores(self) -> list[tuple[RowStore, ...]]:
        """The rows that oracles are opened with, of all data sets, in order."""
        found = []
        for which in range(len(self.data)):
            opened: list[RowStore] = []

            def oracle(
                rows: RowStore,
                ledger: Ledger,
                adjacency: Adjacency,
                noise: SecretNoise,
                which: int = which,
                opened: list[RowStore] = opened,
            ) -> Any:
                opened.append(self._seen(rows, which))
                return PrivateOracle(opened[-1], ledger, adjacency, noise)

            with opened_by(oracle):
                self._feed(which)
            found.append(opened)
        return list(zip(*found, strict=True))

    def _seen(self, rows: RowStore, which: int) -> RowStore:
        if self.left_out is None or which == 0:
            return rows
        return without(rows, self.left_out)

    def _feed(self, which: int) -> tuple[Any, np.ndarray]:
        model, (X, y) = self._copy(), self.data[which]
        if self.calls is None:
            model.fit(X, y, **self.fit_params)
            return model, _numbers(model)
        classes = {}
        if hasattr(model, "classes") and model.classes is None:
            classes = {"classes": np.unique(np.concatenate([labels for _, labels in self.data]))}
        seen = []
        for rows in self.calls:
            model.partial_fit(X[rows], y[rows], **classes)
            seen.append(_numbers(model))
        return model, np.concatenate(seen)


@dataclass(frozen=True)
class BanditTrial(Trial):
    """A bandit that acts and learns, one user after the other, as the other users see it.

    ``X`` of a data set holds the contexts, ``y`` what each user would return for each arm, of which
    one entry is ever seen. What is seen of a run by all users but one together are their own
    actions and every weight that was released.

    Parameters
    ----------
    estimator, data
        As above.
    row : int
        The user in question.
    """

    row: int

    def run(self, which: int) -> tuple[Any, np.ndarray]:
        """The model after a run, and what the other users have seen."""
        model, (X, rewards) = self._copy(), self.data[which]
        arms, actions, released = list(model.arms), [], []
        for i in range(len(X)):
            chosen = model.act(X[i : i + 1])
            k = arms.index(chosen[0])
            before = model.n_released_
            model.partial_fit(X[i : i + 1], chosen, rewards[i, [k]])
            if i != self.row:
                actions.append(np.eye(len(arms))[k, 1:])
            if model.n_released_ != before:
                released.append(_numbers(model))
        return model, np.concatenate([*actions, *released])

    def stores(self) -> list[tuple[RowStore, ...]]:
        """Nothing: contexts and rewards are all there is."""
        return []

    def witnessed(self, which: int, stores: list[tuple[RowStore, ...]]) -> tuple[Any, list[Answer]]:
        """The model after a run, and the answers of its session."""
        del stores
        low, high = self.estimator.reward_bounds
        records = tuple(
            (X, (np.clip(rewards, low, high) - 0.5 * (low + high)) / (0.5 * (high - low)))
            for X, rewards in self.data
        )
        notes: list[Answer] = []

        def session(*opened: Any) -> Any:
            return WitnessSession(*opened, records=records, notes=notes)

        with sessions_opened_by(session):
            model, _ = self.run(which)
        return model, notes


def _numbers(model: Any) -> np.ndarray:
    if not hasattr(model, "coef_"):
        return np.empty(0)
    return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])
