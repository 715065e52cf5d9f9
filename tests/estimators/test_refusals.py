"""The table of refusals: each sentence is said where its facts hold, and only there."""

import ast
import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import skdp
from skdp import DPHazardRegressor, DPLinearRegression, DPLogisticRegression
from skdp.estimators import refusals
from skdp.privacy import PrivacyUnit
from skdp.privacy.accounting import GaussianDP, PerturbedGaussianDP
from skdp.privacy.rows import DaskRows
from skdp.privacy.sites import RemoteRows
from skdp.problem.constraints import L1Ball
from skdp.solvers import DDA, GD, ObjectivePerturbation, OneStep

SITES = {"sites": np.arange(100) % 4}


def rows(kind, unit=PrivacyUnit.ROW):
    """Rows of a kind, of which nothing but public facts is asked."""
    found = object.__new__(kind)
    vars(found)["unit"] = unit
    return found


def classifier(**parameters):
    return DPLogisticRegression(**{"classes": [0, 1], "data_norm": 1.0} | parameters)


def regressor(**parameters):
    return DPLinearRegression(**{"data_norm": 1.0, "target_bounds": (0, 1)} | parameters)


def planned(model, **facts):
    """A call of ``plan`` that is to be refused."""
    return lambda: skdp.plan(model, 100, 3, **facts)


def streamed(solver="ftrl", **parameters):
    """The first call of a stream, which is to be refused."""
    model = classifier(solver=solver, **parameters)
    return lambda: model.partial_fit(np.zeros((4, 2)), [0, 1, 0, 1])


def said(moment, *facts):
    """The sentences of a moment, for facts that take more than parameters."""
    return lambda: refusals.refuse(DPLogisticRegression(), moment(*facts))


MODEL = SimpleNamespace(epsilon=1.0)
EXAMPLES = {
    "y=None when X is DaskSites": said(refusals.of_dask_sites, MODEL, [1], None),
    "sample_weight=None when X is DaskSites": said(refusals.of_dask_sites, MODEL, None, [1]),
    "a finite epsilon when X is DaskSites": said(
        refusals.of_dask_sites, SimpleNamespace(epsilon=float("inf")), None, None
    ),
    "privacy_unit=True with DaskSites": said(
        refusals.of_units_at_sites, PrivacyUnit.DECLARED, None
    ),
    "y=None when X is Chunks": said(refusals.of_chunks, [1], None, None),
    "sample_weight=None when X is Chunks": said(refusals.of_chunks, None, [1], None),
    "privacy_unit=True when X is Chunks.*got a list": said(refusals.of_chunks, None, None, [1]),
    "sites=None when X is DaskSites": said(refusals.of_sites, [1], rows(RemoteRows)),
    "sites=None with privacy_unit": said(
        refusals.of_sites, [1], SimpleNamespace(unit=PrivacyUnit.DECLARED)
    ),
    "sites=None when X is a dask collection": said(refusals.of_sites, [1], rows(DaskRows)),
    "at least 2 classes, got 1 class": planned(classifier(classes=[0])),
    "with ObjectivePerturbation needs 2 classes, got 3": planned(
        classifier(classes=range(3), solver="objective_perturbation")
    ),
    r"class_weight for labels in classes, got \(2,\)": planned(classifier(class_weight={2: 1.0})),
    "class weights that are 0 or between 1e-50 and 1e50": planned(classifier(class_weight={0: -1})),
    "a positive weight for at least one class": planned(classifier(class_weight={0: 0, 1: 0})),
    "data_norm=None with data_bounds": planned(classifier(data_bounds=(-1, 1))),
    "an l2 penalty or none.*units that are not yours, got": planned(
        classifier(data_norm=None, data_bounds=(-1, 1), constraint=L1Ball(1.0))
    ),
    "with delta=0 needs data_norm or data_bounds of all columns and precondition='auto' or N": (
        planned(classifier(delta=0, data_norm=None, precondition="full", class_weight="balanced"))
    ),
    "precondition=None with the solver 'one_step'.*got precondition='full'": planned(
        classifier(solver="one_step", precondition="full")
    ),
    "class_weight=None with the solver 'one_step'.*got class_weight='balanced'": planned(
        classifier(solver="one_step", class_weight="balanced")
    ),
    "privacy_unit=None with DDA": planned(classifier(solver="dda"), privacy_unit=True),
    "rows at one place, because its baseline": planned(DPHazardRegressor(), **SITES),
    "a solver for rows at several sites.*got GD": planned(classifier(solver="gd"), **SITES),
    "with DDA needs one target a row, got 2": planned(regressor(solver="dda"), n_targets=2),
    "with DDA has nobody.*for class_weight='balanced' and bounds to be estimated": planned(
        classifier(data_norm=None, class_weight="balanced"), **SITES
    ),
    "buffer=True for the solver 'blocks'": streamed("blocks", buffer=False),
    "with delta=0 needs the solver 'blocks' for a stream.*got 'ftrl'": streamed(delta=0),
    "all bounds of rows and targets for the solver 'ftrl'": streamed(data_norm=None),
    "precondition=None for a stream.*got 'full'": streamed(precondition="full"),
    "public class weights for a stream": streamed(class_weight="balanced"),
    "more than half of the budget for the one answer of ObjectivePerturbation, got 50%": said(
        refusals.of_one_answer, ObjectivePerturbation(), PerturbedGaussianDP(GaussianDP()), 0.5
    ),
    "arrays, not dask collections": said(refusals.of_place, rows(DaskRows), DDA()),
    "arrays or CSR matrices.*privacy_unit and intervals": said(
        refusals.of_place, rows(DaskRows, PrivacyUnit.DECLARED), OneStep()
    ),
    "DDA.noise='local'. without subsampling.*trusts an aggregator": said(
        refusals.of_place, rows(RemoteRows), DDA(noise="central")
    ),
}


@pytest.mark.parametrize("sentence", EXAMPLES)
def test_each_row_of_the_table_is_said_where_its_facts_hold(sentence):
    with pytest.raises(ValueError, match=f"^DP\\w+ (needs )?{sentence}"):
        EXAMPLES[sentence]()


def test_each_row_of_the_table_has_an_example():
    table = ast.walk(ast.parse(inspect.getsource(refusals)))
    assert sum(isinstance(node, ast.Yield) for node in table) == len(EXAMPLES)


@pytest.mark.parametrize(
    "call",
    [
        said(refusals.of_dask_sites, MODEL, None, None),
        said(refusals.of_units_at_sites, PrivacyUnit.DECLARED, True),
        said(refusals.of_units_at_sites, PrivacyUnit.ROW, None),
        said(refusals.of_chunks, None, None, True),
        said(refusals.of_sites, None, rows(DaskRows)),
        said(refusals.of_place, rows(DaskRows), GD()),
        said(refusals.of_place, rows(RemoteRows), DDA()),
        planned(classifier(data_norm=None, data_bounds=(-1, 1))),
        planned(classifier(delta=0)),
        planned(classifier(solver="gd"), privacy_unit=True),
        planned(classifier(), **SITES),
        planned(regressor(), n_targets=2),
    ],
)
def test_nothing_is_refused_elsewhere(call):
    call()
