"""What every solver has to keep: it replays without rows, stays within its budget, and converges.

The battery walks ``skdp.solvers.SOLVERS``, so a new solver joins by itself, with its default
hyperparameters. ``PRECISE`` may name settings that come closer to the optimum than the defaults.
"""

import importlib
import inspect
import pkgutil
from abc import ABC
from collections import Counter
from dataclasses import dataclass, fields, replace
from functools import cache
from inspect import signature

import numpy as np
import pytest
from by_night import by_night
from known_noise import seeded
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from tasks_for_solvers import TASKS, D, N, check_replay

from skdp import BudgetExceededError, solvers
from skdp.estimators import choose
from skdp.privacy import Adjacency, PrivateOracle
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import BlockStore, RawBlock
from skdp.problem.constraints import Box, L1Ball, L2Ball, Simplex
from skdp.solvers import GD, PPM, SOLVERS, SVRG, AccMD, AdaptiveGD, Solution, Solver, Spider

DELTA = 1e-5
# Settings for many stable steps that clip nothing.
STEPS = {"steps": 2000, "total_step_size": 20_000.0, "clip": 4.0, "momentum": 0.9}
PRECISE = {
    "accmd": AccMD(steps=4000, clip=4.0),
    "adaptive_gd": AdaptiveGD(**STEPS, fewest=1000),
    "gd": GD(**STEPS, average=0.05),
    "ppm": PPM(**STEPS | {"total_step_size": 100_000.0}),
    "spider": Spider(**STEPS, average=0.05),
    "svrg": SVRG(**STEPS, average=0.05),
}
# They see each row once.
ONE_PASS = {"ftrl"}
every_solver = pytest.mark.parametrize("option", sorted(SOLVERS))
PROBLEMS = {name: task.problem for name, task in TASKS.items()}


def declined(solver, problem):
    """Why the solver does not take the problem; None if it does."""
    try:
        solver.check(problem)
    except ValueError as refusal:
        return str(refusal)
    return None


def in_turn(option, problems, turn):
    """One name of the problems that the solver takes; the first of all if it takes none."""
    names = [name for name in problems if not declined(SOLVERS[option](), problems[name])]
    return names[turn % len(names)] if names else next(iter(problems))


def taken(solver, problem):
    """Skip if the solver declines the problem, which it must do with a sentence of its own."""
    refusal = declined(solver, problem)
    if refusal is None:
        return solver
    assert type(solver).__name__ in refusal
    return pytest.skip(refusal)


def suited(solver):
    """The logistic task, inside a ball or with another loss if the solver needs one."""
    names = ("logistic", "logistic, ball", *TASKS)
    return next(TASKS[n] for n in names if not declined(solver, TASKS[n].problem))


def public_rng():
    return np.random.default_rng(7)


def run(solver, task, epsilon=1.0, seed=0, rows=None, ledger=None, adjacency=Adjacency.REPLACE_ONE):
    """Solve through a private oracle; returns the solution and the ledger."""
    ledger = ledger or Ledger(epsilon, DELTA, calculus=solver.calculus)
    oracle = PrivateOracle(rows or task.rows(), ledger, adjacency, seeded(seed))
    return solver.solve(task.problem, oracle.for_problem(task.problem), public_rng()), ledger


@cache
def optimum(name):
    """Scikit-learn's solution of a task, in the shape of w."""
    task = TASKS[name]
    if name == "squared":
        model = Ridge(alpha=1.0).fit(task.X, task.y)
        return np.append(model.coef_, model.intercept_)
    options = {"tol": 1e-12, "max_iter": 100_000, "C": 1.0}
    if name == "logistic":
        options["C"] = np.inf
    if name == "logistic, net":
        # Up to scikit-learn 1.7 the penalty is named, since then l1_ratio says it all.
        named = signature(LogisticRegression).parameters.get("penalty")
        if named is not None and named.default == "l2":
            options["penalty"] = "elasticnet"
        options |= {"solver": "saga", "l1_ratio": 0.5, "random_state": 0}
    model = LogisticRegression(**options).fit(task.X, task.y)
    w = np.vstack([model.coef_.T, model.intercept_])
    return w if name == "softmax" else w[:, 0]


def assert_optimal(w, task, objective, relative):
    """Objective within an absolute and coefficients within a relative distance of the optimum."""
    best = optimum(task.name)
    if w.ndim == 2:
        # Softmax does not see a constant that is added to all intercepts.
        w, best = w.copy(), best.copy()
        w[-1] -= w[-1].mean()
        best[-1] -= best[-1].mean()
    assert task.objective(w) - task.objective(best) <= objective
    assert np.abs(w - best).max() <= relative * np.abs(best).max()


def test_explicit_list_equals_the_folder():
    found = set()
    for info in pkgutil.iter_modules(solvers.__path__):
        module = importlib.import_module(f"{solvers.__name__}.{info.name}")
        found |= {
            thing
            for _, thing in inspect.getmembers(module, inspect.isclass)
            if issubclass(thing, Solver)
            and thing.__module__ == module.__name__
            and ABC not in thing.__bases__
        }
    assert set(SOLVERS.values()) == found
    assert list(SOLVERS) == sorted(SOLVERS)
    shown = {getattr(solvers, name) for name in solvers.__all__ if name != "SOLVERS"}
    concrete = {thing for thing in shown if inspect.isclass(thing) and ABC not in thing.__bases__}
    assert found == {thing for thing in concrete if issubclass(thing, Solver)}


@every_solver
def test_option_is_the_file_name_and_the_class_name(option):
    solver = SOLVERS[option]
    assert solver.option() == option == solver.__module__.rpartition(".")[2]
    assert solver.__name__.lower() == option.replace("_", "")


@every_solver
def test_option_and_instance_are_both_chosen(option):
    problem = TASKS["logistic"].problem
    assert choose(option, problem)[0] == SOLVERS[option]()
    configured = SOLVERS[option]()
    assert choose(configured, problem)[0] is configured
    assert type(choose("auto", problem)[0]) in SOLVERS.values()


@every_solver
def test_takes_at_least_one_task(option):
    solver = SOLVERS[option]()
    assert any(declined(solver, task.problem) is None for task in TASKS.values())


# By day each solver has one of the tasks that it takes.
@pytest.mark.parametrize(
    ("option", "task"),
    [
        pytest.param(
            option,
            task,
            marks=() if task.name == in_turn(option, PROBLEMS, k) else pytest.mark.nightly,
        )
        for k, option in enumerate(sorted(SOLVERS))
        for task in TASKS.values()
    ],
    ids=str,
)
def test_replays_bitwise_without_rows(option, task):
    solver = taken(SOLVERS[option](), task.problem)
    check_replay(solver, task.problem, task.X, task.y)


@dataclass(frozen=True)
class Peeking(Solver):
    """Mixes a trace of the rows into one of the places where a leak could hide."""

    inner: Solver
    X: np.ndarray
    where: str

    calculus = property(lambda self: self.inner.calculus)

    def check(self, problem):
        self.inner.check(problem)

    def solve(self, problem, oracle, rng):
        trace = 1e-6 * self.X.mean()
        if self.where == "query":
            w = problem.start() + trace
            oracle.gradient(w, clip_norm=1.0, spend=oracle.budget.fraction(0.1).whole())
        if self.where == "price":
            share = 0.1 + trace
            spend = oracle.budget.fraction(share).whole()
            oracle.gradient(problem.start(), clip_norm=1.0, spend=spend)
        solution = self.inner.solve(problem, oracle, rng)
        if self.where == "answer":
            return Solution(solution.w + trace, solution.n_iter)
        if self.where == "n_iter":
            return Solution(solution.w, solution.n_iter + round(1e9 * abs(trace)))
        return solution


@pytest.mark.parametrize("where", ["answer", "query", "price", "n_iter", "nowhere"])
@every_solver
def test_replay_catches_a_solver_that_peeks(option, where):
    task = suited(SOLVERS[option]())
    solver = Peeking(taken(SOLVERS[option](), task.problem), task.X, where)
    if where == "nowhere":
        check_replay(solver, task.problem, task.X, task.y)
    else:
        with pytest.raises(AssertionError):
            check_replay(solver, task.problem, task.X, task.y)


@pytest.mark.parametrize(
    ("option", "task", "epsilon"),
    [
        # By day one of the tasks that the solver takes.
        pytest.param(
            option,
            task,
            (1e-3, 1.0, 1e3)[(k + j) % 3],
            marks=() if task.name == in_turn(option, PROBLEMS, k) else pytest.mark.nightly,
        )
        for k, option in enumerate(sorted(SOLVERS))
        for j, task in enumerate(TASKS.values())
    ],
    ids=str,
)
def test_uses_nearly_all_of_the_budget_and_never_more(option, task, epsilon):
    solver = taken(SOLVERS[option](), task.problem)
    for adjacency in Adjacency:
        _, ledger = run(solver, task, epsilon, adjacency=adjacency)
        assert 0.999 * ledger.limit <= ledger.total <= ledger.limit
        assert ledger.spent().epsilon <= epsilon


class CountedRows(BlockStore):
    """Counts how often rows are read."""

    resident = False

    def __init__(self, X, y):
        self.n_samples, self.n_features = X.shape
        self.block, self.reads = RawBlock(X, y), 0

    def blocks(self):
        self.reads += 1
        yield self.block


class Overstated(Ledger):
    """Tells solvers that there is more left than it will pay for."""

    factor = 1.0

    @property
    def remaining(self):
        return self.factor * super().remaining


@pytest.mark.parametrize("factor", [2.0, 1e9])
@every_solver
def test_refuses_before_looking(option, factor):
    task = suited(SOLVERS[option]())
    solver = taken(SOLVERS[option](), task.problem)
    rows, ledger = CountedRows(task.X, task.y), Overstated(1.0, DELTA, calculus=solver.calculus)
    ledger.factor = factor
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        run(solver, task, rows=rows, ledger=ledger)
    # Sites that are asked at once are read at once.
    asked = Counter()
    for event in ledger.receipt():
        asked[event.part] += event.count
    assert rows.reads == asked.pop(None, 0) + max(asked.values(), default=0)
    assert ledger.total <= ledger.limit
    if factor == 1e9:
        assert rows.reads == 0


FITTED = ["logistic", "logistic, net", "softmax", "squared"]


def fitted_often(option, name):
    """One of the tasks in turn, for solvers without precise settings; by night all of all.

    Tests of ``DDA`` bring it to the optimum by day, and ``Blocks`` lets others descend.
    """
    if option in {*PRECISE, "blocks", "dda"}:
        return False
    turn = sorted(SOLVERS).index(option)
    return name == in_turn(option, {other: TASKS[other].problem for other in FITTED}, turn)


@pytest.mark.parametrize(
    ("option", "name"),
    [
        pytest.param(option, name, marks=() if fitted_often(option, name) else pytest.mark.nightly)
        for option in sorted(SOLVERS)
        for name in FITTED
    ],
)
@pytest.mark.by_day(4)
def test_defaults_at_a_huge_budget_come_close_to_scikit_learn(option, name):
    # With epsilon = 1e6 there is hardly any noise; what is left is how far the default number of
    # steps gets. Found for gd: objectives within 4e-7, coefficients within 0.3 % of the largest.
    task = TASKS[name]
    if option in ONE_PASS:
        pytest.skip(f"{option} sees each row once, which leaves the noise of sampling")
    if option == "frank_wolfe" and task.problem.constraint.whole_space:
        pytest.skip("steps to the edge of a ball come close as one over their number")
    solution, _ = run(taken(SOLVERS[option](), task.problem), task, 1e6)
    assert_optimal(solution.w, task, objective=2e-6, relative=0.01)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("option", sorted(PRECISE))
@pytest.mark.by_day(2)
def test_precise_settings_without_noise_reach_scikit_learn(option, name):
    task = TASKS[name]
    solution, _ = run(PRECISE[option], task, 1e12)
    # What noise there is an accelerated method amplifies; the others are ten times as close.
    assert_optimal(solution.w, task, objective=1e-10, relative=2e-5)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("budgets", "repeats"), [((0.1, 100.0), 3), *by_night(((0.1, 3.0, 100.0), 15))]
)
@every_solver
def test_more_budget_is_not_worse_on_average(option, budgets, repeats):
    task = TASKS["logistic"]
    solver = taken(SOLVERS[option](), task.problem)
    best = task.objective(optimum("logistic"))
    excess = np.array(
        [
            [task.objective(run(solver, task, eps, seed)[0].w) - best for seed in range(repeats)]
            for eps in budgets
        ]
    )
    means, errors = excess.mean(axis=1), excess.std(axis=1) / np.sqrt(repeats)
    # Three standard errors of a difference, where ten to thirty times the budget takes off half of
    # the mean at least: a false alarm would be a deviation of more than five.
    assert np.all(np.diff(means) <= 3 * np.hypot(errors[1:], errors[:-1]))
    assert means[-1] < 0.1 * means[0]


CONSTRAINTS = [Box(-0.4, 0.3), L1Ball(0.8), L2Ball(0.5), Simplex(0.7)]


def within(name, constraint):
    return replace(TASKS[name].problem, constraint=constraint)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: type(c).__name__)
@every_solver
def test_result_is_feasible_and_the_intercept_is_free(option, constraint):
    turn = sorted(SOLVERS).index(option) + CONSTRAINTS.index(constraint)
    problems = {name: within(name, constraint) for name in ("logistic", "softmax", "squared")}
    name = in_turn(option, problems, turn)
    task = replace(TASKS[name], problem=problems[name])
    solver = taken(SOLVERS[option](), task.problem)
    for epsilon in (0.1, 100.0):
        solution, _ = run(solver, task, epsilon)
        assert solution.w.shape == task.problem.shape
        assert constraint.contains(solution.w[:D])


@pytest.mark.nightly
@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("option", sorted(PRECISE))
def test_constrained_result_is_a_fixed_point_of_the_projected_gradient(option, constraint):
    problem = within("logistic", constraint)
    task = replace(TASKS["logistic"], problem=problem)
    w = run(PRECISE[option], task, 1e12)[0].w
    z = task.X @ w[:D] + w[D]
    gradient = np.hstack([task.X, np.ones((N, 1))]).T @ (1 / (1 + np.exp(-z)) - task.y) / N
    np.testing.assert_allclose(problem.project(w - gradient), w, atol=1e-5)


@every_solver
def test_hyperparameters_are_readable_settable_and_survive_a_clone(option):
    solver = SOLVERS[option]()
    params = solver.get_params()
    assert list(params) == [f.name for f in fields(solver)]
    assert SOLVERS[option](**params) == solver == clone(solver)
    assert clone(solver) is not solver
    for name, value in params.items():
        assert solver.set_params(**{name: value}) is solver
    with pytest.raises(ValueError, match=rf"{type(solver).__name__} needs .* got 'unheard_of'"):
        solver.set_params(unheard_of=1)
    for name in params:
        assert f"{name}=" in repr(solver)
    with pytest.raises(AttributeError):
        solver.unheard_of = 1
