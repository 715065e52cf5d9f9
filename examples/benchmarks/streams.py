"""Models that are published while rows arrive: accuracy at every time, and rows per second.

    python examples/benchmarks/streams.py accuracy --data adult --rows 100000 --plot adult.png
    python examples/benchmarks/streams.py throughput
    python examples/benchmarks/streams.py throughput --calls 10 --columns 20
    python examples/benchmarks/streams.py later_blocks --repeats 4
    python examples/benchmarks/streams.py memory

``accuracy`` compares the default under ``partial_fit`` (``blocks``), the one that keeps no rows
(``ftrl``), a private ``fit`` on all rows so far, and scikit-learn's ``SGDClassifier.partial_fit``,
which is not private. Excess risk is the mean logistic loss on held-out rows above that of
scikit-learn's ``LogisticRegression`` on the whole stream. ``throughput`` compares rows per second
with ``SGDClassifier.partial_fit`` over a declared horizon of a million rows in the same run, calls
interleaved. ``later_blocks`` compares streams whose blocks build on the blocks before, by keeping
their coordinates and taking fewer steps, with streams whose blocks look and step like the first
one: that is what ``MOST_BLUR`` and ``STEPS_OF_FOLLOWING`` of ``skdp.solvers.defaults`` are for.
``memory`` feeds a million rows and reports how the process grew.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import warnings
from pathlib import Path
from time import process_time

import datasets
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, SGDClassifier

from skdp import DPLogisticRegression
from skdp.solvers import Blocks
from skdp.solvers import defaults as tuned

EPSILONS = (0.1, 1.0, 4.0)
EPSILONS_OF_BLOCKS = (0.5, 1.0, 4.0)
MOMENTS = 12
SOLVERS = ("blocks", "ftrl", "frank_wolfe")


def stream(name, rows, seed):
    """So many rows in random order, or all that there are, and held-out rows."""
    data = getattr(datasets, name)()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.y))
    test, train = order[:10_000], order[10_000:]
    train = train[:rows]
    return data.X[train], data.y[train], data.X[test], data.y[test]


def moments(n):
    """Times at which models are looked at, in geometric progression."""
    return np.unique(np.geomspace(n / 64, n, MOMENTS).astype(int))


def logistic_loss(model, X, y):
    z = model.decision_function(X)
    return np.mean(np.logaddexp(0, z) - y * z)


def private(epsilon, delta, **parameters):
    return DPLogisticRegression(
        epsilon=epsilon, delta=delta, data_norm=1.0, classes=[0, 1], **parameters
    )


def followed(model, X, y, times, look):
    """What ``look`` says of the model at each of the times."""
    out, start = [], 0
    for end in times:
        model.partial_fit(X[start:end], y[start:end], classes=[0, 1])
        out.append(look(model))
        start = end
    return out


def compared(name, rows, epsilon, seed):
    """(excess risk, accuracy) of each method at each time; arrays (times, 2)."""
    X, y, X_test, y_test = stream(name, rows, seed)
    n = len(y)
    delta, times = n**-1.1, moments(n)
    best = logistic_loss(LogisticRegression(C=1e4, max_iter=2000).fit(X, y), X_test, y_test)

    def look(model):
        return logistic_loss(model, X_test, y_test) - best, model.score(X_test, y_test)

    out = {
        "blocks, horizon known": followed(private(epsilon, delta, horizon=n), X, y, times, look),
        "blocks": followed(private(epsilon, delta), X, y, times, look),
        "ftrl": followed(private(epsilon, delta, horizon=n, buffer=False), X, y, times, look),
        "fit on rows so far": [
            look(private(epsilon, delta).fit(X[:end], y[:end])) for end in times
        ],
        "SGDClassifier, not private": followed(
            SGDClassifier(loss="log_loss", random_state=seed, average=True), X, y, times, look
        ),
    }
    return times, {method: np.array(values) for method, values in out.items()}


def accuracy(arguments):
    results = {}
    for epsilon in EPSILONS:
        runs = [
            compared(arguments.data, arguments.rows, epsilon, seed)
            for seed in range(arguments.repeats)
        ]
        times = runs[0][0]
        results[epsilon] = {m: np.array([run[1][m] for run in runs]) for m in runs[0][1]}
        print(f"\n{arguments.data}, epsilon = {epsilon}: excess risk, accuracy after t rows\n")
        shown = np.linspace(0, len(times) - 1, 5).round().astype(int)
        print(f"| | {' | '.join(str(times[k]) for k in shown)} |")
        print("|---" * (len(shown) + 1) + "|")
        for method, values in results[epsilon].items():
            mean = values.mean(axis=0)
            cells = [f"{mean[k, 0]:.4f}, {mean[k, 1]:.4f}" for k in shown]
            print(f"| {method} | {' | '.join(cells)} |", flush=True)
    if arguments.plot:
        plot(times, results, arguments.data, arguments.plot)


def plot(times, results, name, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(results), figsize=(4 * len(results), 4.5), sharey=True, layout="constrained"
    )
    for axes, (epsilon, methods) in zip(panels, results.items(), strict=True):
        for method, values in methods.items():
            style = "k--" if "not private" in method else "o-"
            axes.loglog(
                times, np.maximum(values.mean(axis=0)[:, 0], 1e-5), style, ms=3, label=method
            )
        axes.set_title(f"epsilon = {epsilon:g}")
        axes.set_xlabel("rows seen")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("excess logistic risk on held-out rows")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.suptitle(name)
    figure.savefig(path, dpi=150)


def rows_of(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    return X, (rng.random(n) < expit(3 * X[:, :5].sum(axis=1))).astype(int)


def pace(models, X, y, size):
    """CPU seconds of each model over the same calls of so many rows, in turn."""
    spent = dict.fromkeys(models, 0.0)
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        for name, model in models.items():
            begun = process_time()
            model.partial_fit(X[rows], y[rows], classes=[0, 1])
            spent[name] += process_time() - begun
    return spent


def throughput(arguments):
    n = arguments.rows
    print(f"{n:,} rows per CPU second, as a share of SGDClassifier.partial_fit\n")
    print(f"| columns | rows a call | SGDClassifier, rows/s | {' | '.join(SOLVERS)} |")
    print("|---" * (3 + len(SOLVERS)) + "|")
    for d in arguments.columns:
        X, y = rows_of(n, d, seed=0)
        for size in arguments.calls:
            models = {"sgd": SGDClassifier(loss="log_loss")} | {
                solver: private(1.0, 1e-6, horizon=n, solver=solver) for solver in SOLVERS
            }
            spent = pace(models, X, y, size)
            ratios = [f"{spent['sgd'] / spent[solver]:.2f}" for solver in SOLVERS]
            print(f"| {d} | {size} | {n / spent['sgd']:,.0f} | {' | '.join(ratios)} |", flush=True)


def simulated(rows, columns, seed, *, correlation=0.0, turn=0.0):
    """Rows of two classes, neighbouring columns correlated, whose model turns on the way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows + 20_000, columns))
    for j in range(1, columns if correlation else 0):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    ends = np.linalg.qr(rng.normal(size=(columns, 2)))[0]
    angle = turn * np.minimum(np.arange(len(X)) / rows, 1)
    z = 2.5 * (np.cos(angle) * (X @ ends[:, 0]) + np.sin(angle) * (X @ ends[:, 1]))
    y = (rng.random(len(X)) < expit(z)).astype(int)
    X /= np.sqrt(columns)
    return X[:rows], y[:rows], X[rows:], y[rows:]


SIMULATED = {
    "white, 10": lambda seed: simulated(100_000, 10, seed),
    "white, 20": lambda seed: simulated(200_000, 20, seed),
    "white, 100": lambda seed: simulated(400_000, 100, seed),
    "correlated, 20": lambda seed: simulated(200_000, 20, seed, correlation=0.7),
    "turning by 90 degrees, 20": lambda seed: simulated(200_000, 20, seed, turn=np.pi / 2),
}


def built_on(rows, epsilon, horizon, seed):
    """Loss at the end, mean loss of the next rows along the stream, looks and gradients; (4,)."""
    X, y, X_test, y_test = rows
    n = len(y)
    model = DPLogisticRegression(
        epsilon=epsilon,
        delta=1e-6,
        data_norm=float(np.quantile(np.linalg.norm(X[:2000], axis=1), 0.99)),
        classes=[0, 1],
        horizon=n if horizon else None,
        random_state=seed,
    )
    next_rows, start = [], 0
    for end in moments(n):
        model.partial_fit(X[start:end], y[start:end])
        start = end
        if end < n:
            next_rows.append(logistic_loss(model, X[end : end + 5000], y[end : end + 5000]))
    counts = [
        sum(event.count for event in model.privacy_ledger_ if event.query == query)
        for query in ("second_moments", "gradient")
    ]
    return logistic_loss(model, X_test, y_test), np.mean(next_rows), *counts


def later_blocks(arguments):
    rules = tuned.Whitening.MOST_BLUR, tuned.PreconditionedGD.STEPS_OF_FOLLOWING
    print("Loss of blocks that build on those before, less that of blocks that do not (± se)\n")
    print("| data | epsilon | horizon | loss | at the end | of the next rows | looks | gradients |")
    print("|---" * 8 + "|", flush=True)
    for name in arguments.data:
        for epsilon in EPSILONS_OF_BLOCKS:
            for horizon in (True, False):
                found = []
                for seed in range(arguments.repeats):
                    made = SIMULATED.get(name)
                    rows = stream(name, 150_000, seed) if made is None else made(seed)
                    pair = []
                    for blur, steps in ((0.0, 1.0), rules):
                        tuned.Whitening.MOST_BLUR = blur
                        tuned.PreconditionedGD.STEPS_OF_FOLLOWING = steps
                        pair.append(built_on(rows, epsilon, horizon, seed))
                    found.append(pair)
                before, after = np.moveaxis(np.array(found), 1, 0)
                errors = (after - before)[:, :2].std(axis=0, ddof=1) / np.sqrt(len(found))
                means = (after - before)[:, :2].mean(axis=0)
                losses = [f"{m:+.4f} ± {e:.4f}" for m, e in zip(means, errors, strict=True)]
                counts = [
                    f"{b:.0f} to {a:.0f}" for b, a in zip(before[0, 2:], after[0, 2:], strict=True)
                ]
                row = [name, f"{epsilon:g}", "declared" if horizon else "none"]
                row += [f"{before[:, 0].mean():.4f}", *losses, *counts]
                print(f"| {' | '.join(row)} |", flush=True)


def grown(parameters, queue):
    """Peak memory of this process after each 100,000 rows of a million."""
    model = private(1.0, 1e-6, **parameters)
    X, y = rows_of(100_000, 20, seed=0)
    for _ in range(10):
        for start in range(0, len(y), 100):
            model.partial_fit(X[start : start + 100], y[start : start + 100])
        queue.put(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def memory(arguments):
    del arguments
    streams = {
        "blocks of at most 50,000 rows": {"solver": Blocks(largest=50_000)},
        "ftrl": {"horizon": 1_000_000, "buffer": False},
    }
    peaks = {}
    for name, parameters in streams.items():
        # A process each, since a peak is that of the process.
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        process = context.Process(target=grown, args=(parameters, queue))
        process.start()
        peaks[name] = [queue.get() for _ in range(10)]
        process.join()
    print("Peak memory of the process in MB, batches of 100 rows with 20 features\n")
    print(f"| rows | {' | '.join(peaks)} |")
    print("|---" * (len(peaks) + 1) + "|")
    for k, values in enumerate(zip(*peaks.values(), strict=True)):
        print(f"| {(k + 1) * 100_000:,} | {' | '.join(f'{v:.0f}' for v in values)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("accuracy")
    command.add_argument("--data", choices=["adult", "covertype"], default="adult")
    command.add_argument("--rows", type=int, default=100_000)
    command.add_argument("--repeats", type=int, default=3)
    command.add_argument("--plot", type=Path, help="where to save the figure")
    command.set_defaults(run=accuracy)
    command = commands.add_parser("throughput")
    command.add_argument("--rows", type=int, default=1_000_000)
    command.add_argument("--columns", type=int, nargs="+", default=[20, 100])
    command.add_argument("--calls", type=int, nargs="+", default=[10, 100, 1000])
    command.set_defaults(run=throughput)
    command = commands.add_parser("later_blocks")
    command.add_argument("--data", nargs="+", default=["adult", "covertype", *SIMULATED])
    command.add_argument("--repeats", type=int, default=4)
    command.set_defaults(run=later_blocks)
    commands.add_parser("memory").set_defaults(run=memory)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    arguments.run(arguments)


if __name__ == "__main__":
    main()
