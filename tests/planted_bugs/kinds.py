"""Bugs in kinds of rows that no example of a query is written for: the product finds them."""

from functools import partial

import numpy as np
import pytest
from examples_of_visits import who_comes_before_a_cut_is_drawn
from planted_bugs.bug import TOO_FAR, Bug, Value
from queries_over_rows import rows_without_numbers_move_as_declared, sample

from skdp import evaluate
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


def zeros_counted_by_rows(honest, self, block):
    out, v = honest(self, block), block.bounded_weights
    out[:, self.cells + 2] += 0.0 if v is None else len(block.y) - v.sum()
    return out


def missing_entries_counted_by_rows(honest, self, X, shares):
    sums, squares = honest(self, X, shares)
    at_zero = self._scaled(np.zeros(X.shape[1]), slice(None))
    more = 0.0 if shares is None else len(shares) - shares.sum()
    return sums + more * at_zero, squares + more * at_zero**2


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
BUGS = (
    Bug("zeros of sparse columns that are counted by rows, not by what these count", {"ColumnCellsQuery._of_block": zeros_counted_by_rows}, partial(rows_of_every_kind_are_answered_as_plain_ones, "column_cells"), OTHERWISE),
    Bug("votes of a person's rows that count one each", {"columns.divided_votes": lambda honest, entries, weights: honest(entries, None)}, partial(rows_of_every_kind_are_answered_as_plain_ones, "magnitude_votes"), f"{TOO_FAR}|{OTHERWISE}"),
    Bug("moments of sparse columns with zeros that count by rows", {"ColumnMomentsQuery._of_stored": missing_entries_counted_by_rows}, partial(rows_of_every_kind_are_answered_as_plain_ones, "column_moments"), OTHERWISE),
    *(Bug(f"weights of people that stay where they were when their rows move ({name})", {"ResidentRows.by_unit": weights_left_behind}, partial(rows_of_every_kind_are_answered_as_plain_ones, name), OTHERWISE) for name in ("gradient", "score_moments")),
    Bug("a block of a stream that is cut in the order in which people come", {"BlockSession.feed": never_shuffled}, who_comes_before_a_cut_is_drawn, "came first"),
    Bug("a cut in a call that is shorter than the block that it ends", {"BlockSession.feed": shuffled_if_larger_than_a_block}, partial(who_comes_before_a_cut_is_drawn, 12), "came first"),
    Bug("groups that are left out of the check of people", {"PrivacyUnits.check": lambda honest, self, X, y, *others: honest(self, X, y)}, groups_of_another_length_tell_no_number_of_rows, "a number of rows"),
    *(Bug(f"scores that are no numbers taken for numbers ({name})", {f"{module}.np": Value(Careless())}, partial(rows_without_numbers_move_as_declared, name), TOO_FAR) for module, name in GUARDS.items()),
)  # fmt: skip
