"""The perturbed minimiser where people have many rows: how much its exact law tells."""

from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from skdp.privacy import Adjacency, PrivateOracle, SeededNoise
from skdp.privacy.accounting import (
    Ledger,
    PerturbedGaussianDP,
    PrivacySpent,
    PureDP,
    Spend,
    perturbation,
)
from skdp.privacy.queries import PerturbedMinimumQuery
from skdp.privacy.rows import DenseRows, PrivacyUnits
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Huber, HuberisedHinge, Logistic, Squared, SquaredHinge
from skdp.reporting import Receipt, compose

REPLACE = Adjacency.REPLACE_ONE
OTHERS = np.array([[0.9, 0.1], [-0.5, 0.7]]), np.array([0.0, 1.0])


def asked(loss, people, spend, *, pure, clip, d=2):
    target = TargetBounds(-1.0, 1.0) if loss.of_residuals else None
    problem = Problem(loss, people, d, RowBounds(1.0, target=target))
    query = PerturbedMinimumQuery.planned(
        problem, clip, 0.0, REPLACE, spend, pure=pure, of_units=True
    )
    return query, query.mechanism(REPLACE, spend)


def store(*people):
    X, y = (np.concatenate(parts) for parts in zip(*people, strict=True))
    labels = np.repeat(np.arange(len(people)), [len(person[1]) for person in people])
    return DenseRows(X, y, None, PrivacyUnits.of(labels))


def others():
    return [(OTHERS[0][k : k + 1], OTHERS[1][k : k + 1]) for k in (0, 1)]


def somebody(rng, m, d=2, length=1.0):
    """Rows of full length in all directions, with labels by chance, by direction, or all alike."""
    X = rng.normal(size=(m, d))
    X *= length / np.linalg.norm(X, axis=1)[:, None]
    kind = rng.integers(3)
    y = rng.integers(0, 2, m) if kind == 0 else (X[:, 0] > 0 if kind == 1 else np.full(m, m % 2))
    return X, y.astype(float)


def hessian(query, rows, w, h=1e-5):
    sides = [query.slope_at(rows, w - d) - query.slope_at(rows, w + d) for d in h * np.eye(w.size)]
    return np.array(sides) / (2 * h)


def log_density(query, scale, rows, w):
    """Of the minimiser under pure epsilon, but for a constant."""
    slope = np.linalg.norm(query.slope_at(rows, w))
    return -slope / scale + log(np.linalg.det(hessian(query, rows, w)))


@pytest.mark.parametrize(
    "loss", [Logistic(), Squared(), SquaredHinge(), HuberisedHinge(0.2), Huber(0.3)], ids=str
)
@pytest.mark.by_day(2)
def test_no_minimiser_is_likelier_than_claimed_for_people_with_rows_in_all_directions(loss):
    rng = np.random.default_rng(5)
    query, mechanism = asked(loss, 3, Spend(1.0), pure=True, clip=0.4)
    claimed = mechanism.sensitivity / mechanism.noise_scale + query.jacobian
    largest = 0.0
    for _ in range(80):
        here, there = (somebody(rng, int(rng.choice([1, 2, 7, 50]))) for _ in range(2))
        if rng.integers(2):
            there = here[0], 1 - here[1]
        w = rng.normal(size=2) * 10.0 ** rng.uniform(-2, 1)
        one, other = (
            log_density(query, mechanism.noise_scale, store(person, *others()), w)
            for person in (here, there)
        )
        largest = max(largest, abs(one - other))
    assert 0.3 * claimed < largest <= claimed * (1 + 1e-4)


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_the_jacobian_of_a_person_is_attained_and_is_more_than_that_of_a_row(d):
    """Rows along all axes, with residuals of 0 that bend, against residuals that are clipped."""
    query, _ = asked(Squared(), 1, Spend(2.0), pure=True, clip=0.5, d=d)
    bent, flat = (store((np.eye(d), np.full(d, target))) for target in (0.0, 1.0))
    dets = [np.linalg.slogdet(hessian(query, rows, np.zeros(d)))[1] for rows in (bent, flat)]
    found = dets[0] - dets[1]
    assert 0.999 * query.jacobian <= found <= query.jacobian * (1 + 1e-5)
    of_a_row = log(1 + query.curvature / query.strength)
    assert found > of_a_row * (1 + 1e-3) if d > 1 else found <= of_a_row * (1 + 1e-5)


def deltas(query, scale, here, there, epsilons, count=40):
    """The least deltas at which two laws of minimisers in the plane are close, on a grid."""
    reach = 7.5 * scale / query.strength
    axis = np.linspace(-reach, reach, count)
    # The gradient of the losses bends near zero, and beyond it is next to constant.
    axis = np.sign(axis) * np.abs(axis / reach) ** 1.5 * reach
    laws = []
    for rows in (here, there):
        slopes = np.array([[query.slope_at(rows, np.array([u, v])) for v in axis] for u in axis])
        jacobian = [np.gradient(slopes, axis, axis=k, edge_order=2) for k in (0, 1)]
        dets = np.abs(
            jacobian[0][..., 0] * jacobian[1][..., 1] - jacobian[0][..., 1] * jacobian[1][..., 0]
        )
        density = np.exp(-(slopes**2).sum(axis=2) / (2 * scale**2)) / (2 * np.pi * scale**2)
        laws.append(density * dets)
    weights = np.gradient(axis)
    cells = weights[:, None] * weights
    assert 0.95 < (laws[0] * cells).sum() < 1.05
    return [
        max(float((np.maximum(p - exp(e) * q, 0.0) * cells).sum()) for p, q in (laws, laws[::-1]))
        for e in epsilons
    ]


def fan(m, width, label):
    """Rows of full length whose directions fill an angle around the first axis."""
    angles = np.linspace(-width, width, m)
    return np.column_stack([np.cos(angles), np.sin(angles)]), np.full(m, label, dtype=float)


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_minimisers_of_people_are_as_close_as_claimed(mu):
    query, mechanism = asked(Logistic(), 3, Spend(mu**2), pure=False, clip=0.25)
    total = PerturbedGaussianDP(of_units=True).cost(mechanism.event("q"))
    assert total == pytest.approx(mu**2, rel=1e-9)
    epsilons = [0.5 * mu, 1.5 * mu, 3 * mu]
    claimed = [exp(perturbation.log_delta(mu, e, of_units=True)) for e in epsilons]
    largest = np.zeros(3)
    for width in (0.05, 1.0):
        here, there = (store(fan(25, width, label), *others()) for label in (0, 1))
        found = deltas(query, mechanism.noise_scale, here, there, epsilons)
        largest = np.maximum(largest, found)
    assert (largest <= np.array(claimed) * 1.02 + 1e-9).all()
    # Rows that are all but alike move along one line, as those of one row.
    assert largest[1] >= 0.15 * claimed[1]


def test_groups_of_rows_are_as_close_as_their_total_says():
    """Three rows in different directions, of a fit whose promise is about one."""
    problem, spend = Problem(Logistic(), 4, 2, RowBounds(1.0)), Spend(0.09)
    query = PerturbedMinimumQuery.planned(problem, 0.25, 0.0, REPLACE, spend)
    mechanism = query.mechanism(REPLACE, spend)
    fit = Receipt((mechanism.event("q"),), PrivacySpent(1.0, 1e-4))
    here, there = (
        DenseRows(np.vstack([X, OTHERS[0][:1]]), np.append(y, 0.0))
        for X, y in (fan(3, 0.5, label) for label in (0, 1))
    )
    aims = [1e-2, 1e-4]
    claimed = [compose([fit.between(3)], delta).epsilon for delta in aims]
    found = deltas(query, mechanism.noise_scale, here, there, claimed)
    assert (np.array(found) <= np.array(aims) * 1.02).all()
    of_one = [compose([fit], delta).epsilon for delta in aims]
    assert (np.array(deltas(query, mechanism.noise_scale, here, there, of_one)) > aims).all()


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(0.05, 0.1), (0.3, 0.5), (0.3, 1.5), (2.0, 1.0), (2.0, 6.0), (5.0, 20.0)]
)
def test_the_bound_of_people_is_the_least_of_its_tangents(mu, epsilon):
    def tangent(y):
        total = 0.0
        for share, copies in ((1.0, 1), (0.625, 2), (0.5, 1)):
            level = sqrt(share) * mu
            cut = epsilon - perturbation.KAPPA * mu + y - np.expm1(y)
            excess = norm(level**2 / 2 - cut, level)
            above = np.linspace(0, max(0, excess.mean()) + 12 * level, 4001)
            total += copies * trapezoid(excess.sf(above), above) * exp(-y)
        return total

    found = exp(perturbation.log_delta(mu, epsilon, of_units=True))
    least = minimize_scalar(tangent, bounds=(0, 6), method="bounded", options={"maxiter": 25}).fun
    assert found == pytest.approx(min(1.0, least), rel=1e-3)
    # No less than what the vertices of one row make.
    assert found >= exp(perturbation.log_delta(mu, epsilon)) * (1 - 1e-12)


@pytest.mark.parametrize("epsilon", [0.02, 1.0, 30.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-60])
def test_levels_of_people_and_back(epsilon, delta):
    level = perturbation.mu(epsilon, delta, of_units=True)
    assert 0.97 * perturbation.mu(epsilon, delta) <= level <= perturbation.mu(epsilon, delta)
    assert perturbation.log_delta(level, epsilon, of_units=True) <= log(delta)
    assert perturbation.log_delta(level * (1 + 1e-8), epsilon, of_units=True) > log(delta)
    back = perturbation.epsilon(level, delta, of_units=True)
    assert epsilon <= back * (1 + 1e-9) <= epsilon * (1 + 1e-6)


@pytest.mark.parametrize("of_units", [False, True])
def test_nothing_that_was_spent_has_no_delta(of_units):
    assert [perturbation.log_delta(0.0, e, of_units) for e in (0.0, 1.0)] == [-np.inf, -np.inf]


@pytest.mark.parametrize("of_units", [False, True])
def test_a_ledger_takes_the_minimiser_that_is_proved_for_what_it_protects(of_units):
    problem = Problem(Logistic(), 3, 2, RowBounds(1.0))
    spend = Spend(1.0)
    query = PerturbedMinimumQuery.planned(problem, 0.3, 0.0, REPLACE, spend, of_units=of_units)
    event = query.mechanism(REPLACE, spend).event(query.name)
    Ledger(50.0, 1e-5, calculus=PerturbedGaussianDP(of_units=of_units)).charge(event)
    with pytest.raises(TypeError, match=r"^PerturbedGaussianDP has no price for a minimiser"):
        Ledger(50.0, 1e-5, calculus=PerturbedGaussianDP(of_units=not of_units)).charge(event)


@pytest.mark.parametrize("calculus", [PerturbedGaussianDP(), PureDP()], ids=str)
def test_a_ledger_of_rows_reads_nobody(calculus):
    rows, delta = store(*others()), 0.0 if isinstance(calculus, PureDP) else 1e-5
    problem = Problem(Logistic(), 2, 2, RowBounds(1.0))

    def oracle(calculus):
        ledger = Ledger(1.0, delta, calculus=calculus)
        noise = SeededNoise(np.random.default_rng(0))
        return PrivateOracle(rows, ledger, REPLACE, noise).for_problem(problem), ledger

    asked, ledger = oracle(calculus)
    with pytest.raises(ValueError, match="no proof for all rows of a privacy unit"):
        asked.perturbed_minimum(spend=Spend(ledger.limit))
    assert ledger.total == 0
    asked, ledger = oracle(calculus.for_units())
    assert np.isfinite(asked.perturbed_minimum(spend=Spend(ledger.limit))).all()
