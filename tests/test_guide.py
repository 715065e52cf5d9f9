"""The guide's examples run, and what they print is true."""

import doctest
import re
from math import erfc, exp, sqrt
from pathlib import Path

GUIDE = (Path(__file__).resolve().parents[1] / "docs" / "guide.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)


def test_python_blocks_run_in_order_and_print_what_they_say():
    names = {"__name__": "guide"}
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    said = []
    for i, block in enumerate(BLOCKS):
        if block.startswith(">>>"):
            test = parser.get_doctest(block, {}, f"block {i}", "guide.md", 0)
            test.globs = names
            runner.run(test, out=said.append, clear_globs=False)
        else:
            exec(compile(block, f"guide.md, block {i}", "exec"), names)
    assert runner.tries >= 10
    assert not runner.failures, "".join(said)


def test_numbers_of_the_receipt_give_the_epsilon_of_the_guide():
    (shown,) = re.findall(
        r"sensitivity=([\d.]+?)\.\.\., noise_scale=([\d.]+?)\.\.\., count=(\d+)", GUIDE
    )
    sensitivity, noise_scale, count = map(float, shown)
    mu = sqrt(count) * sensitivity / noise_scale

    def cdf(x):
        return erfc(-x / sqrt(2)) / 2

    delta = cdf(mu / 2 - 1 / mu) - exp(1) * cdf(-mu / 2 - 1 / mu)
    # Four digits of the noise scale are shown, and delta depends on them ten times as much.
    assert abs(delta / 1e-4 - 1) < 0.01
