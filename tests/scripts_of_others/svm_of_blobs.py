"""Where a linear support vector machine is sure: lines at -1, 0 and 1 of its decision function."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.svm import LinearSVC

X, y = make_blobs(n_samples=400, centers=[[-2, 0], [2, 1]], cluster_std=0.7, random_state=3)
fig, axes = plt.subplots(ncols=2, figsize=(9, 4))
for ax, C in zip(axes, [0.1, 10.0], strict=True):
    machine = LinearSVC(C=C, loss="hinge", max_iter=5000, random_state=0).fit(X, y)
    margin = machine.decision_function(X)
    inside = np.abs(margin) <= 1
    assert np.array_equal(margin > 0, machine.predict(X) == machine.classes_[1])
    ax.scatter(*X.T, c=y, s=12)
    ax.scatter(*X[inside].T, s=60, facecolors="none", edgecolors="black")
    DecisionBoundaryDisplay.from_estimator(
        machine, X, ax=ax, plot_method="contour", levels=[-1, 0, 1], colors="grey",
        linestyles=["dotted", "solid", "dotted"], response_method="decision_function",
    )  # fmt: skip
    ax.set_title(f"C={C:g}, {inside.sum()} rows within the margin")
plt.show()
