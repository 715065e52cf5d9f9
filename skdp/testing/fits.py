"""Recording and replaying a whole ``fit``."""

from __future__ import annotations

from typing import Any

from ..privacy.accounting.calculus import PureDP
from ..privacy.accounting.ledger import Ledger, PrivacySpent
from ..privacy.accounting.promise import delta_for
from ..privacy.adjacency import Adjacency
from ..privacy.oracle_factory import opened_by
from ..privacy.randomness import SecretNoise
from ..privacy.rows.base import RowStore
from ..reporting.privacy_ledger import PrivacyLedger
from .oracles import ExactOracle, RecordingOracle, ReplayOracle, Transcript


def record_fit(estimator: Any, X: Any, y: Any, **fit_params: Any) -> Transcript:
    """Fit the estimator and return all that its oracle was asked and answered.

    Parameters
    ----------
    estimator : estimator
        Fitted in place.
    X : array-like
        Features.
    y : array-like
        Targets.
    **fit_params
        Passed on to ``fit``, for example ``sample_weight``.
    """
    transcript = Transcript()

    def oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Any:
        return RecordingOracle(rows, ledger, adjacency, noise, transcript)

    with opened_by(oracle):
        estimator.fit(X, y, **fit_params)
    return transcript


def replay_fit(estimator: Any, X: Any, y: Any, transcript: Transcript, **fit_params: Any) -> None:
    """Fit with recorded answers: whatever X and y hold, only their shape can matter.

    Parameters
    ----------
    estimator : estimator
        Fitted in place.
    X : array-like
        Features.
    y : array-like
        Targets.
    transcript : Transcript
        Of an earlier fit with the same parameters.
    **fit_params
        Passed on to ``fit``, for example ``sample_weight``.

    Raises
    ------
    AssertionError
        If the estimator asks other queries than were recorded, or fewer.
    """
    made: list[ReplayOracle] = []

    def oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Any:
        del rows, noise
        made.append(ReplayOracle(ledger, adjacency, transcript))
        return made[-1]

    with opened_by(oracle):
        estimator.fit(X, y, **fit_params)
    assert all(replay.finished() for replay in made), "fewer queries than recorded"


def exact_fit(estimator: Any, X: Any, y: Any, **fit_params: Any) -> Ledger:
    """Fit without noise and return the receipt, whose epsilon is infinite.

    The estimator gets this receipt too, also if the fit fails after an answer. Fits in other
    threads keep their noise.

    Parameters
    ----------
    estimator : estimator
        Fitted in place.
    X : array-like
        Features.
    y : array-like
        Targets.
    **fit_params
        Passed on to ``fit``, for example ``sample_weight``.
    """
    calculus = PureDP() if estimator.delta == 0 else None
    receipt = Ledger(float("inf"), delta_for(estimator.delta, None), calculus=calculus)

    def oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Any:
        del noise
        return ExactOracle(rows, ledger, adjacency, receipt)

    try:
        with opened_by(oracle):
            estimator.fit(X, y, **fit_params)
    finally:
        # A fit that was refused at once keeps the results, and the receipt, of an earlier one.
        if receipt.total:
            estimator.privacy_spent_ = PrivacySpent(float("inf"), estimator.delta_)
            estimator.privacy_ledger_ = PrivacyLedger(receipt.receipt())
    return receipt
