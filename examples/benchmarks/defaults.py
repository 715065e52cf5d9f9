"""How good the defaults are: beside our other solvers, scikit-learn, and an earlier revision.

Each table is split 80 / 20 with seeds that no default was chosen on, and the noise is fresh;
delta = n^-1.1, one row replaced by another. All methods get the same rows and the same bounds; for
raw columns (adult_raw and others) none gets bounds of features.
Printed are, for each table, score and epsilon, the mean of the defaults with its standard error,
their lead over the defaults of another git revision and over the best of our other solvers (paired
over splits), and scikit-learn's score. Marked are cells that are behind the best of our solvers by
more than .003 in log-loss or accuracy or .005 in AUC or R2, cells that were better before by more
than two standard errors, and cells that are worse than class frequencies or the mean by more than
two standard errors and 5 % in log-loss or squared error.

With ``--sweep`` a constant of skdp.solvers.defaults takes other values. The best is chosen on one
half of the tables and reported on the other, both ways, as the mean change of log-loss or of
squared error from the value in the tree, over the tables of the half and their budgets.

    python examples/benchmarks/defaults.py --tables flights adult --epsilons 1 4 --splits 3 --others
    python examples/benchmarks/defaults.py --against main --half 0
    python examples/benchmarks/defaults.py --sweep TrackedGD.NOISE_RATIO .5 1 2 --tables bike pol
    python examples/benchmarks/defaults.py --methods all --tables digits --out results.json
    python examples/benchmarks/defaults.py --report results.json more.json
    python examples/benchmarks/defaults.py --report results.json --fill PAGE

Results of single fits go to a JSON file, which grows with each run, so that the benchmark can be
run in pieces. PAGE is docs/benchmarks/how_accurate.md, whose tables are of all methods.

Diffprivlib takes part in ``--methods all`` if SKDP_PEERS names an interpreter that has it, see
peers.py. Tables that need stored data are skipped without them, see datasets.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import methods
import numpy as np
import report
import results
from joblib import Parallel, delayed
from scoring import score
from sklearn.model_selection import train_test_split
from suite import RARE, SETS, SMALL

from skdp.exceptions import BudgetWarning
from skdp.solvers import defaults as tuned

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
FIRST_SEED = 9000
DEFAULTS = ("skdp", "exact", "frequencies")


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
        with warnings.catch_warnings():
            # Large budgets show what the defaults tend to.
            warnings.simplefilter("ignore", BudgetWarning)
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


def run(name, seeds, epsilons, chosen, jobs, margins=False):
    """Fits of one data set, and the note on its scaling."""
    data = replace(SETS[name](), margins=margins)
    if margins and data.is_regression:
        return [], "no classes"
    pieces = Parallel(n_jobs=jobs)(
        delayed(run_split)(name, data, seed, epsilons, chosen) for seed in seeds
    )
    return [fit for piece in pieces for fit in piece], data.note


def run_revision(revision, names, args):
    """Fits of the defaults of a git revision, which run in a process of their own."""
    root = Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results.json"
        archive = ["git", "-C", root, "archive", revision, "skdp"]
        files = subprocess.run(archive, check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=files, check=True)
        options = ["--epsilons", *map(str, args.epsilons), "--splits", str(args.splits)]
        options += ["--svm"] * args.svm
        options += ["--first", str(args.first), "--jobs", str(args.jobs), "--out", out]
        subprocess.run(
            [sys.executable, __file__, "--methods", "skdp", "--tables", *names, *options],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": folder},
        )
        return [replace(f, method="before") for f in results.read([out])]


def seeds_of(name, args):
    """Numbers of the splits of a table."""
    return range(args.first, args.first + args.splits * (4 if name in SMALL else 1))


def losses(fits):
    """``{(table, epsilon, seed): log-loss or squared error}``, in any unit."""
    return {
        (f.data, f.epsilon, f.seed): f.scores.get("log_loss", 1 - f.scores.get("r2", 1.0))
        for f in fits
    }


def both_ways(shipped, tried):
    """Rows of a table: a value, its changes on both halves, and those of what a half would choose.

    ``tried`` are the losses of each value. Changes are logarithms of ratios to ``shipped``, in
    percent, first of each table, whose mean over splits and budgets counts as one number.
    """
    names = list(dict.fromkeys(name for name, _, _ in shipped))
    halves = names[0::2], names[1::2]

    def change(value, half):
        logs = {k: 100 * np.log(loss / shipped[k]) for k, loss in tried[value].items()}
        return results.cell([np.mean([v for k, v in logs.items() if k[0] == n]) for n in half])

    found = {value: [change(value, half) for half in halves] for value in tried}
    chosen = [min(found, key=lambda value, i=i: found[value][i].mean) for i in (0, 1)]
    rows = [
        [f"{value:g}", *(f"{c.mean:+.2f} ± {c.error:.2f}" for c in found[value])] for value in found
    ]
    marks = [
        f"chosen on half {i}: {chosen[i]:g}, elsewhere {found[chosen[i]][1 - i].mean:+.2f}"
        for i in (0, 1)
    ]
    return rows, marks


def sweep(constant, values, names, args):
    """Print what other values of a constant change, chosen on one half of tables for the other."""
    rule, _, name = constant.partition(".")
    group = getattr(tuned, rule)
    before = getattr(group, name)
    values = [type(before)(value) for value in values]
    tried = {}
    for value in dict.fromkeys([before, *values]):
        setattr(group, name, value)
        try:
            fits = [
                fit
                for table in names
                for fit in run(table, seeds_of(table, args), args.epsilons, ["skdp"], 1)[0]
            ]
        finally:
            setattr(group, name, before)
        tried[value] = losses(fits)
    rows, marks = both_ways(tried[before], tried)
    print(report.grid([f"{constant}, {before:g} in the tree", "half 0, %", "half 1, %"], rows))
    print("\n" + "; ".join(marks))


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="+", choices=SETS, metavar="NAME", help=", ".join(SETS))
    parser.add_argument("--half", type=int, choices=(0, 1), help="every other of the tables")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument(
        "--splits", type=int, default=3, help=f"splits; 4 times as many for {', '.join(SMALL)}"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--others", action="store_true", help="our other solvers as well")
    parser.add_argument(
        "--svm",
        action="store_true",
        help="support vector machines, to be kept in a file of their own",
    )
    parser.add_argument("--sweep", nargs="+", metavar="X", help="a constant and values to try")
    parser.add_argument("--against", metavar="REV", help="the defaults of a revision as well")
    parser.add_argument("--methods", nargs="+", choices=(*methods.NAMES, "all"), default=DEFAULTS)
    parser.add_argument("--jobs", type=int, default=1, help="splits at a time")
    parser.add_argument("--out", help="JSON file that the fits are added to")
    parser.add_argument("--report", nargs="+", metavar="JSON", help="run nothing, print tables")
    parser.add_argument("--fill", metavar="PAGE", help="with --report: write tables into the page")
    parser.add_argument("--all-scores", action="store_true", help="print every score of each table")
    args = parser.parse_args(arguments)
    if args.fill and not args.report:
        parser.error("--fill needs --report with the files to take results from")
    return args


def show(fits, everything):
    if everything:
        print(report.document(results.paired(fits)) + "\n")
    print(report.judgement(fits))
    found = report.shortfalls(fits)
    for data, metric, epsilon, cell, (mean, _) in found:
        print(f"\n{data}, epsilon {epsilon:g}: {metric} {cell} is below {mean:.3f}", end="")
    print(f"\n\n{len(found)} cells below their target by more than two standard errors")


def main(arguments=None):
    args = parse(arguments)
    if args.report:
        fits = results.read(args.report)
        if not args.fill:
            show(fits, args.all_scores)
            return
        paired = results.paired(fits)
        left_out = {f.data for f in fits} - {f.data for f in paired}
        if left_out:
            print(f"left out, no split in common: {', '.join(sorted(left_out))}", file=sys.stderr)
        report.fill_page(args.fill, paired)
        return
    names = [name for name in SETS if name in (args.tables or SETS)]
    if args.half is not None:
        names = names[args.half :: 2]
    if args.sweep:
        constant, *values = args.sweep
        sweep(constant, map(float, values), names, args)
        return
    chosen = [
        name
        for name in methods.NAMES
        if name in args.methods or "all" in args.methods or (args.others and name in methods.OWN)
    ]
    everything, notes = [], []
    for name in names:
        try:
            fits, note = run(name, seeds_of(name, args), args.epsilons, chosen, args.jobs, args.svm)
        except FileNotFoundError as missing:
            notes.append(f"{name}: skipped, {missing}")
            continue
        notes.append(f"{name}: {note}")
        if args.against and fits:
            fits += run_revision(args.against, [name], args)
        everything += fits
        if args.out:
            results.write(args.out, fits)
        seconds = sum(f.seconds for f in fits)
        print(f"{name}: {len(fits)} fits, {seconds:.0f} s", file=sys.stderr, flush=True)
    show(everything, args.all_scores)
    print("\nScaling:\n" + "\n".join(f"- {note}" for note in notes))


if __name__ == "__main__":
    main()
