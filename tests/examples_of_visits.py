"""Streams of persons, and how far one of them moves what is released."""

import numpy as np
from factors_of_prefix_sums import strategy
from known_noise import Silence

from skdp import DPLogisticRegression
from skdp.privacy import Adjacency, PrivateOracle, opened_by
from skdp.privacy.accounting import Ledger, Spend, ZeroConcentratedDP
from skdp.privacy.rows import DenseRows
from skdp.privacy.streams import Call, Stream, StreamOpening, StreamPlan, StreamRequest, Visits
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Logistic
from skdp.solvers import GD, Blocks, Solution, StreamingSolver

D, BATCH, RELEASES, CLIP = 2, 3, 6, 0.25
# The row that moves most, and the one that moves most the other way.
FAR, BACK = (np.array([1.0, 0.0]), 0.0), (np.array([-1.0, 0.0]), 0.0)


class Still:
    """Stays at zero, where the derivative of a row is at its clip."""

    def __init__(self):
        self.answers = []

    def request(self):
        return StreamRequest(BATCH, np.zeros(D))

    def learn(self, answer):
        self.answers.append(answer)

    @property
    def solution(self):
        return Solution(np.zeros(D), 0)


class Standing(StreamingSolver):
    """Asks the same of all batches."""

    def __init__(self, mechanism):
        object.__setattr__(self, "mechanism", mechanism)

    def check(self, problem):
        pass

    def solve(self, problem, oracle, rng):
        raise NotImplementedError

    def plan(self, problem, mu):
        return StreamPlan(RELEASES, CLIP, self.mechanism)

    def learner(self, problem, plan, deviation, before):
        return Still()


def opened(max_visits, mechanism="toeplitz", adjacency=Adjacency.REPLACE_ONE):
    """A stream of 18 persons in 6 batches, whose noise is zero."""
    problem = Problem(Logistic(), BATCH * RELEASES, D, RowBounds(1.0))
    opened = problem, Standing(mechanism), Ledger(1.0, 1e-5), adjacency, Silence()
    return Stream(*opened, BATCH * RELEASES, visits=Visits(max_visits))


def sums(max_visits, calls, **facts):
    """All exact running sums, and what the stream was charged for."""
    stream = opened(max_visits, **facts)
    for X, y, labels in calls:
        stream.feed(Call(DenseRows(np.array(X), np.array(y)), labels))
    ((_, ledger),) = stream.receipts
    return np.array(stream.learner.answers), ledger.receipt()[0]


def calls_with(person, visits, rows=1, others=7, single=False):
    """Calls of one batch, or of one person each; the person comes in the first place to some.

    Parameters
    ----------
    person : tuple
        Row and target of the person.
    visits : collection of int
        Batches to which the person comes.
    rows : int
        Number of rows of the person at each visit.
    others : int
        Seed of the rows of others.
    single : bool
        Whether each person comes in a call of its own.
    """
    rng, calls = np.random.default_rng(others), []
    for k in range(RELEASES):
        slots = [(BATCH * k + i, rng.uniform(-0.7, 0.7, D), rng.integers(2)) for i in range(BATCH)]
        parts = [[(label, x, float(y))] for label, x, y in slots]
        if k in visits:
            parts[0] = [(-1, *person)] * rows
        for call in parts if single else [[row for part in parts for row in part]]:
            labels, X, y = zip(*call, strict=True)
            calls.append((X, y, list(labels)))
    return calls


def mu_of_move(found, moved, event, mechanism):
    """What somebody who sees all sums can tell by this move, in mu; and what was charged."""
    terms = np.diff(moved - found, axis=0, prepend=np.zeros((1, *found.shape[1:])))
    seen = strategy(mechanism) @ terms.reshape(len(terms), -1)
    charged = event.sensitivity * event.column_norm / event.noise_scale
    return np.linalg.norm(seen) / event.noise_scale, charged


def choices_pay_for_all_visits():
    """A person who comes to three batches moves the scores of all later choices three times."""
    problem = Problem(Logistic(), BATCH * RELEASES, D, RowBounds(1.0), constraint=L1Ball(1.0))
    plan, spend = StreamPlan(RELEASES, CLIP, StreamPlan.GUMBEL), Spend(0.5)
    for adjacency, other in ((Adjacency.REPLACE_ONE, BACK), (Adjacency.ZERO_OUT, (np.zeros(D), 0))):
        opening = StreamOpening(problem, plan, adjacency, spend, max_visits=3)
        query, event = opening.query(StreamRequest(BATCH, np.zeros(D))), opening.event
        one, two = (
            query.evaluate(DenseRows(x[None], np.array([float(y)]))) for x, y in (FAR, other)
        )
        moved = 3 * np.ptp(one - two)
        assert moved <= event.sensitivity, "a person can tell more than was charged by coming again"
        assert ZeroConcentratedDP().cost(event) * event.count <= spend.amount * (1 + 1e-9)


def who_comes_before_a_cut_is_drawn(before=0):
    """A block of twenty ends among thirty people, of whom so many come in an earlier call."""
    X, found = np.repeat(np.linspace(-0.5, 0.5, 30), 2)[:, None], []

    def noting(rows, ledger, adjacency, noise):
        found.append({x for block in rows.blocks() for x in block.X[:, 0].tolist()})
        return PrivateOracle(rows, ledger, adjacency, noise)

    facts = {"data_norm": 2.0, "classes": [0, 1], "precondition": None, "max_visits": 1}
    for seed in (0, 1):
        solver = Blocks(first=20, solver=GD(steps=1))
        model = DPLogisticRegression(solver=solver, random_state=seed, **facts)
        people, y = np.arange(60) // 2, (X[:, 0] > 0) * 1
        with opened_by(noting):
            for call in (people < before, people >= before):
                if call.any():
                    model.partial_fit(X[call], y[call], privacy_unit=people[call])
    one, other = found
    assert len(one) == len(other) == 20
    assert one != other, "whoever came first is in the first block, whatever the noise"
