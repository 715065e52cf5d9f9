"""``partial_fit``: what a stream brings about, whatever calls it comes in."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from examples_of_streams import N, Still, X, both, classifier, every_model, feed, regressor, target
from published_attributes import assert_same, published

from skdp.privacy.accounting import Part
from skdp.solvers import SOLVERS, Blocks, Solution, StreamingSolver, Temperature
from skdp.testing import check_parts

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")


@pytest.mark.parametrize("horizon", [None, N, 2 * N])
@pytest.mark.parametrize("cuts", [range(1, N), range(10, N, 10), [39, 40, 41, 160, 161, N - 1]])
@every_model
def test_calls_do_not_change_what_a_stream_brings_about(make, horizon, cuts):
    whole = feed(make(horizon=horizon))
    assert_same(feed(make(horizon=horizon), cuts), whole)


@both
def test_layout_of_the_rows_changes_nothing_but_rounding(make):
    options = {"precondition": None}
    expected = feed(make(**options), [100, 333])
    for kind in (np.asfortranarray, pd.DataFrame):
        other = make(**options)
        y = target(other)
        for a, b in ((0, 100), (100, 333), (333, N)):
            other.partial_fit(kind(X[a:b]), y[a:b])
        vars(other).pop("feature_names_in_", None)
        assert_same(expected, other, rtol=1e-9)
    mixed = make(**options)
    for k, (a, b) in enumerate(((0, 100), (100, 333), (333, N))):
        mixed.partial_fit(sp.csr_array(X[a:b]) if k else X[a:b], target(mixed)[a:b])
    assert_same(expected, mixed, rtol=1e-9)


@every_model
def test_before_the_first_cut_the_model_says_nothing_about_rows(make):
    model = feed(make(), stop=39)
    other = make()
    y = target(other)
    other.partial_fit(5 * X[100:139], y[100:139][::-1])
    assert_same(model, other)
    assert not np.any(model.coef_)
    assert model.privacy_spent_ == (0.0, 0.0)
    assert model.privacy_ledger_ == ()
    assert model.n_samples_seen_ == 39
    with pytest.warns(UserWarning, match="has learned nothing yet from the 39 rows"):
        assert np.unique(model.predict(X)).size == 1


@every_model
def test_the_model_changes_at_the_cuts_and_nowhere_else(make):
    model, changes = make(), []
    before = None
    for k in range(0, N, 8):
        feed(model, start=k, stop=k + 8)
        now = np.ravel(model.coef_).tobytes()
        if before is not None and now != before:
            changes.append(k + 8)
        before = now
    assert changes == [40, 80, 160, 320, 640]
    # Beyond a horizon blocks double as well.
    model = feed(make(horizon=160), [90])
    assert {e.part.stop for e in model.privacy_ledger_} == {40, 160, 320, 640}


@every_model
def test_each_part_is_charged_once_with_the_whole_budget(make):
    model = feed(make(), range(50, N, 50))
    parts = sorted({e.part for e in model.privacy_ledger_}, key=lambda p: p.start)
    assert parts == [Part(0, 40), Part(40, 80), Part(80, 160), Part(160, 320), Part(320, 640)]
    assert model.privacy_spent_.epsilon <= 1.0
    assert model.privacy_spent_.epsilon > 0.99
    check_parts(model)


BATCH = sorted(
    name
    for name, kind in SOLVERS.items()
    if not (issubclass(kind, StreamingSolver | Blocks) or name == "dda")
)


def takes(make, solver):
    model = make(solver=solver, epsilon=4.0)
    try:
        return feed(model, stop=320)
    except ValueError:
        return None


# Of so few rows coefficients have no standard errors.
@pytest.mark.filterwarnings("ignore::skdp.UnresolvedWarning")
@pytest.mark.parametrize("solver", BATCH)
@pytest.mark.parametrize("make", [classifier, regressor])
def test_batch_solvers_fit_each_call_with_the_whole_budget(make, solver):
    model = takes(make, solver)
    if model is None:
        # It refuses fit for the same reason.
        with pytest.raises(ValueError, match="needs"):
            make(solver=solver).fit(X, target(make()))
        return
    spent = model.privacy_spent_
    feed(model, start=320)
    assert {e.part for e in model.privacy_ledger_} == {Part(0, 320), Part(320, 640)}
    assert model.privacy_spent_.epsilon == pytest.approx(spent.epsilon, rel=0.05)
    assert model.privacy_spent_.epsilon <= 4.0
    check_parts(model)


@both
def test_first_call_of_a_batch_solver_is_a_fit(make):
    options = {"solver": "gd", "random_state": 3}
    fitted = make(**options).fit(X, target(make()))
    streamed = feed(make(**options))
    for name in ("coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(streamed, name), getattr(fitted, name))


@both
def test_calls_of_a_seeded_stream_have_noise_of_their_own(make):
    model = make(solver="gd", epsilon=0.1)
    y = target(model)
    first = model.partial_fit(X, y).coef_
    step = model.partial_fit(X, y).coef_ - first
    again = make(solver="gd", epsilon=0.1).partial_fit(X, y)
    again = again.coef_, again.partial_fit(X, y).coef_
    np.testing.assert_array_equal(again[0], first)
    np.testing.assert_array_equal(again[1] - again[0], step)
    assert not np.allclose(step, first, rtol=0.1)


@pytest.mark.parametrize("precondition", [None, "full", "auto"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@both
def test_a_batch_starts_at_the_model_before_it(make, precondition, fit_intercept, monkeypatch):
    monkeypatch.setattr(Temperature, "apply", lambda self, problem, oracle, w: w)
    model = make(solver="gd", epsilon=5.0, fit_intercept=fit_intercept, precondition=precondition)
    feed(model, stop=320)
    before = published(model)
    model.solver = Still()
    model._progress._settings["solver"] = model.solver
    feed(model, start=320)
    np.testing.assert_allclose(model.coef_, before["coef_"], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, before["intercept_"], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("warm", [True, False])
def test_blocks_start_at_the_model_before_them_if_they_are_told_to(warm):
    # A solver that only adds a constant tells where it has started.
    model = classifier(solver=Blocks(first=40, solver=Plus(), warm=warm), precondition=None, C=2.0)
    feed(model)
    assert model.coef_[0, 0] == (5.0 if warm else 1.0)


class Plus(Still):
    """Adds 1 to its start."""

    def solve(self, problem, oracle, rng):
        return Solution(problem.start() + 1.0, 1)
