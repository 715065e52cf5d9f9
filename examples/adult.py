"""Who earns more than $50,000? A private model of the 1994 census extract, from raw columns.

Preparation learns nothing from the rows: categories and ranges come from the code book, which is in
``census.py``, so the whole pipeline spends what its last step says it spends. Reads
``adult_raw.csv.gz`` from the folder named by the environment variable SKDP_DATA, else from
``shared/data`` beside the repository, else the copy of OpenML.
"""

import numpy as np
from census import AMOUNTS, CATEGORIES, LABELS, NUMBERS, known_categories, table
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder

from skdp import DPLogisticRegression


def to_unit_interval(X):
    """Numbers from their ranges to [-1, 1]."""
    low, high = np.array(list(NUMBERS.values()), dtype=float).T
    return 2 * (np.clip(X, low, high) - low) / (high - low) - 1


def roots(X):
    """Amounts, most of them zero, on a scale where large ones are not everything."""
    return 2 * np.sqrt(np.clip(X, 0, None) / np.array(list(AMOUNTS.values()))) - 1


def preparation():
    codes = OneHotEncoder(
        categories=known_categories(),
        handle_unknown="ignore",
        sparse_output=False,
    )
    columns = ColumnTransformer(
        [
            ("numbers", FunctionTransformer(to_unit_interval), list(NUMBERS)),
            ("amounts", FunctionTransformer(roots), list(AMOUNTS)),
            ("codes", codes, list(CATEGORIES)),
        ],
        sparse_threshold=0.0,
    )
    # Rows of norm 1: each is scaled by itself, and their bound is known.
    return columns, Normalizer()


def main():
    people = table()
    train, test = (people[people["split"] == part] for part in ("train", "test"))

    def report(name, model):
        accuracy = model.score(test, test["income"])
        auc = roc_auc_score(test["income"] == LABELS[1], model.decision_function(test))
        print(f"{name:<24} accuracy {accuracy:.3f}   AUC {auc:.3f}", end="")

    exact = make_pipeline(*preparation(), LogisticRegression(C=100, max_iter=1000))
    report("without privacy", exact.fit(train, train["income"]))
    print()
    for epsilon in (0.1, 0.5, 1.0, 4.0):
        private = DPLogisticRegression(epsilon=epsilon, delta=1e-5, data_norm=1.0, classes=LABELS)
        model = make_pipeline(*preparation(), private).fit(train, train["income"])
        report(f"epsilon = {epsilon:g}", model)
        spent = private.privacy_spent_
        print(f"   spent epsilon={spent.epsilon:.3f}, delta={spent.delta:.0e}")


if __name__ == "__main__":
    main()
