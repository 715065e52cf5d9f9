"""A stream goes on in one process."""

from __future__ import annotations

import os

__all__ = ["Home"]


class Home:
    """The process in which a stream lives.

    A forked child has a copy of all that its parent holds, and both would ask about the rows that
    wait, each for the whole budget.

    Pickles in a checkpoint begin anew, in the process that loads them.
    """

    def __init__(self) -> None:
        self._process = os.getpid()

    @property
    def here(self) -> bool:
        """Whether this is the process of the stream, and not a child that was forked from it."""
        return self._process == os.getpid()

    def __reduce__(self) -> tuple[type[Home], tuple[()]]:
        return Home, ()
