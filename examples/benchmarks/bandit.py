"""Contextual bandits under joint differential privacy: regret, online accuracy, growth, speed.

    python examples/benchmarks/bandit.py synthetic reference classes figure growth speed
    python examples/benchmarks/bandit.py --save bandit.json --plots docs/figures

Users come in tens; what a batch teaches is used from the next one on. ``delta = T^-1.1``, one user
replaced. Regret is in percent of the regret of choosing by chance. The baselines ``tree`` and
``toeplitz`` release noisy moments of every arm for every user and act by upper confidence bounds
(LinUCB; Shariff and Sheffet, 2018, with the sensitivity proved here instead of theirs); they look
at the released moments whenever the number of users has grown by a twentieth. What is in the saved
file is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict
from functools import partial
from math import sqrt
from pathlib import Path

import numpy as np
from bandit_results import Run, plot_all, show, show_pairs
from datasets import load, scaled, unit_rows
from linear_ucb import LinUCB
from simulated_users import (
    Users,
    classified_users,
    linear_users,
    logistic_users,
    play,
    sparse_users,
)

from skdp import DPContextualBandit
from skdp.bandit.policies import BlocksPolicy, HDBPolicy, SparsePolicy
from skdp.solvers import FTRL

BUDGETS = (0.1, 1.0, 10.0)
BATCH = 10
POINTS = 60


def private(users, epsilon, policy, *, half_width=None, seed=None, **options):
    n = len(users.X)
    bounds = (0.0, 1.0) if half_width is None else (-half_width, half_width)
    if not {"data_norm", "feature_bound"} & options.keys():
        options["data_norm"] = 1.0
    return DPContextualBandit(
        range(users.n_arms),
        epsilon=epsilon,
        delta=n**-1.1,
        horizon=n,
        reward_bounds=bounds,
        policy=policy,
        random_state=seed,
        **options,
    )


def run(key, users, make, *, accuracy=False, batch=BATCH):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        played = play(make(), users, batch=batch)
    if accuracy:
        return Run(*key, played.mean_reward)
    share = 100 * played.regret / users.uniform_regret
    curve = tuple(np.round(share[np.linspace(0, len(share) - 1, POINTS).astype(int)], 3))
    return Run(*key, float(share[-1]), curve)


def job(key, users, make, **options):
    """What to run, and how; nothing is run yet."""
    return key, partial(run, key, users, make, **options)


def baselines(table, setting, seed, users, K, budgets, **options):
    """Greedy without noise, and LinUCB with two kinds of it."""
    n, d = users.X.shape
    make = partial(LinUCB, K, d, n, 1.0, "none", None, half_width=2.0, bonus=0.0)
    yield job((table, setting, "not private", None, seed), users, make)
    for eps in budgets:
        for noise in ("tree", "toeplitz"):
            make = partial(LinUCB, K, d, n, eps, noise, np.random.default_rng(seed), **options)
            yield job((table, setting, noise, eps, seed), users, make)


SYNTHETIC = [
    # kind, K, d, seeds
    ("linear", 2, 5, 10),
    ("linear", 5, 20, 10),
    ("logistic", 2, 5, 10),
    ("logistic", 5, 20, 10),
    ("logistic", 10, 5, 10),
    ("linear", 2, 50, 5),
    ("logistic", 2, 50, 5),
    ("linear", 10, 50, 3),
    ("linear", 2, 200, 3),
]


def dense(table, kind, K, d, seed, *, width=0.25):
    """One seed of a setting with dense contexts."""
    setting = f"{kind} K={K} d={d}"
    rng = np.random.default_rng(1000 + seed)
    T = 10_000
    if kind == "linear":
        users = linear_users(T, d, K, rng)
        shifted, bounded = users, {"half_width": width}
    else:
        users = logistic_users(T, d, K, rng)
        shifted, bounded = Users(users.X, 2 * users.rewards - 1, users.means), {}
    yield from baselines(
        table, setting, seed, shifted, K, BUDGETS, half_width=width if bounded else 1.0
    )
    plain = {"fit_intercept": False}
    wide = {"half_width": 1.0} if bounded else {}
    for eps in BUDGETS:
        for name, policy, options in (
            ("blocks", "blocks", bounded),
            ("greedy", BlocksPolicy(exploration=0), bounded),
            ("gd", "gd", wide),
        ):
            make = partial(private, users, eps, policy, **options, **plain)
            yield job((table, setting, name, eps, seed), users, make)


def synthetic():
    """T = 10,000, dense contexts. Linear rewards are bounded by .25 for moments, by 1 for gd."""
    # Seeds come first, so that a table that was stopped has all of its rows.
    for seed in range(10):
        for kind, K, d, _ in [case for case in SYNTHETIC if seed < case[3]]:
            yield from dense("synthetic", kind, K, d, seed)


def reference():
    """T = 10,000, d = 5, ten arms, noise .1; rewards are bounded by .6 for moments, by 1 for gd."""
    for seed in range(10):
        yield from dense("reference", "linear", 10, 5, seed, width=0.6)


def class_users(name, n, seed):
    """Contexts of norm 1; scaled by ranges that the data were observed to have, as in datasets."""
    X, y, _ = load(name)
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=int)
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    if name == "mnist":
        X = X[rows].reshape(-1, 28, 28).reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(n, -1)
        X = X / 255.0
    else:
        wide = slice(0, 10) if name == "covertype" else slice(None)
        low, high = X[:, wide].min(axis=0), X[:, wide].max(axis=0)
        X = X[rows]
        X[:, wide] = scaled(X[:, wide], low, np.where(high > low, high, low + 1))
    y = y[rows] - y.min()
    return classified_users(unit_rows(X), y, int(y.max()) + 1)


CLASSES = [("shuttle", 20_000, 10), ("covertype", 20_000, 5), ("shuttle", 50_000, 5),
           ("covertype", 100_000, 3), ("mnist", 60_000, 3)]  # fmt: skip


def classes():
    """Online accuracy: one arm a class."""
    for seed in range(10):
        for name, n, _ in [case for case in CLASSES if seed < case[2]]:
            setting = f"{name} T={n}"
            users = class_users(name, n, seed)
            K = users.n_arms
            # LinUCB gets the constant entry, and rewards of 0 and 1 as -1 and 1.
            wide = np.c_[users.X, np.full(n, 0.3)] / sqrt(1.09)
            shifted = Users(wide, 2 * users.rewards - 1, users.means)
            budgets = BUDGETS if n <= 20_000 else ()
            for key, go in baselines("classes", setting, seed, shifted, K, budgets):
                yield key, partial(_accuracy_of, go)
            for eps in BUDGETS:
                for method, policy in (("blocks", "blocks"),
                                       ("greedy", BlocksPolicy(exploration=0))):  # fmt: skip
                    if method == "blocks" and name == "mnist" and seed:
                        continue
                    key = "classes", setting, method, eps, seed
                    make = partial(private, users, eps, policy)
                    yield job(key, users, make, accuracy=True)


def _accuracy_of(go):
    done = run(*go.args, **go.keywords, accuracy=True)
    return Run(*done.key, 0.5 + 0.5 * done.value)


# kind, d, K, budgets, for figure 5.1 of Han et al. (2022) and around it
AROUND = [
    ("dense", 50, 2, BUDGETS),
    ("sparse", 50, 2, (1.0,)),
    ("dense", 5, 2, (1.0,)),
    ("dense", 20, 2, (1.0,)),
    ("dense", 50, 5, (1.0,)),
    ("dense", 50, 10, (1.0,)),
    ("dense", 200, 2, (1.0,)),
]


def figure_users(kind, d, K, seed, T=10_000):
    rng = np.random.default_rng(2000 + seed)
    if kind == "sparse":
        return sparse_users(T, d, K, rng)
    X = rng.normal(size=(T, d))
    X /= np.abs(X).max(axis=1, keepdims=True)
    theta = rng.normal(size=(K, d))
    theta /= np.abs(theta).sum(axis=1, keepdims=True)
    means = X @ theta.T
    return Users(X, means + 0.1 * rng.normal(size=means.shape), means)


def figure():
    """Figure 5.1 of Han et al. (2022) as far as it can be inferred: d = 50, K = 2, epsilon = 1.

    Parameters are dense with l1 norm 1 and rows have unit l_inf norm, and beside it the setting in
    which sparse methods are meant to work: three entries of a parameter matter. Rewards are bounded
    by .5 for ``hdb`` and ``sparse``, by .25 for moments and by 1 for ``gd``.
    """
    for seed in range(10):
        for kind, d, K, budgets in AROUND:
            users = figure_users(kind, d, K, seed)
            setting = f"{kind} d={d} K={K}"
            norm = 0.6 * sqrt(d)
            short = users.X * np.minimum(1, norm / np.linalg.norm(users.X, axis=1))[:, None] / norm
            narrow = Users(short, users.rewards, users.means)
            yield from baselines("figure", setting, seed, narrow, K, budgets, half_width=0.25)
            cube = {"feature_bound": 1.0, "half_width": 0.5}
            whole = {**cube, "half_width": 1.0}
            ball = {"data_norm": norm, "half_width": 1.0}
            for method, policy, options in (
                ("hdb, radius 2, clip 6", HDBPolicy(radius=2.0, stream_clip=6.0), whole),
                ("hdb", "hdb", cube),
                ("hdb, ftrl", "hdb", {**cube, "solver": "ftrl"}),
                ("ftrl", "ftrl", {**ball, "half_width": 0.25}),
                ("sparse", "sparse", cube),
                ("gd", "gd", ball),
                ("blocks", "blocks", {**ball, "half_width": 0.25}),
            ):
                if method == "hdb, radius 2, clip 6" and (d, K) != (50, 2):
                    continue
                for eps in budgets:
                    make = partial(private, users, eps, policy, fit_intercept=False, **options)
                    yield job(("figure", setting, method, eps, seed), users, make)


def choice():
    """The policies among which 'auto' chooses, on the same users: regret, or errors, in percent."""
    budgets = (0.1, 1.0, 4.0)
    sizes = [(10_000, d, K) for d in (5, 20, 50) for K in (2, 5, 10)]
    sizes += [(1_000, d, K) for d in (5, 20) for K in (2, 5)]
    for seed in range(8):
        for name, n in (("shuttle", 2_000), ("covertype", 2_000), ("shuttle", 20_000),
                        ("covertype", 20_000)):  # fmt: skip
            users = class_users(name, n, 500 + seed)
            for eps in budgets:
                for policy in ("ftrl", "blocks"):
                    key = "choice", f"{name} T={n}", policy, eps, seed
                    make = partial(private, users, eps, policy)
                    yield key, partial(_errors_of, partial(run, key, users, make, batch=50))
        for T, d, K in sizes:
            for kind in ("linear", "logistic"):
                rng = np.random.default_rng([4000 + seed, T, d, K])
                users = (linear_users if kind == "linear" else logistic_users)(T, d, K, rng)
                bounded = {"half_width": 0.25} if kind == "linear" else {}
                for eps in budgets:
                    for policy in ("ftrl", "blocks"):
                        key = "choice", f"{kind} T={T} d={d} K={K}", policy, eps, seed
                        make = partial(private, users, eps, policy, fit_intercept=False, **bounded)
                        yield job(key, users, make, batch=50)


def _errors_of(go):
    done = go(accuracy=True)
    return Run(*done.key, 100 * (1 - done.value))


def instance():
    """The problem of figure 5.1 and around it on fresh seeds: the policies 'auto' chooses among."""
    for seed in range(100, 112):
        for d, K, eps in ((50, 2, 1.0), (50, 2, 0.1), (20, 2, 1.0), (5, 2, 1.0), (50, 10, 1.0),
                          (5, 10, 1.0)):  # fmt: skip
            users = figure_users("dense", d, K, seed)
            bounds = {"data_norm": 0.6 * sqrt(d), "half_width": 0.25}
            for policy in ("ftrl", "blocks"):
                make = partial(private, users, eps, policy, fit_intercept=False, **bounds)
                yield job(("instance", f"d={d} K={K}", policy, eps, seed), users, make)


GROWING = (
    ("sparse", SparsePolicy()),
    ("hdb, ftrl", HDBPolicy(solver=FTRL())),
    ("hdb", HDBPolicy()),
)


def growth():
    """Regret in T and in d with three entries that matter, at a budget at which hdb learns."""
    cases = [(T, 100) for T in (3_000, 10_000, 30_000, 100_000)]
    cases += [(10_000, d) for d in (30, 300, 1000)] + [(100_000, 1000)]
    for seed in range(5):
        for T, d in cases:
            if T * d > 1e7 and seed >= 3:
                continue
            users = sparse_users(T, d, 2, np.random.default_rng(3000 + seed))
            setting = f"T={T} d={d}"
            for method, policy in GROWING:
                if T * d > 1e7 and method == "hdb, ftrl":
                    continue
                options = {"feature_bound": 1.0, "half_width": 0.5, "fit_intercept": False}
                make = partial(private, users, 10.0, policy, **options)
                key = "growth", setting, method, 10.0, seed
                yield key, partial(_in_rewards, key, users, make)
            yield (
                ("growth", setting, "by chance", 10.0, seed),
                partial(Run, "growth", setting, "by chance", 10.0, seed, users.uniform_regret),
            )


def _in_rewards(key, users, make):
    share = users.uniform_regret / 100
    done = run(key, users, make)
    return Run(*key, done.value * share, tuple(np.round(share * np.array(done.curve), 2)))


def speed():
    """Decisions with updates a second of processor time; d = 50, K = 10."""
    users = linear_users(30_000, 50, 10, np.random.default_rng(0))
    for seed in range(5):
        for method, policy in (("blocks", "blocks"), ("greedy", BlocksPolicy(exploration=0)),
                               ("gd", "gd"), ("hdb", "hdb")):  # fmt: skip
            for batch in (1, 1000):
                n = 5_000 if batch == 1 or method == "hdb" else 30_000
                some = Users(users.X[:n], users.rewards[:n], users.means[:n])
                key = "speed", f"batch={batch}", method, 1.0, seed
                make = partial(private, some, 1.0, policy, half_width=2.0)
                yield key, partial(_rate, key, some, make, batch)


def _rate(key, users, make, batch):
    start = time.process_time()
    run(key, users, make, batch=batch)
    return Run(*key, len(users.X) / (time.process_time() - start))


TABLES = {f.__name__: f for f in (
    synthetic, reference, classes, figure, instance, choice, growth, speed,
)}  # fmt: skip


def read(path):
    records = json.loads(path.read_text()) if path.exists() else []
    return [Run(**r | {"curve": tuple(r["curve"])}) for r in records]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--save", type=Path, default=Path("bandit.json"))
    parser.add_argument("--minutes", type=float, default=60.0, help="stop a table after so long")
    parser.add_argument("--plots", type=Path, help="folder for figures")
    args = parser.parse_args()
    runs = {r.key: r for r in read(args.save)}
    for name in args.tables:
        end = time.monotonic() + 60 * args.minutes
        for key, go in TABLES[name]():
            if key in runs:
                continue
            if time.monotonic() > end:
                print(f"{name} stopped after {args.minutes} minutes")
                break
            runs[key] = go()
            args.save.write_text(json.dumps([asdict(x) for x in runs.values()]))
    titles = {name: table.__doc__.splitlines()[0] for name, table in TABLES.items()}
    show(list(runs.values()), titles)
    for table in ("instance", "choice"):
        show_pairs([r for r in runs.values() if r.table == table], "ftrl", "blocks")
    if args.plots:
        plot_all(list(runs.values()), args.plots)


if __name__ == "__main__":
    main()
