"""One trial of a search: a model, and a score that may be looked at."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.metadata_routing import process_routing

from ..estimators.base import PrivateLinearModel
from ..estimators.opening import ACCEPTED
from ..preprocessing.base import PrivateTransformer
from ..privacy.oracle_factory import PrivateSession
from ..privacy.randomness import SecretNoise
from ..privacy.row_scores import ROW_SCORES, NoisyScoring, RowScore
from ..privacy.rows.reading import zero_unless_finite
from ..reporting.open_budgets import covered
from ..reporting.verdicts import TABLE
from ..validation import numbers_in, shown
from .candidates import Allowance, private_steps

_LOGGER = logging.getLogger("skdp")
# Private steps that need numbers.
_LINEAR = (PrivateLinearModel, PrivateTransformer)
# What a log-likelihood is clipped to by default: a row at which the true label gets 1 %.
_LOG_RANGE = (float(np.log(0.01)), 0.0)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows that a search was given.

    Parameters
    ----------
    X, y : array-like
        All of them.
    sample_weight : array-like or None
        Their weights.
    kept : ndarray or None
        Positions of those to train on; None are all.
    labels : ndarray or None
        Privacy units of all rows.
    """

    X: Any
    y: Any
    sample_weight: Any = None
    kept: np.ndarray | None = None
    labels: np.ndarray | None = None

    def fit(self, estimator: Any) -> Any:
        """Fit an estimator to them.

        Parameters
        ----------
        estimator : estimator
            Fitted in place.
        """
        X, y, weights, labels = self.X, self.y, self.sample_weight, self.labels
        if self.kept is not None:
            X, y = _safe_indexing(X, self.kept), _safe_indexing(y, self.kept)
            weights = None if weights is None else _safe_indexing(weights, self.kept)
            labels = None if labels is None else labels[self.kept]
        by_step = isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]
        given: dict[str, Any] = {}
        if weights is not None:
            last = f"{estimator.steps[-1][0]}__" if by_step else ""
            given[f"{last}sample_weight"] = weights
        if labels is not None:
            # Whatever has a budget protects the same.
            steps = [f"{name}__" for name in private_steps(estimator)] if by_step else [""]
            given |= {f"{step}privacy_unit": labels for step in steps}
        return estimator.fit(X, y, **given)


def check_requests(who: str, estimator: Any) -> None:
    """Refuse weights that scikit-learn's routing would not take to a step of a pipeline.

    Parameters
    ----------
    who : str
        The search.
    estimator : estimator
        With its parameters set.

    Raises
    ------
    ValueError
        If routing is on, and no step has requested the weights, or one has not said whether it
        wants them.
    """
    if not (isinstance(estimator, Pipeline) and get_config()["enable_metadata_routing"]):
        return
    try:
        # Routing looks at names; these are no weights of anybody.
        process_routing(estimator, "fit", sample_weight=np.ones(1))
    except (TypeError, ValueError) as failure:
        raise ValueError(
            f"{who} with sample_weight and enable_metadata_routing=True needs steps that say "
            "whether they want weights, and one that does; call "
            "set_fit_request(sample_weight=True) on the step that is to be weighted."
        ) from failure


def check_rows(who: str, estimator: Any, X: Any) -> None:
    """Refuse rows that a step refuses which comes before all private ones.

    In a trial such a row would fail the candidate, and so make others win.

    Parameters
    ----------
    who : str
        The search.
    estimator : estimator
        A candidate, which stays unfitted.
    X : array-like
        All rows.

    Raises
    ------
    ValueError
        If there is such a row. It says nothing else.
    """
    try:
        with silence(), zero_unless_finite():
            _taken_by(clone(estimator), X)
    except MemoryError:
        raise
    except Exception:
        pass
    else:
        return
    raise ValueError(
        f"{who} needs candidates whose steps take all rows, because a trial that fails would tell "
        "of a row by who wins; steps of a candidate refuse a row. Give them parameters with which "
        "they take any, such as handle_unknown='ignore', or clean the rows one by one beforehand."
    )


def _taken_by(part: Any, X: Any) -> Any:
    """Rows as they come out of a part, if private steps leave them as they are."""
    inside = private_steps(part)
    if part is None or isinstance(part, str):
        return X
    if "" in inside:
        return check_array(X, **ACCEPTED) if isinstance(part, _LINEAR) else X
    if isinstance(part, Pipeline):
        for _, step in part.steps:
            X = _taken_by(step, X)
            if private_steps(step):
                # What comes next is given something else.
                break
        return X
    if hasattr(part, "predict"):
        for _, inner in TABLE[type(part)].parts(part) or []:
            # Others are for targets.
            if hasattr(inner, "predict"):
                _taken_by(inner, X)
        return X
    numbers = FunctionTransformer(check_array, kw_args=ACCEPTED)
    return part.set_params(**{path: clone(numbers) for path in inside}).fit(X).transform(X)


@dataclass(frozen=True, eq=False)
class PublicScoring:
    """Exactly, on rows that are public.

    Parameters
    ----------
    scorer : callable
        As scikit-learn's: takes a fitted estimator, X and y.
    X, y : array-like
        Public rows.
    """

    scorer: Callable[[Any, Any, Any], float]
    X: Any
    y: Any

    def __call__(self, estimator: Any, noise: SecretNoise) -> float:
        """The score of a fitted estimator."""
        del noise
        return float(self.scorer(estimator, self.X, self.y))


@dataclass(frozen=True, eq=False)
class Candidate:
    """Estimator that a trial is going to fit, with its budget.

    Parameters
    ----------
    params : dict
        As drawn or listed.
    estimator : estimator
        With these parameters and a budget.
    allowance : Allowance
        The budget.
    seed : int or None
        Of the noise on the score, in tests; None draws from the operating system.
    """

    params: dict[str, Any]
    estimator: Any
    allowance: Allowance
    seed: int | None


@dataclass(frozen=True, eq=False)
class Trial:
    """The outcome of a trial. One that failed has the lowest score there is, and no model."""

    score: float = -inf
    params: dict[str, Any] | None = None
    model: Any = None


def perform(
    candidate: Candidate,
    rows: TrainingRows,
    scoring: NoisyScoring | PublicScoring,
    process: int,
) -> Trial:
    """Fit and score, and let nothing out but the outcome.

    Whether a trial fails is a part of its outcome: what an error says, and that there was one,
    stays inside, because it would tell of a candidate that may not have won. No row decides it:
    what steps make of an entry that is not finite counts as zero.

    Parameters
    ----------
    candidate : Candidate
        Ready to be fitted.
    rows : TrainingRows
        To train on.
    scoring : NoisyScoring or PublicScoring
        How to judge.
    process : int
        Number of the process of the search, which keeps its own warnings back.
    """
    elsewhere = os.getpid() != process
    try:
        with silence() if elsewhere else nullcontext(), covered(), zero_unless_finite():
            noise = PrivateSession(candidate.seed).noise
            model = rows.fit(candidate.estimator)
            score = scoring(model, noise) if candidate.allowance.covers(model) else nan
    except Exception:
        return Trial()
    return Trial() if isnan(score) else Trial(score, candidate.params, model)


def row_score(
    who: str,
    scoring: str | Callable[..., Any] | None,
    score_range: tuple[float, float] | None,
    estimator: Any,
    target_bounds: tuple[float, float] | None,
) -> RowScore:
    """The score that a parameter names.

    Parameters
    ----------
    who : str
        The search, for messages.
    scoring : str, callable or None
        See the searches.
    score_range : pair of float or None
        See the searches.
    estimator : estimator
        What is searched over.
    target_bounds : pair of float or None
        Of the estimator, if it has some.

    Raises
    ------
    ValueError
        If the score is no mean of a bounded number, or its range is not known.
    """
    if scoring is None:
        scoring = "accuracy" if is_classifier(estimator) else "neg_mean_squared_error"
    if isinstance(scoring, str) and scoring not in ROW_SCORES:
        raise ValueError(
            f"{who} needs a score that is a mean over rows of a bounded number, one of "
            f"{sorted(ROW_SCORES)} or a callable, got {shown(scoring)}. Other scores can be used "
            "with a public validation=(X, y)."
        )
    of_rows = ROW_SCORES[scoring] if isinstance(scoring, str) else scoring
    found = score_range
    if found is None:
        found = _known_range(scoring, target_bounds)
    if found is None:
        raise ValueError(
            f"{who} needs score_range=(low, high) for this score: a range known without the rows, "
            "to which the numbers of rows are clipped. For errors of regression, target_bounds of "
            "the estimator will do."
        )
    ends = numbers_in(found)
    if ends is None or ends.shape != (2,) or not -np.inf < ends[0] < ends[1] < np.inf:
        raise ValueError(f"{who} needs a finite score_range with low < high, got {shown(found)}.")
    return RowScore(of_rows, float(ends[0]), float(ends[1]))


def _known_range(
    scoring: str | Callable[..., Any], target_bounds: tuple[float, float] | None
) -> tuple[float, float] | None:
    if scoring == "accuracy":
        return 0.0, 1.0
    if scoring == "neg_brier_score":
        return -1.0, 0.0
    if scoring == "neg_log_loss":
        return _LOG_RANGE
    if target_bounds is None:
        return None
    half = (target_bounds[1] - target_bounds[0]) / 2
    # A prediction in the middle is off by no more than half of the width.
    if scoring == "neg_mean_absolute_error":
        return -half, 0.0
    return (-half * half, 0.0) if scoring == "neg_mean_squared_error" else None


@contextmanager
def silence() -> Iterator[None]:
    """Keep warnings and logs back: they would tell how many trials there are, and of which kind."""

    def nothing(record: logging.LogRecord) -> bool:
        del record
        return False

    # Each search takes away its own, so that of two at a time none lets the other's trials speak.
    _LOGGER.addFilter(nothing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _LOGGER.removeFilter(nothing)
