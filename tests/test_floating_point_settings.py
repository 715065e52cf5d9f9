"""Settings of floating point change nothing: rows are read in one guarded place."""

import inspect
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special
from by_night import by_night
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skdp
from skdp import (
    DPContextualBandit,
    DPHazardRegressor,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSVMClassifier,
    audit,
    preprocessing,
)
from skdp.bandit.policies import POLICIES
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.privacy.rows import Chunks
from skdp.solvers import GD, SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::skdp.PrivacyLeakWarning")
N = 60
RNG = np.random.default_rng(0)
# Finite rows: squares and products of them overflow or vanish, and their sums are not a number.
X = RNG.uniform(-1, 1, size=(N, 3))
X[:4] = [[1e200] * 3, [-1e200] * 3, [1e-300] * 3, [1e308, -1e308, 1e-308]]
Y = (X[:, 1] > 0).astype(int)
REAL = RNG.uniform(-1, 1, size=N)
REAL[:4] = 1e200, -1e200, 1e-300, 1e308
PEOPLE = np.arange(N) // 2
SEED = {"random_state": 0}
FEW = GD(steps=3)


def maker(kind, **facts):
    """A function that makes models of a kind, with these facts unless it is given others."""
    return lambda **options: kind(**facts | SEED | options)


CLASSES, UNIT = {"classes": [0, 1], "data_norm": 2.0}, {"target_bounds": (-1.0, 1.0)}
logistic = maker(DPLogisticRegression, **CLASSES)
machine = maker(DPSVMClassifier, **CLASSES)
linear = maker(DPLinearRegression, **UNIT, data_norm=2.0)
lasso = maker(DPLassoRegressor, **UNIT, feature_bound=1.0)
counts = maker(DPPoissonRegressor, target_bounds=(0.0, 1.0), data_norm=2.0)
quantiles = maker(DPQuantileRegressor, **UNIT, data_norm=2.0, quantile=[0.1, 0.9])
hazards = maker(DPHazardRegressor, data_norm=2.0, max_time=3.0)
ACTIONS = {"arms": [0, 1], "data_norm": 2.0, "feature_bound": 1.0, "horizon": 2 * N}
bandit = maker(DPContextualBandit, **ACTIONS)


def search(model, kind=DPGridSearchCV, **options):
    model.set_params(random_state=None)
    options = {"n_iter": 2} | SEED | options
    return kind(model, {"fit_intercept": [True, False]}, **options)


def target(model):
    last = getattr(model, "estimator", model)
    numbers = np.abs(REAL) if isinstance(last, DPPoissonRegressor) else REAL
    return Y if hasattr(last, "classes") else numbers


def learnt(model):
    """All numbers that a model has published."""
    best = getattr(model, "best_estimator_", model)
    parts = [best, *(step for _, step in getattr(best, "steps", []))]
    held = [vars(part) for part in parts if not isinstance(part, str)]
    found = [v for part in held for k, v in sorted(part.items()) if k.endswith("_")]
    return [np.asarray(v) for v in found if isinstance(v, float | np.ndarray)]


def fits(model, *given, **options):
    return learnt(model.fit(*(given or (X, target(model))), **options))


def continues(model, y=None):
    for rows in (slice(0, N // 2), slice(N // 2, N)):
        model.partial_fit(X[rows], target(model)[rows])
    return learnt(model)


def uses(model, *methods):
    """What a model, fitted in the usual state, says of the rows."""
    # Numbers of bins, or any.
    binned = isinstance(model, preprocessing.DPKBinsDiscretizer)
    back = np.abs(np.sign(X)) if binned else X[4:] * 1e200
    given = {"score": (X, target(model)), "inverse_transform": (back,), "fit_transform": (X, Y)}
    given |= dict.fromkeys(CURVES, (X, True))
    return [getattr(model, name)(*given.get(name, (X,))) for name in methods]


def plays(policy=None, *, people=False):
    model = bandit(**{} if policy is None else {"policy": policy})
    labels = {"privacy_unit": PEOPLE} if people else {}
    model.fit(X, Y, REAL, **labels) if people else model.partial_fit(X, Y, REAL)
    return [*uses(model, "act", "sample", "predict", "decision_function"), model.coef_]


def evaluates(model, **options):
    scores = skdp.evaluate(model, X, target(model), epsilon=5.0, **SEED, **options)
    return [np.asarray(str(scores))]


def audits():
    model = logistic(solver=FEW, precondition=None, random_state=None)
    found = audit.audit(model, X[4:], Y[4:], runs=100)
    return [np.asarray(str(found.adjacency))]


def computes():
    """Rows of dask, asked in this thread."""
    array, config = pytest.importorskip("dask.array"), pytest.importorskip("dask.config")
    with config.set(scheduler="synchronous"):
        return fits(linear(), array.from_array(X, chunks=20), array.from_array(REAL, chunks=20))


def privatizes():
    """A script of scikit-learn's that was made private."""
    script = make_pipeline(StandardScaler(), LogisticRegression())
    private = skdp.privatize(script, epsilon=5.0, facts=(-1, 1), classes=[0, 1])
    for step in private.named_steps.values():
        if not isinstance(step, str):
            step.set_params(**SEED)
    return learnt(private.fit(X, Y))


CLASSIFIER_METHODS = ("predict", "decision_function", "score")
PROBABILITIES = (*CLASSIFIER_METHODS, "predict_proba", "predict_log_proba")
IN_BOUNDS = {"bounds": (-1, 1)} | SEED
SETTINGS = {
    "BoundsScaler": {"bounds": (-1, 1)},
    "DPMinMaxScaler": SEED,
    "DPStandardScaler": IN_BOUNDS,
    "DPSimpleImputer": IN_BOUNDS,
    # Which every number is a category of, and the threshold is low enough for.
    "DPOneHotEncoder": {"epsilon": 1e6} | SEED,
    "DPRobustScaler": IN_BOUNDS,
    "DPSelectKBest": {"classes": [0, 1]} | IN_BOUNDS,
    "DPPCA": IN_BOUNDS,
    "DPTruncatedSVD": {"n_components": 3} | IN_BOUNDS,
    "DPSplineTransformer": IN_BOUNDS,
    "DPQuantileTransformer": IN_BOUNDS,
    "DPKBinsDiscretizer": {"encode": "ordinal"} | IN_BOUNDS,
    "RowNormClipper": {"max_norm": 1e-3},
}
SCALERS = {name: partial(getattr(preprocessing, name), **s) for name, s in SETTINGS.items()}
MADE = {
    "DPLogisticRegression": logistic,
    "DPSVMClassifier": machine,
    "DPLinearRegression": linear,
    "DPLassoRegressor": lasso,
    "DPPoissonRegressor": counts,
    "DPQuantileRegressor": quantiles,
    "DPHazardRegressor": hazards,
}
CURVES = "predict_survival_function", "predict_cumulative_hazard_function"
USED = {
    "DPLogisticRegression": PROBABILITIES,
    "DPSVMClassifier": CLASSIFIER_METHODS,
    "DPLinearRegression": ("predict", "score"),
    "DPLassoRegressor": ("predict", "score"),
    "DPPoissonRegressor": ("predict", "score"),
    "DPQuantileRegressor": ("predict", "score"),
    "DPHazardRegressor": ("predict", "score", *CURVES),
}
# Names of methods, or of functions, and what is done with them.
ENTRIES = {
    **{f"{name}.fit": lambda make=make: fits(make()) for name, make in MADE.items()},
    **{
        f"{name}.partial_fit": lambda make=make: continues(make())
        for name, make in MADE.items()
        if hasattr(make(), "partial_fit")
    },
    **{
        f"{name}.{method}": lambda make=make, method=method: uses(
            make().fit(X, target(make())), method
        )
        for name, make in MADE.items()
        for method in USED[name]
    },
    **{
        f"{name}.{method}": lambda make=make, method=method: [
            dense(found) for found in uses(make().fit(X, Y), method)
        ]
        for name, make in SCALERS.items()
        for method in ("fit_transform", "transform", "inverse_transform")
        if hasattr(make(), method)
    },
    **{
        f"{name}.fit": lambda make=make: [np.asarray(make().fit(X, Y).privacy_spent_)]
        for name, make in SCALERS.items()
    },
    **{f"DPContextualBandit.{name}": plays for name in ("act", "sample", "predict", "partial_fit")},
    "DPContextualBandit.decision_function": plays,
    "DPContextualBandit.fit": partial(plays, people=True),
    **{
        f"{kind.__name__}.{method}": lambda kind=kind, method=method: uses(
            search(logistic(), kind).fit(X, Y), method
        )
        for kind in (DPGridSearchCV, DPRandomizedSearchCV)
        for method in PROBABILITIES
    },
    "DPGridSearchCV.fit": lambda: fits(search(linear())),
    "DPRandomizedSearchCV.fit": lambda: fits(search(linear(), DPRandomizedSearchCV)),
    "Chunks.from_arrays": lambda: fits(linear(), Chunks.from_arrays([X], [REAL])),
    "evaluate": lambda: evaluates(logistic().fit(X, Y)),
    "PrivacyBudget.fit": lambda: budgeted(),
}
# The same entries with other settings.
MORE = {
    "softmax": lambda: fits(logistic(classes=[0, 1, 2])),
    "data bounds": lambda: fits(logistic(data_norm=None, data_bounds=(-1, 1))),
    "found bounds": lambda: fits(linear(data_norm=None, target_bounds=None, epsilon=20.0)),
    "sparse": lambda: fits(logistic(), sp.csr_array(X), Y),
    "chunks": lambda: fits(linear(), Chunks([(X, REAL)])),
    "dask": computes,
    "weights": lambda: fits(linear(), X, REAL, sample_weight=np.abs(REAL)),
    "people": lambda: fits(linear(), X, REAL, privacy_unit=PEOPLE),
    "zero out": lambda: fits(linear(adjacency="zero_out")),
    "huber": lambda: fits(linear(loss="huber")),
    "pure": lambda: fits(logistic(delta=0.0)),
    "sites": lambda: fits(logistic(), X, Y, sites=PEOPLE % 3),
    # At so large a budget its noise hardly changes the objective.
    "objective perturbation of people": lambda: fits(
        logistic(solver="objective_perturbation", epsilon=200.0), X, Y, privacy_unit=PEOPLE
    ),
    "audit": audits,
    "privatize": privatizes,
    "evaluate, regression": lambda: evaluates(linear().fit(X, REAL)),
    "evaluate, people": lambda: evaluates(logistic().fit(X, Y), privacy_unit=PEOPLE),
    "search of people": lambda: fits(search(linear()), X, REAL, privacy_unit=PEOPLE),
    "absolute errors": lambda: fits(search(linear(), scoring="neg_mean_absolute_error")),
    "log loss": lambda: fits(search(logistic(), scoring="neg_log_loss")),
    **{f"policy {name}": partial(plays, name) for name in POLICIES},
    **{
        f"solver {name}": lambda name=name, make=make: fits(make(solver=name, epsilon=9.0))
        for name in SOLVERS
        for make in [linear if name in ("adassp", "screening", "tracked_gd") else logistic]
        if name not in ("blocks", "ftrl", "frank_wolfe", "quantile_gd")
    },
    "solver frank_wolfe": lambda: fits(lasso(solver="frank_wolfe")),
}


def budgeted():
    with skdp.PrivacyBudget(epsilon=5.0, delta=1e-4) as budget:
        return learnt(budget.fit(linear(), X, REAL))


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


def heard(*_):
    raise AssertionError("a handler of numpy was called")


class Log:
    """A log that must stay empty."""

    write = heard


MODES = {
    "raise": {"all": "raise"},
    "warn": {"all": "warn"},
    "print": {"all": "print"},
    "call": {"all": "call", "call": heard},
    "log": {"all": "log", "call": Log()},
}
_usual = {}


def usual(name):
    if name not in _usual:
        with np.errstate(all="ignore"), scipy.special.errstate(all="ignore"):
            _usual[name] = (ENTRIES | MORE)[name]()
    return _usual[name]


@pytest.mark.parametrize("mode", ["raise", "warn", *by_night("print", "call", "log")])
@pytest.mark.parametrize("name", [*ENTRIES, *MORE])
def test_no_setting_changes_what_comes_out_or_is_said(name, mode, capfd):
    expected = usual(name)
    alarm = {"raise": "raise", "warn": "warn"}.get(mode, "ignore")
    with (
        warnings.catch_warnings(),
        np.errstate(**MODES[mode]),
        scipy.special.errstate(all=alarm),
    ):
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("error", scipy.special.SpecialFunctionWarning)
        found = (ENTRIES | MORE)[name]()
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert capfd.readouterr() == ("", "")


def test_every_public_method_that_takes_rows_is_tried():
    public = [skdp, preprocessing, skdp.model_selection]
    kinds = {getattr(module, name) for module in public for name in module.__all__}
    found = {
        f"{kind.__name__}.{name}"
        for kind in kinds
        if inspect.isclass(kind) and not inspect.isabstract(kind)
        for name, method in inspect.getmembers(kind, callable)
        if not name.startswith("_") and "X" in _parameters(method)
    }
    found |= {
        kind.__name__
        for kind in kinds
        if inspect.isfunction(kind) and {"X", "X_test"} & set(_parameters(kind))
    }
    assert found == set(ENTRIES)


def _parameters(method):
    try:
        return inspect.signature(method).parameters
    except (TypeError, ValueError):
        return {}
