"""Blocks of a stream that build on the blocks before: what they spare, and when they do not."""

import numpy as np
import pytest
from scipy.special import expit

from skdp import DPLogisticRegression
from skdp.estimators import Coordinates
from skdp.solvers import Blocks, PreconditionedGD

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 32_000, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) / np.sqrt(D)
Y = (RNG.uniform(size=N) < expit(X @ [3.0, -3.0, 3.0, -3.0])).astype(int)


def model(**options):
    settings = {"epsilon": 4.0, "delta": 1e-6, "data_norm": 1.5, "classes": [0, 1]}
    return DPLogisticRegression(**settings | {"random_state": 0} | options)


def followed(made, cuts):
    """The plan of each block that ends at a cut, and the events of its part of the ledger."""
    found, start = [], 0
    for stop in cuts:
        made.partial_fit(X[start:stop], Y[start:stop])
        events = [e for e in made.privacy_ledger_ if e.part.stop == stop]
        found.append((made.plan_, {e.query: e.count for e in events}, made.n_iter_[0]))
        start = stop
    return found


CUTS = [500, 2000, 8000, N]


def test_later_blocks_keep_coordinates_and_take_fewer_steps_as_planned():
    blocks = followed(model(horizon=N, solver=Blocks(first=500)), CUTS)
    for plan, spent, steps in blocks:
        coordinates = plan.stage(Coordinates)
        assert coordinates.kept == ("second_moments" not in spent)
        assert coordinates.kept == (coordinates.share == 0)
        assert ("as they were found before" in str(plan)) == coordinates.kept
        assert spent["gradient"] == steps
    assert [plan.stage(Coordinates).kept for plan, *_ in blocks] == [False, False, True, True]
    assert [plan.solver.follows for plan, *_ in blocks] == [False, True, True, True]
    # White features take six, and before the last there is too little evidence for fewer.
    assert [steps for *_, steps in blocks] == [24, 6, 6, 4]


def test_without_the_blocks_before_each_looks_and_steps_by_itself():
    blocks = followed(model(solver=Blocks(first=8000, warm=False)), [8000, 16_000, N])
    for plan, spent, steps in blocks:
        assert spent["second_moments"]
        assert not plan.stage(Coordinates).kept
        assert not plan.from_model
        assert steps >= 6


def test_a_stream_is_as_accurate_as_one_whose_blocks_keep_nothing():
    kept = model(horizon=N).partial_fit(X, Y)
    alone = model(solver=Blocks(first=N // 4, ratio=4, warm=False)).partial_fit(X, Y)
    for found in (kept, alone):
        z = found.decision_function(X)
        assert np.mean(np.logaddexp(0, z) - Y * z) < 0.52
    assert abs(kept.score(X, Y) - alone.score(X, Y)) < 0.01


def test_another_fit_looks_itself_though_it_starts_from_an_earlier_model():
    made = model(warm_start=True).fit(X, Y)
    before = sum(e.query == "second_moments" for e in made.privacy_ledger_)
    made.fit(X, Y)
    assert sum(e.query == "second_moments" for e in made.privacy_ledger_) == 2 * before
    assert made.plan_.from_model
    assert not made.plan_.solver.follows


@pytest.mark.parametrize(
    ("n", "steps"), [(1000, "all"), (N, "half")], ids=["little evidence", "evidence"]
)
def test_half_of_the_steps_follow_where_there_is_evidence(n, steps):
    options = {"precondition": "diagonal", "epsilon": 1.0}
    found = {}
    for follows in (False, True):
        solver = PreconditionedGD(follows=follows)
        made = model(solver=solver, **options).fit(X[:n], Y[:n])
        found[follows] = made.n_iter_[0]
    assert found[True] == (found[False] if steps == "all" else found[False] // 2)
