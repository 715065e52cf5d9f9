"""Bugs in private preprocessing, planted one by one: each is caught by a check that else passes."""

import numpy as np
import pytest
from examples_of_transformers import make_rows
from twin_oracle import distance

from skdp.preprocessing import DPMinMaxScaler, DPStandardScaler
from skdp.preprocessing.base import PrivateTransformer, Transformer
from skdp.privacy.accounting import gdp
from skdp.privacy.accounting.ledger import Ledger
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.queries import column_moments
from skdp.privacy.queries.column_counts import ColumnCountsQuery
from skdp.privacy.queries.column_moments import ColumnMomentsQuery
from skdp.problem.bounds import RowBounds
from skdp.problem.column_bounds import ColumnBounds
from skdp.problem.losses import Squared
from skdp.problem.problem import Problem
from skdp.testing import (
    check_pays_before_looking,
    check_seed_stays_behind,
    check_sensitivity,
    record_fit,
    replay_fit,
)

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 4, 3
BOUNDS = ColumnBounds(np.full(D, -2.0), np.full(D, 2.0))
TOO_FAR = "times its declared sensitivity"
SEED = 1_234_567_891


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
    """Every feature from far below its interval to far above it, and from an end to within."""
    query, y = ColumnMomentsQuery(BOUNDS, N), np.zeros(N)
    for low, high in ((-50.0, 50.0), (2.0, -0.6)):
        rows = np.full((N, D), low), y, np.full((N, D), high), y
        check_sensitivity(query, *rows, Adjacency.REPLACE_ONE)


def sensitivity_of_counts():
    query, y = ColumnCountsQuery(np.zeros((D, 2))), np.zeros(N)
    check_sensitivity(query, -np.ones((N, D)), y, np.ones((N, D)), y, Adjacency.REPLACE_ONE)


def test_a_missing_factor_of_2_is_caught(caught):
    def bug(self, adjacency):
        return np.sqrt(self.bounds.low.size) / self.n_samples

    caught(ColumnMomentsQuery, "sensitivity", bug, sensitivity_of_moments, TOO_FAR)


def test_features_that_share_one_sensitivity_are_caught(caught):
    def bug(self, adjacency):
        return 2.0 / self.n_samples

    caught(ColumnMomentsQuery, "sensitivity", bug, sensitivity_of_moments, TOO_FAR)


def test_values_that_are_not_clipped_are_caught(caught):
    def bug(self, values, features):
        values -= self.bounds.centre[features]
        values /= self.bounds.half_width[features]
        return values

    caught(ColumnMomentsQuery, "_scaled", bug, sensitivity_of_moments, TOO_FAR)


def test_squares_of_too_much_weight_are_caught(caught):
    caught(column_moments, "_WEIGHT", 2.0, sensitivity_of_moments, TOO_FAR)


def test_a_second_edge_that_is_not_counted_is_caught(caught):
    def bug(self, adjacency):
        return np.sqrt(len(self.edges))

    caught(ColumnCountsQuery, "sensitivity", bug, sensitivity_of_counts, TOO_FAR)


@pytest.mark.parametrize(
    "ask",
    [
        lambda oracle, spend: oracle.column_moments(BOUNDS, N, spend=spend),
        lambda oracle, spend: oracle.column_counts(np.zeros((D, 2)), N, spend=spend),
    ],
)
def test_an_answer_without_a_charge_is_caught(caught, ask):
    honest = PrivateOracle._release

    def bug(self, query, spend):
        if isinstance(query, ColumnMomentsQuery | ColumnCountsQuery):
            return query.evaluate(self._rows)
        return honest(self, query, spend)

    def pays():
        problem = Problem(Squared(), N, D, RowBounds(1.0))
        check_pays_before_looking(ask, problem, Adjacency.REPLACE_ONE)

    caught(PrivateOracle, "_release", bug, pays, "before anything was charged")


def test_bounds_that_are_read_off_the_rows_are_caught(caught):
    checked, settle = Transformer._checked, DPStandardScaler._settle

    def peek(self, X, *, reset, copy=False):
        rows = checked(self, X, reset=reset, copy=copy)
        self.seen = (rows.min(axis=0), rows.max(axis=0))
        return rows

    def follows_from_answers():
        scaler = DPStandardScaler(bounds=(-1e10, 1e10), random_state=0)
        transcript = record_fit(scaler, make_rows(), None)
        replay_fit(scaler, 2 * make_rows(seed=5), None, transcript)

    def bug(self):
        settle(self)
        self.bounds = self.seen

    follows_from_answers()
    # The rows pass by on their way into the store: what is taken from them there is a leak.
    Transformer._checked = peek
    try:
        caught(DPStandardScaler, "_settle", bug, follows_from_answers, "another content")
    finally:
        Transformer._checked = checked


def test_noise_for_half_the_features_is_caught_on_neighbours(caught):
    def bug(self, adjacency):
        return np.sqrt(self.edges.size / 2)

    def promised():
        X = make_rows()
        other = X.copy()
        X[0], other[0] = 1e5, -1e5
        mu, largest = distance(DPMinMaxScaler(epsilon=20.0), X, other)
        assert largest <= 1, "a move beyond the sensitivity"
        assert mu <= gdp.mu(20.0, 1e-5), "further apart than promised"

    caught(ColumnCountsQuery, "sensitivity", bug, promised, "beyond the sensitivity")


def test_a_seed_that_travels_is_caught(caught):
    def stays():
        check_seed_stays_behind(DPStandardScaler(random_state=SEED).fit(make_rows()), SEED)

    def bug(self):
        return vars(self).copy()

    caught(PrivateTransformer, "__getstate__", bug, stays, "keeps its seed")


def test_a_second_query_on_an_account_of_its_own_is_caught(monkeypatch):
    """As if ranges were found for free: the receipt no longer tells what neighbours can see."""

    def promised():
        X = make_rows()
        other = X.copy()
        X[0], other[0] = 1e5, -1e5
        scaler = DPStandardScaler(epsilon=20.0)
        mu, _ = distance(scaler, X, other)
        charged = sum(
            e.count * (e.sensitivity / e.noise_scale) ** 2 for e in scaler.privacy_ledger_
        )
        assert mu**2 <= charged, "more was told than was charged"

    promised()
    honest = Ledger.charge

    def bug(self, event):
        if event.query != "column_counts":
            honest(self, event)

    monkeypatch.setattr(Ledger, "charge", bug)
    with pytest.raises(AssertionError, match="more was told than was charged"):
        promised()
