"""Conditioning: a private stage before the solver, one kind a file."""

from __future__ import annotations

from ..problem import Problem
from .base import Conditioner
from .looks import Looks
from .whitening import Whitening

__all__ = ["Conditioner", "Looks", "Whitening", "choose_conditioner"]

_NAMED = {"diagonal": Whitening(full=False), "full": Whitening(full=True)}
OPTIONS = ("auto", *_NAMED)


def choose_conditioner(
    precondition: str | Conditioner | None, problem: Problem
) -> Conditioner | None:
    """The conditioner for a problem, by public facts.

    Parameters
    ----------
    precondition : {'auto', 'diagonal', 'full'}, Conditioner or None
        What the user asked for. ``'auto'`` conditions dense rows, unless a penalty or constraint
        is tied to the user's coordinates.
    problem : Problem
        What is to be solved.
    """
    if precondition is None or isinstance(precondition, Conditioner):
        return precondition
    if precondition != "auto":
        return _NAMED[precondition]
    return None if problem.tied_to_coordinates or problem.sparse else Whitening()
