"""Receipts of fits that start from earlier private models: they tell of both."""

import copy
import pickle

import dask.array as da
import numpy as np
import pytest
from examples_of_estimators import BINARY, MODELS, N, X, target_of
from recomputed_spend import recomputed

import skdp
from skdp import DPLassoRegressor, DPLogisticRegression
from skdp.model_selection import DPGridSearchCV
from skdp.privacy.accounting import Part, SearchEvent, gdp
from skdp.privacy.rows import Chunks
from skdp.solvers import GD, SVRG, Solver
from skdp.testing import exact_fit

EPSILON, DELTA = 1.0, 1e-5
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def of_fits(k, epsilon=EPSILON):
    """What k fits that use up their budget come to."""
    return gdp.epsilon(np.sqrt(k) * gdp.mu(epsilon, DELTA), DELTA)


def model(**options):
    given = {"epsilon": EPSILON, "classes": [0, 1], "data_norm": 1.0, "precondition": None}
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


@pytest.mark.nightly
def test_twenty_fits_on_the_same_rows_are_all_on_the_receipt():
    found = fitted()
    for k in range(1, 21):
        check(found, k)
        found.fit(X, BINARY)
    assert found.n_samples_seen_ == N


@every_model
def test_the_earlier_ledger_is_there_as_it_was(make):
    y = target_of(make)
    found = make(warm_start=True).fit(X, y)
    first, spent = found.privacy_ledger_, found.privacy_spent_
    found.fit(X, y)
    assert found.privacy_ledger_[: len(first)] == first
    assert len(found.privacy_ledger_) > len(first)
    assert found.privacy_spent_.epsilon > 1.2 * spent.epsilon
    assert all(event.part is None for event in found.privacy_ledger_)


def test_it_holds_if_warm_start_was_switched_on_later_and_ends_when_it_is_switched_off():
    found = fitted(warm_start=False).fit(X, BINARY)
    check(found, 1)
    check(found.set_params(warm_start=True).fit(X, BINARY), 2)
    check(found.set_params(warm_start=np.True_).fit(X, BINARY), 3)
    check(found.set_params(warm_start=False).fit(X, BINARY), 1)


def test_budgets_that_change_in_between_add_up_exactly():
    found = fitted().set_params(epsilon=0.5, delta=1e-6).fit(X, BINARY)
    mu = np.hypot(gdp.mu(1.0, 1e-5), gdp.mu(0.5, 1e-6))
    assert found.privacy_spent_ == pytest.approx((gdp.epsilon(mu, 1e-5), 1e-5), rel=1e-6)
    assert recomputed(found.privacy_ledger_, 1e-5) == pytest.approx(found.privacy_spent_.epsilon)


@pytest.mark.parametrize("solver", ["gd", "objective_perturbation"])
def test_a_receipt_under_zero_out_counts_for_two_steps_under_replace_one(solver):
    found = fitted(adjacency="zero_out", solver=solver, data_norm=1.0)
    found.set_params(adjacency="replace_one", solver=GD(steps=5)).fit(X, BINARY)
    if solver == "gd":
        mu = np.hypot(2 * gdp.mu(EPSILON, DELTA), gdp.mu(EPSILON, DELTA))
        assert found.privacy_spent_.epsilon == pytest.approx(gdp.epsilon(mu, DELTA), rel=1e-6)
    assert found.privacy_spent_.epsilon > 2.0
    assert skdp.privacy_spent(found).epsilon == pytest.approx(found.privacy_spent_.epsilon)
    back = fitted().set_params(adjacency="zero_out").fit(X, BINARY)
    check(back, 2)


@pytest.mark.nightly
def test_what_events_cannot_say_of_the_other_relation_is_an_event_of_its_own():
    pytest.importorskip("dp_accounting")
    options = {"solver": SVRG(batch_size=20), "epsilon": 1.0}
    found = fitted(adjacency="replace_one", **options)
    found.set_params(solver=GD(steps=5)).fit(X, BINARY)
    assert found.privacy_spent_.epsilon > 1.2


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


def test_of_an_earlier_stream_the_costliest_part_counts_whatever_its_rows_are():
    found = model(solver="gd", epsilon=2.0).partial_fit(X[:40], BINARY[:40])
    found.partial_fit(X[40:100], BINARY[40:100])
    found.set_params(solver=GD(steps=5)).fit(X, BINARY)
    assert {e.part for e in found.privacy_ledger_} == {None}
    epsilon, delta = found.privacy_spent_
    assert epsilon == pytest.approx(of_fits(2, 2.0), rel=1e-6)
    assert recomputed(found.privacy_ledger_, delta) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.nightly
def test_parts_that_choices_make_incomparable_count_by_epsilon_and_delta():
    rows = np.random.default_rng(1).uniform(-1, 1, size=(1200, 40))
    y = rows[:, 0]
    found = DPLassoRegressor(
        feature_bound=1.0, target_bounds=(-1, 1), solver="screening", warm_start=True
    )
    found.partial_fit(rows[:500], y[:500]).partial_fit(rows[500:], y[500:])
    found.fit(rows, y)
    kinds = [type(e) for e in found.privacy_ledger_ if e.query == "earlier_fits"]
    assert kinds == [SearchEvent]
    assert found.privacy_spent_.epsilon == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(
    "way",
    [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_take_the_receipt_along(way):
    first = fitted()
    second = way(first).fit(X, BINARY)
    check(second, 2)
    check(way(second).fit(X, BINARY), 3)
    check(first, 1)
    check(second, 2)


def test_the_winner_of_a_private_search_starts_with_what_the_search_has_spent():
    search = DPGridSearchCV(
        model(), {"C": [0.1, 1.0]}, epsilon=EPSILON, delta=DELTA, score_range=(0, 1)
    )
    with pytest.warns(UserWarning, match="by chance"):
        search.fit(X, BINARY)
    winner = search.best_estimator_
    spent = winner.privacy_spent_.epsilon
    winner.set_params(epsilon=0.5).fit(X, BINARY)
    assert winner.privacy_spent_.epsilon > 1.05 * spent
    assert winner.privacy_ledger_[: len(search.privacy_ledger_)] == search.privacy_ledger_
    total = skdp.privacy_spent(winner).epsilon
    assert total == pytest.approx(winner.privacy_spent_.epsilon, rel=1e-6)


class Failing(Solver):
    """Spends a part of the budget and fails."""

    def check(self, problem):
        pass

    def solve(self, problem, oracle, rng):
        oracle.gradient(problem.start(), spend=oracle.budget.fraction(0.25).whole(), clip_norm=1.0)
        raise MemoryError


def test_a_fit_that_fails_has_spent_what_it_asked_and_what_it_started_from():
    found = fitted().set_params(solver=Failing())
    with pytest.raises(MemoryError):
        found.fit(X, BINARY)
    assert not hasattr(found, "coef_")
    check(found, 1.25)
    # What comes next was not started by it, but follows it.
    check(found.set_params(solver=GD(steps=5)).fit(X, BINARY), 2.25)


@pytest.mark.parametrize(
    "rows",
    [
        lambda: (Chunks([(X[:100], BINARY[:100]), (X[100:], BINARY[100:])]), None),
        lambda: (da.from_array(X, chunks=(80, -1)), da.from_array(BINARY, chunks=80)),
    ],
    ids=["chunks", "dask"],
)
def test_rows_may_come_in_any_way(rows):
    given, y = rows()
    check(fitted().fit(given, y), 2)


def test_of_sites_the_one_counts_that_has_spent_most():
    groups = np.repeat(["a", "b", "c"], N // 3)
    found = model(solver="auto")
    found.fit(X, BINARY, sites=groups)
    once = found.privacy_spent_.epsilon
    # Who was at one site then may be at another now.
    found.fit(X, BINARY, sites=np.roll(groups, 40))
    mu = np.sqrt(2) * gdp.mu(once, DELTA)
    assert found.privacy_spent_.epsilon == pytest.approx(gdp.epsilon(mu, DELTA), rel=1e-6)
    assert skdp.privacy_spent(found).epsilon == pytest.approx(found.privacy_spent_.epsilon)


def test_coefficients_set_by_hand_carry_nothing():
    found = model()
    found.coef_, found.intercept_ = np.full((1, 4), 0.25), np.zeros(1)
    check(found.fit(X, BINARY), 1)


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


def test_many_declared_fits_take_bounded_memory():
    found = model(warm_start="disjoint")
    for _ in range(25):
        found.fit(X, BINARY)
    assert len({e.part for e in found.privacy_ledger_}) <= 17
    check(found, 1)


def test_other_values_are_refused():
    with pytest.raises(ValueError, match="'warm_start' parameter"):
        model(warm_start="parallel").fit(X, BINARY)


def test_a_warm_fit_that_is_refused_leaves_the_receipt():
    found = fitted()
    before = found.privacy_spent_, found.privacy_ledger_
    with pytest.raises(ValueError, match="needs 4 features"):
        found.fit(X[:, :3], BINARY)
    assert (found.privacy_spent_, found.privacy_ledger_) == before
    check(found.fit(X, BINARY), 2)


@pytest.mark.parametrize("solver", ["gd", "blocks", "ftrl"])
@pytest.mark.parametrize("warm_start", [False, True])
def test_a_stream_goes_on_with_the_receipt_of_its_fit(solver, warm_start):
    found = fitted(warm_start=warm_start).set_params(solver=solver, horizon=100)
    found.partial_fit(X[:60], BINARY[:60]).partial_fit(X[60:100], BINARY[60:100])
    check(found, 2)
    if solver == "gd":
        check(pickle.loads(pickle.dumps(found)).partial_fit(X[100:], BINARY[100:]), 2)


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
