"""Steps that the table calls covered make the same of a row whatever rows surround it.

That is so for each entry with usual and unusual parameters, for rows in many containers, and for
data sets with other numbers of rows, which are secret under ``privacy_unit``.
"""

import re
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from examples_of_steps import (
    FREE_STEPS,
    NUMBER_OF_ROWS_MATTERS,
    cases,
    check_rows_around_are_not_seen,
    refusal_for_people,
    rows_for,
    step_of,
    usual_step,
)
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from skdp.preprocessing import FreeTransformer
from skdp.privacy import PrivacyUnit
from skdp.reporting import TABLE, Columns, verdict_of

PROJECTIONS = (GaussianRandomProjection, SparseRandomProjection)


@pytest.mark.parametrize("kind", FREE_STEPS, ids=lambda kind: kind.__name__)
def test_a_step_makes_the_same_of_a_row_whatever_rows_surround_it(kind):
    tried = [step_of(k, parameters) for k, parameters in cases() if k is kind]
    for turn, step in enumerate(tried):
        compared = check_rows_around_are_not_seen(step, turn=turn)
        covered = verdict_of(step, PrivacyUnit.ROW).kind == "covered"
        assert bool(compared) == covered, "nothing was compared"


@pytest.mark.nightly
@pytest.mark.parametrize("kind", FREE_STEPS, ids=lambda kind: kind.__name__)
def test_a_step_with_any_parameters_does_so_in_all_containers(kind):
    tried = [step_of(k, parameters) for k, parameters in cases(whole=True) if k is kind]
    assert sum(map(check_rows_around_are_not_seen, tried)) > len(tried)


def test_every_step_of_the_table_is_tried_with_all_of_its_parameters():
    covered = {k for k, e in TABLE.items() if e.best.kind == "covered" and not e.composed}
    assert set(FREE_STEPS) == covered | set(FreeTransformer.__subclasses__())
    for kind, values in FREE_STEPS.items():
        assert set(kind._get_param_names()) <= set(values), f"{kind.__name__} has more parameters"


@pytest.mark.parametrize("kind", [k for k in FREE_STEPS if k in TABLE], ids=lambda k: k.__name__)
def test_whoever_follows_the_advice_of_a_rule_breaks_it_no_more(kind):
    """Sets the values that it names, or those of a covered step for parameters that it names."""
    suited = usual_step(kind).get_params()
    for step in (step_of(k, parameters) for k, parameters in cases() if k is kind):
        for rule in (rule for rule in TABLE[kind].rules if rule.broken_by(step)):
            named = [n for n in suited if re.search(rf"\b{n}\b", rule.verdict.why)]
            advice = dict(rule.changes) or {name: suited[name] for name in named}
            assert advice or "function" in rule.does or rule.kind == "leaks"
            assert not advice or not rule.broken_by(clone(step).set_params(**advice))


@pytest.mark.filterwarnings("ignore:The parameter 'token_pattern':UserWarning")
@pytest.mark.parametrize("kind", [k for k, e in TABLE.items() if e.after], ids=lambda k: k.__name__)
def test_rows_that_come_out_are_within_what_is_said_of_the_columns(kind):
    scales = (1, 1 / 3, -1 / 3) if kind is PolynomialFeatures else (1,)
    tried = [step_of(k, parameters) for k, parameters in cases() if k is kind]
    for step, scale in product((s for s in tried if verdict_of(s).kind == "covered"), scales):
        rows, before = next(iter(rows_for(step)[0].values())), Columns()
        if isinstance(rows, np.ndarray):
            rows = rows * scale
            before = Columns((float(rows.min()), float(rows.max())))
        told = TABLE[kind].after(step, before)
        out = clone(step).fit_transform(rows)
        out = np.asarray(out.toarray() if sp.issparse(out) else out, dtype=float)
        low, high = told.bounds or (-np.inf, np.inf)
        # Models bring what is filled in to the range.
        within = np.all(np.asarray(low) <= out) and np.all(out <= np.asarray(high))
        assert kind is SimpleImputer or within
        assert told.width in (None, out.shape[1])
        norm = np.inf if told.norm is None else told.norm
        assert np.linalg.norm(out, axis=1).max() <= norm * (1 + 1e-12)


@pytest.mark.parametrize("kind", PROJECTIONS)
def test_a_step_whose_shape_tells_the_number_of_rows_is_refused_where_that_is_secret(kind):
    rows = [np.ones((n, 400)) for n in (5, 60)]
    step = kind("auto", eps=0.9)
    assert len({step.fit_transform(X).shape[1] for X in rows}) == 2
    assert verdict_of(step).kind == "covered"
    verdict = verdict_of(step, PrivacyUnit.DECLARED)
    assert verdict.kind == "refused"
    assert "number of rows, which is secret" in verdict.why
    assert "pass a number as n_components" in verdict.why
    assert verdict_of(kind(20), PrivacyUnit.DECLARED).kind == "covered"


@pytest.mark.parametrize("user", NUMBER_OF_ROWS_MATTERS)
def test_whoever_composes_for_people_refuses_it_and_says_what_to_set(user):
    assert "pass a number as n_components" in refusal_for_people(user, "auto")
    assert not refusal_for_people(user, 7)


def test_no_verdict_recommends_a_step_without_the_parameters_that_it_needs():
    free = {k for k, e in TABLE.items() if e.best.kind == "covered" and not e.composed}
    needy = {k.__name__ for k in free if verdict_of(k(), PrivacyUnit.DECLARED).kind != "covered"}
    assert "GaussianRandomProjection" in needy
    for kind, entry in TABLE.items():
        for name, then in re.findall(r"(\w+)( with |\()?", entry.best.why):
            assert then or name not in needy, f"{kind.__name__} recommends {name} as it comes"


@pytest.mark.parametrize(
    ("function", "kind"),
    [(np.reciprocal, "leaks"), (np.square, "leaks"), (np.invert, "leaks"), (np.abs, "covered")],
)
def test_functions_that_compute_otherwise_with_whole_numbers_leak(function, kind):
    """One entry of 2.5 makes floats of a column of integers, in which 1 / 2 is 0."""
    assert verdict_of(FunctionTransformer(function)).kind == kind
    of_targets = TransformedTargetRegressor(func=function, check_inverse=False)
    assert verdict_of(of_targets).kind == kind


@pytest.mark.parametrize(
    ("listed", "kind"),
    [
        ([0.5, 1.0], "leaks"),
        ([0, float("nan")], "leaks"),
        ([0, 1.0], "covered"),
        (["a"], "covered"),
    ],
)
def test_categories_that_a_column_of_integers_would_cut_leak(listed, kind):
    assert verdict_of(OneHotEncoder(categories=[listed], handle_unknown="ignore")).kind == kind


@pytest.mark.skipif(
    "handle_missing" not in SplineTransformer().get_params(),
    reason="splines of this version of scikit-learn take no gaps",
)
def test_sparse_splines_that_fill_gaps_by_the_least_entry_are_refused():
    """The entry of somebody else stands in the row with the gap."""
    knots = np.linspace(0, 3, 5)[:, None] * [1.0, 1.0]
    options = {"knots": knots, "extrapolation": "continue", "handle_missing": "zeros"}
    step = SplineTransformer(**options, sparse_output=True)
    if_least = [[1.0, least] for least in (0.5, 1.5)]
    moved = [step.fit_transform([row, [1.0, np.nan]]).toarray()[1] for row in if_least]
    assert not np.array_equal(*moved)
    assert verdict_of(step).kind == "refused"
    assert "sparse_output=False" in verdict_of(step).why
    assert verdict_of(step.set_params(sparse_output=False)).kind == "covered"
