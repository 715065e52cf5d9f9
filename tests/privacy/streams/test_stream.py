"""The driver of streams: the same models however rows come, each row once, nothing beyond."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tasks_for_solvers import TASKS

from skdp.privacy import Adjacency, PrivateOracle, SeededNoise, SystemNoise, secret_pickle
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows, ResidentRows
from skdp.privacy.streams import Stream, StreamSession
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L1Ball, L2Ball
from skdp.problem.losses import Logistic
from skdp.problem.penalties import L2
from skdp.solvers import FTRL, FrankWolfe

DELTA = 1e-5
N, D = 600, 4
BALL = L2Ball(3.0)
SOLVERS = {
    "ftrl": FTRL(),
    "frank_wolfe": FrankWolfe(),
    "row by row": FrankWolfe(batch=1),
    "vertices": FrankWolfe(noise="gumbel"),
}
every_solver = pytest.mark.parametrize("option", SOLVERS)
both_horizons = pytest.mark.parametrize("horizon", [N, None], ids=["horizon", "anytime"])


def problem_for(option):
    if option == "vertices":
        return Problem(Logistic(), N, D, RowBounds(1.0), constraint=L1Ball(2.0))
    return Problem(Logistic(), N, D, RowBounds(1.0, 1.0), constraint=BALL)


def rows(seed=1, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) / 2
    return DenseRows(X, (rng.random(n) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(float))


def opened(option, horizon=N, epsilon=1.0, source=None):
    problem, solver = problem_for(option), SOLVERS[option]
    calculus = solver.calculus_for_stream(problem, epsilon, DELTA, Adjacency.REPLACE_ONE)
    ledger = Ledger(epsilon, DELTA, calculus=calculus)
    noise = source or SeededNoise(np.random.default_rng(0))
    return Stream(problem, solver, ledger, Adjacency.REPLACE_ONE, noise, horizon)


def fed(stream, store, cuts):
    """The models after each release, in order."""
    models = [stream.solution]
    for start, stop in zip([0, *cuts], [*cuts, store.n_samples], strict=True):
        stream.feed(store.part(start, stop))
        if stream.solution is not models[-1]:
            models.append(stream.solution)
    return models


@both_horizons
@every_solver
@pytest.mark.by_day(2)
def test_models_do_not_depend_on_how_rows_are_spread_over_calls(option, horizon):
    store, rng = rows(), np.random.default_rng(0)
    whole = fed(opened(option, horizon), store, [])[-1]
    one_by_one = fed(opened(option, horizon), store, range(1, N))
    cuts = np.sort(rng.choice(np.arange(1, N), 60, replace=False)).tolist()
    at_random = fed(opened(option, horizon), store, cuts)[-1]
    for other in (one_by_one[-1], at_random):
        np.testing.assert_allclose(other.w, whole.w, rtol=1e-8, atol=1e-10)
        assert other.n_iter == whole.n_iter
    assert len(one_by_one) > 20


@both_horizons
@every_solver
@pytest.mark.by_day(2)
def test_models_are_a_function_of_what_was_released(option, horizon, monkeypatch):
    """Record the releases, feed garbage of the same shape with the same releases."""
    honest, released = StreamSession.release, []

    def recording(self):
        released.append(honest(self))
        return released[-1].copy()

    monkeypatch.setattr(StreamSession, "release", recording)
    first = fed(opened(option, horizon), rows(), range(1, N))
    coming = iter(list(released))

    def replaying(self):
        honest(self)
        return next(coming)

    monkeypatch.setattr(StreamSession, "release", replaying)
    garbage = rows(9)
    garbage.X[:] *= -1e3
    garbage.y[:] = 0
    second = fed(opened(option, horizon, source=SystemNoise()), garbage, range(1, N))
    assert next(coming, None) is None
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.w, b.w)
        assert a.n_iter == b.n_iter


@every_solver
def test_all_is_charged_before_the_first_row(option):
    stream = opened(option)
    ((length, ledger),) = stream.receipts
    assert length == N
    assert 0.999 * ledger.limit <= ledger.total <= ledger.limit
    before = ledger.receipt()
    fed(stream, rows(), range(7, N, 7))
    assert ledger.receipt() == before


class Unreadable(ResidentRows):
    """Rows that must not be looked at."""

    n_features, sparse = D, False

    def __init__(self, n_samples):
        self.n_samples = n_samples

    def blocks(self):
        raise AssertionError("rows were read")

    def _lengths(self):
        raise AssertionError("rows were read")

    def _features(self, start, stop):
        raise AssertionError("rows were read")


@every_solver
def test_rows_beyond_the_horizon_are_refused_before_they_are_read(option):
    stream, store = opened(option), rows()
    with pytest.raises(ValueError, match=rf"horizon of {N}, .* nothing was read"):
        stream.feed(Unreadable(N + 1))
    stream.feed(store.part(0, 400))
    model = stream.solution
    with pytest.raises(ValueError, match="200 are left, got 201"):
        stream.feed(Unreadable(201))
    assert stream.solution is model
    assert stream.seen == 400
    stream.feed(store.part(400, N))
    with pytest.raises(ValueError, match="0 are left, got 1"):
        stream.feed(Unreadable(1))


@every_solver
@pytest.mark.by_day(2)
def test_parts_without_a_horizon_double_and_each_pays_with_a_ledger_of_its_own(option):
    stream = opened(option, None)
    store = rows(n=3000)
    fed(stream, store, range(100, 3000, 100))
    lengths = [length for length, _ in stream.receipts]
    assert sum(lengths[:-1]) < 3000 <= sum(lengths)
    assert lengths[1:] == np.cumsum(lengths)[:-1].tolist()
    ledgers = [ledger for _, ledger in stream.receipts]
    assert len({id(ledger) for ledger in ledgers}) == len(ledgers) > 3
    for ledger in ledgers:
        assert len(ledger.receipt()) == 1
        assert ledger.spent().epsilon <= 1.0


@every_solver
def test_a_part_is_opened_when_its_first_row_comes_and_goes_on(option, monkeypatch):
    stream, store = opened(option, None), rows()
    ((first, _),) = stream.receipts
    stream.feed(store.part(0, first))
    assert len(stream.receipts) == 1
    before, asked = stream.solution.w, []
    honest = StreamSession.ask
    monkeypatch.setattr(StreamSession, "ask", lambda s, q: (asked.append(q.w), honest(s, q)))
    stream.feed(store.part(first, first + 1))
    assert len(stream.receipts) == 2
    np.testing.assert_array_equal(asked[0], before)


def test_a_fit_is_a_stream_of_all_rows():
    store, problem, solver = rows(), problem_for("ftrl"), FTRL()
    ledger = Ledger(1.0, DELTA)
    oracle = PrivateOracle(
        store, ledger, Adjacency.REPLACE_ONE, SeededNoise(np.random.default_rng(0))
    )
    fit = solver.solve(problem, oracle.for_problem(problem), np.random.default_rng(7))
    stream = opened("ftrl")
    stream.feed(store)
    np.testing.assert_allclose(stream.solution.w, fit.w, rtol=1e-9)


@every_solver
@pytest.mark.by_day(2)
def test_a_checkpoint_is_small_and_goes_on(option):
    store, sizes = rows(), []
    models = []
    for stopped in (False, True):
        source = SeededNoise(np.random.default_rng(0))
        stream = opened(option, source=source)
        for start in range(0, N, 50):
            stream.feed(store.part(start, start + 50))
            if stopped:
                state = secret_pickle(stream)
                sizes.append(len(state))
                stream = pickle.loads(state)
        models.append(stream.solution.w)
    np.testing.assert_array_equal(*models)
    # Sums, buffers and two models: nothing that grows with the number of rows.
    assert sizes[-1] <= 1.2 * sizes[1]


@every_solver
def test_models_are_feasible_at_all_times(option):
    stream, constraint = opened(option, epsilon=0.1), problem_for(option).constraint
    for model in fed(stream, rows(), range(10, N, 10)):
        assert constraint.contains(model.w[:D])


@pytest.mark.nightly
def test_it_learns():
    truth = np.array([3.0, 0.0, 0.0, 0.0])
    for option in SOLVERS:
        stream = opened(option, 20_000, epsilon=2.0)
        stream.feed(rows(3, 20_000))
        w = stream.solution.w[:D]
        assert w @ truth > 0.9 * np.linalg.norm(w) * np.linalg.norm(truth), option


def test_refuses_a_horizon_without_rows_and_problems_that_the_solver_does_not_take():
    with pytest.raises(ValueError, match="horizon of at least 1 row"):
        opened("ftrl", 0)
    ledger = Ledger(1.0, DELTA)
    problem = replace(TASKS["logistic, net"].problem, constraint=BALL)
    arguments = (Adjacency.REPLACE_ONE, SystemNoise(), N)
    with pytest.raises(ValueError, match="FrankWolfe needs"):
        Stream(problem, FrankWolfe(), ledger, *arguments)
    assert ledger.receipt() == ()


def test_penalty_of_a_part_is_that_for_all_rows_up_to_its_end():
    problem, lengths, seen = problem_for("ftrl"), [], []

    @dataclass(frozen=True)
    class Noting(FTRL):
        def plan(self, problem, mu):
            seen.append(problem.penalty)
            return super().plan(problem, mu)

    def stated(n):
        lengths.append(n)
        return replace(problem, penalty=L2(1.0 / n))

    parts = (problem, Noting(), Ledger(1.0, DELTA), Adjacency.REPLACE_ONE)
    stream = Stream(*parts, SeededNoise(np.random.default_rng(0)), None, stated)
    stream.feed(rows(n=1000))
    ends = np.cumsum([length for length, _ in stream.receipts])
    assert lengths == list(ends)
    assert len(lengths) > 2
    assert seen == [L2(1.0 / n) for n in ends]
