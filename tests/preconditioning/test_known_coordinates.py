"""What an earlier part of a stream has released is used: start and coordinates."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from tasks_for_solvers import asked, check_replay

from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Logistic, Softmax, Squared
from skdp.problem.penalties import L2
from skdp.solvers import Solution, Solver
from skdp.solvers.preconditioning import (
    FrequencyScaling,
    IterativeWhitening,
    Preconditioner,
    Whitening,
    WideWhitening,
)

N, D = 2000, 5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) * [3.0, 1.0, 0.3, 0.1, 0.03] + 0.2
LABELS = RNG.integers(0, 3, size=N)
PUBLIC_RNG = np.random.default_rng(1)
CONDITIONERS = [
    Whitening(full=True),
    Whitening(full=False),
    IterativeWhitening(),
    FrequencyScaling(),
    WideWhitening(),
]


def problem(loss, intercept):
    target = TargetBounds(-1, 1) if isinstance(loss, Squared) else None
    return Problem(loss, N, D, RowBounds(5.0, intercept, target), penalty=L2(0.7))


def oracle_for(task, epsilon=1.0, n=N):
    y = LABELS if isinstance(task.loss, Softmax) else (LABELS > 0).astype(float)
    return asked(task, X[:n], y[:n], epsilon, 2)


@pytest.mark.parametrize("preconditioner", CONDITIONERS, ids=repr)
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Squared()], ids=repr)
@pytest.mark.parametrize("intercept", [0.0, 1.5])
def test_a_model_and_its_ridge_stay_the_same_in_other_coordinates(preconditioner, loss, intercept):
    task = problem(loss, intercept)
    w = RNG.normal(size=task.shape)
    oracle, _ = oracle_for(task, epsilon=50.0)
    conditioned = preconditioner.prepare(replace(task, initial=w), oracle, PUBLIC_RNG)
    assert conditioned.bounds.row_map is not None
    start = conditioned.start().reshape(conditioned.n_rows, -1)
    found = conditioned.in_user_coordinates(start)
    expected = task.in_user_coordinates(w.reshape(task.n_rows, -1))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
    coefficients = start[: conditioned.n_features]
    assert conditioned.penalty.value(coefficients) == pytest.approx(task.penalty.value(found[0]))


@dataclass(frozen=True)
class Preparing(Solver):
    """Solves nothing: its answer is the map that a preconditioner finds."""

    preconditioner: Preconditioner

    def solve(self, problem, oracle, rng):
        found = self.preconditioner.prepare(problem, oracle, rng).bounds.row_map
        w = np.concatenate([found.jacobian().ravel(), found.shift, [found.norm]])
        return Solution(w, found.n_features)


@pytest.mark.parametrize(
    "preconditioner", [*CONDITIONERS, WideWhitening(most_coordinates=3)], ids=repr
)
def test_coordinates_are_replayed_without_rows(preconditioner):
    task = problem(Logistic(), 1.5)
    check_replay(Preparing(preconditioner), task, X.copy(), (LABELS > 0).astype(float))


def test_without_a_start_there_is_none_afterwards():
    task = problem(Squared(), 1.5)
    assert IterativeWhitening().prepare(task, oracle_for(task)[0], PUBLIC_RNG).initial is None


@pytest.mark.parametrize("intercept", [0.0, 1.5])
def test_one_look_is_had_in_known_coordinates(intercept):
    task = problem(Squared(), intercept)
    oracle, first = oracle_for(task, epsilon=4.0)
    known = IterativeWhitening().prepare(task, oracle, PUBLIC_RNG).bounds.row_map
    assert known.typical**2 <= task.n_rows
    oracle, second = oracle_for(task, epsilon=4.0)
    again = IterativeWhitening().prepare(task, oracle, PUBLIC_RNG, known)
    assert [e.query for e in second.receipt()] == ["second_moments"]
    assert second.total == pytest.approx(0.05 * second.limit)
    assert first.total == pytest.approx(0.4 * first.limit)
    # Coordinates stay white.
    assert max(spread(again.bounds.row_map, intercept), spread(known, intercept)) < 2
    assert spread(known, intercept) < 0.1 * spread(None, intercept)


def spread(row_map, intercept):
    """Ratio of the largest to the smallest eigenvalue of the second moments."""
    Z = X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True) / 5.0)
    if row_map is not None:
        Z = row_map.apply(Z)
    elif intercept:
        Z = np.column_stack([Z, np.full(N, intercept)])
    values = np.linalg.eigvalsh(Z.T @ Z)
    return values.max() / values.min()


def test_a_look_that_noise_drowns_leaves_known_coordinates_as_they_are():
    task = problem(Squared(), 1.5)
    known = (
        IterativeWhitening()
        .prepare(task, oracle_for(task, epsilon=4.0)[0], PUBLIC_RNG)
        .bounds.row_map
    )
    again = IterativeWhitening(least=1e9).prepare(
        task, oracle_for(task, epsilon=1e-3)[0], PUBLIC_RNG, known
    )
    row_map = again.bounds.row_map
    np.testing.assert_allclose(row_map.jacobian(), known.jacobian())
    np.testing.assert_allclose(row_map.shift, known.shift)


def test_few_further_rows_leave_known_coordinates_white_though_a_column_is_empty():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(30_000, 4)), np.zeros(30_000)])
    known = None
    for n in (30_000, 300):
        task = Problem(Squared(), n, D, RowBounds(5.0, 0.0, TargetBounds(-1, 1)))
        oracle, _ = asked(task, rows[:n], np.zeros(n), 200.0, 2)
        known = IterativeWhitening().prepare(task, oracle, PUBLIC_RNG, known)
        known = known.bounds.row_map
        assert np.sum(known.moments > 0.5) == 4


def test_directions_that_noise_hides_are_treated_alike_if_asked_to():
    task = problem(Squared(), 0.0)

    def ratio(**options):
        oracle, _ = oracle_for(task, epsilon=1e-2)
        matrix = IterativeWhitening(least=0.0, iterations=1, **options).prepare(
            task, oracle, PUBLIC_RNG
        )
        values = np.linalg.svd(matrix.bounds.row_map.jacobian(), compute_uv=False)
        return values.max() / values.min()

    assert ratio(shrink=True) < 1.2
    assert ratio() > 1.3


def test_shrinking_changes_nothing_where_noise_is_small():
    task = problem(Squared(), 0.0)
    plain, shrunk = (
        IterativeWhitening(shrink=shrink)
        .prepare(task, oracle_for(task, epsilon=1e4)[0], PUBLIC_RNG)
        .bounds.row_map
        for shrink in (False, True)
    )
    assert spread(shrunk, 0.0) == pytest.approx(spread(plain, 0.0), rel=0.02)


def test_sparse_rows_of_text_start_at_a_given_model_too():

    task = Problem(Logistic(), N, D, RowBounds(5.0, 1.5), sparse=True, initial=np.arange(D + 1.0))
    y = (LABELS > 0).astype(float)
    oracle, _ = asked(task, sp.csr_array(np.abs(X)), y, 50.0, 2)
    conditioned = FrequencyScaling().prepare(task, oracle, PUBLIC_RNG)
    coef, intercept = conditioned.in_user_coordinates(conditioned.start()[:, None])
    np.testing.assert_allclose(coef[:, 0], np.arange(D), atol=1e-9)
    np.testing.assert_allclose(intercept, 1.5 * D)


def test_clear_coordinates_are_kept_at_no_cost_until_they_count_as_doubtful():
    task, looks = problem(Logistic(), 1.5), []
    known = None
    for _ in range(12):
        before = known
        oracle, ledger = oracle_for(task, epsilon=50.0)
        kept = known is not None and Whitening(full=True).keeps(known)
        known = Whitening(full=True).prepare(task, oracle, PUBLIC_RNG, known).bounds.row_map
        looks.append(len(ledger.receipt()))
        assert kept == (not looks[-1])
        if kept:
            assert ledger.total == 0
            assert known.blur == 2 * before.blur
            np.testing.assert_array_equal(known.jacobian(), before.jacobian())
            np.testing.assert_array_equal(known.shift, before.shift)
    # Rows may have changed: they are looked at again, by two queries as at first.
    assert looks[0] == 2
    assert looks[1] == 0
    assert 2 in looks[1:]


@pytest.mark.parametrize("looks", [Whitening(full=True), Whitening(full=False)], ids=repr)
def test_coordinates_that_noise_blurs_are_looked_at_again(looks):
    task = problem(Logistic(), 1.5)
    known = looks.prepare(task, oracle_for(task, epsilon=0.3)[0], PUBLIC_RNG).bounds.row_map
    assert not looks.keeps(known)
    oracle, ledger = oracle_for(task, epsilon=50.0)
    looks.prepare(task, oracle, PUBLIC_RNG, known)
    assert ledger.receipt()
