"""
A raw table, and what is known of it
====================================

*My table has words, gaps and amounts of all sizes. What has to be known of it?*

A pipeline for such a table learns before its model does: medians to fill gaps with, categories,
scales. ``privatize`` puts a private step in the place of each of them, under one budget. Whatever
is known without the rows, from a code book or a form, is said once, and need not be found.
"""

# %%
# A made-up table of tenants: a number without gaps, an amount with a long tail and gaps, words from
# a list, words that people chose themselves, and whether they paid in time.

import numpy as np
import pandas as pd

JOBS = ["clerk", "cook", "driver", "nurse", "teacher", "student"]


def tenants(n, rng):
    income = rng.lognormal(10.3, 0.6, n)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, income),
            "contract": rng.choice(["limited", "open"], n),
            "job": rng.choice(JOBS, n, p=[0.3, 0.1, 0.2, 0.2, 0.15, 0.05]),
        }
    )
    # Some write a job that nobody else has.
    rare = rng.random(n) < 0.05
    table.loc[rare, "job"] = [f"job no. {k}" for k in rng.integers(0, 10**6, rare.sum())]
    score = 0.04 * (table["age"] - 45) + 1.5 * np.log(income / 30_000)
    score += 1.5 * (table["contract"] == "open") - (table["job"] == "student")
    return table, (score + rng.logistic(size=n) > 0).map({True: "paid", False: "late"})


# %%
# The pipeline as one writes it without privacy. Columns are chosen by their types.

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
codes = OneHotEncoder(handle_unknown="ignore")
script = make_pipeline(
    ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include="number")),
            ("codes", codes, make_column_selector(dtype_exclude="number")),
        ]
    ),
    LogisticRegression(),
)

# %%
# Names and types of columns are those of the frame, of which no row is read; or a code book says
# categories and ranges, too. The plan says what became of each step, and what would be worth
# knowing.

import skdp

rng = np.random.default_rng(0)
X_test, y_test = tenants(20_000, rng)
book = {
    "age": (18, 90),
    "income": (0, 100_000),
    "contract": ["limited", "open"],
    "job": JOBS,
}
said = {"types of columns": X_test, "and a code book": [X_test, book]}
labels = ["late", "paid"]
_, plan = skdp.privatize(script, epsilon=1.0, classes=labels, facts=X_test, return_plan=True)
print(plan)

# %%
# Each is fitted to sixteen tables of each size at ``epsilon=0.5``.

import warnings

sizes = [500, 1_000, 2_000, 5_000]
scores = {name: [] for name in [*said, "without privacy"]}
for n in sizes:
    tables = [tenants(n, rng) for _ in range(16)]
    for name in scores:
        model = script
        if name in said:
            model = skdp.privatize(script, epsilon=0.5, classes=labels, facts=said[name])
        with warnings.catch_warnings():
            # Small tables are warned of: ranges and categories will hardly be found there.
            warnings.simplefilter("ignore", UserWarning)
            scores[name].append([model.fit(*table).score(X_test, y_test) for table in tables])

# %%
# Lines are means. In so narrow a table nothing has to be said: ranges that hold every tenant are
# wide, so that those that are found serve as well. A code book is worth more where columns are many
# or the budget is small.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
looks = zip(["C0", "C1", "black"], ["o-", "s-", "--"], strict=True)
for name, (color, style) in zip(scores, looks, strict=True):
    ax.plot(sizes, np.mean(scores[name], axis=1), style, color=color, label=name)
ax.axhline(y_test.value_counts(normalize=True).max(), color="0.7", linewidth=1)
ax.set_xscale("log")
ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
ax.minorticks_off()
ax.set(
    xlabel="rows to learn from, epsilon = 0.5",
    ylabel="accuracy on other rows",
    title="A raw table by one call",
)
ax.legend(loc="lower right")
plt.show()
