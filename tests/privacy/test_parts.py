"""Parts of a stream compose in parallel, in bounded memory, and the receipt says so."""

from math import sqrt

import numpy as np
import pytest

from skdp.privacy.accounting import GaussianEvent, Ledger, Part, gdp
from skdp.reporting import ParallelComposition

EPSILON, DELTA = 1.0, 1e-5
LIMIT = gdp.mu(EPSILON, DELTA) ** 2


def charged(*shares):
    """A ledger that was charged these shares of its budget."""
    ledger = Ledger(EPSILON, DELTA)
    for k, share in enumerate(shares):
        noise = 1 / sqrt(share * LIMIT)
        ledger.charge(GaussianEvent(query=f"q{k}", sensitivity=1.0, noise_scale=noise))
    return ledger


def recomputed(events):
    """Spend from the fields of the events alone: the maximum over parts of sums of mu^2."""
    totals = {}
    for e in events:
        price = e.count * (e.sensitivity / e.noise_scale) ** 2
        totals[e.part] = totals.get(e.part, 0.0) + price
    return gdp.epsilon(sqrt(max(totals.values())), DELTA)


def test_nothing_is_spent_before_the_first_part():
    assert ParallelComposition().spent() == (0.0, 0.0)
    assert ParallelComposition().events() == ()


def test_the_spend_is_the_largest_of_a_part_and_not_the_sum():
    parts = ParallelComposition()
    for shares in ([0.2, 0.3], [0.9], [0.1]):
        parts.add(10, charged(*shares))
    assert parts.spent() == charged(0.9).spent()
    assert parts.spent().epsilon == pytest.approx(recomputed(parts.events()))


def test_events_name_the_rows_they_are_about_and_parts_do_not_overlap():
    parts = ParallelComposition()
    for n in (3, 5, 1):
        parts.add(n, charged(0.5, 0.1))
    named = sorted({e.part for e in parts.events()}, key=lambda part: part.start)
    assert named == [Part(0, 3), Part(3, 8), Part(8, 9)]
    assert parts.stop == 9
    assert all(e.part is None for e in parts.events(named=False))


def test_a_part_without_charges_takes_its_rows():
    parts = ParallelComposition()
    parts.add(4, charged())
    parts.add(4, charged(0.5))
    assert {e.part for e in parts.events()} == {Part(4, 8)}


def test_folding_bounds_memory_and_keeps_the_spend():
    rng = np.random.default_rng(0)
    parts, largest = ParallelComposition(), 0.0
    for k in range(500):
        share = float(rng.uniform(0.01, 0.9)) if k != 7 else 0.95
        largest = max(largest, share)
        parts.add(2, charged(share / 2, share / 2))
        assert len(parts.events()) <= 2 * 17
        assert parts.spent() == charged(largest / 2, largest / 2).spent()
        assert recomputed(parts.events()) == pytest.approx(parts.spent().epsilon)
    named = sorted({e.part for e in parts.events()}, key=lambda part: part.start)
    # Still without a gap and without a row in two parts, and every part is counted.
    assert [p.start for p in named] == [0, *(p.stop for p in named[:-1])]
    assert named[-1].stop == 1000
    assert sum(p.count for p in named) == 500
    # The most expensive part of those that were folded is the one that is still there.
    assert named[0].count > 400


def test_rows_that_nobody_asked_about_are_in_no_part():
    parts = ParallelComposition()
    parts.add(4, charged(0.5))
    parts.stop += 3
    parts.add(4, charged(0.5))
    assert {e.part for e in parts.events()} == {Part(0, 4), Part(7, 11)}
