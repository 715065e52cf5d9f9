"""Counts and rates: D^2 and calibration at epsilon 0.5, 1 and 4, and coverage of intervals.

    python examples/benchmarks/counts.py                       # all tables, about six minutes
    python examples/benchmarks/counts.py --only insurance --rows 20000 --fits 2

Tables are visits to a doctor (rwm5yr, a person in all of whose years is tested on or none) and
simulated insurance claims: a rate of .07 a year, exposures of .1 to 1 years, ten features. Reads
``frames.py`` from the folder named by the environment variable SKDP_DATA.

DP-SGD is as DPrivStats describes its Poisson models: per-row gradients clipped to norm 1, Poisson
samples of 512 rows, 20 passes, a constant step, Gaussian noise by a moments accountant
(dp-accounting); features standardised by public numbers. Its promise is about a row that is there
or not, which takes half the noise of replace-one; its step is the best of four on the test rows,
which is not paid for.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

import dp_accounting
import numpy as np
import pandas as pd
from scipy.stats import sem
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

from skdp import DPPoissonRegressor

FOLDER = Path(os.environ.get("SKDP_DATA", "shared/data"))
EPSILONS, DELTA = (0.5, 1.0, 4.0), 1e-6
COEF = np.array([0.3, -0.2, 0.15, 0.1, 0.0, 0.5, -0.4, 0.3, 0.0, 0.2])
BATCH, PASSES, STEPS = 512, 20, (0.3, 1.0, 3.0, 10.0)


def insurance(n, seed=0, rate=0.07, dispersion=0.0):
    """Features, numbers of claims and exposures of n policies."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(size=(n, len(COEF))), -3, 3)
    X[:, 5:] = X[:, 5:] > 0.8
    exposure = rng.uniform(0.1, 1.0, size=n)
    mean = exposure * np.exp(X @ COEF + np.log(rate) - 0.27)
    if dispersion:
        mean = mean * rng.gamma(1 / dispersion, dispersion, size=n)
    return X, rng.poisson(mean), exposure


def visits():
    """Features, visits and the person of each row of rwm5yr."""
    sys.path.insert(0, str(FOLDER))
    from frames import frame

    X, y, _ = frame("rwm5yr")
    person = X.pop("person").to_numpy()
    X = X.assign(hhninc=np.sqrt(X.hhninc), age2=(X.age - 45) ** 2 / 100)
    X = X.join(pd.get_dummies(X.pop("edlevel").astype(int), prefix="level", drop_first=True) * 1.0)
    return X.to_numpy(dtype=float), y.to_numpy(dtype=float), person


def tables(rows):
    """By name: train and test rows, each of features, counts and exposures; people of the first."""
    train, test = insurance(rows), insurance(rows // 4, 1)
    yield f"insurance, {rows:,} policies", train, test, None
    X, y, person = visits()
    ids = np.unique(person)
    tested = np.isin(person, np.random.default_rng(0).choice(ids, len(ids) // 4, replace=False))
    parts = [(X[of], y[of], np.ones(of.sum())) for of in (~tested, tested)]
    yield f"rwm5yr, {int((~tested).sum()):,} rows", *parts, None
    of_people = person[~tested]
    yield f"rwm5yr, {np.unique(of_people).size:,} people", *parts, of_people


def measured(predict, test):
    """D^2, and predicted over observed numbers of events, of the test rows."""
    X, counts, exposure = test
    predicted = predict(X)
    d2 = d2_tweedie_score(counts / exposure, predicted, sample_weight=exposure, power=1)
    return d2, float(predicted @ exposure) / counts.sum()


def of_skdp(train, test, epsilon, people):
    """A fit by default, with public ranges of the columns and the cap left to be found."""
    X, counts, exposure = train
    bounds = X.min(axis=0), X.max(axis=0)
    model = DPPoissonRegressor(epsilon=epsilon, delta=DELTA, data_bounds=bounds)
    weights = None if (exposure == 1).all() else exposure
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, counts / exposure, sample_weight=weights, privacy_unit=people)
    return measured(model.predict, test)


def of_sklearn(train, test):
    """The model without privacy."""
    X, counts, exposure = train
    model = PoissonRegressor(alpha=0, max_iter=2000).fit(X, counts / exposure, exposure)
    return measured(model.predict, test)


def noise_multiplier(n, epsilon):
    """Noise for all steps of DP-SGD together, in units of the clip."""
    steps = PASSES * n // BATCH

    def made(z):
        event = dp_accounting.PoissonSampledDpEvent(BATCH / n, dp_accounting.GaussianDpEvent(z))
        return dp_accounting.SelfComposedDpEvent(event, steps)

    search = dp_accounting.calibrate_dp_mechanism
    return search(dp_accounting.rdp.RdpAccountant, made, epsilon, DELTA)


def of_sgd(train, test, noise, step, seed):
    """DP-SGD from zero, see above."""
    rng = np.random.default_rng(seed)
    X, counts, exposure = train
    middle, scale = X.mean(axis=0), X.std(axis=0)
    V = np.column_stack([(X - middle) / scale, np.ones(len(X))])
    w, offset, n = np.zeros(V.shape[1]), np.log(exposure), len(X)
    for _ in range(PASSES * n // BATCH):
        # Nearly a Poisson sample, and much faster for many rows.
        rows = rng.integers(n, size=rng.binomial(n, BATCH / n))
        mean = np.exp(np.minimum(V[rows] @ w + offset[rows], 20))
        g = V[rows] * (mean - counts[rows])[:, None]
        g /= np.maximum(1.0, np.linalg.norm(g, axis=1))[:, None]
        w -= step / BATCH * (g.sum(axis=0) + noise * rng.normal(size=w.size))

    def predict(X):
        return np.exp(np.minimum(np.column_stack([(X - middle) / scale, np.ones(len(X))]) @ w, 20))

    return measured(predict, test)


def cell(scores):
    """Means and standard errors of D^2, and means of calibrations."""
    d2, ratio = np.array(scores).T
    error = sem(d2) if len(d2) > 1 else 0.0
    return f"{d2.mean():.4f} ± {error:.4f}, {ratio.mean():.2f}"


def coverage(fits, epsilon, rows=20_000):
    """Share of coefficients in 95 % intervals, mean standard error, and share of noise in it."""
    inside, widths, shares = [], [], []
    for seed in range(fits):
        X, counts, exposure = insurance(rows, 100 + seed, rate=0.5, dispersion=0.5)
        model = DPPoissonRegressor(
            epsilon=epsilon, delta=DELTA, data_bounds=(-3, 3), solver="one_step"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(X, counts / exposure, sample_weight=exposure)
        found, d = model.inference_, len(COEF)
        low, high = found.conf_int()[:d].T
        # Those that are not to be trusted are not numbers.
        given = found.trusted[:d]
        inside.extend(((low <= COEF) & (high >= COEF))[given])
        widths.extend(found.bse[:d][given])
        shares.extend(found.noise_share[:d][given])
    means = np.mean(inside), np.mean(widths), np.mean(shares)
    return "{:.3f} | {:.3f} | {:.0%}".format(*means)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tables whose names begin so")
    parser.add_argument("--rows", type=int, default=500_000, help="policies")
    parser.add_argument("--fits", type=int, default=8)
    given = parser.parse_args()
    print("| D^2 ± standard error, predicted over observed | skdp | DP-SGD | without privacy |")
    print("| --- | --- | --- | --- |")
    for name, train, test, people in tables(given.rows):
        if not name.startswith(given.only):
            continue
        without = cell([of_sklearn(train, test)]).replace(" ± 0.0000", "")
        for epsilon in EPSILONS:
            ours = cell([of_skdp(train, test, epsilon, people) for _ in range(given.fits)])
            theirs = "-"
            if people is None:
                noise = noise_multiplier(len(train[0]), epsilon)
                runs = [
                    [of_sgd(train, test, noise, step, seed) for seed in range(min(3, given.fits))]
                    for step in STEPS
                ]
                theirs = cell(max(runs, key=lambda run: np.mean(run, axis=0)[0]))
            print(f"| {name}, epsilon {epsilon:g} | {ours} | {theirs} | {without} |", flush=True)
    if not given.only or given.only == "coverage":
        print("\n| 20,000 policies | coverage | standard error | of it noise |")
        print("| --- | --- | --- | --- |")
        for epsilon in EPSILONS[1:]:
            print(f"| epsilon {epsilon:g} | {coverage(10 * given.fits, epsilon)} |", flush=True)


if __name__ == "__main__":
    main()
