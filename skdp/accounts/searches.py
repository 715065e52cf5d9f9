"""What scikit-learn's own searches have spent, of whose fits they keep only one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import clone, is_classifier

from .findings import Findings
from .folds import folds_of

__all__ = ["in_search"]


def in_search(
    thing: Any,
    who: str,
    look: Callable[[Any, str], Findings],
    plan: Callable[[Any, str], Findings],
) -> Findings:
    """All fits of a search: those of each candidate to each fold, and the last one.

    Scikit-learn drops what it fits to folds, and keeps the parameters of candidates. A fit of this
    package spends no more than its parameters say, so that is what each of them counts, as many
    times as a row takes part (:mod:`skdp.accounts.folds`).

    No number covers the search itself: it holds exact scores of held-out rows, and has chosen by
    them.

    Parameters
    ----------
    thing : GridSearchCV or RandomizedSearchCV
        Fitted.
    who : str
        Its name.
    look : callable
        Finds the fits in a fitted part.
    plan : callable
        Finds what a part would spend by its parameters.
    """
    if not hasattr(thing, "cv_results_"):
        return Findings(refused=[f"{who} is not fitted"])
    folds = folds_of(thing.cv, thing.n_splits_, classifier=is_classifier(thing.estimator))
    found = Findings()
    for k, params in enumerate(thing.cv_results_["params"]):
        candidate = clone(thing.estimator).set_params(**clone(params, safe=False))
        part = plan(candidate, f"{who}[{k}]")
        part.receipts = [receipt.times(folds.fits) for receipt in part.receipts if folds.fits]
        found.join(part)
        if part.refused:
            return found
    if thing.refit:
        found.join(look(thing.best_estimator_, f"{who}.best_estimator_"))
    found.leaks.append(
        f"{who} holds exact scores of the rows it was given (cv_results_, best_score_), and has "
        "chosen its parameters by them; no receipt covers that. Search with skdp.model_selection"
    )
    if folds.look_at_rows:
        found.leaks.append(
            f"{who} makes folds that depend on labels or groups, so that one row moves others; "
            "pass cv=KFold(...)"
        )
    return found
