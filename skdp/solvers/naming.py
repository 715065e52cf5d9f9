"""What refusals call a loss."""

from __future__ import annotations

from ..losses import Loss, OneVsRest

__all__ = ["name_of"]


def name_of(loss: Loss) -> str:
    """The class of a loss, or that of the loss of each class if there are several.

    Parameters
    ----------
    loss : Loss
        As the problem has it, which need not be as the user gave it.
    """
    if isinstance(loss, OneVsRest):
        return f"{type(loss.loss).__name__}, one class against the rest"
    return type(loss).__name__
