"""What a private search gains and costs, against a fixed default and searches that are not private.

    python examples/benchmarks/private_search.py --data adult breast_cancer --seeds 10

Accuracy on held-out rows of private logistic regression at the same total epsilon:

- ``default``: one fit, nothing chosen.
- ``search``: ``DPRandomizedSearchCV``, 10 trials in the mean, scored on training rows.
- ``held out``: the same, scored on a fifth of the rows, which are not trained on.
- ``public rows``: the same, scored without noise on 200 rows beyond the training rows.
- ``exact cv``: scikit-learn's ``RandomizedSearchCV``, 10 candidates, 3 folds and a refit. Its 31
  fits share the budget by exact Gaussian composition, which is the most that each can have. Its
  scores are exact, so the whole is *not private*.
- ``oracle``: each of all candidates with the whole budget, and the best one on the test rows. No
  search can do that, private or not.
"""

from __future__ import annotations

import argparse
import time
import warnings
from math import sqrt

import datasets
import numpy as np
from sklearn.model_selection import ParameterGrid, RandomizedSearchCV

from skdp import DPLogisticRegression
from skdp.model_selection import DPRandomizedSearchCV
from skdp.privacy.accounting import gdp
from skdp.solvers import GD

EPSILONS = (0.5, 1.0, 4.0)
DELTA = 1e-5
SPACE = {
    "C": [0.1, 1.0, 10.0],
    "solver": [GD(), GD(clip=0.1), GD(clip=0.5), GD(clip=1.0)],
    "precondition": [None, "auto"],
}
TRIALS, FOLDS, PUBLIC = 10, 3, 200


def model(epsilon):
    return DPLogisticRegression(epsilon=epsilon, delta=DELTA, data_norm=1.0, classes=[0, 1])


def search(epsilon, **parameters):
    return DPRandomizedSearchCV(
        model(1.0), SPACE, epsilon=epsilon, delta=DELTA, n_iter=TRIALS, **parameters
    )


def exact_cv(epsilon, seed):
    fits = TRIALS * FOLDS + 1
    each = gdp.epsilon(gdp.mu(epsilon, DELTA) / sqrt(fits), DELTA)
    return RandomizedSearchCV(model(each), SPACE, n_iter=TRIALS, cv=FOLDS, random_state=seed)


def methods(epsilon, seed, public):
    return {
        "default": model(epsilon),
        "search": search(epsilon),
        "public rows": search(epsilon, validation=public),
        "exact cv": exact_cv(epsilon, seed),
    }


def best_of_all(epsilon, X, y, X_test, y_test):
    fitted = (model(epsilon).set_params(**params).fit(X, y) for params in ParameterGrid(SPACE))
    return max(each.score(X_test, y_test) for each in fitted)


def parts(name, rows, seed):
    """Training rows, public rows and test rows."""
    data = getattr(datasets, name)()
    order = np.random.default_rng(seed).permutation(len(data.y))
    held_out = min(10_000, len(order) // 4)
    test, rest = order[:held_out], order[held_out:]
    public, train = rest[: min(PUBLIC, len(rest) // 4)], rest
    train = train[len(public) :][:rows]
    return [(data.X[rows], data.y[rows]) for rows in (train, public, test)]


def compare(name, rows, seeds):
    found, sizes = {}, None
    for seed in range(seeds):
        (X, y), public, (X_test, y_test) = parts(name, rows, seed)
        sizes = len(y), len(y_test)
        for epsilon in EPSILONS:
            scores = {
                method: estimator.fit(X, y).best_estimator_.score(X_test, y_test)
                if method != "default"
                else estimator.fit(X, y).score(X_test, y_test)
                for method, estimator in methods(epsilon, seed, public).items()
            }
            scores["oracle"] = best_of_all(epsilon, X, y, X_test, y_test)
            for method, score in scores.items():
                found.setdefault((epsilon, method), []).append(score)
    return found, sizes


def table(found):
    names = list(dict.fromkeys(method for _, method in found))
    lines = ["| epsilon | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for epsilon in EPSILONS:
        cells = []
        for name in names:
            scores = 100 * np.array(found[epsilon, name])
            error = scores.std(ddof=1) / sqrt(scores.size)
            cells.append(f"{scores.mean():.2f} ± {error:.2f}")
        lines.append(f"| {epsilon:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=["adult", "breast_cancer"])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.data:
        began = time.process_time()
        found, (n, m) = compare(name, options.rows, options.seeds)
        print(
            f"\n{name}, {n} training rows, {m} test rows, {options.seeds} splits: accuracy in %\n"
        )
        print(table(found))
        print(f"\n{time.process_time() - began:.0f} s of CPU time")


if __name__ == "__main__":
    main()
