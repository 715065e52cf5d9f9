"""Progress of a fit, for the terminal, logs and callbacks: all of it is on the receipt."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from math import floor, isfinite
from typing import Any, TypeVar, cast, final

from ..privacy.accounting.events import Event
from ..privacy.accounting.ledger import Ledger
from ..reporting.privacy_ledger import words_of
from ..reporting.progress_bar import ProgressBar, time_in_words
from .fit_history import FitHistory

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # Before version 1.9, scikit-learn has no callbacks to support.

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def _with_callbacks(method: Any) -> Any:
        return method


# A search keeps it silent: how many trials there are is secret.
_LOGGER = logging.getLogger("skdp")
# Subtasks of which a fit consists in the eyes of callbacks.
_HUNDREDTHS = 100

_Method = TypeVar("_Method")


def with_callbacks(method: _Method) -> _Method:
    """A method that tells callbacks when it begins and ends; its type stays.

    Parameters
    ----------
    method : callable
        Of a class with :class:`CallbackSupportMixin`.
    """
    return cast(_Method, _with_callbacks(method))


@final
class Announcements:
    """Tells the terminal, the logger ``skdp`` and callbacks what a ledger is charged.

    They hear what was asked, how often, and what has been spent: public facts, which depend on rows
    only through answers that are paid for. Without ``verbose``, a logger of level INFO and
    callbacks a terminal has a :class:`~skdp.reporting.progress_bar.ProgressBar`, which says besides
    what a pass takes, and how long those that the solver has planned will. Without one nobody
    listens.

    Parameters
    ----------
    model : estimator
        Its ``verbose`` is 0 for silence, 1 for a line at each new kind of query and each tenth
        of the budget, 2 for a line at each query. The logger gets the former at level INFO, and
        the others at DEBUG.
    ledger : Ledger
        Of the fit.
    n_samples : int
        Number of rows, or of privacy units.
    progress : FitHistory
        Of a stream it says which part this is.
    """

    def __init__(self, model: Any, ledger: Ledger, n_samples: int, progress: FitHistory) -> None:
        self._model, self._ledger, self._n_samples = model, ledger, n_samples
        self._unit = progress.unit
        self._verbose = int(model.verbose)
        self._listens = self._verbose > 0 or _LOGGER.isEnabledFor(logging.INFO)
        self._tasks: _FitTasks | None = None
        self._bar = ProgressBar(type(model).__name__)
        self._queries, self._tenths, self._published = 0, 0, False
        self._stage, self._counts = ledger.stage, Counter[str]()
        # Shares of the budget spent so far, and before the stage, which began at so many seconds.
        self._share = self._share_before = self._stage_begun = 0.0
        stop = progress.parts.stop
        within = f"rows {stop - n_samples + 1:,} to {stop:,}: "
        self._part = within if progress.streaming else ""

    def begin(self, *, callbacks: bool) -> None:
        """Start listening; ``callbacks`` says whether those of the model are told."""
        if callbacks and vars(self._model).get("_skl_callbacks"):
            self._tasks = _FitTasks(self._model, self._ledger)
        if self._listens:
            budget = f"epsilon {self._ledger.epsilon:g} at delta {self._ledger.delta:g}"
            self._say(f"{self._n_samples:,} {self._unit.plural}, budget {budget}")
        elif self._tasks is None:
            self._bar.__enter__()
        if self._listens or self._tasks is not None or self._bar.open:
            self._ledger.tell(self._charged)

    def published(self) -> None:
        """Note that the fit has come to its end."""
        self._published = True

    def end(self) -> None:
        """Stop listening, and tell how it went."""
        self._ledger.tell(None)
        self._bar.__exit__()
        if self._listens:
            how = "published a model" if self._published else "stopped"
            queries = "1 query" if self._queries == 1 else f"{self._queries:,} queries"
            self._say(f"{how} after {queries}, {self._spent()}")
        if self._tasks is not None and self._published:
            self._tasks.finished()

    def _charged(self, event: Event | tuple[Event, ...]) -> None:
        asked = event if isinstance(event, Event) else event[0]
        self._queries += asked.count
        if self._ledger.stage is not self._stage:
            self._stage, self._counts = self._ledger.stage, Counter()
            self._share_before, self._stage_begun = self._share, self._bar.seconds
        self._counts[asked.query] += asked.count
        if self._bar.due:
            self._show(asked)
        limit = self._ledger.limit
        self._share = min(1.0, self._ledger.total / limit) if isfinite(limit) else 0.0
        if self._listens:
            self._tell(asked)
        if self._tasks is not None:
            self._tasks.charged()

    def _tell(self, event: Event) -> None:
        tenths = floor(10 * self._share)
        news = self._counts[event.query] == event.count or tenths > self._tenths
        self._tenths = tenths
        purpose, query, _ = words_of(event)
        planned = self._stage.planned
        of = "" if planned is None else f" of {planned:,}"
        what = f"{purpose}: {query} {self._counts[event.query]:,}{of}, {self._spent()}"
        self._say(what, level=logging.INFO if news else logging.DEBUG)

    def _show(self, event: Event) -> None:
        """Show which pass begins, and how long the rest will take if it is like those before.

        How far a stage is says the number of its passes, or else what has been spent.
        """
        planned, before = self._stage.planned, self._share_before
        made, purpose, stage = self._counts.total() - event.count, words_of(event)[0], 0.0
        if planned is not None:
            number = self._counts[event.query]
            stage, text = (
                (number - event.count) / planned,
                f"{purpose}, pass {number:,}/{planned:,}",
            )
        else:
            text = f"{purpose}, pass {made + event.count:,}"
            stage = (self._share - before) / (1 - before) if before < 1 else 0.0
        took = self._bar.seconds - self._stage_begun
        text += f", {time_in_words(took / made)} each" if made else ""
        text += f", {time_in_words(took * (1 - stage) / stage)} left" if 0 < stage < 1 else ""
        self._bar.show(before + (1 - before) * min(1.0, stage), text)

    def _spent(self) -> str:
        budget = self._ledger.epsilon
        if not isfinite(budget):
            return "no budget"
        return f"{100 * self._ledger.spent().epsilon / budget:.0f} % of epsilon {budget:g}"

    def _say(self, what: str, level: int = logging.INFO) -> None:
        aloud = self._verbose > (level < logging.INFO)
        _tell(self._model, self._part + what, level=level, aloud=aloud)


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
    what = f"{model._progress.seen:,} rows seen, published a model"
    _tell(model, what, level=logging.INFO, aloud=bool(model.verbose))


def _tell(model: Any, what: str, *, level: int, aloud: bool) -> None:
    line = f"[{type(model).__name__}] {what}"
    _LOGGER.log(level, "%s", line)
    if aloud:
        # To what is standard output now, as print does, which linters take for a leftover.
        sys.stdout.write(f"{line}\n")
