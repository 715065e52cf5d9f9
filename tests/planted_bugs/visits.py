"""Bugs that protect one visit of a person where all visits were promised to be protected."""

import copy
import pickle
from functools import partial
from itertools import combinations

import numpy as np
from examples_of_visits import (
    BACK,
    FAR,
    RELEASES,
    calls_with,
    choices_pay_for_all_visits,
    mu_of_move,
    sums,
)
from factors_of_prefix_sums import strategy
from planted_bugs.bug import Bug, after, gives

from skdp import DPContextualBandit, DPLinearRegression, DPLogisticRegression
from skdp.privacy import PrivacyUnit, PrivateOracle, gdp, opened_by
from skdp.privacy.accounting import GaussianDP, ZeroConcentratedDP
from skdp.privacy.mechanisms import (
    BLT,
    PREFIX_SUMS,
    GumbelMechanism,
    Toeplitz,
    Tree,
    prefix_sums_by,
)
from skdp.privacy.streams import epsilon_of_share
from skdp.problem.constraints import L1Ball
from skdp.solvers import FTRL, GD, Blocks

TOLD, TOO_CHEAP = "can tell more than was charged", "costs more than its price"
FACTS = {"data_norm": 2.0, "classes": [0, 1], "random_state": 0, "precondition": None}
FEW = GD(steps=1)


def the_price_is_that_of_the_worst_places(mechanism):
    for length in (5, 8, 11):
        sums_of = PREFIX_SUMS[mechanism](length)
        products = strategy(sums_of).T @ strategy(sums_of)
        for visits in (2, 3):
            worst = max(
                products[np.ix_(chosen, chosen)].sum()
                for chosen in combinations(range(length), visits)
            )
            assert worst <= sums_of.norm(visits) ** 2 * (1 + 1e-9), f"a person {TOO_CHEAP}"


def a_person_tells_no_more_than_was_charged(mechanism="toeplitz"):
    """One who comes more often than declared, with many rows, in calls that share batches."""
    worst = 0.0
    for visits in ((0, 1), (2, 3), range(RELEASES)):
        for single in (False, True):
            one = calls_with(FAR, visits, 30, single=single)
            found, event = sums(2, one, mechanism=mechanism)
            moved, _ = sums(2, calls_with(BACK, visits, single=single), mechanism=mechanism)
            factor = prefix_sums_by(mechanism, RELEASES)
            mu, charged = mu_of_move(found, moved, event, factor)
            worst = max(worst, mu / charged)
    # Somebody who comes to a batch in two calls of their own.
    twice = [calls_with(person, (0,), single=True) for person in (FAR, BACK)]
    for calls in twice:
        calls[1] = calls[0]
    (found, event), (moved, _) = (sums(2, calls, mechanism=mechanism) for calls in twice)
    mu, charged = mu_of_move(found, moved, event, factor)
    assert max(worst, mu / charged) <= 1 + 1e-9, f"a person {TOLD}"


def days(visits=range(4), sign=1.0):
    """Calls of 20 persons, of whom one comes in each."""
    rng = np.random.default_rng(0)
    for k in range(4):
        X, y = rng.uniform(-0.9, 0.9, (20, 2)), rng.integers(0, 2, 20)
        labels = [f"{i} of day {k}" for i in range(20)]
        if k in visits:
            X[5], y[5], labels[5] = sign * 0.9, 1, "the person"
        yield X, y, labels


def all_parts_of_a_person_cost_the_budget(solver):
    paid = []

    def oracle(rows, ledger, adjacency, noise):
        here = sum(
            float(block.bounded_weights[(block.X == 0.9).all(axis=1)].sum())
            for block in rows.blocks()
        )
        paid.append((here, ledger))
        return PrivateOracle(rows, ledger, adjacency, noise)

    model = DPLogisticRegression(max_visits=2, solver=solver, **FACTS)
    with opened_by(oracle):
        for X, y, labels in days():
            model.partial_fit(X, y, privacy_unit=labels)
    price = sum(here**2 * ledger.total for here, ledger in paid)
    whole = gdp.mu(1.0, model.delta_) ** 2
    assert price <= whole * (1 + 1e-6), f"a person {TOLD}"
    assert model.privacy_spent_.epsilon >= 1 - 1e-3, "parts are told without all visits"


def parts_by_choices_and_by_gaussian_noise_cost_the_budget():
    facts = {"data_norm": 1.0, "target_bounds": (-1, 1), "constraint": L1Ball(1.0)}
    model = DPLinearRegression(**facts, max_visits=2, solver=Blocks(first=100, ratio=8))
    for n in (100, 700):
        X = np.full((n, 150), 0.01)
        model.partial_fit(X, X[:, 0], privacy_unit=np.arange(n))
    assert model.privacy_spent_.epsilon <= 1.005, f"a person {TOLD}"


def visits_beyond_count_nothing_and_nobody_says_so(solver):
    found = []
    for sign in (1.0, 0.5):
        model = DPLogisticRegression(max_visits=2, solver=solver, horizon=80, **FACTS)
        for k, call in enumerate(zip(days(), days(sign=sign), strict=True)):
            X, y, labels = call[k > 1]
            try:
                model.partial_fit(X, y, privacy_unit=labels)
            except (ValueError, RuntimeError) as told:
                raise AssertionError("an error tells who has come before") from told
        found.append(model.coef_)
    assert np.array_equal(*found), "visits beyond the declared number count"


def pickles_hold_nobody(solver):
    model = DPLogisticRegression(max_visits=2, solver=solver, horizon=80, **FACTS)
    for X, y, labels in days():
        model.partial_fit(X, y, privacy_unit=labels)
    public = {name: value for name, value in vars(model).items() if name.endswith("_")}
    for shown in (pickle.dumps(model), repr(public).encode()):
        assert b"the person" not in shown, "a label travels"


def the_number_of_rows_shows_nowhere(solver):
    seen = []
    for rows in (1, 9):
        model = DPLogisticRegression(max_visits=2, solver=solver, horizon=80, **FACTS)
        for X, y, labels in days():
            which = np.append(np.arange(20), np.full(rows - 1, 5))
            model.partial_fit(X[which], y[which], privacy_unit=np.array(labels)[which])
        seen.append((model.n_samples_seen_, [event.part for event in model.privacy_ledger_]))
    assert seen[0] == seen[1], "the number of rows shows"


def noise_of_a_bandit_covers_all_visits():
    rng, noise = np.random.default_rng(0), []
    X, arms = rng.uniform(-0.5, 0.5, (40, 2)), np.array(["a", "b"] * 20)
    for max_visits in (1, 4):
        model = DPContextualBandit(
            arms=["a", "b"], data_norm=1.0, policy="blocks", max_visits=max_visits, random_state=0
        )
        model.fit(X, arms, np.zeros(40), privacy_unit=np.arange(40) // 8)
        (event,) = model.privacy_ledger_
        noise.append(event.noise_scale)
    assert noise[1] / noise[0] >= 4 * (1 - 1e-6), f"a person {TOLD}"


def as_if_independent(honest, self, most):
    return np.arange(1, most + 1) * self.column_norm**2


def far_apart(honest, self, most):
    """The price of visits that are spread evenly over the stream."""
    C = strategy(self)
    spread = [np.linspace(0, self.length - 1, j).astype(int) for j in range(1, most + 1)]
    return np.array([np.linalg.norm(C[:, chosen].sum(axis=1)) ** 2 for chosen in spread])


def the_last(honest, self, most):
    C = strategy(self)
    return np.array([np.linalg.norm(C[:, -j:].sum(axis=1)) ** 2 for j in range(1, most + 1)])


def admits_all(honest, self, labels, parts):
    return np.ones(len(labels), dtype=bool)


def admits_calls(honest, self, labels, part):
    """Counts visits, but several to a part each."""
    out = honest(self, labels, part)
    for i, label in enumerate(labels):
        count, latest = self._counts[label]
        if not out[i] and count < self.max_visits:
            self._counts[label] = (count + 1, latest)
            out[i] = True
    return out


def refuses(honest, self, labels, part):
    out = honest(self, labels, part)
    if not out.all():
        raise ValueError("somebody has come too often")
    return out


def every_row_whole(honest, self, admitted):
    rows = honest(self, admitted)
    rows.units.shares[:] = np.ceil(rows.units.shares)
    return rows


def public_table(honest, self, *call):
    found = honest(self, *call)
    session = vars(self).get("_session")
    self.visits_ = None if session is None else dict(session.visits._counts)
    return found


def counts_rows(self, model, rows):
    model._progress.seen += rows.rows.y.size - rows.n_samples


def by_a_calculus_of_its_own(honest, model, visits, n, sparse, **facts):
    most = visits.max_visits
    for calculus in (GaussianDP(), ZeroConcentratedDP()):
        part = copy.copy(model)
        part.epsilon = epsilon_of_share(calculus, model.epsilon, model.delta_, most, most)
        plan = part._plan(n, sparse, unit=PrivacyUnit.DECLARED, **facts)
        if plan.calculus == calculus:
            break
    return plan


KINDS = {"blt": BLT, "toeplitz": Toeplitz, "tree": Tree}


def choices_of_one_visit(honest, self):
    return GumbelMechanism.calibrated(self.sensitivity, self.plan.releases, self.spend)


CALLS, SUMS = FEW, FTRL(batches=4)
BUGS = (
    *(Bug(f"visits that are priced as if noise were not correlated ({name})", {f"{kind.__name__}._squared_norms": as_if_independent}, partial(the_price_is_that_of_the_worst_places, name), TOO_CHEAP) for name, kind in KINDS.items()),
    *(Bug(f"visits that are priced at places far apart ({name})", {f"{kind.__name__}._squared_norms": far_apart}, partial(the_price_is_that_of_the_worst_places, name), TOO_CHEAP) for name, kind in KINDS.items()),
    *(Bug(f"visits that are priced at the last places ({name})", {f"{kind.__name__}._squared_norms": the_last}, partial(the_price_is_that_of_the_worst_places, name), TOO_CHEAP) for name, kind in KINDS.items()),
    Bug("a stream that forgets the number of visits", {"PrefixSumMechanism.norm": lambda honest, self, visits: self.column_norm}, a_person_tells_no_more_than_was_charged, TOLD),
    Bug("choices of a stream that forget the number of visits", {"StreamOpening.gumbel": choices_of_one_visit}, choices_pay_for_all_visits, TOLD),
    Bug("visits that nobody counts", {"Visits.admit": admits_all}, a_person_tells_no_more_than_was_charged, TOLD),
    Bug("several visits to one batch", {"Visits.admit": admits_calls}, a_person_tells_no_more_than_was_charged, TOLD),
    Bug("rows of a person that weigh one each", {"CallOfUnits.counting": every_row_whole}, a_person_tells_no_more_than_was_charged, TOLD),
    *(Bug(f"parts that have the whole budget each ({type(solver).__name__})", {"partial_fit.plan_part": lambda _, model, visits, n, sparse, **facts: model._plan(n, sparse, **facts)}, partial(all_parts_of_a_person_cost_the_budget, solver), TOLD) for solver in (CALLS, Blocks(first=20, ratio=1.01, solver=FEW))),
    Bug("parts that have a share of the budget each by a calculus of its own", {"partial_fit.plan_part": by_a_calculus_of_its_own}, parts_by_choices_and_by_gaussian_noise_cost_the_budget, TOLD),
    Bug("parts in all of which a person counts", {"Visits.admit": admits_all}, partial(all_parts_of_a_person_cost_the_budget, CALLS), TOLD),
    Bug("a receipt of one visit", {"Session.parts_of_a_person": lambda honest, self: 1}, partial(all_parts_of_a_person_cost_the_budget, CALLS), "without all visits"),
    *(Bug(f"an error for who comes too often ({type(solver).__name__})", {"Visits.admit": refuses}, partial(visits_beyond_count_nothing_and_nobody_says_so, solver), "an error tells") for solver in (CALLS, SUMS)),
    *(Bug(f"late visits that count ({type(solver).__name__})", {"Visits.admit": admits_all}, partial(visits_beyond_count_nothing_and_nobody_says_so, solver), "declared number count") for solver in (CALLS, SUMS)),
    *(Bug(f"a session in the pickle ({type(solver).__name__})", {"PrivateLinearModel.__getstate__": lambda _, self: vars(self).copy(), "SecretNoise.__reduce__": gives((object, ())), "PrefixNoise.__reduce__": gives((object, ()))}, partial(pickles_hold_nobody, solver), "a label travels") for solver in (CALLS, SUMS)),
    Bug("a table of visits among public attributes", {"PrivateLinearModel._publish_receipt": public_table}, partial(pickles_hold_nobody, CALLS), "a label travels"),
    Bug("a stream that counts rows in place of persons", {"BatchSession.feed": after(counts_rows)}, partial(the_number_of_rows_shows_nowhere, CALLS), "number of rows shows"),
    Bug("a bandit that forgets the number of visits", {"PrivateBandit._of_a_visit": lambda honest, self, calculus: self.epsilon}, noise_of_a_bandit_covers_all_visits, TOLD),
)  # fmt: skip
