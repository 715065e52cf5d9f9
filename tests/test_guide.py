"""The examples of the guide and of other pages run, and what they print is true."""

import doctest
import re
from math import erfc, exp, sqrt
from pathlib import Path

import pytest
from by_night import by_night

from skdp.solvers import SOLVERS

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDE = (DOCS / "guide.md").read_text()


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("guide.md", 10),
        *by_night(("auditing.md", 7)),
        ("how_accurate.md", 4),
        ("one_shot.md", 0),
        ("intervals.md", 10),
        ("choosing_a_solver.md", 0),
        ("bandit.md", 4),
        ("dask.md", 3),
        ("federated.md", 6),
        ("scikit_learn.md", 5),
        ("finite_precision.md", 9),
        ("preprocessing.md", 8),
        ("privacy_unit.md", 8),
        ("model_selection.md", 15),
        ("streams.md", 11),
        ("evaluation.md", 10),
        ("budgets.md", 10),
        ("privatize.md", 12),
    ],
)
def test_python_blocks_run_in_order_and_print_what_they_say(page, least):
    if page == "dask.md":
        pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")
    text = (DOCS / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    names = {"__name__": "page"}
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    said = []
    for i, block in enumerate(blocks):
        if block.startswith(">>>"):
            test = parser.get_doctest(block, {}, f"block {i}", page, 0)
            test.globs = names
            runner.run(test, out=said.append, clear_globs=False)
        else:
            exec(compile(block, f"{page}, block {i}", "exec"), names)
    assert runner.tries >= least
    assert not runner.failures, "".join(said)


def test_the_page_on_solvers_has_a_row_for_each():
    text = (DOCS / "choosing_a_solver.md").read_text()
    table = text.partition("## What there is")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", table, flags=re.MULTILINE) == sorted(SOLVERS)


def test_numbers_of_the_receipt_give_the_epsilon_of_the_guide():
    (shown,) = re.findall(
        r"sensitivity=([\d.]+?)\.\.\., noise_scale=([\d.]+?)\.\.\., count=(\d+)", GUIDE
    )
    sensitivity, noise_scale, count = map(float, shown)
    # The record shown is that of the look at the second moments, a tenth of the budget.
    mu = sqrt(count) * sensitivity / noise_scale / sqrt(0.1)

    def cdf(x):
        return erfc(-x / sqrt(2)) / 2

    delta = cdf(mu / 2 - 1 / mu) - exp(1) * cdf(-mu / 2 - 1 / mu)
    # Four digits of the noise scale are shown, and delta depends on them ten times as much.
    assert abs(delta / 1e-4 - 1) < 0.01
