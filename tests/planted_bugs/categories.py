"""Bugs in the private search for categories."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
from planted_bugs.bug import Bug, gives
from preprocessing import test_one_hot_encoder as encoders
from privacy import test_thresholds
from privacy.queries import test_categories

from skdp.preprocessing import DPOneHotEncoder
from skdp.privacy import Adjacency
from skdp.privacy.mechanisms import ThresholdMechanism
from skdp.privacy.queries import CategoryCountsQuery
from skdp.privacy.rows import CategoryRows, PrivacyUnits

COLUMNS, DELTA = (0, 1, 2), 1e-5


def rows_of(own, labels=None):
    """Three columns of what others have, with the entries of one person at the end."""
    columns = [np.array(["a", "b", *own], dtype=object) for _ in COLUMNS]
    return CategoryRows(columns, None if labels is None else PrivacyUnits.of(labels))


def counts_of(rows):
    query = CategoryCountsQuery(COLUMNS, 1e-6)
    return {tuple(cell): n for *cell, n in query.named(rows, query.evaluate(rows))}


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
    rare = [(2, town) for town in DPOneHotEncoder._seen[0] if (2, town) not in categories]
    return categories + rare, np.append(noisy, [0.0] * len(rare))


HIDES = partial(
    test_categories.test_the_threshold_hides_categories_of_one_person_but_for_its_delta,
    delta=1e-7,
    c=8,
)
BUGS = (
    Bug("a threshold without delta", {"ThresholdMechanism.threshold": gives(1.0)}, HIDES),
    Bug("a threshold for one of several columns", {"ThresholdMechanism.threshold": lambda honest, self: honest(ThresholdMechanism(self.sensitivity, self.noise_scale, 1, self.threshold_delta))}, HIDES),
    Bug("noise on categories for one column of several", {"CategoryCountsQuery.sensitivity": lambda _, self, adjacency: adjacency.of_histogram()}, partial(test_categories.test_no_neighbours_are_further_apart_than_declared_and_some_are_as_far, Adjacency.REPLACE_ONE)),
    Bug("people who count in all categories of their rows", {"CategoryRows._of_people": lambda _, self, codes, size: codes}, partial(test_categories.test_people_with_any_rows_are_no_further_apart_than_declared, Adjacency.REPLACE_ONE)),
    Bug("people whose category others decide", {"CategoryRows._of_people": by_those_of_all}, test_categories.test_which_of_equally_frequent_categories_counts_is_no_matter_of_others),
    Bug("rows of a list read as an array of one type", {"DPOneHotEncoder._checked": as_one_array}, encoders.test_a_row_of_a_list_does_not_change_the_names_of_others),
    Bug("a total that counts a threshold once of several", {"composition._added_deltas": lambda honest, events, relation: honest([replace(event, count=1) for event in events], relation)}, test_thresholds.test_each_of_several_releases_adds_the_delta_of_its_threshold),
    Bug("a delta of a threshold that no ledger sets aside", {"ThresholdedGaussianDP._left": lambda _, self, delta: delta}, test_thresholds.test_a_ledger_sets_the_delta_aside_from_the_start),
    Bug("a total that forgets the deltas of thresholds", {"composition._added_deltas": gives([])}, test_thresholds.test_a_total_takes_the_deltas_of_thresholds_off_its_own),
    Bug("categories that were not published, by name", {"CategoryCountsQuery.named": all_named}, encoders.test_rare_categories_make_no_difference),
    Bug("exact counts of what noise has brought above a threshold", {"CategoryCountsQuery.named": exactly_named}, published_counts_have_noise, "without noise"),
    Bug("categories that are read off the rows", {"CategoryRows.__init__": peeks, "DPOneHotEncoder._kept": from_rows}, encoders.test_all_that_is_published_follows_from_paid_answers),
    Bug("buckets by another hash", {"one_hot_encoder.bucket_of": lambda honest, category, n_buckets: (honest(category, n_buckets) + 1) % n_buckets}, hashed_columns_follow_from_public_facts, "not those of the public hash"),
    Bug("hashing where rows hold nothing rare", {"CategoryRows.__init__": peeks, "DPOneHotEncoder._hashes": by_entries}, hashed_columns_follow_from_public_facts, "rows decide"),
    Bug("a grid by how many categories there are", {"gaussian.noisy_on_grid": lambda honest, *args, counts=False: honest(*args)}, test_categories.test_neither_grid_nor_threshold_tell_how_many_categories_there_are),
)  # fmt: skip
