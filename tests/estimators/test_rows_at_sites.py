"""Rows at several sites: ``sites`` of ``fit``, alone and inside scikit-learn's tools."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.privacy.accounting import gdp
from skdp.solvers import DDA
from skdp.testing import record_fit

N = 600
BOUNDS = {"epsilon": 2.0, "data_norm": 1.0}
CLASSES = {**BOUNDS, "classes": [0, 1]}
TARGETS = {**BOUNDS, "target_bounds": (-1.0, 1.0)}


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    score = X @ [1.0, -1.0, 0.5, 0.0]
    sites = np.array(["north", "south", "west"])[rng.choice(3, N, p=[0.6, 0.3, 0.1])]
    return X, (score > 0).astype(int), np.clip(score, -1, 1), sites


EVERY = [
    DPLogisticRegression(**CLASSES),
    DPSVMClassifier(**CLASSES),
    DPLinearRegression(**TARGETS),
    DPLassoRegressor(**TARGETS),
]


def targets(model):
    X, y, real, sites = data()
    return X, y if hasattr(model, "classes") else real, sites


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_sites_call_for_dda_and_each_site_has_a_receipt(model):
    X, y, sites = targets(model)
    fitted = clone(model).fit(X, y, sites=sites)
    assert fitted.score(X, y) > 0.6
    events = fitted.privacy_ledger_
    assert [event.part.label for event in events] == ["north", "south", "west"]
    assert {event.query for event in events} == {"site_gradients"}
    # The worst site, from the receipt alone.
    mu = max(np.sqrt(e.count) * e.sensitivity / e.noise_scale for e in events)
    assert fitted.privacy_spent_.epsilon == pytest.approx(gdp.epsilon(mu, 1e-5))
    assert fitted.privacy_spent_.epsilon <= 2.0


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_without_sites_rows_are_shared_out_among_nodes(model):
    X, y, _ = targets(model)
    fitted = clone(model).set_params(solver=DDA(n_nodes=5)).fit(X, y)
    assert [event.part.label for event in fitted.privacy_ledger_] == [0, 1, 2, 3, 4]


def test_only_the_partition_matters_not_where_rows_lie_in_the_file():
    X, y, _, sites = data()
    order = np.random.default_rng(2).permutation(N)
    model = DPLogisticRegression(**{**CLASSES, "epsilon": 1e6}, solver=DDA(rounds=50))
    first = clone(model).fit(X, y, sites=sites)
    second = clone(model).fit(X[order], y[order], sites=sites[order])
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=0.05, atol=0.05)
    facts = [[(e.part, e.count, e.sensitivity) for e in m.privacy_ledger_] for m in (first, second)]
    assert facts[0] == facts[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data_norm": None, "data_bounds": (-1, 1)}, r"nobody who may ask .* data_bounds scale"),
        ({"precondition": "full"}, r"nobody who may ask .* precondition='full'"),
        ({"solver": DDA(n_nodes=2)}, r"got n_nodes=2 and 3 sites"),
    ],
)
def test_what_nobody_is_trusted_with_is_refused_before_anything_is_spent(changes, message):
    X, y, _, sites = data()
    model = DPLogisticRegression(**{**CLASSES, **changes})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sites=sites)
    assert not hasattr(model, "privacy_ledger_")


def test_regression_needs_target_bounds_unless_there_is_a_curator():
    X, _, real, sites = data()
    with pytest.raises(ValueError, match="target_bounds"):
        DPLinearRegression(**BOUNDS).fit(X, real, sites=sites)
    model = DPLinearRegression(epsilon=5.0, solver=DDA(noise="central"))
    model.fit(X, real, sites=sites)
    assert {e.part is None for e in model.privacy_ledger_} == {True, False}


@pytest.mark.parametrize("sites", [np.zeros(5), np.full(N, np.nan), np.zeros((N, 2))])
def test_groups_that_are_not_one_label_a_row_are_refused(sites):
    X, y, *_ = data()
    with pytest.raises(ValueError, match=r"one label (in sites|a row)"):
        DPLogisticRegression(**CLASSES).fit(X, y, sites=sites)


def test_a_curator_may_whiten_count_and_search_for_bounds():
    X, y, _, sites = data()
    model = DPLogisticRegression(
        epsilon=20.0,
        classes=[0, 1],
        precondition="full",
        class_weight="balanced",
        solver=DDA(noise="central"),
    )
    model.fit(X, y, sites=sites)
    asked = {event.query for event in model.privacy_ledger_ if event.part is None}
    assert asked == {"histogram", "second_moments", "score_scale"}
    assert model.privacy_spent_.epsilon == pytest.approx(20.0, rel=1e-6)


def test_solvers_see_noisy_vectors_and_public_facts_alone():
    X, y, *_ = data()
    transcript = record_fit(DPLogisticRegression(**CLASSES, solver=DDA(n_nodes=4)), X, y)
    assert {name for name, *_ in transcript.entries} == {"site_gradients"}
    assert {answer.shape for *_, answer in transcript.entries} == {(4, 5)}


def test_labels_of_people_as_sites_are_told_what_is_protected():
    X, y, _, _ = data()
    with pytest.warns(UserWarning, match=r"200 sites for 600 rows.*pass them as privacy_unit"):
        DPLogisticRegression(**CLASSES).fit(X, y, sites=np.arange(N) % 200)


def test_groups_are_refused_in_words():
    X, y, _, _ = data()
    model = DPLogisticRegression(**CLASSES)
    with pytest.raises(TypeError, match=r"places that keep rows are its sites.*privacy_unit"):
        model.fit(X, y, groups=np.arange(N) % 200)
    assert not hasattr(model, "privacy_spent_")
