"""Programs that are audited: an estimator and data sets, recorded, replayed or run many times."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..exceptions import SeededNoiseWarning
from ..model_selection.base import PrivateSearch
from ..privacy.accounting.ledger import Ledger
from ..privacy.adjacency import Adjacency
from ..privacy.bandit_sessions.arm_session import sessions_opened_by
from ..privacy.oracle import PrivateOracle
from ..privacy.oracle_factory import opened_by
from ..privacy.randomness import SecretNoise
from ..privacy.rows.base import ResidentRows, RowStore
from ..privacy.rows.in_memory import DenseRows, SparseRows
from ..privacy.rows.privacy_units import PrivacyUnits
from .recording import DivergedError, Tape, TapedOracle, TapedSession, differences


@dataclass(frozen=True)
class Recording:
    """A run on one data set: the model, all that was said, and all that was asked."""

    #: After the run.
    model: Any
    #: What was published, as numbers.
    numbers: np.ndarray
    #: Warnings.
    said: list[str]
    #: Queries and answers.
    tape: Tape
    #: Of public randomness.
    seed: int
    #: The data set.
    which: int


@dataclass(frozen=True)
class Program(ABC):
    """An estimator and data sets. Each run draws fresh noise from the operating system."""

    #: Copied for each run, without its ``random_state``.
    estimator: Any
    #: ``(X, y)`` of each data set, and the labels of its privacy units if there are any.
    data: tuple[tuple[Any, ...], ...]

    @final
    def record(self, which: int = 0) -> Recording:
        """Run on one of the data sets, and record it.

        Parameters
        ----------
        which : int, default=0
            The data set.
        """
        seed = int.from_bytes(os.urandom(3), "big")
        return self._taped(Tape(), self._copy(seed), seed, which)

    @final
    def replay(self, recording: Recording, which: int) -> list[str]:
        """Differences of a run on another data set that is given the recorded answers.

        If there is none, the tape has one data set more. What differs likewise when the recorded
        data set is replayed, such as times, tells nothing of a row and is left out.

        Parameters
        ----------
        recording : Recording
            Of the first data set.
        which : int
            The other one.
        """
        found = self._replayed(recording, which)
        if found:
            control = self._replayed(recording, recording.which)
            if recording.tape.divergence is not None:
                raise DivergedError(recording.tape.divergence)
            recording.tape.forget()
            found = [part for part in found if part not in control]
            if found:
                recording.tape.forget()
        return found

    @final
    def _replayed(self, recording: Recording, which: int) -> list[str]:
        """All differences; the side of the data set stays on the tape, complete or not."""
        tape, model = recording.tape, self._copy(recording.seed)
        who = type(model).__name__
        tape.rewind()
        try:
            other = self._taped(tape, model, recording.seed, which)
        except Exception:
            if tape.divergence is None:
                tape.forget()
                raise
            # What was published before the other query may say why.
            parts = differences(recording.model, model, who)
            return [*(part for part in parts if part.endswith("classes_")), tape.divergence]
        tape.finish()
        found = [] if tape.divergence is None else [tape.divergence]
        found += differences(recording.said, other.said, "warnings")
        found += differences(recording.model, other.model, who)
        return found + differences(recording.numbers, other.numbers, "published numbers")

    @final
    def run(self, which: int) -> Any:
        """The model after a run on one of the data sets, which is not recorded.

        Parameters
        ----------
        which : int
            The data set.
        """
        with self._opened(None, which):
            return self._feed(self._copy(None), which)[0]

    @final
    def published(self, which: int, runs: int, statistic: Callable[[Any], float] | None) -> Any:
        """Published numbers of some runs, one row a run, or a statistic of the model."""
        out = []
        with warnings.catch_warnings():
            # The first run of an audit has said what there is to say.
            warnings.simplefilter("ignore")
            for _ in range(runs):
                with self._opened(None, which):
                    model, numbers = self._feed(self._copy(None), which)
                out.append(numbers if statistic is None else np.atleast_1d(statistic(model)))
        return np.array(out, dtype=float)

    @final
    def _taped(self, tape: Tape, model: Any, seed: int, which: int) -> Recording:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            with self._opened(tape, which):
                model, numbers = self._feed(model, which)
        said = [w for w in heard if not issubclass(w.category, SeededNoiseWarning)]
        texts = [f"{w.category.__name__}: {w.message}" for w in said]
        return Recording(model, numbers, texts, tape, seed, which)

    @final
    def _copy(self, seed: int | None) -> Any:
        # Public randomness is that of the record; noise is drawn by the oracle. All in this thread,
        # where the oracle is the audit's, and nothing is remembered from run to run.
        model = clone(self.estimator)
        fixed = {"random_state": seed, "n_jobs": None, "memory": None}
        params = model.get_params(deep=True)
        last = {name: name.rpartition("__")[2] for name in params}
        return model.set_params(**{name: fixed[k] for name, k in last.items() if k in fixed})

    @abstractmethod
    def _opened(self, tape: Tape | None, which: int) -> AbstractContextManager[None]:
        """Oracles or sessions of the tape, or of a run that is not recorded."""

    @abstractmethod
    def _feed(self, model: Any, which: int) -> tuple[Any, np.ndarray]:
        """The model after a run, and all numbers that were published."""


@final
@dataclass(frozen=True)
class FitProgram(Program):
    """One call of ``fit``, or several of ``partial_fit`` with the model published after each.

    Parameters
    ----------
    estimator, data
        As above.
    left_out : ndarray of int, optional
        Under zero-out, the rows that data sets but the first lack. Their arrays are the same.
    calls : tuple of slice, optional
        Rows of each call of ``partial_fit``.
    fit_params : Mapping, optional
        More arguments of ``fit``.
    """

    left_out: np.ndarray | None = None
    calls: tuple[slice, ...] | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)

    def _opened(self, tape: Tape | None, which: int) -> AbstractContextManager[None]:
        left_out = self.left_out if which == 1 else None

        def oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Any:
            if left_out is not None:
                rows = _without(rows, left_out)
            if tape is None:
                return PrivateOracle(rows, ledger, adjacency, noise)
            return TapedOracle(rows, ledger, adjacency, tape)

        return opened_by(oracle)

    def _feed(self, model: Any, which: int) -> tuple[Any, np.ndarray]:
        X, y, *labels = self.data[which]
        if self.calls is None:
            of_units = {"privacy_unit": labels[0]} if labels else {}
            model.fit(X, y, **self.fit_params, **of_units)
            return model, released_numbers(model)
        classes = {}
        if hasattr(model, "classes") and model.classes is None:
            classes = {"classes": np.unique(np.concatenate([data[1] for data in self.data]))}
        seen = []
        for rows in self.calls:
            model.partial_fit(_safe_indexing(X, rows), y[rows], **classes)
            seen.append(released_numbers(model))
        return model, np.concatenate(seen)


@final
@dataclass(frozen=True)
class BanditProgram(Program):
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

    def _opened(self, tape: Tape | None, which: int) -> AbstractContextManager[None]:
        del which
        if tape is None:
            # An oracle is of no use to a bandit.
            return opened_by(PrivateOracle)

        def session(*facts: Any) -> Any:
            return TapedSession(*facts, tape=tape)

        return sessions_opened_by(session)

    def _feed(self, model: Any, which: int) -> tuple[Any, np.ndarray]:
        X, rewards = self.data[which]
        arms, actions, released = list(model.arms), [], []
        for i in range(len(X)):
            chosen = model.act(X[i : i + 1])
            k = arms.index(chosen[0])
            before = model.n_released_
            model.partial_fit(X[i : i + 1], chosen, rewards[i, [k]])
            if i != self.row:
                actions.append(np.eye(len(arms))[k, 1:])
            if model.n_released_ != before:
                released.append(released_numbers(model))
        return model, np.concatenate([*actions, *released])


def released_numbers(model: Any) -> np.ndarray:
    """All numbers that a fitted estimator has published, in an order of their own.

    Of a model the coefficients, of a transformer what it has learned, of a search the score, the
    parameters and the numbers of its winner, of anything composed those of all parts.

    Parameters
    ----------
    model : estimator
        Fitted.
    """
    if isinstance(model, PrivateSearch):
        chosen = [np.array([model.best_score_]), _chosen(model)]
        return np.concatenate([*chosen, released_numbers(model.best_estimator_)])
    if hasattr(model, "coef_"):
        return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])
    found: list[np.ndarray] = []
    for name, value in sorted(vars(model).items()):
        public = name.endswith("_") and not name.startswith(("_", "privacy_"))
        if public and isinstance(value, float | np.ndarray):
            if np.asarray(value).dtype.kind == "f":
                found.append(np.ravel(value))
        elif public or name in ("steps", "transformer_list"):
            found += [released_numbers(part) for part in _parts(value)]
    return np.concatenate([np.empty(0), *found])


def _parts(value: Any) -> list[Any]:
    """Estimators in an attribute of one that is composed of them."""
    if isinstance(value, list | tuple):
        return [part for entry in value for part in _parts(entry)]
    composed = hasattr(value, "get_params") and not isinstance(value, type)
    return [value] if composed else []


def _chosen(search: Any) -> np.ndarray:
    """The chosen parameters: marks of listed values, and numbers for those that are drawn."""
    space = getattr(search, "param_grid", None)
    space = search.param_distributions if space is None else space
    out: list[float] = []
    for part in [space] if isinstance(space, Mapping) else space:
        for name, values in sorted(part.items()):
            best = search.best_params_.get(name)
            if hasattr(values, "rvs"):
                out.append(float(best) if isinstance(best, int | float) else 0.0)
            else:
                out += [float(value is best or repr(value) == repr(best)) for value in values]
    return np.array(out)


def _without(rows: RowStore, left_out: np.ndarray) -> RowStore:
    """A store in which some rows are missing; the public number of rows is the problem's."""
    if not isinstance(rows, ResidentRows):
        raise TypeError(
            f"An audit under zero-out needs rows in memory, got {type(rows).__name__}; pass arrays."
        )
    kept = np.setdiff1d(np.arange(rows.y.size), left_out)
    make: Callable[..., RowStore] = SparseRows if rows.sparse else DenseRows
    weights = None if rows.weights is None else rows.weights[kept]
    units = None if rows.units is None else PrivacyUnits.of(rows.units.codes[kept])
    out = make(rows.X[kept], rows.y[kept], weights, units)

    def sample(positions: np.ndarray) -> RowStore:
        return _without(rows.sample(positions), np.flatnonzero(np.isin(positions, left_out)))

    # A row that is left out leaves its place behind, and others keep theirs.
    vars(out)["sample"] = sample
    return out
