"""Wang, Ye and Xu (2017), figures 1 and 2: optimality gap of SVRG, SVRG++ and GD on Covertype.

    python examples/benchmarks/papers/optimality_gap.py --plot optimality_gap.png

200,000 training rows, logistic loss with a ridge of 1e-2 and without, epsilon in {0.2, 0.5, 1},
delta = 1e-3, replace-one. All solvers here are calibrated from what they release. Columns are the
gap of the objective to the minimum, with standard errors, queries asked, and processor time
as a multiple of GD's in the same run. The last table is what the noise of the paper really gives: a
lower bound on epsilon by an explicit test between neighbours.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import expit, log_ndtr, ndtr

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import datasets

from skdp import DPLogisticRegression
from skdp.solvers import GD, SVRG

N, DELTA = 200_000, 1e-3
EPSILONS = (0.2, 0.5, 1.0)
RIDGES = (1e-2, 0.0)
EPOCHS, INNER = 15, 5000
# Without clipping, so that all minimise the same objective.
SOLVERS = {
    "GD": GD(clip=1.0),
    "SVRG, as in the paper": SVRG(
        inner=8, growth=1.0, reach=np.inf, momentum=0.0, snapshot="average", clip=1.0
    ),
    "SVRG++, as in the paper": SVRG(
        inner=1, growth=2.0, longest=64, reach=np.inf, momentum=0.0, clip=1.0
    ),
    "SVRG, default": SVRG(clip=1.0),
}


def rows():
    data = datasets.covertype()
    order = np.random.default_rng(0).permutation(len(data.y))[:N]
    return np.ascontiguousarray(data.X[order], dtype=np.float64), data.y[order]


def objective(coef, intercept, X, y, ridge):
    z = X @ coef + intercept
    return np.mean(np.logaddexp(0, z) - y * z) + ridge / 2 * np.sum(coef**2)


def least(X, y, ridge):
    """The minimum by Newton's method; without a ridge it lies at infinity, and steps lead there."""
    A = np.column_stack([X, np.ones(len(y))])
    penalty = np.append(np.full(X.shape[1], ridge), 0.0)
    w = np.zeros(A.shape[1])
    for _ in range(40):
        p = expit(A @ w)
        slope = A.T @ (p - y) / len(y) + penalty * w
        curvature = (A * (p * (1 - p))[:, None]).T @ A / len(y) + np.diag(penalty)
        # Indicators that add up to the intercept leave it singular.
        step = np.linalg.pinv(curvature, rcond=1e-13) @ slope
        w -= step
        if slope @ step < 1e-11:
            break
    return objective(w[:-1], w[-1], X, y, ridge)


def run(solver, X, y, ridge, epsilon):
    model = DPLogisticRegression(
        epsilon=epsilon,
        delta=DELTA,
        C=1 / (ridge * N) if ridge else 1e12,
        data_norm=1.0,
        classes=[0, 1],
        solver=solver,
        precondition=None,
    )
    started = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - started
    asked = sum(event.count for event in model.privacy_ledger_)
    return objective(model.coef_[0], model.intercept_[0], X, y, ridge), asked, seconds


def paper_noise(epsilon):
    """Standard deviation that the paper adds to each step, with its constant taken as 1."""
    return np.sqrt(EPOCHS * INNER * np.log(1 / DELTA)) / (N * epsilon)


def certain_epsilon(epsilon, shift):
    """A lower bound on the epsilon of the paper's noise where single rows weigh ``shift``.

    Each step draws one row. The test says "it was there" if any step's answer, projected on the
    direction of the row, exceeds a threshold. Without the row that happens in a known share of
    runs; with it, at least whenever the row is drawn and lifts its step above the threshold.
    """
    steps, sd = EPOCHS * INNER, paper_noise(epsilon)
    drawn = -np.expm1(steps * np.log1p(-1 / N))

    def bound(threshold):
        false = -np.expm1(steps * log_ndtr(threshold / sd))
        # Far out the difference from 1 is lost; there the sum of the tails is as good.
        if false < 1e-12:
            log_false = np.log(steps) + log_ndtr(-threshold / sd)
        else:
            log_false = np.log(false)
        true = drawn * ndtr((shift - threshold) / sd)
        return np.log(true - DELTA) - log_false if true > DELTA else -np.inf

    # Any threshold gives a bound, so a grid will do.
    return max(0.0, *(bound(t) for t in np.linspace(0, shift + 6 * sd, 4000)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--plot", type=Path, help="where to save the figure")
    arguments = parser.parse_args()
    X, y = rows()
    gaps = {}
    for ridge in RIDGES:
        best = least(X, y, ridge)
        print(f"\nridge {ridge:g}, least objective {best:.5f}\n")
        print("| solver | " + " | ".join(f"eps {e:g}" for e in EPSILONS) + " | asked | time |")
        print("|---" * (len(EPSILONS) + 3) + "|")
        reference = None
        for name, solver in SOLVERS.items():
            cells, seconds = [], []
            for epsilon in EPSILONS:
                runs = [run(solver, X, y, ridge, epsilon) for _ in range(arguments.repeats)]
                gap = np.array([value - best for value, _, _ in runs])
                seconds += [s for _, _, s in runs]
                error = gap.std(ddof=1) / np.sqrt(len(gap))
                cells.append(f"{gap.mean():.5f}±{error:.5f}")
                gaps.setdefault((ridge, name), []).append((gap.mean(), error))
                asked = runs[0][1]
            reference = reference or np.median(seconds)
            ratio = np.median(seconds) / reference
            print(f"| {name} | {' | '.join(cells)} | {asked} | {ratio:.2f} |", flush=True)
    print(
        "\nEpsilon of the paper's own noise, at least (weight of one row in a step: 2, .1, .01)\n"
    )
    print("| claimed | sd | 2 | .1 | .01 |\n|---|---|---|---|---|")
    for epsilon in EPSILONS:
        bounds = [f"{certain_epsilon(epsilon, shift):.3g}" for shift in (2.0, 0.1, 0.01)]
        print(f"| {epsilon:g} | {paper_noise(epsilon):.5f} | {' | '.join(bounds)} |")
    if arguments.plot:
        draw(gaps, arguments.plot)


def draw(gaps, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for axes, ridge in zip(panels, RIDGES, strict=True):
        for name in SOLVERS:
            means, errors = np.array(gaps[ridge, name]).T
            axes.errorbar(EPSILONS, means, 2 * errors, label=name, marker="o", markersize=4)
        axes.set_yscale("log")
        axes.set_xticks(EPSILONS)
        axes.set_xlabel("epsilon")
        axes.set_title(f"ridge {ridge:g}")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("optimality gap")
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
