"""Fuzzing of totals: what composed estimators have spent, and budgets within budgets."""

import copy
import pickle
import warnings
from functools import partial
from math import sqrt

import numpy as np
from fuzzing.inputs import NONSENSE, SECRET
from fuzzing.properties import attempt, check_amount, require
from hypothesis import strategies as st
from interruptions import noted_ledgers
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, DPSVMClassifier, PrivacyBudget
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler, RowNormClipper
from skdp.privacy.accounting import gdp
from skdp.solvers import GD

_X = np.random.default_rng(0).uniform(-1, 1, size=(40, 3))
_Y = np.arange(40) % 2
_X[-1, -1] = SECRET
_QUICK = {"data_norm": 2.0, "classes": [0, 1], "precondition": None, "solver": GD(steps=2)}


def _model(draw):
    kind = draw(st.sampled_from([DPLogisticRegression, DPSVMClassifier]))
    options = {"random_state": draw(st.sampled_from([None, 0])), **_QUICK}
    options["adjacency"] = draw(st.sampled_from(["replace_one", "replace_one", "zero_out"]))
    options["delta"] = draw(st.sampled_from([1e-5, 1e-5, 1e-9, 1e-3]))
    if kind is DPLogisticRegression and not draw(st.integers(0, 3)):
        options["solver"] = "objective_perturbation"
    return kind(epsilon=draw(st.sampled_from([1.0, 0.1, 20.0])), **options)


def _step(draw, depth):
    choice = draw(st.integers(0, 9 if depth else 6))
    simple = [
        lambda: DPStandardScaler(epsilon=0.5, bounds=(-1, 1)), lambda: DPMinMaxScaler(epsilon=0.3),
        lambda: BoundsScaler(bounds=(-1, 1)), RowNormClipper, lambda: Normalizer(),
        lambda: FunctionTransformer(), lambda: "passthrough", StandardScaler,
    ]  # fmt: skip
    if choice <= 6:
        return draw(st.sampled_from(simple))()
    inner = [_step(draw, depth - 1) for _ in range(draw(st.integers(1, 2)))]
    if choice == 7:
        return Pipeline([(f"s{k}", step) for k, step in enumerate(inner)])
    if choice == 8:
        return FeatureUnion([(f"u{k}", step) for k, step in enumerate(inner)])
    return ColumnTransformer(
        [(f"c{k}", step, [k]) for k, step in enumerate(inner)],
        remainder=draw(st.sampled_from(["drop", "passthrough"])),
        sparse_threshold=draw(st.sampled_from([0.0, 0.3])),
    )


def _estimator(draw, depth):
    """A classifier, composed of others to some depth, and whether all its fits hold all rows."""
    choice = draw(st.integers(0, 10)) if depth else 0
    if choice <= 1:
        return _model(draw), True
    part, whole = _estimator(draw, depth - 1)
    if choice <= 4:
        steps = [(f"s{k}", _step(draw, depth)) for k in range(draw(st.integers(0, 2)))]
        return Pipeline([*steps, ("model", part)]), whole
    other, also = _estimator(draw, depth - 1)
    named = [("a", part), ("b", draw(st.sampled_from([other, other, "drop"])))]
    return {
        5: lambda: (VotingClassifier(named), whole and also),
        6: lambda: (BaggingClassifier(part, n_estimators=2), False),
        7: lambda: (StackingClassifier(named, other, cv=draw(_FOLDS)), False),
        8: lambda: (OneVsRestClassifier(part), whole),
        9: lambda: (GridSearchCV(part, {}, cv=2), False),
        10: lambda: draw(
            st.sampled_from(
                [
                    (FrozenEstimator(part), whole), (LogisticRegression(), whole), (None, whole),
                    (CalibratedClassifierCV(part, cv=2), False),
                    (TransformedTargetRegressor(DPLinearRegression(data_norm=2.0)), whole),
                    (DPGridSearchCV(_model(draw), {"C": [0.1, 1.0]}, n_iter=1), False),
                ]
            )
        ),
    }[choice]()  # fmt: skip


_FOLDS = st.sampled_from([2, KFold(2), None])


@st.composite
def total_cases(draw):
    """An estimator that is composed of others, fitted or not, and a delta."""
    made, whole = _estimator(draw, draw(st.integers(1, 3)))
    fits = draw(st.integers(0, 9)) > 0
    own = st.one_of(st.floats(1e-12, 0.5), st.sampled_from(NONSENSE))
    return made, whole, fits, draw(st.one_of(st.none(), st.none(), own))


def check_total(case):
    """A total covers all that was charged, or there is none."""
    made, whole, fits, delta = case
    ledgers = []
    if fits and hasattr(made, "fit"):
        with noted_ledgers() as ledgers:
            try:
                # What scikit-learn raises and warns of is not looked at.
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made.fit(_X, _Y)
            except Exception:
                fits = False
    total, refusal = attempt(skdp.privacy_spent, made, delta)
    if refusal is not None:
        require("need" in str(refusal), f"says {refusal}")
        return
    check_amount(total.epsilon, "total epsilon")
    check_amount(total.delta, "total delta", 1.0)
    require(len(str(total)) > 0, "prints nothing")
    charged = [ledger for ledger in ledgers if ledger.receipt()]
    require(fits or not charged, "a total of a fit that failed")
    _, other = attempt(skdp.privacy_spent, made, total.delta if 0 < total.delta < 1 else None)
    require(other is None, f"no total at its own delta: {other!r}")
    if not whole:
        return
    require(sum(r.fits for r in total.receipts) >= len(charged), "fewer fits than were charged")
    events = [event for ledger in charged for event in ledger.receipt()]
    if events and {type(event).__name__ for event in events} == {"GaussianEvent"}:
        square = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in events)
        least = gdp.epsilon(sqrt(square), total.delta)
        require(total.epsilon >= least * (1 - 1e-6), f"{total.epsilon} for {least}")


_amounts = st.one_of(st.sampled_from([1.0, 0.5, 3.0]), st.floats(1e-3, 20))
_slacks = st.sampled_from([1e-5, 1e-5, 1e-3, 1e-9])
_WORDS = ["open", "open", "fit", "fit", "fit", "stream", "close", "odd"]
_RULES = ["auto", "gaussian", "renyi", "sums"]


@st.composite
def nesting_cases(draw):
    """Budgets that open and close, and fits, streams, copies and totals in between."""
    todo = []
    for _ in range(draw(st.integers(2, 9))):
        word = draw(st.sampled_from(_WORDS))
        if word == "open":
            relation = draw(st.sampled_from(["replace_one", "replace_one", "zero_out"]))
            rule = draw(st.sampled_from(_RULES))
            todo.append((word, draw(_amounts), draw(_slacks), relation, rule))
        elif word == "close":
            todo.append((word, draw(st.integers(0, 9))))
        elif word == "odd":
            todo.append((word, draw(st.sampled_from(["open", "copy", "pickle", "leave", "late"]))))
        else:
            todo.append((word, _model(draw), draw(st.sampled_from([_X, _X, _X[:1], _X[:0]]))))
    return todo


def check_nesting(case):
    """Every open budget is charged for every fit, or the fit is refused by all of them."""
    opened, held = [], []
    try:
        for word, *given in case:
            before = [(one.spent.epsilon, len(one.receipts)) for one in opened]
            if word == "open":
                made = PrivacyBudget(*given[:2], adjacency=given[2], accounting=given[3])
                opened.append(made.open())
                held.append(made)
            elif word == "close":
                if opened:
                    one = opened.pop(given[0] % len(opened))
                    one.close()
            elif word == "odd":
                _odd(given[0], opened)
            else:
                _learn_within(word, *given, opened, before)
            for one in held:
                check_amount(one.spent.epsilon, "spent", one.epsilon * (1 + 1e-9))
                check_amount(one.remaining.epsilon, "left", one.epsilon * (1 + 1e-9))
                require(len(repr(one)) > 0, "says nothing")
    finally:
        for one in held:
            one.close()


def _odd(what, opened):
    if not opened:
        return
    one = opened[-1]
    calls = {
        "open": one.open,
        "copy": partial(copy.deepcopy, one),
        "pickle": partial(pickle.dumps, one),
        "leave": partial(setattr, one, "note", 1),
        "late": partial(one.__class__(1.0, 1e-5).__getattribute__, "spent"),
    }
    _, refusal = attempt(calls[what], also=(RuntimeError,))
    require(what == "leave" or refusal is not None, f"allows {what}")


def _learn_within(word, model, X, opened, before):
    y, model = _Y[: len(X)], clone(model)
    with noted_ledgers() as ledgers:
        method = model.fit if word == "fit" else model.partial_fit
        _, failure = attempt(method, X, y)
    charged = [ledger for ledger in ledgers if ledger.receipt()]
    for one, (spent, runs) in zip(opened, before, strict=True):
        require(one.spent.epsilon >= spent * (1 - 1e-9), "a budget is less spent than it was")
        if charged:
            require(len(one.receipts) == runs + 1, "a fit is not on the book")
            require(one.spent.epsilon > 0, "spent for nothing")
        elif failure is not None:
            require(len(one.receipts) == runs, "a refusal is on the book")
