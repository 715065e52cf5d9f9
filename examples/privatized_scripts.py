"""Seventeen scripts for scikit-learn, made private by one call each, and what that costs.

Twelve are in the manner of scikit-learn's gallery, five are longer pipelines. Each is fitted as it
was written and by ``skdp.privatize``; what had to be changed by hand is counted: the call itself,
each public fact that is passed, and each line of the script that had to be another one.

    python examples/privatized_scripts.py                      # the table, about four minutes
    python examples/privatized_scripts.py --only digits --plans  # one script, with its plan

The census and house prices are read from the folder named by the environment variable SKDP_DATA,
else from ``shared/data`` beside the repository, else fetched from where scikit-learn gets them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from census import CATEGORIES, LABELS, fetched, folder, table
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import (
    fetch_california_housing,
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_classification,
    make_moons,
    make_regression,
)
from sklearn.ensemble import VotingRegressor
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectPercentile, chi2
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import LinearSVC

import skdp

DELTA = 1e-5
EPSILONS = (1.0, 4.0)
AGES = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)}


@dataclass(frozen=True)
class Script:
    """A script as it was written, and what its author has to say for a private one.

    ``facts`` are passed to ``skdp.privatize``. ``edited`` is the estimator with the steps changed
    that are refused, ``edits`` says which; by default nothing has to be changed.
    """

    name: str
    data: Callable[[], tuple[Any, Any]]
    written: Any
    facts: dict[str, Any] = field(default_factory=dict)
    edited: Any = None
    edits: tuple[str, ...] = ()

    @property
    def by_hand(self):
        """Number of manual edits: the call, facts, and lines."""
        return 1 + len(self.facts) + len(self.edits)

    def private(self, epsilon, **options):
        given = self.written if self.edited is None else self.edited
        return skdp.privatize(given, epsilon=epsilon, delta=DELTA, **self.facts, **options)


def iris():
    X, y = load_iris(return_X_y=True)
    return X, y


def sparse_signal():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 100)) * rng.lognormal(0, 1, 100)
    coef = np.where(np.arange(100) < 10, 1 / X.std(axis=0), 0)
    return X, X @ coef + rng.normal(size=5000)


def outliers():
    X, y = make_regression(3000, 5, noise=10, random_state=0)
    y[:150] += np.random.default_rng(0).normal(0, 500, 150)
    return X, y


def cosine():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 1))
    return X, np.cos(1.5 * np.pi * X[:, 0]) + 0.1 * rng.normal(size=3000)


def letters():
    """Made-up messages to four newsgroups, each of which prefers other words."""
    rng = np.random.default_rng(0)
    usual = 1 / np.arange(1, 2001)
    texts, groups = [], []
    for group in range(4):
        liked = usual * np.exp(0.6 * rng.normal(size=2000))
        for _ in range(1500):
            words = rng.choice(2000, rng.poisson(60) + 5, p=liked / liked.sum())
            texts.append(" ".join(f"w{word}" for word in words))
            groups.append(group)
    return np.array(texts), np.array(groups)


def census():
    people = table()
    return people, people["income"].to_numpy()


def houses():
    path = folder() / "california.npz"
    if not path.is_file():
        return fetched(fetch_california_housing, return_X_y=True)
    with np.load(path) as stored:
        return stored["X"].astype(float), stored["y"].astype(float)


def rentals():
    """Made-up demand for bicycles by season, hour and weather, of a long tail."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 12_000
    table = pd.DataFrame(
        {
            "season": rng.choice(["spring", "summer", "fall", "winter"], n),
            "hour": rng.integers(0, 24, n),
            "temperature": rng.normal(15, 8, n),
            "wind": rng.gamma(2, 6, n),
        }
    )
    busy = 1.5 * np.exp(-((table["hour"] - 17) ** 2) / 20) + 0.8 * (table["season"] == "summer")
    score = 3 + busy + 0.04 * table["temperature"] - 0.02 * table["wind"]
    return table, np.exp(score + 0.4 * rng.normal(size=n)).round()


def of_census(imputer, encoder, *chosen):
    """Preparation of mixed columns as in the gallery's example of a ColumnTransformer."""
    numbers = Pipeline([("imputer", imputer), ("scaler", StandardScaler())])
    codes = Pipeline([("encoder", encoder), *chosen])
    columns = ColumnTransformer(
        [("num", numbers, list(AGES)), ("cat", codes, list(CATEGORIES))],
    )
    return Pipeline([("preprocessor", columns), ("classifier", LogisticRegression(max_iter=500))])


KNOWN_CATEGORIES = {name: values.split() for name, values in CATEGORIES.items()}
DEMAND = ColumnTransformer(
    [
        ("codes", OneHotEncoder(handle_unknown="ignore"), ["season", "hour"]),
        ("numbers", StandardScaler(), ["temperature", "wind"]),
    ]
)


def text(*vectorizers):
    return make_pipeline(*vectorizers, RidgeClassifier(tol=1e-2, solver="sparse_cg"))


def gallery():
    """Scripts in the manner of scikit-learn's gallery."""
    digits = lambda: load_digits(return_X_y=True)  # noqa: E731
    cancer = lambda: load_breast_cancer(return_X_y=True)  # noqa: E731
    yield Script(
        "digits, logistic regression",
        digits,
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        {"classes": range(10), "facts": (0, 16)},
    )
    yield Script(
        "iris, decision regions",
        iris,
        LogisticRegression(C=1e5),
        {"classes": [0, 1, 2], "facts": (0, 8)},
    )
    yield Script(
        "newsgroups (made up), ridge classifier",
        letters,
        text(TfidfVectorizer(sublinear_tf=True, max_df=0.5, min_df=5)),
        {"classes": range(4)},
    )
    yield Script(
        "census, mixed columns",
        census,
        of_census(
            SimpleImputer(strategy="median"),
            OneHotEncoder(handle_unknown="ignore"),
            ("selector", SelectPercentile(chi2, percentile=50)),
        ),
        {"classes": LABELS, "facts": KNOWN_CATEGORIES},
        of_census(SimpleImputer(strategy="median"), OneHotEncoder(handle_unknown="ignore")),
        ("SelectPercentile left out",),
    )
    yield Script(
        "diabetes, ridge",
        lambda: load_diabetes(return_X_y=True),
        Ridge(alpha=0.1),
        {"facts": (-0.2, 0.2), "target_bounds": (25, 346)},
    )
    yield Script(
        "california, ridge of searched strength",
        houses,
        make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-3, 3, 7))),
        {"target_bounds": (0, 5)},
    )
    yield Script(
        "sparse signal, lasso",
        sparse_signal,
        make_pipeline(StandardScaler(), Lasso(alpha=0.05)),
        {"target_bounds": (-12, 12)},
    )
    yield Script(
        "made-up classes, SGD",
        lambda: make_classification(20_000, 20, n_informative=8, random_state=0),
        make_pipeline(StandardScaler(), SGDClassifier(max_iter=1000, tol=1e-3)),
        {"classes": [0, 1]},
    )
    yield Script(
        "breast cancer, linear SVM",
        cancer,
        make_pipeline(StandardScaler(), LinearSVC(C=1, random_state=0)),
        {"classes": [0, 1]},
    )
    yield Script(
        "outliers, Huber regression",
        outliers,
        HuberRegressor(epsilon=1.35),
        {"target_bounds": (-500, 500)},
    )
    yield Script(
        "digits, grid over C",
        digits,
        GridSearchCV(
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            {"logisticregression__C": [0.01, 1.0, 100.0]},
            cv=3,
        ),
        {"classes": range(10), "facts": (0, 16)},
    )
    yield Script(
        "cosine, polynomial of degree 4",
        cosine,
        make_pipeline(PolynomialFeatures(4, include_bias=False), LinearRegression()),
        {"facts": (0, 1), "target_bounds": (-2, 2)},
    )


def pipelines():
    """Pipelines of our own, longer than those of the gallery."""
    yield Script(
        "bicycles, transformed target",
        rentals,
        make_pipeline(
            DEMAND, TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1)
        ),
        {
            "facts": {
                "season": ["spring", "summer", "fall", "winter"],
                "hour": range(24),
                "temperature": (-20, 45),
                "wind": (0, 100),
            },
            "target_bounds": (0, 1000),
        },
    )
    yield Script(
        "california, vote of two",
        houses,
        make_pipeline(
            StandardScaler(),
            VotingRegressor([("ridge", Ridge(1.0)), ("huber", HuberRegressor(max_iter=500))]),
        ),
        {"target_bounds": (0, 5)},
    )
    yield Script(
        "moons, kernel map and SGD",
        lambda: make_moons(8000, noise=0.2, random_state=0),
        make_pipeline(StandardScaler(), Nystroem(gamma=1.0, random_state=0), SGDClassifier()),
        {"classes": [0, 1], "facts": (-3, 3)},
        make_pipeline(StandardScaler(), RBFSampler(gamma=8.0, random_state=0), SGDClassifier()),
        ("Nystroem -> RBFSampler, gamma in units of the bounds",),
    )
    yield Script(
        "census, products of numbers",
        lambda: (census()[0][list(AGES)], census()[1]),
        make_pipeline(
            MinMaxScaler(),
            make_union(Normalizer(), PolynomialFeatures(2, include_bias=False)),
            LogisticRegression(max_iter=1000),
        ),
        {"classes": LABELS, "facts": AGES},
    )
    yield Script(
        "newsgroups (made up), grid over two strengths",
        letters,
        GridSearchCV(
            make_pipeline(HashingVectorizer(n_features=2**12), LogisticRegression(solver="saga")),
            {"logisticregression__C": [1.0, 10.0], "logisticregression__solver": ["lbfgs"]},
            cv=3,
        ),
        {"classes": range(4)},
    )


def measured(script, splits):
    """Scores on held-out rows: {None: [without privacy], epsilon: [...]}, and the total spent."""
    X, y = script.data()
    found, spent = {}, []
    for seed in range(splits):
        parts = train_test_split(X, y, test_size=0.25, random_state=seed)
        train, test = (parts[0], parts[2]), (parts[1], parts[3])
        for epsilon in (None, *EPSILONS):
            model = script.written if epsilon is None else script.private(epsilon)
            found.setdefault(epsilon, []).append(model.fit(*train).score(*test))
            if epsilon is not None:
                spent.append(skdp.privacy_spent(model).epsilon / epsilon)
    return found, spent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="scripts whose name begins so")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--plans", action="store_true", help="print what became of each step")
    arguments = parser.parse_args()
    scripts = [s for s in (*gallery(), *pipelines()) if s.name.startswith(arguments.only or "")]
    print("| script | edits by hand | without privacy | ε = 1 | ε = 4 |\n|---|---|---|---|---|")
    for script in scripts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, spent = measured(script, arguments.splits)
        cells = [
            f"{np.mean(s):.3f}±{np.std(s) / max(1, len(s) - 1) ** 0.5:.3f}" for s in found.values()
        ]
        named = "; ".join(("`privatize`", *(f"`{f}`" for f in script.facts), *script.edits))
        print(f"| {script.name} | {script.by_hand}: {named} | {' | '.join(cells)} |", flush=True)
        assert max(spent) <= 1 + 1e-9
        if arguments.plans:
            print(script.private(1.0, return_plan=True)[1])


if __name__ == "__main__":
    main()
