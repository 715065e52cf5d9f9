"""Fuzzing of what is fitted: models, bandits, transformers and searches."""

from functools import partial

import numpy as np
import pandas as pd
import scipy.sparse as sp
from fuzzing.inputs import (
    BANDIT,
    CHOSEN,
    MODELS,
    ROWS,
    SEARCH,
    TRANSFORMERS,
    matrices,
    parameters,
    targets,
    weights,
)
from fuzzing.properties import (
    attempt,
    check_amount,
    check_numbers,
    check_receipt,
    check_untouched,
    require,
)
from hypothesis import strategies as st
from interruptions import noted_ledgers

import skdp
from skdp import DPContextualBandit, DPLinearRegression, DPLogisticRegression, PrivacyBudget
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV

# Methods that take rows.
_ASKED = ["predict", "predict_proba", "predict_log_proba", "decision_function"]


def _made(draw, tables):
    kind = draw(st.sampled_from(list(tables)))
    return kind(**draw(parameters(tables[kind])))


@st.composite
def model_cases(draw):
    """A model, how it is called, and two calls' worth of data."""
    model, calls = _made(draw, MODELS), []
    usual = "two" if hasattr(model, "classes") else "real"
    if usual == "two" and draw(st.integers(0, 3)) and model.classes is None:
        model.classes = [0, 1]
    for _ in range(2):
        n = draw(ROWS)
        method = draw(st.sampled_from(["fit", "partial_fit"]))
        calls.append((method, draw(matrices(n)), draw(targets(n, usual)), draw(weights(n))))
    return model, calls, draw(st.sampled_from([None, 1.0, 1e-3])), draw(st.booleans())


def check_model(case):
    """Fit, go on, predict."""
    model, calls, ceiling, grouped = case
    budget = None if ceiling is None else PrivacyBudget(ceiling, 1e-5).open()
    try:
        for method, X, y, w in calls:
            before = dict(vars(model))
            if not hasattr(model, method):
                continue
            keywords = {} if w is None else {"sample_weight": w}
            if grouped and method == "fit" and isinstance(y, np.ndarray) and y.ndim and len(y) > 5:
                keywords["sites"] = np.arange(len(y)) % 2
            with noted_ledgers() as ledgers:
                call = getattr(model, method)
                out, failure = attempt(call, X, y, **keywords)
            check_receipt(model, ledgers)
            if failure is not None and method == "fit":
                check_untouched(model, before, failure)
            if failure is not None and not ledgers:
                kept = {k for k in before if k.endswith("_") and not k.startswith("_")}
                require(kept <= set(vars(model)), "a refusal took results away")
            if failure is None:
                require(out is model, "does not return itself")
            if hasattr(model, "coef_"):
                require(hasattr(model, "privacy_spent_"), "a model without a receipt")
                check_numbers(model.coef_, "coef_")
                check_numbers(model.intercept_, "intercept_")
                for asked in _ASKED:
                    if hasattr(model, asked):
                        attempt(getattr(model, asked), X)
                attempt(model.score, X, y)
                total, refusal = attempt(skdp.privacy_spent, model)
                require(refusal is None, f"no total: {refusal!r}")
                check_amount(total.epsilon, "total epsilon")
                if ceiling is not None:
                    spent = budget.spent
                    require(0 <= spent.epsilon <= ceiling * (1 + 1e-12), f"ceiling: {spent}")
    finally:
        if budget is not None:
            budget.close()


@st.composite
def bandit_cases(draw):
    """A bandit and calls."""
    model, calls = DPContextualBandit(**({"arms": [0, 1]} | draw(parameters(BANDIT)))), []
    if model.data_norm is None and model.feature_bound is None:
        model.data_norm = 1.5
    for _ in range(3):
        n = draw(ROWS)
        method = draw(st.sampled_from(["fit", "partial_fit", "partial_fit", "act"]))
        calls.append((method, draw(matrices(n)), draw(targets(n, "two")), draw(targets(n, "real"))))
    return model, calls


def check_bandit(case):
    """Learn, act, predict."""
    model, calls = case
    for method, *columns in calls:
        before = dict(vars(model))
        with noted_ledgers() as ledgers:
            call = getattr(model, method)
            _, failure = attempt(call, *(columns[:1] if method == "act" else columns))
        check_receipt(model, ledgers)
        if failure is not None and not ledgers and "_session" in vars(model):
            kept = {k for k in before if k.endswith("_") and not k.startswith("_")}
            require(kept <= set(vars(model)), "a refusal took results away")
        if hasattr(model, "_rule"):
            require(hasattr(model, "privacy_spent_"), "a model without a receipt")
            check_numbers(model.coef_, "coef_")
            for asked in ("predict", "decision_function"):
                attempt(getattr(model, asked), columns[0])


@st.composite
def transformer_cases(draw):
    """A transformer and two data sets."""
    kind = draw(st.sampled_from(list(TRANSFORMERS)))
    usual = {"bounds": (-1, 1), "classes": [0, 1]}
    usual = {name: value for name, value in usual.items() if name in TRANSFORMERS[kind]}
    given = draw(parameters(TRANSFORMERS[kind])) if draw(st.booleans()) else {}
    return kind(**(usual | given)), [draw(matrices(draw(ROWS))) for _ in range(2)]


def check_transformer(case):
    """Fit, transform, and back."""
    model, data = case
    for X in data:
        before = dict(vars(model))
        with noted_ledgers() as ledgers:
            _, failure = attempt(model.fit, X, np.arange(getattr(X, "shape", (6,))[0]) % 2)
        check_receipt(model, ledgers)
        if failure is not None:
            check_untouched(model, before, failure)
        out, refusal = attempt(model.transform, X)
        if failure is None:
            require(refusal is None, f"fits but does not transform: {refusal!r}")
            rows = pd.DataFrame(X.toarray() if sp.issparse(X) else X)
            # Texts may be numbers, and missing ones.
            numbers = rows.apply(pd.to_numeric, errors="coerce")
            check_numbers(out, "transformed rows", missing=numbers.isna().to_numpy().any())
            if hasattr(model, "inverse_transform"):
                attempt(model.inverse_transform, out)
            total, _ = attempt(skdp.privacy_spent, model)
            require(total is not None, "no total")
            check_amount(total.epsilon, "total epsilon")


@st.composite
def search_cases(draw):
    """A search of either kind over logistic regressions."""
    kind = draw(st.sampled_from([DPRandomizedSearchCV, DPGridSearchCV]))
    table = SEARCH
    if kind is DPGridSearchCV:
        table = SEARCH | {"exhaustive": [False, True], "n_iter": [*SEARCH["n_iter"], None]}
    given = {"n_iter": 1} | draw(parameters(table))
    space = {"C": [0.1, 1.0]} if draw(st.booleans()) else draw(st.sampled_from(CHOSEN))
    model = DPLogisticRegression(classes=[0, 1], data_norm=2.0)
    if not draw(st.integers(0, 9)):
        model = draw(st.sampled_from([DPLinearRegression(), None, "model", DPLogisticRegression]))
    n = draw(ROWS)
    return partial(kind, model, space, **given), draw(matrices(n)), draw(targets(n, "two"))


def check_search(case):
    """Search, and predict by what was found."""
    make, X, y = case
    made, refusal = attempt(make)
    if refusal is not None:
        return
    _, failure = attempt(made.fit, X, y, also=(RuntimeError,))
    if isinstance(failure, RuntimeError) and not isinstance(failure, skdp.BudgetExceededError):
        require("no candidate" in str(failure), f"raised {failure!r}")
    if failure is not None:
        require("best_estimator_" not in vars(made), "a winner beside a failure")
        return
    require(made.privacy_spent_.epsilon <= made.epsilon, "above the budget")
    require(
        made.best_estimator_.privacy_spent_ == made.privacy_spent_, "the winner has another receipt"
    )
    check_amount(skdp.privacy_spent(made).epsilon, "total epsilon")
    attempt(made.predict, X)
