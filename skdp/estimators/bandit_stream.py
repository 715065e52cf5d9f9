"""What lies between two calls of a bandit's ``partial_fit``: a public note, a secret session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ..bandit_plans import Plan, StreamsPlan
from ..bandit_problem import BanditProblem
from ..privacy.adjacency import Adjacency
from ..privacy.arms.opening import SESSIONS, open_session
from ..privacy.claims import Claim
from ..privacy.ledger import Ledger
from ..privacy.randomness import SecretNoise
from ..streams.arms import ArmStreams
from .homes import Home

if TYPE_CHECKING:
    from .bandit_base import PrivateBandit

__all__ = ["BanditStream", "StreamNote"]

# It drives solvers, of which nothing in skdp.privacy may know.
SESSIONS[StreamsPlan] = ArmStreams


@dataclass
class StreamNote:
    """What copies and pickles say of the stream that they leave behind.

    Parameters
    ----------
    secretive : bool, default=False
        Whether it went into a checkpoint.
    """

    secretive: bool = False


@final
class BanditStream:
    """The session of a stream, and the loop that feeds it and lets the policy learn.

    It refuses to be pickled, because noise does, except by ``skdp.save_checkpoint``.

    Parameters
    ----------
    plan : Plan
        What will be answered.
    problem : BanditProblem
        Public facts.
    ledger : Ledger
        Charged here for the whole plan.
    adjacency : Adjacency
        Neighbouring relation.
    noise : SecretNoise
        Source of the noise.
    claim : Claim
        The most that the run may spend.
    """

    def __init__(
        self,
        plan: Plan,
        problem: BanditProblem,
        ledger: Ledger,
        adjacency: Adjacency,
        noise: SecretNoise,
        claim: Claim,
    ) -> None:
        self._plan, self._problem, self._noise = plan, problem, noise
        self.home, self.claim = Home(), claim
        self._session = open_session(plan, problem, ledger, adjacency, noise)

    def feed(self, model: PrivateBandit, X: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        """Take the rows of one call, and learn what is due."""
        session, start = self._session, 0
        while start < len(X):
            stop = start + min(len(X) - start, session.room or len(X))
            session.add(X[start:stop], arms[start:stop], y[start:stop])
            model.n_seen_ += stop - start
            start = stop
            if session.due:
                learned = model.policy_.learn(self._problem, session, model._memory)
                model._rule, model._memory = learned
                session.close()
                model.n_released_ = model.n_seen_

    def resume(self) -> None:
        """Go on after a checkpoint was loaded; what it held is used up."""
        kind, state = self.__dict__.pop("_kept")
        self._session = kind.resumed(self._plan, self._problem, self._noise, state)

    def __getstate__(self) -> dict[str, Any]:
        kept = type(self._session), self._session.secret_state()
        plain = {k: v for k, v in vars(self).items() if k != "_session"}
        return plain | {"_kept": kept}
