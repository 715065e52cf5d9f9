"""Recording and replaying fits, streams and bandits, and fits without noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np

from ..privacy.accounting.calculus import PureDP
from ..privacy.accounting.default_delta import delta_for
from ..privacy.accounting.ledger import Ledger, PrivacySpent
from ..privacy.adjacency import Adjacency
from ..privacy.bandit_sessions.arm_session import ArmSession, sessions_opened_by
from ..privacy.bandit_sessions.bandit_plans import Plan
from ..privacy.oracle_factory import opened_by
from ..privacy.randomness import SecretNoise
from ..privacy.rows.base import RowStore
from ..reporting.privacy_ledger import PrivacyLedger
from .oracles import Entry, ExactOracle, RecordingOracle, ReplayOracle, Transcript, expected


def record(run: Callable[[], object]) -> Transcript:
    """Let a fit, a stream or a bandit run, and return all that was asked and answered.

    Parameters
    ----------
    run : callable
        Fits, feeds a stream, or begins a bandit and goes through it.
    """
    transcript = Transcript()

    def session(*terms: Any) -> ArmSession:
        return cast(ArmSession, _RecordingSession(ArmSession(*terms), transcript))

    oracle = partial(RecordingOracle, transcript=transcript)
    with opened_by(oracle), sessions_opened_by(session):
        run()
    return transcript


def replay(run: Callable[[], object], transcript: Transcript) -> None:
    """Let it run with recorded answers: whatever rows hold, only their number can matter.

    What is drawn by public randomness has to come out as it was recorded, so both runs need the
    same ``random_state`` where anything is, as the rows that the fit of a large table starts on.

    Parameters
    ----------
    run : callable
        The recorded one, maybe with other rows of the same shape.
    transcript : Transcript
        Of :func:`record`.

    Raises
    ------
    AssertionError
        If other queries are asked than were recorded, or fewer.
    """
    coming = iter(transcript)

    def oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Any:
        del rows, noise
        return ReplayOracle(ledger, adjacency, coming)

    def session(plan: Plan, *others: Any) -> ArmSession:
        del others
        return cast(ArmSession, _ReplayingSession(plan, coming))

    with opened_by(oracle), sessions_opened_by(session):
        run()
    assert next(coming, None) is None, "fewer queries than recorded"


def record_fit(estimator: Any, X: Any, y: Any, **fit_params: Any) -> Transcript:
    """Fit the estimator and return all that its oracle was asked and answered.

    Parameters
    ----------
    estimator : estimator
        Fitted in place. A replay needs the same ``random_state``, and not None if something is
        drawn by public randomness, as the rows that the fit of a large table starts on.
    X, y : array-like
        Features and targets.
    **fit_params
        Passed on to ``fit``, for example ``sample_weight``.
    """
    return record(lambda: estimator.fit(X, y, **fit_params))


def replay_fit(estimator: Any, X: Any, y: Any, transcript: Transcript, **fit_params: Any) -> None:
    """Fit with recorded answers: whatever X and y hold, only their shape can matter.

    Parameters
    ----------
    estimator : estimator
        Fitted in place.
    X, y : array-like
        Features and targets.
    transcript : Transcript
        Of an earlier fit with the same parameters, ``random_state`` among them; see
        :func:`record_fit`.
    **fit_params
        Passed on to ``fit``, for example ``sample_weight``.

    Raises
    ------
    AssertionError
        If the estimator asks other queries than were recorded, or fewer.
    """
    replay(lambda: estimator.fit(X, y, **fit_params), transcript)


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


class _RecordingSession:
    def __init__(self, inner: ArmSession, transcript: Transcript) -> None:
        self._inner, self._transcript = inner, transcript

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def ask(self, *at: np.ndarray) -> Any:
        kept = tuple(w.copy() for w in at)
        return self._transcript.add("bandit", kept, 0.0, self._inner.ask(*at))


class _ReplayingSession:
    """Holds no rows."""

    def __init__(self, plan: Plan, coming: Iterator[Entry]) -> None:
        self._ends, self._coming, self.seen = list(plan.ends), coming, 0

    @property
    def room(self) -> int | None:
        return self._ends[0] - self.seen if self._ends else None

    def add(self, X: np.ndarray, *others: np.ndarray | None) -> None:
        del others
        self.seen += len(X)

    def close(self) -> None:
        del self._ends[0]

    def ask(self, *at: np.ndarray) -> Any:
        return expected(self._coming, "bandit", at, 0.0)
