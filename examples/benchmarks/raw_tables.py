"""Raw tables by one call: scikit-learn's pipeline, and what privatize makes of it by what is known.

    python examples/benchmarks/raw_tables.py                  # all tables, about six minutes
    python examples/benchmarks/raw_tables.py --only adult --splits 1

Reads ``frames.py`` and the tables beside it from the folder named by the environment variable
SKDP_DATA. Each table has at most 20,000 rows to learn from; scores are areas under the ROC curve,
or R^2, on others. Known ranges are the quantiles of 1 and 99 % of the whole table, known categories
all that occur: what a code book might say.
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
TABLES = ("adult", "lending_club", "flights", "diamonds", "cps1988", "deliveries")
EPSILONS, DELTA, ROWS = (1.0, 0.1), 1e-6, 20_000


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
    sys.path.insert(0, str(FOLDER))
    from frames import frame

    X, y, kind = frame(name)
    return X, y, kind == "classification"


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--splits", type=int, default=10)
    arguments = parser.parse_args()
    print("| table | without privacy | ε | nothing | types, categories | all |")
    print("|" + "---|" * 6)
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
        scores: dict[tuple[float, str], list[float]] = {}
        for seed in range(arguments.splits):
            rows = min(ROWS, int(0.8 * len(X)))
            parts = train_test_split(X, y, train_size=rows, random_state=seed)
            train, test = (parts[0], parts[2]), (parts[1], parts[3])
            scores.setdefault((0.0, ""), []).append(score(script(classifies).fit(*train), *test))
            for epsilon in EPSILONS:
                for what, facts in said.items():
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        model = skdp.privatize(
                            script(classifies), epsilon=epsilon, delta=DELTA, **facts
                        ).fit(*train)
                        spent = skdp.privacy_spent(model)
                    assert spent.epsilon <= epsilon * (1 + 1e-9)
                    scores.setdefault((epsilon, what), []).append(score(model, *test))
        for epsilon in EPSILONS:
            cells = [scores[epsilon, what] for what in said]
            # With standard errors.
            listed = " | ".join(f"{np.mean(c):.3f}±{sem(c):.3f}" for c in cells)
            plain = np.mean(scores[0.0, ""])
            print(f"| {name} | {plain:.3f} | {epsilon:g} | {listed} |", flush=True)


if __name__ == "__main__":
    main()
