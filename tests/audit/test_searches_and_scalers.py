"""``audit`` of searches and of scalers, which have no coefficients to look at."""

import warnings

import numpy as np
import pytest

from skdp import DPLogisticRegression
from skdp.audit import audit
from skdp.model_selection import DPGridSearchCV
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
