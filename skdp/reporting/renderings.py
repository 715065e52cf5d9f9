"""Rendering of a report as Markdown, which is readable as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


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


def as_markdown(title: str, summary: str, sections: Sequence[Section]) -> str:
    """Markdown, for a terminal, a page of documentation or a cell of a notebook."""
    lines = [f"# {title}", "", _plain(summary)]
    for section in sections:
        lines += ["", f"## {_plain(section.title)}", ""]
        for item in section.items:
            named = isinstance(item, tuple)
            text = f"**{_plain(item[0])}**: {_plain(item[1])}" if named else _plain(str(item))
            lines.append(f"- {text}")
        if section.rows:
            head, *body = (tuple(map(_plain, row)) for row in section.rows)
            widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
            rows = [head, tuple("-" * max(3, width) for width in widths), *body]
            lines += [""] * bool(section.items)
            lines += [f"| {' | '.join(map(str.ljust, row, widths))} |" for row in rows]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Text in which nothing is Markdown: names of steps may hold anything."""
    for mark in "\\`*<>|":
        text = text.replace(mark, f"\\{mark}")
    # What would start the address of a link or an image; other brackets are text.
    return " ".join(text.split()).replace("](", "]\\(")
