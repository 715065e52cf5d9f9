"""Calls that either succeed or change nothing."""

from __future__ import annotations

from typing import Any

from .ceiling import charge_for

__all__ = ["Restoring"]


class Restoring:
    """Context in which a model that fails keeps the attributes that it had before.

    Parameters
    ----------
    model : object
        Attributes are restored, not what they hold: within the context they may be replaced only.
        What is set aside for a run that has not begun is given back.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def __enter__(self) -> None:
        self._before = self._model.__dict__.copy()

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            charge_for(self._model, goes_on=True).cancel()
            self._model.__dict__.clear()
            self._model.__dict__.update(self._before)
