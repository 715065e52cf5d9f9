"""The reference of the site lists every public name once."""

import importlib
import pkgutil
import re
from collections import Counter
from inspect import isclass, isroutine
from pathlib import Path

import skdp

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
MODULES = [
    importlib.import_module(found.name) for found in pkgutil.walk_packages(skdp.__path__, "skdp.")
]
# Folders, and files of several small classes, say what they show.
PACKAGES = [skdp, *(module for module in MODULES if hasattr(module, "__all__"))]


def listed_in(text):
    """Full names that a page lists: entries of its tables, and constants that it describes."""
    module, names = None, []
    for line in text.splitlines():
        if found := re.fullmatch(r"\.\. currentmodule:: ([\w.]+)", line):
            module = found[1]
        elif found := re.fullmatch(r"\.\. py:data:: ([\w.]+)", line):
            names.append(found[1])
        elif found := re.fullmatch(r"   (\w+)", line):
            names.append(f"{module}.{found[1]}")
    return names


def value_of(name):
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


PAGES = [page.read_text() for page in sorted(REFERENCE.glob("*.rst"))]
LISTED = [name for text in PAGES for name in listed_in(text)]


def missing_from(names):
    """Public names whose value is not among those listed, under this name or another one."""
    there = {id(value_of(name)) for name in names}
    return [
        f"{package.__name__}.{name}"
        for package in PACKAGES
        for name in package.__all__
        if f"{package.__name__}.{name}" not in names and id(getattr(package, name)) not in there
    ]


def test_every_public_name_is_listed():
    assert len(LISTED) > 300
    assert missing_from(LISTED) == []


def test_no_name_is_listed_twice_or_without_being_public():
    assert [name for name, times in Counter(LISTED).items() if times > 1] == []
    public = {f"{package.__name__}.{name}" for package in PACKAGES for name in package.__all__}
    assert set(LISTED) <= public


def test_tables_list_what_has_a_page_of_its_own():
    """A name for a type, or a constant, has none, which ends a strict build of the site."""
    described = {m for text in PAGES for m in re.findall(r"py:data:: ([\w.]+)", text)}
    tabled = [value_of(name) for name in LISTED if name not in described]
    assert [v for v in tabled if not (isclass(v) or isroutine(v))] == []


def test_names_that_differ_by_case_have_files_of_their_own():
    settings = (REFERENCE.parent / "conf.py").read_text()
    files = dict(re.findall(r'^    "(skdp\.[\w.]+)": "([\w.-]+)",$', settings, flags=re.MULTILINE))
    written = Counter(files.get(name, name).lower() for name in LISTED)
    assert [name for name, times in written.items() if times > 1] == []
