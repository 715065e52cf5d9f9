"""Messages quote parameters that are plain numbers or words, and never what may be data.

Secrets are planted in the rows, and as values of every parameter. No exception, with its notes and
all that it came from, no warning and no line of output may repeat them. Local variables of the
frames of a traceback, which a debugger can see, are out of scope.
"""

import contextlib
import datetime
import inspect
import io
import traceback
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from by_night import by_night
from sklearn.base import BaseEstimator, clone

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
    PrivacyBudget,
    audit,
    preprocessing,
    solvers,
)
from skdp.bandit import policies
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.privacy.rows import Chunks, reading
from skdp.problem import constraints, losses
from skdp.problem import penalties as penalties
from skdp.solvers import GD

N, D = 60, 3
# How the secrets look in print, whole or in part.
MARKS = ("SECRET", "31415", "1931", "83, 69, 67")
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(N, D))
Y = (X[:, 0] > 0).astype(int)
SECRETS = np.full((N, D), 0.3141592653589)


class Telling:
    """An object whose every text repeats what it holds."""

    def __repr__(self):
        return "SECRET"

    __str__ = __repr__

    def __format__(self, spec):
        return "SECRET"

    def __float__(self):
        raise ValueError("SECRET is no number")

    def __array__(self, *args, **kwargs):
        raise RuntimeError("SECRET is no array")


class TellingFloat(float):
    """A number of the user's own class."""

    __repr__ = __str__ = lambda self: "SECRET"
    __format__ = lambda self, spec: "SECRET"  # noqa: E731


CELLS = {
    "bytearray": bytearray(b"SECRET"),
    "bytes": b"SECRET",
    "memoryview": memoryview(b"SECRET"),
    "word": "SECRET",
    "object": Telling(),
    "float of a class": TellingFloat("nan"),
    "list": [["SECRET"], [0.3141592653589]],
    "decimal": Decimal("0.3141592653589"),
    "fraction": Fraction(3141592653589, 10**13),
    "date": datetime.date(1931, 4, 15),
    "time": np.datetime64("1931-04-15"),
    "number": 0.3141592653589,
    "complex": 0.3141592653589j,
    "huge": 31415 * 10**400,
    "pair": (0.3141592653589, "SECRET"),
    "set": frozenset({"SECRET"}),
}


def poisoned(of, cell):
    out = of.astype(object)
    out[(5,) * of.ndim if of.ndim == 1 else (5, 1)] = cell
    return out


def words_of(error):
    """All that an exception, and what it came from, would print."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        # Lines of code are no data, and take long to find.
        yield from traceback.format_exception_only(error)
        yield repr(error)
        yield repr(error.args)
        yield repr(getattr(error, "__notes__", ()))
        # Printed or not: suppressed ones are there for who looks.
        error = error.__cause__ or error.__context__


def said(call):
    """Everything that a call says, whether it succeeds or not."""
    out = io.StringIO()
    texts = []
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        warnings.simplefilter("always")
        try:
            call()
        except Exception as error:
            texts += words_of(error)
    texts += [str(w.message) for w in caught]
    return "\n".join([*texts, out.getvalue()])


def quoted(call):
    text = said(call)
    return [mark for mark in MARKS if mark in text]


FAST = {"solver": GD(steps=1)}


def classifier(kind=DPLogisticRegression, **options):
    return kind(**FAST | {"data_norm": 2.0, "classes": [0, 1]} | options)


def regressor(kind=DPLinearRegression, **options):
    own = {"feature_bound": 1.0} if kind is DPLassoRegressor else {"data_norm": 2.0}
    return kind(**FAST | own | {"target_bounds": (0, 1)} | options)


def bandit(**options):
    return DPContextualBandit(**{"arms": [0, 1], "data_norm": 2.0, "horizon": 4 * N} | options)


LEARNERS = {
    "logistic": classifier(),
    "logistic, classes read off y": classifier(classes=None),
    "machine": classifier(DPSVMClassifier),
    "linear": regressor(),
    "lasso": regressor(DPLassoRegressor),
    "quantiles": regressor(DPQuantileRegressor, quantile=[0.1, 0.9]),
    "counts": regressor(DPPoissonRegressor),
    "hazards": DPHazardRegressor(**FAST, data_norm=2.0, max_time=9.0),
    "grid": DPGridSearchCV(classifier(), {"C": [0.5, 1.0]}, epsilon=20.0),
    "random": DPRandomizedSearchCV(regressor(), {"alpha": [0.5, 1.0]}, epsilon=20.0, n_iter=2),
    "standard scaler": preprocessing.DPStandardScaler(bounds=(-1, 1)),
    "min-max scaler": preprocessing.DPMinMaxScaler(bounds=(-1, 1)),
    "encoder": preprocessing.DPOneHotEncoder(epsilon=50.0, categories=[[0, 1], None, None]),
    "quantile transformer": preprocessing.DPQuantileTransformer(bounds=(-1, 1)),
    "discretizer": preprocessing.DPKBinsDiscretizer(bounds=(-1, 1)),
    "spline transformer": preprocessing.DPSplineTransformer(bounds=(-1, 1)),
    "robust scaler": preprocessing.DPRobustScaler(bounds=(-1, 1)),
    "imputer": preprocessing.DPSimpleImputer(bounds=(-1, 1)),
    "imputer of texts": preprocessing.DPSimpleImputer(strategy="most_frequent", epsilon=50.0),
    "selector by classes": preprocessing.DPSelectKBest(2, classes=[0, 1], bounds=(-1, 1)),
    "selector by numbers": preprocessing.DPSelectKBest(2, target_bounds=(0, 1), bounds=(-1, 1)),
    "components": preprocessing.DPPCA(bounds=(-1, 1)),
    "singular vectors": preprocessing.DPTruncatedSVD(bounds=(-1, 1)),
    "bounds": preprocessing.BoundsScaler(bounds=(-1, 1)),
    "clipper": preprocessing.RowNormClipper(),
}
METHODS = ("predict", "predict_proba", "decision_function", "transform", "inverse_transform")


def fitted(learner):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(learner).fit(X, Y)


FITTED = {name: fitted(learner) for name, learner in LEARNERS.items()}


def calls(name, cell):
    """Every method of a learner with the cell in every argument."""
    rows, targets = poisoned(X, cell), poisoned(Y, cell)
    learner, done = LEARNERS[name], FITTED[name]
    for bad in (rows, rows.tolist(), pd.DataFrame(rows), cell, [cell] * N, poisoned(X[:, 0], cell)):
        yield lambda bad=bad: clone(learner).fit(bad, Y)
        for method in METHODS:
            if hasattr(done, method):
                yield lambda bad=bad, method=method: getattr(done, method)(bad)
        if hasattr(learner, "partial_fit"):
            yield lambda bad=bad: clone(learner).partial_fit(bad, Y)
        if hasattr(learner, "score"):
            yield lambda bad=bad: done.score(bad, Y)
    for bad in (targets, targets.tolist(), pd.Series(targets), cell, [cell] * N, rows):
        yield lambda bad=bad: clone(learner).fit(X, bad)
        if hasattr(learner, "partial_fit"):
            yield lambda bad=bad: clone(learner).partial_fit(X, bad)
        if hasattr(learner, "score"):
            yield lambda bad=bad: done.score(X, bad)
        if "sample_weight" in inspect.signature(learner.fit).parameters:
            yield lambda bad=bad: clone(learner).fit(X, Y, sample_weight=bad)
        if "sites" in inspect.signature(learner.fit).parameters:
            yield lambda bad=bad: clone(learner).fit(X, Y, sites=bad)
        if hasattr(learner, "score"):
            yield lambda bad=bad: done.score(X, Y, sample_weight=bad)
    if hasattr(learner, "solver"):
        yield lambda: clone(learner).fit(Chunks([(rows, Y)]))
        yield lambda: clone(learner).fit(Chunks([(X, targets)]))
        yield lambda: clone(learner).fit(Chunks([(X, Y, targets)]))


# Checks of data are written once, so that a few cells tell for most learners.
PAIRS = [("logistic", cell) for cell in CELLS]
PAIRS += [(n, c) for n in LEARNERS for c in ("bytearray", "object", "number") if n != "logistic"]


@pytest.mark.parametrize("share", [3, *by_night(1)])
@pytest.mark.parametrize(("name", "cell"), PAIRS)
@pytest.mark.by_day(20)
def test_no_method_quotes_data(name, cell, share):
    every = [*calls(name, CELLS[cell])][PAIRS.index((name, cell)) % share :: share]
    assert [found for call in every if (found := quoted(call))] == []


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.by_day(6)
def test_no_method_of_a_bandit_quotes_data(cell):
    cell, rewards = CELLS[cell], Y.astype(float)
    done = bandit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done.fit(X, Y, rewards)
    rows, column = poisoned(X, cell), poisoned(Y, cell)
    found = []
    for bad in (rows, rows.tolist(), cell):
        found += quoted(lambda bad=bad: done.predict(bad)) + quoted(lambda bad=bad: done.act(bad))
        for method in ("fit", "partial_fit"):
            found += quoted(lambda bad=bad, m=method: getattr(bandit(), m)(bad, Y, rewards))
    for bad in (column, column.tolist(), cell):
        for method in ("fit", "partial_fit"):
            found += quoted(lambda bad=bad, m=method: getattr(bandit(), m)(X, bad, rewards))
            found += quoted(lambda bad=bad, m=method: getattr(bandit(), m)(X, Y, bad))
    assert found == []


PARAMETERS = {
    "array": SECRETS,
    "column": SECRETS[:, 0],
    "one entry": SECRETS[:1, 0],
    "list": SECRETS.tolist(),
    "words": np.full(N, "SECRET"),
    "frame": pd.DataFrame(SECRETS),
    "categories": pd.Series(pd.Categorical(["SECRET"] * N)),
    "sparse": sp.csr_array(SECRETS),
    "bytearray": bytearray(b"SECRET"),
    "object": Telling(),
    "float of a class": TellingFloat("nan"),
    "dict": {"key": SECRETS},
}


def parameters(kind):
    found = inspect.signature(kind).parameters.values()
    return [p.name for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


def learners_with(value):
    """Fits with the value as each parameter of each estimator, search, scaler and solver."""
    for kind in (DPLogisticRegression, DPSVMClassifier):
        for name in parameters(kind):
            yield name, lambda kind=kind, n=name: classifier(kind, **{n: value}).fit(X, Y)
    for kind in (DPLinearRegression, DPLassoRegressor):
        for name in parameters(kind):
            yield name, lambda kind=kind, n=name: regressor(kind, **{n: value}).fit(X, Y)
    for name in parameters(DPContextualBandit):
        yield name, lambda n=name: bandit(**{n: value}).fit(X, Y, Y.astype(float))
    for scaler in (learner for learner in LEARNERS.values() if hasattr(learner, "transform")):
        kind, given = type(scaler), scaler.get_params()
        for name in given:
            yield name, lambda k=kind, n=name, o=given: k(**o | {n: value}).fit(X, Y)
    for search, space in ((DPGridSearchCV, "param_grid"), (DPRandomizedSearchCV, None)):
        own = {"estimator": classifier(), "epsilon": 20.0}
        own[space or "param_distributions"] = {"C": [0.5, 1.0]}
        for name in parameters(search):
            yield name, lambda k=search, n=name, o=own: k(**o | {n: value}).fit(X, Y)
    for solver in solvers.SOLVERS.values():
        for name in parameters(solver):
            for make in (classifier, regressor):
                yield (
                    f"{solver.__name__}({name})",
                    lambda s=solver, n=name, m=make: m(solver=s(**{n: value})).fit(X, Y),
                )
    for policy in policies.POLICIES.values():
        for name in parameters(policy):
            yield (
                name,
                lambda p=policy, n=name: bandit(policy=p(**{n: value})).fit(X, Y, Y.astype(float)),
            )


def parts_with(value):
    """Parts of a problem with the value as each argument."""
    filled = {"loss": losses.Hinge(), "n_classes": 3, "low": 0.0, "high": 1.0, "p": 1.5}
    for module in (losses, penalties, constraints):
        for part in module.__all__:
            kind = getattr(module, part)
            if inspect.isabstract(kind):
                continue
            names = parameters(kind)
            for name in names:
                options = {n: filled.get(n, 0.5) for n in names} | {name: value}
                yield f"{part}({name})", lambda k=kind, o=options: k(**o)


def functions_with(value, folder):
    """Functions with the value as each argument."""
    needed = {
        skdp.plan: {"n_samples": 1000, "n_features": 5},
        PrivacyBudget: {"epsilon": 1.0, "delta": 1e-6},
        skdp.privacy_spent: {"estimator": FITTED["logistic"]},
        skdp.save_checkpoint: {"model": FITTED["logistic"], "path": folder / "stream"},
        skdp.load_checkpoint: {"path": folder / "stream"},
        audit.audit: {"estimator": classifier(solver=GD(steps=1)), "X": X, "y": Y, "runs": 1},
        audit.audit_query: {"query": None, "first": None, "second": None},
    }
    for function, options in needed.items():
        for name in parameters(function):
            yield (
                f"{function.__name__}({name})",
                lambda f=function, o=options, n=name: f(**o | {n: value}),
            )


# By day a share of the calls, others for each value; each call is made with a few of the values.
@pytest.mark.parametrize("share", [6, *by_night(1)])
@pytest.mark.parametrize("value", PARAMETERS)
@pytest.mark.by_day(6)
def test_no_parameter_is_quoted_that_may_be_data(value, share, tmp_path):
    turn = [*PARAMETERS].index(value) % share
    value = PARAMETERS[value]
    every = [*learners_with(value), *parts_with(value), *functions_with(value, tmp_path)]
    assert [(name, found) for name, call in every[turn::share] if (found := quoted(call))] == []


def test_all_public_parts_are_tried():
    tried = {type(learner) for learner in LEARNERS.values()} | {DPContextualBandit}
    public = {getattr(skdp, name) for name in skdp.__all__ if name.startswith("DP")}
    shown = [getattr(preprocessing, name) for name in preprocessing.__all__]
    public |= {
        thing
        for thing in shown
        if isinstance(thing, type)
        and issubclass(thing, BaseEstimator)
        and not inspect.isabstract(thing)
    }
    assert public <= tried


@pytest.mark.parametrize("name", ["logistic", "linear", "grid"])
def test_labels_of_two_kinds_are_not_quoted_by_scores(name):
    words = np.array(["SECRET"] * N)
    for y in (["a", 31415] * (N // 2), words, np.full(N, 31415.5), None, "SECRET", 0.31415):
        assert not quoted(lambda y=y: FITTED[name].score(X, y))


def test_types_and_shapes_are_told_in_place_of_values():
    text = said(lambda: classifier(data_norm=SECRETS).fit(X, Y))
    assert "Got an array of shape (60, 3) and dtype float64 instead." in text
    text = said(lambda: skdp.plan(SECRETS, 3))
    assert "got an array of shape (60, 3) and dtype float64." in text
    text = said(lambda: classifier().fit(poisoned(X, bytearray(b"SECRET")), Y))
    assert "an array of shape (60, 3) and dtype object and an array of shape (60,)" in text


def test_a_check_that_fails_in_unheard_of_ways_says_types_alone():
    class Unheard(Exception):
        pass

    def check(given):
        raise Unheard(f"SECRET {given}")

    with pytest.raises(ValueError, match=r"got a list of 2 items, which cannot be read") as caught:
        reading.redacted(check, SECRETS.tolist()[0][:2])
    assert not [mark for mark in MARKS if mark in "".join(words_of(caught.value))]


@pytest.mark.parametrize("where", ["skdp.estimators.opening", "skdp.validation"])
def test_messages_that_are_passed_on_are_found(where, monkeypatch):
    if where == "skdp.validation":
        monkeypatch.setattr("skdp.validation.shown", repr)
        assert quoted(lambda: classifier(data_norm=PARAMETERS["column"]).fit(X, Y))
        return
    monkeypatch.setattr(f"{where}.redacted", lambda check, *a, **options: check(*a, **options))
    assert [f for call in calls("logistic", CELLS["bytearray"]) if (f := quoted(call))]
