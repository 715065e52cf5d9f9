"""Bugs in the path of sparse rows, planted one by one, as in test_planted_bugs."""

from contextlib import suppress
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
import scipy.sparse as sp

from skdp import DPLogisticRegression
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.queries.gradient import GradientQuery
from skdp.privacy.queries.gradient_sizes import GradientSizesQuery
from skdp.privacy.queries.row_means import RowMeansQuery
from skdp.privacy.rows import mapped
from skdp.privacy.rows import row_blocks as blocks
from skdp.privacy.rows.mapped import MappedBlock
from skdp.privacy.rows.row_blocks import Block, RawBlock
from skdp.problem.bounds import RowBounds, RowMap
from skdp.problem.losses import Logistic, Softmax
from skdp.problem.problem import Problem
from skdp.testing import check_pays_before_looking, check_sensitivity

N, D = 4, 3
TOO_FAR = "times its declared sensitivity"
# Rows at twice the norm bound that the map leaves them, before the shift and after it.
DAMPED = RowMap(np.array([1.0, 0.5, 0.5]), None, np.array([0.0, 0.8, 0.0]), 0.5)
BOUNDS = RowBounds(1.0, row_map=DAMPED)
ALONG, ACROSS = np.eye(D)[np.zeros(N, int)], np.eye(D)[np.ones(N, int)]
ZEROS, ONES = np.zeros(N), np.ones(N)


@pytest.fixture
def caught(monkeypatch):
    """Run a check on the code as it is, then with an attribute set to its buggy version."""

    def plant(owner, name, bug, check, match):
        check()
        monkeypatch.setattr(owner, name, bug)
        with pytest.raises(AssertionError, match=match):
            check()

    return plant


def sensitivity_of_gradients():
    """Rows that the shift makes longer, with derivatives that the clip leaves whole."""
    problem = Problem(Logistic(), N, D, BOUNDS)
    query = GradientQuery(problem, np.array([0.0, 100.0, 0.0]), None)
    X = np.zeros((N, D))
    check_sensitivity(query, X, ONES, ALONG, ONES, Adjacency.ZERO_OUT)


def sensitivity_of_sums(bounds, X, y, other_X, other_y):
    query = RowMeansQuery(bounds, N, 2)
    check_sensitivity(query, X, y, other_X, other_y, Adjacency.REPLACE_ONE)


def sensitivity_of_one_sided_sums():
    """Rows that are opposite until negative features count as zero."""
    bounds = RowBounds(1.0, nonnegative=True)
    sensitivity_of_sums(bounds, ALONG, ZEROS, -ALONG, ZEROS)


def sensitivity_of_classes():
    sensitivity_of_sums(RowBounds(1.0, nonnegative=True), ALONG, ZEROS, ALONG, ONES)


def test_a_clip_that_is_skipped_for_mapped_sparse_rows_is_caught(caught):
    honest = MappedBlock.__init__

    def bug(self, raw, bounds):
        honest(self, raw, bounds)
        if sp.issparse(raw.X):
            self._factor = None

    caught(MappedBlock, "__init__", bug, sensitivity_of_gradients, TOO_FAR)


def test_a_shift_that_is_forgotten_in_the_norm_is_caught(caught):
    honest = mapped.sparse_lengths

    def bug(block, row_map):
        return honest(block, replace(row_map, shift=np.zeros(D)))

    caught(mapped, "sparse_lengths", bug, sensitivity_of_gradients, TOO_FAR)


def test_a_scale_that_is_forgotten_in_the_norm_is_caught(caught):
    honest = mapped.sparse_lengths

    def bug(block, row_map):
        return honest(block, replace(row_map, scale=np.full(D, 1e-3)))

    def check():
        stretched = RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0)
        problem = Problem(Logistic(), N, D, RowBounds(1.0, row_map=stretched))
        query = GradientQuery(problem, np.array([-100.0, -100.0, 0.0]), None)
        check_sensitivity(query, ALONG, ONES, ACROSS, ONES, Adjacency.REPLACE_ONE)

    caught(mapped, "sparse_lengths", bug, check, TOO_FAR)


def test_sizes_that_take_the_clipped_norm_for_granted_still_count_each_row_once():
    problem = Problem(Logistic(), N, D, BOUNDS)
    query = GradientSizesQuery(problem, np.zeros(D), np.array([0.2, 0.24]))
    X = 0.1 * ALONG
    check_sensitivity(query, X, ZEROS, ACROSS, ONES, Adjacency.REPLACE_ONE)


def test_negative_features_that_stay_in_one_sided_rows_are_caught(caught):
    caught(blocks, "_without_negatives", lambda X: X, sensitivity_of_one_sided_sums, TOO_FAR)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [np.nan, -np.inf, -1e200])
def test_a_row_that_is_no_number_does_not_hide_the_negative_ones(kind, value):
    X = np.vstack([-ALONG, [[value, 1.0, 0.0]]])
    block = Block(RawBlock(kind(X), np.zeros(N + 1)), RowBounds(1.0, nonnegative=True))
    assert np.all(block.loaded().rows() >= 0)


def test_a_price_of_one_sided_rows_for_signed_ones_is_caught(caught):
    bounds = RowBounds(1.0)

    def check():
        sensitivity_of_sums(bounds, ALONG, ZEROS, -ALONG, ZEROS)

    caught(RowMeansQuery, "one_sided", True, check, TOO_FAR)


@pytest.mark.parametrize("part", ["shift", "scale", "matrix"])
def test_a_map_that_turns_signs_is_not_taken_for_one_sided(part, caught):
    turned = {"shift": 2 * np.ones(D), "scale": np.array([1.0, -1.0, 1.0]), "matrix": np.eye(D)}
    turned["matrix"][1] = -turned["matrix"][0]
    parts = {"scale": np.ones(D), "matrix": None, "shift": np.zeros(D), part: turned[part]}
    bounds = RowBounds(1.0, row_map=RowMap(**parts, norm=1e-3), nonnegative=True)
    # Along the first axis and the second, which the map brings to opposite sides.
    X = np.tile([0.0, 1.0, 0.0], (N, 1))
    other = np.tile([1.0, 0.0, 0.0], (N, 1))
    if part == "scale":
        bounds = replace(bounds, row_map=replace(bounds.row_map, shift=np.zeros(D)))

    def check():
        sensitivity_of_sums(bounds, X, ZEROS, other, ZEROS)

    check()
    assert RowMeansQuery(bounds, N, 2).sensitivity(Adjacency.REPLACE_ONE) == 2e-3 / N
    if part == "matrix":
        caught(RowMeansQuery, "one_sided", True, check, TOO_FAR)


def test_a_missing_root_of_2_in_sums_by_class_is_caught(caught):
    def bug(self, adjacency):
        return self.bounds.row_norm / self.n_samples

    caught(RowMeansQuery, "sensitivity", bug, sensitivity_of_classes, TOO_FAR)


@pytest.mark.parametrize("by_class", [True, False])
def test_means_without_a_charge_are_caught(caught, by_class):
    honest = PrivateOracle._release

    def bug(self, query, spend):
        if isinstance(query, RowMeansQuery):
            return query.evaluate(self._rows)
        return honest(self, query, spend)

    def ask(oracle, spend):
        oracle.row_means(by_class=by_class, spend=spend)

    def pays():
        problem = Problem(Softmax(3), N, D, RowBounds(2.0, nonnegative=True))
        check_pays_before_looking(ask, problem, Adjacency.REPLACE_ONE)

    caught(PrivateOracle, "_release", bug, pays, "before anything was charged")


def test_sparse_rows_that_are_written_out_are_caught(caught):
    """A fit that densifies blocks would take gigabytes on text."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((60, 1500)) * (rng.random((60, 1500)) < 0.02))
    y = rng.integers(0, 3, 60)

    def check():
        written = []
        model = DPLogisticRegression(data_norm=1.0, classes=[0, 1, 2])
        with pytest.MonkeyPatch.context() as patch:
            for kind in (sp.csr_array, sp.csr_matrix):
                patch.setattr(kind, "toarray", lambda self, *a: written.append(self.shape))
            with suppress(TypeError):
                model.fit(X, y)
        assert not written, "written out"

    def bug(block, row_map):
        return np.linalg.norm(row_map.apply(block.rows()), axis=1)

    caught(mapped, "sparse_lengths", bug, check, "written out")


def test_the_diameter_of_one_sided_rows_is_attained():
    query = RowMeansQuery(RowBounds(1.0, nonnegative=True), N)
    move = check_sensitivity(query, ALONG, ZEROS, ACROSS, ZEROS, Adjacency.REPLACE_ONE)
    assert query.sensitivity(Adjacency.REPLACE_ONE) == sqrt(2) / N
    assert move == pytest.approx(1.0)
