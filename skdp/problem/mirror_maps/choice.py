"""Choice of a mirror map that suits a constraint set."""

from __future__ import annotations

from ..constraints import Constraint, L1Ball, LpBall, Simplex
from .base import MirrorMap
from .entropy import Entropy
from .euclidean import Euclidean
from .p_norm import PNorm


def choose_mirror_map(constraint: Constraint, n_features: int) -> MirrorMap:
    """The map of the least error bound, ``width sqrt(reach)``, among those of a set.

    Entropy or the p-norm where the set is an l1 ball, a simplex or an l_p ball with p <= 2, and w
    has so many entries that it pays; otherwise the Euclidean map.

    Parameters
    ----------
    constraint : Constraint
        The set.
    n_features : int
        Number of entries of w.
    """
    euclidean, own = Euclidean(constraint), _own(constraint)
    if own is None:
        return euclidean

    def bound(mirror: MirrorMap) -> float:
        return mirror.width(n_features) ** 2 * mirror.reach(n_features)

    return own if bound(own) < bound(euclidean) else euclidean


def _own(constraint: Constraint) -> MirrorMap | None:
    """The map made for a set, if there is one."""
    # By class and not by declarations: width and reach of a map are proved for that set alone.
    if isinstance(constraint, L1Ball):
        return Entropy(constraint.radius, signed=True)
    if isinstance(constraint, Simplex):
        return Entropy(constraint.radius, signed=False)
    if isinstance(constraint, LpBall) and constraint.p < 2:
        return PNorm(constraint.radius, constraint.p)
    return None
