"""Class counts: what they cost, how precise they are, and what start and weights follow."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score
from tasks_for_solvers import asked

from skdp import DPLogisticRegression, DPSVMClassifier
from skdp.privacy import Adjacency
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Hinge, Logistic, OneVsRest, Softmax
from skdp.solvers import GD
from skdp.solvers.preconditioning import balancing_offset, with_class_prior

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D, CONSTANT = 1000, 2, 0.3
BOUNDS = RowBounds(1.0, CONSTANT)
TWO = Problem(Logistic(), N, D, BOUNDS)
FOUR = Problem(Softmax(4), N, D, BOUNDS)
SHARES = {2: np.array([0.9, 0.1]), 4: np.array([0.4, 0.3, 0.25, 0.05])}
EXACT = 1e8


def labels(k, n=N):
    return np.repeat(np.arange(k), np.rint(SHARES[k] * n).astype(int)).astype(float)


def prior(problem, epsilon=EXACT, balanced=False, seed=0, adjacency=Adjacency.REPLACE_ONE):
    """The problem with its prior, and the ledger."""
    k = max(2, problem.loss.n_scores)
    y = labels(k, problem.n_samples)
    y = y if k == 2 else y.astype(int)
    X = np.zeros((y.size, D))
    oracle, ledger = asked(problem, X, y, epsilon, seed, adjacency=adjacency)
    return with_class_prior(problem, oracle, balanced=balanced), ledger


def odds(shares):
    """Scores of classes with these shares, as the models define them."""
    logs = np.log(shares)
    return logs[1] - logs[0] if logs.size == 2 else logs - logs.mean()


@pytest.mark.parametrize("problem", [TWO, FOUR], ids=["two", "four"])
def test_the_start_is_the_frequency_of_the_classes_in_the_intercept_alone(problem):
    w = prior(problem)[0].start()
    shares = SHARES[max(2, problem.loss.n_scores)]
    np.testing.assert_array_equal(w[:-1], 0.0)
    np.testing.assert_allclose(w[-1] * CONSTANT, odds(shares), rtol=1e-2)


@pytest.mark.parametrize(("adjacency", "sensitivity"), [("replace_one", sqrt(2)), ("zero_out", 1)])
def test_the_counts_are_on_the_receipt_at_their_price(adjacency, sensitivity):
    _, ledger = prior(TWO, epsilon=1.0, adjacency=Adjacency(adjacency))
    (event,) = ledger.receipt()
    assert (event.query, event.count) == ("histogram", 1)
    assert event.sensitivity == pytest.approx(sensitivity, rel=1e-4)
    assert ledger.total == pytest.approx(0.02 * ledger.limit)


def test_two_noisy_counts_are_as_precise_as_one_count_of_one_class():
    _, ledger = prior(TWO, epsilon=1.0)
    # A count of one class moves by 1 when a row is replaced, which costs mu^2 = 1 / sd^2.
    sd = 1 / sqrt(ledger.total)
    counts = [N * expit(prior(TWO, 1.0, seed=s)[0].start()[-1] * CONSTANT) for s in range(400)]
    assert np.mean(counts) == pytest.approx(100, abs=4 * sd / 20)
    # The standard deviation of 400 numbers is known to 1 / sqrt(800) of itself.
    assert np.std(counts) == pytest.approx(sd, rel=4 / sqrt(800))


def test_several_counts_are_brought_to_the_public_sum():
    _, ledger = prior(FOUR, epsilon=5.0)
    # The mean of four noises is taken off each: 3 / 4 of the variance is left.
    sd = sqrt(2 / ledger.total) * sqrt(3 / 4) / N
    starts = [prior(FOUR, 5.0, seed=s)[0].start()[-1] * CONSTANT for s in range(200)]
    largest = np.array([softmax(start)[0] for start in starts])
    assert np.mean(largest) == pytest.approx(0.4, abs=4 * sd / sqrt(200))
    assert np.std(largest) == pytest.approx(sd, rel=4 / sqrt(400))


@pytest.mark.parametrize(
    "problem",
    [
        replace(TWO, bounds=RowBounds(1.0)),
        replace(TWO, loss=Hinge()),
        replace(TWO, class_weight=(0.0, 1.0)),
    ],
    ids=["no intercept", "no log-odds", "a class without weight"],
)
def test_nothing_is_asked_where_the_start_would_mean_nothing(problem):
    same, ledger = prior(problem)
    assert same is problem
    assert ledger.receipt() == ()


def test_counts_that_noise_would_drown_are_not_asked():
    same, ledger = prior(TWO, epsilon=0.01)
    assert same is TWO
    with pytest.warns(UserWarning, match="which noise would drown at this budget, 1000 rows"):
        same, ledger = prior(TWO, epsilon=0.01, balanced=True)
    assert same is TWO
    assert ledger.receipt() == ()


def test_given_weights_move_the_start_as_they_move_the_optimum():
    done, _ = prior(replace(TWO, class_weight=(1.0, 9.0)))
    np.testing.assert_allclose(done.start()[-1], 0.0, atol=0.05)


@pytest.mark.parametrize("problem", [TWO, FOUR], ids=["two", "four"])
def test_balanced_weights_and_offset_make_one_whole_balance(problem):
    done, _ = prior(problem, balanced=True)
    shares = SHARES[max(2, problem.loss.n_scores)]
    weights = np.array(done.class_weight)
    np.testing.assert_allclose(weights, shares**-0.75 / np.sum(shares**0.25), rtol=1e-2)
    # Without features the optimum under weights is the log of weighted shares.
    balanced = odds(shares * weights) + balancing_offset(done)
    np.testing.assert_allclose(balanced, 0.0, atol=0.02)
    np.testing.assert_allclose(done.start()[-1] * CONSTANT, odds(shares * weights), atol=0.02)


@pytest.mark.parametrize(
    "problem",
    [
        replace(TWO, bounds=RowBounds(1.0)),
        replace(TWO, loss=Hinge()),
        replace(FOUR, loss=OneVsRest(Hinge(), 4)),
    ],
    ids=["no intercept", "no log-odds", "several"],
)
def test_where_no_offset_can_balance_weights_do_it_alone(problem):
    done, _ = prior(problem, balanced=True)
    shares = SHARES[max(2, problem.loss.n_scores)]
    np.testing.assert_allclose(done.class_weight, 1 / (shares.size * shares), rtol=1e-2)
    np.testing.assert_array_equal(balancing_offset(done), np.zeros(problem.loss.n_scores))
    assert done.initial is None


def rare(n=20_000, seed=0):
    """One row in 20 of a class that overlaps with the other."""
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=n) < 0.05).astype(int)
    X = rng.normal(size=(n, 3)) * 0.2 + 0.15 * y[:, None] * [1.0, 1.0, -1.0]
    return X, y


def classifier(kind=DPLogisticRegression, **options):
    given = {"epsilon": 2.0, "data_norm": 1.0, "classes": [0, 1], "random_state": 0}
    return kind(**given | options)


@pytest.mark.nightly
def test_balanced_predictions_are_those_of_scikit_learn():
    X, y = rare()
    exact = LogisticRegression(class_weight="balanced").fit(X, y)
    private = classifier(class_weight="balanced").fit(X, y)
    assert np.mean(private.predict(X) == exact.predict(X)) > 0.94
    recalls = recall_score(y, private.predict(X), average=None)
    assert abs(recalls[0] - recalls[1]) < 0.12
    # Clipping bends log-odds a little; without it nothing but noise is left.
    generous = classifier(class_weight="balanced", epsilon=100.0).fit(X, y)
    assert np.mean(generous.predict(X) == exact.predict(X)) > 0.99
    # Which is not so by itself.
    plain = recall_score(y, classifier().fit(X, y).predict(X), average=None)
    assert plain[0] - plain[1] > 0.5


def test_a_rare_class_starts_as_one():
    X, y = rare()
    fitted = classifier(solver=GD(steps=1, total_step_size=1e-9)).fit(X, y)
    assert fitted.intercept_[0] == pytest.approx(log(y.mean() / (1 - y.mean())), rel=0.05)


def test_support_vector_machines_take_the_weights_from_the_same_counts():
    X, y = rare()
    fitted = classifier(DPSVMClassifier, class_weight="balanced").fit(X, y)
    assert [e.query for e in fitted.privacy_ledger_].count("histogram") == 1
    recalls = recall_score(y, fitted.predict(X), average=None)
    assert abs(recalls[0] - recalls[1]) < 0.15


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="The 'class_weight' parameter"):
        classifier(class_weight="even").fit(*rare(100))
