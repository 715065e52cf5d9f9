"""A privacy bug to be planted, and how to write one down."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Mutation", "bug"]


@dataclass(frozen=True)
class Mutation:
    """One bug.

    Parameters
    ----------
    name : str
        What is wrong, in a few words.
    edits : tuple of (str, str, str)
        File below ``skdp``, text that occurs in it exactly once, and what takes its place.
    tests : tuple of str
        What has to fail: files below ``tests``, or single tests in the notation of pytest.
    keyword : str, default=''
        Expression for pytest that leaves out tests that have nothing to do with it.
    """

    name: str
    edits: tuple[tuple[str, str, str], ...]
    tests: tuple[str, ...]
    keyword: str = ""


def bug(name: str, file: str, old: str, new: str, *tests: str, keyword: str = "") -> Mutation:
    """A bug of one edit."""
    return Mutation(name, ((file, old, new),), tests, keyword)
