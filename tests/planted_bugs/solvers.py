"""Bugs in solvers, one-shot releases and preconditioning."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import test_every_event as of_events
import test_every_solver
from estimators import test_optimum, test_pure_epsilon
from known_noise import seeded
from planted_bugs.bug import Bug, Value, gives
from privacy import test_perturbation
from privacy.mechanisms import test_pure_slope
from privacy.queries import test_perturbed_minimum as perturbed_minima
from privacy.queries import test_pure_minimum as pure_minima
from sklearn.linear_model import LogisticRegression
from tasks_for_solvers import TASKS, solve

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.privacy import Adjacency, PrivateOracle
from skdp.privacy.accounting import (
    Budget,
    Ledger,
    ObjectivePerturbationEvent,
    PerturbedGaussianDP,
    Spend,
    perturbation,
)
from skdp.privacy.queries import perturbed_minimum
from skdp.privacy.rows import DenseRows, total
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L1Ball, L2Ball
from skdp.problem.losses import HuberisedHinge, Logistic, Loss
from skdp.problem.mirror_maps import Entropy
from skdp.problem.penalties import ElasticNet
from skdp.solvers import GD, AccMD, FrankWolfe
from skdp.testing import exact_fit

N, D = 50, 6
REPLACE = Adjacency.REPLACE_ONE
X = np.random.default_rng(0).normal(size=(N, D)) / 5
Y = (X[:, 0] > 0).astype(float)
BALL = Problem(Logistic(), N, D, RowBounds(1.0), constraint=L2Ball(2.0))


def oracle_for(problem, rows, noise, ledger):
    return PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, noise).for_problem(problem)


# Objective perturbation: two data sets' minimisers, by numerical integration.


class Kinds(tuple):
    """Classes among which those are found, too, that are derived from them."""

    def __contains__(self, kind):
        return issubclass(kind, tuple(self))


def jacobians_fit_their_spend():
    largest = perturbed_minimum.largest_jacobian(Spend(0.01))
    assert largest <= perturbation.KAPPA * 0.1, "the Jacobian is too large for its spend"


# Pure epsilon.


# Descent.


def answers_depend_on_the_noise():
    """Other noise, another answer, in every entry."""
    rows, ledgers = DenseRows(X, Y), [Ledger(1.0, 1e-5) for _ in range(2)]
    oracles = [oracle_for(BALL, rows, seeded(s), ledger) for s, ledger in enumerate(ledgers)]
    found = [AccMD(steps=1).solve(BALL, oracle, None).w for oracle in oracles]
    assert not np.any(found[0] == found[1]), "the answer does not depend on the noise"


def mirror_maps_lead_back():
    mirror, w = Entropy(2.0, signed=True), np.array([0.5, -0.2, 0.0])
    assert np.allclose(mirror.primal(mirror.dual(w)), w), "the way back misses the point"


def frank_wolfe_pays_for_every_choice_and_learns_an_index():
    """Each answer is on the receipt, the whole budget is used, and scores stay secret."""
    rng = np.random.default_rng(0)
    problem = Problem(Logistic(), 200, 3, RowBounds(1.0, 0.3), constraint=L1Ball(2.0))
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200).astype(float)
    solution, entries, ledger = solve(FrankWolfe(steps=7, noise="gumbel"), problem, X, y, seed=1)
    names = [name for name, *_ in entries]
    assert names == ["intercept_gradient", "vertex"] * solution.n_iter
    chosen = [answer for name, _, _, answer in entries if name == "vertex"]
    assert all(a.shape == (1,) and a.dtype.kind == "i" for a in chosen), "scores are published"
    charged = [event.query for event in ledger.receipt() for _ in range(event.count)]
    assert sorted(charged) == sorted(names), "an answer is not charged"
    assert abs(ledger.total / ledger.limit - 1) < 1e-9


# Optima.


def clipping_does_not_undo_class_weights():
    """At so large an epsilon a clipped weighted fit comes close to the one without privacy."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = (rng.random(4000) < 1 / (1 + np.exp(0.8 - 1.5 * X[:, 0]))).astype(int)
    weights = {0: 1, 1: 5}
    exact = LogisticRegression(class_weight=weights).fit(X, y).predict(X).mean()
    solver = GD(steps=200, total_step_size=3000.0, clip=0.1)
    facts = {"data_norm": np.sqrt(2), "classes": [0, 1], "class_weight": weights}
    model = DPLogisticRegression(epsilon=1e3, solver=solver, precondition=None, **facts)
    assert abs(model.fit(X, y).predict(X).mean() - exact) < 0.1


def no_accident_of_a_row_is_told():
    """A row of zeros among huge ones, where all that numpy could complain about is an exception."""
    rng = np.random.default_rng(0)
    X, y = 1e99 * rng.normal(size=(60, 3)), rng.integers(0, 2, 60).astype(float)
    X[3] = 0.0
    facts = {"data_norm": 1e100, "target_bounds": (0, 1), "fit_intercept": False}
    model = DPLinearRegression(epsilon=1e3, solver=GD(steps=2, clip=1e100), **facts)
    try:
        with np.errstate(all="raise"):
            model.fit(X, y)
    except FloatingPointError as error:
        raise AssertionError("an accident of a row was told") from error


def no_setting_of_numpy_fails_a_fit():
    """Not of people at a large budget, where the noise of this solver is smallest."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    given = {"classes": [0, 1], "data_norm": 2.0, "solver": "objective_perturbation"}
    try:
        with np.errstate(all="raise"):
            model = DPLogisticRegression(epsilon=200.0, **given)
            model.fit(X, X[:, 0] > 0, privacy_unit=np.arange(60) // 2)
    except (FloatingPointError, ValueError) as error:
        raise AssertionError("a setting of numpy failed a fit") from error


# Bugs.


def unguarded(honest):
    return nullcontext()


def printed(honest, self, problem, oracle, rng):
    # y from the exact gradient; z, from the noisy one, is not part of the answer at T = 1.
    honest(self, problem, oracle, rng)
    exact = X.T @ Logistic().derivative(Y, X @ problem.start()) / N
    return type("Found", (), {"w": problem.project(problem.start() - 4 * exact)})


def charged_first_only(honest, self, event):
    if event.query != "vertex" or not any(e.query == "vertex" for e in self._whole.events):
        honest(self, event)


def with_score(honest, self, value, noise):
    index = honest(self, value, noise)
    return np.append(index, value[index])


def told_accidents(honest, self, query, spend):
    mechanism = query.mechanism(self._adjacency, spend)
    self._ledger.charge(mechanism.event(query.name))
    return mechanism.randomize(query.evaluate(self._rows), self._noise)


def weakened(honest, self, block):
    z = block.scores(self.w)
    weight = np.take(self.problem.class_weight, block.y.astype(int))
    limit = self.bound / (block.norms * weight)
    r = Loss.clipped_derivative(self.problem.loss, block.y, z, limit)
    return block.combine(r * weight)


# Intervals.


def intervals(epsilon, **options):
    facts = {"data_norm": 2.0, "target_bounds": (-4.0, 4.0), "solver": "one_step"}
    return DPLinearRegression(epsilon=epsilon, **facts | options)


def standard_errors_are_as_large_as_the_spread_of_fits():
    found = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        rows = rng.uniform(-1, 1, size=(1000, 2))
        targets = rows @ [1.0, -0.5] + rng.uniform(-0.5, 0.5, size=1000)
        fitted = intervals(1.0, random_state=seed).fit(rows, targets).inference_
        found.append((fitted.params - [1.0, -0.5, 0.0], fitted.bse))
    apart, errors = map(np.array, zip(*found, strict=True))
    spread = np.sqrt(np.mean(apart**2, axis=0))
    assert np.all(np.median(errors, axis=0) > 0.6 * spread), "standard errors are too small"
    assert np.all(np.median(errors, axis=0) < 1.7 * spread), "standard errors are too large"


def long_rows_leave_the_coefficients_of_a_linear_mean():
    rows = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    rows[::5] *= 20.0
    model = intervals(100.0)
    exact_fit(model, rows, rows @ [0.05, -0.02])
    np.testing.assert_allclose(model.coef_, [0.05, -0.02], atol=1e-6)


def shortened(honest, problem, influence, block):
    rows = honest(problem, influence, block)
    shorter = rows.coordinates * np.sqrt(rows.weight)[:, None]
    return rows._replace(coordinates=shorter, weight=np.ones(len(rows.weight)))


def without(name):
    def bug(honest, self, *args):
        found = honest(self, *args)
        return replace(found, **{name: np.zeros_like(getattr(found, name))})

    return bug


NEAR = test_perturbation.test_minimisers_are_no_further_apart_than_claimed
PURELY = pure_minima.test_no_outcome_is_likelier_than_claimed_and_the_claim_is_tight
LENGTHS = partial(test_pure_slope.test_lengths_follow_the_gamma_law_and_directions_are_even, 2)
CORNERED, RESIDUALS = partial(NEAR, "a sharp corner", 0.3), partial(PURELY, "residuals", 1.0)
WEIGHTED = partial(test_optimum.test_linear_regression, {"alpha": 5.0}, (-20.0, 40.0), 2.0)
BUGS = (
    Bug("standard errors without the noise of privacy", {"OneStep._uncertainty": without("noise"), "OneStep._draws": lambda honest, self, *args: np.zeros_like(honest(self, *args))}, standard_errors_are_as_large_as_the_spread_of_fits, "too small"),
    Bug("long rows that are shortened beside their targets", {"score_and_curvature.weighed_block": shortened}, long_rows_leave_the_coefficients_of_a_linear_mean),
    # Objective perturbation.
    Bug("a perturbation for one row in place of two", {"PerturbedMinimumQuery.sensitivity": lambda _, self, a: self.gradient.bound}, partial(NEAR, "opposite labels", 1.0), nightly=True),
    Bug("a forgotten Jacobian", {"PerturbedMinimumQuery.curvature": gives(0.0)}, CORNERED),
    Bug("a curvature of the clipped loss that is too small", {"PerturbedMinimumQuery.curvature": lambda _, self: 1e-3 * self.problem.loss.smoothness}, CORNERED, nightly=True),
    Bug("a perturbed derivative that is not clipped", {"Loss.clipped_derivative": lambda honest, self, y, z, bound: honest(self, y, z, 1.0)}, partial(NEAR, "a clip", 1.0), nightly=True),
    Bug("a loss that is derived from one whose curvature is charged", {"perturbed_minimum._ONE_SIDED": Value(Kinds((Logistic, HuberisedHinge)))}, perturbed_minima.test_a_loss_derived_from_a_proved_one_is_refused, "DID NOT RAISE"),
    Bug("a Jacobian that its spend does not allow", {"perturbed_minimum.largest_jacobian": gives(10.0)}, jacobians_fit_their_spend, "too large"),
    Bug("a Jacobian beyond its allowance for nothing", {"PerturbedGaussianDP._cost_of_other": gives(0.01)}, partial(test_perturbation.test_the_price_covers_each_of_its_parts, {"jacobian": perturbation.KAPPA}, 1 / (1 - perturbation.OUTPUT_SHARE))),
    Bug("half the noise on the slope", {"ObjectivePerturbation.perturbation": lambda honest, self, noise: 0.5 * honest(self, noise)}, perturbed_minima.test_the_slope_is_drawn_with_the_scale_that_was_charged, "noise"),
    Bug("a minimiser without a random slope", {"PerturbedMinimumQuery.evaluate_under": lambda honest, self, rows, slope: honest(self, rows, np.zeros_like(slope))}, perturbed_minima.test_the_slope_is_drawn_with_the_scale_that_was_charged, "noise"),
    Bug("two computed minimisers of which one is taken for exact", {"PerturbedMinimumQuery.mechanism": lambda _, self, adjacency, spend: self._calibrated(adjacency, spend, self.tolerance / self.strength)}, partial(perturbed_minima.test_plans_are_as_strong_and_tolerant_as_theorem_o3_asks_for, None, 5, 0.3)),
    Bug("a computed minimiser without noise", {"ObjectivePerturbation.randomize": lambda _, self, value, noise: value}, perturbed_minima.test_the_answer_is_noised_with_the_scale_that_was_charged, "noise"),
    Bug("a minimiser that is given up", {"perturbed_minimum.minimize": lambda _, f, start, tolerance: start - f.gradient(start) / f.smoothness}, partial(perturbed_minima.test_rows_for_which_the_hessian_is_singular_to_rounding_raise_nothing, 0)),
    Bug("a second perturbation from one ledger", {"Ledger._check_shares": gives(None)}, partial(of_events.test_an_event_that_has_to_dominate_occurs_once, of_events.EXAMPLES[ObjectivePerturbationEvent][0], PerturbedGaussianDP(), inf), "DID NOT RAISE"),
    # Pure epsilon.
    Bug("a forgotten Jacobian of pure epsilon", {"PerturbedMinimumQuery.jacobian": gives(0.0)}, RESIDUALS),
    Bug("half the sensitivity of pure epsilon", {"PerturbedMinimumQuery.sensitivity": lambda _, self, a: self.gradient.bound}, partial(PURELY, "a clip", 1.0)),
    Bug("a curvature of residuals that is too small", {"PerturbedMinimumQuery.curvature": gives(0.1)}, RESIDUALS, nightly=True),
    Bug("the Jacobian's share of epsilon spent twice", {"PurePerturbation.calibrated": lambda honest, cls, shape, s, j, o, spend: honest(cls, shape, s, j, o, Spend(spend.amount + j))}, RESIDUALS, nightly=True),
    Bug("half the noise on a slope of pure epsilon", {"PurePerturbation.perturbation": lambda honest, self, noise: 0.5 * honest(self, noise)}, LENGTHS),
    Bug("normal noise on a slope of pure epsilon", {"PurePerturbation.perturbation": lambda _, self, noise: self.noise_scale * noise.normal(self.shape)}, LENGTHS, nightly=True),
    Bug("a computed minimiser of pure epsilon without noise", {"PurePerturbation.randomize": lambda _, self, value, noise: value}, partial(test_pure_slope.test_the_noise_of_the_answer_follows_the_same_law_on_a_public_grid, 1)),
    Bug("a Jacobian of pure epsilon for nothing", {"PureDP._cost_of_other": lambda honest, self, event: event.sensitivity / event.noise_scale}, pure_minima.test_a_ledger_of_pure_epsilon_takes_nothing_gaussian_and_adds_up),
    Bug("Gaussian noise at a delta of zero", {"PureDP.gaussian": Value(True), "Solver.check_pure": gives(None)}, partial(test_pure_epsilon.test_solvers_with_gaussian_noise_are_refused, "gd"), "DID NOT RAISE"),
    # Descent.
    Bug("an exact gradient as the paper prints it", {"AccMD.solve": printed}, answers_depend_on_the_noise, "does not depend on the noise"),
    Bug("a part of the budget that is left unused", {"Oracle.budget": lambda honest, self: Budget(0.5 * honest(self).amount)}, partial(test_every_solver.test_uses_nearly_all_of_the_budget_and_never_more, "adaptive_gd", TASKS["logistic"], 1.0)),
    Bug("a mirror map without its normaliser", {"Entropy._normaliser": lambda _, u: 2.0 * u.size}, mirror_maps_lead_back, "misses the point"),
    Bug("a step of Frank-Wolfe that is not charged", {"Ledger.charge": charged_first_only}, frank_wolfe_pays_for_every_choice_and_learns_an_index, "not charged"),
    Bug("scores that are published with a choice", {"GumbelMechanism.randomize": with_score}, frank_wolfe_pays_for_every_choice_and_learns_an_index, "published"),
    # Optima.
    Bug("a penalty by another number than that of rows", {"classification.ElasticNet": lambda _, alpha, ratio: ElasticNet(2 * alpha, ratio)}, partial(test_optimum.test_support_vector_machine_with_huberised_hinge, 1.0)),
    Bug("a penalty that is not divided by the bound on weights", {"PrivateLinearModel._stated": lambda honest, self, n, bounds, *, weighted, **places: honest(self, n, bounds, weighted=False, **places)}, WEIGHTED),
    Bug("weights that a query forgets", {"GradientQuery.weighted": lambda _, self, block, r: r}, WEIGHTED),
    Bug("class weights that are undone by the clip", {"GradientQuery.of_block": weakened}, clipping_does_not_undo_class_weights),
    Bug("numerical accidents of rows that are told", {"PrivateOracle._release": told_accidents, "lock.strict_checks": unguarded, "threads._total_of_run": lambda _, kernel, run: total(kernel(block, None) for block in run)}, no_accident_of_a_row_is_told, "was told"),
    Bug("settings of floating point that reach fits", {"lock.strict_checks": unguarded}, no_setting_of_numpy_fails_a_fit, "failed a fit"),
)  # fmt: skip
