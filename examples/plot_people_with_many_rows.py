"""
People with many rows
=====================

*My rows are visits, and some people come often. The promise protects a row. What protects a
person?*

At ``epsilon=1`` a person with forty rows has the promise of a much larger epsilon. With
``fit(X, y, privacy_unit=person)`` it is kept for all rows of a person together, however many: each
person counts as much as one row.
"""

# %%
# Made-up visits. Most people come a few times, some up to forty times, and each has habits of
# their own.

import numpy as np


def visits(n_people, rng):
    often = np.minimum(rng.geometric(0.2, n_people), 40)
    person = np.repeat(np.arange(n_people), often)
    habits = rng.normal(0, 0.5, (n_people, 10))
    X = np.clip(habits[person] + rng.normal(0, 0.5, (len(person), 10)), -3, 3)
    chance = 1 / (1 + np.exp(-1.5 * X[:, :4].sum(axis=1)))
    return X, (rng.random(len(person)) < chance).astype(int), person


# %%
# What a fit that protects single rows promises to a person of forty rows: the parameter mu of
# Gaussian differential privacy is forty times as large.

from skdp import DPLogisticRegression
from skdp.privacy import gdp

epsilon, delta = 1.0, 1e-6
mu = gdp.mu(epsilon, delta)
of_forty = gdp.epsilon(40 * mu, delta)
print(f"epsilon = 1 for a row is epsilon = {of_forty:.0f} for a person of forty rows")

# %%
# Three ways keep ``epsilon=1`` for everybody: name the person of each row; divide the budget by the
# largest number of rows, which has to be known; or keep one visit of each person, which throws the
# others away. A fit that protects rows alone is there for comparison.


def fitted(way, X, y, person):
    budget = gdp.epsilon(mu / 40, delta) if way == "budget divided by 40" else epsilon
    model = DPLogisticRegression(epsilon=budget, delta=delta, data_bounds=(-3, 3), classes=[0, 1])
    if way == "privacy_unit=person":
        return model.fit(X, y, privacy_unit=person)
    if way == "one visit of each person":
        rows = np.unique(person, return_index=True)[1]
        return model.fit(X[rows], y[rows])
    return model.fit(X, y)


# %%
# Six groups of people of each size, and the visits of other people to predict for. Lines are
# means, and bands hold all six. What noise costs is decided by the number of people, so one visit
# of each does as well here; with ``privacy_unit`` nobody has to choose which.

import matplotlib.pyplot as plt

X_test, y_test, _ = visits(1_000, np.random.default_rng(0))
sizes = [500, 1_000, 2_000, 4_000]
looks = {
    "rows alone protected": ("0.5", ":"),
    "privacy_unit=person": ("C0", "o-"),
    "one visit of each person": ("black", "--"),
    "budget divided by 40": ("C1", "s-"),
}
scores = {way: np.empty((len(sizes), 6)) for way in looks}
for place in np.ndindex(len(sizes), 6):
    data = visits(sizes[place[0]], np.random.default_rng(1 + place[1]))
    for way in looks:
        scores[way][place] = fitted(way, *data).score(X_test, y_test)

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for way, (color, style) in looks.items():
    promise = of_forty if way == "rows alone protected" else epsilon
    label = f"{way} (epsilon = {promise:.0f} for forty visits)"
    ax.plot(sizes, scores[way].mean(axis=1), style, color=color, label=label)
    low, high = scores[way].min(axis=1), scores[way].max(axis=1)
    ax.fill_between(sizes, low, high, color=color, alpha=0.15, linewidth=0)
ax.set_xscale("log")
ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
ax.minorticks_off()
ax.set(
    xlabel="people",
    ylabel="right about visits of others",
    ylim=(0.4, 0.8),
    title="Naming the people costs far less than dividing the budget",
)
ax.legend(loc="lower right", fontsize=9)
plt.show()
