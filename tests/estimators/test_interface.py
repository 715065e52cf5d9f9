"""The estimators behave like scikit-learn's: shapes, searches, pipelines, layouts of the data."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit, log_softmax

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.privacy.rows import Chunks
from skdp.problem.constraints import Box, L1Ball, L2Ball, Simplex, Unconstrained
from skdp.problem.losses import Huber

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 150, 4


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = (X[:, 0] + 0.3 * rng.normal(size=N) > 0).astype(int)
    return X, y, y + (X[:, 1] > 0.5), X @ [1.0, -2.0, 0.0, 0.5] + 4


X, BINARY, SEVERAL, REAL = make_data()


def classifier(**options):
    return DPLogisticRegression(
        **{"data_norm": 3.0, "classes": [0, 1], "random_state": 0, "epsilon": 5.0} | options
    )


def regressor(**options):
    return DPLinearRegression(
        **{"data_norm": 3.0, "target_bounds": (-4, 12), "random_state": 0, "epsilon": 5.0} | options
    )


def test_binary_probabilities_are_those_of_the_scores():
    model = classifier().fit(X, BINARY)
    scores, proba = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(scores, X @ model.coef_[0] + model.intercept_[0], rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(proba[:, 1], expit(scores), rtol=1e-12)
    order = np.argsort(scores)
    assert np.all(np.diff(proba[order, 1]) >= 0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(proba[:, 1] > 0.5).astype(int)])


def test_multinomial_probabilities_are_those_of_the_scores():
    model = classifier(classes=[0, 1, 2]).fit(X, SEVERAL)
    scores, proba = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.log(proba), log_softmax(scores, axis=1), rtol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), log_softmax(scores, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), proba.argmax(axis=1))


def test_confident_predictions_keep_the_logarithm_of_the_unlikely_class():
    model = classifier().fit(X, BINARY)
    model.coef_ *= 1e4
    log_proba = model.predict_log_proba(X)
    assert np.isfinite(log_proba).all()
    assert log_proba.min() < -1000


@pytest.mark.parametrize("kind", [object, "boolean", "Int64", "category"])
def test_labels_are_taken_and_scored_in_whatever_type_they_lie(kind):
    labels = pd.Series(BINARY).astype(kind)
    expected = classifier().fit(X, BINARY).score(X, BINARY)
    for y in (labels, labels.array, labels.to_numpy()):
        assert classifier().fit(X, y).score(X, y) == expected


def test_labels_of_any_one_kind_come_back_from_predict():
    for labels in (["no", "yes"], [-1, 1], [False, True], [1.0, 2.0], ["b", "a"]):
        y = np.array(labels)[BINARY]
        model = classifier(classes=labels).fit(X, y)
        assert set(model.predict(X)) <= set(labels)
        assert model.score(X, y) > 0.8
        np.testing.assert_array_equal(model.classes_, np.unique(y))


def test_labels_that_never_occur_are_classes_all_the_same():
    model = classifier(classes=[0, 1, 7]).fit(X, BINARY)
    assert model.predict_proba(X).shape == (N, 3)
    np.testing.assert_array_equal(model.classes_, [0, 1, 7])


def test_classes_read_off_the_labels_are_warned_of():
    with pytest.warns(UserWarning, match="reads the set of classes off y"):
        model = classifier(classes=None).fit(X, SEVERAL)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])


def chunked(X, y, _):
    """Two chunks, one dense and one sparse."""
    half = len(X) // 2

    def read():
        yield X[:half], y[:half]
        yield sp.csr_array(X[half:]), y[half:]

    return Chunks(read), None


def mapped(X, y, folder):
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r"), y


def with_explicit_zeros(X, y, _):
    columns = np.tile(np.arange(D), N)
    return sp.csr_array((X.ravel(), columns, np.arange(0, N * D + 1, D))), y


# The same rows laid out differently, as arguments of fit.
LAYOUTS = {
    "Fortran order": lambda X, y, _: (np.asfortranarray(X), y),
    "strided": lambda X, y, _: (np.repeat(X, 2, axis=1)[:, ::2], y),
    "memory-mapped": mapped,
    "list": lambda X, y, _: (X.tolist(), y.tolist()),
    "CSR array": lambda X, y, _: (sp.csr_array(X), y),
    "CSR matrix": lambda X, y, _: (sp.csr_matrix(X), y),
    "CSR with explicit zeros": with_explicit_zeros,
    "CSC": lambda X, y, _: (sp.csc_matrix(X), y),
    "COO": lambda X, y, _: (sp.coo_array(X), y),
    "data frame": lambda X, y, _: (pd.DataFrame(X), pd.Series(y)),
    "chunks": chunked,
}


@pytest.mark.parametrize("data_norm", [1.5, None])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(
    ("make", "y"),
    [(classifier, BINARY), (partial(classifier, classes=[0, 1, 2]), SEVERAL), (regressor, REAL)],
    ids=["binary", "several", "regression"],
)
@pytest.mark.by_day(6)
def test_layout_of_the_rows_does_not_change_the_model(make, y, layout, data_norm, tmp_path):
    rows = np.where(X > 0.1, X, 0.0)
    # Whether rows are sparse is public, and decides by default how they are conditioned.
    options = {"data_norm": data_norm, "epsilon": 20.0, "precondition": None}
    expected = make(**options).fit(rows, y)
    model = make(**options).fit(*layout(rows, y, tmp_path))
    scale = np.abs(expected.coef_).max()
    # Columns that are brought to one scale are centred only if their zeros need not stay.
    if not (model.plan_.sparse and data_norm is None):
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10, atol=1e-10 * scale)
        np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-10, atol=1e-10)
    dense, sparse = model.predict(rows), model.predict(sp.csr_array(rows))
    np.testing.assert_allclose(sparse, dense, rtol=1e-10)


def test_rows_beyond_the_bound_are_scaled_down_to_it():
    long = X * 1e3 / np.linalg.norm(X, axis=1, keepdims=True)
    expected = classifier(data_norm=1.0).fit(long / 1e3, BINARY).coef_
    np.testing.assert_allclose(
        classifier(data_norm=1.0).fit(long, BINARY).coef_, expected, rtol=1e-9
    )


def test_data_frame_with_other_columns_is_refused_at_prediction():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = classifier().fit(frame, BINARY)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    np.testing.assert_array_equal(model.predict(frame), classifier().fit(X, BINARY).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


CONSTRAINTS = [Box(-0.1, 0.2), L1Ball(0.3), L2Ball(0.2), Simplex(0.5), Unconstrained()]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e5])
@pytest.mark.by_day(3)
def test_coefficients_are_feasible_in_their_own_units(constraint, epsilon):
    model = classifier(constraint=constraint, epsilon=epsilon).fit(X, BINARY)
    assert constraint.contains(model.coef_)
    model = regressor(constraint=constraint, epsilon=epsilon).fit(X, REAL)
    assert constraint.contains(model.coef_)
    if epsilon == 1e5:
        # The intercept is not constrained: it is about the mean of the targets.
        assert abs(model.intercept_ - REAL.mean()) < 0.5


def test_loss_can_be_named_or_given():
    named = regressor(loss="huber").fit(X, REAL)
    given = regressor(loss=Huber()).fit(X, REAL)
    np.testing.assert_array_equal(named.coef_, given.coef_)
    other = regressor(loss=Huber(0.1)).fit(X, REAL)
    assert not np.array_equal(other.coef_, given.coef_)
