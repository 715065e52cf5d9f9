"""Descent along gradients that are corrected by differences: variance-reduced gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isinf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..privacy.accounting.calculus import Calculus, GaussianDP
from ..problem.problem import Problem
from ..validation import count, interval, one_of
from .base import Solution, name_of
from .descent import Descent
from .descent_rules import DescentSolver
from .minibatch_noise import reserve

if TYPE_CHECKING:
    from ..privacy.adjacency import Adjacency
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class SVRG(DescentSolver):
    r"""Stochastic variance-reduced gradient descent, with privacy: snapshots and differences.

    An *epoch* begins with a noisy full gradient at the current point, the snapshot. The steps that
    follow do not ask for gradients but for how much the gradient has changed since:

    .. math:: v_t = \tilde g + \bigl(\nabla F(w_t) - \nabla F(\tilde w) + N(0, \sigma_t^2 I)\bigr),
              \qquad \sigma_t \propto \min(L \|w_t - \tilde w\|, 4 C) / n

    so that their noise falls as iterates settle near the snapshot. Each step is one of heavy-ball
    descent with prox and projection, as in :class:`skdp.solvers.GD`, from which come the defaults
    of steps, total step size, clip and momentum. The answer is the mean of the last iterates.

    A snapshot that serves k steps is paid like k gradients of gradient descent, less ``share`` for
    the differences. Far from the solution iterates move so fast that differences would be as noisy
    as gradients. So an epoch also ends where a difference would have ``reach`` times the
    sensitivity of a gradient, the next one is as short as that, and epochs that run to their end
    make the next one ``growth`` times longer. Lengths and ends are functions of released answers,
    and what an epoch leaves unspent goes to later ones.

    When it works: smooth losses whose iterates settle down, which is where many stable steps are
    wanted. When it does not: the noise of the snapshot is the same in all steps of an epoch, so it
    adds up exactly as that of a gradient asked for in each step, while differences cost extra. With
    the exact accounting of Gaussian noise it can therefore match gradient descent, but not beat
    it, in noise. The advantage in the theory is in the number of gradients of single rows that are
    computed; here every query is about all rows, and a difference takes about 1.3 times as long
    as a gradient. The loss has to be smooth.

    Parameters
    ----------
    steps : int, optional
        Number of steps in all epochs together.
    average : float, default=0.5
        Share of the last iterates that are averaged, in [0, 1]; 0 returns the last one.
    inner : int, default=1
        Steps in the first epoch, m in Wang et al.
    growth : float, default=2.0
        Factor by which epochs become longer, at least 1; 1 for epochs of one length.
    longest : int, default=8
        Most steps in an epoch, unless ``inner`` is more.
    reach : float, default=0.5
        Sensitivity of a difference, in units of that of a gradient, from which on an epoch ends;
        ``inf`` never ends one early.
    share : float, default=0.2
        Share of the budget of an epoch that goes to its differences, in (0, 1).
    snapshot : {'last', 'average'}, default='last'
        Where an epoch starts from: at the last iterate, or with the snapshot at the mean of the
        iterates of the epoch before.
    batch_size : int, optional
        Rows that a difference is taken over on average; None takes all. Needs dp-accounting.
    step : {'constant', 'bb'}, default='constant'
        Step sizes: all alike, or in each epoch after the first by the rule of Barzilai and Borwein.

    Notes
    -----
    Algorithm 1 of the paper (SVRG) is ``SVRG(inner=m, growth=1, reach=inf, momentum=0,
    snapshot="average")``, where each epoch also restarts from the mean; algorithm 2 (SVRG++) has
    ``growth=2``, a large ``longest``, and carries the iterate on. Their noise was calibrated by an
    argument that holds for tiny epsilon only, and pays for the snapshot anew in each step; here it
    is paid once, and all noise is calibrated exactly. They draw single rows for the inner steps,
    which takes so much noise at any serious epsilon that nothing is learned.

    *Minibatches.* With a ``batch_size`` each difference is over a fresh secret sample, each row in
    it with probability ``batch_size / n``; who is drawn, and how many, is never released. The bound
    on a row is that of differences of all rows and the noise a constant multiple of it. A block of
    as many differences as there can be is reserved when the ledger opens, from about ``share`` of
    the budget, and what an early end of an epoch leaves of it is lost; snapshots take the rest, and
    the last epoch does not end early. The
    noise is at least that of full batches and equal to it, nearly, from
    ``n mu / sqrt(differences)`` rows on; below, it grows like ``1 / batch_size``, and a fit warns
    before anything is charged. So a batch saves time and never noise. The accounting is
    in :mod:`skdp.privacy.accounting.subsampling`.

    *Barzilai and Borwein.* With ``step="bb"`` an epoch takes the step
    ``||s||^2 / <s, d>``, where s is how far the snapshot has moved since the last and d the change
    of the noisy gradients there: the inverse of a curvature, from released answers alone. It is
    kept between the inverse of the problem's smoothness, which is stable for sure, and the step of
    ``total_step_size``; where ``<s, d>`` is not positive, which noise can bring about, the last
    one stays.

    References
    ----------
    Wang, Ye and Xu (2017), algorithms 1 and 2; Johnson and Zhang (2013); Allen-Zhu and Yuan (2016);
    Tan, Ma, Dai and Qian (2016) for the step sizes.

    Examples
    --------
    >>> from skdp.solvers import SVRG
    >>> SVRG(inner=4).get_params()["inner"]
    4
    """

    descends: ClassVar[bool] = True

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "inner": [count()],
        "growth": [interval(1, None, "left")],
        "longest": [count()],
        "reach": [interval(0, None, "both")],
        "share": [interval(0, 1, "neither")],
        "snapshot": [one_of("average", "last")],
        "step": [one_of("bb", "constant")],
    }

    average: float = 0.5
    inner: int = 1
    growth: float = 2.0
    longest: int = 8
    reach: float = 0.5
    share: float = 0.2
    snapshot: str = "last"
    batch_size: int | None = None
    step: str = "constant"

    def refuse(self, problem: Problem) -> None:
        loss = problem.loss
        if isinf(loss.smoothness):
            raise ValueError(
                f"SVRG needs a smooth loss, whose gradients change little over short distances, "
                f"got {name_of(loss)}. Use the solver 'gd'."
            )

    def calculus_for(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """A block of sampled differences beside Gaussian releases, if there are minibatches."""
        if self.batch_size is None:
            return self.calculus
        # No more steps than with what is left when it comes to them.
        mu = sqrt(GaussianDP().limit(epsilon, delta))
        most = self._most_differences(self.rule(problem, mu).steps)
        if not most:
            return self.calculus
        sizes = self.batch_size, np.ones(most), 1 - self.share
        return reserve("SVRG", *sizes, problem, epsilon, delta, adjacency)

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        rule = self.rule(problem, oracle.budget.mu)
        descent = Descent(problem, rule, self.average)
        farthest = self.reach * 2 * descent.clip_norm / problem.smoothness

        steps = _BarzilaiBorwein(descent, problem) if self.step == "bb" else None

        left, k, w0 = rule.steps, self.inner, descent.w
        while left > 0:
            k = min(k, left)
            done, mean = self._epoch(oracle, descent, w0, k, left, farthest, steps)
            left -= done
            k = min(max(self.longest, self.inner), ceil(self.growth * k)) if done == k else done
            if self.snapshot == "average":
                w0 = mean
                if self.growth == 1:
                    descent.restart(mean)
            else:
                w0 = descent.w
        return Solution(descent.mean(), n_iter=rule.steps)

    def _epoch(
        self,
        oracle: Oracle,
        descent: Descent,
        w0: np.ndarray,
        k: int,
        left: int,
        farthest: float,
        steps: _BarzilaiBorwein | None,
    ) -> tuple[int, np.ndarray]:
        """Take at most k of the steps left; returns their number and the mean of their ends."""
        budget, bounds = oracle.budget.fraction(k / left), descent.bounds
        sampled = self.batch_size is not None
        if sampled and k == left:
            # The last snapshot takes all that is left, so that there can be no other.
            farthest = inf
        # The first step is at the snapshot, unless that is a mean and the iterate is carried on.
        apart = descent.w is not w0
        n = k - 1 + apart
        if sampled or not n:
            full, spends = budget.whole(), []
        else:
            full, *spends = budget.split([1 - self.share, *[self.share / n] * n])
        snapshot = oracle.gradient(w0, spend=full, **bounds)
        if steps is not None:
            steps.see(descent, w0, snapshot)
        total = np.zeros_like(w0)
        for j in range(k):
            w = descent.w
            distance = float(np.linalg.norm(w - w0))
            if j > 0 and distance > farthest:
                return j, total / j
            v = snapshot
            if distance > 0 and (sampled or spends):
                spend = oracle.reserved.spends[0] if sampled else spends[0]
                v = v + oracle.gradient_difference(w, w0, spend=spend, sampled=sampled, **bounds)
            descent.move(v)
            total += descent.w
        return k, total / k

    def _most_differences(self, steps: int) -> int:
        """Differences if no epoch ends early; each early end costs one and shortens the next."""
        carried = self.snapshot == "average" and self.growth > 1
        left, k, most = steps, self.inner, 0
        first = True
        while left > 0:
            k = min(k, left)
            most += k - 1 + (carried and not first)
            left -= k
            k, first = min(max(self.longest, self.inner), ceil(self.growth * k)), False
        return most


class _BarzilaiBorwein:
    """Step sizes from released snapshots."""

    def __init__(self, descent: Descent, problem: Problem) -> None:
        self._longest = descent.step
        self._shortest = min(descent.step, 1 / problem.smoothness)
        self._before: tuple[np.ndarray, np.ndarray] | None = None

    def see(self, descent: Descent, w: np.ndarray, gradient: np.ndarray) -> None:
        """Take note of a snapshot, and change the step if it says how."""
        if self._before is not None:
            s, d = (w - self._before[0]).ravel(), (gradient - self._before[1]).ravel()
            curved = float(s @ d)
            if curved > 0:
                step = float(s @ s) / curved
                descent.step = min(max(step, self._shortest), self._longest)
        self._before = w, gradient
