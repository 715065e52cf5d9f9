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
from ..privacy.oracle_factory import noise_for
from ..privacy.randomness import SecretNoise
from ..privacy.row_scores import ROW_SCORES, RowScore
from ..privacy.rows.reading import zero_unless_finite
from ..reporting.open_budgets import covered
from ..reporting.verdicts import TABLE
from ..validation import numbers_in, shown
from .candidates import Candidate, private_steps

_LOGGER = logging.getLogger("skdp")
# Private steps that need numbers.
_LINEAR = (PrivateLinearModel, PrivateTransformer)
# What numbers of rows are clipped to by default. A log-likelihood: a row at which the true label
# gets 1 %.
_RANGES = {
    "accuracy": (0.0, 1.0),
    "neg_brier_score": (-1.0, 0.0),
    "neg_log_loss": (float(np.log(0.01)), 0.0),
}


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows that a search was given, with their weights and their privacy units.

    ``kept`` holds the positions of those to train on; None are all.
    """

    X: Any
    y: Any
    sample_weight: Any = None
    kept: np.ndarray | None = None
    labels: np.ndarray | None = None

    def fit(self, estimator: Any) -> Any:
        """Fit an estimator, in place, to the rows to train on."""
        given = self.X, self.y, self.sample_weight, self.labels
        X, y, weights, labels = (
            part if part is None or self.kept is None else _safe_indexing(part, self.kept)
            for part in given
        )
        by_step = isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]
        options: dict[str, Any] = {}
        if weights is not None:
            last = f"{estimator.steps[-1][0]}__" if by_step else ""
            options[f"{last}sample_weight"] = weights
        if labels is not None:
            # Whatever has a budget protects the same.
            steps = [f"{name}__" for name in private_steps(estimator)] if by_step else [""]
            options |= {f"{step}privacy_unit": labels for step in steps}
        return estimator.fit(X, y, **options)


def check_requests(who: str, estimator: Any) -> None:
    """Refuse weights that scikit-learn's routing would not take to a step of a pipeline.

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

    In a trial such a row would fail the candidate, and so make others win. The candidate stays
    unfitted.

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


def public_score(scorer: Any, X: Any, y: Any, estimator: Any, noise: SecretNoise) -> float:
    """Exact score of a fitted estimator, by a scorer of scikit-learn's, on rows that are public."""
    del noise
    return float(scorer(estimator, X, y))


@dataclass(frozen=True, eq=False)
class Trial:
    """The outcome of a trial. One that failed has the lowest score there is, and no model."""

    score: float = -inf
    params: dict[str, Any] | None = None
    model: Any = None


def perform(
    candidate: Candidate,
    rows: TrainingRows,
    scoring: Callable[[Any, SecretNoise], float],
    process: int,
) -> Trial:
    """Fit and score, and let nothing out but the outcome.

    Whether a trial fails is a part of its outcome: what an error says, and that there was one,
    stays inside, because it would tell of a candidate that may not have won. No row decides it:
    what steps make of an entry that is not finite counts as zero. ``process`` is the number of the
    process of the search, which keeps its own warnings back.
    """
    elsewhere = os.getpid() != process
    try:
        with silence() if elsewhere else nullcontext(), covered(), zero_unless_finite():
            noise = noise_for(candidate.seed)
            model = rows.fit(candidate.estimator)
            score = scoring(model, noise) if candidate.covers(model) else nan
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

    ``target_bounds`` are those of the estimator, if it has some.

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
    known: dict[str, tuple[float, float]] = dict(_RANGES)
    if score_range is None and target_bounds is not None:
        half = (target_bounds[1] - target_bounds[0]) / 2
        # A prediction in the middle is off by no more than half of the width.
        known["neg_mean_absolute_error"] = -half, 0.0
        known["neg_mean_squared_error"] = -half * half, 0.0
    found = known.get(scoring) if score_range is None and isinstance(scoring, str) else score_range
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
