"""The condition of a stream: rows of each call are new, and nothing looks whether they are."""

import warnings

import numpy as np
import pytest
from examples_of_streams import BINARY, X, classifier, every_model, feed, lasso, target

import skdp
from skdp import DPContextualBandit, PrivacyBudget, report
from skdp.privacy.accounting import gdp

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

EPSILON, DELTA = 1.0, 1e-5
CONDITION = "rows of each call are new records"


def printed(model):
    """What is printed of the receipt of a model."""
    with warnings.catch_warnings():
        # Of the seed.
        warnings.simplefilter("ignore", skdp.PrivacyLeakWarning)
        total = str(skdp.privacy_spent(model))
    return repr(model.privacy_ledger_), str(report(model)), report(model).to_json(), total


def of_the_receipt(model):
    numbers = model.n_samples_seen_, model.privacy_spent_, tuple(model.privacy_ledger_)
    return numbers, *printed(model)


@every_model
@pytest.mark.parametrize("solver", [None, "gd", "ftrl"])
def test_nothing_public_tells_whether_rows_have_come_before(make, solver):
    if make is lasso and solver is not None:
        solver = "blocks"
    # Ledgers of whitened rows depend on answers, which were paid for, and so does the range of what
    # is asked for the scale of scores, which a penalty of the user's own does without.
    options = {} if make is lasso else {"precondition": None}
    if make is classifier:
        options["C"] = 2.0
    if solver is not None:
        options |= {"solver": solver, "horizon": 320}
    receipts = []
    for again in (0, 160):
        model = make(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", skdp.SeededNoiseWarning)
            for rows in (slice(0, 160), slice(again, again + 160)):
                model.partial_fit(X[rows], target(model)[rows])
        receipts.append(of_the_receipt(model))
    assert receipts[0] == receipts[1]
    assert receipts[0][0][1].epsilon <= EPSILON


def test_a_budget_counts_rows_that_come_again_as_it_counts_new_ones():
    left = []
    for again in (0, 160):
        with PrivacyBudget(epsilon=3.0, delta=DELTA) as budget:
            model = classifier(solver="gd", precondition=None)
            model.partial_fit(X[:160], BINARY[:160])
            model.partial_fit(X[again : again + 160], BINARY[again : again + 160])
        left.append(budget.spent)
    assert left[0] == left[1]


@every_model
def test_receipts_of_streams_say_on_which_condition_they_hold(make):
    model = feed(make(), (100,))
    assert all(CONDITION in text for text in printed(model))
    assert CONDITION in " ".join(type(model).__doc__.split())
    assert "the receipt holds on this condition" in " ".join(model.partial_fit.__doc__.split())
    # All rows of a fit are there at once.
    model = make(solver="auto").fit(X, target(model))
    assert not any(CONDITION in text for text in printed(model))


@pytest.mark.parametrize("solver", ["gd", "ftrl"])
def test_they_say_so_before_a_block_is_full_and_after_one_call(solver):
    waiting = classifier().partial_fit(X[:5], BINARY[:5])
    assert CONDITION in str(report(waiting))
    once = classifier(solver=solver, horizon=500).partial_fit(X[:300], BINARY[:300])
    assert all(CONDITION in text for text in printed(once))


@pytest.mark.parametrize("horizon", [300, None])
def test_receipts_of_bandits_say_it_too(horizon):
    rng = np.random.default_rng(0)
    bandit = DPContextualBandit(arms=[0, 1], data_norm=2.0, horizon=horizon, random_state=0)
    bandit.partial_fit(X[:200, :2], rng.integers(0, 2, 200), rng.uniform(size=200))
    assert CONDITION in str(report(bandit))
    assert "the receipt holds on this condition" in " ".join(bandit.partial_fit.__doc__.split())


def test_undeclared_passes_are_worth_what_the_page_says():
    mu = gdp.mu(EPSILON, DELTA)
    assert gdp.epsilon(np.sqrt(20) * mu, DELTA) == pytest.approx(5.4, abs=0.05)
    assert gdp.epsilon(20 * mu, DELTA) == pytest.approx(36.5, abs=0.05)
