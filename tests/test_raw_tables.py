"""Pipelines for raw tables become private as people write them, within one budget."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import skdp
from skdp import BudgetWarning, PrivacyLeakWarning, privatize
from skdp.preprocessing import (
    DPOneHotEncoder,
    DPSimpleImputer,
    DPSplineTransformer,
    DPStandardScaler,
)

N = 6000
WORDS = ["clerk", "nurse", "cook"]


def people(n=N, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(17, 91, n).astype(float),
            "income": rng.lognormal(10, 1, n),
            "sex": rng.choice(["f", "m"], n),
            "job": rng.choice(WORDS, n),
        }
    )
    y = (table["age"] + 15 * (table["job"] == "nurse") + rng.normal(size=n) * 10 > 55).astype(int)
    table.loc[rng.random(n) < 0.1, "income"] = np.nan
    return table, y


X, Y = people()
RANGES = {"age": (17, 90), "income": (0, 100_000)}
LISTED = {"sex": ["f", "m"], "job": WORDS}


def script(*steps, encoder=None, model=None):
    numbers = make_pipeline(*steps, SimpleImputer(strategy="median"), StandardScaler())
    columns = ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include="number")),
            ("codes", encoder or OneHotEncoder(), make_column_selector(dtype_exclude="number")),
        ]
    )
    return make_pipeline(columns, model or LogisticRegression())


def quiet(call, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (BudgetWarning, UserWarning))
        return call(*args, **options)


FACTS = {
    "none": None,
    "types": X.dtypes,
    "categories": [X, LISTED],
    "some": [X, {"age": (17, 90), "sex": ["f", "m"]}],
    "all": [X, RANGES, LISTED],
}


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_whatever_is_known_all_steps_together_spend_the_budget(facts, epsilon):
    made, plan = quiet(
        privatize, script(), epsilon=epsilon, classes=[0, 1], facts=FACTS[facts], return_plan=True
    )
    quiet(made.fit, X, Y)
    total = quiet(skdp.privacy_spent, made)
    assert 0.9 * epsilon < total.epsilon <= epsilon * (1 + 1e-9)
    assert total.delta == 1e-5
    assert made.score(X, Y) > 0.75
    spending = {step.name for step in plan.steps if step.epsilon is not None}
    assert spending == {
        receipt.who.partition(".")[2].replace(".", "__") for receipt in total.receipts
    }


def test_facts_take_over_what_steps_would_have_found():
    made = quiet(privatize, script(), epsilon=1.0, classes=[0, 1], facts=FACTS["types"])
    numbers, codes = (step for _, step, _ in made[0].transformers)
    assert type(numbers[0]) is DPSimpleImputer
    assert type(codes) is DPOneHotEncoder
    made = privatize(script(), epsilon=1.0, classes=[0, 1], facts=FACTS["some"])
    numbers, codes = (step for _, step, _ in made[0].transformers)
    assert codes.categories == [["f", "m"], None]
    whole = make_pipeline(OneHotEncoder(), LogisticRegression())
    made_of_all = privatize(whole, epsilon=1.0, classes=[0, 1], facts={"sex": ["f", "m"]})
    assert made_of_all[0].categories == {"sex": ["f", "m"]}
    # Of the first column the range is known, and the imputer finds that of the other.
    assert (numbers[0].bounds, numbers[0].scale) == ({0: (17.0, 90.0), 1: None}, True)
    assert made[-1].data_bounds == (-1.0, 1.0)
    made = privatize(script(), epsilon=1.0, classes=[0, 1], facts=FACTS["all"])
    assert type(made[0].transformers[1][1]) is OneHotEncoder
    assert made[-1].data_bounds == (-1.0, 1.0)


GAPS = SimpleImputer(strategy="median")


@pytest.mark.parametrize("facts", ["none", "types", "some"])
@pytest.mark.parametrize(
    ("steps", "model"),
    [
        ((GAPS, StandardScaler()), LogisticRegression()),
        ((GAPS,), Ridge()),
        ((GAPS, RobustScaler()), Lasso()),
        ((SimpleImputer(add_indicator=True), PowerTransformer()), LogisticRegression()),
        ((StandardScaler(), GAPS, SplineTransformer()), LogisticRegression()),
        ((QuantileTransformer(), GAPS), LogisticRegression()),
        ((StandardScaler(), GAPS), LogisticRegression()),
        ((GAPS, StandardScaler()), SGDClassifier(penalty="l1")),
    ],
)
def test_each_range_is_paid_once_by_all_steps_together(steps, model, facts):
    about = (
        {"classes": [0, 1]} if hasattr(model, "decision_function") else {"target_bounds": (0, 1)}
    )
    numbers, given = X[["age", "income"]], FACTS[facts]
    if facts != "none":
        given = numbers.dtypes if facts == "types" else [numbers, {"age": (17, 90)}]
    made = quiet(privatize, make_pipeline(*steps, model), epsilon=1.0, facts=given, **about)
    quiet(made.fit, numbers, Y)
    ledgers = [part.privacy_ledger_ for _, part in made.steps if hasattr(part, "privacy_ledger_")]
    votes = [event for ledger in ledgers for event in ledger if event.query == "magnitude_votes"]
    assert sum(event.count for event in votes) == 1


def test_units_stay_where_a_later_step_depends_on_them():
    for behind in (FunctionTransformer(np.log1p), PolynomialFeatures()):
        made = quiet(
            privatize, make_pipeline(GAPS, behind, Ridge()), epsilon=1.0, target_bounds=(0, 1)
        )
        assert not made[0].scale


def test_a_plan_of_a_script_says_what_it_lacks_and_counts_the_ranges_in_front():
    about = {"epsilon": 1.0, "classes": [0, 1]}
    plan = skdp.plan(script(), N, 4, facts=FACTS["some"], **about)
    assert isinstance(plan, skdp.FitPlan)
    assert any("'income': (low, high)" in said for said in plan.missing_facts)
    made = privatize(script(), facts=FACTS["some"], **about)
    assert replace(plan, missing_facts=()) == skdp.plan(made, N, 4)
    assert plan.ranges_in_front[0] == 1
    assert all(fact in str(plan) for fact in plan.missing_facts)
    assert not skdp.plan(script(), N, 4, facts=FACTS["all"], **about).missing_facts
    few = skdp.plan(script(), 300, 4, facts=FACTS["types"], epsilon=0.3, classes=[0, 1])
    assert few._outlook() != replace(few, ranges_in_front=(0, np.inf))._outlook()
    with pytest.raises(ValueError, match="no private counterpart"):
        skdp.plan(make_pipeline(StandardScaler(), KNeighborsClassifier()), N, 4)
    with pytest.raises(TypeError, match="facts"):
        skdp.plan(made, N, 4, facts=FACTS["all"])


def test_the_plan_says_by_name_of_column_what_a_missing_fact_costs():
    _, plan = privatize(
        script(), epsilon=1.0, classes=[0, 1], facts=FACTS["some"], return_plan=True
    )
    wanted = {fact.argument for fact in plan.wanted}
    assert "facts={'job': [...]}" in wanted
    assert "facts={'income': (low, high)}" in wanted
    assert "10% columntransformer__codes" in plan.sharing
    _, plan = privatize(script(), epsilon=1.0, classes=[0, 1], facts=FACTS["all"], return_plan=True)
    assert not [fact for fact in plan.wanted if "sex" in fact.argument]


@pytest.mark.parametrize("facts", ["types", "some", "all"])
def test_nothing_of_the_rows_is_in_the_plan_or_the_estimator(facts):
    made, plan = privatize(
        script(), epsilon=1.0, classes=[0, 1], facts=FACTS[facts], return_plan=True
    )
    other, _ = people(50, seed=1)
    other.loc[0, ["age", "job"]] = 3.25e9, "spy"
    given = FACTS[facts]
    given = other.dtypes if facts == "types" else [other, *given[1:]]
    again, other_plan = privatize(
        script(), epsilon=1.0, classes=[0, 1], facts=given, return_plan=True
    )
    assert str(other_plan) == str(plan)
    assert str(again.get_params()) == str(made.get_params())
    assert str(skdp.plan(made, N, 4)) == str(skdp.plan(again, N, 4))


def test_a_column_selector_without_types_leaks_and_still_works():
    with pytest.warns(PrivacyLeakWarning, match=r"pass facts=X\.dtypes"):
        made = privatize(script(), epsilon=2.0, classes=[0, 1])
    assert quiet(made.fit, X, Y).score(X, Y) > 0.75


def test_an_encoder_without_columns_is_neither_paid_nor_asked():
    numbers = X[["age", "income"]]
    for facts in (None, numbers.dtypes):
        made = quiet(privatize, script(), epsilon=1.0, classes=[0, 1], facts=facts)
        quiet(made.fit, numbers, Y)
        total = quiet(skdp.privacy_spent, made)
        assert total.epsilon <= 1.0 + 1e-9
        assert not [r for r in total.receipts if "codes" in r.who]


STEPS = {
    "bins": (KBinsDiscretizer(4), ["age"]),
    "splines": (SplineTransformer(n_knots=4), ["age"]),
    "quantiles": (QuantileTransformer(n_quantiles=20), ["age", "income"]),
    "powers": (PowerTransformer(), ["age", "income"]),
    "robust": (make_pipeline(RobustScaler(), SplineTransformer()), ["age"]),
    "imputed": (SimpleImputer(strategy="most_frequent"), ["age", "income"]),
    "ordinal": (OrdinalEncoder(), ["sex", "job"]),
}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_steps_that_learn_have_counterparts_within_the_budget(name, known):
    step, columns = STEPS[name]
    filled = X.fillna(X["income"].median()) if name == "powers" else X
    chosen = make_pipeline(
        ColumnTransformer([("step", step, columns)]), SimpleImputer(strategy="constant"), Ridge()
    )
    facts = RANGES | LISTED if known else {}
    facts = {column: facts.get(column) for column in columns}
    made = quiet(privatize, chosen, epsilon=2.0, facts=facts, target_bounds=(0, 1))
    quiet(made.fit, filled, Y)
    total = quiet(skdp.privacy_spent, made)
    assert 0.85 * 2.0 < total.epsilon <= 2.0 * (1 + 1e-9)
    assert made.predict(filled).shape == (N,)


def test_behind_splines_the_ranges_of_columns_are_known():
    splines = make_pipeline(SplineTransformer(), LogisticRegression())
    made = privatize(splines, epsilon=1.0, classes=[0, 1], facts=(0, 1))
    assert type(made[0]) is DPSplineTransformer
    assert made[0].bounds == (0.0, 1.0)
    assert made[-1].data_bounds == (0.0, 1.0)


def test_words_are_hashed_and_what_was_about_all_rows_is_left_out():
    texts = ["the nurse", "a cook", "the clerk", "a nurse"] * 500
    words = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=5), LogisticRegression())
    made, plan = privatize(words, epsilon=2.0, classes=[0, 1], return_plan=True)
    assert [type(step).__name__ for _, step in made[0].steps] == [
        "HashingVectorizer",
        "TfidfTransformer",
    ]
    assert made[0][1].sublinear_tf
    assert made[-1].data_norm == 1.0
    assert "left out min_df=5: It is about words of all rows." in str(plan)
    y = [int("nurse" in text) for text in texts]
    assert made.fit(texts, y).score(texts, y) > 0.9
    counted = privatize(
        make_pipeline(CountVectorizer(max_features=64), LogisticRegression()), epsilon=1.0
    )
    assert counted[0].n_features == 64
    listed = CountVectorizer(vocabulary=["nurse", "cook"])
    made = privatize(make_pipeline(listed, LogisticRegression()), epsilon=1.0)
    assert type(made[0]) is CountVectorizer


@pytest.mark.parametrize(
    "model", [Lasso(), GridSearchCV(LogisticRegression(), {"C": [1, 10, 100, 1000]})]
)
def test_steps_with_thresholds_keep_to_the_budget_beside_models_of_other_kinds(model):
    target = {"classes": [0, 1]} if isinstance(model, GridSearchCV) else {"target_bounds": (0, 1)}
    columns = ColumnTransformer([("codes", OneHotEncoder(), ["sex", "job"])])
    made = privatize(make_pipeline(columns, model), epsilon=3.0, **target)
    quiet(made.fit, X, Y)
    total = quiet(skdp.privacy_spent, made)
    assert total.epsilon <= 3.0 * (1 + 1e-9)
    assert total.delta <= 1e-5 * (1 + 1e-9)


def test_a_plan_counts_the_categories_that_it_assumes():
    made = privatize(script(), epsilon=1.0, classes=[0, 1], facts=FACTS["some"])
    plan = skdp.plan(made, N, 4)
    assert plan.n_features == 2 + 2 + 8
    assert "8 categories found in each of 1 columns" in str(plan)
    assert "columntransformer__codes (DPOneHotEncoder" in str(plan)


def test_a_search_may_be_over_parameters_of_steps_that_learn():
    pipeline = make_pipeline(SimpleImputer(), LogisticRegression())
    space = {"simpleimputer__strategy": ["mean", "median"], "logisticregression__C": [1, 10]}
    made = privatize(GridSearchCV(pipeline, space), epsilon=4.0, classes=[0, 1])
    assert set(made.param_grid) == set(space)
    assert type(made.estimator[0]) is DPSimpleImputer
    numbers = X[["age", "income"]]
    assert quiet(made.fit, numbers, Y).score(numbers, Y) > 0.6
    space["simpleimputer__strategy"] = ["mean", "constant"]
    _, plan = privatize(
        GridSearchCV(pipeline, space), epsilon=4.0, classes=[0, 1], return_plan=True
    )
    assert "stand for different classes" in str(plan)


def test_what_remains_of_a_table_is_known_by_its_columns():
    numbers = ColumnTransformer([("n", "passthrough", ["age"])], remainder=StandardScaler())
    chosen = make_pipeline(numbers, Lasso())
    made = privatize(chosen, epsilon=1.0, facts=X[["age", "income"]])
    assert type(made[0].remainder) is DPStandardScaler
    assert privatize(chosen, epsilon=1.0, facts=X[["age"]])[0].remainder == "drop"
