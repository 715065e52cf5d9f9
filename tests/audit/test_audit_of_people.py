"""Audits of fits that protect all rows of a person: bounds near the claim, and never above it."""

import numpy as np
import pytest
import scipy.sparse as sp

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.audit import audit
from skdp.preprocessing import DPStandardScaler
from skdp.privacy.rows import RawBlock
from skdp.solvers import GD

pytestmark = pytest.mark.filterwarnings("ignore::skdp.BudgetWarning")

PEOPLE = 12


def people(sizes=(1, 6), seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(PEOPLE), rng.integers(*sizes, PEOPLE))
    labels = np.append(labels, np.zeros(50 - np.count_nonzero(labels == 0), dtype=int))
    X = rng.normal(size=(len(labels), 3))
    return X, (X[:, 0] > 0) * 1, labels


def logistic(**options):
    return DPLogisticRegression(classes=[0, 1], data_norm=1.0, precondition=None, **options)


def ratio(estimator, X, y, labels, **options):
    """Share of the claim that is found; by chance it exceeds 1 once in 10,000 audits."""
    params = {"privacy_unit": labels}
    result = audit(estimator, X, y, fit_params=params, confidence=0.9999, **options)
    assert not result.leaks
    assert not result.refuted
    return result.ratio


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.by_day(1)
def test_a_person_with_fifty_rows_is_told_apart_and_no_better_than_claimed(adjacency, layout):
    X, y, labels = people()
    model = logistic(solver=GD(steps=3), adjacency=adjacency)
    found = ratio(model, layout(X), y, labels, runs=60_000)
    # So many draws show .92 +- .04 and .38 +- .05 of the claim.
    assert found > (0.6 if adjacency == "replace_one" else 0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("solver", ["svrg", "spider", GD(steps=5, batch_size=6)], ids=range(3))
def test_other_solvers_keep_their_claim(solver):
    X, y, labels = people()
    runs = 5000 if isinstance(solver, str) else 200
    ratio(logistic(solver=solver), X, y, labels, runs=runs)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "model",
    [
        DPLinearRegression(data_norm=1.0, target_bounds=(-1, 1), solver="adassp"),
        DPStandardScaler(bounds=(-1, 1)),
    ],
    ids=["adassp", "scaler"],
)
def test_where_the_bound_is_tight_nine_tenths_of_it_are_found(model):
    X, _, labels = people()
    # All of the person's fifty rows lie at one end, and then at the other.
    assert ratio(model, X, X[:, 0], labels, runs=300_000) > 0.9


def test_data_in_which_a_person_has_another_number_of_rows_are_neighbours():
    X, y, labels = people()
    there = labels != 3
    X_, y_ = np.vstack([X[there], np.full((1000, 3), 9.0)]), np.append(y[there], np.zeros(1000))
    other = X_, y_, np.append(labels[there], np.full(1000, 3))
    ratio(logistic(solver=GD(steps=3)), X, y, labels, other=other, runs=1000)
    changed = X.copy()
    changed[np.isin(labels, [3, 4])] += 1
    for wrong in (
        (changed, y),
        (X_, y_, np.append(labels[there], np.arange(20, 1020))),
        (X[there], y[there], labels[there]),
        (X, y, labels, labels),
    ):
        with pytest.raises(ValueError, match="audit needs"):
            audit(logistic(), X, y, other=wrong, fit_params={"privacy_unit": labels}, runs=1000)


def test_a_person_whose_rows_all_count_whole_is_found(monkeypatch):
    monkeypatch.setattr(RawBlock, "bounded_weights", property(lambda block: None))
    X, y, labels = people()
    # Clipped means of people would hide it.
    model = DPLinearRegression(data_norm=1.0, target_bounds=(-1, 1), solver="adassp")
    result = audit(model, X, 2 * y - 1, fit_params={"privacy_unit": labels}, runs=2000)
    assert result.refuted
