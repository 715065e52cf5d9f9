"""Fuzzing of data that come in chunks, sound ones and others, the same at each pass and not."""

from itertools import count

import numpy as np
from fuzzing.inputs import NONSENSE, matrices, targets, weights
from fuzzing.properties import attempt, require
from fuzzing.targets_of_fits import check_model
from hypothesis import strategies as st

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.privacy.rows import Chunks
from skdp.solvers import SOLVERS

_MODELS = {
    DPLogisticRegression: {"classes": [0, 1], "data_norm": 2.0},
    DPSVMClassifier: {"classes": [0, 1], "data_norm": 2.0},
    DPLinearRegression: {"data_norm": 2.0, "target_bounds": (-1, 1)},
    DPLassoRegressor: {"data_norm": 2.0, "target_bounds": (-1, 1)},
}
_ODD = ["fewer", "more", "wider", "none", "nan", "shuffled"]


def _changed(chunks, how):
    """What a later pass delivers in place of the chunks of the first."""
    return {
        "fewer": lambda: chunks[:-1],
        "more": lambda: [*chunks, *chunks[:1]],
        "wider": lambda: [(np.ones((3, 9)), np.zeros(3))] * len(chunks),
        "none": list,
        "nan": lambda: [(np.full((3, 3), np.nan), np.zeros(3)), *chunks[1:]],
        "shuffled": lambda: chunks[::-1],
    }[how]()


def _source(chunks, kind, at):
    """A source of chunks: anything that the constructor may be given."""
    passes = count()

    def read():
        yield from chunks

    def unsteady():
        yield from chunks if next(passes) < at else _changed(chunks, kind)

    if kind in _ODD:
        return unsteady
    return {
        "list": lambda: chunks,
        "tuple": lambda: tuple(chunks),
        "function": lambda: read,
        "function of a list": lambda: lambda: chunks,
        "iterator": lambda: iter(chunks),
        "generator": read,
        "function of nothing": lambda: lambda: None,
        "function of a number": lambda: lambda: 3,
        "mapping": lambda: dict(enumerate(chunks)),
    }[kind]()


_KINDS = [
    "tuple",
    "iterator",
    "generator",
    "function of nothing",
    "function of a number",
    "mapping",
]


@st.composite
def _pieces(draw, usual):
    """Chunks of one shape, or of several."""
    sound = draw(st.integers(0, 4)) > 0
    out, weighted = [], not draw(st.integers(0, 3))
    for _ in range(draw(st.integers(0 if not sound else 1, 3))):
        n = draw(st.sampled_from([12, 5, 1] if sound else [12, 1, 0]))
        X, y = draw(matrices(n)), draw(targets(n, usual))
        if sound:
            public_rng = np.random.default_rng(draw(st.integers(0, 99)))
            X = draw(st.sampled_from([public_rng.uniform(-1, 1, size=(n, 3)), np.eye(n, 3) * 1e3]))
            y = np.arange(n) % 2 if draw(st.integers(0, 14)) else y
        piece = (X, y, np.ones(n) if sound else draw(weights(n))) if weighted else (X, y)
        if not draw(st.integers(0, 29)):
            piece = draw(st.sampled_from([(X,), (X, y, y, y), [X, y], X, None, "ab", (y, X)]))
        out.append(piece)
    return out


@st.composite
def chunk_cases(draw):
    """A model, a source, and two calls with it."""
    kind = draw(st.sampled_from(list(_MODELS)))
    options = {"solver": draw(st.sampled_from(["auto", "auto", "gd", "gd", *SOLVERS]))}
    options["precondition"] = draw(st.sampled_from([None, "auto", "diagonal"]))
    if kind is DPLassoRegressor:
        del options["precondition"]
    options["warm_start"] = not draw(st.integers(0, 5))
    if "classes" in _MODELS[kind] and not draw(st.integers(0, 9)):
        options["classes"] = None
    model = kind(**_MODELS[kind] | options)
    usual = "two" if hasattr(model, "classes") else "real"
    made, calls = [], []
    for _ in range(2):
        ordinary = draw(st.integers(0, 4))
        how = draw(st.sampled_from(["list", "function", *_ODD] if ordinary else _KINDS))
        made.append((draw(_pieces(usual)), how, draw(st.integers(0, 6))))
        method = draw(st.sampled_from(["fit"] * 9 + ["partial_fit"]))
        beside = draw(st.integers(0, 9))
        y = draw(targets(12, usual)) if beside == 0 else None
        calls.append((method, y, draw(weights(12)) if beside == 1 else None))
    if not draw(st.integers(0, 14)):
        made[0] = draw(st.sampled_from(NONSENSE))
    return model, made, calls, draw(st.sampled_from([None, None, 1.0]))


def check_chunks(case):
    """Chunks are refused when they are made, or in a fit that spends nothing, or are learned."""
    model, made, calls, ceiling = case
    whole = []
    for given_here, (method, y, w) in zip(made, calls, strict=True):
        planned = isinstance(given_here, tuple) and len(given_here) == 3
        source = _source(*given_here) if planned else given_here
        data, refusal = attempt(Chunks, source)
        if refusal is not None:
            require("need" in str(refusal), f"says {refusal}")
            return
        whole.append((method, data, y, w))
    check_model((model, whole, ceiling, False))
