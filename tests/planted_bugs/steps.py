"""Bugs in verdicts on steps around a private model, and in who asks for them."""

from functools import partial

import numpy as np
import pandas as pd
from examples_of_steps import KNOTS, check_rows_around_are_not_seen, refusal_for_people
from planted_bugs.bug import Bug, Value
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection

from skdp import DPLogisticRegression, privacy_spent, privatize
from skdp.privacy import PrivacyUnit
from skdp.reporting import TABLE, Entry, Verdict, check_composed

STEPS = {
    "projection": GaussianRandomProjection("auto", eps=0.9, random_state=0),
    "scaler": StandardScaler(),
    "reciprocal": FunctionTransformer(np.reciprocal),
}
# Splines of older versions of scikit-learn take no gaps.
if "handle_missing" in SplineTransformer().get_params():
    STEPS["splines"] = SplineTransformer(
        knots=KNOTS, extrapolation="continue", handle_missing="zeros", sparse_output=True
    )
LEARNS_NOTHING = {StandardScaler: Entry(Verdict("covered", "learns nothing"))}


def a_row_becomes_the_same_whatever_rows_surround_it(step):
    check_rows_around_are_not_seen(STEPS[step])


def a_step_that_tells_the_number_of_rows_is_refused_for_people(user):
    refusal = refusal_for_people(user, "auto")
    assert "pass a number as n_components" in refusal, "nobody refuses it"


def parts_of_a_wrapper_are_looked_at():
    private = DPLogisticRegression(classes=[0, 1], data_norm=1.0)
    refused = ""
    try:
        check_composed("somebody", make_pipeline(StandardScaler(), private))
    except ValueError as refusal:
        refused = str(refusal)
    assert "Pipeline.standardscaler learns means" in refused, "nobody looks at the parts"


def for_rows(honest, *args):
    """A verdict that takes the number of rows for public."""
    return honest(*args[:-1], PrivacyUnit.ROW)


def refusals(honest, *args):
    return [rule for rule in honest(*args) if rule.kind == "refused"]


def a_frame_tells_its_names_and_types_and_nothing_else():
    numbers = ("numbers", StandardScaler(), make_column_selector(dtype_include="number"))
    codes = ("codes", OneHotEncoder(), make_column_selector(dtype_exclude="number"))
    script = make_pipeline(ColumnTransformer([numbers, codes]), LogisticRegression())
    told = []
    for age, job in ((17.0, "clerk"), (90.0, "spy")):
        frame = pd.DataFrame({"age": [age, 40.0], "job": pd.Categorical([job, "nurse"])})
        options = {"epsilon": 1.0, "classes": [0, 1], "facts": frame, "return_plan": True}
        made, plan = privatize(script, **options)
        told.append((str(plan), str(made.get_params())))
    assert told[0] == told[1], "rows decide what is planned"


def categories_of_types(honest, self, given):
    honest(self, given)
    for name in getattr(given, "columns", ()):
        if given[name].dtype == "category":
            self._add_categories(name, given[name].cat.categories, "types of the frame")


def extremes(honest, self, given):
    honest(self, given)
    for name in getattr(given, "columns", ()):
        if given[name].dtype != "category":
            self._add_range(name, (given[name].min() - 1, given[name].max()), "types of the frame")


def more_of_the_budget(honest, *args):
    kind, found = honest(*args)
    return kind, {path: budget._replace(epsilon=1.2 * budget[0]) for path, budget in found.items()}


def steps_of_a_raw_table_keep_to_one_budget():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.uniform(17, 90, 3000), "job": rng.choice(["clerk", "nurse"], 3000)}
    )
    columns = [("numbers", SimpleImputer(), ["age"]), ("codes", OneHotEncoder(), ["job"])]
    script = make_pipeline(ColumnTransformer(columns), LogisticRegression())
    made = privatize(script, epsilon=2.0, classes=[False, True]).fit(X, X["age"] > 40)
    assert privacy_spent(made).epsilon <= 2.0 + 1e-9, "more was spent than the budget"


BUGS = (
    Bug("categories of a type of pandas's that are taken for public", {"Facts._read": categories_of_types}, a_frame_tells_its_names_and_types_and_nothing_else, "rows decide"),
    Bug("ranges of a frame that are taken for public", {"Facts._read": extremes}, a_frame_tells_its_names_and_types_and_nothing_else, "rows decide"),
    Bug("steps that are each given more than their share", {"privatize_page._budgets": more_of_the_budget}, steps_of_a_raw_table_keep_to_one_budget, "more was spent"),
    Bug("a wrapper whose parts nobody looks at", {"registry._held": lambda *_: []}, parts_of_a_wrapper_are_looked_at, "nobody looks"),
    Bug("the number of rows taken for public", {"composition_verdicts.rules_broken": for_rows}, partial(a_row_becomes_the_same_whatever_rows_surround_it, "projection"), "shows"),
    Bug("a scaler that is said to learn nothing", {"composition_verdicts.TABLE": Value(TABLE | LEARNS_NOTHING)}, partial(a_row_becomes_the_same_whatever_rows_surround_it, "scaler"), "shows"),
    *(Bug("parameters that do not count", {"composition_verdicts.rules_broken": lambda *_: []}, partial(a_row_becomes_the_same_whatever_rows_surround_it, name), "moves the probe") for name in STEPS if name == "splines"),
    Bug("leaks that nobody names", {"composition_verdicts.rules_broken": refusals}, partial(a_row_becomes_the_same_whatever_rows_surround_it, "reciprocal"), "moves the probe|shows"),
    Bug("a search for people that asks for rows", {"search_base.check_steps": for_rows, "candidates.check_steps": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "search"), "nobody refuses"),
    Bug("a budget for people that asks for rows", {"privacy_budget.check_composed": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "PrivacyBudget.fit"), "nobody refuses"),
    Bug("a script for people that is asked about for rows", {"privatize_page.check_composed": for_rows, "composition_verdicts.verdict_of": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "privatize"), "nobody refuses"),
    Bug("a total for people that asks for rows", {"total.verdict_of": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "privacy_spent"), "nobody refuses"),
    Bug("a total of a search for people that asks for rows", {"total.verdict_of": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "privacy_spent of a search"), "nobody refuses"),
)  # fmt: skip
