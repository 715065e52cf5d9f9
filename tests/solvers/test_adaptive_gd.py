"""Adaptive noise: norms paid for first, prices that follow them, a budget met exactly."""

import numpy as np
import pytest
from tasks_for_solvers import solve

from skdp.privacy.accounting import Ledger
from skdp.privacy.queries import GradientNormQuery
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic
from skdp.solvers import GD, AdaptiveGD

N, D = 2000, 4


def task(imbalance=1.0, n=N):
    """One class far from the other, so that gradients are large until the model fits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) * 0.1
    X[:, 0] += np.where(rng.uniform(size=n) < 0.5, 0.8, -0.8)
    X /= np.linalg.norm(X, axis=1).max()
    y = ((X[:, 0] > 0) ^ (rng.uniform(size=n) > imbalance)).astype(float)
    return Problem(Logistic(), n, D, RowBounds(1.0)), X, y


def asked(entries):
    """Prices of gradients, each with the noisy norm that it followed."""
    norm, pairs = None, []
    for name, _, price, answer in entries:
        if name == "gradient_norm":
            norm = float(answer)
        else:
            pairs.append((price, norm))
    return np.array(pairs)


def test_noise_is_proportional_to_the_noisy_norm():
    problem, X, y = task()
    solver = AdaptiveGD(steps=1000, norms=1000, fewest=1, noise=0.05)
    solution, entries, ledger = solve(solver, problem, X, y, 10.0)
    pairs = asked(entries)[:-1]
    clip = entries[0][1][1]
    scales = 2 * clip / N / np.sqrt(pairs[:, 0])
    # A norm below its own noise counts as that.
    hidden = 2 * clip / N / np.sqrt(entries[0][2])
    # Where the norm calls for a step that is cheaper than the even one, it gets the even one.
    free = pairs[:, 0] > pairs[:, 0].min() * 1.001
    assert free.sum() >= 5
    np.testing.assert_allclose(scales[free], 0.05 * np.maximum(pairs[free, 1], hidden), rtol=1e-4)
    assert ledger.total == pytest.approx(ledger.limit, rel=1e-9)
    assert solution.n_iter == len(pairs) + 1


def test_more_and_cheaper_steps_while_gradients_are_large():
    # Menart et al. (2023), section 5.1: the number of steps grows with the gradients.
    solver = AdaptiveGD(steps=400, fewest=1, noise=0.1)
    fit, fitted, _ = solve(solver, *task(1.0), 4.0)
    # Labels at random: the gradient is next to nothing from the start.
    lost, hopeless, _ = solve(solver, *task(0.5), 4.0)
    assert fit.n_iter > 2 * lost.n_iter
    assert np.median(asked(fitted)[:, 0]) < 0.5 * np.median(asked(hopeless)[:, 0])


def test_steps_become_fewer_and_more_precise_as_gradients_vanish():
    _, entries, _ = solve(AdaptiveGD(), *task(), 4.0)
    pairs = asked(entries)
    assert pairs[0, 1] > 3 * pairs[-1, 1]
    assert pairs[-2, 0] > 3 * pairs[0, 0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_budget_for_norms_is_reserved_and_all_of_the_budget_is_used(epsilon, seed):
    _, entries, ledger = solve(AdaptiveGD(norm_share=0.1), *task(), epsilon, seed)
    norms = [price for name, _, price, _ in entries if name == "gradient_norm"]
    assert sum(norms) <= 0.1 * ledger.limit * (1 + 1e-9)
    assert ledger.total == pytest.approx(ledger.limit, rel=1e-9)
    assert ledger.total <= ledger.limit


@pytest.mark.parametrize("answer", [-1.0, 0.0, -1e300])
def test_negative_norm_counts_as_its_noise(monkeypatch, answer):
    monkeypatch.setattr(GradientNormQuery, "evaluate", lambda self, rows: np.asarray(answer))
    solution, entries, ledger = solve(AdaptiveGD(norms=10), *task())
    prices = [price for name, _, price, _ in entries if name == "gradient"]
    # Nothing to follow: even steps, as many as gradient descent would take.
    assert solution.n_iter == pytest.approx(100, abs=1)
    np.testing.assert_allclose(prices[:-1], prices[0])
    assert ledger.total <= ledger.limit


@pytest.mark.parametrize("answer", [1e-300, 1e300])
def test_extreme_norms_keep_prices_within_their_bounds(monkeypatch, answer):
    monkeypatch.setattr(GradientNormQuery, "evaluate", lambda self, rows: np.asarray(answer))
    solver = AdaptiveGD(steps=40, fewest=8, noise=0.1)
    solution, _, ledger = solve(solver, *task())
    assert 8 <= solution.n_iter <= 40
    assert ledger.total <= ledger.limit


@pytest.mark.nightly
def test_lengths_of_steps_sum_to_the_horizon_however_many_there_are(monkeypatch):
    # With a constant gradient and no momentum, w is the total step size times the gradient.
    problem, X, y = task()
    for noise in (0.05, 0.5):
        solver = AdaptiveGD(
            noise=noise, total_step_size=0.01, momentum=0.0, average=np.inf, clip=1.0, norms=5
        )
        w = solve(solver, problem, X, y, 1e6)[0].w
        np.testing.assert_allclose(w, -0.01 * X.T @ (0.5 - y) / N, rtol=2e-2, atol=1e-5)


def test_first_query_is_a_norm_and_norms_are_spread_evenly():
    _, entries, _ = solve(AdaptiveGD(steps=40, fewest=40, norms=8), *task())
    names = [name for name, *_ in entries]
    assert names == (["gradient_norm"] + ["gradient"] * 5) * 8


def test_constants_of_the_paper_are_explicit_and_stay_within_the_budget():
    problem, X, y = task()
    mu = Ledger(4.0, 1e-5).limit ** 0.5
    solver = AdaptiveGD.from_theory(problem, mu, beta=0.1)
    root = mu / np.sqrt(2)
    assert solver.noise == pytest.approx(1 / np.sqrt(D * np.log(N * root / 0.1)))
    assert solver.step == 2.0  # 1 / (2 L) with L = 1 / 4.
    solver.set_params(steps=200, norms=200)
    _, _, ledger = solve(solver, problem, X, y, 4.0)
    assert ledger.total <= ledger.limit


def test_is_as_good_as_even_noise_where_gradients_fall():
    problem, X, y = task(0.95, 4000)

    def loss(solver, seed):
        w = solve(solver, problem, X, y, seed=seed)[0].w
        return np.mean(np.logaddexp(0, X @ w) - y * (X @ w))

    gain = [loss(GD(), seed) - loss(AdaptiveGD(), seed) for seed in range(10)]
    error = np.std(gain) / np.sqrt(10)
    assert np.mean(gain) >= -0.01 - 3 * error
