"""Fuzzing for as long as one likes: ``python tests/fuzzing/run.py --minutes 10 --seed 1``.

Unlike the tests, it draws new inputs for each seed, goes on after a defect, and sums up.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

# The package of this very tree, whichever is installed, and the modules of its tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzzing.targets import FUZZED
from hypothesis import HealthCheck, Phase, given, seed, settings

BATCH = 20


def signature(error):
    """Where in the package it came from, and what it was."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/skdp/" in f.filename]
    place = ""
    if frames:
        place = f"{frames[-1].filename.partition('/skdp/')[2]}:{frames[-1].lineno}"
    return f"{type(error).__name__}: {str(error)[:160]}", place


def run_batch(name, number, end, found, examples):
    """Check a batch of inputs; returns how many there were."""
    strategy, check, _ = FUZZED[name]
    count = 0

    def one(case):
        nonlocal count
        if time.monotonic() > end:
            return
        count += 1
        try:
            check(case)
        except Exception as error:
            key = (name, *signature(error))
            found[key] += 1
            if found[key] == 1:
                print("new:", " | ".join(key), flush=True)
            examples.setdefault(key, (repr(case)[:1500], traceback.format_exc()[-1800:]))

    options = settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    seed(number)(options(given(strategy)(one)))()
    return count


def main():
    """Until time is up, one batch of each kind after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(FUZZED), action="append")
    parser.add_argument("--details", action="store_true", help="print an input of each defect")
    arguments = parser.parse_args()
    end, number = time.monotonic() + 60 * arguments.minutes, 1000 * arguments.seed
    counts, found, examples = Counter(), Counter(), {}
    while time.monotonic() < end:
        for name in arguments.only or FUZZED:
            if time.monotonic() < end:
                counts[name] += run_batch(name, number, end, found, examples)
        number += 1
    for name, count in counts.items():
        print(f"{name:14} {count:7} inputs")
    print(f"{'all':14} {counts.total():7} inputs, {len(found)} kinds of defects")
    for key, times in found.most_common():
        print(f"- {times} x {' | '.join(key)}")
        if arguments.details:
            print("    input:", examples[key][0])
            print("    " + examples[key][1].replace("\n", "\n    "))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
