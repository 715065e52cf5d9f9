"""Newton steps from noisy scores and curvatures, whose last error is known: for intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import helmert

from ..exceptions import warn_user
from ..problem.influence import InfluenceBounds
from ..problem.losses import Hazard, Logistic, Poisson, Softmax
from ..problem.problem import Problem
from ..validation import count, interval
from .base import Solution, Solver, Uncertainty, refuse_all_but_ridge
from .defaults import OneStep as tuned
from .preconditioning.class_frequencies import scores_at_start

if TYPE_CHECKING:
    from ..privacy.accounting.ledger import Spend
    from ..privacy.oracle import Oracle, ScoreAndCurvature

# Least mean of counts, in units of their cap, that bounds are made for.
_LEAST_MEAN = 1e-6
# Beyond, matrices of that many rows and columns are too large to be answered.
_MOST_ROWS = 500


class _Step(NamedTuple):
    """A noisy step in the coordinates of its answer: spectrum, floor, and where it leads."""

    values: np.ndarray
    vectors: np.ndarray
    raised: np.ndarray
    level: float
    to: np.ndarray


@dataclass(frozen=True)
class OneStep(Solver):
    r"""A chain of Newton steps in released coordinates, each from one noisy score and curvature.

    .. math:: w \leftarrow w + \tau A \hat H^{-1} \hat g, \qquad
              \widehat{\mathrm{Var}} = \tau^2 A \hat H^{-1} \Bigl\{ \frac{\hat J}{n}
              + s_g^2 I + \frac{s^2}{2} (|d|^2 I + d d') \Bigr\} \hat H^{-1} A'

    where H and g are the mean curvature and score of the rows in coordinates ``A' v``, ``d`` is the
    last step there, J are second moments of scores at its end, and s and s_g the noise of H and g.
    Where privacy units have several rows, n is the number of units and J the second moment of the
    mean score of a unit, so that errors are robust to rows of a unit being alike.
    Each step is in the coordinates, and from the model, that the steps before have released. What
    is left at the end is the noise of the last answer, whose covariance is known, and sampling;
    both are in the standard errors. This is the fit for ``inference_``. For K classes p counts the
    K - 1 contrasts of their scores that each feature has; scores of all classes sum to zero.

    Rows that are long in these coordinates are weighted down with their targets, which leaves the
    coefficients of a linear mean, or of log-odds that are linear, as they are. If the model is
    wrong, the coefficients are those of the weighted rows; the more rows there are, the less is
    weighted and clipped. Works with p by p matrices, in one pass over the rows for each answer.

    Parameters
    ----------
    noise_ratio : float, optional
        Bounds on single rows are widened, where there are rows enough, until the noise is so many
        times as large as the error of sampling. Less is narrower; more is closer to the unweighted
        fit where the model is wrong. 3 for the squared loss and 1 for the logistic loss if None.
    draws : int, default=200
        Number of simulations, from released numbers, that widen intervals where the curvature does
        not stand far out of its noise.

    References
    ----------
    Avella-Medina, Bradshaw and Loh (2023), noisy Newton steps with bounded influence.

    Examples
    --------
    >>> from skdp.solvers import OneStep
    >>> OneStep().get_params()
    {'noise_ratio': None, 'draws': 200}
    """

    preconditions: ClassVar[bool] = True
    infers: ClassVar[bool] = True

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "noise_ratio": [None, interval(0, 1e3, "left")],
        "draws": [count(0, 10_000)],
    }

    noise_ratio: float | None = None
    draws: int = 200

    def refuse(self, problem: Problem) -> None:
        name = type(self).__name__
        if problem.loss.vector_targets:
            raise ValueError(
                f"{name} needs one target a row, got {problem.loss.n_scores}: the errors of "
                "several targets are not told apart. Fit one target at a time, each with a part "
                "of the budget, or use the solver 'tracked_gd', which has no standard errors."
            )
        squared = problem.loss.squared and problem.bounds.target is not None
        if not (squared or isinstance(problem.loss, Logistic | Poisson | Softmax | Hazard)):
            raise ValueError(
                f"{name} needs the squared loss and bounded targets, or the logistic, softmax, "
                f"Poisson or hazard loss, got {type(problem.loss).__name__}. Use the solver 'gd', "
                "which has no standard errors."
            )
        refuse_all_but_ridge(
            self,
            problem,
            ": estimates at an edge have no normal error. Use the solver 'gd', which has no "
            "standard errors.",
        )
        if _free(problem) > _MOST_ROWS:
            raise ValueError(
                f"{name} needs at most {_MOST_ROWS} coefficients, got {_free(problem)}. Choose "
                "fewer features beforehand, or use the solver 'gd'."
            )
        if problem.class_weight is not None:
            raise ValueError(
                f"{name} needs class_weight=None, because weights of classes change what the "
                "coefficients mean, got weights. Leave them out."
            )

    def check_budget(self, problem: Problem, mu: float) -> None:
        """Refuse a budget with which no interval would mean anything, and warn of a small one."""
        needed = _free(problem) ** 1.5
        evidence, least = problem.n_actual * mu, tuned.REFUSED_EVIDENCE * needed
        facts = f"n = {problem.n_actual:,} and mu = {mu:.3g} for {_free(problem)} coefficients"
        if evidence < least:
            raise ValueError(
                f"{type(self).__name__} needs n * mu of at least {least:,.0f} (3 p^1.5), got "
                f"{evidence:,.0f}: {facts}. Nothing has been spent. Use fewer features, a larger "
                "epsilon, or another solver, which has no standard errors."
            )
        of_times = problem.loss.of_times
        wide = (
            tuned.WARNED_EVIDENCE_OF_TIMES
            if of_times
            else tuned.WARNED_EVIDENCE[problem.loss.squared]
        ) * needed
        if evidence < wide:
            warn_user(
                f"{type(self).__name__} expects wide intervals, some perhaps not to be had: n * mu "
                f"is {evidence:,.0f}, and {wide:,.0f} would do: {facts}.",
                UserWarning,
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        """Take the steps, then ask for the moments of scores where they end."""
        self.check(problem)
        squared, n = problem.loss.squared, problem.n_samples
        of_steps, of_moments, of_targets = tuned.SHARES[squared]
        budget = oracle.budget
        penalty = np.kron(problem.penalty_hessian(), np.eye(problem.loss.n_scores))
        if problem.loss.of_times:
            penalty = np.pad(penalty, (0, 1))
        *spends, for_moments = budget.split([*of_steps, of_moments])
        effective = 1.0
        influence = _start(problem)
        for k, spend in enumerate(spends):
            if k > 0:
                mu = budget.mu * sqrt(of_steps[k])
                influence = self._bounds(problem, influence, effective, mu)
            asked = oracle.score_and_curvature(
                influence, balance=tuned.CURVATURE_BALANCE, spend=spend
            )
            last = k == len(spends) - 1
            if k == 0 and problem.loss.n_scores > 1:
                asked = _alike(asked, problem.loss.n_scores - 1)
            floor = tuned.FIRST_FLOOR if k == 0 else tuned.LAST_FLOOR if last else tuned.FLOOR
            step = _step(asked, influence, penalty, floor)
            moved = step.to
            if problem.loss.of_times and k > 0:
                moved = _shortened(moved, tuned.LONGEST_STEP_OF_TIMES)
            if last:
                break
            effective, whiter = _whitened(asked)
            if not squared and k > 0:
                moved = _shortened(moved, tuned.LONGEST_STEP * sqrt(effective))
            scale = influence.scale
            influence = replace(
                influence,
                w=influence.w + scale * (influence.matrix @ moved).reshape(influence.w.shape),
                matrix=influence.matrix @ whiter,
                scale=scale * _shrunk(asked, step.to, first=k == 0) if squared else 1.0,
            )
        w = influence.w + influence.scale * (influence.matrix @ moved).reshape(influence.w.shape)
        moments, rows = oracle.score_moments(
            influence, w, of_shares=tuned.ROW_SHARE, spend=for_moments
        )
        shares = {"rows weighted down": (float(rows.value[0]), rows.scale)}
        if squared:
            shares["residuals clipped"] = float(rows.value[1]), rows.scale
            (spend,) = budget.split([of_targets])
            noise = 1 / (budget.mu * sqrt(of_targets))
            shares["targets clipped"] = _clipped_targets(problem, oracle, spend, noise)
        middle = _shrunk_moments(moments.value, moments.scale, asked)
        uncertainty = self._uncertainty(asked, influence, step, middle / n, rng)
        uncertainty = replace(uncertainty, shares=shares)
        if not isinstance(problem.loss, Hazard):
            return Solution(w, len(spends), uncertainty)
        # The trend goes to the baseline; what it makes uncertain stays with the others.
        loss = problem.loss.tilted(float(w[-1]))
        return Solution(w[:-1], len(spends), uncertainty.of_first(problem.n_parameters), loss)

    def _bounds(
        self, problem: Problem, influence: InfluenceBounds, effective: float, mu: float
    ) -> InfluenceBounds:
        """Bounds on single rows, as wide as noise of this mu leaves room for."""
        squared, n, c = problem.loss.squared, problem.n_samples, tuned.CURVATURE_BALANCE
        contrasts = max(1, problem.loss.n_scores - 1)
        ratio = tuned.NOISE_RATIO[squared] if self.noise_ratio is None else self.noise_ratio
        evidence, k = n * mu, influence.matrix.shape[1]
        steepness = sqrt(2) * (1 + c) if squared else sqrt(max(2 * (1 + c) ** 2, 1 + 8 * c))
        if problem.loss.n_scores > 1 or problem.loss.of_times:
            steepness = sqrt(2 + 8 * c)
        # Before anything is widened: bounds, the noise of the score over the error of sampling, and
        # that of the curvature. A row's curvature has K - 1 directions for K classes, and is that
        # much smaller for its trace.
        length = tuned.ROW_LENGTH * sqrt(effective)
        alpha = length**2 / sqrt(contrasts)
        score = length * (tuned.RESIDUAL if squared else tuned.SCORE * _relative_score(problem))
        noise = steepness * score / (sqrt(2 * c) * evidence) * sqrt(n)
        level = steepness * alpha / evidence * sqrt(2 * k)
        row = max(
            1.0,
            min(
                ratio / noise, tuned.MOST_GROWTH, sqrt(tuned.MOST_CURVATURE_NOISE[squared] / level)
            ),
        )
        # Residuals are widened where that is cheap: few are as large.
        more = min(max(1 / (noise * row), 1.0), tuned.MOST_RESIDUAL_GROWTH) if squared else 1.0
        return replace(influence, curvature=row**2 * alpha, score=row * more * score)

    def _uncertainty(
        self,
        asked: ScoreAndCurvature,
        influence: InfluenceBounds,
        step: _Step,
        middle: np.ndarray,
        rng: np.random.Generator,
    ) -> Uncertainty:
        """Covariance of the end of the last step, from released numbers; see the class."""
        d, k = step.to, len(step.to)
        factors = influence.scale * influence.matrix @ (step.vectors / step.raised)
        inverse = factors @ step.vectors.T
        of_noise = (asked.score_noise**2 + 0.5 * asked.noise**2 * (d @ d)) * np.eye(k)
        of_noise += 0.5 * asked.noise**2 * np.outer(d, d)
        loose = step.values < step.level
        resolution = float(step.values[0] / step.level)
        drawn = None
        if self.draws and resolution < tuned.CLEAR_CURVATURE:
            ends = self._draws(asked, step, middle, rng) @ (influence.scale * influence.matrix).T
            drawn = ends.T @ ends / self.draws
        white = step.vectors / step.raised @ step.vectors.T
        error = float(np.trace(white @ (middle + of_noise) @ white)) / k
        return Uncertainty(
            sampling=inverse @ middle @ inverse.T,
            noise=inverse @ of_noise @ inverse.T,
            drawn=drawn,
            loose=factors[:, loose],
            firm=factors[:, ~loose],
            resolution=resolution,
            last_step=sqrt(max(0.0, float(d @ d) / k - tuned.OWN_ERROR * error)),
        )

    def _draws(
        self,
        asked: ScoreAndCurvature,
        step: _Step,
        middle: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Last steps from simulated answers, about their mean; shape (draws, k)."""
        k, d = len(step.to), step.to
        curvature = (step.vectors * step.raised) @ step.vectors.T
        root = np.linalg.cholesky(middle + asked.score_noise**2 * np.eye(k))
        ends = np.empty((self.draws, k))
        for end in ends:
            noise = rng.standard_normal((k, k)) * (asked.noise / 2)
            values, vectors = np.linalg.eigh(curvature + noise + noise.T)
            values = np.maximum(values, tuned.LAST_FLOOR * step.level)
            score = curvature @ d + root @ rng.standard_normal(k)
            end[:] = vectors @ (vectors.T @ score / values)
        return ends - ends.mean(axis=0)


def _free(problem: Problem) -> int:
    """Number of coefficients that probabilities tell apart: of K classes, K - 1 for each row."""
    return problem.n_rows * max(1, problem.loss.n_scores - 1) + problem.loss.of_times


def _start(problem: Problem) -> InfluenceBounds:
    """The start of the chain in the coordinates of the rows, where their norm bounds all.

    That is zero, or for counts the mean rate, as Newton's method is slow from rates far beyond.

    At zero the curvature of labels is a quarter of the moments, and residuals are halves. For K
    classes coordinates are in K - 1 orthogonal contrasts of their scores, so that these always sum
    to zero; the curvature there is the moments over K for each of them.
    """
    K, p = problem.loss.n_scores, problem.n_rows
    if isinstance(problem.loss, Hazard):
        # Rows and trend are both 1 long at most, and the two together sqrt(2).
        slope, score = _bounds_of_mean(problem)
        matrix = np.diag([*[1 / problem.row_norm] * p, 1.0])
        return InfluenceBounds(np.zeros(p + 1), matrix, 2 * slope, sqrt(2) * score)
    if K == 1:
        w, bounds = np.zeros(p), (1.0, 1.0) if problem.loss.squared else (0.25, 0.5)
        if problem.loss.log_means:
            w, bounds = problem.start(), _bounds_of_mean(problem)
        return InfluenceBounds(w, np.eye(p) / problem.row_norm, *bounds)
    matrix = np.kron(np.eye(p), helmert(K).T) / problem.row_norm
    return InfluenceBounds(np.zeros((p, K)), matrix, sqrt(K - 1) / K, sqrt((K - 1) / K))


def _bounds_of_mean(problem: Problem) -> tuple[float, float]:
    """Curvature of a full row of counts or times at the start, and its largest residual."""
    if isinstance(problem.loss, Hazard):
        z = np.zeros(1)
        return float(problem.loss.slopes(z).sum()), float(problem.loss.worst_derivative(z)[0])
    z = scores_at_start(problem)
    curvature = max(_LEAST_MEAN, min(1.0, float(np.exp(z[0]))))
    return curvature, float(problem.loss.worst_derivative(z)[0])


def _relative_score(problem: Problem) -> float:
    """Size of a residual in units of the root of the curvature, 1 for balanced classes."""
    if problem.loss.of_times:
        return tuned.SCORE_OF_TIMES / tuned.SCORE
    if not problem.loss.log_means:
        return 1.0
    curvature, largest = _bounds_of_mean(problem)
    return largest / sqrt(curvature)


def _alike(asked: ScoreAndCurvature, contrasts: int) -> ScoreAndCurvature:
    """The answer at zero with one curvature, the mean, for all contrasts, which have none together.

    That is what the exact one is like. Its noise moves no direction more than that of a matrix
    of all coordinates which is smaller by the number of contrasts.
    """
    p = len(asked.score) // contrasts
    mean = np.einsum("iaja->ij", asked.curvature.reshape(p, contrasts, p, contrasts)) / contrasts
    curvature, noise = np.kron(mean, np.eye(contrasts)), asked.noise / contrasts
    return type(asked)(curvature, asked.score, None, noise, asked.score_noise, asked.squares_noise)


def _step(
    asked: ScoreAndCurvature, influence: InfluenceBounds, penalty: np.ndarray, floor: float
) -> _Step:
    """The step that the answer asks for, with eigenvalues raised where they are noise."""
    A = influence.matrix
    values, vectors = np.linalg.eigh(asked.curvature + A.T @ penalty @ A)
    level = asked.noise * sqrt(2 * len(values))
    raised = np.maximum(values, floor * level)
    slope = asked.score - A.T @ (penalty @ influence.w.ravel()) / influence.scale
    return _Step(values, vectors, raised, level, vectors @ (vectors.T @ slope / raised))


def _shortened(step: np.ndarray, longest: float) -> np.ndarray:
    """A step, no longer than that."""
    return step * min(1.0, longest / max(float(np.linalg.norm(step)), longest))


def _whitened(asked: ScoreAndCurvature) -> tuple[float, np.ndarray]:
    """Number of directions that stand out of the noise, and coordinates in which they are alike."""
    values, vectors = np.linalg.eigh(asked.curvature)
    values = np.maximum(values, 0.0)
    ridge = 0.5 * asked.noise * sqrt(2 * len(values))
    return max(1.0, float(np.sum(values / (values + ridge)))), vectors / np.sqrt(values + ridge)


def _shrunk(asked: ScoreAndCurvature, d: np.ndarray, *, first: bool) -> float:
    """Factor by which residuals are smaller after a step, by the released moments."""
    assert asked.squares is not None
    left = asked.squares - 2 * asked.score @ d + d @ asked.curvature @ d
    noise = asked.squares_noise
    low, high = (max(0.0025, 0.5 * noise), 1.0) if first else (max(0.01, noise), 4.0)
    return sqrt(min(max(float(left), low), high))


def _shrunk_moments(J: np.ndarray, noise: float, asked: ScoreAndCurvature) -> np.ndarray:
    """Moments of scores, nearer to a multiple of the curvature the more of them is noise."""
    k = len(J)
    values, vectors = np.linalg.eigh(asked.curvature)
    values = np.maximum(values, tuned.LAST_FLOOR * asked.noise * sqrt(2 * k))
    curvature = (vectors * values) @ vectors.T
    variance = max(float(np.trace(np.linalg.solve(curvature, J))) / k, 0.05)
    target = variance * curvature
    apart = J - target
    of_noise = noise**2 * k * (k + 1) / 2
    share = max(0.0, 1 - of_noise / max(float(np.sum(apart**2)), 1e-300))
    values, vectors = np.linalg.eigh(target + share * apart)
    values = np.maximum(values, 0.05 * np.trace(target) / k)
    return (vectors * values) @ vectors.T


def _clipped_targets(
    problem: Problem, oracle: Oracle, spend: Spend, noise: float
) -> tuple[float, float]:
    """Share of targets beyond their bounds, and the standard deviation of its noise.

    Counts below, within and beyond have noise of ``sqrt(2)`` times the given one each and sum to n,
    so that two thirds of n less those within and a third of the others have the least noise.
    """
    target, n = problem.bounds.target, problem.n_samples
    assert target is not None
    edges = np.array([target.low, np.nextafter(target.high, np.inf)])
    low, within, high = oracle.histogram("target", edges, spend=spend)
    share = (2 * (n - within) + low + high) / (3 * n)
    return float(share), sqrt(4 / 3) * sqrt(2) * noise / n
