"""Bugs planted into estimators, each of which the public ``audit`` has to refute."""

import numpy as np
import pytest

from skdp import DPContextualBandit, DPLinearRegression, DPLogisticRegression
from skdp.audit import audit
from skdp.bandit.policies import GDPolicy
from skdp.privacy.accounting.ledger import Budget, Ledger, PrivacySpent
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.gaussian import GaussianMechanism
from skdp.privacy.randomness import SystemNoise
from skdp.problem.losses.base import Loss
from skdp.solvers import FTRL, GD

X, LABELS = np.tile([1.0, 0.0], (4, 1)), np.array([0, 1, 0, 1])
SURE = 1 - 1e-6
SOLVER = GD(steps=2, total_step_size=1e-6, clip=0.25)


def logistic(epsilon=1.0, **params):
    params = {"solver": SOLVER, "fit_intercept": False, "precondition": None} | params
    return DPLogisticRegression(epsilon, 1e-5, data_norm=1.0, classes=[0, 1], **params)


def linear(epsilon=1.0):
    return DPLinearRegression(
        epsilon,
        1e-5,
        data_norm=1.0,
        target_bounds=(-1, 1),
        fit_intercept=False,
        precondition=None,
        solver=SOLVER,
    )


CASES = [(logistic, LABELS), (linear, np.array([1.0, -1.0, 1.0, -1.0]))]
every_case = pytest.mark.parametrize(("make", "y"), CASES, ids=["logistic", "linear"])


def refuted(make, y, **options):
    options = {"sees": "queries", "runs": 4000} | options
    return audit(make(options.pop("epsilon", 1.0)), X, y, **options).at(SURE).refuted


@every_case
def test_without_a_bug_nothing_is_refuted(make, y):
    assert not refuted(make, y)


@every_case
def test_half_the_noise(make, y, monkeypatch):
    honest = GaussianMechanism.randomize

    def half(self, value, noise):
        return 0.5 * (value + honest(self, value, noise))

    monkeypatch.setattr(GaussianMechanism, "randomize", half)
    assert refuted(make, y)


@pytest.mark.parametrize(
    ("make", "y"),
    [
        pytest.param(*CASES[0], id="logistic"),
        pytest.param(*CASES[1], id="linear", marks=pytest.mark.nightly),
    ],
)
def test_a_tenth_of_the_noise_as_the_model_shows_it(make, y, monkeypatch):
    honest = GaussianMechanism.randomize

    def less(self, value, noise):
        return 0.9 * value + 0.1 * honest(self, value, noise)

    monkeypatch.setattr(GaussianMechanism, "randomize", less)
    assert refuted(make, y, sees="model", runs=100)


@every_case
def test_a_sensitivity_that_is_not_doubled(make, y, monkeypatch):
    monkeypatch.setattr(Adjacency, "of_sum", lambda self, bound: bound)
    assert refuted(make, y)


def test_gradients_that_are_not_clipped(monkeypatch):
    def whole(self, y, z, limits):
        return self.derivative(y, z)

    monkeypatch.setattr(Loss, "clipped_derivative", whole)
    # The derivative at zero is 0.5, and was to be clipped to 0.25.
    assert refuted(logistic, LABELS)


def test_fewer_answers_charged_than_given(monkeypatch):
    """Each answer is paid for with the whole budget, as if there were no other."""
    honest = Budget.split
    monkeypatch.setattr(
        Budget, "split", lambda self, shares: [self.whole() for _ in honest(self, shares)]
    )
    monkeypatch.setattr(Ledger, "charge", lambda self, event: self._events.append(event))
    monkeypatch.setattr(Ledger, "spent", _claims_all)
    assert refuted(
        lambda epsilon: logistic(epsilon, solver=GD(steps=9, total_step_size=1e-6)), LABELS
    )


def _claims_all(self):
    return PrivacySpent(self._epsilon, self._delta)


def test_a_model_that_is_published_with_a_trace_of_the_rows(monkeypatch):
    """Invisible to whoever looks at answers alone."""
    honest = DPLogisticRegression.fit

    def leaking(self, X, y=None, *args, **options):
        honest(self, X, y, *args, **options)
        self.coef_ = np.round(self.coef_) + 1e-9 * float(np.sum(y))
        return self

    monkeypatch.setattr(DPLogisticRegression, "fit", leaking)
    other = X, np.array([1, 1, 0, 1])
    assert refuted(
        logistic,
        LABELS,
        sees="model",
        runs=80,
        other=other,
        statistic=_trace,
    )


def _trace(model):
    return float(model.coef_[0, 0] - np.round(model.coef_[0, 0]))


def silent(monkeypatch):
    monkeypatch.setattr(SystemNoise, "normal", lambda self, shape: np.zeros(shape))
    monkeypatch.setattr(SystemNoise, "rounded", lambda self, shape, scale: np.zeros(shape))


def test_a_fit_without_noise(monkeypatch):
    """What is published differs between the data sets, and never between runs."""
    silent(monkeypatch)
    assert refuted(logistic, LABELS, sees="model", runs=40)


def test_a_stream_without_noise(monkeypatch):
    def make(epsilon):
        return logistic(epsilon, solver=FTRL(clip=0.25), horizon=4)

    options = {"sees": "model", "runs": 40, "calls": 4}
    assert not refuted(make, LABELS, **options)
    silent(monkeypatch)
    assert refuted(make, LABELS, **options)


@pytest.mark.filterwarnings("ignore:DPContextualBandit:UserWarning")
def test_a_bandit_without_noise(monkeypatch):
    contexts, returned = np.tile([1.0, 0.0], (6, 1)), np.tile([1.0, 0.0], (6, 1))
    other = contexts.copy(), returned.copy()
    other[1][1] = [0.0, 1.0]
    bandit = DPContextualBandit(
        [0, 1], 1.0, 1e-5, data_norm=1.0, horizon=6, policy="gd", fit_intercept=False
    )
    silent(monkeypatch)
    assert audit(bandit, contexts, returned, other=other, runs=60).at(SURE).refuted


@pytest.mark.filterwarnings("ignore:DPContextualBandit:UserWarning")
def test_half_the_noise_of_a_bandit(monkeypatch):
    users = np.tile([1.0, 0.0], (6, 1))
    other = users, np.concatenate([[[0.0, 1.0]], users[1:]])
    bandit = DPContextualBandit(
        [0, 1], 1.0, 1e-5, data_norm=1.0, horizon=6, policy=GDPolicy(steps=2), fit_intercept=False
    )

    def found():
        return audit(bandit, users, users, other=other, sees="queries", runs=4000)

    assert not found().at(SURE).refuted
    honest = GaussianMechanism.randomize
    monkeypatch.setattr(
        GaussianMechanism,
        "randomize",
        lambda self, value, noise: 0.5 * (value + honest(self, value, noise)),
    )
    assert found().at(SURE).refuted


def test_one_run_without_noise(monkeypatch):
    rows, y = np.eye(80), np.arange(80) % 2

    def found(confidence, **params):
        result = audit(logistic(**params), rows, y, method="one_run")
        return result.at(confidence).refuted

    assert not found(SURE)
    silent(monkeypatch)
    # What delta allows to 80 canaries cannot be refuted with more confidence.
    assert found(0.99)
    assert found(0.99, adjacency="zero_out")
