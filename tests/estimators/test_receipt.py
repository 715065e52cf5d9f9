"""The receipt: it adds up to the requested budget, and it is there also when a fit fails."""

import warnings
from math import erfc, exp, sqrt

import numpy as np
import pytest
from models_of_few_rows import both, classifier, make_data, regressor

from skdp import BudgetExceededError, PrivacySpent
from skdp.privacy.rows import Chunks
from skdp.solvers import GD, Solver

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 120, 3


X, Y = make_data(N, D)


def epsilon_of(receipt, delta):
    """Epsilon of Gaussian releases, from the definition and by bisection alone."""
    mu = sqrt(sum(event.count * (event.sensitivity / event.noise_scale) ** 2 for event in receipt))

    def normal_cdf(x):
        return 0.5 * erfc(-x / sqrt(2))

    def delta_at(epsilon):
        tail = normal_cdf(-mu / 2 - epsilon / mu)
        return normal_cdf(mu / 2 - epsilon / mu) - exp(epsilon) * tail

    low, high = 0.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 0.01)])
@both
def test_recomputed_spend_is_the_requested_one(make, epsilon, delta, adjacency):
    model = make(epsilon=epsilon, delta=delta, adjacency=adjacency).fit(X, Y)
    recomputed = epsilon_of(model.privacy_ledger_, delta)
    assert recomputed == pytest.approx(epsilon, rel=1e-6)
    # Bisection resolves about 1e-10 of epsilon; the spend itself is never above the request.
    assert recomputed <= epsilon * (1 + 1e-9)
    assert isinstance(model.privacy_spent_, PrivacySpent)
    assert model.privacy_spent_.delta == delta
    assert model.privacy_spent_.epsilon <= epsilon
    assert model.privacy_spent_.epsilon == pytest.approx(recomputed, rel=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
@pytest.mark.parametrize(
    "model",
    [
        classifier(data_norm=None),
        regressor(data_norm=None),
        regressor(target_bounds=None),
        regressor(data_norm=None, target_bounds=None),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:The share of the budget set aside:UserWarning")
def test_bounds_found_privately_are_on_the_receipt(model, epsilon):
    model.set_params(epsilon=epsilon).fit(X, Y)
    assert "histogram" in {event.query for event in model.privacy_ledger_}
    recomputed = epsilon_of(model.privacy_ledger_, model.delta_)
    assert 0.99 * epsilon <= recomputed <= epsilon * (1 + 1e-9)
    histograms = [e for e in model.privacy_ledger_ if e.query == "histogram"]
    share = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in histograms)
    whole = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in model.privacy_ledger_)
    assert share <= 1.001 * sum(most for _, most in model.plan_.bounds) * whole


def of_gradients(model):
    """The one record of gradients on the receipt of a fit."""
    (event,) = [event for event in model.privacy_ledger_ if event.query == "gradient"]
    return event


@pytest.mark.parametrize("scaling", [0.5, 1.0])
def test_sensitivity_is_doubled_under_replace_one(scaling):
    model = classifier(solver=GD(clip=0.5), intercept_scaling=scaling, precondition=None)
    replaced = of_gradients(model.fit(X, Y))
    removed = of_gradients(model.set_params(adjacency="zero_out").fit(X, Y))
    assert replaced.sensitivity == 2 * removed.sensitivity
    # The constant column behind the intercept makes rows longer.
    assert removed.sensitivity == pytest.approx(0.5 * 3 * sqrt(1 + scaling**2) / N, rel=1e-4)
    assert removed.noise_scale == pytest.approx(replaced.noise_scale / 2)


def test_largest_class_weight_enters_the_sensitivity():
    plain = of_gradients(classifier(precondition=None).fit(X, Y))
    weights = {0: 0.5, 1: 7.0}
    weighted = of_gradients(classifier(precondition=None, class_weight=weights).fit(X, Y))
    assert weighted.sensitivity == pytest.approx(7 * plain.sensitivity)


class Interrupted(Solver):
    """Asks three queries, then fails."""

    def __init__(self, failure):
        object.__setattr__(self, "failure", failure)

    def check(self, problem):
        pass

    def solve(self, problem, oracle, rng):
        for spend in oracle.budget.split(10)[:3]:
            oracle.gradient(problem.start(), spend=spend, clip_norm=1.0)
        raise self.failure()


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("fitted_before", [False, True])
@both
def test_failure_in_the_solver_leaves_the_receipt_and_no_model(make, failure, fitted_before):
    model = make()
    if fitted_before:
        model.fit(X, Y)
    model.solver = Interrupted(failure)
    with pytest.raises(failure) as caught:
        model.fit(X, Y)
    assert sum(event.count for event in model.privacy_ledger_) == 3
    spent = model.privacy_spent_
    assert spent.epsilon == pytest.approx(epsilon_of(model.privacy_ledger_, model.delta_), rel=1e-6)
    assert 0 < spent.epsilon < model.epsilon
    (note,) = caught.value.__notes__
    assert f"{type(model).__name__}.fit stopped after spending epsilon={spent.epsilon:.6g}" in note
    for attribute in ("coef_", "intercept_", "n_iter_"):
        assert not hasattr(model, attribute)
    with pytest.raises(Exception, match="not fitted yet"):
        model.predict(X)


def test_solver_that_asks_for_more_than_is_left_is_stopped():
    class Greedy(Interrupted):
        def solve(self, problem, oracle, rng):
            spend = oracle.budget.fraction(0.7).whole()
            for _ in range(2):
                oracle.gradient(problem.start(), spend=spend, clip_norm=1.0)

    model = classifier(solver=Greedy(None))
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        model.fit(X, Y)
    assert model.privacy_spent_.epsilon < 1.0
    assert [event.count for event in model.privacy_ledger_] == [1]


@both
def test_rows_that_cannot_be_read_any_more_leave_what_was_paid(make):
    passes = []

    def source():
        passes.append(1)
        if len(passes) > 3:
            raise OSError("the disk is gone")
        yield X, Y

    model = make()
    with pytest.raises(OSError, match="the disk is gone"):
        model.fit(Chunks(source, memory=0))
    # One pass validates, two answer; the third gradient was paid and then could not be read.
    assert sum(event.count for event in model.privacy_ledger_) == 3


INVALID = [
    ({"epsilon": -1.0}, X, Y, "'epsilon' parameter"),
    ({"solver": GD(steps=0)}, X, Y, "'steps' parameter of GD"),
    ({"delta": 1e-310}, X, Y, "delta strictly between 0 and 1"),
    ({}, np.full_like(X, np.nan), Y, "X contains NaN"),
    ({}, X[:, :2], Y[:-1], "inconsistent numbers of samples"),
]


@pytest.mark.parametrize(("options", "X_bad", "y_bad", "complaint"), INVALID)
@both
def test_validation_failure_charges_nothing_and_keeps_the_earlier_model(
    make, options, X_bad, y_bad, complaint
):
    model = make(data_norm=None, epsilon=50.0)
    with pytest.raises(ValueError, match=complaint):
        model.set_params(**options).fit(X_bad, y_bad)
    assert not [name for name in vars(model) if name.endswith("_")]

    model = make(data_norm=None, epsilon=50.0).fit(X, Y)
    before = {k: v for k, v in vars(model).items() if k.endswith("_")}
    with pytest.raises(ValueError, match=complaint) as caught:
        model.set_params(**options).fit(X_bad, y_bad)
    assert not hasattr(caught.value, "__notes__")
    after = {k: v for k, v in vars(model).items() if k.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[name] is value for name, value in before.items())


def test_warnings_come_before_anything_is_charged():
    model = classifier(classes=None, random_state=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="reads the set of classes off y"):
            model.fit(X, Y)
        with pytest.raises(UserWarning, match="random_state is set"):
            classifier().fit(X, Y)
    assert not hasattr(model, "privacy_ledger_")
