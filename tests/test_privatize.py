"""Scripts of scikit-learn's made private: nothing learned is kept, nothing that learns passes."""

import pickle
import re
import warnings
from functools import partial

import numpy as np
import pytest
import sklearn
from examples_of_steps import instance_of
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingRegressor
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC

import skdp
from skdp import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSVMClassifier,
    PrivacyLeakWarning,
    privatize,
    split_budget,
)
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import (
    DPPCA,
    BoundsScaler,
    DPKBinsDiscretizer,
    DPMinMaxScaler,
    DPOneHotEncoder,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSelectKBest,
    DPSimpleImputer,
    DPSplineTransformer,
    DPStandardScaler,
    DPTruncatedSVD,
)
from skdp.privacy import gdp
from skdp.privatization import conversion
from skdp.reporting import TABLE

RNG = np.random.default_rng(0)
N = 2000
X = RNG.normal(size=(N, 4)) * [1, 10, 0.1, 1] + [0, 50, 0, 0]
Y = X[:, 0] + X[:, 1] / 10 + 0.1 * RNG.normal(size=N)
LABELS = (Y > 5).astype(int)
KNOWN = {"target_bounds": (-10, 20)}


def private(estimator, *, epsilon=1.0, **facts):
    """The private counterpart, and classes of what was made for each step."""
    return privatize(estimator, epsilon=epsilon, **facts)


def kinds(pipeline):
    return [step if isinstance(step, str) else type(step) for _, step in pipeline.steps]


# What becomes of single estimators.

COUNTERPARTS = [
    (LogisticRegression(C=3), DPLogisticRegression, {"C": 3}),
    (LogisticRegression(l1_ratio=0.3, solver="saga"), DPLogisticRegression, {"l1_ratio": 0.3}),
    (LogisticRegression(class_weight={0: 2}), DPLogisticRegression, {"class_weight": {0: 2}}),
    (LogisticRegressionCV(Cs=4), DPLogisticRegression, {"C": None}),
    (SGDClassifier(), DPSVMClassifier, {"loss": "hinge"}),
    (SGDClassifier(loss="log_loss", penalty=None), DPLogisticRegression, {"C": float("inf")}),
    (SGDClassifier("log_loss", penalty="elasticnet"), DPLogisticRegression, {"l1_ratio": 0.15}),
    (SGDClassifier(loss="modified_huber"), DPSVMClassifier, {"loss": "squared_hinge"}),
    (SGDClassifier(loss="squared_hinge", penalty="l1"), DPSVMClassifier, {"penalty": "l1"}),
    (Perceptron(), DPSVMClassifier, {"loss": "hinge", "C": None}),
    (LinearSVC(C=2, loss="hinge"), DPSVMClassifier, {"C": 2, "loss": "hinge"}),
    (SVC(kernel="linear", C=2), DPSVMClassifier, {"C": 2, "loss": "hinge"}),
    (RidgeClassifier(alpha=2.0), DPSVMClassifier, {"C": 0.25}),
    (LinearRegression(positive=True), DPLinearRegression, {"positive": True}),
    (Ridge(3.0, fit_intercept=False), DPLinearRegression, {"alpha": 3, "fit_intercept": False}),
    (RidgeCV(alphas=[1, 2]), DPLinearRegression, {"alpha": 0}),
    (HuberRegressor(epsilon=2.0), DPLinearRegression, {"loss": "huber", "epsilon": 1.0}),
    (SGDRegressor(loss="huber"), DPLinearRegression, {"loss": "huber"}),
    (SGDRegressor(penalty="l1", alpha=0.2), DPLassoRegressor, {"alpha": 0.2}),
    (Lasso(alpha=0.2), DPLassoRegressor, {"alpha": 0.2}),
    (LassoCV(), DPLassoRegressor, {"alpha": 0}),
    (ElasticNet(alpha=0.2, l1_ratio=0.25), DPLassoRegressor, {"alpha": 0.05}),
    (ElasticNet(alpha=0.2, l1_ratio=0), DPLinearRegression, {"alpha": 0}),
    (QuantileRegressor(alpha=0.2), DPQuantileRegressor, {"alpha": 0.2, "quantile": 0.5}),
    (PoissonRegressor(alpha=0.2), DPPoissonRegressor, {"alpha": 0.2}),
    (GammaRegressor(alpha=0.2), DPPoissonRegressor, {"alpha": 0}),
    (TweedieRegressor(power=1, alpha=0.2), DPPoissonRegressor, {"alpha": 0.2}),
    (DPLogisticRegression(epsilon=9, random_state=1), DPLogisticRegression, {"random_state": None}),
    (StandardScaler(with_mean=False), DPStandardScaler, {"with_mean": False}),
    (RobustScaler(with_scaling=False), DPRobustScaler, {"with_scaling": False}),
    (RobustScaler(quantile_range=(5, 95)), DPRobustScaler, {"quantile_range": (5, 95)}),
    (QuantileTransformer(n_quantiles=50), DPQuantileTransformer, {"n_quantiles": 50}),
    (PowerTransformer(), DPQuantileTransformer, {"output_distribution": "normal"}),
    (KBinsDiscretizer(4, encode="ordinal"), DPKBinsDiscretizer, {"n_bins": 4, "encode": "ordinal"}),
    (KBinsDiscretizer(strategy="kmeans"), DPKBinsDiscretizer, {"strategy": "quantile"}),
    (SplineTransformer(degree=2), DPSplineTransformer, {"degree": 2, "knots": "uniform"}),
    (OneHotEncoder(min_frequency=9, drop="first"), DPOneHotEncoder, {"min_frequency": 9}),
    (OrdinalEncoder(max_categories=9), DPOneHotEncoder, {"max_categories": 9}),
    (PCA(3, whiten=True), DPPCA, {"n_components": 3, "whiten": True}),
    (TruncatedSVD(3), DPTruncatedSVD, {"n_components": 3}),
    (SimpleImputer(strategy="median"), DPSimpleImputer, {"strategy": "median"}),
    (MinMaxScaler(feature_range=(0, 2)), DPMinMaxScaler, {"feature_range": (0, 2)}),
    (MaxAbsScaler(), DPMinMaxScaler, {"feature_range": (-1, 1)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("theirs", "kind", "parameters"), COUNTERPARTS, ids=lambda c: type(c).__name__
)
def test_a_model_or_scaler_has_its_counterpart_with_the_whole_budget(theirs, kind, parameters):
    before = theirs.get_params()
    made = privatize(theirs, epsilon=1.0, delta=1e-6)
    assert type(made) is kind
    assert {name: getattr(made, name) for name in parameters} == parameters
    assert (made.epsilon, made.delta) == (1.0, 1e-6)
    assert theirs.get_params() == before


def test_parameters_without_a_counterpart_are_answered_in_the_plan():
    theirs = LogisticRegression(C=2, max_iter=500, tol=1e-6, random_state=3, n_jobs=2, verbose=1)
    _, plan = privatize(theirs, epsilon=1.0, return_plan=True)
    (step,) = plan.steps
    assert [what for what, _ in step.left_out] == [
        *("max_iter=500", "n_jobs=2", "random_state=3", "tol=1e-06", "verbose=1"),
    ]
    assert all(why.endswith(".") for _, why in step.left_out)
    assert "C=2" in step.after
    for what, why in step.left_out:
        assert f"left out {what}: {why}" in str(plan)


# A fitted estimator leaves nothing behind.


FITTED = {
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "with a private scaler": make_pipeline(StandardScaler(), PolynomialFeatures(), LinearSVC()),
    "columns": make_pipeline(
        ColumnTransformer([("n", StandardScaler(), [0, 1]), ("p", "passthrough", [2, 3])]),
        LogisticRegression(),
    ),
    "search": GridSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, cv=2),
    "scaler": MinMaxScaler(),
}


@pytest.mark.parametrize("name", FITTED)
def test_what_a_fit_has_learned_is_not_carried_over(name):
    # Entries that no parameter has: whatever is computed from them would be found.
    rows = X * np.pi + 7.125
    labels = np.where(LABELS, "yes, rare", "no, rare")
    fitted = clone(FITTED[name]).fit(rows, labels)
    fresh, made = private(clone(FITTED[name])), private(fitted)
    assert pickle.dumps(made) == pickle.dumps(fresh)
    assert not [a for a in vars(made) if a.endswith("_") and not a.startswith("_")]


# Steps that learn from rows never pass.


class Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class OwnScaler(StandardScaler):
    pass


REFUSED = {
    "PCA": (PCA(0.9), "pass a whole number"),
    "SelectKBest": (SelectKBest(k=2), "pass classes or target_bounds"),
    "SelectKBest of all": (SelectKBest(k="all"), "leave it out"),
    "Nystroem": (Nystroem(), "RBFSampler"),
    "RBFSampler": (RBFSampler(gamma="scale"), "pass a number"),
    "Own": (Own(), "FunctionTransformer"),
    "OwnScaler": (OwnScaler(), "FunctionTransformer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_step_that_learns_is_refused_by_name_wherever_it_is(name):
    step, instead = REFUSED[name]
    inside = [
        make_pipeline(step, LogisticRegression()),
        make_pipeline(make_union(step, Normalizer()), Ridge()),
        make_pipeline(ColumnTransformer([("c", step, [0])]), Ridge()),
        GridSearchCV(make_pipeline(step, LogisticRegression()), {"logisticregression__C": [1, 2]}),
    ]
    for estimator in inside:
        with pytest.raises(ValueError, match=rf"{name.split()[0]} .*{instead}"):
            private(estimator)


@pytest.mark.parametrize(
    "kind",
    [k for k, e in TABLE.items() if isinstance(e.counterpart, str)],
    ids=lambda k: k.__name__,
)
def test_a_class_without_a_counterpart_is_refused_and_what_it_recommends_has_one(kind):
    why = TABLE[kind].counterpart
    with pytest.raises(ValueError, match=re.escape(f"{kind.__name__} {why}")):
        private(make_pipeline(StandardScaler(), instance_of(kind, Ridge())))
    named = {k: e for k, e in TABLE.items() if re.search(rf"\b{k.__name__}\b", why)}
    assert all(callable(entry.counterpart) or entry.composed for entry in named.values())


@pytest.mark.parametrize(
    ("model", "about"),
    [(LogisticRegression(), {"classes": [0, 1]}), (Ridge(), {"target_bounds": (-3, 3)})],
    ids=["classes", "numbers"],
)
def test_a_choice_of_columns_gets_what_is_known_of_the_target_and_no_scaler(model, about):
    script = make_pipeline(StandardScaler(), SelectKBest(f_regression, k=2), model)
    made, plan = private(script, **about, return_plan=True)
    assert made[0] == "passthrough"
    assert type(made[1]) is DPSelectKBest
    assert made[1].get_params().items() >= {"k": 2, **about}.items()
    assert "a quarter of its budget" in str(plan)
    # In front of a model that takes columns as they come the scaler stays.
    before_lasso = make_pipeline(StandardScaler(), SelectKBest(k=2), Lasso())
    assert type(private(before_lasso, target_bounds=(-3, 3))[0]) is DPStandardScaler


def test_mean_targets_of_categories_become_a_column_for_each():
    columns = ColumnTransformer([("codes", TargetEncoder(smooth=2.0), ["a", "b"])])
    script = make_pipeline(columns, LogisticRegression())
    made, plan = private(script, classes=[0, 1], return_plan=True)
    assert type(made[0].transformers[0][1]) is DPOneHotEncoder
    assert "left out smooth=2.0" in str(plan)
    # What is spent is told once.
    assert str(plan).count(", epsilon = ") == 2
    told, plan = private(script, classes=[0, 1], facts={"a": [1, 2], "b": [3]}, return_plan=True)
    assert type(told[0].transformers[0][1]) is OneHotEncoder
    assert told[0].transformers[0][1].categories == [[1, 2], [3]]
    assert told[-1].epsilon == plan.epsilon


def test_a_function_of_the_user_is_believed_and_warned_of():
    script = make_pipeline(FunctionTransformer(lambda rows: rows - rows.mean(0)), Ridge())
    with pytest.warns(PrivacyLeakWarning, match="is taken to handle each row by itself"):
        private(script)


def test_a_step_that_the_walk_would_let_through_is_caught_by_the_table(monkeypatch):
    """The planted bug: a walk that leaves everything as it is."""
    monkeypatch.setattr(conversion.Conversion, "whole", lambda self, estimator: estimator)
    with pytest.raises(ValueError, match=r"Pipeline\.standardscaler learns means and variances"):
        private(make_pipeline(StandardScaler(), PolynomialFeatures(), DPLinearRegression()))


# Scalers.


@pytest.mark.parametrize(
    "behind",
    [
        [Lasso()],
        [LogisticRegression(l1_ratio=1, solver="saga")],
        [LinearSVC(penalty="l1")],
        [LinearRegression(positive=True)],
        [PolynomialFeatures(), Ridge()],
        [make_union(Normalizer(), PolynomialFeatures()), Ridge()],
        [DPLogisticRegression(data_norm=3.0)],
        [GridSearchCV(LogisticRegression(), {"l1_ratio": [0, 1]})],
    ],
    ids=lambda steps: type(steps[0]).__name__,
)
def test_a_scaler_stays_in_front_of_what_depends_on_units(behind):
    made = private(make_pipeline(StandardScaler(), *behind))
    assert kinds(made)[0] is DPStandardScaler
    # Lengths of rows are no ranges that anyone knows of these columns.
    made = private(make_pipeline(Normalizer(), StandardScaler(), *behind))
    assert kinds(made)[1] is DPStandardScaler
    # Free where ranges are known.
    made = private(make_pipeline(StandardScaler(), *behind), facts=(0, 100))
    assert kinds(made)[0] is BoundsScaler


def test_known_ranges_go_where_they_are_of_use():
    bounds = (X.min(axis=0) - 1, X.max(axis=0) + 1)
    made = private(make_pipeline(StandardScaler(), Ridge()), facts=bounds)
    assert made[-1].data_bounds is bounds
    assert private(Lasso(), facts=(-3, 2)).feature_bound == 3
    assert private(Lasso(), facts={"a": (-3, 2), "b": (0, 7)}).feature_bound == 7
    made = private(make_pipeline(StandardScaler(), PolynomialFeatures(), Ridge()), facts=bounds)
    assert made[-1].data_bounds == (-1.0, 1.0)
    by_number = [("a", StandardScaler(), [1]), ("b", MinMaxScaler(), [2, 3]), ("d", "drop", [0])]
    made = private(make_pipeline(ColumnTransformer(by_number), Ridge()), facts=bounds)
    ends = [step.bounds for _, step, _ in made[0].transformers[:2]]
    assert ends == [
        ([bounds[0][1]], [bounds[1][1]]),
        (bounds[0][2:].tolist(), bounds[1][2:].tolist()),
    ]
    assert made[-1].data_bounds == (-1.0, 1.0)


def test_ranges_of_some_columns_are_used_before_others_are_put_beside_them():
    numbers = make_pipeline(SimpleImputer(strategy="constant"), StandardScaler())
    codes = OneHotEncoder(categories=[["a", "b"]])
    for given in (["x", "y"], np.array(["x", "y"])):
        columns = ColumnTransformer([("n", numbers, given), ("c", codes, ["z"])])
        made = private(make_pipeline(columns, Ridge()), facts={"y": (0, 2), "x": (0, 1)})
        scaler = made[0].transformers[0][1][-1]
        assert type(scaler) is BoundsScaler
        assert scaler.bounds == ([0, 0], [1, 2])
        assert made[-1].data_bounds == (-1.0, 1.0)
    plain = ColumnTransformer([("n", "passthrough", ["x"]), ("c", codes, ["z"])])
    made = private(make_pipeline(plain, Ridge()), facts={"x": (0, 1)})
    assert type(made[0].transformers[0][1]) is BoundsScaler


def test_lengths_of_rows_that_follow_from_steps_are_passed_on():
    text = make_pipeline(HashingVectorizer(), TfidfTransformer(), LogisticRegression())
    assert private(text)[-1].data_norm == 1.0
    assert private(make_pipeline(Normalizer(), LinearSVC()))[-1].data_norm == 1.0
    assert private(make_pipeline(Normalizer("max"), LinearSVC()))[-1].data_norm is None
    kernel = make_pipeline(RBFSampler(gamma=1.0), LinearSVC())
    assert private(kernel)[-1].data_norm == pytest.approx(np.sqrt(2))
    words = OneHotEncoder(categories=[["a", "b"]] * 4)
    assert private(make_pipeline(words, LinearSVC()))[-1].data_norm == 2.0
    both = make_union(Normalizer(), RBFSampler(gamma=1.0))
    assert private(make_pipeline(both, Ridge()))[-1].data_norm == pytest.approx(np.sqrt(3))


def test_weights_of_parts_take_away_what_was_known_of_their_columns():
    parts, weights = [("n", Normalizer())], {"n": 5.0}
    for step in (
        FeatureUnion(parts, transformer_weights=weights),
        ColumnTransformer([(*parts[0], [0, 1])], transformer_weights=weights),
    ):
        made = private(make_pipeline(step, Ridge()))
        assert (made[-1].data_norm, made[-1].data_bounds) == (None, None)


# Budgets.


def spent_of(estimator, y=LABELS):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return skdp.privacy_spent(estimator.fit(X, y))


POLYNOMIAL = make_pipeline(StandardScaler(), PolynomialFeatures(), LogisticRegression())
SHARED = {
    "scaler and classifier": (POLYNOMIAL, LABELS, {"classes": [0, 1]}),
    "scalers of parts": (
        make_pipeline(
            make_union(StandardScaler(), make_pipeline(MinMaxScaler(), PolynomialFeatures())),
            Ridge(),
        ),
        Y,
        KNOWN,
    ),
    "vote": (VotingRegressor([("a", Ridge()), ("b", HuberRegressor())]), Y, KNOWN),
    "model alone": (LogisticRegression(), LABELS, {"classes": [0, 1]}),
}


# With less, some scaler would find nothing, and would therefore ask nothing.
@pytest.mark.parametrize("epsilon", [2.0, 6.0])
@pytest.mark.parametrize("name", SHARED)
def test_all_steps_together_spend_the_budget_and_no_more(name, epsilon):
    script, y, facts = SHARED[name]
    made, plan = privatize(script, epsilon=epsilon, delta=1e-6, return_plan=True, **facts)
    total = spent_of(made, y)
    # What scalers do not need of their shares stays.
    assert 0.95 * epsilon <= total.epsilon <= epsilon * (1 + 1e-9)
    assert total.delta == pytest.approx(1e-6)
    paid = [step.epsilon for step in plan.steps if step.epsilon is not None]
    assert len(paid) == 1 or sum(paid) > epsilon


def test_shares_are_those_of_private_steps():
    made = private(POLYNOMIAL, shares={"standardscaler": 1, "logisticregression": 3})
    of_scaler, of_model = (gdp.mu(step.epsilon, 1e-5) ** 2 for step in (made[0], made[-1]))
    assert of_model == pytest.approx(3 * of_scaler, rel=1e-6)


def test_shares_of_a_budget_without_limit_have_none():
    for model in (Lasso(), Ridge()):
        made = private(make_pipeline(StandardScaler(), PolynomialFeatures(), model), epsilon=np.inf)
        assert made[0].epsilon == made[-1].epsilon == np.inf
    assert set(split_budget({"a": 1, "b": 3}, epsilon=np.inf, delta=1e-6).values()) == {np.inf}


def test_a_budget_that_is_split_adds_up_exactly():
    parts = split_budget({"a": 0.2, "b": 0.5, "c": 0.3}, epsilon=2.0, delta=1e-6)
    total = sum(gdp.mu(part, 1e-6) ** 2 for part in parts.values())
    assert total == pytest.approx(gdp.mu(2.0, 1e-6) ** 2, rel=1e-8)
    assert total <= gdp.mu(2.0, 1e-6) ** 2
    assert split_budget({"a": 4, "b": 10, "c": 6}, epsilon=2.0, delta=1e-6) == pytest.approx(parts)
    assert split_budget({"model": 3.0}, epsilon=2.0, delta=1e-6) == {"model": 2.0}


@pytest.mark.parametrize(
    ("shares", "budget"),
    [
        ({}, {}),
        ([0.1, 0.9], {}),
        ({"a": -1.0}, {}),
        ({"a": "half"}, {}),
        ({"a": float("inf"), "b": 1}, {}),
        ({"a": 1}, {"epsilon": 0}),
        ({"a": 1}, {"delta": 1.0}),
        ({"a": 1}, {"epsilon": "1"}),
    ],
)
def test_a_split_of_nothing_sensible_is_refused(shares, budget):
    with pytest.raises(ValueError, match=r"^split_budget needs "):
        split_budget(shares, **{"epsilon": 1.0, "delta": 1e-6} | budget)


# Columns, text, targets.


def census(n=3000):
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(17, 91, n),
            "hours": rng.integers(1, 100, n),
            "sex": rng.choice(["Female", "Male"], n),
        }
    )
    return table, (table["age"] + rng.normal(size=n) * 10 > 50).astype(int)


def mixed(encoder):
    columns = [("numbers", StandardScaler(), ["age", "hours"]), ("codes", encoder, ["sex"])]
    return make_pipeline(ColumnTransformer(columns), LogisticRegression())


SEXES = {"sex": ["Female", "Male"]}
FACTS = {"classes": [0, 1], "facts": SEXES}


@pytest.mark.parametrize(
    "encoder", [OneHotEncoder(drop="first", min_frequency=3), OrdinalEncoder()]
)
def test_columns_of_a_table_are_private_by_facts_alone(encoder):
    table, y = census()
    script = mixed(encoder)
    made = private(script, **FACTS)
    assert made[0].transformers[0][1] == "passthrough"
    known = private(script, classes=[0, 1], facts=SEXES | {"age": (17, 90), "hours": (1, 99)})
    assert type(known[0].transformers[0][1]) is BoundsScaler
    ordinal = isinstance(encoder, OrdinalEncoder)
    assert known[-1].data_bounds == (([-1.0] * 3, [1.0] * 3) if ordinal else (-1.0, 1.0))
    for model in (made, known):
        model.fit(table, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert skdp.privacy_spent(model).epsilon == pytest.approx(1.0, rel=1e-6)
        assert model.score(table, y) > 0.8
        # A category that nobody has listed tells nothing.
        assert model.predict(table.assign(sex="Other")).shape == y.shape


LISTED = [["a", "b", "c"], ["f", "m"], ["x"]]
TOWNS = np.array([["a", "m", "x"], ["b", "f", "x"], ["c", "m", "x"]])


@pytest.mark.parametrize("drop", ["first", "if_binary", ["c", "m", "x"]], ids=str)
def test_what_an_encoder_of_listed_categories_drops_has_no_column_and_others_are_zero(drop):
    theirs = OneHotEncoder(categories=LISTED, drop=drop, sparse_output=False)
    script = make_pipeline(theirs, LogisticRegression())
    made, plan = privatize(script, epsilon=1.0, classes=[0, 1], return_plan=True)
    ours = made[0].fit(TOWNS)
    names = [name for name in ours.get_feature_names_out() if name != "x2_x"]
    assert names == [name for name in theirs.fit(TOWNS).get_feature_names_out() if name != "x2_x"]
    encoded = ours.transform(TOWNS)[:, : len(names)]
    np.testing.assert_array_equal(encoded, theirs.transform(TOWNS)[:, : len(names)])
    assert "changed to drop=None: What it drops is not listed" in str(plan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ours.transform([["z", "z", "z"]]).any()


def test_what_an_encoder_cannot_leave_out_of_a_list_is_told():
    script = make_pipeline(OneHotEncoder(drop="first"), LogisticRegression())
    _, plan = privatize(script, epsilon=1.0, classes=[0, 1], return_plan=True)
    assert "left out drop='first': No category is dropped" in str(plan)
    listed = OneHotEncoder(categories=LISTED, drop=["z", "m", "x"])
    script = make_pipeline(listed, LogisticRegression())
    made, plan = privatize(script, epsilon=1.0, classes=[0, 1], return_plan=True)
    assert made[0].categories == LISTED
    assert "changed to drop=None: It drops a category, for which it is enough" in str(plan)


def test_columns_that_are_chosen_by_type_need_types_where_facts_are_about_them():
    chosen = [("codes", OneHotEncoder(), make_column_selector(dtype_include=object))]
    script = make_pipeline(ColumnTransformer(chosen), LogisticRegression())
    with pytest.warns(PrivacyLeakWarning, match=r"pass facts=X\.dtypes to skdp\.privatize"):
        made = private(script, classes=[0, 1])
    assert type(made[0].transformers[0][1]) is DPOneHotEncoder
    with pytest.raises(ValueError, match=r"columntransformer__codes takes, .* facts=\[X.dtypes"):
        private(script, **FACTS)
    chosen[0] = ("codes", OneHotEncoder(categories=[["f", "m"]]), chosen[0][2])
    with pytest.warns(PrivacyLeakWarning, match="list the columns"):
        made = private(make_pipeline(ColumnTransformer(chosen), LogisticRegression()))
    assert made[0].transformers[0][1].handle_unknown == "ignore"


def test_a_model_that_is_private_already_gets_the_facts_that_it_lacks():
    own = DPLogisticRegression(epsilon=9.0, adjacency="zero_out")
    made = private(make_pipeline(StandardScaler(), own), classes=[0, 1], facts=(0, 1))
    assert (made[-1].classes, made[-1].data_bounds) == ([0, 1], (0.0, 1.0))
    assert (made[-1].epsilon, made[-1].adjacency) == (1.0, "replace_one")
    assert private(make_pipeline(Normalizer(), DPLassoRegressor()))[-1].data_norm == 1.0
    assert private(DPLassoRegressor(), facts=(-2, 1)).feature_bound == 2.0
    with pytest.warns(UserWarning, match="no step asks"):
        kept = private(DPLinearRegression(data_norm=3.0), facts=(0, 1))
    assert (kept.data_norm, kept.data_bounds) == (3.0, None)


def test_a_private_search_over_what_is_not_private_yet_is_converted():
    search = DPGridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0, 1]})
    made = private(search, **KNOWN)
    assert kinds(made.estimator) == ["passthrough", DPLinearRegression]
    assert made.epsilon == 1.0


def test_facts_that_nobody_has_a_use_for_are_told():
    with pytest.warns(UserWarning, match="given facts about 'race', and no step asks"):
        private(mixed(OneHotEncoder()), facts={"sex": ["f", "m"], "race": ["a"]})
    with pytest.warns(UserWarning, match="given facts about all columns, and no step asks"):
        private(make_pipeline(Normalizer(), Ridge()), facts=(0, 1))


def test_targets_that_are_transformed_have_bounds_on_their_scale():
    script = TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1)
    made = private(make_pipeline(StandardScaler(), script), target_bounds=(0, 100))[-1]
    assert made.regressor.target_bounds == pytest.approx((0, np.log1p(100)))
    assert not made.check_inverse
    # Not of functions that may turn the order round.
    wild = TransformedTargetRegressor(Ridge(), func=np.sin, inverse_func=np.arcsin)
    made, plan = privatize(wild, epsilon=1.0, target_bounds=(0, 3), return_plan=True)
    assert made.regressor.target_bounds is None
    assert "changed to target_bounds=None" in str(plan)
    scaled = TransformedTargetRegressor(transformer=StandardScaler())
    made = private(scaled, target_bounds=(0, 3))
    assert (made.transformer, made.regressor.target_bounds) == (None, (0, 3))


# Searches.


def test_a_grid_becomes_a_private_search_over_what_is_left_of_it():
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__max_iter": [10, 100], "scale__with_mean": [True]}
    script = GridSearchCV(Pipeline([("scale", StandardScaler()), ("svc", LinearSVC())]), grid, cv=5)
    made, plan = privatize(script, epsilon=4.0, classes=[0, 1], return_plan=True)
    assert type(made) is DPGridSearchCV
    # A value that is the default of scikit-learn is on the grid all the same.
    assert made.param_grid == {"svc__C": [0.1, 1.0, 10.0]}
    assert made.exhaustive
    assert {"svc__max_iter", "scale__with_mean", "cv=5"} <= {w for w, _ in plan.steps[-1].left_out}
    assert spent_of(made).epsilon == pytest.approx(4.0, rel=1e-6)


def test_grids_are_in_parameters_of_the_counterpart():
    made = private(GridSearchCV(RidgeClassifier(), {"alpha": [0.5, 1, 5, 50]}))
    assert made.param_grid == {"C": [1.0, 0.5, 0.1, 0.01]}
    assert not made.exhaustive
    spaces = [{"C": [1, 2]}, {"solver": ["lbfgs"]}]
    assert private(GridSearchCV(LogisticRegression(), spaces)).param_grid == {"C": [1, 2]}
    made = private(RandomizedSearchCV(LogisticRegression(), {"C": [1, 2]}, n_iter=7, n_jobs=1))
    assert (type(made), made.n_iter, made.n_jobs) == (DPRandomizedSearchCV, 7, 1)
    weights = {"class_weight": [None, {0: 1, 1: 2}, None]}
    made = private(GridSearchCV(LogisticRegression(), weights))
    assert made.param_grid == {"class_weight": [None, {0: 1, 1: 2}]}
    only = private(GridSearchCV(LogisticRegression(), {"solver": ["lbfgs", "saga"]}))
    assert type(only) is DPLogisticRegression
    lasso = GridSearchCV(make_pipeline(StandardScaler(), Lasso()), {"lasso__alpha": [0, 1]})
    made = private(lasso, **KNOWN)
    assert made.step_shares == pytest.approx({"standardscaler": 0.2, "lasso": 0.8})
    made = private(lasso, **KNOWN, shares={"standardscaler": 1, "lasso": 1})
    assert made.step_shares == {"standardscaler": 1, "lasso": 1}


def test_budgets_of_a_search_and_of_a_private_step_before_it_add_up():
    search = RandomizedSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, n_iter=2)
    made = private(make_pipeline(StandardScaler(), Normalizer(), search), classes=[0, 1], epsilon=3)
    assert type(made[-1]) is DPRandomizedSearchCV
    assert made[0].epsilon + made[-1].epsilon == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("kind", [list, np.array])
def test_a_search_over_texts_is_private_as_any_other(kind):
    texts = kind([f"{'good' if k % 2 else 'bad'} word{k % 7}" for k in range(N)])
    script = make_pipeline(HashingVectorizer(n_features=32), LogisticRegression())
    search = GridSearchCV(script, {"logisticregression__C": [1.0, 10.0]})
    made = private(search, epsilon=4.0, classes=[0, 1]).fit(texts, np.arange(N) % 2)
    assert made.score(texts, np.arange(N) % 2) > 0.9
    assert skdp.privacy_spent(made).epsilon == pytest.approx(4.0, rel=1e-6)


# An ordinary estimator.


def test_names_of_steps_and_what_they_return_stay():
    script = Pipeline([("a", StandardScaler()), ("b", PolynomialFeatures()), ("c", Ridge())])
    script.named_steps["a"].set_output(transform="pandas")
    pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    made = private(script, facts=(-100, 100), **KNOWN)
    assert [name for name, _ in made.steps] == ["a", "b", "c"]
    assert hasattr(made.named_steps["a"].fit_transform(X), "columns")


LEARNED = StandardScaler().fit(X)
BY_ITS_METHOD = TransformedTargetRegressor(
    Ridge(), func=partial(StandardScaler().fit(Y[:, None]).transform), check_inverse=False
)
FILLED = SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)
FILLING = GridSearchCV(
    Pipeline([("fill", FILLED), ("model", LogisticRegression())]),
    {"fill__strategy": ["constant", "mean"]},
)
STEPS = {"svc": [LinearSVC(), LogisticRegression()]}
MISTYPED = GridSearchCV(make_pipeline(LogisticRegression()), {"logisticregression__CC": [1, 2]})
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
BOTH = "the private steps are logisticregression, standardscaler"


def shares(*parts):
    return {"shares": dict(zip(("logisticregression", "standardscaler"), parts, strict=False))}


@pytest.mark.parametrize(
    ("given", "arguments", "answer"),
    [
        # Estimators.
        (make_pipeline(StandardScaler, Ridge()), {}, r"type: StandardScaler is a class; make one of it, StandardScaler\(\)"),
        (LogisticRegression, {}, r"got the class LogisticRegression; make one of it"),
        ("logistic", {}, r"with fit and get_params, got 'logistic'"),
        (X, {}, r"got an array of shape \(2000, 4\)"),
        (make_pipeline(FrozenEstimator(LEARNED), LogisticRegression()), {}, "estimator"),
        (make_pipeline(FunctionTransformer(LEARNED.transform), LogisticRegression()), {}, "estimator"),
        (BY_ITS_METHOD, {}, "calls a method of an estimator"),
        (make_pipeline(PCA("mle"), SelectKBest(), SVC()), {}, r"(?s)- pca: PCA .*- selectkbest: SelectKBest .*- svc: "),
        (RandomForestClassifier(), {}, "RandomForestClassifier .*LogisticRegression"),
        (TransformedTargetRegressor(RandomForestRegressor()), {}, "RandomForestRegressor .*Ridge"),
        (SVC(), {}, r"SVC .*RBFSampler\(gamma"),
        (SGDClassifier(loss="huber"), {}, "SGDClassifier .*'hinge'"),
        (SGDRegressor(loss="huber", penalty="l1"), {}, "SGDRegressor .*penalty='l2'"),
        (CalibratedClassifierCV(LinearSVC()), {}, "CalibratedClassifierCV .*predict_proba"),
        (OneVsOneClassifier(LogisticRegression()), {}, "OneVsOneClassifier .*several classes"),
        # Searches.
        (GridSearchCV(Pipeline([("svc", LinearSVC())]), STEPS), {}, "svc: a search over whole steps"),
        (GridSearchCV(LogisticRegression(), {"C": 1.0}), {}, r"C: a search needs a list of values, .* got 1\.0"),
        (GridSearchCV(Ridge(), {"alpha": [1, 2]}), {}, r"pass target_bounds=\(low, high\)"),
        (FILLING, {"classes": [0, 1]}, r"privatize needs steps .* strategy='constant'"),
        (make_pipeline(FunctionTransformer(np.tanh), FILLING), {"classes": [0, 1]}, r"privatize needs steps .* strategy='constant'"),
        (MISTYPED, {"classes": [0, 1]}, "logisticregression__CC: .* Did you mean 'logisticregression__C'"),
        # Facts.
        (Ridge(), {"facts": [(0, 1), (5, 20)]}, r"got two ranges of all columns; write all low ends"),
        (Ridge(), {"facts": ((0, 1), (5, 20))}, r"one for each column, \(\[low"),
        (Ridge(), {"facts": {"a": 3}}, r"as a fact about 'a', got 3"),
        (Ridge(), {"facts": 3}, "needs facts as a dictionary by column"),
        (make_pipeline(SimpleImputer(strategy="constant"), Ridge()), {"facts": {"a": (0, 1)}}, "needs the order of the columns for ridge"),
        (Ridge(), {"classes": [0, 1]}, "given classes, and there is no classifier"),
        (LogisticRegression(), KNOWN, "given target_bounds, and there is no regressor"),
        (Ridge(), {"target_bounds": 10}, r"target_bounds=\(low, high\), two numbers, got 10"),
        # Budgets.
        (Ridge(), {"epsilon": 0}, r"needs epsilon > 0 and delta in \(0, 1\), got epsilon=0"),
        (Ridge(), {"epsilon": "1"}, "needs a number for epsilon"),
        (Ridge(), {"adjacency": "add_remove"}, "add_remove"),
        (POLYNOMIAL, shares(1), BOTH),
        (POLYNOMIAL, shares(1, 0), "positive numbers"),
        (LINEAR, shares(0.9, 0.1), "the private steps are logisticregression"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_private_is_answered_by_a_sentence(given, arguments, answer):
    with pytest.raises(ValueError, match=answer):
        privatize(given, **{"epsilon": 1.0} | arguments)


def test_an_estimator_that_cannot_be_copied_is_not_quoted():
    class Forgetful(BaseEstimator):
        def __init__(self, rows=None):
            self.rows = None if rows is None else rows + 987.25

        def fit(self, X, y=None):
            return self

    with pytest.raises(ValueError, match="got a Forgetful that it cannot") as caught:
        private(Forgetful(np.zeros(3)))
    assert caught.value.__context__ is None
    assert "987" not in str(caught.value)


def test_caches_seeds_and_layouts_that_would_tell_of_rows_are_changed(tmp_path):
    words = make_pipeline(HashingVectorizer(), TfidfTransformer())
    columns = ColumnTransformer([("t", words, 0), ("n", "passthrough", [1])])
    script = Pipeline([("columns", columns), ("model", LinearSVC())], memory=str(tmp_path))
    with pytest.warns(PrivacyLeakWarning, match="by the share of zeros"):
        made, plan = privatize(script, epsilon=1.0, return_plan=True)
    assert made.memory is None
    assert made[0].sparse_threshold == 1.0
    assert made[0].transformers[0][1][0].alternate_sign is False
    assert "changed to memory=None" in str(plan)
    dense = ColumnTransformer([("n", Normalizer(), [1])])
    assert private(make_pipeline(dense, LinearSVC()))[0].sparse_threshold == 0.0


def test_the_plan_says_what_facts_would_save():
    _, plan = privatize(make_pipeline(StandardScaler(), Ridge()), epsilon=1.0, return_plan=True)
    assert {fact.argument for fact in plan.wanted} == {
        "facts=(low, high)",
        "target_bounds=(low, high)",
    }
    for n, said in ((1_000_000, "{:.0%} of its budget"), (500, "up to {:.0%} where rows are few")):
        planned = skdp.plan(DPLinearRegression(), n, 10).bounds
        share = sum(share for name, share in planned if name != "target_bounds")
        assert said.format(share) in str(plan)
    _, plan = privatize(Ridge(), epsilon=1.0, facts=(0, 1), **KNOWN, return_plan=True)
    assert plan.wanted == ()


def people():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(200), rng.integers(1, 6, 200))
    X = rng.uniform(-1, 1, size=(len(labels), 3))
    return X, (X[:, 0] > 0).astype(int), labels


@pytest.mark.parametrize("routed", [False, True])
def test_a_plan_says_how_labels_of_people_reach_all_private_steps(routed):
    X, y, labels = people()
    script = make_pipeline(StandardScaler(), PolynomialFeatures(), LinearSVC())
    options = {"epsilon": 60.0, "classes": [0, 1], "privacy_unit": True, "return_plan": True}
    with sklearn.config_context(enable_metadata_routing=routed):
        made, plan = privatize(script, **options)
        made.fit(X, y, **dict.fromkeys(plan.labels, labels))
    assert "privacy_unit=labels)" in str(plan)
    assert len(plan.labels) == (1 if routed else 2)
    total = skdp.privacy_spent(made)
    assert total.unit == "privacy_unit"
    assert total.epsilon <= 60.0
    _, of_rows = privatize(script, **(options | {"privacy_unit": False}))
    assert of_rows.labels == ()
    assert "privacy unit" not in str(of_rows)


def test_a_model_and_a_search_take_labels_of_people_as_they_are():
    for script in (LogisticRegression(), GridSearchCV(LogisticRegression(), {"C": [1, 10]})):
        _, plan = privatize(
            script, epsilon=2.0, classes=[0, 1], privacy_unit=True, return_plan=True
        )
        assert plan.labels == ("privacy_unit",)


def test_labels_of_people_reach_nested_steps_under_metadata_routing_only():
    X, y, labels = people()
    columns = ColumnTransformer([("scaled", StandardScaler(), [0, 1])])
    # Behind a step that multiplies features, scalers stay.
    script = make_pipeline(columns, PolynomialFeatures(), LogisticRegression())
    options = {"epsilon": 60.0, "classes": [0, 1], "privacy_unit": True, "return_plan": True}
    with pytest.raises(ValueError, match="needs metadata routing"):
        privatize(script, **options)
    with sklearn.config_context(enable_metadata_routing=True):
        made, plan = privatize(script, **options)
        made.fit(X, y, **dict.fromkeys(plan.labels, labels))
    assert skdp.privacy_spent(made).unit == "privacy_unit"


def test_sizes_that_stand_for_no_rows_are_not_warned_of():
    # Warnings are errors.
    model = privatize(DPLinearRegression(solver="one_step"), epsilon=0.5)
    assert model.solver == "one_step"


def test_what_bounds_of_targets_may_cost_is_what_they_cost_where_rows_are_few():
    wanted = privatize(Ridge(), epsilon=0.5, return_plan=True)[1].wanted
    (fact,) = (fact for fact in wanted if fact.argument.startswith("target_bounds"))
    dearest = dict(skdp.plan(DPLinearRegression(epsilon=0.5), 150, 3).bounds)["target_bounds"]
    assert f"up to {dearest:.0%} where rows are few" in fact.saves
