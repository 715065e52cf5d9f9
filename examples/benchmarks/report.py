"""Tables of the benchmark in markdown, and the page that holds them."""

from __future__ import annotations

import json
import re
from itertools import product
from math import hypot
from pathlib import Path

import numpy as np
import results
from methods import OWN
from suite import RARE, RAW, SETS

# Reference implementations of the rules on other splits; for synthetic data also on other draws.
TARGETS = json.loads((Path(__file__).parent / "targets.json").read_text())
NAMES = {
    "skdp": "**skdp**",
    "scaled": "skdp behind `DPStandardScaler`",
    "balanced": 'skdp, `class_weight="balanced"`',
    "exact": "without privacy",
    "frequencies": "class frequencies or mean",
    "floor": "clipped gradient descent",
    "before": "defaults before",
    "plain": "`gd`, no preconditioning",
    "one_step": "`one_step`",
    "adassp": "AdaSSP",
    "objective_perturbation": "objective perturbation",
    "output_perturbation": "output perturbation",
    "diffprivlib": "diffprivlib (pure epsilon)",
}
METRICS = {
    "accuracy": "accuracy",
    "r2": "R²",
    "absolute_error": "absolute error",
    "auc": "AUC",
    "balanced_accuracy": "balanced accuracy",
    "average_precision": "average precision",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "calibration_slope": "calibration slope",
    "passes": "passes",
    "seconds": "seconds",
}
# What the defaults are judged by, and how far behind the best of our solvers they may be.
JUDGED = {
    "accuracy": 0.003,
    "log_loss": 0.003,
    "auc": 0.005,
    "calibration_slope": float("inf"),
    "r2": 0.005,
    "absolute_error": float("inf"),
}
SMALLER_IS_BETTER = ("log_loss", "absolute_error")


def metric_of(fit):
    """The score that is reported first for the data set of a fit."""
    if fit.data in RARE:
        return "auc"
    return "r2" if fit.n_classes is None else "accuracy"


def by_set(fits):
    """``{data: fits}`` in the order of the suite."""
    found = {name: [f for f in fits if f.data == name] for name in SETS}
    return {name: own for name, own in found.items() if own}


def splits(fits):
    """Number of splits."""
    return len({f.seed for f in fits})


def shown(cell, metric):
    """A cell in as many digits as its metric deserves; nothing for None."""
    if cell is None:
        return ""
    if metric == "seconds":
        return f"{cell.mean:.{2 if cell.mean < 1 else 1 if cell.mean < 10 else 0}f}"
    return f"{cell.mean:.0f}" if metric == "passes" else str(cell)


def grid(header, rows):
    """A markdown table."""
    lines = [f"| {' | '.join(line)} |" for line in (header, *rows)]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def table(fits):
    """All scores of one data set: a row for each method and epsilon."""
    first = fits[0]
    cells = {metric: results.cells(fits, metric) for metric in METRICS}
    rare = ("balanced_accuracy", "average_precision")
    metrics = [m for m in METRICS if cells[m] and (m not in rare or first.data in RARE)]
    rows = []
    for method in NAMES:
        own = {f.epsilon for f in fits if f.method == method}
        for epsilon in sorted(own, key=lambda e: e or 0.0):
            key = first.data, method, epsilon
            scores = [shown(cells[m].get(key), m) for m in metrics]
            rows.append([NAMES[method], "" if epsilon is None else f"{epsilon:g}", *scores])
    title = f"{first.data}: {first.n_samples:,} rows, {first.n_features:,} features"
    if first.n_classes is not None:
        title += f", {first.n_classes} classes"
    return grid([f"{title}; splits: {splits(fits)}", "ε", *(METRICS[m] for m in metrics)], rows)


def document(fits):
    """Tables of all data sets."""
    return "\n\n".join(table(own) for own in by_set(fits).values())


def shortfalls(fits):
    """``(data, metric, epsilon, cell, published)`` of our cells below their target.

    A cell is below it by more than two standard errors of the difference.
    """
    found = []
    for data, own in by_set(fits).items():
        metric = metric_of(own[0])
        published = TARGETS.get(data, {"reached": {}})["reached"]
        for (_, method, epsilon), cell in results.cells(own, metric).items():
            if method != "skdp" or f"{epsilon:g}" not in published:
                continue
            mean, error = published[f"{epsilon:g}"]
            if mean - cell.mean > 2 * hypot(cell.error, error):
                found.append((data, metric, epsilon, cell, (mean, error)))
    return found


def good(metric, score):
    """A number that is larger for better scores."""
    if metric == "calibration_slope":
        return -abs(np.log(score))
    return -score if metric in SMALLER_IS_BETTER else score


def lead(fits, metric, epsilon, other):
    """By how much the defaults are better than a method on common splits; None without one."""
    first, second = (
        {
            f.seed: f.scores[metric]
            for f in fits
            if f.method == method and f.epsilon in (epsilon, None)
        }
        for method in ("skdp", other)
    )
    gains = [good(metric, first[k]) - good(metric, second[k]) for k in first.keys() & second.keys()]
    return results.cell(gains) if gains else None


def judgement(fits):
    """A row a data set, score and epsilon: the defaults beside all that they should not be behind.

    Marked are cells behind the best of our other solvers by more than the score's allowance, and
    cells that were surely better before, or worse than class frequencies or the mean by 5 % of
    their log-loss or squared error.
    """
    rows, counts = [], {"behind our best": 0, "better before": 0, "worse than a constant": 0}
    for data, own in by_set(fits).items():
        epsilons = sorted({f.epsilon for f in own if f.method == "skdp"})
        scores = [m for m in JUDGED if m in own[0].scores]
        for metric, epsilon in product(scores, epsilons):
            cells = results.cells(own, metric)
            leads = {m: lead(own, metric, epsilon, m) for m in (*OWN, "before", "frequencies")}
            leads = {m: cell for m, cell in leads.items() if cell is not None}
            best = min(leads.keys() & OWN, key=lambda m, leads=leads: leads[m].mean, default=None)
            ahead, before = leads.get(best), leads.get("before")
            marks = {
                "behind our best": best is not None and ahead.mean < -JUDGED[metric],
                "better before": surely_behind(before) and metric != "calibration_slope",
                "worse than a constant": metric in ("log_loss", "r2")
                and surely_behind(leads.get("frequencies"))
                and loss(metric, cells[data, "skdp", epsilon])
                > 1.05 * loss(metric, cells[data, "frequencies", None]),
            }
            counts = {mark: counts[mark] + marked for mark, marked in marks.items()}
            exact = cells.get((data, "exact", None))
            row = [data, METRICS[metric], f"{epsilon:g}", str(cells[data, "skdp", epsilon])]
            row += ["" if before is None else before.signed()]
            row += ["" if best is None else f"{ahead.signed()}, {NAMES[best]}"]
            row += ["" if exact is None else str(exact), ", ".join(m for m in marks if marks[m])]
            rows.append(row)
    header = ["data", "score", "ε", "now", "lead over before", "lead over our best", "exact", ""]
    said = ", ".join(f"{count} {mark}" for mark, count in counts.items())
    return f"{grid(header, rows)}\n\nOf {len(rows)} cells: {said}"


def loss(metric, cell):
    """Log-loss, or squared error in proportion to the variance of targets."""
    return 1 - cell.mean if metric == "r2" else cell.mean


def surely_behind(lead):
    """Whether a lead is negative by more than two standard errors, of at least three splits."""
    return lead is not None and lead.count > 2 and lead.mean < -2 * lead.error


def summary(fits):
    """A row a data set, a column an epsilon, beside the scores without privacy."""
    epsilons = sorted({f.epsilon for f in fits if f.method == "skdp"})
    rows = []
    for data, own in by_set(fits).items():
        first, metric = own[0], metric_of(own[0])
        cells = results.cells(own, metric)
        size = [f"{first.n_samples:,}", f"{first.n_features:,}", str(splits(own))]
        many = first.n_classes is not None and first.n_classes > 2
        kind = METRICS[metric] + (f", {first.n_classes} classes" if many else "")
        row = [cells.get((data, "skdp", e)) for e in epsilons]
        row.append(cells.get((data, "exact", None)))
        rows.append([data, *size, kind, *(shown(cell, metric) for cell in row)])
    budgets = [f"ε = {e:g}" for e in epsilons]
    header = ["data", "rows", "features", "splits", "score", *budgets, "without privacy"]
    return grid(header, rows)


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
    """Write the table into the page: all data sets but those of raw columns."""
    path = Path(path)
    others = [f for f in fits if f.data not in RAW]
    path.write_text(fill(path.read_text(), {"scores by epsilon": summary(others)}))
