"""Bugs in private preprocessing that its queries do not show by themselves."""

from dataclasses import replace
from functools import partial

import numpy as np
import test_every_transformer as battery
from planted_bugs.bug import REPLACE_ONE, ZERO_OUT, Bug, sets
from preprocessing import test_select_k_best as selectors

from skdp.preprocessing import (
    DPPCA,
    DPMinMaxScaler,
    DPQuantileTransformer,
    DPSelectKBest,
    DPStandardScaler,
)

NEIGHBOURS = battery.test_neighbours_are_no_further_apart_than_promised
FOLLOWS = battery.test_all_that_is_published_follows_from_paid_answers
QUANTILES = DPQuantileTransformer(n_quantiles=50, epsilon=20.0, bounds=(-1e10, 1e10))


def peeks(honest, self, X, *, reset, copy=False):
    rows = honest(self, X, reset=reset, copy=copy)
    self.seen = (rows.min(axis=0), rows.max(axis=0))
    return rows


def half_of_the_charge(honest, self, event):
    honest(self, replace(event, noise_scale=2.0 * event.noise_scale))


def free(query):
    def bug(honest, self, event):
        if event.query != query:
            honest(self, event)

    return bug


def peeks_at_targets(honest, self, X, y):
    self.spread = y.std()
    return honest(self, X, y)


def by_exact_spread(honest, self, oracle, n_samples):
    honest(self, oracle, n_samples)
    self.scores_ /= self.spread


BUGS = (
    Bug("quantiles that pay for half of the noise they lack", {"Ledger.charge": half_of_the_charge}, partial(NEIGHBOURS, QUANTILES, REPLACE_ONE), "more was told than was charged"),
    Bug("quantiles of neighbours priced by one level of the tree", {"ColumnTreeQuery.sensitivity": lambda _, self, a: np.sqrt(2.0 * self.bounds.low.size)}, partial(NEIGHBOURS, QUANTILES, REPLACE_ONE), "further apart than promised"),
    Bug("components that nobody pays for", {"Ledger.charge": free("second_moments")}, partial(NEIGHBOURS, DPPCA(epsilon=20.0, bounds=(-100.0, 100.0)), ZERO_OUT), "more was told than was charged"),
    Bug("noise for half the features", {"ColumnCellsQuery.sensitivity": lambda _, self, a: np.sqrt(len(self.columns))}, partial(NEIGHBOURS, DPMinMaxScaler(epsilon=20.0), REPLACE_ONE), "beyond the sensitivity|further apart than promised"),
    Bug("ranges that nobody pays for", {"Ledger.charge": free("magnitude_votes")}, partial(NEIGHBOURS, DPStandardScaler(epsilon=20.0), REPLACE_ONE), "further apart than promised"),
    Bug("ranges of quantiles that are read off the rows", {"Transformer._checked": peeks, "RangedTransformer._settle": sets("bounds", lambda self: self.seen)}, partial(FOLLOWS, QUANTILES, False), "another content"),
    Bug("bounds of a scaler that are read off the rows", {"Transformer._checked": peeks, "RangedTransformer._settle": sets("bounds", lambda self: self.seen)}, partial(FOLLOWS, DPStandardScaler(bounds=(-1e10, 1e10)), False), "another content"),
    Bug("a seed of a scaler that travels", {"PrivateTransformer.__getstate__": lambda _, self: vars(self).copy()}, partial(battery.test_a_copy_transforms_alike_and_knows_neither_rows_nor_seed, DPStandardScaler(), battery.WAYS["pickle"]), "keeps its seed"),
    Bug("scores in units of the exact spread of targets", {"DPSelectKBest._targets": peeks_at_targets, "DPSelectKBest._learn": by_exact_spread}, partial(FOLLOWS, DPSelectKBest(target_bounds=(0.0, 100.0), bounds=(-100.0, 100.0), epsilon=20.0), False), "scores_"),
    Bug("products with targets that nobody pays for", {"Ledger.charge": free("gradient")}, partial(selectors.test_neighbours_are_no_further_apart_than_promised, "numbers", "both", REPLACE_ONE), "more was told than was charged"),
)  # fmt: skip
