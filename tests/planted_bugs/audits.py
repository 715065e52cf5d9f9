"""Bugs in estimators that the public ``audit`` has to refute."""

from dataclasses import replace
from functools import partial

import numpy as np
from audit import test_queries as of_queries
from planted_bugs.bug import Bug

from skdp import DPContextualBandit, DPLinearRegression, DPLogisticRegression, PrivacySpent
from skdp.audit import audit
from skdp.bandit.policies import GDPolicy
from skdp.privacy.queries import GradientQuery, SelectionQuery
from skdp.solvers import FTRL, GD

X, LABELS, TARGETS = np.tile([1.0, 0.0], (4, 1)), np.array([0, 1, 0, 1]), np.array([1.0, -1, 1, -1])
SURE = 1 - 1e-6
SOLVER = GD(steps=2, total_step_size=1e-6, clip=0.25)


def logistic(solver=SOLVER, **options):
    options |= {"fit_intercept": False, "precondition": None, "solver": solver}
    return DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=1.0, classes=[0, 1], **options)


def linear():
    options = {"fit_intercept": False, "precondition": None, "solver": SOLVER}
    return DPLinearRegression(
        epsilon=1.0, delta=1e-5, data_norm=1.0, target_bounds=(-1, 1), **options
    )


CASES = {
    "logistic": (logistic, LABELS),
    "linear": (linear, TARGETS),
    "nine steps": (partial(logistic, GD(steps=9, total_step_size=1e-6)), LABELS),
    "stream": (partial(logistic, FTRL(clip=0.25), horizon=4), LABELS),
}


def claims_are_not_refuted(case, **options):
    make, y = CASES[case]
    result = audit(make(), X, y, **{"sees": "queries", "runs": 4000} | options)
    assert not result.at(SURE).refuted, "refuted"


def published_models_hold_no_trace():
    """Invisible to whoever looks at answers alone."""

    def trace(model):
        return float(model.coef_[0, 0] - np.round(model.coef_[0, 0], 3))

    other = X, np.array([1, 1, 0, 1])
    result = audit(logistic(), X, LABELS, sees="model", runs=80, other=other, statistic=trace)
    assert not result.at(SURE).refuted, "refuted"


def claims_of_bandits_are_not_refuted(policy, **options):
    users = np.tile([1.0, 0.0], (6, 1))
    other = users, np.concatenate([[[0.0, 1.0]], users[1:]])
    facts = {"data_norm": 1.0, "horizon": 6, "fit_intercept": False}
    bandit = DPContextualBandit([0, 1], epsilon=1.0, delta=1e-5, policy=policy, **facts)
    assert not audit(bandit, users, users, other=other, **options).at(SURE).refuted, "refuted"


def less(share):
    return {
        "GaussianMechanism.randomize": lambda honest, self, v, noise: (
            (1 - share) * v + share * honest(self, v, noise)
        )
    }


def of_smaller_scale(share):
    return lambda honest, self, value, noise: honest(
        replace(self, noise_scale=share * self.noise_scale), value, noise
    )


def leaking(honest, self, rows, y=None, *args, **options):
    honest(self, rows, y, *args, **options)
    self.coef_ = np.round(self.coef_, 3) + 1e-9 * float(np.sum(y))
    return self


SILENT = {
    "SystemNoise.normal": lambda _, self, shape: np.zeros(shape),
    "SystemNoise.rounded": lambda _, self, shape, scale: np.zeros(shape),
}
# Each answer is paid for with the whole budget, as if there were no other.
ALL_FOR_EACH = {
    "Budget.split": lambda honest, self, shares: [self.whole() for _ in honest(self, shares)],
    "Ledger.charge": lambda honest, self, event: self._whole.events.append(event),
    "Ledger.spent": lambda honest, self: PrivacySpent(self._epsilon, self._delta),
}
TOLD = of_queries.test_no_answer_tells_more_than_it_is_charged_for
BUGS = (
    # Choices at this epsilon tell little, however they are priced.
    *(Bug(f"{share} of the noise (audit of a query, {kind.__name__})", {f"{mechanism}.randomize": of_smaller_scale(share)}, partial(TOLD, kind)) for mechanism, kind, share in (("GaussianMechanism", GradientQuery, 1 / 2), ("GumbelMechanism", SelectionQuery, 1 / 8))),
    Bug("half the noise (audit of a logistic regression)", less(0.5), partial(claims_are_not_refuted, "logistic"), "refuted"),
    Bug("half the noise (audit of a linear regression)", less(0.5), partial(claims_are_not_refuted, "linear"), "refuted", nightly=True),
    *(Bug(f"a tenth of the noise as the model shows it ({case})", less(0.1), partial(claims_are_not_refuted, case, sees="model", runs=100), "refuted", nightly=True) for case in ("logistic", "linear")),
    *(Bug(f"a sensitivity that is not doubled (audit, {case})", {"GradientQuery.extents": lambda honest, self: (honest(self)[1],) * 2}, partial(claims_are_not_refuted, case), "refuted", nightly=case == "linear") for case in ("logistic", "linear")),
    # The derivative at zero is 0.5, and was to be clipped to 0.25.
    Bug("gradients that are not clipped (audit)", {"Loss.clipped_derivative": lambda _, self, y, z, limits: self.derivative(y, z)}, partial(claims_are_not_refuted, "logistic"), "refuted"),
    Bug("fewer answers charged than given (audit)", ALL_FOR_EACH, partial(claims_are_not_refuted, "nine steps"), "refuted", nightly=True),
    Bug("a model that is published with a trace of the rows", {"DPLogisticRegression.fit": leaking}, published_models_hold_no_trace, "refuted", nightly=True),
    Bug("a fit without noise", SILENT, partial(claims_are_not_refuted, "logistic", sees="model", runs=40), "refuted", nightly=True),
    Bug("a stream without noise", SILENT, partial(claims_are_not_refuted, "stream", sees="model", runs=40, calls=4), "refuted", nightly=True),
    Bug("a bandit without noise", SILENT, partial(claims_of_bandits_are_not_refuted, "gd", runs=60), "refuted", nightly=True),
    Bug("half the noise of a bandit", less(0.5), partial(claims_of_bandits_are_not_refuted, GDPolicy(steps=2), sees="queries", runs=4000), "refuted", nightly=True),
)  # fmt: skip
