"""The perturbed minimiser: it is the minimiser, in every layout, and says nothing else."""

from dataclasses import replace
from math import inf, log, log1p, sqrt

import numpy as np
import pytest
from example_of_a_query import rows_of_all_sizes, targets_of
from examples_of_one_shots import slope_problems
from scipy.optimize import minimize as scipy_minimize

from skdp import solvers
from skdp.privacy import Adjacency, PrivateOracle, SeededNoise, gamma, of_sum
from skdp.privacy.accounting import Ledger, PerturbedGaussianDP, Spend
from skdp.privacy.mechanisms import ObjectivePerturbation, largest_jacobian
from skdp.privacy.queries import PerturbedMinimumQuery, perturbed_minimum
from skdp.privacy.rows import BoundedBlock, DenseRows
from skdp.problem import Problem, RowBounds, RowMap
from skdp.problem.losses import HuberisedHinge, Logistic, SquaredHinge
from skdp.problem.penalties import L2, Tikhonov
from skdp.testing import check_noise, row_stores

N, D = 40, 3
REPLACE = Adjacency.REPLACE_ONE


def planned(problem, mu=1.0, clip=None, strength=0.0, adjacency=REPLACE):
    clip = problem.row_norm if clip is None else clip
    return PerturbedMinimumQuery.planned(problem, clip, strength, adjacency, Spend(mu**2))


@pytest.mark.parametrize("problem", list(slope_problems()), ids=lambda p: type(p.loss).__name__)
def test_the_slope_at_the_minimiser_is_the_slope_that_was_drawn(problem):
    rng = np.random.default_rng(1)
    query = planned(problem)
    X, y = rows_of_all_sizes(rng), targets_of(Logistic(), rng)
    slope = query.mechanism(REPLACE, Spend(1.0)).noise_scale * rng.normal(size=problem.shape)
    for layout, rows in row_stores(X, y).items():
        if problem.bounds.row_map is not None and "csr" in layout:
            continue
        with np.errstate(all="ignore"):
            w = query.evaluate_under(rows, slope)
            off = np.linalg.norm(query.slope_at(rows, w) - slope)
        assert off <= query.tolerance, layout


@pytest.mark.parametrize("penalty", [L2(0.3), Tikhonov(np.diag([3.0, 0.1, 0.0]))], ids=str)
def test_it_minimises_the_objective_that_is_written_down(penalty):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(N, D)) / 3, rng.integers(0, 2, N).astype(float)
    problem = Problem(Logistic(), N, D, RowBounds(2.0, 0.7), penalty=penalty)
    query, slope = planned(problem, strength=2.0), rng.normal(size=D + 1)
    factor = penalty.factor if isinstance(penalty, Tikhonov) else np.sqrt(0.3) * np.eye(D)
    strength = np.diag([*np.maximum(N * np.diag(factor) ** 2, query.strength), query.strength])

    def objective(w):
        z = X @ w[:D] + 0.7 * w[D]
        return (np.logaddexp(0, z) - y * z).sum() + 0.5 * w @ strength @ w + slope @ w

    expected = scipy_minimize(objective, np.zeros(D + 1), tol=1e-14).x
    w = query.evaluate_under(DenseRows(X, y), slope)
    np.testing.assert_allclose(w, expected, atol=1e-5)


@pytest.mark.parametrize("largest", [1e8, 1e16])
def test_a_penalty_on_one_direction_leaves_the_others_strong_after_rounding(largest):
    # With less, Newton's equations were singular for some rows, which an exception told.
    for seed in range(10):
        a = np.random.default_rng(seed).normal(size=8)
        factor = np.sqrt(largest / N) / (a @ a) * np.outer(a, a)
        query = planned(Problem(Logistic(), N, 8, RowBounds(1.0), penalty=Tikhonov(factor)))
        matrix, most = query._penalty()
        assert query.strength >= 1e-11 * most
        assert np.linalg.eigvalsh(matrix).min() >= query.strength


@pytest.mark.parametrize("most_columns", [1000, 0])
def test_many_columns_are_solved_for_without_a_matrix(most_columns, monkeypatch):
    monkeypatch.setattr(perturbed_minimum, "_MOST_COLUMNS", most_columns)
    rng = np.random.default_rng(3)
    problem = Problem(Logistic(), N, D, RowBounds(2.0))
    query, rows = planned(problem), DenseRows(rng.normal(size=(N, D)), (np.arange(N) % 2) * 1.0)
    w = query.evaluate(rows)
    assert np.linalg.norm(query.slope_at(rows, w)) <= query.tolerance


@pytest.mark.parametrize("seed", range(8))
def test_rows_for_which_the_hessian_is_singular_to_rounding_raise_nothing(seed):
    """Rows that are all alike, beside a quadratic part that rounding swallows."""
    direction = np.random.default_rng(seed).normal(size=5)
    X, y = np.tile(0.9 * direction / np.linalg.norm(direction), (4, 1)), np.array([0, 0, 0, 1.0])
    query = PerturbedMinimumQuery(Problem(Logistic(), 4, 5, RowBounds(1.0)), 1.0, 1e-20, 1e-9)
    rows = DenseRows(X, y)
    w = query.evaluate(rows)
    assert np.linalg.norm(query.slope_at(rows, w)) <= query.tolerance


@pytest.mark.parametrize("mu", [1e-4, 0.3, 3.0, 1e3, 1e6])
@pytest.mark.parametrize("n", [5, 10**7])
def test_plans_fit_their_spend_and_leave_room_for_rounding(mu, n):
    problem = Problem(Logistic(), n, 20, RowBounds(1.0))
    query = planned(problem, mu)
    mechanism = query.mechanism(REPLACE, Spend(mu**2))
    cost = PerturbedGaussianDP().cost(mechanism.event("q"))
    assert cost <= mu**2
    assert cost >= mu**2 * (1 - 1e-9)
    assert query.jacobian <= largest_jacobian(Spend(mu**2))
    assert query.jacobian == log1p(query.curvature / query.strength)
    # The noise that hides the tolerance is small beside that of the slope in every direction.
    flattest = mechanism.noise_scale / query.strength
    assert mechanism.output_noise_scale <= 0.6 * flattest


# Rows whose parts, in other coordinates, are long and cancel.
FAR = RowMap(np.ones(20), None, np.full(20, 1e4), norm=1e-3)


@pytest.mark.parametrize("mu", [0.3, 3.0, 1e3])
@pytest.mark.parametrize("n", [5, 10**7])
@pytest.mark.parametrize("row_map", [None, FAR], ids=["as they come", "far"])
def test_plans_are_as_strong_and_tolerant_as_theorem_o3_asks_for(row_map, n, mu):
    query = planned(Problem(Logistic(), n, 20, RowBounds(1.0, row_map=row_map)), mu)
    mechanism, m = query.mechanism(REPLACE, Spend(mu**2)), query.strength
    far = 1e12
    growth = (query.rounding(far, 0.0) - query.rounding(0.0, 0.0)) / far
    assert m >= 20 * growth * (1 - 1e-9)
    longest = 2 * mechanism.longest / m + sqrt(2 * n * log(2.0) / m)
    assert query.tolerance >= 2.5 * query.rounding(longest, mechanism.longest) * (1 - 1e-9)
    # Two computed minimisers are each this far from the one that both data sets share.
    assert mechanism.output_sensitivity >= 2 * query.tolerance / m


LONG = np.finfo(np.longdouble).eps < 1e-18
LOSSES = {
    "logistic": (Logistic(), None),
    "clipped": (Logistic(), 0.1),
    "hinge": (HuberisedHinge(0.01), None),
    "squared hinge": (SquaredHinge(), 0.5),
}


def least_tolerance(query, spend):
    """Twice what sums and scores alone can be off by at the longest minimiser, by their model."""
    problem, n = query.problem, query.problem.n_samples
    slope = query.mechanism(REPLACE, spend).noise_scale * (np.sqrt(problem.n_rows) + 10)
    least = 2 * slope / query.strength
    of_scores = n * query.curvature * gamma(problem.n_rows) * least
    return 2 * (query.gradient.bound * of_sum(n) / 2 + of_scores)


def check_tolerance(n, mu, loss="logistic", clip=None):
    for p in (3, 300):
        query = planned(Problem(loss, n, p, RowBounds(1.0)), mu, clip=clip)
        assert query.tolerance >= least_tolerance(query, Spend(mu**2))
        assert query.tolerance >= 2.5 * query.rounding(0.0, 0.0)
        assert query._growth() <= query.strength / 20


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("mu", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("n", [10, 1000, 300_000, 10**7])
def test_the_tolerance_is_above_what_gradients_are_off_by(n, mu, kind):
    loss, clip = LOSSES[kind]
    check_tolerance(n, mu, loss, clip)


def long_gradient(query, X, y, w, b, norms):
    """The gradient in extended precision, of rows within their bound that have these norms."""
    problem = query.problem
    X, y, w, b = (a.astype(np.longdouble) for a in (X, y, w, b))
    s, z = 2 * y - 1, X @ w
    if isinstance(problem.loss, Logistic):
        r = 1 / (1 + np.exp(-z)) - y
    elif isinstance(problem.loss, SquaredHinge):
        r = -2 * s * np.maximum(1 - s * z, 0)
    else:
        h = np.longdouble(problem.loss.width)
        r = -s * np.clip((1 + h - s * z) / (2 * h), 0, 1)
    # Limits are a function of one row, as they were computed.
    limit = np.minimum(query.gradient.bound / norms, 1e300)
    matrix, _ = query._penalty()
    return (np.clip(r, -limit, limit)[:, None] * X).sum(axis=0) + matrix * w + b


@pytest.mark.nightly
@pytest.mark.skipif(not LONG, reason="longdouble is no longer than double here")
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("n", [10, 1000, 300_000])
def test_gradients_are_off_by_no_more_than_is_said(n, kind):
    loss, clip = LOSSES[kind]
    query = planned(Problem(loss, n, D, RowBounds(1.0)), clip=clip)
    rng = np.random.default_rng(n)
    for rows in ("alike", "random"):
        # Rows that are alike are rounded the same way at each addition.
        X = np.full((n, D), 0.1) if rows == "alike" else rng.uniform(-0.5, 0.5, (n, D))
        y = np.ones(n) if rows == "alike" else rng.integers(0, 2, n).astype(float)
        blocks = DenseRows(X, y).blocks()
        norms = np.concatenate([BoundedBlock(raw, query.problem.bounds).norms for raw in blocks])
        for length in (0.01, 1.0, 100.0):
            w, b = np.full(D, -length / np.sqrt(D)), rng.normal(size=D)
            exact = long_gradient(query, X, y, w, b, norms)
            off = np.linalg.norm((exact + query.slope_at(DenseRows(X, y), w) - b).astype(float))
            assert off <= query.rounding(length, float(np.linalg.norm(b))), (rows, length)


@pytest.mark.parametrize(("clip", "slope"), [(None, 0.25), (0.5, 0.25), (0.1, 0.09)])
def test_the_curvature_of_a_clipped_loss_is_attained(clip, slope):
    problem = Problem(Logistic(), 1, 1, RowBounds(1.0))
    query = replace(planned(problem, clip=clip), strength=1e-30)
    # With the margin for norms.
    assert slope <= query.curvature <= slope * (1 + 4e-5)
    rows = DenseRows(np.array([[1.0]]), np.array([0.0]))

    def steepest(w):
        slopes = [query.slope_at(rows, np.array([v]))[0] for v in w]
        return -np.min(np.diff(slopes)) / (w[1] - w[0])

    # The derivative is steepest at zero, or where the clip sets in.
    centre = 0.0 if slope == 0.25 else -np.log(9)
    assert steepest(centre + np.linspace(-0.1, 0.1, 401)) == pytest.approx(slope, rel=1e-3)
    assert steepest(np.linspace(-6, 6, 601)) <= slope * (1 + 1e-3)


def test_too_large_a_jacobian_is_refused():
    problem = Problem(Logistic(), N, D, RowBounds(1.0))
    query = PerturbedMinimumQuery(problem, None, 1e-3, 1.0)
    with pytest.raises(ValueError, match=r"^ObjectivePerturbation needs a Jacobian"):
        query.mechanism(REPLACE, Spend(1.0))


class Corner(HuberisedHinge):
    """A hinge loss with a corner, which inherits that it has none."""

    def derivative(self, y, z):
        sign = 2.0 * y - 1.0
        return np.where(sign * z < 1.0, -sign, 0.0)


def test_a_loss_derived_from_a_proved_one_is_refused():
    """Its derivative may jump where the Jacobian is charged by the slope that it inherits."""
    problem = Problem(Corner(), N, D, RowBounds(1.0))
    with pytest.raises(ValueError, match=r"^PerturbedMinimumQuery needs .* got Corner"):
        planned(problem)
    with pytest.raises(ValueError, match=r"^ObjectivePerturbation needs .* got Corner"):
        solvers.ObjectivePerturbation().check(problem)
    with pytest.raises(ValueError, match=r"^ObjectivePerturbation .* got Corner"):
        solvers.ObjectivePerturbation().check_pure(problem)


@pytest.mark.parametrize("strength", [np.nan, -1.0, -1e9, 0.0, 1e-300, inf])
def test_a_strength_that_keeps_nothing_has_no_price(strength):
    problem = Problem(Logistic(), N, D, RowBounds(1.0))
    query = PerturbedMinimumQuery(problem, None, strength, 1e-3)
    with pytest.raises((ValueError, ZeroDivisionError)):
        query.mechanism(REPLACE, Spend(1.0))


def slopes_of_answers(draws=300):
    """Slopes for which answers of an oracle are the minimisers, in standard deviations."""
    problem = Problem(HuberisedHinge(), 4, 2, RowBounds(1.0, 1.0))
    rows = DenseRows(np.eye(4)[:, :2], np.array([0.0, 1.0, 1.0, 0.0]))
    mu, noise = 0.5, SeededNoise(np.random.default_rng(4))
    query = planned(problem, mu, clip=problem.lipschitz)
    out = []
    for _ in range(draws):
        ledger = Ledger(10.0, 1e-5, calculus=PerturbedGaussianDP())
        oracle = PrivateOracle(rows, ledger, REPLACE, noise).for_problem(problem)
        out.append(query.slope_at(rows, oracle.perturbed_minimum(spend=Spend(mu**2))))
    return np.array(out), query, query.mechanism(REPLACE, Spend(mu**2))


def check_slopes():
    slopes, query, mechanism = slopes_of_answers()
    # What the noise on the answer adds to its slope, at most.
    smear = (4 * query.curvature + query.strength) * mechanism.output_noise_scale
    assert smear < 0.1 * mechanism.noise_scale
    check_noise(lambda: slopes, mechanism.noise_scale)


def check_output_noise():
    mechanism = ObjectivePerturbation((500,), 1.0, 2.0, 0.1, 1e-3, 0.25)
    value = np.linspace(0, 1, 500)
    noise = SeededNoise(np.random.default_rng(5))
    check_noise(lambda: mechanism.randomize(value, noise) - value, 0.25, repeats=4)


def test_the_slope_is_drawn_with_the_scale_that_was_charged():
    check_slopes()


def test_the_answer_is_noised_with_the_scale_that_was_charged():
    check_output_noise()
