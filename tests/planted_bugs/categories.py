"""Bugs in the private search for categories."""

import warnings
from functools import partial
from math import expm1, log1p, sqrt

import numpy as np
from planted_bugs.bug import Bug, gives
from scipy.stats import norm

from skdp.preprocessing import DPOneHotEncoder, DPStandardScaler
from skdp.privacy import Adjacency, SeededNoise, gdp
from skdp.privacy.accounting import Spend
from skdp.privacy.mechanisms import ThresholdMechanism, spacing
from skdp.privacy.queries import CategoryCountsQuery
from skdp.privacy.rows import CategoryRows, PrivacyUnits
from skdp.reporting import privacy_spent
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
    Bug("a delta of a threshold that no ledger sets aside", {"ThresholdedGaussianDP._left": lambda _, self, delta: delta}, receipts_of_encoders_cover_their_thresholds, "does not cover the threshold"),
    Bug("a total that forgets the deltas of thresholds", {"composition._added_deltas": gives([])}, totals_cover_thresholds, "does not cover the threshold"),
    Bug("categories that were not published, by name", {"CategoryCountsQuery.named": all_named}, rare_categories_stay_secret, "was published"),
    Bug("categories that are read off the rows", {"CategoryRows.__init__": peeks, "DPOneHotEncoder._kept": from_rows}, encoders_follow_from_answers, "something else was published"),
    Bug("buckets by another hash", {"one_hot_encoder.bucket_of": lambda honest, category, n_buckets: (honest(category, n_buckets) + 1) % n_buckets}, hashed_columns_follow_from_public_facts, "not those of the public hash"),
    Bug("hashing where rows hold nothing rare", {"CategoryRows.__init__": peeks, "DPOneHotEncoder._hashes": by_entries}, hashed_columns_follow_from_public_facts, "rows decide"),
    Bug("a grid by how many categories there are", {"threshold.noisy_on_grid": lambda honest, *args, counts: honest(*args)}, grids_say_nothing_of_the_number_of_categories, "how many categories"),
)  # fmt: skip
