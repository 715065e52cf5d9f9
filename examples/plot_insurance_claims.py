"""
What is a policy worth?
=======================

*Each of my policies has run for a different part of the year, and few have had a claim. Which
features of a policy make claims more frequent, if no policy may be seen in the answer?*

``DPPoissonRegressor`` models numbers of events with exposure, as scikit-learn's
``PoissonRegressor`` does: targets are claims per year, and years are weights.
"""

# %%
# Made-up policies, so that the truth is known. They run for a month to a year, and claims vary more
# than Poisson's law allows.

import numpy as np
import pandas as pd

truth = {"age": -0.02, "power": 0.08, "city": 0.5, "garage": -0.3, "colour": 0.0}
ranges = {"age": (18, 80), "power": (3, 12), "city": (0, 1), "garage": (0, 1), "colour": (0, 1)}


def policies(n, rng):
    X = pd.DataFrame({name: rng.integers(low, high + 1, n) for name, (low, high) in ranges.items()})
    years = rng.uniform(1 / 12, 1, n)
    rate = np.exp(X @ list(truth.values()) - 2.3) * rng.gamma(2, 1 / 2, n)
    return X, rng.poisson(rate * years), years


X, claims, years = policies(60_000, np.random.default_rng(0))
print(f"{claims.sum() / years.sum():.3f} claims a year, {np.mean(claims > 0):.1%} have one")

# %%
# A policy of one month with one claim has twelve claims a year. The cap that bounds what one policy
# can do is nevertheless about claims, and one claim is one: it is found privately, and small.

from skdp import DPPoissonRegressor

model = DPPoissonRegressor(epsilon=1.0, delta=1e-5, data_bounds=ranges)
model.fit(X, claims / years, sample_weight=years)
print("cap:", model.target_bounds_)
print(
    pd.DataFrame({"truth": truth, "private": dict(zip(truth, model.coef_.round(3), strict=True))})
)

# %%
# With ``solver="one_step"`` coefficients have standard errors, robust to claims that vary more than
# Poisson's, noise included. Their exponentials are rate ratios.

careful = DPPoissonRegressor(epsilon=2.0, delta=1e-5, data_bounds=ranges, solver="one_step")
found = careful.fit(X, claims / years, sample_weight=years).inference_
middle, (low, high) = np.exp(found.params[:-1]), np.exp(found.conf_int()[:-1]).T

# %%
# Expected and observed claims of new policies, by tenths of the expected rate.

X_new, claims_new, years_new = policies(60_000, np.random.default_rng(1))
rate = model.predict(X_new)
tenth = pd.qcut(rate, 10, labels=False)
expected = np.bincount(tenth, rate * years_new) / np.bincount(tenth, years_new)
observed = np.bincount(tenth, claims_new) / np.bincount(tenth, years_new)

# %%
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
places = np.arange(len(truth))
left.errorbar(middle, places, xerr=[middle - low, high - middle], fmt="o", capsize=3)
left.plot(np.exp(list(truth.values())), places, "kx", label="truth")
left.set(yticks=places, yticklabels=truth, xlabel="rate ratio, 95 % interval")
left.legend()
right.plot(expected, observed, "o-")
right.axline((0, 0), slope=1, color="grey", linestyle=":")
right.set(xlabel="expected claims a year", ylabel="observed")
figure.tight_layout()
plt.show()
