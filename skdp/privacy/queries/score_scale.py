"""Mean residuals along a model's own scores, at several scales of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, sqrt
from typing import ClassVar

import numpy as np
from scipy.special import lambertw

from ...problem.losses import Logistic, Softmax
from ..rows.bounded_rows import BoundedBlock
from .base import Summed, kept
from .gradient import point, weighted


@dataclass(frozen=True, eq=False)
class ScoreScaleQuery(Summed):
    r"""Mean residuals of the probabilities at scale a, weighted by bounded scores, for a few a.

    For row i with scores ``s_i = <w, x~_i>`` and each public scale ``a_j``,

    .. math:: h_j = \frac1n \sum_i v_i \frac{c_i}{\max c}\, \psi_{ij}, \qquad
              \psi_{ij} = \langle p(a_j s_i) - e_{y_i},\; g(s_i) \rangle,

    where ``p`` are the probabilities of the logistic or softmax model and g brings scores to a
    public range r: ``g(s) = clip(s, -r, r)`` for two classes, and for several ``s`` less the middle
    of its largest and smallest entry, shortened until they are at most r apart. If scores times a
    are log-odds, the expectation is zero at that a whatever g, because g depends on s alone; and
    h never falls in a. So the root of h is the temperature of the model.

    Guarantees
    ----------
    - Each entry of a row's vector lies in ``[-min(r, W((K-1)/e) / a_j), r]``, with W Lambert's
      function. Proof: theorem T1 of ``docs/proofs/temperature.md``.
    - Under replace-one the answer therefore moves by at most the diameter of that box over n,
      under zero-out by at most ``r sqrt(J) / n``, its farthest corner, since the box holds zero,
      which also covers weights of rows and classes in [0, 1]. The box is enforced on every row, so
      that the bound holds whatever the rows, the targets and w.
    """

    name: ClassVar[str] = "score_scale"

    #: Of a problem with the logistic or softmax loss: the model, in its shape; public.
    w: np.ndarray
    #: Positive factors a; shape (J,).
    scales: np.ndarray
    #: The range r; positive.
    reach: float

    def __post_init__(self) -> None:
        if not isinstance(self.problem.loss, Logistic | Softmax):
            raise ValueError(
                "ScoreScaleQuery needs a loss whose scores are log-odds, Logistic or Softmax, got "
                f"{type(self.problem.loss).__name__}."
            )
        object.__setattr__(self, "w", point(self.problem, self.w))
        scales = np.array(self.scales, dtype=np.float64)
        if not (scales.ndim == 1 and np.all(scales > 0) and self.reach > 0):
            raise ValueError("ScoreScaleQuery needs positive scales and a positive reach.")
        object.__setattr__(self, "scales", scales)

    @property
    def least(self) -> np.ndarray:
        """Lower ends of the box, one a scale; the upper ends are the reach."""
        n_classes = max(2, self.problem.loss.n_scores)
        return -np.minimum(self.reach, float(lambertw((n_classes - 1) / e).real) / self.scales)

    @property
    def extents(self) -> tuple[float, float]:
        """Diameter of the box, and its largest norm; each row is within it as computed.

        Infinite if double precision does not keep them.
        """
        reach = kept(self.reach, self.problem.n_samples)
        return float(np.linalg.norm(reach - self.least)), reach * sqrt(self.scales.size)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        s, g = self._scores(block)
        moments = np.empty(self.scales.size)
        for j, (a, least) in enumerate(zip(self.scales, self.least, strict=True)):
            r = self.problem.loss.derivative(block.y, a * s)
            psi = np.multiply(r, g, out=r) if g.ndim == 1 else np.einsum("ik,ik->i", r, g)
            # What is not a number would survive a clip.
            np.copyto(psi, 0.0, where=np.isnan(psi))
            np.minimum(psi, self.reach, out=psi)
            np.maximum(psi, least, out=psi)
            moments[j] = weighted(self.problem, block, psi, relatively=True).sum()
        return moments

    def _scores(self, block: BoundedBlock) -> tuple[np.ndarray, np.ndarray]:
        """Scores, for several classes about the middle of their range, and the bounded ones."""
        s = block.scores(self.w)
        if s.ndim == 1:
            return s, np.clip(s, -self.reach, self.reach)
        s = s - 0.5 * (s.max(axis=1) + s.min(axis=1))[:, None]
        widest = np.abs(s).max(axis=1)
        shorter = np.minimum(1.0, 0.5 * self.reach / np.maximum(widest, 1e-300))
        return s, s * shorter[:, None]
