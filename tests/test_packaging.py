"""What is promised about versions is what is tested."""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def test_minimum_constraints_pin_the_declared_lower_bounds():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    declared = dict(
        re.fullmatch(r"([\w-]+)>=([\d.]+)", d).groups() for d in project["dependencies"]
    )
    lines = (REPOSITORY / ".ci" / "constraints-minimum.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert pinned.keys() == declared.keys()
    for name, bound in declared.items():
        # 1.26.0 pins >=1.26: the pin is the bound followed by nothing but zeros.
        assert re.fullmatch(re.escape(bound) + r"(\.0)*", pinned[name]), name


def test_types_are_shipped():
    assert (REPOSITORY / "skdp" / "py.typed").is_file()
