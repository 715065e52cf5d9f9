"""The scripts of the example are private after the edits that it counts, and not before."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import skdp

FOLDER = Path(__file__).resolve().parents[1] / "examples"
NAMES = (
    *("digits, logistic", "iris", "newsgroups (made up), ridge", "census, mixed", "diabetes"),
    *("california, ridge", "sparse", "made-up", "breast", "outliers", "digits, grid", "cosine"),
    *("bicycles", "california, vote", "moons", "census, products", "newsgroups (made up), grid"),
)


@pytest.fixture
def scripts(example):
    return example("privatized_scripts")


def of_name(scripts, beginning):
    (script,) = (
        s for s in (*scripts.gallery(), *scripts.pipelines()) if s.name.startswith(beginning)
    )
    return script


def test_there_are_as_many_scripts_as_the_page_says(scripts):
    assert (len([*scripts.gallery()]), len([*scripts.pipelines()])) == (12, 5)
    page = (FOLDER.parent / "docs" / "benchmarks" / "privatize.md").read_text()
    for script in (*scripts.gallery(), *scripts.pipelines()):
        assert f"| {script.name} | {script.by_hand}: " in page
    assert len(NAMES) == 17


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_private_after_the_edits_that_are_counted_and_not_before(scripts, name):
    script = of_name(scripts, name)
    private, plan = script.private(1.0, return_plan=True)
    assert type(private).__name__ in str(plan) or hasattr(private, "steps")
    assert (script.edited is None) == (script.edits == ())
    facts = {"epsilon": 1.0, **script.facts}
    if script.edits:
        with pytest.raises(ValueError, match="privatize needs steps"):
            skdp.privatize(script.written, **facts)
    # A fact that can be left out without a complaint, and makes no difference, is no edit.
    for fact in script.facts:
        fewer = {name: value for name, value in facts.items() if name != fact}
        try:
            other = skdp.privatize(script.edited or script.written, **fewer)
        except ValueError:
            continue
        assert str(other.get_params()) != str(private.get_params())


def test_scores_and_the_total_are_measured(scripts):
    script = of_name(scripts, "cosine")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found, spent = scripts.measured(script, splits=1)
    assert min(np.ravel([*found.values()])) > 0.9
    assert all(0.99 < part <= 1 + 1e-9 for part in spent)
