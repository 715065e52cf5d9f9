"""Bugs in conditioning and in what tracks the clip, planted one by one, as in test_planted_bugs."""

import numpy as np
import pytest

from skdp.privacy.adjacency import Adjacency
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.queries.gradient import GradientQuery
from skdp.privacy.queries.gradient_sizes import GradientAndShareQuery, GradientSizesQuery
from skdp.privacy.queries.moments import MomentsQuery
from skdp.privacy.rows.mapped import MappedBlock
from skdp.problem.bounds import RowBounds, RowMap
from skdp.problem.losses import Squared
from skdp.problem.problem import Problem
from skdp.testing import check_pays_before_looking, check_sensitivity

N, D = 4, 3
PROBLEM = Problem(Squared(), N, D, RowBounds(2.0))
TOO_FAR = "times its declared sensitivity"


@pytest.fixture
def caught(monkeypatch):
    """Run a check on the code as it is, then with an attribute set to its buggy version."""

    def plant(owner, name, bug, check, match):
        check()
        monkeypatch.setattr(owner, name, bug)
        with pytest.raises(AssertionError, match=match):
            check()

    return plant


def sensitivity_of_moments():
    """Rows of the largest norm along different axes, in coordinates that lengthen them."""
    along, across = np.eye(D)[np.zeros(N, int)], np.eye(D)[np.ones(N, int)]
    stretched = RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0)
    query = MomentsQuery(RowBounds(1.0, row_map=stretched), N, D, full=True)
    check_sensitivity(query, along, np.zeros(N), across, np.zeros(N), Adjacency.REPLACE_ONE)


def sensitivity_of_sizes():
    """Rows whose gradients are zero against rows whose gradients are not."""
    query = GradientSizesQuery(PROBLEM, np.zeros(D), np.array([0.1]))
    X, ones = np.zeros((N, D)), np.ones((N, D))
    check_sensitivity(query, X, X[:, 0], ones, ones[:, 0], Adjacency.REPLACE_ONE)


def sensitivity_of_shares():
    """A row that the clip leaves whole against one that it does not, with opposite gradients."""
    query, X = (
        GradientAndShareQuery(GradientQuery(PROBLEM, np.zeros(D), 0.5), 1.0),
        np.tile([2.0, 0.0, 0.0], (N, 1)),
    )
    y = np.full(N, 0.25 * (1 - 1e-9))
    check_sensitivity(query, X, y, X, -np.ones(N), Adjacency.REPLACE_ONE)


def test_a_missing_root_of_2_in_moments_is_caught(caught):
    def bug(self, adjacency):
        return self.bounds.row_norm**2 / self.n_samples

    caught(MomentsQuery, "sensitivity", bug, sensitivity_of_moments, TOO_FAR)


def test_a_clip_that_is_forgotten_after_a_change_of_coordinates_is_caught(caught):
    honest = MappedBlock.__init__

    def bug(self, raw, bounds):
        honest(self, raw, bounds)
        self._factor = None

    caught(MappedBlock, "__init__", bug, sensitivity_of_moments, TOO_FAR)


def test_a_missing_root_of_2_in_sizes_of_gradients_is_caught(caught):
    caught(GradientSizesQuery, "sensitivity", lambda *_: 1.0, sensitivity_of_sizes, TOO_FAR)


def test_a_share_that_is_not_counted_beside_the_gradient_is_caught(caught):
    def bug(self, adjacency):
        return self.gradient.sensitivity(adjacency)

    caught(GradientAndShareQuery, "sensitivity", bug, sensitivity_of_shares, TOO_FAR)


def ask_share(oracle, spend):
    oracle.gradient_and_share(np.zeros(D), spend=spend, clip=1.0, of_share=0.1)


def ask_sizes(oracle, spend):
    oracle.gradient_sizes(np.zeros(D), np.array([1.0]), spend=spend)


def ask_moments(oracle, spend):
    oracle.second_moments(full=True, spend=spend)


@pytest.mark.parametrize("ask", [ask_share, ask_sizes, ask_moments])
def test_an_answer_without_a_charge_is_caught_for_other_queries(caught, ask):
    honest = PrivateOracle._release

    def bug(self, query, spend):
        if isinstance(query, GradientAndShareQuery | GradientSizesQuery | MomentsQuery):
            return query.evaluate(self._rows)
        return honest(self, query, spend)

    def pays():
        check_pays_before_looking(ask, PROBLEM, Adjacency.REPLACE_ONE)

    caught(PrivateOracle, "_release", bug, pays, "before anything was charged")
