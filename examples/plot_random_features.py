"""
Curved boundaries from a linear model
=====================================

*My classes are not separated by a line. Do I need a private neural network?*

Often random Fourier features are enough. ``RBFSampler`` draws them without looking at the rows, so
the step is free, and a private linear model on top of it is a private model with a Gaussian kernel.
"""

# %%
# Two classes that no line separates. Whoever drew the map knows how large it is.

import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

X, y = make_moons(6_000, noise=0.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=2_000, random_state=0)

# %%
# Features are cosines, so that their ranges are known. ``random_state`` decides on the features,
# which are public, and has nothing to do with the noise.
#
# ``gamma``, the width of the kernel, is a guess from the size of the map. Another example finds one
# by a private search.

from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline

from skdp import DPLogisticRegression


def linear(epsilon):
    return DPLogisticRegression(epsilon=epsilon, data_bounds=([-2, -2], [3, 2]), classes=[0, 1])


def curved(epsilon):
    features = RBFSampler(gamma=2, n_components=100, random_state=0)
    return make_pipeline(
        features, DPLogisticRegression(epsilon=epsilon, data_norm=np.sqrt(2), classes=[0, 1])
    )


# %%
# Boundaries of ten private fits of each kind. Where there are rows, the ten agree. Far away, where
# there is nothing to learn, noise decides.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained", sharey=True)
grid = np.stack(np.meshgrid(np.linspace(-2, 3, 100), np.linspace(-1.5, 2, 80)), axis=-1)
means = {}
for ax, (name, made) in zip(axes, [("linear", linear), ("random features", curved)], strict=True):
    for label, color, marker in [(0, "C0", "."), (1, "C1", "x")]:
        some = X_test[y_test == label][:150]
        ax.plot(*some.T, marker, color=color, markersize=4, alpha=0.6)
    accuracies = []
    for _ in range(10):
        model = made(1.0).fit(X_train, y_train)
        accuracies.append(model.score(X_test, y_test))
        scores = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        ax.contour(*np.moveaxis(grid, -1, 0), scores, [0], colors="black", linewidths=0.8)
    means[name] = np.mean(accuracies)
    ax.set(xticks=[], yticks=[], title=name)
before, after = means.values()
figure.suptitle(f"Random features bend a private boundary: {before:.0%} right, then {after:.0%}")
plt.show()
