"""Diffprivlib, OpenDP and interpret's DP-EBM on the same rows, in an environment of their own.

Diffprivlib 0.6.6 does not work with the scikit-learn of this package, so they run in another
process. Make its environment once, and name its interpreter:

    python examples/benchmarks/peers.py --install .venv-peers
    export SKDP_PEERS=.venv-peers/bin/python

What diffprivlib promises is not the same. It gives pure epsilon-privacy, without a delta, which is
stronger; neighbours differ in the value of one row, as here. Logistic regression is objective
perturbation (Chaudhuri, Monteleoni and Sarwate, 2011), for more classes one against the rest with
an equal share of epsilon each, and needs a bound on the norm of rows. Linear regression is the
functional mechanism (Zhang et al., 2012), and needs a range for each feature and the target. It
gets the same epsilon, rows and bounds as all other methods, and its default settings.

Its quantiles, and those of OpenDP, are chosen by the exponential mechanism one by one, the latter
among a thousand values at equal distances; each gets its part of the budget, by epsilon and by rho
of zero-concentrated privacy.

DP-EBM (Nori et al., 2021) boosts a sum of functions of single columns, and gets columns as they are
in the file, whose kinds and ranges it needs; at the same epsilon and delta, its noise is for rows
that are added or removed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PACKAGES = ("diffprivlib==0.6.6", "scikit-learn>=1.5,<1.6", "interpret-core>=0.7", "opendp>=0.16")
# Beyond it, the functional mechanism takes minutes for noise on half a million moments.
MOST_FEATURES = 200


def install(folder):
    """Make the environment and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    interpreter = Path(folder) / "bin" / "python"
    subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return interpreter


def diffprivlib(data, X, y, X_test, epsilons):
    """Predictions and seconds for each epsilon.

    None without its environment, and for rows that it cannot take.
    """
    wide = data.is_regression and X.shape[1] > MOST_FEATURES
    if wide or data.data_norm is None or not isinstance(X, np.ndarray):
        return [None] * len(epsilons)
    given = {"data_norm": data.data_norm}
    if data.is_regression:
        given |= {"target_bounds": data.target_bounds, "feature_bound": data.feature_bound}
    return elsewhere("diffprivlib", X, y, X_test, epsilons, given)


def ebm(X, y, X_test, epsilons, *, delta, low, high, target_bounds=None):
    """As :func:`diffprivlib`, of columns: numbers in a range, or codes where ``low`` is NaN."""
    given = {"delta": delta, "low": low, "high": high}
    if target_bounds is not None:
        given["target_bounds"] = target_bounds
    return elsewhere("ebm", X, y, X_test, epsilons, given)


def elsewhere(method, X, y, X_test, epsilons, given):
    """Predictions and seconds for each epsilon from the other environment, None without it."""
    interpreter = os.environ.get("SKDP_PEERS")
    if interpreter is None:
        return [None] * len(epsilons)
    given = {"X": X, "y": y, "X_test": X_test, "epsilons": epsilons, "method": method, **given}
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder) / "rows.npz", Path(folder) / "answers.npz"
        np.savez(source, **given)
        subprocess.run([interpreter, __file__, "--fit", source, answer], check=True)
        found = np.load(answer)
        return list(zip(found["predicted"], found["seconds"].tolist(), strict=True))


def fit(source, answer):
    """Fit within the other environment."""
    import warnings

    warnings.simplefilter("ignore")
    given = np.load(source)
    X, y, X_test = given["X"], given["y"], given["X_test"]
    make = {
        "diffprivlib": of_diffprivlib,
        "ebm": of_interpret,
        "components of diffprivlib": ComponentsOfDiffprivlib,
        "quantiles of diffprivlib": QuantilesOfDiffprivlib,
        "quantiles of OpenDP": QuantilesOfOpenDP,
    }[str(given["method"])]
    predicted, seconds = [], []
    for epsilon in given["epsilons"].tolist():
        start = time.process_time()
        model = make(epsilon, given).fit(X, y)
        if "target_bounds" in given:
            predicted.append(model.predict(X_test))
        else:
            probabilities = model.predict_proba(X_test)
            # Scores may overflow, which says nothing about the classes.
            probabilities = np.nan_to_num(probabilities, nan=1 / probabilities.shape[1])
            predicted.append(np.log(np.maximum(probabilities, 1e-300)))
        seconds.append(time.process_time() - start)
    np.savez(answer, predicted=np.array(predicted), seconds=seconds)


def of_diffprivlib(epsilon, given):
    from diffprivlib.models import LinearRegression, LogisticRegression

    if "target_bounds" not in given:
        return LogisticRegression(epsilon=epsilon, data_norm=float(given["data_norm"]))
    bound = float(given["feature_bound"])
    bounds_y = tuple(given["target_bounds"].tolist())
    return LinearRegression(epsilon=epsilon, bounds_X=(-bound, bound), bounds_y=bounds_y)


def of_interpret(epsilon, given):
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    low, high = given["low"], given["high"]
    options = {
        "epsilon": epsilon,
        "delta": float(given["delta"]),
        "feature_types": ["nominal" if np.isnan(a) else "continuous" for a in low],
        "privacy_bounds": {j: (low[j], high[j]) for j in np.flatnonzero(~np.isnan(low)).tolist()},
        "n_jobs": 1,
    }
    if "target_bounds" not in given:
        return DPExplainableBoostingClassifier(**options)
    least, most = given["target_bounds"].tolist()
    return DPExplainableBoostingRegressor(
        **options, privacy_target_min=least, privacy_target_max=most
    )


class ComponentsOfDiffprivlib:
    """Directions of centred rows of at most ``data_norm`` and columns between ``target_bounds``."""

    def __init__(self, epsilon, given):
        self.given, self.epsilon = given, epsilon

    def fit(self, X, y):
        from diffprivlib.models import PCA

        bounds, norm = tuple(self.given["target_bounds"].tolist()), float(self.given["data_norm"])
        number = int(self.given["n_components"])
        self.fitted = PCA(number, epsilon=self.epsilon, bounds=bounds, data_norm=norm).fit(X)
        return self

    def predict(self, X):
        return self.fitted.components_


class QuantilesOfDiffprivlib:
    """Quantiles of one column between ``target_bounds``, each for the same epsilon."""

    def __init__(self, epsilon, given):
        self.budget, self.bounds = epsilon, tuple(given["target_bounds"].tolist())

    def fit(self, X, y):
        self.column = X[:, 0]
        return self

    def predict(self, shares):
        return [self._quantile(share) for share in shares[:, 0]]

    def _quantile(self, share):
        from diffprivlib.tools import quantile

        return quantile(self.column, share, epsilon=self.budget, bounds=self.bounds)


class QuantilesOfOpenDP(QuantilesOfDiffprivlib):
    """The same by OpenDP, where ``epsilon`` is the rho of each quantile."""

    def _quantile(self, share):
        import opendp.prelude as dp

        dp.enable_features("contrib")
        values = np.linspace(*self.bounds, 1001).tolist()
        rows = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
        scores = rows >> dp.t.then_quantile_score_candidates(values, alpha=float(share))
        # Replacing a row takes one away and adds one.
        measurement = dp.binary_search_chain(
            lambda scale: (
                scores >> dp.m.then_noisy_max(dp.zero_concentrated_divergence(), scale, negate=True)
            ),
            d_in=2,
            d_out=self.budget,
        )
        return values[measurement(self.column.tolist())]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--install", metavar="FOLDER", help="make the environment there")
    what.add_argument("--fit", nargs=2, metavar=("ROWS", "PREDICTIONS"), help="used internally")
    args = parser.parse_args()
    if args.install:
        print(f"export SKDP_PEERS={install(args.install)}")
    else:
        fit(*args.fit)


if __name__ == "__main__":
    main()
