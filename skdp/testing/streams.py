"""Answers to streams for tests: some that are written down, and some that come from what was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, final

import numpy as np

from ..privacy.stream_session import StreamAnswers, StreamOpening
from ..stream_plan import StreamQuestion

__all__ = ["RecordedAnswers", "ReplayedAnswers", "public_of"]

Entry: TypeAlias = tuple[str, tuple[object, ...], float, np.ndarray]


def public_of(opening: StreamOpening) -> tuple[object, ...]:
    """What was declared about a stream, for transcripts."""
    plan = opening.plan
    return (plan.releases, plan.clip, plan.mechanism)


@final
class RecordedAnswers(StreamAnswers):
    """Passes questions on and appends each exchange to a transcript.

    Parameters
    ----------
    opening : StreamOpening
        What was declared.
    inner : StreamAnswers
        Answers.
    entries : list of tuple
        Where exchanges are recorded.
    """

    def __init__(self, opening: StreamOpening, inner: StreamAnswers, entries: list[Entry]) -> None:
        self._opening = opening
        self._inner = inner
        self._entries = entries

    @property
    def deviation(self) -> float:
        """Noise of the last release."""
        return self._inner.deviation

    def answer(self, question: StreamQuestion) -> np.ndarray:
        """The answer of the inner one."""
        answer = self._inner.answer(question)
        query = self._opening.query(question)
        public = (question.rows, *query.public())
        self._entries.append((query.name, public, 0.0, answer.copy()))
        return answer.copy()


@final
class ReplayedAnswers(StreamAnswers):
    """Answers from a transcript. It holds no rows at all.

    Parameters
    ----------
    opening : StreamOpening
        What was declared.
    coming : iterator of tuple
        The recorded exchanges from here on.

    Raises
    ------
    AssertionError
        If a question differs from the recorded one in content or size.
    """

    def __init__(self, opening: StreamOpening, coming: Iterator[Entry]) -> None:
        self._opening = opening
        self._coming = coming

    @property
    def deviation(self) -> float:
        """Noise of the last release."""
        return self._opening.deviation

    def answer(self, question: StreamQuestion) -> np.ndarray:
        """The recorded answer."""
        name, public, _, answer = next(self._coming, ("nothing", (), 0.0, np.empty(0)))
        query = self._opening.query(question)
        assert query.name == name, f"asked a stream where {name} was recorded"
        asked = (question.rows, *query.public())
        same = all(np.array_equal(a, b) for a, b in zip(asked, public, strict=True))  # type: ignore[arg-type]
        assert same, "a batch was asked with another content than recorded"
        return answer.copy()
