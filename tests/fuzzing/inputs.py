"""Generated inputs: parameters and data that are valid, borderline, or nonsense."""

from fractions import Fraction

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import strategies as st

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.preprocessing import (
    DPPCA,
    BoundsScaler,
    DPKBinsDiscretizer,
    DPMinMaxScaler,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSelectKBest,
    DPSplineTransformer,
    DPStandardScaler,
    DPTruncatedSVD,
    RowNormClipper,
)
from skdp.problem.constraints import L1Ball, L2Ball
from skdp.solvers import SOLVERS
from skdp.solvers.preconditioning import OPTIONS

# In all generated data and in no parameter; texts must not hold its digits.
SECRET = 0.7391264158
DIGITS = "73912"

NONSENSE = [
    None, True, False, 0, -1, 0.0, -0.0, -1.5, 2**70, 1e400, float("nan"), float("-inf"), 5e-324,
    1j, "", "auto", "nonsense", b"gd", (), [], {}, (1,), (1, 0), (0, np.nan), [1, 2, 3], object(),
    np.float32(0.5), np.int8(3), np.array(1.0), np.array([1.0, 2.0]), Fraction(1, 2), range(3),
    int, lambda: 0, np.datetime64("2020"), pd.NA,
]  # fmt: skip

EPSILON = [1.0, 0.1, 10.0, 1e-3, 1e-10, 1e9, 50, np.float32(1.0)]
DELTA = [1e-5, 1e-12, 1e-300, 0.5, 1 - 1e-12, 1e-310]
NORM = [None, 1.0, 2.5, 1e-3, 1e-100, 1e100, 7]
BOUNDS = [None, (-1, 1), (-1.0, 1e-3), [0, 5], (0, 1e300), (-1e308, 1e308), (1, 1), (2, 1)]
_COMMON = {
    "epsilon": EPSILON,
    "delta": DELTA,
    "adjacency": ["replace_one", "zero_out"],
    "random_state": [None, 0, np.random.RandomState(1)],
}
_MODEL = _COMMON | {
    "max_weight": [1.0, 0.1, 10.0, 1e-50, 1e50],
    "data_norm": NORM,
    "fit_intercept": [True, False],
    "intercept_scaling": [0.3, 1.0, 1e-20, 1e20],
    "solver": ["auto", *SOLVERS],
    "horizon": [None, 1, 40, 10**6, 10**18],
    "buffer": [True, False],
    "warm_start": [False, True],
}
_CONDITIONED = {"precondition": [*OPTIONS, None], "constraint": [None, L2Ball(2.0), L1Ball(1.0)]}
_CLASSIFIER = _CONDITIONED | {
    "C": [1.0, 1e-6, 1e6, 1e-300, 1e300],
    "class_weight": [None, "balanced", {0: 1.0, 1: 3.0}, {0: 1e-9, 1: 1e9}, {0: 0.0, 1: 0.0}],
    "classes": [None, [0, 1], [1, 0], [0, 1, 2], ["a", "b"], [False, True], [-1, 1], [0], [0, 0]],
}
_REGRESSOR = {
    "alpha": [0.0, 0.1, 1e6, 1e-300, 1e300],
    "positive": [False, True],
    "target_bounds": BOUNDS,
    "clip_predictions": [True, False],
}
_SEARCHED_BOUNDS = [None, (-1, 1), (0.0, 10.0), ([-1] * 3, [1] * 3), (-1e300, 1e300), (0, 0)]
MODELS = {
    DPLogisticRegression: _MODEL | _CLASSIFIER | {"l1_ratio": [0.0, 0.5, 1.0]},
    DPSVMClassifier: _MODEL
    | _CLASSIFIER
    | {"penalty": ["l2", "l1"], "loss": ["squared_hinge", "hinge", "huberised_hinge"]},
    DPLinearRegression: _MODEL | _CONDITIONED | _REGRESSOR | {"loss": ["squared", "huber"]},
    DPLassoRegressor: _MODEL | _REGRESSOR | {"feature_bound": NORM},
}
BANDIT = _COMMON | {
    "arms": [[0, 1], ["a", "b"], [0, 1, 2], 2, None, [0], [1, 1]],
    "data_norm": NORM,
    "feature_bound": NORM,
    "reward_bounds": [(0.0, 1.0), (-1, 1), (0, 1e300), (1, 0)],
    "loss": ["squared", "logistic"],
    "policy": ["auto", "ftrl", "gd", "hdb", "sparse", "blocks"],
    "solver": ["frank_wolfe", "ftrl"],
    "horizon": [40, 200, 1, None, 10**6],
    "fit_intercept": [True, False],
    "intercept_scaling": [0.3, 1e-6, 1e6],
}
_RANGED = _COMMON | {"bounds": _SEARCHED_BOUNDS}
_RANGE = [(0.0, 1.0), (-1, 1), (1, 0), (0, 1e-300), (-1e308, 1e308)]
TRANSFORMERS = {
    DPStandardScaler: _RANGED
    | {
        "with_mean": [True, False],
        "with_std": [True, False],
        "clip": [True, False],
    },
    DPMinMaxScaler: _RANGED | {"feature_range": _RANGE, "clip": [True, False]},
    DPQuantileTransformer: _RANGED
    | {
        "n_quantiles": [2, 50, 0, 1.5],
        "output_distribution": ["uniform", "normal"],
    },
    DPKBinsDiscretizer: _RANGED
    | {
        "n_bins": [5, 1, [2, 3, 4], [2], 1e9, "five", [2.5] * 3],
        "encode": ["onehot", "onehot-dense", "ordinal"],
        "strategy": ["quantile", "uniform"],
    },
    DPSplineTransformer: _RANGED
    | {
        "n_knots": [5, 2, 1, 40],
        "degree": [0, 1, 3, -1],
        "knots": ["quantile", "uniform"],
        "extrapolation": ["constant", "linear", "continue", "periodic"],
        "include_bias": [True, False],
        "handle_missing": ["error", "zeros"],
    },
    DPPCA: _RANGED | {"n_components": [None, 1, 3, 0, 10**6, 0.9], "whiten": [True, False]},
    DPSelectKBest: _RANGED
    | {
        "k": [2, 1, 10, 0, 1.5],
        "classes": [[0, 1], None, [0], ["a", 1]],
        "target_bounds": [None, (0, 1), (1, 0)],
    },
    DPTruncatedSVD: _RANGED | {"n_components": [1, 3, 0, 10**6, 0.9]},
    DPRobustScaler: _RANGED
    | {
        "with_centering": [True, False],
        "with_scaling": [True, False],
        "quantile_range": [(25.0, 75.0), (5, 40), (1e-9, 99.9), (75, 25), (0, 100), "half"],
        "unit_variance": [True, False],
        "clip": [True, False],
    },
    BoundsScaler: {"bounds": _SEARCHED_BOUNDS[1:], "feature_range": _RANGE},
    RowNormClipper: {"max_norm": [1.0, 1e-300, 1e300, 0.5]},
}
SEARCH = {
    "epsilon": EPSILON,
    "delta": DELTA,
    "n_iter": [2, 1, 1.5, 3.0],
    "scoring": [None, "accuracy", "r2", "neg_log_loss", "nonsense"],
    "score_range": [None, (0, 1), (1, 0)],
    "validation": [None, 0.3],
    "score_share": [0.1, 0.5, 1e-12],
    "random_state": [None, 0],
}
CHOSEN = [
    {"C": [0.1, 1.0]}, {"solver": ["gd", "auto"]}, {}, {"C": []}, {"nonsense": [1]}, [],
    {"C": [-1.0, 1.0]}, {"data_norm": [1.0, 2.0]}, [{"C": [1.0]}, {"l1_ratio": [0.5]}], None,
    {"C": 1.0}, {"epsilon": [1.0]}, {"C": [np.nan]},
]  # fmt: skip


@st.composite
def parameters(draw, table, rarely=0.02):
    """Most at their first value, some at another of the table, few at nonsense."""
    out = {}
    for name, values in table.items():
        luck = draw(st.floats(0, 1))
        if luck > 0.8:
            out[name] = draw(st.sampled_from(values))
        elif luck < rarely:
            out[name] = draw(st.sampled_from(NONSENSE))
    return out


_SPICES = {
    "none": lambda X: X,
    "zeros": lambda X: X * 0,
    "constant": lambda X: X * 0 + 3,
    "huge": lambda X: X * 1e308,
    "large": lambda X: X * 1e160,
    "tiny": lambda X: X * 5e-320,
    "mixed": lambda X: X * 10.0 ** (np.arange(X.shape[-1]) % 600 - 300),
    "nan": lambda X: _put(X, np.nan),
    "inf": lambda X: _put(X, -np.inf),
    "collinear": lambda X: X[:, :1] + 0 * X,
}


def _put(X, value):
    X = X.copy()
    X.flat[: min(1, X.size)] = value
    return X


def _csr(X, kind):
    A = sp.csr_array(X)
    if kind == "duplicates" and A.nnz:
        A = sp.csr_array(
            (
                np.concatenate([A.data, A.data[-1:] * 0.5]),
                np.concatenate([A.indices, A.indices[-1:]]),
                np.concatenate([A.indptr[:-1], [A.nnz + 1]]),
            ),
            shape=A.shape,
        )
    elif kind == "zeros":
        A.data[::2] = 0.0
    elif kind == "long":
        A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    elif kind == "unsorted":
        A.indices, A.data = A.indices[::-1].copy(), A.data[::-1].copy()
    elif kind == "readonly":
        A.data.flags.writeable = False
    return A


def _frozen(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _frame(X):
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


LAYOUTS = {
    "C": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda X: X[::-1, ::-1],
    "readonly": _frozen,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "big endian": lambda X: X.astype(">f8"),
    "int8": lambda X: (X > 0).astype(np.int8),
    "bool": lambda X: X > 0,
    "object": lambda X: X.astype(object),
    "text": lambda X: X.astype(str),
    "bytes": lambda X: X.astype(bytes),
    "complex": lambda X: X + 1j * SECRET,
    "dates": lambda X: np.full(X.shape, np.datetime64("2020-01-01")),
    "record": lambda X: np.zeros(len(X), dtype=[("a", float), ("b", float)]),
    "words": lambda X: np.full(X.shape, f"word{DIGITS}", dtype=object),
    "nested": lambda X: [[[SECRET], {}] for _ in X],
    "ragged": lambda X: [[SECRET] * (i % 3) for i in range(len(X))],
    "list": lambda X: X.tolist(),
    "matrix": lambda X: sp.csr_matrix(X).todense(),
    "masked": lambda X: np.ma.masked_array(X, mask=np.abs(X) > 0.9),
    "line": lambda X: X[:, 0] if X.shape[1] else X.ravel(),
    "cube": lambda X: X[:, :, None],
    "number": lambda X: SECRET,
    "nothing": lambda X: None,
    "word": lambda X: f"word{DIGITS}",
    "mapping": lambda X: {"x": X},
    "iterator": iter,
    "frame": _frame,
    "frame of objects": lambda X: _frame(X).astype(object),
    "frame of categories": lambda X: _frame(X).astype("category"),
    "frame of nullables": lambda X: _frame(X).astype("Float64"),
    "frame of words": lambda X: _frame(X).assign(w=f"word{DIGITS}"),
    "frame with one name twice": lambda X: pd.DataFrame(X, columns=["a"] * X.shape[1]),
    "frame with names of two kinds": lambda X: _frame(X).rename(columns={"c0": 0}),
    "frame of dates": lambda X: _frame(X).assign(w=pd.Timestamp("2020")),
    "csr": lambda X: _csr(X, ""),
    "csr, duplicates": lambda X: _csr(X, "duplicates"),
    "csr, zeros": lambda X: _csr(X, "zeros"),
    "csr, long": lambda X: _csr(X, "long"),
    "csr, unsorted": lambda X: _csr(X, "unsorted"),
    "csr, readonly": lambda X: _csr(X, "readonly"),
    "csr, single": lambda X: _csr(X.astype(np.float32), ""),
    "csc": sp.csc_array,
    "coo": sp.coo_matrix,
    "dok": sp.dok_matrix,
    "bsr": sp.bsr_matrix,
    "csr of whole numbers": lambda X: sp.csr_array((X > 0).astype(np.int64)),
}
_USUAL = ["C", "fortran", "float32", "csr", "frame", "readonly", "list", "csr, duplicates"]


@st.composite
def matrices(draw, n):
    """Rows: most of the time a matrix that is fine, else anything."""
    d = draw(st.sampled_from([2, 3, 1, 5, 0, 40]))
    public_rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    X = public_rng.uniform(-1, 1, size=(n, d))
    if X.size:
        X.flat[-1] = SECRET
    common = draw(st.booleans())
    with np.errstate(all="ignore"):
        X = _SPICES[draw(st.sampled_from(list(_SPICES)))](X) if X.size else X
        layout = LAYOUTS[draw(st.sampled_from(_USUAL if common else list(LAYOUTS)))]
        try:
            return layout(X)
        except Exception:  # Not every layout takes every matrix.
            return X


def _targets(kind, n, public_rng):
    base = public_rng.integers(0, 2, size=n)
    real = public_rng.uniform(-1, 1, size=n)
    if n:
        real[-1] = SECRET
    return {
        "two": lambda: base,
        "real": lambda: real,
        "three": lambda: np.arange(n) % 3,
        "signs": lambda: 2 * base - 1,
        "words": lambda: np.array(["a", "b"])[base],
        "objects": lambda: np.array(["a", "b"], dtype=object)[base],
        "truth": lambda: base.astype(bool),
        "one": lambda: np.zeros(n, dtype=int),
        "floats": lambda: base.astype(float),
        "stranger": lambda: np.where(np.arange(n) == n - 1, int(DIGITS), base),
        "strange word": lambda: np.where(np.arange(n) == n - 1, f"w{DIGITS}", "a"),
        "mixed": lambda: np.array([SECRET if i % 2 else "a" for i in range(n)], dtype=object),
        "nan": lambda: np.where(np.arange(n) == n - 1, np.nan, real),
        "inf": lambda: np.where(np.arange(n) == n - 1, np.inf, real),
        "huge": lambda: real * 1e308,
        "tiny": lambda: real * 5e-320,
        "short": lambda: base[:-1],
        "column": lambda: base[:, None],
        "several": lambda: np.column_stack([real, real]),
        "list": base.tolist,
        "series": lambda: pd.Series(base, index=np.arange(n)[::-1]),
        "nullable": lambda: pd.Series(base).astype("Int64").mask(base == 1),
        "categories": lambda: pd.Series(np.array(["a", "b"])[base]).astype("category"),
        "sparse": lambda: sp.csr_array(base[None, :]),
        "complex": lambda: real + 1j,
        "dates": lambda: np.full(n, np.datetime64("2020-01-01")),
        "big": lambda: np.array([2**70 + int(i) for i in base], dtype=object),
        "nothing": lambda: None,
        "number": lambda: SECRET,
        "word": lambda: f"w{DIGITS}",
        "mapping": lambda: {"y": real},
        "readonly": lambda: _frozen(real),
        "strided": lambda: np.repeat(base, 2)[::2],
        "single": lambda: real.astype(np.float32),
    }[kind]()


_KINDS = [
    "real", "three", "signs", "words", "objects", "truth", "one", "floats", "stranger",
    "strange word", "mixed", "nan", "inf", "huge", "tiny", "short", "column", "several", "list",
    "series", "nullable", "categories", "sparse", "complex", "dates", "big", "nothing", "number",
    "word", "mapping", "readonly", "strided", "single", "two",
]  # fmt: skip


@st.composite
def targets(draw, n, usual):
    """Targets: most of the time of the usual kind."""
    kind = usual if draw(st.integers(0, 2)) else draw(st.sampled_from(_KINDS))
    return _targets(kind, n, np.random.default_rng(draw(st.integers(0, 2**16))))


@st.composite
def weights(draw, n):
    """Weights of rows, or none."""
    if draw(st.integers(0, 3)):
        return None
    w = np.random.default_rng(draw(st.integers(0, 9))).uniform(0, 2, size=n)
    with np.errstate(over="ignore"):
        huge = w * 1e308
    return draw(
        st.sampled_from(
            [
                w, w * 0, w.tolist(), huge, w * 5e-320, w - 1, w * np.nan, w[:-1], 2.0, "w",
                np.where(w > 1, np.inf, w), w[:, None], pd.Series(w), w.astype(object),
            ]
        )
    )  # fmt: skip


ROWS = st.sampled_from([40, 20, 3, 2, 1, 0])
