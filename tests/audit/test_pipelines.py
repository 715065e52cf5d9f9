"""Pipelines are audited as they are: by all queries of all steps, and at their boundary."""

import warnings

import numpy as np
import pandas as pd
import pytest
from by_night import by_night
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

import skdp
from skdp import DPLogisticRegression
from skdp.audit import DivergedError, FitProgram, audit
from skdp.preprocessing import DPStandardScaler
from skdp.privacy.accounting import gdp
from skdp.reporting import TABLE
from skdp.solvers import GD

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
LABELS = np.tile([0, 1], 10)
SURE = 1 - 1e-7
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": ["x", "y"] * 10})


def logistic(**params):
    steps = GD(steps=3, total_step_size=1e-6, clip=0.25)
    params = {"solver": steps, "precondition": None, "classes": [0, 1]} | params
    return DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=1.0, **params)


def scaler(**params):
    return DPStandardScaler(epsilon=1.0, bounds=(-3, 3), **params)


def of_columns():
    private = [("a", scaler(), [0]), ("b", scaler(with_mean=False), [1])]
    columns = ColumnTransformer(private, n_jobs=2, sparse_threshold=0)
    return make_pipeline(columns, logistic())


def of_frames():
    kinds = OneHotEncoder(categories=[["x", "y"]], handle_unknown="ignore", sparse_output=False)
    parts = [("n", scaler(), ["a", "b"]), ("k", kinds, ["kind"])]
    return make_pipeline(ColumnTransformer(parts, sparse_threshold=0), logistic())


HONEST = {
    "pipeline": (make_pipeline(scaler(), logistic()), X),
    "columns": (of_columns(), X),
    "union": (make_pipeline(make_union(scaler(), Normalizer()), logistic()), X),
    "nested": (make_pipeline(make_pipeline(Normalizer(), scaler()), logistic()), X),
    "dataframe": (of_frames(), FRAME),
    "zero-out": (
        make_pipeline(scaler(adjacency="zero_out"), logistic(adjacency="zero_out")),
        X,
    ),
    "no model": (make_union(scaler(), scaler(with_mean=False)), X),
}


@pytest.mark.parametrize("case", [*by_night("columns"), *(c for c in HONEST if c != "columns")])
@pytest.mark.by_day(3)
def test_honest_pipelines_claim_their_total_and_are_not_refuted(case):
    model, rows = HONEST[case]
    result = audit(model, rows, LABELS, runs=4000)
    assert result.sees == "queries"
    assert result.bound == "gaussian"
    assert result.epsilon == skdp.privacy_spent(model.fit(rows, LABELS)).epsilon
    assert result.leaks == ()
    assert not result.at(SURE).refuted
    # Not for want of a look: both steps are seen, or nearly.
    assert result.epsilon_lower_bound > 0.3


def test_rows_of_the_second_step_are_those_of_the_released_first_one():
    """One row of a scaled column moves the answers of both steps, by no more than their total."""
    result = audit(make_pipeline(scaler(), logistic()), X, LABELS, runs=60_000)
    claimed = gdp.mu(result.epsilon, result.delta)
    assert 0.6 * claimed < result.mu_lower_bound
    assert not result.at(SURE).refuted


class Sly(StandardScaler):
    """Learns in secret, and declares by a tag that it learns nothing."""

    def fit(self, X, y=None, sample_weight=None):
        self._inner = StandardScaler().fit(X)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return self._inner.transform(X)

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def check_leaks(result, *names):
    assert result.sees == result.bound == "boundary"
    assert result.epsilon_lower_bound == np.inf
    assert result.refuted
    assert result.at(SURE).refuted
    for name in names:
        assert any(name in part for part in result.leaks), result.leaks
    assert f"The boundary gives the row away: {result.leaks[0]}" in str(result)
    assert result.to_dict()["leaks"] == result.leaks


def believed(step, monkeypatch):
    """A wrong line in the table of verdicts: the step is said to learn nothing."""
    monkeypatch.setitem(TABLE, step, TABLE[Normalizer])


def test_a_scaler_that_learns_in_secret_is_caught(monkeypatch):
    believed(Sly, monkeypatch)
    check_leaks(audit(make_pipeline(Sly(), logistic()), X, LABELS), "_inner.mean_")


def test_a_layout_that_depends_on_a_row_is_caught():
    """An unknown category leaves a row without entries: one more, and the union is sparse."""
    encoder = OneHotEncoder(categories=[range(10)], handle_unknown="ignore")
    columns = ColumnTransformer([("k", encoder, [0])], sparse_threshold=0.1)
    codes = np.arange(10.0)[:, None]
    codes[1:, 0] = 3.0
    with pytest.warns(skdp.PrivacyLeakWarning, match="sparse_threshold=0"):
        result = audit(make_pipeline(columns, logistic()), codes, LABELS[:10])
    check_leaks(result, "sparse_output_")


def test_classes_that_are_read_off_the_targets_are_caught():
    third = np.where(np.arange(20) == 0, 2, LABELS)
    with pytest.warns(skdp.PrivacyLeakWarning):
        result = audit(logistic(classes=None), X, LABELS, other=(X, third))
    check_leaks(result, "classes_")
    with pytest.warns(skdp.PrivacyLeakWarning):
        check_leaks(audit(logistic(classes=None), X, LABELS), "classes_")


class Acting(TransformerMixin, BaseEstimator):
    """Lets rows pass, and does something if one is long."""

    def __init__(self, act=None):
        self.act = act

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        if np.abs(X).max() > 50:
            self.act()
        return np.tanh(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def warn():
    warnings.warn("A row is long.", UserWarning, stacklevel=1)


def fail():
    raise RuntimeError("A row is long.")


def test_warnings_and_exceptions_about_a_row_are_caught(monkeypatch):
    believed(Acting, monkeypatch)
    far = X.copy()
    far[0] = 100.0
    result = audit(make_pipeline(Acting(warn), logistic()), X, LABELS, other=(far, LABELS))
    check_leaks(result, "warnings")
    result = audit(make_pipeline(Acting(fail), logistic()), X, LABELS, other=(far, LABELS))
    check_leaks(result, "RuntimeError is raised for the second data set alone")


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_one_query_more_for_some_rows_is_caught(adjacency, monkeypatch):
    honest = DPLogisticRegression.fit

    def longer(self, X, y=None, **options):
        steps = 3 + int(np.abs(X).max() > 50)
        self.set_params(solver=GD(steps=steps, total_step_size=1e-6, clip=0.25))
        return honest(self, X, y, **options)

    monkeypatch.setattr(DPLogisticRegression, "fit", longer)
    check_leaks(audit(logistic(adjacency=adjacency), X, LABELS), "query 1, gradient")


@pytest.mark.filterwarnings("ignore:The pipeline publishes more")
def test_steps_without_a_receipt_are_refused():
    with pytest.raises(ValueError, match="standardscaler learns means"):
        audit(make_pipeline(StandardScaler(), logistic()), X, LABELS)


class Timed(TransformerMixin, BaseEstimator):
    """Publishes a number of its own in every fit, which tells nothing of the rows."""

    fits = 0

    def fit(self, X, y=None):
        Timed.fits += 1
        self.moment_ = Timed.fits
        return self

    def transform(self, X):
        return X


def test_what_differs_between_equal_runs_is_no_leak():
    """``skdp.privacy_spent`` would refuse such a step, and an audit looks at it for what it is."""
    program = FitProgram(make_pipeline(Timed(), logistic()), ((X, LABELS), (-X, LABELS)))
    recording = program.record()
    assert program.replay(recording, 1) == []
    assert len(recording.tape._sides) == 2


class Widening(Timed):
    """Hands one column more on in every fit of the process."""

    width = 0

    def transform(self, X):
        Widening.width += 1
        return X[:, :1].repeat(Widening.width, axis=1)


def test_what_cannot_be_repeated_is_told_from_what_leaks():
    program = FitProgram(make_pipeline(Widening(), logistic()), ((X, LABELS), (-X, LABELS)))
    recording = program.record()
    with pytest.raises(DivergedError, match="query 1, gradient, has another public content"):
        program.replay(recording, 1)


def test_published_traces_of_the_rows_are_caught_one_and_all(monkeypatch):
    """Also where one lies where another has lain."""
    honest = DPLogisticRegression.fit

    def leaking(self, X, y=None, *args, **options):
        honest(self, X, y, *args, **options)
        self.coef_ = self.coef_ + 1e-9 * float(np.sum(y))
        self.traces_ = [np.array([k, [float(np.sum(y))]], dtype=object) for k in range(200)]
        return self

    monkeypatch.setattr(DPLogisticRegression, "fit", leaking)
    result = audit(make_pipeline(Normalizer(), logistic()), X, LABELS)
    check_leaks(result, "coef_", "traces_")
    assert sum("traces_" in part for part in result.leaks) == 200
