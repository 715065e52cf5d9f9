"""What is promised about versions is what is tested."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import skdp

REPOSITORY = Path(__file__).resolve().parents[1]


def test_minimum_constraints_pin_the_declared_lower_bounds():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    needed, tests = (
        {m[1]: m[2] for d in listed if (m := re.fullmatch(r"([\w-]+)>=([\d.]+)", d))}
        for listed in (project["dependencies"], project["optional-dependencies"]["test"])
    )
    assert len(needed) == len(project["dependencies"])
    lines = (REPOSITORY / ".ci" / "constraints-minimum.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert needed.keys() <= pinned.keys()
    for name, version in pinned.items():
        # 1.26.0 pins >=1.26: the pin is the bound followed by nothing but zeros.
        bound = re.escape((needed | tests)[name])
        assert re.fullmatch(bound + r"(\.0)*", version), name


def test_types_are_shipped():
    assert (REPOSITORY / "skdp" / "py.typed").is_file()


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


def test_versions_name_what_a_fit_depends_on(capsys):
    skdp.show_versions()
    printed = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert printed["skdp"] == skdp.__version__
    assert printed["numpy"] == np.__version__
