"""The perturbed minimiser under pure epsilon: how much its exact law tells, and its precision."""

from math import log

import numpy as np
import pytest
from by_night import by_night
from divergence_of_minimisers import asked_purely, largest_ratio

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, PrivateOracle, SeededNoise
from skdp.privacy.accounting import GaussianDP, Ledger, PureDP, Spend
from skdp.privacy.queries import PerturbedMinimumQuery
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Huber, HuberisedHinge, Logistic, Squared, SquaredHinge

REPLACE = Adjacency.REPLACE_ONE
SHORT = HuberisedHinge(0.5)
OTHERS = [0.9, -0.8, 0.3]
# Loss, clip, strength, two data sets (rows in [-1, 1] and targets), and the share that is attained
# of what is claimed for the slope and the Jacobian.
CASES = {
    "opposite rows": (SHORT, None, 400.0, ([1.0], [0]), ([-1.0], [0]), 0.95),
    "opposite labels": (SHORT, None, 400.0, ([1.0], [0]), ([1.0], [1]), 0.95),
    "a sharp corner": (HuberisedHinge(0.01), None, 0.0, ([1.0], [0]), ([1.0], [1]), 0.75),
    "a clip": (Logistic(), 0.25, 0.0, ([1.0], [0]), ([1.0], [1]), 0.95),
    "residuals": (Squared(), 0.5, 0.0, ([1.0], [1]), ([1.0], [-1]), 0.95),
    "large residuals": (Huber(0.3), None, 300.0, ([1.0], [1]), ([-1.0], [1]), 0.95),
    "among others": (
        SquaredHinge(),
        1.0,
        0.0,
        ([1.0, *OTHERS], [0, 0, 1, 1]),
        ([-1.0, *OTHERS], [0, 0, 1, 1]),
        0.75,
    ),
}

BY_DAY = ("a clip", "residuals", "opposite rows")


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        *((name, 1.0) for name in BY_DAY),
        *by_night(*((name, 1.0) for name in CASES if name not in BY_DAY)),
        *by_night(*((name, epsilon) for name in CASES for epsilon in (0.3, 4.0))),
    ],
)
def test_no_outcome_is_likelier_than_claimed_and_the_claim_is_tight(name, epsilon):
    loss, clip, strength, data, other, tight = CASES[name]
    query, mechanism = asked_purely(loss, len(data[0]), epsilon, clip=clip, strength=strength)
    event = mechanism.event("q")
    claimed = epsilon - event.output_sensitivity / event.output_noise_scale
    found = largest_ratio(query, mechanism.noise_scale, data, other)
    assert found <= claimed * (1 + 1e-5)
    if epsilon <= 1:
        assert found >= tight * claimed


@pytest.mark.parametrize("loss", [Logistic(), Squared()], ids=str)
def test_half_the_noise_is_enough_for_a_row_that_is_zeroed_out(loss):
    query, _ = asked_purely(loss, 3, 1.0, clip=0.25)
    by_relation = [query.sensitivity(adjacency) for adjacency in (REPLACE, Adjacency.ZERO_OUT)]
    assert by_relation[0] == 2 * by_relation[1]


def density_in_two_dimensions(query, scale, rows, w):
    """Logarithm of the density of the minimiser at w, but for a constant."""
    h = 1e-5
    sides = [(query.slope_at(rows, w + d), query.slope_at(rows, w - d)) for d in h * np.eye(2)]
    jacobian = np.array([(up - down) / (2 * h) for up, down in sides])
    return -np.linalg.norm(query.slope_at(rows, w)) / scale + log(abs(np.linalg.det(jacobian)))


@pytest.mark.parametrize("loss", [Logistic(), Squared(), SquaredHinge()], ids=str)
def test_densities_in_two_dimensions_are_as_close_as_claimed(loss):
    rng, n = np.random.default_rng(3), 4
    target = TargetBounds(-1.0, 1.0) if loss.of_residuals else None
    problem = Problem(loss, n, 2, RowBounds(1.0, target=target))
    query = PerturbedMinimumQuery.planned(problem, 0.4, 0.0, REPLACE, Spend(1.0), pure=True)
    mechanism = query.mechanism(REPLACE, Spend(1.0))
    claimed = mechanism.sensitivity / mechanism.noise_scale + query.jacobian
    largest = 0.0
    for _ in range(60):
        X = rng.normal(size=(n, 2))
        y = rng.integers(0, 2, n) * 1.0
        near, labels = X.copy(), y.copy()
        near[0], labels[0] = -X[0], 1 - y[0] * rng.integers(0, 2)
        w = rng.normal(size=2) * 10.0 ** rng.uniform(-2, 1)
        one, other = (
            density_in_two_dimensions(query, mechanism.noise_scale, DenseRows(*data), w)
            for data in ((X, y), (near, labels))
        )
        largest = max(largest, abs(one - other))
    assert 0.4 * claimed < largest <= claimed * (1 + 1e-4)


LOSSES = {
    "logistic": (Logistic(), 0.3),
    "sharp hinge": (HuberisedHinge(0.01), None),
    "squared": (Squared(), 0.5),
}


@pytest.mark.parametrize(
    ("n", "epsilon"), [(30, 1.0), (2000, 0.01), *by_night((2000, 1.0), (30, 1e6))]
)
@pytest.mark.parametrize("kind", LOSSES)
def test_the_minimiser_is_found_for_the_longest_slope_that_can_be_drawn(kind, n, epsilon):
    loss, clip = LOSSES[kind]
    target = TargetBounds(-1.0, 1.0) if loss.of_residuals else None
    problem = Problem(loss, n, 3, RowBounds(1.0, 0.3, target=target))
    spend = Spend(epsilon)
    query = PerturbedMinimumQuery.planned(problem, clip, 0.0, REPLACE, spend, pure=True)
    mechanism, rng = query.mechanism(REPLACE, spend), np.random.default_rng(5)
    rows = DenseRows(rng.normal(size=(n, 3)), rng.integers(0, 2, n) * 1.0)
    slope = rng.normal(size=4)
    for length in (0.01 * mechanism.longest, mechanism.longest):
        slope *= length / np.linalg.norm(slope)
        with np.errstate(all="ignore"):
            w = query.evaluate_under(rows, slope)
            off = np.linalg.norm(query.slope_at(rows, w) - slope)
        assert off <= query.tolerance
    # What hides the tolerance is little beside what the slope does.
    assert mechanism.output_noise_scale <= 0.6 * mechanism.noise_scale / query.strength


def test_one_of_several_classes_is_a_problem_of_two():
    rng = np.random.default_rng(8)
    X, codes = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    problem = Problem(Logistic(), 60, 3, RowBounds(1.0))
    for label in range(3):
        facts = {"strength": 0.0, "adjacency": REPLACE, "spend": Spend(1.0), "pure": True}
        several = PerturbedMinimumQuery.planned(problem, 0.3, **facts, label=label)
        two = PerturbedMinimumQuery.planned(problem, 0.3, **facts)
        slope = rng.normal(size=3)
        found = several.evaluate_under(DenseRows(X, codes), slope)
        expected = two.evaluate_under(DenseRows(X, (codes == label) * 1.0), slope)
        np.testing.assert_array_equal(found, expected)
        assert several.public() != two.public()


def oracle_of(calculus, delta):
    problem = Problem(Logistic(), 4, 2, RowBounds(1.0))
    rows, noise = DenseRows(np.eye(4)[:, :2], np.zeros(4)), SeededNoise(np.random.default_rng(0))
    ledger = Ledger(1.0, delta, calculus=calculus)
    return PrivateOracle(rows, ledger, REPLACE, noise).for_problem(problem), ledger


def test_a_ledger_of_pure_epsilon_takes_nothing_gaussian_and_adds_up():
    oracle, ledger = oracle_of(PureDP(), 0.0)
    w, half = np.zeros(2), Spend(0.5)
    with pytest.raises(TypeError, match=r"^PureDP has no price for a GaussianEvent"):
        oracle.gradient(w, spend=half)
    assert ledger.spent() == (0.0, 0.0)
    assert oracle.pure
    for k in (1, 2):
        oracle.perturbed_minimum(spend=half)
        assert ledger.spent() == (pytest.approx(k / 2, rel=1e-11), 0.0)
    with pytest.raises(BudgetExceededError):
        oracle.perturbed_minimum(spend=half)


def test_a_delta_of_zero_is_for_pure_epsilon_alone():
    with pytest.raises(ValueError, match="delta strictly between 0 and 1"):
        oracle_of(GaussianDP(), 0.0)
