"""What queries refuse, which bounds have no price, and that all pay before rows are read."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from skdp.privacy import Adjacency, Oracle
from skdp.privacy.accounting import (
    GaussianDP,
    PerturbedGaussianDP,
    PureDP,
    Spend,
    ZeroConcentratedDP,
)
from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientDifferenceQuery,
    GradientQuery,
    GradientSizesQuery,
    HistogramQuery,
    InterceptGradientQuery,
    NormalEquationsQuery,
    OutcomeCountsQuery,
    PerturbedMinimumQuery,
    ResidualQuantileQuery,
    ScoreAndCurvatureQuery,
    ScoreMomentsQuery,
    ScoreScaleQuery,
    SelectionQuery,
    TargetTableQuery,
    brier_score,
)
from skdp.problem import ColumnBounds, InfluenceBounds, Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Hinge, Huber, Logistic, OneVsRest, Softmax, Squared, Tukey
from skdp.problem.penalties import L1, L2
from skdp.testing import check_pays_before_looking

N, D = 6, 3
REPLACE = Adjacency.REPLACE_ONE
BOUNDS = RowBounds(2.0, target=TargetBounds(-4.0, 4.0))
SQUARED, LOGISTIC = Problem(Squared(), N, D, BOUNDS), Problem(Logistic(), N, D, RowBounds(2.0))
CLASSES = Problem(Softmax(3), N, D, RowBounds(2.0))
MAPPED = RowBounds(2.0, target=BOUNDS.target, row_map=RowMap(np.ones(D), None, np.zeros(D), 3.0))
UNBOUNDED = replace(SQUARED, bounds=RowBounds(2.0))
W, EDGES = np.zeros(D), np.array([0.0, 1.0])


def influence(problem, **facts):
    size = problem.n_parameters
    whole = {"w": np.zeros(problem.shape), "matrix": np.eye(size), "curvature": 2.0, "score": 1.1}
    return InfluenceBounds(**whole | facts)


def one_step(problem, balance=0.5, **facts):
    return ScoreAndCurvatureQuery(problem, influence(problem, **facts), balance)


def of_scores(problem, **facts):
    at = influence(problem, **facts)
    return ScoreMomentsQuery(problem, at, at.w, 1.0)


def minimum(problem, **facts):
    return PerturbedMinimumQuery(problem, 0.5, 1.0, 1.0, **facts)


def difference(w0, problem=LOGISTIC, w=W, clip=None):
    return GradientDifferenceQuery(GradientQuery(problem, w, clip), w0)


def whole(weight=1.0, usual=0.5):
    return GradientAndShareQuery(GradientQuery(LOGISTIC, W, 0.5), weight, usual)


# How each query that counts between edges is made of them.
COUNTED = {
    "norms": lambda edges: HistogramQuery("row_norm", edges),
    "scores": lambda edges: OutcomeCountsQuery("score", 2, edges=edges),
    "targets": lambda edges: TargetTableQuery(edges, EDGES),
    "predictions": lambda edges: TargetTableQuery(EDGES, edges),
    "gradients": lambda edges: GradientSizesQuery(LOGISTIC, W, edges),
}


def ridge(loss, penalty=L2(1.0), bounds=RowBounds(1.0)):  # noqa: B008
    return Problem(loss, N, D, bounds, penalty=penalty)


UNPROVED = {
    "Huber": replace(SQUARED, loss=Huber(0.5)),
    "targets without bounds": UNBOUNDED,
    "mapped rows": replace(LOGISTIC, bounds=MAPPED),
    "weights": replace(LOGISTIC, class_weight=(1.0, 2.0)),
    "weights of three": replace(CLASSES, class_weight=(1.0, 2.0, 1.0)),
    "rests": replace(CLASSES, loss=OneVsRest(Logistic(), 3)),
}
BROKEN = {
    "w": np.zeros(D - 1),
    "matrix": np.eye(D - 1),
    "curvature": 0.0,
    "score": nan,
    "scale": -1.0,
}
NO_NUMBERS = {"w": np.nan, "matrix": inf}
# What is refused: how it is made, and what the message begins with.
REFUSED = {
    **{
        f"{kind.__name__}, {words}": (lambda kind=kind, p=problem: kind(p), "Score.*Query needs")
        for words, problem in UNPROVED.items()
        for kind in (one_step, of_scores)
    },
    **{
        f"{name} of {type(p.loss).__name__}": (
            lambda p=p, name=name, value=value: one_step(p, **{name: value}),
            "ScoreAndCurvatureQuery needs",
        )
        for name, value in BROKEN.items()
        for p in (SQUARED, CLASSES)
    },
    **{
        f"{name} without numbers": (
            lambda name=name, value=value: one_step(
                SQUARED, **{name: np.full_like(getattr(influence(SQUARED), name), value)}
            ),
            "ScoreAndCurvatureQuery needs",
        )
        for name, value in NO_NUMBERS.items()
    },
    **{
        f"balance {c} of {kind.__name__}": (
            lambda c=c, kind=kind: kind(SQUARED, c),
            r"\w+Query needs a balance",
        )
        for c in (0.0, 1.5, nan)
        for kind in (one_step, NormalEquationsQuery)
    },
    "normal equations without bounds": (
        lambda: NormalEquationsQuery(UNBOUNDED, 0.5),
        "NormalEquationsQuery needs .* bounded targets",
    ),
    **{
        f"share {q}": (
            lambda q=q: ResidualQuantileQuery(SQUARED, W, EDGES, q, True),
            r"ResidualQuantileQuery needs a share in \(0, 1\), got",
        )
        for q in (-0.1, 0.0, 1.0, 1.5, nan)
    },
    **{
        f"minimum, {words}": (
            lambda problem=problem, facts=facts: minimum(problem, **facts),
            "PerturbedMinimumQuery needs",
        )
        for words, problem, facts in (
            *((str(loss), ridge(loss), {}) for loss in (Softmax(3), Hinge())),
            ("l1", ridge(Logistic(), L1(1.0)), {}),
            ("residuals with Gaussian noise", SQUARED, {}),
            *((f"pure, {x}", ridge(x), {"pure": True}) for x in (Softmax(3), Hinge(), Tukey())),
            ("pure, l1", ridge(Logistic(), L1(1.0)), {"pure": True}),
            ("pure, targets without bounds", UNBOUNDED, {"pure": True}),
            ("pure, mapped residuals", replace(SQUARED, bounds=MAPPED), {"pure": True}),
            ("a class of residuals", SQUARED, {"pure": True, "label": 1}),
            ("a class with weights", UNPROVED["weights"], {"pure": True, "label": 1}),
        )
    },
    **{
        f"{of} between {edges}": (lambda make=make, e=edges: make(np.array(e)), r"\w+ needs edges")
        for of, make in COUNTED.items()
        for edges in ([1.0, 3.0, 2.0], [0.0, nan, 1.0], [nan], [[0.0, 1.0]])
    },
    **{
        f"usual share {q}": (lambda q=q: whole(usual=q), "GradientAndShareQuery needs a usual")
        for q in (-0.1, 1.5, 1e6, nan)
    },
    "the same point twice": (lambda: difference(W.copy()), "Gradient.* two points that differ"),
    "a point of another shape": (lambda: difference(W[:-1]), "GradientQuery needs .* of shape"),
    "a complex point": (lambda: difference(W + 1j), "GradientQuery needs .* complex128"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_what_it_is_not_proved_for_is_refused(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


def of_norm(norm):
    return replace(SQUARED, bounds=replace(BOUNDS, data_norm=norm))


# Bounds that double precision does not keep, or that are none.
WITHOUT_PRICE = {
    **{f"gradient, clip {c}": GradientQuery(UNBOUNDED, W, c) for c in (0.0, -1.0, 1e308, inf, nan)},
    "gradient without a clip": GradientQuery(UNBOUNDED, W),
    "difference, clip 1e-200": difference(W, w=np.ones(D), clip=1e-200),
    "difference": difference(W, UNBOUNDED, np.full(D, 1e200)),
    **{f"equations, {R}": NormalEquationsQuery(of_norm(R), 0.5) for R in (1e200, 1e-145)},
    **{
        f"{kind.__name__}, {G}": kind(SQUARED, score=G)
        for G in (1e-200, 1e200)
        for kind in (one_step, of_scores)
    },
    **{
        f"selection, clip {c}": SelectionQuery(SQUARED, W, c, np.arange(D), 1)
        for c in (0.0, -1.0, 1e-300, inf, nan)
    },
    **{f"intercept, clip {c}": InterceptGradientQuery(LOGISTIC, W, c) for c in (1e-200, -1.0, nan)},
    **{f"share, weight {c}": whole(c) for c in (1e-200, -1.0, 1e305, nan)},
    # Squares of such are numbers of a few digits.
    **{f"score scale, {r}": ScoreScaleQuery(LOGISTIC, W, np.ones(1), r) for r in (1e-162, 1e305)},
    # The square of the row's length is zero, so that nothing would shorten it.
    "selection, norm": SelectionQuery(of_norm(1e-200), W, 1.0, np.arange(D), 1),
}


@pytest.mark.parametrize("query", WITHOUT_PRICE.values(), ids=WITHOUT_PRICE)
def test_bounds_that_double_precision_does_not_keep_have_no_price(query):
    # Lengths of such steps overflow.
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="positive finite sensitivity"):
        query.mechanism(REPLACE, Spend(1.0))


COLUMNS, AT = ColumnBounds(-np.ones(D), np.ones(D)), influence(LOGISTIC)
# How each query is asked: its problem, arguments, and calculus if it is not that of Gaussian noise.
ASKED = {
    "gradient": (LOGISTIC, (W,), {}),
    "gradient_norm": (LOGISTIC, (W,), {}),
    "gradient_difference": (LOGISTIC, (W, W + 1.0), {}),
    "gradient_and_share": (LOGISTIC, (W,), {"clip_norm": 1.0, "of_share": 0.1}),
    "gradient_sizes": (LOGISTIC, (W, EDGES), {}),
    "intercept_gradient": (LOGISTIC, (W,), {"clip": 0.1}),
    "histogram": (LOGISTIC, ("row_norm", EDGES), {}),
    "total_weight": (LOGISTIC, (), {}),
    "row_means": (LOGISTIC, (), {"by_class": True}),
    "second_moments": (LOGISTIC, (), {"full": True}),
    "normal_equations": (SQUARED, (), {"balance": 0.5}),
    "score_and_curvature": (LOGISTIC, (AT,), {"balance": 0.5}),
    "score_moments": (LOGISTIC, (AT, W), {"of_shares": 0.2}),
    "score_scale": (LOGISTIC, (W, np.ones(1)), {"reach": 2.0}),
    "column_moments": (LOGISTIC, (COLUMNS, N), {}),
    "column_tree": (LOGISTIC, (COLUMNS, 2), {}),
    "column_cells": (LOGISTIC, (COLUMNS, 8, tuple(range(D))), {}),
    "magnitude_votes": (LOGISTIC, (tuple(range(D)),), {}),
    "outcome_counts": (LOGISTIC, ("correctness", 2), {}),
    "target_table": (LOGISTIC, (np.array([0.5]), np.array([0.5])), {}),
    "metric_means": (LOGISTIC, ((brier_score(),), N), {}),
    "group_means": (LOGISTIC, ((brier_score(),), 2, N), {}),
    "select": (SQUARED, (W, np.arange(D), 2), {"clip": 0.1}, ZeroConcentratedDP()),
    "vertex": (SQUARED, (W,), {"clip": 0.1, "entry": 0.5, "two_sided": True}, ZeroConcentratedDP()),
    "residual_quantile": (SQUARED, (W, EDGES, 0.5), {"sizes": True}, ZeroConcentratedDP()),
    "perturbed_minimum": (LOGISTIC, (), {}, PerturbedGaussianDP()),
    "perturbed_minimum, pure": (LOGISTIC, (), {}, PureDP()),
}
# Asked with a reserve, of sites, categories or of a stream: where these are tested.
OTHERS = {"category_counts", "site_gradients", "sampled_site_gradients", "stream", "gradient_scale"}


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("name", ASKED)
def test_each_query_pays_before_looking(name, adjacency):
    problem, arguments, options, *calculus = ASKED[name]
    calculus = calculus[0] if calculus else GaussianDP()

    def ask(oracle, spend):
        getattr(oracle, name.partition(",")[0])(*arguments, **options, spend=spend)

    check_pays_before_looking(ask, problem, adjacency, calculus=calculus)


def test_no_query_is_left_out():
    known = {name.partition(",")[0] for name in ASKED} | OTHERS
    asking = {
        name
        for name, method in vars(Oracle).items()
        if not name.startswith("_") and "spend" in getattr(method, "__annotations__", {})
    }
    assert asking == known
