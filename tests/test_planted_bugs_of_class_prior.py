"""Bugs in the class prior, planted one by one, as in test_planted_bugs."""

from dataclasses import replace

import numpy as np
import pytest

from skdp import DPLogisticRegression
from skdp.estimators import base
from skdp.estimators.classification import PrivateLinearClassifier
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.queries.histogram import HistogramQuery
from skdp.problem.bounds import RowBounds
from skdp.problem.losses import Logistic
from skdp.problem.problem import Problem
from skdp.testing import check_pays_before_looking, check_sensitivity, record_fit, replay_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 400, 3
PROBLEM = Problem(Logistic(), N, D, RowBounds(1.0, 0.3))


@pytest.fixture
def caught(monkeypatch):
    """Run a check on the code as it is, then with an attribute set to its buggy version."""

    def plant(owner, name, bug, check, match):
        check()
        monkeypatch.setattr(owner, name, bug)
        with pytest.raises(AssertionError, match=match):
            check()

    return plant


def ask(oracle, spend):
    oracle.histogram("target", np.array([0.5]), spend=spend)


def pays():
    check_pays_before_looking(ask, PROBLEM, Adjacency.REPLACE_ONE)


def sensitivity():
    """All labels of one class against all labels of the other."""
    query = HistogramQuery("target", np.array([0.5]))
    X, y = np.zeros((N, D)), np.zeros(N)
    check_sensitivity(query, X, y, X, y + 1, Adjacency.REPLACE_ONE)


def replays():
    """The same answers give the same model, whatever the labels are."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, D)) / 4, (np.arange(N) % 10 == 0).astype(int)
    options = {
        "data_norm": 1.0,
        "classes": [0, 1],
        "class_weight": "balanced",
        "epsilon": 5.0,
        "random_state": 0,
    }
    first, second = DPLogisticRegression(**options), DPLogisticRegression(**options)
    transcript = record_fit(first, X, y)
    replay_fit(second, X, (np.arange(N) % 2).astype(int), transcript)
    np.testing.assert_array_equal(first.coef_, second.coef_, err_msg="coef_")
    np.testing.assert_array_equal(first.intercept_, second.intercept_, err_msg="intercept_")


def test_counts_without_a_charge_are_caught(caught):
    honest = PrivateOracle._release

    def bug(self, query, spend):
        if isinstance(query, HistogramQuery):
            return query.evaluate(self._rows)
        return honest(self, query, spend)

    caught(PrivateOracle, "_release", bug, pays, "before anything was charged")


def test_counts_priced_as_if_a_row_were_in_one_of_them_only_are_caught(caught):
    caught(
        HistogramQuery, "sensitivity", lambda *_: 1.0, sensitivity, "times its declared sensitivity"
    )


@pytest.fixture
def seen(monkeypatch):
    """Labels as the encoder has seen them, for stages that must not."""
    honest, labels = PrivateLinearClassifier._encoder, []

    def encoder(self, classes):
        encode = honest(self, classes)

        def spying(y):
            labels.append(encode(y))
            return labels[-1]

        return spying

    monkeypatch.setattr(PrivateLinearClassifier, "_encoder", encoder)
    return labels


def test_weights_from_the_labels_themselves_are_caught(caught, seen):
    honest = base.with_class_prior

    def bug(problem, oracle, *, balanced):
        problem, share = honest(problem, oracle, balanced=balanced), seen[-1].mean()
        return replace(problem, class_weight=(share, 1 - share))

    caught(base, "with_class_prior", bug, replays, "asked with another content")


def test_an_offset_from_the_labels_themselves_is_caught(caught, seen):
    honest = PrivateLinearClassifier._publish

    def bug(self, problem, solution, dtype):
        honest(self, problem, solution, dtype)
        self.intercept_ = self.intercept_ + seen[-1].mean()

    caught(PrivateLinearClassifier, "_publish", bug, replays, "intercept_")
