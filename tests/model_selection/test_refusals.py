"""Data, laws and relations that no search can use are refused before anything is spent."""

import numpy as np
import pytest
from private_toys import Toy
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import DPStandardScaler

X = np.random.default_rng(0).normal(size=(3000, 3)) / 3
Y = (X[:, 0] > 0).astype(int)


def logistic(**options):
    return DPLogisticRegression(**{"data_norm": 2.0, "classes": [0, 1]} | options)


LABELS, ROWS = np.arange(6) % 2, np.zeros((6, 2))
C, SHARE = {"C": [1.0]}, {"score_share": 5e-324}


def with_entry(entry):
    return np.where(np.arange(12).reshape(6, 2) == 7, entry, 0.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [DPGridSearchCV, DPRandomizedSearchCV])
@pytest.mark.parametrize(
    ("space", "options", "rows", "y", "said"),
    [
        *((C, {}, ROWS, np.where(LABELS, 0.5, most), "label") for most in (1e308, 2.0**70)),
        ({"C": []}, {}, ROWS, LABELS, "C"),
        ([C, {"C": []}], {}, ROWS, LABELS, "C"),
        ([], {}, ROWS, LABELS, "something to choose from"),
        (C, SHARE, ROWS, LABELS, "score_share or weights in step_shares be larger"),
        (C, {}, with_entry(np.nan), LABELS, "NaN"),
        (C, {}, with_entry(np.inf), LABELS, "infinity"),
        *(
            (C, {}, *given, "got a scalar")
            for scalar in (0.7391264158, np.array(0.7391264158), np.float64(0.7391264158))
            for given in ((ROWS, scalar), (scalar, LABELS))
        ),
    ],
)
def test_what_no_search_can_use_is_refused_before_anything_is_spent(
    kind, space, options, rows, y, said
):
    search = kind(logistic(solver="gd"), space, **options)
    with pytest.raises(ValueError, match=said) as refused:
        search.fit(rows, y)
    assert "7391" not in str(refused.value)
    assert "privacy_spent_" not in vars(search)


@pytest.mark.parametrize("kind", [DPGridSearchCV, DPRandomizedSearchCV])
def test_several_targets_are_refused_also_where_the_models_would_take_them(kind):
    search = kind(DPLinearRegression(data_norm=1.0, target_bounds=(-1, 1)), {"alpha": [0.0]})
    assert get_tags(search.estimator).target_tags.multi_output
    assert not get_tags(search).target_tags.multi_output
    with pytest.raises(ValueError, match="one target a row, in a vector, got a table of 2 columns"):
        search.fit(X, X[:, :2])
    assert "privacy_spent_" not in vars(search)


def test_a_refused_search_leaves_the_earlier_one_as_it_was():
    found = DPGridSearchCV(Toy(), {"label": [0, 1]}).fit(X, Y)
    spent, best = found.privacy_spent_, found.best_estimator_
    with pytest.raises(ValueError, match="epsilon"):
        found.set_params(epsilon=-1).fit(X, Y)
    assert (found.privacy_spent_, found.best_estimator_) == (spent, best)


def test_scores_that_are_mostly_noise_warn():
    with pytest.warns(UserWarning, match="mostly choose by chance"):
        DPGridSearchCV(Toy(), {"label": [0, 1]}, epsilon=0.1).fit(X[:200], Y[:200])


def test_zero_out_is_the_relation_of_the_estimator():
    found = DPGridSearchCV(logistic(adjacency="zero_out"), {"C": [1.0]})
    assert found.adjacency == "zero_out"
    assert DPGridSearchCV(logistic(), {"C": [1.0]}).adjacency == "replace_one"
    mixed = make_pipeline(DPStandardScaler(bounds=(-2, 2)), logistic(adjacency="zero_out"))
    with pytest.raises(ValueError, match="one adjacency"):
        DPGridSearchCV(mixed, {"dplogisticregression__C": [1.0]}).fit(X, Y)


PUBLIC = {
    "numbers": (X[:50], X[:50, 0]),
    "classes": (X[:50], Y[:50]),
    "names": (X[:50], np.array(["no", "yes"])[Y[:50]]),
    "three": (X[:50], np.arange(50) % 3),
}


@pytest.mark.parametrize(
    ("model", "y", "scoring", "validation", "complaint"),
    [
        (DPLinearRegression(), X[:, 0], "accuracy", None, "needs classifiers"),
        (DPLinearRegression(), X[:, 0], "accuracy", "numbers", "whatever they predict"),
        (DPLinearRegression(), X[:, 0], "f1", "numbers", "whatever they predict"),
        (logistic(classes=["no", "yes"]), None, "f1", "names", "whatever they predict"),
        (logistic(classes=[0, 1, 2]), Y, "roc_auc", "three", "whatever they predict"),
        (logistic(classes=["no", "yes"]), None, "r2", "names", "whatever they predict"),
    ],
)
def test_a_score_that_no_trial_could_have_costs_nothing(model, y, scoring, validation, complaint):
    if isinstance(model, DPLinearRegression):
        model.set_params(data_norm=2.0, target_bounds=(-1, 1))
    rows = PUBLIC[validation] if isinstance(validation, str) else validation
    y = np.array(["no", "yes"])[Y] if y is None else y
    search = DPRandomizedSearchCV(
        model, {"solver": ["gd"]}, scoring=scoring, validation=rows, score_range=(-1, 1)
    )
    with pytest.raises(ValueError, match=complaint):
        search.fit(X, y)
    assert "privacy_spent_" not in vars(search)


OF_TWO = ["accuracy", "roc_auc", "f1", "neg_log_loss", "neg_brier_score", "average_precision"]


@pytest.mark.parametrize(
    ("model", "rows", "scoring"),
    [
        *((logistic(solver="gd"), (X[:50], Y[:50]), scoring) for scoring in OF_TWO),
        *((logistic(solver="gd"), (X[:50], np.ones(50, int)), s) for s in ("recall", "accuracy")),
        (logistic(solver="gd", classes=[0, 1, 2]), (X[:50], Y[:50]), "f1_macro"),
        (DPLinearRegression(data_norm=2.0, target_bounds=(-1, 1)), PUBLIC["numbers"], "r2"),
    ],
)
def test_a_score_that_public_rows_have_is_taken(model, rows, scoring):
    y = X[:, 0] if isinstance(model, DPLinearRegression) else Y
    search = DPGridSearchCV(model, {"fit_intercept": [True]}, scoring=scoring, validation=rows)
    assert np.isfinite(search.fit(X, y).best_score_)
