"""Private estimators that take no time, for tests of what is built around estimators."""

import numpy as np
from sklearn.base import ClassifierMixin

from skdp.privacy.accounting import GaussianEvent, PrivacySpent
from skdp.reporting import BudgetedEstimator


class Toy(ClassifierMixin, BudgetedEstimator):
    """Says ``label`` to everything, and has spent what it may."""

    def __init__(
        self, epsilon=1.0, delta=1e-5, label=1, classes=(0, 1), fails=False, adjacency="replace_one"
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.label = label
        self.classes = classes
        self.fails = fails
        self.adjacency = adjacency

    def fit(self, X, y, sample_weight=None):
        if self.fails:
            raise ArithmeticError(f"the label was {self.label}")
        self.n_features_in_ = X.shape[1]
        self.n_rows_ = X.shape[0]
        self.weight_ = None if sample_weight is None else float(np.sum(sample_weight))
        self.classes_ = np.array(self.classes)
        self.privacy_spent_ = PrivacySpent(self.epsilon, self.delta)
        self.privacy_ledger_ = (GaussianEvent(query="toy", sensitivity=1.0, noise_scale=50.0),)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.label)
