"""A private pipeline on raw columns: scaler and model, each with a share of one budget.

The same query as in ``adult.py``, with nothing known about the numbers but that they are
numbers: a private scaler finds their ranges, means and spreads. Categories come from the code book;
``OneHotEncoder`` without ``categories`` would learn them from the rows, for which nobody would have
paid. Reads ``adult_raw.csv.gz`` from the folder named by the environment variable SKDP_DATA, else
``shared/data`` beside the repository, else the copy of OpenML.
"""

import numpy as np
from census import CATEGORIES, LABELS, known_categories, table
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import skdp
from skdp import DPLogisticRegression
from skdp.preprocessing import DPStandardScaler

NUMBERS = [
    *("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"),
]
DELTA = 1e-5
# The scaler's share of mu^2, which is what adds up; the model takes the rest.
SHARE = 0.1
RUNS = 5


def pipeline(scaler, model):
    codes = OneHotEncoder(categories=known_categories(), handle_unknown="ignore")
    columns = ColumnTransformer(
        [("numbers", scaler, NUMBERS), ("codes", codes, list(CATEGORIES))], sparse_threshold=0.0
    )
    return make_pipeline(columns, model)


def private_pipeline(epsilon):
    shares = {"scaler": SHARE, "model": 1 - SHARE}
    parts = skdp.split_budget(shares, epsilon=epsilon, delta=DELTA)
    return pipeline(
        DPStandardScaler(epsilon=parts["scaler"], delta=DELTA),
        DPLogisticRegression(epsilon=parts["model"], delta=DELTA, classes=LABELS),
    )


def main():
    people = table()
    train, test = (people[people["split"] == part] for part in ("train", "test"))

    exact = pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    accuracy = exact.fit(train, train["income"]).score(test, test["income"])
    print(f"without privacy   accuracy {accuracy:.3f}")
    for epsilon in (0.5, 1.0, 4.0):
        scores = []
        for _ in range(RUNS):
            model = private_pipeline(epsilon).fit(train, train["income"])
            scores.append(model.score(test, test["income"]))
        spent = skdp.privacy_spent(model)
        print(
            f"epsilon = {epsilon:<5g}   accuracy {np.mean(scores):.3f} "
            f"(from {min(scores):.3f} to {max(scores):.3f})   "
            f"spent epsilon={spent.epsilon:.3f}, delta={spent.delta:.0e}"
        )


if __name__ == "__main__":
    main()
