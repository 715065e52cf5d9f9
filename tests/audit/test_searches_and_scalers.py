"""``audit`` of searches and of scalers, which have no coefficients to look at."""

import warnings

import numpy as np
import pytest
from by_night import by_night
from scipy.stats import uniform
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdp import DPLogisticRegression
from skdp.audit import audit, released_numbers
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import DPMinMaxScaler, DPStandardScaler
from skdp.solvers import GD

X, LABELS = np.tile([1.0, 0.0], (4, 1)), np.array([0, 1, 0, 1])
FLIPPED = X, np.array([1, 1, 0, 1])
# Certain enough for all audits of honest estimators here.
SURE = 1 - 1e-7


def logistic(**params):
    steps = GD(steps=3, total_step_size=1e-6, clip=0.25)
    params = {"solver": steps, "fit_intercept": False, "precondition": None} | params
    return DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=1.0, classes=[0, 1], **params)


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


@pytest.mark.nightly
def test_searches_are_audited_by_what_their_winner_publishes():
    """The score, marks of the chosen parameters, and coefficients; a pair is found."""
    model = search(epsilon=8.0, delta=1e-5)
    result = audit(model, X, LABELS, runs=12)
    assert result.sees == "winner"
    assert "the bound is coarse" in str(result)
    assert not result.at(SURE).refuted
    found = model.fit(X, LABELS)
    numbers = released_numbers(found)
    assert numbers[0] == found.best_score_
    assert numbers[1:3].tolist() == [found.best_params_["C"] == C for C in (1.0, 10.0)]
    np.testing.assert_array_equal(numbers[3:5], found.best_estimator_.coef_[0])


@pytest.mark.nightly
@pytest.mark.parametrize("space", [[1.0, 10.0], *by_night(uniform(1, 9))], ids=["listed", "drawn"])
def test_so_are_random_searches_and_pipelines_that_hold_a_search(space):
    options = {"validation": (X, LABELS), "epsilon": 8.0, "delta": 1e-5}
    drawn = DPRandomizedSearchCV(logistic(), {"C": space}, **options)
    result = audit(make_pipeline(Normalizer(), drawn), X, LABELS, runs=10)
    assert result.sees == "winner"
    assert not result.at(SURE).refuted


@pytest.mark.parametrize(
    "changed",
    [
        {"sees": "queries"},
        {"sees": "answers"},
        {"calls": 2},
    ],
    ids=str,
)
def test_nothing_else_is_known_of_a_search(changed):
    with pytest.raises(ValueError, match=r"needs sees='model', .* for DPGridSearchCV"):
        audit(search(), X, LABELS, **changed)


def test_searches_leave_no_rows_out():
    model = search().set_params(estimator=logistic(adjacency="zero_out"))
    with pytest.raises(ValueError, match="adjacency='replace_one' for DPGridSearchCV"):
        audit(model, X, LABELS, statistic=of_winner)


def test_scalers_are_audited_by_their_queries_their_numbers_or_a_statistic():
    rows = np.where(np.arange(40)[:, None] % 2, X[0], -X[0])
    turned = np.where(np.arange(40)[:, None] == 0, -rows, rows)
    targets = np.zeros(40)
    scaler = DPStandardScaler(epsilon=2.0, bounds=([-1, -1], [1, 1]))
    options = {"other": (turned, targets), "statistic": lambda fitted: float(fitted.mean_[0])}
    for how in ({"runs": 40}, {"sees": "model", "runs": 20}, {"runs": 20, **options}):
        result = audit(scaler, rows, targets, **how)
        assert result.epsilon == pytest.approx(2.0)
        assert not result.at(SURE).refuted
    with pytest.raises(ValueError, match="calls=None for DPStandardScaler"):
        audit(scaler, rows, targets, calls=2)


def test_what_asked_nothing_claims_nothing():
    few, targets = np.ones((4, 1)), np.zeros(4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The share of the budget set aside")
        result = audit(DPMinMaxScaler(), few, targets, runs=20)
    assert (result.epsilon, result.epsilon_lower_bound) == (0.0, 0.0)
