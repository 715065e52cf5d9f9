"""Bugs in the private search for categories."""

import warnings
from dataclasses import replace
from functools import partial
from math import expm1, log1p, sqrt

import numpy as np
from planted_bugs.bug import Bug, gives
from scipy.stats import norm

from skdp import PrivacySpent
from skdp.preprocessing import DPOneHotEncoder, DPStandardScaler
from skdp.privacy import Adjacency, SeededNoise, gdp
from skdp.privacy.accounting import Spend, ThresholdEvent
from skdp.privacy.mechanisms import ThresholdMechanism, spacing
from skdp.privacy.queries import CategoryCountsQuery
from skdp.privacy.rows import CategoryRows, PrivacyUnits
from skdp.reporting import Receipt, compose, privacy_spent
from skdp.testing import record_fit, replay_fit

COLUMNS, DELTA = (0, 1, 2), 1e-5


def rows_of(own, labels=None):
    """Three columns of what others have, with the entries of one person at the end."""
    columns = [np.array(["a", "b", *own], dtype=object) for _ in COLUMNS]
    return CategoryRows(columns, None if labels is None else PrivacyUnits.of(labels))


def counts_of(rows):
    query = CategoryCountsQuery(COLUMNS, 1e-6)
    return {tuple(cell): n for *cell, n in query.named(rows, query.evaluate(rows))}


def categories_move_as_declared(*, people):
    """Somebody who replaces one category of each column by another, maybe with many rows."""
    own = [["c"], ["d"]] if not people else [["c"] * 9, ["d", "d", *"efghijk"]]
    names = [["x", "y", *["z"] * len(entries)] for entries in own] if people else [None, None]
    one, other = (counts_of(rows_of(*given)) for given in zip(own, names, strict=True))
    cells = one.keys() | other.keys()
    moved = sqrt(sum((one.get(cell, 0.0) - other.get(cell, 0.0)) ** 2 for cell in cells))
    declared = CategoryCountsQuery(COLUMNS, 1e-6).sensitivity(Adjacency.REPLACE_ONE)
    assert moved <= declared * (1 + 1e-9), f"moved by {moved}"


def thresholds_hide_one_person():
    mechanism = ThresholdMechanism.calibrated(sqrt(6), 3, 1e-6, Spend(0.04))
    above = norm.logsf(mechanism.threshold - 1, scale=mechanism.noise_scale)
    shown = -expm1(3 * log1p(-np.exp(above)))
    assert shown <= 1e-6, "one person's category is shown more often than promised"


def grids_say_nothing_of_the_number_of_categories():
    mechanism = ThresholdMechanism.calibrated(sqrt(2), 1, 0.3, Spend(1.0))
    g, noise = (
        spacing(mechanism.sensitivity, mechanism.noise_scale, 1),
        SeededNoise(np.random.default_rng(0)),
    )
    found = mechanism.randomize(np.full(10_000, 1000.0), noise) / g
    assert (found == np.rint(found)).all(), "the grid tells how many categories there are"


def ties_are_broken_alike_whatever_others_have():
    own = np.array(["b", "c"], dtype=object)
    found = []
    for other in "bc":
        column = np.append(own, np.array([other] * 5, dtype=object))
        rows = CategoryRows([column], PrivacyUnits.of(["p", "p", *"vwxyz"]))
        counts = dict(zip(*rows.category_counts(0), strict=True))
        found.append(counts.get((2, other), 0.0) - 5)
    assert found == [1, 0], "a person moves with others"


def names_do_not_depend_on_types_of_other_rows():
    rows = [[True], [False]] * 500
    fits = [DPOneHotEncoder(epsilon=4.0, delta=DELTA).fit(X) for X in (rows, [*rows[1:], [3]])]
    one, other = ([repr(c) for c in fitted.categories_[0].tolist()] for fitted in fits)
    assert one == other, "one row renames the categories of others"


def by_those_of_all(_, self, codes, size):
    """Of several categories of a person the one that most rows of all have."""
    most = np.bincount(codes, minlength=size)
    pairs, rows = np.unique(self._units.codes * size + codes, return_counts=True)
    people, categories = np.divmod(pairs, size)
    order = np.lexsort((-most[categories], -rows, people))
    return categories[order][np.append(True, np.diff(people[order]) != 0)]


def as_one_array(honest, self, X, **options):
    return honest(self, np.asarray(X), **options)


def table():
    return np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=(3000, 2))


def receipts_of_encoders_cover_their_thresholds():
    encoder = DPOneHotEncoder(epsilon=1.0, delta=DELTA).fit(table())
    (event,) = encoder.privacy_ledger_
    left = gdp.delta(event.sensitivity / event.noise_scale, 1.0) + event.threshold_delta
    assert left <= DELTA * (1 + 1e-9), "the budget does not cover the threshold"


def totals_cover_thresholds():
    X = table()
    steps = [DPOneHotEncoder(epsilon=1.0, delta=DELTA), DPStandardScaler(bounds=(0, 2))]
    fitted = [step.set_params(delta=DELTA).fit(X) for step in steps]
    total = privacy_spent(fitted, DELTA)
    events = [event for step in fitted for event in step.privacy_ledger_]
    mu = sqrt(sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in events))
    delta = gdp.delta(mu, total.epsilon) + events[0].threshold_delta
    assert delta <= DELTA * (1 + 1e-6), "the total does not cover the threshold"


def totals_count_thresholds():
    event = ThresholdEvent(
        query="q", sensitivity=0.2, noise_scale=1.0, threshold_delta=1e-6, count=4
    )
    total = compose([Receipt((event,), PrivacySpent(2.0, DELTA))], 9e-6)
    delta = gdp.delta(0.4, total.epsilon) + 4e-6
    assert delta <= 9e-6 * (1 + 1e-6), "the total does not cover the thresholds"


def encoders_follow_from_answers():
    encoder = DPOneHotEncoder(epsilon=1.0, random_state=0)
    transcript = record_fit(encoder, table(), None)
    first = [c.tolist() for c in encoder.categories_]
    other = np.vstack([table()[:-1], [[17.0, 23.0]]])
    replay_fit(encoder, other, None, transcript)
    assert [c.tolist() for c in encoder.categories_] == first, "something else was published"


def rare_categories_stay_secret():
    X = np.vstack([table(), [[17.0, 23.0]]])
    encoder = DPOneHotEncoder(epsilon=1.0, random_state=0).fit(X)
    found = {value for column in encoder.categories_ for value in column.tolist()}
    assert found == {0, 1, 2}, "a category of one person was published"


def published_counts_have_noise():
    encoder = DPOneHotEncoder(epsilon=1.0, delta=DELTA).fit(table())
    exact = [np.unique(column, return_counts=True)[1] for column in table().T]
    assert np.abs(np.subtract(encoder.counts_, exact)).max() > 1e-3, "counts came without noise"


def exactly_named(honest, self, rows, answer):
    """What is above the threshold with noise, without it."""
    return honest(self, rows, np.where(np.isfinite(answer), self.evaluate(rows), answer))


def hashed_columns_follow_from_public_facts():
    shown = []
    for own in (17.0, 23.0):
        rows = np.vstack([table()[:99], [[own, own]]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            encoder = DPOneHotEncoder(epsilon=0.01, delta=DELTA).fit(rows)
        shown.append((len(encoder.privacy_ledger_), *encoder.get_feature_names_out()))
    assert shown[0] == shown[1], "rows decide how columns are hashed"
    # Of BLAKE2b digests of b"2:Bern" and b"1:0x1f".
    places = encoder.transform(np.array([["Bern", 31]], dtype=object)).nonzero()[1].tolist()
    assert places == [4, 8 + 3], "buckets are not those of the public hash"


def all_named(honest, self, rows, answer):
    return honest(self, rows, np.where(np.isfinite(answer), answer, 0.0))


def by_entries(honest, self, n_columns, n_samples):
    return honest(self, n_columns, n_samples) and 17 not in DPOneHotEncoder._seen[0]


def peeks(honest, self, columns, units=None):
    honest(self, columns, units)
    DPOneHotEncoder._seen = [np.unique(column) for column in columns]


def from_rows(honest, self, counts, n_samples):
    categories, noisy = honest(self, counts, n_samples)
    rare = [(1, int(value)) for value in DPOneHotEncoder._seen[0] if value > 2]
    return categories + rare, np.append(noisy, [0.0] * len(rare))


BUGS = (
    Bug("a threshold without delta", {"ThresholdMechanism.threshold": gives(1.0)}, thresholds_hide_one_person, "more often than promised"),
    Bug("a threshold for one of several columns", {"ThresholdMechanism.threshold": lambda honest, self: honest(ThresholdMechanism(self.sensitivity, self.noise_scale, 1, self.threshold_delta))}, thresholds_hide_one_person, "more often than promised"),
    Bug("noise on categories for one column of several", {"CategoryCountsQuery.sensitivity": lambda _, self, adjacency: adjacency.of_histogram()}, partial(categories_move_as_declared, people=False), "moved by"),
    Bug("people who count in all categories of their rows", {"CategoryRows._of_people": lambda _, self, codes, size: codes}, partial(categories_move_as_declared, people=True), "moved by"),
    Bug("people whose category others decide", {"CategoryRows._of_people": by_those_of_all}, ties_are_broken_alike_whatever_others_have, "moves with others"),
    Bug("rows of a list read as an array of one type", {"DPOneHotEncoder._checked": as_one_array}, names_do_not_depend_on_types_of_other_rows, "renames the categories"),
    Bug("a total that counts a threshold once of several", {"composition._added_deltas": lambda honest, events, relation: honest([replace(event, count=1) for event in events], relation)}, totals_count_thresholds, "does not cover the thresholds"),
    Bug("a delta of a threshold that no ledger sets aside", {"ThresholdedGaussianDP._left": lambda _, self, delta: delta}, receipts_of_encoders_cover_their_thresholds, "does not cover the threshold"),
    Bug("a total that forgets the deltas of thresholds", {"composition._added_deltas": gives([])}, totals_cover_thresholds, "does not cover the threshold"),
    Bug("categories that were not published, by name", {"CategoryCountsQuery.named": all_named}, rare_categories_stay_secret, "was published"),
    Bug("exact counts of what noise has brought above a threshold", {"CategoryCountsQuery.named": exactly_named}, published_counts_have_noise, "without noise"),
    Bug("categories that are read off the rows", {"CategoryRows.__init__": peeks, "DPOneHotEncoder._kept": from_rows}, encoders_follow_from_answers, "something else was published"),
    Bug("buckets by another hash", {"one_hot_encoder.bucket_of": lambda honest, category, n_buckets: (honest(category, n_buckets) + 1) % n_buckets}, hashed_columns_follow_from_public_facts, "not those of the public hash"),
    Bug("hashing where rows hold nothing rare", {"CategoryRows.__init__": peeks, "DPOneHotEncoder._hashes": by_entries}, hashed_columns_follow_from_public_facts, "rows decide"),
    Bug("a grid by how many categories there are", {"gaussian.noisy_on_grid": lambda honest, *args, counts=False: honest(*args)}, grids_say_nothing_of_the_number_of_categories, "how many categories"),
)  # fmt: skip
