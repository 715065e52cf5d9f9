"""Results of the benchmark of bandits: tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np


@dataclass(frozen=True)
class Run:
    """One method on one stream; ``value`` is regret in percent, or accuracy, or a rate."""

    table: str
    setting: str
    method: str
    epsilon: float | None
    seed: int
    value: float
    curve: tuple[float, ...] = ()

    @property
    def key(self):
        return self.table, self.setting, self.method, self.epsilon, self.seed


def show(runs, titles):
    """One line a method: mean and standard error over seeds, by budget."""
    for table in dict.fromkeys(r.table for r in runs):
        print(f"\n{table}: {titles[table]}")
        for setting in dict.fromkeys(r.setting for r in runs if r.table == table):
            here = [r for r in runs if (r.table, r.setting) == (table, setting)]
            for method in dict.fromkeys(r.method for r in here):
                cells = []
                for eps in sorted({r.epsilon for r in here if r.method == method}, key=str):
                    v = [r.value for r in here if (r.method, r.epsilon) == (method, eps)]
                    error = np.std(v, ddof=1) / sqrt(len(v)) if len(v) > 1 else np.nan
                    cells.append(f"{np.mean(v):9.4g} ± {error:.2g} ({len(v)})")
                print(f"  {setting:22s} {method:22s}", *cells)


def show_pairs(runs, one, other):
    """Markdown: both means, and the mean difference on the same users with its standard error."""
    for setting in dict.fromkeys(r.setting for r in runs):
        cells = []
        for eps in sorted({r.epsilon for r in runs if r.setting == setting}):
            a, b = (
                {
                    r.seed: r.value
                    for r in runs
                    if (r.setting, r.method, r.epsilon) == (setting, m, eps)
                }
                for m in (one, other)
            )
            seeds = sorted(a.keys() & b.keys())
            if len(seeds) < 2:
                continue
            moved = np.array([a[s] - b[s] for s in seeds])
            error = moved.std(ddof=1) / sqrt(len(seeds))
            means = (np.mean([v[s] for s in seeds]) for v in (a, b))
            cells.append("{:.3g} / {:.3g} ".format(*means) + f"({moved.mean():+.2g}±{error:.1g})")
        if cells:
            print(f"| {setting} |", " | ".join(cells), "|")


# One colour and order for all figures.
METHODS = {
    "not private": "tab:gray",
    "tree": "tab:brown",
    "toeplitz": "tab:pink",
    "hdb, radius 2, clip 6": "tab:olive",
    "hdb": "tab:red",
    "hdb, ftrl": "tab:purple",
    "ftrl": "tab:cyan",
    "sparse": "tab:green",
    "gd": "tab:orange",
    "blocks": "tab:blue",
}


def _panel(ax, runs, setting, epsilon, users):
    """Mean over seeds, and a band of one standard deviation, of every method."""
    for method, color in METHODS.items():
        curves = [
            r.curve
            for r in runs
            if (r.setting, r.method) == (setting, method) and r.epsilon in (None, epsilon)
        ]
        if not curves:
            continue
        middle, spread = np.mean(curves, axis=0), np.std(curves, axis=0)
        t = np.linspace(0, users, len(middle))
        ax.plot(t, middle, color=color, label=method)
        ax.fill_between(t, middle - spread, middle + spread, color=color, alpha=0.15)


def _finish(chart, axes, path):
    ax = max(np.ravel(axes), key=lambda each: len(each.lines))
    handles, labels = ax.get_legend_handles_labels()
    chart.legend(handles, labels, loc="lower center", ncols=5, fontsize=8)
    chart.tight_layout(rect=(0, 0.4 / chart.get_size_inches()[1], 1, 1))
    chart.savefig(path, dpi=110)


def _panels(pyplot, runs, cases, columns, path):
    rows = -(-len(cases) // columns)
    size = (11, 3.4 * rows + 0.5)
    chart, axes = pyplot.subplots(rows, columns, figsize=size, sharey=True, squeeze=False)
    for ax, (setting, epsilon, title) in zip(axes.flat, cases, strict=True):
        _panel(ax, runs, setting, epsilon, 10_000)
        ax.plot([0, 10_000], [0, 100], "k:", lw=1, label="by chance")
        ax.set(title=title, ylim=(0, 105), xlim=(0, 10_000))
    for ax in axes[:, 0]:
        ax.set_ylabel("regret, % of all by chance")
    for ax in axes[-1]:
        ax.set_xlabel("users")
    _finish(chart, axes, path)


def plot_all(runs, folder):
    """``bandit.png``: regret of every method, for dense and for sparse parameters."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = [r for r in runs if r.table == "figure"]
    _panels(pyplot, figure, [
        ("dense d=50 K=2", 1.0, "dense parameters"), ("sparse d=50 K=2", 1.0, "3 of 50 matter"),
    ], 2, folder / "bandit.png")  # fmt: skip
