"""Bugs in what goes along with scikit-learn, planted one by one, as in test_planted_bugs."""

import pickle

import numpy as np
import pytest
from examples_of_estimators import BINARY, REAL, N, X, linear, logistic
from object_graphs import numbers_within, planted_in

from skdp.estimators.announcements import Announcements
from skdp.estimators.base import PrivateLinearModel
from skdp.estimators.progress import EarlierModel, Released
from skdp.privacy.accounting.ledger import Ledger
from skdp.privacy.oracle import PrivateOracle
from skdp.testing import record_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")


@pytest.fixture
def caught(monkeypatch):
    """Run a check on the code as it is, then with an attribute set to its buggy version."""

    def plant(owner, name, bug, check):
        check()
        monkeypatch.setattr(owner, name, bug)
        with pytest.raises(AssertionError):
            check()

    return plant


def starts_where_it_should():
    """A warm start in other units predicts what the published model predicts."""
    model = linear(warm_start=True, precondition=None, clip_predictions=False).fit(X, REAL)
    expected = model.predict(X)
    model.set_params(target_bounds=(-10.0, 30.0), data_norm=2.0)
    entries = record_fit(model, X, REAL).entries
    content = next(public for name, public, _, _ in entries if name == "gradient")
    w = next(x for x in content if isinstance(x, np.ndarray) and x.shape == (5,))
    np.testing.assert_allclose(20 * (X @ w[:4] + 0.6 * w[4]) + 10, expected, rtol=1e-9)


def refuses_other_features():
    model = logistic(warm_start=True).fit(X, BINARY)
    try:
        model.fit(X[:, :3], BINARY)
    except Exception as error:
        said = str(error)
    assert "needs 4 features as there" in said
    assert hasattr(model, "coef_")


def looks_anew_within_other_bounds():
    model = linear(warm_start=True, solver="auto").fit(X, REAL)
    model.set_params(intercept_scaling=0.5).fit(X, REAL)
    assert sum(e.count for e in model.privacy_ledger_ if e.query == "second_moments") == 6


def spends_anew():
    model = logistic(warm_start=True).fit(X, BINARY)
    once = sum(e.count for e in model.privacy_ledger_)
    model.fit(X, BINARY)
    assert sum(e.count for e in model.privacy_ledger_) > 1.5 * once
    assert model.privacy_spent_.epsilon > 50.0
    assert all(e.noise_scale > 0 for e in model.privacy_ledger_)
    assert any(e.query == "gradient" for e in model.privacy_ledger_)


def prints_public_facts(capsys):
    def check():
        outs = []
        for seed in range(2):
            rng = np.random.default_rng(seed)
            rows = X if seed == 0 else rng.normal(size=X.shape)
            logistic(verbose=2).fit(rows, BINARY)
            outs.append(capsys.readouterr().out)
        assert outs[0] == outs[1]

    return check


def silent(capsys):
    def check():
        logistic().fit(X, BINARY)
        assert not capsys.readouterr().out

    return check


def hears_before_rows_are_read():
    """A listener that raises stops the fit before its query is evaluated."""
    evaluated = []

    def listen(event):
        raise RuntimeError(event.query)

    honest = PrivateOracle._evaluate
    model = logistic(precondition=None)

    def begin(self, *, callbacks):
        self._ledger.tell(listen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Announcements, "begin", begin)
        patch.setattr(PrivateOracle, "_evaluate", lambda *a: evaluated.append(1) or honest(*a))
        with pytest.raises(RuntimeError):
            model.fit(X, BINARY)
    assert not evaluated
    assert model.privacy_spent_.epsilon > 0


def predicts_the_same_when_sparse():
    model = linear(clip_predictions=False).fit(X, REAL)
    expected, shape = model.predict(X), model.coef_.shape
    np.testing.assert_allclose(model.sparsify().predict(X), expected)
    assert model.predict(X).shape == (N,)
    assert model.densify().coef_.shape == shape


def holds_no_mean():
    model = logistic().fit(X, BINARY)
    secrets = {f"mean {k}": X[:, k].mean() for k in range(4)}
    assert not planted_in(pickle.loads(pickle.dumps(model)), secrets)
    assert numbers_within(model).size < 400


def test_units_forgotten_in_a_warm_start_are_caught(caught):
    def bug(self, problem):
        return problem.from_user_coordinates(self.coef, self.intercept)

    caught(EarlierModel, "start", bug, starts_where_it_should)


def test_a_warm_start_that_takes_any_features_is_caught(caught):
    def bug(model, before):
        if not model.warm_start or "coef_" not in before:
            return None
        return EarlierModel(before["coef_"].T, before["intercept_"], None)

    caught(EarlierModel, "of", bug, refuses_other_features)


def test_coordinates_of_other_bounds_are_caught(caught):
    caught(Released, "coordinates", lambda self, _: self.row_map, looks_anew_within_other_bounds)


def test_a_warm_start_that_hands_the_old_model_out_again_is_caught(caught):
    honest = PrivateLinearModel._fit_part

    def bug(self, rows, plan, *rest, origin=None, **options):
        if origin is None:
            return honest(self, rows, plan, *rest, origin=origin, **options)
        self.coef_, self.intercept_ = origin.coef.T, origin.intercept
        return self._publish_receipt()

    caught(PrivateLinearModel, "_fit_part", bug, spends_anew)


def test_a_progress_report_that_tells_of_the_rows_is_caught(caught, capsys):
    honest = Announcements._say

    def bug(self, what):
        norm = np.linalg.norm(getattr(self._model, "_rows_seen", 0.0))
        honest(self, f"{what}, norm {norm}")

    opened = PrivateLinearModel._open

    def remembers(self, X, y, *rest):
        self._rows_seen = np.array(X)
        return opened(self, X, y, *rest)

    check = prints_public_facts(capsys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrivateLinearModel, "_open", remembers)
        caught(Announcements, "_say", bug, check)


def test_a_report_that_nobody_asked_for_is_caught(caught, capsys):
    def bug(self, *, callbacks):
        self._say("begins")

    caught(Announcements, "begin", bug, silent(capsys))


def test_a_listener_that_hears_too_late_is_caught(caught):
    def bug(self, event):
        self._record(event)

    def check():
        try:
            hears_before_rows_are_read()
        except pytest.fail.Exception as error:
            raise AssertionError from error

    caught(Ledger, "charge", bug, check)


def test_coefficients_that_come_back_in_another_shape_are_caught(caught):
    def bug(self):
        self.coef_ = self.coef_.toarray()
        return self

    caught(PrivateLinearModel, "densify", bug, predicts_the_same_when_sparse)


def test_a_fit_that_keeps_the_mean_of_the_rows_is_caught(caught):
    honest = PrivateLinearModel._fit_part

    def bug(self, rows, *rest, **options):
        self._centre = rows.X.mean(axis=0)
        honest(self, rows, *rest, **options)

    caught(PrivateLinearModel, "_fit_part", bug, holds_no_mean)
