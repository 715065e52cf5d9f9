"""Distributed dual averaging over sites that never share rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isinf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import issparse

from ..federated import TOPOLOGIES, Adjacent, Round, Topology, draw_rounds, most_activations
from ..privacy.accounting.calculus import Calculus
from ..privacy.mechanisms.mask_exposure import exposure, exposure_of_all_pairs
from ..problem.problem import Problem
from ..problem.sites import Sites
from ..validation import count, interval, one_of, shown
from .base import Solution, Solver
from .defaults import DDA as tuned
from .descent_rules import descent_rule
from .minibatch_noise import plan_block

if TYPE_CHECKING:
    from ..privacy.adjacency import Adjacency
    from ..privacy.oracle import Oracle

# What each source of noise needs besides messages that are private one by one.
_TRUSTS = {
    "local": None,
    "pairwise": "pairs of sites to agree on seeds unseen by whoever relays what they send",
    "secure_sum": "a protocol with messages that have too little noise by themselves",
    "final_model": "sites with messages that have too little noise by themselves",
    "central": "an aggregator with exact gradients",
}
_N_NODES = 10


@dataclass(frozen=True)
class DDA(Solver):
    r"""Sites take noisy gradients of their own rows, gossip sums of them, and never share a row.

    Site i holds its rows, a sum z_i and an iterate x_i. In round t the active sites ask their rows
    for the gradient at x_i, and average what they have with their neighbours:

    .. math:: x_i &\leftarrow \beta x_i + (1 - \beta) \arg\min_x \;\langle z_i, x\rangle
              + \iota A_t h(x) + \tfrac{\gamma_t}{2} \|x - x_0\|^2 \\
              z_i &\leftarrow \sum_j w_{ij} (z_j + a_t (g_j + \mathrm{noise}_j)),
              \qquad A_t = a_1 + \dots + a_t

    with doubly stochastic weights, the penalty h, and the share iota of sites that are active. The
    answer is the mean of the iterates over sites and the last rounds. ``beta`` is heavy-ball
    momentum, 0 in the paper. Sites are the ``sites`` of ``fit``, or ``n_nodes`` sites of
    equal size to which rows are assigned by public randomness. The simulation runs in this
    process, all sites of a round at once.

    **What is promised, and against whom.** Each site has an account of its own: any row of it is
    (epsilon, delta)-private, ``privacy_spent_`` is that of the site that has spent most, and
    ``privacy_ledger_`` has events for each site (``event.part``). Names, sizes and activity of
    sites are public; a neighbour replaces a row by another row of the same site.

    ``adversary='node'`` sees all messages of all rounds: other sites, or whoever listens. Messages
    of a site change in the rounds in which it is active, so its rounds are counted, and that it
    was idle in others amplifies nothing. Nor does keeping it secret help in general: the rows of a
    site give its message away by its size, unless there is one row a site. Then only the secret
    draw of rows within a site does (``subsampling``).

    ``adversary='final_model'`` sees the published model alone, and sites trust each other. Where
    everyone takes part and everyone talks to everyone, the model is a function of the sums of the
    messages, so that the noise of all sites counts, and each adds less by the square root of their
    number. Other settings are refused: iterates then depend on single messages.

    **Whom to trust** is ``noise``:

    - ``'local'``: nobody. Each message is private by itself.
    - ``'pairwise'``: pairs of neighbours hold a secret seed, from which one adds and the other
      subtracts a mask in each round; besides, each site adds a little noise that stays. Up to
      ``colluders`` curious sites may hand their seeds to the adversary.
    - ``'secure_sum'``: a protocol that shows sums of messages and nothing else. Sites add noise to
      their messages; up to ``colluders`` of them may tell the adversary theirs.
    - ``'central'``: an aggregator that sees exact gradients and adds the noise. Only then are
      bounds estimated, and coordinates changed, from the rows of all sites together.

    Where masks are used, a site that fails (``dropout``) does so before anything is sent: the round
    is run by the others, with masks among them and the noise that they need, or is void if too
    few are left. Masks of a real network have to be set up after it is known who takes part.

    Parameters
    ----------
    n_nodes : int, optional
        Number of sites where ``fit`` is not told by ``sites``; 10 by default.
    noise : {'local', 'pairwise', 'secure_sum', 'central'}, default='local'
        Where noise comes from, see above.
    adversary : {'node', 'final_model'}, default='node'
        Whom the promise is about, see above.
    colluders : int, optional
        Number of curious sites; 1 by default for pairwise masks and secure sums.
    mask_ratio : float, default=3.0
        Standard deviation of a mask in units of a site's own noise.
    rounds : int, optional
        Number of rounds; 100 in which everyone takes part, by default, and ``100 / activation``
        of others; more at budgets beyond mu = 2.
    activation : float, default=1.0
        Share iota of the sites that are active in a round, in (0, 1].
    schedule : {'round_robin', 'random', 'edges'}, default='round_robin'
        Who is active: everyone once before anyone again, in random order; a random set; or the
        ends of random edges of the topology, along which alone they talk.
    topology : {'complete', 'ring', 'grid', 'erdos_renyi'} or Topology, default='complete'
        Who talks to whom, for one's own graph ``skdp.federated.Adjacent(...)``. Not
        used where sums alone are published.
    gossip_steps : int, default=1
        How often sites average with their neighbours in a round.
    dropout : float, default=0.0
        Probability with which an active site fails, by public randomness, for simulations.
    subsampling : float, optional
        Probability with which a row is drawn when its site is active, afresh and in secret; at
        least 1e-12. None
        uses all rows, which is better for the same privacy.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``; by default the Lipschitz constant of the loss, and
        that of ``gd`` if there is none. Below the Lipschitz constant the penalty is scaled down
        alike.
    total_step_size : float, optional
        Total step length in units of ``1 / (row_norm**2 * max_weight)``; by default as far as noise
        allows.
    momentum : float, optional
        The share beta, in [0, 1); by default 0.9.
    weights : {'constant', 'linear'}, default='constant'
        ``a_t = 1`` or ``a_t = t``.
    gamma : float, optional
        ``gamma_t = gamma * t**gamma_growth``; by default constant, from the total step size.
    gamma_growth : float, default=0.0
        See above, in [0, 1].
    average : float, default=0.5
        Share of the last rounds that are averaged, in [0, 1]; 0 returns the last iterates.

    References
    ----------
    Liu, Johansson and Shi, "Distributed empirical risk minimization with differential privacy",
    algorithm 1, with exact accounting instead of its theorem 1, whose delta is vacuous; Duchi,
    Agarwal and Wainwright (2012) for distributed dual averaging.

    Examples
    --------
    >>> from skdp.solvers import DDA
    >>> DDA(n_nodes=20, noise="pairwise").get_params()["mask_ratio"]
    3.0
    """

    federated: ClassVar[bool] = True

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "n_nodes": [None, count()],
        "noise": [one_of("local", "pairwise", "secure_sum", "central")],
        "adversary": [one_of("node", "final_model")],
        "colluders": [None, count(0)],
        "mask_ratio": [interval(1e-3, 1e3, "both")],
        "rounds": [None, count()],
        "activation": [interval(0, 1, "right")],
        "schedule": [one_of("round_robin", "random", "edges")],
        "topology": [one_of(*TOPOLOGIES), Topology],
        "gossip_steps": [count()],
        "dropout": [interval(0, 1, "left")],
        "subsampling": [None, interval(1e-12, 1, "both")],
        "weights": [one_of("constant", "linear")],
        "gamma": [None, interval(0, None, "neither")],
        "gamma_growth": [interval(0, 1, "both")],
    }

    n_nodes: int | None = None
    noise: str = "local"
    adversary: str = "node"
    colluders: int | None = None
    mask_ratio: float = 3.0
    rounds: int | None = None
    activation: float = 1.0
    schedule: str = "round_robin"
    topology: str | Topology = "complete"
    gossip_steps: int = 1
    dropout: float = 0.0
    subsampling: float | None = None
    clip: float | None = None
    total_step_size: float | None = None
    momentum: float | None = None
    weights: str = "constant"
    gamma: float | None = None
    gamma_growth: float = 0.0
    average: float = 0.5

    @classmethod
    def from_paper(cls, penalty: Literal["l1", "l2"], **changes: Any) -> Self:
        """The constants of the experiments of Liu, Johansson and Shi.

        Parameters
        ----------
        penalty : {'l1', 'l2'}
            ``a_t = t`` and ``gamma_t = 20`` for l2; ``a_t = 1`` and ``gamma_t = 0.01 sqrt(t)`` for
            l1. One random edge of 20 sites is active in a round, without momentum, and all
            iterates are averaged.
        **changes
            Other hyperparameters, for example ``activation=0.2`` for two edges.

        Raises
        ------
        ValueError
            If the paper has no constants for the penalty.
        """
        if penalty not in ("l1", "l2"):
            raise ValueError(
                f"DDA.from_paper needs a penalty of 'l1' or 'l2', got {shown(penalty)}. Pass the "
                "one that the estimator has."
            )
        settings: dict[str, Any] = {
            "activation": 0.1,
            "schedule": "edges",
            "momentum": 0.0,
            "average": 1.0,
        }
        if penalty == "l2":
            settings |= {"weights": "linear", "gamma": 20.0}
        else:
            settings |= {"gamma": 0.01, "gamma_growth": 0.5}
        return cls(**settings | changes)

    @property
    def central(self) -> bool:
        """True if an aggregator sees exact answers about all rows."""
        return self.noise == "central"

    @property
    def trusted_party(self) -> str | None:
        if self.subsampling is not None:
            return "whoever asks with the secret draw of rows"
        return _TRUSTS[self.trust[0]]

    def check(self, problem: Problem) -> None:
        if isinstance(self.topology, np.ndarray | list | tuple) or issparse(self.topology):
            raise ValueError(
                "DDA needs a topology by name or a Topology, got a "
                f"{type(self.topology).__name__}. Pass skdp.federated.Adjacent(...) of the "
                "neighbours of each site for a graph of one's own."
            )
        super().check(problem)

    def refuse(self, problem: Problem) -> None:
        if problem.sites is not None and self.n_nodes not in (None, problem.sites.n_sites):
            raise ValueError(
                f"DDA needs n_nodes=None where fit is told the sites, got n_nodes={self.n_nodes} "
                f"and {problem.sites.n_sites} sites."
            )
        m, n_active = self._n_sites(problem), self._n_active(problem)
        if m > problem.n_samples:
            raise ValueError(
                f"DDA needs at least one row a site, got {problem.n_samples} rows and n_nodes={m}."
            )
        if isinstance(self.topology, Adjacent) and len(self.topology.neighbours) != m:
            raise ValueError(
                f"DDA needs a topology of {m} nodes, one a site, got one of "
                f"{len(self.topology.neighbours)}."
            )
        if self.schedule == "edges" and n_active < 2:
            raise ValueError(
                f"DDA needs two active sites for an edge, got activation={self.activation} of {m} "
                "sites."
            )
        if self.adversary == "final_model" and not (
            self.noise == "local"
            and self.activation == 1
            and self.schedule != "edges"
            and self._graph.complete
            and self.subsampling is None
        ):
            raise ValueError(
                "DDA needs noise='local', activation=1.0, topology='complete' and no subsampling "
                "for adversary='final_model'; otherwise the model depends on single messages, and "
                "idle sites amplify nothing. Use adversary='node'."
            )
        if self.subsampling is not None and self.noise != "local":
            raise ValueError(
                f"DDA needs noise='local' for subsampling, got noise={self.noise!r}; leave "
                "subsampling out, which is better for the same privacy."
            )
        source, colluders, _ = self.trust
        needed = colluders + (2 if source == "pairwise" else 1)
        if n_active < needed:
            raise ValueError(
                f"DDA needs at least {needed} active sites for noise={self.noise!r} with "
                f"colluders={colluders}, got {n_active} of {m}."
            )

    def calculus_for(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """Gaussian; with subsampling, one that reserves all rounds that a site may be active."""
        if self.subsampling is None:
            return self.calculus
        rounds, m = self.rounds or self._default_rounds(1.0), self._n_sites(problem)
        most = most_activations(rounds, self._n_active(problem), m, self.schedule)
        return plan_block(
            self.subsampling, np.ones(most), 1 - tuned.SAMPLED_SHARE, epsilon, delta, adjacency
        )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        sites = problem.sites or Sites.equal(problem.n_samples, self._n_sites(problem), rng)
        mu = oracle.budget.mu
        growth = 1.0 if self.subsampling is not None else max(1.0, mu / 2)
        schedule = self._schedule(problem, growth, rng)
        # Long rows in other coordinates need not be shortened: their gradients are.
        oracle = oracle.for_problem(problem.unshortened)
        return Run(self, problem, sites, schedule, growth, oracle).solution()

    @property
    def trust(self) -> tuple[str, int, float]:
        """Source of the noise, number of curious sites, and ratio of masks to own noise."""
        source = "final_model" if self.adversary == "final_model" else self.noise
        colluders = self.colluders
        if colluders is None or source not in ("pairwise", "secure_sum"):
            colluders = int(source in ("pairwise", "secure_sum"))
        return source, colluders, self.mask_ratio

    @property
    def summed(self) -> bool:
        """True if sums of messages alone are published."""
        return self.trust[0] in ("secure_sum", "final_model", "central")

    @property
    def _graph(self) -> Topology:
        return TOPOLOGIES[self.topology] if isinstance(self.topology, str) else self.topology

    def _n_sites(self, problem: Problem) -> int:
        if problem.sites is not None:
            return problem.sites.n_sites
        return min(_N_NODES, problem.n_samples) if self.n_nodes is None else self.n_nodes

    def _n_active(self, problem: Problem) -> int:
        return max(1, round(self.activation * self._n_sites(problem)))

    def _default_rounds(self, growth: float) -> int:
        return ceil(tuned.SWEEPS * sqrt(growth) / self.activation)

    def _schedule(self, problem: Problem, growth: float, rng: np.random.Generator) -> list[Round]:
        drawn = draw_rounds(
            self.rounds or self._default_rounds(growth),
            self._n_active(problem),
            self._n_sites(problem),
            self.schedule,
            self._graph,
            self.dropout,
            rng,
        )
        source, colluders, _ = self.trust
        needed = colluders + (2 if source == "pairwise" else 1)
        kept = [r for r in drawn if r.active.size >= needed]
        if not kept:
            raise ValueError(
                f"DDA needs rounds with at least {needed} sites, got none in {len(drawn)}; lower "
                "dropout or raise activation."
            )
        return kept


class Run:
    """Asks and learns, round by round.

    Parameters
    ----------
    solver : DDA
        Hyperparameters.
    problem : Problem
        What is to be solved.
    sites : Sites
        Where rows lie.
    schedule : list of Round
        Who is active when.
    growth : float
        By how much the budget is beyond one that promises something, at least 1.
    oracle : Oracle
        Answers about the problem.
    """

    def __init__(
        self,
        solver: DDA,
        problem: Problem,
        sites: Sites,
        schedule: list[Round],
        growth: float,
        oracle: Oracle,
    ) -> None:
        self._solver, self._problem, self._sites = solver, problem, sites
        self._schedule, self._oracle, self._trust = schedule, oracle, solver.trust
        clip = solver.clip
        if clip is None:
            clip = problem.loss.lipschitz
            if isinf(clip):
                clip = descent_rule(problem, oracle.budget.mu).clip
        clip = min(clip, problem.loss.lipschitz)
        self._weight_of_penalty = problem.kept_by(clip)
        self._clip_norm = clip * problem.row_norm * problem.max_weight
        momentum = solver.momentum
        self._momentum = tuned.MOMENTUM if momentum is None else momentum
        active = np.concatenate([r.active for r in schedule])
        self._counts = np.bincount(active, minlength=sites.n_sites)
        self._participation = active.size / len(schedule) / sites.n_sites
        self._budget = oracle.budget
        oracle.note(planned=len(schedule))

    def solution(self) -> Solution:
        """The mean of the iterates.

        Where sums of messages are published, all sites have one model; else each has its own.
        """
        solver, sites, summed = self._solver, self._sites, self._solver.summed
        nodes = DualNodes(self._problem, 1 if summed else sites.n_sites, self._momentum)
        everyone = np.arange(len(nodes.z))
        iota = 1.0 if summed else self._participation
        gamma = self._gamma(iota)
        tail = _Tail(solver.average, len(self._schedule), self._problem.shape)
        whole = 0.0
        for t, r in enumerate(self._schedule, start=1):
            a = float(t) if solver.weights == "linear" else 1.0
            whole += a
            asked = everyone if summed else r.active
            penalty = self._weight_of_penalty * (iota * whole)
            W = nodes.look(asked, penalty, gamma * t**solver.gamma_growth)
            tail.add(W.mean(axis=0), a)
            if summed:
                # From the sum of messages to the mean gradient of the rows of the active sites.
                rows = sites.sizes[r.active].sum() * sites.n_sites / self._problem.n_samples
                W = np.broadcast_to(W, (r.active.size, *W.shape[1:]))
                nodes.z += a / rows * self._messages(r, W)
            else:
                nodes.learn(r, self._messages(r, W), a, solver.gossip_steps)
        last = nodes.look(everyone, penalty, gamma * (t + 1) ** solver.gamma_growth)
        return Solution(tail.mean(last.mean(axis=0)), n_iter=len(self._schedule))

    def _messages(self, r: Round, W: np.ndarray) -> np.ndarray:
        oracle, counts = self._oracle, self._counts
        if self._solver.subsampling is not None:
            spend = oracle.reserved.spends[0]
            return oracle.sampled_site_gradients(
                self._sites, r.active, W, spend=spend, clip_norm=self._clip_norm
            )
        # Where noise is of many sites, they all pay the same.
        paid = counts.max()
        shares = np.ones(r.active.size)
        if self._trust[0] == "local":
            paid = counts[counts > 0].min()
            shares = paid / counts[r.active]
        return oracle.site_gradients(
            self._sites,
            r.active,
            W,
            spend=self._budget.split(int(paid))[0],
            shares=shares,
            clip_norm=self._clip_norm,
            trust=self._trust,
            edges=r.edges if self._trust[0] == "pairwise" else None,
        )

    def _gamma(self, participation: float) -> float:
        """Weight of the distance to the start, that of the whole way divided by its length."""
        solver, problem = self._solver, self._problem
        if solver.gamma is not None:
            return solver.gamma
        rounds = len(self._schedule)
        unit = problem.row_norm**2 * problem.max_weight
        total_step_size = solver.total_step_size
        if total_step_size is None:
            afforded = tuned.NOISE * problem.row_norm * problem.max_weight
            afforded /= self._noise_of_mean() * sqrt(problem.n_rows)
            smoothness = problem.loss.smoothness
            curvature = tuned.CURVATURE if isinf(smoothness) else smoothness
            beta = self._momentum
            sweeps = rounds * self._participation
            stable = tuned.STABLE * sweeps * (1 + beta) / (1 - beta) / curvature
            total_step_size = min(afforded, stable)
        linear = solver.weights == "linear"
        whole = rounds * (rounds + 1) / 2 if linear else float(rounds)
        gamma = participation * whole * unit / total_step_size
        return gamma / rounds**solver.gamma_growth

    def _noise_of_mean(self) -> float:
        """Standard deviation of the noise in the mean of all gradients of the run."""
        oracle, sites, counts = self._oracle, self._sites, self._counts
        releases = int(counts.sum())
        source, colluders, ratio = self._trust
        n_active = releases / len(self._schedule)
        if self._solver.subsampling is not None:
            block = oracle.reserved
            scale = oracle.gradient_scale(spend=block.spends[0], clip_norm=self._clip_norm)
            return scale * sites.n_sites / block.sampling_rate / sqrt(releases)
        often = max(1, round(float(counts[counts > 0].mean())))
        spend = self._budget.split(often)[0]
        scale = oracle.gradient_scale(spend=spend, clip_norm=self._clip_norm)
        if self._solver.summed:
            honest = (n_active - colluders) / n_active
            return scale / self._participation / sqrt(len(self._schedule) * honest)
        if source == "pairwise":
            first = self._schedule[0]
            edges = first.edges
            if edges is None:
                scale *= sqrt(exposure_of_all_pairs(max(1, round(n_active) - colluders), ratio))
            else:
                place = np.searchsorted(first.active, edges)
                scale *= sqrt(exposure(first.active.size, place, ratio, colluders))
        return scale * sites.n_sites / sqrt(releases)


class _Tail:
    """The weighted mean of the last of a known number of vectors."""

    def __init__(self, share: float, count: int, shape: tuple[int, ...]) -> None:
        self._skipped = count - ceil(share * count)
        self._sum, self._weight = np.zeros(shape), 0.0

    def add(self, w: np.ndarray, weight: float) -> None:
        if self._skipped > 0:
            self._skipped -= 1
            return
        self._sum += weight * w
        self._weight += weight

    def mean(self, last: np.ndarray) -> np.ndarray:
        """The mean, or the last one if none has been added."""
        return self._sum / self._weight if self._weight else last


class DualNodes:
    r"""Sums z_i of noisy gradients and iterates x_i, one of each a node.

    .. math:: x_i \leftarrow \beta x_i + (1 - \beta) \arg\min_x\;
              \langle z_i, x\rangle + c\,h(x) + \tfrac{\gamma}{2} \|x - x_0\|^2

    over the feasible set. An iterate is brought up to date when it is needed, with the weights of
    that time, so that with beta = 0 it is a function of the node's z and of t alone.

    Parameters
    ----------
    problem : Problem
        With penalty h, constraint and start x_0.
    n_nodes : int
        Number of nodes.
    momentum : float
        The share beta of the old iterate that is kept.
    """

    def __init__(self, problem: Problem, n_nodes: int, momentum: float) -> None:
        self._problem, self._momentum = problem, momentum
        self._start = problem.start()
        self.z = np.zeros((n_nodes, *self._start.shape))
        self.x = np.broadcast_to(self._start, self.z.shape).copy()
        # Maps that treat each entry by itself can be applied to all nodes at once.
        self._entrywise = problem.penalty.separable and problem.constraint.separable

    def look(self, active: np.ndarray, penalty: float, gamma: float) -> np.ndarray:
        """Iterates of the active nodes, brought up to date, (n_active, ...).

        Parameters
        ----------
        active : ndarray of shape (n_active,)
            Nodes.
        penalty : float
            Weight c of the penalty h.
        gamma : float
            Weight of the distance to the start.
        """
        beta = self._momentum
        fresh = self.minimisers(self.z[active], penalty, gamma)
        self.x[active] = beta * self.x[active] + (1 - beta) * fresh if beta else fresh
        return self.x[active]

    def learn(self, r: Round, messages: np.ndarray, weight: float, times: int) -> None:
        """Add the messages of the active nodes, and exchange.

        Parameters
        ----------
        r : Round
            Who is active, and averages with whom.
        messages : ndarray of shape (n_active, ...)
            Noisy gradients.
        weight : float
            Of these gradients in the sums.
        times : int
            How often.
        """
        self.z[r.active] += weight * messages
        for _ in range(times):
            r.mix(self.z)

    def minimisers(self, z: np.ndarray, penalty: float, gamma: float) -> np.ndarray:
        """The argmin above for each of some sums z.

        Parameters
        ----------
        z : ndarray of shape (k, ...)
            Sums.
        penalty, gamma : float
            Weights as in ``look``.
        """
        problem, moved = self._problem, self._start - z / gamma
        if self._entrywise:
            # With nodes last: what is not penalised is told by the first axis.
            along = np.moveaxis(moved, 0, -1)
            return np.moveaxis(problem.project(problem.prox(along, penalty / gamma)), -1, 0)
        return np.stack([problem.project(problem.prox(v, penalty / gamma)) for v in moved])
