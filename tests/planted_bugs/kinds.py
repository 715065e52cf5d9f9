"""Bugs in kinds of rows that no example of a query is written for: the product finds them."""

import warnings
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from examples_of_visits import who_comes_before_a_cut_is_drawn
from planted_bugs.bug import TOO_FAR, Bug, Value
from queries_over_rows import rows_without_numbers_move_as_declared, sample
from sklearn.base import clone

from skdp import DPHazardRegressor, DPLogisticRegression, evaluate
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import DPOneHotEncoder, DPSelectKBest
from skdp.privacy.streams import Call

OTHERWISE = f"is answered otherwise|{TOO_FAR}"


def rows_of_every_kind_are_answered_as_plain_ones(name):
    for case in sample(name):
        case.check(lambda n: [0])


class Guess:
    """A model that always says 1."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return np.ones(len(X), dtype=int)


def groups_of_another_length_tell_no_number_of_rows():
    X, y, people = np.ones((47, 2)), np.ones(47, dtype=int), np.arange(47) // 2
    facts = {"epsilon": 1.0, "delta": 1e-5, "metrics": ["accuracy"], "classes": [0, 1]}
    for length in (46, 48):
        groups = {"groups": np.zeros(length), "group_values": [0, 1]}
        with pytest.raises(ValueError, match="needs") as refusal:
            evaluate(Guess(), X, y, privacy_unit=people, public_model=True, **groups, **facts)
        assert not any(digit in str(refusal.value) for digit in "0123456789"), "a number of rows"


MALFORMED_X = {
    "no columns": lambda X: X[:, :0],
    "objects of no type": lambda X: np.zeros(X.shape, dtype="V4"),
}
MALFORMED_Y = {
    "a table": lambda y: np.column_stack([y, y, y]),
    "too short": lambda y: y[1:],
    "uneven lists": lambda y: [[1, 0]] * (len(y) - 1) + [[1]],
    "truth values": lambda y: y > 0,
}
LABELS = DPLogisticRegression(classes=[0, 1], data_norm=3.0)
TIMES = DPHazardRegressor(times=[0.5, 1.0], data_norm=3.0)
OF_PEOPLE = {
    "model": LABELS.fit,
    "stream": DPLogisticRegression(classes=[0, 1], data_norm=3.0, horizon=100).partial_fit,
    "times": TIMES.fit,
    "search": DPGridSearchCV(LABELS, {"C": [0.1, 1.0]}).fit,
    "encoder": DPOneHotEncoder().fit,
    "selector": DPSelectKBest(classes=[0, 1], bounds=(-1, 1)).fit,
}


def malformed_rows_of_people_tell_no_number_of_rows(who):
    X, y, people = np.ones((47, 2)), np.ones(47, dtype=int), np.arange(47) // 2
    said = []
    given = [(of(X), y) for of in MALFORMED_X.values()] + [
        (X, of(y)) for of in MALFORMED_Y.values()
    ]
    for rows, targets in given:
        try:
            OF_PEOPLE[who](rows, targets, privacy_unit=people)
        except (TypeError, ValueError) as refusal:
            said.append(str(refusal))
    assert said, "nothing was refused"
    assert not any(number in text for text in said for number in ("46", "47")), "a number of rows"


def malformed_times_tell_no_number_of_rows():
    rng = np.random.default_rng(0)
    X, y, people = rng.normal(size=(47, 2)), rng.uniform(0.1, 2.0, size=47), np.arange(47) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(TIMES).fit(X, y)
    with pytest.raises(ValueError, match="needs events beside times") as refusal:
        evaluate(model, X, np.ones((47, 3)), epsilon=1.0, privacy_unit=people)
    assert "47" not in str(refusal.value), "a number of rows"


def told(honest, told):
    return nullcontext()


def zeros_counted_by_rows(honest, self, block):
    out, v = honest(self, block), block.bounded_weights
    out[:, self.cells + 2] += 0.0 if v is None else len(block.y) - v.sum()
    return out


def missing_entries_counted_by_rows(honest, self, X, shares):
    sums, squares, missing = honest(self, X, shares)
    at_zero = self._scaled(np.zeros(X.shape[1]), slice(None))
    more = 0.0 if shares is None else len(shares) - shares.sum()
    return sums + more * at_zero, squares + more * at_zero**2, missing


def weights_left_behind(honest, self):
    found = honest(self)
    return type(found)(found.X, found.y, self.weights, found.units)


def shuffled_if_larger_than_a_block(honest, self, model, rows):
    if rows.n_samples <= self._cut - self._start:
        return never_shuffled(honest, self, model, rows)
    return honest(self, model, rows)


def never_shuffled(honest, *call):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Call, "shuffled", lambda self, noise: self)
        return honest(*call)


class Careless:
    """Numpy, to which everything is a number."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def isnan(values):
        return np.zeros(np.shape(values), dtype=bool)


GUARDS = {
    "score_scale": "score_scale",
    "score_and_curvature": "score_and_curvature",
    "selection": "selection",
    "stream_terms": "stream_scores",
}
SIZES = {
    "times": "opening.telling_sizes",
    "stream": "partial_fit.telling_sizes",
    "search": "search_base.telling_sizes",
    "encoder": "transformers_base.telling_sizes",
    "selector": "transformers_base.telling_sizes",
}
BUGS = (
    Bug("zeros of sparse columns that are counted by rows, not by what these count", {"ColumnCellsQuery._of_block": zeros_counted_by_rows}, partial(rows_of_every_kind_are_answered_as_plain_ones, "column_cells"), OTHERWISE),
    Bug("votes of a person's rows that count one each", {"columns.divided_votes": lambda honest, entries, weights: honest(entries, None)}, partial(rows_of_every_kind_are_answered_as_plain_ones, "magnitude_votes"), f"{TOO_FAR}|{OTHERWISE}"),
    Bug("moments of sparse columns with zeros that count by rows", {"ColumnMomentsQuery._of_stored": missing_entries_counted_by_rows}, partial(rows_of_every_kind_are_answered_as_plain_ones, "column_moments"), OTHERWISE),
    *(Bug(f"weights of people that stay where they were when their rows move ({name})", {"ResidentRows.by_unit": weights_left_behind}, partial(rows_of_every_kind_are_answered_as_plain_ones, name), OTHERWISE) for name in ("gradient", "score_moments")),
    Bug("a block of a stream that is cut in the order in which people come", {"BlockSession.feed": never_shuffled}, who_comes_before_a_cut_is_drawn, "came first"),
    Bug("a cut in a call that is shorter than the block that it ends", {"BlockSession.feed": shuffled_if_larger_than_a_block}, partial(who_comes_before_a_cut_is_drawn, 12), "came first"),
    Bug("groups that are left out of the check of people", {"PrivacyUnits.check": lambda honest, self, X, y, *others: honest(self, X, y)}, groups_of_another_length_tell_no_number_of_rows, "a number of rows"),
    *(Bug(f"messages that say how many rows people have ({name})", {place: told}, partial(malformed_rows_of_people_tell_no_number_of_rows, name), "a number of rows") for name, place in SIZES.items()),
    Bug("messages that say how many times people have", {"evaluate.telling_sizes": told}, malformed_times_tell_no_number_of_rows, "a number of rows"),
    *(Bug(f"scores that are no numbers taken for numbers ({name})", {f"{module}.np": Value(Careless())}, partial(rows_without_numbers_move_as_declared, name), TOO_FAR) for module, name in GUARDS.items()),
)  # fmt: skip
