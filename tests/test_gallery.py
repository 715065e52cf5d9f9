"""Examples of the gallery are what sphinx-gallery expects, and run without a warning."""

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
GALLERY = sorted(EXAMPLES.glob("plot_*.py"))
# Those of the census need its table, which comes from SKDP_DATA or the network.
SCRIPTS = ("adult.py", "adult_pipeline.py", "evaluation.py", "odds_ratios.py", "quickstart.py")
# Runs a script, and fails unless it leaves a figure.
RUN = """\
import runpy, sys
runpy.run_path(sys.argv[1], run_name='__main__')
import matplotlib.pyplot as plt
assert plt.get_fignums()
"""


def faults(source):
    """Complaints about an example, by its text alone."""
    docstring = ast.get_docstring(ast.parse(source)) or ""
    title, underline, *rest = [*docstring.split("\n"), "", ""]
    found = []
    if not title or underline != "=" * len(title):
        found.append("needs a title, underlined in its length")
    if not re.match(r"\*[^*]+\?[^*]*\*\n", "\n".join(rest).strip() + "\n"):
        found.append("needs a question, in italics, below the title")
    if len(re.findall(r"^# %%$", source, flags=re.MULTILINE)) < 2:
        found.append("needs cells")
    if not source.endswith("plt.show()\n"):
        found.append("needs to end with a figure")
    if re.search(r"\bfetch_\w+|SKDP_DATA", source):
        found.append("needs data that are there")
    if re.search(r"DP\w+\([^()]*random_state", source):
        found.append("needs noise of the operating system, not a seed")
    return found


@pytest.mark.every_combination
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_examples_are_well_formed_and_compile(path):
    source = path.read_text()
    assert faults(source) == []
    compile(source, path.name, "exec")


def test_the_gallery_has_a_header_and_titles_that_differ():
    title, underline, *_ = (EXAMPLES / "GALLERY_HEADER.rst").read_text().split("\n")
    assert underline == "=" * len(title)
    titles = [path.read_text().split("\n")[1] for path in GALLERY]
    assert len(set(titles)) == len(titles) > 10


@pytest.mark.parametrize(
    ("name", "fetch", "read"),
    [
        ("census.py", "fetch_openml", "table"),
        ("privatized_scripts.py", "fetch_california_housing", "houses"),
    ],
)
def test_an_example_without_data_and_network_ends_in_a_sentence(
    name, fetch, read, tmp_path, monkeypatch
):
    def unreachable(*args, **options):
        raise URLError("no network")

    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    monkeypatch.setattr(f"sklearn.datasets.{fetch}", unreachable)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.delitem(sys.modules, "census", raising=False)
    with pytest.raises(SystemExit, match=r"could not be downloaded .*no network.* set SKDP_DATA"):
        runpy.run_path(str(EXAMPLES / name))[read]()


@pytest.mark.nightly
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_examples_run_headless_without_a_warning(path, tmp_path):
    pytest.importorskip("matplotlib", reason="the gallery draws; it needs matplotlib")
    for package in re.findall(r"^(?:from|import) (distributed|pandas)", path.read_text(), re.M):
        pytest.importorskip(package, reason=f"this example needs {package}")
    hidden = {"DISPLAY", "SKDP_DATA"}
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, str(path)],
        cwd=tmp_path,
        env={**environment, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_run_without_a_warning(name, tmp_path):
    path = EXAMPLES / name
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], cwd=tmp_path, capture_output=True, text=True
    )
    if "could not be downloaded" in done.stderr:
        pytest.skip("needs a table of SKDP_DATA, or the network")
    assert done.returncode == 0, done.stderr
    assert "spent" in done.stdout.lower()
