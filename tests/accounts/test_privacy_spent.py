"""What composed estimators have spent: every fit is found, and nothing unpaid goes through."""

from fractions import Fraction
from math import inf, sqrt

import numpy as np
import pytest
from budget_tasks import DELTA, X, Y, model
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)

import skdp
from skdp import DPLinearRegression, PrivacyLeakWarning, privacy_spent
from skdp.model_selection import DPRandomizedSearchCV
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.privacy import gdp
from skdp.testing.fits import exact_fit

leaks = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


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
    with pytest.raises(ValueError, match=r"StandardScaler 1 learns from rows(?s:.*)LogisticR.* 2"):
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
    encoder = OneHotEncoder(categories=[[0, 1, 2]])
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


@pytest.mark.parametrize(
    "estimator",
    [
        CalibratedClassifierCV(model(), cv=KFold(2)),
        TunedThresholdClassifierCV(model(), cv=2),
        RandomForestClassifier(n_estimators=2),
        make_pipeline(model(), memory=None).set_params(memory=None),
    ],
    ids=lambda e: type(e).__name__,
)
@leaks
def test_what_cannot_be_accounted_for_is_refused(estimator):
    if type(estimator).__name__ != "Pipeline":
        estimator.fit(X, Y)
    with pytest.raises(ValueError, match=type(estimator).__name__):
        privacy_spent(estimator)


def test_one_against_the_rest_composes_on_the_same_rows():
    labels = np.arange(len(X)) % 3
    several = OneVsRestClassifier(model().set_params(epsilon=0.4)).fit(X, labels)
    assert privacy_spent(several).epsilon == pytest.approx(together(0.4, 0.4, 0.4))


def test_a_class_that_is_missing_is_an_exact_fact():
    labels = np.column_stack([Y, 1 - Y, np.zeros_like(Y)])
    with pytest.warns(UserWarning, match="Label"):
        several = OneVsRestClassifier(model()).fit(X, labels)
    with pytest.raises(ValueError, match=r"estimators_\[2\] has no receipt"):
        privacy_spent(several)


def test_votes_and_thresholds_and_frozen_models():
    votes = VotingClassifier([("a", model()), ("b", model())]).fit(X, Y)
    one = privacy_spent(model().fit(X, Y)).epsilon
    assert privacy_spent(votes).epsilon == pytest.approx(together(one, one))
    held = FixedThresholdClassifier(model()).fit(X, Y)
    assert privacy_spent(held).epsilon == pytest.approx(one)
    assert privacy_spent(FrozenEstimator(held)).epsilon == pytest.approx(one)
    target = TransformedTargetRegressor(
        DPLinearRegression(0.5, data_norm=2.0, target_bounds=(-1, 1)), func=np.tanh,
        inverse_func=np.arctanh, check_inverse=False,
    ).fit(X, X[:, 0])  # fmt: skip
    assert privacy_spent(target).epsilon == pytest.approx(0.5, rel=1e-6)


def test_stacking_counts_the_fits_that_it_drops():
    stacked = StackingClassifier(
        [("a", model().set_params(epsilon=0.3))],
        final_estimator=model().set_params(epsilon=0.4),
        cv=KFold(3),
    ).fit(X, Y)
    # The whole, two of three folds, and the last.
    assert privacy_spent(stacked).epsilon == pytest.approx(together(0.3, 0.3, 0.3, 0.4))
    stacked.set_params(cv=3)
    with pytest.warns(PrivacyLeakWarning, match="folds that depend on labels"):
        total = privacy_spent(stacked)
    assert total.epsilon == pytest.approx(together(0.3, 0.3, 0.3, 0.3, 0.4))


def bagging(base, **parameters):
    given = {"n_estimators": 3, "random_state": 0}
    return BaggingClassifier(base, **(given | parameters)).fit(X, Y)


@leaks
def test_rows_drawn_several_times_by_a_bag_are_protected_less():
    base = make_pipeline(model().set_params(epsilon=0.1))
    bag = bagging(base)
    counts = np.stack([np.bincount(s, minlength=len(X)) for s in bag.estimators_samples_])
    worst = (counts**2).sum(axis=0).max()
    exact = gdp.epsilon(mu_of(0.1) * sqrt(worst), DELTA)
    assert privacy_spent(bag, delta=DELTA).epsilon == pytest.approx(exact)
    alone = bagging(base, bootstrap=False, max_samples=0.5)
    counts = np.stack([np.bincount(s, minlength=len(X)) for s in alone.estimators_samples_])
    exact = gdp.epsilon(mu_of(0.1) * sqrt(counts.sum(axis=0).max()), DELTA)
    assert privacy_spent(alone).epsilon == pytest.approx(exact)


@leaks
def test_a_bag_that_passes_weights_counts_each_row_once():
    bag = bagging(model().set_params(epsilon=0.1))
    assert privacy_spent(bag).epsilon <= together(0.1, 0.1, 0.1) * (1 + 1e-9)


def test_a_bag_seeds_its_noise_and_may_hold_scores():
    with pytest.warns(skdp.SeededNoiseWarning):
        bag = bagging(model().set_params(epsilon=0.1))
    bag.oob_score = True
    with pytest.warns(PrivacyLeakWarning, match=r"a seed.*exact scores in oob_score_"):
        privacy_spent(bag)


@leaks
def test_bags_of_other_fits_count_as_often_as_the_row_that_is_held_most_often():
    base = make_pipeline(model(solver="objective_perturbation").set_params(epsilon=0.2))
    bag = bagging(base, bootstrap=False, n_estimators=2)
    assert len(privacy_spent(bag).receipts) == 2


def test_a_grid_search_counts_all_fits_that_hold_a_row():
    grid = {"epsilon": [0.1, 0.2], "C": [0.5, 1.0]}
    search = GridSearchCV(model(), grid, cv=KFold(3)).fit(X, Y)
    with pytest.warns(PrivacyLeakWarning, match="exact scores .* no receipt covers that"):
        total = privacy_spent(search)
    last = search.best_params_["epsilon"]
    folds = [0.1, 0.1, 0.2, 0.2] * 2
    assert total.epsilon == pytest.approx(together(*folds, last))
    assert total.receipts[0].fits == 2
    assert "2 fits of epsilon=0.1" in str(total)


@leaks
def test_a_search_without_a_last_fit_and_one_over_a_pipeline():
    search = RandomizedSearchCV(
        make_pipeline(DPStandardScaler(epsilon=0.5, bounds=(-1, 1)), model()),
        {"dplogisticregression__epsilon": [0.1, 0.1]},
        n_iter=2,
        cv=ShuffleSplit(2, random_state=0),
        refit=False,
    ).fit(X, Y)
    # Without a partition a row may be in all fits.
    assert privacy_spent(search).epsilon == pytest.approx(together(*[0.5, 0.1] * 4))
    search.set_params(estimator=make_pipeline(StandardScaler(), model()))
    with pytest.raises(ValueError, match=r"RandomizedSearchCV\[0\]\.standardscaler learns"):
        privacy_spent(search)


@leaks
def test_a_search_over_estimators_that_fit_several_times_is_refused():
    search = GridSearchCV(OneVsRestClassifier(model()), {"n_jobs": [1]}, cv=2, refit=False)
    with pytest.raises(ValueError, match="fits several times"):
        privacy_spent(search.fit(X, np.arange(len(X)) % 3))


@leaks
def test_fits_that_are_not_gaussian_count_by_their_parameters():
    grid = {"solver": ["objective_perturbation", "screening"]}
    search = GridSearchCV(
        skdp.DPLassoRegressor(0.5, 1e-6, data_norm=2.0, target_bounds=(0, 1)),
        {"solver": ["screening"]},
        cv=KFold(2),
        refit=False,
    ).fit(np.repeat(X, 12, axis=1), Y)
    assert privacy_spent(search).epsilon == pytest.approx(0.5, rel=1e-6)
    search = GridSearchCV(model(), {"solver": grid["solver"][:1]}, cv=KFold(3), refit=False)
    total = privacy_spent(search.set_params(estimator__epsilon=0.2).fit(X, Y))
    assert total.epsilon == pytest.approx(0.4, rel=1e-3)
    assert total.delta == pytest.approx(2 * DELTA)


@pytest.mark.filterwarnings("ignore:DPRandomizedSearchCV compares:UserWarning")
def test_a_private_search_is_covered_by_its_receipt():
    search = DPRandomizedSearchCV(model(), {"C": [0.5, 1.0]}, epsilon=1.0, n_iter=3).fit(X, Y)
    total = privacy_spent(make_pipeline(Normalizer(), search).fit(X, Y))
    assert total.epsilon == pytest.approx(1.0, rel=1e-3)


def test_relations_are_brought_to_the_stronger_one():
    scaler = DPStandardScaler(epsilon=0.2, bounds=(-1, 1), adjacency="zero_out")
    total = privacy_spent(make_pipeline(scaler, model().set_params(epsilon=0.5)).fit(X, Y))
    exact = gdp.epsilon(sqrt(4 * mu_of(0.2) ** 2 + mu_of(0.5) ** 2), DELTA)
    assert total.epsilon == pytest.approx(exact)
    assert total.adjacency == "replace_one"
    assert "(zero_out)" in str(total)
    alone = privacy_spent(model(adjacency="zero_out").set_params(epsilon=0.5).fit(X, Y))
    assert (alone.epsilon, alone.adjacency) == (pytest.approx(0.5), "zero_out")


def test_what_is_not_fitted_is_refused():
    unfitted = [
        model(),
        make_pipeline(model()),
        VotingClassifier([("a", model())]),
        GridSearchCV(model(), {}),
        BaggingClassifier(model()),
        ColumnTransformer([]),
        FeatureUnion([("a", DPStandardScaler())]),
        FixedThresholdClassifier(model()),
    ]
    for estimator in unfitted:
        with pytest.raises(ValueError, match="is not fitted"):
            privacy_spent(estimator)


def test_bags_whose_fit_has_failed_are_refused():
    bags = BaggingClassifier(FrozenEstimator(model()))
    with pytest.raises(NotFittedError):
        bags.fit(X, Y)
    with pytest.raises(ValueError, match="BaggingClassifier is not fitted"):
        privacy_spent(bags)


@pytest.mark.parametrize("delta", [0, 1.0, np.nan, "1e-5", [1e-5], True, np.array([0.1, 0.2])])
def test_a_delta_that_is_none_is_refused(delta):
    fitted = model().fit(X, Y)
    with pytest.raises(ValueError, match=r"compose needs a (delta in|number for delta)"):
        privacy_spent(fitted, delta)


def test_a_delta_of_another_kind_of_number_is_taken():
    fitted = model().fit(X, Y)
    total = privacy_spent(fitted, Fraction(1, 2**20))
    assert total == privacy_spent(fitted, 2.0**-20)
    assert "delta=9.53674e-07" in str(total)


def test_a_model_without_noise_makes_the_total_infinite():
    one = model()
    exact_fit(one, X, Y)
    assert privacy_spent(one).epsilon == inf


def test_a_stream_counts_its_costliest_part():
    stream = model(solver="gd").set_params(epsilon=0.5)
    for k in range(20):
        rows = slice(5 * k, 5 * k + 5)
        stream.partial_fit(X[rows], Y[rows])
    assert privacy_spent(stream).epsilon == pytest.approx(0.5)
