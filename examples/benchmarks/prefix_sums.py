"""Error, time and memory of the mechanisms for running sums, against theory.

    python examples/benchmarks/prefix_sums.py --lengths 1000 10000 100000 1000000
    python examples/benchmarks/prefix_sums.py --plot prefix_sums.png

Errors are standard deviations of one entry of the noise when a term of sensitivity 1 is protected
with mu = 1: at the worst step, at the last one, and the root mean square over all steps. The last
is also measured, on a stream with many independent entries and fresh noise; behind it stands its
standard error. Memory is what a secret checkpoint holds, in terms; time is that of a step, the
drawing of normals included.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import numpy as np

from skdp.privacy import SystemNoise, secret_pickle
from skdp.privacy.mechanisms import BLT, Toeplitz, Tree

MECHANISMS = {
    "tree": Tree,
    "toeplitz": Toeplitz,
    "blt": BLT,
}
LENGTHS = tuple(10**k for k in range(3, 7))
HEAD = "mechanism | max | last | rms | rms, measured | tree's rms / its | us a step | terms held"


@dataclass(frozen=True)
class Run:
    """One stream of one mechanism."""

    name: str
    length: int
    size: int
    largest: float
    last: float
    typical: float
    measured: float
    standard_error: float
    seconds: float
    held: float

    def row(self, tree):
        return (
            f"| {self.name} | {self.largest:.2f} | {self.last:.2f} | {self.typical:.3f} "
            f"| {self.measured:.3f} +- {self.standard_error:.3f} "
            f"| {tree.typical / self.typical:.2f} | {1e6 * self.seconds:.1f} | {self.held:.1f} |"
        )


def run(name, length, size):
    """Theory, and one stream with ``size`` entries."""
    mechanism = MECHANISMS[name](length)
    noise = mechanism.open(size, mechanism.column_norm, SystemNoise())
    squares = np.zeros(size)
    start = time.process_time()
    for _ in range(length):
        w = noise.next()
        w *= w
        squares += w
    seconds = (time.process_time() - start) / length
    squares /= length
    measured = sqrt(squares.mean())
    errors = mechanism.errors(np.arange(1, length + 1))
    return Run(
        name,
        length,
        size,
        float(errors.max()),
        float(errors[-1]),
        sqrt(np.mean(errors**2)),
        measured,
        # Of the mean of squares, carried over to its root.
        squares.std(ddof=1) / sqrt(size) / (2 * measured),
        seconds,
        len(secret_pickle(noise)) / (8 * size),
    )


def table(runs):
    """Markdown, one block for each length."""
    lines = []
    for length in sorted({r.length for r in runs}):
        of_length = [r for r in runs if r.length == length]
        tree = next(r for r in of_length if r.name == "tree")
        lines += [
            f"\n**{length:,} terms of {tree.size} entries**\n",
            f"| {HEAD} |",
            "|---" * 8 + "|",
        ]
        lines += [r.row(tree) for r in of_length]
    return "\n".join(lines)


def plot(path, length):
    """Errors at every step of a stream: the mean over each of 400 stretches."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    stretches = np.array_split(np.arange(1, length + 1), min(400, length))
    for name, make in MECHANISMS.items():
        errors = make(length).errors(np.arange(1, length + 1))
        means = [sqrt(np.mean(errors[s - 1] ** 2)) for s in stretches]
        axes.plot([s[-1] for s in stretches], means, label=name)
    axes.set(xlabel="step", ylabel="error at mu = 1", ylim=(0, None), title=f"{length:,} terms")
    axes.legend(loc="lower center", ncols=3)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--size", type=int, help="entries of a term; fewer for long streams")
    parser.add_argument("--plot", type=Path, help="draw errors over the shortest of the lengths")
    options = parser.parse_args(arguments)
    sizes = {n: options.size or int(np.clip(3e7 / n, 32, 1000)) for n in options.lengths}
    runs = [run(name, n, size) for n, size in sizes.items() for name in MECHANISMS]
    print(table(runs))
    if options.plot:
        plot(options.plot, min(options.lengths))


if __name__ == "__main__":
    main()
