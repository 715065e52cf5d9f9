"""Columns that matter are chosen within the budget, from answers that were paid for alone."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from published_attributes import published
from sklearn.base import clone
from sklearn.feature_selection import f_classif, f_regression
from sklearn.pipeline import make_pipeline
from twin_oracle import TwinOracle

from skdp import DPLogisticRegression, PrivacyBudget, privacy_spent
from skdp.preprocessing import DPSelectKBest
from skdp.privacy import opened_by
from skdp.privacy.accounting import gdp
from skdp.privacy.rows import DenseRows
from skdp.testing import exact_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D, DELTA = 4000, 6, 1e-5
BOUNDS = (-60.0, 60.0)
# What y may be, by how a selector is told of it.
KINDS = {
    "two classes": {"classes": ["no", "yes"]},
    "three classes": {"classes": [0, 1, 2]},
    "numbers": {"target_bounds": (-40.0, 60.0)},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def make_table(kind, seed=0, n=N):
    """Columns of several units and means, of which the third and the last tell something."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, D))
    z = Z[:, 2] - Z[:, 5]
    X = Z * [1.0, 9.0, 0.5, 1.0, 3.0, 9.0] + [0.0, 20.0, 4.0, 0.0, 0.0, 0.0]
    if kind == "numbers":
        return X, 20.0 + 5.0 * z + rng.normal(size=n)
    if kind == "two classes":
        return X, np.where(z + rng.logistic(size=n) > 1, "yes", "no")
    return X, np.digitize(z + rng.normal(size=n), [-1.0, 2.0])


def selector(kind, **options):
    return DPSelectKBest(**{"k": 2, "delta": DELTA, "bounds": BOUNDS} | KINDS[kind] | options)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@every_kind
def test_without_noise_scores_rank_columns_as_scikit_learns_do(kind, layout):
    X, y = make_table(kind)
    ours = selector(kind, epsilon=1e4)
    exact_fit(ours, layout(X), y)
    theirs, _ = (f_regression if kind == "numbers" else f_classif)(X, y)
    assert set(ours.get_support(indices=True)) == {2, 5} == set(np.argsort(-theirs)[:2])
    if kind == "numbers":
        half = 50.0
        covariances = ((X - X.mean(axis=0)) / X.std(axis=0) * (y - y.mean())[:, None]).mean(axis=0)
        # One row in ten is shortened.
        np.testing.assert_allclose(ours.scores_, np.abs(covariances) / half, atol=0.02)


@pytest.mark.parametrize("bounds", [BOUNDS, None])
@every_kind
def test_columns_that_matter_are_found_where_noise_is_small(kind, bounds):
    X, y = make_table(kind, n=20_000)
    found = selector(kind, bounds=bounds, epsilon=2.0).fit(X, y)
    assert set(found.get_support(indices=True)) == {2, 5}


def coded(kind, y):
    return y if kind == "numbers" else np.searchsorted(KINDS[kind]["classes"], y).astype(float)


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
@pytest.mark.parametrize("moved", ["row", "target", "both"])
@every_kind
def test_neighbours_are_no_further_apart_than_promised(kind, moved, adjacency):
    X, y = make_table(kind)
    fitted, budget = selector(kind, adjacency=adjacency), gdp.mu(1.0, DELTA)
    ends = (-1e9, 1e9) if kind == "numbers" else KINDS[kind]["classes"][:2]
    X[7], y[7] = 1e5, ends[0]
    other, targets = X.copy(), y.copy()
    if moved != "target":
        other[7] = -1e5
    if moved != "row":
        targets[7] = ends[1]
    if adjacency == "zero_out":
        other, targets = np.delete(X, 7, axis=0), np.delete(y, 7)
    made = []

    def oracle(rows, ledger, relation, noise):
        others = DenseRows(other, coded(kind, targets))
        made.append(TwinOracle(rows, others, ledger, relation, noise))
        return made[-1]

    with opened_by(oracle):
        fitted.fit(X, y)
    assert made[0].largest <= 1 + 1e-9
    told = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in fitted.privacy_ledger_)
    assert made[0].squares <= told * (1 + 1e-9), "more was told than was charged"
    # Both the row and the target have a say.
    assert 0.05 * budget < made[0].squares ** 0.5 <= budget * (1 + 1e-9)


def no_oracle(*_):
    raise AssertionError("an oracle was opened")


LABELS = make_table("three classes")[1]


@pytest.mark.parametrize(
    ("options", "y", "complaint"),
    [
        ({"classes": None}, LABELS, r"needs either classes=\[...\], for labels, or target_bounds"),
        ({"target_bounds": (0, 1)}, LABELS, "needs either classes="),
        ({}, None, "requires y to be passed, but the target y is None"),
        ({"classes": [0, 1]}, LABELS, "y holds others"),
        ({"classes": [0]}, 0 * LABELS, "at least 2 classes, got 1"),
        ({}, LABELS[1:], "inconsistent numbers of samples"),
        ({}, LABELS[:, None] * [1, 1], "y should be a 1d array"),
        ({"classes": None, "target_bounds": (0, 1)}, np.full(N, "secret"), "needs numeric targets"),
        ({"classes": None, "target_bounds": (0, 1)}, np.full(N, np.nan), "needs finite targets"),
        ({"classes": None, "target_bounds": (1, 0)}, LABELS, "low < high"),
        ({"k": 0}, LABELS, "'k' parameter"),
        ({"k": "all"}, LABELS, "'k' parameter"),
        ({"bounds": (1, 0)}, LABELS, "low < high"),
        ({"epsilon": -1.0}, LABELS, "'epsilon' parameter"),
    ],
)
def test_bad_input_charges_nothing_and_keeps_earlier_results(options, y, complaint):
    X, labels = make_table("three classes")
    fitted = selector("three classes").fit(X, labels)
    before = published(fitted)
    with opened_by(no_oracle), pytest.raises(ValueError, match=complaint) as caught:
        fitted.set_params(**options).fit(X, y)
    assert "secret" not in str(caught.value)
    assert published(fitted).keys() == before.keys()
    assert all(getattr(fitted, name) is value for name, value in before.items())
    new = clone(fitted)
    with opened_by(no_oracle), pytest.raises(ValueError, match=complaint):
        new.fit(X, y)
    assert not published(new)


def test_frames_keep_their_names_and_it_can_be_undone():
    X, y = make_table("numbers")
    table = pd.DataFrame(X, columns=list("abcdef"))
    fitted = selector("numbers", epsilon=50.0).set_output(transform="pandas").fit(table, y)
    out = fitted.transform(table)
    pd.testing.assert_frame_equal(out, table[["c", "f"]])
    assert list(fitted.get_feature_names_out()) == ["c", "f"]
    back = fitted.inverse_transform(out)
    np.testing.assert_array_equal(back[:, [2, 5]], out)
    assert not back[:, [0, 1, 3, 4]].any()
    own = fitted.to_sklearn()
    np.testing.assert_array_equal(own.transform(table), out)
    np.testing.assert_array_equal(own.get_support(), fitted.get_support())


def test_a_pipeline_hands_it_the_targets_and_adds_up_its_budget():
    X, y = make_table("two classes", n=20_000)
    labels = KINDS["two classes"]
    model = DPLogisticRegression(epsilon=1.0, delta=DELTA, data_bounds=BOUNDS, **labels)
    pipeline = make_pipeline(selector("two classes"), model)
    with PrivacyBudget(epsilon=3.0, delta=2 * DELTA) as budget:
        budget.fit(pipeline, X, y)
    assert 1.0 < privacy_spent(pipeline).epsilon < 2.0
    assert pipeline.score(X, y) > 0.65
