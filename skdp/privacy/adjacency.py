"""Neighbouring relations between data sets, privacy units, and their effect on sensitivities.

The number n of rows, or of the privacy units that users declare, is public under both relations.
"""

from __future__ import annotations

from enum import StrEnum
from math import sqrt


class PrivacyUnit(StrEnum):
    """Unit that is protected: a single row, or all rows together that a user declares to be one's.

    Where units are declared, read "row" in :class:`Adjacency`, and in all that is proved about
    rows, as "all rows of a unit": :mod:`skdp.privacy.rows.privacy_units` says why one may.
    """

    ROW = "row"
    DECLARED = "privacy_unit"

    @property
    def one(self) -> str:
        """The unit in words."""
        return "row" if self is PrivacyUnit.ROW else "privacy unit"

    @property
    def plural(self) -> str:
        """Several units in words."""
        return f"{self.one}s"


class Adjacency(StrEnum):
    """Neighbouring relation between data sets of the same public size.

    ``REPLACE_ONE``: one row is replaced by an arbitrary other row. ``ZERO_OUT``: the contribution
    of one row is removed (set to zero) while n stays; this is what add/remove means when n is
    public. Replace-one is the stronger promise: what it calls (epsilon, delta)-DP is also
    (epsilon, delta)-DP under zero-out.

    Guarantees
    ----------
    - The sensitivities returned here are final. Nothing downstream doubles them again.
    """

    REPLACE_ONE = "replace_one"
    ZERO_OUT = "zero_out"

    def of_sum(self, bound: float) -> float:
        """Sensitivity in l2 of a sum of vectors, one a row, each of norm at most ``bound``.

        Replacing a row swaps one vector of the ball for another, which moves the sum by at most
        the diameter; zeroing it out moves the sum by at most the radius. Both are attained.
        """
        return 2.0 * bound if self is Adjacency.REPLACE_ONE else bound

    def of_histogram(self) -> float:
        """Sensitivity in l2 of the counts of a histogram in which each row falls in one bin.

        Replacing a row lowers one count by 1 and raises another by 1, hence sqrt(2); zeroing it
        out lowers one count by 1.
        """
        return sqrt(2.0) if self is Adjacency.REPLACE_ONE else 1.0
