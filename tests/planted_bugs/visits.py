"""Bugs that protect one visit of a person where all visits were promised to be protected."""

import copy
from functools import partial

import numpy as np
from estimators import test_persons_of_a_stream as persons
from examples_of_visits import choices_pay_for_all_visits
from factors_of_prefix_sums import KINDS, strategy
from planted_bugs.bug import Bug, after
from privacy.mechanisms.test_visits import test_the_price_is_that_of_the_worst_places
from privacy.streams import test_visits as visits

from skdp import BudgetExceededError, DPContextualBandit
from skdp.privacy.accounting import GaussianDP, ZeroConcentratedDP
from skdp.privacy.mechanisms import GumbelMechanism
from skdp.privacy.streams import epsilon_of_share


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
    assert noise[1] / noise[0] >= 4 * (1 - 1e-6), "a visit has the budget of all"


def parts_by_choices_and_by_gaussian_noise_cost_the_budget():
    try:
        persons.test_parts_with_gaussian_noise_and_parts_with_choices_cost_the_budget_together(1e-6)
    except BudgetExceededError as refused:
        raise AssertionError("parts cost more than their budget together") from refused


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
        raise AssertionError("somebody has come too often")
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


def whole(model, visits, n, rows, **facts):
    """The plan of a part that may spend all of the model's budget."""
    return model._plan(n, rows.sparse, weighted=rows.weighted, unit=visits.unit, **facts)


def forgets_visits(progress):
    progress.visits = 1
    return progress


def by_a_calculus_of_its_own(honest, model, visits, n, rows, **facts):
    most = visits.max_visits
    for calculus in (GaussianDP(), ZeroConcentratedDP()):
        part = copy.copy(model)
        part.epsilon = epsilon_of_share(calculus, model.epsilon, model.delta_, most, most)
        plan = whole(part, visits, n, rows, **facts)
        if plan.calculus == calculus:
            break
    return plan


def choices_of_one_visit(honest, self):
    return GumbelMechanism.calibrated(self.sensitivity, self.plan.releases, self.spend)


def worst_places(kind):
    """The price of visits to eight terms."""
    return partial(test_the_price_is_that_of_the_worst_places, kind, 8)


def of_persons(check, solver):
    """Check streams of persons that are fed to a solver."""
    check(persons.SOLVERS[solver])


MORE_ROWS = partial(visits.test_more_visits_and_more_rows_tell_no_more, 2, 10)
ALL_PARTS = persons.test_all_parts_in_which_a_person_counts_cost_the_budget_together
SECRETS = persons.test_pickles_and_public_attributes_hold_neither_labels_nor_counts
NO_ERROR = persons.test_visits_beyond_the_declared_number_weigh_nothing_and_say_nothing
BUGS = (
    *(Bug(f"visits that are priced as if noise were not correlated ({name})", {f"{kind.__name__}._squared_norms": as_if_independent}, worst_places(kind)) for name, kind in KINDS.items()),
    *(Bug(f"visits that are priced at places far apart ({name})", {f"{kind.__name__}._squared_norms": far_apart}, worst_places(kind)) for name, kind in KINDS.items()),
    *(Bug(f"visits that are priced at the last places ({name})", {f"{kind.__name__}._squared_norms": the_last}, worst_places(kind)) for name, kind in KINDS.items()),
    Bug("a stream that forgets the number of visits", {"PrefixSumMechanism.norm": lambda honest, self, visits: self.column_norm}, MORE_ROWS),
    Bug("choices of a stream that forget the number of visits", {"StreamOpening.gumbel": choices_of_one_visit}, choices_pay_for_all_visits, "can tell more than was charged"),
    Bug("visits that nobody counts", {"Visits.admit": admits_all}, MORE_ROWS),
    Bug("several visits to one batch", {"Visits.admit": admits_calls}, visits.test_a_person_counts_once_in_a_batch),
    Bug("rows of a person that weigh one each", {"Call.counting": every_row_whole}, MORE_ROWS),
    *(Bug(f"parts that have the whole budget each ({kind})", {"partial_fit.plan_part": lambda _, *part, **facts: whole(*part, **facts)}, partial(ALL_PARTS, kind, 2)) for kind in ("calls", "blocks")),
    Bug("parts that have a share of the budget each by a calculus of its own", {"partial_fit.plan_part": by_a_calculus_of_its_own}, parts_by_choices_and_by_gaussian_noise_cost_the_budget),
    Bug("parts in all of which a person counts", {"Visits.admit": admits_all}, partial(ALL_PARTS, "calls", 2)),
    Bug("a receipt of one visit", {"FitHistory.begun": lambda honest, *args, **options: forgets_visits(honest(*args, **options))}, partial(ALL_PARTS, "calls", 2)),
    *(Bug(f"an error for who comes too often ({solver})", {"Visits.admit": refuses}, partial(of_persons, NO_ERROR, solver), "come too often") for solver in ("calls", "sums")),
    *(Bug(f"late visits that count ({solver})", {"Visits.admit": admits_all}, partial(of_persons, NO_ERROR, solver)) for solver in ("calls", "sums")),
    *(Bug(f"a session in the pickle ({solver})", {"PrivateLinearModel.__getstate__": lambda _, self: vars(self).copy(), "SecretState.__reduce__": lambda _, self: self.taken_along()}, partial(of_persons, SECRETS, solver)) for solver in ("calls", "sums")),
    Bug("a table of visits among public attributes", {"PrivateLinearModel._publish_receipt": public_table}, partial(of_persons, SECRETS, "calls")),
    Bug("a stream that counts rows in place of persons", {"BatchSession.feed": after(counts_rows)}, partial(of_persons, persons.test_copies_of_a_row_count_as_one, "calls")),
    Bug("a bandit that forgets the number of visits", {"DPContextualBandit._of_a_visit": lambda honest, self, calculus: self.epsilon}, noise_of_a_bandit_covers_all_visits, "budget of all"),
)  # fmt: skip
