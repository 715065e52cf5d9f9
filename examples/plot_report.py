"""
Read a privacy report, and recompute it
=======================================

*Somebody hands me a model and says epsilon = 1. What does that mean, what was it spent on, and do I
have to believe it?*

``skdp.report`` answers in the order in which NIST SP 800-226 asks: what is protected, by how much,
what that means, by which releases, whom it trusts, and what is not covered. It reads no row.
"""

# %%

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

import skdp

X, y = load_digits(return_X_y=True)
X = normalize(X / 8 - 1)
model = skdp.DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=1.0, classes=range(10))
report = skdp.report(model.fit(X, y))
print(report)

# %%
# Recompute the total
# -------------------
# The JSON lists each release with its sensitivity and its noise. Squares of their ratios add up for
# Gaussian noise, and a formula turns the sum into epsilon. Nothing of skdp is needed for that. The
# script ``recompute_report.py`` knows other kinds of noise, too.

import json

from scipy.optimize import brentq
from scipy.stats import norm

filed = json.loads(report.to_json())
(fit,) = filed["fits"]
mu = sum(e["count"] * (e["sensitivity"] / e["noise_scale"]) ** 2 for e in fit["events"]) ** 0.5


def delta(epsilon):
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


epsilon = brentq(lambda e: delta(e) - filed["delta"], 0, 50)
print(f"stated {filed['epsilon']:.6f}, recomputed {epsilon:.6f}")

# %%
# What it means
# -------------
# Somebody knows all rows but one, and tries to find out from everything that was published
# whether a certain person is that row. For each rate of false alarms, this is how often they can
# find a person who is.

import matplotlib.pyplot as plt

alarms = np.linspace(0, 1, 200)
meaning = filed["meaning"]
guess, power = (np.ceil(1000 * meaning[key]) / 1000 for key in ("best_guess", "power_at_5_percent"))
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ax.plot(
    alarms, norm.cdf(norm.ppf(alarms) + mu), color="C0", label=f"at most, epsilon = {epsilon:.3g}"
)
ax.plot(alarms, alarms, ":", color="0.4", label="by guessing blindly")
ax.plot(0.05, power, "o", color="C1")
ax.annotate(f"5% false alarms,\n{power:.1%} found", (0.05, power), (0.01, 0.4))
ax.set(
    xlabel="false alarms, among people who are not in the data",
    ylabel="found, among people who are in the data",
    title=f"The best guess is right in at most {guess:.1%} of cases, a coin in 50%",
)
ax.legend(loc="lower right")
plt.show()

# %%
# What it was spent on
# --------------------

releases = fit["releases"]
labels = [f"{kind['purpose']}: {kind['query']} ({kind['count']:,})" for kind in releases]
figure, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
bars = ax.barh(labels, [100 * kind["share"] for kind in releases])
ax.bar_label(bars, fmt=" %.1f %%")
ax.invert_yaxis()
ax.set(xlabel="share of what was spent, in mu^2 (%)", xlim=(0, 115))
most = max(kind["share"] for kind in releases)
ax.set_title(f"{most:.0%} was spent on coefficients")
plt.show()
