"""What is promised about versions is what is tested."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import skdp

REPOSITORY = Path(__file__).resolve().parents[1]


def test_minimum_constraints_pin_the_declared_lower_bounds():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed, tests = (
        {m[1]: m[2] for d in listed if (m := re.fullmatch(r"([\w-]+)>=([\d.]+)", d))}
        for listed in (project["dependencies"], extras["test"] + extras["parquet"])
    )
    assert len(needed) == len(project["dependencies"])
    lines = (REPOSITORY / ".ci" / "constraints-minimum.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert needed.keys() <= pinned.keys()
    for name, version in pinned.items():
        # 1.26.0 pins >=1.26: the pin is the bound followed by nothing but zeros.
        bound = re.escape((needed | tests)[name])
        assert re.fullmatch(bound + r"(\.0)*", version), name


@pytest.mark.nightly
def test_pages_may_name_parts_of_the_package_after_a_bare_import():
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    parts = {p.stem for p in (REPOSITORY / "skdp").iterdir() if (p / "__init__.py").is_file()}
    text = "".join(page.read_text() for page in pages)
    named = sorted(set(re.findall(r"\bskdp\.(\w+)", text)) & parts)
    assert "model_selection" in named
    code = f"import skdp; print([n for n in {named} if not hasattr(skdp, n)], skdp.__version__)"
    # Elsewhere they may have been imported already.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("[] "), done.stdout + done.stderr


def test_what_is_listed_of_the_package_is_public_and_there():
    listed = dir(skdp)
    assert set(skdp.__all__) <= set(listed)
    assert all(hasattr(skdp, name) for name in listed)
    assert [name for name in listed if name.startswith("_")] == ["__version__"]


def _workflow_commands():
    """Commands of all workflows, without what names an interpreter."""
    for path in sorted((REPOSITORY / ".github" / "workflows").glob("*.yml")):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            for step in job["steps"]:
                if "run" in step:
                    yield path.name, step["run"].strip()


def _plain(command):
    return re.sub(r"\S*python3?(?= )", "python", command).replace("'", "").replace('"', "")


def test_workflows_run_the_commands_that_are_tried_here():
    tried = _plain(
        "\n".join(p.read_text() for p in (REPOSITORY / ".ci" / "run", REPOSITORY / "README.md"))
    )
    commands = list(_workflow_commands())
    assert len(commands) >= 6
    for name, command in commands:
        script = re.match(r"(?:bash|python) (\.ci/\w+(?:\.py)?)", command)
        known = (REPOSITORY / script[1]).is_file() if script else _plain(command) in tried
        assert known, f"{name} runs {command!r}, which neither .ci/run nor the README does"


def test_links_of_the_readme_become_absolute_where_it_is_published():
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    text = (REPOSITORY / "README.md").read_text()
    assert re.search(r"\]\((?!https?:|#)", text)
    for hook in settings["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"][
        "substitutions"
    ]:
        text = re.sub(hook["pattern"], hook["replacement"], text)
    assert not re.search(r"\]\((?!https?:|#)", text)
    assert "/raw/v$HFPR_VERSION/docs/figures/" in text


def test_a_release_is_stopped_unless_all_that_names_a_version_agrees(tmp_path):
    for name in ("skdp/__init__.py", "CITATION.cff", "docs/changelog.md", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((REPOSITORY / name).read_text())
    check = runpy.run_path(str(REPOSITORY / ".ci" / "check_release.py"))["faults"]
    check.__globals__["REPOSITORY"] = tmp_path

    def edit(name, old, new):
        text = (tmp_path / name).read_text()
        assert old in text or re.search(old, text)
        (tmp_path / name).write_text(re.sub(old, new, text))

    tag = f"v{skdp.__version__}"
    edit("docs/changelog.md", r"\A[\s\S]*", f"## [{skdp.__version__}] - 2030-01-01\n")
    edit("CITATION.cff", r"date-released: \S+", "date-released: 2030-01-01")
    assert [line for line in check(tag) if "skdp.example" not in line] == []
    edit("pyproject.toml", r"skdp\.example", "skdp.test")
    assert check(tag) == []
    assert len(check("v9.9.9")) == 3
    edit("CITATION.cff", r"date-released: \S+", "date-released: 2031-01-01")
    assert len(check(tag)) == 1
    edit("CITATION.cff", r"version: \S+", "version: 7.0")
    assert len(check(tag)) == 2
