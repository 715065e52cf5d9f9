"""Bugs in adaptive and mirror descent, planted one by one, as in test_planted_bugs."""

import numpy as np
import pytest

from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.oracle import Oracle, PrivateOracle
from skdp.privacy.randomness import SeededNoise, SystemNoise
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.problem.bounds import RowBounds
from skdp.problem.constraints import L2Ball
from skdp.problem.losses import Logistic
from skdp.problem.mirror_maps import Entropy
from skdp.problem.problem import Problem
from skdp.solvers import AccMD, AdaptiveGD
from skdp.testing import check_noise

N, D = 50, 6
X = np.random.default_rng(0).normal(size=(N, D)) / 5
Y = (X[:, 0] > 0).astype(float)
PROBLEM = Problem(Logistic(), N, D, RowBounds(1.0), constraint=L2Ball(2.0))


@pytest.fixture
def caught(monkeypatch):
    """Run a check on the code as it is, then with an attribute set to its buggy version."""

    def plant(owner, name, bug, check, match):
        check()
        monkeypatch.setattr(owner, name, bug)
        with pytest.raises(AssertionError, match=match):
            check()

    return plant


def oracle(noise, ledger):
    private = PrivateOracle(DenseRows(X, Y), ledger, Adjacency.REPLACE_ONE, noise)
    return private.for_problem(PROBLEM)


def told_scale():
    """The scale that a solver is told is that of the noise which it gets."""
    ask, w, spend = oracle(SystemNoise(), Ledger(np.inf, 1e-5)), PROBLEM.start(), Spend(0.01)
    exact = ask.gradient(w, spend=Spend(1e24), clip=0.5)
    exact_norm = ask.gradient_norm(w, spend=Spend(1e24), clip=0.5)
    told = ask.gradient_scale(spend=spend, clip=0.5)
    for request in (
        lambda: ask.gradient(w, spend=spend, clip=0.5) - exact,
        lambda: np.asarray(ask.gradient_norm(w, spend=spend, clip=0.5) - exact_norm),
    ):
        check_noise(request, told, repeats=1000, false_alarm=1e-9)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_scale_told_to_solvers_is_caught(caught, factor):
    honest = Oracle.gradient_scale

    def bug(self, *, spend, clip=None):
        return factor * honest(self, spend=spend, clip=clip)

    caught(Oracle, "gradient_scale", bug, told_scale, "standard deviation")


def answer_is_random():
    """Other noise, another answer, in every entry."""
    found = [
        AccMD(steps=1)
        .solve(PROBLEM, oracle(SeededNoise(np.random.default_rng(s)), Ledger(1.0, 1e-5)), None)
        .w
        for s in (0, 1)
    ]
    assert not np.any(found[0] == found[1]), "the answer does not depend on the noise"


def test_the_exact_gradient_of_the_printed_algorithm_is_caught(caught):
    honest = AccMD.solve

    def printed(self, problem, oracle, rng):
        # y from the exact gradient; z, from the noisy one, is not part of the answer at T = 1.
        honest(self, problem, oracle, rng)
        z = X @ problem.start()
        exact = X.T @ Logistic().derivative(Y, z) / N
        w = problem.project(problem.start() - 4 * exact)
        return type("Found", (), {"w": w})

    caught(AccMD, "solve", printed, answer_is_random, "does not depend on the noise")


def budget_is_met():
    ledger = Ledger(1.0, 1e-5)
    noise = SeededNoise(np.random.default_rng(0))
    AdaptiveGD(steps=20).solve(PROBLEM, oracle(noise, ledger), None)
    assert ledger.total >= (1 - 1e-9) * ledger.limit, "part of the budget was not used"


def test_leaving_a_part_of_the_budget_unused_is_caught(caught):
    honest = Oracle.budget

    def stale(self):
        left = honest.fget(self)
        return type(left)(0.5 * left.amount)

    caught(Oracle, "budget", property(stale), budget_is_met, "not used")


def primal_inverts_dual():
    mirror, w = Entropy(2.0, signed=True), np.array([0.5, -0.2, 0.0])
    assert np.allclose(mirror.primal(mirror.dual(w)), w), "the way back misses the point"


def test_a_mirror_map_without_its_normaliser_is_caught(caught):
    def bug(u):
        return 2.0 * u.size

    caught(Entropy, "_normaliser", staticmethod(bug), primal_inverts_dual, "misses the point")
