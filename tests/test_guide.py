"""The examples of the guide and of other pages run, and what they print is true."""

import doctest
import re
from math import erfc, exp, sqrt
from pathlib import Path

import pytest
from by_night import by_night

from skdp.solvers import SOLVERS

DOCS = Path(__file__).resolve().parents[1] / "docs"
RECEIPTS = (DOCS / "explanation" / "receipts.md").read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# Its audits take longer than all other pages together.
SLOW = ("auditors/auditing.md",)
PAGES = {
    page.relative_to(DOCS).as_posix(): blocks
    for page in sorted(DOCS.rglob("*.md"))
    if (blocks := BLOCK.findall(page.read_text()))
}


def test_pages_with_examples_are_found():
    assert len(PAGES) > 15
    assert sum(block.startswith(">>>") for blocks in PAGES.values() for block in blocks) > 40


@pytest.mark.parametrize("page", [*sorted({*PAGES} - {*SLOW}), *by_night(*SLOW)])
def test_python_blocks_run_in_order_and_print_what_they_say(page, tmp_path, monkeypatch):
    if page == "how_to/dask.md":
        pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    said = []
    for i, block in enumerate(PAGES[page]):
        if block.startswith(">>>"):
            test = parser.get_doctest(block, {}, f"block {i}", page, 0)
            test.globs = names
            runner.run(test, out=said.append, clear_globs=False)
        else:
            exec(compile(block, f"{page}, block {i}", "exec"), names)
    assert not runner.failures, "".join(said)


def test_the_page_on_solvers_has_a_row_for_each():
    text = (DOCS / "how_to" / "choosing_a_solver.md").read_text()
    table = text.partition("## What there is")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", table, flags=re.MULTILINE) == sorted(SOLVERS)


def test_numbers_of_the_receipt_give_the_epsilon_of_the_page():
    (shown,) = re.findall(
        r"sensitivity=([\d.]+?)\.\.\., noise_scale=([\d.]+?)\.\.\., count=(\d+)", RECEIPTS
    )
    sensitivity, noise_scale, count = map(float, shown)
    # The record shown is that of the class counts, a fiftieth of the budget.
    mu = sqrt(count) * sensitivity / noise_scale / sqrt(0.02)

    def cdf(x):
        return erfc(-x / sqrt(2)) / 2

    delta = cdf(mu / 2 - 1 / mu) - exp(1) * cdf(-mu / 2 - 1 / mu)
    # Four digits of the noise scale are shown, and delta depends on them ten times as much.
    assert abs(delta / 1e-4 - 1) < 0.01
