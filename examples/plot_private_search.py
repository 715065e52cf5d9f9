"""
A search for a parameter, within one budget
===========================================

*I do not know how wide the kernel should be. Trying nine widths and keeping the best costs nine
fits, and the choice itself tells about the rows. What can I afford?*

First the advice: try without. Defaults follow from public facts, and what a search spends is
missing in the fit. The width of a kernel is a case where nothing public settles the matter, and
where a wrong guess costs a lot.
"""

# %%
# Classes that no line separates, behind features that learn nothing from the rows.

import numpy as np
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skdp import DPLogisticRegression

X, y = make_moons(4_000, noise=0.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
pipeline = make_pipeline(
    RBFSampler(n_components=40, random_state=0),
    DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=np.sqrt(2), classes=[0, 1]),
)
widths = np.geomspace(0.01, 100, 9)

# %%
# A private search draws a secret number of candidates, ten in the mean, and publishes the best
# alone. All fits, all scores and the choice have one budget together, and it does not matter what
# the pipeline says. A trial gets surprisingly much of it.

from skdp.model_selection import DPRandomizedSearchCV

search = DPRandomizedSearchCV(
    pipeline, {"rbfsampler__gamma": widths}, epsilon=1.0, delta=1e-5, n_iter=10
)
search.fit(X_train, y_train)
print(search.best_params_)
print(f"spent by all together: {search.privacy_spent_}")
print(f"spent by a trial: epsilon = {search.best_estimator_[-1].epsilon:.2f}")

# %%
# Eight searches, beside fits that were told a width and spend the whole budget on it. Nobody
# could know the best of those without looking. Most searches end near it. Now and then one stops
# after few candidates, and publishes the best of these: that is the risk of a search.

import matplotlib.pyplot as plt
from sklearn.base import clone

told = []
for gamma in widths:
    fits = [clone(pipeline).set_params(rbfsampler__gamma=gamma) for _ in range(3)]
    told.append([fit.fit(X_train, y_train).score(X_test, y_test) for fit in fits])
searches = [search, *(clone(search).fit(X_train, y_train) for _ in range(7))]
found = [each.best_params_["rbfsampler__gamma"] for each in searches]
scores = [each.score(X_test, y_test) for each in searches]

told = np.array(told)
best = told.mean(axis=1).max()
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ax.plot(widths, told.mean(axis=1), "s-", color="0.5", label="told the width, mean of three fits")
ax.fill_between(widths, told.min(axis=1), told.max(axis=1), color="0.5", alpha=0.2, linewidth=0)
ax.plot(found, scores, "o", color="C0", alpha=0.6, label="a private search, one dot each")
ax.set_xscale("log")
ax.set(
    xlabel="gamma of the kernel, wide to narrow",
    ylabel="right on other rows",
    title=f"The median search is {np.median(scores):.1%} right, the best width {best:.1%}",
)
ax.legend(loc="lower left")
plt.show()
