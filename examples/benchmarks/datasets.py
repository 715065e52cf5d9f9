"""Real data for the benchmarks, brought to bounds that do not depend on the rows at hand.

Two sets come with scikit-learn. The others are read through the ``load.py`` of a folder named by
the environment variable ``SKDP_DATA``, else ``shared/data`` beside the repository; they are skipped
where that folder is absent. ``note`` says how features were scaled and where the bounds come from.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits


@dataclass(frozen=True)
class Dataset:
    """Features with rows of norm at most ``data_norm``, and targets."""

    X: np.ndarray
    y: np.ndarray
    note: str
    data_norm: float = 1.0
    target_bounds: tuple[float, float] | None = None

    @property
    def classes(self) -> list[int]:
        return list(range(int(self.y.max()) + 1))


def unit_rows(X):
    """Rows of norm exactly 1: each row by itself, so nothing is learned from the others."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


def scaled(X, low, high):
    """Columns from [low, high] to [-1, 1]."""
    return 2 * (np.clip(X, low, high) - low) / (np.asarray(high) - low) - 1


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    low, high = X.min(axis=0), X.max(axis=0)
    shift = high / 100
    X = scaled(np.log(X + shift), np.log(low + shift), np.log(high + shift))
    return Dataset(
        unit_rows(X), y, "log of columns, ranges printed in the data set's description; unit rows"
    )


def digits():
    X, y = load_digits(return_X_y=True)
    return Dataset(unit_rows(X / 8 - 1), y, "pixels 0..16 by format, to [-1, 1]; unit rows")


def adult():
    X, y, extras = load("adult")
    ranges = {
        "age": (17, 90),
        "education-num": (1, 16),
        "capital-gain": (0, 99_999),
        "capital-loss": (0, 4_356),
        "hours-per-week": (1, 99),
    }
    for j, name in enumerate(map(str, extras["feature_names"])):
        if name in ranges:
            low, high = ranges[name]
            column = X[:, j]
            if name.startswith("capital"):
                column, low, high = np.sqrt(column), np.sqrt(low), np.sqrt(high)
            X[:, j] = scaled(column, low, high)
    return Dataset(
        unit_rows(X), y, "one-hot; root of capital columns; observed numeric ranges; unit rows"
    )


def covertype():
    X, y, _ = load("covertype")
    low = [1859, 0, 0, 0, -173, 0, 0, 0, 0, 0]
    high = [3858, 360, 66, 1397, 601, 7117, 255, 255, 255, 7173]
    X[:, :10] = scaled(X[:, :10], low, high)
    return Dataset(
        unit_rows(X), (y == 2).astype(int), "class 2 or not; observed numeric ranges; unit rows"
    )


def mnist():
    X, y, _ = load("mnist")
    return Dataset(unit_rows(X / 255), y, "pixels 0..255 by format, to [0, 1]; unit rows")


def california():
    X, y, _ = load("california")
    X[:, 2:6] = np.log1p(X[:, 2:6])
    X = scaled(X, X.min(axis=0), X.max(axis=0))
    return Dataset(
        unit_rows(X),
        y,
        "log of counts, observed ranges; unit rows; target .15..5.0 by format",
        target_bounds=(0.15, 5.0),
    )


def bike():
    X, y, _ = load("bike")
    return Dataset(
        X / 3,
        y,
        "columns in [0, 1] by format, rows clipped to norm 3; target bounds 0..1000 assumed",
        target_bounds=(0, 1000),
    )


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return Dataset(
        X * np.sqrt(len(X)) / 4.5,
        y,
        "standardised as published, rows clipped to norm 4.5; target 25..346 as described",
        target_bounds=(25, 346),
    )


CLASSIFICATION: dict[str, Callable[[], Dataset]] = {
    f.__name__: f for f in (breast_cancer, digits, adult, covertype, mnist)
}
REGRESSION: dict[str, Callable[[], Dataset]] = {f.__name__: f for f in (california, bike, diabetes)}


def load(name):
    """Features, targets and other arrays of a stored data set, as they are."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("SKDP_DATA") or beside)
    if not (folder / "load.py").is_file():
        raise FileNotFoundError("set SKDP_DATA to the folder that holds the benchmark data")
    spec = importlib.util.spec_from_file_location("skdp_benchmark_data", folder / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    X, y = module.load(name)
    return X.astype(np.float32 if X.size > 2e7 else np.float64), y, module.extras(name)
