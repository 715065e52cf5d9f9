"""Bugs in solvers, one-shot releases and preconditioning."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from math import exp, log1p

import numpy as np
from divergence_of_minimisers import asked, asked_purely, cells, delta, largest_ratio
from planted_bugs.bug import Bug, Value, gives, refused
from planted_bugs.noise import seeded
from sklearn.linear_model import LogisticRegression, Ridge

from skdp import BudgetExceededError, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.privacy import Adjacency, PrivateOracle
from skdp.privacy.accounting import (
    Budget,
    Ledger,
    PerturbedGaussianDP,
    PureDP,
    Spend,
    ZeroConcentratedDP,
    perturbation,
)
from skdp.privacy.mechanisms import ObjectivePerturbation, PurePerturbation
from skdp.privacy.queries import PerturbedMinimumQuery, perturbed_minimum
from skdp.privacy.rows import DenseRows, total
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L1Ball, L2Ball
from skdp.problem.losses import HuberisedHinge, Logistic, Loss, Squared
from skdp.problem.mirror_maps import Entropy
from skdp.problem.penalties import ElasticNet
from skdp.solvers import GD, AccMD, AdaptiveGD, FrankWolfe
from skdp.testing import RecordingOracle, Transcript, check_noise, exact_fit

N, D = 50, 6
REPLACE = Adjacency.REPLACE_ONE
X = np.random.default_rng(0).normal(size=(N, D)) / 5
Y = (X[:, 0] > 0).astype(float)
BALL = Problem(Logistic(), N, D, RowBounds(1.0), constraint=L2Ball(2.0))
CLAIM = "further apart than claimed"


def oracle_for(problem, rows, noise, ledger):
    return PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, noise).for_problem(problem)


# Objective perturbation: two data sets' minimisers, by numerical integration.


def minimisers_are_as_close_as_claimed(loss, mu, epsilon, clip=None, strength=0.0):
    """One row gives way to another with the opposite gradient."""
    data, other = ([1.0], [0]), ([1.0], [1])
    query, mechanism = asked(loss, 1, mu, clip=clip, strength=strength)
    p, q = cells(query, mechanism.noise_scale, data, other)
    found = max(delta(p, q, epsilon), delta(q, p, epsilon))
    claimed = exp(perturbation.log_delta(mu, epsilon))
    assert found <= claimed * (1 + 1e-6), f"{found} is {CLAIM}: {claimed}"


SATURATED = partial(
    minimisers_are_as_close_as_claimed, HuberisedHinge(0.5), 1.0, 3.0, strength=40.0
)
CLIPPED = partial(
    minimisers_are_as_close_as_claimed, Logistic(), 1.0, 3.0, clip=0.25, strength=20.0
)
# A corner so sharp, and noise so flat, that the Jacobian alone gives the row away.
CORNERED = partial(minimisers_are_as_close_as_claimed, HuberisedHinge(0.01), 0.1, 0.5, strength=1.0)


class Corner(HuberisedHinge):
    """A hinge with a corner, which inherits the curvature of one without."""

    def derivative(self, y, z):
        sign = 2.0 * y - 1.0
        return np.where(sign * z < 1.0, -sign, 0.0)


class Kinds(tuple):
    """Classes among which those are found, too, that are derived from them."""

    def __contains__(self, kind):
        return issubclass(kind, tuple(self))


def losses_that_bend_more_than_is_charged_are_refused():
    problem = Problem(Corner(), N, D, RowBounds(1.0))
    with refused("the curvature of another loss was charged"):
        PerturbedMinimumQuery.planned(problem, None, 0.0, Adjacency.REPLACE_ONE, Spend(1.0))


def jacobians_fit_their_spend():
    largest = perturbed_minimum.largest_jacobian(Spend(0.01))
    assert largest <= perturbation.KAPPA * 0.1, "the Jacobian is too large for its spend"


def a_jacobian_beyond_its_allowance_costs_more():
    query, mechanism = asked(HuberisedHinge(0.01), 1, 0.1, strength=1.0)
    assert query.jacobian == log1p(query.curvature / query.strength)
    event = mechanism.event("q")
    dear = type(event)(**{**vars(event), "jacobian": 4.0})
    assert PerturbedGaussianDP().cost(dear) >= (4 / perturbation.KAPPA) ** 2, "a free Jacobian"


def answers_are_minimisers_for_the_noise_that_was_charged():
    problem = Problem(HuberisedHinge(), 4, 2, RowBounds(1.0))
    rows = DenseRows(np.eye(4)[:, :2], np.array([0.0, 1.0, 1.0, 0.0]))
    noise, spend, out = seeded(4), Spend(0.25), []
    for _ in range(100):
        ledger = Ledger(10.0, 1e-5, calculus=PerturbedGaussianDP())
        answer = oracle_for(problem, rows, noise, ledger).perturbed_minimum(spend=spend)
        query = PerturbedMinimumQuery.planned(problem, None, 0.0, Adjacency.REPLACE_ONE, spend)
        out.append(query.slope_at(rows, answer) / ledger.receipt()[0].noise_scale)
    check_noise(lambda: np.array(out), 1.0)


def computed_minimisers_are_published_with_noise():
    mechanism = ObjectivePerturbation((500,), 1.0, 2.0, 0.1, 1e-3, 0.25)
    noise, value = seeded(5), np.linspace(0, 1, 500)
    check_noise(lambda: mechanism.randomize(value, noise) - value, 0.25, repeats=4)


def minimisers_are_found_to_their_tolerance():
    rng = np.random.default_rng(6)
    problem = Problem(HuberisedHinge(0.01), 200, 3, RowBounds(1.0))
    query = PerturbedMinimumQuery.planned(problem, None, 0.0, Adjacency.REPLACE_ONE, Spend(9.0))
    rows = DenseRows(rng.normal(size=(200, 3)), rng.integers(0, 2, 200) * 1.0)
    off = np.linalg.norm(query.slope_at(rows, query.evaluate(rows)))
    assert off <= query.tolerance, "the minimiser was not found"


def a_ledger_takes_one_perturbation():
    problem = Problem(Logistic(), 4, 2, RowBounds(1.0))
    rows = DenseRows(np.eye(4, 2), np.zeros(4))
    oracle = oracle_for(problem, rows, seeded(7), Ledger(1.0, 1e-5, calculus=PerturbedGaussianDP()))
    half = oracle.budget.fraction(0.5)
    oracle.perturbed_minimum(spend=half.whole())
    with refused("a ledger took two perturbations", BudgetExceededError):
        oracle.perturbed_minimum(spend=half.whole())


# Pure epsilon.


def pure_minimisers_are_as_close_as_claimed(loss, clip, strength=0.0):
    """One row gives way to another with the opposite gradient; both laws by integration."""
    targets = ([1], [-1]) if loss.of_residuals else ([0], [1])
    query, mechanism = asked_purely(loss, 1, 1.0, clip=clip, strength=strength)
    found = largest_ratio(query, mechanism.noise_scale, *(([1.0], y) for y in targets))
    assert found <= 1.0, f"{found} is {CLAIM}: epsilon = 1"


RESIDUALS = partial(pure_minimisers_are_as_close_as_claimed, Squared(), 0.5)
PURE_CLIP = partial(pure_minimisers_are_as_close_as_claimed, Logistic(), 0.25)


def pure_noise_has_the_length_that_was_charged():
    """Lengths have a mean of p scales, and a variance of p; six standard errors."""
    problem, noise, p, draws = Problem(Logistic(), N, D, RowBounds(1.0)), seeded(4), D, 100
    rows, spend = DenseRows(X, Y), Spend(1.0)
    query = PerturbedMinimumQuery.planned(problem, None, 0.0, REPLACE, spend, pure=True)
    slopes, outputs = [], []
    for _ in range(draws):
        ledger = Ledger(10.0, 0.0, calculus=PureDP())
        answer = oracle_for(problem, rows, noise, ledger).perturbed_minimum(spend=spend)
        slopes.append(
            np.linalg.norm(query.slope_at(rows, answer)) / ledger.receipt()[0].noise_scale
        )
    mechanism = PurePerturbation((p,), 1.0, 2.0, 0.1, 1e-3, 0.25)
    for _ in range(draws):
        outputs.append(np.linalg.norm(mechanism.randomize(np.zeros(p), noise)) / 0.25)
    for lengths in (slopes, outputs):
        off = abs(np.mean(lengths) - p)
        assert off <= 6 * np.sqrt(p / draws) + 0.02 * p, "another noise than was charged"


def pure_epsilons_add_up():
    problem, rows = Problem(Logistic(), N, D, RowBounds(1.0)), DenseRows(X, Y)
    ledger = Ledger(1.0, 0.0, calculus=PureDP())
    oracle = oracle_for(problem, rows, seeded(7), ledger)
    oracle.perturbed_minimum(spend=Spend(0.6))
    event = ledger.receipt()[0]
    parts = (event.sensitivity / event.noise_scale, event.jacobian)
    assert ledger.spent().epsilon >= sum(parts), "a part of the price is left out"
    with refused("more than the budget was spent", BudgetExceededError):
        oracle.perturbed_minimum(spend=Spend(0.6))


def pure_epsilon_has_no_gaussian_noise():
    """A fit with delta = 0 either has pure noise or is refused."""
    for solver in ("auto", "gd", "objective_perturbation"):
        model = DPLogisticRegression(delta=0, data_norm=1.0, classes=[0, 1], solver=solver)
        try:
            model.fit(X, Y)
        except ValueError:
            assert solver == "gd"
            continue
        kinds = {event.mechanism for event in model.privacy_ledger_}
        assert kinds == {"pure_perturbation"}, f"{kinds} at a delta of zero"
        assert model.privacy_spent_.delta == 0, "a positive delta"


# Descent.


def answers_depend_on_the_noise():
    """Other noise, another answer, in every entry."""
    rows, ledgers = DenseRows(X, Y), [Ledger(1.0, 1e-5) for _ in range(2)]
    oracles = [oracle_for(BALL, rows, seeded(s), ledger) for s, ledger in enumerate(ledgers)]
    found = [AccMD(steps=1).solve(BALL, oracle, None).w for oracle in oracles]
    assert not np.any(found[0] == found[1]), "the answer does not depend on the noise"


def the_budget_is_met():
    ledger = Ledger(1.0, 1e-5)
    oracle = oracle_for(BALL, DenseRows(X, Y), seeded(), ledger)
    AdaptiveGD(steps=20).solve(BALL, oracle, None)
    assert ledger.total >= (1 - 1e-9) * ledger.limit, "part of the budget was not used"


def mirror_maps_lead_back():
    mirror, w = Entropy(2.0, signed=True), np.array([0.5, -0.2, 0.0])
    assert np.allclose(mirror.primal(mirror.dual(w)), w), "the way back misses the point"


def frank_wolfe_pays_for_every_choice_and_learns_an_index():
    """Each answer is on the receipt, the whole budget is used, and scores stay secret."""
    rng = np.random.default_rng(0)
    problem = Problem(Logistic(), 200, 3, RowBounds(1.0, 0.3), constraint=L1Ball(2.0))
    ledger, transcript = Ledger(1.0, 1e-5, calculus=ZeroConcentratedDP()), Transcript()
    rows = DenseRows(rng.normal(size=(200, 3)), rng.integers(0, 2, 200).astype(float))
    oracle = RecordingOracle(rows, ledger, Adjacency.REPLACE_ONE, seeded(1), transcript)
    solver = FrankWolfe(steps=7, noise="gumbel")
    solution = solver.solve(problem, oracle.for_problem(problem), rng)
    names = [name for name, *_ in transcript.entries]
    assert names == ["intercept_gradient", "vertex"] * solution.n_iter
    chosen = [answer for name, _, _, answer in transcript.entries if name == "vertex"]
    assert all(a.shape == (1,) and a.dtype.kind == "i" for a in chosen), "scores are published"
    charged = [event.query for event in ledger.receipt() for _ in range(event.count)]
    assert sorted(charged) == sorted(names), "an answer is not charged"
    assert abs(ledger.total / ledger.limit - 1) < 1e-9


# Optima.


def svm_minimises_its_objective():
    """C times the sum of losses plus half the squared norm has slope zero at the solution."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    precise = GD(steps=800, total_step_size=8000.0, clip=1.0, momentum=0.9, average=0.05)
    facts = {"classes": [0, 1], "data_norm": 4.0, "fit_intercept": False, "precondition": None}
    model = DPSVMClassifier(C=0.2, loss="huberised_hinge", solver=precise, **facts)
    exact_fit(model, X, y)
    d = HuberisedHinge().derivative(y, X @ model.coef_[0])
    assert np.abs(model.coef_[0] + 0.2 * X.T @ d).max() < 1e-3


def weighted_ridge_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)) / 2, rng.uniform(size=60)
    y, norm = X @ [1.0, -2.0, 0.5], float(np.linalg.norm(X, axis=1).max())
    precise = GD(steps=500, total_step_size=3000.0, clip=10.0, momentum=0.9, average=0.05)
    bounds = {"data_norm": norm, "target_bounds": (-4.0, 4.0), "max_weight": 2.0}
    model = DPLinearRegression(epsilon=1e4, alpha=1.0, solver=precise, **bounds)
    exact_fit(model, X, y, sample_weight=2 * weights)
    best = Ridge(alpha=1.0).fit(X, y, 2 * weights)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-3)


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


BUGS = (
    Bug("standard errors without the noise of privacy", {"OneStep._uncertainty": without("noise"), "OneStep._draws": lambda honest, self, *args: np.zeros_like(honest(self, *args))}, standard_errors_are_as_large_as_the_spread_of_fits, "too small"),
    Bug("long rows that are shortened beside their targets", {"score_and_curvature.weighed_block": shortened}, long_rows_leave_the_coefficients_of_a_linear_mean),
    # Objective perturbation.
    Bug("a perturbation for one row in place of two", {"PerturbedMinimumQuery.sensitivity": lambda _, self, a: self.gradient.bound}, SATURATED, CLAIM, nightly=True),
    Bug("a forgotten Jacobian", {"PerturbedMinimumQuery.curvature": gives(0.0)}, CORNERED, CLAIM),
    Bug("a curvature of the clipped loss that is too small", {"PerturbedMinimumQuery.curvature": lambda _, self: 1e-3 * self.problem.loss.smoothness}, CORNERED, CLAIM, nightly=True),
    Bug("a perturbed derivative that is not clipped", {"Loss.clipped_derivative": lambda honest, self, y, z, bound: honest(self, y, z, 1.0)}, CLIPPED, CLAIM, nightly=True),
    Bug("a loss that is derived from one whose curvature is charged", {"perturbed_minimum._ONE_SIDED": Value(Kinds((Logistic, HuberisedHinge)))}, losses_that_bend_more_than_is_charged_are_refused, "another loss"),
    Bug("a Jacobian that its spend does not allow", {"perturbed_minimum.largest_jacobian": gives(10.0)}, jacobians_fit_their_spend, "too large"),
    Bug("a Jacobian beyond its allowance for nothing", {"PerturbedGaussianDP._cost_of_other": gives(0.01)}, a_jacobian_beyond_its_allowance_costs_more, "a free Jacobian"),
    Bug("half the noise on the slope", {"ObjectivePerturbation.perturbation": lambda honest, self, noise: 0.5 * honest(self, noise)}, answers_are_minimisers_for_the_noise_that_was_charged, "noise"),
    Bug("a minimiser without a random slope", {"PerturbedMinimumQuery.evaluate_under": lambda honest, self, rows, slope: honest(self, rows, np.zeros_like(slope))}, answers_are_minimisers_for_the_noise_that_was_charged, "noise"),
    Bug("a computed minimiser without noise", {"ObjectivePerturbation.randomize": lambda _, self, value, noise: value}, computed_minimisers_are_published_with_noise, "noise"),
    Bug("a minimiser that is given up", {"perturbed_minimum.minimize": lambda _, f, start, tolerance: start - f.gradient(start) / f.smoothness}, minimisers_are_found_to_their_tolerance, "not found"),
    Bug("a second perturbation from one ledger", {"Ledger._check_shares": gives(None)}, a_ledger_takes_one_perturbation, "took two"),
    # Pure epsilon.
    Bug("a forgotten Jacobian of pure epsilon", {"PerturbedMinimumQuery.jacobian": gives(0.0)}, RESIDUALS, CLAIM),
    Bug("half the sensitivity of pure epsilon", {"PerturbedMinimumQuery.sensitivity": lambda _, self, a: self.gradient.bound}, PURE_CLIP, CLAIM),
    Bug("a curvature of residuals that is too small", {"PerturbedMinimumQuery.curvature": gives(0.1)}, RESIDUALS, CLAIM, nightly=True),
    Bug("the Jacobian's share of epsilon spent twice", {"PurePerturbation.calibrated": lambda honest, cls, shape, s, j, o, spend: honest(cls, shape, s, j, o, Spend(spend.amount + j))}, RESIDUALS, CLAIM, nightly=True),
    Bug("half the noise on a slope of pure epsilon", {"PurePerturbation.perturbation": lambda honest, self, noise: 0.5 * honest(self, noise)}, pure_noise_has_the_length_that_was_charged, "another noise"),
    Bug("normal noise on a slope of pure epsilon", {"PurePerturbation.perturbation": lambda _, self, noise: self.noise_scale * noise.normal(self.shape)}, pure_noise_has_the_length_that_was_charged, "another noise", nightly=True),
    Bug("a computed minimiser of pure epsilon without noise", {"PurePerturbation.randomize": lambda _, self, value, noise: value}, pure_noise_has_the_length_that_was_charged, "another noise"),
    Bug("a Jacobian of pure epsilon for nothing", {"PureDP._cost_of_other": lambda honest, self, event: event.sensitivity / event.noise_scale}, pure_epsilons_add_up, "left out"),
    Bug("Gaussian noise at a delta of zero", {"PureDP.gaussian": Value(True), "Solver.check_pure": gives(None)}, pure_epsilon_has_no_gaussian_noise, "at a delta of zero"),
    # Descent.
    Bug("an exact gradient as the paper prints it", {"AccMD.solve": printed}, answers_depend_on_the_noise, "does not depend on the noise"),
    Bug("a part of the budget that is left unused", {"Oracle.budget": lambda honest, self: Budget(0.5 * honest(self).amount)}, the_budget_is_met, "not used"),
    Bug("a mirror map without its normaliser", {"Entropy._normaliser": lambda _, u: 2.0 * u.size}, mirror_maps_lead_back, "misses the point"),
    Bug("a step of Frank-Wolfe that is not charged", {"Ledger.charge": charged_first_only}, frank_wolfe_pays_for_every_choice_and_learns_an_index, "not charged"),
    Bug("scores that are published with a choice", {"GumbelMechanism.randomize": with_score}, frank_wolfe_pays_for_every_choice_and_learns_an_index, "published"),
    # Optima.
    Bug("a penalty by another number than that of rows", {"classification.ElasticNet": lambda _, alpha, ratio: ElasticNet(2 * alpha, ratio)}, svm_minimises_its_objective),
    Bug("a penalty that is not divided by the bound on weights", {"PrivateLinearModel._stated": lambda honest, self, n, bounds, *, weighted, **places: honest(self, n, bounds, weighted=False, **places)}, weighted_ridge_is_that_of_scikit_learn),
    Bug("weights that a query forgets", {"GradientQuery.weighted": lambda _, self, block, r: r}, weighted_ridge_is_that_of_scikit_learn),
    Bug("class weights that are undone by the clip", {"GradientQuery.of_block": weakened}, clipping_does_not_undo_class_weights),
    Bug("numerical accidents of rows that are told", {"PrivateOracle._release": told_accidents, "lock.strict_checks": unguarded, "threads._total_of_run": lambda _, kernel, run: total(kernel(block, None) for block in run)}, no_accident_of_a_row_is_told, "was told"),
    Bug("settings of floating point that reach fits", {"lock.strict_checks": unguarded}, no_setting_of_numpy_fails_a_fit, "failed a fit"),
)  # fmt: skip
