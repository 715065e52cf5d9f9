"""A stream for each arm of a bandit, all of which take their steps together."""

from __future__ import annotations

from dataclasses import replace
from typing import final

import numpy as np

from ..accounting.events import Event
from ..accounting.ledger import Ledger, Spend
from ..adjacency import Adjacency
from ..randomness import public_generator
from ..rows.in_memory import DenseRows
from ..streams.stream import Stream
from .base import ArmSession


@final
class ArmStreams(ArmSession):
    """Every arm has a stream of its own, fed with its users' rows and with rows of zeros.

    Each user is one row of every stream: the user's own in that of the arm that was pulled, zeros,
    whose gradient is zero, in all others (except that while arms are forced in turn only the stream
    of that arm is fed, with zeros if another one was pulled). Streams are opened at the price at
    which one of them alone would be private.

    Guarantees
    ----------
    - *Factor 1.* All streams together cost what one costs: a user who is replaced is another row in
      one of them, or a row against zeros in two, each of which costs a quarter then. Proof:
      *Streams of arms* in ``docs/proofs/bandits.md``.
    """

    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        problem, plan, public_rng = self._problem, self._plan, public_generator(0)
        assert plan.problem is not None
        updates = plan.updates(problem.n_arms)
        alone = replace(plan.problem, n_samples=updates)
        self._streams = []
        for k in range(problem.n_arms):
            if problem.initial is not None:
                alone = replace(alone, initial=problem.initial[k])
            ledger = Ledger(problem.epsilon, problem.delta, calculus=plan.calculus)
            opened = (alone, plan.solver, ledger, adjacency, self._noise, public_rng)
            self._streams.append(Stream(*opened, updates))
        # The price of one, which the ledger of the run refuses if it has less left than that.
        del spend
        (event,) = ledger.receipt()
        return event

    def _sums(self, *at: np.ndarray) -> np.ndarray:
        """Weights of all arms, which streams release themselves once they have the block's rows."""
        V, arms, y = self._users()
        targets = 0.5 + 0.5 * y if self._problem.logistic else y
        for k in range(len(self._streams)) if self._turn is None else [self._turn]:
            mine = (arms == k).astype(np.float64)
            self._streams[k].feed(DenseRows(V * mine[:, np.newaxis], targets * mine))
        return np.stack([stream.solution.w for stream in self._streams])

    def _release(self, sums: np.ndarray) -> np.ndarray:
        return sums
