"""Base of losses: value, derivative and constants, and the clipping of derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import isnan
from typing import ClassVar, final

import numpy as np

_EPS = float(np.finfo(np.float64).eps)


class Loss(ABC):
    """A function of a target y and of the score z that a linear model gives its row.

    A loss is pointwise: what it says of a row depends on the target and the score of that row
    alone. It holds no data, but it is handed targets and scores of rows, and privacy rests on its
    being pointwise. This cannot be enforced, so losses belong to the code that has to be trusted.
    ``lipschitz`` and ``smoothness`` must hold for every valid target and every score; solvers plan
    with them.

    Solvers and estimators ask what a loss declares, and never for its class: ``of_residuals``, that
    it is a function of the difference of target and score, as for regression; ``squared``, that it
    is half the square of that difference; ``log_odds``, that the scores that minimise it are
    log-odds of the classes; ``family``, which default hyperparameters suit it, one of
    ``'logistic'``, ``'hinge'``, ``'squared_hinge'`` and ``'residuals'``, which takes any loss.

    Arrays are in double precision: targets have shape (m,), or (m, n_scores) for a loss of
    ``vector_targets``; scores have shape (m,) if ``n_scores`` is 1 and (m, n_scores) otherwise.
    """

    of_residuals: ClassVar[bool] = False
    squared: ClassVar[bool] = False
    log_odds: ClassVar[bool] = False
    vector_targets: ClassVar[bool] = False

    @property
    def family(self) -> str:
        """Name of the default hyperparameters of solvers that suit it."""
        return "residuals"

    @property
    @abstractmethod
    def n_scores(self) -> int:
        """Number of scores a row."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """Supremum of the l2 norm of the derivative over valid targets and all scores."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Supremum of the second derivative (spectral norm of the Hessian); inf if not smooth."""

    @property
    @abstractmethod
    def convex(self) -> bool:
        """True if the loss is convex in z."""

    @property
    @abstractmethod
    def targets(self) -> str:
        """The valid targets in words, for error messages."""

    @abstractmethod
    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Loss of each row, shape (m,)."""

    @abstractmethod
    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Derivative in z, in the shape of z; a fresh array that the caller may overwrite.

        It must be pointwise: row i of the answer is a function of ``y[i]`` and ``z[i]`` alone, not
        of other rows, of their number, or of earlier calls, and y and z stay as they are. The
        sensitivity of gradients rests on this, which makes it part of the trusted base: a loss
        that mixes rows voids the guarantee.
        """

    @abstractmethod
    def _valid(self, y: np.ndarray) -> np.ndarray:
        """Mask of the valid numeric targets, in the shape of y."""

    def check_targets(self, y: np.ndarray) -> None:
        """Refuse targets outside the range for which the constants are declared.

        Parameters
        ----------
        y : ndarray of shape (m,), or (m, n_scores) for a loss of vectors of targets
            Targets.

        Raises
        ------
        ValueError
            If y has another number of dimensions, is not of a numeric type or holds an invalid
            target. The message never quotes a target.
        """
        name = type(self).__name__
        row = (self.n_scores,) if self.vector_targets else ()
        if y.ndim != 1 + len(row) or y.shape[1:] != row:
            of = f"{self.n_scores} targets" if row else "one target"
            wanted = ", ".join(["n_samples", *map(str, row)]) + ("" if row else ",")
            raise ValueError(
                f"{name} needs {of} a row, got an array of {y.ndim} dimensions; pass y of shape "
                f"({wanted})."
            )
        if y.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} needs numeric targets, got an array of type {y.dtype}; encode them first."
            )
        if not np.all(self._valid(y)):
            raise ValueError(
                f"{name} needs targets that are {self.targets}; some of those given are not. "
                "Encode or clean the targets first."
            )

    @final
    def clipped_derivative(
        self, y: np.ndarray, z: np.ndarray, bound: float | np.ndarray
    ) -> np.ndarray:
        """Derivative, shrunk row by row until its l2 norm is at most ``bound``.

        With one score a row, l' becomes ``min(max(l', -bound), bound)``. If l is convex this is
        the derivative of a convex function again: l' is non-decreasing, clipping is
        non-decreasing, so their composition is, and its integral is convex. That integral equals
        l (up to a constant) where ``|l'| <= bound`` and goes on linearly outside, as Huber's loss
        does with the squared loss; it is no less smooth than l. With several scores a row the
        derivative is multiplied by ``min(1, bound / ||l'||)``, which need not be the gradient of
        any function.

        Parameters
        ----------
        y : ndarray of shape (m,)
            Valid targets.
        z : ndarray of shape (m,) or (m, n_scores)
            Scores.
        bound : float or ndarray of shape (m,)
            Largest norm, of all rows or of each; zero, or at least 1e-140, or infinite. (Squares
            of anything smaller are lost, and with them the norm of several scores.)

        Returns
        -------
        clipped : ndarray
            In the shape of z; a fresh array.

        Raises
        ------
        ValueError
            If the derivative is not an array of real floats in the shape of z.

        Guarantees
        ----------
        - The norm of each row is at most its bound, also after rounding. With several scores
          this takes a relative margin of a few units in the last place off the bound.
        - Rows below the bound (and its margin) are left as they are, to the last bit.
        - A derivative that is not a number, which only scores that are not finite can bring
          about, becomes zero; so does one of several entries whose norm is not finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            d = self._checked(np.asarray(self.derivative(y, z)), z)
        return Loss.shrunk(d, bound)

    @final
    @staticmethod
    def shrunk(d: np.ndarray, bound: float | np.ndarray) -> np.ndarray:
        """Derivatives, shrunk row by row; see :meth:`clipped_derivative`. Overwrites them.

        Parameters
        ----------
        d : ndarray of shape (m,) or (m, n_scores)
            Derivatives.
        bound : float or ndarray of shape (m,)
            Largest norm, of all rows or of each.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if d.ndim == 1:
                if bound is not np.inf:
                    # Twice as fast as numpy's clip, and like it for what is not a number.
                    np.minimum(d, bound, out=d)
                    np.maximum(d, np.negative(bound), out=d)
                if isnan(d @ d):
                    np.copyto(d, 0.0, where=np.isnan(d))
                return d
            # The sum of K squares, its root, the quotient and the product err by K / 2 + 4 half
            # units in the last place.
            norms = np.sqrt(np.einsum("ij,ij->i", d, d))
            largest = np.multiply(bound, 1.0 - (d.shape[1] + 8) * _EPS)
            d *= np.divide(largest, norms, out=np.ones_like(norms), where=norms > largest)[:, None]
        d[~np.isfinite(norms)] = 0.0
        return d

    def _checked(self, d: np.ndarray, z: np.ndarray) -> np.ndarray:
        if d.shape != z.shape or d.dtype.kind != "f":
            raise ValueError(
                f"{type(self).__name__} needs a derivative of real floats in the shape {z.shape} "
                f"of the scores, got {d.dtype} of shape {d.shape}; make its derivative pointwise."
            )
        return np.asarray(d, dtype=np.float64)
