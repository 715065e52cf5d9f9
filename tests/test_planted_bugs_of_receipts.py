"""Bugs in receipts of what goes on from earlier fits, planted one by one, each caught."""

import pytest
from budget_tasks import DELTA, X, Y, budget, charged, model, share
from recomputed_spend import recomputed

from skdp import BudgetExceededError
from skdp.estimators import partial_fit, progress
from skdp.estimators.progress import Progress
from skdp.privacy.accounting.ledger import PrivacySpent
from skdp.privacy.rows.call_digests import SeenCalls
from skdp.report import ceiling
from skdp.report.receipts import Receipt

pytestmark = pytest.mark.filterwarnings("ignore:.*again:skdp.PrivacyLeakWarning")


@pytest.fixture
def caught(monkeypatch):
    """Run a check on the code as it is, then with an attribute set to its buggy version."""

    def plant(owner, name, bug, check):
        check()
        monkeypatch.setattr(owner, name, bug)
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            check()

    return plant


def fits_add_up():
    found = model(4, warm_start=True).fit(X, Y).fit(X, Y)
    assert found.privacy_spent_.epsilon == pytest.approx(share(2), rel=1e-6)


def a_stream_adds_up_with_its_fit():
    found = model(4).fit(X, Y).partial_fit(X, Y)
    assert found.privacy_spent_.epsilon == pytest.approx(share(2), rel=1e-6)


def positions_of_an_earlier_stream_do_not_matter():
    found = model(4, warm_start=True).partial_fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:])
    found.fit(X, Y).set_params(warm_start=False).partial_fit(X, Y)
    assert found.privacy_spent_.epsilon == pytest.approx(share(4 / 3), rel=1e-6)
    assert recomputed(found.privacy_ledger_, DELTA) == pytest.approx(share(4 / 3), rel=1e-6)


def relations_are_brought_together():
    found = model(9, warm_start=True, adjacency="zero_out").fit(X, Y)
    found.set_params(adjacency="replace_one").fit(X, Y)
    assert found.privacy_spent_.epsilon == pytest.approx(share(9 / 5), rel=1e-6)


def epochs_are_charged():
    found = model(4).partial_fit(X, Y).partial_fit(X, Y)
    assert found.privacy_spent_.epsilon == pytest.approx(share(2), rel=1e-6)


def rows_of_one_block_count_as_a_group():
    found = model(16, solver="ftrl").partial_fit(X, Y).partial_fit(X, Y)
    assert found.privacy_spent_.epsilon == pytest.approx(share(4), rel=1e-6)


def no_epoch_is_read_without_room():
    with budget():
        found = model(1).partial_fit(X, Y)
        with pytest.raises(BudgetExceededError):
            found.partial_fit(X, Y)
        assert found.n_samples_seen_ == len(X)


def a_fit_and_its_stream_are_two_runs():
    with budget() as ceiling:
        model(2).fit(X, Y).partial_fit(X, Y)
        assert charged(ceiling) == pytest.approx(1.0)


def few_rows_are_passed_over():
    found = model(4).partial_fit(X[:20], Y[:20]).partial_fit(X[:20], Y[:20])
    assert found.privacy_spent_.epsilon == pytest.approx(share(4), rel=1e-6)


def test_a_ledger_that_is_left_behind_is_caught(caught):
    caught(Progress, "follow", lambda self, model, before: None, fits_add_up)


def test_a_ledger_that_a_stream_leaves_behind_is_caught(caught):
    caught(Progress, "follow", lambda self, model, before: None, a_stream_adds_up_with_its_fit)


def test_parallel_composition_by_default_is_caught(caught):
    caught(progress, "declared_disjoint", lambda model: True, fits_add_up)


def test_parallel_composition_of_a_stream_by_default_is_caught(caught):
    caught(progress, "declared_disjoint", lambda model: True, a_stream_adds_up_with_its_fit)


def test_positions_that_are_carried_along_are_caught(caught):
    caught(Receipt, "unlocated", lambda self: self, positions_of_an_earlier_stream_do_not_matter)


def test_a_relation_that_is_ignored_is_caught(caught):
    caught(Receipt, "under", lambda self, adjacency: self, relations_are_brought_together)


def test_a_spend_that_is_that_of_the_latest_fit_is_caught(caught):
    def latest(receipts, delta):
        return PrivacySpent(*receipts[-1].spent)

    caught(progress, "_together", latest, fits_add_up)


def test_digests_that_are_ignored_are_caught(caught):
    caught(SeenCalls, "digest", lambda self, rows: None, epochs_are_charged)


def test_calls_that_are_not_noted_are_caught(caught):
    caught(SeenCalls, "note", lambda self, digest: None, epochs_are_charged)


def test_digests_of_few_rows_are_caught(caught, monkeypatch):
    few_rows_are_passed_over()
    monkeypatch.setattr("skdp.privacy.rows.call_digests._FEWEST_ROWS", 2)
    with pytest.raises(AssertionError):
        few_rows_are_passed_over()


def test_repetitions_that_count_as_fits_where_they_share_noise_are_caught(caught):
    honest = Receipt.between

    def bug(self, steps, adjacency=None):
        return self.times(steps) if adjacency is None else honest(self, steps, adjacency)

    caught(Receipt, "between", bug, rows_of_one_block_count_as_a_group)


def test_reservations_after_reading_are_caught():
    honest, feed = partial_fit.charge_repeats, partial_fit._feed

    def late(model, session, rows):
        before = session.calls.times(session.calls.digest(rows))
        feed(model, session, rows)
        honest(model, session.claim, before + 1)

    no_epoch_is_read_without_room()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial_fit, "charge_repeats", lambda model, claim, times: None)
        patch.setattr(partial_fit, "_feed", late)
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            no_epoch_is_read_without_room()


def test_repetitions_that_no_budget_hears_of_are_caught(caught):
    caught(Progress, "repeated", lambda self, claim, repeats: claim, no_epoch_is_read_without_room)


def test_a_stream_that_goes_on_with_the_run_of_its_fit_is_caught(caught):
    caught(partial_fit, "declared_disjoint", lambda model: True, a_fit_and_its_stream_are_two_runs)


def test_a_child_that_goes_on_with_the_run_of_its_parent_is_caught(monkeypatch):
    """As after a fork: the process has another number than the one where the run began."""

    def check():
        with budget() as open_budget:
            found = model(2).partial_fit(X[:60], Y[:60])
            process = ceiling.os.getpid()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ceiling.os, "getpid", lambda: process + 1)
                found.partial_fit(X[60:], Y[60:])
            assert charged(open_budget) == pytest.approx(1.0)

    check()
    honest = ceiling.charge_for

    def bug(estimator, *, goes_on=False):
        charge = honest(estimator, goes_on=goes_on)
        if goes_on:
            charge.key = vars(estimator).get(ceiling.RUN, charge.key)
        return charge

    monkeypatch.setattr("skdp.estimators.partial_fit.charge_for", bug)
    with pytest.raises(AssertionError):
        check()
