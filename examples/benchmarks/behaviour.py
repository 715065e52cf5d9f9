"""Records what the package does in a few thousand small cases, and compares two records.

Run with::

    python examples/benchmarks/behaviour.py record before.json.gz [--sample 300] [--jobs 2]
    python examples/benchmarks/behaviour.py compare before.json.gz after.json.gz [--examples 3]

``record`` runs fits, streams, bandits, sites, searches, scalers, evaluations, private counterparts,
budgets, plans and refusals of the package that is imported, each twice: with secret noise from
bytes that follow from the name of the case, and without noise. It keeps of each the outcome, what
was said and warned of, the plan, the ledger, the total, the report, and all numbers that were
published. About five minutes on one core; ``--sample k`` takes k cases, some of each kind.

``compare`` tells what a change of the code has changed: nothing to the bit, nothing but rounding (a
relative 1e-6), nothing but the order in which noise is drawn (the run without noise is as before,
and with noise all but answers and the releases that adapt to them), or more, which it groups by
kind of case and by what differs. It ends with status 1 if there is more.

Rows, names and settings are fixed here, and nothing but public names of folders of the package is
used, so that the script outlives what it compares. Cases about a name that goes are to be taken
out, and show as being in the first record alone. The one place that knows where secret noise comes
from is :class:`Source`. Sites on machines of their own are left out: their threads draw noise in no
fixed order.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gzip
import hashlib
import inspect
import io
import json
import math
import multiprocessing
import os
import pickle
import random
import re
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

import skdp
from skdp import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
    PrivacyBudget,
)
from skdp.bandit import policies
from skdp.federated import Adjacent, ErdosRenyi
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler, RowNormClipper
from skdp.privacy.rows import Chunks
from skdp.problem import constraints, losses
from skdp.solvers import (
    DDA,
    FTRL,
    GD,
    PPM,
    SOLVERS,
    SVRG,
    AccMD,
    AdaptiveGD,
    AdaSSP,
    Blocks,
    DualAveraging,
    FrankWolfe,
    ObjectivePerturbation,
    OneStep,
    PreconditionedGD,
    Screening,
    Spider,
    TrackedGD,
)
from skdp.solvers.preconditioning import FrequencyScaling, IterativeWhitening, Whitening
from skdp.testing import record_fit


class Source:
    """In place of the operating system's randomness, while a case runs.

    The only adapter to the package, which takes secret bytes by ``os.urandom`` and public
    generators without a seed by ``np.random.default_rng()``. What else asks for either gets what it
    always gets.

    Parameters
    ----------
    name : str
        What the bytes follow from.
    noisy : bool
        Without noise, words of 64 bits have ones in their upper 48. As magnitudes of normals these
        are within 2^-47 of 1, where a normal is zero but for rounding, and Gumbel variables are all
        the same. The lower bits, of which bytes for samples of rows are taken too, follow from
        the place in the call.
    """

    def __init__(self, name: str, noisy: bool) -> None:
        self._noisy = noisy
        self._seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        self._secret = np.random.Generator(np.random.PCG64(self._seed))

    def _bytes(self, size: int) -> bytes:
        if self._noisy:
            return self._secret.bytes(size)
        out = np.full(size, 255, dtype=np.uint8)
        low = np.arange(size) % 8 < 2
        out[low] = np.random.Generator(np.random.PCG64(0)).integers(256, size=size)[low]
        return out.tobytes()

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """In place of the real ones, which come back at the end."""
        urandom, default_rng = os.urandom, np.random.default_rng

        def secret(size: int) -> bytes:
            asks = sys._getframe(1).f_globals.get("__name__", "")
            return self._bytes(size) if asks.split(".")[0] == "skdp" else urandom(size)

        def public(seed: Any = None) -> np.random.Generator:
            return default_rng(self._seed if seed is None else seed)

        os.urandom, np.random.default_rng = secret, public  # type: ignore[assignment]
        state = np.random.get_state()  # noqa: NPY002
        np.random.seed(0)  # noqa: NPY002
        try:
            yield
        finally:
            os.urandom, np.random.default_rng = urandom, default_rng
            np.random.set_state(state)  # noqa: NPY002


# What is kept.

FOLDER = tempfile.gettempdir()
MOST_ENTRIES = 300


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON, with all floats in full; what cannot be told so by its class."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, int | np.integer | np.bool_):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if sp.issparse(value):
        return {"sparse": plain(value.toarray())}
    if isinstance(value, pd.DataFrame | pd.Series):
        return {"frame": plain(value.to_numpy())}
    if isinstance(value, np.ndarray):
        return array(value)
    if depth > 6:
        return type(value).__name__
    if isinstance(value, dict):
        return {str(k): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(v, depth + 1) for v in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(v, depth + 1) for v in value), key=str)
    if isinstance(value, BaseEstimator):
        return {"class": type(value).__name__, **published(value, depth + 1)}
    if dataclasses.is_dataclass(value):
        # Without the name of the class, which is no behaviour: events tell their mechanism.
        names = [f.name for f in dataclasses.fields(value) if not f.name.startswith("_")]
        return {name: plain(getattr(value, name), depth + 1) for name in names}
    return type(value).__name__


def array(value: np.ndarray) -> dict[str, Any]:
    """Shape, type and entries, of large arrays a digest and some of the entries."""
    out: dict[str, Any] = {"shape": list(value.shape), "dtype": value.dtype.str}
    if value.dtype.kind not in "biuf":
        return out | {"values": [plain(v) for v in value.ravel()[:MOST_ENTRIES].tolist()]}
    if value.size <= MOST_ENTRIES:
        return out | {"values": value.ravel().tolist()}
    digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
    return out | {"digest": digest, "values": value.ravel()[:: value.size // 40].tolist()}


# Told in other fields, or by objects whose layout is no behaviour.
NOT_NUMBERS = {"privacy_ledger_", "privacy_spent_", "plan_", "privacy_budget_"}


def published(model: Any, depth: int = 0) -> dict[str, Any]:
    """Attributes that end in an underscore, as a fit leaves them."""
    names = [k for k in vars(model) if k.endswith("_") and not k.startswith("_")]
    return {k: plain(getattr(model, k), depth) for k in sorted(names) if k not in NOT_NUMBERS}


def text_of(subject: Any) -> str:
    """Text without what differs from machine to machine."""
    text = str(subject).replace(FOLDER, "<folder>")
    text = re.sub(r"<folder>/\S*", "<file>", re.sub(r"at 0x[0-9a-f]+", "at <address>", text))
    return "\n".join(line for line in text.splitlines() if not line.startswith("- made with"))


def attempt(call: Callable[[], Any]) -> Any:
    """What a call returns, or how it is refused."""
    try:
        return plain(call())
    except Exception as refusal:
        return f"{type(refusal).__name__}: {text_of(refusal)}"


def in_runs(values: list[Any]) -> list[Any]:
    """Each value once, with how often it comes in a row."""
    runs: list[list[Any]] = []
    for value in values:
        if runs and runs[-1][1] == value:
            runs[-1][0] += 1
        else:
            runs.append([1, value])
    return runs


Note = dict[str, Any]


def tell(note: Note, model: Any, X: Any = None, *, report: bool = True) -> None:
    """Notes everything public of a fitted model."""
    note["numbers"] = published(model)
    if hasattr(model, "plan_"):
        note["plan"] = text_of(model.plan_)
        note["solver"] = type(getattr(model.plan_, "solver", None)).__name__
    note["ledger"] = in_runs([plain(event) for event in getattr(model, "privacy_ledger_", ())])
    note["spent"] = plain(getattr(model, "privacy_spent_", None))
    note["total"] = attempt(lambda: text_of(skdp.privacy_spent(model)))
    if report:
        note["report"] = attempt(lambda: text_of(skdp.report(model).to_markdown()))
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if X is not None and hasattr(model, method):
            note[method] = attempt(lambda m=method: getattr(model, m)(X))


# The rows of all cases.


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """Rows with targets of every kind, weights, persons, sites and arms."""

    X: np.ndarray
    binary: np.ndarray
    several: np.ndarray
    real: np.ndarray
    two: np.ndarray
    weights: np.ndarray
    persons: np.ndarray
    sites: np.ndarray
    arms: np.ndarray
    rewards: np.ndarray


@cache
def data(n: int = 200, d: int = 4) -> Data:
    """Rows of norm up to about 2, in columns of two sizes; the same in every process."""
    rng = np.random.Generator(np.random.PCG64(1000 * n + d))
    X = rng.uniform(-1, 1, size=(n, d))
    X[:, -1] *= 0.3
    w = np.resize([2.0, -1.5, 1.0, 0.0], d)
    z = X @ w + 0.3
    real = z + 0.3 * rng.normal(size=n)
    arms = rng.integers(3, size=n)
    return Data(
        X,
        (z + 0.5 * rng.normal(size=n) > 0).astype(int),
        np.digitize(z + 0.3 * rng.normal(size=n), [-0.7, 0.7]),
        real,
        np.column_stack([real, X[:, 0] - X[:, -1]]),
        rng.uniform(0, 1.5, size=n),
        rng.integers(n // 2, size=n),
        rng.integers(3, size=n),
        arms,
        np.clip(0.5 + 0.4 * X[:, 0] * (arms - 1) + 0.1 * rng.normal(size=n), 0, 1),
    )


def asked(d: int) -> np.ndarray:
    """Rows that models predict for."""
    return np.random.Generator(np.random.PCG64(7)).uniform(-1, 1, size=(4, d))


def in_chunks(X: Any, y: Any, weights: Any, units: Any) -> Chunks:
    """In three chunks, of which one is small."""
    n = X.shape[0]
    parts = [slice(0, n // 2), slice(n // 2, n // 2 + 7), slice(n // 2 + 7, n)]

    def chunk(part: slice) -> tuple[Any, ...]:
        out = [X[part], y[part]]
        if weights is not None or units is not None:
            out.append(None if weights is None else weights[part])
        return tuple(out if units is None else [*out, units[part]])

    return Chunks(lambda: (chunk(part) for part in parts))


def mapped(X: np.ndarray, folder: str) -> np.ndarray:
    path = Path(folder) / "rows.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def in_dask(values: Any) -> Any:
    import dask.array as da

    n = len(values)
    cuts = ((n // 2, 0, n - n // 2), *((-1,) * (values.ndim - 1)))
    return None if values is None else da.from_array(values, chunks=cuts)


def polars_frame(X: np.ndarray) -> Any:
    import polars

    return polars.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])])


STORES: dict[str, Callable[[np.ndarray, str], Any]] = {
    "dense": lambda X, _: X,
    "fortran": lambda X, _: np.asfortranarray(X),
    "float32": lambda X, _: X.astype(np.float32),
    "integers": lambda X, _: np.rint(2 * X).astype(int),
    "list": lambda X, _: X.tolist(),
    "frame": lambda X, _: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "polars": lambda X, _: polars_frame(X),
    "mapped": mapped,
    "csr": lambda X, _: sp.csr_array(np.where(np.abs(X) < 0.4, 0, X)),
    "csc": lambda X, _: sp.csc_matrix(np.where(np.abs(X) < 0.4, 0, X)),
    "chunks": lambda X, _: X,
    "sparse chunks": lambda X, _: sp.csr_array(np.where(np.abs(X) < 0.4, 0, X)),
    "dask": lambda X, _: in_dask(X),
}


# Estimators, with all bounds that there are.

BUDGET = {"epsilon": 5.0}
CLASSES = BUDGET | {"data_norm": 2.0, "classes": [0, 1]}
NUMBERS = BUDGET | {"data_norm": 2.0, "target_bounds": (-4.0, 4.0)}
MODELS: dict[str, Callable[..., Any]] = {
    "logistic": lambda **o: DPLogisticRegression(**CLASSES | o),
    "svm": lambda **o: DPSVMClassifier(**CLASSES | o),
    "linear": lambda **o: DPLinearRegression(**NUMBERS | o),
    "lasso": lambda **o: DPLassoRegressor(**NUMBERS | {"feature_bound": 1.0} | o),
}
PARAMETERS = {
    name: set(inspect.signature(type(make())).parameters) for name, make in MODELS.items()
}
OF_CLASSES = ("logistic", "svm")
# Beside strings; the papers' systems are among them.
SETTINGS: dict[str, Any] = {
    "accmd, euclidean": AccMD(steps=15, geometry="euclidean"),
    "accmd, radius": AccMD(steps=12, radius=3.0, clip=0.5),
    "adassp, floor": AdaSSP(floor=0.5, balance=0.3),
    "adaptive_gd, few": AdaptiveGD(fewest=5, norms=10),
    "adaptive_gd, momentum": AdaptiveGD(steps=12, momentum=0.5),
    "blocks of gd": Blocks(first=40, solver=GD(steps=5)),
    "dda, nodes": DDA(n_nodes=3, rounds=5),
    "dual_averaging, threshold": DualAveraging(steps=15, threshold=0.1),
    "ftrl, tree": FTRL(batches=20, mechanism="tree"),
    "ftrl, toeplitz": FTRL(mechanism="toeplitz", momentum=0.5),
    "frank_wolfe, clip": FrankWolfe(steps=10, clip=0.5),
    "gd, steps": GD(steps=7),
    "gd, minibatches": GD(steps=20, batch_size=40),
    "gd, plain": GD(steps=20, momentum=0.0, average=0.0),
    "gd, exponential": GD(schedule="exponential", decay=0.9, steps=15),
    "gd, schedule of momentum": GD(schedule="momentum", steps=15),
    "gd, own schedule": GD(schedule=(1.0, 2.0, 4.0)),
    "objective_perturbation, clip": ObjectivePerturbation(clip=0.5, strength=0.1),
    "one_step, noise": OneStep(noise_ratio=0.5, draws=50),
    "ppm, stages": PPM(stages=3, steps=9),
    "ppm, schedule": PPM(schedule=(1.0, 1.0, 2.0), stages=3),
    "preconditioned_gd, momentum": PreconditionedGD(steps=10, momentum=0.5),
    "svrg, average": SVRG(inner=2, growth=1.0, snapshot="average"),
    "svrg, bb": SVRG(step="bb", steps=12),
    "svrg, minibatches": SVRG(steps=12, batch_size=40),
    "screening, rounds": Screening(k=2, rounds=3),
    "spider, theory": Spider(kappa=1.5, gamma=0.1, initial_risk=1.0),
    "spider, short": Spider(first=2, longest=4, steps=15),
    "tracked_gd, steps": TrackedGD(steps=9, whole=0.5),
}
# Named here, so that cases stay what they are if a solver comes or goes.
STRINGS = (
    *("accmd", "adaptive_gd", "adassp", "blocks", "dda", "dual_averaging", "frank_wolfe", "ftrl"),
    *("gd", "objective_perturbation", "one_step", "ppm", "preconditioned_gd", "screening"),
    *("spider", "svrg", "tracked_gd"),
)
L1, L2 = constraints.L1Ball(3.0), constraints.L2Ball(4.0)

# One other than default, by what it is about: options of the model, and with an underscore what
# data and fit are.
LEVELS: dict[str, dict[str, dict[str, Any]]] = {
    "epsilon": {str(e): {"epsilon": e} for e in (0.3, 50.0, 1e4, math.inf)},
    "delta": {str(d): {"delta": d} for d in (1e-8, 0)},
    "adjacency": {"zero_out": {"adjacency": "zero_out"}},
    "intercept": {
        "none": {"fit_intercept": False},
        "scaled": {"intercept_scaling": 1.0},
    },
    "weights": {
        "given": {"_weights": True},
        "up to 2": {"_weights": True, "max_weight": 2.0},
        "of classes": {"class_weight": {0: 0.5, 1: 1.5}},
        "balanced": {"class_weight": "balanced"},
    },
    "unit": {"persons": {"_unit": True}, "weighted persons": {"_unit": True, "_weights": True}},
    "bounds": {
        "none": {"data_norm": None, "classes": None, "target_bounds": None, "feature_bound": None},
        "no norm": {"data_norm": None},
        "of data": {"data_norm": None, "data_bounds": (-1.0, 1.0)},
        "of columns": {"data_norm": None, "data_bounds": ([-1.0] * 9, [1.0] * 9)},
        "of features": {"data_norm": None, "feature_bound": 1.0},
        "no targets": {"target_bounds": None, "classes": None},
        "tight targets": {"target_bounds": (-1.0, 1.0), "clip_predictions": False},
    },
    "targets": {"several": {"_several": True}},
    "penalty": {
        "strong": {"C": 0.05, "alpha": 0.1},
        "weak": {"C": 100.0, "alpha": 1e-3},
        "l1": {"C": 1.0, "l1_ratio": 1.0, "penalty": "l1"},
        "net": {"C": 0.5, "l1_ratio": 0.5},
    },
    "loss": {
        "hinge": {"loss": "hinge"},
        "huberised": {"loss": "huberised_hinge"},
        "huber": {"loss": "huber"},
        "sigmoid": {"loss": losses.Sigmoid()},
        "tukey": {"loss": losses.Tukey(2.0)},
        "wide huber": {"loss": losses.Huber(2.0)},
    },
    "constraint": {
        "l1": {"constraint": L1},
        "l2": {"constraint": L2},
        "lp": {"constraint": constraints.LpBall(3.0, 1.5)},
        "box": {"constraint": constraints.Box(-2.0, 2.0)},
        "simplex": {"constraint": constraints.Simplex(2.0)},
        "positive": {"positive": True},
    },
    "precondition": {
        "none": {"precondition": None},
        "full": {"precondition": "full"},
        "diagonal": {"precondition": "diagonal"},
        "wide": {"precondition": "wide"},
        "iterative": {"precondition": IterativeWhitening(iterations=2)},
        "whitening": {"precondition": Whitening(share=0.2)},
        "frequencies": {"precondition": FrequencyScaling()},
    },
    "start": {"again": {"_again": True, "warm_start": True}, "anew": {"_again": True}},
    "sites": {"three": {"_groups": True}},
    "seed": {"7": {"random_state": 7}},
    "verbose": {"1": {"verbose": 1}},
}


def kept(key: str, share: float) -> bool:
    """Whether a case is among this share of all, whatever others there are."""
    return chance_of(key).random() < share


def chance_of(key: str) -> random.Random:
    """What is drawn for a case follows from its name alone."""
    return random.Random(key)


SIZES = {"rows": (60, 120, 200, 400), "features": (2, 3, 4, 6)}


@dataclasses.dataclass(frozen=True)
class Case:
    """Something to do with the package; notes what comes of it."""

    kind: str
    name: str
    run: Callable[[Note], None]

    @property
    def key(self) -> str:
        return f"{self.kind}: {self.name}"


def with_needs(solver: Any, option: str, model: str, facts: dict[str, Any]) -> dict[str, Any]:
    """What the solver cannot do without, unless the case says otherwise."""
    out: dict[str, Any] = {"solver": solver} | facts
    if option.startswith("frank_wolfe") and model != "lasso":
        out.setdefault("constraint", L1)
    if option == "frank_wolfe that chooses":
        out |= {"fit_intercept": False, "constraint": L1}
    return {k: v for k, v in out.items() if k.startswith("_") or k in PARAMETERS[model]}


def fit_case(
    name: str, solver: str, store: str, facts: dict[str, Any], n: int, d: int, note: Note
) -> None:
    """A fit of one model by one solver to rows in one store."""
    rows = data(n, d)
    facts = with_needs(SETTINGS.get(solver, solver), solver, name, facts)
    options = {k: v for k, v in facts.items() if not k.startswith("_")}
    many = facts.get("_several", False)
    if name in OF_CLASSES:
        y = rows.several if many else rows.binary
        if many and options.get("classes", 0) is not None:
            options["classes"] = [0, 1, 2]
            if isinstance(options.get("class_weight"), dict):
                options["class_weight"] = {0: 0.5, 1: 1.5, 2: 1.0}
    else:
        y = rows.two if many else rows.real
    bounds = options.get("data_bounds")
    if bounds is not None and isinstance(bounds[0], list):
        options["data_bounds"] = tuple(side[:d] for side in bounds)
    model = MODELS[name](**options)
    weights = rows.weights if facts.get("_weights") else None
    units = rows.persons if facts.get("_unit") else None
    extra: dict[str, Any] = {"sites": rows.sites} if facts.get("_groups") else {}
    told = {"sparse": store in ("csr", "csc", "sparse chunks"), "weighted": weights is not None}
    told |= {"sites": rows.sites} if facts.get("_groups") else {}
    told |= {"privacy_unit": True} if units is not None else {}
    note["plan beforehand"] = attempt(lambda: text_of(skdp.plan(model, n, d, **told)))
    with tempfile.TemporaryDirectory() as folder:
        X = STORES[store](rows.X, folder)
        if store.endswith("chunks"):
            X, y = in_chunks(X, y, weights, units), None
            extra |= {"privacy_unit": True} if units is not None else {}
        else:
            if store == "dask":
                y, weights = in_dask(y), None if weights is None else in_dask(weights)
                units = None if units is None else in_dask(units)
            elif store == "frame":
                y = pd.Series(y) if np.ndim(y) == 1 else pd.DataFrame(y)
            extra |= {"sample_weight": weights} if weights is not None else {}
            extra |= {"privacy_unit": units} if units is not None else {}
        for _ in range(2 if facts.get("_again") else 1):
            model.fit(X, y, **extra)
    to_ask = asked(d)
    if store in ("frame", "polars"):
        to_ask = STORES[store](to_ask, "")
    tell(note, model, to_ask)
    note["plain model"] = attempt(model.to_sklearn)
    if solver in ("auto", "one_step") or solver.startswith("one_step"):
        note["inference"] = attempt(lambda: text_of(skdp.inference(model).summary()))


def fits() -> Iterator[Case]:
    """Solvers of every estimator with every store and level, then some at random."""

    def case(name: str, solver: str, store: str, levels: list[tuple[str, str]]) -> Case:
        facts: dict[str, Any] = {}
        for about, level in levels:
            facts |= LEVELS[about][level]
        title = ", ".join([name, solver, store, *(f"{about} {level}" for about, level in levels)])
        n, d = (chance_of(title + what).choice(of) for what, of in SIZES.items())
        title += f", {n} x {d}"
        return Case("fit", title, partial(fit_case, name, solver, store, facts, n, d))

    def matters(name: str, level: dict[str, Any]) -> bool:
        return any(k.startswith("_") or k in PARAMETERS[name] for k in level)

    every = [(about, level) for about, levels in LEVELS.items() for level in levels]
    for name in MODELS:
        suitable = [(a, b) for a, b in every if matters(name, LEVELS[a][b])]
        for solver in ("auto", *STRINGS):
            own = 1.0 if solver == "auto" else 0.3
            for store in STORES:
                if kept(f"{name}, {solver}, {store}", max(own, 0.65)):
                    yield case(name, solver, store, [])
            for one in suitable:
                if kept(f"{name}, {solver}, {one}", own):
                    yield case(name, solver, "dense", [one])
        for setting in SETTINGS:
            yield case(name, setting, "dense", [])
            chance = chance_of(f"{name}, {setting}")
            yield case(name, setting, chance.choice([*STORES]), [chance.choice(suitable)])
        for k in range(110):
            chance = chance_of(f"{name}, {k}")
            solver = chance.choice(["auto", "auto", *STRINGS, *SETTINGS])
            levels = chance.sample(suitable, chance.choice((2, 2, 3, 4)))
            levels = [*{about: (about, level) for about, level in levels}.values()]
            yield case(name, solver, chance.choice([*STORES]), levels)


def transcript_case(name: str, solver: str, facts: dict[str, Any], note: Note) -> None:
    """What the oracle is asked, in order, and what it answers."""
    rows = data(120, 3)
    y = rows.binary if name in OF_CLASSES else rows.real
    model = MODELS[name](**with_needs(solver, solver, name, facts))
    found = record_fit(model, rows.X, y)
    note["queries"] = [[entry[0], plain(entry[2])] for entry in found.entries]
    note["answers"] = [plain(entry[-1]) for entry in found.entries]


def transcripts() -> Iterator[Case]:
    unknown = LEVELS["bounds"]["none"]
    for name in MODELS:
        for solver in ("auto", *STRINGS):
            for words, facts in (("bounds given", {}), ("bounds missing", unknown)):
                run = partial(transcript_case, name, solver, facts)
                yield Case("queries", f"{name}, {solver}, {words}", run)


# Streams.

STREAM_SOLVERS: dict[str, Any] = {
    **{name: name for name in ("auto", *STRINGS)},
    "blocks of 20": Blocks(first=20, solver=GD(steps=5)),
    "growing blocks": Blocks(ratio=3.0, first=20, largest=150, warm=False, solver="gd"),
    **{f"ftrl by {m}": FTRL(batches=20, mechanism=m) for m in ("tree", "toeplitz", "blt")},
    **{
        f"frank_wolfe by {m}": FrankWolfe(batch=20, noise="gaussian", mechanism=m)
        for m in ("tree", "toeplitz", "blt")
    },
    "frank_wolfe that chooses": FrankWolfe(batch=40, noise="gumbel"),
}
STREAM_LEVELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "horizon": {"horizon": 400},
    "short horizon": {"horizon": 150},
    "zero_out": {"adjacency": "zero_out", "horizon": 400},
    "persons": {"_unit": True, "horizon": 400},
    "persons twice": {"_unit": True, "max_visits": 2, "horizon": 400},
    "persons thrice": {"_unit": True, "max_visits": 3},
    "weights": {"_weights": True, "horizon": 400, "max_weight": 1.5},
    "pure": {"delta": 0},
    "not buffered": {"buffer": False},
    "checkpoint": {"_checkpoint": True, "horizon": 400},
    "checkpoint, persons": {"_checkpoint": True, "_unit": True, "max_visits": 2, "horizon": 400},
    "pickle": {"_pickle": True},
    "repeated": {"_repeated": True},
    "after a fit": {"_fit": True},
    "csr": {"_store": "csr"},
    "frame": {"_store": "frame"},
    "bounds missing": {"data_norm": None, "target_bounds": None, "feature_bound": None},
    "several": {"_several": True, "horizon": 400},
    "warm": {"warm_start": True, "_fit": True},
}


def stream_case(name: str, solver: str, level: str, note: Note) -> None:
    rows, facts = data(400, 3), STREAM_LEVELS[level]
    facts = with_needs(STREAM_SOLVERS[solver], solver, name, facts)
    options = {k: v for k, v in facts.items() if not k.startswith("_")}
    if name in OF_CLASSES:
        y = rows.several if facts.get("_several") else rows.binary
        options |= {"classes": [0, 1, 2]} if facts.get("_several") else {}
    else:
        y = rows.two if facts.get("_several") else rows.real
    model = MODELS[name](**options)
    X = STORES[facts.get("_store", "dense")](rows.X, "")
    if facts.get("_fit"):
        model.fit(X, y)
    cuts = [(0, 130), (130, 131), (131, 310), (310, 400)]
    if facts.get("_repeated"):
        cuts[2] = cuts[0]
    states: list[Any] = []
    note["states"] = states
    for k, (start, stop) in enumerate(cuts):
        part = slice(start, stop)
        extra = {"sample_weight": rows.weights[part]} if facts.get("_weights") else {}
        extra |= {"privacy_unit": rows.persons[part]} if facts.get("_unit") else {}
        model.partial_fit(X[part], y[part], **extra)
        states.append([plain(model.coef_), plain(model.privacy_spent_), model.n_samples_seen_])
        if k == 1 and facts.get("_checkpoint"):
            with tempfile.TemporaryDirectory() as folder:
                skdp.save_checkpoint(model, Path(folder) / "stream")
                model = skdp.load_checkpoint(Path(folder) / "stream")
        if k == 1 and facts.get("_pickle"):
            model = pickle.loads(pickle.dumps(model))
    tell(note, model, asked(3) if "_store" not in facts else None)


def streams() -> Iterator[Case]:
    for name in MODELS:
        for solver in STREAM_SOLVERS:
            streaming = solver.startswith(("auto", "blocks", "growing", "ftrl", "frank_wolfe"))
            for level in STREAM_LEVELS:
                if kept(f"{name}, {solver}, {level}", 0.5 if streaming else 0.1):
                    run = partial(stream_case, name, solver, level)
                    yield Case("stream", f"{name}, {solver}, {level}", run)


# Bandits.

POLICIES: dict[str, Any] = {
    "auto": "auto",
    **{name: name for name in ("blocks", "ftrl", "gd", "hdb", "sparse")},
    "blocks that explore": policies.BlocksPolicy(growth=2.0, exploration=0.5),
    "short ftrl": policies.FTRLPolicy(clip=0.5),
    "few steps": policies.GDPolicy(steps=5, clip=0.5),
    "forced hdb": policies.HDBPolicy(radius=2.0, forced=3, margin=0.1),
    "hdb by ftrl": policies.HDBPolicy(solver=FTRL()),
    "slow sparse": policies.SparsePolicy(growth=4.0, clip=0.25),
}
BANDIT_LEVELS: dict[str, dict[str, Any]] = {
    "stream": {},
    "log": {"_log": True},
    "no horizon": {"horizon": None},
    "log without horizon": {"_log": True, "horizon": None},
    "features bounded": {"data_norm": None, "feature_bound": 1.0},
    "both bounds": {"feature_bound": 1.0},
    "two arms": {"arms": ["a", "b"]},
    "zero_out": {"adjacency": "zero_out"},
    "large budget": {"epsilon": 100.0},
    "small budget": {"epsilon": 0.2, "delta": 1e-6},
    "pure": {"delta": 0},
    "persons": {"_unit": True, "max_visits": 1},
    "persons twice": {"_unit": True, "max_visits": 2},
    "persons in a log": {"_unit": True, "_log": True, "max_visits": 2},
    "no intercept": {"fit_intercept": False},
    "wide rewards": {"reward_bounds": (-1.0, 2.0)},
    "narrow rewards": {"reward_bounds": (0.3, 0.6)},
    "logistic": {"loss": "logistic"},
    "by ftrl": {"solver": "ftrl"},
    "pickle": {"_pickle": True},
    "too many": {"horizon": 150},
    "frame": {"_store": "frame"},
    "seed": {"random_state": 3},
}


def bandit_case(policy: str, level: str, note: Note) -> None:
    rows, facts = data(240, 3), dict(BANDIT_LEVELS[level])
    options = {"data_norm": 2.0, "horizon": 240, "epsilon": 5.0, "arms": ["a", "b", "c"]} | facts
    options = {k: v for k, v in options.items() if not k.startswith("_")}
    arms = np.array(options["arms"])[rows.arms % len(options["arms"])]
    model = DPContextualBandit(**options, policy=POLICIES[policy])
    X = STORES[facts.get("_store", "dense")](rows.X, "")
    who = {"privacy_unit": rows.persons} if facts.get("_unit") else {}
    note["acts"] = acts = []
    if facts.get("_log"):
        model.fit(X, arms, rows.rewards, **who)
    else:
        for k, start in enumerate((0, 60, 61, 150, 200)):
            part = slice(start, (60, 61, 150, 200, 240)[k])
            extra = {name: labels[part] for name, labels in who.items()}
            model.partial_fit(X[part], arms[part], rows.rewards[part], **extra)
            acts.append(attempt(partial(model.act, asked(3))))
            if k == 2 and facts.get("_pickle"):
                model = pickle.loads(pickle.dumps(model))
    tell(note, model, asked(3))
    note["coefficients"] = [attempt(lambda: model.coef_), attempt(lambda: model.intercept_)]


def bandits() -> Iterator[Case]:
    for policy in POLICIES:
        for level in BANDIT_LEVELS:
            yield Case("bandit", f"{policy}, {level}", partial(bandit_case, policy, level))


# Sites.

SITE_SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "many rounds": {"rounds": 40},
    "planned": {"rounds": None},
    **{f"noise {v}": {"noise": v} for v in ("pairwise", "secure_sum", "central")},
    "central, final model": {"noise": "central", "adversary": "final_model"},
    "local, final model": {"adversary": "final_model"},
    "pairwise, two colluders": {"noise": "pairwise", "colluders": 2},
    "large masks": {"noise": "pairwise", "mask_ratio": 10.0, "colluders": 0},
    "pairwise on a ring": {"noise": "pairwise", "topology": "ring", "colluders": 0},
    "pairwise, dropout": {"noise": "pairwise", "dropout": 0.2},
    **{
        f"schedule {v}": {"activation": 0.5, "schedule": v}
        for v in ("round_robin", "random", "edges")
    },
    **{f"topology {v}": {"topology": v, "gossip_steps": 2} for v in ("ring", "grid", "complete")},
    "erdos_renyi": {"topology": ErdosRenyi(0.8)},
    "a line": {"topology": Adjacent(((1,), (0, 2), (1,)))},
    "random on a ring": {"topology": "ring", "activation": 0.5, "schedule": "random"},
    "dropout": {"dropout": 0.3},
    "samples": {"subsampling": 0.3},
    "clip": {"clip": 0.2},
    "momentum": {"momentum": 0.5},
    "linear weights": {"weights": "linear", "average": 1.0},
    "gamma": {"gamma": 5.0, "gamma_growth": 0.5},
    "step size": {"total_step_size": 30.0},
    "nodes": {"n_nodes": 4},
}


def site_case(name: str, setting: str, facts: dict[str, Any], note: Note) -> None:
    rows, settings = data(200, 3), {"rounds": 8} | SITE_SETTINGS[setting]
    facts = {k: v for k, v in facts.items() if k.startswith("_") or k in PARAMETERS[name]}
    model = MODELS[name](
        solver=DDA(**settings), **{k: v for k, v in facts.items() if not k.startswith("_")}
    )
    y = rows.binary if name in OF_CLASSES else rows.real
    extra: dict[str, Any] = {} if "n_nodes" in settings else {"sites": rows.sites}
    extra |= {"sample_weight": rows.weights} if facts.get("_weights") else {}
    extra |= {"privacy_unit": rows.sites * 1000 + rows.persons} if facts.get("_unit") else {}
    X = STORES[facts.get("_store", "dense")](rows.X, "")
    model.fit(X, y, **extra)
    tell(note, model, asked(3))


def sites() -> Iterator[Case]:
    others: dict[str, dict[str, Any]] = {
        "as it is": {},
        "persons": {"_unit": True},
        "weights": {"_weights": True},
        "zero_out": {"adjacency": "zero_out"},
        "pure": {"delta": 0},
        "csr": {"_store": "csr"},
        "no intercept": {"fit_intercept": False},
        "bounds missing": {"data_norm": None, "target_bounds": None, "feature_bound": None},
    }
    for name in MODELS:
        for setting in SITE_SETTINGS:
            for words, facts in others.items():
                if (
                    words == "as it is"
                    or (name == "logistic" and setting == "plain")
                    or (name == "linear" and words in ("persons", "weights", "zero_out"))
                ):
                    run = partial(site_case, name, setting, facts)
                    yield Case("sites", f"{name}, {setting}, {words}", run)


# Searches.


def with_scaler(name: str, **options: Any) -> Any:
    return make_pipeline(DPStandardScaler(bounds=(-1, 1)), MODELS[name](**options))


SEARCHED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    **{
        name: (partial(MODELS[name]), {"C" if name in OF_CLASSES else "alpha": [0.1, 1.0]})
        for name in MODELS
    },
    "solvers": (lambda: MODELS["logistic"](), {"solver": ["gd", "svrg", GD(steps=5)]}),
    "pipeline": (partial(with_scaler, "logistic"), {"dplogisticregression__C": [0.1, 1.0]}),
    "in a ball": (
        lambda: MODELS["logistic"](solver="frank_wolfe"),
        {"constraint": [constraints.L1Ball(1.0), constraints.L1Ball(5.0)]},
    ),
    "not private": (LogisticRegression, {"C": [0.1, 1.0]}),
    "constant": (lambda: MODELS["logistic"](delta=0), {"C": [0.1, 1.0]}),
}
SEARCHES: dict[str, dict[str, Any]] = {
    "plain": {},
    "few": {"n_iter": 3},
    "exhaustive": {"exhaustive": True},
    "scores": {"score_share": 0.3, "epsilon": 20.0},
    "range": {"scoring": "accuracy", "score_range": (0.0, 1.0)},
    "roc_auc": {"scoring": "roc_auc"},
    "brier": {"scoring": "neg_brier_score"},
    "persons": {"_unit": True},
    "weights": {"_weights": True},
    "steps": {"step_shares": {"dpstandardscaler": 0.3, "dplogisticregression": 0.7}},
    "seed": {"random_state": 0},
}


def search_case(kind: str, searched: str, level: str, note: Note) -> None:
    rows, facts = data(300, 3), SEARCHES[level]
    make, space = SEARCHED[searched]
    options = {"epsilon": 5.0} | {k: v for k, v in facts.items() if not k.startswith("_")}
    search = (DPGridSearchCV if kind == "grid" else DPRandomizedSearchCV)(make(), space, **options)
    y = rows.real if searched in ("linear", "lasso") else rows.binary
    extra = {"privacy_unit": rows.persons} if facts.get("_unit") else {}
    extra |= {"sample_weight": rows.weights} if facts.get("_weights") else {}
    search.fit(rows.X, y, **extra)
    tell(note, search, asked(3))


def searches() -> Iterator[Case]:
    for kind in ("grid", "random"):
        for searched in SEARCHED:
            for level in SEARCHES:
                drawn = kept(f"{kind}, {searched}, {level}", 0.6)
                if not drawn or (kind == "random" and level == "exhaustive"):
                    continue
                run = partial(search_case, kind, searched, level)
                yield Case("search", f"{kind}, {searched}, {level}", run)


# Scalers.

SCALERS: dict[str, Callable[[], Any]] = {
    "bounds": lambda: BoundsScaler((-2.0, 2.0)),
    "bounds to others": lambda: BoundsScaler((0.0, 5.0), feature_range=(0, 1)),
    "clipper": lambda: RowNormClipper(max_norm=0.8),
    **{
        f"{kind}{', ' if options else ''}{', '.join(options)}": partial(make, **options)
        for kind, make in (("standard", DPStandardScaler), ("min-max", DPMinMaxScaler))
        for options in (
            {},
            {"epsilon": 20.0},
            {"bounds": (-1.0, 1.0)},
            {"bounds": ([-1.0, -2.0, -1.0], [1.0, 1.0, 3.0]), "epsilon": 5.0},
            {"adjacency": "zero_out", "epsilon": 20.0},
            {"delta": 0, "epsilon": 20.0},
            {"clip": False, "epsilon": 10.0, "delta": 1e-7},
            {"random_state": 1, "epsilon": 10.0, "adjacency": "replace_one"},
        )
    },
    "standard, mean alone": lambda: DPStandardScaler(epsilon=9.0, with_std=False),
    "standard, sizes alone": lambda: DPStandardScaler(epsilon=9.0, with_mean=False),
    "min-max, wide": lambda: DPMinMaxScaler(epsilon=9.0, feature_range=(-1.0, 1.0)),
}


def scaler_case(scaler: str, store: str, persons: bool, note: Note) -> None:
    rows = data(300, 3)
    model = SCALERS[scaler]()
    with tempfile.TemporaryDirectory() as folder:
        X = STORES[store](rows.X, folder)
        model.fit(X, **({"privacy_unit": rows.persons} if persons else {}))
    tell(note, model, asked(3) if store not in ("frame", "polars") else None)
    note["inverse"] = attempt(lambda: model.inverse_transform(asked(3)))
    note["names"] = attempt(lambda: model.get_feature_names_out())


def scalers() -> Iterator[Case]:
    for scaler in SCALERS:
        for store in STORES:
            if store in ("dense", "csr", "frame") or kept(f"{scaler}, {store}", 0.2):
                for persons in (False, True) if store in ("dense", "csr") else (False,):
                    words = f"{scaler}, {store}{', persons' if persons else ''}"
                    yield Case("scaler", words, partial(scaler_case, scaler, store, persons))


# Evaluations.


@cache
def evaluated(name: str) -> Any:
    """Models that are the same whatever the package does."""
    rows = data(400, 3)
    if name == "regression":
        return LinearRegression().fit(rows.X, rows.real)
    return LogisticRegression().fit(rows.X, rows.several if name == "several" else rows.binary)


def function_of_rows(X: Any) -> Any:
    return np.asarray(X) * 2.0


METRICS: dict[str, list[list[str] | None]] = {
    "binary": [
        None,
        ["accuracy"],
        ["roc_auc"],
        ["log_loss", "brier_score"],
        ["roc_curve", "calibration_curve", "confusion_matrix"],
        ["selection_rate", "true_positive_rate", "false_positive_rate"],
        ["nonsense"],
    ],
    "several": [None, ["f1", "recall"], ["roc_auc"], ["log_loss"]],
    "regression": [None, ["r2"], ["mean_absolute_error"]],
    "private": [None, ["precision", "balanced_accuracy"]],
    "a function": [None],
}
EVALUATIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "groups": {"_groups": True},
    "persons": {"_unit": True},
    "persons in groups": {"_groups": True, "_unit": True},
    "pure": {"delta": 0},
    "large budget": {"epsilon": 50.0},
    "small budget": {"epsilon": 0.05},
    "zero_out": {"adjacency": "zero_out"},
    "bins": {"bins": [0.2, 0.5, 0.9], "confidence": 0.8},
    "one by one": {"pointwise": False},
    "not said to be public": {"public_model": False},
    "sparse": {"_store": "csr"},
    "list": {"_store": "list"},
    "residuals": {"residual_bound": 1.0, "least_probability": 0.1},
}


def evaluation_case(name: str, metrics: list[str] | None, level: str, note: Note) -> None:
    rows, facts = data(200, 3), EVALUATIONS[level]
    if name == "private":
        model = MODELS["logistic"]().fit(data(400, 3).X, data(400, 3).binary)
    elif name == "a function":
        model = make_pipeline(FunctionTransformer(function_of_rows), evaluated("binary"))
    else:
        model = evaluated(name)
    y = {"several": rows.several, "regression": rows.real}.get(name, rows.binary)
    options = {"epsilon": 3.0, "public_model": True, "metrics": metrics} | facts
    options = {k: v for k, v in options.items() if not k.startswith("_")}
    if name == "regression":
        options["target_bounds"] = (-4.0, 4.0)
    if facts.get("_groups"):
        options |= {"groups": rows.sites, "group_values": [0, 1, 2]}
    if facts.get("_unit"):
        options["privacy_unit"] = rows.sites * 1000 + rows.persons
    found = skdp.evaluate(model, STORES[facts.get("_store", "dense")](rows.X, ""), y, **options)
    tell(note, found)
    note["summary"] = text_of(found.summary())
    names = [k for k in vars(found) if not k.startswith("_") and k not in NOT_NUMBERS]
    note["scores"] = {k: plain(getattr(found, k)) for k in sorted(names)}


def evaluations() -> Iterator[Case]:
    for name, lists in METRICS.items():
        for metrics in lists:
            for level in EVALUATIONS:
                run = partial(evaluation_case, name, metrics, level)
                words = "all" if metrics is None else " and ".join(metrics)
                yield Case("evaluate", f"{name}, {words}, {level}", run)


# Private counterparts of scripts of scikit-learn's.

SCRIPTS: dict[str, tuple[Callable[[], Any], str]] = {
    "logistic": (lambda: LogisticRegression(C=0.5), "binary"),
    "balanced": (lambda: LogisticRegression(class_weight="balanced"), "binary"),
    "several": (LogisticRegression, "several"),
    "machine": (lambda: LinearSVC(C=0.3), "binary"),
    "kernel": (SVC, "binary"),
    "ridge": (lambda: Ridge(alpha=2.0), "real"),
    "ridge of two": (Ridge, "two"),
    "linear": (LinearRegression, "real"),
    "positive": (lambda: LinearRegression(positive=True), "real"),
    "lasso": (lambda: Lasso(alpha=0.05), "real"),
    "net": (ElasticNet, "real"),
    "huber": (HuberRegressor, "real"),
    "sgd": (lambda: SGDClassifier(loss="log_loss"), "binary"),
    "ridge of classes": (RidgeClassifier, "binary"),
    "forest": (RandomForestClassifier, "binary"),
    "scaled": (lambda: make_pipeline(StandardScaler(), LogisticRegression()), "binary"),
    "between 0 and 1": (lambda: make_pipeline(MinMaxScaler(), Ridge()), "real"),
    "normalised": (lambda: make_pipeline(Normalizer(), LogisticRegression()), "binary"),
    "random features": (
        lambda: make_pipeline(
            StandardScaler(), RBFSampler(n_components=5, random_state=0), Ridge()
        ),
        "real",
    ),
    "polynomials": (
        lambda: make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression()),
        "binary",
    ),
    "components": (lambda: make_pipeline(PCA(2), LogisticRegression()), "binary"),
    "imputed": (lambda: make_pipeline(SimpleImputer(), Ridge()), "real"),
    "columns": (
        lambda: make_pipeline(
            ColumnTransformer(
                [("numbers", StandardScaler(), [0, 1]), ("rest", "passthrough", [2])]
            ),
            LogisticRegression(),
        ),
        "binary",
    ),
    "union": (
        lambda: make_pipeline(make_union(StandardScaler(), Normalizer()), LogisticRegression()),
        "binary",
    ),
    "targets": (
        lambda: TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
        "real",
    ),
    "grid": (lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}), "binary"),
    "drawn": (lambda: RandomizedSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2), "real"),
    "voting": (
        lambda: VotingClassifier([("a", LogisticRegression()), ("b", LogisticRegression(C=9.0))]),
        "binary",
    ),
    "against the rest": (lambda: OneVsRestClassifier(LogisticRegression()), "several"),
    "one by one": (lambda: MultiOutputRegressor(Ridge()), "two"),
    "codes": (
        lambda: make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()),
        "binary",
    ),
}
CONVERSIONS: dict[str, dict[str, Any]] = {
    "nothing known": {},
    "bounds": {"bounds": (-1.0, 1.0)},
    "all known": {"bounds": ([-1.0, -1.0, -0.5], [1.0, 1.0, 0.5]), "_targets": True},
    "several classes": {"classes": [0, 1, 2], "bounds": (-1.0, 1.0)},
    "pure": {"delta": 0, "bounds": (-1.0, 1.0)},
    "zero_out": {"adjacency": "zero_out", "bounds": (-1.0, 1.0)},
    "persons": {"privacy_unit": True, "bounds": (-1.0, 1.0), "classes": [0, 1]},
    "shares": {"shares": {"standardscaler": 0.3, "logisticregression": 0.7}},
}


def conversion_case(script: str, level: str, note: Note) -> None:
    rows, (make, target) = data(300, 3), SCRIPTS[script]
    options = {"epsilon": 8.0} | CONVERSIONS[level]
    if options.pop("_targets", False):
        known = {"binary": {"classes": [0, 1]}, "several": {"classes": [0, 1, 2]}}
        options |= known.get(target, {"target_bounds": (-4.0, 4.0)})
    note["plan beforehand"] = attempt(
        lambda: text_of(skdp.privatize(make(), **options, return_plan=True))
    )
    model = skdp.privatize(make(), **options)
    note["made"] = text_of(model)
    X = np.rint(rows.X) if script == "codes" else rows.X
    note["fit"] = attempt(lambda: bool(model.fit(X, getattr(rows, target))))
    note["total"] = attempt(lambda: text_of(skdp.privacy_spent(model)))
    note["report"] = attempt(lambda: text_of(skdp.report(model).to_markdown()))
    note["predict"] = attempt(lambda: model.predict(np.rint(asked(3))))


def conversions() -> Iterator[Case]:
    for script in SCRIPTS:
        for level in CONVERSIONS:
            yield Case("privatize", f"{script}, {level}", partial(conversion_case, script, level))


# Budgets and totals of several.


def toy(epsilon: float = 1.0, **options: Any) -> Any:
    return MODELS["logistic"](epsilon=epsilon, solver=GD(steps=4), **options)


COMPOSED: dict[str, Callable[[], Any]] = {
    "one": toy,
    "pure": lambda: toy(delta=0),
    "sampled": lambda: MODELS["logistic"](epsilon=1.0, solver=GD(steps=20, batch_size=40)),
    "lasso": lambda: MODELS["lasso"](solver="screening"),
    "perturbed": lambda: MODELS["logistic"](solver="objective_perturbation"),
    "pipeline": lambda: make_pipeline(DPStandardScaler(bounds=(-1, 1)), toy()),
    "normalised": lambda: make_pipeline(Normalizer(), toy()),
    "not private": lambda: make_pipeline(StandardScaler(), toy()),
    "voting": lambda: VotingClassifier([("a", toy()), ("b", toy(2.0))]),
    "against the rest": lambda: OneVsRestClassifier(toy(classes=None)),
    "search": lambda: DPGridSearchCV(toy(), {"C": [0.1, 1.0]}, epsilon=2.0),
    "grid search": lambda: GridSearchCV(toy(), {"C": [0.1, 1.0]}, cv=2),
    "forest": RandomForestClassifier,
}


def target_of(model: Any, rows: Data) -> np.ndarray:
    return rows.real if isinstance(model, DPLassoRegressor) else rows.binary


def total_case(names: tuple[str, ...], delta: float | None, note: Note) -> None:
    rows, models = data(200, 3), []
    for name in names:
        model = COMPOSED[name]()
        models.append(model.fit(rows.X, target_of(model, rows)))
    subject = models[0] if len(models) == 1 else models
    note["total"] = attempt(lambda: text_of(skdp.privacy_spent(subject, delta)))
    note["report"] = attempt(lambda: text_of(skdp.report(subject).to_markdown()))
    note["schema"] = attempt(lambda: sorted(skdp.report(subject).to_dict()))


def budget_case(accounting: str, options: dict[str, Any], names: list[str], note: Note) -> None:
    rows, states = data(200, 3), []
    note["states"] = states
    budget = PrivacyBudget(**{"epsilon": 3.0, "delta": 1e-4, "accounting": accounting} | options)
    with budget:
        for name in names:
            model = COMPOSED[name]()
            if options.get("privacy_unit"):
                fit = partial(budget.fit, model, rows.X, rows.binary, privacy_unit=rows.persons)
            else:
                fit = partial(budget.fit, model, rows.X, target_of(model, rows))
            states.append([name, attempt(lambda f=fit: bool(f())), plain(budget.spent)])
            states[-1].append(attempt(lambda: plain(budget.remaining)))
            states[-1].append(text_of(budget))
    note["receipts"] = plain([[entry.who, plain(entry.spent)] for entry in budget.receipts])


def budgets() -> Iterator[Case]:
    for name in COMPOSED:
        for delta in (None, 1e-8):
            yield Case("total", f"{name}, {delta}", partial(total_case, (name,), delta))
    for k in range(25):
        chance = chance_of(f"total {k}")
        names = tuple(chance.sample([*COMPOSED], chance.choice((2, 3))))
        yield Case("total", ", ".join(names), partial(total_case, names, None))
    settings: dict[str, dict[str, Any]] = {
        "plain": {},
        "zero_out": {"adjacency": "zero_out"},
        "persons": {"privacy_unit": True},
        "pure": {"delta": 0},
        "large": {"epsilon": 20.0},
    }
    for accounting in ("auto", "gaussian", "renyi", "sums", "nonsense"):
        for words, options in settings.items():
            for k in range(2):
                chosen = chance_of(f"{accounting}, {words}, {k}").sample([*COMPOSED], 4)
                run = partial(budget_case, accounting, options, chosen)
                title = f"{accounting}, {words}, {', '.join(chosen)}"
                yield Case("budget", f"{title}, {k}", run)


# Plans.


def forecast_case(facts: dict[str, Any], note: Note) -> None:
    found = skdp.plan(**facts)
    note["plan"] = text_of(found)
    names = ("futile", "mu", "regime", "relative_noise", "sum_noise", "advice")
    note["facts"] = {k: attempt(lambda k=k: getattr(found, k)) for k in names}


def split_case(shares: dict[str, float], facts: dict[str, float], note: Note) -> None:
    note["shares"] = plain(skdp.split_budget(shares, **facts))


def model_plan_case(name: str, solver: str, n: int, d: int, facts: Any, note: Note) -> None:
    options, told = facts
    model = MODELS[name](**with_needs(SETTINGS.get(solver, solver), solver, name, options))
    note["plan"] = text_of(skdp.plan(model, n, d, **told))


def plans() -> Iterator[Case]:
    for n in (100, 5_000, 200_000):
        for d in (4, 100, 5_000):
            for epsilon in (0.1, 1.0, 10.0):
                facts: dict[str, Any] = {"n_samples": n, "n_features": d, "epsilon": epsilon}
                chance = chance_of(f"{n}, {d}, {epsilon}")
                facts["n_classes"] = chance.choice((None, 2, 10))
                facts["adjacency"] = chance.choice(("replace_one", "zero_out"))
                words = ", ".join(f"{k} {v}" for k, v in facts.items())
                yield Case("plan", f"forecast, {words}", partial(forecast_case, facts))
    kinds: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "as it is": ({}, {}),
        "bounds missing": (LEVELS["bounds"]["none"] | {"classes": [0, 1]}, {}),
        "sparse": ({}, {"sparse": True}),
        "weighted": ({}, {"weighted": True}),
        "pure": ({"delta": 0}, {}),
        "little": ({"epsilon": 0.1}, {}),
    }
    for name in MODELS:
        for solver in ("auto", *STRINGS):
            for words, facts_of in kinds.items():
                chance = chance_of(f"{name}, {solver}, {words}")
                n, d = chance.choice((300, 2_000, 50_000)), chance.choice((5, 60, 1_000))
                run = partial(model_plan_case, name, solver, n, d, facts_of)
                yield Case("plan", f"{name}, {solver}, {words}, {n} x {d}", run)
    for shares in ({"a": 1, "b": 1}, {"a": 0.2, "b": 0.5, "c": 0.3}, {"a": -1, "b": 2}, {}):
        for facts_of_split in ({"epsilon": 1.0, "delta": 1e-5}, {"epsilon": 1.0, "delta": 0.0}):
            run = partial(split_case, shares, facts_of_split)
            yield Case("plan", f"split {shares} {facts_of_split}", run)


# Refusals: bad parameters and data.

NONSENSE: dict[str, Any] = {
    "a word": "nonsense",
    "-1": -1,
    "0": 0,
    "nan": math.nan,
    "an empty list": [],
    "an object": object(),
}


def names_of(kind: Callable[..., Any]) -> list[str]:
    found = inspect.signature(kind).parameters.values()
    return [p.name for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


def refusal_case(call: Callable[[], Any], note: Note) -> None:
    found = call()
    if hasattr(found, "get_params"):
        tell(note, found, report=False)


def bad_data() -> dict[str, tuple[Any, Any]]:
    rows = data(60, 3)
    X, y = rows.X, rows.binary

    def with_entry(value: Any, dtype: Any = float) -> np.ndarray:
        out = X.astype(dtype)
        out[5, 1] = value
        return out

    labels = y.astype(float)
    labels[3] = math.nan
    return {
        "nan": (with_entry(math.nan), y),
        "infinite": (with_entry(math.inf), y),
        "huge": (with_entry(1e300), y),
        "one-dimensional": (X[:, 0], y),
        "three-dimensional": (X[None], y),
        "scalar": (1.5, y),
        "none": (None, y),
        "no rows": (X[:0], y[:0]),
        "one row": (X[:1], y[:1]),
        "two rows": (X[:2], y[:2]),
        "no features": (X[:, :0], y),
        "fewer rows": (X[1:], y),
        "strings": (with_entry("word", object), y),
        "complex": (with_entry(1j, complex), y),
        "sparse with nan": (sp.csr_array(with_entry(math.nan)), y),
        "frame of categories": (pd.DataFrame({"a": pd.Categorical(["b"] * 60)}), y),
        "no targets": (X, None),
        "targets with nan": (X, labels),
        "targets of one value": (X, np.zeros(60)),
        "targets of words": (X, np.array(["yes", "no"])[y]),
        "targets beyond": (X, 100.0 * y),
        "targets in a table": (X, np.tile(y, (2, 3, 1))),
        "complex targets": (X, y * 1j),
        "chunks that are none": (Chunks([(X,)]), None),
        "chunks of other widths": (Chunks([(X, y), (X[:, :2], y)]), None),
        "chunks with targets": (Chunks([(X, y)]), y),
        "no chunks": (Chunks([]), None),
    }


BAD_ARGUMENTS: dict[str, dict[str, Any]] = {
    "negative weights": {"sample_weight": -np.ones(60)},
    "weights with nan": {"sample_weight": np.full(60, math.nan)},
    "weights of zero": {"sample_weight": np.zeros(60)},
    "fewer weights": {"sample_weight": np.ones(7)},
    "weights of words": {"sample_weight": ["word"] * 60},
    "fewer sites": {"sites": [0, 1]},
    "sites with nan": {"sites": np.full(60, math.nan)},
    "one site": {"sites": np.zeros(60, int)},
    "fewer units": {"privacy_unit": [0, 1]},
    "units with nan": {"privacy_unit": np.full(60, math.nan)},
    "a unit each": {"privacy_unit": np.arange(60)},
    "one unit": {"privacy_unit": np.zeros(60, int)},
    "a flag for units": {"privacy_unit": True},
    "sites and units": {"sites": np.arange(60) % 2, "privacy_unit": np.arange(60) // 2},
    "sites and weights": {"sites": np.arange(60) % 2, "sample_weight": np.full(60, 0.5)},
}


def fitted(kind: Callable[..., Any], options: dict[str, Any], *rows: Any, **extra: Any) -> Any:
    return kind(**options).fit(*rows, **extra)


def fed(kind: Callable[..., Any], *rows: Any, **extra: Any) -> Any:
    return kind().partial_fit(*rows, **extra)


def predicted(kind: Callable[..., Any], X: Any, y: Any, asked_for: Any) -> Any:
    return kind().fit(X, y).predict(asked_for)


def solved(model: str, kind: Callable[..., Any], options: dict[str, Any], X: Any, y: Any) -> Any:
    return MODELS[model](solver=kind(**options)).fit(X, y)


def acting(kind: Callable[..., Any], options: dict[str, Any]) -> Any:
    rows = data(60, 3)
    facts = {"arms": [0, 1, 2], "data_norm": 2.0, "horizon": 60}
    if kind is not DPContextualBandit:
        facts, options = facts | {"policy": kind(**options)}, {}
    return DPContextualBandit(**facts | options).fit(rows.X, rows.arms, rows.rewards)


def refusals() -> Iterator[Case]:
    """Every parameter of everything with values that make no sense, and data of no use."""
    for words, call in calls_of_no_use():
        yield Case("refusal", words, partial(refusal_case, call))


def parameters_of_no_use(
    what: str, names: list[str], share: float = 0.5
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in names:
        for words, value in NONSENSE.items():
            # Processes, which -1 of them makes sense for, draw noise that is not recorded.
            if name != "n_jobs" and kept(f"{what}({name}={words})", share):
                yield f"{what}({name}={words})", {name: value}


def calls_of_no_use() -> Iterator[tuple[str, Callable[[], Any]]]:
    rows = data(60, 3)
    X, y, real = rows.X, rows.binary, rows.real
    for name, make in MODELS.items():
        target = y if name in OF_CLASSES else real
        for words, options in parameters_of_no_use(name, sorted(PARAMETERS[name])):
            yield words, partial(fitted, make, options, X, target)
        for words, (bad_X, bad_y) in bad_data().items():
            yield f"{name}.fit, {words}", partial(fitted, make, {}, bad_X, bad_y)
            if kept(f"{name}.partial_fit, {words}", 0.5):
                yield f"{name}.partial_fit, {words}", partial(fed, make, bad_X, bad_y)
            if kept(f"{name}.predict, {words}", 0.5):
                yield f"{name}.predict, {words}", partial(predicted, make, X, target, bad_X)
        for words, extra in BAD_ARGUMENTS.items():
            yield f"{name}.fit, {words}", partial(fitted, make, {}, X, target, **extra)
            if "sites" not in extra:
                yield f"{name}.partial_fit, {words}", partial(fed, make, X, target, **extra)
        yield f"{name}.predict before fit", partial(make().predict, X)
        yield f"report of {name} before fit", partial(skdp.report, make())
        yield f"total of {name} before fit", partial(skdp.privacy_spent, make())
        yield f"checkpoint of {name} before fit", partial(skdp.save_checkpoint, make(), "nowhere")
    for option, kind in sorted(SOLVERS.items()):
        model = "lasso" if option == "screening" else "linear"
        for words, options in parameters_of_no_use(option, names_of(kind), 0.35):
            yield words, partial(solved, model, kind, options, X, real)
    for words, options in parameters_of_no_use("bandit", names_of(DPContextualBandit)):
        yield words, partial(acting, DPContextualBandit, options)
    for option, policy in sorted(policies.POLICIES.items()):
        for words, options in parameters_of_no_use(f"policy {option}", names_of(policy)):
            yield words, partial(acting, policy, options)
    for scaler in (DPStandardScaler, DPMinMaxScaler, BoundsScaler, RowNormClipper):
        needed = {} if scaler is RowNormClipper else {"bounds": (-1, 1)}
        for words, options in parameters_of_no_use(scaler.__name__, names_of(scaler)):
            yield words, partial(fitted, scaler, needed | options, X)
        for words, (bad_X, _) in bad_data().items():
            yield f"{scaler.__name__}, {words}", partial(fitted, scaler, needed, bad_X)
    spaces = {DPGridSearchCV: "param_grid", DPRandomizedSearchCV: "param_distributions"}
    for search, space in spaces.items():
        own = {"estimator": toy(), "epsilon": 5.0, space: {"C": [0.5, 1.0]}}
        for words, options in parameters_of_no_use(search.__name__, names_of(search)):
            yield words, partial(fitted, search, own | options, X, y)
    given: dict[str, Any] = {"epsilon": 2.0, "public_model": True}
    for words, options in parameters_of_no_use("evaluate", names_of(skdp.evaluate)[3:]):
        yield words, partial(skdp.evaluate, evaluated("binary"), X, y, **given | options)
    given = {"estimator": LogisticRegression(), "epsilon": 2.0}
    for words, options in parameters_of_no_use("privatize", names_of(skdp.privatize)):
        yield words, partial(skdp.privatize, **given | options)
    given = {"epsilon": 1.0, "delta": 1e-5}
    for words, options in parameters_of_no_use("PrivacyBudget", names_of(PrivacyBudget), 1.0):
        yield words, partial(PrivacyBudget, **given | options)


KINDS = (
    *(fits, transcripts, streams, bandits, sites, searches, scalers, evaluations, conversions),
    *(budgets, plans, refusals),
)


def cases() -> list[Case]:
    """All cases; which there are and what they are follows from their names alone."""
    found = [case for kind in KINDS for case in kind()]
    return [*{case.key: case for case in found}.values()]


def sampled(every: list[Case], k: int | None) -> list[Case]:
    """About k of the cases, at least one of each kind: those whose names have the least digests."""
    if k is None or k >= len(every):
        return every
    kinds: dict[str, list[Case]] = defaultdict(list)
    for case in every:
        kinds[case.kind].append(case)
    kept = []
    for some in kinds.values():
        some.sort(key=lambda case: hashlib.sha256(case.key.encode()).digest())
        kept += some[: max(1, round(k * len(some) / len(every)))]
    return kept


# Recording.


def run_of(case: Case, noisy: bool) -> Note:
    """Everything that comes of a case."""
    note: Note = {}
    printed = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        Source(case.key, noisy).in_place(),
    ):
        warnings.simplefilter("always")
        try:
            case.run(note)
            note["outcome"] = "done"
        except Exception as refusal:
            note["outcome"] = type(refusal).__name__
            note["message"] = text_of(refusal)
    note["warnings"] = [f"{w.category.__name__}: {text_of(w.message)}" for w in caught]
    note["printed"] = text_of(printed.getvalue())
    return note


def recorded(case: Case) -> tuple[str, Note]:
    noisy, exact = run_of(case, True), run_of(case, False)
    # Of most cases one of two is enough, and of refusals both are the same.
    exact = {k: v for k, v in exact.items() if k not in noisy or noisy[k] != v}
    return case.key, {"noisy": noisy, "exact": exact}


_CASES: list[Case] = []


def _recorded_at(index: int) -> tuple[str, Note, float]:
    began = time.perf_counter()
    key, note = recorded(_CASES[index])
    return key, note, time.perf_counter() - began


def record(
    path: str | Path, sample: int | None = None, jobs: int = 1, slowest: int = 0
) -> dict[str, int]:
    """Write the record to a file, and return how many cases there are of each kind."""
    with contextlib.suppress(ImportError):
        import dask

        dask.config.set(scheduler="synchronous")
    _CASES[:] = sampled(cases(), sample)
    if jobs == 1:
        found = [_recorded_at(i) for i in range(len(_CASES))]
    else:
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            found = pool.map(_recorded_at, range(len(_CASES)), chunksize=20)
    for key, _, seconds in sorted(found, key=lambda f: -f[2])[:slowest]:
        print(f"{seconds:6.2f} s  {key}")
    body = json.dumps({key: note for key, note, _ in found}, separators=(",", ":"))
    Path(path).write_bytes(gzip.compress(body.encode(), mtime=0))
    return dict(Counter(case.kind for case in _CASES))


# Comparing.

ROUNDING = 1e-6
NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
SAME, ROUNDED, OTHER = 0, 1, 2
# Differ if noise is drawn in another order; of fits that adapt to answers the rest does too, but
# for what is decided beforehand.
ANSWERS = {
    *("acts", "answers", "coefficients", "decision_function", "inference", "inverse", "numbers"),
    *("plain model", "predict", "predict_proba", "scores", "states", "summary", "transform"),
}
DECIDED = {"message", "outcome", "plan", "plan beforehand", "solver"}


def difference(a: Any, b: Any) -> int:
    """Whether two values are the same to the bit, but for rounding, or neither."""
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return SAME if a is b else OTHER
    if isinstance(a, int | float) and isinstance(b, int | float):
        if a == b or (a != a and b != b):
            return SAME
        return ROUNDED if close(a, b, max(abs(a), abs(b))) else OTHER
    if isinstance(a, str) and isinstance(b, str):
        if a == b:
            return SAME
        if NUMBER.sub("#", a) != NUMBER.sub("#", b):
            return OTHER
        pairs = zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b)), strict=True)
        return ROUNDED if all(close(x, y, max(abs(x), abs(y))) for x, y in pairs) else OTHER
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return OTHER
        if len(a) > 1 and all(isinstance(v, float) for v in (*a, *b)):
            return difference_of_vectors(a, b)
        return max((difference(x, y) for x, y in zip(a, b, strict=True)), default=SAME)
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return OTHER
        if "digest" in a:
            same = a["digest"] == b["digest"]
            rest = max(difference(a[k], b[k]) for k in a if k != "digest")
            return rest if same else max(rest, ROUNDED)
        return max((difference(a[k], b[k]) for k in a), default=SAME)
    return OTHER


def difference_of_vectors(a: list[float], b: list[float]) -> int:
    if a == b:
        return SAME
    size = max((abs(v) for v in (*a, *b) if math.isfinite(v)), default=0.0)
    pairs = [*zip(a, b, strict=True)]
    if all(x == y or (x != x and y != y) for x, y in pairs):
        return SAME
    return ROUNDED if all(close(x, y, size) or (x != x and y != y) for x, y in pairs) else OTHER


def close(x: float, y: float, size: float) -> bool:
    return x == y or abs(x - y) <= ROUNDING * size


def differences(a: Note, b: Note) -> dict[str, int]:
    """What differs of two runs, by field."""
    found = {k: difference(a[k], b[k]) if k in a and k in b else OTHER for k in {*a, *b}}
    return {k: v for k, v in found.items() if v}


WITHOUT = ", without noise"
VERDICTS = (
    "equal to the bit",
    "equal but for rounding",
    "equal without noise, noise in another order",
    "equal without noise, releases that adapt to noise in another order",
    "different",
    "in the first record alone",
    "in the second record alone",
)
DIFFERENT = "different"


def judged(a: dict[str, Note], b: dict[str, Note]) -> tuple[str, dict[str, int]]:
    """Verdict on a case that is in both records, and what differs."""
    noisy = differences(a["noisy"], b["noisy"])
    exact = differences(a["noisy"] | a["exact"], b["noisy"] | b["exact"])
    worst = max([*noisy.values(), *exact.values()], default=SAME)
    if worst < OTHER:
        return VERDICTS[worst], noisy
    serious = [k for k, v in noisy.items() if v == OTHER]
    if max(exact.values(), default=SAME) < OTHER and DECIDED.isdisjoint(serious):
        return VERDICTS[2 if ANSWERS.issuperset(serious) else 3], noisy
    found = {k: v for k, v in noisy.items() if v == OTHER}
    found |= {k + WITHOUT: v for k, v in exact.items() if v == OTHER}
    # Who ends otherwise says less, or more.
    ends = {k: v for k, v in found.items() if k.removesuffix(WITHOUT) in ("outcome", "message")}
    return DIFFERENT, ends or found


def first_difference(a: Any, b: Any, where: str = "") -> str:
    """The first place in which two values differ, with both."""
    if isinstance(a, dict) and isinstance(b, dict):
        for k in sorted({*a, *b}):
            if k not in a or k not in b or difference(a[k], b[k]) == OTHER:
                return first_difference(a.get(k, "(none)"), b.get(k, "(none)"), f"{where}.{k}")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            if difference(x, y) == OTHER:
                return first_difference(x, y, f"{where}[{k}]")
    if isinstance(a, str) and isinstance(b, str):
        before, after = a.splitlines(), b.splitlines()
        for x, y in zip(before, after, strict=False):
            if difference(x, y) == OTHER:
                return f"{where}\n        before: {x[:300]}\n        after:  {y[:300]}"
    return f"{where}\n        before: {str(a)[:300]}\n        after:  {str(b)[:300]}"


def compare(before: str | Path, after: str | Path, examples: int = 3) -> Counter[str]:
    """Print how two records differ, and return how many cases have which verdict."""
    one, two = (json.loads(gzip.decompress(Path(p).read_bytes())) for p in (before, after))
    verdicts: Counter[str] = Counter()
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key in {**one, **two}:
        if key in one and key in two:
            verdict, found = judged(one[key], two[key])
        else:
            verdict, found = VERDICTS[-2 if key in one else -1], {}
        verdicts[verdict] += 1
        by_kind[key.partition(":")[0]][verdict] += 1
        if verdict == DIFFERENT:
            for field in found:
                grouped[key.partition(":")[0], field].append(key)
    print(f"{sum(verdicts.values())} cases")
    for verdict in VERDICTS:
        if verdicts[verdict]:
            print(f"  {verdicts[verdict]:6d} {verdict}")
    print("by kind:")
    for kind, counts in by_kind.items():
        print(f"  {kind}: " + "; ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v]))
    for (kind, field), keys in sorted(grouped.items()):
        print(f"{kind}, {field}: {len(keys)} differ")
        name = field.removesuffix(WITHOUT)
        for key in keys[:examples]:
            runs = [
                r[key]["noisy"] | (r[key]["exact"] if field != name else {}) for r in (one, two)
            ]
            print(f"    {key}")
            print("      " + first_difference(*(r.get(name, "(none)") for r in runs)))
    return verdicts


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record the package that is imported")
    recording.add_argument("path")
    recording.add_argument("--sample", type=int, help="number of cases, some of each kind")
    recording.add_argument("--jobs", type=int, default=1, help="number of processes")
    recording.add_argument("--slowest", type=int, default=0, help="number of slow cases to name")
    comparing = commands.add_parser("compare", help="compare two records")
    comparing.add_argument("before")
    comparing.add_argument("after")
    comparing.add_argument("--examples", type=int, default=3, help="examples of each difference")
    given = parser.parse_args(arguments)
    if given.command == "compare":
        verdicts = compare(given.before, given.after, given.examples)
        return int(verdicts[DIFFERENT] > 0)
    began = time.perf_counter()
    counts = record(given.path, given.sample, given.jobs, given.slowest)
    seconds = time.perf_counter() - began
    print(f"{sum(counts.values())} cases in {seconds:.0f} s: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
