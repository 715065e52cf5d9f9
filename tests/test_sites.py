import numpy as np
import pytest

from skdp.problem import Sites


def test_groups_become_sites_in_sorted_order_of_their_labels():
    sites = Sites.of_labels(["b", "a", "b", "c", "a", "b"])
    assert sites.labels == ("a", "b", "c")
    np.testing.assert_array_equal(sites.sizes, [2, 3, 1])
    np.testing.assert_array_equal(sites.order, [1, 4, 0, 2, 5, 3])
    np.testing.assert_array_equal(sites.of_rows(), [1, 0, 1, 2, 0, 1])


def test_rows_that_lie_in_order_need_none():
    sites = Sites.of_labels(np.array([3, 3, 7]))
    assert sites.order is None
    assert sites.labels == (3, 7)
    np.testing.assert_array_equal(sites.of_rows(), [0, 0, 1])


@pytest.mark.parametrize(("n", "m"), [(10, 3), (9, 3), (5, 5), (7, 1)])
def test_equal_sites_share_out_all_rows_evenly(n, m):
    sites = Sites.equal(n, m, np.random.default_rng(0))
    assert sites.sizes.sum() == n
    assert np.ptp(sites.sizes) <= 1
    np.testing.assert_array_equal(np.bincount(sites.of_rows()), sites.sizes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sites((), np.array([], dtype=int)), "at least one site"),
        (lambda: Sites((0, 1), np.array([1, 0])), "size of at least 1"),
        (lambda: Sites((0, 0), np.array([1, 1])), "all different"),
        (lambda: Sites((0,), np.array([3]), np.array([0, 0, 1])), "order of all 3 rows"),
        (lambda: Sites.of_labels([]), "one label a row"),
        (lambda: Sites.of_labels([[1, 2]]), "one label a row"),
        (lambda: Sites.of_labels(np.array([1, "a", None], dtype=object)), "one label a row"),
        (lambda: Sites.of_labels([1.0, np.nan]), "none of them missing"),
    ],
)
def test_what_is_no_partition_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
