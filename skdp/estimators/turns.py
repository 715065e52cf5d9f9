"""One call at a time, in one process."""

from __future__ import annotations

import os
from threading import Lock

__all__ = ["Turn"]


class Turn:
    """Who may go on with a stream: one thread at a time, in the process where the stream is.

    Threads that fed a stream at once would mix up their rows, features of one person with the
    label of another, so that one person moved two rows. A forked child has a copy of all that its
    parent holds, and both would ask about the rows that wait, each for the whole budget.

    Pickles in a checkpoint begin anew, in the process that loads them.

    Attributes
    ----------
    lock : Lock
        Held during a call.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self._process = os.getpid()

    @property
    def here(self) -> bool:
        """Whether this is the process of the stream, and not a child that was forked from it."""
        return self._process == os.getpid()

    def __reduce__(self) -> tuple[type[Turn], tuple[()]]:
        return Turn, ()
