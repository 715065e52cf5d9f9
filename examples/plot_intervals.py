"""
How sure are these coefficients?
================================

*I do not want to predict; I want to say what a year of schooling is worth. With how much certainty
may I, after noise was added?*

Two things make private coefficients uncertain: the rows are a sample, and noise was added. With
``solver="one_step"`` a fit knows the size of both, and publishes standard errors, p-values and
intervals that include both.
"""

# %%
# Wages by age, years of schooling and weekly hours, made up so that the truth is known.

import numpy as np
import pandas as pd

truth = {"age": 0.1, "schooling": 1.2, "hours": 0.05, "shoe size": 0.0}
ranges = {"age": (18, 65), "schooling": (8, 20), "hours": (10, 60), "shoe size": (35, 48)}


def survey(n, rng):
    X = pd.DataFrame({name: rng.integers(low, high + 1, n) for name, (low, high) in ranges.items()})
    return X, X @ list(truth.values()) - 7 + rng.normal(0, 4, n)


# %%
# Ranges of the columns, and one that holds the wages, come from the questionnaire.

from skdp import DPLinearRegression

model = DPLinearRegression(
    epsilon=1.0, delta=1e-5, solver="one_step", data_bounds=ranges, target_bounds=(-10, 45)
)
X, wage = survey(5_000, np.random.default_rng(0))
model.fit(X, wage)
print(model.inference_.summary())

# %%
# Do the intervals keep their word?
# ---------------------------------
# Two hundred surveys, and a private model of each. An interval at 95 % should hold the true
# coefficient in 190 of them. ``noise_share`` is the part of the variance that is due to privacy.
# Whoever ignored it would draw shorter intervals, and be wrong more often.

column, n_surveys = list(ranges).index("schooling"), 200
middle, half, short = np.empty((3, n_surveys))
for seed in range(n_surveys):
    found = model.fit(*survey(5_000, np.random.default_rng(seed))).inference_
    middle[seed] = found.params[column]
    half[seed] = 1.96 * found.bse[column]
    short[seed] = half[seed] * np.sqrt(1 - found.noise_share[column])
error = np.abs(middle - truth["schooling"])

# %%
# The first sixty intervals.

import matplotlib.pyplot as plt

shown = np.arange(60)
figure, ax = plt.subplots(figsize=(6.4, 5.0), layout="constrained")
for width, size, color, name in [
    (half, 1.2, "C0", "with the noise of privacy"),
    (short, 3.0, "C1", "noise ignored"),
]:
    label = f"{name}: {np.mean(error < width):.0%} of {n_surveys} hold the truth"
    ax.vlines(
        shown, (middle - width)[:60], (middle + width)[:60], color, linewidth=size, label=label
    )
ax.axhline(truth["schooling"], color="black", linestyle="--", linewidth=1, label="truth")
ax.set(
    xlabel="survey",
    ylabel="worth of a year of schooling",
    title=f"95% intervals that hold the truth in {np.mean(error < half):.0%} of surveys",
)
ax.margins(y=0.1)
figure.legend(loc="outside lower center")
plt.show()
