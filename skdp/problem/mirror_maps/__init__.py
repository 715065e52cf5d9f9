"""Mirror maps: geometries in which descent moves, one a file."""

from .base import MirrorMap
from .choice import choose_mirror_map
from .entropy import Entropy
from .euclidean import Euclidean
from .p_norm import PNorm

__all__ = ["Entropy", "Euclidean", "MirrorMap", "PNorm", "choose_mirror_map"]
