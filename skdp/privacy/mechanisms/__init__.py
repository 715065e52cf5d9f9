"""Mechanisms: how an exact answer becomes a private one."""

from ...validation import shown
from .blt import BLT
from .prefix_sums import PrefixSumMechanism
from .toeplitz import Toeplitz
from .tree import Tree

__all__ = [
    "BLT",
    "PREFIX_SUMS",
    "PrefixSumMechanism",
    "Toeplitz",
    "Tree",
    "prefix_sums_by",
]

PREFIX_SUMS: dict[str, type[PrefixSumMechanism]] = {
    mechanism.option(): mechanism for mechanism in (BLT, Toeplitz, Tree)
}


def prefix_sums_by(option: str, length: int) -> PrefixSumMechanism:
    """The mechanism for running sums that a string selects.

    Parameters
    ----------
    option : str
        ``'blt'``, the usual choice; ``'toeplitz'``, which has the least error and takes the memory
        of all terms; ``'tree'``, the classic.
    length : int
        Number of terms.

    Raises
    ------
    ValueError
        If there is no such mechanism, or there are no terms.
    """
    if option not in PREFIX_SUMS:
        raise ValueError(
            f"Prefix sums need a mechanism in {sorted(PREFIX_SUMS)}, got {shown(option)}; "
            "'blt' is the usual choice."
        )
    return PREFIX_SUMS[option](length)
