"""Times to an event: concordance, coverage of intervals and significance, beside Cox regression.

    export SKDP_PEERS=.venv-peers/bin/python                     # an interpreter with lifelines
    python examples/benchmarks/survival.py                       # all tables, about six minutes
    python examples/benchmarks/survival.py --only nafld1 --fits 5

Simulated people have six features, of which four matter (log hazard ratios .5, -.4, .3 and .2 of a
standard deviation), Weibull times, and exits at random times that leave 30, 60 or 90 % without an
event. nafld1 is the cohort of fatty liver disease, one in thirteen of whom die, by age, sex, body
mass index and height; a third of the people are tested on, another third in each repetition. Cox
regression without privacy is lifelines', on the same rows in the same run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from skdp import DPHazardRegressor

FOLDER = Path(os.environ.get("SKDP_DATA", "shared/data"))
COEF = np.array([0.5, -0.4, 0.3, 0.2, 0.0, 0.0])
SIZES, CENSORED, EPSILONS = (1000, 5000, 20_000), (0.3, 0.6, 0.9), (1.0, 4.0)
TESTED = 4000
# By code book, for nafld1.
BOUNDS = {"age": (18.0, 98.0), "male": (0.0, 1.0), "bmi": (10.0, 60.0), "height": (120.0, 210.0)}
COX = """
import sys, warnings
import numpy as np, pandas as pd
from lifelines import CoxPHFitter
warnings.simplefilter("ignore")
data, found = np.load(sys.argv[1]), []
for k in range(int(data["fits"])):
    table = pd.DataFrame(data[f"X{k}"]).add_prefix("x")
    table["time"], table["event"] = np.abs(data[f"y{k}"]), data[f"y{k}"] > 0
    fit = CoxPHFitter().fit(table, "time", "event", robust=True)
    ends = np.log(np.exp(fit.confidence_intervals_.to_numpy()))
    found.append(np.column_stack([fit.params_.to_numpy(), ends]))
np.save(sys.argv[2], np.array(found))
"""


def longest_stay(censored):
    """Longest time of exit, these being uniform, for this share of people without an event."""
    rng = np.random.default_rng(0)
    times = weibull(rng.normal(size=(100_000, COEF.size)), rng)
    share, low, high = rng.uniform(size=times.size), 1e-3, 1e3
    for _ in range(50):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if np.mean(times > share * middle) > censored else (low, middle)
    return middle


def weibull(X, rng):
    """Times whose hazards are proportional."""
    return rng.weibull(1.3, size=len(X)) * np.exp(-X @ COEF / 1.3)


def simulated(n, censored, seed):
    """Train and test rows, each of features and signed times; bounds and the longest time."""
    rng, stay = np.random.default_rng(seed), longest_stay(censored)
    X = rng.normal(size=(n + TESTED, COEF.size))
    times, exits = weibull(X, rng), stay * rng.uniform(size=len(X))
    y = np.where(times <= exits, times, -exits)
    return (X[:n], y[:n]), (X[n:], y[n:]), {"data_bounds": (-4, 4), "max_time": stay}


def nafld1(seed):
    """The same of the cohort, in days."""
    sys.path.insert(0, str(FOLDER))
    from frames import frame

    X, y, _ = frame("nafld1")
    kept = X[[*BOUNDS]].notna().all(axis=1)
    X, y = X.loc[kept, [*BOUNDS]].to_numpy(float), y[kept]
    y = np.where(y.event == 1, y.time, -y.time).astype(float)
    tested = np.random.default_rng(seed).permutation(len(y)) < len(y) // 3
    given = {"data_bounds": np.array([*BOUNDS.values()]).T, "max_time": 8000.0}
    return (X[~tested], y[~tested]), (X[tested], y[tested]), given


def by_cox(data):
    """Coefficients and ends of their intervals of each fit without privacy; None without peers."""
    interpreter = os.environ.get("SKDP_PEERS")
    if interpreter is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        into, out = f"{folder}/rows.npz", f"{folder}/found.npy"
        rows = {f"X{k}": X for k, ((X, _), _, _) in enumerate(data)}
        rows |= {f"y{k}": y for k, ((_, y), _, _) in enumerate(data)}
        np.savez(into, fits=len(data), **rows)
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([interpreter, "-c", COX, into, out], check=True, env=kept)
        return np.load(out)


def concordance(coef, test):
    """Of scores with these coefficients on test rows."""
    model = DPHazardRegressor()
    model.coef_, model.intercept_, model.n_features_in_ = coef, 0.0, coef.size
    return model.score(*test)


def row(name, epsilon, data, cox, true):
    """A row of the table: means over fits."""
    scores, ends, kept = [], [], []
    for k, (train, test, given) in enumerate(data):
        fits = []
        for solver in ("auto", "gd", "one_step"):
            try:
                model = DPHazardRegressor(epsilon=epsilon, solver=solver, **given).fit(*train)
            except ValueError:
                # Rows are too few for any interval.
                fits.append(None)
                continue
            fits.append(concordance(model.coef_, test))
        scores.append([np.nan if fit is None else fit for fit in fits])
        intervals = np.full((train[0].shape[1], 2), np.nan)
        if fits[-1] is not None:
            intervals = model.inference_.conf_int()
        ends.append(intervals)
        if cox is not None:
            significant = cox[k, :, 1] * cox[k, :, 2] > 0
            kept.append((intervals.prod(axis=1) > 0)[significant])
    ends = np.array(ends)
    had = np.isfinite(ends[..., 0])
    covers = ""
    if true is not None and had.any():
        inside = (ends[..., 0] <= true) & (true <= ends[..., 1])
        covers = f"{np.mean(inside, where=had):.3f}"
    auto, gd, one_step = np.nanmean(scores, axis=0)
    without = widths = share = of_cox = ""
    if cox is not None:
        without = (
            f"{np.mean([concordance(c[:, 0], d[1]) for c, d in zip(cox, data, strict=True)]):.3f}"
        )
        if true is not None:
            of_cox = f"{np.mean((cox[..., 1] <= true) & (true <= cox[..., 2])):.3f}"
        ratio = (ends[..., 1] - ends[..., 0]) / (cox[..., 2] - cox[..., 1])
        widths = f"{np.nanmedian(ratio):.1f}" if had.any() else ""
        share = f"{np.mean(np.concatenate(kept)):.0%}"
    cells = [name, f"{epsilon:g}", f"{auto:.3f}", f"{gd:.3f}", f"{one_step:.3f}", without]
    cells += [covers, of_cox, f"{had.mean():.0%}", widths, share]
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--only", choices=["simulated", "nafld1"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    head = ("Rows", "epsilon", "auto", "gd", "one_step", "Cox", "Coverage", "Cox's coverage")
    head += ("Had intervals", "Width over Cox's", "Kept significance")
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}", flush=True)
    if given.only != "nafld1":
        for n in SIZES:
            for censored in CENSORED:
                data = [simulated(n, censored, seed) for seed in range(given.fits)]
                cox = by_cox(data)
                for epsilon in EPSILONS:
                    name = f"{n:,} people, {censored:.0%} censored"
                    row(name, epsilon, data, cox, COEF)
    if given.only != "simulated":
        data = [nafld1(seed) for seed in range(given.fits)]
        cox = by_cox(data)
        for epsilon in (0.5, *EPSILONS):
            row(f"nafld1, {len(data[0][0][0]):,} people", epsilon, data, cox, None)


if __name__ == "__main__":
    main()
