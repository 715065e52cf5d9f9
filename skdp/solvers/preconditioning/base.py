"""Base of preconditioners: stages before the solver that choose public coordinates for rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from ...exceptions import warn_user
from ...problem.bounds import RowMap
from ...problem.penalties import Tikhonov
from ...problem.problem import Problem
from ..defaults import Variances as tuned

if TYPE_CHECKING:
    from ...privacy.oracle import Oracle


@dataclass(frozen=True)
class Preconditioner(ABC):
    """Spends a share of the budget to state the same problem in better coordinates.

    Like a solver it is a deterministic function of the oracle's answers and of public randomness.
    ``takes_wide`` says whether it can take sparse rows of many features.
    """

    takes_wide: ClassVar[bool] = False

    @final
    def check(self, problem: Problem) -> None:
        """Refuse a problem that cannot be preconditioned, before anything is charged.

        Parameters
        ----------
        problem : Problem
            As for ``prepare``.

        Raises
        ------
        ValueError
            If it would make sparse rows of many features dense, or penalty or constraint mean
            something in the user's coordinates only.
        """
        name = type(self).__name__
        if problem.wide and not self.takes_wide:
            raise ValueError(
                f"{name} mixes features and so needs dense rows, or sparse ones of up to 1000 "
                f"features, got sparse rows of {problem.n_features}. Pass precondition='auto' or "
                "None."
            )
        if problem.tied_to_coordinates:
            raise ValueError(
                f"{name} needs a ridge penalty or none, and no constraint, got "
                f"{problem.penalty} and {problem.constraint}. Pass precondition=None."
            )

    def acts(self, problem: Problem, mu: float, *, known: bool) -> bool:
        """Tell whether there are rows and budget enough to choose coordinates at all.

        Parameters
        ----------
        problem : Problem
            As for ``prepare``; only its public sizes count.
        mu : float
            Gaussian-DP parameter of the budget that will be left.
        known : bool
            Whether coordinates that were released earlier will be passed in.
        """
        return True

    def resolves(self, problem: Problem, mu: float) -> bool:
        """True if second moments will stand so clearly out of their noise that steps rely on them.

        Parameters
        ----------
        problem : Problem
            As for ``prepare``; only its public sizes count.
        mu : float
            As for ``acts``.
        """
        return False

    def keeps(self, known: RowMap) -> bool:
        """True if coordinates that were released earlier will be taken as they are, at no cost.

        Parameters
        ----------
        known : RowMap
            As for ``prepare``.
        """
        return False

    @final
    def prepare(
        self,
        problem: Problem,
        oracle: Oracle,
        rng: np.random.Generator,
        known: RowMap | None = None,
    ) -> Problem:
        """The problem with rows in public coordinates, and the same starting point in them.

        Parameters
        ----------
        problem : Problem
            In the user's coordinates.
        oracle : Oracle
            Answers queries about the rows.
        rng : Generator
            Public randomness.
        known : RowMap, optional
            Coordinates that this preconditioner has released for rows like these, for example for
            those of an earlier part of a stream.
        """
        if problem.initial is None:
            return self._prepare(problem, oracle, rng, known)
        conditioned = self._prepare(replace(problem, initial=None), oracle, rng, known)
        model = problem.in_user_coordinates(problem.initial)
        return replace(conditioned, initial=conditioned.from_user_coordinates(*model))

    @abstractmethod
    def _prepare(
        self,
        problem: Problem,
        oracle: Oracle,
        rng: np.random.Generator,
        known: RowMap | None,
    ) -> Problem:
        """The problem, which names no starting point, with rows in public coordinates."""


def warn_of_one_column(problem: Problem, squares: np.ndarray, noise: float) -> None:
    """Warn if released second moments show that one column is nearly all of the rows' length.

    Rows are then cut, and noise is measured, by that column, and the others are lost. What is said
    follows from answers that are paid for.

    Parameters
    ----------
    problem : Problem
        In the user's coordinates.
    squares : ndarray of shape (d,)
        Noisy second moments of the features.
    noise : float
        Standard deviation of their noise.
    """
    if problem.bounds.scaling is not None or squares.size < 2:
        return
    largest, spread = int(squares.argmax()), noise * sqrt(squares.size)
    length = float(squares[largest])
    if length > tuned.VISIBLE * spread and squares.sum() - length <= tuned.LITTLE * length + spread:
        columns = problem.bounds.columns
        warn_user(
            f"Column {largest if columns is None else columns[largest]} makes up nearly all of the "
            "length of the rows, so that noise hides what the others say. Scale the columns by "
            "what is known about them, with data_bounds if the model takes them, or with "
            "BoundsScaler in front. With an l2 penalty or none a model without data_norm looks for "
            "a scale for each column itself, if rows and budget are enough.",
            UserWarning,
        )


def warn_of_wide_bounds(problem: Problem, variances: np.ndarray, noise: float) -> None:
    """Warn if released variances show that rows vary far less than their bound allows.

    Noise is in proportion to the bound, so that little is left of what they say. What is said
    follows from answers that are paid for.

    Parameters
    ----------
    problem : Problem
        In the user's coordinates.
    variances : ndarray of shape (d,)
        Noisy variances of the features, on the scale that columns have been brought to.
    noise : float
        Standard deviation of their noise.
    """
    spread = tuned.HIDDEN * noise * sqrt(variances.size)
    allowed = problem.bounds.data_norm**2
    if spread < tuned.SHARE_OF_A_BOUND * allowed and variances.sum() < spread:
        share = sqrt(2 * spread / allowed)
        given = "data_norm" if problem.bounds.scaling is None else "data_bounds"
        warn_user(
            f"Rows vary by less than {max(share, 0.01):.0%} of what {given} allows, and noise, "
            "which is in proportion to that, hides what they say. Pass narrower bounds, which "
            "nearly all rows keep, or None to find some privately.",
            UserWarning,
        )


def mapped(problem: Problem, row_map: RowMap, length: float | None = None) -> Problem:
    """The problem with rows in the coordinates of the map, its ridge still on the user's.

    The constant column keeps its size in units of the norm of rows, or of a length that is given.
    """
    old = problem.bounds
    constant = old.intercept_value / old.data_norm * (row_map.norm if length is None else length)
    factor = row_map.jacobian() if row_map.mixes else row_map.scale
    return replace(
        problem,
        n_features=row_map.n_features,
        bounds=replace(old, intercept_value=constant, row_map=row_map),
        penalty=Tikhonov.of(problem.penalty, factor),
    )


def half_edge(sd: float, p: int) -> float:
    """Half the expected spectral norm of symmetric noise, sd on the diagonal, sd / sqrt(2) off.

    Parameters
    ----------
    sd : float
        Standard deviation of the noise of second moments.
    p : int
        Number of rows and columns.
    """
    return 0.5 * sd * sqrt(2 * p)
