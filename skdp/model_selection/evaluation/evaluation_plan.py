"""Plan of an evaluation: what is asked about test rows, and with which share of the budget.

It is made from parameters and public facts alone, before rows are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...validation import shown

_OF_CLASSES = ("accuracy", "balanced_accuracy", "precision", "recall", "f1")
_OF_TWO_CLASSES = ("selection_rate", "true_positive_rate", "false_positive_rate")
# Scores that follow from labels and predicted classes.
OF_COUNTS = (*_OF_CLASSES, *_OF_TWO_CLASSES)
_OF_PROBABILITIES = ("log_loss", "brier_score")
_CURVES = ("roc_curve", "calibration_curve")
_OF_REGRESSIONS = ("r2", "mean_squared_error", "mean_absolute_error")
# Of models that predict quantiles, and of times to an event.
OF_QUANTILES = ("pinball_loss", "coverage")
OF_TIMES = ("concordance", "integrated_brier_score")
OF_EVENTS = ("d2", "mean_poisson_deviance", "calibration")
# Of what the area under the curve gets: distributions of scores. The rest is for its correction.
AREA_BINS = 0.3
# Of the budget, for the last answer: how much terms of rows vary in R2, and the deviances of D2.
_LAST_SHARES = {"r2": 0.15, "d2": 0.5}
# Of that for times: counts by time and score.
_TABLE_SHARE = 0.3
# Number of rows times mu of an answer: below the first its noise hides all there is to see, and
# below the second intervals are mainly noise.
_LEAST, _FEW = 5.0, 20.0


@dataclass(frozen=True)
class EvaluationPlan:
    """Shares of the budget, in mu^2, that the answers of an evaluation get.

    Parameters
    ----------
    metrics : tuple of str
        What was asked for.
    table : float
        For counts by label and predicted class, or of hits and mistakes.
    bins : float
        For counts by label and bin of the score.
    means : float
        For means of bounded metrics.
    last : float
        For the mean that corrects the area under the ROC curve, or the one with which R2 varies.
    """

    metrics: tuple[str, ...]
    table: float = 0.0
    bins: float = 0.0
    means: float = 0.0
    last: float = 0.0

    @classmethod
    def of(cls, metrics: tuple[str, ...]) -> EvaluationPlan:
        """Plan with an equal share for each kind of answer; one may be what several scores need."""
        asked = set(metrics)
        if asked <= {*_OF_REGRESSIONS, *OF_QUANTILES, *OF_EVENTS}:
            last = max(_LAST_SHARES.get(name, 0.0) for name in metrics)
            return cls(metrics, means=1.0 - last, last=last)
        if asked <= set(OF_TIMES):
            return cls(metrics, bins=_TABLE_SHARE, means=1.0 - _TABLE_SHARE)
        area, curves = "roc_auc" in asked, bool(asked & set(_CURVES))
        table = 1.0 if asked - {"roc_auc", *_CURVES, *_OF_PROBABILITIES} else 0.0
        bins = 1.0 if curves else AREA_BINS * area
        means, last = float(len(asked & set(_OF_PROBABILITIES))), (1 - AREA_BINS) * area
        whole = table + bins + means + last
        return cls(metrics, table / whole, bins / whole, means / whole, last / whole)

    @property
    def coarse(self) -> bool:
        """True if hits and mistakes are all that is to be counted."""
        counted = set(self.metrics) - {"roc_auc", *_CURVES, *_OF_PROBABILITIES}
        return counted == {"accuracy"}

    @property
    def needs_scores(self) -> bool:
        """True if more than predicted classes is asked for."""
        return bool({"roc_auc", *_CURVES, *_OF_PROBABILITIES} & set(self.metrics))

    def evidence(self, n: int, mu: float) -> float:
        """Number of rows times the mu of the first answer that gets least of the budget.

        The last one only corrects what the first ones say, or tells how it varies, and is left out.
        """
        shares = [share for share in (self.table, self.bins, self.means) if share]
        return float(n * mu * np.sqrt(min(shares)))

    def check(self, n: int, mu: float) -> str:
        """Warning if noise is much of what will be seen of n rows at the level mu; empty if not.

        Raises
        ------
        ValueError
            If there would be nothing to see.
        """
        evidence = self.evidence(n, mu)
        advice = "Ask for fewer metrics, or spend more."
        if evidence < _LEAST:
            raise ValueError(
                "evaluate needs more test rows for this budget and these metrics, got "
                f"{n}: noise would hide all there is to see. Nothing was read or spent. {advice}"
            )
        if evidence < _FEW:
            return (
                f"evaluate has few test rows for this budget and these metrics, {n}, so that "
                f"intervals are mainly noise. {advice}"
            )
        return ""


def metrics_for(
    given: Any,
    n_classes: int,
    scores: str | None,
    *,
    grouped: bool,
    events: bool = False,
    times: bool = False,
    quantiles: int = 0,
) -> tuple[str, ...]:
    """The metrics that are asked for, by default all that suit the model.

    A regression has 0 classes, and comparisons of groups have no curves and no R2. Those of
    ``events`` are for any regression, and not beside others; of ``times`` there are two.
    ``quantiles`` is how many a regression predicts; of several there are no errors.

    Raises
    ------
    ValueError
        If a name is unknown, or the metric does not suit the model.
    """
    listed = [given] if isinstance(given, str) else given
    if listed is not None and not (
        isinstance(listed, Sequence) and listed and all(isinstance(name, str) for name in listed)
    ):
        raise ValueError(
            f"evaluate needs metrics to be a list of names, or None, got {shown(given)}."
        )
    usual: tuple[str, ...] = _OF_REGRESSIONS[1:] if grouped else _OF_REGRESSIONS
    asks = listed is not None and not n_classes and set(listed) <= set(OF_EVENTS)
    if (asks or (listed is None and events)) and not grouped:
        usual = OF_EVENTS
    if quantiles:
        usual = OF_QUANTILES + usual * (quantiles == 1 and listed is not None)
    if times:
        usual = OF_TIMES
    suited = usual
    if n_classes:
        two, likely = n_classes == 2, scores == "predict_proba"
        usual = (*_OF_CLASSES, "confusion_matrix")
        usual += _OF_PROBABILITIES * (likely and not grouped)
        usual += ("roc_auc", "roc_curve") * (two and scores is not None and not grouped)
        usual += ("calibration_curve",) * (two and likely and not grouped)
        suited = (*usual, *(_OF_TWO_CLASSES * two))
        usual = suited if grouped else usual
        suited += _OF_PROBABILITIES * (likely and grouped)
        suited += ("roc_auc",) * (likely and not (two or grouped))
    if listed is None:
        return usual
    others = [name for name in listed if name not in suited]
    if others:
        kind = "a regression" if n_classes == 0 else f"a classifier of {n_classes} classes"
        kind += ", by groups" * grouped
        if times:
            kind = "a model of times to an event"
        elif not (n_classes or grouped or quantiles):
            suited += (f"or of counts {' and '.join(OF_EVENTS)}",)
        raise ValueError(
            f"evaluate needs metrics that suit {kind}, {', '.join(suited)}; got "
            f"{', '.join(map(shown, others[:3]))}."
            + " Probabilities need a model with predict_proba."
            * bool(n_classes and not scores)
        )
    return tuple(dict.fromkeys(listed))
