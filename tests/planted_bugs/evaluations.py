"""Bugs in private evaluations, in how models are asked and in what is paid for."""

from functools import partial
from math import sqrt

import numpy as np
from models_that_misbehave import PANIC, Batch, Fixed, Panicking, Spoiling
from planted_bugs.bug import TOO_FAR, Bug, after, gives, times
from planted_bugs.queries import examples_move_within_their_sensitivity

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger, Spend
from skdp.privacy.queries import BrierScore, MetricMeansQuery, OutcomeCountsQuery, RowMetric
from skdp.privacy.rows import Predictor, predicted_rows

__all__ = ["BUGS"]

N = 40
CLASSES = np.array([0, 1])
BINS = OutcomeCountsQuery("score", 2, edges=np.array([0.3, 0.5, 0.7]))
GUESSES = OutcomeCountsQuery("prediction", 2)
BRIER = MetricMeansQuery((BrierScore(),), N)


class Lying(RowMetric):
    """Leaves the range that it claims."""

    @property
    def range(self):
        return 0.0, 1.0

    def of(self, given):
        return 100.0 * given.score_of(1)


LYING = MetricMeansQuery((Lying(),), N)
HALF = np.where(np.arange(N) < N // 2, 1.0, -1.0)


def predicted(model, X, y, rows_at_a_time):
    predictor = Predictor(model, CLASSES, (0, 1), "predict_proba", rows_at_a_time)
    return predicted_rows(predictor, X, y, np.asarray, None, np.asarray)


def evaluations_move_within_their_sensitivity(model, query, wild=PANIC, rows_at_a_time=None):
    """A wild row in place of a tame one, with another label."""
    X, y = np.column_stack([HALF, HALF]), (HALF > 0).astype(int)
    near, other = X.copy(), y.copy()
    near[3], other[3] = wild, 1 - y[3]
    try:
        answers = [
            query.evaluate(predicted(model, rows, labels, rows_at_a_time))
            for rows, labels in ((X, y), (near, other))
        ]
    except RuntimeError as failure:
        raise AssertionError("a row is quoted") from failure
    share = np.linalg.norm(answers[1] - answers[0]) / query.sensitivity(Adjacency.REPLACE_ONE)
    assert share <= 1 + 1e-9, f"moved by {share} of the sensitivity"


def models_are_asked_after_the_charge():
    asked = []

    class Noting(Fixed):
        def predict(self, X):
            asked.append(len(X))
            return super().predict(X)

    rows = predicted(Noting(), np.ones((N, 2)), np.zeros(N, int), None)
    oracle = PrivateOracle(rows, Ledger(1.0, 1e-5), Adjacency.REPLACE_ONE, SystemNoise())
    try:
        oracle.outcome_counts("prediction", 2, spend=Spend(1e6))
    except BudgetExceededError:
        assert not asked, "asked for nothing"


def rows_are_left_as_they_were():
    """What a model does to the rows it is handed does not change what it is asked about next."""
    X = np.column_stack([HALF, HALF])
    BRIER.evaluate(predicted(Spoiling("nan"), X, np.zeros(N, int), None))
    np.testing.assert_array_equal(X, np.column_stack([HALF, HALF]))


def out_of_the_block(honest, self, places):
    found = self._or_nothing(places)
    return np.full((places.size, self.n_features), np.nan) if found is None else found


def raised(honest, self, places):
    return self._predictor.of_rows(lambda: self._X[places], places.size)


crafted = partial(partial, examples_move_within_their_sensitivity)
MOVES = partial(partial, evaluations_move_within_their_sensitivity)
BUGS = (
    Bug("outcomes priced as if a row were in one count only", {"OutcomeCountsQuery.sensitivity": gives(1.0)}, crafted(OutcomeCountsQuery), TOO_FAR),
    Bug("metrics that share one sensitivity", {"MetricMeansQuery.sensitivity": times(sqrt(1 / 3))}, crafted(MetricMeansQuery), TOO_FAR),
    Bug("metrics that are not clipped to their range", {"metric_means._in_units": lambda _, values, low, high: (2 * values - low - high) / (high - low)}, MOVES(Fixed(), LYING, -50.0), "moved by"),
    Bug("a block that is lost with one of its rows", {"PredictedRows._of_block": out_of_the_block}, MOVES(Panicking(), GUESSES), "moved by"),
    Bug("an exception of a model that is passed on", {"PredictedRows._or_nothing": raised}, MOVES(Panicking(), GUESSES), "quoted"),
    Bug("blocks of rows where they were to be asked one by one", {"PredictedRows._predictions": lambda _, self: self._of_block(np.arange(self.n_samples))}, MOVES(Batch(), BINS, 1e6, 1), "moved by"),
    Bug("models asked before the charge", {"PredictedRows.__init__": after(lambda self, *args: self._predictions())}, models_are_asked_after_the_charge, "asked for nothing"),
    Bug("rows that a model may overwrite", {"predicted_rows._safe_indexing": lambda _, X, places: X}, rows_are_left_as_they_were),
)  # fmt: skip
