"""Choices with Gumbel noise: the best features, the best vertex, and a quantile of residuals."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.losses import Loss
from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import GumbelQuery, check_targets_a_row, range_of_scores
from .gradient import point, weighted

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Best(GumbelQuery):
    """The candidates with the best scores, which are functions of a sum over the rows.

    Parameters
    ----------
    problem : Problem
        Loss, weights of the classes and public bounds.
    w : ndarray
        Where, in the shape of the problem; public.
    """

    problem: Problem
    w: np.ndarray

    @property
    def rounding(self) -> float:
        """Two scores err at a time, by entries that are clipped one by one."""
        return of_sum(self.problem.n_actual, 1.5)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact score of every candidate."""
        return self._scores(rows.bounded(self.problem.bounds).sum(self._of_block))

    @abstractmethod
    def _scores(self, total: np.ndarray) -> np.ndarray:
        """Scores, of the sum over all rows."""

    @abstractmethod
    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        """Sum over the rows of a block."""


@dataclass(frozen=True, eq=False)
class SelectionQuery(Best):
    r"""The features with the largest clipped correlation with the residuals at w.

    Feature j has the score

    .. math:: \frac{1}{n} \Bigl|\sum_i [x_{ij}]_{-b}^{b}\, [y_i - \langle w, \tilde x_i \rangle]
              _{-c}^{c} \Bigr|

    or, if ``signed``, the same without the absolute value, with each term times the weight of its
    row, in [0, 1], if rows are weighted. Rows are first scaled down to the
    bound on their norm. A small c leaves hardly more than the sign of the residuals: noise falls
    with it and the correlation of the signs stays.

    Parameters
    ----------
    problem : Problem
        Public bounds: R on the norm of rows, the feature bound b (else infinite), targets.
    w : ndarray
        Where the residuals are taken, in the shape of the problem; public.
    clip : float
        Bound c on a residual, in the units of bounded targets.
    candidates : ndarray of int
        Features to choose from; public.
    k : int
        How many to choose; all if there are fewer.
    signed : bool, default=False
        Whether only positive correlations count.

    Guarantees
    ----------
    - With ``e = min(b, R / sqrt(2))`` the difference of two scores moves by at most ``4 c e / n``
      under replace-one and ``2 c e / n`` under zero-out. Both are attained. Proof: theorem E2 of
      ``docs/proofs/choices.md``.
    - The bound holds whatever the rows, the targets and w; residuals that are not numbers count
      as zero.
    """

    name: ClassVar[str] = "selection"

    clip: float
    candidates: np.ndarray
    k: int
    signed: bool = False

    @property
    def choices(self) -> int:
        """Number of choices: as many as there are candidates, at most k."""
        return min(self.k, self.candidates.size)

    @property
    def entry(self) -> float:
        """The bound e on entries."""
        own, norm = self.problem.bounds.feature_bound, self.problem.bounds.features_norm
        return min(inf if own is None else own, norm / sqrt(2.0))

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``4 c e / n`` under replace-one; infinite beyond the range of double precision."""
        norm, n = self.problem.bounds.features_norm, self.problem.n_samples
        return range_of_scores(self.clip * self.entry, norm, n, adjacency)

    def _scores(self, total: np.ndarray) -> np.ndarray:
        sums = total[self.candidates]
        sums /= self.problem.n_samples
        return sums if self.signed else np.abs(sums)

    def public(self) -> tuple[object, ...]:
        """All that the query says."""
        return (self.w, self.clip, self.entry, self.candidates, self.k, self.signed)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        check_targets_a_row(type(self).__name__, block)
        r = np.clip(block.y - block.scores(self.w), -self.clip, self.clip)
        r[np.isnan(r)] = 0.0
        if block.weights is not None:
            r *= block.weights
        feature_bound = self.problem.bounds.feature_bound
        return block.combine_within(r, inf if feature_bound is None else feature_bound)


@dataclass(frozen=True, eq=False)
class VertexQuery(Best):
    r"""The signed coordinate along which the clipped loss falls fastest at w.

    Coordinates are the d K entries of the weights, intercepts left out, in row order. With

    .. math:: g_{jk} = \frac1n \sum_i v_i \frac{c_i}{\max c}\, [x_{ij}]_{-b}^{b}\,
              [l'_i]_{\infty \le c, k}

    going up along a coordinate has the score ``-g_jk`` and going down, if ``two_sided``, the score
    ``g_jk``; up comes first, then down, in the order of the vertices of ``Simplex`` and ``L1Ball``.
    The radius of the set scales scores and noise alike, so it is no part of the query. Rows are
    first scaled down to the bound R on their norm. A derivative is shrunk until its largest entry
    is at most c. What is published is the index alone.

    Parameters
    ----------
    problem : Problem
        Loss, weights of the classes and public bounds.
    w : ndarray
        Where, in the shape of the problem; public.
    clip : float
        The bound c.
    entry : float
        The bound b; the feature bound of the problem, if it has one, applies as well.
    two_sided : bool
        Whether one may go down, too.
    known : ndarray, optional
        Public numbers that are added to the scores, such as what a penalty says. One more than
        there are ways to go is the score of going nowhere, which then is the last candidate.
    shrunk : float, default=1.0
        Factor between the weights that were asked about last and w, for entries that did not move
        else. It saves time where rows are sparse and changes the answer by rounding only.

    Guarantees
    ----------
    - The difference of two scores moves by at most ``4 c e / n`` under replace-one and
      ``2 c e / n`` under zero-out, with ``e = min(b, R)``, or ``e = min(b, R / sqrt(2))`` if there
      is one score a row and one way to go: up and down along one coordinate, or rows ``(e, -e)``
      that give way to their opposites, attain it. Proof: theorem E3 of ``docs/proofs/choices.md``.
    - The bound holds whatever the rows, the targets and w; derivatives that are not numbers count
      as zero.
    """

    name: ClassVar[str] = "vertex"

    clip: float
    entry: float
    two_sided: bool
    known: np.ndarray | None = None
    shrunk: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", point(self.problem, self.w))
        own = self.problem.bounds.feature_bound
        object.__setattr__(self, "entry", min(self.entry, inf if own is None else own))
        if self.known is not None:
            ways = self.problem.n_features * self.problem.loss.n_scores * (1 + self.two_sided)
            known = np.array(self.known, dtype=np.float64)
            if known.shape not in ((ways,), (ways + 1,)):
                raise ValueError(
                    f"VertexQuery needs {ways} known numbers, or one more to go nowhere, got an "
                    f"array of shape {known.shape}."
                )
            object.__setattr__(self, "known", known)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``4 c e / n`` under replace-one; infinite beyond the range of double precision.

        Adding what is known rounds the four scores that two data sets and two candidates have, each
        by half a unit in the last place, for which there is room.
        """
        norm, n = self.problem.bounds.features_norm, self.problem.n_samples
        alone = self.problem.loss.n_scores == 1 and not self.two_sided
        product = self.clip * min(self.entry, norm / sqrt(2.0) if alone else norm)
        known = 0.0 if self.known is None else float(np.abs(self.known).max())
        return range_of_scores(product, norm, n, adjacency) + 4 * _EPS * known

    def _scores(self, total: np.ndarray) -> np.ndarray:
        """Up, down, nowhere."""
        g = total.ravel() / self.problem.n_samples
        scores = np.concatenate([-g, g]) if self.two_sided else -g
        if self.known is None:
            return scores
        nowhere = np.zeros(self.known.size - scores.size)
        return np.concatenate([scores, nowhere]) + self.known

    def public(self) -> tuple[object, ...]:
        """All that the query says."""
        known = np.empty(0) if self.known is None else self.known
        return (self.w, self.clip, self.entry, self.two_sided, known, self.shrunk)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        problem, clip, z = self.problem, self.clip, block.scores_along(self.w, self.shrunk)
        r = Loss.clipped_derivative(problem.loss, block.y, z, inf)
        if r.ndim == 2:
            largest = np.abs(r).max(axis=1, keepdims=True)
            r *= np.divide(clip, largest, out=np.ones_like(largest), where=largest > clip)
        np.clip(r, -clip, clip, out=r)
        return block.combine_within(weighted(problem, block, r, relatively=True), self.entry)


@dataclass(frozen=True, eq=False)
class ResidualQuantileQuery(Best):
    r"""The edge that has the share q of the residuals, or of their sizes, below it.

    Of m increasing edges, edge e has the score ``-|sum_i ([v_i < e] - q)|``, in rows, where ``v_i``
    is the residual ``y_i - <w, x~_i>``, or its absolute value if ``sizes``, and q the ``share``, in
    (0, 1). If rows have weights, each term is multiplied by that of its row, in [0, 1]. One edge is
    chosen by the exponential mechanism (Smith, 2011): the share below the choice is off by a few
    times ``log(m)`` in units of the noise.

    Raises
    ------
    ValueError
        If the share is outside its range.

    Guarantees
    ----------
    - Replacing a row moves the difference of two scores by at most 2, attained where edges on
      either side of the quantile lie between the two residuals; zeroing it out moves it by at most
      ``2 max(q, 1 - q)``. Proof: theorem E4 of ``docs/proofs/choices.md``.
    """

    name: ClassVar[str] = "residual_quantile"

    edges: np.ndarray
    share: float
    sizes: bool

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(
                f"ResidualQuantileQuery needs a share in (0, 1), got {self.share}; 0.5 asks for "
                "the median."
            )

    def sensitivity(self, adjacency: Adjacency) -> float:
        """2 under replace-one, ``2 max(q, 1 - q)`` under zero-out."""
        if adjacency is Adjacency.REPLACE_ONE:
            return 2.0
        return 2.0 * max(self.share, 1.0 - self.share)

    def _scores(self, total: np.ndarray) -> np.ndarray:
        return -np.abs(total)

    def public(self) -> tuple[object, ...]:
        """All that the query says."""
        return (self.w, self.edges, self.share, self.sizes)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        check_targets_a_row(type(self).__name__, block)
        # What is no number sorts last: above all edges.
        v = block.y - block.scores(self.w)
        v = np.abs(v) if self.sizes else v
        if block.weights is None:
            below = np.searchsorted(np.sort(v), self.edges, side="left").astype(np.float64)
            return below - self.share * v.size
        order = np.argsort(v)
        weight_of_first = np.concatenate([[0.0], np.cumsum(block.weights[order])])
        below = weight_of_first[np.searchsorted(v[order], self.edges, side="left")]
        return below - self.share * weight_of_first[-1]
