"""Plots of scores against epsilon, one panel a data set. Needs matplotlib (``skdp[plot]``).

python examples/benchmarks/plots.py results.json --out docs/figures
"""

from __future__ import annotations

import argparse
from math import ceil
from pathlib import Path

import report
import results

STYLES = {
    "skdp": {"color": "C0", "marker": "o", "linewidth": 2.2, "zorder": 5},
    "balanced": {"color": "C0", "marker": "o", "linestyle": ":"},
    "floor": {"color": "C1", "marker": "s"},
    "adassp": {"color": "C2", "marker": "^"},
    "objective_perturbation": {"color": "C2", "marker": "^"},
    "output_perturbation": {"color": "C4", "marker": "v"},
    "diffprivlib": {"color": "C3", "marker": "x"},
}
LABELS = {"r2": "R²", "auc": "AUC", "accuracy": "accuracy"}


def panel(axes, fits, data):
    """Lines of all methods for one data set, with two standard errors."""
    metric = report.metric_of(data)
    by_key = results.cells([f for f in fits if f.data == data], metric)
    shown = []
    for method, style in STYLES.items():
        found = sorted((e, c) for (_, m, e), c in by_key.items() if m == method)
        if not found:
            continue
        epsilons = [e for e, _ in found]
        means = [c.mean for _, c in found]
        errors = [2 * c.error for _, c in found]
        name = report.NAMES[method].strip("*")
        axes.errorbar(epsilons, means, errors, label=name, capsize=2, markersize=4, **style)
        shown += means
    exact = by_key.get((data, "exact", None))
    if exact:
        axes.axhline(exact.mean, color="0.4", linestyle="--", label="without privacy")
        shown.append(exact.mean)
    axes.set_xscale("log")
    axes.set_xticks([0.1, 0.5, 1, 2, 4], ["0.1", "0.5", "1", "2", "4"], minor=False)
    axes.minorticks_off()
    # Below an R^2 of 0 a model is worse than the mean; how much is of no interest.
    low, high = max(min(shown), -0.2) if metric == "r2" else min(shown), max(shown)
    margin = 0.08 * max(high - low, 0.02)
    axes.set_ylim(low - margin, high + margin)
    first = next(f for f in fits if f.data == data)
    axes.set_title(f"{data} ({first.n_samples:,} x {first.n_features:,})", fontsize=9)
    axes.set_ylabel(LABELS[metric], fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)


def figure(fits, names, columns=4):
    """A figure with one panel a data set and one legend."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    columns = min(columns, len(names))
    rows = ceil(len(names) / columns)
    drawing, grid = pyplot.subplots(
        rows, columns, figsize=(3.1 * columns, 2.6 * rows + 0.6), squeeze=False
    )
    for axes, name in zip(grid.flat, names, strict=False):
        panel(axes, fits, name)
    for axes in list(grid.flat)[len(names) :]:
        axes.axis("off")
    for axes in grid[-1]:
        axes.set_xlabel("ε", fontsize=9)
    found = {}
    for axes in grid.flat:
        found |= {label: h for h, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    order = [report.NAMES[m].strip("*") for m in (*STYLES, "exact")]
    labels = sorted(found, key=order.index)
    lines = ceil(len(labels) / columns)
    drawing.legend(
        [found[label] for label in labels],
        labels,
        loc="lower center",
        ncols=columns,
        fontsize=8,
        frameon=False,
    )
    height = 2.6 * rows + 0.6
    drawing.tight_layout(rect=(0, (0.1 + 0.2 * lines) / height, 1, 1))
    return drawing


def save(fits, folder):
    """One PNG for classification and one for regression; returns the paths."""
    from matplotlib import pyplot

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = report.in_order(fits)
    kinds = {
        "classification": [n for n in names if report.metric_of(n) != "r2"],
        "regression": [n for n in names if report.metric_of(n) == "r2"],
    }
    paths = []
    for kind, chosen in kinds.items():
        if chosen:
            paths.append(folder / f"{kind}.png")
            drawing = figure(fits, chosen)
            drawing.savefig(paths[-1], dpi=110)
            pyplot.close(drawing)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="+", help="JSON files of the benchmark")
    parser.add_argument("--out", default="figures", help="folder for the PNG files")
    args = parser.parse_args()
    for path in save(results.paired(results.read(args.results)), args.out):
        print(path)


if __name__ == "__main__":
    main()
