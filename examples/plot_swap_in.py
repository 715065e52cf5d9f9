"""
Put a private model in the place of scikit-learn's
==================================================

*What has to change in my script, and what happens to its answers?*

The table has ten measurements of cell nuclei for each of 569 patients, and says whose tumour was
benign. The script is the usual one: scale the columns, fit a logistic regression, predict.
"""

# %%
# Without privacy
# ---------------

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.filter(like="mean")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

exact = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)

# %%
# With privacy
# ------------
# Two facts that scikit-learn reads off the patients are now stated: the classes, and the range of
# each column (round numbers, which whoever takes such measurements knows). ``epsilon`` is the
# privacy budget. The scaler is gone, because it would publish means and deviations that nobody
# has paid for. The private model brings the columns to one scale by their ranges.

from skdp import DPLogisticRegression

ranges = {
    "mean radius": (5, 30),
    "mean texture": (5, 40),
    "mean perimeter": (40, 200),
    "mean area": (100, 2500),
    "mean smoothness": (0.05, 0.2),
    "mean compactness": (0, 0.4),
    "mean concavity": (0, 0.5),
    "mean concave points": (0, 0.2),
    "mean symmetry": (0.1, 0.3),
    "mean fractal dimension": (0.05, 0.1),
}
private = DPLogisticRegression(epsilon=1.0, classes=[0, 1], data_bounds=ranges)
private.fit(X_train, y_train)
private.privacy_spent_

# %%
# All else stays: ``predict``, ``predict_proba``, ``score``, pipelines, ``clone``.

print(f"accuracy without privacy  {exact.score(X_test, y_test):.3f}")
print(f"accuracy with epsilon = 1 {private.score(X_test, y_test):.3f}")

# %%
# Whose answer changes?
# ---------------------
# Each point is a patient whom neither model has seen. Noise differs from fit to fit, so twenty
# private fits are shown by their median and by the range that holds the middle eighteen of them.
# Doubtful cases move, and clear ones stay where they are.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

before = exact.predict_proba(X_test)[:, 1]
fits = [clone(private).fit(X_train, y_train) for _ in range(20)]
after = np.array([fit.predict_proba(X_test)[:, 1] for fit in fits])
low, middle, high = np.quantile(after, [0.05, 0.5, 0.95], axis=0)
same = np.mean((after > 0.5) == (before > 0.5))

figure, ax = plt.subplots(figsize=(6.4, 5), layout="constrained")
for label, name, color, marker in [(0, "malignant", "C1", "s"), (1, "benign", "C0", "o")]:
    rows = y_test == label
    spread = [(middle - low)[rows], (high - middle)[rows]]
    ax.errorbar(before[rows], middle[rows], yerr=spread, fmt="none", color=color, alpha=0.25)
    ax.plot(before[rows], middle[rows], marker, color=color, markersize=4, label=name)
ax.axhline(0.5, color="0.6", linewidth=0.8)
ax.axvline(0.5, color="0.6", linewidth=0.8)
ax.set(
    xlabel="probability of benign, without privacy",
    ylabel="probability of benign, epsilon = 1",
    title=f"{same:.0%} of the patients get the same answer from a private model",
)
ax.legend(loc="upper left")
plt.show()
