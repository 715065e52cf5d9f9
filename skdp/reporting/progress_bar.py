"""Progress of work whose amount is public, on one line of a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import current_process
from shutil import get_terminal_size
from threading import current_thread, main_thread
from time import monotonic
from typing import Any, Self, TypeVar, final

T = TypeVar("T")

_WIDTH = 30
# Seconds before there is a line, and between two states of it.
_PATIENCE, _PAUSE = 2.0, 0.1

_hidden: ContextVar[bool] = ContextVar("hidden", default=False)


@final
class ProgressBar:
    """One line on standard error for work that takes long, gone at its end.

    There is one where standard error is a terminal or a notebook, in the main thread of the main
    process, and not in logs, pipes and workers; of work within work the outermost has it. It
    appears when the work has taken two seconds. All that it is told has to be public.

    Parameters
    ----------
    what : str
        Name of the work, in front of the line.
    """

    _open: ProgressBar | None = None

    def __init__(self, what: str) -> None:
        self._what, self._begun, self._latest, self._length = what, monotonic(), 0.0, 0
        self._width = _WIDTH

    def __enter__(self) -> Self:
        # What takes its place meanwhile may be a file.
        self._stream: Any = sys.stderr
        if (
            ProgressBar._open is None
            and _is_terminal(self._stream)
            and current_thread() is main_thread()
            and current_process().name == "MainProcess"
            and not _hidden.get()
        ):
            ProgressBar._open = self
        return self

    def __exit__(self, *failure: object) -> None:
        if self.open:
            ProgressBar._open = None
            if self._length:
                self._write("", end="\r")

    @property
    def open(self) -> bool:
        """True from when it is entered, if it has a line, until it is left."""
        return ProgressBar._open is self

    @property
    def seconds(self) -> float:
        """Seconds since it was made."""
        return monotonic() - self._begun

    @property
    def due(self) -> bool:
        """True if it is open, and it is time for another state."""
        now = self.seconds
        return self.open and now >= max(_PATIENCE, self._latest + _PAUSE)

    def show(self, done: float, text: str) -> None:
        """Show, if it is due, that this share of the work is done, in [0, 1], and a text on it."""
        if not self.due:
            return
        self._latest = self.seconds
        room = get_terminal_size().columns - 1
        self._width = max(0, min(self._width, room - len(f"{self._what} [] {text}")))
        filled = int(self._width * done)
        bar = "#" * filled + "." * (self._width - filled)
        self._write(f"{self._what} [{bar}] {text}"[:room])

    def _write(self, line: str, end: str = "") -> None:
        # No work fails because nobody can be told of it.
        with suppress(OSError, ValueError):
            self._stream.write(f"\r{line:{self._length}}{end}")
            self._stream.flush()
        self._length = len(line)


def _is_terminal(stream: Any) -> bool:
    """Tell whether lines can be written over there; what is closed or no file is no terminal."""
    try:
        return bool(stream.isatty()) or type(stream).__module__.startswith("ipykernel")
    except (AttributeError, OSError, ValueError):
        return False


def with_progress(done: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Pass things on as they come, and show how many of so many, which is public, have come."""
    with ProgressBar(what) as bar:
        for count, one in enumerate(done, start=1):
            bar.show(count / total, f"{count:,} of {total:,}")
            yield one


@contextmanager
def without_progress() -> Iterator[None]:
    """Context in which work shows no progress, which would tell how much work there is."""
    token = _hidden.set(True)
    try:
        yield
    finally:
        _hidden.reset(token)


def time_in_words(seconds: float) -> str:
    """A time to two digits, or to the second where it is a minute or more."""
    if seconds < 59.5:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
