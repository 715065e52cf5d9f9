"""What pages pass to constructors of the package, constructors take."""

import inspect
import re
from pathlib import Path

import pytest

import skdp
import skdp.bandit.policies
import skdp.model_selection
import skdp.preprocessing
import skdp.problem.constraints
import skdp.problem.losses
import skdp.solvers

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
MODULES = (
    *(
        skdp,
        skdp.problem.constraints,
        skdp.problem.losses,
        skdp.model_selection,
        skdp.bandit.policies,
    ),
    *(skdp.preprocessing, skdp.solvers),
)
CLASSES = {
    name: value
    for module in MODULES
    for name, value in vars(module).items()
    if inspect.isclass(value)
    and value.__module__.startswith("skdp")
    and not issubclass(value, BaseException)
}
OPENING, CLOSING = "([{", ")]}"


def calls(text):
    """(class, names of the keywords passed to it), for each constructor that is called."""
    for found in re.finditer(rf"\b({'|'.join(CLASSES)})\(", text):
        depth, outermost = 1, []
        for character in text[found.end() :]:
            depth += (character in OPENING) - (character in CLOSING)
            if depth == 0:
                break
            outermost.append(character if depth == 1 and character not in CLOSING else " ")
        yield found[1], re.findall(r"(\w+)\s*=(?!=)", "".join(outermost))


def unknown(text):
    """Keywords that the constructor does not have, as (class, keyword)."""
    return [
        (name, keyword)
        for name, keywords in calls(text)
        for keyword in keywords
        if keyword not in inspect.signature(CLASSES[name]).parameters
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_parameters_that_exist(page):
    assert unknown(page.read_text()) == []


def test_what_the_page_on_migration_explains_is_a_parameter():
    parameters = {p for kind in CLASSES.values() for p in inspect.signature(kind).parameters}
    text = (REPOSITORY / "docs" / "how_to" / "migration.md").read_text()
    rows = re.findall(r"^\| .* \| (.*) \|$", text, flags=re.MULTILINE)
    words = {word for cell in rows for word in re.findall(r"`([a-z]\w*)(?:=[^`]*)?`", cell)}
    assert len(words) > 5
    # Attributes of scikit-learn end in an underscore.
    assert {word for word in words if not word.endswith("_")} <= parameters
