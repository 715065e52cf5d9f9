"""Fuzzing of what models are made of: solvers, policies, losses, penalties and constraints."""

from dataclasses import fields
from functools import partial

import numpy as np
from fuzzing.inputs import NONSENSE, SECRET, ordinary_rows, ordinary_targets, weights
from fuzzing.properties import attempt, check_numbers, require
from fuzzing.targets_of_fits import check_bandit, check_model
from hypothesis import strategies as st

from skdp import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
)
from skdp.bandit.policies import POLICIES
from skdp.problem.constraints import Box, L1Ball, L2Ball, LpBall, NonNegative, Simplex
from skdp.problem.losses import (
    Hinge,
    Huber,
    HuberisedHinge,
    Logistic,
    Sigmoid,
    Squared,
    SquaredHinge,
    Tukey,
)
from skdp.problem.penalties import L1, L2, ElasticNet, NoPenalty
from skdp.solvers import FTRL, GD, SOLVERS
from skdp.solvers.preconditioning import FrequencyScaling, IterativeWhitening, Whitening

_SIZES = [1.0, 0.5, 1e-3, 1e-40, 1e40, 1e-300, 1e300, 2, np.float32(0.1), 0.999999]
_SHARES = [0.5, 0.0, 1.0, 1e-12, 1 - 1e-12, 0.25]
# Numbers of queries are small: so many would be asked.
_COUNTS = [1, 2, 3, 7, np.int64(4), 30]
_COUNTED = {
    "batch_size", "batches", "colluders", "fewest", "first", "forced", "gossip_steps", "inner", "k",
    "largest", "longest", "looks", "n_nodes", "norms", "rounds", "stages", "steps",
}  # fmt: skip
_WORDS = {
    "adversary": ["node", "final_model"],
    "geometry": ["auto", "euclidean"],
    "mechanism": ["blt", "toeplitz", "tree"],
    "noise": ["local", "pairwise", "secure_sum", "central", "gaussian", "gumbel"],
    "schedule": ["exponential", "momentum", "uniform", "round_robin", "random", (0.5, 0.5), [1.0]],
    "snapshot": ["average", "last"],
    "solver": ["gd", "tracked_gd", "blocks", GD(steps=3), FTRL(batches=3)],
    "step": ["bb", "constant", 0.1],
    "topology": ["complete", "ring", "grid", "erdos_renyi"],
    "warm": [True, False],
    "weights": ["constant", "linear"],
}
_NONSENSE = [value for value in NONSENSE if value is not NONSENSE[7]]  # A count that never ends.


@st.composite
def hyperparameters(draw, kind):
    """Some fields of a class at values that may suit them, few at nonsense."""
    out = {}
    for one in fields(kind):
        luck = draw(st.integers(0, 99))
        if luck < 1:
            out[one.name] = draw(st.sampled_from(_NONSENSE))
        elif luck > 75 or one.name == "steps":
            values = _WORDS.get(one.name, _COUNTS if one.name in _COUNTED else _SIZES + _SHARES)
            optional = [None] if "None" in str(one.type) and one.name != "steps" else []
            out[one.name] = draw(st.sampled_from([*values, *optional]))
    return out


_LOSSES = [Squared(), Huber(0.3), Huber(1e-50), Tukey(0.5), Tukey(1e-40), Huber(1e50)]
_MARGINS = ["squared_hinge", "hinge", "huberised_hinge", HuberisedHinge(1e-3), Sigmoid(), Squared()]
_SETS = [
    None, None, None, L1Ball(1.0), L2Ball(1e-300), Box(-1.0, 0.5), Box(-0.0, 0.0), LpBall(1.0, 1.5),
    NonNegative(), Simplex(2.0), L1Ball(1e300), LpBall(1e-3, 1.000001),
]  # fmt: skip
_COORDINATES = {
    FrequencyScaling: ["share", "half"],
    IterativeWhitening: ["share", "looks"],
    Whitening: ["share", "full"],
}


@st.composite
def solver_cases(draw):
    """A model with a configured solver, and data."""
    kind = draw(st.sampled_from(list(SOLVERS.values())))
    given_here = {"data_norm": 2.0, "epsilon": draw(st.sampled_from([1.0, 1e-3, 50.0, 1e9]))}
    given_here["adjacency"] = draw(st.sampled_from(["replace_one", "zero_out"]))
    suits = [DPLogisticRegression, DPSVMClassifier, DPLinearRegression, DPLinearRegression]
    model = draw(st.sampled_from([*suits, DPLassoRegressor]))
    numeric = model in (DPLinearRegression, DPLassoRegressor)
    given_here |= {"target_bounds": (-1, 1)} if numeric else {"classes": [0, 1]}
    if model is not DPLassoRegressor:
        given_here["constraint"] = draw(st.sampled_from(_SETS))
        coordinates = draw(st.sampled_from([None, None, "auto", *_COORDINATES]))
        if isinstance(coordinates, type):
            coordinates = coordinates(**draw(hyperparameters(coordinates)))
        given_here["precondition"] = coordinates
    if model is DPLinearRegression and draw(st.booleans()):
        given_here["loss"] = draw(st.sampled_from(_LOSSES))
    if model is DPSVMClassifier:
        given_here["loss"] = draw(st.sampled_from(_MARGINS))
    solver = kind(**draw(hyperparameters(kind)))
    made = model(**given_here, solver=solver)
    calls = []
    for method in ("fit", draw(st.sampled_from(["fit", "partial_fit"]))):
        n = draw(st.sampled_from([40, 12, 3, 1]))
        usual = "real" if numeric else "two"
        calls.append(
            (
                method,
                draw(ordinary_rows(n)),
                draw(ordinary_targets(n, usual)),
                draw(weights(n)) if not draw(st.integers(0, 3)) else None,
            )
        )
    return made, calls, draw(st.sampled_from([None, None, 1.0])), draw(st.booleans())


check_solver = check_model


@st.composite
def policy_cases(draw):
    """A bandit with a configured policy, and users."""
    kind = draw(st.sampled_from(list(POLICIES.values())))
    bounds = {"data_norm": 1.5, "feature_bound": draw(st.sampled_from([None, 1.0]))}
    policy = kind(**draw(hyperparameters(kind)))
    made = DPContextualBandit([0, 1], policy=policy, horizon=60, **bounds)
    calls = []
    for method in ("partial_fit", "act", draw(st.sampled_from(["fit", "partial_fit"]))):
        n = draw(st.sampled_from([20, 12, 1]))
        calls.append(
            (
                method,
                draw(ordinary_rows(n)),
                draw(ordinary_targets(n, "two")),
                draw(ordinary_targets(n, "real")),
            )
        )
    return made, calls


check_policy = check_bandit

_PIECES = [
    Box, L1Ball, L2Ball, LpBall, Simplex, Huber, HuberisedHinge, Tukey, L1, L2,
    ElasticNet, NonNegative, NoPenalty, Hinge, Logistic, Squared, SquaredHinge,
]  # fmt: skip
_LENGTHS = [0.0, 1.0, -1.0, SECRET, 1e-300, 1e6, 5e-324]


@st.composite
def piece_cases(draw):
    """A loss, penalty or set, and points."""
    kind, given_here = draw(st.sampled_from(_PIECES)), {}
    for one in fields(kind):
        if draw(st.integers(0, 4)):
            given_here[one.name] = draw(st.sampled_from(_SIZES))
        else:
            given_here[one.name] = draw(st.sampled_from([-0.5, 1e-50, 1.5, 1 + 1e-9, *NONSENSE]))
    public_rng = np.random.default_rng(draw(st.integers(0, 99)))
    w = public_rng.choice(_LENGTHS, size=draw(st.sampled_from([(3,), (3, 2)])))
    return partial(kind, **given_here), w, draw(st.sampled_from([0.0, 1.0, 1e-300, 1e100]))


def check_piece(case):
    """Points of a set and proximal points are finite, and stay where they are the next time."""
    make, w, step = case
    made, refusal = attempt(make)
    if refusal is not None:
        require("need" in str(refusal), f"says {refusal}")
        return
    if hasattr(made, "project"):
        nearest, refusal = attempt(made.project, w)
        require(refusal is None, f"no nearest point: {refusal!r}")
        check_numbers(nearest, "the nearest point")
        require(nearest.shape == w.shape, "another shape")
        again, _ = attempt(made.project, nearest)
        scale = max(1e-300, float(np.abs(nearest).max()))
        require(np.allclose(again / scale, nearest / scale, atol=1e-6), "moves when it is there")
        vertex, _ = attempt(made.linear_minimizer, w)
        if vertex is not None:
            check_numbers(vertex, "the vertex")
    elif hasattr(made, "prox"):
        moved, refusal = attempt(made.prox, w, step)
        require(refusal is None, f"no proximal point: {refusal!r}")
        check_numbers(moved, "the proximal point")
        value, _ = attempt(made.value, w)
        require(value is not None and value >= 0, f"a penalty of {value}")
    else:
        z, y = w[:, 0] if w.ndim > 1 else w, np.array([0.0, 1.0, 1.0])
        losses, _ = attempt(made.value, y, z)
        require(losses is not None and not np.isnan(losses).any(), f"losses {losses}")
        slopes, _ = attempt(made.derivative, y, z)
        check_numbers(slopes, "slopes")
        most = made.lipschitz
        require(bool((np.abs(slopes) <= most * (1 + 1e-12)).all()), f"steeper than {most}")
