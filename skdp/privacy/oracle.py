"""The oracle: the only door to rows.

Every answer goes through one method, ``_release``, which prices the query from its own
sensitivity, charges the ledger, and only then reads rows and adds noise. Who holds an oracle can
ask the queries below and nothing else.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import lru_cache
from math import inf, isfinite, sqrt
from typing import NamedTuple, Self, cast, final

import numpy as np

from ..problem.column_bounds import ColumnBounds, ColumnScaling
from ..problem.influence import InfluenceBounds
from ..problem.problem import Problem
from ..problem.sites import Sites
from .accounting.calculus import PureDP, SubsampledGaussianDP
from .accounting.ledger import Budget, Ledger, Spend
from .adjacency import Adjacency, PrivacyUnit
from .mechanisms.base import PerturbingMechanism
from .mechanisms.site_noise import Trust
from .no_noise import noise_under
from .queries.base import GaussianQuery, PerturbedQuery, Query
from .queries.categories import CategoryCountsQuery
from .queries.columns import (
    ColumnCellsQuery,
    ColumnMomentsQuery,
    ColumnTreeQuery,
    MagnitudeVotesQuery,
)
from .queries.counts import (
    Histogrammed,
    HistogramQuery,
    Outcome,
    OutcomeCountsQuery,
    TargetTableQuery,
    TotalWeightQuery,
)
from .queries.gradient import GradientNormQuery, GradientQuery, InterceptGradientQuery
from .queries.gradient_difference import GradientDifferenceQuery
from .queries.gradient_sizes import GradientAndShareQuery, GradientSizesQuery
from .queries.metric_means import GroupMeansQuery, MetricMeansQuery, RowMetric
from .queries.moments import MomentsQuery, NormalEquationsQuery, RowMeansQuery
from .queries.perturbed_minimum import PerturbedMinimumQuery
from .queries.sampled_gradient import SampledGradientQuery
from .queries.score_and_curvature import ScoreAndCurvatureQuery, ScoreMomentsQuery
from .queries.score_scale import ScoreScaleQuery
from .queries.selection import ResidualQuantileQuery, SelectionQuery, VertexQuery
from .queries.site_gradients import SiteGradientsQuery, SiteRequest
from .randomness import SecretNoise
from .rows.base import RowStore
from .rows.category_rows import Category
from .streams.stream_plan import StreamPlan
from .streams.stream_session import StreamAnswers, StreamedRows, StreamOpening, StreamSession


class Noisy(NamedTuple):
    """An answer and the standard deviation of its noise."""

    value: np.ndarray
    scale: float


class Reserve(NamedTuple):
    """Releases over secret samples of the rows that a ledger has reserved."""

    #: Probability with which a row is drawn.
    sampling_rate: float
    #: For each release, in the planned order, what it would cost if every row took part. It says
    #: how much noise there is.
    spends: tuple[Spend, ...]
    #: Gaussian-DP parameter of as many releases about all rows with as much noise.
    mu: float


# Solvers ask for it in each step.
@lru_cache(maxsize=4)
def _reserve(block: SubsampledGaussianDP) -> Reserve:
    mu = block.sampling_rate * sqrt(sum(block.prices))
    return Reserve(block.sampling_rate, tuple(map(Spend, block.prices)), mu)


class ColumnMoments(NamedTuple):
    """Noisy moments of features on the scale of their bounds, which is [-1, 1]."""

    #: Means of the values and of their squares; shape (d,).
    means: np.ndarray
    squares: np.ndarray
    #: Standard deviation of the noise of a mean; that of a square is smaller by sqrt(2).
    scale: float
    #: Shares of the rows in which features are missing, which add nothing to the sums that means
    #: are made of, and 3/4 to those of squares; its noise is a little smaller than that of means;
    #: shape (d,).
    missing: np.ndarray | None = None


class GroupMoments(NamedTuple):
    """Noisy sums over the rows of groups, divided by the number of all rows, and their noise."""

    #: Shares of the groups in the rows; shape (G,).
    shares: np.ndarray
    #: Sums of k numbers in [-1, 1], and of their squares less 3/4 for each row; shape (G, k).
    sums: np.ndarray
    squares: np.ndarray
    #: Standard deviations of the noise of a sum and of a share; that of a square is smaller than
    #: that of a sum by sqrt(2).
    scale: float
    share_scale: float


class CategoryCounts(NamedTuple):
    """Noisy counts of categories above a threshold."""

    #: By column, and in it by category, in their order.
    counts: dict[int, dict[Category, float]]
    #: All counts are above it.
    threshold: float
    #: Standard deviation of the noise.
    scale: float


class ScoreAndCurvature(NamedTuple):
    """Noisy terms of a step of Newton's method, and the standard deviations of their noise."""

    #: Mean curvature; its noise off the diagonal is smaller by sqrt(2); shape (k, k).
    curvature: np.ndarray
    #: Mean score; shape (k,).
    score: np.ndarray
    #: Mean square of the residuals, for the squared loss.
    squares: float | None
    #: Standard deviation of the noise of a diagonal entry of the curvature, of an entry of the
    #: score and of the mean square.
    noise: float
    score_noise: float
    squares_noise: float


class Oracle(ABC):
    """Interface of solvers to the rows: one method for each kind of query. Holds no rows."""

    def __init__(self, ledger: Ledger, adjacency: Adjacency) -> None:
        self._ledger = ledger
        self._adjacency = adjacency
        self._problem: Problem | None = None
        self._ceiling = inf
        self._positions: np.ndarray | None = None
        self._latest: GradientQuery | None = None

    @final
    def for_problem(self, problem: Problem) -> Self:
        """An oracle with the same ledger, answering queries about this problem.

        A problem is public content: loss, bounds, weights and the number of rows to divide by are
        part of the query. Sensitivities are derived from the very problem that is asked about,
        so that a solver may ask about another one than it was given, at the price of that one. It
        must not depend on rows, and its loss must be pointwise.
        """
        other = copy.copy(self)
        other._problem = problem
        return other

    @final
    def within(self, budget: Budget) -> Self:
        """An oracle whose budget shows no more than this, less what is spent from now on.

        For handing a part of the work to a method that spends all it sees. Like any budget it is a
        plan: what is charged is for the ledger to accept.
        """
        other = copy.copy(self)
        other._ceiling = min(self._ceiling, self._ledger.total + budget.amount)
        return other

    @final
    def on_sample(self, positions: np.ndarray) -> Self:
        """An oracle with the same ledger that asks about a public sample of the rows alone.

        A row adds to a sum over the sample what it adds to one over all rows, or nothing, so that
        sensitivities hold as they are (theorem S3 of ``docs/proofs/subsampling.md``). Means are
        divided by the number of rows that the problem states.

        Parameters
        ----------
        positions : ndarray of int of shape (m,)
            Positions of the rows in the table, in increasing order. They are public: they may
            depend on answers, but not on rows otherwise. Each row is a privacy unit.
        """
        other = copy.copy(self)
        other._positions = np.array(positions)
        return other

    @final
    def note(self, purpose: str | None = None, planned: int | None = None) -> None:
        """Note what the coming queries are for, on the ledger, whose events bear it.

        The words, and how often each query is going to be asked if that is ``planned``, must not
        depend on rows but through answers. Without a purpose the one before stays.
        """
        self._ledger.note(purpose, planned)

    @property
    @final
    def adjacency(self) -> Adjacency:
        """Neighbouring relation under which sensitivities are taken."""
        return self._adjacency

    @property
    @final
    def pure(self) -> bool:
        """True if the budget is one of pure epsilon, in which it and spends are counted then."""
        return isinstance(self._ledger.calculus, PureDP)

    @property
    @final
    def budget(self) -> Budget:
        """Rest of the budget. Public, because charges depend on public facts alone."""
        left = self._ledger.remaining
        # What has no ceiling may also have no limit.
        if self._ceiling < inf:
            left = min(left, max(0.0, self._ceiling - self._ledger.total))
        return Budget(left)

    @final
    def gradient(
        self,
        w: np.ndarray,
        *,
        spend: Spend,
        clip_norm: float | None = None,
        whole_units: bool = False,
        label_blind: bool = False,
        sampled: bool = False,
    ) -> np.ndarray:
        """Noisy mean gradient of the loss at w, rows clipped to ``clip_norm``; shape of w.

        With ``whole_units`` means over the rows of privacy units are clipped instead; with
        ``label_blind`` rows are bounded by weights that do not depend on their targets. ``sampled``
        takes a secret sample of the rows, for a spend that is one of ``reserved``.
        """
        query = self._gradient_at(w, (clip_norm, whole_units, label_blind))
        return self._release(self._of_sample(query) if sampled else query, spend)

    @final
    def gradient_norm(
        self,
        w: np.ndarray,
        *,
        spend: Spend,
        clip_norm: float | None = None,
        label_blind: bool = False,
    ) -> float:
        """Noisy norm of the mean gradient at w, of rows bounded likewise. May be negative."""
        query = GradientNormQuery(self._gradient_at(w, (clip_norm, False, label_blind)))
        return float(self._release(query, spend))

    @final
    def gradient_difference(
        self,
        w: np.ndarray,
        w0: np.ndarray,
        *,
        spend: Spend,
        clip_norm: float | None = None,
        label_blind: bool = False,
        sampled: bool = False,
    ) -> np.ndarray:
        """Noisy mean gradient at w less that at w0; its noise is in proportion to their distance.

        Where the two are so far apart that it would not pay, it costs what two gradients cost.
        ``label_blind`` and ``sampled`` are as for gradients.
        """
        query = GradientDifferenceQuery(self._gradient_at(w, (clip_norm, False, label_blind)), w0)
        return self._release(self._of_sample(query) if sampled else query, spend)

    @property
    @final
    def reserved(self) -> Reserve:
        """Block of releases over secret samples of the rows, which is paid already."""
        return _reserve(self._block())

    @final
    def gradient_scale(self, *, spend: Spend, clip_norm: float | None = None) -> float:
        """Standard deviation of the noise of such gradients, and of their norms; costs nothing.

        It depends on public facts alone: the sensitivity of the query and the spend. A solver
        that wants noise of a certain size can find the spend for it, since the scale falls with the
        root of the spend.
        """
        anywhere = np.zeros(self._current().shape)
        return self._scale(self._gradient_at(anywhere, (clip_norm, False, False)), spend)

    @final
    def gradient_and_share(
        self,
        w: np.ndarray,
        *,
        spend: Spend,
        clip_norm: float,
        of_share: float,
        usual: float = 0.5,
        whole_units: bool = False,
    ) -> tuple[Noisy, Noisy]:
        """Noisy mean of gradients clipped to ``clip_norm``, and the share of rows not clipped.

        ``of_share``, between 0 and 1, is the part of the spend that goes to the share; ``usual`` is
        what it will be compared with, see :class:`GradientAndShareQuery`. With ``whole_units`` it
        is the mean over the rows of privacy units that is clipped, or not.
        """
        gradient = self._gradient_at(w, (clip_norm, whole_units, False))
        weight = self._adjacency.of_sum(gradient.bound) * sqrt(of_share / (1 - of_share))
        answer, scale = self._noisy(GradientAndShareQuery(gradient, weight, usual), spend)
        share = Noisy(answer[-1] / weight, scale / weight)
        return Noisy(answer[:-1].reshape(w.shape), scale), share

    @final
    def gradient_sizes(
        self, w: np.ndarray, edges: np.ndarray, *, spend: Spend, whole_units: bool = False
    ) -> Noisy:
        """Noisy counts of rows by the norm of their gradient at w, between increasing edges.

        With ``whole_units`` of privacy units, by the norm of the mean over their rows.
        """
        edges = np.array(edges, dtype=np.float64)
        query = GradientSizesQuery(self._current(), w.copy(), edges, whole_units)
        return self._noisy(query, spend)

    @final
    def histogram(
        self,
        of: Histogrammed,
        edges: np.ndarray,
        *,
        spend: Spend,
        scaling: ColumnScaling | None = None,
        column: int | None = None,
    ) -> np.ndarray:
        """Noisy counts of rows between increasing edges, below and above included.

        Norms are those of the features as they came, or on a public scale; targets are those of
        a column, where rows have several.
        """
        query = HistogramQuery(of, np.array(edges, dtype=np.float64), scaling, column)
        return self._release(query, spend)

    @final
    def category_counts(
        self, columns: tuple[int, ...], *, threshold_delta: float, spend: Spend
    ) -> CategoryCounts:
        """The categories of columns whose noisy counts exceed a threshold, with these counts.

        The ledger has to have set ``threshold_delta`` aside.
        """
        query = CategoryCountsQuery(columns, threshold_delta)
        mechanism = query.mechanism(self._adjacency, spend)
        found: dict[int, dict[Category, float]] = {j: {} for j in columns}
        for column, category, count in self._release(query, spend):
            found[column][category] = count
        return CategoryCounts(found, mechanism.threshold, mechanism.noise_scale)

    @final
    def total_weight(self, *, spend: Spend) -> Noisy:
        """Noisy sum of the weights of the rows."""
        return self._noisy(TotalWeightQuery(), spend)

    @final
    def row_means(self, *, by_class: bool, spend: Spend) -> Noisy:
        """Noisy mean of the bounded rows, (p,), or its parts from each class, (p, K).

        Bounds that call for non-negative rows make it cheaper by sqrt(2).
        """
        problem = self._current()
        n_classes = max(2, problem.loss.n_scores) if by_class else 1
        return self._noisy(RowMeansQuery(problem, n_classes), spend)

    @final
    def second_moments(self, *, full: bool, spend: Spend) -> Noisy:
        """Noisy ``mean_i v_i v_i'`` of the bounded rows, shape (p, p).

        Without ``full`` only its diagonal and its last column are asked for, shape (2, p), which
        takes no more memory than a few rows. The scale is that of the diagonal; off it the noise
        is smaller by sqrt(2).
        """
        query = MomentsQuery(self._current(), full)
        answer = self._noisy(query, spend)
        return Noisy(query.matrix(answer.value), answer.scale)

    @final
    def select(
        self,
        w: np.ndarray,
        candidates: np.ndarray,
        k: int,
        *,
        clip: float,
        spend: Spend,
        signed: bool = False,
    ) -> np.ndarray:
        """The k candidates that go along best with residuals clipped to ``clip``, noisily.

        See :class:`SelectionQuery` for their scores. Best first; all if there are fewer than k.
        """
        query = SelectionQuery(self._current(), w.copy(), clip, candidates.copy(), k, signed)
        return query.candidates[self._release(query, spend)]

    @final
    def vertex(
        self,
        w: np.ndarray,
        *,
        clip: float,
        entry: float,
        two_sided: bool,
        spend: Spend,
        known: np.ndarray | None = None,
        shrunk: float = 1.0,
    ) -> int:
        """The coordinate along which the loss falls fastest at w, noisily, as a vertex's index.

        Vertices are numbered as those of ``L1Ball``, if ``two_sided``, or of ``Simplex`` with the
        entries of w but the intercepts. See :class:`VertexQuery` for the bounds, for what is
        ``known`` besides and for ``shrunk``.
        """
        query = VertexQuery(self._current(), w, clip, entry, two_sided, known, shrunk)
        return int(self._release(query, spend)[0])

    @final
    def intercept_gradient(
        self, w: np.ndarray, *, spend: Spend, clip: float, shrunk: float = 1.0
    ) -> Noisy:
        """Noisy mean derivative of the loss in its scores, (K,), rows clipped to ``clip``.

        In units of the largest class weight; see :class:`InterceptGradientQuery`.
        """
        return self._noisy(InterceptGradientQuery(self._current(), w, clip, shrunk), spend)

    @final
    def score_scale(
        self, w: np.ndarray, scales: np.ndarray, *, reach: float, spend: Spend
    ) -> Noisy:
        """Noisy mean residuals along the scores of w times each scale; see its query."""
        return self._noisy(ScoreScaleQuery(self._current(), w.copy(), scales, reach), spend)

    @final
    def residual_quantile(
        self, w: np.ndarray, edges: np.ndarray, share: float, *, sizes: bool, spend: Spend
    ) -> float:
        """The edge below which about this share of the residuals, or of their sizes, lies."""
        edges = np.array(edges, dtype=np.float64)
        query = ResidualQuantileQuery(self._current(), w.copy(), edges, share, sizes)
        return float(edges[int(self._release(query, spend)[0])])

    @final
    def normal_equations(self, *, spend: Spend, balance: float) -> tuple[Noisy, np.ndarray]:
        """Noisy ``mean_i v_i v_i'``, shape (p, p), and ``mean_i y_i v_i`` of the bounded rows.

        The scale is that of the diagonal; off it the noise is smaller by sqrt(2). The larger the
        balance, in (0, 1], the less noise the second has and the more the first.
        """
        query = NormalEquationsQuery(self._current(), balance)
        matrix, vector = query.parts(self._release(query, spend))
        return Noisy(matrix, self._scale(query, spend)), vector

    @final
    def score_and_curvature(
        self, influence: InfluenceBounds, *, balance: float, spend: Spend
    ) -> ScoreAndCurvature:
        """Noisy score and curvature of the loss, of rows whose influence is bounded.

        The larger the balance, in (0, 1], the less noise the score has and the more the curvature.
        See :class:`ScoreAndCurvatureQuery`.
        """
        query = ScoreAndCurvatureQuery(self._current(), influence, balance)
        scale, weight = self._scale(query, spend), query.weight
        parts = query.parts(self._release(query, spend))
        return ScoreAndCurvature(*parts, scale, scale / weight, scale / (0.5 * weight**2))

    @final
    def score_moments(
        self, influence: InfluenceBounds, w: np.ndarray, *, of_shares: float, spend: Spend
    ) -> tuple[Noisy, Noisy]:
        """Noisy second moments (k, k) of scores at w, and shares of rows with bounded influence.

        The shares are of rows weighted down and of rows clipped. ``of_shares``, between 0 and 1, is
        the part of the spend that goes to them. The scale of the moments is that of the diagonal;
        off it the noise is smaller by sqrt(2). See :class:`ScoreMomentsQuery`.
        """
        weight = influence.score**2 * sqrt(of_shares / (1 - of_shares))
        query = ScoreMomentsQuery(self._current(), influence, w, weight)
        scale = self._scale(query, spend)
        moments, shares = query.parts(self._release(query, spend))
        return Noisy(moments, scale), Noisy(shares, scale / weight)

    @final
    def perturbed_minimum(
        self,
        *,
        spend: Spend,
        clip_norm: float | None = None,
        strength: float = 0.0,
        label: int | None = None,
    ) -> np.ndarray:
        """Minimiser of the objective with a random slope, with clipped rows; shape of w.

        Of several classes ``label`` is held against the others.

        The quadratic part of the objective, as a sum over rows, is made at least ``strength``
        strong, and as strong as privacy asks for. The calculus of the ledger has to be
        ``PerturbedGaussianDP``, and it more than half of all that the ledger ever holds, or
        ``PureDP``, with which its noise is that of pure epsilon; of units if these are protected.
        """
        query = PerturbedMinimumQuery.planned(
            self._current(),
            clip_norm,
            strength,
            self._adjacency,
            spend,
            pure=self.pure,
            label=label,
            of_units=getattr(self._ledger.calculus, "of_units", False),
        )
        return self._release(query, spend)

    @final
    def column_moments(
        self, bounds: ColumnBounds, n_samples: int, *, spend: Spend
    ) -> ColumnMoments:
        """Noisy means and mean squares of features that are clipped to their bounds.

        See :class:`ColumnMomentsQuery`; the squares cost nothing beside the means, nor does what is
        missing.
        """
        query = ColumnMomentsQuery(bounds, n_samples)
        answer, scale = self._noisy(query, spend)
        return ColumnMoments(*query.moments(answer), scale, query.missing(answer))

    @final
    def magnitude_votes(self, columns: tuple[int, ...], *, spend: Spend) -> Noisy:
        """Noisy votes of the entries of features for their signs and powers of 2, (k, 2, 101).

        See :class:`MagnitudeVotesQuery`; each row has one vote, however many features there are.
        """
        return self._noisy(MagnitudeVotesQuery(columns), spend)

    @final
    def column_cells(
        self, bounds: ColumnBounds, cells: int, columns: tuple[int, ...], *, spend: Spend
    ) -> Noisy:
        """Noisy numbers of rows by cell of the intervals of some features, (k, cells + 4).

        The last four are those below, above, exactly zero and no number. The bounds are those of
        the ``columns`` alone. See :class:`ColumnCellsQuery`.
        """
        return self._noisy(ColumnCellsQuery(bounds.low, bounds.high, cells, columns), spend)

    @final
    def column_tree(self, bounds: ColumnBounds, levels: int, *, spend: Spend) -> Noisy:
        """Noisy numbers of rows in the nodes of a tree over the range of each feature.

        See :class:`ColumnTreeQuery`. Of weighted rows it is what they weigh.
        """
        return self._noisy(ColumnTreeQuery(bounds, levels), spend)

    @final
    def outcome_counts(
        self,
        of: Outcome,
        n_classes: int,
        *,
        spend: Spend,
        n_groups: int = 1,
        edges: np.ndarray | None = None,
        of_class: int = 1,
    ) -> Noisy:
        """Noisy numbers of test rows by group, label and outcome, (groups, labels, outcomes).

        See :class:`OutcomeCountsQuery`.
        """
        return self._noisy(OutcomeCountsQuery(of, n_classes, n_groups, edges, of_class), spend)

    @final
    def target_table(
        self, edges_of_targets: np.ndarray, edges_of_predictions: np.ndarray, *, spend: Spend
    ) -> Noisy:
        """Noisy numbers of test rows by target and prediction. See :class:`TargetTableQuery`."""
        return self._noisy(TargetTableQuery(edges_of_targets, edges_of_predictions), spend)

    @final
    def metric_means(
        self, metrics: tuple[RowMetric, ...], n_samples: int, *, spend: Spend
    ) -> ColumnMoments:
        """Noisy moments of metrics of predictions on the scale of their ranges, which is [-1, 1].

        See :class:`MetricMeansQuery`; the squares cost nothing beside the means.
        """
        query = MetricMeansQuery(metrics, n_samples)
        moments = query.moments(self._release(query, spend))
        return ColumnMoments(*moments, self._scale(query, spend))

    @final
    def group_means(
        self, metrics: tuple[RowMetric, ...], n_groups: int, n_samples: int, *, spend: Spend
    ) -> GroupMoments:
        """Noisy moments by group of metrics of predictions on the scale of their ranges.

        See :class:`GroupMeansQuery`; groups cost nothing beside the means of all rows.
        """
        query = GroupMeansQuery(MetricMeansQuery(metrics, n_samples), n_groups)
        scale = self._scale(query, spend)
        shares, sums, squares, weight = query.parts(self._release(query, spend))
        return GroupMoments(shares, sums, squares, scale, scale / weight)

    @final
    def site_gradients(
        self,
        sites: Sites,
        active: np.ndarray,
        W: np.ndarray,
        *,
        spend: Spend,
        shares: np.ndarray,
        clip_norm: float | None,
        trust: tuple[str, int, float],
        edges: np.ndarray | None = None,
    ) -> np.ndarray:
        """Noisy gradients of the sites that are active, each at its own W, or their sum.

        ``trust`` has the fields of :class:`~skdp.privacy.mechanisms.site_noise.Trust` and
        ``shares`` says what each site pays of the spend. See :class:`SiteGradientsQuery`.
        """
        request = SiteRequest(self._current(), sites, active, W, clip_norm)
        return self._release(SiteGradientsQuery(request, Trust(*trust), edges, shares), spend)

    @final
    def sampled_site_gradients(
        self,
        sites: Sites,
        active: np.ndarray,
        W: np.ndarray,
        *,
        spend: Spend,
        clip_norm: float | None,
    ) -> np.ndarray:
        """Noisy gradients from rows that sites draw in secret; the spend is one of ``reserved``."""
        request = SiteRequest(self._current(), sites, active, W, clip_norm)
        return self._release(self._of_sample(request), spend)

    @final
    def stream(self, plan: StreamPlan, *, spend: Spend) -> StreamAnswers:
        """Running answers over batches of rows, in their order, each row read once.

        All of them are paid for now; the plan says how many there will be.
        """
        if self._positions is not None:
            raise ValueError("Oracle.stream reads all rows in their order; ask it of all of them.")
        return self._open(StreamOpening(self._current(), plan, self._adjacency, spend))

    @final
    def _gradient_at(self, w: np.ndarray, bounds: tuple[float | None, bool, bool]) -> GradientQuery:
        """The query about a gradient: the latest one at another point, if that is all that is new.

        So a loop works out once what its releases have in common: sensitivity, mechanism and event.
        ``bounds`` are the clip, whether it is on means of whole units, and whether it is blind to
        labels.
        """
        own, new = self._latest, None
        if own is not None and own.problem is self._problem:
            new = own.at(w) if (own.clip_norm, own.whole_units, own.label_blind) == bounds else None
        self._latest = new or GradientQuery(self._current(), w, *bounds)
        return self._latest

    @final
    def _of_sample(
        self, full: GradientQuery | GradientDifferenceQuery | SiteRequest
    ) -> SampledGradientQuery:
        return SampledGradientQuery(full, self._block().sampling_rate)

    @final
    def _block(self) -> SubsampledGaussianDP:
        block = self._ledger.calculus
        if not isinstance(block, SubsampledGaussianDP):
            raise ValueError(
                "Oracle.reserved needs a ledger that has reserved a block of sampled releases, got "
                f"one with {type(block).__name__}; open it with the solver's calculus_for(...)."
            )
        return block

    @final
    def _scale(self, query: GaussianQuery, spend: Spend) -> float:
        return query.mechanism(self._adjacency, spend).sensitivity / sqrt(spend.amount)

    @final
    def _noisy(self, query: GaussianQuery, spend: Spend) -> Noisy:
        value = self._release(query, spend)
        return Noisy(value, self._scale(query, spend))

    @abstractmethod
    def _release(self, query: Query, spend: Spend) -> np.ndarray: ...

    @abstractmethod
    def _open(self, opening: StreamOpening) -> StreamAnswers: ...

    @final
    def _of(self, rows: RowStore) -> RowStore:
        """The rows that queries are about: the sample, or all of these."""
        return rows if self._positions is None else rows.sample(self._positions)

    @final
    def _passed_to(self, inner: Oracle) -> Oracle:
        """Another oracle, restricted to the rows that this one asks about."""
        return inner if self._positions is None else inner.on_sample(self._positions)

    @property
    @final
    def _sample(self) -> tuple[np.ndarray, ...]:
        """The positions of the sample, for transcripts; empty if queries are about all rows."""
        return () if self._positions is None else (self._positions,)

    @final
    def _current(self) -> Problem:
        if self._problem is None:
            raise RuntimeError(
                "The oracle needs a problem to ask about gradients; call for_problem first."
            )
        return self._problem


@final
class PrivateOracle(Oracle):
    """Oracle that answers queries privately: charges the ledger, reads rows, adds noise.

    Guarantees
    ----------
    - All answers together are (epsilon, delta)-DP with the ledger's epsilon and delta.
    - A query that the ledger refuses reads nothing, nor does one that is asked of privacy units and
      proved for single rows only, or of more rows than its problem has.
    - A failure after the charge leaves the charge standing.
    - Numerical accidents in single rows neither raise nor warn, whatever ``numpy.seterr`` says.
    - What noise is added to is a plain array of real numbers in double precision, so that nothing
      rides along beside the noise. If any of them is not finite, which takes rows that somebody
      changes while they are being used, it is zeros: noise would not hide it.
    - It can be neither pickled nor deep-copied.
    """

    def __init__(
        self, rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise
    ) -> None:
        super().__init__(ledger, adjacency)
        if not rows.steady and getattr(ledger.calculus, "of_units", False):
            raise ValueError(
                "PrivateOracle needs arrays, CSR matrices or dask collections, not chunks, for the "
                "minimiser of a perturbed objective with privacy_unit: it is found in several "
                "passes, at each of which chunks may deliver the rows of a unit in another order "
                "and with other weights. Pass rows in memory, or use another solver."
            )
        self._rows = rows
        self._noise = noise_under(ledger, noise)

    def _release(self, query: Query, spend: Spend) -> np.ndarray:
        if self._rows.unit is not PrivacyUnit.ROW and not query.holds_for_units:
            self._refuse_units(query.name)
        problem: Problem | None = getattr(query, "problem", None)
        # Sums of queries without either, which count, are exact.
        most = getattr(query, "n_samples", inf) if problem is None else problem.n_actual
        n = self._rows.n_samples if self._positions is None else len(self._positions)
        if most < n:
            self._refuse_number_of_rows(query.name, most, n)
        mechanism = query.mechanism(self._adjacency, spend)
        self._ledger.charge(mechanism.event(query.name))
        # A warning or an exception about one row would tell of it outside the answer.
        with np.errstate(all="ignore"):
            rows = self._rows if self._positions is None else self._of(self._rows)
            if isinstance(query, PerturbedQuery):
                perturbing = cast(PerturbingMechanism, mechanism)
                exact = query.evaluate_under(rows, perturbing.perturbation(self._noise))
            else:
                exact = query.evaluate(rows)
            answer = mechanism.randomize(_plain(exact), self._noise)
            # Names of what the mechanism publishes, and of nothing else.
            if isinstance(query, CategoryCountsQuery):
                answer = query.named(rows, answer)
            return answer

    def _open(self, opening: StreamOpening) -> StreamAnswers:
        if self._rows.unit is not PrivacyUnit.ROW:
            self._refuse_units("stream")
        return StreamedRows(StreamSession(opening, self._ledger, self._noise), self._rows)

    def _refuse_number_of_rows(self, query: str, stated: float, n: int) -> None:
        raise ValueError(
            f"PrivateOracle needs a problem of no fewer rows than '{query}' is asked about, as the "
            f"margin for rounding goes by their number, got {stated:,} for {n:,}. State the "
            "problem of a sample to an oracle on that sample alone."
        )

    def _refuse_units(self, query: str) -> None:
        raise ValueError(
            f"PrivateOracle has no proof for all rows of a privacy unit together of the query "
            f"'{query}'; take another solver, or leave privacy_unit out."
        )


def _plain(exact: object) -> np.ndarray:
    if type(exact) is not np.ndarray or exact.dtype != np.float64:
        raise TypeError(
            "PrivateOracle needs exact answers that are plain arrays of float64, got "
            f"{getattr(exact, 'dtype', 'no dtype')} in {type(exact).__name__}; convert them in the "
            "query."
        )
    if not isfinite(np.add.reduce(exact, axis=None)) and not np.isfinite(exact).all():
        return np.zeros_like(exact)
    return exact
