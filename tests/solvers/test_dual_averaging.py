"""Dual averaging: what is particular to it, beside the battery for all solvers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax
from tasks_for_solvers import solve

from skdp import DPSVMClassifier
from skdp.estimators import choose
from skdp.problem import Problem, RowBounds, RowMap
from skdp.problem.losses import Hinge, Logistic, Softmax, SquaredHinge
from skdp.problem.penalties import L2
from skdp.solvers import GD, DualAveraging

N, D, K = 1500, 2000, 3


def text(k=K, seed=0):
    """Rows of a few features each, half of them among ten that tell the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, N)
    rows = np.repeat(np.arange(N), 12)
    columns = rng.integers(100, D, (N, 12))
    columns[:, :6] = 10 * y[:, None] + rng.integers(0, 10, (N, 6))
    X = sp.csr_array((np.ones(12 * N), (rows, columns.ravel())), shape=(N, D))
    X.data = np.ones_like(X.data)
    return X / np.sqrt(12), y.astype(float if k == 2 else int)


def problem(k=K, **changes):
    loss = Logistic() if k == 2 else Softmax(k)
    return replace(Problem(loss, N, D, RowBounds(1.0, 0.1), sparse=True), **changes)


def accuracy(w, X, y):
    scores = X @ w[:-1] + 0.1 * w[-1]
    return np.mean((scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)) == y)


@pytest.mark.parametrize("k", [2, 3])
def test_noise_stays_below_the_threshold_and_signal_does_not(k):
    X, y = text(k)
    w = solve(DualAveraging(), problem(k), X, y, epsilon=4.0)[0].w
    used = w[:D] != 0 if k == 2 else (w[:D] != 0).any(axis=1)
    telling = np.zeros(D, dtype=bool)
    telling[: 10 * k] = True
    assert used[telling].mean() > 0.9
    plain = solve(DualAveraging(threshold=0.0), problem(k), X, y, epsilon=4.0)[0].w
    noisy = [np.linalg.norm(v[:D][~telling]) / np.linalg.norm(v[:D][telling]) for v in (w, plain)]
    assert noisy[0] < 0.6 * noisy[1]


def test_the_threshold_makes_text_of_many_features_learnable_from_less():
    X, y = text(2)
    rates = [
        [
            accuracy(solve(DualAveraging(threshold=c), problem(2), X, y, 0.1, s)[0].w, X, y)
            for s in range(5)
        ]
        for c in (0.0, 1.0)
    ]
    assert np.mean(rates[1]) > np.mean(rates[0]) + 0.01


@pytest.mark.parametrize("share", [0.05, 0.95])
def test_clipping_does_not_make_a_rare_class_of_text_rarer(share):
    """Its rows are clipped and the others are not, which would cost a factor of ten."""
    n, rng = 10_000, np.random.default_rng(0)
    places = np.repeat(np.arange(n), 10), rng.integers(0, D, 10 * n)
    X = sp.csr_array((np.full(10 * n, 10**-0.5), places), shape=(n, D))
    y = (rng.uniform(size=n) < share).astype(float)
    constant = 0.3
    start = np.append(np.zeros(D), np.log(share / (1 - share)) / constant)
    bounds = RowBounds(1.0, constant)
    task = replace(problem(2), n_samples=n, bounds=bounds, initial=start)
    found = []
    warm = replace(task, initial=start + 1e-9)
    for asked in (task, warm, replace(task, sparse=False)):
        w = solve(DualAveraging(steps=20), asked, X, y, epsilon=4.0)[0].w
        found.append(np.mean(expit(X @ w[:-1] + constant * w[-1])))
    rare, *rarer = (min(p, 1 - p) for p in found)
    # No word tells the class, so the frequency is all there is to be found.
    assert 0.6 * 0.05 < rare < 1.6 * 0.05
    # Models that go on from an earlier one, and rows that may not be text, are left as they are.
    assert max(rarer) < 0.3 * 0.05


@pytest.mark.nightly
def test_the_opening_makes_several_classes_learnable_from_less():
    X, y = text(10)
    task = problem(10)
    rates = [
        [accuracy(solve(solver, task, X, y, 0.3, s)[0].w, X, y) for s in range(3)]
        for solver in (DualAveraging(opening=0.0), DualAveraging())
    ]
    assert np.mean(rates[1]) > np.mean(rates[0]) + 0.03


def test_one_step_without_noise_is_a_step_along_the_clipped_gradient():
    X, y = text(2)
    task = problem(2)
    w = solve(DualAveraging(steps=1, clip=0.2, threshold=0.0), task, X, y, epsilon=1e9)[0].w
    rows = np.hstack([X.toarray(), np.full((N, 1), 0.1)])
    gradient = rows.T @ np.clip(expit(np.zeros(N)) - y, -0.2, 0.2) / N
    cosine = -(w @ gradient) / np.linalg.norm(w) / np.linalg.norm(gradient)
    assert cosine == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("shift", [0.0, 0.02])
@pytest.mark.parametrize("weights", [None, (1.0, 0.5, 2.0)])
def test_the_opening_is_the_direction_of_the_first_gradient(shift, weights):
    X, y = text()
    row_map = RowMap(np.ones(D), None, np.full(D, shift), 10.0)
    bounds = RowBounds(1.0, 0.1, row_map=row_map)
    task = problem(bounds=bounds, class_weight=weights)
    shares = np.bincount(y, np.take(weights or np.ones(K), y), minlength=K)
    shares /= shares.sum()
    start = task.start()
    start[-1] = np.log(shares) / 0.1
    task = replace(task, initial=start)
    # Nearly all of it opens, and the one step that is left is far too short to matter.
    solver = DualAveraging(steps=1, clip=1e-12, opening=0.999, threshold=0.0)
    moved = (solve(solver, task, X, y, epsilon=1e9)[0].w - start)[:D]
    r = np.eye(K)[y] - softmax(0.1 * start[-1])
    r *= np.take(weights or np.ones(K), y)[:, None]
    gradient = (X.toarray() - shift).T @ r
    np.testing.assert_allclose(
        moved / np.linalg.norm(moved), gradient / np.linalg.norm(gradient), atol=1e-5
    )


def test_the_opening_costs_its_share_at_the_price_of_one_sided_rows():
    X, y = text()
    *_, ledger = solve(DualAveraging(opening=0.25), problem(), X, y)
    first, *others = ledger.receipt()
    assert (first.query, {event.query for event in others}) == ("row_means", {"gradient"})
    assert (first.sensitivity / first.noise_scale) ** 2 == pytest.approx(0.25 * ledger.limit)
    assert first.sensitivity == pytest.approx(np.sqrt(2) * np.hypot(1.0, 0.1) / N, rel=1e-4)


@pytest.mark.parametrize("change", ["dense", "rotated", "started"])
def test_there_is_no_opening_where_it_would_not_be_the_first_gradient(change):
    X, y = text()
    task = problem()
    if change == "dense":
        task = replace(task, sparse=False)
    if change == "rotated":
        rotated = RowMap(np.ones(D), np.eye(D)[:, :5], np.zeros(5), 1.0)
        task = replace(task, n_features=5, bounds=RowBounds(1.0, 0.1, row_map=rotated))
    if change == "started":
        task = replace(task, initial=np.ones(task.shape))
    *_, ledger = solve(DualAveraging(), task, X, y)
    assert {event.query for event in ledger.receipt()} == {"gradient"}


def test_it_is_the_default_for_classification_of_sparse_rows_in_public_coordinates():
    mapped = RowBounds(1.0, 0.1, row_map=RowMap(np.ones(D), None, np.zeros(D), 1.0))
    assert type(choose("auto", problem(bounds=mapped))[0]) is DualAveraging
    assert type(choose("auto", problem())[0]) is not DualAveraging
    assert type(choose("auto", problem(bounds=mapped, sparse=False))[0]) is not DualAveraging
    assert type(choose("auto", problem(bounds=mapped, n_features=1000))[0]) is not DualAveraging


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "huberised_hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_default_for_margins_of_text_too(loss, n_classes):
    """One against the rest opens with sums by class, and learns in ten steps."""
    X, y = text(n_classes)
    options = {"classes": range(n_classes), "data_norm": 1.0, "random_state": 0}
    with pytest.warns(UserWarning, match="random_state"):
        model = DPSVMClassifier(epsilon=4.0, loss=loss, **options).fit(X, y)
    assert type(model.plan_.solver) is DualAveraging
    # Frequencies of the features, and with several classes the sums by class.
    assert [e.count for e in model.privacy_ledger_ if e.query == "row_means"] == (
        [1] if n_classes == 2 else [1, 1]
    )
    assert sum(e.count for e in model.privacy_ledger_ if e.query == "gradient") == 10
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()])
@pytest.mark.by_day(1)
def test_margins_at_a_huge_budget_have_the_optimum_of_gradient_descent(loss):
    """Neither an unbounded derivative nor a corner lets the steps run away."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(float)
    task = problem(2, loss=loss, n_samples=300, n_features=5, sparse=False, penalty=L2(0.1))

    def objective(solver):
        w = solve(solver, task, sp.csr_array(X), y, epsilon=1e4)[0].w
        scores = X @ w[:-1] + 0.1 * w[-1]
        return np.mean(loss.value(y, scores)) + 0.05 * w[:-1] @ w[:-1]

    assert objective(DualAveraging(steps=500)) < objective(GD(steps=500)) + 0.01


@pytest.mark.nightly
def test_the_default_takes_short_steps_where_few_features_go_together():
    # All rows share a direction, and the classes differ across it. Ten steps overshoot to and fro
    # along the shared one: accuracy 0.50 to 0.57, where 100 have 0.87 to 0.91.
    rng = np.random.default_rng(0)
    X = 1 + 0.4 * rng.uniform(-1, 1, size=(20_000, 10))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    scores = X @ np.tile([1.0, -1.0], 5)
    y = (scores + 0.3 * scores.std() * rng.normal(size=len(X)) > 0).astype(float)
    task = Problem(Logistic(), *X.shape, RowBounds(1.0, 0.1))
    solution, _, ledger = solve(DualAveraging(), task, sp.csr_array(X), y)
    assert accuracy(solution.w, X, y) > 0.8
    assert [event.count for event in ledger.receipt()] == [100]


def test_the_default_takes_ten_steps_for_text():
    *_, ledger = solve(DualAveraging(), problem(2), *text(2))
    assert [event.count for event in ledger.receipt()] == [10]
