"""The proof book names all that the kernel rests on, and what it names exists."""

import inspect
import re
from importlib import import_module
from math import exp, isfinite
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from examples_of_queries import EXAMPLES

from skdp.privacy import Adjacency, accounting, bandit_sessions, gdp, mechanisms, queries
from skdp.privacy.accounting import Calculus, Event
from skdp.privacy.bandit_sessions import ArmSession
from skdp.privacy.mechanisms import GaussianMechanism, PrefixSumMechanism

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = sorted((REPOSITORY / "docs" / "proofs").glob("*.md"))
TEXT = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
BOOK = "\n".join(TEXT.values())
# The bases of mechanisms and of sessions are those of any of them.
BASES = (
    *(queries.Query, queries.RowMetric, PrefixSumMechanism, Calculus, Event),
    *(GaussianMechanism.__base__, ArmSession),
)


def leaves():
    """Names of concrete public queries, metrics, mechanisms, calculi, events and sessions."""
    for folder in (queries, mechanisms, accounting, bandit_sessions):
        for found in iter_modules(folder.__path__, folder.__name__ + "."):
            module = import_module(found.name)
            for name, thing in inspect.getmembers(module, inspect.isclass):
                own = thing.__module__ == module.__name__ and not name.startswith("_")
                concrete = not inspect.isabstract(thing) and thing is not Event
                if own and concrete and issubclass(thing, BASES):
                    yield name


def missing_from(book):
    """Names that no page has in code style."""
    coded = {word for code in re.findall(r"`([^`\n]+)`", book) for word in re.findall(r"\w+", code)}
    return sorted(set(leaves()) - coded)


def unknown_paths(book):
    """Files in code style that are not there, and tests after ``::`` that are not in their file."""
    unknown = []
    named = re.findall(r"`((?:skdp|tests|examples)/[\w/]+\.py)`(?: ::((?:,? `\w+`)+))?", book)
    for path, tests in named:
        file = REPOSITORY / path
        source = file.read_text(encoding="utf-8") if file.is_file() else ""
        wanted = [f"def {test}(" for test in re.findall(r"\w+", tests)]
        unknown += [path] if not source else [path + w for w in wanted if w not in source]
    return unknown


def test_every_query_mechanism_calculus_event_and_session_is_on_a_page():
    assert len(set(leaves())) > 50
    assert not missing_from(BOOK)


def test_every_file_and_test_that_a_page_names_exists():
    assert not unknown_paths(BOOK)


def test_every_page_but_the_first_is_in_the_table_of_contents():
    contents = re.search(r"{toctree}(.*?)```", TEXT["index.md"], re.DOTALL)[1].split()
    assert sorted(f"{name}.md" for name in contents[2:]) == sorted({*TEXT} - {"index.md"})


@pytest.mark.parametrize("page", TEXT)
def test_mathematics_is_closed_and_has_no_bars_in_tables(page):
    """Dollars come in pairs in each paragraph, and a bar in a table would end a cell."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", TEXT[page], flags=re.DOTALL)
    for paragraph in prose.split("\n\n"):
        assert paragraph.count("$") % 2 == 0, paragraph
        for line in paragraph.splitlines():
            if line.startswith("|"):
                assert not any("|" in math for math in re.findall(r"\$([^$]*)\$", line)), line


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.name)
def test_zero_out_costs_no_more_than_replace_one_and_at_least_half(kind):
    """Theorem N3, for the sensitivities of all examples."""
    tried = 0
    for example in EXAMPLES[kind][0][::5] + EXAMPLES[kind][1][::5]:
        replaced, zeroed = (
            example.query.sensitivity(relation)
            for relation in (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT)
        )
        tried += isfinite(replaced)
        assert zeroed <= replaced * (1 + 1e-12), example.query
        assert replaced <= 2 * zeroed * (1 + 1e-12), example.query
    assert tried


def test_the_largest_weight_of_squares_that_costs_nothing_is_above_the_one_in_use():
    """Theorem C1: moves of (u, k u^2) for u in [-1, 1], by brute force."""
    u = np.linspace(-1, 1, 401)
    means, squares = (u[:, np.newaxis] - u) ** 2, (u[:, np.newaxis] ** 2 - u**2) ** 2
    assert (means + 2.0 * squares).max() <= 4 * (1 + 1e-12)
    assert (means + 1.66**2 * squares).max() <= 4 * (1 + 1e-12)
    assert (means + 1.67**2 * squares).max() > 4.01


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-8])
def test_the_margin_that_is_not_needed_is_worth_more_than_the_law_of_the_noise_is_off(delta):
    """Theorem N7, for a hundred million draws."""
    for epsilon in (0.1, 0.5, 1.0, 2.0, 3.0, 4.0):
        mu = gdp.mu(epsilon, delta)
        spared = delta - gdp.delta(mu * (1 - 7.5e-6), epsilon)
        assert spared > 4 * 1e8 * 2.0**-73 * (1 + exp(epsilon))
