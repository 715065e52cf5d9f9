"""What composed estimators have spent: every fit is found, and nothing unpaid goes through."""

import warnings
from math import inf, sqrt

import numpy as np
import pytest
from budget_tasks import DELTA, X, Y, model
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler

from skdp import DPLinearRegression, PrivacyLeakWarning, plan, privacy_spent, privatize
from skdp.model_selection import DPRandomizedSearchCV
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.privacy.accounting import gdp
from skdp.testing import exact_fit


def mu_of(epsilon, delta=DELTA):
    return gdp.mu(epsilon, delta)


def together(*epsilons):
    """Exact total of Gaussian fits that spend their whole budgets."""
    return gdp.epsilon(sqrt(sum(mu_of(e) ** 2 for e in epsilons)), DELTA)


def fitted(epsilon, **parameters):
    return model(**parameters).set_params(epsilon=epsilon).fit(X, Y)


def test_models_of_a_list_are_added_up():
    models = [fitted(0.5), make_pipeline(Normalizer(), model()).fit(X, Y), fitted(0.25)]
    total = privacy_spent(models)
    assert total.epsilon == pytest.approx(together(0.5, model().epsilon, 0.25), rel=1e-9)
    assert [r.who.rpartition(" ")[2] for r in total.receipts] == [
        "0",
        "1.dplogisticregression",
        "2",
    ]
    assert privacy_spent(tuple(models[::2])).epsilon == pytest.approx(together(0.5, 0.25), rel=1e-9)
    assert privacy_spent([]).spent == (0.0, 0.0)
    with pytest.raises(ValueError, match=r"StandardScaler 1 learns(?s:.*)LogisticR.* 2 is not"):
        privacy_spent([models[0], StandardScaler().fit(X), model()])


def test_one_model_is_what_it_says():
    one = fitted(0.7)
    total = privacy_spent(one)
    assert total.spent == pytest.approx(one.privacy_spent_)
    assert total.adjacency == "replace_one"
    assert [r.who for r in total.receipts] == ["DPLogisticRegression"]
    assert str(total).splitlines() == [
        "epsilon=0.7 at delta=1e-05 (replace_one)",
        "  DPLogisticRegression: epsilon=0.7 at delta=1e-05",
    ]
    assert privacy_spent(one, delta=1e-8).epsilon > 0.7


def test_a_pipeline_is_composed_exactly_over_its_steps():
    steps = [
        BoundsScaler((-1, 1)),
        DPStandardScaler(epsilon=0.5, bounds=(-1, 1)),
        Normalizer(),
        FunctionTransformer(np.tanh),
        "passthrough",
        model().set_params(epsilon=0.7),
    ]
    total = privacy_spent(make_pipeline(*steps).fit(X, Y))
    assert total.epsilon == pytest.approx(together(0.5, 0.7))
    assert total.epsilon < 1.2
    assert [r.who for r in total.receipts] == [
        "Pipeline.dpstandardscaler",
        "Pipeline.dplogisticregression",
    ]


def test_unions_and_column_transformers_are_taken_apart():
    scaler = DPStandardScaler(epsilon=0.5, bounds=(-1, 1))
    codes = np.arange(len(X)) % 3
    encoder = OneHotEncoder(categories=[[0, 1, 2]], handle_unknown="ignore")
    columns = ColumnTransformer(
        [("s", clone(scaler), [0]), ("c", encoder, [2]), ("d", "drop", [1])],
        remainder="passthrough",
        sparse_threshold=0,
    )
    both = make_union(make_pipeline(columns), make_pipeline(clone(scaler)))
    data = np.column_stack([X, codes])
    total = privacy_spent(make_pipeline(both, model().set_params(epsilon=0.7)).fit(data, Y))
    assert total.epsilon == pytest.approx(together(0.5, 0.5, 0.7))
    assert len(total.receipts) == 3


@pytest.mark.filterwarnings("ignore:DPRandomizedSearchCV compares:UserWarning")
def test_a_private_search_is_covered_by_its_receipt():
    search = DPRandomizedSearchCV(model(), {"C": [0.5, 1.0]}, epsilon=1.0, n_iter=3).fit(X, Y)
    total = privacy_spent(make_pipeline(Normalizer(), search).fit(X, Y))
    assert total.epsilon == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("delta", [-0.1, 1.0, np.nan, "1e-5", [1e-5], True, np.array([0.1, 0.2])])
def test_a_delta_that_is_none_is_refused(delta):
    fitted = model().fit(X, Y)
    with pytest.raises(ValueError, match=r"compose needs a (delta in|number for delta)"):
        privacy_spent(fitted, delta)


def test_a_model_without_noise_makes_the_total_infinite():
    one = model()
    exact_fit(one, X, Y)
    assert privacy_spent(one).epsilon == inf


def test_ensembles_compose_on_the_same_rows():
    labels = np.arange(len(X)) % 3
    several = OneVsRestClassifier(model().set_params(epsilon=0.4)).fit(X, labels)
    with pytest.warns(PrivacyLeakWarning, match="reads the set of labels"):
        assert privacy_spent(several).epsilon == pytest.approx(together(0.4, 0.4, 0.4))
    votes = VotingClassifier([("a", model()), ("b", "drop"), ("c", model())]).fit(X, Y)
    one = privacy_spent(model().fit(X, Y)).epsilon
    with pytest.warns(PrivacyLeakWarning, match="reads the set of labels"):
        total = privacy_spent(votes)
    assert total.epsilon == pytest.approx(together(one, one))
    assert [r.who for r in total.receipts] == ["VotingClassifier.a", "VotingClassifier.c"]
    assert privacy_spent(FrozenEstimator(model().fit(X, Y))).epsilon == pytest.approx(one)
    regression = DPLinearRegression(epsilon=0.5, data_norm=2.0, target_bounds=(-1, 1))
    target = TransformedTargetRegressor(
        regression, func=np.tanh, inverse_func=np.arctanh, check_inverse=False
    )
    assert privacy_spent(target.fit(X, X[:, 0])).epsilon == pytest.approx(0.5, rel=1e-6)
    both = MultiOutputRegressor(regression).fit(X, X)
    assert privacy_spent(both).epsilon == pytest.approx(together(0.5, 0.5), rel=1e-6)


def test_a_constant_in_place_of_a_model_does_not_decide_the_verdict():
    """One-vs-rest fits none to a label that no row has; that it did not is a part of its leak."""
    for empty in (np.zeros_like(Y), np.arange(len(Y)) % 2):
        labels = np.column_stack([Y, 1 - Y, empty])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            several = OneVsRestClassifier(model()).fit(X, labels)
        with pytest.warns(PrivacyLeakWarning, match="reads the set of labels"):
            privacy_spent(several)


def test_what_is_not_fitted_is_refused():
    unfitted = [
        model(),
        make_pipeline(model()),
        VotingRegressor([("a", model())]),
        OneVsRestClassifier(model()),
        ColumnTransformer([]),
        FeatureUnion([("a", DPStandardScaler())]),
        TransformedTargetRegressor(DPLinearRegression()),
        FrozenEstimator(model()),
    ]
    for estimator in unfitted:
        with pytest.raises(ValueError, match="is not fitted"):
            privacy_spent(estimator)


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_parameters_that_change_after_a_fit_take_nothing_off_the_total():
    regression = DPLinearRegression(epsilon=0.5, data_norm=2.0, target_bounds=(-1, 1))
    several = OneVsRestClassifier(model()).fit(X, np.arange(len(X)) % 3)
    votes = VotingRegressor([("a", regression), ("b", clone(regression))]).fit(X, X[:, 0])
    both = MultiOutputRegressor(regression).fit(X, X)
    target = TransformedTargetRegressor(regression, transformer=DPStandardScaler(bounds=(-1, 1)))
    target.set_params(check_inverse=False).fit(X, X[:, 0])
    changes = [
        (several, {"estimator": DPLinearRegression()}),
        (votes, {"a": "drop"}),
        (both, {"estimator": model()}),
        (target, {"transformer": None}),
    ]
    for fitted, change in changes:
        before = privacy_spent(fitted).spent
        assert before.epsilon > 0.5
        assert privacy_spent(fitted.set_params(**change)).spent == before


def test_what_ends_a_cell_of_a_notebook_reads_as_what_is_printed():
    # Its repr is what is shown there.
    spent = privacy_spent(make_pipeline(Normalizer(), model()).fit(X, Y))
    plans = [
        plan(1000, 3),
        plan(model(), 1000, 3),
        privatize(Ridge(), epsilon=1.0, return_plan=True)[1],
    ]
    for shown in [spent, *plans]:
        assert repr(shown) == str(shown)
