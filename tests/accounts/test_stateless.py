"""Steps without a receipt: what is accepted, what is refused, and what is believed."""

import re
from pathlib import Path

import numpy as np
import pytest
from budget_tasks import X, Y, model
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)

from skdp import PrivacyLeakWarning, privacy_spent


class Subclassed(GridSearchCV):
    """May do anything."""


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (StandardScaler(), "standardscaler learns from rows"),
        (MinMaxScaler(), "minmaxscaler learns from rows"),
        (SelectKBest(k=1), "selectkbest learns from rows"),
        (OneHotEncoder(handle_unknown="ignore"), "reads its categories off the rows"),
        (
            OneHotEncoder(categories=[[-1, 1]] * 2, min_frequency=2, handle_unknown="ignore"),
            "counts how often",
        ),
    ],
)
def test_a_step_that_learned_without_a_receipt_is_named(step, why):
    pipeline = make_pipeline(step, model()).fit(X, Y)
    with pytest.raises(ValueError, match=rf"receipt of every step that learned:\n- .*{why}"):
        privacy_spent(pipeline)


def test_all_that_is_refused_is_named_at_once():
    pipeline = make_pipeline(StandardScaler(), MinMaxScaler(), model()).fit(X, Y)
    with pytest.raises(ValueError, match=r"standardscaler[^\n]*\n- [^\n]*minmaxscaler"):
        privacy_spent(pipeline)


class Centred(TransformerMixin, BaseEstimator):
    """Declares that it needs no fit, and learns all the same."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class Doubled(TransformerMixin, BaseEstimator):
    """Learns nothing, and says so."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class Scaler(StandardScaler):
    """A subclass may do anything."""


class Normalized(Normalizer):
    """Also of a class that is on the list, but by its tag it learns nothing."""


def test_a_declaration_is_believed_only_of_who_has_noted_nothing():
    assert privacy_spent(make_pipeline(Doubled(), model()).fit(X, Y)).epsilon > 0
    assert privacy_spent(make_pipeline(Normalized(), model()).fit(X, Y)).epsilon > 0
    for step in (Centred(), Scaler()):
        with pytest.raises(ValueError, match=f"{type(step).__name__.lower()} learns"):
            privacy_spent(make_pipeline(step, model()).fit(X, Y))


def test_functions_of_the_user_are_believed_and_a_warning_says_so():
    pipeline = make_pipeline(FunctionTransformer(lambda X: X / 2), model()).fit(X, Y)
    with pytest.warns(PrivacyLeakWarning, match="functiontransformer calls a function"):
        privacy_spent(pipeline)


def test_the_choice_of_a_sparse_format_is_a_leak():
    codes = np.arange(len(X)).reshape(-1, 1) % 5
    columns = ColumnTransformer([("c", OneHotEncoder(categories=[list(range(5))]), [0])])
    pipeline = make_pipeline(columns, model()).fit(codes, Y)
    with pytest.warns(PrivacyLeakWarning, match="sparse_threshold=0 or 1"):
        privacy_spent(pipeline)


def test_columns_chosen_by_a_function_are_refused():
    columns = ColumnTransformer([("n", Normalizer(), lambda X: [0, 1])])
    with pytest.raises(ValueError, match="chooses columns by a function"):
        privacy_spent(make_pipeline(columns, model()).fit(X, Y))


@pytest.mark.parametrize("kind", [HalvingGridSearchCV, OneVsOneClassifier, RFE, Subclassed])
def test_wrappers_that_are_not_taken_apart_say_so_and_what_to_do(kind):
    search = "Search" in kind.__name__ or kind is Subclassed
    wrapper = kind(model(), {"C": [0.5, 1.0]}) if search else kind(model())
    with pytest.raises(ValueError, match=f"{kind.__name__} fits private estimators") as refused:
        privacy_spent(wrapper.fit(X, Y))
    assert "open a skdp.PrivacyBudget around" in str(refused.value)
    assert ("search with skdp.model_selection" in str(refused.value)) == search
    assert "learns from rows and says nothing" not in str(refused.value)


@pytest.mark.parametrize("thing", [object(), StandardScaler, "text", 3])
def test_what_is_no_estimator_is_refused(thing):
    with pytest.raises(ValueError, match="receipt of every step that learned"):
        privacy_spent(thing)


RECOMMENDED = {
    page.name: found
    for page in sorted((Path(__file__).resolve().parents[2] / "docs").glob("*.md"))
    if (found := re.findall(r"SimpleImputer\(strategy=[^)]*\)", page.read_text()))
}


@pytest.mark.parametrize("page", RECOMMENDED)
def test_imputers_that_pages_and_errors_recommend_are_free(page):
    with pytest.raises(ValueError, match="NaN") as caught:
        model().fit(np.full_like(X, np.nan), Y)
    advice = re.findall(r"SimpleImputer\(.*?\)", str(caught.value))
    for text in (*RECOMMENDED[page], *advice):
        imputer = eval(text.replace("...", "0.0"), {"SimpleImputer": SimpleImputer})
        pipeline = make_pipeline(imputer, model()).fit(X, Y)
        assert privacy_spent(pipeline).epsilon == pytest.approx(pipeline[-1].privacy_spent_.epsilon)
