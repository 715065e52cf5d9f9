"""
Who leaves first?
=================

*I know when some of my customers left, and of the others that they have not left yet. What makes
them leave sooner, if no customer may be seen in the answer?*

``DPHazardRegressor`` fits hazard ratios, as Cox regression does. A customer is one row.
"""

# %%
# Made-up customers, so that the truth is known: three of four have not left when they are
# last seen.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

truth = {"price": 0.6, "calls": 0.3, "contract": -0.9, "region": 0.0}
ranges = {"price": (0, 1), "calls": (0, 5), "contract": (0, 1), "region": (0, 1)}
rng = np.random.default_rng(0)
n = 30_000
X = pd.DataFrame(
    {
        "price": rng.uniform(size=n),
        "calls": rng.poisson(0.7, size=n).clip(0, 5),
        "contract": rng.integers(0, 2, size=n),
        "region": rng.integers(0, 2, size=n),
    }
)
months = 60 * rng.weibull(1.2, size=n) * np.exp(-X @ list(truth.values()) / 1.2)
seen = rng.uniform(0, 36, size=n)
y = pd.DataFrame({"left": months <= seen, "months": np.minimum(months, seen)})
print(f"{y.left.mean():.0%} have left")

# %%
# The table of hazard ratios. Their intervals cover both who happened to be a customer and noise.

from skdp import DPHazardRegressor

model = DPHazardRegressor(epsilon=1.0, delta=1e-5, data_bounds=ranges, max_time=36)
model.fit(X, y)
print(model.summary())

# %%
# Curves of two customers. What is published has been paid for, so that any number of them costs
# nothing more.

customers = pd.DataFrame({"price": [0.9, 0.2], "calls": [3, 0], "contract": [0, 1], "region": 0})
t = np.linspace(0, 36, 100)
fig, ax = plt.subplots()
names = "dear, many calls", "cheap, with a contract"
for name, curve in zip(names, model.predict_survival_function(customers), strict=True):
    ax.plot(t, curve(t), label=name)
ax.set(xlabel="months", ylabel="share that stays", ylim=(0, 1))
ax.legend()
plt.show()
