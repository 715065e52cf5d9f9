"""What it costs to protect persons who come back to a stream, or to a bandit, so many times.

    python examples/benchmarks/visits.py stream --data adult
    python examples/benchmarks/visits.py bandit

Rows of the data set come in random order, in a hundred calls. Whose they are is made up: persons
come as often as a power law has it, half of them once, some more than a hundred times. ``rows`` is
the promise about single rows; the others protect persons, of whom so many visits count.
"""

from __future__ import annotations

import argparse
import warnings

import datasets
import numpy as np

from skdp import DPContextualBandit, DPLogisticRegression

VISITS = (1, 2, 5, 10)
EPSILONS = (1.0, 4.0)
CALLS, TAIL, MOST = 100, 1.8, 300


def labels_of(n, rng):
    """Persons of so many rows, in random order: P(a person has m rows) falls like m^-1.8."""
    sizes = np.minimum(rng.zipf(TAIL, size=n), MOST)
    return rng.permutation(np.repeat(np.arange(n), sizes)[:n])


def accuracy(data, epsilon, visits, seed, **options):
    """Held-out accuracy at the end of the stream, and the share of visits that could count."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.y))
    test, train = order[:10_000], order[10_000:]
    n = len(train)
    persons = labels_of(n, rng)
    model = DPLogisticRegression(
        epsilon=epsilon,
        delta=1e-6,
        data_norm=1.0,
        classes=[0, 1],
        horizon=n,
        max_visits=visits or 1,
        **options,
    )
    for rows in np.array_split(np.arange(n), CALLS):
        units = {"privacy_unit": persons[rows]} if visits else {}
        model.partial_fit(data.X[train[rows]], data.y[train[rows]], **units)
    return model.score(data.X[test], data.y[test])


def stream(arguments):
    data = getattr(datasets, arguments.data)()
    print(f"{arguments.data}: accuracy\n\n| | epsilon | rows | {' | '.join(map(str, VISITS))} |")
    print("|---" * (3 + len(VISITS)) + "|")
    for name, options in {"blocks": {}, "ftrl": {"buffer": False}}.items():
        for epsilon in EPSILONS:
            found = [
                np.mean(
                    [
                        accuracy(data, epsilon, visits, seed, **options)
                        for seed in range(arguments.repeats)
                    ]
                )
                for visits in (None, *VISITS)
            ]
            print(f"| {name} | {epsilon:g} | {' | '.join(f'{a:.3f}' for a in found)} |", flush=True)


def regret(policy, epsilon, visits, seed, horizon=10_000, d=5):
    """Regret in percent of choosing by chance, with two arms and linear rewards."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(horizon, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    means = X @ (theta := rng.normal(size=(d, 2))) / np.linalg.norm(theta, axis=0)
    noisy = means + 0.1 * rng.normal(size=means.shape)
    persons = labels_of(horizon, rng)
    model = DPContextualBandit(
        arms=[0, 1],
        epsilon=epsilon,
        delta=1e-6,
        data_norm=1.0,
        reward_bounds=(-0.25, 0.25),
        horizon=horizon,
        policy=policy,
        max_visits=visits or 1,
    )
    lost = 0.0
    for rows in np.array_split(np.arange(horizon), 200):
        arms = model.act(X[rows])
        units = {"privacy_unit": persons[rows]} if visits else {}
        model.partial_fit(X[rows], arms, noisy[rows, arms], **units)
        lost += (means[rows].max(axis=1) - means[rows, arms]).sum()
    return 100 * lost / (means.max(axis=1) - means.mean(axis=1)).sum()


def bandit(arguments):
    print(f"regret in percent\n\n| | epsilon | rows | {' | '.join(map(str, VISITS))} |")
    print("|---" * (3 + len(VISITS)) + "|")
    for policy in ("ftrl", "blocks"):
        for epsilon in EPSILONS:
            found = [
                np.mean([regret(policy, epsilon, v, s) for s in range(arguments.repeats)])
                for v in (None, *VISITS)
            ]
            print(
                f"| {policy} | {epsilon:g} | {' | '.join(f'{r:.3g}' for r in found)} |", flush=True
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("stream", "bandit"))
    parser.add_argument("--data", default="adult")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    # Rewards beyond their bounds are clipped on purpose.
    warnings.simplefilter("ignore", UserWarning)
    {"stream": stream, "bandit": bandit}[arguments.what](arguments)


if __name__ == "__main__":
    main()
