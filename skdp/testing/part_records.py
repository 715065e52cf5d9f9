"""Recording and replaying a whole stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..data.base import RowStore
from ..privacy.adjacency import Adjacency
from ..privacy.ledger import Ledger
from ..privacy.opening import opened_by
from ..privacy.randomness import SecretNoise
from .oracles import RecordingOracle, ReplayOracle, Transcript

__all__ = ["record_partial_fit", "replay_partial_fit"]


def record_partial_fit(estimator: Any, calls: Sequence[tuple[Any, Any]]) -> list[Transcript]:
    """Feed an estimator and return all that was asked and answered, one transcript a part.

    Parameters
    ----------
    estimator : estimator
        Fed in place.
    calls : sequence of tuple
        ``(X, y)`` of each call.
    """
    transcripts: list[Transcript] = []

    def oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Any:
        transcripts.append(Transcript())
        return RecordingOracle(rows, ledger, adjacency, noise, transcripts[-1])

    with opened_by(oracle):
        for X, y in calls:
            estimator.partial_fit(X, y)
    return transcripts


def replay_partial_fit(
    estimator: Any, calls: Sequence[tuple[Any, Any]], transcripts: Sequence[Transcript]
) -> None:
    """Feed with recorded answers: of the rows of the calls only their number can matter.

    Parameters
    ----------
    estimator : estimator
        Fed in place.
    calls : sequence of tuple
        ``(X, y)`` of each call.
    transcripts : sequence of Transcript
        Of an earlier stream of as many rows with the same parameters.

    Raises
    ------
    AssertionError
        If the estimator asks other questions than were recorded, or fewer.
    """
    made: list[ReplayOracle] = []

    def oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Any:
        del rows, noise
        made.append(ReplayOracle(ledger, adjacency, transcripts[len(made)]))
        return made[-1]

    with opened_by(oracle):
        for X, y in calls:
            estimator.partial_fit(X, y)
    asked = len(made) == len(transcripts) and all(replay.finished() for replay in made)
    assert asked, "fewer questions than recorded"
