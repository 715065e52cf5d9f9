"""Renderings of a report as text, Markdown and HTML, from the same sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap

from .privacy_ledger import table

_WIDTH = 96
_STYLE = (
    "<style>.skdp-report{font-family:sans-serif;font-size:.9em;max-width:60em}"
    ".skdp-report table{border-collapse:collapse;margin:.3em 0}"
    ".skdp-report th,.skdp-report td{text-align:left;vertical-align:top;padding:.15em .8em .15em 0;"
    "border-bottom:1px solid #8884}.skdp-report h4{margin:.8em 0 .2em}"
    ".skdp-report ul{margin:.2em 0;padding-left:1.2em}</style>"
)


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
    """Markdown, for a page of documentation."""
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


def as_html(title: str, summary: str, sections: Sequence[Section]) -> str:
    """HTML, for a cell of a notebook."""
    parts = [_STYLE, f'<div class="skdp-report"><h3>{escape(title)}</h3><p>{escape(summary)}</p>']
    for section in sections:
        parts.append(f"<h4>{escape(section.title)}</h4>")
        named = [item for item in section.items if isinstance(item, tuple)]
        said = [item for item in section.items if isinstance(item, str)]
        if named:
            cells = (f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in named)
            parts.append(f"<table>{''.join(cells)}</table>")
        if said:
            parts.append(f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in said)}</ul>")
        if section.rows:
            parts.append(f"<table>{_html_rows(section.rows)}</table>")
    return "".join([*parts, "</div>"])


def _html_rows(rows: Sequence[tuple[str, ...]]) -> str:
    head, *body = rows
    lines = [("th", head), *(("td", row) for row in body)]
    return "".join(
        f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in row)}</tr>"
        for tag, row in lines
    )


def _plain(text: str) -> str:
    """Text in which nothing is Markdown: names of steps may hold anything."""
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
