"""Bugs planted into the accounting over several fits, each of which a check has to notice."""

import copy
import multiprocessing
import pickle
from math import sqrt

import numpy as np
import pytest
from budget_tasks import DELTA, EPSILON, MU, Untouchable, X, Y, fit_a_clone, model
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, StratifiedKFold

from skdp import BudgetExceededError, PrivacyBudget
from skdp.privacy.accounting import gdp
from skdp.privacy.accounting.events import ExponentialEvent, GaussianEvent, Part
from skdp.privacy.accounting.ledger import PrivacySpent
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.oracle import PrivateOracle
from skdp.report import budget_store, composition, open_budgets
from skdp.report.budget_store import BudgetStore
from skdp.report.composition import ParallelComposition
from skdp.report.filters import Amount, GaussianFilter, SumsFilter
from skdp.report.open_budgets import BudgetedEstimator, Reservation
from skdp.report.receipts import Receipt

fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"
)


def budget(**parameters):
    return PrivacyBudget(**({"epsilon": EPSILON, "delta": DELTA} | parameters))


def fit_as_far_away(content, answers):
    """What a worker does that has started anew: it knows nothing but what it is handed."""
    open_budgets._open.clear()
    open_budgets._opened_by_parents = list
    answers.put(fit_a_clone(pickle.loads(content)))


def charges_from_far_away():
    """How many runs a clone in a worker has put into the store."""
    context = multiprocessing.get_context("fork")
    with budget() as opened:
        answers = context.Queue()
        job = context.Process(target=fit_as_far_away, args=(pickle.dumps(model(2)), answers))
        job.start()
        assert answers.get(timeout=60)[1] == "fitted"
        job.join()
        return len(opened.receipts)


@fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_charges_that_are_lost_by_clones_in_workers_are_noticed(monkeypatch):
    assert charges_from_far_away() == 1
    with monkeypatch.context() as bug:
        bug.setattr(BudgetedEstimator, "__sklearn_clone__", BaseEstimator.__sklearn_clone__)
        assert charges_from_far_away() == 0
    monkeypatch.setattr(BudgetedEstimator, "__getstate__", BaseEstimator.__getstate__)
    assert charges_from_far_away() == 0


def test_a_reservation_after_reading_is_noticed(monkeypatch):
    def refused_unread():
        with budget() as opened:
            model(1).fit(X, Y)
            with pytest.raises(BudgetExceededError):
                model(1).fit(Untouchable(), Untouchable())
            assert len(opened.receipts) == 1

    refused_unread()
    honest = Reservation.reserve

    def late(self, most, *, begins):
        if begins:
            honest(self, most, begins=True)

    monkeypatch.setattr(Reservation, "reserve", late)
    with pytest.raises(AssertionError, match="a row source was"):
        refused_unread()


def totals_agree(n=3):
    """Whether a budget says what the receipts of its fits add up to."""
    with budget() as opened:
        models = [model(5).fit(X, Y) for _ in range(n)]
        total = composition.compose(models, delta=DELTA)
        return opened.spent.epsilon == pytest.approx(total.epsilon, rel=1e-9)


def test_a_settlement_below_what_was_spent_is_noticed(monkeypatch):
    assert totals_agree()
    honest = GaussianFilter.price

    def low(self, receipt):
        return Amount(0.9 * honest(self, receipt).main)

    monkeypatch.setattr(GaussianFilter, "price", low)
    assert not totals_agree()


def test_a_settlement_that_forgets_a_failed_fit_is_noticed(monkeypatch):
    answers, release = [], PrivateOracle._release

    def failing(self, query, spend):
        answers.append(release(self, query, spend))
        if len(answers) % 3 == 0:
            raise RuntimeError
        return answers[-1]

    monkeypatch.setattr(PrivateOracle, "_release", failing)

    def spent():
        with budget() as opened:
            estimator = model(2)
            with pytest.raises(RuntimeError):
                estimator.fit(X, Y)
            return opened.spent.epsilon, estimator.privacy_spent_.epsilon

    counted, true = spent()
    assert counted == pytest.approx(true)
    monkeypatch.setattr(BudgetStore, "settle", lambda self, key, receipt: None)
    # All that was set aside stands: too much, and never too little.
    counted, true = spent()
    assert counted > true

    def forgets(self, key, receipt):
        with self._open() as book:
            book.execute("DELETE FROM runs WHERE key = ?", (key,))

    monkeypatch.setattr(BudgetStore, "settle", forgets)
    counted, true = spent()
    assert counted < true


def test_parallel_composition_of_fits_on_the_same_rows_is_noticed(monkeypatch):
    def accepted():
        with budget() as opened:
            for count in range(10):
                try:
                    model(2).fit(X, Y)
                except BudgetExceededError:
                    return count, opened.spent.epsilon
        return 10, opened.spent.epsilon

    assert accepted() == (2, pytest.approx(EPSILON))

    def largest(book, where="", values=()):
        lines = book.execute(f"SELECT amount, delta FROM runs {where}", values).fetchall()
        return Amount(max((line[0] for line in lines), default=0.0))

    monkeypatch.setattr(budget_store, "_total", largest)
    # No single fit exceeds the budget, so with this bug no number of them does.
    monkeypatch.setattr(GaussianFilter, "holds", lambda self, total: True)
    assert accepted()[0] == 10
    assert not totals_agree()


def test_parallel_composition_of_receipts_is_noticed(monkeypatch):
    receipts = [model(5).fit(X, Y), model(5).fit(X, Y)]
    exact = gdp.epsilon(MU * sqrt(2 / 5), DELTA)
    assert composition.compose(receipts).epsilon == pytest.approx(exact)

    def bug(receipts, delta):
        total = max(r.gaussian_price() for r in receipts)
        return total if delta is None else gdp.epsilon(sqrt(total), delta)

    monkeypatch.setattr(composition, "_gaussian", bug)
    assert composition.compose(receipts).epsilon < exact


def test_a_rule_that_changes_on_the_way_is_noticed(monkeypatch):
    def runs_under_two_rules():
        with budget() as opened:
            model(4).fit(X, Y)
            other = model(solver="objective_perturbation").set_params(epsilon=0.1, delta=1e-9)
            try:
                other.fit(X, Y)
            except BudgetExceededError:
                return False
            return len(opened.receipts) == 2

    assert not runs_under_two_rules()
    monkeypatch.setattr(BudgetStore, "_rule", lambda self, book, but="": None)
    assert runs_under_two_rules()


def test_settling_sums_by_what_was_released_is_noticed(monkeypatch):
    """(epsilon, delta) hold for budgets set in advance, and a fit that stops early had a larger."""
    rule = SumsFilter(EPSILON, DELTA, Adjacency.REPLACE_ONE)
    released = Receipt.of(model(100).fit(X, Y))
    assert rule.settled(Amount(1.0, 1e-6), released) == (1.0, DELTA)
    monkeypatch.setattr(SumsFilter, "settled", lambda self, reserved, r: self.price(r))
    assert rule.settled(Amount(1.0, 1e-6), released).main < 1.0


def test_streams_that_share_a_run_with_their_copies_are_noticed(monkeypatch):
    def runs():
        with budget() as opened:
            stream = model(3).partial_fit(X, Y)
            copy.copy(stream).partial_fit(X, Y)
            return len(opened.receipts)

    assert runs() == 2

    def keeps_the_run(self):
        return dict(BaseEstimator.__getstate__(self))

    monkeypatch.setattr(BudgetedEstimator, "__getstate__", keeps_the_run)
    assert runs() == 1


def test_folds_that_balance_labels_move_other_rows():
    """Why none of their fits may be left out, and why even that takes the places for public."""
    rows, labels = np.zeros((60, 1)), np.arange(60) * 7 % 11 % 3

    def place(splitter, labels):
        found = np.zeros(len(labels), int)
        for k, (_, test) in enumerate(splitter.split(rows, labels)):
            found[test] = k
        return found

    def moved(splitter):
        before = place(splitter, labels)
        after = [place(splitter, np.where(np.arange(60) == i, 1, labels)) for i in range(60)]
        return max(np.delete(p != before, i).sum() for i, p in enumerate(after))

    assert moved(KFold(3)) == 0
    assert moved(StratifiedKFold(3)) >= 2


def test_folding_parts_of_two_kinds_is_noticed(monkeypatch):
    """A Gaussian part that costs more epsilon need not cost more in every respect."""

    class Stub:
        def __init__(self, *events):
            self.events = events

        def receipt(self, *, whole):
            assert whole
            return self.events

        def spent(self):
            return PrivacySpent(1.0 + 0.1 * (type(self.events[0]) is GaussianEvent), DELTA)

    def kinds():
        parts = ParallelComposition()
        for kind in (ExponentialEvent, GaussianEvent) * 2 + (GaussianEvent,) * 20:
            parts.add(5, Stub(kind(query="x", sensitivity=1.0, noise_scale=5.0)))
        return {type(event) for event in parts.events()}

    assert kinds() == {ExponentialEvent, GaussianEvent}
    monkeypatch.setattr("skdp.report.composition._is_gaussian", lambda receipt: True)
    assert kinds() == {GaussianEvent}


def test_slices_that_forget_overlaps_are_noticed(monkeypatch):
    def event(mu, part):
        return GaussianEvent(query="x", sensitivity=mu, noise_scale=1.0, part=part)

    receipt = Receipt((event(0.3, Part(0, 20)), event(0.4, Part(10, 30))), PrivacySpent(2.0, DELTA))
    assert receipt.gaussian_price() == pytest.approx(0.25)
    monkeypatch.setattr(Receipt, "slices", lambda self: [(e,) for e in self.events])
    assert receipt.gaussian_price() == pytest.approx(0.16)
