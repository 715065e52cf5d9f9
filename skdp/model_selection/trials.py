"""One trial of a search: a model, and a score that may be looked at."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from ..privacy.oracle_factory import noise_for
from ..privacy.randomness import SecretNoise
from ..privacy.row_scores import ROW_SCORES, RowScore
from ..privacy.rows.reading import zero_unless_finite
from ..reporting.open_budgets import covered
from ..reporting.progress_bar import without_progress
from ..validation import numbers_in, shown
from .candidates import Candidate, private_steps, silence

# What numbers of rows are clipped to by default. A log-likelihood: a row at which the true label
# gets 1 %.
_RANGES = {
    "accuracy": (0.0, 1.0),
    "neg_brier_score": (-1.0, 0.0),
    "neg_log_loss": (float(np.log(0.01)), 0.0),
}


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows that a search was given, with their weights and their privacy units."""

    X: Any
    y: Any
    sample_weight: Any = None
    labels: np.ndarray | None = None

    def fit(self, estimator: Any) -> Any:
        """Fit an estimator, in place, to these rows."""
        weights, labels = self.sample_weight, self.labels
        by_step = isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]
        options: dict[str, Any] = {}
        if weights is not None:
            last = f"{estimator.steps[-1][0]}__" if by_step else ""
            options[f"{last}sample_weight"] = weights
        if labels is not None:
            # Whatever has a budget protects the same.
            steps = [f"{name}__" for name in private_steps(estimator)] if by_step else [""]
            options |= {f"{step}privacy_unit": labels for step in steps}
        return estimator.fit(self.X, self.y, **options)


def public_score(scorer: Any, X: Any, y: Any, estimator: Any, noise: SecretNoise) -> float:
    """Exact score of a fitted estimator, by a scorer of scikit-learn's, on rows that are public."""
    del noise
    return float(scorer(estimator, X, y))


def idle_model(candidate: Any, y: Any) -> Any:
    """A model of the kind of a candidate that always predicts the same, fitted to public targets.

    A classifier knows the classes of the candidate.
    """
    if is_regressor(candidate):
        return DummyRegressor().fit(np.zeros((len(y), 1)), y)
    steps = private_steps(candidate).values()
    known = [c for c in (getattr(step, "classes", None) for step in steps) if c is not None]
    labels = np.unique(known[0] if known else y)
    return DummyClassifier().fit(np.zeros((len(labels), 1)), labels)


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
    process of the search, which keeps its own warnings back. No fit shows its progress.
    """
    elsewhere = os.getpid() != process

    def tried() -> tuple[float, Any]:
        quiet = silence() if elsewhere else nullcontext()
        with quiet, without_progress(), zero_unless_finite():
            noise = noise_for(candidate.seed)
            model = rows.fit(candidate.estimator)
            return scoring(model, noise) if candidate.covers(model) else nan, model

    try:
        score, model = covered(tried)
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
