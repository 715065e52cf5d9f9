"""Fuzzing of learning over sites: groups, graphs, and dual averaging."""

from functools import partial

import numpy as np
import pandas as pd
import scipy.sparse as sp
from fuzzing.inputs import NONSENSE, SECRET, ordinary_rows, ordinary_targets, weights
from fuzzing.properties import (
    attempt,
    charged_ledgers,
    check_amount,
    check_numbers,
    check_receipt,
    check_untouched,
    require,
)
from fuzzing.targets_of_parts import hyperparameters
from hypothesis import strategies as st

import skdp
from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.federated import Adjacent, ErdosRenyi, Topology
from skdp.privacy.accounting import gdp
from skdp.solvers import DDA

_MODELS = {
    DPLogisticRegression: {"classes": [0, 1], "data_norm": 2.0},
    DPSVMClassifier: {"classes": [0, 1], "data_norm": 2.0},
    DPLinearRegression: {"data_norm": 2.0, "target_bounds": (-1, 1)},
    DPLassoRegressor: {"data_norm": 2.0, "target_bounds": (-1, 1)},
}


def _links(n, kind, public_rng):
    """An adjacency matrix, or nearly one."""
    links = (public_rng.uniform(size=(n, n)) < 0.6).astype(float)
    sound = np.triu(links, 1) + np.triu(links, 1).T
    line = np.eye(n, k=1) + np.eye(n, k=-1)
    return {
        "sound": lambda: sound,
        "line": lambda: line,
        "lopsided": lambda: links,
        "loops": lambda: sound + np.eye(n),
        "empty": lambda: np.zeros((n, n)),
        "weights": lambda: line * SECRET,
        "nan": lambda: line * np.nan,
        "tiny": lambda: line * 5e-324,
        "words": lambda: line.astype(str),
        "objects": lambda: line.astype(object),
        "truth": lambda: line > 0,
        "complex": lambda: line * 1j,
        "list": line.tolist,
        "frame": lambda: pd.DataFrame(line),
        "sparse": lambda: sp.csr_array(line),
        "masked": lambda: np.ma.masked_array(line, mask=line > 0),
        "wide": lambda: line[:-1],
        "cube": lambda: line[None],
        "ragged": lambda: [[0] * k for k in range(n)],
    }[kind]()


_LINKS = [
    "sound", "line", "lopsided", "loops", "empty", "weights", "nan", "tiny", "words", "objects",
    "truth", "complex", "list", "frame", "sparse", "masked", "wide", "cube", "ragged",
]  # fmt: skip


@st.composite
def topology_cases(draw):
    """A graph of one's own."""
    n = draw(st.sampled_from([4, 2, 1, 0, 7]))
    public_rng = np.random.default_rng(draw(st.integers(0, 99)))
    kind = draw(st.sampled_from(["matrix", "matrix", "neighbours", "random"]))
    if kind == "random":
        probability = draw(st.one_of(st.floats(), st.sampled_from([0.5, 1, *NONSENSE])))
        return partial(ErdosRenyi, probability), n
    if kind == "matrix":
        matrix = _links(n, draw(st.sampled_from(_LINKS)), public_rng)
        return partial(Adjacent.from_matrix, draw(st.sampled_from([matrix] * 9 + NONSENSE))), n
    names = st.one_of(st.integers(-1, n), st.sampled_from([0.0, 1.5, "a", None, True]))
    lists = st.lists(st.lists(names, max_size=3).map(tuple), max_size=4).map(tuple)
    ring = tuple(((i - 1) % n, (i + 1) % n) for i in range(n))
    return partial(Adjacent, draw(st.one_of(st.just(ring), lists, st.sampled_from(NONSENSE)))), n


def check_topology(case):
    """A graph that is made has edges, each once, which connect all nodes."""
    make, n = case
    made, refusal = attempt(make)
    if refusal is not None:
        require("need" in str(refusal), f"says {refusal}")
        return
    require(isinstance(made, Topology), "no graph")
    if n < 1:
        return
    edges, refusal = attempt(made.edges, n, np.random.default_rng(0))
    if refusal is not None:
        require("need" in str(refusal), f"says {refusal}")
        return
    require(edges.shape == (len(edges), 2) and edges.dtype.kind == "i", f"edges {edges}")
    require(bool((edges[:, 0] < edges[:, 1]).all()), "edges the wrong way round")
    require(len(np.unique(edges, axis=0)) == len(edges), "an edge twice")
    require(len(edges) >= n - 1 and bool((edges < n).all()), "nodes are left out")


def _groups(n, m, kind, public_rng):
    of_row = np.sort(public_rng.integers(0, m, size=n))
    return {
        "numbers": lambda: of_row,
        "mixed order": lambda: public_rng.permutation(of_row),
        "words": lambda: np.array([f"s{i}" for i in of_row]),
        "objects": lambda: np.array([f"s{i}" for i in of_row], dtype=object),
        "list": of_row.tolist,
        "series": lambda: pd.Series(of_row, index=np.arange(n)[::-1]),
        "categories": lambda: pd.Series([f"s{i}" for i in of_row]).astype("category"),
        "nullable": lambda: pd.Series(of_row).astype("Int64").mask(of_row == 0),
        "dates": lambda: np.datetime64("2020-01-01") + of_row,
        "floats": lambda: of_row / 3,
        "nan": lambda: np.where(of_row == 0, np.nan, of_row),
        "two kinds": lambda: np.array([i if i else "a" for i in of_row], dtype=object),
        "missing": lambda: np.array([i or None for i in of_row], dtype=object),
        "short": lambda: of_row[:-1],
        "column": lambda: of_row[:, None],
        "each its own": lambda: np.arange(n),
        "one": lambda: np.zeros(n, dtype=int),
        "complex": lambda: of_row * 1j,
        "tuples": lambda: [(0, i) for i in of_row],
        "sparse": lambda: sp.csr_array(of_row[None, :]),
        "nothing": lambda: None,
        "word": lambda: "sites",
        "number": lambda: 3,
        "iterator": lambda: iter(of_row),
        "mapping": lambda: dict(enumerate(of_row)),
    }[kind]()


_GROUPS = [
    "words", "objects", "list", "series", "categories", "nullable", "dates", "floats", "nan",
    "two kinds", "missing", "short", "column", "each its own", "one", "complex", "tuples", "sparse",
    "nothing", "word", "number", "iterator", "mapping",
]  # fmt: skip


@st.composite
def site_cases(draw):
    """A model with dual averaging, data, and the sites of the rows."""
    kind = draw(st.sampled_from(list(_MODELS)))
    public_rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    m = draw(st.sampled_from([3, 2, 1, 5]))
    given_here = draw(hyperparameters(DDA))
    given_here["rounds"] = draw(st.sampled_from([5, 1, 12]))
    if draw(st.integers(0, 3)):
        given_here.pop("n_nodes", None)
    graph = draw(st.sampled_from(["ring", "complete", "grid", "own", "raw", "nodes"]))
    matrix = _links(m, draw(st.sampled_from(["line", "sound", "objects"])), public_rng)
    if graph == "raw":
        given_here["topology"] = matrix
    elif graph in ("own", "nodes"):
        own, refusal = attempt(Adjacent.from_matrix, matrix if graph == "own" else np.eye(6, k=1))
        given_here["topology"] = "ring" if refusal is not None else own
    else:
        given_here["topology"] = graph
    model = kind(
        **_MODELS[kind],
        epsilon=draw(st.sampled_from([1.0, 1e-3, 50.0])),
        adjacency=draw(st.sampled_from(["replace_one", "zero_out"])),
        fit_intercept=draw(st.booleans()),
        solver=draw(st.sampled_from([DDA(**given_here)] * 4 + ["auto", "dda", "gd"])),
    )
    n = draw(st.sampled_from([40, 25, 12, 3, 1, 0]))
    usual = "two" if hasattr(model, "classes") else "real"
    ordinary = draw(st.integers(0, 3))
    sites = draw(st.sampled_from(["numbers", "mixed order", "words"] if ordinary else _GROUPS))
    groups = _groups(n, m, sites, public_rng)
    w = draw(weights(n)) if not draw(st.integers(0, 4)) else None
    return model, draw(ordinary_rows(n)), draw(ordinary_targets(n, usual)), w, groups


def check_sites(case):
    """Each site pays for itself, the receipt is that of the site that has paid most."""
    model, X, y, w, groups = case
    before = dict(vars(model))
    with charged_ledgers() as ledgers:
        _, failure = attempt(model.fit, X, y, sample_weight=w, sites=groups)
    check_receipt(model, ledgers)
    if failure is not None:
        check_untouched(model, before, failure)
        require(len(str(failure)) > 0, "says nothing")
        return
    check_numbers(model.coef_, "coef_")
    check_numbers(model.intercept_, "intercept_")
    events = model.privacy_ledger_
    require(len(events) > 0, "learned for nothing")
    if all(event.part is not None for event in events) and model.solver != "gd":
        # Rows of different sites are different rows.
        most = max(
            sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in events if e.part == part)
            for part in {event.part for event in events}
        )
        if {type(event).__name__ for event in events} == {"GaussianEvent"}:
            least = gdp.epsilon(np.sqrt(most), model.delta_)
            spent = model.privacy_spent_.epsilon
            require(spent >= least * (1 - 1e-6), f"reports {spent} for {least}")
    total, refusal = attempt(skdp.privacy_spent, model)
    require(refusal is None, f"no total: {refusal!r}")
    check_amount(total.epsilon, "total epsilon", model.epsilon * (1 + 1e-6))
    attempt(model.predict, X)
