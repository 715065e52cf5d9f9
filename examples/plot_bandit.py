"""
A bandit that protects its users from each other
================================================

*Which of four offers do I show to whom, if what I learn from one user must not show in what others
get?*

``DPContextualBandit`` chooses for users who come one after another, and learns from what they do.
Whatever the context and the reaction of any one user, all that the others are shown would have been
almost as likely had it been somebody else.
"""

# %%
# Made-up users. Each arm suits other users; chances of a click lie between 0.1 and 0.9.

import numpy as np
from sklearn.preprocessing import normalize

n_users, n_features, n_arms, batch = 20_000, 4, 4, 200


def users(rng):
    contexts = normalize(rng.normal(size=(n_users, n_features)))
    taste = normalize(rng.normal(size=(n_arms, n_features)))
    return contexts, 0.5 + 0.4 * contexts @ taste.T


# %%
# ``act`` explores and ``partial_fit`` learns. Everything else is known before the first user: arms,
# bounds, and how many users there will be.

from skdp import DPContextualBandit, NoPrivacyWarning


def lost_clicks(epsilon, seed):
    """Expected clicks lost so far, beside the best arm of each user: by the bandit, by chance."""
    rng = np.random.default_rng(seed)
    contexts, chances = users(rng)
    bandit = DPContextualBandit(
        arms=range(n_arms),
        epsilon=epsilon,
        delta=1e-5,
        data_norm=1.0,
        reward_bounds=(0, 1),
        horizon=n_users,
    )
    given = []
    for start in range(0, n_users, batch):
        some = slice(start, start + batch)
        arms = bandit.act(contexts[some])
        chance = chances[some][np.arange(batch), arms]
        bandit.partial_fit(contexts[some], arms, (rng.random(batch) < chance).astype(float))
        given.append(chance)
    best = chances.max(axis=1)
    return np.cumsum(best - np.concatenate(given)), np.cumsum(best - chances.mean(axis=1))


# %%
# Ten populations for each budget. ``epsilon=inf`` is the same bandit without noise; it warns that
# it is not private, which is what we want here.

import warnings

budgets = [0.5, 2, float("inf")]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", NoPrivacyWarning)
    runs = {e: np.array([lost_clicks(e, seed) for seed in range(10)]) for e in budgets}

# %%
# A line is the mean of ten populations, a band two standard errors of it.

import matplotlib.pyplot as plt

by_chance = runs[0.5][:, 1].mean(axis=0)
seen = np.arange(1, n_users + 1)
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ax.plot(seen, by_chance, color="black", linestyle="--", label="arms by chance")
looks = zip(["C1", "C0", "0.4"], ["-", "-.", ":"], strict=True)
for epsilon, (color, style) in zip(budgets, looks, strict=True):
    lost = runs[epsilon][:, 0]
    mean, error = lost.mean(axis=0), lost.std(axis=0, ddof=1) / np.sqrt(10)
    name = "bandit without privacy" if epsilon == float("inf") else f"bandit, epsilon = {epsilon:g}"
    ax.plot(seen, mean, style, color=color, label=name)
    ax.fill_between(seen, mean - 2 * error, mean + 2 * error, color=color, alpha=0.2, linewidth=0)
share = runs[0.5][:, 0, -1].mean() / by_chance[-1]
ax.set(
    xlabel="users so far",
    ylabel="clicks lost so far",
    title=f"At epsilon = 0.5 a bandit loses {share:.0%} of what chance loses",
)
ax.legend(loc="upper left")
plt.show()
