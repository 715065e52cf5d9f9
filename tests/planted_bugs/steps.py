"""Bugs in verdicts on steps around a private model, and in who asks for them."""

from functools import partial

import numpy as np
from examples_of_steps import KNOTS, check_rows_around_are_not_seen, refusal_for_people
from planted_bugs.bug import Bug, Value
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from skdp import DPLogisticRegression
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


BUGS = (
    Bug("a wrapper whose parts nobody looks at", {"registry._held": lambda *_: []}, parts_of_a_wrapper_are_looked_at, "nobody looks"),
    Bug("the number of rows taken for public", {"verdicts.rules_broken": for_rows}, partial(a_row_becomes_the_same_whatever_rows_surround_it, "projection"), "shows"),
    Bug("a scaler that is said to learn nothing", {"verdicts.TABLE": Value(TABLE | LEARNS_NOTHING)}, partial(a_row_becomes_the_same_whatever_rows_surround_it, "scaler"), "shows"),
    *(Bug("parameters that do not count", {"verdicts.rules_broken": lambda *_: []}, partial(a_row_becomes_the_same_whatever_rows_surround_it, name), "moves the probe") for name in STEPS if name == "splines"),
    Bug("leaks that nobody names", {"verdicts.rules_broken": refusals}, partial(a_row_becomes_the_same_whatever_rows_surround_it, "reciprocal"), "moves the probe|shows"),
    Bug("a search for people that asks for rows", {"search_base.check_steps": for_rows, "candidates.check_steps": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "search"), "nobody refuses"),
    Bug("a budget for people that asks for rows", {"budget.check_composed": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "PrivacyBudget.fit"), "nobody refuses"),
    Bug("a script for people that is asked about for rows", {"privatize_page.check_composed": for_rows, "verdicts.verdict_of": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "privatize"), "nobody refuses"),
    Bug("a total for people that asks for rows", {"total.verdict_of": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "privacy_spent"), "nobody refuses"),
    Bug("a total of a search for people that asks for rows", {"total.verdict_of": for_rows}, partial(a_step_that_tells_the_number_of_rows_is_refused_for_people, "privacy_spent of a search"), "nobody refuses"),
)  # fmt: skip
