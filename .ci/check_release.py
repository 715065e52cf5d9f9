"""Stops a release whose tag, version, citation and changelog do not agree, or that has no home.

python .ci/check_release.py v0.1.0
"""

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def found(pattern, name):
    """First group of a pattern in a file of the repository; None if it is not there."""
    match = re.search(pattern, (REPOSITORY / name).read_text(encoding="utf-8"), re.MULTILINE)
    return match and match[1]


def faults(tag):
    """What is wrong with a release under this tag, a sentence each."""
    stated = {
        "skdp/__init__.py": found(r'^__version__ = "(.+)"$', "skdp/__init__.py"),
        "CITATION.cff": found(r"^version: (\S+)$", "CITATION.cff"),
        "docs/changelog.md": found(r"^## \[(\d[^\]]*)\]", "docs/changelog.md"),
    }
    listed = [
        f"{name} says version {version}, the tag {tag}."
        for name, version in stated.items()
        if f"v{version}" != tag
    ]
    dates = (
        found(r"^date-released: (\S+)$", "CITATION.cff"),
        found(r"^## \[\d[^\]]*\] - (\S+)$", "docs/changelog.md"),
    )
    if dates[0] != dates[1]:
        listed.append(f"CITATION.cff says {dates[0]}, docs/changelog.md says {dates[1]}.")
    if found(r"(skdp\.example)", "pyproject.toml"):
        listed.append("pyproject.toml has addresses of skdp.example, which is nobody's home.")
    return listed


if __name__ == "__main__":
    wrong = faults(sys.argv[1])
    sys.exit("\n".join(wrong))
