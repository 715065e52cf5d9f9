"""The learning problem without its rows: loss, penalty, constraint and public bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, isinf, sqrt

import numpy as np

from .bounds import RowBounds
from .constraints import Constraint, Unconstrained
from .losses import Loss
from .penalties import NoPenalty, Penalty
from .sites import Sites

# Largest class weights within this range leave products of weights and norms in double precision.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-50, 1e50
# Sparse rows with more than these are taken for text.
_FEW_FEATURES = 1000
# So that no row is shortened by rounding.
_LONGER = 1 + 1e-9


@dataclass(frozen=True)
class Problem:
    """Minimise ``1/n sum_i v_i c_i loss(y_i, <w, x~_i>) + penalty(w')`` over a feasible set.

    ``x~ = [x, intercept_value]`` with ``||x|| <= data_norm``; ``w'`` is w without the intercept
    row, which is neither penalised nor constrained. ``c_i`` is the public weight of the class of
    row i. ``v_i``, in [0, 1], is the weight of the row itself, which is as secret as the row and
    lies with it; n is the number of rows or, if they are weighted, what they weigh together as far
    as that is public. Whoever holds a problem holds no data: all of it is public content, and
    sensitivities are derived from it.

    Parameters
    ----------
    loss : Loss
        Pointwise loss.
    n_samples : int
        Number of rows n that sums are divided by.
    n_features : int
        Number of features d.
    bounds : RowBounds
        What rows and targets are brought to, and the value of the constant column.
    class_weight : tuple of float, optional
        Weight of each encoded class, two for a loss with one score a row and otherwise one a
        score; finite and non-negative, the largest between 1e-50 and 1e50.
    sparse : bool, default=False
        Whether the rows are stored sparsely.
    whole_units : bool, default=False
        Whether rows are those of privacy units and lie where the mean gradient of each unit can be
        clipped, in place of those of its rows.
    penalty : Penalty, default=NoPenalty()
        Penalty.
    constraint : Constraint, default=Unconstrained()
        Feasible set.
    initial : ndarray, optional
        Where solvers start, in the shape of w: public, for example an earlier solution that was
        released. None starts at a point that depends on nothing but shapes.
    sites : Sites, optional
        Which rows lie at which site, if they do not lie all together.
    actual_rows : int, optional
        Number of rows, if it is not n because they are weighted.
    class_shares : tuple of float, optional
        Released frequencies of the classes, which sum to 1.

    Raises
    ------
    ValueError
        If there is no row or no feature, or if the class weights or the initial point are not as
        above.
    """

    loss: Loss
    n_samples: int
    n_features: int
    bounds: RowBounds
    class_weight: tuple[float, ...] | None = None
    sparse: bool = False
    whole_units: bool = False
    penalty: Penalty = field(default_factory=NoPenalty)
    constraint: Constraint = field(default_factory=Unconstrained)
    # Where one starts is not part of what is to be solved.
    initial: np.ndarray | None = field(default=None, compare=False)
    sites: Sites | None = None
    actual_rows: int | None = None
    class_shares: tuple[float, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("n_samples", "n_features"):
            number = getattr(self, name)
            if not (isinstance(number, int | np.integer) and number >= 1):
                raise ValueError(
                    f"Problem needs a whole number of at least 1 as {name}, got {number!r}; "
                    "pass the shape of the data."
                )
        if self.class_weight is not None:
            object.__setattr__(self, "class_weight", self._checked(self.class_weight))
        if self.initial is not None and self.initial.shape != self.shape:
            raise ValueError(
                f"Problem needs an initial point of shape {self.shape}, got {self.initial.shape}."
            )

    def _checked(self, class_weight: tuple[float, ...]) -> tuple[float, ...]:
        weights = tuple(float(c) for c in class_weight)
        n_classes = max(2, self.loss.n_scores)
        if len(weights) != n_classes:
            raise ValueError(
                f"Problem needs {n_classes} class weights for {type(self.loss).__name__}, got "
                f"{len(weights)}; give each class a weight."
            )
        sound = all(isfinite(c) and c >= 0 for c in weights)
        if not (sound and _LEAST_WEIGHT <= max(weights) <= _LARGEST_WEIGHT):
            raise ValueError(
                "Problem needs finite non-negative class weights, the largest between "
                f"{_LEAST_WEIGHT} and {_LARGEST_WEIGHT}, got {weights}; rescale them."
            )
        return weights

    # Facts that every query asks for are found once.

    @cached_property
    def n_actual(self) -> int:
        """Number of rows, whatever they weigh."""
        return self.n_samples if self.actual_rows is None else self.actual_rows

    @cached_property
    def row_norm(self) -> float:
        """Bound on the l2 norm of a row with its intercept entry."""
        return self.bounds.row_norm

    @cached_property
    def n_rows(self) -> int:
        """Rows of w: the features and, if there is one, the intercept (last)."""
        return self.n_features + (self.bounds.intercept_value != 0)

    def penalty_hessian(self) -> np.ndarray:
        """Hessian of a quadratic penalty, (p, p); zero for the intercept."""
        hessian, root = np.zeros((self.n_rows, self.n_rows)), np.asarray(self.penalty.root)
        d = self.n_features
        if root.ndim == 2:
            hessian[:d, :d] = root.T @ root
        else:
            np.fill_diagonal(hessian[:d, :d], np.square(root))
        return hessian

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of w: (p,), or (p, K) if the loss takes K scores a row."""
        k = self.loss.n_scores
        return (self.n_rows,) if k == 1 else (self.n_rows, k)

    @property
    def n_parameters(self) -> int:
        """Number of entries of w."""
        return self.n_rows * self.loss.n_scores

    def evidence_for_each(self, mu: float) -> float:
        """Number of rows times mu, for each coefficient that is to be learned.

        Of several targets, which are fitted together, each counts by its root, as clips do.

        Parameters
        ----------
        mu : float
            Gaussian-DP parameter of a budget.
        """
        return self.n_samples * mu / (self.n_rows * sqrt(self.loss.n_scores))

    @cached_property
    def max_weight(self) -> float:
        """Largest weight of a row."""
        return max(self.class_weight) if self.class_weight else 1.0

    @cached_property
    def lipschitz(self) -> float:
        """Bound on the norm of one row's gradient (G; L0 in Menart et al.); may be infinite."""
        return self.loss.lipschitz * self.row_norm * self.max_weight

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of one row's gradient (L; L1 in Menart et al.); may be infinite."""
        return self.loss.smoothness * self.row_norm**2 * self.max_weight

    def kept_by(self, clip: float) -> float:
        """Share of itself, about, to which a clip of bounded derivatives shrinks the loss.

        A penalty is scaled down alike, so that the balance of the two stays.

        Parameters
        ----------
        clip : float
            Bound on the derivative of the loss, at most its Lipschitz constant.
        """
        return 1.0 if isinf(self.loss.lipschitz) else clip / self.loss.lipschitz

    @property
    def wide(self) -> bool:
        """True if rows are sparse with more than a thousand features, as those of text are."""
        return self.sparse and self.n_features > _FEW_FEATURES

    @property
    def tied_to_coordinates(self) -> bool:
        """True if penalty or constraint mean something in the user's coordinates only."""
        return not (self.penalty.quadratic and self.constraint.whole_space)

    @property
    def strong_convexity(self) -> float:
        """Strong convexity of the penalty; the loss is not counted upon."""
        return self.penalty.strong_convexity

    @property
    def diameter(self) -> float:
        """Diameter of the feasible set in l2, over the entries that are constrained."""
        return self.constraint.diameter(self.n_features * self.loss.n_scores)

    def in_user_coordinates(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the features as they came, and the intercept, of a solution w.

        Parameters
        ----------
        w : ndarray of shape (p, K), or (p,)
            A solution.

        Returns
        -------
        coef : ndarray of shape (d, K)
            Coefficients.
        intercept : ndarray of shape (K,)
            Intercepts.
        """
        constant, row_map = self.bounds.intercept_value, self.bounds.row_map
        w = w.reshape(self.n_rows, -1)
        v = w[:-1] if constant else w
        intercept = constant * w[-1] if constant else np.zeros(w.shape[1])
        if row_map is not None:
            v, intercept = row_map.pull_back(v), intercept - row_map.shift @ v
        scaling = self.bounds.scaling
        return (v, intercept) if scaling is None else scaling.linear(v, intercept)

    def from_user_coordinates(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """The w that is this model: the inverse of :meth:`in_user_coordinates`.

        Parameters
        ----------
        coef : ndarray of shape (d, K)
            Coefficients of the features as they came.
        intercept : ndarray of shape (K,)
            Intercepts; left out if there is nothing in the problem to hold them.

        Returns
        -------
        ndarray
            In the shape of w. The nearest there is if the coordinates do not reach the model.
        """
        constant, row_map = self.bounds.intercept_value, self.bounds.row_map
        if self.bounds.scaling is not None:
            coef, intercept = self.bounds.scaling.scaled(coef, intercept)
        if row_map is None:
            v = coef
        elif not row_map.mixes:
            v = coef / row_map.scale[:, None]
        else:
            matrix = row_map.jacobian()
            # Without a constant column it is the shift that holds the intercept, if there is one.
            if not constant and row_map.shift.any():
                matrix = np.vstack([matrix, -row_map.shift])
                coef = np.vstack([coef, intercept])
            v = np.linalg.lstsq(matrix, coef, rcond=None)[0]
        if constant:
            shifted = 0.0 if row_map is None else row_map.shift @ v
            v = np.vstack([v, (intercept + shifted) / constant])
        return np.ascontiguousarray(v).reshape(self.shape)

    @cached_property
    def unshortened(self) -> Problem:
        """A copy with rows in other coordinates left as long as they are there.

        For solvers that clip gradients, which bounds what a row contributes by itself: a row's
        scores are then those that the published model gives it. Bounds on gradients that are not
        clipped become very large.
        """
        row_map, data_norm = self.bounds.row_map, self.bounds.data_norm
        if row_map is None:
            return self
        longest = max(row_map.norm, _LONGER * row_map.longest(data_norm))
        bounds = replace(self.bounds, row_map=replace(row_map, norm=longest))
        return replace(self, bounds=bounds)

    def by_rows(self) -> Problem:
        """A copy with sums that are divided by the number of rows, weighted or not."""
        if self.actual_rows is None:
            return self
        penalty = self.penalty.scaled(self.n_samples / self.actual_rows)
        return replace(self, n_samples=self.actual_rows, actual_rows=None, penalty=penalty)

    def of_sample(self, n_samples: int | None) -> Problem:
        """A problem of the same solution about a sample of so many rows; itself for None."""
        if n_samples is None or n_samples == self.n_samples:
            return self
        return replace(self, n_samples=n_samples)

    def start(self) -> np.ndarray:
        """A feasible w: the initial one, or one that depends on nothing but shapes."""
        if self.initial is not None:
            return self.project(self.initial)
        w = np.zeros(self.shape)
        d = self.n_features
        w[:d] = self.constraint.start(w[:d].shape)
        return w

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """argmin_v ``||v - w||^2 / 2 + step * penalty(v')``; the intercept stays."""
        out = w.copy()
        out[: self.n_features] = self.penalty.prox(w[: self.n_features], step)
        return out

    def project(self, w: np.ndarray) -> np.ndarray:
        """The nearest feasible w; the intercept stays."""
        out = w.copy()
        out[: self.n_features] = self.constraint.project(w[: self.n_features])
        return out
