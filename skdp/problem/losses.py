"""Pointwise losses: of a target and its score, never of the features behind the score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, inf, isnan, sqrt
from numbers import Integral
from typing import ClassVar, final

import numpy as np
from scipy.special import exp1, expit

from ..validation import check_numbers, numbers_in, settle_numbers, shown

__all__ = [
    "Hazard",
    "Hinge",
    "Huber",
    "HuberisedHinge",
    "Logistic",
    "Loss",
    "MultiTarget",
    "OneVsRest",
    "Pinball",
    "Poisson",
    "Sigmoid",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "Tukey",
]

_EPS = float(np.finfo(np.float64).eps)
# Widths that are neither lost nor overflow when they are squared.
_LEAST, _LARGEST = 1e-50, 1e50
# Logarithms of arguments below which exponential integrals are their first terms to all digits.
_TINY, _TINY_LOG, _SMALL_LOG = 1e-300, -40.0, -11.0


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
    log-odds of the classes, and ``log_means``, that they are logarithms of means of the targets;
    ``of_times``, that targets are times to an event; ``family``, which default hyperparameters suit
    it, one of ``'logistic'``, ``'counts'``, ``'hinge'``, ``'squared_hinge'`` and ``'residuals'``,
    which takes any loss; ``quantiles``, which quantiles of the target minimise it, if it is about
    quantiles.

    Arrays are in double precision: targets have shape (m,), or (m, n_scores) for a loss of
    ``vector_targets``; scores have shape (m,) if ``n_scores`` is 1 and (m, n_scores) otherwise.
    """

    of_residuals: ClassVar[bool] = False
    squared: ClassVar[bool] = False
    log_odds: ClassVar[bool] = False
    log_means: ClassVar[bool] = False
    vector_targets: ClassVar[bool] = False
    of_times: ClassVar[bool] = False
    family: ClassVar[str] = "residuals"
    quantiles: tuple[float, ...] = ()

    #: Norm from which derivatives are weighed down in place of being clipped; inf for never. A clip
    #: of a derivative that has few sizes, one for each side of the target, would make the sizes
    #: equal and so change what is fitted.
    weighed_from: float = inf

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

    def worst_derivative(self, z: np.ndarray) -> np.ndarray:
        """Largest norm (l2) of the derivative over all valid targets, shape (m,).

        A function of the scores alone, and like ``derivative`` pointwise. By default the Lipschitz
        constant.
        """
        return np.full(len(z), self.lipschitz)

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
    def takes(self, *targets: float) -> bool:
        """True if these are all valid targets.

        Parameters
        ----------
        *targets : float
            Public examples.
        """
        try:
            self.check_targets(np.array(targets))
        except ValueError:
            return False
        return True

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
        any function. A loss with a finite ``weighed_from`` is multiplied by ``min(1, bound /
        weighed_from)`` first, which is a weight of the row that its target has no part in.

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
        - Rows below the bound (and its margin) are left as they are, to the last bit, unless they
          are weighed.
        - A derivative that is not a number, which only scores that are not finite can bring
          about, becomes zero; so does one of several entries whose norm is not finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            d = self._checked(np.asarray(self.derivative(y, z)), z)
            if self.weighed_from < inf:
                weights = np.minimum(1.0, np.divide(bound, self.weighed_from))
                d *= weights if d.ndim == 1 or weights.ndim == 0 else weights[:, None]
        return Loss.shrunk(d, bound)

    @final
    def label_blind_derivative(
        self, y: np.ndarray, z: np.ndarray, bound: float | np.ndarray
    ) -> np.ndarray:
        r"""Derivative times a weight in [0, 1] that bounds it and does not depend on the target.

        .. math:: \min\Bigl(1, \frac{bound}{\max_y \|l'(y, z)\|}\Bigr)\; l'(y, z)

        Where clipping shortens a derivative or not by its own target, and so moves the solution
        wherever one target is more surprising than another, this weighs all targets of a score
        alike: if the mean of the derivative over the targets of rows with a score is zero, that of
        this is zero, too.

        Parameters
        ----------
        y, z, bound
            As for :meth:`clipped_derivative`.

        Returns
        -------
        bounded : ndarray
            In the shape of z; a fresh array.

        Guarantees
        ----------
        - Those of :meth:`clipped_derivative`, whatever :meth:`worst_derivative` says: the result is
          clipped as there, which changes nothing but by rounding if the loss told the truth.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            d, worst = self._derivative_and_worst(y, z)
            d = self._checked(np.asarray(d), z)
            weights = np.divide(bound, worst)
            np.minimum(weights, 1.0, out=weights)
            d *= weights if d.ndim == 1 else weights[:, None]
        return Loss.shrunk(d, bound)

    def _derivative_and_worst(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivative, and its largest norm over all targets; for losses that find both at once."""
        return self.derivative(y, z), self.worst_derivative(z)

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


class _OfResiduals(Loss, ABC):
    """A loss of the residual ``z - y``, for regression on one target."""

    of_residuals: ClassVar[bool] = True
    n_scores: ClassVar[int] = 1
    targets: ClassVar[str] = "finite numbers"

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return np.isfinite(y)


class _OfTwoClasses(Loss, ABC):
    """A loss of one score for two classes, 0 and 1."""

    n_scores: ClassVar[int] = 1
    targets: ClassVar[str] = "0 or 1"

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y == 0) | (y == 1)


class _OfClasses(Loss, ABC):
    """A loss of one score for each of K classes, numbered from 0.

    Attributes
    ----------
    n_classes : int
        Number of classes K, at least 2.
    """

    n_classes: int

    @property
    @final
    def n_scores(self) -> int:
        """One score a class."""
        return self.n_classes

    @property
    @final
    def targets(self) -> str:
        """The valid targets in words."""
        return f"integers from 0 to {self.n_classes - 1}"

    @final
    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y >= 0) & (y < self.n_classes) & (np.floor(y) == y)


def _check_several(loss: Loss, name: str, advice: str) -> None:
    """Refuse a number of classes or targets that is none, or less than 2."""
    number = getattr(loss, name)
    check_numbers(type(loss).__name__, Integral, **{name: number})
    if not number >= 2:
        raise ValueError(
            f"{type(loss).__name__} needs {name} of at least 2, got {number}; {advice}."
        )


def _check_width(loss: Loss, name: str, without: str) -> None:
    """Refuse a width that is out of range; ``without`` names the loss that has none."""
    settle_numbers(loss)
    width = getattr(loss, name)
    if not _LEAST <= width <= _LARGEST:
        raise ValueError(
            f"{type(loss).__name__} needs a {name} between {_LEAST} and {_LARGEST}, got {width}; "
            f"use {without}."
        )


@dataclass(frozen=True)
class Squared(_OfResiduals):
    """``(z - y)^2 / 2`` with any finite y.

    The derivative ``z - y`` is unbounded, so ``lipschitz`` is infinite: a private gradient has to
    clip it, which makes this Huber's loss. The second derivative is 1.
    """

    squared: ClassVar[bool] = True
    lipschitz: ClassVar[float] = inf
    smoothness: ClassVar[float] = 1.0
    convex: ClassVar[bool] = True

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Half the squared residual; inf where it exceeds the largest float."""
        with np.errstate(over="ignore"):
            return 0.5 * np.square(z - y)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Residual ``z - y``."""
        return z - y


@dataclass(frozen=True)
class Huber(_OfResiduals):
    """``r^2 / 2`` if ``|r| <= delta``, else ``delta (|r| - delta / 2)``, with ``r = z - y``.

    The derivative is r clipped to [-delta, delta] (Huber 1964), so ``lipschitz`` is delta and
    ``smoothness`` is 1.
    """

    #: Residual beyond which the loss is linear, in units of y; in [1e-50, 1e50].
    delta: float = 1.0

    smoothness: ClassVar[float] = 1.0
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_width(self, "delta", "Squared for a loss that is nowhere linear")

    @property
    def lipschitz(self) -> float:
        """Slope of the linear parts, delta."""
        return self.delta

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = z - y
        c = np.clip(r, -self.delta, self.delta)
        return c * (r - 0.5 * c)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Residual, clipped to [-delta, delta]."""
        r = z - y
        return np.clip(r, -self.delta, self.delta, out=r)


@dataclass(frozen=True)
class Tukey(_OfResiduals):
    """``c^2 / 6 (1 - (1 - (r / c)^2)^3)`` if ``|r| <= c``, else ``c^2 / 6``; ``r = z - y``.

    Residuals beyond c do not count at all (Beaton and Tukey 1974), which makes the loss robust
    against any number of wild targets below one half, and not convex: where the start gives most
    rows a residual beyond c, nothing is learned from them.

    With ``u = r / c`` the derivative is ``r (1 - u^2)^2``, and its derivative in r is
    ``(1 - u^2) (1 - 5 u^2)``.

    - ``lipschitz`` is ``16 c / (25 sqrt(5))``, about 0.286 c, attained where that vanishes inside:
      at ``u = 1 / sqrt(5)``.
    - ``smoothness`` is 1, attained at r = 0: as a function of ``u^2`` in [0, 1] the second
      derivative is a parabola that starts at 1, ends at 0 and is lowest at 3/5, with -4/5.
    """

    #: Residual c from which the loss is constant, in units of y; in [1e-50, 1e50]. Estimators bring
    #: targets to [-1, 1] first, so with them the unit is half the width of the bounds.
    width: float = 1.0

    smoothness: ClassVar[float] = 1.0
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_width(self, "width", "Squared for a loss that is nowhere constant")

    @property
    def lipschitz(self) -> float:
        """Largest slope, that of a residual of width / sqrt(5)."""
        return 16.0 * self.width / (25.0 * sqrt(5.0))

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = np.clip(z - y, -self.width, self.width)
        square = np.square(r / self.width)
        # c^2 (1 - (1 - u^2)^3), multiplied out because 1 - (1 - u^2) would cancel.
        return np.square(r) * (3.0 + square * (square - 3.0)) / 6.0

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Residual, weighed down to 0 at the width and beyond."""
        r = z - y
        np.clip(r, -self.width, self.width, out=r)
        weight = np.square(r / self.width)
        np.subtract(1.0, weight, out=weight)
        np.square(weight, out=weight)
        r *= weight
        return r


@dataclass(frozen=True)
class Pinball(_OfResiduals):
    r"""``sum_k max(q_k r_k, (q_k - 1) r_k)`` with ``r_k = y - z_k``: one score for each quantile.

    Its mean is least where score k is the conditional q_k-quantile of the target (Koenker and
    Bassett 1978). The derivative in ``z_k`` is ``[y < z_k] - q_k``, of one size on each side of the
    target and bounded whatever the target; at the target itself it is one of the subgradients. It
    jumps there, so ``smoothness`` is infinite.

    - ``lipschitz`` is ``sqrt(sum_k max(q_k, 1 - q_k)^2)``, attained where the scores of high
      quantiles are below the target and those of low ones above it.
    - Scores in the order of their quantiles cannot lie so. If j of them, the lowest, are at most
      the target, the square of the norm is ``sum_{k <= j} q_k^2 + sum_{k > j} (1 - q_k)^2``, whose
      largest value over j is the square of ``weighed_from``. As j grows by one it changes by
      ``2 q_j - 1``, which increases in j, so the largest is at an end:
      ``max(sum_k q_k^2, sum_k (1 - q_k)^2)``. For (.1, .5, .9) it is 1.07, and that of all scores
      1.87.

    A bound multiplies the derivatives of a row by a weight in which its target has no part, so that
    what is fitted are the quantiles of weighted rows; only rows whose scores cross may be shortened
    further.
    """

    #: The quantiles, in (0, 1), increasing.
    quantiles: tuple[float, ...] = (0.5,)

    smoothness: ClassVar[float] = inf
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        found = numbers_in(self.quantiles)
        sound = found is not None and found.ndim == 1 and found.size
        quantiles = tuple(found.tolist()) if found is not None and sound else ()
        if not (quantiles and all(a < b for a, b in pairwise((0.0, *quantiles, 1.0)))):
            raise ValueError(
                "Pinball needs one or more quantiles between 0 and 1, in increasing order, got "
                f"{shown(self.quantiles)}; (0.1, 0.5, 0.9) are three."
            )
        object.__setattr__(self, "quantiles", quantiles)

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        """One score a quantile."""
        return len(self.quantiles)

    @property
    def lipschitz(self) -> float:
        """Norm for scores that cross as far as they can."""
        return sqrt(sum(max(q, 1 - q) ** 2 for q in self.quantiles))

    @property
    def weighed_from(self) -> float:  # type: ignore[override]
        """Largest norm for scores in the order of their quantiles."""
        return sqrt(
            max(sum(q**2 for q in self.quantiles), sum((1 - q) ** 2 for q in self.quantiles))
        )

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Sum of the losses of all quantiles."""
        q = np.array(self.quantiles)
        r = y[:, None] - z.reshape(len(y), self.n_scores)
        with np.errstate(over="ignore"):
            return np.maximum(q * r, (q - 1.0) * r).sum(axis=1)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """1 where the score exceeds the target, less the quantile."""
        above = y[:, None] < z.reshape(len(y), self.n_scores)
        return (above - np.array(self.quantiles)).reshape(z.shape)


@dataclass(frozen=True)
class Logistic(_OfTwoClasses):
    """``log(1 + e^z) - y z`` with y in {0, 1}: minus the log-likelihood of a logit model.

    The derivative ``s(z) - y``, s being the logistic function, lies in (-1, 1) and comes
    arbitrarily close to both ends, so ``lipschitz`` is 1. The second derivative ``s (1 - s)`` is
    largest at z = 0, so ``smoothness`` is 1/4.
    """

    family: ClassVar[str] = "logistic"
    log_odds: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = 0.25
    convex: ClassVar[bool] = True

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Loss of each row, to full relative precision for confident scores too."""
        # max(z, 0) - y z has no cancellation for y in {0, 1}, unlike log(1 + e^z) - y z.
        return np.maximum(z, 0.0) - y * z + np.log1p(np.exp(-np.abs(z)))

    def mean(self, z: np.ndarray) -> np.ndarray:
        """Probability of class 1."""
        return np.asarray(expit(z))

    def curvature(self, z: np.ndarray) -> np.ndarray:
        """Second derivative, whatever the target: the product of both probabilities."""
        p = expit(z)
        return np.asarray(p * (1.0 - p))

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Probability of class 1 minus the target."""
        d = _probability(z)
        d -= y
        return d

    def worst_derivative(self, z: np.ndarray) -> np.ndarray:
        """Probability of the more likely class."""
        return _probability(np.abs(z))

    def _derivative_and_worst(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = _probability(z)
        worst = np.subtract(1.0, p)
        np.maximum(p, worst, out=worst)
        p -= y
        return p, worst


def _probability(z: np.ndarray) -> np.ndarray:
    """``1 / (1 + e^-z)``, a fresh array; half as fast by scipy."""
    p = np.negative(z, dtype=np.float64)
    with np.errstate(over="ignore"):
        np.exp(p, out=p)
    p += 1.0
    return np.divide(1.0, p, out=p)


@dataclass(frozen=True)
class Poisson(Loss):
    r"""``e^z - y z`` for z up to 0, and ``1 + z - y z`` beyond, with y in [0, 1].

    Up to a term in y, minus the log-likelihood of a Poisson model with a log link, for targets in
    units of a cap on them and scores that are logarithms of means in those units
    (:class:`~skdp.problem.bounds.CountBounds`). The mean is capped like the targets,
    ``m(z) = min(e^z, 1)``, and the derivative is ``m(z) - y``. Where no mean exceeds the cap that
    is the model as it is.

    - ``lipschitz`` is 1: mean and target are in [0, 1]. It is attained for y = 0 and z >= 0.
    - ``smoothness`` is 1: the second derivative is ``e^z`` below 0 and 0 above; the first does not
      jump there.
    - It is convex, as the mean never falls.
    """

    family: ClassVar[str] = "counts"
    log_means: ClassVar[bool] = True
    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = 1.0
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "numbers from 0 to 1"

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y >= 0) & (y <= 1)

    def mean(self, z: np.ndarray) -> np.ndarray:
        """Mean of the targets at a score, at most 1."""
        return np.asarray(np.exp(np.minimum(z, 0.0)))

    def curvature(self, z: np.ndarray) -> np.ndarray:
        """Second derivative, whatever the target: the mean, and 0 where that is capped."""
        return np.where(z < 0, self.mean(z), 0.0)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.mean(z) + np.maximum(z, 0.0) - y * z

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Mean minus the target."""
        d = self.mean(z)
        d -= y
        return d

    def worst_derivative(self, z: np.ndarray) -> np.ndarray:
        """Distance of the mean from the further end of the targets."""
        m = self.mean(z)
        return np.asarray(np.maximum(m, 1.0 - m))


@dataclass(frozen=True)
class Hinge(_OfTwoClasses):
    """``max(0, 1 - s z)`` with y in {0, 1} and the sign ``s = 2 y - 1``.

    Rows on the right side of the margin, ``s z >= 1``, count for nothing; all others have the
    derivative ``-s``, so ``lipschitz`` is 1 and attained. At ``s z = 1`` there is no derivative,
    and 0 is returned, which is a subgradient. The derivative jumps there, so ``smoothness`` is
    infinite.

    As the derivative has one size only, clipping it to less than 1 scales the loss and changes
    nothing else.
    """

    family: ClassVar[str] = "hinge"
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = inf
    convex: ClassVar[bool] = True

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Distance of the score below the margin, 0 beyond it."""
        return np.maximum(0.0, 1.0 + (1.0 - 2.0 * y) * z)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Minus the sign within the margin, else 0."""
        d = 1.0 - 2.0 * y
        d *= d * z > -1.0
        return d


@dataclass(frozen=True)
class HuberisedHinge(_OfTwoClasses):
    """The hinge loss, quadratic where the margin ``s z`` is within ``width`` of 1.

    With y in {0, 1}, the sign ``s = 2 y - 1`` and h the width, the loss is 0 for ``s z > 1 + h``,
    ``1 - s z`` for ``s z < 1 - h``, and ``(1 + h - s z)^2 / (4 h)`` in between (Chapelle 2007;
    Chaudhuri, Monteleoni and Sarwate 2011).

    Its derivative, ``-s [(1 + h - s z) / (2 h)]`` with the bracket clipped to [0, 1], is
    continuous. It attains -1 and 1, so ``lipschitz`` is 1; in between its slope is 1 / (2 h),
    which is ``smoothness``. The loss exceeds the hinge loss by at most h / 4, at ``s z = 1``.
    """

    #: Half the length h of the quadratic part, in units of the margin; in [1e-50, 1e50].
    width: float = 0.5

    family: ClassVar[str] = "hinge"
    lipschitz: ClassVar[float] = 1.0
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_width(self, "width", "Hinge for a loss without a quadratic part")

    @property
    def smoothness(self) -> float:
        """Slope of the derivative in the quadratic part, 1 / (2 width)."""
        return 0.5 / self.width

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        away = 1.0 + self.width + (1.0 - 2.0 * y) * z
        curved = np.clip(away, 0.0, 2.0 * self.width)
        return curved / (2.0 * self.width) * (away - 0.5 * curved)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Minus the sign within the margin, and less and less around its edge."""
        d = 1.0 - 2.0 * y
        away = d * z
        away += 1.0 + self.width
        np.clip(away, 0.0, 2.0 * self.width, out=away)
        away /= 2.0 * self.width
        d *= away
        return d

    def worst_derivative(self, z: np.ndarray) -> np.ndarray:
        """Size for the class whose margin is further away; 1 unless the parabola is wide."""
        return np.minimum(1.0, (1.0 + self.width + np.abs(z)) / (2.0 * self.width))


# Twice this is the largest float.
_FARTHEST = float(np.finfo(np.float64).max) / 2


@dataclass(frozen=True)
class SquaredHinge(_OfTwoClasses):
    """``max(0, 1 - s z)^2`` with y in {0, 1} and the sign ``s = 2 y - 1``.

    The derivative ``-2 s max(0, 1 - s z)`` is continuous and unbounded, so ``lipschitz`` is
    infinite: a private gradient has to clip it. Clipped to c it is that of a loss that is squared
    for ``1 - c / 2 <= s z <= 1`` and linear beyond (Rosset and Zhu 2007): for small c about the
    hinge loss times c. The second derivative is 2 within the margin and 0 elsewhere, so
    ``smoothness`` is 2.
    """

    family: ClassVar[str] = "squared_hinge"
    lipschitz: ClassVar[float] = inf
    smoothness: ClassVar[float] = 2.0
    convex: ClassVar[bool] = True

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Squared distance from the margin; inf where it exceeds the largest float."""
        with np.errstate(over="ignore"):
            return np.square(np.maximum(0.0, 1.0 + (1.0 - 2.0 * y) * z))

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Twice the distance from the margin, with the sign that leads away from it."""
        d = 1.0 - 2.0 * y
        away = d * z
        away += 1.0
        np.clip(away, 0.0, _FARTHEST, out=away)
        d *= away
        d *= 2.0
        return d

    def worst_derivative(self, z: np.ndarray) -> np.ndarray:
        """Twice the distance from the further of the two margins."""
        return np.asarray(2.0 * np.minimum(1.0 + np.abs(z), _FARTHEST))


@dataclass(frozen=True)
class Sigmoid(_OfTwoClasses):
    """``1 / (1 + e^(s z))`` with y in {0, 1} and the sign ``s = 2 y - 1``.

    The probability that a logit model gives to the wrong class: a smooth stand-in for the share of
    errors, in (0, 1). Rows that are far on the wrong side count as lost and no longer pull, which
    makes wrong labels harmless; it also means that a minimum found need not be the lowest.

    With ``q = 1 / (1 + e^(s z))`` the derivative is ``-s q (1 - q)``, largest for z = 0, so
    ``lipschitz`` is 1/4. The second derivative is ``q (1 - q) (1 - 2 q)``. Its derivative in q,
    ``1 - 6 q + 6 q^2``, vanishes at ``q = (1 ± 1 / sqrt(3)) / 2``, where ``q (1 - q) = 1/6``, so
    ``smoothness`` is ``1 / (6 sqrt(3))``.
    """

    family: ClassVar[str] = "logistic"
    lipschitz: ClassVar[float] = 0.25
    smoothness: ClassVar[float] = 1.0 / (6.0 * sqrt(3.0))
    convex: ClassVar[bool] = False

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Probability of the wrong class."""
        return expit((1.0 - 2.0 * y) * z)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Product of both probabilities, with the sign of the wrong class."""
        d = 1.0 - 2.0 * y
        d *= expit(z)
        d *= expit(-z)
        return d

    def worst_derivative(self, z: np.ndarray) -> np.ndarray:
        """Product of both probabilities, which is the size for either class."""
        return np.asarray(expit(z) * expit(-z))


@dataclass(frozen=True)
class Softmax(_OfClasses):
    """``log(sum_k e^(z_k)) - z_y`` with y in {0, ..., K - 1}, also known as cross-entropy.

    With ``p = softmax(z)`` the derivative is ``p - e_y``, where e_y is the y-th unit vector, and
    the Hessian is ``H = diag(p) - p p^T``.

    - ``lipschitz`` is sqrt(2): ``||p - e_y||^2 = (1 - p_y)^2 + sum_{k != y} p_k^2`` is at most
      ``2 (1 - p_y)^2 < 2``, because the other probabilities sum to ``1 - p_y``. It is approached
      when all mass goes to one wrong class.
    - ``smoothness`` is 1/2: ``v^T H v`` is the variance of v_k when k is drawn from p, which is
      at most ``(max v - min v)^2 / 4`` (Popoviciu 1935) and so at most ``||v||^2 / 2``. It is
      attained by v = (1, -1, 0, ...) when two classes share all mass equally.
    """

    #: Number of classes K, at least 2.
    n_classes: int

    family: ClassVar[str] = "logistic"
    log_odds: ClassVar[bool] = True
    lipschitz: ClassVar[float] = sqrt(2.0)
    smoothness: ClassVar[float] = 0.5
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_several(self, "n_classes", "name every class that could occur")

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Minus the log-probability of the target class."""
        s, m = _scores_below_the_largest(z), len(z)
        with np.errstate(over="ignore"):
            return np.log(np.exp(s).sum(axis=0))[:m] - s[self._classes(y), np.arange(m)]

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Class probabilities, minus 1 at the target class."""
        p, m = _probabilities(z), len(z)
        p[self._classes(y), np.arange(m)] -= 1.0
        return p.T[:m]

    def worst_derivative(self, z: np.ndarray) -> np.ndarray:
        """Norm for the least likely class, ``sqrt(||p||^2 - 2 min(p) + 1)``."""
        return _longest_residual(_probabilities(z))[: len(z)]

    def _derivative_and_worst(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, m = _probabilities(z), len(z)
        worst = _longest_residual(p)
        p[self._classes(y), np.arange(m)] -= 1.0
        return p.T[:m], worst[:m]

    def _classes(self, y: np.ndarray) -> np.ndarray:
        """Targets as indices of classes; others count as a class, and stop nobody with an error."""
        with np.errstate(invalid="ignore"):
            return np.clip(y.astype(np.intp), 0, self.n_classes - 1)


def _scores_below_the_largest(z: np.ndarray) -> np.ndarray:
    """``z - max_k z_k`` as (K, m): along its short axis an array is slow to reduce.

    A single row is there twice: numpy would add up its entries in another order than those of many.
    """
    s = np.array((np.repeat(z, 2, axis=0) if len(z) == 1 else z).T, order="C")
    # Two finite scores may be further apart than the largest float; -inf serves as well.
    with np.errstate(over="ignore"):
        s -= s.max(axis=0)
    return s


def _probabilities(z: np.ndarray) -> np.ndarray:
    """Softmax of scores (m, K) as (K, m), a single row twice."""
    p = _scores_below_the_largest(z)
    np.exp(p, out=p)
    p *= 1.0 / p.sum(axis=0)
    return p


def _longest_residual(p: np.ndarray) -> np.ndarray:
    """Norm of ``p - e_y`` for the class y where it is largest, of probabilities (K, m)."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", p, p) - 2.0 * p.min(axis=0) + 1.0))


class _SumOfLosses(Loss, ABC):
    """Sum of an inner loss over the scores of a row, several of them.

    The derivative in a score is that of the inner loss, and the Hessian is diagonal. All
    derivatives can be at the bound of the inner loss at once: each depends on a score of its own.

    Attributes
    ----------
    loss : Loss
        Inner loss, with one score a row.
    """

    loss: Loss

    @property
    @final
    def lipschitz(self) -> float:
        """Lipschitz constant of the inner loss times the root of the number of scores."""
        return sqrt(self.n_scores) * self.loss.lipschitz

    @property
    @final
    def smoothness(self) -> float:
        """Smoothness of the inner loss."""
        return self.loss.smoothness

    @property
    @final
    def convex(self) -> bool:
        """True if the inner loss is convex."""
        return self.loss.convex

    @abstractmethod
    def _inner_targets(self, y: np.ndarray) -> np.ndarray:
        """Targets of the inner loss for all scores of all rows, in row order."""

    @final
    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Sum of the losses of all scores."""
        with np.errstate(over="ignore"):
            values = self.loss.value(self._inner_targets(y), z.ravel())
            return np.asarray(values).reshape(z.shape).sum(axis=1)

    @final
    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each score."""
        found = self.loss.derivative(self._inner_targets(y), z.ravel())
        return np.asarray(found).reshape(z.shape)


@dataclass(frozen=True)
class MultiTarget(_SumOfLosses, _OfResiduals):
    """``sum_k loss(y_k, z_k)`` with a vector of targets a row: t regressions on the same rows.

    The t models share nothing but their rows, so one row moves all of them, and the gradients of a
    row, the outer product of its t derivatives and its features, are clipped together.
    """

    #: Inner loss, of residuals, with one score a row.
    loss: Loss
    #: Number of targets t, at least 2.
    n_targets: int

    vector_targets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_several(self, "n_targets", "one target needs its loss alone")
        if not (getattr(self.loss, "n_scores", None) == 1 and self.loss.of_residuals):
            raise ValueError(
                "MultiTarget needs a loss of residuals with one score a row, got "
                f"{type(self.loss).__name__}; pass one such as Squared() or Huber()."
            )

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        """One score a target."""
        return self.n_targets

    @property
    def squared(self) -> bool:  # type: ignore[override]
        """True if the inner loss is half the square of the residual."""
        return self.loss.squared

    def _inner_targets(self, y: np.ndarray) -> np.ndarray:
        return y.ravel()


@dataclass(frozen=True)
class OneVsRest(_SumOfLosses, _OfClasses):
    """``sum_k loss(1[y = k], z_k)`` with y in {0, ..., K - 1}: K losses of a row.

    Each class has a score of its own and a loss for two classes that asks for this class or
    another. The K models share nothing but their rows, so one row moves all of them, and the
    gradients of a row are clipped together.

    ``lipschitz`` is attained for an inner loss that treats its two classes alike, as all margin
    losses do; it is an upper bound for any other.
    """

    #: Inner loss, with one score a row and targets 0 and 1.
    loss: Loss
    #: Number of classes K, at least 2.
    n_classes: int

    def __post_init__(self) -> None:
        _check_several(self, "n_classes", "name every class that could occur")
        if getattr(self.loss, "n_scores", None) != 1:
            raise ValueError(
                "OneVsRest needs a loss with one score a row, got "
                f"{type(self.loss).__name__}; pass one such as Hinge() or Logistic()."
            )
        self.loss.check_targets(np.array([0.0, 1.0]))

    @property
    def family(self) -> str:  # type: ignore[override]
        """Family of the inner loss."""
        return self.loss.family

    def worst_derivative(self, z: np.ndarray) -> np.ndarray:
        """Norm for the class whose own derivative exceeds that among the rest by most."""
        scores = z.ravel()
        own, rest = (
            np.square(self.loss.derivative(np.full(z.size, y), scores)).reshape(z.shape)
            for y in (1.0, 0.0)
        )
        return np.asarray(np.sqrt(rest.sum(axis=1) + (own - rest).max(axis=1)))

    def _inner_targets(self, y: np.ndarray) -> np.ndarray:
        """Membership of row i in class k, as 0 or 1, for all pairs (i, k) in row order."""
        return (y[:, None] == np.arange(self.n_classes)).ravel().astype(np.float64)


@dataclass(frozen=True)
class Hazard(Loss):
    r"""Loss of a time to an event in periods, with the complementary log-log link.

    The hazard of period j at score z is ``1 - exp(-h_j e^z)`` with a public baseline h, so that z
    is the log of a hazard ratio as in a grouped Cox model, and ``S_j = exp(-H_j e^z)``, with
    ``H_j = h_1 + ... + h_j``, is the probability of no event up to the end of period j. A target is
    the time of an event in period k, whose derivative is ``1 - S_{k-1} - S_k``, or minus the time
    at which somebody was last seen without one: at the end of period k the derivative is
    ``1 - S_k``, and between ends it is linear in time. All later times count as the last end.

    This is the score of the model, each period of it weighed by the probability to be without an
    event at a point within it: that of Peto and Peto's generalised Wilcoxon test. Its mean is zero
    if the model holds, whatever the features and the censoring; the weight makes it bounded, where
    the score of the model itself grows without bound with ``e^z``.

    ``lipschitz`` is 1, approached for long survival at a high risk. The second derivative is
    ``x e^-x`` at ``x = H_k e^z``, plus the same at ``H_{k-1} e^z`` for an event, so that
    ``smoothness`` is ``2 / e``, approached for an event in a short period at the end of a long
    time.

    References
    ----------
    Prentice and Gloeckler (1978), grouped Cox model; Peto and Peto (1972).
    """

    #: Ends t_1 < ... < t_K of the periods, positive; the first begins at 0.
    times: tuple[float, ...]
    #: Baseline h of each period, positive: the integral over it of the hazard at score 0.
    hazards: tuple[float, ...]

    of_times: ClassVar[bool] = True
    family: ClassVar[str] = "logistic"
    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = 2.0 * exp(-1.0)
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "finite: the time of an event, or minus the time of the last sight"

    def __post_init__(self) -> None:
        t, h = numbers_in(self.times), numbers_in(self.hazards)
        sound = t is not None and h is not None and t.ndim == 1 and t.shape == h.shape and t.size
        if (
            t is None
            or h is None
            or not (sound and np.all(np.diff(t, prepend=0.0) > 0) and np.isfinite(t[-1]))
        ):
            raise ValueError(
                "Hazard needs the ends of periods, positive, finite and increasing, and as many "
                f"hazards, got {shown(self.times)} and {shown(self.hazards)}."
            )
        if not np.all((h >= _LEAST) & (h <= _LARGEST)):
            raise ValueError(
                f"Hazard needs hazards between {_LEAST} and {_LARGEST}, got {shown(self.hazards)}."
            )

    @property
    def trend(self) -> np.ndarray:
        """Places of the periods from -1 to 1, shape (K,): the shape of :meth:`tilted`."""
        K = len(self.times)
        return np.linspace(-1.0, 1.0, K) if K > 1 else np.zeros(1)

    def tilted(self, slope: float) -> Hazard:
        """The loss with hazards that rise by a factor ``e^slope`` at the end and fall at the start.

        Parameters
        ----------
        slope : float
            Log of the factor; held to where hazards are numbers.
        """
        h = np.array(self.hazards) * np.exp(np.clip(slope, -50.0, 50.0) * self.trend)
        return replace(self, hazards=tuple(np.clip(h, _LEAST, _LARGEST).tolist()))

    def survival(self, z: np.ndarray) -> np.ndarray:
        """Probabilities of no event up to the ends of the periods, shape (m, K)."""
        with np.errstate(over="ignore"):
            return np.exp(-np.exp(z)[:, None] * np.cumsum(self.hazards))

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Integral of the derivative; linear in z far from zero."""
        part, event, before, after = self._placed(y)
        event_value = _rising(before, z) + _falling(after, z)
        seen = (1.0 - part) * _rising(before, z) + part * _rising(after, z)
        return np.where(event, event_value, seen)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Score of the row, weighed by survival, with the sign of a loss; in (-1, 1)."""
        part, event, before, after = self._placed(y)
        with np.errstate(over="ignore", invalid="ignore"):
            risk = np.exp(z)
            gone = np.where(before > 0, -np.expm1(-before * risk), 0.0)
            left = np.exp(-after * risk)
            return np.where(event, gone - left, gone + part * (1.0 - gone - left))

    def worst_derivative(self, z: np.ndarray) -> np.ndarray:
        """Size for an event in the first period, or for none in all of them."""
        left = self.survival(z)
        return np.maximum(left[:, 0], 1.0 - left[:, -1])

    def by_period(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minus the derivative and its expected slope, by periods, each of shape (m, K).

        The first sums to minus the derivative. The second is at most ``h_j e^z S_j`` and sums to
        less than 1.
        """
        (m,), K = z.shape, len(self.times)
        place, part, event = self._periods(y)
        under = np.where(np.arange(K) < place[:, None], 1.0, 0.0)
        under[np.arange(m), place] = part
        S = np.column_stack([np.ones(m), self.survival(z)])
        score = under * (S[:, 1:] - S[:, :-1])
        score[event, place[event]] = S[event, place[event] + 1]
        return score, under * self.slopes(z)

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """Expected slopes of the derivative in the periods of who is there to the end, (m, K)."""
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = np.exp(z)[:, None] * np.array(self.hazards) * self.survival(z)
        # Infinite risk and no survival.
        slopes[np.isnan(slopes)] = 0.0
        return slopes

    def _periods(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Last period of each row, the part of it that the row was there, and who has an event."""
        ends, t = np.array(self.times), np.abs(y)
        place = np.searchsorted(ends, t)
        late = place == len(ends)
        place[late] -= 1
        starts = np.concatenate([[0.0], ends[:-1]])
        event = ~(np.signbit(y) | late)
        part = (np.fmin(t, ends[-1]) - starts[place]) / (ends - starts)[place]
        return place, np.where(event, 1.0, part), event

    def _placed(self, y: np.ndarray) -> tuple[np.ndarray, ...]:
        """Part of the last period, events, and cumulated hazards before and after that period."""
        place, part, event = self._periods(y)
        H = np.concatenate([[0.0], np.cumsum(self.hazards)])
        return part, event, H[place], H[place + 1]

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return np.isfinite(y)


def _falling(hazard: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Exponential integral ``E_1(H e^z)``, whose derivative in z is ``-exp(-H e^z)``."""
    log_x = np.log(hazard) + z
    with np.errstate(over="ignore"):
        x = np.exp(log_x)
    return np.where(log_x < _TINY_LOG, -np.euler_gamma - log_x + x, exp1(np.maximum(x, _TINY)))


def _rising(hazard: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Integral ``E_1(x) + log x + gamma`` with ``x = H e^z``, 0 for H = 0."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_x = np.log(hazard) + z
        x = np.exp(log_x)
        large = exp1(np.maximum(x, _TINY)) + log_x + np.euler_gamma
        small = x - np.square(x) / 4
    return np.where(log_x < _SMALL_LOG, small, large)
