"""Real data for the benchmarks, brought to bounds that do not depend on the rows at hand.

Five sets come with scikit-learn. The others are read through the ``load.py`` of a folder named by
the environment variable ``SKDP_DATA``, else ``shared/data`` beside the repository; they are skipped
where that folder is absent. ``note`` says how features were scaled and where the bounds come from.
"Observed" ranges are functions of the data, which a private analysis may not use for free; here
they serve every method alike.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.preprocessing import normalize

RAW = "columns as they are in the file, without a bound"


@dataclass(frozen=True)
class Dataset:
    """Features with rows of norm at most ``data_norm``, and targets.

    Of raw features no bound is known: ``data_norm`` is None, and ``numeric`` are the columns that
    somebody might scale, all but the codes of categories.
    ``feature_bound`` bounds the size of each entry; ``n_informative`` says how many features a
    sparse linear model would use, for the sets that are about that. With ``margins`` classes are
    told apart by support vector machines, which have no probabilities.
    """

    X: np.ndarray | sp.csr_matrix
    y: np.ndarray
    note: str
    data_norm: float | None = 1.0
    target_bounds: tuple[float, float] | None = None
    feature_bound: float = 1.0
    n_informative: int | None = None
    numeric: list[int] | None = None
    margins: bool = False

    @property
    def is_regression(self) -> bool:
        return self.target_bounds is not None

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


def from_observed_ranges(X):
    """Columns to [-1, 1] by their ranges, then rows of norm at most 1."""
    return scaled(X, X.min(axis=0), X.max(axis=0)) / np.sqrt(X.shape[1])


def some(rows, n, seed):
    """Indices of n of the rows, in random order."""
    return np.random.default_rng(seed).permutation(rows)[:n]


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


def flowers(loader):
    X, y = loader(return_X_y=True)
    note = "ranges printed in the data set's description; unit rows"
    return Dataset(unit_rows(scaled(X, X.min(axis=0), X.max(axis=0))), y, note)


def iris():
    return flowers(load_iris)


def wine():
    return flowers(load_wine)


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


def adult_raw():
    X, y, extras = load("adult")
    return Dataset(X, y, RAW, data_norm=None, numeric=numbers(extras))


def covertype_raw():
    X, y, _ = load("covertype")
    rows = some(np.arange(len(y)), 100_000, seed=0)
    y = (y[rows] == 2).astype(int)
    return Dataset(
        X[rows], y, f"{RAW}; rows of covertype_2", data_norm=None, numeric=list(range(10))
    )


def covertype_2():
    data = covertype()
    rows = some(np.arange(len(data.y)), 100_000, seed=0)
    return Dataset(data.X[rows], data.y[rows], data.note + "; 100,000 rows at random")


def covertype_7():
    y = load("covertype")[1]
    rows = some(np.arange(len(y)), 50_000, seed=0)
    note = "class 7 or not, 3.5 % positive, 50,000 rows at random; scaled as covertype_2"
    return Dataset(covertype().X[rows], (y[rows] == 7).astype(int), note)


def adult_rare():
    data = adult()
    positive, negative = np.flatnonzero(data.y == 1), np.flatnonzero(data.y == 0)
    kept = some(positive, round(0.03 / 0.97 * len(negative)), seed=0)
    rows = np.concatenate([negative, kept])
    return Dataset(data.X[rows], data.y[rows], "positives thinned to 3 %; scaled as adult")


def covertype_classes():
    data = covertype()
    y = load("covertype")[1]
    rows = some(np.arange(len(y)), 50_000, seed=0)
    note = "all seven classes, 50,000 rows at random; scaled as covertype_2"
    return Dataset(data.X[rows], y[rows].astype(int) - 1, note)


def shuttle():
    X, y, _ = load("shuttle")
    # Classes of 10 and 13 rows would be missing from some splits.
    kept = np.isin(y, [1, 3, 4, 5])
    X = np.clip((X - X.mean(axis=0)) / X.std(axis=0), -3, 3) / 3
    note = "four of seven classes; observed means and deviations, clipped at 3; unit rows"
    return Dataset(unit_rows(X[kept]), np.searchsorted([1, 3, 4, 5], y[kept]), note)


def mnist():
    X, y, _ = load("mnist")
    return Dataset(unit_rows(X / 255), y, "pixels 0..255 by format, to [0, 1]; unit rows")


def newsgroups(keep=None, positive=None):
    """Rows of some groups; labels 0.. in the order of ``keep``, or whether it is one group."""
    X, y, _ = load("newsgroups")
    X, y = X.tocsr(), y.astype(int)
    note = "log(1 + count), unit rows; the vocabulary is a function of the data"
    if positive is not None:
        y = (y == positive).astype(int)
    if keep is not None:
        rows = np.flatnonzero(np.isin(y, keep))
        X, y = X[rows], np.searchsorted(keep, y[rows])
    X.data = np.log1p(X.data)
    return Dataset(normalize(X), y, note)


def newsgroups_7_8():
    return newsgroups(keep=[7, 8])


def newsgroups_3_4():
    return newsgroups(keep=[3, 4])


def newsgroups_13_14():
    return newsgroups(keep=[13, 14])


def newsgroups_2():
    return newsgroups(positive=2)


def california(logs=True):
    X, y, _ = load("california")
    if logs:
        X[:, 2:6] = np.log1p(X[:, 2:6])
    note = f"{'log of counts, ' if logs else ''}observed ranges; target .15..5.0 by format"
    d = X.shape[1]
    return Dataset(
        from_observed_ranges(X), y, note, target_bounds=(0.15, 5.0), feature_bound=d**-0.5
    )


def california_without_logs():
    return california(logs=False)


def numbers(extras):
    """Columns that are not the code of a category."""
    return [j for j, name in enumerate(map(str, extras["feature_names"])) if "=" not in name]


def raw_regression(scaled_set):
    """Features of a set as they are in the file; bounds of the target are known all the same."""
    X, y, extras = load(scaled_set.__name__)
    bounds = scaled_set().target_bounds
    return Dataset(X, y, RAW, data_norm=None, target_bounds=bounds, numeric=numbers(extras))


def california_raw():
    return raw_regression(california)


def protein_raw():
    return raw_regression(protein)


def bike_raw():
    return raw_regression(bike)


def protein():
    X, y, _ = load("protein")
    note = "observed ranges; target 0..21 by format"
    d = X.shape[1]
    return Dataset(from_observed_ranges(X), y, note, target_bounds=(0, 21), feature_bound=d**-0.5)


def bike():
    X, y, _ = load("bike")
    return Dataset(
        X / 3,
        y,
        "columns in [0, 1] by format, rows clipped to norm 3; target bounds 0..1000 assumed",
        target_bounds=(0, 1000),
        feature_bound=1 / 3,
    )


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return Dataset(
        X * np.sqrt(len(X)) / 4.5,
        y,
        "standardised as published, rows clipped to norm 4.5; target 25..346 as described",
        target_bounds=(25, 346),
    )


def numbers_and_indicators(frame):
    """Numbers of a data frame as they are, and a column a category of the others."""
    codes = [column.to_numpy() for _, column in frame.select_dtypes(exclude="number").items()]
    indicators = [code[:, None] == np.unique(code) for code in codes]
    numbers = frame.select_dtypes("number").to_numpy(float)
    return numbers, np.hstack([np.zeros((len(numbers), 0)), *indicators])


def of_frame(name):
    """Features of a raw table: rows of norm 1, and the target."""
    X, y, kind = stored("frames").frame(name)
    numbers, indicators = numbers_and_indicators(X)
    numbers = np.clip((numbers - numbers.mean(axis=0)) / numbers.std(axis=0), -3, 3) / 3
    note = "a column a category; observed means and deviations, clipped at 3; unit rows"
    X = unit_rows(np.hstack([numbers, indicators]))
    if kind == "classification":
        return Dataset(X, np.unique(y.to_numpy(), return_inverse=True)[1], note)
    y = y.to_numpy(float)
    bounds = (float(y.min()), float(y.max()))
    return Dataset(X, y, f"{note}; observed bounds of the target", target_bounds=bounds)


def flights():
    return of_frame("flights")


def lending_club():
    return of_frame("lending_club")


def caravan():
    return of_frame("caravan")


def delays():
    return of_frame("delays")


def diamonds():
    return of_frame("diamonds")


def cps1988():
    return of_frame("cps1988")


def deliveries():
    return of_frame("deliveries")


def published(name):
    """A set of Wang (2018) as the paper prepares it."""
    X, y, _ = stored("frames").published(name)
    note = "unit rows, targets divided by their largest size, as published"
    return Dataset(X, y, note, target_bounds=(-1, 1))


def airfoil():
    return published("airfoil")


def concrete():
    return published("concrete")


def energy():
    return published("energy")


def housing():
    return published("housing")


def parkinsons():
    return published("parkinsons")


def pol():
    return published("pol")


def red_wine():
    return published("wine")


def stored(module_name):
    """A module that lies beside the stored data."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("SKDP_DATA") or beside) / f"{module_name}.py"
    if not path.is_file():
        raise FileNotFoundError("set SKDP_DATA to the folder that holds the benchmark data")
    spec = importlib.util.spec_from_file_location(f"skdp_benchmark_{module_name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name):
    """Features, targets and other arrays of a stored data set, as they are."""
    module = stored("load")
    X, y = module.load(name)
    return X.astype(np.float32 if X.size > 2e7 else np.float64), y, module.extras(name)
