"""Progress of work whose amount is public, on one line of a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_WIDTH = 30


def with_progress(done: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Pass things on as they come, and show how many of them have come.

    On standard error, if that is a terminal, and nowhere else; the line is gone at the end. The
    total has to be public.
    """
    stream = sys.stderr
    shown = total > 1 and stream is not None and stream.isatty()
    line = ""
    try:
        for count, one in enumerate(done, start=1):
            if shown:
                filled = _WIDTH * count // total
                bar = "#" * filled + "." * (_WIDTH - filled)
                line = f"{what} [{bar}] {count:,} of {total:,}"
                stream.write(f"\r{line}")
                stream.flush()
            yield one
    finally:
        if line:
            stream.write(f"\r{' ' * len(line)}\r")
            stream.flush()
