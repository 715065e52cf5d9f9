"""Progress of a fit, for the terminal and scikit-learn's callbacks: all of it is on the receipt."""

from __future__ import annotations

import sys
from math import floor
from typing import Any, final

from ..privacy.accounting.events import Event
from ..privacy.accounting.ledger import Ledger

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # Before version 1.9, scikit-learn has no callbacks to support.

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """The method itself."""
        return method


__all__ = ["Announcements", "CallbackSupportMixin", "announce_release", "with_callbacks"]

# Subtasks of which a fit consists in the eyes of callbacks.
_HUNDREDTHS = 100


@final
class Announcements:
    """Tells the terminal and callbacks what a ledger is charged.

    They hear what was asked, how often, and what has been spent: public facts, which depend on rows
    only through answers that are paid for. Without ``verbose`` and callbacks nobody listens.

    Parameters
    ----------
    model : estimator
        Its ``verbose`` is 0 for silence, 1 for a line at each new kind of query and each tenth
        of the budget, 2 for a line at each query.
    ledger : Ledger
        Of the fit.
    n_samples : int
        Number of rows.
    """

    def __init__(self, model: Any, ledger: Ledger, n_samples: int) -> None:
        self._model, self._ledger, self._n_samples = model, ledger, n_samples
        self._verbose = int(model.verbose)
        self._tasks: _FitTasks | None = None
        self._queries, self._kind, self._tenths, self._published = 0, "", 0, False

    def begin(self, *, callbacks: bool) -> None:
        """Start listening; ``callbacks`` says whether those of the model are told."""
        if callbacks and vars(self._model).get("_skl_callbacks"):
            self._tasks = _FitTasks(self._model, self._ledger)
        if self._verbose:
            budget = f"epsilon={self._model.epsilon:g} at delta={self._model.delta_:g}"
            self._say(f"{self._n_samples} rows, budget {budget}")
        if self._verbose or self._tasks is not None:
            self._ledger.tell(self._charged)

    def published(self) -> None:
        """Note that the fit has come to its end."""
        self._published = True

    def end(self) -> None:
        """Stop listening, and tell how it went."""
        self._ledger.tell(None)
        if self._verbose:
            how = "published a model" if self._published else "stopped"
            self._say(f"{how} after {self._queries} queries, {self._spent()}")
        if self._tasks is not None and self._published:
            self._tasks.finished()

    def _charged(self, event: Event | tuple[Event, ...]) -> None:
        asked = event if isinstance(event, Event) else event[0]
        self._queries += asked.count
        if self._verbose:
            tenths = floor(10 * (self._ledger.total / self._ledger.limit))
            if self._verbose > 1 or asked.query != self._kind or tenths > self._tenths:
                self._say(f"query {self._queries}: {asked.query}, {self._spent()}")
            self._kind, self._tenths = asked.query, tenths
        if self._tasks is not None:
            self._tasks.charged()

    def _spent(self) -> str:
        return f"epsilon={self._ledger.spent().epsilon:.3g} spent"

    def _say(self, what: str) -> None:
        _print(self._model, what)


@final
class _FitTasks:
    """A fit as callbacks see it: a task with a hundred subtasks, each a hundredth of the budget.

    How many queries a solver is going to ask is often not known before; how much it may spend is.
    Callbacks get neither rows nor targets nor a model in between, which ``ScoringMonitor`` would
    publish exact scores of, and a wish to stop is not heard.

    Parameters
    ----------
    model : estimator
        Holds the callbacks.
    ledger : Ledger
        Of the fit.
    """

    def __init__(self, model: Any, ledger: Ledger) -> None:
        self._model, self._ledger, self._told = model, ledger, 0
        self._fit = model._init_callback_context(max_subtasks=_HUNDREDTHS)
        self._fit.call_on_fit_task_begin(estimator=model)

    def charged(self) -> None:
        """Tell of the hundredths that have been spent since the last call."""
        spent = floor(_HUNDREDTHS * (self._ledger.total / self._ledger.limit) + 1e-6)
        for _ in range(self._told, min(_HUNDREDTHS, spent)):
            self._told += 1
            part = self._fit.subcontext(task_name="percent of the budget")
            part.call_on_fit_task_begin(estimator=self._model)
            part.call_on_fit_task_end(estimator=self._model)

    def finished(self) -> None:
        """Tell that the model is there."""
        self._fit.call_on_fit_task_end(estimator=self._model)


def announce_release(model: Any) -> None:
    """Tell the terminal, if it wants to know, of a model that a stream has released.

    Parameters
    ----------
    model : estimator
        All that the stream releases has been paid for at its start.
    """
    if model.verbose:
        _print(model, f"{model._progress.seen} rows seen, published a model")


def _print(model: Any, what: str) -> None:
    # To what is standard output now, as print does, which linters take for a leftover.
    sys.stdout.write(f"[{type(model).__name__}] {what}\n")
