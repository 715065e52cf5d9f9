"""The catalogue of planted bugs fits the sources, and a share of it is run by each slow run.

All of it: ``python tests/mutations/run.py``.
"""

import ast
from datetime import date
from pathlib import Path

import pytest
from mutations.catalogue import MUTATIONS
from mutations.run import copy_of_the_tree, planted, run, verdict

ROOT = Path(__file__).resolve().parents[1]
SHARE = 4


def test_there_are_at_least_twenty_bugs_of_different_names():
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS) >= 20


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_each_bug_can_be_planted_and_leaves_valid_python(mutation):
    for path, text in planted(mutation, ROOT).items():
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(path.read_text()))
    for test in mutation.tests:
        assert (ROOT / "tests" / test.partition("::")[0]).exists()


def test_a_text_that_has_gone_is_noticed():
    first = MUTATIONS[0]
    gone = type(first)(first.name, ((first.edits[0][0], "no such text", ""),), first.tests)
    with pytest.raises(ValueError, match="exactly once"):
        planted(gone, ROOT)


@pytest.mark.nightly
def test_a_share_of_the_bugs_is_caught(tmp_path):
    # Another share on another day.
    start = date.today().toordinal() * SHARE
    root = copy_of_the_tree(tmp_path)
    for i in range(start, start + SHARE):
        mutation = MUTATIONS[i % len(MUTATIONS)]
        found = verdict(mutation, root)
        assert found.caught, (mutation.name, found.by)


@pytest.mark.nightly
def test_sources_without_a_bug_are_not_caught(tmp_path):
    done = run(MUTATIONS[0].tests, MUTATIONS[0].keyword, copy_of_the_tree(tmp_path))
    assert done.returncode == 0, done.stdout
