"""
How much accuracy does a privacy budget cost?
=============================================

*Which epsilon can I afford, and can I know before I spend it?*

``skdp.plan`` forecasts the accuracy from public facts alone: the number of rows, of features and of
classes. Here its forecast is compared with what happens, on pictures of handwritten digits, which
are public, so that nobody is harmed by looking at exact scores.
"""

# %%
# The forecast
# ------------
# No row is read, and nothing is spent.

import skdp

print(skdp.plan(1347, 64, n_classes=10, epsilon=0.3))

# %%
# What happens
# ------------
# Four models for each budget are scored on rows held out. With ``epsilon=inf`` the same estimator
# adds no noise. That is the baseline: what remains of the difference to it is due to privacy alone.
# It says with a warning that it is not private, and scores of rows of people would not be either;
# here we mean it.
#
# From epsilon 1 on the forecast is close. Below one half it is too hopeful here: it is a rule of
# thumb, and knows nothing of the pictures. With ten times as many rows the curve would move to
# about a tenth of these budgets.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

X, y = load_digits(return_X_y=True)
X = normalize(X / 8 - 1)  # pixels lie in 0..16; each row is scaled by itself
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)


def score(epsilon):
    model = skdp.DPLogisticRegression(epsilon=epsilon, data_norm=1.0, classes=range(10))
    return model.fit(X_train, y_train).score(X_test, y_test)


epsilons = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
scores = np.array([[score(epsilon) for _ in range(4)] for epsilon in epsilons])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", skdp.NoPrivacyWarning)
    baseline = score(float("inf"))
chance = np.unique(y_test, return_counts=True)[1].max() / len(y_test)
plans = [skdp.plan(*X_train.shape, n_classes=10, epsilon=epsilon) for epsilon in epsilons]
forecast = [chance + (baseline - chance) * (1 - plan.expected_loss) for plan in plans]

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ax.plot(epsilons, scores, ".", color="0.6")
ax.plot(epsilons, scores.mean(axis=1), "o-", color="C0", label="private, mean of four fits")
ax.plot(epsilons, forecast, ":", color="C1", label="forecast of skdp.plan")
ax.axhline(baseline, color="C2", linestyle="--", label="without privacy")
ax.set_xscale("log")
ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
ax.set(xlabel="epsilon", ylabel="accuracy on rows held out")
ax.legend()
lost = 100 * (baseline - scores[3].mean())
ax.set_title(f"Epsilon = 1 costs {lost:.0f} points of accuracy on 1,347 digits")
ax.grid(alpha=0.3)
plt.show()
