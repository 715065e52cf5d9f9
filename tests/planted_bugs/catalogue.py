"""All planted bugs by subject, each a module of this folder that lists them as ``BUGS``."""

from importlib import import_module
from pathlib import Path

SUBJECTS = [
    path.stem
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if "\nBUGS = (\n" in path.read_text(encoding="utf-8")
]
CATALOGUE = {name: import_module(f"planted_bugs.{name}").BUGS for name in SUBJECTS}
