"""``audit``: honest estimators are never refuted, and what makes no sense is not accepted."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from by_night import by_night
from scipy.special import ndtri
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from skdp import DPContextualBandit, DPHazardRegressor, DPLogisticRegression, DPSVMClassifier
from skdp.audit import audit, audit_query
from skdp.bandit.policies import HDBPolicy
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import DPMinMaxScaler, DPStandardScaler
from skdp.privacy.accounting import gdp
from skdp.privacy.queries import GradientQuery
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic
from skdp.solvers import FTRL, GD, defaults

X, LABELS = np.tile([1.0, 0.0], (4, 1)), np.array([0, 1, 0, 1])
# Certain enough for all audits of honest estimators here.
SURE = 1 - 1e-7
SHORT = GD(steps=3, total_step_size=1e-6, clip=0.25)


def logistic(epsilon=1.0, **params):
    params = {"solver": SHORT, "fit_intercept": False, "precondition": None} | params
    return DPLogisticRegression(
        epsilon=epsilon, delta=1e-5, data_norm=1.0, classes=[0, 1], **params
    )


def check_tight(result):
    """Neither more nor less than claimed, within six standard errors."""
    counts, n = result.evidence, result.runs
    found = -ndtri(counts.false_positives / n) - ndtri(counts.false_negatives / n)
    claimed = gdp.mu(result.epsilon, result.delta)
    assert found == pytest.approx(claimed, abs=6 * np.sqrt(np.pi / n))


def test_the_default_looks_at_all_queries_and_comes_close_to_the_claim():
    """Counting is to cost 0.04 of mu, with a standard deviation of 0.025: 0.8 is six below."""
    result = audit(logistic(2.0), X, LABELS)
    assert (result.sees, result.bound) == ("queries", "gaussian")
    assert result.ratio >= 0.8
    assert not result.at(SURE).refuted
    assert "all queries of one recorded fit" in str(result)
    assert "not tried: how a fit goes on" in str(result)
    assert result.to_dict()["looked_at"] == result.looked_at


MODELS = [
    logistic(),
    logistic(adjacency="zero_out"),
    logistic(solver=FTRL(reach=1e-6, clip=0.25)),
    DPSVMClassifier(
        data_norm=1.0, classes=[0, 1], fit_intercept=False, solver=SHORT, precondition=None
    ),
]


@pytest.mark.parametrize("model", MODELS, ids=["plain", "zero-out", "stream", "svm"])
@pytest.mark.by_day(2)
def test_answers_of_a_fit_tell_as_much_as_claimed(model):
    result = audit(model, X, LABELS, sees="queries", runs=20_000)
    assert result.adjacency == model.adjacency
    assert result.bound == "gaussian"
    check_tight(result)


@pytest.mark.parametrize("sees", ["answers", *by_night("model")])
def test_honest_fits_are_not_refuted(sees):
    result = audit(logistic(4.0), X, LABELS, sees=sees, runs=20).at(SURE)
    assert not result.refuted
    assert result.sees == sees


def users(n=6, user=1):
    contexts, returned = np.tile([1.0, 0.0], (n, 1)), np.tile([1.0, 0.0], (n, 1))
    other = contexts.copy(), returned.copy()
    other[1][user] = [0.0, 1.0]
    return contexts, returned, other


def bandit():
    return DPContextualBandit(
        ["a", "b"],
        epsilon=1.0,
        delta=1e-5,
        data_norm=1.0,
        horizon=6,
        policy="gd",
        fit_intercept=False,
    )


def test_bandits_are_audited_by_what_other_users_see():
    contexts, returned, other = users()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = audit(bandit(), contexts, returned, other=other, runs=20)
    assert not result.at(SURE).refuted


@pytest.mark.filterwarnings("ignore:DPContextualBandit has .* users for:UserWarning")
@pytest.mark.nightly
def test_answers_of_a_bandit_tell_as_much_as_claimed():
    """Moments move most by a context that is turned by 60 degrees, with the opposite reward."""
    contexts, returned, other = users(user=0)
    other[0][0] = [0.5, np.sqrt(0.75)]
    model = bandit().set_params(policy="blocks", epsilon=4.0)
    check_tight(audit(model, contexts, returned, other=other, sees="queries", runs=20_000))
    for policy in ("ftrl", "gd", "hdb", "sparse", HDBPolicy(solver=FTRL())):
        model.set_params(policy=policy)
        options = {"other": other, "sees": "queries", "runs": 300}
        assert not audit(model, contexts, returned, **options).at(SURE).refuted


@pytest.mark.nightly
def test_bounds_of_a_known_mechanism_exceed_it_at_most_as_often_as_said():
    query = GradientQuery(Problem(Logistic(), 1, 1, RowBounds(1.0)), np.zeros(1), 0.25)
    first, second = DenseRows(np.ones((1, 1)), np.zeros(1)), DenseRows(np.ones((1, 1)), np.ones(1))
    audits, confidence = 150, 0.8
    above = sum(
        audit_query(query, first, second, runs=400, confidence=confidence).refuted
        for _ in range(audits)
    )
    assert above <= binom.isf(1e-7, audits, 1 - confidence)


@pytest.mark.nightly
def test_noise_comes_from_the_operating_system_whatever_the_seed():
    found = {
        audit(logistic(random_state=7), X, LABELS, sees="queries", runs=500).evidence
        for _ in range(4)
    }
    assert len(found) > 1


def test_a_given_pair_is_used_and_a_searched_one_is_as_good():
    other = X, np.array([1, 1, 0, 1])
    check_tight(audit(logistic(), X, LABELS, other=other, sees="queries", runs=20_000))
    near = X * [0.99, 1.0]
    near = np.where(np.arange(4)[:, None] == 2, near, X), LABELS
    result = audit(logistic(), X, LABELS, other=near, sees="queries", runs=20_000)
    assert result.epsilon_lower_bound < 0.3


@pytest.mark.nightly
def test_a_statistic_of_ones_own_is_taken():
    result = audit(
        logistic(4.0), X, LABELS, runs=20, statistic=lambda model: float(model.coef_[0, 0])
    )
    assert result.sees == "model"


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_a_fit_that_starts_on_a_sample_is_not_refuted(adjacency, monkeypatch):
    """A row that is left out leaves its place behind, so that others are in as before."""
    monkeypatch.setattr(defaults.Pilot, "LEAST_ENTRIES", 0)
    monkeypatch.setattr(defaults.Pilot, "EVIDENCE", 40.0)
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(3_000, 2)), rng.integers(0, 2, 3_000)
    model = DPLogisticRegression(
        epsilon=5.0, delta=1e-5, data_norm=3.0, classes=[0, 1], adjacency=adjacency
    )
    found = audit(model, rows, labels, sees="queries", runs=1_000, confidence=SURE)
    assert not found.refuted
    assert found.epsilon > 0


QUESTION = GradientQuery(Problem(Logistic(), 1, 1, RowBounds(1.0)), np.zeros(1), 0.25)
ROW = DenseRows(np.ones((1, 1)), np.zeros(1))


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"query": "gradient"}, TypeError, "'query' .*Query'. Got 'gradient'"),
        ({"first": None}, TypeError, "'first' .*RowStore'. Got None"),
        ({"second": np.eye(2)}, TypeError, "'second' .*RowStore'. Got an array"),
        ({"second": DenseRows(np.eye(2), np.ones(2))}, ValueError, r"same features, got \[1, 2\]"),
        ({"adjacency": "replace_one"}, TypeError, "'adjacency' .*Adjacency'. Got 're"),
        ({"runs": 9}, ValueError, "'runs' parameter of audit_query must be an int"),
        ({"runs": None}, ValueError, "'runs' parameter of audit_query must be an int"),
        ({"confidence": 1}, ValueError, "'confidence' parameter of audit_query must be a float"),
        ({"confidence": "0.9"}, ValueError, "'confidence' parameter of audit_query must be"),
        ({"epsilon": -1.0}, ValueError, "epsilon"),
        ({"delta": 0.0}, ValueError, "delta"),
    ],
    # Not the values: that of a row store holds its address.
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_an_audit_of_what_is_no_query_is_refused(changed, kind, message):
    given = {"query": QUESTION, "first": ROW, "second": ROW, "runs": 10} | changed
    with pytest.raises(kind, match=message):
        audit_query(given.pop("query"), given.pop("first"), given.pop("second"), **given)


def test_the_result_tells_what_was_found():
    result = audit(logistic(), X, LABELS, sees="queries", runs=2000)
    found = result.to_dict()
    assert found["epsilon"] == 1.0
    assert found["false_positives"] == result.evidence.false_positives
    assert found["ratio"] == result.epsilon_lower_bound
    assert "observed" not in found
    assert "epsilon_lower_bound=" in repr(result)
    # At 0.95 an honest claim may be refuted once in twenty times.
    assert "not refuted" in str(result.at(SURE))
    assert result.at(0.5).epsilon_lower_bound > result.epsilon_lower_bound
    assert result.at(result.confidence).to_dict() == found
    with pytest.raises(ValueError, match="'confidence' parameter of AuditResult"):
        result.at(0)
    positives, negatives = result.observed.T
    assert (np.diff(positives) >= 0).all()
    assert (np.diff(negatives) <= 0).all()


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.by_day(1)
def test_the_claimed_curve_is_what_the_claim_allows(gaussian):
    result = replace(
        audit(logistic(), X, LABELS, sees="queries", runs=50), gaussian=gaussian, delta=0.01
    )
    alpha = np.linspace(0, 1, 11)
    beta = result.claimed_errors(alpha)
    # A test at which an (epsilon, delta) claim is exhausted.
    slack = np.minimum(
        np.exp(1.0) * alpha + 0.01 - (1 - beta), np.exp(1.0) * beta + 0.01 - (1 - alpha)
    )
    assert slack.min() >= -1e-9
    fine = np.linspace(0, 1, 20_001)
    assert (np.exp(1.0) * fine + 0.01 - (1 - result.claimed_errors(fine))).min() < 1e-4


def test_answers_about_times_to_an_event_tell_as_much_as_claimed():
    """The life table and gradients, of an event in the first period against none in all of them."""
    times = np.array([1.0, -9.0, 1.0, -9.0])
    model = DPHazardRegressor(
        epsilon=1.0,
        delta=1e-5,
        data_norm=1.0,
        times=[1.0, 2.0],
        precondition=None,
        solver=GD(steps=5, clip=0.25),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = audit(model, X, times, sees="queries", runs=20_000)
    assert not result.at(SURE).refuted
    assert result.epsilon > 0.6


# What has no coefficients to look at.

FLIPPED = X, np.array([1, 1, 0, 1])


def search(**options):
    space = {"C": [1.0, 10.0]}
    return DPGridSearchCV(logistic(), space, **{"validation": (X, LABELS)} | options)


def of_winner(found):
    return float(found.best_estimator_.coef_[0, 0])


def test_searches_are_audited_by_a_statistic_of_the_winner():
    model = search(epsilon=8.0, delta=1e-5)
    result = audit(model, X, LABELS, other=FLIPPED, runs=10, statistic=of_winner)
    assert type(result.adjacency) is str
    assert result.epsilon == pytest.approx(8.0)
    assert result.bound == "clopper_pearson"
    assert not result.at(SURE).refuted


SCALER = DPStandardScaler(epsilon=2.0, bounds=([-1, -1], [1, 1]))
CONTEXTS, RETURNED, OTHER = users()
OF_USERS = {"X": CONTEXTS, "y": RETURNED}
WITHOUT_ROWS = logistic(adjacency="zero_out")
OF_SEARCH = r"needs sees='model', .* for DPGridSearchCV"


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (logistic(), {"sees": "rows"}, "'sees' parameter of audit must be a str among"),
        (logistic(), {"confidence": 1.0}, "'confidence' parameter of audit must be a float in"),
        (logistic(), {"runs": 3}, "'runs' parameter of audit must be None or an int in"),
        (logistic(), {"runs": 20.5}, "'runs' parameter of audit must be None or an int in"),
        (logistic(), {"calls": 0}, "'calls' parameter of audit must be None or an int in"),
        (logistic(), {"calls": 9}, "no more calls than the 4 rows"),
        (logistic(), {"row": 4}, "a row among 4"),
        (logistic(), {"row": 1.0}, "'row' parameter of audit must be an int in the range"),
        (logistic(), {"other": (X, LABELS)}, "differ in 0 rows"),
        (logistic(), {"other": (-X, LABELS)}, "differ in 4 rows"),
        (logistic(), {"other": (X[:3], LABELS[:3])}, "which differ in one row"),
        (logistic(), {"statistic": len, "sees": "answers"}, "sees='model' for a statistic"),
        (logistic(), {"X": X[:, 0]}, "two dimensions"),
        (logistic(), {"X": X + 1j}, "real numbers"),
        (WITHOUT_ROWS, {"calls": 2}, "adjacency='replace_one'"),
        (WITHOUT_ROWS, {"other": (-X, LABELS)}, "adjacency='replace_one'"),
        (object(), {}, "without get_params"),
        (LogisticRegression(), {}, "^audit needs parts of which the privacy is known"),
        (bandit(), OF_USERS | {"other": OTHER, "calls": 2}, "for a bandit"),
        (bandit(), OF_USERS, "for a bandit"),
        (search(), {"sees": "queries"}, OF_SEARCH),
        (search(), {"sees": "answers"}, OF_SEARCH),
        (search(), {"calls": 2}, OF_SEARCH),
        (
            search().set_params(estimator=WITHOUT_ROWS),
            {"statistic": of_winner},
            "adjacency='replace_one' for DPGridSearchCV",
        ),
        (SCALER, {"calls": 2}, "calls=None for DPStandardScaler"),
    ],
)
def test_what_makes_no_sense_is_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        audit(model, **{"X": X, "y": LABELS} | options)


def test_scalers_are_audited_by_their_queries_their_numbers_or_a_statistic():
    rows = np.where(np.arange(40)[:, None] % 2, X[0], -X[0])
    turned = np.where(np.arange(40)[:, None] == 0, -rows, rows)
    targets = np.zeros(40)
    options = {"other": (turned, targets), "statistic": lambda fitted: float(fitted.mean_[0])}
    for how in ({"runs": 40}, {"sees": "model", "runs": 20}, {"runs": 20, **options}):
        result = audit(SCALER, rows, targets, **how)
        assert result.epsilon == pytest.approx(2.0)
        assert not result.at(SURE).refuted


def test_what_asked_nothing_claims_nothing():
    few, targets = np.ones((4, 1)), np.zeros(4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The share of the budget set aside")
        result = audit(DPMinMaxScaler(), few, targets, runs=20)
    assert (result.epsilon, result.epsilon_lower_bound) == (0.0, 0.0)
