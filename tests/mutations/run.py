"""Plants one privacy bug after the other in a copy of the sources, and runs the tests on each.

    python tests/mutations/run.py [--only TEXT ...] [--jobs 2]

Prints which bugs were caught, by which test, and which were missed. What is named as a bug's
tests passes on the sources as they are; that is tried first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mutations.catalogue import MUTATIONS
from mutations.mutation import Mutation

__all__ = ["Verdict", "planted", "verdict"]

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 600


def planted(mutation: Mutation, root: Path) -> dict[Path, str]:
    """What files look like with the bug.

    Raises
    ------
    ValueError
        If a text to be replaced does not occur exactly once.
    """
    out: dict[Path, str] = {}
    for file, old, new in mutation.edits:
        path = root / "skdp" / file
        text = out.get(path, path.read_text())
        if text.count(old) != 1:
            raise ValueError(
                f"The bug {mutation.name!r} needs its text exactly once in {file}, got "
                f"{text.count(old)}; bring the catalogue up to date."
            )
        out[path] = text.replace(old, new)
    return out


class Verdict:
    """What came of one bug.

    Parameters
    ----------
    name : str
        The bug.
    caught : bool
        Whether a test failed.
    by : str
        The first test that did, or what went wrong.
    seconds : float
        How long it took.
    """

    def __init__(self, name: str, caught: bool, by: str, seconds: float) -> None:
        self.name, self.caught, self.by, self.seconds = name, caught, by, seconds


def copy_of_the_tree(folder: Path) -> Path:
    for part in ("skdp", "tests", "docs", "examples"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / part, folder / part)
    return folder


def run(tests: tuple[str, ...], keyword: str, root: Path) -> subprocess.CompletedProcess[str]:
    """Pytest on a copy of the tree, which comes first on the path."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "", "--no-header", "--tb=no"]
    options += ["-k", keyword] if keyword else []
    paths = [f"tests/{test}" for test in tests]
    environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *paths],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def verdict(mutation: Mutation, root: Path) -> Verdict:
    """Plant the bug in the copy, run its tests, and take it out again."""
    start = time.perf_counter()
    files = planted(mutation, root)
    before = {path: path.read_text() for path in files}
    try:
        for path, text in files.items():
            path.write_text(text)
        done = run(mutation.tests, mutation.keyword, root)
    finally:
        for path, text in before.items():
            path.write_text(text)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    # Only a failed test counts: not one that could not be collected, nor none at all.
    caught = done.returncode == 1 and bool(failed)
    if caught:
        by = failed[0].removeprefix("FAILED ").partition(" - ")[0]
    else:
        by = "no test failed" if done.returncode == 0 else done.stdout[-500:].strip()
    return Verdict(mutation.name, caught, by, time.perf_counter() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="names that contain one of these")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--trust", action="store_true", help="leave out the run without bugs")
    arguments = parser.parse_args()
    chosen = [
        m for m in MUTATIONS if not arguments.only or any(t in m.name for t in arguments.only)
    ]
    with tempfile.TemporaryDirectory() as folder:
        free: SimpleQueue[Path] = SimpleQueue()
        for job in range(arguments.jobs):
            free.put(copy_of_the_tree(Path(folder) / str(job)))

        def with_a_copy(task):
            root = free.get()
            try:
                return task(root)
            finally:
                free.put(root)

        suites = [] if arguments.trust else sorted({(m.tests, m.keyword) for m in chosen})
        with ThreadPoolExecutor(arguments.jobs) as pool:
            clean = pool.map(
                lambda suite: (suite, with_a_copy(lambda root: run(*suite, root))), suites
            )
            for (tests, keyword), done in clean:
                if done.returncode:
                    print(f"without a bug {tests} ({keyword}) fail:\n{done.stdout[-2000:]}")
                    return 2
            found = []
            jobs = [pool.submit(with_a_copy, lambda root, m=m: verdict(m, root)) for m in chosen]
            print("| bug | caught | by | seconds |\n|---|---|---|---|", flush=True)
            for job in jobs:
                v = job.result()
                found.append(v.caught)
                answer = "yes" if v.caught else "**no**"
                print(f"| {v.name} | {answer} | {v.by} | {v.seconds:.0f} |", flush=True)
    print(f"\n{sum(found)} of {len(found)} caught")
    return 0 if all(found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
