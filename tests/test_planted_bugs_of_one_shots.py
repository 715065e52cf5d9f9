"""Bugs in objective perturbation and in the normal equations, planted one by one.

What two data sets publish is compared by numerical integration (see ``divergence_of_minimisers``)
with what the calculus claims for the price.
"""

from math import exp, log1p, sqrt

import numpy as np
import pytest
from divergence_of_minimisers import asked, cells, delta
from examples_of_one_shots import crafted_equations

from skdp.exceptions import BudgetExceededError
from skdp.privacy.accounting import perturbation
from skdp.privacy.accounting.calculus import PerturbedGaussianDP
from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.random_slope import ObjectivePerturbation
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.queries import perturbed_minimum
from skdp.privacy.queries.normal_equations import NormalEquationsQuery
from skdp.privacy.queries.perturbed_minimum import PerturbedMinimumQuery
from skdp.privacy.randomness import SeededNoise
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.problem.bounds import RowBounds
from skdp.problem.losses import HuberisedHinge, Logistic, Loss
from skdp.problem.problem import Problem
from skdp.testing import check_noise

CLAIM, TOO_FAR = "further apart than claimed", "times its declared sensitivity"


@pytest.fixture
def caught(monkeypatch):
    """Run a check on the code as it is, then with an attribute set to its buggy version."""

    def plant(owner, name, bug, check, match):
        check()
        monkeypatch.setattr(owner, name, bug)
        with pytest.raises(AssertionError, match=match):
            check()

    return plant


def divergence(loss, mu, epsilon, clip=None, strength=0.0, others=([], [])):
    """One row gives way to another with the opposite gradient."""
    data, other = [([x, *others[0]], [y, *others[1]]) for x, y in ((1.0, 0), (1.0, 1))]
    query, mechanism = asked(loss, len(data[0]), mu, clip=clip, strength=strength)
    p, q = cells(query, mechanism.noise_scale, data, other)
    found = max(delta(p, q, epsilon), delta(q, p, epsilon))
    claimed = exp(perturbation.log_delta(mu, epsilon))
    assert found <= claimed * (1 + 1e-6), f"{found} is {CLAIM}: {claimed}"


def saturated():
    divergence(HuberisedHinge(0.5), 1.0, 3.0, strength=40.0)


def clipped():
    divergence(Logistic(), 1.0, 3.0, clip=0.25, strength=20.0)


def cornered():
    """A corner so sharp, and noise so flat, that the Jacobian alone gives the row away."""
    divergence(HuberisedHinge(0.01), 0.1, 0.5, strength=1.0)


def test_one_row_in_place_of_two_is_caught(caught):
    def bug(self, adjacency):
        return self.gradient.bound

    caught(PerturbedMinimumQuery, "sensitivity", bug, saturated, CLAIM)


def test_a_forgotten_jacobian_is_caught(caught):
    caught(PerturbedMinimumQuery, "curvature", 0.0, cornered, CLAIM)


def test_a_strength_that_privacy_does_not_ask_for_is_caught(caught):
    # The price of the Jacobian is right, but the allowance of the calculus for it is forgotten.
    def bug(spend):
        return 10.0

    def check():
        with_bug = perturbed_minimum.largest_jacobian(Spend(0.01))
        assert with_bug <= perturbation.KAPPA * 0.1, "the Jacobian is too large for its spend"

    caught(perturbed_minimum, "largest_jacobian", bug, check, "too large")


def test_a_jacobian_beyond_its_allowance_costs_more(caught):
    query, mechanism = asked(HuberisedHinge(0.01), 1, 0.1, strength=1.0)
    assert query.jacobian == log1p(query.curvature / query.strength)

    def check():
        event = mechanism.event("q")
        dear = type(event)(**{**vars(event), "jacobian": 4.0})
        price = PerturbedGaussianDP().cost(dear)
        assert price >= (4.0 / perturbation.KAPPA) ** 2, "a free Jacobian"

    caught(
        PerturbedGaussianDP, "_cost_of_other", lambda self, event: 0.01, check, "a free Jacobian"
    )


def test_a_derivative_that_is_not_clipped_is_caught(caught):
    honest = Loss.clipped_derivative

    def bug(self, y, z, bound):
        return honest(self, y, z, 1.0)

    caught(Loss, "clipped_derivative", bug, clipped, CLAIM)


def test_a_curvature_of_the_clipped_loss_that_is_too_small_is_caught(caught):
    def bug(self):
        return 1e-3 * self.problem.loss.smoothness

    caught(PerturbedMinimumQuery, "curvature", property(bug), cornered, CLAIM)


def slopes_of_answers():
    """Slopes for which an oracle's answers are minimisers, in units of the charged noise."""
    problem = Problem(HuberisedHinge(), 4, 2, RowBounds(1.0))
    rows = DenseRows(np.eye(4)[:, :2], np.array([0.0, 1.0, 1.0, 0.0]))
    noise, spend, out = SeededNoise(np.random.default_rng(4)), Spend(0.25), []
    for _ in range(200):
        ledger = Ledger(10.0, 1e-5, calculus=PerturbedGaussianDP())
        oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, noise).for_problem(problem)
        answer = oracle.perturbed_minimum(spend=spend)
        query = PerturbedMinimumQuery.planned(problem, None, 0.0, Adjacency.REPLACE_ONE, spend)
        out.append(query.slope_at(rows, answer) / ledger.receipt()[0].noise_scale)
    check_noise(lambda: np.array(out), 1.0)


def test_half_the_noise_on_the_slope_is_caught(caught):
    honest = ObjectivePerturbation.perturbation

    def bug(self, noise):
        return 0.5 * honest(self, noise)

    caught(ObjectivePerturbation, "perturbation", bug, slopes_of_answers, "noise")


def test_an_answer_computed_without_a_slope_is_caught(caught):
    def bug(self, query, mechanism):
        return query.evaluate(self._rows)

    caught(PrivateOracle, "_evaluate", bug, slopes_of_answers, "noise")


def output_noise():
    mechanism = ObjectivePerturbation((500,), 1.0, 2.0, 0.1, 1e-3, 0.25)
    noise, value = SeededNoise(np.random.default_rng(5)), np.linspace(0, 1, 500)
    check_noise(lambda: mechanism.randomize(value, noise) - value, 0.25, repeats=4)


def test_a_computed_minimiser_without_noise_is_caught(caught):
    caught(ObjectivePerturbation, "randomize", lambda self, value, _: value, output_noise, "noise")


def tolerated():
    """A minimiser that is hard to find, to the tolerance that the output noise was made for."""
    rng = np.random.default_rng(6)
    problem = Problem(HuberisedHinge(0.01), 200, 3, RowBounds(1.0))
    query = PerturbedMinimumQuery.planned(problem, None, 0.0, Adjacency.REPLACE_ONE, Spend(9.0))
    rows = DenseRows(rng.normal(size=(200, 3)), rng.integers(0, 2, 200) * 1.0)
    off = np.linalg.norm(query.slope_at(rows, query.evaluate(rows)))
    assert off <= query.tolerance, "the minimiser was not found"


def test_a_minimiser_that_is_given_up_is_caught(caught):
    def bug(objective, start, tolerance):
        return start - objective.gradient(start) / objective.smoothness

    caught(perturbed_minimum, "minimize", bug, tolerated, "not found")


def second_use():
    ledger = Ledger(1.0, 1e-5, calculus=PerturbedGaussianDP())
    problem = Problem(Logistic(), 4, 2, RowBounds(1.0))
    rows = DenseRows(np.eye(4)[:, :2], np.zeros(4))
    noise = SeededNoise(np.random.default_rng(7))
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, noise).for_problem(problem)
    half = oracle.budget.fraction(0.5)
    oracle.perturbed_minimum(spend=half.whole())
    try:
        oracle.perturbed_minimum(spend=half.whole())
    except BudgetExceededError:
        return
    raise AssertionError("a ledger took two perturbations")


def test_a_second_use_of_one_ledger_is_caught(caught):
    caught(Ledger, "_check_shares", lambda *_: None, second_use, "took two")


def equations():
    for example in crafted_equations():
        example.check(Adjacency.REPLACE_ONE)


def test_targets_that_are_not_counted_in_the_normal_equations_are_caught(caught):
    def bug(self, adjacency):
        return sqrt(2.0) * self.bounds.row_norm**2 / self.n_samples

    caught(NormalEquationsQuery, "sensitivity", bug, equations, TOO_FAR)


def test_a_mean_of_two_parts_in_the_normal_equations_is_caught(caught):
    # Squares of the moves of both parts would sum to this if they were largest for other rows.
    def bug(self, adjacency):
        return self.bounds.row_norm**2 * sqrt(2 + 4 * self.balance) / self.n_samples

    caught(NormalEquationsQuery, "sensitivity", bug, equations, TOO_FAR)
