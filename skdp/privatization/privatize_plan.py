"""The plan of a privatization: what became of each step, and which public facts would help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..validation import shown
from .facts import PublicFact, in_words


def written(kind: str, parameters: dict[str, Any]) -> str:
    """A constructor as one would write it, with large arguments told by type and size.

    Parameters
    ----------
    kind : str
        Name of the class.
    parameters : dict
        Arguments by name.
    """
    return f"{kind}({', '.join(f'{name}={shown(value)}' for name, value in parameters.items())})"


@dataclass(frozen=True)
class PlannedStep:
    """Line of the plan about one step.

    Parameters
    ----------
    name : str
        Its path, as in ``get_params``; of the whole, its class.
    before : str
        Class of the step.
    after : str
        What stands in its place.
    epsilon : float or None
        Budget of the step, at the delta of the whole; None if it spends nothing.
    why : str
        Reason or remark; may be empty.
    left_out : tuple of (str, str)
        Parameters that were not kept, with their values, and the reason for each.
    changed : tuple of (str, str)
        Parameters that were changed, with their new values, and the reason for each.
    """

    name: str
    before: str
    after: str
    epsilon: float | None = None
    why: str = ""
    left_out: tuple[tuple[str, str], ...] = ()
    changed: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        paid = "" if self.epsilon is None else f", epsilon = {self.epsilon:.4g}"
        became = "kept" if self.after == self.before else self.after
        lines = [f"{self.name}: {self.before} -> {became}{paid}"]
        lines += [f"  {self.why}"] if self.why else []
        lines += [f"  changed to {what}: {why}" for what, why in self.changed]
        lines += [f"  left out {what}: {why}" for what, why in self.left_out]
        return "\n".join(lines)


@dataclass(frozen=True)
class WantedFact:
    """Public fact that was not given.

    Parameters
    ----------
    argument : str
        Argument of :func:`skdp.privatize` that gives it.
    about : str
        Step that would use it.
    saves : str
        What it would save.
    """

    argument: str
    about: str
    saves: str

    def __str__(self) -> str:
        return f"{self.argument}, for {self.about}: {self.saves}"


@dataclass(frozen=True)
class PrivatizePlan:
    """Steps of :func:`skdp.privatize`, each with what became of it. Print it for sentences.

    Parameters
    ----------
    epsilon, delta : float
        Budget of all steps together.
    adjacency : str
        Neighbouring relation.
    steps : tuple of PlannedStep
        In the order in which rows pass them.
    wanted : tuple of WantedFact
        Public facts that were not given and would help.
    sharing : str
        How the budget is divided; empty if one step has all of it.
    labels : tuple of str
        Arguments of ``fit`` that carry labels of privacy units to all private steps; empty if rows
        are to be protected.
    facts : tuple of PublicFact
        What steps take to be public of columns, each with where it comes from.
    """

    epsilon: float
    delta: float
    adjacency: str
    steps: tuple[PlannedStep, ...]
    wanted: tuple[WantedFact, ...]
    sharing: str
    labels: tuple[str, ...] = ()
    facts: tuple[PublicFact, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"privatize: epsilon = {self.epsilon:g}, delta = {self.delta:.1e}, {self.adjacency}"
        ]
        for step in self.steps:
            lines += [f"  {line}" for line in str(step).splitlines()]
        if self.sharing:
            lines.append(f"  budget: {self.sharing}")
        if self.labels:
            given = ", ".join(f"{name}=labels" for name in self.labels)
            lines.append(f"  protects all rows of one privacy unit together by fit(X, y, {given})")
        if self.facts:
            lines.append("  taken to be public:")
            lines += [f"    {sentence}" for sentence in in_words(self.facts)]
        if self.wanted:
            lines.append("  worth passing, if known without looking at the rows:")
            lines += [f"    {fact}" for fact in self.wanted]
        return "\n".join(lines)

    __repr__ = __str__
