"""What solvers refuse, in a sentence that names it, before anything is charged or read."""

from dataclasses import dataclass, replace
from math import inf, nan

import numpy as np
import pytest
from scipy.sparse import csr_array

from skdp.federated import Adjacent
from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.constraints import Box, L1Ball, L2Ball, NonNegative
from skdp.problem.losses import (
    Hinge,
    Huber,
    Logistic,
    OneVsRest,
    Pinball,
    Sigmoid,
    Softmax,
    Squared,
)
from skdp.problem.penalties import L1, L2, Tikhonov
from skdp.solvers import (
    DDA,
    FTRL,
    GD,
    PPM,
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
    QuantileGD,
    Screening,
    Spider,
    TrackedGD,
)

N, D = 300, 4
LABELS = Problem(Logistic(), N, D, RowBounds(1.0, 1.0))
SEVERAL = replace(LABELS, loss=Softmax(3))
SQUARED = Problem(Squared(), N, D, RowBounds(1.0, 1.0, TargetBounds(-1.0, 1.0)))
IDENTITY = RowMap(np.ones(D), None, np.zeros(D), 1.0)
MAPPED = RowBounds(1.0, 0.0, TargetBounds(-1.0, 1.0), row_map=IDENTITY)
IN_BALL = replace(LABELS, constraint=L2Ball(1.0))
SPARSE = replace(LABELS, constraint=L1Ball(1.0))
# Problems that solvers take which do not take labels.
TAKEN = {
    AccMD: IN_BALL,
    AdaSSP: SQUARED,
    OneStep: SQUARED,
    QuantileGD: replace(SQUARED, loss=Pinball((0.2, 0.7))),
    Screening: SQUARED,
    TrackedGD: replace(SQUARED, bounds=MAPPED),
}
OUT_OF_RANGE = {
    AccMD: {"steps": (0,), "total_step_size": (0,), "clip": (0,), "radius": (-1,), "geometry": ("round",)},
    AdaSSP: {"floor": (0.0, -1.0), "balance": (0.0, 2)},
    AdaptiveGD: {"steps": (0,), "fewest": (0,), "noise": (0,), "norm_share": (1,), "norms": (0,)},
    Blocks: {"ratio": (1.0,), "first": (0,), "largest": (0,), "warm": ("yes",), "solver": (3,)},
    DDA: {"noise": ("trust me",), "subsampling": (1e-300,)},
    FTRL: {"batches": (0,), "clip": (0.0,), "reach": (-1.0,), "momentum": (1.0,), "mechanism": ("gumbel",)},
    GD: {
        "steps": (0, 2.5, "many"), "total_step_size": (0, inf), "clip": (0.0, nan),
        "momentum": (1.0, -0.1), "average": (1.5, None), "decay": (0.0, 1.1), "schedule": ("best", 3),
        "batch_size": (0, 2.5),
    },
    ObjectivePerturbation: {"clip": (0.0, inf), "strength": (-1.0,)},
    PPM: {
        "stages": (0,), "steps": (0,), "total_step_size": (0,), "momentum": (1.0,),
        "schedule": ("late",),
    },
    PreconditionedGD: {"steps": (0,), "clip": (0.0,), "momentum": (1.0,), "average": (1.5,)},
    SVRG: {
        "steps": (0,), "growth": (0.5,), "share": (1.0,), "snapshot": ("first",),
        "batch_size": (0, 2.5),
    },
    Screening: {"k": (0,), "rounds": (0,), "share": (0.0, 1.0)},
    Spider: {"steps": (0,), "kappa": (3.0,), "stop": (1.0,)},
    TrackedGD: {"steps": (0,), "whole": (0.0, 1.0), "average": (2,)},
}  # fmt: skip


@dataclass(frozen=True)
class Rough(Huber):
    smoothness = inf


ROUGH = replace(SQUARED, loss=Rough())
# The solver, the problem, and words of the sentence.
UNSUITED = [
    (AccMD(), replace(IN_BALL, loss=Hinge()), "AccMD needs a smooth convex loss, got Hinge. Use the solver 'gd'"),
    *((kind(clip=inf), replace(SQUARED, constraint=L2Ball(1.0)), f"{kind.__name__} needs a finite clip for Squared") for kind in (AccMD, AdaptiveGD, GD, PPM, SVRG)),
    (Spider.from_theory(1.0, 1.0), replace(SQUARED, constraint=L2Ball(1.0)), "Spider needs a finite clip for Squared"),
    (FrankWolfe(clip=inf), replace(SQUARED, constraint=L1Ball(1.0)), "finite clip for Squared"),
    *((solver, problem, "^AdaSSP needs .* Use the solver 'gd'") for solver in [AdaSSP()] for problem in (
        replace(SQUARED, loss=Huber()), LABELS, replace(SQUARED, bounds=RowBounds(1.0, 1.0)),
        replace(SQUARED, penalty=L1(1.0)), replace(SQUARED, penalty=L2(1.0), constraint=Box(-1.0, 1.0)),
    )),
    (AdaptiveGD(steps=3, fewest=4), LABELS, "got fewest=4 and steps=3"),
    (AdaptiveGD(step=1.0, total_step_size=2.0), LABELS, "got step=1.0 and total_step_size=2.0"),
    (Blocks(solver="tracked_gd"), LABELS, "TrackedGD needs"),
    (DDA(adversary="final_model", activation=0.5), SQUARED, "idle sites amplify nothing"),
    (DDA(adversary="final_model", topology="ring"), SQUARED, "adversary='final_model'"),
    (DDA(adversary="final_model", noise="central"), SQUARED, "adversary='final_model'"),
    (DDA(subsampling=0.1, noise="pairwise"), SQUARED, "noise='local' for subsampling"),
    (DDA(noise="pairwise", activation=0.2), SQUARED, "at least 3 active sites"),
    (DDA(noise="secure_sum", colluders=10), SQUARED, "at least 11 active sites"),
    (DDA(n_nodes=N + 1), SQUARED, "at least one row a site"),
    (DDA(schedule="edges", activation=0.01), SQUARED, "two active sites"),
    (DDA(topology=Adjacent(((1,), (0,)))), SQUARED, "topology of 10 nodes"),
    (DDA(clip=inf), SQUARED, "finite clip"),
    (DDA(topology=np.ones((10, 10)) - np.eye(10)), SQUARED, r"ndarray\. .*Adjacent"),
    (DDA(topology=[[0, 1], [1, 0]]), SQUARED, r"got a list\. .*Adjacent"),
    (DDA(topology=csr_array(np.eye(2))), SQUARED, r"csr_array\. .*Adjacent"),
    (DualAveraging(), SQUARED, "needs a loss of classes, such as"),
    (DualAveraging(opening=0.5), LABELS, "DualAveraging needs several scores a row for an opening"),
    (FrankWolfe(), replace(LABELS, constraint=NonNegative()), "FrankWolfe needs .*bounded constraint.*'gd'"),
    (FrankWolfe(), replace(SPARSE, loss=Hinge()), "FrankWolfe needs .*smooth loss.*'gd'"),
    (FrankWolfe(), replace(IN_BALL, penalty=L1(0.1)), "FrankWolfe needs .*L1Ball or a Simplex to go with an l1 penalty.*'gd'"),
    (FrankWolfe(noise="gumbel"), IN_BALL, "FrankWolfe needs .*L1Ball or a Simplex to choose"),
    (FrankWolfe(), replace(SPARSE, penalty=Tikhonov(np.eye(D))), "FrankWolfe needs .*precondition=None"),
    (FrankWolfe(), replace(SPARSE, bounds=RowBounds(1.0, row_map=IDENTITY)), "FrankWolfe needs .*precondition=None"),
    *((kind(batch_size=N + 1), LABELS, f"{kind.__name__} needs a batch_size of at most the number of rows") for kind in (GD, SVRG)),
    (GD(schedule=()), LABELS, "non-empty vector"),
    (GD(schedule=(1.0, -1.0)), LABELS, "positive and finite; got -1.0"),
    (GD(schedule=(1.0, 2.0), steps=3), LABELS, "got steps=3 and 2 shares"),
    (GD(label_blind=True), SQUARED, "label_blind=False for targets that are no labels"),
    *((ObjectivePerturbation(), problem, f"^ObjectivePerturbation needs .*{way_out}") for problem, way_out in (
        (SEVERAL, "'gd', or one model for each class"), (SQUARED, r"'gd'\.$"),
        (replace(LABELS, loss=Sigmoid()), "a smooth convex loss for two classes, got Sigmoid.*'gd'"),
        (replace(LABELS, penalty=L1(1.0)), "'gd'"), (replace(LABELS, constraint=Box(-1.0, 1.0)), "'gd'"),
    )),
    *((OneStep(), problem, r"^OneStep needs .*[.]$") for problem in (
        replace(SQUARED, loss=Huber()), replace(LABELS, loss=OneVsRest(Logistic(), 3)),
        replace(LABELS, class_weight=(1.0, 2.0)), replace(LABELS, loss=Softmax(40), n_features=20),
        replace(SQUARED, penalty=L1(0.1)), replace(SQUARED, constraint=NonNegative()),
        replace(SQUARED, constraint=L2Ball(1.0)), replace(SQUARED, n_features=600),
    )),
    (PPM(schedule=(1.0, 2.0)), LABELS, "got stages=5 and 2 shares"),
    *((PreconditionedGD(), problem, "PreconditionedGD needs") for problem in (
        replace(LABELS, loss=Hinge()), replace(LABELS, penalty=L1(0.1)), IN_BALL,
    )),
    (QuantileGD(), SQUARED, "needs the pinball loss"),
    (SVRG(), ROUGH, r"SVRG needs a smooth loss.*got Rough. Use .* 'gd'"),
    (Screening(), replace(SQUARED, loss=Huber()), "Screening needs the squared loss, got Huber"),
    *((Screening(), replace(SQUARED, constraint=c), "on each coefficient alone that allows zero") for c in (L2Ball(1.0), Box(0.5, 1.0))),
    (Screening(), replace(SQUARED, penalty=Tikhonov(np.ones((D, D)))), "needs the user's features"),
    (Screening(), replace(SQUARED, bounds=MAPPED), "needs the user's features"),
    (Spider(gamma=1.0), LABELS, "Spider needs kappa along with gamma"),
    (Spider(), ROUGH, r"Spider needs a smooth loss.*got Rough. Use .* 'gd'"),
    (TrackedGD(), replace(LABELS, bounds=MAPPED), r"got Logistic\. Use the solver 'gd'"),
]  # fmt: skip
REFUSED = [
    (kind(**{name: value}), TAKEN.get(kind, LABELS), f"The '{name}' parameter of {kind.__name__} must be")
    for kind, of_kind in OUT_OF_RANGE.items()
    for name, values in of_kind.items()
    for value in values
] + UNSUITED  # fmt: skip


@pytest.mark.parametrize(("solver", "problem", "words"), REFUSED, ids=lambda given: str(given)[:60])
def test_what_a_solver_cannot_take_is_refused_before_anything_is_charged(solver, problem, words):
    with pytest.raises(ValueError, match=words):
        solver.check(problem)
    ledger = Ledger(1.0, 1e-5, calculus=solver.calculus)
    rows = DenseRows(np.zeros((N, problem.n_features)), np.zeros(N))
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, SystemNoise())
    with pytest.raises(ValueError, match=words):
        solver.solve(problem, oracle.for_problem(problem), np.random.default_rng(0))
    assert ledger.receipt() == ()


TAKES = [(kind(), TAKEN.get(kind, LABELS)) for kind in OUT_OF_RANGE] + [
    (GD(clip=inf), replace(SQUARED, loss=Huber())),
    (GD(clip=5.0), SQUARED),
    (OneStep(), replace(SQUARED, penalty=L2(0.1))),
]


@pytest.mark.parametrize(("solver", "problem"), TAKES, ids=lambda given: str(given)[:60])
def test_what_differs_in_nothing_that_is_refused_is_taken(solver, problem):
    solver.check(problem)
