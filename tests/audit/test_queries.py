"""Every query of the oracle, answered many times on a worst-case pair of neighbours.

The pairs are the crafted examples of ``examples_of_queries.py``, which move each answer by its
declared sensitivity; a query without one fails here and in ``test_every_query.py``.
"""

import numpy as np
import pytest
from examples_of_queries import EXAMPLES
from scipy.special import ndtri

from skdp.audit import audit_query
from skdp.privacy import Adjacency
from skdp.privacy.accounting import Ledger, PerturbedGaussianDP, Spend, gdp
from skdp.privacy.queries import GradientQuery, GumbelQuery, PerturbedMinimumQuery, PerturbedQuery
from skdp.privacy.rows import DenseRows

EPSILON, DELTA = 1.0, 1e-5
# Certain enough for hundreds of audits of honest mechanisms.
SURE = 1 - 1e-7
every_query = pytest.mark.parametrize(
    "kind",
    [
        # Samples take long to price.
        pytest.param(
            kind, id=kind.name, marks=pytest.mark.nightly if "sampled" in kind.name else ()
        )
        for kind in EXAMPLES
    ],
)


def planned(query):
    """The query as the oracle would ask it for the whole budget."""
    if not isinstance(query, PerturbedMinimumQuery):
        return query
    limit = Ledger(EPSILON, DELTA, calculus=PerturbedGaussianDP()).limit
    return PerturbedMinimumQuery.planned(
        query.problem, query.clip_norm, 40.0, Adjacency.REPLACE_ONE, Spend(limit)
    )


def worst_pair(example):
    """Of the neighbours that replace one row, those whose answers are farthest apart."""
    n = len(example.X)
    weights = example.weights
    rows = DenseRows(example.X, example.y, weights)
    pairs = []
    for i in range(n):
        X, y = example.X.copy(), example.y.copy()
        X[i], y[i] = example.other_X[i], example.other_y[i]
        # Rows that come in weigh nothing.
        own = None if weights is None else np.where(np.arange(n) == i, 0.0, weights)
        pairs.append(DenseRows(X, y, own))
    if isinstance(example.query, PerturbedMinimumQuery):
        return rows, pairs[0]
    measure = np.ptp if isinstance(example.query, GumbelQuery) else np.linalg.norm
    exact = example.query.evaluate(rows)
    moves = [measure(example.query.evaluate(other) - exact) for other in pairs]
    return rows, pairs[int(np.argmax(moves))]


def audited(kind, runs, example=None):
    example = EXAMPLES[kind][1][0] if example is None else example
    first, second = worst_pair(example)
    query = planned(example.query)
    return audit_query(query, first, second, epsilon=EPSILON, delta=DELTA, runs=runs)


def runs_for(kind, many):
    if issubclass(kind, PerturbedMinimumQuery):
        return many
    if issubclass(kind, PerturbedQuery | GumbelQuery):
        return 20 * many
    return 500 * many


@every_query
def test_no_answer_tells_more_than_it_is_charged_for(kind):
    if "sampled" in kind.name:
        pytest.importorskip("dp_accounting", reason="prices samples")
    result = audited(kind, runs_for(kind, 40))
    assert result.epsilon <= EPSILON
    assert not result.at(SURE).refuted
    if result.bound != "gaussian":
        assert issubclass(kind, PerturbedQuery | GumbelQuery)
        return
    # Nor does it tell less: else noise would be wasted. Six standard errors.
    counts, n = result.evidence, result.runs
    found = -ndtri(counts.false_positives / n) - ndtri(counts.false_negatives / n)
    assert found >= gdp.mu(EPSILON, DELTA) - 6 * np.sqrt(np.pi / n)


@pytest.mark.nightly
@every_query
def test_normal_noise_is_within_a_tenth_of_its_claim(kind):
    for example in EXAMPLES[kind][1][:2]:
        if issubclass(kind, PerturbedQuery | GumbelQuery):
            pytest.skip("its claim is an upper bound")
        result = audited(kind, 300_000, example)
        assert result.ratio >= 0.9, example.query
        assert not result.at(SURE).refuted


def test_zero_out_leaves_the_row_out():
    example = EXAMPLES[GradientQuery][1][0]
    rows = DenseRows(example.X, example.y)
    left = DenseRows(example.X[1:], example.y[1:])
    result = audit_query(
        example.query, rows, left, adjacency=Adjacency.ZERO_OUT, epsilon=EPSILON, delta=DELTA
    )
    assert result.ratio >= 0.85
    assert not result.at(SURE).refuted


def test_an_answer_that_the_row_does_not_move_tells_nothing():
    example = EXAMPLES[GradientQuery][1][0]
    first, second = (DenseRows(example.X, example.y) for _ in range(2))
    result = audit_query(example.query, first, second, epsilon=EPSILON, delta=DELTA, runs=100)
    assert not result.at(SURE).epsilon_lower_bound
