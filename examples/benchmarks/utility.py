"""How good private linear models are, against what there is to compare with.

Each data set is split 80 / 20 with seeds that no default was chosen on, and the noise is fresh;
delta = n^-1.1, one row replaced by another. All methods get the same rows and the same bounds; for
raw columns (adult_raw and others) none gets bounds of features.
Results of single fits go to a JSON file, which grows with each run, so that the benchmark can be
run in pieces; tables of mean and standard error are printed in markdown.

    python examples/benchmarks/utility.py --only digits bike --repeats 3 --out results.json
    python examples/benchmarks/utility.py --report results.json more.json
    python examples/benchmarks/utility.py --report results.json --fill PAGE

with docs/benchmarks/how_accurate.md as the page to fill.

Diffprivlib takes part if SKDP_PEERS names an interpreter that has it, see peers.py.
"""

from __future__ import annotations

import argparse
import sys

import methods
import report
import results
from joblib import Parallel, delayed
from scoring import score
from sklearn.model_selection import train_test_split
from suite import RARE, SETS, SMALL

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
FIRST_SEED = 9000


def run_split(name, data, seed, epsilons, chosen):
    """All methods and budgets on one split."""
    X, X_test, y, y_test = train_test_split(
        data.X,
        data.y,
        test_size=0.2,
        random_state=FIRST_SEED + seed,
        stratify=None if data.is_regression else data.y,
    )
    fits = []
    for method in chosen:
        if method == "balanced" and name not in RARE:
            continue
        budgets = (None,) if method in methods.WITHOUT_PRIVACY else epsilons
        answers = methods.run(method, data, X, y, X_test, budgets, len(y) ** -1.1)
        for epsilon, answer in zip(budgets, answers, strict=True):
            if answer is None:
                continue
            scores = score(data, answer.predicted, y_test)
            if answer.passes is not None:
                scores["passes"] = answer.passes
            fits.append(
                results.Fit(
                    data=name,
                    method=method,
                    epsilon=epsilon,
                    seed=seed,
                    n_samples=X.shape[0],
                    n_features=X.shape[1],
                    n_classes=None if data.is_regression else len(data.classes),
                    seconds=round(answer.seconds, 3),
                    scores=scores,
                )
            )
    return fits


def run(name, seeds, epsilons, chosen, jobs):
    """Fits of one data set, and the note on its scaling."""
    data = SETS[name]()
    pieces = Parallel(n_jobs=jobs)(
        delayed(run_split)(name, data, seed, epsilons, chosen) for seed in seeds
    )
    return [fit for piece in pieces for fit in piece], data.note


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SETS, metavar="NAME", help=", ".join(SETS))
    parser.add_argument("--methods", nargs="+", choices=methods.NAMES, default=methods.NAMES)
    parser.add_argument("--eps", nargs="+", type=float, default=EPSILONS)
    parser.add_argument(
        "--repeats", type=int, default=5, help=f"splits; 4 times as many for {', '.join(SMALL)}"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--jobs", type=int, default=1, help="splits at a time")
    parser.add_argument("--out", help="JSON file that the fits are added to")
    parser.add_argument("--report", nargs="+", metavar="JSON", help="run nothing, print tables")
    parser.add_argument("--fill", metavar="PAGE", help="with --report: write tables into the page")
    args = parser.parse_args(arguments)
    if args.fill and not args.report:
        parser.error("--fill needs --report with the files to take results from")
    return args


def show(fits):
    print(report.document(fits))
    found = report.shortfalls(fits)
    for data, metric, epsilon, cell, (mean, _) in found:
        print(f"\n{data}, epsilon {epsilon:g}: {metric} {cell} is below {mean:.3f}", end="")
    print(f"\n\n{len(found)} cells below their target by more than two standard errors")


def main(arguments=None):
    args = parse(arguments)
    if args.report:
        everything = results.read(args.report)
        fits = results.paired(everything)
        left_out = {f.data for f in everything} - {f.data for f in fits}
        if left_out:
            print(f"left out, no split in common: {', '.join(sorted(left_out))}", file=sys.stderr)
        if args.fill:
            report.fill_page(args.fill, fits)
        else:
            show(fits)
        return
    everything, notes = [], []
    for name in args.only or SETS:
        repeats = args.repeats * (4 if name in SMALL else 1)
        seeds = range(args.first, args.first + repeats)
        try:
            fits, note = run(name, seeds, args.eps, args.methods, args.jobs)
        except FileNotFoundError as missing:
            notes.append(f"{name}: skipped, {missing}")
            continue
        notes.append(f"{name}: {note}")
        everything += fits
        if args.out:
            results.write(args.out, fits)
        seconds = sum(f.seconds for f in fits)
        print(f"{name}: {len(fits)} fits, {seconds:.0f} s", file=sys.stderr, flush=True)
    show(everything)
    print("\nScaling:\n" + "\n".join(f"- {note}" for note in notes))


if __name__ == "__main__":
    main()
