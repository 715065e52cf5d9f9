"""Queries about rows with several targets: sensitivities, layouts, and what is refused."""

import numpy as np
import pytest
from examples_of_several_targets import LOSSES, TARGET, bounds

from skdp.privacy.queries import (
    GradientQuery,
    HistogramQuery,
    NormalEquationsQuery,
    ResidualQuantileQuery,
    SelectionQuery,
)
from skdp.problem import Problem, TargetBounds
from skdp.problem.losses import Squared
from skdp.testing import row_stores

N, D, T = 4, 3, 3


def test_answers_are_those_of_the_formula():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(N, D)), rng.uniform(-2, 6, size=(N, T))
    weights = rng.uniform(size=N)
    low, high = TARGET.ends
    Y = (np.clip(y, low, high) - (low + high) / 2) / ((high - low) / 2)
    V = X * np.minimum(1, 2.0 / np.linalg.norm(X, axis=1))[:, None]
    w = rng.normal(size=(D, T))
    problem = Problem(LOSSES[0], N, D, bounds())
    query = NormalEquationsQuery(Problem(Squared(), N, D, bounds()), 0.4)
    weights = np.floor(weights * 2.0**26) / 2.0**26
    for name, rows in row_stores(X, y, weights).items():
        if "single" in name:
            continue
        gradient = GradientQuery(problem, w, 1e9).evaluate(rows)
        np.testing.assert_allclose(gradient, (weights[:, None] * V).T @ (V @ w - Y) / N)
        matrix, cross = query.parts(query.evaluate(rows))
        np.testing.assert_allclose(matrix, (weights[:, None] * V).T @ V / N)
        np.testing.assert_allclose(cross, (weights[:, None] * V).T @ Y / N)
        counts = HistogramQuery("target", np.array([0.0]), column=1).evaluate(rows)
        below = y[:, 1] < 0
        np.testing.assert_allclose(counts, [weights[below].sum(), weights[~below].sum()])


@pytest.mark.parametrize("n", [N, T])
def test_queries_about_one_target_refuse_rows_with_several(n):
    """Also where a row has as many targets as there are rows, and numpy would broadcast."""
    rng = np.random.default_rng(3)
    one = TargetBounds(-1.0, 1.0)
    X, y = rng.normal(size=(n, D)), rng.normal(size=(n, T))
    problem, w = Problem(Squared(), n, D, bounds(target=one)), np.zeros(D)
    for query in (
        SelectionQuery(problem, w, 0.5, np.arange(D), 1),
        ResidualQuantileQuery(problem, w, np.array([0.0, 1.0]), 0.5, True),
        NormalEquationsQuery(Problem(Squared(), n, D, bounds(target=one)), 0.4),
        GradientQuery(problem, w, 0.5),
        HistogramQuery("target", np.array([0.0])),
    ):
        with pytest.raises(ValueError, match=r"target\(s\)|real floats|broadcast|too deep"):
            query.evaluate(row_stores(X, y)["dense"])
