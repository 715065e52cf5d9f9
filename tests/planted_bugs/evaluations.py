"""Bugs in private evaluations, in how models are asked and in what is paid for."""

from dataclasses import replace
from functools import partial
from math import sqrt

import numpy as np
from evaluation import test_evaluate
from evaluations_of_twins import Evaluating, apart, make_rows
from models_that_misbehave import PANIC, Batch, Fixed, Listing, Panicking, Spoiling
from planted_bugs.bug import TOO_FAR, Bug, Value, after, gives, times
from planted_bugs.queries import examples_move_within_their_sensitivity
from privacy import test_predicted_rows as predicted

from skdp.privacy import Adjacency
from skdp.privacy.queries import (
    GroupMeansQuery,
    MetricMeansQuery,
    OutcomeCountsQuery,
    RowMetric,
    TargetTableQuery,
)
from skdp.testing import record_fit, replay_fit

N = 40
CLASSES = np.array([0, 1])


# Leaves the range that it claims.
LYING = RowMetric("Lying", (0.0, 1.0), lambda given: 100.0 * given.score_of(1))
LYING = MetricMeansQuery((LYING,), N)


def metrics_move_within_their_sensitivity():
    """One row in place of another, of which a metric leaves its range."""
    X, y = np.full((N, 2), 1.0), np.ones(N, int)
    near = X.copy()
    near[3] = -50.0
    answers = [LYING.evaluate(predicted.store(Fixed(), rows, y)) for rows in (X, near)]
    share = np.linalg.norm(answers[1] - answers[0]) / LYING.sensitivity(Adjacency.REPLACE_ONE)
    assert 0 < share <= 1 + 1e-9, f"moved by {share} of the sensitivity"


def results_follow_from_answers():
    """Recorded answers lead to the same queries, whatever the rows are."""
    task, (X, y, _) = Evaluating(Fixed(), random_state=0), make_rows()
    transcript = record_fit(task, X, y)
    replay_fit(task, 2 * X[::-1], 1 - y, transcript)


def receipts_cover_what_neighbours_show(model=Fixed(), wild=PANIC, n=400, **options):  # noqa: B008
    """A wild row of another label and group in place of a tame one."""
    X, y, groups = make_rows(n)
    near = X.copy()
    near[7] = wild
    seven = np.arange(len(y)) == 7
    rows = X, y, groups
    other = near, np.where(seven, 1 - y, y), np.where(seven, 1 - groups, groups)
    if "group_values" not in options:
        rows, other = rows[:2], other[:2]
    task = Evaluating(model, random_state=0, **options)
    result, mu, largest = apart(task, rows, other)
    charged = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in result.privacy_ledger_)
    assert largest <= 1, "a move beyond the sensitivity"
    assert mu**2 <= charged, "more was told than was charged"


def peeking():
    """Bins between quantiles of the scores of the rows."""
    seen = []

    def edges(honest, bins):
        return np.concatenate([[0.0], np.quantile(seen[-1], [0.2, 0.4]), [1.0]])

    def checked(honest, model, X, y):
        rows = honest(model, X, y)
        seen.append(model.predict_proba(rows[0])[:, 1])
        return rows

    return {"evaluate._edges": edges, "evaluate._checked": checked}


def after_all_budgets_closed(honest, model):
    return replace(honest(model), budgets=[])


def free_means(honest, self, event):
    if event.query != "metric_means":
        honest(self, event)


def out_of_the_block(honest, self, places):
    found = self._or_nothing(places)
    return np.full((places.size, self.n_features), np.nan) if found is None else found


def raised(honest, self, places):
    return self._predictor.of_rows(lambda: self._X[places], places.size)


def by_class_alone(honest, part):
    return None if honest(part) is None else []


def counted_by_both(honest, self, block):
    found = honest(self, block)
    return found + found.sum(axis=0) + found.sum(axis=1, keepdims=True)


TOLD = "more was told than was charged"
MIXED = {
    "wild": 1e6,
    "n": 100,
    "epsilon": 30.0,
    "pointwise": None,
    "metrics": ("accuracy", "brier_score"),
}
crafted = partial(partial, examples_move_within_their_sensitivity)
PANICKED = partial(
    predicted.test_answers_stay_within_their_sensitivity_whatever_a_model_says,
    Panicking(),
    predicted.COUNTS[1],
)
BUGS = (
    Bug("outcomes priced as if a row were in one count only", {"CountQuery.sensitivity": gives(1.0)}, crafted(OutcomeCountsQuery), TOO_FAR),
    Bug("a table of targets priced as if a row were in one cell only", {"CountQuery.sensitivity": gives(1.0)}, crafted(TargetTableQuery), TOO_FAR),
    Bug("a row in the cells of its target and of its prediction", {"TargetTableQuery._of_block": counted_by_both}, crafted(TargetTableQuery), TOO_FAR),
    Bug("metrics that share one sensitivity", {"MetricMeansQuery.sensitivity": times(sqrt(1 / 3))}, crafted(MetricMeansQuery), TOO_FAR),
    Bug("metrics that are not clipped to their range", {"metric_means._in_units": lambda _, values, low, high: (2 * values - low - high) / (high - low)}, metrics_move_within_their_sensitivity, "moved by"),
    Bug("a block that is lost with one of its rows", {"PredictedRows._of_block": out_of_the_block}, PANICKED),
    Bug("an exception of a model that is passed on", {"PredictedRows._or_nothing": raised}, PANICKED, "cannot predict"),
    Bug("blocks of rows where they were to be asked one by one", {"PredictedRows._predictions": lambda _, self: self._of_block(np.arange(self.n_samples))}, predicted.test_row_by_row_a_model_sees_no_other_row),
    Bug("models asked before the charge", {"PredictedRows.__init__": after(lambda self, *args: self._predictions())}, predicted.test_the_model_is_asked_once_and_not_before_the_charge),
    Bug("rows that a model may overwrite", {"predicted_rows._safe_indexing": lambda _, X, places: X}, partial(predicted.test_a_row_that_upsets_a_model_moves_no_other, Spoiling("nan"))),
    Bug("objects that a model may change", {"predicted_rows._copied": lambda _, taken: taken}, partial(predicted.test_objects_in_rows_are_copied_for_every_call, predicted.listed)),
    Bug("one type for all predictions of a list", {"predicted_rows._entries": lambda _, predicted: np.asarray(predicted)}, partial(predicted.test_an_odd_prediction_in_a_list_moves_no_other, Listing("abstain"))),
    Bug("models known by their own class alone", {"pointwise_models._held": by_class_alone}, partial(test_evaluate.test_models_that_mix_rows_deep_inside_are_asked_row_by_row, next(iter(test_evaluate.MIXING.values())))),
    Bug("bins of scores that are read off the rows", peeking(), results_follow_from_answers, "another content"),
    Bug("means of metrics that nobody pays for", {"Ledger.charge": free_means}, receipts_cover_what_neighbours_show, TOLD),
    Bug("groups priced as if a row could not change its own", {"OutcomeCountsQuery.sensitivity": lambda honest, self, adjacency: honest(self, adjacency) / (sqrt(2) if self.n_groups > 1 else 1)}, partial(receipts_cover_what_neighbours_show, group_values=(0, 1)), "beyond the sensitivity"),
    Bug("means of groups priced as if sizes of groups counted too much", {"GroupMeansQuery._weight": Value(2.0)}, crafted(GroupMeansQuery), TOO_FAR),
    Bug("means of groups priced as if a row could not change its own", {"GroupMeansQuery.sensitivity": times(sqrt(0.5))}, crafted(GroupMeansQuery), TOO_FAR),
    Bug("a model that is trusted to be pointwise", {"evaluate.is_pointwise": gives(True)}, partial(receipts_cover_what_neighbours_show, Batch(), **MIXED), "beyond the sensitivity"),
    Bug("an evaluation that no budget is told of", {"evaluate.reservation_for": after_all_budgets_closed}, test_evaluate.test_a_budget_is_charged_and_refuses_before_the_model_is_asked),
)  # fmt: skip
