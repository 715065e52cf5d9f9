"""Private searches that protect all rows of a person, in training and in scores."""

import re

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

import skdp
from skdp import DPLogisticRegression
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import DPStandardScaler
from skdp.privacy import PrivateOracle, opened_by

PEOPLE = 50
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*compares scores whose noise:UserWarning", "ignore::skdp.BudgetWarning"
)
MODEL = DPLogisticRegression(classes=[0, 1], data_norm=3.0)
GRID = {"C": [0.1, 1.0]}


def people(seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(PEOPLE), rng.integers(1, 4, PEOPLE)))
    X = rng.normal(size=(len(labels), 2))
    return X, (X[:, 0] > 0).astype(int), labels


def fitted_stores(search, *data, **options):
    """Stores of all private fits of a search."""
    stores = []

    def oracle(rows, *rest):
        stores.append(rows)
        return PrivateOracle(rows, *rest)

    with opened_by(oracle):
        search.fit(*data, **options)
    return stores


@pytest.mark.parametrize("kind", ["grid", "random"])
def test_all_trials_are_about_people(kind):
    X, y, labels = people()
    search = DPGridSearchCV(MODEL, GRID, epsilon=4.0)
    if kind == "random":
        search = DPRandomizedSearchCV(MODEL, GRID, n_iter=3, epsilon=4.0)
    stores = fitted_stores(search, X, y, privacy_unit=labels)
    assert {(rows.unit, rows.n_samples) for rows in stores} <= {("privacy_unit", PEOPLE)}
    assert search.privacy_unit_ == search.best_estimator_.privacy_unit_ == "privacy_unit"
    assert skdp.privacy_spent(search).unit == "privacy_unit"
    assert skdp.report(search).facts["unit"] == "all rows of one privacy unit together"
    assert not re.search(rf"\b{len(y)}\b", repr(vars(search)))


def test_scores_are_of_people():
    rng = np.random.default_rng(0)
    # Nine of ten people have one row, which is right, and the others forty, which are wrong.
    labels = np.repeat(np.arange(200), np.where(np.arange(200) % 10 == 0, 40, 1))
    X = rng.choice([-1.0, 1.0], size=(len(labels), 1))
    y = ((X[:, 0] > 0) ^ (labels % 10 == 0)).astype(int)
    model = DPLogisticRegression(classes=[0, 1], data_norm=1.0)
    search = DPGridSearchCV(model, {"C": [1.0, 10.0]}, epsilon=1000.0)
    search.fit(X, y, privacy_unit=labels)
    # Of rows, four of five are wrong. At most half of the forty people who score are, whoever they
    # are, and nearly never more than a quarter.
    assert search.best_score_ > 0.55


@pytest.mark.by_day(1)
@pytest.mark.parametrize("routing", [False, True])
def test_labels_reach_all_private_steps_of_a_pipeline(routing):
    X, y, labels = people()
    with sklearn.config_context(enable_metadata_routing=routing):
        steps = [DPStandardScaler(bounds=(-4, 4)), sklearn.clone(MODEL)]
        pipeline = make_pipeline(*steps)
        search = DPGridSearchCV(pipeline, {"dplogisticregression__C": [1.0, 2.0]}, epsilon=4.0)
        if routing:
            with pytest.raises(ValueError, match="to reach every private step"):
                search.fit(X, y, privacy_unit=labels)
            for step in steps:
                step.set_fit_request(privacy_unit=True)
        stores = fitted_stores(search, X, y, privacy_unit=labels)
    assert len(stores) >= 2
    assert {rows.unit for rows in stores} == {"privacy_unit"}


def test_steps_that_labels_do_not_reach_are_refused():
    X, y, labels = people()
    nested = make_pipeline(make_pipeline(DPStandardScaler(bounds=(-4, 4))), MODEL)
    search = DPGridSearchCV(nested, {"dplogisticregression__C": [1.0, 2.0]}, epsilon=4.0)
    with pytest.raises(ValueError, match="to reach every private step"):
        search.fit(X, y, privacy_unit=labels)
    assert not hasattr(search, "privacy_spent_")
