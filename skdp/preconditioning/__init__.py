"""Conditioning: a private stage before the solver, one kind a file."""

from __future__ import annotations

from ..problem.problem import Problem
from .base import Conditioner
from .class_prior import balancing_offset, with_class_prior
from .frequency_scaling import Damping
from .iterative_whitening import Looks
from .whitening import Whitening

__all__ = [
    "Conditioner",
    "Damping",
    "Looks",
    "Whitening",
    "balancing_offset",
    "choose_conditioner",
    "with_class_prior",
]

_NAMED = {"diagonal": Whitening(full=False), "full": Whitening(full=True)}
OPTIONS = ("auto", *_NAMED)


def choose_conditioner(
    precondition: str | Conditioner | None, problem: Problem
) -> Conditioner | None:
    """The conditioner for a problem, by public facts.

    Parameters
    ----------
    precondition : {'auto', 'diagonal', 'full'}, Conditioner or None
        What the user asked for. ``'auto'`` whitens rows, or damps frequent features if rows are
        sparse and have more than a thousand; it leaves them as they are if a penalty or constraint
        is tied to the user's coordinates.
    problem : Problem
        What is to be solved.
    """
    if precondition is None or isinstance(precondition, Conditioner):
        return precondition
    if precondition != "auto":
        return _NAMED[precondition]
    if problem.tied_to_coordinates:
        return None
    return Damping() if problem.wide else Whitening()
