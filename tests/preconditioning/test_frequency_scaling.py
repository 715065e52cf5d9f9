"""FrequencyScaling: frequent features of sparse rows, found by one noisy look at their mean."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tasks_for_solvers import asked

from skdp import DPLogisticRegression
from skdp.estimators import choose_preconditioner
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L2Ball
from skdp.problem.losses import Logistic, Softmax
from skdp.problem.penalties import L1
from skdp.solvers.preconditioning import FrequencyScaling, Whitening

N, D = 400, 1200


def text(seed=0):
    """Three features in nearly every row, each row some of the others; unit rows."""
    rng = np.random.default_rng(seed)
    X = (rng.random((N, D)) < 0.005).astype(float)
    X[:, :3] = rng.random((N, 3)) < 0.95
    X[np.arange(N), rng.integers(3, D, N)] = 1.0
    return sp.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True))


def problem(loss=None, **changes):
    bounds = RowBounds(1.0, 0.3)
    return replace(Problem(loss or Logistic(), N, D, bounds, sparse=True), **changes)


def prepare(task, epsilon=1.0, seed=0, X=None):
    oracle, ledger = asked(task, text() if X is None else X, np.zeros(N), epsilon, seed)
    return FrequencyScaling().prepare(task, oracle, np.random.default_rng(1)), ledger


def test_at_a_huge_budget_the_map_is_the_one_of_the_mean():
    X = text()
    row_map = prepare(problem(Softmax(3)), epsilon=1e9)[0].bounds.row_map
    mean = X.mean(axis=0)
    scale = 1 / (1 + mean / 0.005)
    np.testing.assert_allclose(row_map.scale, scale, rtol=1e-3)
    np.testing.assert_allclose(row_map.shift, scale * mean, rtol=1e-3, atol=1e-5)
    assert row_map.matrix is None


def test_frequent_features_are_damped_and_the_others_are_left_alone():
    damped, _ = prepare(problem(), epsilon=4.0)
    row_map = damped.bounds.row_map
    assert np.all(row_map.scale[:3] < 0.2)
    # The chance that noise reaches the threshold at one of 1200 features is about 1 in 10.
    assert np.count_nonzero(row_map.scale[3:] < 1) <= 2
    assert np.all(row_map.shift[row_map.scale == 1] == 0)


def test_the_mean_is_all_that_is_asked_at_the_price_of_rows_without_negative_entries():
    _, ledger = prepare(problem())
    (event,) = ledger.receipt()
    assert event.query == "row_means"
    assert ledger.total / ledger.limit == pytest.approx(0.07)
    assert event.sensitivity == pytest.approx(np.sqrt(2) / N, rel=1e-4)


def test_without_an_intercept_nothing_is_shifted():
    damped, _ = prepare(problem(bounds=RowBounds(1.0)), epsilon=20.0)
    assert np.all(damped.bounds.row_map.shift == 0)
    assert damped.bounds.row_map.scale.min() < 0.2


def test_cutting_to_a_typical_length_ends_at_huge_budgets():
    lengths = [prepare(problem(), eps)[0].bounds.row_map.norm for eps in (0.1, 1.0, 1e6)]
    assert lengths == [0.5, 0.5, 2.0]


@pytest.mark.parametrize("norm", [2.0**-20, 2.0**20])
def test_it_does_not_depend_on_the_unit_of_the_features(norm):
    unit = prepare(problem(), 20.0)[0].bounds
    task = problem(bounds=RowBounds(norm, 0.3 * norm))
    other = prepare(task, 20.0, X=norm * text())[0].bounds
    np.testing.assert_allclose(other.row_map.scale, unit.row_map.scale, rtol=1e-9)
    np.testing.assert_allclose(other.row_map.shift, norm * unit.row_map.shift, rtol=1e-9)
    assert other.row_norm == pytest.approx(norm * unit.row_norm)


def test_auto_damps_sparse_rows_of_many_features_and_whitens_dense_ones():
    assert choose_preconditioner("auto", "auto", problem()) == FrequencyScaling()
    assert choose_preconditioner("auto", "auto", problem(n_features=1000)) == Whitening()
    assert choose_preconditioner("auto", "auto", problem(sparse=False)) == Whitening()


@pytest.mark.parametrize("change", [{"penalty": L1(0.1)}, {"constraint": L2Ball(1.0)}])
def test_what_is_tied_to_coordinates_stays_without_it(change):
    assert choose_preconditioner("auto", "auto", problem(**change)) is None
    with pytest.raises(ValueError, match="FrequencyScaling needs a ridge penalty or none"):
        FrequencyScaling().check(problem(**change))


def test_whitening_refuses_sparse_rows_of_many_features():
    with pytest.raises(ValueError, match="needs dense rows, or sparse ones of up to 1000 features"):
        Whitening().check(problem())
    Whitening().check(problem(n_features=1000))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows_are_damped_and_averaged_by_default(n_classes):
    y = np.arange(N) % n_classes
    model = DPLogisticRegression(data_norm=1.0, classes=list(range(n_classes))).fit(text(), y)
    asked = {event.query for event in model.privacy_ledger_}
    assert {"row_means", "gradient"} <= asked
    assert model.n_iter_ == [10]
    assert model.privacy_spent_.epsilon == pytest.approx(1.0)
