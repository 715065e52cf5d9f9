"""Public facts are said once, in one of several forms, and each step takes what it needs."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from frames import polars
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler

import skdp
from skdp import DPLogisticRegression, PrivacyLeakWarning, privatize
from skdp.preprocessing import BoundsScaler

N = 2000
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(17, 91, N),
        "hours": RNG.uniform(1, 99, N),
        "sex": RNG.choice(["f", "m"], N),
        "job": pd.Categorical(RNG.choice(["clerk", "nurse"], N), ["clerk", "nurse", "secret one"]),
    }
)
Y = (TABLE["age"] > 50).to_numpy().astype(int)
KNOWN = {"age": (17, 90), "hours": (1, 99), "sex": ["f", "m"], "job": ["clerk", "nurse"]}
KNOWN_NUMBERS = {"age": (17, 90), "hours": (1, 99)}
SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 17, "maximum": 90}},
        {"name": "hours", "type": "number", "minimum": 1, "maximum": "99"},
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "job", "type": "string", "categories": [{"value": "clerk"}, {"value": "nurse"}]},
        {"name": "income", "type": "integer", "constraints": {"enum": [0, 1]}},
    ]
}
SELECTED = make_pipeline(
    ColumnTransformer(
        [
            ("numbers", StandardScaler(), make_column_selector(dtype_include="number")),
            ("codes", OneHotEncoder(), make_column_selector(dtype_exclude="number")),
        ]
    ),
    LogisticRegression(),
)
LISTED = make_pipeline(
    ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["age", "hours"]),
            ("codes", OneHotEncoder(), ["sex", "job"]),
        ]
    ),
    LogisticRegression(),
)


def steps_of(facts, script=LISTED, **options):
    made = privatize(script, epsilon=1.0, **{"classes": [0, 1]} | options, facts=facts)
    return str(made.get_params())


def test_facts_mean_the_same_in_every_form(tmp_path):
    path = tmp_path / "datapackage.json"
    path.write_text(json.dumps({"resources": [{"schema": SCHEMA}]}))
    expected = steps_of(KNOWN)
    assert "'clerk', 'nurse'" in expected
    for facts in ([TABLE, KNOWN], [TABLE.dtypes, KNOWN], SCHEMA, str(path), path):
        assert steps_of(facts) == expected
        # Types choose the columns that the script lists.
        target = None if isinstance(facts, list) else "income"
        assert steps_of(facts, SELECTED, target=target) == expected
    fields = {
        name: {"minimum": fact[0], "maximum": fact[1]}
        if isinstance(fact, tuple)
        else {"enum": fact}
        for name, fact in KNOWN.items()
    }
    assert steps_of(fields) == expected
    assert steps_of([{"age": (0, 200)}, KNOWN]) == expected


def test_a_target_among_the_facts_has_its_classes_or_its_range():
    assert steps_of(SCHEMA, target="income", classes=None) == steps_of(KNOWN)
    facts = {"age": (17, 90), "hours": (1, 99), "pay": (0, 1000)}
    made = privatize(Ridge(), epsilon=1.0, facts=facts, target="pay")
    assert made.target_bounds == (0.0, 1000.0)
    assert made.data_bounds == {"age": (17.0, 90.0), "hours": (1.0, 99.0)}
    made, plan = privatize(LISTED, epsilon=1.0, facts=SCHEMA, target="income", return_plan=True)
    assert made[-1].classes == [0, 1]
    assert "income: categories 0, 1 (Table Schema)" in str(plan)


def test_types_of_a_frame_choose_columns_and_tell_nothing_of_its_rows():
    made, plan = privatize(
        SELECTED, epsilon=1.0, classes=[0, 1], facts=[TABLE, KNOWN], return_plan=True
    )
    assert [columns for _, _, columns in made[0].transformers] == [["age", "hours"], ["sex", "job"]]
    assert "secret one" not in str(plan) + str(made.get_params())
    other = TABLE.iloc[:3].assign(age=[1, 2, 3], job=pd.Categorical(["spy"] * 3))
    again, other_plan = privatize(
        SELECTED, epsilon=1.0, classes=[0, 1], facts=[other, KNOWN], return_plan=True
    )
    assert (str(again.get_params()), str(other_plan)) == (str(made.get_params()), str(plan))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        assert skdp.privacy_spent(made.fit(TABLE, Y)).epsilon == pytest.approx(1.0)


def test_no_columns_cost_nothing_and_need_no_facts():
    numbers = TABLE[["age", "hours"]]
    made = privatize(SELECTED, epsilon=1.0, classes=[0, 1], facts=[numbers, KNOWN_NUMBERS])
    assert made[0].transformers[1] == ("codes", "drop", [])
    assert skdp.privacy_spent(made.fit(numbers, Y)).epsilon == pytest.approx(1.0)


def test_facts_serve_what_remains_and_columns_by_number():
    script = make_pipeline(
        ColumnTransformer([("codes", OneHotEncoder(), [2, 3])], remainder=StandardScaler()),
        LogisticRegression(),
    )
    made = privatize(script, epsilon=1.0, classes=[0, 1], facts=[TABLE, KNOWN])
    assert type(made[0].remainder) is BoundsScaler
    assert made[0].remainder.bounds == ([17, 1], [90, 99])
    assert made[0].transformers[0][1].categories == [["f", "m"], ["clerk", "nurse"]]


def test_numbers_that_are_listed_have_a_range_and_truth_has_two_values():
    facts = [pd.DataFrame({"grade": [1], "member": [True]}), {"grade": [1, 2, 3]}]
    made = privatize(Ridge(), epsilon=1.0, target_bounds=(0, 1), facts=facts)
    assert made.data_bounds == ([1.0, 0.0], [3.0, 1.0])
    columns = ColumnTransformer([("c", OrdinalEncoder(), ["grade", "member"])])
    made = privatize(make_pipeline(columns, Ridge()), epsilon=1.0, facts=facts)
    assert made[0].transformers[0][1].categories == [[1, 2, 3], [False, True]]


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ({"age": (90, 17)}, r"low < high as the range of 'age', got \(90, 17\)"),
        ({"age": (17, float("inf"))}, "finite low < high as the range of 'age'"),
        ({"sex": ["f", "f"]}, "categories of 'sex' that are listed once each"),
        ({"sex": []}, "categories of 'sex' .* at least one"),
        ({"sex": "f"}, "as a fact about 'sex', got 'f'"),
        ([TABLE, {"sex": (0, 1)}], "got a range of 'sex', which is of type str"),
        ({"sex": {"enum": ["f", "m"], "minimum": 0, "maximum": 1}}, "'sex', which is a list of"),
        ([TABLE, {"agee": (17, 90)}], "some about 'agee', which it does not have"),
        ({"fields": [{"title": "age"}]}, "fields that have names"),
        ({"fields": [{"name": "a", "type": "integer", "minimum": 9, "maximum": 1}]}, "'a', got"),
        ([TABLE, {"age": ["f", "m"]}], "got categories of 'age', which is of type int"),
        ({"day": {"type": "date", "enum": ["2026-01-01"]}}, "'day', which is of type datetime"),
        (TABLE[["age", "age"]].dtypes, "different names, got 'age' more than once"),
        (TABLE["age"], "as a fact about 0, got something else of type int"),
    ],
)
def test_wrong_facts_are_refused_by_the_name_of_the_column(facts, answer):
    with pytest.raises(ValueError, match=answer):
        privatize(LISTED, epsilon=1.0, classes=[0, 1], facts=facts)


def test_types_of_polars_are_those_of_pandas():
    pl = polars()
    table = pl.DataFrame(
        {name: TABLE[name].to_list() for name in TABLE},
        schema_overrides={"job": pl.Categorical},
    ).with_columns(member=pl.col("age") > 40)
    made = privatize(SELECTED, epsilon=2.0, classes=[0, 1], facts=[table, KNOWN])
    numbers, others = (columns for _, _, columns in made[0].transformers)
    assert (numbers, others) == (["age", "hours"], ["sex", "job", "member"])
    assert made.fit(table, Y).predict(table).shape == (N,)


def test_a_file_that_is_no_schema_is_refused(tmp_path):
    path = tmp_path / "facts.json"
    path.write_text("age,17,90")
    with pytest.raises(ValueError, match="JSON file with a Table Schema"):
        privatize(LISTED, epsilon=1.0, facts=str(path))


def test_columns_that_facts_do_not_name_are_refused():
    script = make_pipeline(ColumnTransformer([("n", StandardScaler(), ["agee"])]), Ridge())
    with pytest.raises(ValueError, match=r"columns that facts name for .*__n, got 'agee'"):
        privatize(script, epsilon=1.0, facts=TABLE)
    with pytest.raises(ValueError, match="facts about the target, got none about 'pay'"):
        privatize(LISTED, epsilon=1.0, facts=KNOWN, target="pay")


def test_plan_and_report_list_all_facts_and_where_they_come_from():
    made, plan = privatize(
        SELECTED, epsilon=1.0, classes=[0, 1], facts=[TABLE, KNOWN], return_plan=True
    )
    report = skdp.report(made.fit(TABLE, Y))
    for fact in (
        "age: between 17 and 90 (given)",
        "sex: categories f, m (given)",
        "job: of type category (types of the frame)",
    ):
        assert fact in str(plan)
        assert fact in report.to_dict()["public"]
    assert "secret one" not in report.to_json()


def test_the_report_lists_parameters_of_steps_that_nobody_converted():
    columns = ColumnTransformer(
        [
            ("codes", OneHotEncoder(categories=[["f", "m"]], handle_unknown="ignore"), ["sex"]),
            ("filled", SimpleImputer(strategy="constant", keep_empty_features=True), ["age"]),
        ],
        sparse_threshold=0,
    )
    model = DPLogisticRegression(epsilon=1.0, classes=[0, 1], data_bounds=([0, 0, 17], [1, 1, 90]))
    public = skdp.report(make_pipeline(columns, model).fit(TABLE, Y)).to_dict()["public"]
    assert "given for OneHotEncoder: categories=[['f', 'm']]" in public
    assert any("data_bounds=([0, 0, 17], [1, 1, 90])" in line for line in public)


def test_a_plan_of_a_pipeline_is_that_of_its_model_with_all_columns():
    made = privatize(SELECTED, epsilon=1.0, classes=[0, 1], facts=[TABLE, KNOWN])
    plan = skdp.plan(made, N, 4)
    assert isinstance(plan, skdp.FitPlan)
    assert (plan.n_features, plan.in_front) == (6, ())
    model = made.fit(TABLE, Y)[-1]
    assert str(model.plan_) == str(plan)
    behind = make_pipeline(StandardScaler(), PolynomialFeatures(), LogisticRegression())
    made = privatize(behind, epsilon=1.0, classes=[0, 1])
    plan = skdp.plan(made, N, 3)
    assert plan.n_features == 10
    assert f"standardscaler (DPStandardScaler, epsilon = {made[0].epsilon:.4g})" in str(plan)
    assert plan.epsilon == made[-1].epsilon
    target = TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1)
    assert skdp.plan(privatize(target, epsilon=1.0), N, 3).n_features == 3
    assert skdp.plan(behind, N, 3, epsilon=1.0, classes=[0, 1]).n_features == 10
    with pytest.raises(ValueError, match=r"Pass what skdp\.privatize makes of it"):
        skdp.plan(made[0], N, 3)
