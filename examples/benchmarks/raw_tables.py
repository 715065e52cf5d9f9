"""Raw tables by one call: scikit-learn's pipeline, and what privatize makes of it by what is known.

    python examples/benchmarks/raw_tables.py                  # all tables, about twenty minutes
    python examples/benchmarks/raw_tables.py --only adult --splits 1

Reads ``frames.py`` and the tables beside it from the folder named by the environment variable
SKDP_DATA. Scores are areas under the ROC curve, or R^2, on other rows, 20,000 of them at most.
Known ranges are the quantiles of 1 and 99 % of the whole table, known categories all that occur:
what a code book might say. Splits of a few rows are drawn ten times, of a whole table three times.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import sem
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import skdp

FOLDER = Path(os.environ.get("SKDP_DATA", "shared/data"))
TABLES = (
    *("adult", "flights", "lending_club", "caravan"),
    *("bike", "california", "diamonds", "cps1988", "deliveries"),
)
EPSILONS, DELTA = (0.1, 0.5, 1.0, 4.0), 1e-6
# Rows to learn from, the last of them nearly all, and how many times they are drawn.
SIZES = {500: 10, 2_000: 10, 60_000: 3}
TESTED = 20_000


def script(classifies):
    """The pipeline as one writes it."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    codes = OneHotEncoder(handle_unknown="ignore")
    columns = ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include="number")),
            ("codes", codes, make_column_selector(dtype_exclude="number")),
        ]
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000) if classifies else Ridge())


def table(name):
    """Columns, target, and whether it is a class."""
    if name == "adult":
        X = pd.read_csv(FOLDER / "adult_raw.csv.gz").drop(columns="split")
        return X.drop(columns="income"), X["income"], True
    if name in ("bike", "california"):
        return unpacked(name)
    sys.path.insert(0, str(FOLDER))
    from frames import frame

    X, y, kind = frame(name)
    return X, y, kind == "classification"


def unpacked(name):
    """A table of numbers with a column for each of its words."""
    stored = np.load(FOLDER / f"{name}.npz")
    X = pd.DataFrame(stored["X"].astype(float), columns=stored["feature_names"])
    for column in dict.fromkeys(c.split("=")[0] for c in X if "=" in c):
        codes = X.filter(regex=f"^{column}=")
        X[column] = codes.idxmax(axis=1).str.split("=").str[1]
        X = X.drop(columns=codes.columns)
    return X, pd.Series(stored["y"].astype(float)), False


def known(X, y, classifies):
    """What a code book might say: categories, ranges, and the target."""
    numbers = X.select_dtypes("number")
    categories = {c: X[c].dropna().unique().tolist() for c in X.columns.difference(numbers.columns)}
    low, high = numbers.quantile(0.01), numbers.quantile(0.99)
    # A column that hardly varies has the range that it has.
    low, high = low.where(low < high, numbers.min()), high.where(low < high, numbers.max())
    ranges = {c: (float(low[c]), float(high[c])) for c in numbers if low[c] < high[c]}
    target = {"classes": sorted(y.unique())}
    if not classifies:
        target = {"target_bounds": tuple(map(float, y.quantile([0.01, 0.99])))}
    return categories, ranges, target


def score(model, X, y):
    """Area under the ROC curve of a classifier, R^2 of a regression."""
    if hasattr(model, "decision_function"):
        return roc_auc_score(y, model.decision_function(X))
    return model.score(X, y)


def cell(estimator, train, test, epsilon, facts):
    """Score of a private fit that is told some facts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = skdp.privatize(estimator, epsilon=epsilon, delta=DELTA, **facts).fit(*train)
        spent = skdp.privacy_spent(model)
    assert spent.epsilon <= epsilon * (1 + 1e-9)
    return score(model, *test)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--splits", type=int, default=10, help="at most so many draws")
    arguments = parser.parse_args()
    titles = ["table", "rows", "without privacy", *(f"ε = {e:g}" for e in EPSILONS)]
    print(f"| {' | '.join(titles)} |")
    print("|" + "---|" * len(titles), flush=True)
    largest = 0.0
    for name in [arguments.only] if arguments.only else TABLES:
        X, y, classifies = table(name)
        categories, ranges, target = known(X, y, classifies)
        # Labels are no secret, and without a list of them nothing is private.
        classes = target if classifies else {}
        said = {
            "nothing": classes,
            "types, categories": classes | {"facts": [X.dtypes, categories]},
            "all": target | {"facts": [X.dtypes, categories, ranges]},
        }
        for size, draws in SIZES.items():
            rows = min(size, int(0.8 * len(X)))
            scores: dict[tuple[float, str], list[float]] = {}
            for seed in range(min(draws, arguments.splits)):
                tested = min(TESTED, len(X) - rows)
                labels = {"stratify": y} if classifies else {}
                parts = train_test_split(
                    X, y, train_size=rows, test_size=tested, random_state=seed, **labels
                )
                train, test = (parts[0], parts[2]), (parts[1], parts[3])
                plain = script(classifies).fit(*train)
                scores.setdefault((0.0, ""), []).append(score(plain, *test))
                for epsilon in EPSILONS:
                    for what, facts in said.items():
                        one = cell(script(classifies), train, test, epsilon, facts)
                        scores.setdefault((epsilon, what), []).append(one)
            cells = [f"{np.mean(scores[0.0, '']):.3f}"]
            for epsilon in EPSILONS:
                each = [scores[epsilon, what] for what in said]
                cells.append(" / ".join(f"{np.mean(c):.3f}" for c in each))
                errors = [sem(c) for c in each if len(c) > 1]
                largest = max([largest, *errors]) if rows > 500 else largest
            print(f"| {name} | {rows:,} | {' | '.join(cells)} |", flush=True)
    print(f"\nLargest standard error with more than 500 rows: {largest:.3f}")


if __name__ == "__main__":
    main()
