"""Fits that protect all rows of a person: what they publish, and what they refuse."""

import io
import logging
import pickle
import re
from contextlib import redirect_stdout

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from published_attributes import assert_same, published
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline

import skdp
from skdp import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
    PrivacyBudget,
)
from skdp.preprocessing import DPStandardScaler
from skdp.privacy.rows import Chunks
from skdp.solvers import GD
from skdp.testing import exact_fit, record_fit, replay_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

PEOPLE, D = 300, 3
CLASSIFIER = {"classes": [0, 1], "random_state": 0, "data_norm": 3.0}
MODELS = {
    "logistic": DPLogisticRegression(**CLASSIFIER),
    "logistic, all unknown": DPLogisticRegression(classes=[0, 1], epsilon=5.0, random_state=0),
    "balanced": DPLogisticRegression(**CLASSIFIER, class_weight="balanced"),
    "svm": DPSVMClassifier(**CLASSIFIER, solver="svrg"),
    "samples": DPLogisticRegression(**CLASSIFIER, solver=GD(batch_size=100), epsilon=3.0),
    "linear": DPLinearRegression(epsilon=5.0, random_state=0),
    "huber": DPLinearRegression(
        epsilon=5.0, data_norm=3.0, target_bounds=(-5, 5), loss="huber", random_state=0
    ),
    "lasso": DPLassoRegressor(epsilon=5.0, random_state=0),
    "intervals": DPLogisticRegression(**CLASSIFIER, solver="one_step", epsilon=5.0),
    "perturbed": DPLogisticRegression(**CLASSIFIER, solver="objective_perturbation"),
    "pure": DPLogisticRegression(**CLASSIFIER, delta=0),
}
every_model = pytest.mark.parametrize("name", MODELS)


def people(seed=0, sizes=(1, 9)):
    """Rows of people with different numbers of them, person by person."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(PEOPLE), rng.integers(*sizes, PEOPLE))
    X = rng.normal(size=(len(labels), D))
    return X, (X[:, 0] + rng.normal(size=len(labels)) > 0) * 1, labels


def instead_of_one(X, y, labels, rows):
    """The data with so many other rows in place of those of a person, who has another label."""
    rng, there = np.random.default_rng(7), labels != 41
    X = np.vstack([X[there], 1e3 * rng.normal(size=(rows, D))])
    y = np.concatenate([y[there], np.ones(rows, dtype=y.dtype)])
    return X, y, np.concatenate([labels[there], np.full(rows, 10_000)])


@every_model
@pytest.mark.parametrize("rows", [1, 10, 1000])
@pytest.mark.by_day(6)
def test_all_that_is_published_follows_from_answers_whatever_the_number_of_rows(name, rows):
    model = skdp_copy(MODELS[name])
    X, y, labels = people()
    transcript = record_fit(model, X, y, privacy_unit=labels)
    first, packed, shown = published(model), pickle.dumps(model), repr(model)
    model = skdp_copy(MODELS[name])
    X, y, labels = instead_of_one(X, y, labels, rows)
    replay_fit(model, X, y, transcript, privacy_unit=labels)
    assert_same_of_people(model, first, packed, shown)
    assert str(first["plan_"]).startswith(f"{type(model).__name__}: 300 privacy units")


def assert_same_of_people(model, first, packed, shown):
    assert_same(first, model)
    assert (pickle.dumps(model), repr(model)) == (packed, shown)
    assert first["n_samples_seen_"] == first["plan_"].n_samples == PEOPLE
    assert first["privacy_unit_"] == "privacy_unit"


def skdp_copy(model):
    return pickle.loads(pickle.dumps(model))


def test_neither_terminal_nor_log_says_how_many_rows_there_are(caplog):
    X, y, labels = people()
    model = skdp_copy(MODELS["logistic"]).set_params(verbose=2)
    told = io.StringIO()
    with caplog.at_level(logging.DEBUG, "skdp"), redirect_stdout(told):
        model.fit(X, y, privacy_unit=labels)
    heard = told.getvalue() + caplog.text
    assert "300 privacy units, budget" in heard
    assert not re.search(rf"\b{len(y)}\b|\b{len(y):,}\b", heard)


@pytest.mark.nightly
def test_delta_goes_by_the_number_of_people():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40_000, 1))
    model = DPLinearRegression(data_norm=1.0, target_bounds=(-1, 1))
    model.fit(X, X[:, 0], privacy_unit=np.arange(40_000))
    assert model.delta_ == 40_000**-1.1
    model.fit(X, X[:, 0], privacy_unit=np.arange(40_000) % 1000)
    assert model.delta_ == 1e-5


@pytest.mark.parametrize("name", ["logistic", "svm", "huber", "linear"])
@pytest.mark.by_day(2)
def test_people_with_one_row_each_are_fitted_as_rows_are(name):
    X, y, _ = people()
    X, y = X[:PEOPLE], y[:PEOPLE]
    model, other = skdp_copy(MODELS[name]), skdp_copy(MODELS[name])
    if name == "logistic":
        # Means of people are clipped, and so are rows by this solver.
        model.set_params(solver="gd"), other.set_params(solver="gd")
    exact_fit(model, X, y)
    exact_fit(other, X, y, privacy_unit=[f"person {k}" for k in range(PEOPLE)])
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["logistic", "perturbed", "svm", "huber", "linear", "lasso"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.by_day(4)
def test_a_person_with_many_rows_that_are_alike_counts_as_one(name, sparse):
    X, y, _ = people()
    X, y = X[:PEOPLE], y[:PEOPLE]
    times = np.random.default_rng(3).integers(1, 30, PEOPLE)
    many = tuple(np.repeat(part, times, axis=0) for part in (X, y, np.arange(PEOPLE)))
    mixed = np.random.default_rng(4).permutation(times.sum())
    many_X, many_y, labels = (part[mixed] for part in many)
    if sparse:
        X, many_X = sp.csr_array(X), sp.csr_array(many_X)
    model, other = skdp_copy(MODELS[name]), skdp_copy(MODELS[name])
    exact_fit(model, X, y, privacy_unit=np.arange(PEOPLE))
    exact_fit(other, many_X, many_y, privacy_unit=labels)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-6, atol=1e-8)


def test_weights_of_rows_are_shared_by_those_of_a_person():
    X, y, labels = people()
    # Half of each person, whatever rows they have.
    weights = np.full(len(y), 0.5)
    model = DPLogisticRegression(**CLASSIFIER, epsilon=4.0)
    model.fit(X, y, sample_weight=weights, privacy_unit=labels)
    assert model.plan_.weighted
    total = next(event for event in model.privacy_ledger_ if event.query == "total_weight")
    assert total.sensitivity == pytest.approx(1.0, rel=1e-4)


def refusal(model, X, y, kind=ValueError, **options):
    before = vars(model).copy()
    with pytest.raises(kind) as refused:
        model.fit(X, y, **options)
    assert vars(model).keys() == before.keys()
    return str(refused.value)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (DPLogisticRegression(**CLASSIFIER, solver="ftrl"), {}),
        (DPLogisticRegression(**CLASSIFIER, solver="dda"), {}),
        (DPLogisticRegression(**CLASSIFIER), {"sites": True}),
    ],
    ids=["ftrl", "dda", "sites"],
)
def test_what_is_not_proved_for_people_is_refused(model, options):
    X, y, labels = people()
    if options:
        options = {"sites": labels % 3}
    text = refusal(model, X, y, privacy_unit=labels, **options)
    assert "privacy_unit" in text
    assert not hasattr(model, "coef_")


def in_chunks(X, y, labels):
    """People straddle chunks, of which every other one names them in fewer bytes."""
    size, names = 160, 50 * [np.int64, np.int32]
    return Chunks(
        [
            (X[i : i + size], y[i : i + size], None, labels[i : i + size].astype(name))
            for i, name in zip(range(0, len(y), size), names, strict=False)
        ]
    )


LARGE = {
    "logistic": DPLogisticRegression(**CLASSIFIER, solver=GD(steps=4)),
    "samples": DPLogisticRegression(**CLASSIFIER, solver=GD(batch_size=150, steps=4), epsilon=3.0),
    "linear": DPLinearRegression(epsilon=5.0, random_state=0),
}


def taken_of(kind, X, y, labels):
    """What is passed to a fit, as positional and named arguments."""
    if kind == "chunks":
        return (in_chunks(X, y, labels), None), {"privacy_unit": True}
    if kind == "mixed chunks":
        order = np.random.default_rng(5).permutation(len(y))
        return (in_chunks(X[order], y[order], labels[order]), None), {"privacy_unit": True}
    da = pytest.importorskip("dask.array")
    cuts = (*[160] * (len(y) // 160), len(y) % 160)
    X = da.from_array(X, chunks=(cuts, -1))
    y, labels = (da.from_array(part, chunks=(cuts,)) for part in (y, labels))
    return (X, y), {"privacy_unit": labels}


@pytest.mark.parametrize("kind", ["chunks", "mixed chunks", "dask"])
@pytest.mark.parametrize("rows", [1, 10, 1000])
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.by_day(7)
def test_what_is_published_of_large_tables_follows_from_answers(name, rows, kind):
    model = skdp_copy(LARGE[name])
    data = people()
    given, options = taken_of(kind, *data)
    transcript = record_fit(model, *given, **options)
    first, packed, shown = published(model), pickle.dumps(model), repr(model)
    model = skdp_copy(LARGE[name])
    given, options = taken_of(kind, *instead_of_one(*data, rows))
    replay_fit(model, *given, transcript, **options)
    assert_same_of_people(model, first, packed, shown)


@pytest.mark.parametrize("kind", ["chunks", "mixed chunks", "dask"])
@pytest.mark.parametrize("name", ["logistic", "linear"])
@pytest.mark.by_day(3)
def test_people_of_large_tables_are_fitted_as_in_memory(name, kind):
    """Where no gradient is clipped; in memory it is that of a person, elsewhere that of a row."""
    X, y, labels = people()
    model = skdp_copy(LARGE[name]).set_params(solver=GD(steps=4, clip=1e6), precondition=None)
    other = skdp_copy(model)
    exact_fit(model, X, y, privacy_unit=labels)
    given, options = taken_of(kind, X, y, labels)
    exact_fit(other, *given, **options)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-6, atol=1e-8)


def test_labels_come_along_with_the_rows_of_a_large_table():
    X, y, labels = people()
    (chunks, _), _ = taken_of("chunks", X, y, labels)
    for given in (labels, "user", False):
        text = refusal(DPLogisticRegression(**CLASSIFIER), chunks, None, privacy_unit=given)
        assert "privacy_unit=True" in text
    text = refusal(DPLogisticRegression(**CLASSIFIER), chunks, None)
    assert "privacy_unit=True" in text
    text = refusal(DPLogisticRegression(**CLASSIFIER), X, y, privacy_unit=True)
    assert "one label for each row" in text
    (X_, y_), _ = taken_of("dask", X, y, labels)
    text = refusal(DPLogisticRegression(**CLASSIFIER), X_, y_, privacy_unit=labels)
    assert "dask array of one dimension" in text


def test_lengths_that_differ_are_refused_without_being_told():
    X, y, labels = people()
    wrong = [
        (X, y, labels[:-1], None), (X[:-1], y, labels, None), (X, y[:-1], labels, None),
        (X, y, labels, np.ones(len(y) - 1)), (X, y, labels, np.ones((len(y), 2))),
        (X, np.stack([y, y], 1), labels, None), (X[:, 0], y, labels, None),
        (X, y, "one", None), (X, None, labels, None),
        (X, [[1] * (i % 3) for i in range(len(y))], labels, None),
    ]  # fmt: skip
    for X_, y_, labels_, weights in wrong:
        options = {"privacy_unit": labels_, "sample_weight": weights}
        text = refusal(DPLogisticRegression(**CLASSIFIER), X_, y_, **options)
        # How many columns of targets there are may be said.
        assert not re.search(r"\d", text.replace("of 2 columns", "")), text


@pytest.mark.parametrize(
    "fitted",
    [
        lambda X, y, labels: DPLogisticRegression(**CLASSIFIER).fit(X, y, privacy_unit=labels),
        lambda X, y, labels: DPLinearRegression().partial_fit(X, y, privacy_unit=labels),
        lambda X, y, labels: DPStandardScaler().fit(X, privacy_unit=labels),
    ],
    ids=["fit", "partial_fit", "scaler"],
)
def test_malformed_features_are_refused_without_saying_how_many_rows_there_are(fitted):
    X, y, labels = people()
    holds_a_list = X.astype(object)
    holds_a_list[2, 1] = [1, 2]
    for wrong in (X[:, :0], holds_a_list, [[1.0], *X[1:].tolist()]):
        with pytest.raises((TypeError, ValueError)) as refused:
            fitted(wrong, y, labels)
        assert str(len(y)) not in str(refused.value)


@pytest.mark.filterwarnings("ignore:privacy_spent does not cover:skdp.PrivacyLeakWarning")
def test_no_total_is_one_of_people_and_of_rows():
    X, y, labels = people()
    of_people = DPLogisticRegression(**CLASSIFIER).fit(X, y, privacy_unit=labels)
    again = DPLogisticRegression(**CLASSIFIER).fit(X, y, privacy_unit=labels)
    of_rows = DPLogisticRegression(**CLASSIFIER).fit(X, y)
    total = skdp.privacy_spent([of_people, again])
    assert total.unit == "privacy_unit"
    assert "all rows of a privacy unit" in str(total)
    assert skdp.privacy_spent(of_rows).unit == "row"
    with pytest.raises(ValueError, match="fits with one privacy unit"):
        skdp.privacy_spent([of_people, of_rows])


@pytest.mark.parametrize("of_units", [False, True])
def test_a_budget_is_one_of_people_or_of_rows(of_units):
    X, y, labels = people()
    fits = [{"privacy_unit": labels}, {}]
    with PrivacyBudget(epsilon=3.0, delta=1e-5, privacy_unit=of_units) as budget:
        right, wrong = fits if of_units else fits[::-1]
        DPLogisticRegression(**CLASSIFIER).fit(X, y, **right)
        text = refusal(DPLogisticRegression(**CLASSIFIER), X, y, **wrong)
    assert "privacy_unit=" in text
    assert len(budget.receipts) == 1


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("warm_start", [True, "disjoint"])
def test_a_fit_goes_on_from_one_with_the_same_unit_only(first, warm_start):
    X, y, labels = people()
    model = DPLogisticRegression(**CLASSIFIER, warm_start=warm_start)
    options = [{"privacy_unit": labels}, {}]
    model.fit(X, y, **options[0 if first else 1])
    spent = model.privacy_spent_
    text = refusal(model, X, y, **options[1 if first else 0])
    assert "privacy unit" in text
    assert model.privacy_spent_ == spent
    model.fit(X, y, **options[0 if first else 1])
    assert model.privacy_spent_.epsilon > spent.epsilon * (1.2 if warm_start is True else 0.99)


def test_a_stream_of_rows_does_not_go_on_from_a_fit_of_people():
    X, y, labels = people()
    model = DPLogisticRegression(**CLASSIFIER, horizon=len(y))
    model.fit(X, y, privacy_unit=labels)
    with pytest.raises(ValueError, match="privacy unit"):
        model.partial_fit(X, y)


@pytest.mark.filterwarnings("ignore:privacy_spent does not cover:skdp.PrivacyLeakWarning")
def test_labels_reach_all_steps_of_a_pipeline():
    X, y, labels = people()
    steps = [DPStandardScaler(epsilon=3.0, random_state=0), DPLogisticRegression(**CLASSIFIER)]
    with sklearn.config_context(enable_metadata_routing=True):
        routed = [skdp_copy(step).set_fit_request(privacy_unit=True) for step in steps]
        pipeline = make_pipeline(*routed).fit(X, y, privacy_unit=labels)
        with pytest.raises(UnsetMetadataPassedError):
            make_pipeline(*map(skdp_copy, steps)).fit(X, y, privacy_unit=labels)
    assert skdp.privacy_spent(pipeline).unit == "privacy_unit"
    text = str(skdp.report(pipeline))
    assert "all rows of one privacy unit together" in text
    assert "300 privacy units" in text
    assert "a person with k rows" not in text
    of_rows = make_pipeline(*map(skdp_copy, steps))
    of_rows.fit(X, y, dplogisticregression__privacy_unit=labels)
    with pytest.raises(ValueError, match=r"single rows \(Pipeline.dpstandardscaler\)"):
        skdp.privacy_spent(of_rows)


def test_malformed_targets_are_refused_without_saying_how_many_rows_there_are():
    X, y, labels = people()
    text = refusal(DPLogisticRegression(**CLASSIFIER), X, y[:, None][:, :0], privacy_unit=labels)
    assert str(len(y)) not in text
