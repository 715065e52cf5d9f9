"""Bugs in private preprocessing that its queries do not show by themselves."""

from dataclasses import replace
from functools import partial

import numpy as np
from examples_of_transformers import KNOWN, make_rows
from planted_bugs.bug import Bug, sets
from twin_oracle import TwinOracle, distance

from skdp.preprocessing import (
    DPPCA,
    DPKBinsDiscretizer,
    DPMinMaxScaler,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSelectKBest,
    DPSplineTransformer,
    DPStandardScaler,
)
from skdp.privacy import gdp, opened_by
from skdp.privacy.rows import DenseRows
from skdp.testing import check_seed_stays_behind, record_fit, replay_fit

# Four bytes that occur in a pickle for no other reason.
SEED = 1_234_567_891


def apart(scaler):
    """Distance of the answers about neighbours in standard deviations, and the largest move."""
    X = make_rows()
    other = X.copy()
    X[0], other[0] = 1e5, -1e5
    return distance(scaler, X, other)


def ranges_are_found_within_their_budget(scaler=DPMinMaxScaler(epsilon=20.0)):  # noqa: B008
    mu, largest = apart(scaler)
    assert largest <= 1, "a move beyond the sensitivity"
    assert mu <= gdp.mu(20.0, 1e-5), "further apart than promised"


def receipts_of_scalers_cover_what_neighbours_show():
    scaler = DPStandardScaler(epsilon=20.0)
    mu, _ = apart(scaler)
    charged = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in scaler.privacy_ledger_)
    assert mu**2 <= charged, "more was told than was charged"


def scalers_follow_from_answers():
    """Recorded answers lead to the same queries, whatever the rows are."""
    scaler = DPStandardScaler(bounds=(-1e10, 1e10), random_state=0)
    transcript = record_fit(scaler, make_rows(), None)
    replay_fit(scaler, 2 * make_rows(seed=5), None, transcript)


def seeds_of_scalers_stay_behind():
    check_seed_stays_behind(DPStandardScaler(random_state=SEED).fit(make_rows()), SEED)


def peeks(honest, self, X, *, reset, copy=False):
    rows = honest(self, X, reset=reset, copy=copy)
    self.seen = (rows.min(axis=0), rows.max(axis=0))
    return rows


def free_ranges(honest, self, event):
    if event.query != "magnitude_votes":
        honest(self, event)


def receipts_cover_what_neighbours_show(kind):
    transformer = kind(epsilon=20.0, bounds=KNOWN)
    X = make_rows()
    other = X.copy()
    # Neither along each other nor opposite.
    X[0], other[0] = 1e5, [1e5, -1e5, -1e5]
    mu, _ = distance(transformer, X, other)
    receipt = transformer.privacy_ledger_
    charged = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in receipt)
    assert mu**2 <= charged, "more was told than was charged"


def quantiles_follow_from_answers():
    for make in (DPQuantileTransformer, DPKBinsDiscretizer, DPSplineTransformer, DPRobustScaler):
        transformer = make(bounds=(-1e10, 1e10), random_state=0)
        transcript = record_fit(transformer, make_rows(), None)
        first = transformer.transform(make_rows())
        replay_fit(transformer, 2 * make_rows(seed=5), None, transcript)
        second = transformer.transform(make_rows())
        assert abs(first - second).max() == 0, "rows decide beside the answers"


def half_of_the_charge(honest, self, event):
    honest(self, replace(event, noise_scale=2.0 * event.noise_scale))


def free_components(honest, self, event):
    if event.query != "second_moments":
        honest(self, event)


def selectors_follow_from_answers():
    selector = DPSelectKBest(k=1, target_bounds=(-1e3, 1e3), bounds=KNOWN, random_state=0)
    X = make_rows()
    transcript = record_fit(selector, X, X[:, 2])
    first = selector.scores_
    replay_fit(selector, X, 3 * X[::-1, 1], transcript)
    assert abs(selector.scores_ - first).max() == 0, "targets decide beside the answers"


def peeks_at_targets(honest, self, X, y):
    self.spread = y.std()
    return honest(self, X, y)


def by_exact_spread(honest, self, oracle, n_samples):
    honest(self, oracle, n_samples)
    self.scores_ /= self.spread


def selectors_pay_for_targets():
    selector = DPSelectKBest(k=1, target_bounds=(-1.0, 1.0), bounds=KNOWN, epsilon=20.0)
    X = make_rows()
    made = []

    def oracle(rows, ledger, adjacency, noise):
        others = DenseRows(X, np.append(-1.0, np.ones(len(X) - 1)))
        made.append(TwinOracle(rows, others, ledger, adjacency, noise))
        return made[-1]

    with opened_by(oracle):
        selector.fit(X, np.ones(len(X)))
    receipt = selector.privacy_ledger_
    charged = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in receipt)
    told = sum(in_noise**2 for in_noise, _ in made[0].moves)
    # Columns alone are moments, which the targets do not move.
    columns = next(e for e in receipt if e.query == "column_moments")
    charged -= columns.count * (columns.sensitivity / columns.noise_scale) ** 2
    assert told <= charged, "more was told than was charged"


def free_products(honest, self, event):
    if event.query != "gradient":
        honest(self, event)


BUGS = (
    Bug("quantiles that pay for half of the noise they lack", {"Ledger.charge": half_of_the_charge}, partial(receipts_cover_what_neighbours_show, DPQuantileTransformer), "more was told than was charged"),
    Bug("quantiles of neighbours priced by one level of the tree", {"ColumnTreeQuery.sensitivity": lambda _, self, a: np.sqrt(2.0 * self.bounds.low.size)}, partial(ranges_are_found_within_their_budget, DPQuantileTransformer(epsilon=20.0, bounds=(-1e6, 1e6))), "beyond the sensitivity"),
    Bug("components that nobody pays for", {"Ledger.charge": free_components}, partial(receipts_cover_what_neighbours_show, DPPCA), "more was told than was charged"),
    Bug("scores in units of the exact spread of targets", {"DPSelectKBest._targets": peeks_at_targets, "DPSelectKBest._learn": by_exact_spread}, selectors_follow_from_answers, "targets decide beside the answers"),
    Bug("products with targets that nobody pays for", {"Ledger.charge": free_products}, selectors_pay_for_targets, "more was told than was charged"),
    Bug("ranges of quantiles that are read off the rows", {"Transformer._checked": peeks, "QuantileLearner._settle": sets("bounds", lambda self: self.seen)}, quantiles_follow_from_answers, "another content"),
    Bug("noise for half the features", {"ColumnCellsQuery.sensitivity": lambda _, self, a: np.sqrt(len(self.columns))}, ranges_are_found_within_their_budget, "beyond the sensitivity"),
    Bug("ranges that nobody pays for", {"Ledger.charge": free_ranges}, receipts_of_scalers_cover_what_neighbours_show, "more was told than was charged"),
    Bug("bounds of a scaler that are read off the rows", {"Transformer._checked": peeks, "DPStandardScaler._settle": sets("bounds", lambda self: self.seen)}, scalers_follow_from_answers, "another content"),
    Bug("a seed of a scaler that travels", {"PrivateTransformer.__getstate__": lambda _, self: vars(self).copy()}, seeds_of_scalers_stay_behind, "keeps its seed"),
)  # fmt: skip
