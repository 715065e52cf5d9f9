"""Error and coverage of private scores and their intervals, on made-up and real populations.

A population of scored rows is fixed, so that its scores are known. Test rows are drawn from it with
replacement, evaluated privately, and each interval is compared with the score of the population.
The model is the same throughout and public: what is tested is the evaluation.

    python examples/benchmarks/evaluations.py --repetitions 500
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import datasets
import numpy as np
from sklearn import metrics as exact
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skdp

SIZES, EPSILONS, DELTA = (1_000, 10_000), (0.5, 1.0), 1e-5
Z, FLOOR, BINS = 1.959963984540054, 0.01, 20
ROWS = 200_000


class Scored:
    """A model whose scores are the features themselves."""

    def __init__(self, classes=None):
        if classes is not None:
            self.classes_ = np.asarray(classes)
            self.predict_proba = self._probabilities

    def predict(self, X):
        """The likeliest class, or the prediction itself."""
        if hasattr(self, "classes_"):
            return self.classes_[np.argmax(self._probabilities(X), axis=1)]
        return X[:, 0]

    def _probabilities(self, X):
        return X if X.shape[1] > 1 else np.column_stack([1 - X[:, 0], X[:, 0]])


@dataclass(frozen=True, eq=False)
class Population:
    """Scored rows, as if there were no others.

    Parameters
    ----------
    name : str
        What it is.
    X : ndarray of shape (rows, columns)
        Scores: of the second class, of all of several, or predictions.
    y : ndarray
        Labels or targets.
    groups : ndarray or None
        Groups of two.
    bounds : tuple or None
        Of targets, for a regression.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None = None
    bounds: tuple[float, float] | None = None

    @property
    def model(self):
        """The model that has scored the rows."""
        return Scored(None if self.bounds else np.unique(self.y))

    def evaluated(self, rows, epsilon, seed, *, by_group=False):
        """A private evaluation of some of the rows."""
        options: dict[str, Any] = {"target_bounds": self.bounds} if self.bounds else {}
        if by_group:
            options |= {"groups": self.groups[rows], "group_values": [0, 1]}
        return skdp.evaluate(
            self.model, self.X[rows], self.y[rows], epsilon=epsilon, delta=DELTA, pointwise=True,
            public_model=True, random_state=seed, least_probability=FLOOR, bins=BINS, **options,
        )  # fmt: skip

    def exact(self, rows=slice(None)):
        """Scores without noise, clipped as private ones are."""
        X, y = self.X[rows], self.y[rows]
        predicted = self.model.predict(X)
        if self.bounds:
            half = (self.bounds[1] - self.bounds[0]) / 2
            target = np.clip(y, *self.bounds)
            r = np.clip(target - predicted, -half, half)
            return {
                "r2": 1 - np.mean(r**2) / np.var(target),
                "mean_squared_error": np.mean(r**2),
                "mean_absolute_error": np.mean(np.abs(r)),
            }
        p = self.model.predict_proba(X)
        average = "binary" if p.shape[1] == 2 else "macro"
        true = y[:, None] == np.unique(self.y)
        found = {
            "accuracy": exact.accuracy_score(y, predicted),
            "balanced_accuracy": exact.balanced_accuracy_score(y, predicted),
            "precision": exact.precision_score(y, predicted, average=average, zero_division=0),
            "recall": exact.recall_score(y, predicted, average=average),
            "f1": exact.f1_score(y, predicted, average=average),
            "log_loss": -np.mean(np.log(np.maximum(p[true], FLOOR))),
            "brier_score": np.mean(np.sum((p - true) ** 2, axis=1)) / 2,
        }
        if p.shape[1] == 2:
            found["roc_auc"] = exact.roc_auc_score(y, p[:, 1])
        return found

    def curves(self):
        """False and true positive rates at the edges of bins, and shares of the second class."""
        edges = np.linspace(0, 1, BINS + 1)
        p, y = self.X[:, 0], self.y
        rates = [[np.mean(p[y == k] >= edge) for edge in edges[::-1]] for k in (0, 1)]
        bins = np.digitize(p, np.linspace(0, 1, 6)[1:-1])
        return rates, np.array([np.mean(y[bins == k]) for k in range(5)])

    def by_group(self, rows=slice(None)):
        """Scores of each group without noise."""
        found = {}
        for g in (0, 1):
            of_group = self.groups[rows] == g
            predicted, y = self.model.predict(self.X[rows][of_group]), self.y[rows][of_group]
            if self.bounds:
                alone = Population("", self.X[rows][of_group], y, bounds=self.bounds)
                found[g] = {name: v for name, v in alone.exact().items() if name != "r2"}
                continue
            found[g] = {
                "accuracy": np.mean(predicted == y),
                "selection_rate": np.mean(predicted),
                "true_positive_rate": np.mean(predicted[y == 1]),
            }
        return found


def made_up(share=0.5, shift=1.2, seed=0):
    """Scores of two classes, normal in log-odds; groups for which the model is not as good."""
    rng = np.random.default_rng(seed)
    y = (rng.random(ROWS) < share).astype(int)
    groups = (rng.random(ROWS) < 0.3).astype(int)
    z = rng.standard_normal(ROWS) + shift * y * np.where(groups, 0.8, 1.0)
    odds = shift * z - shift**2 / 2 + np.log(share / (1 - share))
    return Population(f"made up, {share:.0%} positive", 1 / (1 + np.exp(-odds))[:, None], y, groups)


def several(seed=1):
    """Scores of four classes, one of them rarer."""
    rng = np.random.default_rng(seed)
    y = rng.choice(4, p=[0.4, 0.3, 0.2, 0.1], size=ROWS)
    z = rng.standard_normal((ROWS, 4)) + 1.5 * np.eye(4)[y] + np.log([0.4, 0.3, 0.2, 0.1])
    p = np.exp(z)
    return Population("made up, four classes", p / p.sum(axis=1, keepdims=True), y)


def numbers(seed=2):
    """Predictions of targets of which they explain three fifths, within bounds of +-4.

    They are off by more in one group.
    """
    rng = np.random.default_rng(seed)
    predicted = rng.standard_normal(ROWS)
    y = predicted + rng.standard_normal(ROWS) * np.sqrt(2 / 3)
    groups = (rng.random(ROWS) < 0.2 + 0.2 * (np.abs(y - predicted) > 1)).astype(int)
    return Population("made up, regression", predicted[:, None], y, groups, bounds=(-4.0, 4.0))


def census():
    """A logistic regression of incomes, fitted to half of the rows; groups are the sexes."""
    X, y, extras = datasets.load("adult")
    half = len(y) // 2
    order = np.random.default_rng(3).permutation(len(y))
    X, y = X[order].astype(float), y[order].astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(
        X[:half], y[:half]
    )
    sex = list(map(str, extras["feature_names"])).index("sex=Male")
    p = model.predict_proba(X[half:])[:, 1:]
    return Population("adult", p, y[half:], X[half:, sex].astype(int))


def rentals():
    """A linear regression of rented bikes, fitted to half of the rows; groups are days of work."""
    X, y, extras = datasets.load("bike")
    half = len(y) // 2
    order = np.random.default_rng(4).permutation(len(y))
    X, y = X[order].astype(float), y[order].astype(float)
    predicted = LinearRegression().fit(X[:half], y[:half]).predict(X[half:])
    works = X[half:, list(map(str, extras["feature_names"])).index("workingday")]
    of_work = (works > works.mean()).astype(int)
    return Population("bike", predicted[:, None], y[half:], of_work, bounds=(0.0, 1000.0))


POPULATIONS = {
    "half": made_up,
    "quarter": lambda: made_up(0.25),
    "rare": lambda: made_up(0.05, 1.6),
    "several": several,
    "numbers": numbers,
    "adult": census,
    "bike": rentals,
}


@dataclass(frozen=True)
class Cell:
    """Figures of one score at one size and budget.

    Parameters
    ----------
    error, exact_error : float
        Root mean square error against the population, with and without noise.
    coverage : float
        Share of intervals, of those that there are, that hold the score of the population.
    width : float
        Mean half width.
    ratio : float
        That over 1.96 standard deviations of the score without noise.
    hidden : float
        Share of evaluations without an interval.
    """

    error: float
    exact_error: float
    coverage: float
    width: float
    ratio: float
    hidden: float


def cell(found, without_noise, true):
    """Figures of scores (value, low, high), one a row, beside exact ones of the same test rows."""
    found, without_noise = np.array(found, dtype=float), np.array(without_noise, dtype=float)
    seen = ~np.isnan(found[:, 1])
    value, low, high = found[seen].T
    deviation = np.std(without_noise)
    width = float(np.mean(high - low) / 2) if seen.any() else np.nan
    return Cell(
        error=float(np.sqrt(np.mean((value - true) ** 2))) if seen.any() else np.nan,
        exact_error=float(np.sqrt(np.mean((without_noise - true) ** 2))),
        coverage=float(np.mean((low <= true) & (true <= high))) if seen.any() else np.nan,
        width=width,
        ratio=width / (Z * deviation) if deviation > 0 else np.nan,
        hidden=float(1 - seen.mean()),
    )


def covered(low, high, true):
    """Share of intervals, of those that there are, that hold what they should."""
    seen = np.isfinite(low)
    inside = (low <= true + 1e-12) & (true - 1e-12 <= high)
    return inside[seen].sum(), seen.sum()


def measured(population, n, epsilon, repetitions):
    """Cells by score, coverage of points of curves, and cells of groups and their differences."""
    truth, rows_of = population.exact(), np.random.default_rng(n)
    draws = [rows_of.integers(len(population.y), size=n) for _ in range(repetitions)]
    private = [population.evaluated(rows, epsilon, seed) for seed, rows in enumerate(draws)]
    without = [population.exact(rows) for rows in draws]
    cells = {
        name: cell([e.scores[name] for e in private], [w[name] for w in without], true)
        for name, true in truth.items()
    }
    points = {}
    if private[0].roc_curve is not None:
        (fpr, tpr), shares = population.curves()
        tries = {"ROC points": [], "calibration": []}
        for e in private:
            roc, calibration = e.roc_curve, e.calibration_curve
            tries["ROC points"] += [
                covered(roc.fpr_low[1:-1], roc.fpr_high[1:-1], np.array(fpr)[1:-1]),
                covered(roc.tpr_low[1:-1], roc.tpr_high[1:-1], np.array(tpr)[1:-1]),
            ]
            tries["calibration"].append(covered(calibration.low, calibration.high, shares))
        points = {name: np.sum(found, axis=0) for name, found in tries.items()}
        points = {name: hits / seen for name, (hits, seen) in points.items() if seen}
    if population.groups is None:
        return cells, points, {}
    groups = [population.evaluated(r, epsilon, k, by_group=True) for k, r in enumerate(draws)]
    true, without = population.by_group(), [population.by_group(rows) for rows in draws]
    compared = {}
    for name in true[0]:
        for g in (0, 1):
            found, exact_ones = [e.by_group[g][name] for e in groups], [w[g][name] for w in without]
            compared[f"{name}, group {g}"] = cell(found, exact_ones, true[g][name])
        found = [e.difference(name, 1, 0) for e in groups]
        gaps = [w[1][name] - w[0][name] for w in (true, *without)]
        compared[f"{name}, difference"] = cell(found, gaps[1:], gaps[0])
    return cells, points, compared


def table(cells):
    """Markdown of cells by score."""
    lines = ["| score | error | without noise | coverage | half width | ratio | no interval |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for name, c in cells.items():
        lines.append(
            f"| {name} | {c.error:.4f} | {c.exact_error:.4f} | {c.coverage:.3f} | {c.width:.4f} "
            f"| {c.ratio:.2f} | {c.hidden:.0%} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("populations", nargs="*", default=list(POPULATIONS))
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.populations:
        population = POPULATIONS[name]()
        for n in args.sizes:
            for epsilon in args.epsilons:
                found = measured(population, n, epsilon, args.repetitions)
                cells, points, compared = found
                print(f"\n### {population.name}, {n} rows, epsilon {epsilon:g}\n\n{table(cells)}")
                for curve, share in points.items():
                    print(f"{curve}: coverage {share:.3f}")
                if compared:
                    print("\n" + table(compared), flush=True)


if __name__ == "__main__":
    main()
