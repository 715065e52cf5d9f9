"""Interrupting a call at a line of the package's own code, chosen by its number."""

import sys
from contextlib import contextmanager
from pathlib import Path

import skdp
from skdp.privacy.accounting import Ledger

PACKAGE = str(Path(skdp.__file__).parent)


class Lines:
    """Counts lines of the package that are executed, and interrupts at one of them.

    Parameters
    ----------
    at : int or None
        The line to interrupt at; None for none.
    """

    def __init__(self, at=None, failure=KeyboardInterrupt):
        self.at, self.failure, self.count = at, failure, 0

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)

    def _call(self, frame, event, argument):
        code = frame.f_code
        # What is raised while an object is taken away reaches nobody.
        ours = code.co_filename.startswith(PACKAGE) and code.co_name != "__del__"
        return self._line if ours else None

    def _line(self, frame, event, argument):
        if event == "line":
            self.count += 1
            if self.count == self.at:
                raise self.failure
        return self._line


@contextmanager
def noted_ledgers(monkeypatch):
    """All ledgers that are charged in the block, in the order of their first charge."""
    ledgers, honest = [], Ledger._record

    def record(self, event):
        honest(self, event)
        if not any(self is other for other in ledgers):
            ledgers.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_record", record)
        yield ledgers
