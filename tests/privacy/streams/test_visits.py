"""Running sums over persons who come back: what a person moves is what was charged, and no more."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from examples_of_units import ALIKE, UNLIKE
from examples_of_visits import (
    BACK,
    FAR,
    RELEASES,
    calls_with,
    choices_pay_for_all_visits,
    mu_of_move,
    opened,
    sums,
    who_comes_before_a_cut_is_drawn,
)

from skdp.privacy import Adjacency, SystemNoise
from skdp.privacy.mechanisms import prefix_sums_by
from skdp.privacy.rows import DenseRows, SparseRows
from skdp.privacy.streams import Call, Visits

every_mechanism = pytest.mark.parametrize("mechanism", ["blt", "toeplitz", "tree"])
every_number = pytest.mark.parametrize("max_visits", [1, 2, 4])


def told(max_visits, one, other, mechanism="toeplitz", **facts):
    found, event = sums(max_visits, one, mechanism=mechanism, **facts)
    moved, _ = sums(max_visits, other, mechanism=mechanism, **facts)
    return mu_of_move(found, moved, event, prefix_sums_by(mechanism, RELEASES))


@every_mechanism
@every_number
def test_a_person_at_the_worst_places_is_told_as_well_as_was_charged(mechanism, max_visits):
    ratios = []
    for visits in combinations(range(RELEASES), max_visits):
        mu, charged = told(max_visits, calls_with(FAR, visits), calls_with(BACK, visits), mechanism)
        ratios.append(mu / charged)
    assert 0.9 <= max(ratios) <= 1


@every_number
@pytest.mark.parametrize("rows", [1, 10, 1000])
def test_more_visits_and_more_rows_tell_no_more(max_visits, rows):
    often = set(range(RELEASES))
    for single in (False, True):
        one = calls_with(FAR, often, rows, single=single)
        mu, charged = told(max_visits, one, calls_with(BACK, often, 1, single=single))
        assert 0.9 <= mu / charged <= 1


def test_choices_pay_for_all_visits_of_a_person():
    choices_pay_for_all_visits()


def test_a_person_who_is_left_out_is_told_half_as_well():
    facts = {"adjacency": Adjacency.ZERO_OUT, "mechanism": "toeplitz"}
    nobody = (np.zeros(2), 0.0)
    mu, charged = told(2, calls_with(FAR, {0, 1}), calls_with(nobody, {0, 1}), **facts)
    assert 0.9 <= mu / charged <= 1


def test_rows_of_a_person_share_the_weight_of_one():
    found, _ = sums(2, calls_with(FAR, {0, 3}, 1))
    again, _ = sums(2, calls_with(FAR, {0, 3}, 7))
    np.testing.assert_allclose(again, found, atol=1e-4)


def test_visits_beyond_the_declared_number_count_nothing():
    found, _ = sums(2, calls_with(FAR, {0, 2, 4, 5}))
    late = {4: BACK, 5: (np.zeros(2), 1.0)}
    other = calls_with(FAR, {0, 2, 4, 5})
    for batch, (x, y) in late.items():
        X, targets, labels = other[batch]
        other[batch] = (x, *X[1:]), (y, *targets[1:]), labels
    np.testing.assert_array_equal(found, sums(2, other)[0])
    assert not np.array_equal(found, sums(3, other)[0])


def test_a_person_counts_once_in_a_batch():
    """Though calls that share a batch are several."""
    calls = calls_with(FAR, set(), single=True)
    calls[1] = ([FAR[0]], [FAR[1]], [calls[0][2][0]])
    found, _ = sums(5, calls)
    calls[1] = ([np.zeros(2)], [0.0], ["nobody else"])
    np.testing.assert_array_equal(found, sums(5, calls)[0])


@pytest.mark.parametrize("kind", [DenseRows, SparseRows])
def test_a_call_is_cut_between_persons(kind):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    store = kind(X if kind is DenseRows else sp.csr_array(X), y)
    call = Call(store, ["b", "a", "b", "c", "a", "b"])
    assert call.n_samples == 3
    assert call.labels == ["b", "a", "c"]
    assert call.rows.y.tolist() == [0, 2, 5, 1, 4, 3]
    part = call.part(1, 3)
    assert part.rows.y.tolist() == [1, 4, 3]
    assert part.row_labels() == ["a", "a", "c"]
    counting = part.counting(np.array([False, True]))
    assert counting.n_samples == 2
    shares = np.concatenate([block.bounded_weights for block in counting.blocks()])
    assert shares.tolist() == [0, 0, 1]


def test_calls_that_are_cut_are_put_in_an_order_that_is_as_likely_as_any_other():
    """So it tells nothing where in a call somebody's rows stood."""
    rows, noise = DenseRows(np.arange(8.0).reshape(4, 2), np.arange(4.0)), SystemNoise()
    call, orders = Call(rows, ["a", "b", "b", "c"]), Counter()
    for _ in range(600):
        other = call.shuffled(noise)
        assert other.n_samples == 3
        whose = dict(zip([0.0, 1.0, 2.0, 3.0], "abbc", strict=True))
        assert [whose[y] for y in other.rows.y] == other.row_labels()
        orders["".join(other.labels)] += 1
    assert len(orders) == 6
    # Each is binomial with mean 100 and standard deviation 9.1.
    assert all(abs(count - 100) < 50 for count in orders.values())


@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
@pytest.mark.parametrize("before", [0, 12])
def test_who_is_in_the_first_block_of_a_call_that_is_cut_is_drawn(before):
    who_comes_before_a_cut_is_drawn(before)


def test_a_call_is_put_in_order_only_where_it_is_cut(monkeypatch):
    seen = []
    monkeypatch.setattr(Call, "shuffled", lambda self, noise: seen.append(1) or self)
    sums(1, calls_with(FAR, {1}))
    sums(1, calls_with(FAR, {1}, single=True))
    assert not seen
    (X, y, labels), (V, t, others), *rest = calls_with(FAR, {1})
    sums(1, [((*X, *V), (*y, *t), [*labels, *others]), *rest])
    assert len(seen) == 1


def test_visits_of_persons_and_not_rows_are_counted_towards_the_horizon():
    calls, horizon = calls_with(FAR, {1}, rows=5), opened(1).receipts[0][0]
    with pytest.raises(ValueError, match=f"visits of persons than its horizon of {horizon}, .* 0 "):
        sums(1, [*calls, calls[0]])


@pytest.mark.parametrize("name", ALIKE)
def test_a_person_is_the_same_in_calls_with_labels_of_one_kind(name):
    rows, visits = DenseRows(np.zeros((3, 2)), np.zeros(3)), Visits(1)
    for k, labels in enumerate(ALIKE[name]):
        call = Call(rows, labels)
        visits.expect(call.kind)
        assert visits.admit(call.labels, k).tolist() == [k == 0] * 3


@pytest.mark.parametrize("name", UNLIKE)
def test_calls_with_labels_of_another_kind_are_refused(name):
    rows = DenseRows(np.zeros((3, 2)), np.zeros(3))
    for first, second in (UNLIKE[name], UNLIKE[name][::-1]):
        visits = Visits(1)
        visits.expect(Call(rows, first).kind)
        with pytest.raises(ValueError, match="labels of one type in all rows"):
            visits.expect(Call(rows, second).kind)
        visits.expect(Call(rows, first).kind)
