"""Bugs that would void the guarantee, planted one by one: the checks used elsewhere catch each.

Every test runs a check twice, on the code as it is, which has to pass, and on the code with the
bug, which has to fail.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from skdp import DPLogisticRegression
from skdp.estimators.base import PrivateLinearModel
from skdp.exceptions import SeededNoiseWarning
from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.gaussian import GaussianMechanism
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.queries.gradient import GradientNormQuery, GradientQuery
from skdp.privacy.queries.histogram import HistogramQuery
from skdp.privacy.randomness import SystemNoise
from skdp.privacy.rows import row_blocks as blocks
from skdp.privacy.rows import sparse_rows as sparse
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.privacy.rows.row_blocks import Block, Limits, RawBlock
from skdp.problem.bounds import RowBounds
from skdp.problem.losses import Logistic, Loss, Softmax, Squared
from skdp.problem.problem import Problem
from skdp.testing import (
    check_fork,
    check_noise,
    check_pays_before_looking,
    check_seed_stays_behind,
    check_sensitivity,
)

N, D = 4, 3
TILT = 1e-3
PROBLEM = Problem(Logistic(), N, D, RowBounds(2.0))
# Four bytes that occur in a pickle for no other reason.
SEED = 0x1BADCAFE
TOO_FAR = "times its declared sensitivity"


@dataclass(frozen=True)
class HalvedLogistic(Loss):
    """Claims half of the Lipschitz constant that it has."""

    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = 0.5
    smoothness: ClassVar[float] = 0.25
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "0 or 1"

    def value(self, y, z):
        return Logistic().value(y, z)

    def derivative(self, y, z):
        return Logistic().derivative(y, z)

    def _valid(self, y):
        return (y == 0) | (y == 1)


@dataclass(frozen=True)
class Plant:
    """Sets an attribute to its buggy version for the rest of the test."""

    patch: pytest.MonkeyPatch

    def caught(self, owner: object, name: str, bug: object, check: Callable, match: str) -> None:
        check()
        self.patch.setattr(owner, name, bug)
        with pytest.raises(AssertionError, match=match):
            check()


@pytest.fixture
def plant(monkeypatch):
    return Plant(monkeypatch)


def opposite_rows(problem, size=3.0, clip=None):
    """A gradient query and neighbours whose gradients are at the bound and nearly opposite."""
    w = np.zeros(problem.shape)
    steep = 1e4 / TILT
    if w.ndim == 1:
        w[0] = steep
    else:
        w[0, :2] = -steep, steep
    row = size * np.array([TILT, sqrt(1 - TILT**2), 0.0])
    X, other = np.tile(row, (N, 1)), np.tile(row * [-1, 1, 1], (N, 1))
    return GradientQuery(problem, w, clip), X, np.zeros(N), other, np.ones(N)


def sensitivity(problem=PROBLEM, adjacency=Adjacency.REPLACE_ONE, **how):
    return lambda: check_sensitivity(*opposite_rows(problem, **how), adjacency)


def sensitivity_of_norm():
    query, *rows = opposite_rows(PROBLEM)
    check_sensitivity(GradientNormQuery(query), *rows, Adjacency.REPLACE_ONE)


def sensitivity_of_histogram():
    X, other = np.zeros((N, D)), np.full((N, D), 5.0)
    query = HistogramQuery("row_norm", np.array([1.0]))
    check_sensitivity(query, X, X[:, 0], other, other[:, 0], Adjacency.REPLACE_ONE)


def ask_gradient(oracle, spend):
    return oracle.gradient(PROBLEM.start(), spend=spend)


def pays_before_looking():
    check_pays_before_looking(ask_gradient, PROBLEM, Adjacency.REPLACE_ONE)


def noise_scale(ask=ask_gradient, declared=2 * PROBLEM.lipschitz / N):
    """Of the noise in answers, for a sensitivity that is written down here once more."""
    rows = DenseRows(np.eye(N, D), np.zeros(N))
    oracle = PrivateOracle(rows, Ledger(np.inf, 1e-5), Adjacency.REPLACE_ONE, SystemNoise())
    oracle = oracle.for_problem(PROBLEM)
    # So much budget shows the exact answer.
    exact = np.asarray(ask(oracle, Spend(1e24)))
    spend = Spend(0.01)
    check_noise(
        lambda: np.asarray(ask(oracle, spend)) - exact,
        declared / sqrt(spend.amount),
        repeats=1000,
        false_alarm=1e-9,
    )


def test_half_the_noise_is_caught(plant):
    def bug(self, value, noise):
        return value + 0.5 * self.noise_scale * noise.normal(value.shape)

    plant.caught(GaussianMechanism, "randomize", bug, noise_scale, "standard deviation 0.[45]")


def test_one_normal_for_all_coordinates_is_caught(plant):
    def bug(self, value, noise):
        return value + self.noise_scale * noise.normal(1)

    def check():
        mechanism, noise = GaussianMechanism(1.0, 2.0), SystemNoise()
        check_noise(lambda: mechanism.randomize(np.zeros(10_000), noise), 2.0)

    plant.caught(GaussianMechanism, "randomize", bug, check, "noise")


@pytest.mark.parametrize(("factor", "match"), [(4, "half of the budget"), (0.9, "the spend")])
def test_a_release_that_costs_something_else_than_allowed_is_caught(plant, factor, match):
    honest = GaussianMechanism.calibrated.__func__

    def bug(cls, sensitivity, spend):
        return honest(cls, sensitivity, Spend(factor * spend.amount))

    plant.caught(GaussianMechanism, "calibrated", classmethod(bug), pays_before_looking, match)


def test_too_little_noise_on_the_gradient_norm_is_caught(plant):
    def bug(self, adjacency):
        return self.gradient.sensitivity(adjacency) / 2

    plant.caught(GradientNormQuery, "sensitivity", bug, sensitivity_of_norm, TOO_FAR)


def test_too_little_noise_on_the_gradient_norm_shows_in_its_answers(plant):
    def ask(oracle, spend):
        return oracle.gradient_norm(PROBLEM.start(), spend=spend)

    def bug(self, adjacency):
        return self.gradient.sensitivity(adjacency) / 2

    plant.caught(
        GradientNormQuery, "sensitivity", bug, lambda: noise_scale(ask), "standard deviation 0.[45]"
    )


def test_a_missing_factor_2_in_sums_is_caught(plant):
    plant.caught(Adjacency, "of_sum", lambda self, bound: bound, sensitivity(), TOO_FAR)


def test_a_missing_root_of_2_in_histograms_is_caught(plant):
    plant.caught(Adjacency, "of_histogram", lambda self: 1.0, sensitivity_of_histogram, TOO_FAR)


def test_dividing_by_one_row_too_many_is_caught(plant):
    def bug(self, adjacency):
        return adjacency.of_sum(self.bound) / (self.problem.n_samples + 1)

    plant.caught(GradientQuery, "sensitivity", bug, sensitivity(), TOO_FAR)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_an_unclipped_row_is_caught(plant, layout):
    honest = Block._scaled

    def bug(self, values):
        skipped = sp.issparse(self._X) == (layout == "csr")
        return values if skipped else honest(self, values)

    plant.caught(Block, "_scaled", bug, sensitivity(), TOO_FAR)


def test_a_row_that_is_clipped_only_in_the_scores_is_caught(plant):
    def bug(self, r):
        return self._X.T @ r

    plant.caught(Block, "combine", bug, sensitivity(), TOO_FAR)


def test_an_intercept_outside_the_norm_bound_is_caught(plant):
    honest = Block.__init__

    def bug(self, raw, bounds):
        honest(self, raw, bounds)
        self.norms = np.minimum(raw.norms, bounds.data_norm)
        self.limits = Limits(self.norms)

    with_intercept = replace(PROBLEM, bounds=RowBounds(2.0, 2.0))
    plant.caught(Block, "__init__", bug, sensitivity(with_intercept, clip=0.5), TOO_FAR)


def test_a_class_weight_outside_the_clip_is_caught(plant):
    def bug(self, block, z):
        weight = np.take(self.problem.class_weight, block.y.astype(np.intp))
        slope = self.problem.loss.clipped_derivative(block.y, z, self.bound / block.norms)
        return block.combine(slope * weight)

    weighted = replace(PROBLEM, class_weight=(3.0, 3.0))
    plant.caught(GradientQuery, "of_block", bug, sensitivity(weighted, clip=0.5), TOO_FAR)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_norms_in_single_precision_are_caught(plant, layout):
    """The overshoot is a few parts in 10^8, which is beyond rounding in double precision."""
    honest = RawBlock.norms

    def bug(self):
        if sp.issparse(self.X) != (layout == "csr") or self.X.dtype != np.float32:
            return honest.func(self)
        X = self.X.toarray() if sp.issparse(self.X) else self.X
        return np.sqrt(np.einsum("ij,ij->i", X, X)).astype(np.float64)

    def check():
        # Whether a norm is rounded up or down depends on its last bits; one size in two will do.
        for size in (2.1, 2.3, 2.9, 3.1, 3.7, 4.3):
            sensitivity(size=size, adjacency=Adjacency.ZERO_OUT)()

    plant.caught(RawBlock, "norms", property(bug), check, f"{TOO_FAR}.*{layout}, single")


def test_skipping_the_sum_of_duplicate_entries_is_caught(plant):
    def bug(X):
        return X

    plant.caught(sparse, "_canonical", bug, sensitivity(), f"{TOO_FAR}.*entries in parts")


def test_overflowing_norms_are_caught(plant):
    """Without taming, a row of 1e200 has norm inf and factor 0, but its scores are not finite."""
    query, X, y, other_X, other_y = opposite_rows(PROBLEM)

    def check():
        huge = np.where(other_X == 0, 0.0, np.copysign(1e200, other_X))
        check_sensitivity(query, X, y, huge, other_y, Adjacency.REPLACE_ONE)

    def bug(X, huge, limit):
        return X

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        plant.caught(blocks, "_tamed", bug, check, TOO_FAR)


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Squared()], ids=str)
def test_a_derivative_without_its_clip_is_caught(plant, loss):
    def bug(self, y, z, bound):
        return self.derivative(y, z)

    check = sensitivity(replace(PROBLEM, loss=loss), clip=0.5)
    plant.caught(Loss, "clipped_derivative", bug, check, TOO_FAR)


def test_a_wrong_lipschitz_constant_is_harmless_because_the_clip_is_applied_in_any_case():
    wrong = replace(PROBLEM, loss=HalvedLogistic())
    query, *rows = opposite_rows(wrong)
    declared = query.sensitivity(Adjacency.REPLACE_ONE)
    assert declared == 0.5 * 2 * PROBLEM.lipschitz / N
    # The clip is active: the claim is attained, not merely kept.
    assert check_sensitivity(query, *rows, Adjacency.REPLACE_ONE) >= 0.999


def test_a_wrong_lipschitz_constant_in_a_loss_that_is_trusted_is_caught(plant):
    def bug(self, y, z, bound):
        return self.derivative(y, z)

    check = sensitivity(replace(PROBLEM, loss=HalvedLogistic()))
    plant.caught(Loss, "clipped_derivative", bug, check, TOO_FAR)


def test_an_uncharged_release_is_caught(plant):
    def bug(self, query, spend):
        mechanism = GaussianMechanism.calibrated(query.sensitivity(self._adjacency), spend)
        return mechanism.randomize(query.evaluate(self._rows), self._noise)

    plant.caught(PrivateOracle, "_release", bug, pays_before_looking, "before anything was charged")


def test_a_charge_after_reading_is_caught(plant):
    def bug(self, query, spend):
        mechanism = GaussianMechanism.calibrated(query.sensitivity(self._adjacency), spend)
        answer = mechanism.randomize(query.evaluate(self._rows), self._noise)
        self._ledger.charge(mechanism.event(query.name))
        return answer

    plant.caught(PrivateOracle, "_release", bug, pays_before_looking, "before anything was charged")


def test_reading_in_spite_of_a_refusal_is_caught(plant):
    def bug(self, query, spend):
        mechanism = GaussianMechanism.calibrated(query.sensitivity(self._adjacency), spend)
        try:
            self._ledger.charge(mechanism.event(query.name))
        finally:
            answer = query.evaluate(self._rows)
        return mechanism.randomize(answer, self._noise)

    plant.caught(PrivateOracle, "_release", bug, pays_before_looking, "rows were read although")


def test_a_ledger_that_records_what_it_refuses_is_caught(plant):
    honest = Ledger.charge

    def bug(self, event):
        try:
            honest(self, event)
        except Exception:
            self._events.append(event)
            raise

    plant.caught(Ledger, "charge", bug, pays_before_looking, "refused query was recorded")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_noise_that_is_shared_after_a_fork_is_caught(plant):
    noise = SystemNoise()
    plant.caught(
        SystemNoise, "_start_afresh", lambda self: None, lambda: check_fork(noise), "alike"
    )


def fitted(seed):
    rng = np.random.default_rng(0)
    model = DPLogisticRegression(classes=[0, 1], data_norm=2.0, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        return model.fit(rng.normal(size=(200, 2)), rng.integers(0, 2, 200))


def test_a_seed_kept_in_the_pickle_of_a_fitted_model_is_caught(plant):
    model = fitted(SEED)
    plant.caught(
        PrivateLinearModel,
        "__getstate__",
        BaseEstimator.__getstate__,
        lambda: check_seed_stays_behind(model, SEED),
        "keeps its seed",
    )


def test_a_seed_kept_under_another_name_is_caught(plant):
    model = fitted(SEED)
    honest = PrivateLinearModel.__getstate__
    plant.caught(
        PrivateLinearModel,
        "__getstate__",
        lambda self: honest(self) | {"_seed": self.random_state},
        lambda: check_seed_stays_behind(model, SEED),
        "somewhere in the pickle",
    )
