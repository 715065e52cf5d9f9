"""Bugs in what is charged, in receipts over several fits, and in budgets over several fits."""

import copy
import io
import json
import multiprocessing
import pickle
import runpy
import sys
import warnings
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from math import inf, isclose, sqrt
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from budget_tasks import (
    DELTA,
    EPSILON,
    MU,
    X,
    Y,
    budget,
    budget_of_copies,
    charged,
    fit_a_clone,
    model,
    share,
)
from estimators import test_without_noise
from faults import test_interrupted
from faults import test_interrupted_searches_and_bandits as interrupted_searches
from known_noise import seeded
from planted_bugs.bug import Bug, gives, patching, sets
from privacy import test_budget, test_budget_of_streams, test_ledger, test_parts, test_site_accounts
from privacy.queries import test_limits
from recomputed_spend import recomputed
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from tasks_for_solvers import TASKS

from skdp import BudgetExceededError, DPContextualBandit, PrivacySpent, report
from skdp.preprocessing import DPStandardScaler
from skdp.privacy import Adjacency, PrivateOracle, gdp
from skdp.privacy.accounting import ExponentialEvent, GaussianEvent, Ledger, Part, Spend
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic
from skdp.reporting import (
    Amount,
    ParallelComposition,
    Receipt,
    SpendBound,
    SumsFilter,
    composition,
    open_budgets,
)
from skdp.solvers import Spider

N, D = 4, 3
LOGISTIC = Problem(Logistic(), N, D, RowBounds(2.0))


def spider_spends_all():
    """A sum whose end was chosen by answers is no guarantee: nothing is left over."""

    task, ledger = TASKS["logistic"], Ledger(1.0, 1e-5)
    noise = seeded()
    oracle = PrivateOracle(task.rows(), ledger, Adjacency.REPLACE_ONE, noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        solver = Spider.from_theory(1.0, 1.0)
        solver.solve(task.problem, oracle.for_problem(task.problem), np.random.default_rng(0))
    assert ledger.total >= ledger.limit * (1 - 1e-9), "the sum so far is the price"


# Receipts of what goes on from earlier fits.


def spends(found, expected):
    assert isclose(found.privacy_spent_.epsilon, expected, rel_tol=1e-6), "another spend"


def fits_add_up():
    spends(model(4, warm_start=True).fit(X, Y).fit(X, Y), share(2))


def a_stream_adds_up_with_its_fit():
    spends(model(4).fit(X, Y).partial_fit(X, Y), share(2))


def positions_of_an_earlier_stream_do_not_matter():
    found = model(4, warm_start=True).partial_fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:])
    found.fit(X, Y).set_params(warm_start=False).partial_fit(X, Y)
    spends(found, share(4 / 3))
    assert isclose(recomputed(found.privacy_ledger_, DELTA), share(4 / 3), rel_tol=1e-6)


def relations_are_brought_together():
    found = model(9, warm_start=True, adjacency="zero_out").fit(X, Y)
    spends(found.set_params(adjacency="replace_one").fit(X, Y), share(9 / 5))


def rows_that_come_again_are_new_records():
    """Nothing that is public tells whether they have come before, and the receipt says so."""
    receipts = set()
    for again in (0, 60):
        found = model(4)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found.partial_fit(X[:60], Y[:60]).partial_fit(
                X[again : again + 60], Y[again : again + 60]
            )
        assert not said, "a warning tells rows from new ones"
        receipts.add((found.privacy_spent_, repr(found.privacy_ledger_), str(report(found))))
    assert len(receipts) == 1, "a receipt tells rows from new ones"
    (_, *told) = receipts.pop()
    assert all("rows of each call are new records" in text for text in told), "no condition"


def a_fit_and_its_stream_are_two_runs():
    with budget() as opened:
        model(2).fit(X, Y).partial_fit(X, Y)
        assert isclose(charged(opened), 1.0)


def children_begin_runs_of_their_own():
    """As after a fork: the process has another number than the one where the run began."""
    with budget() as opened:
        found, process = model(2).partial_fit(X[:60], Y[:60]), open_budgets.os.getpid()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(open_budgets.os, "getpid", lambda: process + 1)
            found.partial_fit(X[60:], Y[60:])
        assert isclose(charged(opened), 1.0), "a child goes on with the run of its parent"


# Budgets over several fits.


def code_around_fits_is_told_of():
    """Of a clone that somebody made and fitted, and not of what the budget has fitted itself."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with budget() as opened:
            opened.fit(clone(model()), X, Y)
        assert not said, "a fit that was looked up is taken for another"
        with budget() as opened:
            clone(model()).fit(X, Y)
            opened.fit(model(), X, Y)
    text = " ".join(str(one.message) for one in said)
    assert "2 runs, 1 on copies" in text, "no word of code around fits"


def a_refused_call_gives_nothing_back():
    facts = {"epsilon": share(2), "delta": DELTA, "data_norm": 2.0, "horizon": 1000}
    with budget() as opened:
        bandit = DPContextualBandit([0, 1], policy="gd", **facts).partial_fit(X, Y, 0.0 * Y)
        with pytest.raises(ValueError, match="features"):
            bandit.partial_fit(X[:, :1], Y, 0.0 * Y)
        assert isclose(charged(opened), 0.5), "what a stream has cost was given back"


def cancels_what_has_begun(honest, self, key):
    with self._runs() as runs:
        runs.pop(key, None)


def reservations_do_not_shrink():
    """What is set aside for a run stays, though later parts of it may spend less."""
    with budget() as opened:
        run = open_budgets.reservation_for(model())
        for epsilon in (1.0, 0.1):
            most = SpendBound.of_ledger(Ledger(epsilon, DELTA), Adjacency.REPLACE_ONE)
            run.reserve(most, begins=True)
        assert isclose(opened.spent.epsilon, 1.0, rel_tol=1e-9), "a reservation has shrunk"


def _fit_as_far_away(content, answers):
    """As a worker does that has started anew: it knows nothing but what it is handed."""
    open_budgets._open.clear()
    open_budgets._opened_by_parents = list
    answers.put(fit_a_clone(pickle.loads(content)))


def clones_in_workers_are_charged():
    context = multiprocessing.get_context("fork")
    with budget_of_copies() as opened:
        answers = context.Queue()
        job = context.Process(target=_fit_as_far_away, args=(pickle.dumps(model(2)), answers))
        job.start()
        assert answers.get(timeout=60)[1] == "fitted"
        job.join()
        assert len(opened.receipts) == 1, "a fit in a worker was not charged"


def a_budget_says_what_its_fits_add_up_to():
    with budget() as opened:
        total = composition.compose([model(5).fit(X, Y) for _ in range(3)], delta=DELTA)
        assert isclose(opened.spent.epsilon, total.epsilon, rel_tol=1e-9), "another sum"


def a_failed_fit_is_settled_at_what_it_spent():
    """Three answers are given before a fit fails: they count, and nothing else does."""

    answers, release = [], PrivateOracle._release

    def failing(self, query, spend):
        answers.append(release(self, query, spend))
        if len(answers) == 3:
            raise RuntimeError
        return answers[-1]

    with pytest.MonkeyPatch.context() as patch, budget() as opened:
        patch.setattr(PrivateOracle, "_release", failing)
        estimator = model(2)
        with pytest.raises(RuntimeError):
            estimator.fit(X, Y)
        true = recomputed(estimator.privacy_ledger_, DELTA)
        assert 0 < true < share(2), "the receipt does not tell of the answers that were given"
        assert isclose(opened.spent.epsilon, true, rel_tol=1e-6), "another spend is on the book"


def receipts_compose_in_sequence():
    receipts = [model(5).fit(X, Y), model(5).fit(X, Y)]
    assert isclose(composition.compose(receipts).epsilon, gdp.epsilon(MU * sqrt(2 / 5), DELTA))


def a_rule_stays_as_the_first_fit_has_settled_it():
    with budget() as opened:
        model(4).fit(X, Y)
        other = model(solver="objective_perturbation").set_params(epsilon=0.1, delta=1e-9)
        try:
            other.fit(X, Y)
        except BudgetExceededError:
            return
        assert len(opened.receipts) < 2, "the rule has changed on the way"


def sums_settle_by_what_was_reserved():
    """(epsilon, delta) hold for budgets set in advance, and a fit that stops early had a larger."""
    rule = SumsFilter(EPSILON, DELTA, Adjacency.REPLACE_ONE)
    released = Receipt.of(model(100).fit(X, Y))
    assert rule.settled(Amount(1.0, 1e-6), released).main == 1.0, "less than was reserved"


def copies_of_streams_are_runs_of_their_own():
    with budget_of_copies() as opened:
        stream = model(3).partial_fit(X, Y)
        copy.copy(stream).partial_fit(X, Y)
        assert len(opened.receipts) == 2, "a copy shares a run"


def copies_stay_under_their_budget():
    with budget():
        copied = copy.copy(model(2))
        assert vars(copied).get(open_budgets.TOKENS), "a copy has no token"


def event(mu, part, kind=GaussianEvent):
    return kind(query="x", sensitivity=mu, noise_scale=1.0, part=part)


class Stub:
    """A ledger of known events and a known spend."""

    epsilon, delta = EPSILON, DELTA

    def __init__(self, epsilon, *events):
        self.events, self._spent = events, PrivacySpent(epsilon, DELTA)

    def receipt(self, *, whole):
        assert whole
        return self.events

    def spent(self):
        return self._spent


def parts_of_two_kinds_are_not_folded():
    """A Gaussian part that costs more epsilon need not cost more in every respect."""
    parts = ParallelComposition()
    for kind in (ExponentialEvent, GaussianEvent) * 2 + (GaussianEvent,) * 20:
        parts.add(5, Stub(1.0 + 0.1 * (kind is GaussianEvent), event(0.2, None, kind)))
    assert {type(e) for e in parts.events()} == {ExponentialEvent, GaussianEvent}


def overlaps_of_parts_are_counted():
    receipt = Receipt((event(0.3, Part(0, 20)), event(0.4, Part(10, 30))), PrivacySpent(2.0, DELTA))
    assert isclose(receipt.gaussian_price(), 0.25)


# Bugs.


def unpaid(honest, self, query, spend):
    mechanism = query.mechanism(self._adjacency, spend)
    return mechanism.randomize(query.evaluate(self._rows), self._noise)


def for_free(name):
    def bug(honest, self, query, spend):
        if query.name != name:
            return honest(self, query, spend)
        return unpaid(honest, self, query, spend)

    return bug


def paid_late(honest, self, query, spend):
    mechanism = query.mechanism(self._adjacency, spend)
    answer = mechanism.randomize(query.evaluate(self._rows), self._noise)
    self._ledger.charge(mechanism.event(query.name))
    return answer


def read_all_the_same(honest, self, query, spend):
    mechanism = query.mechanism(self._adjacency, spend)
    try:
        self._ledger.charge(mechanism.event(query.name))
    finally:
        answer = query.evaluate(self._rows)
    return mechanism.randomize(answer, self._noise)


def refused_on_record(honest, self, event):
    try:
        honest(self, event)
    except Exception:
        self._whole.events.append(event)
        raise


def looks_before(honest, self, event):
    if not self.total <= self._limit:
        raise BudgetExceededError
    limit, self._limit = self._limit, np.inf
    try:
        honest(self, event)
    finally:
        self._limit = limit


def total_of_last_site(ledger, *args):
    *_, last = ledger._sites.values()
    return sum(last.prices)


def costs(factor):
    return {
        "GaussianMechanism.calibrated": lambda honest, cls, s, spend: honest(
            cls, s, Spend(factor * spend.amount)
        )
    }


def largest_of_runs(honest, runs):
    return Amount(max((run.amount for run in runs), default=0.0))


def forgets_the_run(honest, self, key, receipt):
    with self._runs() as runs:
        del runs[key]


def largest_receipt(honest, receipts, delta):
    total = max(r.gaussian_price() for r in receipts)
    return total if delta is None else gdp.epsilon(sqrt(total), delta)


def settles_when_done(honest, self, ledger):
    if sys.exc_info()[0] is None:
        honest(self, ledger)


OPENED = ParallelComposition.open


def opens_when_settled(honest, self, ledger):
    OPENED(self, test_interrupted.N, ledger)
    honest(self, ledger)


def publishes_its_receipt_in_the_end(honest, self, *planned):
    receipt = vars(self).pop("privacy_spent_")
    best = honest(self, *planned)
    self.privacy_spent_ = receipt
    return best


def looks_for_earlier_calls(honest, model, session, rows):
    """What a stream did that was to notice passes over the same rows."""
    calls = vars(session).setdefault("calls", set())
    if rows.rows.X.tobytes() in calls:
        warnings.warn("was given all rows of an earlier call again", stacklevel=2)
    calls.add(rows.rows.X.tobytes())
    honest(model, session, rows)


def parents_run(honest, estimator, *, goes_on=False):
    charge = honest(estimator, goes_on=goes_on)
    key = vars(estimator).get(open_budgets.RUN, charge.key)
    return replace(charge, key=key) if goes_on else charge


def stops_early(honest, self, oracle, descent, budget, rounds):
    # The last gradient takes the whole rest; without it nothing moves.
    return honest(self, oracle, descent, budget, rounds) if rounds > 1 else 0 * descent.w


PAYS = test_limits.test_each_query_pays_before_looking
GRADIENT = partial(PAYS, "gradient", Adjacency.REPLACE_ONE)
BEFORE = "before anything was charged"
# A module of systems on which processes can fork.
FORKS = "fcntl"
CLONE = BaseEstimator.__sklearn_clone__

RECOMPUTED = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "examples" / "recompute_report.py")
)


def reports_can_be_recomputed(relation="replace_one"):
    """From the JSON alone, by the script of the standard library."""
    scaler = DPStandardScaler(epsilon=0.5, bounds=(-1, 1), adjacency=relation)
    fitted = make_pipeline(scaler, model()).fit(X, Y)
    with redirect_stdout(io.StringIO()):
        try:
            RECOMPUTED["check"](json.loads(report(fitted).to_json()))
        except SystemExit as found:
            raise AssertionError(str(found)) from None


BUGS = (
    # Reports.
    Bug("a report that leaves an event out", {"privacy_report._events": lambda honest, events: honest(events)[1:]}, reports_can_be_recomputed, "as stated"),
    Bug("a report that counts each release once", {"privacy_report._events": lambda honest, events: [e | {"count": 1} for e in honest(events)]}, reports_can_be_recomputed, "as stated"),
    Bug("a report that forgets about two steps of zero-out", {"privacy_report._of_fit": lambda honest, *args: honest(*args) | {"steps": 1}}, partial(reports_can_be_recomputed, "zero_out"), "as stated"),
    # One fit.
    *(Bug(f"an answer that is not charged ({name})", {"PrivateOracle._release": for_free({"select": "selection"}.get(name, name))}, partial(PAYS, name, Adjacency.REPLACE_ONE), BEFORE) for name in ("gradient", "histogram", "gradient_and_share", "gradient_sizes", "second_moments", "row_means", "column_moments", "column_cells", "magnitude_votes", "total_weight", "score_and_curvature", "score_moments", "vertex", "select")),
    Bug("a vertex that is not charged under zero-out", {"PrivateOracle._release": for_free("vertex")}, partial(PAYS, "vertex", Adjacency.ZERO_OUT), BEFORE),
    Bug("a charge after rows are read", {"PrivateOracle._release": paid_late}, GRADIENT, BEFORE),
    Bug("rows read in spite of a refusal", {"PrivateOracle._release": read_all_the_same}, GRADIENT, "rows were read although"),
    Bug("a refused event that stays on record", {"Ledger.charge": refused_on_record}, GRADIENT, "refused query was recorded"),
    Bug("a release that costs four times what was allowed", costs(4), GRADIENT, "half of the budget"),
    Bug("a release that costs less than what was allowed", costs(0.9), GRADIENT, "the spend"),
    Bug("a total of weights at half its price", {"Oracle.total_weight": lambda honest, self, *, spend: honest(self, spend=Spend(spend.amount / 2))}, partial(PAYS, "total_weight", Adjacency.REPLACE_ONE), "times the spend"),
    Bug("a filter that looks at the total before the charge", {"Ledger._record": looks_before}, test_ledger.test_refuses_what_exceeds_the_limit_and_records_nothing, "DID NOT RAISE"),
    Bug("only the last site on the account", {"Ledger._record_at_sites": sets("_site_total", total_of_last_site)}, test_site_accounts.test_the_fullest_account_counts_with_what_all_were_asked),
    Bug("an adaptive solver that stops, with the sum so far as its price", {"Spider._gradient": stops_early}, spider_spends_all, "the sum so far"),
    # Several fits of one model.
    Bug("a ledger that is left behind", {"FitHistory.follow": gives(None)}, fits_add_up),
    Bug("a ledger that a stream leaves behind", {"FitHistory.follow": gives(None)}, a_stream_adds_up_with_its_fit),
    Bug("parallel composition of fits by default", {"fit_history.declared_disjoint": gives(True)}, fits_add_up),
    Bug("parallel composition of a fit and its stream by default", {"fit_history.declared_disjoint": gives(True)}, a_stream_adds_up_with_its_fit),
    Bug("positions that are carried along", {"Receipt.unlocated": lambda _, self: self}, positions_of_an_earlier_stream_do_not_matter),
    Bug("a relation that is ignored", {"Receipt.under": lambda _, self, adjacency: self}, relations_are_brought_together),
    Bug("a spend that is that of the latest fit", {"fit_history._together": lambda _, receipts, delta: PrivacySpent(*receipts[-1].spent)}, fits_add_up),
    Bug("a stream that looks for rows that have come before", {"partial_fit._feed": looks_for_earlier_calls}, rows_that_come_again_are_new_records, "tells rows from new ones"),
    Bug("a ledger that does not say that rows have to be new", {"privacy_ledger.of_stream": gives(False)}, rows_that_come_again_are_new_records, "no condition"),
    Bug("a report that does not say that rows have to be new", {"privacy_report._facts": lambda honest, *args: honest(*args) | {"condition": None}}, rows_that_come_again_are_new_records, "no condition"),
    Bug("a stream that goes on with the run of its fit", {"partial_fit.declared_disjoint": gives(True)}, a_fit_and_its_stream_are_two_runs),
    Bug("a child that goes on with the run of its parent", {"partial_fit.reservation_for": parents_run}, children_begin_runs_of_their_own),
    Bug("a failed fit off the receipt", {"ParallelComposition.settle": settles_when_done}, a_failed_fit_is_settled_at_what_it_spent),
    Bug("a receipt that a fit writes when it is done", {"ParallelComposition.open": gives(None), "ParallelComposition.settle": opens_when_settled}, partial(test_interrupted.check_interrupted_fits, "linear"), "under-reported"),
    Bug("a receipt that a search writes when it is done", {"DPGridSearchCV._best": publishes_its_receipt_in_the_end}, partial(interrupted_searches.check_interrupted_searches, "all points", 20), "no receipt"),
    Bug("a cover that an interruption leaves behind", {"open_budgets.copy_context": gives(SimpleNamespace(run=lambda function: function()))}, interrupted_searches.test_fits_after_an_interrupted_trial_count_against_a_budget, "not in the store"),
    # Several models.
    Bug("fits of clones in workers that are lost", {"BudgetedEstimator.__sklearn_clone__": lambda _, self: CLONE(self)}, clones_in_workers_are_charged, "not charged", needs=FORKS),
    Bug("fits of pickles in workers that are lost", {"BudgetedEstimator.__getstate__": lambda _, self: BaseEstimator.__getstate__(self)}, clones_in_workers_are_charged, "not charged", needs=FORKS),
    Bug("copies that leave their budget", {"open_budgets.tokens_of": gives(())}, copies_stay_under_their_budget),
    Bug("a reservation after reading", {"Reservation.reserve": lambda honest, self, most, *, begins: honest(self, most, begins=True) if begins else None}, partial(test_budget_of_streams.test_a_stream_is_charged_once_for_all_of_its_parts, "gd")),
    Bug("a settlement below what was spent", {"GaussianFilter.price": lambda honest, self, receipt: Amount(0.9 * honest(self, receipt).main)}, a_budget_says_what_its_fits_add_up_to, "another sum"),
    Bug("a failed fit that is never settled", {"BudgetStore.settle": gives(None)}, a_failed_fit_is_settled_at_what_it_spent, "on the book"),
    Bug("a failed fit that is forgotten", {"BudgetStore.settle": forgets_the_run}, a_failed_fit_is_settled_at_what_it_spent, "on the book"),
    Bug("parallel composition of fits on the same rows", {"budget_store._total": largest_of_runs, "GaussianFilter.holds": gives(True)}, test_budget.test_budgets_nest_and_a_fit_has_to_fit_under_all),
    Bug("a budget that looks at each fit alone", {"GaussianFilter.holds": lambda honest, self, total: honest(self, Amount(min(total.main, MU**2 / 2), total.delta))}, test_budget.test_budgets_nest_and_a_fit_has_to_fit_under_all),
    Bug("parallel composition of receipts", {"composition._gaussian": largest_receipt}, receipts_compose_in_sequence),
    Bug("a rule that changes on the way", {"BudgetStore._rule": gives(None)}, a_rule_stays_as_the_first_fit_has_settled_it, "on the way"),
    Bug("sums settled by what was released", {"SumsFilter.settled": lambda _, self, reserved, r: self.price(r)}, sums_settle_by_what_was_reserved),
    Bug("streams that share a run with their copies", {"BudgetedEstimator.__getstate__": lambda _, self: dict(BaseEstimator.__getstate__(self))}, copies_of_streams_are_runs_of_their_own, "shares a run"),
    Bug("a run that is taken out of a budget though it has begun", {"BudgetStore.cancel": cancels_what_has_begun}, a_refused_call_gives_nothing_back, "given back"),
    Bug("a reservation that may shrink", {"budget_store._reserved": gives(Amount(0.0))}, reservations_do_not_shrink, "has shrunk"),
    Bug("code around fits that a budget is silent about", {"privacy_budget._warn_of_copies": gives(None)}, code_around_fits_is_told_of, "no word"),
    Bug("copies that a budget takes for originals", {"BudgetStore.reserve": lambda honest, self, *run, copied, **options: honest(self, *run, **options)}, code_around_fits_is_told_of, "no word"),
    Bug("fits before that are taken for looked up", {"BudgetStore.latest": gives(0)}, code_around_fits_is_told_of, "no word"),
    Bug("fits by the budget that are not noted", {"BudgetStore.note_looked_up": gives(None)}, code_around_fits_is_told_of, "taken for another"),
    # Infinite epsilon.
    Bug("answers without noise whatever the budget", {"oracle.noise_under": lambda honest, ledger, noise: honest(Ledger(inf, 0.1), noise)}, partial(patching, test_without_noise.test_no_noise_is_drawn_and_some_is_at_any_finite_epsilon, "linear")),
    Bug("an exact answer that is listed with noise", {"ledger._as_exact": lambda _, events: tuple(events)}, partial(test_without_noise.test_a_fit_warns_once_and_says_that_it_is_not_private, "linear")),
    Bug("an exact answer with a finite spend", {"Ledger.spent": lambda _, self: PrivacySpent(self.calculus.epsilon(self.total, self.delta), self.delta)}, partial(test_without_noise.test_a_fit_warns_once_and_says_that_it_is_not_private, "linear")),
    Bug("a claim of an infinite budget that is finite", {"Ledger.limit": lambda _, self: self._limit}, partial(test_without_noise.test_a_budget_refuses_it_before_rows_are_read, "auto")),
    # Receipts in parts.
    Bug("parts of two kinds that are folded", {"composition._is_gaussian": gives(True)}, parts_of_two_kinds_are_not_folded),
    Bug("folded receipts that keep the cheaper part", {"composition._cost": lambda honest, receipt: [-cost for cost in honest(receipt)]}, test_parts.test_folding_bounds_memory_and_keeps_the_spend),
    Bug("folded receipts that keep the larger epsilon, and the delta of that alone", {"composition._cost": lambda _, receipt: receipt.spent, "composition._largest": lambda _, *spends: max(spends)}, test_parts.test_folding_keeps_the_costliest_part_whatever_delta_it_is_stated_at),
    Bug("a spend of parts that is that of the latest", {"ParallelComposition.spent": lambda _, self: self._receipts[-1].spent}, test_parts.test_the_spend_is_the_largest_of_a_part_and_not_the_sum),
    Bug("slices that forget overlaps", {"Receipt.slices": lambda _, self: [(e,) for e in self.events]}, overlaps_of_parts_are_counted),
)  # fmt: skip
