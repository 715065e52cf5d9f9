"""
Prediction intervals from private quantiles
===========================================

*How long will it take, and how long at worst?*

``DPQuantileRegressor`` fits several quantiles for one budget. Two of them are the ends of a
prediction interval, which is wider where targets spread more.
"""

# %%
# Times of delivery by distance, made up. The further, the less can be told. Ranges are known to
# whoever runs the service, the rest is private.

import numpy as np

rng = np.random.default_rng(0)


def make_rows(n):
    distance, parcels = rng.uniform(0, 30, n), rng.integers(1, 20, n)
    minutes = 5 + 2 * distance + parcels + (1 + 0.4 * distance) * rng.gamma(2, 1, n)
    return np.column_stack([distance, parcels]), minutes


X, y = make_rows(10_000)
X_test, y_test = make_rows(5_000)

# %%
# The median, and an interval for nine deliveries of ten.

import skdp

model = skdp.DPQuantileRegressor(
    epsilon=1.0,
    quantile=[0.05, 0.5, 0.95],
    data_bounds=([0, 1], [30, 19]),
    target_bounds=(0, 150),
).fit(X, y)
print(model.privacy_spent_)
print(np.round(model.coef_, 2))

# %%
# Do they hold what they promise? Test rows are people's, too, so that this is asked privately.

scores = skdp.evaluate(model, X_test, y_test, epsilon=1.0)
print(scores.summary())

# %%
# The interval opens with the distance, for which a band around the mean would be too wide nearby
# and too narrow far away.

import matplotlib.pyplot as plt

grid = np.column_stack([np.linspace(0, 30, 50), np.full(50, 10)])
low, median, high = model.predict(grid).T
similar = np.abs(X_test[:, 1] - 10) <= 1
fig, ax = plt.subplots(figsize=(7, 4))
ax.plot(X_test[similar, 0], y_test[similar], ".", color="0.7", markersize=3)
ax.fill_between(grid[:, 0], low, high, alpha=0.3, label="90 % interval")
ax.plot(grid[:, 0], median, label="median")
ax.set(xlabel="distance (km)", ylabel="minutes", title="10 parcels, epsilon = 1")
ax.legend()
fig.tight_layout()
plt.show()
