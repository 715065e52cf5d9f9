"""What a recipe measures, one value a repetition, and how it is printed and drawn."""

from __future__ import annotations

import argparse
import logging
import sys
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import numpy as np

# Data and simulated users are those of the benchmarks.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Measured:
    """Values of one cell of a table, and where it stands: ``{"solver": "gd", "epsilon": 1.0}``."""

    where: dict[str, object]
    values: tuple[float, ...]

    def __post_init__(self):
        log.info("%s: %s", ", ".join(f"{key} {value}" for key, value in self.where.items()), self)

    @property
    def mean(self):
        return float(np.mean(self.values))

    @property
    def error(self):
        """Standard error of the mean; 0 for a single value."""
        n = len(self.values)
        return float(np.std(self.values, ddof=1) / sqrt(n)) if n > 1 else 0.0

    def __str__(self):
        return f"{self.mean:.3g} ± {self.error:.1g}" if len(self.values) > 1 else f"{self.mean:.3g}"


def table(found, across):
    """Markdown with a column for each value of one key, and a row for the others."""
    columns = list(dict.fromkeys(m.where[across] for m in found))
    rows = {}
    for m in found:
        others = tuple(value for key, value in m.where.items() if key != across)
        rows.setdefault(others, {})[m.where[across]] = str(m)
    header = [key for key in found[0].where if key != across]
    lines = [[*header, *(f"{across} {c}" for c in columns)], ["---"] * (len(header) + len(columns))]
    lines += [
        [*map(str, others), *(row.get(c, "") for c in columns)] for others, row in rows.items()
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def slope(found):
    """Exponent with which means fall in rows: of two times as many, 2 ** -slope times the mean."""
    rows, means = zip(*((m.where["rows"], m.mean) for m in found), strict=True)
    return -np.polyfit(np.log(rows), np.log(means), 1)[0]


def arguments(doc, **defaults):
    """``--repeats``, ``--plot`` and others by their defaults; cells are told as they come."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--plot", type=Path, help="where to save the figure")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%X")
    log.info("%s A line for each cell of the table as it comes:", parser.description)
    return given


def draw(found, path, *, across, line, panel, ylabel, log="xy"):
    """A panel for each value of one key, in it a line for each of another; bars of two errors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    titles = list(dict.fromkeys(m.where[panel] for m in found))
    size = 4 * len(titles), 3.5
    figure, panels = plt.subplots(
        1, len(titles), figsize=size, layout="constrained", squeeze=False, sharey=True
    )
    for axes, title in zip(panels[0], titles, strict=True):
        here = [m for m in found if m.where[panel] == title]
        for name in dict.fromkeys(m.where[line] for m in here):
            points = [m for m in here if m.where[line] == name]
            x = [m.where[across] for m in points]
            bars = [2 * m.error for m in points]
            axes.errorbar(x, [m.mean for m in points], bars, label=name, marker="o", markersize=4)
        if "x" in log:
            axes.set_xscale("log")
            ticks = sorted({m.where[across] for m in here})
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axes.minorticks_off()
        if "y" in log:
            axes.set_yscale("log")
        axes.set(xlabel=across, title=title if isinstance(title, str) else f"{panel} {title:g}")
        axes.grid(alpha=0.3)
    panels[0, 0].set_ylabel(ylabel)
    panels[0, -1].legend(fontsize=8)
    figure.savefig(path, dpi=150)
