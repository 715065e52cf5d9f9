"""A private classifier and a private regression on data that come with scikit-learn.

Features are brought to bounds that are known without the data: pixels of the digits lie in 0..16,
and the diabetes columns are published with mean 0 and squared norm 1.
"""

import warnings

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from skdp import DPLinearRegression, DPLogisticRegression

EPSILONS = (0.5, 1.0, 4.0)


def centred_pixels(X):
    """From 0..16 to -1..1."""
    return X / 8 - 1


def show(name, baseline, scores, receipts):
    print(f"{name}: without privacy {baseline:.3f}")
    for score, (epsilon, delta) in zip(scores, receipts, strict=True):
        print(f"  test score {score:.3f}   privacy spent: epsilon={epsilon:.3f}, delta={delta:.0e}")


def digits():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    prepare = FunctionTransformer(centred_pixels), Normalizer()
    exact = make_pipeline(*prepare, LogisticRegression(C=10)).fit(X_train, y_train)
    scores, receipts = [], []
    for epsilon in EPSILONS:
        private = DPLogisticRegression(
            epsilon=epsilon, delta=1e-4, data_norm=1.0, classes=range(10)
        )
        model = make_pipeline(*prepare, private).fit(X_train, y_train)
        scores.append(model.score(X_test, y_test))
        receipts.append(private.privacy_spent_)
    show("Digits, 10 classes, accuracy", exact.score(X_test, y_test), scores, receipts)
    print(f"  the last receipt: {private.privacy_ledger_[0]}")


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    X = X * np.sqrt(len(X))
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    exact = Ridge(1.0).fit(X_train, y_train)
    scores, receipts = [], []
    for epsilon in EPSILONS:
        private = DPLinearRegression(
            epsilon=epsilon, delta=1e-4, data_norm=4.5, target_bounds=(25, 346)
        )
        scores.append(private.fit(X_train, y_train).score(X_test, y_test))
        receipts.append(private.privacy_spent_)
    show("Diabetes progression, R^2", exact.score(X_test, y_test), scores, receipts)


if __name__ == "__main__":
    warnings.simplefilter("error")
    digits()
    diabetes()
