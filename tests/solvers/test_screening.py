"""Screening: what it finds, what it asks, and that it stays within what it was given."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from by_night import by_night
from sklearn.linear_model import Lasso, Ridge
from tasks_for_solvers import check_replay, solve

from skdp.privacy import Adjacency
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.constraints import NonNegative
from skdp.problem.losses import Squared
from skdp.problem.penalties import L1, L2
from skdp.solvers import Screening

N, D = 4000, 150
BOUND = 1 / sqrt(D)
UNIT = TargetBounds(-1.0, 1.0)
TRUTH = np.zeros(D)
TRUTH[[3, 30, 77, 149]] = [3.0, -3.0, 2.0, -2.0]


def rows(seed=0, mean=0.0, n=N, d=D):
    """Features in [-1, 1] / sqrt(d) around a mean; targets in [-1, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d)) * (1 - abs(mean)) + mean
    X /= sqrt(d)
    y = (X - mean / sqrt(d)) @ TRUTH[:d] + 0.1 * rng.normal(size=n)
    return X, np.clip(y, -1, 1)


def problem(feature_bound=BOUND, intercept=0.3, n=N, d=D, **facts):
    bounds = RowBounds(1.0, intercept, UNIT, feature_bound=feature_bound)
    return Problem(Squared(), n, d, bounds, **facts)


def run(asked, X, y, epsilon, solver=None, seed=0):
    solution, _, ledger = solve(solver or Screening(k=8), asked, X, y, epsilon, seed)
    return solution.w, ledger


def explained(w, X, y):
    z = X @ w[: X.shape[1]] + 0.3 * w[-1]
    return 1 - np.mean((y - z) ** 2) / np.var(y)


def test_finds_and_fits_the_features_that_matter():
    (X, y), (fresh, targets) = rows(), rows(1)
    w, _ = run(problem(), X, y, 2.0)
    assert set(np.flatnonzero(TRUTH)) <= set(np.flatnonzero(w[:D]))
    assert np.count_nonzero(w[:D]) == 8
    assert explained(w, fresh, targets) > explained(np.append(TRUTH, 0.0), fresh, targets) - 0.05


@pytest.mark.parametrize("feature_bound", [BOUND, None], ids=["bound", "no bound"])
@pytest.mark.parametrize("intercept", [0.0, 0.3])
def test_replays_bitwise_without_rows(feature_bound, intercept):
    check_replay(Screening(), problem(feature_bound, intercept, n=500), *rows(n=500))


GRADIENT = ("gradient", "gaussian", 1)


def selected_by(feature_bound, solver, d=D):
    """Names and mechanisms of what is asked besides the fits and means of the targets."""
    X, y = rows(n=6000, d=d)
    _, ledger = run(problem(feature_bound, n=6000, d=d), X, y, 1.0, solver)
    fits = {"second_moments", "gradient_and_share", "intercept_gradient"}
    asked = [(e.query, e.mechanism, e.count) for e in ledger.receipt() if e.query not in fits]
    # Each fit begins with one.
    fit = ("gradient_sizes", "gaussian", 1)
    return [
        a
        for a, after in zip(asked, [*asked[1:], None], strict=True)
        if a != fit or after == GRADIENT
    ]


def test_choices_are_charged_one_by_one():
    half = [("residual_quantile", "exponential", 2), ("selection", "exponential", 4)]
    assert selected_by(BOUND, Screening(k=8)) == half * 2


def test_without_a_good_bound_on_entries_the_whole_vector_is_asked_for():
    sizes = ("gradient_sizes", "gaussian", 1)
    half = [("residual_quantile", "exponential", 1), sizes, GRADIENT]
    assert selected_by(None, Screening(k=8)) == half * 2


def test_one_choice_at_a_time_needs_no_bound_on_entries():
    half = [("residual_quantile", "exponential", 2), ("selection", "exponential", 1)]
    assert selected_by(None, Screening(k=2)) == half * 2


@pytest.mark.parametrize("k", [None, 3, 6])
@pytest.mark.by_day(1)
def test_the_calculus_is_the_same_for_all_budgets_and_holds_what_is_asked(k):
    """Searches derive budgets from it, so a budget must not decide about it."""
    solver = Screening(k=k)
    for d in range(1, 9):
        kinds = set()
        for n in (20, 300, 5000):
            X, y = rows(n=n, d=d)
            for epsilon in (1e-4, 0.1, 1.0, 50.0):
                asked = problem(n=n, d=d)
                calculus = solver.calculus_for(asked, epsilon, 1e-5, Adjacency.REPLACE_ONE)
                kinds.add(type(calculus))
                if d in (1, 4, 8) and (n, epsilon) in ((20, 50.0), (300, 1.0), (5000, 1e-4)):
                    # A ledger refuses what it has no price for.
                    _, ledger = run(asked, X, y, epsilon, solver)
                    assert ledger.total <= ledger.limit
        assert len(kinds) == 1


def test_nothing_is_selected_where_all_features_fit():
    assert {query for query, _, _ in selected_by(BOUND, Screening(k=10), d=10)} <= {"gradient"}
    assert {query for query, _, _ in selected_by(BOUND, Screening(k=99), d=10)} <= {"gradient"}


@pytest.mark.parametrize("intercept", [0.0, 0.3])
def test_with_few_rows_and_few_features_gradient_descent_takes_them_all(intercept):
    X, y = rows(n=300, d=20)
    w, ledger = run(problem(n=300, d=20, intercept=intercept), X, y, 1.0)
    assert np.count_nonzero(w[:20]) == 20
    mean = ["intercept_gradient"] if intercept else []
    assert [e.query for e in ledger.receipt()] == [*mean, "gradient"]


def test_descent_without_looks_starts_at_the_mean_of_the_targets():
    X, _ = rows(n=3000)
    y = np.full(3000, -0.6)
    w, _ = run(problem(n=3000), X, y, 0.1, Screening(k=2))
    assert abs(0.3 * w[-1] + 0.6) < 0.3


@pytest.mark.nightly
def test_the_number_of_features_grows_with_the_evidence():
    sizes = []
    for n, epsilon in ((300, 0.01), (300, 1.0), (2000, 1.0), (2000, 30.0)):
        X, y = rows(n=n)
        sizes.append(np.count_nonzero(run(problem(n=n), X, y, epsilon, Screening())[0][:D]))
    assert sizes == sorted(sizes)
    assert sizes[0] <= 2
    assert sizes[-1] > 40


@pytest.mark.nightly
@pytest.mark.parametrize("centre", [-0.6, *by_night(0.0, 0.6)])
def test_features_and_targets_need_not_be_centred(centre):
    """Residuals on one side of zero would select features by their means."""
    found = []
    for seed in range(3):
        X, y = rows(seed, mean=0.5)
        X[:, 50:60] = 0.95 / sqrt(D)  # constant, as large as may be
        y = np.clip(0.4 * y + centre, -1, 1)
        w, _ = run(problem(), X, y, 4.0, seed=seed)
        found.append(len(set(np.flatnonzero(TRUTH)) & set(np.flatnonzero(w[:D]))))
    assert np.mean(found) >= 3.5


@pytest.mark.nightly
def test_positive_coefficients_come_from_positive_correlations():
    X, y = rows()
    w, _ = run(problem(constraint=NonNegative()), X, y, 20.0, Screening(k=4))
    assert {3, 77} <= set(np.flatnonzero(w[:D]))
    assert not {30, 149} & set(np.flatnonzero(w[:D]))
    assert w[:D].min() >= 0
    w, _ = run(problem(constraint=NonNegative()), X, y, 20.0, Screening(k=D))
    assert w[:D].min() >= 0
    np.testing.assert_allclose(w[[3, 77]], TRUTH[[3, 77]], rtol=0.2)


@pytest.mark.nightly
@pytest.mark.parametrize("k", [6, *by_night(60)])
@pytest.mark.parametrize(
    ("penalty", "model"),
    [(L1(3e-3), Lasso(alpha=3e-3)), (L2(1e-3), Ridge(alpha=1e-3 * N))],
    ids=["l1", "l2"],
)
def test_penalties_are_met_at_a_huge_budget(k, penalty, model):
    X, y = rows(mean=0.3, d=60)
    w, _ = run(problem(penalty=penalty, d=60), X, y, 1e4, Screening(k=k))
    kept = np.flatnonzero(w[:60])
    model.fit(X[:, np.sort(kept)] if k == 6 else X, y)
    expected = model.coef_[model.coef_ != 0]
    np.testing.assert_allclose(w[kept], expected, atol=0.02)
    assert 0.3 * w[-1] == pytest.approx(model.intercept_, abs=0.02)


def test_a_starting_point_is_not_used():
    X, y = rows(n=300)
    asked = problem(n=300)
    plain, _ = run(asked, X, y, 1.0)
    started, _ = run(replace(asked, initial=np.ones(D + 1)), X, y, 1.0)
    np.testing.assert_array_equal(plain, started)
