"""The README's commands and example are real, and no page has a dead link."""

import re
import tomllib
import warnings
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
README = (REPOSITORY / "README.md").read_text()
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def block(marker, language):
    """Text of the fenced block that follows an HTML comment."""
    pattern = rf"^<!-- {re.escape(marker)} -->\n+```{language}\n(.*?)^```$"
    found = re.findall(pattern, README, flags=re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"README.md needs one {language} block marked '{marker}'"
    return found[0]


def test_commands_are_the_only_shell_blocks():
    assert re.findall(r"^<!-- command: (\w+) -->$", README, flags=re.MULTILINE) == [
        "main",
        "test",
        "site",
    ]
    assert len(re.findall(r"^```(?:bash|sh|shell|console)$", README, flags=re.MULTILINE)) == 3


@pytest.mark.parametrize("name", ["main", "test", "site"])
def test_command_is_one_line_that_makes_its_environment(name):
    command = block(f"command: {name}", "bash")
    assert command.count("\n") == 1
    assert command.startswith("python3 -m venv .venv && ")


@pytest.mark.parametrize("name", ["main", "test", "site"])
def test_command_names_files_and_extras_that_exist(name):
    command = block(f"command: {name}", "bash")
    for path in re.findall(r"[\w./-]+\.py\b", command):
        assert (REPOSITORY / path).is_file(), path
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for extra in re.findall(r"\.\[(\w+)\]", command):
        assert extra in project["optional-dependencies"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def headings(text):
    """Names under which the headings of a page can be linked to."""
    lines = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def dead_anchors(page, text):
    """Links of a page to headings that are not on the page that they name."""
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text)
    targets = [(page.parent / target if target else page, anchor) for target, anchor in links]
    return [
        (target.name, anchor)
        for target, anchor in targets
        if target.suffix == ".md"
        and anchor not in headings(text if target == page else target.read_text())
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_headings(page):
    assert dead_anchors(page, page.read_text()) == []


def test_example_runs_without_warnings(capsys):
    example = compile(block("example", "python"), "README.md", "exec")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(example, {"__name__": "readme"})
    assert capsys.readouterr().out.strip()
