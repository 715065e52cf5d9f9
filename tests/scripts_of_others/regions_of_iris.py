"""Regions of three kinds of iris by multinomial logistic regression on the lengths of leaves."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

iris = load_iris()
X, y = iris.data[:, [0, 2]], iris.target
model = make_pipeline(StandardScaler(), LogisticRegression(C=1e3, max_iter=500, tol=1e-6))
model.fit(X, y)

low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
across, up = np.meshgrid(np.linspace(low[0], high[0], 80), np.linspace(low[1], high[1], 60))
grid = np.column_stack([across.ravel(), up.ravel()])
chances = model.predict_proba(grid)
assert chances.shape == (4800, 3)
assert np.allclose(chances.sum(axis=1), 1)
assert np.array_equal(chances.argmax(axis=1), model.predict(grid))
assert model[-1].coef_.shape == (3, 2)

plt.pcolormesh(across, up, model.predict(grid).reshape(across.shape), alpha=0.3)
for kind, name in enumerate(iris.target_names):
    plt.scatter(*X[y == kind].T, label=name, edgecolors="black")
plt.title(f"{model.score(X, y):.0%} of the training rows")
plt.legend()
plt.show()
