"""Scikit-learn's callbacks, told of nothing but the share of the budget that is spent."""

from __future__ import annotations

from math import floor
from typing import Any, final

from ..privacy.accounting.ledger import Ledger

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # Before version 1.9, scikit-learn has no callbacks to support.

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """The method itself."""
        return method


__all__ = ["CallbackSupportMixin", "FitTasks", "with_callbacks"]

_PARTS = 100


@final
class FitTasks:
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
        self._fit = model._init_callback_context(max_subtasks=_PARTS)
        self._fit.call_on_fit_task_begin(estimator=model)

    def charged(self) -> None:
        """Tell of the hundredths that have been spent since the last call."""
        spent = floor(_PARTS * (self._ledger.total / self._ledger.limit) + 1e-6)
        for _ in range(self._told, min(_PARTS, spent)):
            self._told += 1
            part = self._fit.subcontext(task_name="percent of the budget")
            part.call_on_fit_task_begin(estimator=self._model)
            part.call_on_fit_task_end(estimator=self._model)

    def finished(self) -> None:
        """Tell that the model is there."""
        self._fit.call_on_fit_task_end(estimator=self._model)
