"""Docstrings say what is particular to a thing; what others have said of it is added to them."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc, signature
from textwrap import fill, indent
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

_HEADING = re.compile(r"^([A-Z][\w ]*)\n-{3,}\n", re.MULTILINE)


def complete(kind: type, **options: list[str]) -> None:
    """Add to a class's docstring what those of its bases say, and its own leaves out.

    Entries of parameters come in the order of the constructor; of attributes and warnings the
    class's own come first, then those of its bases, the nearest first.

    Parameters
    ----------
    kind : type
        Whose docstring has a section of parameters; others stay as they are.
    **options
        Strings that a parameter takes, in place of lines that say ``{name}`` alone.
    """
    told = [_sections(vars(base).get("__doc__") or "") for base in kind.__mro__]
    own = told[0]
    if "Parameters" not in own:
        return
    for section in ("Parameters", "Attributes", "Warns"):
        found: dict[str, str] = {}
        for sections in told:
            found = {**_entries(sections.get(section, "")), **found}
        # The order of the nearest, which the line above has turned round.
        names = dict.fromkeys(name for part in told for name in _entries(part.get(section, "")))
        if section == "Parameters":
            names = dict.fromkeys(name for name in signature(kind).parameters if name in names)
        own[section] = "\n".join(found[name] for name in names) + "\n\n"
    text = _text(own)
    for name, values in options.items():
        *first, last = (f"``{value!r}``" for value in values)
        words = indent(fill(f"{', '.join(first)} and {last}", 96), "    ")
        text = text.replace(f"    {{{name}}}", words)
    kind.__doc__ = text


def documented_like(model: Callable[..., object]) -> Callable[[F], F]:
    """Decorator of a function that adds to its docstring what that of another says.

    Of parameters it has those that it takes; sections and paragraphs where it has none of its own.

    Parameters
    ----------
    model : callable
        Whose docstring is read.
    """

    def decorate(function: F) -> F:
        if function.__doc__ is None:
            return function
        own, others = _sections(function.__doc__), _sections(model.__doc__ or "")
        known = _entries(others["Parameters"]) | _entries(own.get("Parameters", ""))
        taken = [known[name] for name in signature(function).parameters if name in known]
        more = others[""].partition("\n")[2]
        merged = {**others, **own, "": own[""].rstrip("\n") + "\n" + more}
        function.__doc__ = _text(merged | {"Parameters": "\n".join(taken) + "\n\n"})
        return function

    return decorate


def _sections(text: str) -> dict[str, str]:
    """Sections of a numpydoc docstring by their headings; what comes before has none."""
    head, *rest = _HEADING.split(cleandoc(text) + "\n")
    return {"": head, **dict(zip(rest[::2], rest[1::2], strict=True))}


def _entries(section: str) -> dict[str, str]:
    """Entries of a section by the names of what they describe."""
    entries = re.split(r"^(?=\S)", section, flags=re.MULTILINE)
    return {re.split(r" : |\n", e)[0]: e.rstrip() for e in entries if e.strip()}


def _text(sections: dict[str, str]) -> str:
    """The docstring of such sections, in the order of numpydoc."""
    order = ["", "Parameters", "Attributes", "Returns", "Raises", "Warns", "See Also", "Notes"]
    titles = [*order, *(title for title in sections if title not in order)]
    parts = [
        (f"{title}\n{'-' * len(title)}\n" if title else "") + sections[title].strip("\n")
        for title in titles
        if sections.get(title, "").strip()
    ]
    return "\n\n".join(parts) + "\n"
