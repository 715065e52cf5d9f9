"""Receipts of fits that start from earlier private models: they tell of both."""

import copy

import numpy as np
import pytest
from examples_of_estimators import BINARY, N, X
from examples_of_streams import Failing
from recomputed_spend import recomputed

import skdp
from skdp import DPLogisticRegression
from skdp.model_selection import DPGridSearchCV
from skdp.privacy.accounting import Part, SearchEvent, gdp
from skdp.solvers import GD
from skdp.testing import exact_fit

EPSILON, DELTA = 1.0, 1e-5


def of_fits(k, epsilon=EPSILON):
    """What k fits that use up their budget come to."""
    return gdp.epsilon(np.sqrt(k) * gdp.mu(epsilon, DELTA), DELTA)


def model(**options):
    given = {
        "epsilon": EPSILON,
        "classes": [0, 1],
        "data_norm": 1.0,
        "precondition": None,
        "C": 2.0,
    }
    return DPLogisticRegression(**given | {"solver": GD(steps=5), "warm_start": True} | options)


def fitted(**options):
    return model(**options).fit(X, BINARY)


def check(found, k):
    """All there is agrees on what k fits have spent."""
    epsilon, delta = found.privacy_spent_
    assert delta == DELTA
    assert epsilon == pytest.approx(of_fits(k), rel=1e-6)
    assert recomputed(found.privacy_ledger_, delta) == pytest.approx(epsilon, rel=1e-6)
    total = skdp.privacy_spent(found)
    assert (total.epsilon, total.delta) == pytest.approx((epsilon, delta), rel=1e-6)


def test_an_earlier_fit_that_is_known_by_epsilon_and_delta_only_can_be_added_up():
    found = fitted()
    found.privacy_ledger_ = ()
    found.fit(X, BINARY)
    stated = [e for e in found.privacy_ledger_ if isinstance(e, SearchEvent)]
    assert [(e.sensitivity, e.trial_delta) for e in stated] == [(EPSILON, DELTA)]
    epsilon, delta = found.privacy_spent_
    # At its own delta there is nothing left for the other.
    assert delta == pytest.approx(2 * DELTA)
    # Sums, or a little less if privacy loss distributions are at hand.
    assert recomputed(found.privacy_ledger_, delta) == pytest.approx(2 * EPSILON, rel=1e-6)
    assert epsilon == pytest.approx(2 * EPSILON, rel=0.02)
    assert epsilon <= 2 * EPSILON * (1 + 1e-9)
    found.fit(X, BINARY)
    epsilon, delta = found.privacy_spent_
    added = EPSILON + of_fits(2)
    assert recomputed(found.privacy_ledger_, delta) == pytest.approx(added, rel=1e-6)
    assert epsilon == pytest.approx(added, rel=0.05)
    assert epsilon <= added * (1 + 1e-9)


def test_an_exact_model_makes_every_later_one_exact():
    found = model()
    exact_fit(found, X, BINARY)
    found.fit(X, BINARY)
    assert np.isinf(found.privacy_spent_.epsilon)
    assert np.isinf(skdp.privacy_spent(found).epsilon)


def test_a_fit_that_fails_has_spent_what_it_asked_and_what_it_started_from():
    found = fitted().set_params(solver=Failing(1))
    with pytest.raises(MemoryError):
        found.fit(X, BINARY)
    assert not hasattr(found, "coef_")
    check(found, 1.3)
    # What comes next was not started by it, but follows it.
    check(found.set_params(solver=GD(steps=5)).fit(X, BINARY), 2.3)


def test_rows_that_are_declared_others_are_parallel():
    found = model(warm_start="disjoint")
    for k in range(5):
        rows = slice(40 * k, 40 * k + 40)
        found.fit(X[rows], BINARY[rows])
        check(found, 1)
        assert found.n_samples_seen_ == 40 * k + 40
    parts = {e.part for e in found.privacy_ledger_}
    assert parts == {Part(40 * k, 40 * k + 40) for k in range(5)}
    found.set_params(epsilon=0.5).fit(X[200:], BINARY[200:])
    check(found, 1)
    found.set_params(epsilon=2.0).fit(X, BINARY)
    assert found.privacy_spent_.epsilon == pytest.approx(2.0)


def test_declared_and_not_declared_may_follow_each_other():
    found = fitted().fit(X, BINARY)
    found.set_params(warm_start="disjoint").fit(X, BINARY)
    # Two fits on the rows before, one on these.
    check(found, 2)
    assert {e.part for e in found.privacy_ledger_} == {Part(0, N), Part(N, 2 * N)}
    check(found.set_params(warm_start=True).fit(X, BINARY), 3)
    assert {e.part for e in found.privacy_ledger_} == {None}
    check(found.set_params(warm_start="disjoint", adjacency="zero_out").fit(X, BINARY), 3)


def test_a_winner_that_goes_on_with_a_stream_adds_it_to_the_search():
    search = DPGridSearchCV(
        model(solver="gd"), {"C": [0.1, 1.0]}, epsilon=EPSILON, delta=DELTA, score_range=(0, 1)
    )
    with pytest.warns(UserWarning, match="by chance"):
        search.fit(X, BINARY)
    winner = search.best_estimator_
    before = winner.privacy_spent_.epsilon
    other = copy.deepcopy(winner).set_params(warm_start="disjoint")
    winner.partial_fit(X, BINARY)
    assert winner.privacy_spent_.epsilon > before
    assert {e.part for e in winner.privacy_ledger_} == {None, Part(N, 2 * N)}
    other.partial_fit(X, BINARY)
    assert other.privacy_spent_.epsilon == pytest.approx(before)
