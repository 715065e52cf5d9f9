"""Contextual bandits under joint differential privacy: regret, online accuracy, growth, speed.

    python examples/benchmarks/bandit.py synthetic classes figure growth speed --save bandit.json
    python examples/benchmarks/bandit.py --save bandit.json --plot figure.png

Users come in tens; what a batch teaches is used from the next one on. ``delta = T^-1.1``, one user
replaced. Regret is in percent of the regret of choosing by chance. The baselines ``tree`` and
``toeplitz`` release noisy moments of every arm for every user and act by upper confidence bounds
(LinUCB; Shariff and Sheffet, 2018, with the sensitivity proved here instead of theirs); they look
at the released moments whenever the number of users has grown by a twentieth.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path

import numpy as np
from datasets import load, scaled, unit_rows
from linear_ucb import LinUCB

from skdp import DPContextualBandit
from skdp.evaluation import (
    Users,
    classified_users,
    linear_users,
    logistic_users,
    play,
    sparse_users,
)
from skdp.policies import BlocksPolicy, HDBPolicy, SparsePolicy
from skdp.solvers import FTRL

BUDGETS = (0.1, 1.0, 10.0)
BATCH = 10


@dataclass(frozen=True)
class Run:
    """One method on one stream; ``value`` is regret in percent, or accuracy, or a rate."""

    table: str
    setting: str
    method: str
    epsilon: float | None
    seed: int
    value: float
    curve: tuple[float, ...] = ()

    @property
    def key(self):
        return self.table, self.setting, self.method, self.epsilon, self.seed


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


def run(table, setting, method, epsilon, seed, users, model, *, accuracy=False, batch=BATCH):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        played = play(model, users, batch=batch)
    if accuracy:
        return Run(table, setting, method, epsilon, seed, played.mean_reward)
    share = 100 * played.regret / users.uniform_regret
    curve = tuple(np.round(share[np.linspace(0, len(share) - 1, 60).astype(int)], 3))
    return Run(table, setting, method, epsilon, seed, float(share[-1]), curve)


SYNTHETIC = [
    # kind, K, d, seeds
    ("linear", 2, 5, 10),
    ("linear", 5, 20, 10),
    ("linear", 10, 5, 10),
    ("logistic", 2, 5, 10),
    ("logistic", 5, 20, 5),
    ("linear", 2, 50, 5),
    ("logistic", 2, 50, 5),
    ("linear", 10, 50, 3),
    ("linear", 2, 200, 3),
]


def synthetic():
    """T = 10,000, dense contexts. Linear rewards are bounded by .25 for moments, by 1 for gd."""
    T = 10_000
    # Seeds come first, so that a table that was stopped has all of its rows.
    for seed in range(10):
        for kind, K, d, _ in [case for case in SYNTHETIC if seed < case[3]]:
            setting = f"{kind} K={K} d={d}"
            rng = np.random.default_rng(1000 + seed)
            users = {"linear": linear_users, "logistic": logistic_users}[kind](T, d, K, rng)
            width = 0.25 if kind == "linear" else None
            if kind == "logistic":
                shifted = Users(users.X, 2 * users.rewards - 1, users.means)
            else:
                shifted = users
            plain = {"half_width": width or 1.0}
            yield run(
                "synthetic", setting, "not private", None, seed, shifted,
                LinUCB(K, d, T, 1.0, "none", rng, half_width=2.0, bonus=0.0),
            )  # fmt: skip
            for eps in BUDGETS:
                for noise in ("tree", "toeplitz"):
                    model = LinUCB(K, d, T, eps, noise, rng, **plain)
                    yield run("synthetic", setting, noise, eps, seed, shifted, model)
                for name, policy in (("blocks", "blocks"), ("greedy", BlocksPolicy(exploration=0))):
                    model = private(users, eps, policy, half_width=width, fit_intercept=False)
                    yield run("synthetic", setting, name, eps, seed, users, model)
                model = private(
                    users, eps, "gd", half_width=1.0 if width else None, fit_intercept=False
                )
                yield run("synthetic", setting, "gd", eps, seed, users, model)


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


CLASSES = [("shuttle", 20_000, 5), ("covertype", 20_000, 5), ("shuttle", 50_000, 3),
           ("covertype", 100_000, 3), ("mnist", 60_000, 1)]  # fmt: skip


def classes():
    """Online accuracy: one arm a class."""
    for seed in range(5):
        for name, n, _ in [case for case in CLASSES if seed < case[2]]:
            setting = f"{name} T={n}"
            users = class_users(name, n, seed)
            K = users.n_arms
            wide = np.c_[users.X, np.full(n, 0.3)] / sqrt(1.09)
            shifted = Users(wide, 2 * users.rewards - 1, users.means)
            rng = np.random.default_rng(seed)
            d = wide.shape[1]
            small = d < 100
            if small:
                model = LinUCB(K, d, n, 1.0, "none", rng, bonus=0.0)
                done = run("classes", setting, "not private", None, seed, shifted, model,
                           accuracy=True)  # fmt: skip
                yield Run(*done.key, 0.5 + 0.5 * done.value)
            for eps in BUDGETS:
                for noise in ("tree", "toeplitz") if small and n <= 20_000 else ():
                    model = LinUCB(K, d, n, eps, noise, rng)
                    done = run("classes", setting, noise, eps, seed, shifted, model, accuracy=True)
                    yield Run(*done.key, 0.5 + 0.5 * done.value)
                for method, policy in (("blocks", "blocks"),
                                       ("greedy", BlocksPolicy(exploration=0))):  # fmt: skip
                    model = private(users, eps, policy)
                    yield run("classes", setting, method, eps, seed, users, model, accuracy=True)


def figure():
    """Figure 5.1 of Han et al. (2022) as far as it can be inferred: d = 50, K = 2, epsilon = 1.

    Parameters are dense with l1 norm 1 and rows have unit l_inf norm, and beside it the setting in
    which sparse methods are meant to work: three entries of a parameter matter. Rewards are bounded
    by .5 for ``hdb`` and ``sparse``, by .25 for ``blocks`` and by 1 for the others.
    """
    T, d, K = 10_000, 50, 2
    for seed in range(10):
        for setting in ("dense", "sparse"):
            rng = np.random.default_rng(2000 + seed)
            if setting == "sparse":
                users = sparse_users(T, d, K, rng)
            else:
                X = rng.normal(size=(T, d))
                X /= np.abs(X).max(axis=1, keepdims=True)
                theta = rng.normal(size=(K, d))
                theta /= np.abs(theta).sum(axis=1, keepdims=True)
                means = X @ theta.T
                users = Users(X, means + 0.1 * rng.normal(size=means.shape), means)
            norm = 0.6 * sqrt(d)
            short = users.X * np.minimum(1, norm / np.linalg.norm(users.X, axis=1))[:, None] / norm
            narrow = Users(short, users.rewards, users.means)
            model = LinUCB(K, d, T, 1.0, "none", rng, half_width=2.0, bonus=0.0)
            yield run("figure", setting, "not private", None, seed, narrow, model)
            model = LinUCB(K, d, T, 1.0, "tree", rng, half_width=1.0)
            yield run("figure", setting, "tree", 1.0, seed, narrow, model)
            cube = {"feature_bound": 1.0, "half_width": 0.5, "fit_intercept": False}
            whole = {**cube, "half_width": 1.0}
            ball = {"data_norm": norm, "half_width": 1.0, "fit_intercept": False}
            tight = {**ball, "half_width": 0.25}
            for method, policy, options in (
                ("hdb, radius 2, clip 6", HDBPolicy(radius=2.0, clip=6.0), whole),
                ("hdb", "hdb", cube),
                ("hdb, ftrl", "hdb", {**cube, "solver": "ftrl"}),
                ("sparse", "sparse", cube),
                ("gd", "gd", ball),
                ("blocks", "blocks", tight),
            ):
                if seed >= {"hdb": 5, "hdb, radius 2, clip 6": 3}.get(method, 10):
                    continue
                model = private(users, 1.0, policy, **options)
                yield run("figure", setting, method, 1.0, seed, users, model)


GROWING = (
    ("sparse", SparsePolicy()),
    ("hdb, ftrl", HDBPolicy(solver=FTRL())),
    ("hdb", HDBPolicy()),
)


def growth():
    """Regret in T and in d with three entries that matter, at a budget at which hdb learns."""
    cases = [(T, 100) for T in (3_000, 10_000, 30_000, 100_000)]
    cases += [(10_000, d) for d in (30, 300, 1000)]
    for seed in range(3):
        for T, d in cases if not seed else cases[:3] + cases[4:]:
            users = sparse_users(T, d, 2, np.random.default_rng(3000 + seed))
            for method, policy in GROWING:
                if method == "hdb" and (T > 30_000 or d > 300) and seed:
                    continue
                options = {"feature_bound": 1.0, "half_width": 0.5, "fit_intercept": False}
                model = private(users, 10.0, policy, **options)
                done = run("growth", f"T={T} d={d}", method, 10.0, seed, users, model)
                yield Run(*done.key, done.value * users.uniform_regret / 100)


def speed():
    """Decisions with updates a second of processor time; d = 50, K = 10."""
    users = linear_users(30_000, 50, 10, np.random.default_rng(0))
    for method, policy in (("blocks", "blocks"), ("greedy", BlocksPolicy(exploration=0)),
                           ("gd", "gd"), ("hdb", "hdb")):  # fmt: skip
        for batch in (1, 1000):
            n = 5_000 if batch == 1 or method == "hdb" else 30_000
            some = Users(users.X[:n], users.rewards[:n], users.means[:n])
            model = private(some, 1.0, policy, half_width=2.0)
            start = time.process_time()
            run("speed", f"batch={batch}", method, 1.0, 0, some, model, batch=batch)
            rate = n / (time.process_time() - start)
            yield Run("speed", f"batch={batch}", method, 1.0, 0, rate)


TABLES = {f.__name__: f for f in (synthetic, classes, figure, growth, speed)}


def read(path):
    records = json.loads(path.read_text()) if path.exists() else []
    return [Run(**r | {"curve": tuple(r["curve"])}) for r in records]


def show(runs):
    """One line a method: mean and standard error over seeds, by budget."""
    for table in dict.fromkeys(r.table for r in runs):
        print(f"\n{table}: {TABLES[table].__doc__.splitlines()[0]}")
        for setting in dict.fromkeys(r.setting for r in runs if r.table == table):
            here = [r for r in runs if (r.table, r.setting) == (table, setting)]
            for method in dict.fromkeys(r.method for r in here):
                cells = []
                for eps in sorted({r.epsilon for r in here if r.method == method}, key=str):
                    v = [r.value for r in here if (r.method, r.epsilon) == (method, eps)]
                    error = np.std(v, ddof=1) / sqrt(len(v)) if len(v) > 1 else np.nan
                    cells.append(f"{np.mean(v):9.4g} ± {error:.2g} ({len(v)})")
                print(f"  {setting:22s} {method:22s}", *cells)


def plot(runs, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    chart, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    for ax, setting in zip(axes, ("dense", "sparse"), strict=True):
        here = [r for r in runs if (r.table, r.setting) == ("figure", setting)]
        for method in dict.fromkeys(r.method for r in here):
            curves = np.array([r.curve for r in here if r.method == method])
            t = np.linspace(0, 10_000, curves.shape[1])
            middle, spread = curves.mean(axis=0), curves.std(axis=0)
            (line,) = ax.plot(t, middle, label=method)
            ax.fill_between(t, middle - spread, middle + spread, color=line.get_color(), alpha=0.15)
        ax.plot([0, 10_000], [0, 100], "k:", label="by chance")
        ax.set(title=f"{setting} parameters", xlabel="users")
    axes[0].set_ylabel("regret, % of all regret by chance")
    axes[0].legend(fontsize=8)
    chart.tight_layout()
    chart.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--save", type=Path, default=Path("bandit.json"))
    parser.add_argument("--minutes", type=float, default=60.0, help="stop a table after so long")
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    runs = {r.key: r for r in read(args.save)}
    for name in args.tables:
        end = time.monotonic() + 60 * args.minutes
        for r in TABLES[name]():
            runs[r.key] = r
            args.save.write_text(json.dumps([asdict(x) for x in runs.values()]))
            if time.monotonic() > end:
                print(f"{name} stopped after {args.minutes} minutes")
                break
    show(list(runs.values()))
    if args.plot:
        plot(list(runs.values()), args.plot)


if __name__ == "__main__":
    main()
