"""Plants every bug and prints what catches it: ``PYTHONPATH=tests python -m planted_bugs [text ...]``.

Prints the bugs whose subject or words contain one of the texts; all of them without a text.
"""

import sys
import time
import warnings

from planted_bugs.bug import noticed
from planted_bugs.catalogue import CATALOGUE


def main(texts: list[str]) -> int:
    warnings.simplefilter("ignore")
    found = []
    print("| subject | planted | caught | by | nightly | seconds |\n|---|---|---|---|---|---|")
    for subject, bugs in CATALOGUE.items():
        for bug in bugs:
            if texts and not any(text in f"{subject}: {bug.what}" for text in texts):
                continue
            start = time.perf_counter()
            found.append(noticed(bug))
            took, caught = time.perf_counter() - start, "yes" if found[-1] else "**no**"
            row = (subject, bug.what, caught, bug.property_name, "nightly" if bug.nightly else "")
            print(f"| {' | '.join(row)} | {took:.2f} |", flush=True)
    print(f"\n{len(found)} planted, {sum(found)} caught")
    return 0 if all(found) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
