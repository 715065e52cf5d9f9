"""Coverage and width of private intervals for coefficients, by the solver 'one_step'.

Rows are drawn again and again from made-up populations, whose coefficients are known, and from real
tables, with replacement, whose coefficients are those of all rows. Beside the private intervals
stand those without privacy (a sandwich estimate) and naive ones, which come from the same private
fit and leave the noise of privacy out of its standard errors.

    python examples/benchmarks/intervals.py --fits 500
    python examples/benchmarks/intervals.py --only "linear, d = 10" --n 5000 --epsilon 1
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from functools import cache

import datasets
import numpy as np
from scipy.special import logsumexp

from skdp import DPLinearRegression, DPLogisticRegression, plan
from skdp.solvers import OneStep

DELTA = 1e-5
Z = 1.959963985
N_POPULATION = 200_000


@dataclass(frozen=True)
class Population:
    """Rows to draw from, the coefficients of all of them, and bounds that are taken for known."""

    X: np.ndarray
    y: np.ndarray
    truth: np.ndarray
    bounds: dict

    @property
    def classes(self):
        """Labels; none for a regression."""
        return [] if "target_bounds" in self.bounds else list(range(int(self.y.max()) + 1))


def features(d, rng):
    """Correlated features; a third of them are skewed and a quarter binary."""
    cov = 0.5 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    X = rng.normal(size=(N_POPULATION, d)) @ np.linalg.cholesky(cov).T
    X[:, 3::4] = X[:, 3::4] > 0.3
    X[:, 1::3] = np.exp(0.7 * X[:, 1::3])
    return (X - X.mean(axis=0)) / X.std(axis=0)


def made_up(d, *, binary, strength=1.0, skewed=False):
    """A linear mean with errors that grow with the first feature, or linear log-odds."""
    rng = np.random.default_rng(d)
    X, beta = features(d, rng), rng.normal(size=d)
    beta *= strength / np.std(X @ beta)
    truth = np.append(beta, 0.2)
    z, bounds = X @ beta + 0.2, {"data_norm": 1.5 * np.sqrt(d)}
    if binary:
        return Population(X, (rng.uniform(size=len(z)) < 1 / (1 + np.exp(-z))), truth, bounds)
    errors = rng.exponential(size=len(z)) - 1 if skewed else rng.normal(size=len(z))
    y = z + 0.7 * np.sqrt(0.5 + 0.5 * X[:, 0] ** 2) * errors
    # Of all rows, so that the population's own sampling error does not count as bias.
    truth = least_squares(with_constant(X), y)[0]
    return Population(X, y, truth, bounds | {"target_bounds": (-12.0, 12.0)})


def of_classes(d, *, chances=(0.4, 0.35, 0.25), strength=1.0):
    """Several classes of about these sizes, whose log-odds are linear."""
    rng, K = np.random.default_rng(d), len(chances)
    X, B = features(d, rng), rng.normal(size=(d, K - 1))
    B *= strength / np.std(X @ B, axis=0)
    constants = np.log(np.array(chances[1:]) / chances[0])
    z = np.column_stack([np.zeros(len(X)), X @ B + constants])
    # The class of the largest of scores with such noise has the probabilities of the softmax.
    y = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
    return Population(X, y, np.vstack([B, constants]).T.ravel(), {"data_norm": 1.5 * np.sqrt(d)})


# What a code book would say of california: income and age of houses are cut off in the table, the
# others are usual values. The order is that of the table, with logs of the four in the middle.
LOGS = slice(2, 6)
USUAL = np.array(
    [[0.5, 15], [1, 52], [1, 12], [0.5, 3], [50, 10_000], [1, 6], [32.5, 42], [-124.5, -114]]
)


def real(name):
    """A table with columns in ranges that serve all methods alike; values beyond are brought in."""
    ends = None
    if name.startswith("california"):
        data = datasets.california_raw()
        X, y, targets = data.X, data.y, data.target_bounds
        X[:, LOGS] = np.log1p(X[:, LOGS])
        if name == "california":
            ends = USUAL.copy()
            ends[LOGS] = np.log1p(ends[LOGS])
    elif name == "bike":
        data = datasets.bike_raw()
        X, y, targets = data.X[:, data.numeric], data.y, data.target_bounds
    elif name == "adult":
        data = datasets.adult_raw()
        common = [j for j in range(data.X.shape[1]) if 0.2 < data.X[:, j].mean() < 0.8]
        X, y, targets = data.X[:, sorted({*data.numeric, *common})], data.y, None
        X = np.where(X.max(axis=0) > 200, np.sqrt(X), X)
    else:
        data = datasets.covertype_raw()
        X, y, targets = data.X[:, :10], data.y, None
    X = np.asarray(X, dtype=np.float64)
    low, high = (X.min(axis=0), X.max(axis=0)) if ends is None else ends.T
    X = np.clip(X, low, high)
    kept = independent(X)
    X, bounds = X[:, kept], {"data_bounds": (low[kept], high[kept])}
    V = with_constant(X)
    if targets is None:
        truth = maximum_likelihood(V, y)[0]
    else:
        y = np.clip(y, *targets)
        truth, bounds = least_squares(V, y)[0], bounds | {"target_bounds": targets}
    return Population(X, y, truth, bounds)


def independent(X):
    """Indices of the columns that are not sums of others before them."""
    kept = []
    for j in range(X.shape[1]):
        tried = with_constant(X[:, [*kept, j]])
        tried = tried / np.linalg.norm(tried, axis=0)
        if np.linalg.svd(tried, compute_uv=False)[-1] > 1e-3:
            kept.append(j)
    return kept


def with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


def least_squares(V, y):
    """Coefficients and robust standard errors."""
    inverse = np.linalg.inv(V.T @ V)
    beta = inverse @ (V.T @ y)
    scores = V * (y - V @ beta)[:, None]
    return beta, np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))


def maximum_likelihood(V, y):
    """Coefficients of each class against the first, and robust standard errors, by Newton steps."""
    scale = np.where(V.std(axis=0) > 0, V.std(axis=0), 1.0)
    W, labels = V / scale, np.eye(int(y.max()) + 1)[y.astype(int)][:, 1:]
    beta = np.zeros((labels.shape[1], W.shape[1]))
    for _ in range(50):
        z = W @ beta.T
        p = np.exp(z - logsumexp(np.column_stack([np.zeros(len(z)), z]), axis=1)[:, None])
        curvature = np.block(
            [[(W * (p[:, [a]] * ((a == b) - p[:, [b]]))).T @ W for b in range(p.shape[1])]
             for a in range(p.shape[1])]
        )  # fmt: skip
        scores = ((labels - p)[:, :, None] * W[:, None]).reshape(len(W), -1)
        inverse = np.linalg.inv(curvature)
        step = (inverse @ scores.sum(axis=0)).reshape(beta.shape)
        beta += step * min(1.0, 2.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-9:
            break
    errors = np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))
    return (beta / scale).ravel(), errors / np.tile(scale, len(beta))


REAL = ("california", "california, all outliers", "bike", "adult", "covertype")
POPULATIONS = {
    **{f"linear, d = {d}": lambda d=d: made_up(d, binary=False) for d in (3, 10, 30)},
    "linear, skewed errors": lambda: made_up(10, binary=False, skewed=True),
    **{f"logistic, d = {d}": lambda d=d: made_up(d, binary=True) for d in (3, 10, 30)},
    "logistic, strong": lambda: made_up(10, binary=True, strength=3.0),
    **{f"three classes, d = {d}": lambda d=d: of_classes(d) for d in (3, 10)},
    "three classes, strong": lambda: of_classes(10, strength=3.0),
    "three classes, one rare": lambda: of_classes(3, chances=(0.55, 0.4, 0.05)),
    "five classes, d = 3": lambda: of_classes(3, chances=(0.3, 0.25, 0.2, 0.15, 0.1)),
    **{name: lambda name=name: real(name) for name in REAL},
}
population = cache(lambda name: POPULATIONS[name]())


class Anyway(OneStep):
    """The solver without its refusal of small budgets, to see what it spares."""

    def check_budget(self, problem, mu):
        pass


def private_model(of, epsilon, seed, solver):
    """The estimator that is measured."""
    facts = {"epsilon": epsilon, "delta": DELTA, "solver": solver, "random_state": seed}
    if of.classes:
        return DPLogisticRegression(classes=of.classes, **facts, **of.bounds)
    return DPLinearRegression(**facts, **of.bounds)


@dataclass(frozen=True)
class Cell:
    """What fits to n rows came to, each an average over trusted coefficients of all fits.

    ``refused`` says that a fit is refused for its budget; intervals are then those that it would
    have had. ``hidden`` is the coverage of coefficients that are not trusted, and ``least`` that of
    the one that is covered least among those trusted in a tenth of the fits.
    """

    refused: bool
    coverage: float
    least: float
    naive: float
    exact: float
    width: float
    trusted: float
    hidden: float
    resolution: float
    seconds: float


def refuses(of, n, epsilon):
    """True if a fit of so many rows is refused for its budget, which takes no rows to find out."""
    model = private_model(of, epsilon, 0, "one_step")
    try:
        plan(model, n, of.X.shape[1])
    except ValueError as refusal:
        return "p^1.5" in str(refusal)
    return False


def measured(of, n, epsilon, fits, seed=0):
    """The cell of a population, a number of rows and a budget."""
    refused, rng, found, seconds = refuses(of, n, epsilon), np.random.default_rng(seed), [], 0.0
    solver = Anyway() if refused else "one_step"
    for fit in range(fits):
        rows = rng.integers(0, len(of.y), n)
        X, y = of.X[rows], of.y[rows]
        model, started = (
            private_model(of, epsilon, 10_000 * seed + fit, solver),
            time.perf_counter(),
        )
        model.fit(X, y)
        seconds += time.perf_counter() - started
        fitted = model.inference_
        beta, errors = (maximum_likelihood if of.classes else least_squares)(with_constant(X), y)
        se = np.sqrt(np.diag(fitted.cov_params(trust_all=True)))
        apart = np.abs(fitted.params - of.truth)
        naive = np.sqrt(np.diag(fitted.sampling))
        hits = apart <= Z * se, apart <= Z * naive, np.abs(beta - of.truth) <= Z * errors
        found.append((*hits, se / errors, fitted.trusted, np.full(len(se), fitted.resolution)))
    covered, naive, exact, width, trusted, resolution = map(np.array, zip(*found, strict=True))
    hits = [covered[trusted[:, j], j] for j in range(covered.shape[1])]
    return Cell(
        refused=refused,
        coverage=mean(covered[trusted]),
        least=min((mean(of_one) for of_one in hits if len(of_one) >= fits / 10), default=np.nan),
        naive=mean(naive[trusted]),
        exact=mean(exact),
        width=float(np.median(width[trusted])) if trusted.any() else np.nan,
        trusted=mean(trusted),
        hidden=mean(covered[~trusted]),
        resolution=float(np.median(resolution)),
        seconds=seconds / fits,
    )


def mean(values):
    """Their mean, or NaN if there are none."""
    return float(np.mean(values)) if values.size else np.nan


def beside_the_default(of, n, epsilon, fits):
    """Scores on the population, seconds and queries of this solver and of the default."""
    cells = []
    for solver in ("one_step", "auto"):
        rng, scores, seconds, asked = np.random.default_rng(0), [], 0.0, 0
        for fit in range(fits):
            rows = rng.integers(0, len(of.y), n)
            model, started = private_model(of, epsilon, fit, solver), time.perf_counter()
            model.fit(of.X[rows], of.y[rows])
            seconds += (time.perf_counter() - started) / fits
            asked = sum(event.count for event in model.privacy_ledger_)
            scores.append(model.score(of.X[:20_000], of.y[:20_000]))
        error = np.std(scores, ddof=1) / np.sqrt(fits)
        cells.append(f"{np.mean(scores):.4f} (± {error:.4f}), {asked}, {seconds:.2f} s")
    return " | ".join(cells)


HEAD = (
    "| population | n | epsilon | coverage (least) | naive | not private | width | trusted | "
    "coverage of the others | least curvature | seconds |"
)


def told(name, n, epsilon, cell):
    numbers = f"{cell.coverage:.3f} ({cell.least:.2f}) | {cell.naive:.2f} | {cell.exact:.3f}"
    rest = f"{cell.width:.2f} | {cell.trusted:.2f} | {cell.hidden:.2f} | {cell.resolution:.1f}"
    name = f"{name}, refused" if cell.refused else name
    return f"| {name} | {n:,} | {epsilon:g} | {numbers} | {rest} | {cell.seconds:.2f} |"


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", choices=list(POPULATIONS))
    parser.add_argument("--n", nargs="*", type=int, default=[1_000, 5_000, 50_000])
    parser.add_argument("--epsilon", nargs="*", type=float, default=[0.5, 1.0, 4.0])
    parser.add_argument("--fits", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scores", action="store_true", help="accuracy or R2 beside the default")
    options = parser.parse_args(given)
    # Of seeded noise, and of intervals that the table is about.
    warnings.simplefilter("ignore", UserWarning)
    if options.scores:
        print("| population | n | epsilon | one_step: score, queries, time | auto |")
    else:
        print(HEAD)
    print("| --- " * (5 if options.scores else 11) + "|")
    for name in options.only or POPULATIONS:
        for n in options.n:
            for epsilon in options.epsilon:
                if options.scores:
                    cells = beside_the_default(population(name), n, epsilon, options.fits)
                    print(f"| {name} | {n:,} | {epsilon:g} | {cells} |", flush=True)
                    continue
                cell = measured(population(name), n, epsilon, options.fits, options.seed)
                print(told(name, n, epsilon, cell), flush=True)


if __name__ == "__main__":
    main()
