"""Result of an audit: a lower bound on epsilon beside the claimed one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from math import ceil, exp, inf
from numbers import Real
from typing import Any, cast

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.utils._param_validation import Interval

from ..privacy.accounting import gdp
from ..validation import check_hyperparameters
from .claims import Claim
from .epsilon_bounds import Bound, Counts, best_threshold, count
from .samples import SET_ASIDE, Samples

# What may be a probability of being right.
CONFIDENCE: dict[str, list[Any]] = {"confidence": [Interval(Real, 0, 1, closed="neither")]}
# For each view: what was looked at, and what that does not try.
VIEWS = {
    "queries": (
        "all queries of one recorded fit, answered anew in every run",
        "how a fit goes on from other answers, noise that answers share",
    ),
    "answers": ("all answers of whole fits, by their likelihood", "what is not made of answers"),
    "model": (
        "what is published, along one direction",
        "most of what answers tell: the bound is coarse",
    ),
    "winner": (
        "the published winner of a search, along one direction",
        "its other trials and all answers: the bound is coarse",
    ),
    "boundary": (
        "what is published, and which queries are asked, under the same answers",
        "the noise of the answers",
    ),
}
# Differences that are printed.
_NAMED = 5
# Points of the curve that is drawn.
_POINTS = 400


@dataclass(frozen=True, eq=False)
class AuditResult:
    """A lower bound on epsilon, and what it is to be compared with.

    The bound is a property of the program that ran, not a promise: if it exceeds the claim, the
    claim is wrong (but for the failure that the confidence leaves); if it does not, nothing is
    proved. It tells of the data that were used, so it is no private quantity.

    Parameters
    ----------
    epsilon_lower_bound : float
        With probability ``confidence`` no less epsilon is true at this delta.
    epsilon : float
        The claim, ``privacy_spent_`` of the audited estimator.
    delta : float
        The delta of both.
    confidence : float
        See above.
    sees : str
        What was looked at: ``'queries'``, ``'answers'``, ``'model'``, for a search ``'winner'``;
        ``'boundary'`` if the boundary gives the row away, see ``leaks``.
    bound : str
        ``'gaussian'``: among claims of Gaussian DP no less mu is true; ``epsilon_lower_bound`` is
        the epsilon of that mu. ``'clopper_pearson'``: among all (epsilon, delta) claims.
        ``'boundary'``: infinite, see ``leaks``.
    adjacency : str
        Neighbouring relation of the claim.
    runs : int
        How often each data set was asked and counted.
    gaussian : bool
        Whether the claim is one of Gaussian DP, whose trade-off curve is the claimed one then.
    observed : ndarray of shape (k, 2)
        Shares of false positives and of false negatives at several thresholds.
    evidence : Counts or None
        How often which error was made at the threshold of the bound; None if there are ``leaks``.
    mu_lower_bound : float, optional
        Lower bound on mu of Gaussian DP, if that is what was bounded.
    leaks : tuple of str, optional
        Names of what the row changes beside the answers, where it must change nothing. A fit on the
        second data set was given the very answers of a fit on the first, and yet asked, published
        or warned of something else: the row is public, whatever the noise.
    """

    epsilon_lower_bound: float
    epsilon: float
    delta: float
    confidence: float
    sees: str
    bound: str
    adjacency: str
    runs: int
    gaussian: bool
    observed: np.ndarray = field(repr=False)
    evidence: Counts | None
    mu_lower_bound: float | None = None
    leaks: tuple[str, ...] = ()

    @property
    def looked_at(self) -> str:
        """The view behind the bound, and what it does not try."""
        seen, untried = VIEWS[self.sees]
        return f"{seen}; not tried: {untried}"

    @property
    def ratio(self) -> float:
        """The bound as a share of the claim; 0 if the claim is infinite or both are 0."""
        if not self.epsilon_lower_bound:
            return 0.0
        return self.epsilon_lower_bound / self.epsilon if self.epsilon else inf

    @property
    def refuted(self) -> bool:
        """True if the claim is refuted at the stated confidence."""
        return self.epsilon_lower_bound > self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Numbers and text: all fields but the curve, and whether the claim is refuted."""
        skipped = ("observed", "evidence")
        names = [name for name in self.__dataclass_fields__ if name not in skipped]
        found = {name: getattr(self, name) for name in names}
        found |= {"ratio": self.ratio, "refuted": self.refuted, "looked_at": self.looked_at}
        return found | (asdict(self.evidence) if self.evidence else {})

    def at(self, confidence: float) -> AuditResult:
        """Result with the same evidence, bounded with another confidence.

        Parameters
        ----------
        confidence : float
            In (0, 1). Of many audits some will be wrong; give each its part of the failure.
        """
        check_hyperparameters(CONFIDENCE, {"confidence": confidence}, "AuditResult.at")
        failure, least, level = 1 - confidence, inf, None
        if self.evidence is not None:
            least = self.evidence.bound(cast(Bound, self.bound), self.delta, failure)
            if self.bound == "gaussian":
                level = self.evidence.mu(failure)
        return replace(self, confidence=confidence, epsilon_lower_bound=least, mu_lower_bound=level)

    def claimed_errors(self, alpha: np.ndarray) -> np.ndarray:
        """Least share of false negatives that the claim allows at shares of false positives.

        Parameters
        ----------
        alpha : ndarray
            Shares of false positives, in [0, 1].
        """
        if self.gaussian:
            with np.errstate(invalid="ignore"):
                level = gdp.mu(self.epsilon, self.delta)
                return np.nan_to_num(ndtr(-ndtri(alpha) - level))
        power = exp(min(self.epsilon, 700.0))
        steep = 1 - self.delta - power * alpha
        flat = (1 - self.delta - alpha) / power
        return np.maximum(0.0, np.maximum(steep, flat))

    def __str__(self) -> str:
        verdict = "refuted" if self.refuted else "not refuted"
        how = f"sees={self.sees!r}, {self.runs} runs"
        text = (
            f"epsilon >= {self.epsilon_lower_bound:.4g} with confidence {self.confidence:g}, "
            f"claimed {self.epsilon:.4g} at delta={self.delta:g}: {verdict} ({how}: "
            f"{self.looked_at})"
        )
        if self.leaks:
            text += f". The boundary gives the row away: {'; '.join(self.leaks[:_NAMED])}"
        return text


def leaking(found: list[str], claim: Claim, adjacency: str, confidence: float) -> AuditResult:
    """The result for a program whose boundary gives the row away."""
    return AuditResult(
        epsilon_lower_bound=inf,
        epsilon=claim.epsilon,
        delta=claim.delta,
        confidence=confidence,
        sees="boundary",
        bound="boundary",
        adjacency=adjacency,
        runs=1,
        gaussian=claim.gaussian,
        observed=np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]),
        evidence=None,
        leaks=tuple(found),
    )


def bounded(
    samples: Samples, claim: Claim, sees: str, adjacency: str, confidence: float
) -> AuditResult:
    """Bound epsilon from a statistic, one number a run.

    Parameters
    ----------
    samples : tuple of ndarray
        Of both data sets.
    claim : Claim
        What the bound is compared with.
    sees : str
        As for the result.
    adjacency, confidence
        As for the result.
    """
    failure, delta, bound = 1 - confidence, claim.delta, claim.bound
    aside, threshold = 0, 0.0
    # Between two normals the middle does best, where their likelihoods are the same.
    if sees in ("model", "winner") or bound != "gaussian":
        aside = ceil(SET_ASIDE * len(samples[0]))
        threshold = best_threshold(samples[0][:aside], samples[1][:aside], bound, delta, failure)
    first, second = (s[aside:] for s in samples)
    counts = count(first, second, threshold)
    return AuditResult(
        epsilon_lower_bound=counts.bound(bound, delta, failure),
        epsilon=claim.epsilon,
        delta=delta,
        confidence=confidence,
        sees=sees,
        bound=bound,
        adjacency=adjacency,
        runs=len(first),
        gaussian=claim.gaussian,
        observed=trade_off(first, second),
        evidence=counts,
        mu_lower_bound=counts.mu(failure) if bound == "gaussian" else None,
    )


def trade_off(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Shares of false positives and of false negatives at several thresholds, (k, 2)."""
    at = np.unique(np.quantile(np.concatenate([first, second]), np.linspace(0, 1, _POINTS)))
    positives = 1 - np.searchsorted(np.sort(first), at, side="right") / len(first)
    negatives = np.searchsorted(np.sort(second), at, side="right") / len(second)
    inner = np.stack([positives, negatives], axis=1)
    return np.concatenate([[[1.0, 0.0]], inner, [[0.0, 1.0]]])[::-1]
