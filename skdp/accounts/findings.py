"""What is found on the way through a composed estimator."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..privacy.receipts import Receipt

__all__ = ["Findings"]


@dataclass(eq=False)
class Findings:
    """What is found on the way through a composed estimator.

    Parameters
    ----------
    receipts : list of Receipt
        What was spent, fit by fit.
    refused : list of str
        Steps that learned from rows without a receipt, or may have, each with the reason.
    leaks : list of str
        What is known to be public beyond the receipts.
    """

    receipts: list[Receipt] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)

    def join(self, other: Findings) -> None:
        """Take over what was found elsewhere.

        Parameters
        ----------
        other : Findings
            Of a part.
        """
        self.receipts += other.receipts
        self.refused += other.refused
        self.leaks += [leak for leak in other.leaks if leak not in self.leaks]
