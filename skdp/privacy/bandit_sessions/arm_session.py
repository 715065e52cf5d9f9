"""The session of a bandit, which takes rows and answers what its plan allows.

All that is here is as secret as the rows, except what ``ask`` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from math import ceil, prod, sqrt
from typing import Any, final

import numpy as np

from ...problem.bandit_problem import BanditProblem
from ...problem.losses import Loss
from ..accounting.events import Event, GaussianEvent, Part
from ..accounting.ledger import Budget, Ledger, Spend
from ..adjacency import Adjacency
from ..mechanisms import prefix_sums_by
from ..mechanisms.gaussian import GaussianMechanism
from ..mechanisms.gumbel import GumbelMechanism
from ..mechanisms.noise_grid import on_grid, spacing
from ..no_noise import noise_under
from ..randomness import SecretNoise, SecretState
from ..rounding import inflated, of_sum
from ..rows.bounded_rows import product_over_rows
from .bandit_plans import ArmMoments, Plan

# Rows from which moments are added up, whatever is still to come of a block.
_WAITING = 256
# From this many candidates an arm on a choice is made in two stages.
_MANY = 64


class ArmSession(SecretState):
    r"""Rows of users, their arms and rewards, behind the answers that a plan allows.

    What is asked about is one statistic with a row for each arm: the moments of its users, or
    the sum of ``l' v`` over them at weights that the policy chooses, ``v`` being the bounded row
    and ``l'`` the bounded derivative of the loss of the reward. It is that of the users of a
    block, or the running sum over all blocks so far. A user who is given one arm is the
    *synthetic row* v = 0 of all others, which adds nothing: that a user's arm changes moves the
    rows of two arms, but neither the number of releases nor the moment at which noise is drawn.

    The whole plan is charged when the session is opened, before it is given any row.

    Parameters
    ----------
    plan : Plan
        What will be answered, and when. Public.
    problem : BanditProblem
        Public facts.
    ledger : Ledger
        Charged at once for all of the plan, with all that it has left.
    adjacency : Adjacency
        Neighbouring relation between streams: all of a user's row, the context, what follows from
        it, the arm and the reward, is replaced, or counts as nothing.
    noise : SecretNoise
        Source of the noise.

    Guarantees
    ----------
    - All answers together are (epsilon, delta)-DP with the ledger's epsilon and delta, with
      respect to rows (context, arm, reward) of which each may depend on the answers before it.
      Moments: theorem B1 of ``docs/proofs/bandits.md``. Gradients and vertices of blocks: B2.
      Running sums of gradients, and vertices chosen by them: B3.
    - Blocks have no user in common, so that what is asked about blocks costs what the costliest of
      them costs, and a user is one term of a running sum.
    - For rows that do not count answers are those of rows that add nothing to any sum.
    - *Several visits.* A run that is mu-GDP for streams that differ in one row is (k mu)-GDP for
      those that differ in k, and likewise with k^2 rho of zCDP: *Several visits* in
      ``docs/proofs/bandits.md``.
    - Running sums with Gaussian noise, and that noise, are whole multiples of a public power of
      two, to which the sums of each block are rounded, so that last bits rule no neighbour out:
      *Sums on a grid* in ``docs/proofs/streams.md``.
    - The sums do not depend on how rows were cut into calls, but for rounding.
    """

    def __init__(
        self,
        plan: Plan,
        problem: BanditProblem,
        ledger: Ledger,
        adjacency: Adjacency,
        noise: SecretNoise,
    ) -> None:
        self._plan, self._problem = plan, problem
        self._noise = noise_under(ledger, noise)
        self._seen = self._block = self._asked = self._waiting = 0
        self._rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        # Of the open block as far as it was added up, and of the blocks before.
        self._term: np.ndarray | float = 0.0
        self._total: np.ndarray | float = 0.0
        ledger.charge(self._opening(adjacency, Budget(ledger.remaining).whole()))

    @property
    @final
    def seen(self) -> int:
        """Number of users so far. Public."""
        return self._seen

    @property
    @final
    def room(self) -> int | None:
        """Number of users until a release is due, 0 if one is; None after the last. Public."""
        ends = self._plan.ends
        return ends[self._block] - self._seen if self._block < len(ends) else None

    @property
    @final
    def scale(self) -> float:
        """Scale of the noise of the present block: of an entry, or of a score. Public."""
        return self._scales[self._block]

    @final
    def add(
        self,
        X: np.ndarray,
        arms: np.ndarray,
        y: np.ndarray,
        counting: np.ndarray | None = None,
    ) -> None:
        """Take the rows of some more users.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Contexts, finite numbers in double precision.
        arms : ndarray of int of shape (n,)
            Arms that were pulled.
        y : ndarray of shape (n,)
            Rewards, mapped so that their bounds are -1 and 1; others are clipped.
        counting : ndarray of bool of shape (n,), optional
            Which rows count, secret; by default all of them.

        Raises
        ------
        RuntimeError
            If the rows reach beyond the next end. Nothing is taken then.
        """
        if len(X) > (self.room or 0):
            raise RuntimeError(
                f"{type(self).__name__} needs at most {self.room or 0} more users before the next "
                f"release, and what is due closed before them; got {len(X)}."
            )
        # Before they are taken: those of a call that is interrupted cannot come again.
        self._seen += len(X)
        # A warning about one row would tell of it outside the answers.
        with np.errstate(all="ignore"):
            V, y = self._problem.contexts.rows(X), np.clip(y, -1.0, 1.0)
            if counting is not None:
                V = np.where(counting[:, np.newaxis], V, 0.0)
                # Rows of zeros add nothing to any arm; which one it is may show in rounding.
                arms, y = np.where(counting, arms, 0), np.where(counting, y, 0.0)
            if len(V):
                self._keep(V, arms, y)

    @final
    def ask(self, *at: np.ndarray) -> Any:
        """Answer to what is due.

        Parameters
        ----------
        *at : ndarray of shape (K, p)
            Weights of the arms at which derivatives are taken, none for moments; for running sums
            maybe a second array, weights w_0 by which the derivative is recursive: that of block i
            is ``(i + 1) l'(w) - i l'(w_0)``, bounded as a whole.

        Returns
        -------
        answer
            Of moments :class:`~skdp.privacy.bandit_sessions.ArmMoments`, of gradients the noisy
            mean over the block of the derivative times the row, (K, p), of sums the noisy running
            sum of the same, (K, p), and the standard deviation of the noise of the last one, and
            of choices ints (K,), j < p for coordinate j and p + j for minus it.
        """
        if self.room != 0 or self._asked >= self._plan.answers[self._block]:
            raise RuntimeError(
                f"{type(self).__name__} answers as often as its plan says, at the end of a block."
            )
        self._asked += 1
        with np.errstate(all="ignore"):
            return self._release(self._sums(*at))

    @final
    def close(self) -> None:
        """Go on to the next block; what the present one may still be asked is forfeited."""
        self._block += 1
        self._asked = 0
        self._forget_block()

    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        """Prepare for the plan and return what it costs, at most the spend."""
        plan, releases = self._plan, len(self._plan.ends)
        K, p = self._problem.n_arms, self._problem.n_rows
        name, blocks = f"arm_{plan.releases}", Part(0, plan.ends[-1], releases)
        if plan.chooses:
            moved = self._computed(adjacency.of_sum(2 * plan.clip))
            rounds = (releases,) if plan.running else plan.answers
            choices = [GumbelMechanism.calibrated(moved, k, spend) for k in rounds]
            self._scales = [one.noise_scale for one in choices] * (releases // len(rounds))
            # All blocks cost the same but for rounding.
            costliest = max(choices, key=lambda one: one.choices / one.noise_scale**2)
            return replace(costliest.event(name), part=None if plan.running else blocks)
        of_gradients = adjacency.of_sum(plan.clip * self._problem.longest_row)
        if not plan.running:
            count, moved = max(plan.answers), self._computed(of_gradients)
            fresh = GaussianMechanism.calibrated(moved, Spend(spend.amount / count))
            self._mechanism, self._scales = fresh, [fresh.noise_scale] * releases
            return GaussianEvent(
                query=name,
                sensitivity=moved,
                noise_scale=fresh.noise_scale,
                count=count,
                part=blocks,
            )
        shape, moved = (K, p), self._computed(of_gradients)
        if plan.releases == "moments":
            shape = K, p * (p + 1) // 2 + p
            moved = self._computed(joint_sensitivity(adjacency, self._problem.longest_row))
        mechanism = prefix_sums_by(plan.mechanism, releases)
        scale = mechanism.noise_scale(moved, spend)
        self._prefix = mechanism.open(shape, scale, self._noise)
        self._grid = spacing(moved, scale, prod(shape))
        self._scales = scale * np.sqrt(mechanism.variances(np.arange(1, releases + 1)))
        return mechanism.event(name, moved, scale)

    @final
    def _computed(self, sensitivity: float) -> float:
        """The sensitivity of computed sums, with the margin of :mod:`skdp.privacy.rounding`.

        Two differences of scores err at a time where sums are scores, which is twice the margin of
        a sum. Rows that waited, or runs of rows, and blocks are added up one after the other.
        """
        horizon = self._problem.horizon
        additions = horizon // _WAITING + len(self._plan.ends)
        return inflated(sensitivity, of_sum(horizon, 2.0, additions))

    @final
    def _users(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounded rows, arms and rewards of the users of the present block: secret."""
        if len(self._rows) > 1:
            V, arms, y = (np.concatenate(parts) for parts in zip(*self._rows, strict=True))
            self._rows = [(V, arms, y)]
        return self._rows[0]

    def _keep(self, V: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        """Take bounded rows, at least one."""
        self._rows.append((V, arms.copy(), y))
        self._waiting += len(V)
        # Of others it is not known yet at which weights they will be asked for.
        if self._plan.releases == "moments" and self._waiting >= _WAITING:
            self._term = self._term + self._moments()

    def _sums(self, *at: np.ndarray) -> np.ndarray:
        """Exact statistic of each arm, (K, m), over the block or over all so far: secret."""
        plan = self._plan
        if plan.releases == "moments":
            term = self._moments() + self._term
        else:
            term = self._gradients(*at)
        if plan.running:
            term = term if plan.chooses else on_grid(term, self._grid)
            self._total = term = self._total + term
        return term

    def _moments(self) -> np.ndarray:
        """Packed moments of the rows that wait, which are done with then."""
        K, p = self._problem.n_arms, self._problem.n_rows
        products = np.zeros((K, p, p + 1))
        if self._rows:
            V, arms, y = self._users()
            for k in np.unique(arms):
                own = arms == k
                products[k] = product_over_rows(V[own], np.column_stack([V[own], y[own]]))
        self._rows, self._waiting = [], 0
        return ArmMoments.of(products[:, :, :-1], products[:, :, -1], 0.0, self._seen).packed

    def _gradients(self, w: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Sum over the users of each arm of the bounded derivative times the row."""
        V, arms, y = self._users()
        problem, plan, here = self._problem, self._plan, np.arange(len(V))
        slopes = problem.derivative(y, (V @ w.T)[here, arms])
        if before is not None and self._block:
            slopes = (self._block + 1) * slopes
            slopes -= self._block * problem.derivative(y, (V @ before.T)[here, arms])
        limit: float | np.ndarray = plan.clip
        if plan.running and not plan.chooses:
            # Short rows may have steep derivatives: what is bounded is the product.
            longest = problem.longest_row
            limit = (
                limit * longest / np.maximum(np.sqrt(np.einsum("ij,ij->i", V, V)), longest * 1e-9)
            )
        of_arms = np.zeros((len(V), problem.n_arms))
        of_arms[here, arms] = Loss.shrunk(slopes, limit)
        return product_over_rows(of_arms, V)

    def _release(self, sums: np.ndarray) -> Any:
        """The private answer."""
        if self._plan.chooses:
            return best_vertices(sums, self.scale, self._noise.gumbel)
        if not self._plan.running:
            return self._mechanism.randomize(sums, self._noise) / len(self._users()[0])
        answer = sums + on_grid(self._prefix.next(), self._grid)
        if self._plan.releases == "moments":
            return ArmMoments(answer, float(self.scale), self._seen)
        return answer, float(self._scales[-1])

    def _forget_block(self) -> None:
        """Drop what belongs to the block that has ended alone."""
        self._rows, self._term, self._waiting = [], 0.0, 0
        if self.room is None:
            self._total = 0.0


def joint_sensitivity(adjacency: Adjacency, longest: float = 1.0) -> float:
    """Most by which one user moves the moments of all arms together, in l2.

    ``longest`` is the bound on the l2 norm of rows, at least 1.
    """
    square = longest * longest
    # Also of its name, which would be taken for the weaker relation otherwise.
    if Adjacency(adjacency) is Adjacency.REPLACE_ONE:
        return sqrt(2.0) * (square + 0.5)
    return sqrt(square * (square + 1.0))


def best_vertices(
    sums: np.ndarray, scale: float, gumbel: Callable[[tuple[int, ...]], np.ndarray]
) -> np.ndarray:
    """Report noisy max over the 2 p signed coordinates, for each row by itself.

    Many candidates are chosen among in two stages, whose law is the same and which draw about as
    many random numbers as twice the root of their number: theorem E1 of ``docs/proofs/choices.md``
    has the proof. Of sums of gradients (K, p), vertex j scores minus entry j and vertex p + j entry
    j; there is a vertex for each of K. ``scale`` is that of the Gumbel noise, and ``gumbel`` draws
    fresh standard variables of a shape.
    """
    K, p = sums.shape
    width = 2 * p if 2 * p < _MANY else ceil(sqrt(2 * p))
    blocks = ceil(2 * p / width)
    # In units of the noise; what is left of the last block is never chosen.
    scores = np.full((K, blocks * width), -np.inf)
    np.divide(sums, scale, out=scores[:, p : 2 * p])
    np.negative(scores[:, p : 2 * p], out=scores[:, :p])
    if blocks == 1:
        return (scores + gumbel(scores.shape)).argmax(axis=1)
    cells = scores.reshape(K, blocks, width)
    # No exponential overflows. A block whose exponentials all vanish lies further behind than
    # Gumbel variables ever make up for.
    powers = np.exp(scores - scores.max(axis=1)[:, np.newaxis]).reshape(cells.shape)
    with np.errstate(divide="ignore"):
        totals = np.log(np.einsum("kij->ki", powers))
    block = (totals + gumbel(totals.shape)).argmax(axis=1)
    within = cells[np.arange(K), block]
    return block * width + (within + gumbel(within.shape)).argmax(axis=1)


SessionFactory = Callable[[Plan, BanditProblem, Ledger, Adjacency, SecretNoise], ArmSession]

# In a context variable so that what a test asks for is not seen by other threads.
_factory: ContextVar[SessionFactory] = ContextVar("session_factory", default=ArmSession)


def open_run(
    plan: Plan, problem: BanditProblem, epsilon: float, noise: SecretNoise
) -> tuple[ArmSession, Ledger]:
    """A session without rows, and the ledger that has paid for all of it.

    Epsilon may be infinite. The session is private, unless within :func:`sessions_opened_by`.
    """
    ledger = Ledger(epsilon, problem.delta, calculus=plan.calculus)
    ledger.note("models of the arms")
    session = _factory.get()(plan, problem, ledger, problem.adjacency, noise)
    return session, ledger


@contextmanager
def sessions_opened_by(factory: SessionFactory) -> Iterator[None]:
    """Let bandits within the block, and no others, get their sessions from this factory. For tests.

    It takes plan, problem, ledger, neighbouring relation and source of noise; the privacy of runs
    that begin within the block is that of the sessions it returns.
    """
    token = _factory.set(factory)
    try:
        yield
    finally:
        _factory.reset(token)
