"""Interrupting a call at a line of the package's own code, chosen by its number."""

import gc
import itertools
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

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
        self._before, self._collects = sys.gettrace(), gc.isenabled()
        # Objects of other tests would be taken away at lines of this one, which count then.
        gc.disable()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)
        if self._collects:
            gc.enable()

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


def interrupted_everywhere(run, failure=KeyboardInterrupt):
    """Make a call again and again, interrupted at its first line, at its second and so on.

    Yields the number of the line after each of these calls, and ends when a call has fewer lines.
    They are not counted beforehand, because calls may differ by a line: by what the process has
    cached, or by objects that are taken away on the way. A call that leaves more behind at each
    interruption, which the next one goes through, would never end.
    """
    for at in itertools.count(1):
        lines = Lines(at, failure)
        with suppress(failure), lines:
            run()
        if lines.count < at:
            assert at > 5, "hardly a line of the package was executed"
            return
        yield at


def lines_to_try(run, seed, count, at_the_end):
    """Numbers of random lines, and of some of the last, where receipts and results are written."""
    with Lines() as lines:
        run()
    public_rng = np.random.default_rng(seed)
    last = max(1, lines.count - 1500)
    return [
        *public_rng.integers(1, lines.count + 1, size=count).tolist(),
        *public_rng.integers(last, lines.count + 1, size=at_the_end).tolist(),
    ]


def spent(model):
    """Epsilon on the receipt of a model, 0 where there is none."""
    return model.privacy_spent_.epsilon if "privacy_spent_" in vars(model) else 0.0


def most_charged(ledgers):
    return max((ledger.spent().epsilon for ledger in ledgers), default=0.0)


@contextmanager
def noted_ledgers():
    """All ledgers that are charged in the block, in the order of their first charge."""
    ledgers, honest = [], Ledger._record

    def record(self, event):
        honest(self, event)
        if not any(self is other for other in ledgers):
            ledgers.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "_record", record)
        yield ledgers
