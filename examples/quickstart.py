"""A private classifier and a private regression on data that come with scikit-learn.

Features are brought to bounds that are known without the data: pixels of the digits lie in 0..16,
and the diabetes columns are published with mean 0 and squared norm 1. Noise differs from fit to
fit, so that scores are means over several.
"""

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from skdp import DPLinearRegression, DPLogisticRegression

EPSILONS = (0.5, 1.0, 4.0)
FITS = 5


def centred_pixels(X):
    """From 0..16 to -1..1."""
    return X / 8 - 1


def bar(score):
    return "#" * round(40 * max(0.0, score))


def compare(name, exact, private_at, X, y):
    """Test scores without privacy and at each epsilon, as means of fits with fresh noise."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    baseline = exact.fit(X_train, y_train).score(X_test, y_test)
    print(f"{name}\n  without privacy  {baseline:.3f}       {bar(baseline)}")
    for epsilon in EPSILONS:
        models = [private_at(epsilon).fit(X_train, y_train) for _ in range(FITS)]
        scores = [model.score(X_test, y_test) for model in models]
        mean, error = np.mean(scores), np.std(scores, ddof=1) / np.sqrt(FITS)
        print(f"  epsilon {epsilon:<8g} {mean:.3f} +-{error:.3f} {bar(mean)}")
    return models[-1]


def digits():
    prepare = FunctionTransformer(centred_pixels), Normalizer()

    def private_at(epsilon):
        model = DPLogisticRegression(epsilon=epsilon, data_norm=1.0, classes=range(10))
        return make_pipeline(*prepare, model)

    exact = make_pipeline(*prepare, LogisticRegression(C=10))
    pipeline = compare("Digits, accuracy", exact, private_at, *load_digits(return_X_y=True))
    return pipeline[-1]


def diabetes():
    def private_at(epsilon):
        return DPLinearRegression(epsilon=epsilon, data_norm=4.5, target_bounds=(25, 346))

    X, y = load_diabetes(return_X_y=True)
    compare("Diabetes (331 rows), R^2", Ridge(1.0), private_at, X * np.sqrt(len(X)), y)


def main():
    classifier = digits()
    diabetes()
    print("\nWhat the last fit of digits has released:")
    print(classifier.privacy_ledger_)
    spent = classifier.privacy_spent_
    print(f"privacy spent by it: epsilon={spent.epsilon:.3f}, delta={spent.delta:.0e}")


if __name__ == "__main__":
    main()
