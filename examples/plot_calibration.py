"""
Probabilities that mean what they say
=====================================

*My private model says 30 %. Does it come true in three cases of ten, and how do I show that without
giving the test rows away?*

To save noise, a fit limits what a single row may contribute. That hardly changes which class
wins, but it leaves scores at a wrong scale. ``DPLogisticRegression`` therefore pays for one more
answer at its end, about how far labels are from its probabilities, and corrects the scale by it.
"""

# %%
# Made-up patients with ten measurements, and what came of their treatment.

import numpy as np
from sklearn.preprocessing import normalize

rng = np.random.default_rng(0)


def patients(n):
    X = normalize(rng.normal(size=(n, 10)))
    chance = 1 / (1 + np.exp(1 - 4 * X[:, :3].sum(axis=1)))
    return X, (rng.random(n) < chance).astype(int)


X_train, y_train = patients(10_000)
X_test, y_test = patients(10_000)

# %%
# The last line of the ledger is the correction; it has cost a few percent of the budget.

import skdp

model = skdp.DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=1.0, classes=[0, 1])
model.fit(X_train, y_train)
print(model.privacy_ledger_)

# %%
# A calibration curve that may be shown
# -------------------------------------
# The people of the test rows are other people, and a curve made of their outcomes tells about them.
# ``skdp.evaluate`` spends a budget of theirs on it, and returns intervals that include the noise.

found = skdp.evaluate(
    model, X_test, y_test, epsilon=1.0, delta=1e-5, metrics=["brier_score", "calibration_curve"]
)
print(found.summary())

# %%
# Is that one model lucky? Twenty more, for our eyes: the rows are made up, so that exact curves do
# no harm here.

import matplotlib.pyplot as plt
from sklearn.base import clone
from sklearn.calibration import calibration_curve

figure, ax = plt.subplots(figsize=(5.8, 5.4), layout="constrained")
for number in range(20):
    fit = clone(model).fit(X_train, y_train)
    share, said = calibration_curve(y_test, fit.predict_proba(X_test)[:, 1], n_bins=10)
    label = "twenty other fits, exact" if number == 0 else None
    ax.plot(said, share, color="0.7", linewidth=0.8, label=label)

curve = found.calibration_curve
middle, half = (curve.edges[1:] + curve.edges[:-1]) / 2, np.diff(curve.edges) / 2
reach = np.array([curve.share - curve.low, curve.high - curve.share])
ax.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="calibrated")
ax.errorbar(middle, curve.share, reach, half, fmt="o", markersize=4, label="released")
ax.legend()

bin = np.searchsorted(curve.edges, 0.3) - 1
low, high = curve.edges[bin : bin + 2]
ax.set(
    xlabel="probability that the model tells",
    ylabel="share of patients for whom it came true",
    title=f"Of those told {low:.0%} to {high:.0%}, it came true for {curve.share[bin]:.0%}",
)
plt.show()
