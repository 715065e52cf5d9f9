"""
Hospitals that share nothing
============================

*Three hospitals want one model. None may hand over a patient, and none trusts the others. Is the
common model worth it?*

Each hospital answers a hundred rounds with a noisy gradient of its own rows. Noise is added before
anything leaves the hospital, so nobody has to be trusted: neither the others, nor the network, nor
whoever coordinates the fit.
"""

# %%
# What lies at a hospital
# -----------------------
# Tumours of 426 patients, by ten measurements. The hospitals have agreed on the range of usual
# values of each. They see different patients: one mostly small tumours, one mostly large ones.
# ``load`` runs at the hospital, where it would read a file.

from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

hospitals = ["north", "south", "west"]
low = np.array([5, 5, 40, 100, 0.05, 0, 0, 0, 0.1, 0.05])
high = np.array([25, 35, 160, 1500, 0.15, 0.3, 0.3, 0.15, 0.25, 0.08])

X, y = load_breast_cancer(return_X_y=True)
X = 2 * (X[:, :10] - low) / (high - low) - 1
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
radius = X[:, 0] + np.random.default_rng(0).normal(0, 0.1, len(X))
place = np.digitize(radius, np.quantile(radius, [0.4, 0.7]))


def load(name):
    here = place == hospitals.index(name)
    return X[here], y[here]


# %%
# A common model
# --------------
# Here the hospitals are three workers in this process. On machines of their own, give ``Client``
# the address of the scheduler, and all else stays as it is. ``heard`` logs each message that
# arrives.

from distributed import Client, LocalCluster

from skdp import DPLogisticRegression
from skdp.federated import DaskSites

budget = {"epsilon": 1.0, "delta": 1e-4}
model = DPLogisticRegression(**budget, data_norm=2.0, classes=[0, 1])
log, common = [], []
with (
    LocalCluster(
        n_workers=3, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster,
    Client(cluster) as client,
):
    loaders = {name: partial(load, name) for name in hospitals}
    places = dict(zip(hospitals, client.nthreads(), strict=True))
    for _ in range(6):
        log.clear()
        with DaskSites(client, loaders, **budget, workers=places, heard=log.append) as sites:
            common.append(model.fit(sites).score(X_test, y_test))
            receipts = sites.receipts()

# %%
# Each hospital keeps its own account, and would refuse more than its budget.

for name, (spent, _) in receipts.items():
    print(f"{name}: {spent}, {sum(message.site == name for message in log)} messages")
print(f"the first message: {log[0].vector.round(2)}")

# %%
# Alone, together, and at one place
# ---------------------------------
# Six fits of each kind. The last kind hands all rows to somebody whom all trust.

kinds = {
    name: [model.fit(*load(name)).score(X_test, y_test) for _ in range(6)] for name in hospitals
}
kinds["all three,\nsharing no row"] = common
kinds["all rows\nat one place"] = [model.fit(X, y).score(X_test, y_test) for _ in range(6)]

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for number, scores in enumerate(kinds.values()):
    color = "C0" if scores is common else "0.4"
    ax.plot(np.full(6, number), scores, "o", color=color, alpha=0.5)
    ax.plot([number - 0.3, number + 0.3], 2 * [np.mean(scores)], color=color, linewidth=2)
alone = max(np.mean(kinds[name]) for name in hospitals)
ax.set_xticks(range(5), [name if "\n" in name else f"{name}\nalone" for name in kinds])
ax.set(
    ylabel="right about other patients",
    title=f"Together {np.mean(common):.0%} right, alone at most {alone:.0%}; bars are means",
)
plt.show()
