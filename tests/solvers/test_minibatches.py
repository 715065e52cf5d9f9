"""Gradients and differences over secret samples, what they cost, and Barzilai-Borwein steps."""

import warnings
from dataclasses import replace
from functools import partial
from math import inf, sqrt

import numpy as np
import pytest
from by_night import by_night
from known_noise import seeded
from tasks_for_solvers import PAPER, check_replay, ledger_for, make_problem, solve

from skdp import BudgetExceededError, DPLogisticRegression, privacy_spent
from skdp.privacy import Adjacency, PrivateOracle
from skdp.privacy.accounting import GaussianDP, Ledger, SampledGaussianEvent, SubsampledGaussianDP
from skdp.privacy.rows import DenseRows
from skdp.problem.losses import Squared
from skdp.problem.penalties import L2
from skdp.solvers import GD, SVRG
from skdp.testing import ExactOracle

pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")

DELTA, N, D = 1e-5, 2000, 3
PUBLIC_RNG = np.random.default_rng(0)
BATCHES = SVRG(steps=40, batch_size=400)
SGD = GD(steps=40, batch_size=400)
DYNAMIC = GD(batch_size=400, schedule=(1.0,) * 20 + (2.0,) * 20)
SAMPLED = replace(PAPER, batch_size=400)
CARRIED = replace(SAMPLED, growth=2.0)
EVERY = {"svrg": BATCHES, "svrg 1": SAMPLED, "svrg 2": CARRIED, "gd": SGD, "dynamic": DYNAMIC}
SOLVERS = pytest.mark.parametrize("solver", EVERY.values(), ids=EVERY)
SVRGS = pytest.mark.parametrize("solver", [BATCHES, SAMPLED, CARRIED], ids=["", "1", "2"])


def drawn(ledger):
    return [e for e in ledger.receipt() if isinstance(e, SampledGaussianEvent)]


@SOLVERS
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.by_day(3)
def test_noise_is_a_constant_multiple_of_a_public_bound(solver, adjacency):
    problem, X, y = make_problem()
    _, entries, ledger = solve(solver, problem, X, y, adjacency=adjacency)
    events = drawn(ledger)
    assert sum(e.count for e in events) >= 10
    planned = [z for z, count in ledger.calculus.releases for _ in range(count)]
    found = [e.noise_multiplier for e in events for _ in range(e.count)]
    assert all(event.sampling_rate == 400 / N for event in events)
    planned = planned[: len(found)]
    np.testing.assert_allclose(found, planned, rtol=1e-11)
    assert np.all(np.array(found) >= planned)
    asked = [e for e in entries if e[0] == "sampled_gradient"]
    assert len(asked) == sum(e.count for e in events)
    bounds = iter([e.sensitivity for e in events for _ in range(e.count)])
    for _, (w, *others, rate), *_ in asked:
        w0 = [other for other in others if isinstance(other, np.ndarray)]
        clip = others[len(w0)]
        row = min(problem.smoothness * np.linalg.norm(w - w0[0]) / 2, 2 * clip) if w0 else clip
        assert next(bounds) <= adjacency.of_sum(row / (rate * N)) * (1 + 1e-4)


@SVRGS
def test_the_block_is_enough_and_is_used_up_where_no_epoch_ends_early(solver):
    problem, X, y = make_problem()
    _, _, ledger = solve(replace(solver, reach=inf), problem, X, y)
    assert sum(e.count for e in drawn(ledger)) == len(ledger.calculus.prices)
    assert ledger.total == pytest.approx(ledger.limit, rel=1e-9)
    assert 0.999 < ledger.spent().epsilon <= 1.0
    _, _, ledger = solve(replace(solver, reach=0.01), problem, X, y)
    assert sum(e.count for e in drawn(ledger)) < len(ledger.calculus.prices)
    assert ledger.total == pytest.approx(ledger.limit, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, *by_night(0.1, 20.0, 1e6)])
def test_the_number_of_steps_never_outgrows_the_block(epsilon):
    problem, X, y = make_problem()
    _, _, ledger = solve(SVRG(batch_size=1000, reach=inf), problem, X, y, epsilon)
    assert 0 < sum(e.count for e in drawn(ledger)) <= len(ledger.calculus.prices)


@SOLVERS
def test_replays_bitwise_without_rows_and_masks(solver):
    check_replay(solver, *make_problem())


def test_who_is_drawn_stays_behind():
    problem, X, y = make_problem()
    _, entries, ledger = solve(BATCHES, problem, X, y)
    for _, public, _, answer in entries:
        for part in (*public, answer):
            assert np.size(part) <= problem.n_parameters
    # All that may differ with who is drawn, at a given state, is the answer.
    other = solve(BATCHES, problem, X, y, seed=1)[2]
    first, second = drawn(ledger)[0], drawn(other)[0]
    assert first.sampling_rate == second.sampling_rate
    assert first.noise_multiplier == pytest.approx(second.noise_multiplier, rel=1e-11)
    assert set(vars(first)) == {
        "query", "purpose", "sensitivity", "noise_scale", "count", "part", "sampling_rate",
        "adjacency",
    }  # fmt: skip


def test_samples_are_unbiased_and_as_large_as_the_batch():
    problem, X, y = make_problem()
    w, w0 = np.full(D, 0.5), np.zeros(D)
    block = SubsampledGaussianDP(0.2, ((1e-3, 1000),))
    oracle = PrivateOracle(
        DenseRows(X, y), Ledger(1e12, DELTA, calculus=block), Adjacency.REPLACE_ONE, seeded()
    ).for_problem(problem)
    spend = oracle.reserved.spends[0]
    difference = partial(oracle.gradient_difference, sampled=True)
    answers = np.array([difference(w, w0, spend=spend) for _ in range(500)])
    p0, p = 0.5, 1 / (1 + np.exp(-X @ w))
    differences = X * (p - p0)[:, None]
    centred = differences - problem.smoothness / 2 * (w - w0)
    variance = (1 - 0.2) / 0.2 * (centred**2).sum(axis=0) / N**2
    error = (answers.mean(axis=0) - differences.mean(axis=0)) / np.sqrt(variance / 500)
    assert np.abs(error).max() < 5
    np.testing.assert_allclose(answers.var(axis=0), variance, rtol=0.4)
    answers = np.array([oracle.gradient(w, spend=spend, sampled=True) for _ in range(500)])
    gradients = X * (p - y)[:, None]
    variance = (1 - 0.2) / 0.2 * (gradients**2).sum(axis=0) / N**2
    error = (answers.mean(axis=0) - gradients.mean(axis=0)) / np.sqrt(variance / 500)
    assert np.abs(error).max() < 5
    np.testing.assert_allclose(answers.var(axis=0), variance, rtol=0.4)


@pytest.mark.parametrize("solver", [BATCHES, SGD], ids=["svrg", "gd"])
def test_a_ledger_without_a_block_is_refused(solver):
    problem, X, y = make_problem()
    oracle = PrivateOracle(DenseRows(X, y), Ledger(1.0, DELTA), Adjacency.REPLACE_ONE, seeded())
    with pytest.raises(ValueError, match="needs a ledger that has reserved a block"):
        solver.solve(problem, oracle.for_problem(problem), PUBLIC_RNG)


def test_a_ledger_of_the_other_relation_is_refused_before_looking():
    problem, X, y = make_problem()
    ledger = ledger_for(BATCHES, problem, adjacency=Adjacency.ZERO_OUT)
    oracle = PrivateOracle(DenseRows(X, y), ledger, Adjacency.REPLACE_ONE, seeded())
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        BATCHES.solve(problem, oracle.for_problem(problem), PUBLIC_RNG)
    assert drawn(ledger) == []


class Unreadable(DenseRows):
    resident = False

    def blocks(self):
        raise OSError("rows were read")


def test_a_sample_is_charged_before_rows_are_read():
    problem, X, y = make_problem()
    block = SubsampledGaussianDP(1.0, ((100.0, 1),))
    ledger = Ledger(1.0, DELTA, calculus=block)
    oracle = PrivateOracle(Unreadable(X, y), ledger, Adjacency.REPLACE_ONE, seeded())
    spend = oracle.reserved.spends[0]
    with pytest.raises(OSError, match="rows were read"):
        oracle.for_problem(problem).gradient(np.ones(D), spend=spend, sampled=True)
    assert [e.count for e in drawn(ledger)] == [1]
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        oracle.for_problem(problem).gradient(np.ones(D), spend=spend, sampled=True)


def test_without_minibatches_accounting_is_as_before():
    problem = make_problem()[0]
    assert SVRG().calculus_for(problem, 1.0, DELTA, Adjacency.REPLACE_ONE) == GaussianDP()
    assert GD().calculus_for(problem, 1.0, DELTA, Adjacency.REPLACE_ONE) == GaussianDP()
    assert GD().settled
    assert SVRG().settled
    assert not SGD.settled
    alone = SVRG(steps=1, batch_size=10)
    assert alone.calculus_for(problem, 1.0, DELTA, Adjacency.REPLACE_ONE) == GaussianDP()


@pytest.mark.parametrize("solver", [BATCHES, SGD], ids=["svrg", "gd"])
def test_batches_of_everyone_need_no_distributions(solver):
    problem, X, y = make_problem()
    _, _, ledger = solve(replace(solver, batch_size=N), problem, X, y)
    assert ledger.calculus.sampling_rate == 1.0
    spent = ledger.limit + sum(ledger.calculus.prices)
    assert spent == pytest.approx(GaussianDP().limit(1.0, DELTA), rel=1e-9)


@pytest.mark.parametrize("kind", [GD, SVRG])
def test_streams_refuse_minibatches(kind):
    _, X, y = make_problem()
    model = DPLogisticRegression(data_norm=1.0, classes=[0, 1], solver=kind(batch_size=100))
    with pytest.raises(ValueError, match=r"takes all rows of a block.*leave batch_size out"):
        model.partial_fit(X, y)


@pytest.mark.nightly
def test_warns_of_batches_too_small_before_anything_is_charged_and_names_one_that_works():
    problem, X, y = make_problem()
    small = DPLogisticRegression(
        epsilon=1.0, data_norm=1.0, classes=[0, 1], solver=replace(BATCHES, batch_size=30)
    )
    with pytest.warns(
        UserWarning, match=r"SVRG\(batch_size=30\) .* Use batch_size=\d+ or"
    ) as caught:
        small.fit(X, y)
    mine = [w for w in caught if "batch_size" in str(w.message)]
    assert [w.filename for w in mine] == [__file__]
    enough = int(str(mine[0].message).split("batch_size=")[-1].split()[0])
    mu = sqrt(GaussianDP().limit(1.0, DELTA))
    differences = len(ledger_for(BATCHES, problem).calculus.prices)
    assert enough == pytest.approx(N * mu / sqrt(differences), abs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replaced = replace(BATCHES, batch_size=enough)
        block = replaced.calculus_for(problem, 1.0, DELTA, Adjacency.REPLACE_ONE)
    assert block.reserves[0][0] > 0.5
    with pytest.warns(UserWarning, match="Use batch_size=None"):
        BATCHES.calculus_for(problem, 1e6, DELTA, Adjacency.REPLACE_ONE)


@pytest.mark.nightly
def test_small_batches_are_noisier_and_large_ones_are_not():
    problem = make_problem()[0]

    def noise(batch_size):
        block = ledger_for(replace(BATCHES, batch_size=batch_size), problem).calculus
        return block.reserves[0][0] / batch_size

    everyone = noise(N)
    assert noise(400) == pytest.approx(everyone, rel=0.02)
    assert noise(10) > 1.3 * everyone


EXACT = replace(PAPER, steps=400, total_step_size=400.0, clip=2.0)


@pytest.mark.parametrize(
    ("solver", "atol"),
    [
        (EXACT, 5e-5),
        (replace(EXACT, batch_size=400), 2e-4),
        # Samples of 400 rows in each of the 300 steps that are averaged.
        (GD(steps=600, total_step_size=150.0, clip=2.0, momentum=0.0, batch_size=400), 2e-3),
    ],
    ids=["all rows", "svrg", "gd"],
)
def test_a_huge_budget_solves_a_ridge(solver, atol):
    problem, X, y = make_problem(Squared(), penalty=L2(0.1))
    w = solve(solver, problem, X, y, epsilon=1e6)[0].w
    exact = np.linalg.solve(X.T @ X / N + 0.1 * np.eye(D), X.T @ y / N)
    np.testing.assert_allclose(w, exact, atol=atol)
    assert np.linalg.norm(exact) > 0.1


@pytest.mark.parametrize("solver", [SGD, DYNAMIC], ids=["gd", "dynamic"])
def test_sampled_gradients_are_all_that_is_reserved_and_one_each_step(solver):
    problem, X, y = make_problem()
    _, _, ledger = solve(solver, problem, X, y)
    assert sum(e.count for e in drawn(ledger)) == len(ledger.calculus.prices) == 40
    assert ledger.total == 0.0
    # A tenth is for what is asked before.
    assert ledger.limit == pytest.approx(0.1 * GaussianDP().limit(1.0, DELTA), rel=0.1)


def test_a_dynamic_schedule_spends_more_on_late_steps():
    problem, X, y = make_problem()
    _, _, ledger = solve(DYNAMIC, problem, X, y)
    z = [e.noise_multiplier for e in drawn(ledger)]
    # In proportion to the share, within half a level.
    assert z[0] / z[1] == pytest.approx(sqrt(2.0))
    assert len(z) == 2


@pytest.mark.parametrize("solver", [SGD, DYNAMIC], ids=["gd", "dynamic"])
def test_a_receipt_can_be_recomputed_from_the_ledger_by_dp_accounting_alone(solver):
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    _, X, y = make_problem()
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    model = DPLogisticRegression(
        epsilon=1.0, delta=DELTA, data_norm=1.0, classes=[0, 1], solver=solver
    )
    model.fit(X, y)
    accountant = PLDAccountant(neighboring_relation=relation)
    for event in model.privacy_ledger_:
        # In units of the bound on a row, half of what replacing it moves.
        one = dp_accounting.GaussianDpEvent(2 * event.noise_scale / event.sensitivity)
        if event.mechanism == "sampled_gaussian":
            one = dp_accounting.PoissonSampledDpEvent(event.sampling_rate, one)
        accountant.compose(one, event.count)
    assert accountant.get_epsilon(DELTA) == pytest.approx(model.privacy_spent_.epsilon, rel=2e-3)
    assert {e.mechanism for e in model.privacy_ledger_} == {"gaussian", "sampled_gaussian"}


def test_weighted_rows_count_by_their_number():
    _, X, y = make_problem()
    model = DPLogisticRegression(
        epsilon=1.0, delta=DELTA, data_norm=1.0, classes=[0, 1], solver=SGD
    )
    model.fit(X, y, sample_weight=np.where(np.arange(N) % 2, 1.0, 0.5))
    (event,) = [e for e in model.privacy_ledger_ if e.mechanism == "sampled_gaussian"]
    assert event.sampling_rate == 400 / N


def test_a_published_receipt_gives_nothing_of_the_block_back():
    """How much of it was used is decided by answers, where epochs end early."""
    X = np.zeros((N, D))
    X[:, 0] = 1.0
    model = DPLogisticRegression(
        epsilon=1.0, delta=DELTA, data_norm=1.0, classes=[0, 1], precondition=None, solver=BATCHES
    )
    counts = set()
    for y in (np.arange(N) % 2, np.ones(N)):
        model.fit(X, y)
        events = [e for e in model.privacy_ledger_ if isinstance(e, SampledGaussianEvent)]
        counts.add(sum(event.count for event in events))
        composed = privacy_spent(model)
        assert composed.epsilon == pytest.approx(model.privacy_spent_.epsilon, rel=1e-4)
    assert len(counts) == 1


@pytest.mark.parametrize("batch_size", [None, 400])
def test_bb_steps_are_functions_of_released_answers_within_the_stable_range(batch_size):
    problem, X, y = make_problem(Squared(), penalty=L2(0.1))
    # Steps of the total step size are far too long; those of curvature are not.
    wild = replace(PAPER, steps=100, total_step_size=1600.0, clip=2.0, batch_size=batch_size)
    exact = np.linalg.solve(X.T @ X / N + 0.1 * np.eye(D), X.T @ y / N)

    def error(solver):
        return np.abs(solve(solver, problem, X, y, epsilon=1e6)[0].w - exact).max()

    assert error(replace(wild, step="bb")) < 0.1 * error(wild)


def test_bb_replays_and_costs_nothing():
    given, solver = make_problem(), SVRG(step="bb", steps=40)
    check_replay(solver, *given)
    ledgers = [solve(replace(solver, step=step), *given)[2] for step in ("bb", "constant")]
    assert ledgers[0].total == pytest.approx(ledgers[1].total, rel=1e-9)


@pytest.mark.parametrize("solver", [BATCHES, SGD], ids=["svrg", "gd"])
def test_without_noise_samples_are_everyone(solver):
    problem, X, y = make_problem()
    solutions = []
    for batch_size in (400, N):
        solver = replace(solver, batch_size=batch_size)
        oracle = ExactOracle(
            DenseRows(X, y), ledger_for(solver, problem), Adjacency.REPLACE_ONE, Ledger(inf, DELTA)
        )
        fixed = replace(solver, total_step_size=50.0, clip=1.0, momentum=0.5)
        solutions.append(fixed.solve(problem, oracle.for_problem(problem), PUBLIC_RNG).w)
    np.testing.assert_allclose(*solutions, rtol=1e-9)
