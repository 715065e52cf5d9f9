"""
Raw columns, with bounds and without
====================================

*My columns are years, dollars and kilometres. Do I have to scale them, and to know their ranges?*

Noise has to hide the largest entry that is possible, so a private fit needs to know how large
entries can be. If you know the range of each column, say so: it costs nothing. If you do not, the
fit finds ranges by itself and pays for them. What you must not do is look.
"""

# %%
# A made-up table of flats. Incomes are ten thousand times as large as numbers of rooms, and have a
# long tail.

import numpy as np
import pandas as pd


def flats(n, rng):
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10.3, 0.7, n),
            "rooms": rng.integers(1, 9, n),
            "kilometres": rng.exponential(5, n),
        }
    )
    rent = 200 + table @ [4, 0.01, 60, -8] + rng.normal(0, 100, n)
    return table, rent


# %%
# Three ways to fit a private regression to it with ``epsilon=1``. None has a scaler in front.
#
# - ``data_bounds``: ranges that follow from the form that people fill in. What lies beyond counts
#   as the nearest end, here the largest incomes.
# - No bounds: a part of the budget is spent on finding ranges.
# - ``data_norm``: one bound for the length of a row. In raw columns that is the income and nothing
#   else, and noise that hides an income drowns whatever is counted in years or rooms.

from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPLinearRegression

ranges = {"age": (18, 90), "income": (0, 200_000), "rooms": (1, 8), "kilometres": (0, 40)}
models = {
    "data_bounds": DPLinearRegression(data_bounds=ranges, target_bounds=(0, 4_000)),
    "no bounds": DPLinearRegression(target_bounds=(0, 4_000)),
    "data_norm": DPLinearRegression(data_norm=200_000, target_bounds=(0, 4_000)),
    "without privacy": make_pipeline(StandardScaler(), LinearRegression()),
}

# %%
# Each is fitted to ten tables of each size and predicts the rents of 5,000 other people. Where rows
# are enough to see it, fits with ``data_norm`` warn that one column makes up the length of all
# rows, and say what to do; here we go on to see what becomes of it.

import warnings

rng = np.random.default_rng(0)
X_test, y_test = flats(5_000, rng)
sizes = [1_000, 2_000, 5_000, 20_000]
scores = {name: [] for name in models}
for n in sizes:
    tables = [flats(n, rng) for _ in range(10)]
    for name, model in models.items():
        with warnings.catch_warnings():
            if name == "data_norm":
                warnings.simplefilter("ignore", UserWarning)
            scores[name].append([model.fit(*table).score(X_test, y_test) for table in tables])

# %%
# Lines are medians, and bands hold eight of ten fits. What fits without bounds lose at thousands of
# rows is less the price of finding ranges than where these end: few people have the largest
# incomes, noise hides few people, and incomes beyond the range that was found count as its end.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
looks = zip(["C0", "C1", "0.5", "black"], ["o-", "s-", "^-", "--"], strict=True)
for name, (color, style) in zip(models, looks, strict=True):
    low, middle, high = np.quantile(scores[name], [0.1, 0.5, 0.9], axis=1)
    ax.plot(sizes, middle, style, color=color, label=name)
    ax.fill_between(sizes, low, high, color=color, alpha=0.2, linewidth=0)
ax.set_xscale("log")
ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
ax.minorticks_off()
ax.set(
    xlabel="rows to learn from, epsilon = 1",
    ylabel="R² on other rows",
    ylim=(0, 1),
    title="Known ranges save rows; found ones come near as rows grow",
)
ax.legend(loc="lower right")
plt.show()
