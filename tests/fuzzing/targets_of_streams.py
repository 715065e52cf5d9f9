"""Fuzzing of streams: checkpoints, and the streams that drive solvers."""

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from fuzzing.inputs import NONSENSE, SECRET
from fuzzing.properties import (
    attempt,
    charged_ledgers,
    check_amount,
    check_numbers,
    check_receipt,
    require,
)
from hypothesis import strategies as st
from sklearn.base import clone

from skdp import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
    load_checkpoint,
    save_checkpoint,
)
from skdp.privacy import Adjacency, SeededNoise
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows
from skdp.privacy.streams import Stream
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.constraints import Box, L1Ball, L2Ball, Unconstrained
from skdp.problem.losses import Huber, Logistic, Squared
from skdp.problem.penalties import L1, L2, NoPenalty
from skdp.solvers import FTRL, Blocks, FrankWolfe

_D = 3
_STREAMS = {
    DPLogisticRegression: {"data_norm": 2.0, "classes": [0, 1]},
    DPSVMClassifier: {"data_norm": 2.0, "classes": [0, 1]},
    DPLinearRegression: {"data_norm": 2.0, "target_bounds": (-1, 1)},
    DPLassoRegressor: {"feature_bound": 1.0, "target_bounds": (-1, 1)},
    DPContextualBandit: {"arms": [0, 1], "data_norm": 2.0, "horizon": 500},
}
_SOLVERS = ["auto", "gd", "ftrl", Blocks(first=30), Blocks(first=7, ratio=1.5), FTRL(batches=5)]


@st.composite
def checkpoint_cases(draw):
    """A model, rows before and after, and what becomes of the file."""
    kind = draw(st.sampled_from(list(_STREAMS)))
    options = _STREAMS[kind] | {"random_state": draw(st.sampled_from([0, 0, None]))}
    if kind is DPContextualBandit:
        options["policy"] = draw(st.sampled_from(["auto", "ftrl", "gd", "hdb", "blocks"]))
        if options["policy"] == "hdb":
            options["feature_bound"] = 1.0
    else:
        options["solver"] = draw(st.sampled_from(_SOLVERS))
        options["horizon"] = draw(st.sampled_from([None, 100, 400]))
        options["buffer"] = draw(st.sampled_from([True, True, False]))
    sizes = draw(st.tuples(st.integers(0, 120), st.integers(1, 60), st.integers(1, 60)))
    damage = draw(
        st.sampled_from(
            ["none"] * 4 + ["cut", "flip", "flip", "longer", "other", "folder", "taken", "nonsense"]
        )
    )
    return kind(**options), sizes, damage, draw(st.floats(0, 1)), draw(st.integers(0, 2**16))


def _learn(model, n, public_rng):
    X = public_rng.uniform(-1, 1, size=(n, _D))
    X[-1:, -1] = SECRET
    y = public_rng.integers(0, 2, size=n)
    columns = (X, y, y * 1.0) if isinstance(model, DPContextualBandit) else (X, y)
    return attempt(model.partial_fit, *columns)


def _published(model):
    return {
        name: np.asarray(value) if name != "privacy_ledger_" else value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_")
    }


def _same(one, other):
    if one.keys() != other.keys():
        return False
    return all(np.array_equal(one[k], other[k]) for k in one if one[k] is not other[k])


def check_checkpoint(case):
    """One stream in one place: it goes on as if nothing had been, or nowhere."""
    model, (before, between, after), damage, where, number = case
    public_rng = np.random.default_rng(number)
    twin = clone(model)
    for start in (model, twin):
        same = np.random.default_rng(number)
        if before:
            _learn(start, before, same)
        _learn(start, between, same)
    with TemporaryDirectory() as folder:
        _move(model, twin, Path(folder), damage, where, after, public_rng)


def _move(model, twin, folder, damage, where, after, public_rng):
    path = folder / "stream"
    if damage in ("taken", "folder"):
        path.mkdir() if damage == "folder" else path.write_bytes(b"mine")
    given = NONSENSE[int(where * (len(NONSENSE) - 1))] if damage == "nonsense" else path
    if damage == "nonsense" and isinstance(given, int | np.integer | str | bytes):
        return  # Numbers name open files of this process, and words name files.
    published = _published(model)
    _, refusal = attempt(save_checkpoint, model, given, also=(OSError,))
    require(_same(_published(model), published), "saving changed the model")
    if refusal is not None:
        if damage == "taken":
            require(path.read_bytes() == b"mine", "another file was overwritten")
        # The stream stays, if there is one.
        outcomes = [_learn(one, after, np.random.default_rng(1))[1] for one in (model, twin)]
        require(len({type(one) for one in outcomes}) == 1, f"a refused one differs: {outcomes}")
        return
    require(damage not in ("taken", "folder", "nonsense"), f"saved to {given!r}")
    _, again = attempt(save_checkpoint, model, folder / "second")
    require(isinstance(again, ValueError), "saved twice")
    require(not (folder / "second").exists(), "a refusal left a file")
    content = path.read_bytes()
    at = min(int(where * len(content)), len(content) - 1)
    if damage == "cut":
        path.write_bytes(content[:at])
    elif damage == "flip":
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x20]) + content[at + 1 :])
    elif damage == "longer":
        path.write_bytes(content + content[at:])
    elif damage == "other":
        path.write_bytes(content[:at] + pickle.dumps({"a": 1}))
    damaged = path.read_bytes()
    if damaged != content:
        _, failure = attempt(load_checkpoint, path)
        require(isinstance(failure, ValueError), "a damaged file was loaded")
        require(path.read_bytes() == damaged, "a refusal took the file away")
        require(len(list(folder.iterdir())) == 1, "a refusal left a file")
        path.write_bytes(content)
    loaded, failure = attempt(load_checkpoint, path)
    require(failure is None, f"not loaded: {failure!r}")
    require(not list(folder.iterdir()), "the stream is in two places")
    _, again = attempt(load_checkpoint, path, also=(FileNotFoundError,))
    require(isinstance(again, FileNotFoundError), "loaded twice")
    require(_same(_published(loaded), published), "the loaded model differs")
    _go_on(model, loaded, twin, after, int(public_rng.integers(2**16)))


def _go_on(model, loaded, twin, after, number):
    with charged_ledgers() as ledgers:
        _, mine = _learn(loaded, after, np.random.default_rng(number))
    if not isinstance(loaded, DPContextualBandit):
        check_receipt(loaded, ledgers)
    _, other = _learn(twin, after, np.random.default_rng(number))
    require(type(mine) is type(other), f"goes on differently: {mine!r} and {other!r}")
    if twin.random_state is not None:
        one, two = _published(loaded), _published(twin)
        require(_same(one, two), "goes on with other noise")
    _learn(loaded, after, np.random.default_rng(number))
    if not isinstance(model, DPContextualBandit) and not vars(model)["_progress"].streaming:
        return  # Each call is a fit of its own, which needs nothing that has moved.
    _, stayed = _learn(model, after, np.random.default_rng(number))
    require(stayed is not None, "goes on in two places")


@st.composite
def stream_cases(draw):
    """A problem, a solver, the length of a stream and how its rows come."""
    horizon = draw(st.one_of(st.none(), st.integers(-1, 300)))
    loss = draw(st.sampled_from([Squared(), Logistic(), Huber(0.5)]))
    penalty = draw(st.sampled_from([NoPenalty(), L2(0.1), L1(0.01)]))
    ball = draw(st.sampled_from([Unconstrained(), L2Ball(1.0), L1Ball(2.0), Box(-1.0, 1.0)]))
    solver = draw(st.sampled_from([FTRL(), FTRL(batches=3), FrankWolfe(), FTRL(average=0.0)]))
    budget = draw(st.sampled_from([(1.0, 1e-5), (50.0, 1e-9), (1e-3, 1e-5)]))
    sizes = draw(st.lists(st.integers(1, 90), max_size=6))
    relation = draw(st.sampled_from(list(Adjacency)))
    return horizon, loss, penalty, ball, solver, budget, sizes, relation, draw(st.integers(0, 99))


def check_stream(case):
    """Rows are counted, models are finite, every part has a ledger that is paid."""
    horizon, loss, penalty, ball, solver, budget, sizes, relation, number = case
    public_rng = np.random.default_rng(number)
    bounds = RowBounds(1.0, target=None if isinstance(loss, Logistic) else TargetBounds(-1.0, 1.0))
    problem = Problem(loss, 100, _D, bounds, penalty=penalty, constraint=ball)
    calculus = solver.calculus_for_stream(problem, *budget, relation)
    ledger = Ledger(*budget, calculus=calculus)
    made, refusal = attempt(
        Stream, problem, solver, ledger, relation, SeededNoise(public_rng), public_rng, horizon
    )
    if refusal is not None:
        require(not ledger.receipt(), "a refusal was charged")
        return
    for n in sizes:
        seen, left = made.seen, None if horizon is None else horizon - made.seen
        X = public_rng.uniform(-1, 1, size=(n, _D)) / np.sqrt(_D)
        y = public_rng.integers(0, 2, size=n).astype(float)
        _, refusal = attempt(made.feed, DenseRows(X, y))
        require(made.seen == seen + n * (refusal is None), "rows are lost")
        require(refusal is None or (left is not None and n > left), f"refused: {refusal!r}")
        check_numbers(made.solution.w, "the model")
        for _, paid in made.receipts:
            require(len(paid.receipt()) > 0, "a part for nothing")
            check_amount(paid.spent().epsilon, "spent", budget[0])
    require(horizon is None or made.seen <= horizon, "beyond the horizon")
    starts = [length for length, _ in made.receipts]
    require(horizon is not None or made.seen <= sum(starts), "rows that no part has paid for")
