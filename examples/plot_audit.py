"""
An audit that catches a planted bug
===================================

*The receipt says epsilon = 2. How do I know that the code keeps it?*

An audit runs the same program on two data sets that differ in one row, guesses many times from the
answers which of them it was, and counts. If the guesses are right more often than the claim allows,
the claim is refuted.
"""

# %%
# A small data set keeps fits fast, and made-up rows may be looked at.

import numpy as np
from sklearn.preprocessing import normalize

from skdp import DPLogisticRegression
from skdp.audit import audit
from skdp.solvers import GD

X = normalize(np.random.default_rng(0).normal(size=(50, 4)))
y = (X[:, 0] > 0).astype(int)
model = DPLogisticRegression(
    epsilon=2.0, delta=1e-5, data_norm=1.0, classes=[0, 1], solver=GD(steps=10)
)
honest = audit(model, X, y)
print(honest)

# %%
# Now a bug: a factor of two is lost, and all noise is half as large as was paid for. The receipt
# and the model look as before.

from unittest.mock import patch

from skdp.privacy.mechanisms import GaussianMechanism

randomize = GaussianMechanism.randomize


def with_half_the_noise(self, value, noise):
    return (value + randomize(self, value, noise)) / 2


with patch.object(GaussianMechanism, "randomize", with_half_the_noise):
    wrong = audit(model, X, y)
print(wrong)

# %%
# The errors of somebody who guesses. The claim says how small both kinds can be together. An honest
# program stays on or above that line, but for the chance in counting; the bug falls below it.

import matplotlib.pyplot as plt
import numpy as np

rates = np.linspace(0, 1, 501)
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.9), layout="constrained", sharey=True)
for ax, (name, result) in zip(axes, [("As it is", honest), ("Half the noise", wrong)], strict=True):
    ax.plot(rates, result.claimed_errors(rates), label=f"claimed: epsilon = {result.epsilon:.3g}")
    least = f"observed: epsilon >= {result.epsilon_lower_bound:.3g}"
    ax.plot(*result.observed.T, drawstyle="steps-post", label=least)
    ax.plot([0, 1], [1, 0], linestyle=":", color="grey", label="blind")
    ax.set(xlabel="false positives", ylabel="false negatives")
    ax.legend(loc="upper right", fontsize=8)
    verdict = "refuted" if result.at(0.9999).refuted else "not refuted"
    ax.set_title(f"{name}: the claim is {verdict}", fontsize=11)
axes[1].set_ylabel("")
plt.show()
