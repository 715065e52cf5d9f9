"""Rounds that follow the gradient by its differences: targets, prices, and when they end."""

from dataclasses import replace
from math import inf, log, sqrt

import numpy as np
import pytest
from tasks_for_solvers import make_problem, solve

from skdp.problem.constraints import L2Ball
from skdp.problem.losses import Squared
from skdp.problem.penalties import L2
from skdp.solvers import Spider

N, D = 2000, 3


def differences(entries, ledger):
    """(length of the step, noise scale, price) of each difference, a list a round."""
    rounds, asked = [], iter(entries)
    for event in ledger.receipt():
        for _ in range(event.count):
            name, public, price, _ = next(asked)
            if name == "gradient":
                rounds.append([])
            else:
                length = float(np.linalg.norm(public[0] - public[1]))
                rounds[-1].append((length, event.noise_scale, price))
    return [r for r in rounds if r]


def test_prices_are_in_proportion_to_the_squared_length_of_the_step():
    problem, X, y = make_problem()
    solver = Spider(steps=100, total_step_size=200.0, momentum=0.9)
    _, entries, ledger = solve(solver, problem, X, y, epsilon=10.0)
    rounds = differences(entries, ledger)
    varied = 0
    for parts in rounds:
        lengths, noise, prices = np.array(parts).T
        # The same noise within a round, which prices in proportion to squares amount to.
        np.testing.assert_allclose(noise, noise[0], rtol=1e-6)
        np.testing.assert_allclose(prices / lengths**2, prices[0] / lengths[0] ** 2, rtol=1e-6)
        varied += np.ptp(lengths) > 0.1 * lengths.max()
    assert varied >= 2


def test_noise_of_differences_shrinks_with_the_steps():
    problem, X, y = make_problem(penalty=L2(0.05))
    _, entries, ledger = solve(Spider(clip=1.0, total_step_size=400.0), problem, X, y, epsilon=1e4)
    rounds = differences(entries, ledger)
    first, last = rounds[0], rounds[-2]
    assert last[0][0] < 0.1 * first[0][0]
    assert last[0][1] < 0.1 * first[0][1]


def test_no_step_is_longer_than_the_target_allows_and_targets_never_rise():
    problem, X, y = make_problem()
    solver = Spider(steps=100, total_step_size=200.0, momentum=0.0)
    _, entries, ledger = solve(solver, problem, X, y, epsilon=10.0)
    longest = [max(p[0] for p in parts) for parts in differences(entries, ledger)]
    allowed = inf
    for name, _, _, answer in entries:
        if name == "gradient":
            allowed = min(allowed, max(0.875 * np.linalg.norm(answer), 1e-3) * 200.0 / 100)
    assert min(longest) <= allowed * (1 + 1e-6)
    assert longest[-1] < longest[0]


def test_a_round_ends_as_soon_as_its_target_is_met():
    problem, X, y = make_problem(penalty=L2(0.5))
    solver = Spider(steps=60, total_step_size=60.0, momentum=0.0, clip=1.0, kappa=1.0, longest=60)
    _, entries, ledger = solve(solver, problem, X, y, epsilon=1e7)
    rounds = [len(parts) for parts in differences(entries, ledger)]
    # Every step takes more than an eighth off the gradient; otherwise rounds would double.
    assert rounds[:5] == [1] * 5


def test_kappa_is_two_where_a_ridge_penalty_matters():
    weak, X, y = make_problem(penalty=L2(1e-9))
    strong = replace(weak, penalty=L2(1.0))
    for problem, kappa in ((weak, 1.0), (strong, 2.0)):
        w = solve(Spider(), problem, X, y)[0].w
        np.testing.assert_array_equal(w, solve(Spider(kappa=kappa), problem, X, y)[0].w)


def test_theory_has_the_constants_of_the_paper():
    """Written from the paper: K, c and the last target, for kappa = 1 and the diameter."""
    gamma, mu = 2.0, 0.3
    problem, _, _ = make_problem(constraint=L2Ball(1.0))
    rho, L0, L1 = mu**2 / 2, problem.lipschitz, problem.smoothness
    F0 = L0 * gamma
    K = (1 + 64 / F0 * gamma**2 * L1) * log(F0 * N * sqrt(rho) / (gamma * L0 * sqrt(D)))
    c = 1 + F0 / (64 * gamma**2 * L1)
    K_up = np.ceil(K)
    beta = 0.05 / K_up * gamma * L0 * sqrt(K_up * D) / (N * sqrt(rho) * F0)
    floor = 32 * gamma * L0 * sqrt(K_up * D * log(1 / beta)) / (N * sqrt(rho))
    rounds, top, decay, last = Spider.from_theory(gamma, 1.0)._constants(problem, mu, L0)
    assert rounds == K_up
    assert gamma * top == pytest.approx(F0)
    assert decay == pytest.approx(1 / c)
    assert gamma * last == pytest.approx(floor)


def test_theory_takes_steps_of_a_quarter_of_the_target_over_the_smoothness():
    problem, X, y = make_problem(Squared(), constraint=L2Ball(1.0))
    solver = Spider.from_theory(0.2, 1.0, clip=2.0)
    solution, entries, ledger = solve(solver, problem, X, y, epsilon=1e5)
    mu = sqrt(ledger.limit)
    _, top, decay, floor = solver._constants(problem, mu, 2.0)
    aims = top * decay ** np.arange(1, 5000)
    for parts in differences(entries, ledger):
        for length, *_ in parts:
            allowed = np.append(aims, floor) / (4 * problem.smoothness)
            assert np.abs(allowed / length - 1).min() < 1e-9
    assert ledger.total <= ledger.limit
    start = Squared().value(y, 0 * y).mean()
    assert Squared().value(y, X @ solution.w).mean() < 0.1 * start


def test_theory_says_that_it_may_not_leave_its_start():
    problem, X, y = make_problem()
    solver = Spider.from_theory(1.0, 1.0)
    with pytest.warns(UserWarning, match=r"noise of .* times .*2000 rows.*larger epsilon"):
        solution = solve(solver, problem, X, y)[0]
    assert solution.n_iter == 0
    np.testing.assert_array_equal(solution.w, problem.start())


@pytest.mark.parametrize("gamma", [0.05, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.filterwarnings("ignore:Spider.from_theory needs noise below")
def test_theory_spends_all_whatever_the_answers_were(gamma, seed):
    problem, X, y = make_problem()
    for rows in (X, 0 * X):
        ledger = solve(Spider.from_theory(gamma, 1.0), problem, rows, y, seed=seed)[2]
        assert ledger.spent().epsilon == ledger.epsilon


def test_theory_refuses_more_rounds_than_anybody_waits_for():
    problem, X, y = make_problem()
    with pytest.raises(ValueError, match=r"at most 1000000 rounds.*gamma=1e\+06.*smaller gamma"):
        solve(Spider.from_theory(1e6, 2.0), problem, X, y)
