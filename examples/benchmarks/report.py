"""Tables of the benchmark in markdown, published figures beside ours, and pages that hold them.

A cell of ours is marked with ``<`` if it lies below the published one by more than two standard
errors of the difference.
"""

from __future__ import annotations

import json
import re
from math import hypot
from pathlib import Path

import results
from scoring import LOSSES
from suite import RARE, SETS

# Reference implementations of the rules on other splits; for synthetic data also on other draws.
TARGETS = json.loads((Path(__file__).parent / "targets.json").read_text())
NAMES = {
    "skdp": "**skdp**",
    "balanced": 'skdp, `class_weight="balanced"`',
    "exact": "without privacy",
    "floor": "clipped gradient descent",
    "adassp": "AdaSSP",
    "objective_perturbation": "objective perturbation",
    "output_perturbation": "output perturbation",
    "diffprivlib": "diffprivlib (pure epsilon)",
}


def metric_of(data):
    """The score that is reported first."""
    if data in RARE:
        return "auc"
    return "r2" if TARGETS.get(data, {}).get("metric") == "r2" else "accuracy"


def target(data, metric, epsilon):
    """Published figure as (mean, standard error), or None."""
    published = TARGETS.get(data, {})
    if published.get("metric") != metric:
        return None
    pair = published["reached"].get(f"{epsilon:g}")
    return tuple(pair) if pair else None


def is_below(cell, published, metric):
    """Whether a cell is worse than a published one by more than two standard errors."""
    mean, error = published
    short = cell.mean - mean if metric in LOSSES else mean - cell.mean
    return short > 2 * hypot(cell.error, error)


def table(fits, data, metric):
    """Rows are methods, columns epsilons."""
    by_key = results.cells([f for f in fits if f.data == data], metric)
    first = next(f for f in fits if f.data == data)
    epsilons = sorted({e for _, _, e in by_key if e is not None})
    methods = [m for m in NAMES if any(m == found for _, found, _ in by_key)]
    size = f"{first.n_samples:,} rows, {first.n_features:,} features"
    if first.n_classes is not None:
        size += f", {first.n_classes} classes"
    lines = [
        f"| {data}: {size} | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |",
        "|---" * (len(epsilons) + 1) + "|",
    ]
    for method in methods:
        if method == "exact":
            exact = by_key[data, method, None]
            lines.append(f"| {NAMES[method]} | {exact} |" + " |" * (len(epsilons) - 1))
            continue
        row = [_cell(by_key.get((data, method, e)), method, data, metric, e) for e in epsilons]
        lines.append(f"| {NAMES[method]} | " + " | ".join(row) + " |")
    published = [target(data, metric, e) for e in epsilons]
    if any(published):
        row = [f"{p[0]:.3f}" if p else "" for p in published]
        lines.append("| to reach | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _cell(cell, method, data, metric, epsilon):
    if cell is None:
        return ""
    published = target(data, metric, epsilon) if method == "skdp" else None
    mark = " <" if published and is_below(cell, published, metric) else ""
    return f"{cell}{mark}"


def in_order(fits):
    """Names of the data sets that occur, in the order of the suite."""
    found = {f.data for f in fits}
    return [name for name in SETS if name in found]


def document(fits):
    """All tables; for rare classes more than one score."""
    parts = []
    for data in in_order(fits):
        metrics = [metric_of(data)]
        if data in RARE:
            metrics += ["average_precision", "balanced_accuracy", "log_loss", "accuracy"]
        for metric in metrics:
            parts.append(f"{metric.replace('_', ' ')}:\n\n{table(fits, data, metric)}")
    return "\n\n".join(parts)


def shortfalls(fits):
    """``(data, metric, epsilon, cell, published)`` of our cells below their target."""
    found = []
    for data in in_order(fits):
        metric = metric_of(data)
        for (_, method, epsilon), cell in results.cells(
            [f for f in fits if f.data == data], metric
        ).items():
            published = target(data, metric, epsilon) if method == "skdp" else None
            if published and is_below(cell, published, metric):
                found.append((data, metric, epsilon, cell, published))
    return found


def summary(fits):
    """One row a data set, ours only, beside the scores without privacy."""
    epsilons = sorted({f.epsilon for f in fits if f.method == "skdp"})
    lines = [
        "| data | rows | features | score | "
        + " | ".join(f"ε = {e:g}" for e in epsilons)
        + " | without privacy |",
        "|---" * (len(epsilons) + 5) + "|",
    ]
    for data in in_order(fits):
        metric = metric_of(data)
        first = next(f for f in fits if f.data == data)
        by_key = results.cells([f for f in fits if f.data == data], metric)
        row = [by_key.get((data, "skdp", e), "") for e in epsilons]
        row.append(by_key.get((data, "exact", None), ""))
        kind = {"r2": "R²", "auc": "AUC"}.get(metric, metric)
        if first.n_classes and first.n_classes > 2:
            kind += f", {first.n_classes} classes"
        numbers = " | ".join(str(c) for c in row)
        lines.append(
            f"| {data} | {first.n_samples:,} | {first.n_features:,} | {kind} | {numbers} |"
        )
    return "\n".join(lines)


def comparison(fits, epsilon):
    """One row a data set, one column a method, at one epsilon."""
    fits = [f for f in fits if f.epsilon in (epsilon, None)]
    methods = [m for m in NAMES if m != "balanced" and any(f.method == m for f in fits)]
    lines = [
        f"| ε = {epsilon:g} | " + " | ".join(NAMES[m] for m in methods) + " |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for data in in_order(fits):
        by_key = results.cells([f for f in fits if f.data == data], metric_of(data))
        row = [by_key.get((data, m, None if m == "exact" else epsilon), "") for m in methods]
        lines.append(f"| {data} | " + " | ".join(str(c) for c in row) + " |")
    return "\n".join(lines)


def fill(page, blocks):
    """The page with each named block between its markers replaced.

    Markers are ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->`` on lines of their own.
    """
    for name, text in blocks.items():
        pattern = rf"(<!-- {re.escape(name)}: begin -->\n).*?(^<!-- {re.escape(name)}: end -->)"
        page, found = re.subn(
            pattern,
            lambda match, text=text: f"{match[1]}\n{text}\n\n{match[2]}",
            page,
            flags=re.DOTALL | re.MULTILINE,
        )
        if found != 1:
            raise ValueError(f"the page needs one block between the markers of {name!r}")
    return page


def fill_page(path, fits):
    """Write the tables into ``docs/how_accurate.md``, and the plots in ``figures`` beside it."""
    path = Path(path)
    pictures = [
        f"![Scores by epsilon, {picture.stem}](figures/{picture.name})"
        for picture in sorted((path.parent / "figures").glob("*.png"))
    ]
    blocks = {
        "scores by epsilon": "\n\n".join([summary(fits), *pictures]),
        "methods at epsilon 1": comparison(fits, 1.0),
        "all tables": document(fits),
    }
    path.write_text(fill(path.read_text(), blocks))
