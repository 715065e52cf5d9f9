"""
Curves for single columns: additive models
==========================================

*The effect of a column is no line. How do I let it bend, and still explain it?*

``DPSplineTransformer`` turns each column into splines, with knots at private quantiles. A private
linear model behind it is an additive one: a curve for each column, and their sum is the prediction.
"""

# %%
# Rentals of bikes by the hour of the day, the temperature and the wind, made up. Whoever counts
# them knows the ranges; the rest is private.

import numpy as np

rng = np.random.default_rng(0)
ranges = {"hour": (0, 24), "temperature": (-10, 40), "wind": (0, 60)}


def truth(hour, temperature, wind):
    rush = np.exp(-(((hour - 8) / 2) ** 2)) + 1.3 * np.exp(-(((hour - 18) / 3) ** 2))
    return 300 * rush + 250 * np.exp(-(((temperature - 24) / 12) ** 2)) - 1.5 * wind


def make_rows(n):
    X = np.column_stack(
        [rng.uniform(0, 24, n), np.clip(rng.normal(14, 9, n), -10, 40), rng.gamma(2, 7, n)]
    )
    return X, np.clip(truth(*X.T) + rng.normal(0, 60, n), 0, 1000)


(X, y), (X_test, y_test) = make_rows(20_000), make_rows(5_000)

# %%
# Both models have the same budget as a whole. The quantiles of all columns come from one release,
# for which a tenth of mu^2 is enough. Splines are between 0 and 1, so that the model needs no
# ranges.

from sklearn.pipeline import make_pipeline

from skdp import DPLinearRegression, split_budget
from skdp.preprocessing import DPSplineTransformer

delta, bounds = 1e-6, tuple(zip(*ranges.values(), strict=True))


def linear(epsilon):
    return DPLinearRegression(
        epsilon=epsilon, delta=delta, data_bounds=bounds, target_bounds=(0, 1000)
    )


def additive(epsilon):
    parts = split_budget({"knots": 0.1, "model": 0.9}, epsilon=epsilon, delta=delta)
    return make_pipeline(
        DPSplineTransformer(n_knots=12, epsilon=parts["knots"], delta=delta, bounds=bounds),
        DPLinearRegression(
            epsilon=parts["model"], delta=delta, data_bounds=(0, 1), target_bounds=(0, 1000)
        ),
    )


# %%
# The curve of a column is what the model says when that column alone changes. Those of ten private
# fits lie about the truth.

import matplotlib.pyplot as plt

scores = {make.__name__: [] for make in (linear, additive)}
figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained", sharey=True)
for fit in range(10):
    for make, color in ((linear, "C1"), (additive, "C0")):
        model = make(1.0).fit(X, y)
        scores[make.__name__].append(model.score(X_test, y_test))
        for j, ax in enumerate(axes):
            rows = np.tile(np.median(X, axis=0), (100, 1))
            rows[:, j] = np.linspace(*np.quantile(X[:, j], [0.005, 0.995]), 100)
            label = make.__name__ if fit == 0 else None
            ax.plot(rows[:, j], model.predict(rows), color=color, lw=0.7, alpha=0.7, label=label)
            if fit == 9:
                label = "truth" if make is additive else None
                ax.plot(rows[:, j], truth(*rows.T), "k--", lw=1.2, label=label)
for ax, name in zip(axes, ranges, strict=True):
    ax.set(xlabel=name)
axes[0].set(ylabel="rentals")
axes[2].set_ylim(top=600)
axes[2].legend(fontsize="small")
before, after = (np.mean(found) for found in scores.values())
figure.suptitle(f"Splines bend a private model: R2 of {before:.2f}, then {after:.2f}")
plt.show()
