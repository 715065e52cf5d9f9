"""Whitening of many dense features: what it costs, what it learns, and when it is chosen."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tasks_for_solvers import asked

import skdp
from skdp import DPLogisticRegression, DPSVMClassifier
from skdp.estimators import Coordinates
from skdp.privacy.rows import Chunks
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Softmax
from skdp.problem.penalties import L2
from skdp.solvers import GD, PreconditionedGD
from skdp.solvers.preconditioning import Whitening, WideWhitening, whitened_mean_square

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D, K = 20_000, 60, 4


def rows(alpha, n=N, seed=0, d=D, apart=1.0):
    """Rows of norm 1 with moments ``j^-alpha`` in a random basis and a common mean, and classes."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    sizes = np.arange(1, d + 1) ** (-alpha / 2)
    centres = apart * rng.normal(size=(K, d)) * np.arange(1, d + 1) ** -0.25
    y = rng.integers(0, K, n)
    X = ((centres[y] + rng.normal(size=(n, d))) * sizes) @ basis + basis[0]
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


STEEP, FLAT = rows(1.5), rows(0.0, apart=0.3)
PROBLEM = Problem(Softmax(K), N, D, RowBounds(1.0, 0.3), penalty=L2(1e-3))


def prepared(stage=None, data=STEEP, epsilon=10.0, problem=PROBLEM, seed=0):
    """The problem in new coordinates, and the ledger."""
    oracle, ledger = asked(problem, *data, epsilon, seed)
    public_rng = np.random.default_rng(7)
    return (stage or WideWhitening()).prepare(problem, oracle, public_rng), ledger


def model(epsilon=2.0, **parameters):
    given = {"data_norm": 1.0, "classes": range(K), "random_state": 0}
    return DPLogisticRegression(epsilon=epsilon, delta=1e-5, **(given | parameters))


def mapped_rows(problem, data=STEEP):
    row_map = problem.bounds.row_map
    return data[0] @ row_map.jacobian() - row_map.shift


def test_without_noise_rows_become_white_and_centred():
    done, _ = prepared(epsilon=1e12)
    Z = mapped_rows(done)
    spectrum = np.linalg.eigvalsh(Z.T @ Z / N)
    before = np.linalg.eigvalsh(np.cov(STEEP[0], rowvar=False))
    # Long rows are cut, which bends what is asked a little.
    assert before[-1] > 300 * before[0]
    assert spectrum[-1] < 1.5 * spectrum[0]
    assert np.linalg.norm(Z.mean(axis=0)) < 1e-3 * np.linalg.norm(Z, axis=1).mean()
    # What rows are cut to is the length of most, and the solver is told their moments.
    row_map, lengths = done.bounds.row_map, np.linalg.norm(Z, axis=1)
    assert np.quantile(lengths, 0.2) < row_map.norm < np.quantile(lengths, 0.8)
    assert row_map.moments.sum() == pytest.approx(row_map.norm**2, rel=0.02)


def test_with_noise_fine_directions_are_left_as_short_as_they_are():
    done, _ = prepared(epsilon=1.0)
    Z, B = mapped_rows(done), done.bounds.row_map.jacobian()
    # No row is made longer, and large directions are made much shorter.
    assert np.linalg.norm(B, 2) <= 1 + 1e-9
    centred = STEEP[0] - STEEP[0].mean(axis=0)
    assert np.square(Z).sum() < 0.7 * np.square(centred).sum()
    lengths = np.linalg.norm(Z, axis=1)
    assert np.quantile(lengths, 0.2) < done.bounds.row_map.norm < np.quantile(lengths, 0.8)


@pytest.mark.parametrize("most", [2000, 20])
def test_it_costs_its_share_for_the_mean_and_two_matrices(most):
    _, ledger = prepared(WideWhitening(0.13, most))
    prices = [(e.query, e.count * (e.sensitivity / e.noise_scale) ** 2) for e in ledger.receipt()]
    queries = [query for query, _ in prices]
    assert queries == ["row_means", "second_moments", "second_moments"]
    shares = np.array([price for _, price in prices]) / ledger.limit
    np.testing.assert_allclose(shares, [0.01, 0.04, 0.08], rtol=1e-6)


def test_a_flat_spectrum_is_not_asked_for_twice_and_the_fit_spends_as_much():
    counts = {}
    for name, data in {"steep": STEEP, "flat": FLAT}.items():
        fitted = model(precondition=WideWhitening()).fit(*data)
        assert fitted.privacy_spent_.epsilon == pytest.approx(2.0, rel=1e-6)
        events = [e for e in fitted.privacy_ledger_ if e.query == "second_moments"]
        counts[name] = sum(event.count for event in events)
    assert counts == {"steep": 2, "flat": 1}


@pytest.mark.parametrize("sd", [0.02, 0.05, 0.1])
def test_the_length_after_whitening_is_not_taken_from_noise(sd):
    """Rows are cut to what they are long, on average over the noise."""
    rng, k = np.random.default_rng(0), 30
    truth = np.diag(np.arange(1, k + 1) ** -1.5)
    estimates, naive, exact = [], [], []
    for _ in range(300):
        noise = rng.normal(size=(k, k)) * sd / 2
        answer = truth + noise + noise.T
        values, vectors = np.linalg.eigh(answer)
        factors = 1 / (np.maximum(values, 0) + sd * np.sqrt(2 * k) / 2)
        estimates.append(whitened_mean_square(values, factors, sd))
        naive.append(factors @ values)
        exact.append(np.sum(factors * np.einsum("ij,ik,kj->j", vectors, truth, vectors)))
    error = np.std(np.subtract(estimates, exact)) / np.sqrt(300)
    wanted = np.mean(exact)
    assert np.mean(estimates) == pytest.approx(wanted, abs=4 * error + 0.02 * wanted)
    assert abs(np.mean(naive) - wanted) > 8 * error + 0.02 * wanted


def test_few_rows_are_left_as_they_are_at_no_cost():
    few = replace(PROBLEM, n_samples=500)
    data = (STEEP[0][:500], STEEP[1][:500])
    done, ledger = prepared(problem=few, data=data, epsilon=1.0)
    assert done is few
    assert ledger.receipt() == ()


def test_rows_are_not_shifted_where_no_intercept_could_make_up_for_it():
    problem = replace(PROBLEM, bounds=RowBounds(1.0))
    done, ledger = prepared(problem=problem)
    np.testing.assert_array_equal(done.bounds.row_map.shift, 0.0)
    assert "row_means" not in {event.query for event in ledger.receipt()}


@pytest.mark.parametrize("most", [D, 40])
@pytest.mark.by_day(1)
def test_a_model_in_a_sketch_is_linear_in_all_features(most):
    X, y = STEEP
    fitted = model(4.0, precondition=WideWhitening(most_coordinates=most)).fit(X, y)
    assert fitted.coef_.shape == (K, D)
    scores = X @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_array_equal(fitted.decision_function(X), scores)
    exact = LogisticRegression(C=100.0, max_iter=300).fit(X, y).score(X, y)
    assert fitted.score(X, y) > exact - (0.06 if most == D else 0.2)
    assert fitted.score(X, y) > 0.5


@pytest.mark.nightly
def test_it_beats_coordinates_in_the_users_directions_where_fine_ones_count():
    X, y = rows(2.0, n=30_000)
    train, test = slice(0, 20_000), slice(20_000, None)
    gains = []
    for seed in range(3):
        fits = [
            model(precondition=stage, random_state=seed).fit(X[train], y[train])
            for stage in (WideWhitening(), Whitening(full=False))
        ]
        wide, plain = (fitted.score(X[test], y[test]) for fitted in fits)
        gains.append(wide - plain)
    assert np.mean(gains) > 0.02


@pytest.mark.nightly
def test_rows_in_single_precision_are_never_copied_as_a_whole():
    X, y = rows(1.5, n=30_000, d=120)
    tracemalloc.start()
    model(8.0, precondition=WideWhitening(), solver=PreconditionedGD(steps=2)).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Blocks of at most 12 MB in double precision, a few at a time.
    assert peak < 2 * X.nbytes


def test_a_fit_reads_the_rows_at_most_forty_times():
    reads = []

    def source():
        reads.append(1)
        for i in range(0, N, 5000):
            yield STEEP[0][i : i + 5000], STEEP[1][i : i + 5000]

    fitted = model(precondition="wide").fit(Chunks(source, memory=0))
    assert isinstance(fitted.plan_.solver, PreconditionedGD)
    assert 12 < len(reads) <= 40


# What the plan makes of it.


def plan_of(n_samples=60_000, n_features=1500, *, estimator=DPLogisticRegression, **parameters):
    given = {"classes": range(10), "data_norm": 1.0, "precondition": "wide"} | parameters
    return skdp.plan(estimator(**given), n_samples, n_features)


def coordinates(plan):
    return plan.stage(Coordinates).preconditioner


def test_it_is_taken_with_few_short_steps_where_it_is_asked_for():
    plan = plan_of()
    assert coordinates(plan) == WideWhitening()
    assert plan.stage(Coordinates).acts
    assert plan.solver == PreconditionedGD(score_noise=1.5, label_blind=False)
    assert "coordinates by WideWhitening, up to 26% of the rest" in str(plan)
    assert coordinates(plan_of(precondition="auto")) == Whitening()


@pytest.mark.parametrize(
    ("n_samples", "n_features", "epsilon"),
    [(60_000, 1500, 0.1), (2000, 1500, 1.0), (6000, 200, 0.3)],
    ids=["little budget", "few rows", "few of both"],
)
def test_it_is_the_default_where_rows_or_budget_are_too_few_for_it(n_samples, n_features, epsilon):
    wide = plan_of(n_samples, n_features, epsilon=epsilon)
    assert wide == plan_of(n_samples, n_features, epsilon=epsilon, precondition="auto")
    assert coordinates(wide) == Whitening()


@pytest.mark.parametrize("n_samples", [200, 60_000])
def test_sparse_rows_are_refused_however_many_they_are(n_samples):
    asked = DPLogisticRegression(classes=range(K), data_norm=1.0, precondition="wide")
    with pytest.raises(ValueError, match="WideWhitening mixes features and so needs dense rows"):
        skdp.plan(asked, n_samples, 1500, sparse=True)


def test_other_losses_and_named_solvers_take_its_coordinates():
    assert plan_of(estimator=DPSVMClassifier).solver == GD()
    assert plan_of(solver="gd").solver == GD()
    assert coordinates(plan_of(solver="gd")) == WideWhitening()
