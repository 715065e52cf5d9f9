"""Checks of the claims that privacy rests on, for new queries, noise sources and estimators.

Each check raises ``AssertionError`` with the numbers that contradict the claim. Passing is evidence
and not proof: the proof belongs in the docstring of what is checked.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable
from math import fsum, inf, isfinite
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy import stats

from ..exceptions import BudgetExceededError
from ..privacy.accounting.calculus import (
    Calculus,
    GaussianDP,
    PerturbedGaussianDP,
    PureDP,
    ZeroConcentratedDP,
)
from ..privacy.accounting.events import Event, Part
from ..privacy.accounting.ledger import Ledger, Spend
from ..privacy.adjacency import Adjacency
from ..privacy.oracle import Oracle, PrivateOracle
from ..privacy.queries.base import GumbelQuery, Query
from ..privacy.randomness import SecretNoise, SystemNoise
from ..privacy.rows.base import BlockStore, RowStore
from ..privacy.rows.bounded_rows import RawBlock
from ..privacy.rows.chunked import ChunkedRows, Chunks
from ..privacy.rows.in_memory import DenseRows, SparseRows
from ..problem.problem import Problem

# Room for the rounding of sums of a few rows; a norm taken in single precision exceeds it.
_ROUNDING = 1e-11
_LARGEST_SINGLE = float(np.finfo(np.float32).max)
# By which the parts of a stream may be added up.
_CALCULI = (GaussianDP(), ZeroConcentratedDP(), PerturbedGaussianDP())


def row_stores(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, RowStore]:
    """Stores of the given rows, one in every layout that a row store can have.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features in double precision; single precision layouts bring entries into their range.
    y : ndarray of shape (n,)
        Encoded targets.
    weights : ndarray of shape (n,), optional
        Weights of the rows, in units of the largest that counts.

    Returns
    -------
    dict of str to RowStore
        By name: C and Fortran order, both precisions, CSR with and without entries that are
        stored in two parts, and chunks.
    """
    single = np.clip(X, -_LARGEST_SINGLE, _LARGEST_SINGLE).astype(np.float32)
    half = len(X) // 2
    own = () if weights is None else (weights,)
    pieces = [tuple(part[half:] for part in (X, y, *own))]
    if half:
        pieces.insert(0, (sp.csr_array(X[:half]), *(part[:half] for part in (y, *own))))
    return {
        "dense": DenseRows(np.ascontiguousarray(X), y, *own),
        "fortran": DenseRows(np.asfortranarray(X), y, *own),
        "dense, single": DenseRows(single, y, *own),
        "csr": SparseRows(sp.csr_array(X), y, *own),
        "csr, single": SparseRows(sp.csr_array(single), y, *own),
        "csr, entries in parts": SparseRows(_in_parts(X), y, *own),
        "chunks": ChunkedRows(Chunks(pieces), lambda targets: targets, tables=True),
    }


def check_sensitivity(
    query: Query,
    X: np.ndarray,
    y: np.ndarray,
    other_X: np.ndarray,
    other_y: np.ndarray,
    adjacency: Adjacency,
    weights: np.ndarray | None = None,
    other_weights: np.ndarray | None = None,
) -> float:
    """Compare exact answers on data sets that differ in one row, in every layout.

    Answers move in l2; the scores of a choice with Gumbel noise move by the range of their changes,
    which is the most by which the difference of two of them changes.

    Under replace-one, row i of X gives way to row i of ``other_X``, for each i in turn; under
    zero-out it is left out, while the query goes on dividing by its public number of rows.

    Parameters
    ----------
    query : Query
        The query.
    X : ndarray of shape (n, d)
        Features, n at least 2.
    y : ndarray of shape (n,)
        Encoded targets.
    other_X : ndarray of shape (n, d)
        Features of the rows that come in.
    other_y : ndarray of shape (n,)
        Their targets.
    adjacency : Adjacency
        Neighbouring relation.
    weights : ndarray of shape (n,), optional
        Weights of the rows, in units of the largest that counts.
    other_weights : ndarray of shape (n,), optional
        Weights of the rows that come in; to be given with those of the others.

    Returns
    -------
    float
        Largest move as a share of the declared sensitivity. Random rows may stay far below 1, so
        a test should also come close to 1 on rows that were made for it.

    Raises
    ------
    AssertionError
        If an answer moves further than declared.
    """
    declared = query.sensitivity(adjacency)
    assert isfinite(declared), f"{query.name} declares no finite sensitivity"
    assert declared > 0, f"{query.name} declares the sensitivity {declared}"
    measure = np.ptp if isinstance(query, GumbelQuery) else np.linalg.norm
    data, other = [X, y], [other_X, other_y]
    if weights is not None and other_weights is not None:
        data, other = [*data, weights], [*other, other_weights]
    answers = _answers(query, *data)
    largest = 0.0
    for i in range(len(X)):
        if adjacency is Adjacency.REPLACE_ONE:
            near = [part.copy() for part in data]
            for part, others in zip(near, other, strict=True):
                part[i] = others[i]
        else:
            near = [np.delete(part, i, axis=0) for part in data]
        for layout, answer in _answers(query, *near).items():
            change = answer - answers[layout]
            move = float(measure(change)) / declared
            assert move <= 1 + _ROUNDING, (
                f"{query.name} moved by {move:.15g} times its declared sensitivity {declared:.6g} "
                f"under {adjacency.value} ({layout}, row {i})"
            )
            largest = max(largest, move)
    return largest


def check_noise(
    draw: Callable[[], np.ndarray],
    scale: float,
    *,
    repeats: int = 1,
    false_alarm: float = 1e-9,
) -> None:
    """Test that draws are independent normals of mean 0 and a given standard deviation.

    Half of the false alarms are left to a two-sided chi-square test of the mean square, which sees
    a wrong scale, and half to a Kolmogorov-Smirnov test, which sees a wrong centre or shape.

    Parameters
    ----------
    draw : callable
        Returns an array of fresh noise, for example an answer minus the exact one.
    scale : float
        Claimed standard deviation.
    repeats : int, default=1
        How often to draw.
    false_alarm : float, default=1e-9
        Probability of failing although the claim is true.

    Raises
    ------
    AssertionError
        If one of the tests rejects.
    """
    z = np.concatenate([np.ravel(draw()) for _ in range(repeats)]) / scale
    square = float(z @ z)
    tail = min(stats.chi2.cdf(square, z.size), stats.chi2.sf(square, z.size))
    measured = f"standard deviation {np.sqrt(square / z.size):.4g} times the claimed {scale:.6g}"
    assert tail >= false_alarm / 4, f"noise has {measured}, over {z.size} draws"
    fit = stats.kstest(z, "norm").pvalue
    assert fit >= false_alarm / 2, f"noise is not normal around 0 (p={fit:.2g}); it has {measured}"


def check_pays_before_looking(
    ask: Callable[[Oracle, Spend], object],
    problem: Problem,
    adjacency: Adjacency,
    *,
    calculus: Calculus | None = None,
) -> None:
    """Check that one query is charged what was allowed, and before rows are read.

    The rows cannot be read: the first attempt fails. What was charged then was charged before.

    Parameters
    ----------
    ask : callable
        Asks the oracle one query for one spend.
    problem : Problem
        Public facts.
    adjacency : Adjacency
        Neighbouring relation.
    calculus : Calculus, default=GaussianDP()
        How the charge is counted.

    Raises
    ------
    AssertionError
        If the charge is missing, late, larger than the spend, smaller by more than 1e-9 of it, or
        taken back; or if a query that is too dear is answered, recorded or reads rows.
    """
    rows = _UnreadableRows(problem)
    ledger = Ledger(1.0, 1e-5, calculus=calculus)
    oracle = PrivateOracle(rows, ledger, adjacency, SystemNoise()).for_problem(problem)
    spend = Spend(ledger.limit / 2)
    try:
        ask(oracle, spend)
    except _ReadError:
        pass
    except BudgetExceededError as refusal:
        raise AssertionError(f"half of the budget did not suffice for itself: {refusal}") from None
    else:
        raise AssertionError("the query was answered without reading rows")
    charged = ledger.total / spend.amount
    assert charged > 0, "rows were read before anything was charged"
    assert 1 - 1e-9 <= charged <= 1, f"the charge was {charged:.15g} times the spend"

    before, reads = ledger.receipt(), rows.reads
    try:
        ask(oracle, Spend(2 * ledger.limit))
    except BudgetExceededError:
        pass
    except _ReadError:
        raise AssertionError("rows were read although the budget does not suffice") from None
    else:
        raise AssertionError("a query was answered although the budget does not suffice")
    assert rows.reads == reads, "a refused query read rows"
    assert ledger.receipt() == before, "a refused query was recorded"


def check_fork(noise: SecretNoise, size: int = 1000) -> None:
    """Check that a forked child and its parent never draw the same normals.

    Parameters
    ----------
    noise : SecretNoise
        The source. It is used before the fork, so that normals drawn ahead exist.
    size : int, default=1000
        How many normals each process draws.

    Raises
    ------
    AssertionError
        If a normal occurs on both sides. By chance this happens once in 10^9 checks.
    """
    noise.normal(1)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, noise.normal(size).tobytes())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        theirs = np.frombuffer(pipe.read(), dtype=np.float64)
    os.waitpid(child, 0)
    assert theirs.size == size, "the child drew no noise"
    shared = np.intersect1d(theirs, noise.normal(size)).size
    assert shared == 0, f"{shared} of {size} normals were drawn by parent and child alike"


def check_seed_stays_behind(fitted: Any, seed: int) -> None:
    """Check that the seed of a fitted model does not travel with it.

    Parameters
    ----------
    fitted : estimator
        Fitted with ``random_state=seed``.
    seed : int
        A number that occurs nowhere else in the model.

    Raises
    ------
    AssertionError
        If an unpickled copy knows the seed, or if the pickle holds the number at all.
    """
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        packed = pickle.dumps(fitted, protocol)
        assert pickle.loads(packed).random_state is None, "the pickled model keeps its seed"
        assert seed.to_bytes(4, "little") not in packed, "the seed is somewhere in the pickle"


def check_parts(model: Any) -> None:
    """Check a receipt: parts have no row in common, and the dearest one is what was spent.

    Events of an earlier fit, which name no part, count for each of the parts. Prices are recomputed
    from the events alone. Which calculus added them up is not on the receipt, so one that has a
    price for all of them has to give what is reported.

    Parameters
    ----------
    model : estimator
        In the middle of a stream.

    Raises
    ------
    AssertionError
        If the receipt is wrong.
    """
    events: dict[Part, list[Event]] = {}
    earlier = [event for event in model.privacy_ledger_ if event.part is None]
    for event in model.privacy_ledger_:
        if event.part is not None:
            events.setdefault(event.part, [*earlier]).append(event)
    stop = 0
    for part in sorted(events, key=lambda part: part.start):
        assert part.start >= stop, f"rows {part.start} to {stop} are in two parts"
        assert part.stop > part.start, f"{part} has no row"
        stop = part.stop
    spent = model.privacy_spent_.epsilon
    found = [
        max(_epsilon(part, model.delta_, c) for part in (earlier, *events.values()))
        for c in (_CALCULI if model.delta_ else [PureDP()])
    ]
    # What is the budget but for rounding is reported as the budget.
    assert any(abs(spent - epsilon) <= 1e-6 * epsilon for epsilon in found), (
        f"{spent} is reported where {found} was spent"
    )
    assert earlier or spent <= model.epsilon


def _epsilon(events: list[Event], delta: float, calculus: Calculus) -> float:
    """The epsilon of one part; infinity if the calculus has no price for what it holds."""
    try:
        return calculus.epsilon(fsum(e.count * calculus.cost(e) for e in events), delta)
    except TypeError:
        return inf


class _ReadError(Exception):
    """Rows were asked for."""


class _UnreadableRows(BlockStore):
    resident: ClassVar[bool] = False

    def __init__(self, problem: Problem) -> None:
        self.n_samples, self.n_features = problem.n_samples, problem.n_features
        self.reads = 0

    def blocks(self) -> Iterable[RawBlock]:
        self.reads += 1
        raise _ReadError


def _answers(query: Query, *data: np.ndarray) -> dict[str, np.ndarray]:
    return {layout: query.evaluate(rows) for layout, rows in row_stores(*data).items()}


def _in_parts(X: np.ndarray) -> sp.csr_array:
    """CSR with each entry stored as two halves: the norm of the parts is less than the norm."""
    n, d = X.shape
    columns = np.tile(np.concatenate([np.arange(d)[::-1], np.arange(d)]), n)
    halves = np.concatenate([0.5 * X[:, ::-1], 0.5 * X], axis=1).ravel()
    return sp.csr_array((halves, columns, 2 * d * np.arange(n + 1)), shape=(n, d))
