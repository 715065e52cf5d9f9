"""Renderings of a report as text and as Markdown, from the same sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from .privacy_ledger import table

_WIDTH = 96


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Parameters
    ----------
    title : str
        Heading.
    items : sequence of str or pair of str
        Sentences, or names with what there is to say of them.
    rows : sequence of tuple of str
        Table below, its first row the head; empty for none.
    """

    title: str
    items: Sequence[str | tuple[str, str]]
    rows: Sequence[tuple[str, ...]] = field(default=())


def as_text(title: str, summary: str, sections: Sequence[Section]) -> str:
    """Plain text."""
    lines = [title, *wrap(summary, _WIDTH)]
    for section in sections:
        lines += ["", *wrap(section.title, _WIDTH)]
        for item in section.items:
            text = item if isinstance(item, str) else f"{item[0]}: {item[1]}"
            lines += wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ")
        lines += table(list(section.rows)) if section.rows else []
    return "\n".join(lines)


def as_markdown(title: str, summary: str, sections: Sequence[Section]) -> str:
    """Markdown, for a page of documentation or a cell of a notebook."""
    lines = [f"# {title}", "", _plain(summary)]
    for section in sections:
        lines += ["", f"## {_plain(section.title)}", ""]
        for item in section.items:
            named = isinstance(item, tuple)
            text = f"**{_plain(item[0])}**: {_plain(item[1])}" if named else _plain(str(item))
            lines.append(f"- {text}")
        if section.rows:
            head, *body = section.rows
            cut = ["---"] * len(head)
            lines += [""] * bool(section.items)
            lines += [f"| {' | '.join(map(_plain, row))} |" for row in (head, cut, *body)]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Text in which nothing is Markdown: names of steps may hold anything."""
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
