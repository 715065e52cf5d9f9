"""
A stream that drifts
====================

*Rows keep coming and the world changes. Does the private model follow, and does it spend more with
every day?*

``partial_fit`` takes rows as they come. Each row is used in one block of the stream, so all models
that are ever published spend the budget of a single ``fit`` together, however long the stream is.
When blocks end is decided beforehand: to watch the data for a change would have to be paid for.
"""

# %%
# A made-up stream. What decides about the label turns by 135 degrees during the second third.

import numpy as np
from sklearn.preprocessing import normalize

n_rows, call = 30_000, 500


def stream(rng):
    X = normalize(rng.normal(size=(n_rows, 5)))
    progress = np.clip(3 * np.arange(n_rows) / n_rows - 1, 0, 1)
    angle = np.deg2rad(135) * progress
    score = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-8 * score))).astype(int)


# %%
# By default blocks grow: each is as long as everything before it, which is best if nothing changes.
# ``Blocks(largest=1_000)`` limits them, and so forgets. scikit-learn's ``SGDClassifier`` has no
# privacy to keep.

from sklearn.linear_model import SGDClassifier

from skdp import DPLogisticRegression
from skdp.solvers import Blocks

models = {
    "growing blocks": DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=1.0),
    "blocks of 1,000 rows": DPLogisticRegression(
        epsilon=1.0, delta=1e-5, data_norm=1.0, solver=Blocks(largest=1_000)
    ),
    "without privacy": SGDClassifier(loss="log_loss"),
}

# %%
# Each model first predicts the labels of the next 500 rows and then learns from them, on three
# streams.

from sklearn.base import clone


def followed(model, X, y):
    right = []
    for start in range(0, n_rows, call):
        rows = slice(start, start + call)
        right.append(model.score(X[rows], y[rows]) if start else np.nan)
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    return right


accuracy = {name: [] for name in models}
for seed in range(3):
    X, y = stream(np.random.default_rng(seed))
    for name, model in models.items():
        fitted = clone(model)
        accuracy[name].append(followed(fitted, X, y))
        if seed == 0 and name != "without privacy":
            print(f"{name}: {fitted.privacy_spent_} after {fitted.n_samples_seen_:,} rows")

# %%

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ax.axvspan(n_rows / 3, 2 * n_rows / 3, color="0.92")
ax.text(n_rows / 2, 0.98, "the world turns", ha="center", va="top")
looks = zip(["C1", "C0", "black"], ["-", "-", ":"], strict=True)
for name, (color, style) in zip(models, looks, strict=True):
    times = np.arange(0, n_rows, call)
    ax.plot(times, np.mean(accuracy[name], axis=0), style, color=color, label=name)
ax.set(
    xlabel="rows seen",
    ylabel="right about the next 500 rows",
    ylim=(0.2, 1),
    title="Short blocks follow the drift, at the same price",
)
ax.legend(loc="lower left")
plt.show()
