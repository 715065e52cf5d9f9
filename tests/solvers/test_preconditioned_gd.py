"""Few steps in coordinates of known moments: hyperparameters, pace, when they are chosen."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from by_night import by_night
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from tasks_for_solvers import asked

import skdp
from skdp import DPLogisticRegression, DPSVMClassifier
from skdp.problem import Problem, RowBounds, RowMap
from skdp.problem.losses import Logistic
from skdp.problem.penalties import L2
from skdp.solvers import GD, Blocks, PreconditionedGD
from skdp.solvers.preconditioning import Whitening

N, D = 3000, 5
RNG = np.random.default_rng(0)
# Second moments from 1 to 1e-4, all of which matter.
STRETCH = np.array([1.0, 0.3, 0.1, 0.03, 0.01])
X = RNG.normal(size=(N, D)) * STRETCH
X /= np.linalg.norm(X, axis=1).max()
Y = (RNG.uniform(size=N) < expit(X @ (np.array([3.0, -3, 3, -3, 3]) / STRETCH))).astype(float)
PROBLEM = Problem(Logistic(), N, D, RowBounds(1.0, 0.3), penalty=L2(1 / (100 * N)))


def solve(solver, *, epsilon=1e9, prepared=True):
    oracle, ledger = asked(PROBLEM, X, Y, epsilon, 1, delta=1e-6)
    problem = PROBLEM
    if prepared:
        problem = Whitening(full=True).prepare(problem, oracle, np.random.default_rng(0))
    solution = solver.solve(problem, oracle.for_problem(problem), np.random.default_rng(0))
    coef, intercept = problem.in_user_coordinates(solution.w.reshape(-1, 1))
    return X @ coef[:, 0] + intercept, ledger


def loss(scores):
    return float(np.mean(np.logaddexp(0, scores) - Y * scores))


@pytest.mark.nightly
def test_its_steps_learn_all_directions_at_one_pace():
    """As good as a hundred steps of gradient descent in the same coordinates, without noise."""
    few, ledger = solve(PreconditionedGD(steps=24, clip=1.0, average=0.0))
    many, _ = solve(GD(steps=3000, total_step_size=3e5, clip=1.0, momentum=0.9, average=0.0))
    plain, _ = solve(PreconditionedGD(steps=24, clip=1.0, average=0.0), prepared=False)
    assert sum(event.count for event in ledger.receipt() if event.query == "gradient") == 24
    assert loss(few) < loss(many) + 0.005
    # Without the moments most directions are not learned in so few steps.
    assert loss(plain) > loss(few) + 0.05


def test_a_strong_ridge_does_not_make_it_unstable():
    strong = replace(PROBLEM, penalty=L2(100.0))
    oracle, _ = asked(strong, X, Y, 1e9, 1, delta=1e-6)
    w = PreconditionedGD(steps=200).solve(strong, oracle, None).w
    assert np.linalg.norm(w[:D]) < 0.1


def stretched_rows(stretch, n=20_000):
    """Rows whose second moments differ in directions that are no columns."""
    rng = np.random.default_rng(2)
    turned = np.linalg.qr(rng.normal(size=(len(stretch),) * 2))[0]
    features = (rng.normal(size=(n, len(stretch))) * stretch) @ turned
    return features / np.linalg.norm(features, axis=1).max()


def steps_taken(features, share, **parameters):
    """Number of steps with labels at random, of which a share is positive."""
    labels = (np.random.default_rng(3).uniform(size=len(features)) < share).astype(int)
    given = {"classes": [0, 1], "data_norm": 1.0, "epsilon": 4.0, "solver": "preconditioned_gd"}
    return int(DPLogisticRegression(**given | parameters).fit(features, labels).n_iter_[0])


def test_steps_are_as_many_as_released_moments_ask_for():
    # Of the second moments of scaled rows, whose directions are alike or not.
    white = stretched_rows(np.ones(12))
    alike = white * np.logspace(0, -1, 12)
    common = np.random.default_rng(4).normal(size=(len(white), 1))
    apart = white + 0.2 * np.sign(common)
    apart /= np.linalg.norm(apart, axis=1).max()
    few = steps_taken(white, 0.5)
    assert few <= 8
    assert steps_taken(alike, 0.5) <= 8
    # Curvature changes more on the way where a class is rare.
    assert few < steps_taken(white, 0.03) <= 16
    assert steps_taken(apart, 0.5, epsilon=0.2) > 14
    # Nothing is known of directions without a look at all of them.
    assert steps_taken(white, 0.5, precondition="diagonal") == 24
    assert steps_taken(white, 0.5, solver=PreconditionedGD(steps=5)) == 5
    # Towards the solution without privacy.
    assert steps_taken(white, 0.5, epsilon=64.0) > 2 * few


def test_moments_of_which_noise_leaves_nothing_ask_for_all_steps():
    """Noisy moments of a single direction are negative, and so zero, in half of all fits."""
    row_map = RowMap(np.ones(D), None, np.zeros(D), 1.0, moments=np.zeros(D))
    bounds = replace(PROBLEM.bounds, row_map=row_map)
    lost = replace(PROBLEM, bounds=bounds)
    oracle, _ = asked(lost, X, Y, 1.0, 1, delta=1e-6)
    solution = PreconditionedGD().solve(lost, oracle, np.random.default_rng(0))
    assert solution.n_iter == 24
    assert np.isfinite(solution.w).all()


def test_combined_iterates_are_much_nearer_to_the_solution_than_the_last_one():
    solution, _ = solve(PreconditionedGD(steps=200, clip=1.0, average=0.0))
    distances = {}
    for average in (0.0, 0.5):
        scores, _ = solve(PreconditionedGD(steps=6, clip=1.0, average=average))
        distances[average] = np.sqrt(np.mean((scores - solution) ** 2))
    assert distances[0.5] < 0.5 * distances[0.0]


def solver_of(n_samples, n_features=10, model=None, **options):
    model = DPLogisticRegression(classes=[0, 1], data_norm=1.0) if model is None else model
    return type(skdp.plan(model, n_samples, n_features, **options).solver)


def test_it_is_the_default_for_two_classes_and_for_more_with_rows_enough():
    assert solver_of(100_000) is PreconditionedGD
    assert solver_of(1_000) is PreconditionedGD
    # Where nothing can be learned of coordinates.
    assert solver_of(60) is GD
    assert solver_of(20_000, 400) is PreconditionedGD
    assert solver_of(10_000_000, 600) is PreconditionedGD
    several = DPLogisticRegression(classes=range(50), data_norm=1.0)
    assert solver_of(10_000, model=several, classes=range(50)) is GD
    assert solver_of(1_000_000, model=several, classes=range(50)) is PreconditionedGD


@pytest.mark.parametrize(
    "model",
    [
        DPLogisticRegression(classes=[0, 1], data_norm=1.0, class_weight="balanced"),
        DPLogisticRegression(classes=[0, 1, 2], data_norm=1.0, precondition="diagonal"),
        DPLogisticRegression(classes=[0, 1], data_norm=1.0, precondition=None),
        DPLogisticRegression(classes=[0, 1], data_norm=1.0, solver="gd"),
        DPSVMClassifier(classes=[0, 1], data_norm=1.0),
    ],
)
def test_it_is_left_out_where_its_constants_were_not_made_for_it(model):
    assert solver_of(100_000, model=model) is GD


def test_it_goes_on_from_an_earlier_model_in_as_few_steps():
    labels = Y[:2000].astype(int)
    rows = X[:2000, :2]
    model = DPLogisticRegression(
        classes=[0, 1], data_norm=1.0, epsilon=8.0, delta=1e-6, solver=Blocks(first=700)
    )
    model.partial_fit(rows[:700], labels[:700])
    assert not model.plan_.from_model
    model.partial_fit(rows[700:1400], labels[700:1400])
    assert model.plan_.from_model
    assert isinstance(model.plan_.solver, PreconditionedGD)
    assert model.n_iter_[0] <= 24
    at_once = LogisticRegression(C=1e3).fit(rows, labels)
    assert model.score(rows, labels) > at_once.score(rows, labels) - 0.03


# The default tends to the model without privacy.


def groups_of(n, shift, size, seed=1, d=30):
    """Rows of groups, most of them rare, with log-odds of their own, and one number."""
    rng = np.random.default_rng(seed)
    odds, shares = size * rng.normal(size=d), 0.85 ** np.arange(d)
    group, number = rng.choice(d, n, p=shares / shares.sum()), rng.uniform(size=n)
    features = np.column_stack([number, np.eye(d)[group]]) / np.sqrt(2)
    scores = odds[group] + shift + 2 * (number - 0.5)
    return features, (rng.uniform(size=n) < expit(scores)).astype(int)


def several_of(n, shift, size, seed=1, d=8, k=4):
    """Normal rows of four classes that are more or less frequent."""
    rng = np.random.default_rng(seed)
    features, W = rng.normal(size=(n, d)), size * rng.normal(size=(d, k))
    shares = softmax(features @ W + shift * np.arange(k) / 2, axis=1)
    labels = (rng.uniform(size=(n, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    return features / np.maximum(5, np.linalg.norm(features, axis=1, keepdims=True)), labels


def gaps(features, labels, epsilons):
    """Log-loss less that of scikit-learn's model on rows kept apart, for each epsilon."""
    n, classes = len(labels) * 2 // 3, np.unique(labels)
    train, test = (features[:n], labels[:n]), (features[n:], labels[n:])

    def log_loss_of(model):
        return log_loss(test[1], model.fit(*train).predict_proba(test[0]), labels=classes)

    least = log_loss_of(LogisticRegression(C=1e4, max_iter=2000))
    given = {"data_norm": 1.0, "classes": classes, "random_state": 0}
    return [log_loss_of(DPLogisticRegression(epsilon=e, **given)) - least for e in epsilons]


@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
@pytest.mark.parametrize(
    ("rows", "shift", "size"),
    [
        (groups_of, -2.0, 0.5),
        *by_night(
            *product([groups_of], [0.0, -2.0, -4.0], [0.5, 2.0]),
            *product([several_of], [0.0, -2.0, -4.0], [0.5, 2.0]),
        ),
    ],
)
def test_the_default_tends_to_the_model_without_privacy(rows, shift, size):
    """For any share of positives and any noise of labels."""
    ordinary, large, huge = gaps(*rows(30_000, shift, size), (4.0, 16.0, 256.0))
    assert ordinary < 0.006
    assert large < 0.002
    assert huge < 0.001


@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
@pytest.mark.parametrize("C", [0.01, *by_night(0.1, 1.0)])
def test_a_penalty_that_is_asked_for_weighs_beside_the_loss_as_without_privacy(C):
    """The objective exceeds its minimum by little, however strong the penalty is."""
    features, labels = groups_of(20_000, -1.0, 2.0)

    def objective(model):
        scores = features @ model.coef_[0] + model.intercept_[0]
        loss = np.sum(np.logaddexp(0, scores) - labels * scores)
        return (loss + np.sum(model.coef_**2) / (2 * C)) / len(labels)

    given = {"data_norm": 1.0, "classes": [0, 1], "random_state": 0, "epsilon": 8.0, "C": C}
    excess = objective(DPLogisticRegression(**given).fit(features, labels))
    excess -= objective(LogisticRegression(C=C, max_iter=1000).fit(features, labels))
    assert excess < 0.003


@pytest.mark.nightly
def test_clipped_gradients_do_not_tend_to_it():
    """As those do that labels do not enter."""
    features, labels = groups_of(30_000, -2.0, 0.5)
    given = {"data_norm": 1.0, "classes": [0, 1], "random_state": 0, "epsilon": 4.0}
    n, losses = 20_000, {}
    for blind in (True, False):
        solver = PreconditionedGD(label_blind=blind)
        with pytest.warns(skdp.SeededNoiseWarning):
            model = DPLogisticRegression(solver=solver, **given).fit(features[:n], labels[:n])
        losses[blind] = log_loss(labels[n:], model.predict_proba(features[n:]))
    assert losses[True] < losses[False] - 0.002
