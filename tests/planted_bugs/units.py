"""Bugs that protect rows where people were promised to be protected."""

from dataclasses import replace
from functools import partial

import numpy as np
from example_of_a_query import Example
from examples_of_queries import EXAMPLES
from examples_of_units import largest_move, stores_of, units_of
from planted_bugs.bug import TOO_FAR, Bug, Value

import skdp
from skdp import DPLogisticRegression
from skdp.privacy import Adjacency
from skdp.privacy.accounting import (
    ObjectivePerturbationEvent,
    PerturbedGaussianDP,
    PrivacySpent,
    Spend,
    perturbation,
)
from skdp.privacy.queries import GradientQuery, PerturbedMinimumQuery
from skdp.privacy.rows import Block, DenseRows, MappedBlock, PrivacyUnits, RawBlock
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Logistic, Squared
from skdp.reporting import Receipt, composition
from skdp.testing import record_fit, replay_fit

__all__ = ["BUGS"]

TAKEN = {kind.name: kind for kind in EXAMPLES if kind.takes_units}
# Sums over rows of samples need units that are drawn; of weights there are none to differ by.
OTHERS = ("sampled_gradient", "total_weight")
BY_NAME = {name: kind for name, kind in TAKEN.items() if name not in OTHERS}
IN_THE_DEFAULT_RUN = ("gradient", "histogram", "second_moments", "vertex")
OPTIONS = {"classes": [0, 1], "data_norm": 3.0, "random_state": 0, "epsilon": 2.0}
PEOPLE = 200


def a_person_with_fifty_rows_moves_within_the_sensitivity(name):
    for example in EXAMPLES[BY_NAME[name]][1][:2]:
        here, there = units_of(example, alike=True, seed=3)
        largest_move(example.query, here, there, Adjacency.REPLACE_ONE)


def people(seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(PEOPLE), rng.integers(1, 6, PEOPLE))
    X = rng.normal(size=(len(labels), 2))
    return X, (X[:, 0] > 0) * 1, labels


def the_number_of_rows_is_told_by_nothing():
    """One person has another number of rows, and the answers are the same."""
    X, y, labels = people()
    model = DPLogisticRegression(**OPTIONS)
    transcript = record_fit(model, X, y, privacy_unit=labels)
    first = {name: value for name, value in vars(model).items() if name.endswith("_")}
    more = np.append(np.arange(len(y)), np.full(30, 5))
    replay_fit(model, X[more], y[more], transcript, privacy_unit=labels[more])
    for name, value in first.items():
        np.testing.assert_array_equal(getattr(model, name), value, err_msg=name)


def a_person_in_several_blocks_moves_within_the_sensitivity():
    """Rows of so many features lie in blocks of eight."""
    d, rng = 1 << 16, np.random.default_rng(0)
    sizes = {"here": (20, 5, 7), "there": (30, 5, 7)}
    query = GradientQuery(Problem(Logistic(), 3, d, RowBounds(1.0)), np.zeros(d))
    answers = []
    for side, people_ in sizes.items():
        labels = rng.permutation(np.repeat(np.arange(3), people_))
        X = np.zeros((len(labels), d), dtype=np.float32)
        X[:, 0] = np.where(labels == 0, 1.0 if side == "here" else -1.0, 0.5)
        rows = DenseRows(X, np.zeros(len(X)), None, PrivacyUnits.of(labels))
        assert len(list(rows.blocks())) > 2
        answers.append(query.evaluate(rows))
    moved = np.linalg.norm(answers[1] - answers[0]) / query.sensitivity(Adjacency.REPLACE_ONE)
    assert moved <= 1 + 1e-6, f"{moved} times its declared sensitivity"


def a_person_is_drawn_with_all_rows_or_with_none():
    X, y, labels = people()
    query = GradientQuery(Problem(Logistic(), PEOPLE, 2, RowBounds(3.0)), np.ones(2), 0.5)
    drawn = np.random.default_rng(2).random(PEOPLE) < 0.3
    rows = DenseRows(X, y.astype(float), None, PrivacyUnits.of(labels))
    there = drawn[labels]
    alone = DenseRows(X[there], y[there].astype(float), None, PrivacyUnits.of(labels[there]))
    expected = query.of_drawn(alone, np.ones(drawn.sum(), dtype=bool), 0.3)
    np.testing.assert_allclose(query.of_drawn(rows, drawn, 0.3), expected, rtol=0, atol=1e-9)


def places_of_rows_tell_nothing(mapped):
    rng = np.random.default_rng(0)
    X, w, d = rng.normal(size=(83, 37)), rng.normal(size=38), 37
    row_map = RowMap(np.ones(d), rng.normal(size=(d, d)), rng.normal(size=d), norm=20.0)
    bounds = RowBounds(5.0, 1.0, row_map=row_map if mapped else None)
    found = []
    for first in range(40):
        raw = RawBlock(X[first:], np.zeros(83 - first), None, np.full(83 - first, 1 / 128))
        block = (MappedBlock if mapped else Block)(raw, bounds).loaded()
        found.append(np.append(block.scores(w)[-40:], block.norms[-40:]))
    assert all(np.array_equal(one, found[0]) for one in found)


def totals_of_people_and_rows_are_refused():
    X, y, labels = people()
    unseeded = OPTIONS | {"random_state": None}
    models = [
        DPLogisticRegression(**unseeded).fit(X, y, **options)
        for options in ({"privacy_unit": labels}, {})
    ]
    try:
        skdp.privacy_spent(models)
    except ValueError:
        return
    raise AssertionError("a total of people and of rows")


def minimisers_proved_for_rows_are_refused():
    """By a solver that does not know that it is people who are protected."""
    X, y, labels = people()
    model = DPLogisticRegression(**OPTIONS, solver="objective_perturbation")
    try:
        model.fit(X, y, privacy_unit=labels)
    except (TypeError, ValueError):
        return
    (event,) = (e for e in model.privacy_ledger_ if e.query == "perturbed_minimum")
    assert event.of_units, "people are protected like rows"


def rows_along_all_axes_turn_the_slope_by_no_more_than_claimed():
    """A person of eight rows whose residuals bend, against one of whose all are clipped."""
    d, target = 8, TargetBounds(-1.0, 1.0)
    problem = Problem(Squared(), 1, d, RowBounds(1.0, target=target))
    facts = {"adjacency": Adjacency.REPLACE_ONE, "spend": Spend(2.0), "pure": True}
    query = PerturbedMinimumQuery.planned(problem, 0.5, 0.0, **facts, of_units=True)
    units, steps = PrivacyUnits.of(np.zeros(d)), 1e-4 * np.eye(d)
    logs = []
    for residual in (0.0, 1.0):
        rows = DenseRows(np.eye(d), np.full(d, residual), None, units)
        slopes = [query.slope_at(rows, -h) - query.slope_at(rows, h) for h in steps]
        logs.append(np.linalg.slogdet(np.array(slopes) / 2e-4)[1])
    assert logs[0] - logs[1] <= query.jacobian * (1 + 1e-5), "more than claimed"


def prices_of_people_are_above_those_of_rows():
    assert perturbation.mu(1.0, 1e-5, of_units=True) < perturbation.mu(1.0, 1e-5), "too cheap"
    assert PerturbedGaussianDP(True).limit(1.0, 1e-5) < PerturbedGaussianDP().limit(1.0, 1e-5)


def totals_of_minimisers_of_people_are_above_those_of_rows():
    """And so are those of rows for somebody who has several."""
    facts = {"sensitivity": 0.2, "noise_scale": 1.0, "jacobian": 0.08}
    event = ObjectivePerturbationEvent(
        query="minimum", **facts, output_sensitivity=0.0, output_noise_scale=0.0
    )
    stated, whole = PrivacySpent(50.0, 1e-5), {"sensitivity": 3 * 0.2, "jacobian": 3 * 0.08}
    rows, people, three = (
        Receipt((replace(event, **more),), stated)
        for more in (whole, whole | {"of_units": True}, {})
    )
    found = rows, people, three.between(3)
    totals = [composition.compose([receipt], 1e-5).epsilon for receipt in found]
    assert totals[0] < totals[1] == totals[2], "people cost what rows cost"


def rows_alike_count_together():
    """A difference of gradients, whose public centre is taken off once a person."""
    example: Example = EXAMPLES[TAKEN["gradient_difference"]][1][0]
    here, _ = units_of(example, alike=True, seed=3)
    single = [(X[:1], y[:1]) for X, y in here]
    for layout, rows in stores_of(here).items():
        expected = example.query.evaluate(stores_of(single)[layout])
        np.testing.assert_allclose(example.query.evaluate(rows), expected, rtol=1e-6, atol=1e-12)


def every_row_whole(honest, self):
    found = honest(self)
    return found if self.shares is None else np.ones(len(self.y))


def counts_rows(honest, self, X, *parts):
    honest(self, X, *parts)
    self.n_samples = X.shape[0]


def shared_within_a_block(honest, self, start, stop):
    found = honest(self, start, stop)
    if self.units is None:
        return found
    shares = PrivacyUnits.of(self.units.codes[start:stop]).shares
    return RawBlock(found.X, found.y, found.weights, shares)


def rows_one_by_one(honest, self, marked):
    return np.resize(marked, self.codes.size)


BUGS = (
    *(Bug(f"a person with fifty rows counts as fifty ({name})", {"RawBlock.bounded_weights": every_row_whole}, partial(a_person_with_fifty_rows_moves_within_the_sensitivity, name), TOO_FAR, nightly=name not in IN_THE_DEFAULT_RUN) for name in BY_NAME if name not in ("column_moments", "metric_means")),
    *(Bug(f"moments that count all rows alike ({name})", {"ColumnMomentsQuery.of_scaled": lambda honest, self, u, shares=None: honest(self, u)}, partial(a_person_with_fifty_rows_moves_within_the_sensitivity, name), TOO_FAR, nightly=name == "metric_means") for name in ("column_moments", "metric_means")),
    Bug("a number of rows in place of that of people", {"ResidentRows._hold": counts_rows}, the_number_of_rows_is_told_by_nothing),
    Bug("a block that shares a person's weight among its own rows", {"ResidentRows._block": shared_within_a_block}, a_person_in_several_blocks_moves_within_the_sensitivity, TOO_FAR),
    Bug("samples of rows in place of people", {"PrivacyUnits.rows_of": rows_one_by_one}, a_person_is_drawn_with_all_rows_or_with_none),
    Bug("scores that depend on the place of a row", {"bounded_rows.by_row": lambda _, X, w: X @ w}, partial(places_of_rows_tell_nothing, False)),
    Bug("lengths that depend on the place of a row", {"mapped.by_row": lambda _, X, w: X @ w}, partial(places_of_rows_tell_nothing, True)),
    Bug("a receipt that does not say what it is about", {"PrivateLinearModel._publish_receipt": lambda honest, self: (honest(self), vars(self).pop("privacy_unit_"))}, totals_of_people_and_rows_are_refused),
    Bug("a minimiser that is proved for rows taken for people", {"PerturbedMinimumQuery.holds_for_units": Value(True), "PerturbedGaussianDP.for_units": lambda honest, self: self}, minimisers_proved_for_rows_are_refused),
    Bug("the Jacobian of one row for a person", {"PerturbedMinimumQuery._rank": Value(1)}, rows_along_all_axes_turn_the_slope_by_no_more_than_claimed, "more than claimed"),
    Bug("the vertices of one row for a person", {"perturbation._log_sum": lambda honest, mu, offset, of_units: honest(mu, offset, False)}, prices_of_people_are_above_those_of_rows),
    Bug("a total of minimisers of people by the vertices of rows", {"composition._union": lambda honest, plain, ways, delta, of_units: honest(plain, ways, delta, False)}, totals_of_minimisers_of_people_are_above_those_of_rows, "cost what rows"),
    Bug("a centre that is taken off for each row", {"ResidentRows._hold": counts_rows}, rows_alike_count_together),
)  # fmt: skip
