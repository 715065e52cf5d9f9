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
    "scaled": {"color": "C0", "marker": "o", "linestyle": "--"},
    "balanced": {"color": "C0", "marker": "o", "linestyle": ":"},
    "floor": {"color": "C1", "marker": "s"},
    "adassp": {"color": "C2", "marker": "^"},
    "objective_perturbation": {"color": "C2", "marker": "^"},
    "output_perturbation": {"color": "C4", "marker": "v"},
    "diffprivlib": {"color": "C3", "marker": "x"},
}
LEVELS = {"exact": "--", "frequencies": ":"}
# For the README: small and large, two classes, ten, and a regression.
CHOSEN = ("digits", "adult", "covertype_2", "california")


def name_of(method):
    """Name of a method without markdown."""
    return report.NAMES[method].strip("*").replace("`", "")


def panel(axes, fits, metric):
    """Lines of all methods for one data set, with two standard errors."""
    data = fits[0].data
    by_key = results.cells(fits, metric)
    shown, levels = [], []
    for method, style in STYLES.items():
        found = sorted((e, c) for (_, m, e), c in by_key.items() if m == method)
        if not found:
            continue
        epsilons = [e for e, _ in found]
        means = [c.mean for _, c in found]
        errors = [2 * c.error for _, c in found]
        axes.errorbar(
            epsilons, means, errors, label=name_of(method), capsize=2, markersize=4, **style
        )
        shown += means
    for method, style in LEVELS.items():
        level = by_key.get((data, method, None))
        # Guessing is of interest where others may be worse.
        if level and (method == "exact" or metric == "log_loss"):
            axes.axhline(level.mean, color="0.4", linestyle=style, label=name_of(method))
            levels.append(level.mean)
    axes.set_xscale("log")
    axes.set_xticks([0.1, 0.5, 1, 2, 4], ["0.1", "0.5", "1", "2", "4"], minor=False)
    axes.minorticks_off()
    low, high = min(shown + levels), max(shown + levels)
    # How much a model is worse than guessing is of no interest.
    if metric == "r2":
        low = max(low, -0.2)
    elif metric == "log_loss" and levels:
        high = min(high, 1.3 * max(levels))
    margin = 0.08 * max(high - low, 0.02)
    axes.set_ylim(low - margin, high + margin)
    axes.set_title(f"{data} ({fits[0].n_samples:,} x {fits[0].n_features:,})", fontsize=9)
    axes.set_ylabel(report.METRICS[metric], fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)


def figure(sets, metric=None, columns=4):
    """A figure with one panel a data set and one legend, by default of what is reported first."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    columns = min(columns, len(sets))
    rows = ceil(len(sets) / columns)
    drawing, grid = pyplot.subplots(
        rows, columns, figsize=(3.1 * columns, 2.6 * rows + 0.6), squeeze=False
    )
    for axes, fits in zip(grid.flat, sets, strict=False):
        panel(axes, fits, metric or report.metric_of(fits[0]))
    for axes in list(grid.flat)[len(sets) :]:
        axes.axis("off")
    for axes in grid[-1]:
        axes.set_xlabel("ε", fontsize=9)
    found = {}
    for axes in grid.flat:
        found |= {label: h for h, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    order = [name_of(method) for method in (*STYLES, *LEVELS)]
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
    """PNG files of scores of classifiers, their log-losses and R²; returns the paths."""
    from matplotlib import pyplot

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sets = list(report.by_set(fits).values())
    classes = [own for own in sets if own[0].n_classes is not None]
    targets = [own for own in sets if own[0].n_classes is None]
    kinds = {
        "readme": ([own for name in CHOSEN for own in sets if own[0].data == name], None),
        "classification": (classes, None),
        "log_loss": (classes, "log_loss"),
        "regression": (targets, None),
    }
    paths = []
    for kind, (chosen, metric) in kinds.items():
        if chosen:
            paths.append(folder / f"{kind}.png")
            drawing = figure(chosen, metric)
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
