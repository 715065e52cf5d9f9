"""Where streams are cut, from public facts alone."""

import numpy as np
import pytest

from skdp import DPLogisticRegression
from skdp.estimators import choose_for_stream
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.constraints import L1Ball, L2Ball, Simplex
from skdp.problem.losses import Hinge, Logistic, Softmax, Squared
from skdp.solvers import GD, Blocks, within_a_block


def cuts(solver, until, **facts):
    out = [0]
    while out[-1] < until:
        out.append(solver.cut_after(out[-1], **facts))
    return out[1:]


def problem(loss=None, d=9, **facts):
    target = TargetBounds(-1, 1) if loss is None else None
    return Problem(loss or Squared(), 100, d, RowBounds(1.0, 0.0, target), **facts)


def test_cuts_lead_to_the_horizon_and_double_beyond():
    assert cuts(Blocks(), 40_000, least=500, horizon=10_000) == [625, 2500, 10_000, 20_000, 40_000]
    assert cuts(Blocks(ratio=2), 999, least=100, horizon=1000) == [125, 250, 500, 1000]


def test_cuts_without_a_horizon_grow_from_the_first():
    assert cuts(Blocks(), 800, least=100) == [100, 200, 400, 800]
    assert cuts(Blocks(ratio=4.0), 1600, least=100) == [100, 400, 1600]


def test_short_streams_are_one_block():
    assert cuts(Blocks(), 50, least=100, horizon=50) == [50]


@pytest.mark.parametrize("horizon", [None, 1, 77, 1000, 10**6])
@pytest.mark.parametrize("ratio", [None, 1.01, 1.5, 3, 4])
@pytest.mark.parametrize("largest", [None, 1, 100, 333])
def test_cuts_are_positions_that_every_call_agrees_about(horizon, ratio, largest):
    solver = Blocks(ratio=ratio, largest=largest)
    found = cuts(solver, 2000, least=10, horizon=horizon)
    assert all(b > a for a, b in zip([0, *found], found, strict=False))
    if largest is not None:
        assert max(np.diff([0, *found])) <= largest
    if horizon is not None and horizon <= 2000:
        assert horizon in found
    # Wherever between two cuts one asks, the answer is the same.
    for before, after in list(zip([0, *found], found, strict=False))[:50]:
        middle = (before + after) // 2
        assert solver.cut_after(middle, least=10, horizon=horizon) == after


def test_long_blocks_are_cut_evenly():
    sizes = np.diff([0, *cuts(Blocks(largest=1000), 10_000, least=500, horizon=10_000)])
    assert sizes.tolist() == [625, 938, 937, *[938, 937] * 4]


def test_first_block_follows_parameters_and_budget():
    assert Blocks().least(problem(), 0.5) == 72
    assert Blocks().least(problem(Logistic()), 0.5) == 24
    assert Blocks().least(problem(Softmax(4)), 0.5) == 48
    assert Blocks(first=7).least(problem(), 0.5) == 7


def test_what_fits_a_block_is_the_solver_inside():
    assert within_a_block("blocks") == within_a_block("auto") == "auto"
    assert within_a_block(Blocks(solver="svrg")) == "svrg"
    assert within_a_block("gd") == "gd"
    assert within_a_block(GD(steps=3)) == GD(steps=3)


def test_choice_for_streams_is_by_public_facts():
    def chosen(solver="auto", buffer=True, **facts):
        return type(choose_for_stream(solver, problem(**facts), buffer=buffer)).option()

    assert chosen() == chosen(constraint=L2Ball(1.0)) == chosen(constraint=L1Ball(1.0)) == "blocks"
    assert chosen(buffer=False) == chosen(buffer=False, constraint=L2Ball(1.0)) == "ftrl"
    for vertices in (L1Ball(1.0), Simplex(1.0)):
        assert chosen(buffer=False, constraint=vertices) == "frank_wolfe"
        assert chosen(buffer=False, constraint=vertices, loss=Hinge()) == "ftrl"
    assert chosen("gd") == "gd"
    assert choose_for_stream(Blocks(ratio=3), problem(), buffer=True) == Blocks(ratio=3)


@pytest.mark.parametrize("inner", [None, "nonsense", [], 3])
def test_a_solver_of_blocks_that_is_none_is_refused(inner):
    X, y = np.eye(6)[:, :2], np.arange(6) % 2
    model = DPLogisticRegression(classes=[0, 1], data_norm=1.0, solver=Blocks(solver=inner))
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"needs a solver|'solver' parameter of Blocks"):
            learn(X, y)
    assert not hasattr(model, "privacy_spent_")
