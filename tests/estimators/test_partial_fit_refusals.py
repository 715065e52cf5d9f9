"""What a stream refuses, what it goes on from, and what a failure leaves."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from by_night import by_night
from examples_of_streams import (
    BINARY,
    CUTS,
    REAL,
    Failing,
    N,
    X,
    both,
    classifier,
    every_model,
    feed,
    lasso,
    regressor,
    target,
)
from published_attributes import assert_same, published
from sklearn.base import clone

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.privacy.accounting import Part
from skdp.privacy.rows import Chunks
from skdp.problem.constraints import L1Ball
from skdp.solvers import Blocks
from skdp.testing import check_parts

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")


@every_model
def test_fit_after_a_stream_starts_anew(make):
    model = feed(make())
    expected = make().fit(X, target(model))
    assert_same(model.fit(X, target(model)), expected)
    assert all(e.part is None for e in model.privacy_ledger_)
    assert model.n_samples_seen_ == N
    # What waited for its block before is not part of a stream that begins now.
    waiting = feed(make(), stop=60)
    waiting.fit(X, target(model))
    feed(waiting, stop=40)
    assert {e.part for e in waiting.privacy_ledger_} == {None, Part(N, N + 40)}
    assert_same(waiting, feed(make().fit(X, target(model)), stop=40))


def test_a_stream_may_begin_after_a_fit_that_failed():
    model = classifier(solver=Failing(1), precondition=None)
    with pytest.raises(MemoryError):
        model.fit(X[:100], BINARY[:100])
    spent = model.privacy_spent_
    assert not hasattr(model, "coef_")
    feed(model.set_params(solver=CUTS), start=100, stop=120)
    assert not model.coef_.any()
    assert {e.part for e in model.privacy_ledger_} == {None}
    assert model.privacy_spent_ == pytest.approx(spent, rel=1e-9)
    assert spent.epsilon > 0


class Fussy(Failing):
    """Takes no problem of 80 rows."""

    def check(self, problem):
        if problem.n_samples == 80:
            raise ValueError("not so many")


def test_a_block_that_is_refused_is_passed_over_and_not_charged():
    model = classifier(solver=Blocks(first=40, solver=Fussy(99)), precondition=None)
    with pytest.raises(ValueError, match="not so many"):
        feed(model)
    assert model.n_samples_seen_ == 160
    feed(model, start=160)
    assert {e.part for e in model.privacy_ledger_} == {
        Part(0, 40),
        Part(40, 80),
        Part(160, 320),
        Part(320, 640),
    }


@pytest.mark.parametrize("options", [{"buffer": False}, {"solver": "frank_wolfe"}])
def test_solvers_that_have_shared_out_their_budget_take_no_row_beyond_the_horizon(options):
    ball = {"constraint": L1Ball(3.0)} if "solver" in options else {}
    model = classifier(**{"solver": "auto", "horizon": 500} | options | ball)
    feed(model, stop=490)
    before = model.coef_
    told = (
        "DPLogisticRegression.partial_fit needs no more rows than its horizon of 500, of which 10"
    )
    with pytest.raises(ValueError, match=told):
        feed(model, start=490)
    assert model.n_samples_seen_ == 490
    np.testing.assert_array_equal(model.coef_, before)
    assert feed(model, start=490, stop=500).n_samples_seen_ == 500
    assert {e.part for e in model.privacy_ledger_} == {Part(0, 500)}


@every_model
def test_a_stream_goes_on_from_a_fit_and_says_both(make):
    model = make().fit(X[:300], target(make())[:300])
    fitted = model.coef_
    spent = model.privacy_spent_
    feed(model, start=300, stop=310)
    # The first rows wait for their block; the model is still that of the fit.
    np.testing.assert_array_equal(model.coef_, fitted)
    assert {e.part for e in model.privacy_ledger_} == {None}
    assert model.privacy_spent_ == pytest.approx(spent, rel=1e-9)
    feed(model, start=310, stop=340)
    # Its rows may be those of the fit.
    assert {e.part for e in model.privacy_ledger_} == {None, Part(300, 340)}
    assert model.privacy_spent_.epsilon > 1.4 * spent.epsilon
    assert model.n_samples_seen_ == 340


@every_model
def test_a_stream_of_rows_that_are_declared_others_is_parallel_to_the_fit(make):
    model = make(warm_start="disjoint").fit(X[:300], target(make())[:300])
    spent = model.privacy_spent_
    feed(model, start=300, stop=340)
    assert {e.part for e in model.privacy_ledger_} == {Part(0, 300), Part(300, 340)}
    assert model.privacy_spent_.epsilon == pytest.approx(spent.epsilon, rel=0.1)
    assert model.n_samples_seen_ == 340
    check_parts(model)


def test_horizon_buffer_and_solver_may_be_set_between_a_fit_and_its_stream():
    model = classifier(solver="auto").fit(X, BINARY)
    feed(model.set_params(solver=CUTS, horizon=N), stop=50)
    with pytest.raises(ValueError, match="other values of horizon"):
        feed(model.set_params(horizon=N + 1), start=50)


def test_equal_bounds_of_columns_may_be_given_anew_in_a_stream():
    def bounds():
        return np.full(X.shape[1], -9.0), np.full(X.shape[1], 9.0)

    model = feed(classifier(data_norm=None, data_bounds=bounds(), solver=CUTS), stop=50)
    feed(model.set_params(data_bounds=bounds()), start=50)
    other = bounds()[0], np.full(X.shape[1], 8.0)
    with pytest.raises(ValueError, match="other values of data_bounds"):
        feed(model.set_params(data_bounds=other))


CHANGES = [
    {"epsilon": 2.0},
    {"delta": 1e-4},
    {"adjacency": "zero_out"},
    {"data_norm": 1.0},
    {"horizon": 1000},
    {"buffer": False},
    {"solver": "gd"},
    {"solver__ratio": 3.0},
    {"fit_intercept": False},
    {"precondition": None},
]


@pytest.mark.parametrize("change", [*CHANGES, {"classes": [0, 1, 2]}], ids=str)
@pytest.mark.by_day(5)
def test_parameters_cannot_change_in_the_middle_of_a_stream(change):
    model = classifier(solver=Blocks(first=40))
    feed(model, stop=100)
    before = published(model)
    name = next(iter(change)).partition("__")[0]
    with pytest.raises(ValueError, match=f"got other values of {name}"):
        feed(model.set_params(**change), start=100)
    assert published(model) == before
    # Fit starts anew, and so does a clone.
    if change != {"buffer": False}:
        feed(clone(model), stop=50)
    model.fit(X, BINARY)


@pytest.mark.parametrize("change", [{"target_bounds": (-7, 7)}, *by_night(*CHANGES[:4])], ids=str)
def test_nor_can_those_of_a_regressor(change):
    model = feed(regressor(), stop=100)
    with pytest.raises(ValueError, match="other values of"):
        feed(model.set_params(**change), start=100)
    original = {name: getattr(regressor(), name) for name in change}
    feed(model.set_params(**original), start=100)
    assert_same(model, fed(regressor))


def test_predictions_may_be_clipped_or_not_at_any_time():
    model = feed(regressor(), stop=100)
    feed(model.set_params(clip_predictions=False, random_state=5), start=100)
    assert_same(model, fed(regressor))


def test_classes_are_needed_once():
    model = classifier(classes=None)
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        model.partial_fit(X, BINARY)
    assert not [name for name in vars(model) if name.endswith("_")]
    model.partial_fit(X[:50], BINARY[:50], classes=[1, 0])
    model.partial_fit(X[50:90], BINARY[50:90])
    model.partial_fit(X[90:], BINARY[90:], classes=np.array([0, 1]))
    assert_same(model, fed(classifier))
    with pytest.raises(ValueError, match="the classes that the model began with"):
        model.partial_fit(X, BINARY, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="labels among the 2 classes"):
        model.partial_fit(X, BINARY + 1)


def test_classes_of_the_constructor_and_of_the_call_agree():
    with pytest.raises(ValueError, match="the classes that the model began with"):
        classifier().partial_fit(X, BINARY, classes=[0, 1, 2])
    model = classifier(classes=None)
    with pytest.warns(UserWarning, match="reads the set of classes"):
        model.fit(X, BINARY)
    model.partial_fit(X, BINARY)
    with pytest.raises(ValueError, match="at least 2 classes"):
        classifier(classes=None).partial_fit(X, BINARY, classes=[1])


@cache
def fed(make):
    return feed(make())


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (lambda X, y: (X[:, :2], y), "features"),
        (lambda X, y: (np.full_like(X, np.nan), y), "contains NaN"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X[0], y[0]), "Expected 2D array"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (Chunks([(X, y)]), None), "call it once with each chunk"),
        (lambda X, y: (X, ["a"] * len(y)), "needs"),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
@both
def test_malformed_calls_leave_everything_as_it_is(make, bad, complaint, begun):
    model = make()
    if begun:
        feed(model, stop=60)
    before = vars(model).copy()
    wrong = complaint != "features" or begun
    if wrong:
        with pytest.raises(ValueError, match=complaint):
            model.partial_fit(*bad(X[:30], target(model)[:30]))
        assert vars(model) == before
    assert_same(feed(model, start=60 * begun), fed(make))


def test_names_of_columns_are_those_of_the_first_call():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = regressor().partial_fit(frame[:50], REAL[:50])
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame.rename(columns={"a": "z"})[50:], REAL[50:])
    model.partial_fit(frame[50:], REAL[50:])
    np.testing.assert_array_equal(model.coef_, feed(regressor()).coef_)


# A block too small to see targets leaves the search for their bounds to the next.
@pytest.mark.parametrize(
    ("make", "epsilon"), [(classifier, 0.3), (classifier, 8.0), (regressor, 8.0), (lasso, 8.0)]
)
def test_bounds_are_paid_for_once(make, epsilon):
    missing = {"data_norm": None, "epsilon": epsilon, "solver": Blocks(first=80)}
    if make is not classifier:
        missing["target_bounds"] = None
    model = make(**missing)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The share of the budget")
        feed(model, stop=80)
        bounds = model.data_norm_, getattr(model, "target_bounds_", None)
        feed(model, start=80)
    histograms = {e.part for e in model.privacy_ledger_ if e.query == "histogram" and e.count < 3}
    asked = {e.part for e in model.privacy_ledger_ if e.query == "histogram"}
    assert Part(0, 80) in asked
    if make is not classifier:
        assert asked == histograms == {Part(0, 80)}
    assert (model.data_norm_, getattr(model, "target_bounds_", None)) == bounds
    check_parts(model)


def test_a_bound_that_is_missing_makes_the_first_block_long_enough_to_find_it():
    def first(**options):
        model = DPLinearRegression(epsilon=1.0, random_state=0, **options)
        model.partial_fit(X[:9], REAL[:9])
        return model._session._cut

    assert first(data_norm=2.0, target_bounds=(-6, 6)) * 5 < first(target_bounds=(-6, 6))


def test_balanced_classes_start_without_their_offset():
    model = classifier(class_weight="balanced", epsilon=8.0)
    feed(model, [100])
    assert model.score(X, BINARY) > 0.85
    check_parts(model)


@pytest.mark.parametrize("begin", [[], [100]])
def test_a_block_that_fails_is_used_up_and_the_stream_goes_on(begin):
    model = classifier(solver=Blocks(first=40, solver=Failing(3)), precondition=None)
    with pytest.raises(MemoryError) as caught:
        feed(model, begin)
    (note,) = caught.value.__notes__
    assert "partial_fit stopped after spending epsilon=" in note
    # Blocks of 40, 40 and 80 rows have closed; what follows in the call has not been taken.
    assert model.n_samples_seen_ == 160
    assert {e.part for e in model.privacy_ledger_} == {Part(0, 40), Part(40, 80), Part(80, 160)}
    kept = model.coef_
    check_parts(model)
    feed(model, start=160, stop=200)
    np.testing.assert_array_equal(model.coef_, kept)
    feed(model, start=200)
    assert model.n_samples_seen_ == N
    assert max(e.part.stop for e in model.privacy_ledger_) == N


def test_a_call_of_a_batch_solver_that_fails_is_reported():
    model = classifier(solver=Failing(2), precondition=None)
    feed(model, stop=100)
    kept = model.coef_
    with pytest.raises(MemoryError):
        feed(model, start=100, stop=200)
    assert model.n_samples_seen_ == 200
    assert {e.part for e in model.privacy_ledger_} == {Part(0, 100), Part(100, 200)}
    np.testing.assert_array_equal(model.coef_, kept)
    feed(model, start=200)
    assert not np.array_equal(model.coef_, kept)


def test_old_rows_are_forgotten_by_a_public_schedule():
    # The sign of the model turns in the middle of the stream.
    turned = np.where(np.arange(N) < N // 2, 1, -1) * REAL
    y = (turned > 0).astype(int)
    solver = Blocks(first=80, largest=160, warm=False)
    model = classifier(solver=solver, epsilon=8.0).partial_fit(X, y)
    assert model.score(X, 1 - BINARY) > 0.8
    assert classifier(epsilon=8.0).partial_fit(X, y).n_samples_seen_ == N
    # Nothing of the rows before the last block is in the model.
    other = y.copy()
    other[:480] = 1 - other[:480]
    again = classifier(solver=solver, epsilon=8.0).partial_fit(X, other)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    "options",
    [
        {"classes": [0, 1]},
        {"classes": [0, 1], "class_weight": {0: 1.0, 1: 2.0}},
        {"classes": np.array([0, 1])},
    ],
    ids=str,
)
def test_what_is_changed_within_a_parameter_is_noticed(options):
    """Parameters are noted as they were, not as the objects that they are."""
    model = DPLogisticRegression(data_norm=2.0, solver=Blocks(first=40), **options)
    model.partial_fit(X[:20], X[:20, 0] > 0)
    name = list(options)[-1]
    options[name][0] = 5
    with pytest.raises(ValueError, match=f"got other values of {name}"):
        model.partial_fit(X[20:], X[20:, 0] > 0)
    assert model.n_samples_seen_ == 20
